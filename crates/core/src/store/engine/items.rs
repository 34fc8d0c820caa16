//! The items of a document that is at hand as a value: what every engine answers, said in the plainest way.

use std::collections::HashSet;

use serde_json::Value;

use super::picking::Rank;
use crate::model::documents::common::Item;
use crate::model::key::Fields;
use crate::model::kind::{Doc, Items, Kind};
use crate::model::listing::{Among, Facet, Listing, Marks, Stage};
use crate::model::raw::Raw;
use crate::store::error::Unfit;
use crate::store::texts::Texts;

/// Keeps the items of a document's list that are wanted.
pub fn keep_in(kind: &Kind, value: &mut Value, wanted: &mut dyn FnMut(&Raw) -> bool) {
    let mut raw = Raw::default();
    let mut is_wanted = |item: &Value| {
        let text = serde_json::to_vec(item).expect("a JSON value can always be written");
        raw.read(&text, 0).is_some() && wanted(&raw)
    };
    if let Some(Value::Array(items)) = container_mut(kind, value) {
        items.retain(|item| is_wanted(item));
    }
}

/// Returns one item of a document's list.
pub fn item_in<'v>(doc: &Doc, value: &'v Value, id: &str) -> Option<&'v Value> {
    match container(doc.kind, value)? {
        Value::Array(list) => list.iter().find(|item| has_id(item, id)),
        Value::Object(map) => map.get(id),
        _ => None,
    }
}

/// Returns a document with none of its items.
pub fn frame_of(doc: &Doc, value: &Value) -> Value {
    let (Value::Object(fields), Items::Field(list)) = (value, doc.kind.items) else { return value.clone() };
    let frame = fields.iter().map(|(name, field)| match (name == list, field) {
        (true, Value::Array(_)) => (name.clone(), Value::Array(Vec::new())),
        _ => (name.clone(), field.clone()),
    });
    Value::Object(frame.collect())
}

/// Returns the items of a document that are looked for.
pub fn find_in(doc: &Doc, value: &Value, among: Among<'_>) -> Vec<Value> {
    let Some(listing) = doc.kind.listing else { return Vec::new() };
    listed(listing, &items(doc.kind, value), among).into_iter().cloned().collect()
}

/// Returns the best item of a document after `after` that has none of these marks.
pub fn best_in(doc: &Doc, value: &Value, after: Option<Rank>, without: &Marks) -> Option<(Rank, Value)> {
    let listing = doc.kind.listing?;
    let ranked = items(doc.kind, value).into_iter().enumerate().filter_map(|(position, item)| {
        let rank = |facet: &Facet<'_>| {
            let ready = listing.stage(facet.state) == Stage::Ready;
            ready.then_some(Rank { class: facet.class, age: facet.age, position })
        };
        listing.with_facet(item, rank)?.map(|rank| (rank, item))
    });
    let fits = |item: &Value| {
        without.is_empty() || !listing.marks_of(item).iter().any(|mark| without.contains(mark))
    };
    let later = ranked.filter(|(rank, _)| after.is_none_or(|after| *rank > after));
    let best = later.filter(|(_, item)| fits(item)).min_by_key(|(rank, _)| *rank)?;
    Some((best.0, best.1.clone()))
}

/// Returns how many items of a document are in each of the kind's states.
pub fn counts_in(doc: &Doc, value: Option<&Value>) -> Vec<usize> {
    let Some(listing) = doc.kind.listing else { return Vec::new() };
    let mut counts = vec![0; listing.states.len()];
    for item in value.map(|value| items(doc.kind, value)).unwrap_or_default() {
        if let Some(state) = listing.with_facet(item, |facet| facet.state) {
            counts[state] += 1;
        }
    }
    counts
}

/// Returns the items that are looked for, by looking at each.
fn listed<'v>(listing: &Listing, items: &[&'v Value], among: Among<'_>) -> Vec<&'v Value> {
    let mut done: HashSet<String> = HashSet::new();
    if among == Among::Loose {
        let id = |facet: &Facet<'_>| {
            let done = listing.stage(facet.state) == Stage::Done;
            done.then(|| facet.id.clone().into_owned())
        };
        done.extend(items.iter().filter_map(|item| listing.with_facet(item, id)?));
    }
    let wanted = |facet: &Facet<'_>| match (among, listing.stage(facet.state)) {
        (Among::Active, stage) => stage == Stage::Active,
        (Among::Loose, Stage::Waiting) => facet.needs.iter().all(|id| done.contains(&**id)),
        (Among::InNeedOf(id), Stage::Waiting | Stage::Ready) => facet.needs.iter().any(|need| need == id),
        _ => false,
    };
    items.iter().filter(|item| listing.with_facet(item, wanted) == Some(true)).copied().collect()
}

/// Returns the items of a document's list, whatever container holds them.
pub fn items<'v>(kind: &Kind, value: &'v Value) -> Vec<&'v Value> {
    match container(kind, value) {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(Value::Object(map)) if kind.items == Items::Document => {
            map.values().filter(|item| item.is_object()).collect()
        }
        Some(Value::Object(map)) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn container<'v>(kind: &Kind, value: &'v Value) -> Option<&'v Value> {
    match kind.items {
        Items::None => None,
        Items::Field(field) => value.get(field),
        Items::Nested(outer, field) => value.get(outer)?.get(field),
        Items::Document => Some(value),
    }
}

fn container_mut<'v>(kind: &Kind, value: &'v mut Value) -> Option<&'v mut Value> {
    match kind.items {
        Items::None => None,
        Items::Field(field) => value.get_mut(field),
        Items::Nested(outer, field) => value.get_mut(outer)?.get_mut(field),
        Items::Document => Some(value),
    }
}

/// Replaces or appends one item of a document's list.
pub fn put_in(doc: &Doc, value: &mut Value, id: &str, item: Value) -> Result<(), Unfit> {
    match container_mut(doc.kind, value) {
        Some(Value::Array(list)) => match list.iter_mut().find(|old| has_id(old, id)) {
            Some(old) => *old = item,
            None => list.push(item),
        },
        Some(Value::Object(map)) => drop(map.insert(id.into(), item)),
        _ => return Err(Unfit::Invalid(format!("it has no list that could hold `{id}`"))),
    }
    Ok(())
}

/// Takes one item out of a document's list.
pub fn remove_in(doc: &Doc, value: &mut Value, ids: &[&str]) {
    let ids: HashSet<_> = ids.iter().copied().collect();
    match container_mut(doc.kind, value) {
        Some(Value::Array(list)) => {
            list.retain(|item| !item.text(Item::id).is_some_and(|id| ids.contains(id)));
        }
        Some(Value::Object(map)) => map.retain(|id, _| !ids.contains(&id[..])),
        _ => {}
    }
}

/// Appends items to a document's list.
pub fn extend_in(doc: &Doc, value: &mut Value, items: &Texts) -> Result<(), Unfit> {
    match container_mut(doc.kind, value) {
        Some(Value::Array(list)) => {
            list.extend(items.values());
            Ok(())
        }
        _ => Err(Unfit::Invalid(format!("it has no list that could hold {} items", items.len()))),
    }
}

fn has_id(item: &Value, id: &str) -> bool {
    item.text(Item::id) == Some(id)
}
