//! What an edit was made from.
//!
//! A document carries the revision and the time of the commit that wrote it, and an editor leaves both alone. So the state
//! of ours with the same two is what the edit began with. Where a program has set the time itself, the state with the same
//! revision is taken if most of the edit is in it; a file of another machine does not pass for one of ours by a number.

use std::collections::HashMap;

use serde_json::Value;

use crate::model::documents::common::{Item, Stamps};
use crate::model::documents::queue::QueueTask;
use crate::model::key::Fields;
use crate::model::kind::{Items, Kind};

/// What a file says it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    pub revision: Option<u64>,
    pub time: Option<String>,
}

/// Returns what a document says of itself.
pub fn stated(kind: &Kind, value: &Value) -> Made {
    let time = kind.time_field.and_then(|field| value.get(field)?.as_str()).map(str::to_owned);
    Made { revision: value.read(Stamps::revision), time }
}

/// Whether an edit was made from `content`, a state of ours, by what both say of themselves.
pub fn made_from(kind: &Kind, edit: &Value, content: &Value) -> bool {
    if kind.items == Items::Document {
        return entries_made_from(kind, edit, content);
    }
    let (edit, content) = (stated(kind, edit), stated(kind, content));
    match edit.revision {
        Some(_) => edit == content,
        None => edit.time.is_some() && edit.time == content.time,
    }
}

/// The same where each entry has a revision of its own: all that both have must agree, and something must.
fn entries_made_from(kind: &Kind, edit: &Value, content: &Value) -> bool {
    let (Some(edit), Some(content)) = (edit.as_object(), content.as_object()) else { return false };
    let mut some = false;
    for (key, entry) in edit.iter().filter(|(_, entry)| entry.is_object()) {
        let made = stated(kind, entry);
        match content.get(key) {
            Some(known) if stated(kind, known) == made => some = true,
            None if made.revision.is_none() => {}
            _ => return false,
        }
    }
    some
}

/// Whether most of an edit is in `content`: the rest is what somebody changed.
pub fn resembles(kind: &Kind, edit: &Value, content: &Value) -> bool {
    let known: HashMap<&str, &Value> = parts(kind, content).into_iter().collect();
    let parts = parts(kind, edit);
    let same = parts.iter().filter(|(name, part)| known.get(name) == Some(part));
    same.count() * 2 > parts.len()
}

/// Returns the items of a document by name; its fields, where it has no items.
fn parts<'v>(kind: &Kind, value: &'v Value) -> Vec<(&'v str, &'v Value)> {
    let items = match kind.items {
        Items::Field(field) => value.get(field),
        Items::Nested(outer, field) => value.get(outer).and_then(|outer| outer.get(field)),
        Items::Document | Items::None => None,
    };
    let is_stamp = |key: &str| {
        key == Stamps::revision.name() || key == Stamps::updated_by.name() || kind.time_field == Some(key)
    };
    match items {
        Some(Value::Array(list)) if !list.is_empty() => {
            list.iter().map(|item| (item.text(Item::id).unwrap_or_default(), item)).collect()
        }
        Some(Value::Object(map)) if !map.is_empty() => {
            map.iter().map(|(key, item)| (key.as_str(), item)).collect()
        }
        _ => {
            let fields = value.as_object().into_iter().flatten();
            fields.map(|(key, part)| (key.as_str(), part)).filter(|(key, _)| !is_stamp(key)).collect()
        }
    }
}

/// States of work that somebody has in hand.
const AT_WORK: &[&str] = &["claimed", "in_progress", "active", "running"];

/// Whether somebody is at work on something in a document.
pub fn is_at_work(kind: &Kind, value: &Value) -> bool {
    let at_work = |item: &Value| {
        item.text(QueueTask::status).is_some_and(|word| AT_WORK.contains(&word))
            || item.at(QueueTask::lease).is_some_and(|lease| lease.is_object())
                && item.at(QueueTask::claimed_by).is_some_and(Value::is_string)
                && item.at(QueueTask::completed_at).is_none_or(Value::is_null)
    };
    let in_entries =
        || kind.items == Items::Document && value.as_object().is_some_and(|map| map.values().any(at_work));
    parts(kind, value).iter().any(|(_, item)| at_work(item)) || in_entries()
}
