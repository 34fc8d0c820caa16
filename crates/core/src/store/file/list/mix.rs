//! Telling what a power loss leaves of a list from what a person makes of it.
//!
//! A list is written in place and not synced, so a power loss may leave any mix of the states that it had since the
//! journal's segment began, even within one item. Such a file is ours although no line knows it: each of its
//! items can be put together, byte by byte at their places, from the states that this item had.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::layout;
use crate::model::diff::Change;
use crate::model::documents::common::Item;
use crate::model::key::Fields;
use crate::model::kind::Doc;
use crate::store::engine::items;
use crate::store::file::addresses::DocFiles;
use crate::store::file::journal::{Replay, Segment};

/// What a list was made of since the segment began.
#[derive(Default)]
struct States {
    /// The texts of each item, by id.
    items: BTreeMap<String, BTreeSet<Vec<u8>>>,
    /// Who came to a place at the end of the list, or left it: each is written over the one before.
    ends: BTreeMap<usize, BTreeSet<String>>,
    frames: Vec<Map<String, Value>>,
    /// How many items it had at least.
    fewest: usize,
}

/// Whether the file holds nothing but pieces of the states that the list had.
pub fn is_mix(doc: &Doc, field: &str, file: &Value, segment: &Segment) -> bool {
    let states = States::of(doc, field, segment);
    let found = items(doc.kind, file);
    found.len() >= states.fewest
        && states.frames.contains(&frame(doc, field, file))
        && found.iter().enumerate().all(|(position, item)| states.explain(position, item))
}

impl States {
    fn of(doc: &Doc, field: &str, segment: &Segment) -> States {
        let mut states = States { fewest: usize::MAX, ..States::default() };
        let mut replay = Replay::default();
        for line in &segment.lines {
            replay.apply(line);
            let Some(entry) = line.docs.iter().find(|entry| entry.file == doc.file()) else { continue };
            let Some(content) = replay.content(&doc.file()) else { continue };
            let list = items(doc.kind, content);
            match entry.changes.is_empty() {
                true => list.iter().for_each(|item| states.add(item)),
                false => touched(field, &entry.changes)
                    .filter_map(|at| list.get(at))
                    .for_each(|item| states.add(item)),
            }
            entry.changes.iter().for_each(|change| states.note_end(field, change));
            states.fewest = states.fewest.min(list.len());
            let frame = frame(doc, field, content);
            if !states.frames.contains(&frame) {
                states.frames.push(frame);
            }
        }
        states
    }

    fn add(&mut self, item: &Value) {
        if let (Some(id), Some(fields)) = (id(item), item.as_object()) {
            self.items.entry(id.into()).or_default().insert(layout::item_text(fields));
        }
    }

    fn note_end(&mut self, field: &str, change: &Change) {
        let (Some((position, "")), Some(item)) =
            (place_in(field, &change.path), change.before.as_ref().or(change.after.as_ref()))
        else {
            return;
        };
        self.ends.entry(position).or_default().extend(id(item).map(str::to_owned));
    }

    fn explain(&self, position: usize, item: &Value) -> bool {
        let (Some(id), Some(fields)) = (id(item), item.as_object()) else { return false };
        let text = layout::item_text(fields);
        let others = self.ends.get(&position).into_iter().flatten().map(String::as_str);
        let known = std::iter::once(id).chain(others).filter_map(|id| self.items.get(id));
        let known: Vec<_> = known.flatten().collect();
        let from_any = |(at, byte): (usize, &u8)| known.iter().any(|state| stands_at(state, at, *byte));
        known.contains(&&text) || text.iter().enumerate().all(from_any)
    }
}

/// Whether a slot with this item has the byte at this place; behind the item there are a comma and blanks.
fn stands_at(item: &[u8], at: usize, byte: u8) -> bool {
    match item.get(at) {
        Some(own) => *own == byte,
        None => byte == b' ' || (at == item.len() && byte == b','),
    }
}

/// Returns the fields around the list, without those that every commit sets.
fn frame(doc: &Doc, field: &str, document: &Value) -> Map<String, Value> {
    let stamped = |key: &str| {
        key == field || key == "revision" || key == "updated_by" || doc.kind.time_field == Some(key)
    };
    let fields = document.as_object().into_iter().flatten();
    fields.filter(|(key, _)| !stamped(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Returns the positions that changes speak of.
fn touched<'c>(field: &'c str, changes: &'c [Change]) -> impl Iterator<Item = usize> + 'c {
    changes.iter().filter_map(move |change| Some(place_in(field, &change.path)?.0))
}

/// Returns the position that a path leads to, and the rest of it.
fn place_in<'p>(field: &str, path: &'p str) -> Option<(usize, &'p str)> {
    let (position, rest) = path.strip_prefix(field)?.strip_prefix('[')?.split_once(']')?;
    Some((position.parse().ok()?, rest))
}

fn id(item: &Value) -> Option<&str> {
    item.text(Item::id)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::model::diff;
    use crate::model::json;
    use crate::store::file::journal::{Line, Sum};
    use crate::store::file::room_transaction::entry_of;

    /// Returns a segment in which a queue had these lists of tasks.
    fn segment(states: &[Value]) -> Segment {
        let documents: Vec<_> = states.iter().map(|tasks| json!({"tasks": tasks})).collect();
        let sum = |value: &Value| Some(Sum::of(value.to_string().as_bytes()));
        let entry = |number: usize| {
            let (before, now) = (number.checked_sub(1).map(|before| &documents[before]), &documents[number]);
            let changes = before.map_or(Vec::new(), |before| diff::diff(before, now));
            let content = before.is_none().then(|| now.clone());
            entry_of(&Doc::queue(), number as u64 + 1, (before.and_then(sum), sum(now)), changes, content)
        };
        let line = |number| Line::new(Timestamp::UNIX_EPOCH, "a", "b", vec![entry(number)]);
        let mut segment = Segment::default();
        segment.lines.extend((0..documents.len()).map(line));
        segment
    }

    /// Whatever part of a new item reached the disk before the power was lost: the rest is of the one before it.
    #[test]
    fn an_item_may_be_mixed_with_the_one_that_stood_there_before() {
        let task = |id: &str, text: &str| json!({"id": id, "description": text, "status": "available"});
        let (first, old, new) = (task("a", "a"), task("old", &"o".repeat(90)), task("new", &"n".repeat(90)));
        let segment = segment(&[json!([first, old]), json!([first]), json!([first, new])]);
        let [before, after] = [&old, &new].map(|item| layout::item_text(item.as_object().expect("a task")));
        let is_mix =
            |item: &Value| is_mix(&Doc::queue(), "tasks", &json!({"tasks": [first, item]}), &segment);
        for at in 0..=before.len() {
            let torn = json::parse(&[&after[..at], &before[at..]].concat()).expect("both are as long");
            assert!(is_mix(&torn), "{at}: {torn}");
        }
        assert!(!is_mix(&task("new", "by hand")));
        assert!(!is_mix(&task("other", &"n".repeat(90))));
    }
}
