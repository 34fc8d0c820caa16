//! A list that somebody edited by hand, opened without parsing what they left alone.
//!
//! The index knows the checksum of every item, white space aside. Where the file has the same at its place, it has the same item. The
//! few others are parsed, as they are in the file and as the last commit left them (`recall`), and what counts of them is decided by
//! the rules for whole documents (`store/edits.rs`): they are shown documents that have only these items. Where an item is
//! left out its place holds `null`, so that positions are those of the list.
//!
//! Whatever is in doubt is [`Lost`]: then the whole document decides, by the same rules.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::answer::{Answer, Lost, sure};
use super::draft::{Draft, Plan, Reader, Saved, Text};
use super::index::{Build, Index};
use super::layout::{self, Frame};
use super::recall::Past;
use crate::model::diff::{self, Change};
use crate::model::documents::common::Item;
use crate::model::json;
use crate::model::key::Fields;
use crate::model::merge;
use crate::model::names::names_of;
use crate::model::raw::Raw;
use crate::store::edits::{self, How, TakenIn};
use crate::store::file::edits::Edit;
use crate::store::file::journal::{DocEntry, Sum};
use crate::store::state;

/// So many items may differ between a file and what the last commit left.
const FEW: usize = 256;

/// A file that is not what the last commit left.
pub struct Found {
    pub bytes: Vec<u8>,
    pub frame: Frame,
    pub build: Build,
}

impl Found {
    pub fn sum(&self) -> Sum {
        Sum::from_parts(self.frame.sum, self.build.items_sum())
    }

    /// Returns the fields of the document, with an empty list.
    fn fields(&self) -> Answer<Map<String, Value>> {
        let Frame { prefix, suffix, .. } = self.frame;
        let text = [&self.bytes[..prefix as usize], &self.bytes[suffix as usize..]].concat();
        match json::parse(&text) {
            Ok(Value::Object(fields)) => Ok(fields),
            _ => Err(Lost),
        }
    }

    fn text(&self, position: usize) -> &[u8] {
        let slot = self.build.items()[position].slot;
        &self.bytes[slot.start as usize..slot.start as usize + slot.length as usize]
    }
}

/// Which items of a file are not those that the last commit left.
struct Differing {
    /// Positions before and after.
    ours: BTreeSet<usize>,
    theirs: BTreeSet<usize>,
    counts: [usize; 2],
    /// From here on the file's items stand elsewhere than before.
    shifted: usize,
}

impl Differing {
    fn of(index: &mut Index, found: &Found) -> Answer<Differing> {
        let counts = [sure(index.count())?, found.build.count()];
        let in_place = Differing::by_position(index, found, counts)?;
        if counts[0] == counts[1] {
            return sure(in_place);
        }
        let between = Differing::between_ends(index, found, counts)?;
        let sides = in_place.into_iter().chain(between);
        sure(sides.min_by_key(|differing| differing.ours.len() + differing.theirs.len()))
    }

    /// Compares each place with itself.
    fn by_position(index: &mut Index, found: &Found, counts: [usize; 2]) -> Answer<Option<Differing>> {
        let [old, new] = counts;
        let mut both = BTreeSet::new();
        for (position, item) in found.build.items().iter().enumerate().take(old) {
            if sure(index.record(position))?.sum != item.sum {
                both.insert(position);
            }
            if both.len() > FEW {
                return Ok(None);
            }
        }
        let side = |count: usize| both.iter().copied().chain(old.min(new)..count).take(FEW + 1).collect();
        let (ours, theirs): (BTreeSet<_>, BTreeSet<_>) = (side(old), side(new));
        let few = ours.len().max(theirs.len()) <= FEW;
        Ok(few.then_some(Differing { ours, theirs, counts, shifted: new }))
    }

    /// Takes everything for other between the common start and the common end, as after an item was put in or taken out.
    fn between_ends(index: &mut Index, found: &Found, counts: [usize; 2]) -> Answer<Option<Differing>> {
        let [old, new] = counts;
        let shorter = old.min(new);
        let mut start = 0;
        while start < shorter && sure(index.record(start))?.sum == found.build.items()[start].sum {
            start += 1;
        }
        let (mut end, mut raw) = (0, Raw::default());
        while end < shorter - start {
            sure(raw.read(found.text(new - 1 - end), 0))?;
            let before = old - 1 - end;
            if sure(index.record(before))?.sum != layout::item_sum(raw.text(), before) {
                break;
            }
            end += 1;
        }
        let (ours, theirs) = (start..old - end, start..new - end);
        let few = ours.len().max(theirs.len()) <= FEW;
        let (ours, theirs) = (ours.take(FEW).collect(), theirs.take(FEW).collect());
        Ok(few.then_some(Differing { ours, theirs, counts, shifted: new - end }))
    }

    /// Returns where an item that did not change stood before.
    fn before(&self, position: usize) -> usize {
        let [old, new] = self.counts;
        if position < self.shifted { position } else { position + old - new }
    }

    /// Whether every item stands where it did, as far as there are as many.
    fn is_in_place(&self) -> bool {
        self.shifted == self.counts[1]
    }
}

/// Decides what counts of an edited file. `index` is that of what the last commit left, as `revision`.
pub fn take_in(past: &Past<'_>, index: Index, revision: u64, found: Found) -> Answer<(Index, Draft)> {
    let mut edited = Edited::of(past, index, revision, found)?;
    let taken = match edited.is_fresh() {
        true => TakenIn::as_it_is(edited.theirs.clone()),
        false => edited.join()?,
    };
    edited.compose(taken)
}

/// An edit in the making.
struct Edited<'p> {
    past: &'p Past<'p>,
    index: Index,
    revision: u64,
    found: Found,
    differing: Differing,
    theirs: Value,
    ours: Value,
    /// What was done since the edit was made, the newest first, and to which revision.
    since: (Vec<DocEntry>, u64),
}

impl<'p> Edited<'p> {
    fn of(past: &'p Past<'p>, mut index: Index, revision: u64, found: Found) -> Answer<Edited<'p>> {
        let mut differing = Differing::of(&mut index, &found)?;
        let (kind, fields) = (past.doc.kind, found.fields()?);
        let (mut since, mut before) = ((Vec::new(), revision), fields.clone());
        if found.frame.sum != sure(index.frame())?.sum {
            let stated = merge::stated(kind, &Value::Object(fields.clone())).revision;
            since = sure(past.since(sure(stated)?))?;
            before = past.frame_after(fields.clone(), &since.0, sure(index.frame())?.sum)?;
            if !differing.is_in_place() {
                return Err(Lost);
            }
            past.touch(&since.0, &mut differing)?;
        }
        let ours = past.recall(&mut index, &differing.ours)?;
        let theirs = differing.theirs.iter().map(|position| {
            let item = json::parse(found.text(*position)).map_err(|_| Lost)?;
            state::check_item(past.doc, "", &item).map_err(|_| Lost)?;
            Ok((*position, item))
        });
        let theirs = sparse(past.field, fields, differing.counts[1], theirs.collect::<Answer<Vec<_>>>()?);
        let ours = sparse(past.field, before, differing.counts[0], ours);
        state::check(past.doc, &known_part(past.field, &theirs)).map_err(|_| Lost)?;
        Ok(Edited { past, index, revision, found, differing, theirs, ours, since })
    }

    fn is_fresh(&self) -> bool {
        edits::is_fresh(self.past.doc, &self.theirs, &self.ours, self.revision)
    }

    /// Joins an edit of an older state with what came after that.
    fn join(&mut self) -> Answer<TakenIn> {
        let (doc, field) = (self.past.doc, self.past.field);
        let states = self.states()?;
        let (theirs, ours) = (known_part(field, &self.theirs), known_part(field, &self.ours));
        let taken = edits::take_in_part(doc, &theirs, &ours, self.revision, &states);
        let TakenIn { value, how, clashes } = sure(taken)?;
        Ok(TakenIn { value: self.in_place(value)?, how, clashes })
    }

    /// Returns the states that have the edit's stamps, oldest first. Each of them has the items that the edit has.
    fn states(&self) -> Answer<Vec<(u64, Value)>> {
        let (field, kind) = (self.past.field, self.past.doc.kind);
        let (mut state, mut states) = (self.ours.clone(), Vec::new());
        let (entries, first) = &self.since;
        let mut see = |revision: u64, state: &Value| {
            if merge::made_from(kind, &self.theirs, state) {
                let same = names(field, state) == names(field, &self.theirs);
                states.push((revision, same.then(|| known_part(field, state))));
            }
        };
        for entry in entries {
            see(entry.revision, &state);
            diff::apply(&mut state, &diff::invert(&entry.changes)).map_err(|_| Lost)?;
        }
        see(*first, &state);
        states.reverse();
        states.into_iter().map(|(revision, state)| Ok((revision, sure(state)?))).collect()
    }

    /// Puts the items of a joined document to their places in the list. They must be in the order of ours, and only at its end may some be missing.
    fn in_place(&self, mut joined: Value) -> Answer<Value> {
        let field = self.past.field;
        let mut items = sure(joined.get_mut(field).and_then(Value::as_array_mut))?.drain(..).peekable();
        let mut list = Vec::with_capacity(self.differing.counts[0]);
        for (position, ours) in sure(self.ours[field].as_array())?.iter().enumerate() {
            let is_next = items.peek().is_some_and(|next| next.at(Item::id) == ours.at(Item::id));
            match (ours, is_next) {
                (Value::Null, _) => list.push(Value::Null),
                (_, true) => list.extend(items.next()),
                (_, false) if position >= self.differing.counts[1] => {}
                (_, false) => return Err(Lost),
            }
        }
        if items.next().is_some() {
            return Err(Lost);
        }
        drop(items);
        joined[field] = Value::Array(list);
        Ok(joined)
    }

    /// Puts the list together that counts, and its index.
    fn compose(mut self, TakenIn { value, how, clashes }: TakenIn) -> Answer<(Index, Draft)> {
        let (doc, field, is_joined) = (self.past.doc, self.past.field, how != How::Fresh);
        let changes = self.changes(&value)?;
        let names = names_of(&changes, &value);
        let base = self.found.sum();
        let is_void = is_joined && changes.is_empty();
        let counted = (self.revision + 1).max(state::revision_in(&self.theirs));
        let revision = if is_void { self.revision } else { counted };
        let touched = edits::touched(doc.kind, &known_part(field, &self.ours), &known_part(field, &value));
        let (texts, alike) = self.texts(sure(value[field].as_array())?)?;
        let fields = without_items(field, value);
        let Found { bytes, mut build, .. } = self.found;
        let plan = Plan::of(doc, field, &fields, &texts)?;
        if alike && !is_joined {
            build.relocate(&plan.slots);
        } else {
            build = plan.build(build.anew(), &texts, Reader::in_memory(&bytes))?;
        }
        let joined = Sum::from_parts(plan.frame.sum, build.items_sum());
        let aside = (!clashes.is_empty()).then(|| bytes.clone());
        let edit = Edit {
            changes: Some(changes),
            names,
            how,
            clashes,
            bytes: aside,
            is_joined,
            touched: Some(touched),
        };
        let index = sure(build.finish(&plan.frame))?;
        let saved = Some(Saved { bytes, base, joined, revision, edit });
        let draft = Draft { fields, texts, size: plan.frame.size, saved };
        Ok((index, draft))
    }

    /// Returns what leads from ours to what counts. No change may be about an item that was left out.
    fn changes(&self, value: &Value) -> Answer<Vec<Change>> {
        let field = self.past.field;
        let ours = numbered(field, &self.ours, |position| position);
        let changes = diff::diff(&ours, &numbered(field, value, |position| self.differing.before(position)));
        let is_left_out = |side: &Option<Value>| side.as_ref().is_some_and(Value::is_string);
        let is_odd = |change: &Change| {
            let is_item = self.past.place_in(&change.path).is_some_and(|(_, rest)| rest.is_empty());
            let has_all = change.path.is_empty() || change.path == field;
            has_all || is_item && (is_left_out(&change.before) || is_left_out(&change.after))
        };
        if changes.iter().any(is_odd) { Err(Lost) } else { Ok(changes) }
    }

    /// Returns the texts of all items, in the form that we write, and whether they read as those in the file do.
    fn texts(&mut self, items: &[Value]) -> Answer<(Vec<Text>, bool)> {
        let (mut raw, mut alike) = (Raw::default(), true);
        let mut texts = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            if let Some(fields) = item.as_object() {
                let text = layout::item_text(fields);
                alike = alike
                    && position < self.differing.counts[1]
                    && reads_alike(&text, self.found.text(position))?;
                texts.push(Text::New(text));
                continue;
            }
            let slot = self.found.build.items()[position].slot;
            let before = sure(self.index.record(self.differing.before(position)))?.slot;
            if slot.length == before.length {
                texts.push(Text::in_slot(slot));
            } else {
                sure(raw.read(self.found.text(position), 0))?;
                texts.push(Text::New(layout::respell(&raw)));
            }
        }
        Ok((texts, alike))
    }
}

impl Past<'_> {
    /// Returns the fields of a document after what was done to it; they must have this sum.
    fn frame_after(
        &self,
        fields: Map<String, Value>,
        since: &[DocEntry],
        sum: u64,
    ) -> Answer<Map<String, Value>> {
        let mut frame = Value::Object(fields);
        for change in since.iter().rev().flat_map(|entry| &entry.changes) {
            if self.place_in(&change.path).is_none() {
                diff::apply(&mut frame, std::slice::from_ref(change)).map_err(|_| Lost)?;
            }
        }
        let Value::Object(fields) = frame else { return Err(Lost) };
        let (prefix, suffix) = sure(layout::frame(&fields, self.field))?;
        let found = sure(layout::scan(&[prefix, suffix].concat(), self.field, &mut |_, _| {}))?;
        if found.sum == sum { Ok(fields) } else { Err(Lost) }
    }

    /// Adds the items that changed since an edit was made: it is joined with those.
    fn touch(&self, since: &[DocEntry], differing: &mut Differing) -> Answer<()> {
        let [old, new] = differing.counts;
        let changes = since.iter().flat_map(|entry| &entry.changes);
        for (position, _) in changes.filter_map(|change| self.place_in(&change.path)) {
            if position < old {
                differing.ours.insert(position);
            }
            if position < new {
                differing.theirs.insert(position);
            }
        }
        if differing.ours.len() <= FEW && new <= old { Ok(()) } else { Err(Lost) }
    }
}

/// Returns a document with these items, and nothing in the other places of its list.
fn sparse(
    field: &str,
    mut fields: Map<String, Value>,
    count: usize,
    items: impl IntoIterator<Item = (usize, Value)>,
) -> Value {
    let mut list = vec![Value::Null; count];
    items.into_iter().for_each(|(position, item)| list[position] = item);
    if let Some(place) = fields.get_mut(field) {
        *place = Value::Array(list);
    }
    Value::Object(fields)
}

/// Returns a document without the places of its list that hold nothing.
fn known_part(field: &str, document: &Value) -> Value {
    let known = |value: &Value| match value.as_array() {
        Some(list) => list.iter().filter(|item| !item.is_null()).cloned().collect(),
        None => value.clone(),
    };
    let fields = document.as_object().into_iter().flatten();
    fields
        .map(|(key, value)| (key.clone(), if key == field { known(value) } else { value.clone() }))
        .collect()
}

/// Returns a document that has a number of its own in the place of each item that was left out.
fn numbered(field: &str, document: &Value, number: impl Fn(usize) -> usize) -> Value {
    let mut numbered = document.clone();
    let items = numbered.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten();
    for (position, item) in items.enumerate().filter(|(_, item)| item.is_null()) {
        *item = number(position).to_string().into();
    }
    numbered
}

fn without_items(field: &str, document: Value) -> Map<String, Value> {
    let Value::Object(mut fields) = document else { return Map::new() };
    if let Some(place) = fields.get_mut(field) {
        *place = Value::Array(Vec::new());
    }
    fields
}

/// Returns where items are, and which.
fn names<'v>(field: &str, document: &'v Value) -> Vec<Option<&'v str>> {
    let items = document[field].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|item| item.text(Item::id)).collect()
}

fn reads_alike(text: &[u8], other: &[u8]) -> Answer<bool> {
    let (mut one, mut two) = (Raw::default(), Raw::default());
    sure(one.read(text, 0).and(two.read(other, 0)))?;
    Ok(one.text() == two.text())
}
