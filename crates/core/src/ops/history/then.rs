//! What a document was, told from what it is by the changes in between. Each is taken back once, and of a long list only the
//! items that they touch are read.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::Value;

use crate::model::diff::{self, Change};
use crate::model::documents::queue::QueueTask;
use crate::model::key::Fields;
use crate::model::kind::{Doc, Items};
use crate::ops::Result;
use crate::store::engine::items;
use crate::store::{Engine, Revision, Transaction};

/// What a document was.
pub enum Then {
    /// A list, of which only these items were something else, the last one first.
    Items(Vec<Step>),
    /// `None` if it did not exist.
    Whole(Option<Value>),
}

/// One item, and what it was.
pub struct Step {
    /// Its place, for messages.
    pub place: String,
    pub id: String,
    /// `None` if there is no such item any more, or was none.
    pub now: Option<Value>,
    pub then: Option<Value>,
}

/// An item now and then, as far as it exists.
pub type Pair = (Option<Value>, Option<Value>);

/// Returns what a document was before `records`, the newest first; `previous` is the revision before the last of them.
pub fn then(
    engine: &dyn Engine,
    transaction: &mut dyn Transaction,
    doc: &Doc,
    records: &[Revision],
    previous: Option<u64>,
) -> Result<Then> {
    if let Some(steps) = items_before(transaction, doc, records)? {
        return Ok(Then::Items(steps));
    }
    match whole_before(transaction.get(doc)?, records) {
        Some(value) => Ok(Then::Whole(value)),
        None => Ok(Then::Whole(replayed(engine, doc, records, previous)?)),
    }
}

/// Takes the changes back item by item; `None` if the list is no long one, or they do more than change items, append some and
/// take some from the end.
fn items_before(
    transaction: &mut dyn Transaction,
    doc: &Doc,
    records: &[Revision],
) -> Result<Option<Vec<Step>>> {
    let (Some(_), Items::Field(field)) = (doc.kind.listing, doc.kind.items) else { return Ok(None) };
    if !transaction.edits(doc)?.is_empty() || records.iter().any(|record| record.stored.is_some()) {
        return Ok(None);
    }
    let mut touched: BTreeMap<usize, Pair> = BTreeMap::new();
    for change in records.iter().flat_map(|record| diff::invert(&record.changes)) {
        let Some((position, rest)) = place_in(field, &change.path) else {
            if doc.kind.stamps(&change.path) {
                continue;
            }
            return Ok(None);
        };
        let (_, then) = match touched.entry(position) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let now = transaction.item_at(doc, position)?;
                place.insert((now.clone(), now))
            }
        };
        if !take_back(then, Change { path: rest.to_owned(), ..change.clone() }) {
            return Ok(None);
        }
    }
    steps(transaction, doc, field, touched)
}

/// Returns the position that a path leads to, and the rest of it inside of the item.
fn place_in<'p>(field: &str, path: &'p str) -> Option<(usize, &'p str)> {
    let (position, rest) = path.strip_prefix(field)?.strip_prefix('[')?.split_once(']')?;
    Some((position.parse().ok()?, rest.strip_prefix('.').unwrap_or(rest)))
}

/// Applies a change to an item. Returns false if it does not fit.
fn take_back(item: &mut Option<Value>, change: Change) -> bool {
    match (item.as_mut(), change.path.is_empty(), &change.after) {
        (Some(value), true, None) => {
            let fits = change.before.as_ref() == Some(&*value);
            *item = None;
            fits
        }
        (Some(_), true, Some(_)) if change.before.is_none() => false,
        (Some(value), ..) => diff::apply(value, &[change]).is_ok(),
        (None, true, Some(_)) if change.before.is_none() => {
            *item = change.after;
            true
        }
        (None, ..) => false,
    }
}

/// Makes sure that every item stays the same one, and that those that go or come back are the last ones. Those that go are
/// told from the last one on, the others from the first one on.
fn steps(
    transaction: &mut dyn Transaction,
    doc: &Doc,
    field: &str,
    touched: BTreeMap<usize, Pair>,
) -> Result<Option<Vec<Step>>> {
    // What came and went in between does not count.
    let touched: BTreeMap<_, _> =
        touched.into_iter().filter(|(_, (now, then))| now.is_some() || then.is_some()).collect();
    let at = |is_there: fn(&Pair) -> bool| -> Vec<usize> {
        touched.iter().filter(|(_, pair)| is_there(pair)).map(|(position, _)| *position).collect()
    };
    let (going, coming) = (at(|(_, then)| then.is_none()), at(|(now, _)| now.is_none()));
    let fits = match (&going[..], &coming[..]) {
        ([.., last], []) => is_row(&going) && transaction.item_at(doc, last + 1)?.is_none(),
        ([], [0, ..]) => is_row(&coming),
        ([], [first, ..]) => is_row(&coming) && transaction.item_at(doc, first - 1)?.is_some(),
        ([], []) => true,
        _ => false,
    };
    if !fits {
        return Ok(None);
    }
    let step = |(position, (now, then)): (usize, Pair)| {
        let id = same_id(now.as_ref(), then.as_ref())?;
        Some(Step { place: format!("{field}[{position}]"), id, now, then })
    };
    let Some(mut steps) = touched.into_iter().map(step).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let kept = steps.len() - going.len();
    steps[kept..].reverse();
    steps.rotate_left(kept);
    Ok(Some(steps))
}

/// Whether each position follows the one before it.
fn is_row(positions: &[usize]) -> bool {
    positions.windows(2).all(|two| two[0] + 1 == two[1])
}

/// Returns the id of an item, which must be the same now and then.
fn same_id(now: Option<&Value>, then: Option<&Value>) -> Option<String> {
    let mut ids = now.into_iter().chain(then).map(|item| item.text(QueueTask::id));
    let first = ids.next()??;
    ids.all(|id| id == Some(first)).then(|| first.to_owned())
}

/// Takes the changes back from the whole document; `None` if they do not tell what was before them.
fn whole_before(now: Option<&Value>, records: &[Revision]) -> Option<Option<Value>> {
    let mut value = now.cloned();
    for record in records {
        let changes = &record.changes;
        match (&changes[..], value.as_mut()) {
            // An edit that is not recorded yet may have made the document.
            ([], _) => return None,
            _ if record.stored.is_some() => return None,
            ([whole], _) if whole.is_whole() => value = whole.before.clone(),
            (_, Some(value)) => diff::apply(value, &diff::invert(changes)).ok()?,
            (_, None) => return None,
        }
    }
    Some(value)
}

/// Finds it by telling the history from its beginning.
fn replayed(
    engine: &dyn Engine,
    doc: &Doc,
    records: &[Revision],
    previous: Option<u64>,
) -> Result<Option<Value>> {
    let first = records.last().map_or(0, |record| record.revision);
    let mut before = None;
    engine.replay(doc, &mut |record, value| {
        if Some(record.revision) == previous {
            before = value.cloned();
        } else if previous.is_none() && record.revision == first {
            let told = whole_before(value, std::slice::from_ref(record));
            before = told.unwrap_or_else(|| value.cloned());
        }
    })?;
    Ok(before)
}

/// Returns the items of two states of a document that are not the same in both.
pub fn pairs(doc: &Doc, now: &Value, then: &Value) -> Vec<(Option<Value>, Option<Value>)> {
    let by_id = |value: &Value| -> BTreeMap<String, Value> {
        let named = items(doc.kind, value).into_iter();
        let named = named.filter_map(|item| Some((item.text(QueueTask::id)?.to_owned(), item.clone())));
        named.collect()
    };
    let (now, mut then) = (by_id(now), by_id(then));
    let mut pairs: Vec<_> = now
        .into_iter()
        .map(|(id, item)| {
            let then = then.remove(&id);
            (Some(item), then)
        })
        .filter(|(now, then)| now != then)
        .collect();
    pairs.extend(then.into_values().map(|item| (None, Some(item))));
    pairs
}
