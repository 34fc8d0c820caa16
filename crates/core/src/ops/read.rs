//! Reading documents and their items.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Error, Result};
use crate::hint;
use crate::model::documents::queue::QueueTask;
use crate::model::hint::Hint;
use crate::model::key::Fields;
use crate::model::kind::{Doc, Items};
use crate::model::listing::{Most, Overview};
use crate::model::next::Next;
use crate::model::path::{Path, Segment};
use crate::model::raw::Raw;
use crate::model::room::Room;
use crate::store::engine::{counts_in, items};
use crate::store::{Document, Engine, Transaction};

/// Returns a document, which must exist.
pub fn document(engine: &dyn Engine, doc: &Doc) -> Result<Document> {
    match engine.read(doc)? {
        Some(document) => Ok(document),
        None => blank(engine, doc)?.ok_or_else(|| missing(engine, doc)),
    }
}

/// Returns what a list of a session is while nobody has put anything into it; `None` without such a session.
fn blank(engine: &dyn Engine, doc: &Doc) -> Result<Option<Document>> {
    let Room::Session(id) = &doc.room else { return Ok(None) };
    let is_known = doc.kind.items != Items::None && engine.read(&Doc::session(id))?.is_some();
    let value = || doc.default(Timestamp::UNIX_EPOCH);
    Ok(is_known.then(|| Document { value: value(), revision: 0 }))
}

/// Returns a document's value at `path`.
pub fn get(engine: &dyn Engine, doc: &Doc, path: &Path) -> Result<Value> {
    if let Some(found) = get_part(engine, doc, path)? {
        return Ok(found);
    }
    let document = document(engine, doc)?;
    Ok(path.get(&document.value)?.clone())
}

/// Returns what a path leads to that needs at most one item of a long list. `None` if there is no such thing: the whole
/// document tells why.
fn get_part(engine: &dyn Engine, doc: &Doc, path: &Path) -> Result<Option<Value>> {
    let (Some(part), true) = (Wanted::of(doc, path), !engine.is_absent(doc)) else { return Ok(None) };
    let Some(mut look) = engine.browse(&doc.room)? else { return Ok(None) };
    if !look.exists(doc)? || !look.edits(doc)?.is_empty() {
        return Ok(None);
    }
    let found = match part {
        Wanted::Frame => look.frame(doc)?,
        Wanted::Item(item) => item.alone_in(&mut *look, doc)?,
    };
    Ok(found.and_then(|found| path.get(&found).ok().cloned()))
}

/// How little of a long list a path needs.
pub(super) enum Wanted<'a> {
    /// What is beside the items.
    Frame,
    Item(Item<'a>),
}

/// One item of a list.
pub(super) struct Item<'a> {
    pub field: &'static str,
    pub id: &'a str,
}

impl<'a> Wanted<'a> {
    pub fn of(doc: &Doc, path: &'a Path) -> Option<Wanted<'a>> {
        let (Some(_), Items::Field(field)) = (doc.kind.listing, doc.kind.items) else { return None };
        match path.segments() {
            [Segment::Key(first), ..] if first != field => Some(Wanted::Frame),
            [Segment::Key(_), Segment::Select { key, value: id }, ..] if key == "id" => {
                Some(Wanted::Item(Item { field, id }))
            }
            _ => None,
        }
    }
}

impl Item<'_> {
    /// Returns a document that has only this item.
    pub fn alone_in(&self, transaction: &mut dyn Transaction, doc: &Doc) -> Result<Option<Value>> {
        let item = transaction.item(doc, self.id)?;
        Ok(item.map(|item| json!({ self.field: [item] })))
    }
}

/// Returns the items of a document's list; none if the document does not exist.
pub fn list(engine: &dyn Engine, doc: &Doc, status: Option<&str>) -> Result<Vec<Value>> {
    if doc.kind.items == Items::None {
        return Err(Error::NoList { kind: doc.kind.name });
    }
    let Some(document) = engine.read(doc)? else { return Ok(Vec::new()) };
    Ok(with_status(items(doc.kind, &document.value), status))
}

/// Returns how many items of a document are in each of its kind's states; `None` if there is no such document. An engine
/// with an index answers without reading it.
pub fn counts(engine: &dyn Engine, doc: &Doc) -> Result<Option<Vec<usize>>> {
    // What is not there is not locked either.
    if engine.is_absent(doc) {
        return Ok(None);
    }
    if let Some(mut look) = engine.browse(&doc.room)?
        && look.exists(doc)?
    {
        return Ok(Some(look.counts(doc)?));
    }
    Ok(engine.read(doc)?.map(|document| counts_in(doc, Some(&document.value))))
}

/// Returns a document's list seen from above, if an index can tell. Whatever is wrong, reading it as a whole tells.
pub fn overview(engine: &dyn Engine, doc: &Doc, most: Most) -> Option<Overview> {
    engine.overview(doc, most).ok().flatten()
}

/// Visits every item of a document's list, if an engine can do that without building values; else what was visited does
/// not count. Whatever is wrong, reading it as a whole tells.
pub fn each_item(engine: &dyn Engine, doc: &Doc, visit: &mut dyn FnMut(&Raw)) -> bool {
    engine.each_item(doc, visit).unwrap_or(false)
}

/// Returns the items that have this status, or all.
pub(super) fn with_status(items: Vec<&Value>, status: Option<&str>) -> Vec<Value> {
    let wanted = |item: &&Value| status.is_none_or(|status| item.text(QueueTask::status) == Some(status));
    items.into_iter().filter(wanted).cloned().collect()
}

pub(super) fn missing(engine: &dyn Engine, doc: &Doc) -> Error {
    Error::NoDocument { kind: doc.kind.name, place: engine.place(doc), removed: removed(engine, doc) }
}

/// Says how to bring back a document that somebody removed to begin anew, if that is why it is not there.
pub(super) fn removed(engine: &dyn Engine, doc: &Doc) -> Option<Hint> {
    let mut was_there = false;
    engine.replay(doc, &mut |_, value| was_there = value.is_some()).ok()?;
    was_there.then(|| hint!["it was removed by hand; bring it back: ", Next::Undo(doc.into())])
}

/// Returns what to do about a document that is not there: bring it back where it was removed, or begin one.
pub(super) fn ways_on(engine: &dyn Engine, doc: &Doc, begin: Hint) -> Hint {
    match removed(engine, doc) {
        Some(back) => back.and(begin),
        None => begin,
    }
}
