//! Long lists: a document whose items are read and changed one by one, however many there are.
//!
//! The file stays the truth, and every program sees each commit in it at once. What makes that cheap:
//!
//! - `layout`: each item has a slot with room to grow, so a change writes a few hundred bytes;
//! - `index`: a cache beside the file that knows the slots, the next item to pick, and who needs whom;
//! - two buffers: the hidden *twin* is the previous state of the file. A commit brings it up to date, writes the
//!   new state into it and exchanges the two names. Whoever has the file open goes on reading one whole state.
//!
//! The twin is used again only if the kernel says that nobody has it open; else a fresh copy takes its place.
//! [`List::open`] believes the index only if life, file and journal are those that it was written for.

mod answer;
pub mod bulk;
mod draft;
mod edited;
pub mod index;
pub mod layout;
pub mod mix;
mod pages;
mod quick_check;
mod recall;
mod recast;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

use self::answer::sure;
use self::draft::{Draft, Saved};
use self::edited::Found;
use self::index::{Build, Index, Record, Stamp};
use self::layout::{Frame, Slot, field_of};
use self::recall::Past;
use super::edits::Edit;
use super::fs::{Access, Handle, Stat};
use super::journal::{DocEntry, Sum};
use super::place::{self, Head, HeadDoc, Place};
use crate::model::diff::{self, Change};
use crate::model::documents::common::Item;
use crate::model::json;
use crate::model::key::Fields;
use crate::model::kind::Doc;
use crate::model::listing::{Among, Listing, Marks, Most, Overview, Stage};
use crate::model::names::Names;
use crate::model::raw::Raw;
use crate::model::time::Moment;
use crate::store::engine::{Entry, Rank};
use crate::store::error::{Error, Result};
use crate::store::file::addresses::DocFiles;
use crate::store::state;

pub use self::answer::{Answer, Lost};

/// A long list, opened by its index.
#[derive(Debug)]
pub struct List {
    doc: Doc,
    field: &'static str,
    listing: &'static Listing,
    index: Index,
    /// The file, and what it looked like.
    file: Box<dyn Handle>,
    stamp: u64,
    life: u64,
    pub revision: u64,
    sum: Sum,
    /// Where the parts of the file were when it was opened.
    stored: Frame,
    /// What the list is put together from, if its file is to be written anew: after an edit by hand, or because of what
    /// this transaction does.
    draft: Option<Draft>,
    /// What this transaction has put, by position.
    puts: BTreeMap<usize, Put>,
    /// What only had to make room for something that was put.
    moves: BTreeMap<usize, Moved>,
    /// What it has taken out, by the position in the file.
    gone: BTreeMap<usize, Value>,
    /// The item that was read last.
    last: Option<(usize, Value)>,
}

#[derive(Debug)]
struct Put {
    /// What the file has; `None` for a new item.
    before: Option<Value>,
    after: Value,
    slot: Slot,
    text: Vec<u8>,
    /// Whether the slot begins at another place than before.
    moved: bool,
}

#[derive(Debug)]
struct Moved {
    slot: Slot,
    text: Vec<u8>,
}

/// A commit of a list on its way to the disk.
#[derive(Debug)]
pub struct Patch {
    pub revision: u64,
    pub sum: Sum,
    pub base: Sum,
    pub changes: Vec<Change>,
    names: Names,
    writes: Vec<(u64, Vec<u8>)>,
    frame: Frame,
    /// What the new file looks like, once it is written.
    stamp: u64,
    /// Whether the old file is the twin now.
    exchanged: bool,
    /// What the twin looks like then, if it can be used again.
    twin: u64,
}

impl Patch {
    /// Describes the commit for the journal.
    pub fn entry(&mut self, doc: &Doc) -> DocEntry {
        DocEntry {
            file: doc.file().into_owned(),
            kind: doc.kind.name.into(),
            revision: self.revision,
            sum: Some(self.sum),
            base: Some(self.base),
            changes: std::mem::take(&mut self.changes),
            names: std::mem::take(&mut self.names),
            content: None,
            stored: None,
        }
    }
}

/// At most so many items move to make room for one, and so many blanks each of them keeps at least.
const SPREAD: usize = 512;
const SPREAD_ROOM: usize = 16;

/// What a list is opened for. An index that is nearly full is made anew only by who appends: to do that takes memory in proportion
/// to the list, and those who wait look into it at every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    ToChange,
    ToAppend,
}

impl List {
    /// Opens a list that is as the head knows it, or was edited within few items. `None` if it has to be read as a whole, or
    /// there is none.
    pub fn open(place: &Place<'_>, doc: &Doc, head: &Head, for_what: Opened) -> Result<Option<List>> {
        let (Some(field), Some(listing)) = (field_of(doc), doc.kind.listing) else { return Ok(None) };
        let Some(HeadDoc { revision, sum: Some(sum) }) = head.docs.get(&*doc.file()).copied() else {
            return Ok(None);
        };
        let path = place.doc(&doc.file());
        let opened =
            place.fs.open(&path, Access::Read).map_err(|error| place.no_file("open", &path, error))?;
        let Some(file) = opened.filter(|file| file.opened().size > layout::short_of(doc)) else {
            return Ok(None);
        };
        let (stamp, life) = (stamp_of(file.opened()), head.life.number());
        let index = place.fs.open(&place.index(&doc.file()), Access::Write).ok().flatten();
        let ours = Stamp { life, file: stamp, twin: 0, revision, sum: sum.bits() };
        let index = index.and_then(|index| Index::open(index, listing));
        // An index of this revision, whose file may be another one by now.
        let mut known = index.and_then(|mut index| {
            let Stamp { file, twin, .. } = index.stamp()?;
            (index.stamp()? == Stamp { file, twin, ..ours }).then_some((file, index))
        });
        let fits = known.as_mut().is_some_and(|(file, index)| {
            *file == stamp
                && match for_what {
                    Opened::ToChange => index.is_worn() == Some(false),
                    Opened::ToAppend => index.has_room() == Some(true),
                }
        });
        let opened = match (fits, known) {
            (true, Some((_, index))) => Some((index, None)),
            (_, known) => {
                let past = Past { place, doc, field, head };
                reopen(&past, &*file, &ours, known.map(|(_, index)| index))?
            }
        };
        let Some((mut index, draft)) = opened else { return Ok(None) };
        let Some(stored) = index.frame() else { return Ok(None) };
        let (doc, puts, moves, gone, last) =
            (doc.clone(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), None);
        let mut list = List {
            doc,
            field,
            listing,
            index,
            file,
            stamp,
            life,
            revision,
            sum,
            stored,
            draft,
            puts,
            moves,
            gone,
            last,
        };
        if let Some(saved) = list.saved() {
            (list.sum, list.revision) = (saved.base, saved.revision);
        }
        Ok(Some(list))
    }

    /// Returns what somebody did to the file since the last commit.
    pub fn edit(&self) -> Option<&Edit> {
        self.saved().map(|saved| &saved.edit)
    }

    /// Returns the checksum of the file as it was opened.
    pub fn sum(&self) -> Sum {
        self.sum
    }

    /// Returns what the file held then, if somebody had edited it.
    pub fn edited_bytes(&self) -> Option<Vec<u8>> {
        self.saved().map(|saved| saved.bytes.clone())
    }

    /// Returns the checksum of what somebody saved by hand, and of what counts of it.
    pub fn edit_sums(&self) -> Option<(Sum, Sum)> {
        self.saved().map(|saved| (saved.base, saved.joined))
    }

    fn saved(&self) -> Option<&Saved> {
        self.draft.as_ref()?.saved.as_ref()
    }

    /// Whether this transaction has put or taken anything.
    pub fn is_changed(&self) -> bool {
        !self.puts.is_empty() || !self.gone.is_empty()
    }

    pub fn doc(&self) -> &Doc {
        &self.doc
    }

    /// Whether the file is written anew as a whole.
    pub fn is_anew(&self) -> bool {
        self.draft.is_some()
    }

    /// Returns the ids of what this transaction has taken out.
    pub fn gone(&self) -> impl Iterator<Item = &str> {
        self.gone.values().map(id_of)
    }

    /// Returns what this transaction has put by id, in the order of positions.
    pub fn into_puts(self) -> impl Iterator<Item = (String, Value)> {
        let changed = self.puts.into_values().filter(|put| put.before.as_ref() != Some(&put.after));
        changed.map(|put| (id_of(&put.after).to_owned(), put.after))
    }

    /// Returns the item with this id.
    pub fn item(&mut self, id: &str) -> Answer<Option<Value>> {
        match sure(self.index.position(id))? {
            None => Ok(None),
            Some(position) => self.at(position).map(Some),
        }
    }

    /// Returns the item at a position; `None` behind the last.
    pub fn item_at(&mut self, position: usize) -> Answer<Option<Value>> {
        if position < sure(self.index.count())? { self.at(position).map(Some) } else { Ok(None) }
    }

    /// Returns the item at a position.
    fn at(&mut self, position: usize) -> Answer<Value> {
        if let Some(put) = self.puts.get(&position) {
            return Ok(put.after.clone());
        }
        match &self.last {
            Some((last, item)) if *last == position => Ok(item.clone()),
            _ => {
                let item = self.read(position)?;
                self.last = Some((position, item.clone()));
                Ok(item)
            }
        }
    }

    fn read(&mut self, position: usize) -> Answer<Value> {
        let record = sure(self.index.record(position))?;
        json::parse(&self.text(position, &record)?).map_err(|_| Lost)
    }

    /// Returns the text of an item that is not put.
    fn text(&self, position: usize, record: &Record) -> Answer<Vec<u8>> {
        let Slot { start, length, .. } = record.slot;
        let text = match (self.moves.get(&position), &self.draft) {
            (Some(moved), _) => Some(moved.text.clone()),
            (None, Some(draft)) => draft.text(position, &*self.file),
            (None, None) => self.file.read_at(start, length as usize).ok(),
        };
        let (text, mut raw) = (sure(text)?, Raw::default());
        let end = sure(raw.read(&text, 0))?;
        // The sum tells a stale or spoiled index from a good one.
        let whole = end == text.len() && layout::item_sum(raw.text(), position) == record.sum;
        if whole { Ok(text) } else { Err(Lost) }
    }

    /// Returns the items that are looked for.
    pub fn find(&mut self, among: Among<'_>) -> Answer<Vec<Value>> {
        self.find_positions(among)?.into_iter().map(|position| self.at(position)).collect()
    }

    pub fn may_be_due(&mut self, now: &Moment) -> Answer<bool> {
        sure(self.index.may_be_due(now))
    }

    /// Returns the active items that may be due by now.
    pub fn due(&mut self, now: &Moment) -> Answer<Vec<Value>> {
        if let Some(due) = self.index.due(now) {
            return due.into_iter().map(|position| self.at(position)).collect();
        }
        // Now that all of them are at hand, it is known again when the next one is due.
        let active = self.find(Among::Active)?;
        let dues = active.iter().filter_map(|item| self.listing.hold_of(item).due);
        sure(self.index.set_dues(dues))?;
        Ok(active)
    }

    pub fn may_be_occupied(&mut self, keys: &[u64]) -> Answer<bool> {
        sure(self.index.may_be_occupied(keys))
    }

    fn find_positions(&mut self, among: Among<'_>) -> Answer<Vec<usize>> {
        let positions = match among {
            Among::Active => sure(self.index.active())?,
            Among::Loose => sure(self.index.loose())?,
            Among::InNeedOf(id) => match sure(self.index.position(id))? {
                Some(position) => self.open_dependents(position)?,
                // Who needs what is not there is not in the index.
                None => return if sure(self.index.dangling())? == 0 { Ok(Vec::new()) } else { Err(Lost) },
            },
        };
        Ok(positions)
    }

    fn open_dependents(&mut self, position: usize) -> Answer<Vec<usize>> {
        let mut open = Vec::new();
        for dependent in sure(self.index.dependents(position))? {
            let state = sure(self.index.record(dependent))?.state;
            if matches!(self.listing.stage(state), Stage::Waiting | Stage::Ready) {
                open.push(dependent);
            }
        }
        Ok(open)
    }

    pub fn best(&mut self, after: Option<Rank>, without: &Marks) -> Answer<Option<(Rank, Value)>> {
        match sure(self.index.best_without(after, without))? {
            None => Ok(None),
            Some(rank) => Ok(Some((rank, self.at(rank.position)?))),
        }
    }

    /// Returns which of these ids there are; [`Lost`] also if some item needs one that is not there.
    pub fn taken(&mut self, ids: &[&str]) -> Answer<Vec<bool>> {
        if sure(self.index.dangling())? > 0 {
            return Err(Lost);
        }
        if sure(self.index.count())? == 0 {
            return Ok(vec![false; ids.len()]);
        }
        ids.iter().map(|id| sure(self.index.position(id)).map(|position| position.is_some())).collect()
    }

    pub fn counts(&mut self) -> Answer<Vec<usize>> {
        sure(self.index.counts())
    }

    /// Returns the list seen from above.
    pub fn overview(&mut self, most: Most) -> Answer<Overview> {
        let mut positions: BTreeSet<_> = sure(self.index.recent(most.done))?.into_iter().collect();
        for all in [Index::active, Index::failed, Index::barred, Index::loose] {
            positions.extend(sure(all(&mut self.index))?);
        }
        self.add_first(&mut positions, most.ready, Index::best)?;
        self.add_first(&mut positions, most.waiting, Index::waiting)?;
        let (mut items, mut needed) = (Vec::new(), HashMap::new());
        for position in positions {
            let item = match self.puts.get(&position) {
                Some(put) => put.after.clone(),
                None => self.read(position)?,
            };
            let state = sure(self.index.record(position))?.state;
            if matches!(self.listing.stage(state), Stage::Waiting | Stage::Ready | Stage::Active) {
                self.note_needs(&item, &mut needed)?;
            }
            items.push(item);
        }
        let words = self.listing.states.iter().map(|state| state.word);
        Ok(Overview { counts: words.zip(self.counts()?).collect(), items, needed })
    }

    /// Adds the first positions of an order; those that are there already do not count.
    fn add_first(
        &mut self,
        positions: &mut BTreeSet<usize>,
        most: usize,
        next: impl Fn(&mut Index, Option<Rank>) -> Option<Option<Rank>>,
    ) -> Answer<()> {
        let (mut after, mut added) = (None, 0);
        while added < most {
            after = sure(next(&mut self.index, after))?;
            let Some(rank) = after else { break };
            added += usize::from(positions.insert(rank.position));
        }
        Ok(())
    }

    fn note_needs(&mut self, item: &Value, needed: &mut HashMap<String, &'static str>) -> Answer<()> {
        let needs = item.get(self.listing.needs).and_then(Value::as_array).into_iter().flatten();
        for need in needs.filter_map(Value::as_str) {
            if let Some(position) = sure(self.index.position(need))? {
                let state = sure(self.index.record(position))?.state;
                needed.insert(need.to_owned(), self.listing.states[state].word);
            }
        }
        Ok(())
    }

    /// Whether an item of this id would have to be appended to an index that is nearly full.
    pub fn lacks_room_for(&mut self, id: &str) -> bool {
        !self.is_changed()
            && self.draft.is_none()
            && self.index.has_room() == Some(false)
            && self.index.position(id) == Some(None)
    }

    /// Replaces the item with this id, or appends it. The item is taken, unless it is [`Lost`]: then
    /// everything is left to be done on the whole document.
    pub fn put(&mut self, id: &str, item: &mut Value) -> Answer<()> {
        let position = sure(self.index.position(id))?;
        let text = layout::item_text(sure(item.as_object())?);
        let mut raw = Raw::default();
        sure(raw.read(&text, 0))?;
        match position {
            Some(position) => self.replace(position, item, text, &raw),
            None => self.append(id, item, text, &raw),
        }
    }

    fn replace(&mut self, position: usize, item: &mut Value, text: Vec<u8>, raw: &Raw) -> Answer<()> {
        let before = match self.last.take() {
            Some((last, before)) if last == position && !self.puts.contains_key(&position) => before,
            _ => self.at(position)?,
        };
        let old = sure(self.index.record(position))?;
        let needs_others = before.get(self.listing.needs) != item.get(self.listing.needs);
        let has_room = text.len() <= old.slot.room as usize;
        if needs_others || !has_room && self.spread(position, text.len()).is_err() {
            self.note(position, before, item.clone(), old.slot, text);
            return self.recast(&BTreeSet::new());
        }
        let slot = Slot { length: text.len() as u32, ..sure(self.index.record(position))?.slot };
        if self.is_active(position)? {
            sure(self.index.hold(&self.listing.hold_of(&before), -1))?;
        }
        sure(self.index.replace(position, slot, raw))?;
        self.hold(position, raw)?;
        self.note(position, before, std::mem::take(item), slot, text);
        Ok(())
    }

    /// Notes what is put in the place of an item; `before` counts unless it was put by this transaction, too.
    fn note(&mut self, position: usize, before: Value, after: Value, slot: Slot, text: Vec<u8>) {
        let put = self.puts.remove(&position);
        let moved = self.moves.remove(&position).is_some() || put.as_ref().is_some_and(|put| put.moved);
        let before = put.map_or(Some(before), |put| put.before);
        self.puts.insert(position, Put { before, after, slot, text, moved });
    }

    /// Makes room for an item that outgrows its slot with the blanks of those behind it. They move a little; at
    /// the end of the list there is as much room as it takes.
    fn spread(&mut self, position: usize, length: usize) -> Answer<()> {
        let count = sure(self.index.count())?;
        let first = sure(self.index.record(position))?.slot;
        let (mut lengths, mut room) = (vec![length], first.room as usize);
        let mut end = first.end();
        let mut last = position + 1;
        while room < lengths.iter().sum::<usize>() + lengths.len() * SPREAD_ROOM && last < count {
            let slot = sure(self.index.record(last))?.slot;
            if slot.start != end + layout::GAP.len() as u64 || last - position > SPREAD {
                return Err(Lost);
            }
            lengths.push(slot.length as usize);
            room += slot.room as usize;
            end = slot.end();
            last += 1;
        }
        let needed = lengths.iter().sum::<usize>();
        let each = match last == count {
            true => room.saturating_sub(needed) / lengths.len() + layout::room_of(&self.doc),
            false => (room - needed) / lengths.len(),
        };
        let spent = needed + each * lengths.len();
        let mut start = first.start;
        for (number, length) in lengths.iter().enumerate() {
            // What does not divide goes to the last one, so that the next slot stays where it is.
            let rest = if last < count && number + 1 == lengths.len() { room - spent } else { 0 };
            let slot = Slot { start, length: *length as u32, room: (length + each + rest) as u32 };
            match number {
                0 => sure(self.index.move_to(position, slot))?,
                _ => self.relocate(position + number, slot)?,
            }
            start = slot.end() + layout::GAP.len() as u64;
        }
        if last == count {
            let mut frame = sure(self.index.frame())?;
            frame.suffix = start - layout::GAP.len() as u64;
            sure(self.index.set_frame(&frame))?;
        }
        Ok(())
    }

    /// Puts an item as it is into another slot.
    fn relocate(&mut self, position: usize, slot: Slot) -> Answer<()> {
        if let Some(put) = self.puts.get_mut(&position) {
            (put.slot, put.moved) = (slot, true);
        } else {
            let record = sure(self.index.record(position))?;
            let text = self.text(position, &record)?;
            self.moves.insert(position, Moved { slot, text });
        }
        sure(self.index.move_to(position, slot))
    }

    fn append(&mut self, id: &str, item: &mut Value, text: Vec<u8>, raw: &Raw) -> Answer<()> {
        let position = sure(self.index.count())?;
        if raw.string(Item::id.name()).as_deref() != Some(id) || !self.has_comma(position)? {
            return Err(Lost);
        }
        let mut frame = sure(self.index.frame())?;
        let (slot, piece) = layout::append(&text, frame.suffix, layout::room_of(&self.doc));
        sure(self.index.append(slot, raw))?;
        self.hold(position, raw)?;
        frame.suffix += piece.len() as u64;
        sure(self.index.set_frame(&frame))?;
        let after = std::mem::take(item);
        self.puts.insert(position, Put { before: None, after, slot, text, moved: true });
        Ok(())
    }

    /// Takes the items with these ids out of the list, as far as they are there. Those at its end go in place; for others all that
    /// stand behind them move up.
    pub fn remove(&mut self, ids: &[&str]) -> Answer<()> {
        let mut leaving = BTreeSet::new();
        for id in ids {
            leaving.extend(sure(self.index.position(id))?);
        }
        while let Some(last) = leaving.last().copied()
            && self.remove_last(last).is_ok()
        {
            leaving.remove(&last);
        }
        if leaving.is_empty() { Ok(()) } else { self.recast(&leaving) }
    }

    /// Takes the last item out of the list. [`Lost`] if it is not the last, or somebody needs it.
    fn remove_last(&mut self, position: usize) -> Answer<()> {
        let item = self.at(position)?;
        let slot = sure(self.index.record(position))?.slot;
        let (mut frame, start) = (sure(self.index.frame())?, slot.start - layout::GAP.len() as u64);
        let end_before = match position.checked_sub(1) {
            Some(before) => sure(self.index.record(before))?.slot.end(),
            None => frame.prefix,
        };
        if end_before != start {
            return Err(Lost);
        }
        if self.is_active(position)? {
            sure(self.index.hold(&self.listing.hold_of(&item), -1))?;
        }
        sure(self.index.remove_last(position, &item))?;
        frame.suffix = start;
        sure(self.index.set_frame(&frame))?;
        self.last = None;
        self.moves.remove(&position);
        let before = self.puts.remove(&position).map_or(Some(item), |put| put.before);
        self.gone.extend(before.map(|before| (self.place_in_file(position), before)));
        Ok(())
    }

    fn is_active(&mut self, position: usize) -> Answer<bool> {
        let state = sure(self.index.record(position))?.state;
        Ok(self.listing.stage(state) == Stage::Active)
    }

    /// Notes what an item holds from now on.
    fn hold(&mut self, position: usize, raw: &Raw) -> Answer<()> {
        let facet = sure((self.listing.facet)(raw))?;
        if self.listing.stage(facet.state) == Stage::Active {
            let hold = (self.listing.hold)(raw);
            sure(self.index.hold(&hold, 1))?;
            sure(self.index.set_due(position, hold.due))?;
        }
        Ok(())
    }

    /// Whether the item before this position has room for the comma that it needs now.
    fn has_comma(&mut self, position: usize) -> Answer<bool> {
        let Some(last) = position.checked_sub(1) else { return Ok(true) };
        let slot = sure(self.index.record(last))?.slot;
        Ok(slot.room >= slot.length)
    }

    /// Seals what was put. `None` if there is no room for it in the file.
    pub fn stage(&mut self, place: &Place<'_>, entry: &Entry) -> Result<Answer<Patch>> {
        let frame = match self.read_frame() {
            Ok(frame) => frame,
            Err(lost) => return Ok(Err(lost)),
        };
        state::check_writable(&self.doc, &Value::Object(frame.clone()))
            .map_err(|unfit| unfit.of(place.show(&self.doc)))?;
        let mut stamped = frame.clone();
        let revision = self.revision + 1;
        state::stamp_document(&self.doc, &mut stamped, revision, entry);
        let mut changes = diff::diff(&Value::Object(frame), &Value::Object(stamped.clone()));
        let mut names = Names::new();
        for (position, item) in self.gone.iter().rev() {
            let (path, before) = (format!("{}[{position}]", self.field), Some(item.clone()));
            changes.push(Change { path, before, after: None, at: None });
        }
        for (position, put) in &self.puts {
            let path = format!("{}[{position}]", self.field);
            state::check_item(&self.doc, &path, &put.after).map_err(|unfit| unfit.of(self.doc.file()))?;
            match &put.before {
                Some(before) => {
                    let made = diff::diff_at(&path, before, &put.after);
                    let id = before.text(Item::id).filter(|_| !made.is_empty());
                    names.extend(id.map(|id| (path, id.to_owned())));
                    changes.extend(made);
                }
                None => changes.push(Change { path, before: None, after: Some(put.after.clone()), at: None }),
            }
        }
        let patch = self.patch(&stamped, revision, (changes, names));
        if let Ok(Patch { frame, .. }) = &patch
            && frame.size > self.doc.kind.limit
        {
            let (subject, limit) = (self.doc.file().into_owned(), self.doc.kind.limit);
            return Err(Error::TooLarge { subject, size: frame.size, limit });
        }
        Ok(patch)
    }

    fn patch(
        &mut self,
        document: &Map<String, Value>,
        revision: u64,
        (changes, names): (Vec<Change>, Names),
    ) -> Answer<Patch> {
        let (prefix, suffix) = sure(layout::frame(document, self.field))?;
        let mut frame = sure(self.index.frame())?;
        let mut writes = vec![(0, sure(layout::fill_prefix(prefix.clone(), frame.prefix))?)];
        let count = sure(self.index.count())?;
        if let Some((last, comma)) = self.comma(count) {
            let slot = sure(self.index.record(last))?.slot;
            writes.push((slot.start + u64::from(slot.length), vec![comma]));
        }
        let puts = self.puts.iter().map(|(position, put)| (*position, put.slot, &put.text, put.moved));
        let moves = self.moves.iter().map(|(position, moved)| (*position, moved.slot, &moved.text, true));
        for (position, slot, text, moved) in puts.chain(moves) {
            let bytes = sure(slot.fill(text, position + 1 == count))?;
            let gap = if moved { layout::GAP } else { b"" };
            writes.push((slot.start - gap.len() as u64, [gap, &bytes].concat()));
        }
        let whole = [&prefix[..], &suffix[..]].concat();
        frame.size = frame.suffix + suffix.len() as u64;
        writes.push((frame.suffix, suffix));
        let writes = joined(writes);
        frame.sum = sure(layout::scan(&whole, self.field, &mut |_, _| {}))?.sum;
        let sum = Sum::from_parts(frame.sum, sure(self.index.items_sum())?);
        let (stamp, exchanged, twin) = (0, false, 0);
        Ok(Patch { revision, sum, base: self.sum, changes, names, writes, frame, stamp, exchanged, twin })
    }

    /// Returns the item that was the last one, or is now, if it is not written anyway; and what has to stand behind it.
    fn comma(&self, count: usize) -> Option<(usize, u8)> {
        let first_new = self.puts.iter().find(|(_, put)| put.before.is_none()).map(|(position, _)| *position);
        let (end, comma) = match (first_new, self.gone.keys().next()) {
            (Some(first), _) => (first, b','),
            (None, Some(_)) => (count, b' '),
            (None, None) => return None,
        };
        let written = |last: &usize| self.puts.contains_key(last) || self.moves.contains_key(last);
        let last = end.checked_sub(1).filter(|last| !written(last))?;
        Some((last, comma))
    }

    /// Returns the fields of the document, with an empty list.
    pub fn read_frame(&self) -> Answer<Map<String, Value>> {
        if let Some(draft) = &self.draft {
            return Ok(draft.fields.clone());
        }
        let Frame { prefix, suffix, size, .. } = self.stored;
        let read = |from: u64, to: u64| self.file.read_at(from, (to - from) as usize).map_err(|_| Lost);
        let text = [read(0, prefix)?, read(suffix, size)?].concat();
        match json::parse(&text) {
            Ok(Value::Object(fields)) => Ok(fields),
            _ => Err(Lost),
        }
    }

    /// Writes the new state into the twin. Whatever can run out runs out here.
    pub fn prepare(&mut self, place: &Place<'_>, patch: &mut Patch) -> Result<()> {
        let path = place.twin(&self.doc.file());
        let written = self.current_twin(place, &path, &patch.writes).and_then(|twin| {
            for (offset, bytes) in &patch.writes {
                twin.write_at(*offset, bytes)?;
            }
            // It was brought to the size of the file, or of the draft.
            let size = self.draft.as_ref().map_or(self.stored.size, |draft| draft.size);
            if twin.opened().size.max(size) > patch.frame.size {
                twin.truncate(patch.frame.size)?;
            }
            twin.mark()
        });
        let stat = written.map_err(|error| place.failed("write", &path, error))?;
        patch.stamp = stamp_of(&stat);
        Ok(())
    }

    /// Whether somebody has written into the file since it was opened: what was made from it may be half of either then.
    pub fn is_touched(&self) -> bool {
        // After an edit by hand nothing is made from it any more.
        self.saved().is_none() && !self.file.look().is_ok_and(|stat| stamp_of(&stat) == self.stamp)
    }

    /// Puts the twin in the place of the file.
    pub fn publish(&self, place: &Place<'_>, patch: &mut Patch) -> Result<()> {
        patch.exchanged = place.swap_with(&place.twin(&self.doc.file()), &self.doc.file())?;
        Ok(())
    }

    /// Opens the twin after bringing it up to date, or makes a new one.
    fn current_twin(
        &mut self,
        place: &Place<'_>,
        path: &str,
        writes: &[(u64, Vec<u8>)],
    ) -> std::io::Result<Box<dyn Handle>> {
        if let Some(twin) = self.old_twin(place, path, writes)? {
            return Ok(twin);
        }
        if let Err(error) = place.fs.remove(path) {
            // What is no file cannot be removed like one; what fails otherwise is not ours to move.
            match place.fs.size(path) {
                Err(found) if found.kind() == std::io::ErrorKind::InvalidInput => {
                    drop(place.set_aside(path)?);
                }
                _ => return Err(error),
            }
        }
        let made = match &self.draft {
            None => {
                place.fs.copy(&*self.file, path)?;
                place.fs.open(path, Access::Write)?
            }
            Some(draft) => {
                let made = place.fs.open(path, Access::Create)?;
                made.as_ref()
                    .map_or(Ok(()), |made| draft.write(&self.doc, self.field, &*self.file, &**made))?;
                made
            }
        };
        made.ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    fn old_twin(
        &mut self,
        place: &Place<'_>,
        path: &str,
        writes: &[(u64, Vec<u8>)],
    ) -> std::io::Result<Option<Box<dyn Handle>>> {
        let (Some(stamp), Some(pending)) = (self.index.stamp(), self.index.pending()) else {
            return Ok(None);
        };
        if stamp.twin == 0 || self.draft.is_some() {
            return Ok(None);
        }
        // Whatever stands there and cannot be opened gives way to a new one.
        let Some(twin) = place.fs.open(path, Access::Write).ok().flatten() else { return Ok(None) };
        // Under another name it is somebody's copy, as `cp -l` makes them.
        let only_ours = twin.opened().names == 1 && stamp_of(twin.opened()) == stamp.twin;
        if !only_ours || !twin.is_alone().unwrap_or(false) {
            return Ok(None);
        }
        let written = |start: u64, length: u64| {
            writes.iter().any(|(at, bytes)| *at <= start && start + length <= *at + bytes.len() as u64)
        };
        for (start, length) in pending.into_iter().filter(|(start, length)| !written(*start, *length)) {
            twin.write_at(start, &self.file.read_at(start, length as usize)?)?;
        }
        Ok(Some(twin))
    }

    /// Looks at the file that was replaced. Returns where it is, if somebody changed it meanwhile.
    pub fn look_back(&self, place: &Place<'_>, patch: &mut Patch) -> Option<String> {
        let holder =
            if patch.exchanged { place.twin(&self.doc.file()) } else { place.copy(&self.doc.file()) };
        // Two edits within one tick of a coarse clock look alike: only the bytes tell them apart.
        if patch.exchanged && self.saved().is_none() {
            // By its name: an editor may have put another file in the place of the one that we have open.
            let twin = place.fs.stat(&holder).ok().flatten().map_or(0, |stat| stamp_of(&stat));
            if twin == self.stamp && self.draft.is_none() {
                patch.twin = twin;
            }
            if twin == 0 || twin == self.stamp {
                return None;
            }
        }
        if self.saved().is_some_and(|saved| saved.is_in(place, &holder)) {
            return None;
        }
        let bytes = place.fs.read(&holder, self.doc.kind.limit).ok().flatten()?;
        (place::sum(&self.doc, &bytes) != patch.base).then_some(holder)
    }

    /// Writes the index for what has been published. A failure is no failure: the index does not fit the file then, and is
    /// made anew.
    pub fn finish(mut self, place: &Place<'_>, patch: &Patch) {
        let ranges: Vec<_> = patch.writes.iter().map(|(start, bytes)| (*start, bytes.len() as u64)).collect();
        let mut stamped = || {
            let twin = if self.index.set_pending(&ranges)? { patch.twin } else { 0 };
            let (life, file, revision, sum) = (self.life, patch.stamp, patch.revision, patch.sum.bits());
            self.index.set_frame(&patch.frame)?;
            self.index.set_stamp(&Stamp { life, file, twin, revision, sum })
        };
        if stamped().is_some() {
            match self.index.is_stored() {
                true => drop(self.index.flush()),
                false => write_new(place, &self.doc, self.index),
            }
        }
        if !patch.exchanged {
            // Then a copy of the old file is left.
            let _ = place.fs.remove(&place.copy(&self.doc.file()));
        }
    }
}

/// Makes the index of a file that holds what the head knows. It is written with the next commit: who changes
/// nothing writes nothing.
fn reopen(
    past: &Past<'_>,
    file: &dyn Handle,
    stamp: &Stamp,
    known: Option<Index>,
) -> Result<Option<(Index, Option<Draft>)>> {
    let Past { place, doc, field, .. } = past;
    let Some(listing) = doc.kind.listing else { return Ok(None) };
    let path = place.doc(&doc.file());
    let length = usize::try_from(file.opened().size.min(doc.kind.limit)).unwrap_or(usize::MAX);
    let bytes = file.read_at(0, length + 1).map_err(|error| place.failed("read", &path, error))?;
    let mut build = Build::of(listing);
    let Some(frame) = layout::scan(&bytes, field, &mut |slot, raw| build.add(slot, raw)) else {
        return Ok(None);
    };
    let found = Found { bytes, frame, build };
    if found.sum().bits() == stamp.sum {
        let index = found.build.finish(&frame);
        return Ok(index.and_then(|mut index| index.set_stamp(stamp).map(|()| (index, None))));
    }
    let taken =
        known.filter(|_| found.build.fits()).map(|index| edited::take_in(past, index, stamp.revision, found));
    Ok(match taken {
        Some(Ok((index, draft))) => Some((index, Some(draft))),
        Some(Err(Lost)) | None => None,
    })
}

/// Makes the index of bytes that must have this stamp's sum.
fn build(doc: &Doc, bytes: &[u8], stamp: &Stamp) -> Option<Index> {
    let mut index = Index::build(bytes, field_of(doc)?, doc.kind.listing?)?;
    let sum = Sum::from_parts(index.frame()?.sum, index.items_sum()?);
    (sum.bits() == stamp.sum).then_some(())?;
    index.set_stamp(stamp)?;
    Some(index)
}

/// Returns where the file is that the commit of this revision swapped out, if it is not the one that the index knows: somebody
/// saved in between, and the writer was killed before it could look back. An index of that revision is written after the look.
pub fn swapped_out(place: &Place<'_>, doc: &Doc, revision: u64) -> Option<String> {
    let listing = doc.kind.listing.filter(|_| field_of(doc).is_some())?;
    let index = place.fs.open(&place.index(&doc.file()), Access::Read).ok().flatten()?;
    let known = Index::open(index, listing)?.stamp().filter(|known| known.revision < revision)?;
    let twin = place.twin(&doc.file());
    let stamp = stamp_of(&place.fs.stat(&twin).ok().flatten()?);
    (stamp != known.file && stamp != known.twin).then_some(twin)
}

/// Marks the spare of a list that is to be published as a whole, and returns its stamp.
pub fn mark_whole(place: &Place<'_>, doc: &Doc) -> Option<u64> {
    field_of(doc)?;
    let spare = place.fs.open(&place.spare(&doc.file()), Access::Write).ok()??;
    spare.mark().ok().map(|stat| stamp_of(&stat))
}

/// Writes the index of a list that was published as a whole. Without it the next command makes it.
pub fn index_whole(place: &Place<'_>, doc: &Doc, head: &Head, file: u64, bytes: &[u8]) {
    let is_short = bytes.len() as u64 <= layout::short_of(doc);
    if let Some(HeadDoc { revision, sum: Some(sum) }) = head.docs.get(&*doc.file()).copied()
        && !is_short
    {
        let stamp = Stamp { life: head.life.number(), file, twin: 0, revision, sum: sum.bits() };
        if let Some(index) = build(doc, bytes, &stamp) {
            write_new(place, doc, index);
        }
    }
}

/// Writes an index into a new file, so that no page of an old one is taken for one of it.
fn write_new(place: &Place<'_>, doc: &Doc, mut index: Index) {
    let path = place.index(&doc.file());
    if place.fs.remove(&path).is_ok()
        && let Ok(Some(file)) = place.fs.open(&path, Access::Create)
    {
        let _ = index.write_to(file);
    }
}

/// Joins what is written side by side.
fn joined(mut writes: Vec<(u64, Vec<u8>)>) -> Vec<(u64, Vec<u8>)> {
    writes.sort_by_key(|(start, _)| *start);
    let mut joined: Vec<(u64, Vec<u8>)> = Vec::with_capacity(writes.len());
    for (start, bytes) in writes {
        match joined.last_mut().filter(|(last, before)| *last + before.len() as u64 == start) {
            Some((_, before)) => before.extend(bytes),
            None => joined.push((start, bytes)),
        }
    }
    joined
}

fn id_of(item: &Value) -> &str {
    item.text(Item::id).unwrap_or_default()
}

/// Tells one state of one file from every other.
pub fn stamp_of(stat: &Stat) -> u64 {
    let identity = stat.identity.map_or((0, 0), |identity| (identity.inode, identity.born));
    let mut bytes = Vec::with_capacity(48);
    bytes.extend_from_slice(&stat.size.to_le_bytes());
    bytes.extend_from_slice(&stat.modified.to_le_bytes());
    bytes.extend_from_slice(&identity.0.to_le_bytes());
    bytes.extend_from_slice(&identity.1.to_le_bytes());
    // 0 stands for no file.
    xxh3_64(&bytes).max(1)
}
