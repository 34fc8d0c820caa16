//! Reading documents and their items.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Error, Result};
use crate::hint;
use crate::model::documents::queue::{Agents, Queue, QueueTask, Worker};
use crate::model::hint::Hint;
use crate::model::json;
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::{Doc, Items};
use crate::model::lease::Signs;
use crate::model::listing::{Most, Overview};
use crate::model::next::Next;
use crate::model::path::{Path, Segment};
use crate::model::raw::Raw;
use crate::model::room::Room;
use crate::model::time;
use crate::store::engine::{counts_in, items};
use crate::store::{Document, Engine, Transaction};

/// Returns a document, which must exist, with its leases as they count.
pub fn document(engine: &dyn Engine, doc: &Doc) -> Result<Document> {
    match found(engine, doc)? {
        Some(document) => Ok(document),
        None => absent(engine, doc),
    }
}

/// Returns a document as it is stored, which must exist: for those who will change it.
pub fn stored(engine: &dyn Engine, doc: &Doc) -> Result<Document> {
    match engine.read(doc)? {
        Some(document) => Ok(document),
        None => absent(engine, doc),
    }
}

/// Returns a document, if there is one, with its leases as they count.
pub fn found(engine: &dyn Engine, doc: &Doc) -> Result<Option<Document>> {
    let Some(mut document) = engine.read(doc)? else { return Ok(None) };
    if *doc == Doc::workers() {
        see_workers(&mut document.value, &engine.signs(&Doc::queue())?);
    }
    let signs = signs(engine, doc)?;
    if !signs.is_empty()
        && let Some(tasks) = document.value.at_mut(Queue::tasks).and_then(Value::as_array_mut)
    {
        tasks.iter_mut().for_each(|task| signs.renew(task));
    }
    Ok(Some(document))
}

/// Lets the register know of the last signs of life.
fn see_workers(register: &mut Value, signs: &Signs) {
    let seen = signs.last_seen();
    let workers = register.at_mut(Agents::agents).and_then(Value::as_array_mut).into_iter().flatten();
    for worker in workers {
        let known = worker.text(Worker::last_seen).and_then(time::read);
        let last = worker.text(Worker::id).and_then(|id| seen.get(id).copied());
        if let Some(last) = last.filter(|last| known.is_none_or(|known| known < *last)) {
            worker.set(Worker::last_seen, time::stamp(last));
        }
    }
}

/// Returns what renewed the leases of a document beside it.
fn signs(engine: &dyn Engine, doc: &Doc) -> Result<Signs> {
    if is_leased(doc) { Ok(engine.signs(doc)?) } else { Ok(Signs::default()) }
}

/// Whether signs of life are kept beside a document.
fn is_leased(doc: &Doc) -> bool {
    *doc == Doc::queue()
}

fn absent(engine: &dyn Engine, doc: &Doc) -> Result<Document> {
    blank(engine, doc)?.ok_or_else(|| missing(engine, doc))
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
        Wanted::Item(item) => {
            let signs = if is_leased(doc) { look.signs(doc)? } else { Signs::default() };
            look.item(doc, item.id)?.map(|mut found| {
                signs.renew(&mut found);
                item.alone(&found)
            })
        }
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
        Ok(transaction.item(doc, self.id)?.map(|item| self.alone(&item)))
    }

    fn alone(&self, item: &Value) -> Value {
        json!({ self.field: [item] })
    }
}

/// Returns the items of a document's list; none if the document does not exist.
pub fn list(engine: &dyn Engine, doc: &Doc, status: Option<&str>) -> Result<Vec<Value>> {
    if doc.kind.items == Items::None {
        return Err(Error::NoList { kind: doc.kind.name });
    }
    let Some(document) = found(engine, doc)? else { return Ok(Vec::new()) };
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
    let mut overview = engine.overview(doc, most).ok().flatten()?;
    let signs = signs(engine, doc).ok()?;
    overview.items.iter_mut().for_each(|item| signs.renew(item));
    Some(overview)
}

/// Visits every item of a document's list, if an engine can do that without building values; else what was visited does
/// not count. Whatever is wrong, reading it as a whole tells.
pub fn each_item(engine: &dyn Engine, doc: &Doc, visit: &mut dyn FnMut(&Raw)) -> bool {
    let Ok(signs) = signs(engine, doc) else { return false };
    let mut renewed = Raw::default();
    let mut visit = |item: &Raw| {
        let is_signed =
            !signs.is_empty() && item.string(QueueTask::id.name()).is_some_and(|id| signs.of(&id).is_some());
        match is_signed.then(|| renew_text(item, &signs, &mut renewed)).flatten() {
            Some(()) => visit(&renewed),
            None => visit(item),
        }
    };
    engine.each_item(doc, &mut visit).unwrap_or(false)
}

/// Reads an item with its lease as signs of life renewed it.
fn renew_text(item: &Raw, signs: &Signs, renewed: &mut Raw) -> Option<()> {
    let mut value = json::parse(item.text()).ok()?;
    signs.renew(&mut value);
    renewed.read(json::dense(&value).as_bytes(), 0).map(drop)
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
