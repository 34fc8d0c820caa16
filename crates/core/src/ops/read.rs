//! Reading documents and their items.

use serde_json::Value;

use super::{Error, Result};
use crate::model::kind::{Doc, Items};
use crate::model::listing::{Excerpt, Most};
use crate::model::path::Path;
use crate::model::raw::Raw;
use crate::store::engine::{counts_in, items};
use crate::store::{Document, Engine};

/// Returns a document, which must exist.
pub fn document(engine: &dyn Engine, doc: &Doc) -> Result<Document> {
    engine.read(doc)?.ok_or_else(|| missing(engine, doc))
}

/// Returns a document's value at `path`.
pub fn get(engine: &dyn Engine, doc: &Doc, path: &Path) -> Result<Value> {
    let document = document(engine, doc)?;
    Ok(path.get(&document.value)?.clone())
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
    if !engine.may_exist(doc) {
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
pub fn excerpt(engine: &dyn Engine, doc: &Doc, most: Most) -> Option<Excerpt> {
    engine.excerpt(doc, most).ok().flatten()
}

/// Visits every item of a document's list, if an engine can do that without building values; else what was visited does
/// not count. Whatever is wrong, reading it as a whole tells.
pub fn each_item(engine: &dyn Engine, doc: &Doc, visit: &mut dyn FnMut(&Raw)) -> bool {
    engine.each_item(doc, visit).unwrap_or(false)
}

/// Returns the items that have this status, or all.
pub(super) fn with_status(items: Vec<&Value>, status: Option<&str>) -> Vec<Value> {
    let wanted = |item: &&Value| {
        status.is_none_or(|status| item.get("status").and_then(Value::as_str) == Some(status))
    };
    items.into_iter().filter(wanted).cloned().collect()
}

pub(super) fn missing(engine: &dyn Engine, doc: &Doc) -> Error {
    Error::NoDocument { kind: doc.kind.name, place: engine.place(doc) }
}
