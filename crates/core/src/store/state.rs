//! What must stay consistent, once for all engines: stamps, validity, limits, exact changes.

use serde_json::{Map, Value};

use super::engine::Entry;
use super::error::{Error, Result, Unfit};
use crate::model::diff::{self, Change};
use crate::model::documents::common::Stamps;
use crate::model::json;
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::{Doc, Items};
use crate::model::path::Path;
use crate::model::shape::Shape;
use crate::model::time;

/// A document that is ready to be committed.
#[derive(Debug)]
pub struct Sealed {
    pub value: Value,
    pub bytes: Vec<u8>,
    pub revision: u64,
    /// Changes from the previous content; empty for a new document.
    pub changes: Vec<Change>,
}

/// Stamps and checks the new content of a document that stood at `base` with `revision`.
pub fn seal(
    doc: &Doc,
    base: Option<&Value>,
    revision: u64,
    mut value: Value,
    entry: &Entry,
    render: impl Fn(&Doc, &Value) -> Vec<u8>,
) -> Result<Sealed, Unfit> {
    let revision = revision + 1;
    let now = time::stamp(entry.at);
    match (doc.kind.items, value.as_object_mut()) {
        (Items::Document, Some(entries)) => stamp_entries(doc, base, entries, &now),
        (_, Some(document)) => stamp_document(doc, document, revision, entry),
        (_, None) => {}
    }
    check(doc, &value)?;
    let bytes = render(doc, &value);
    let size = bytes.len() as u64;
    if size > doc.kind.limit {
        return Err(Unfit::TooLarge { size, limit: doc.kind.limit });
    }
    let changes = base.map(|base| diff::diff(base, &value)).unwrap_or_default();
    Ok(Sealed { value, bytes, revision, changes })
}

/// Says in a document when and by whom it was changed last.
pub fn stamp_document(doc: &Doc, document: &mut Map<String, Value>, revision: u64, entry: &Entry) {
    if let Some(field) = doc.kind.time_field {
        document.insert(field.into(), time::stamp(entry.at).into());
    }
    if let (true, Some(author)) = (doc.kind.author, &entry.author) {
        document.set(Stamps::updated_by, author.as_str());
    }
    document.set(Stamps::revision, revision);
}

/// Stamps the entries that changed: in a document of entries each one has its own revision.
fn stamp_entries(doc: &Doc, base: Option<&Value>, entries: &mut Map<String, Value>, now: &str) {
    for (key, item) in entries.iter_mut() {
        let before = base.and_then(|base| base.get(key));
        let Some(object) = item.as_object_mut() else { continue };
        if before.and_then(Value::as_object) == Some(object) {
            continue;
        }
        if let Some(field) = doc.kind.time_field {
            object.insert(field.into(), now.into());
        }
        object.set(Stamps::revision, before.map_or(0, revision_in) + 1);
    }
}

/// Checks a document that is about to be written.
pub fn check(doc: &Doc, value: &Value) -> Result<(), Unfit> {
    doc.kind.shape.check(value).map_err(|misfit| Unfit::Invalid(misfit.to_string()))?;
    // A document that claims to be newer than we are would be the last thing we ever wrote there.
    check_writable(doc, value)?;
    if json::depth(value) > json::MAX_DEPTH {
        return Err(Unfit::Invalid(format!("it would be nested deeper than {}", json::MAX_DEPTH)));
    }
    Ok(())
}

/// Checks one item of a document, whose other items are known to be good.
pub fn check_item(doc: &Doc, path: &str, item: &Value) -> Result<(), Unfit> {
    let Items::Field(field) = doc.kind.items else { return Ok(()) };
    let shape = doc.kind.shape.items_of(field).unwrap_or(&Shape::Any);
    shape.check(item).map_err(|mut misfit| {
        misfit.path = if misfit.path.is_empty() { path.into() } else { format!("{path}.{}", misfit.path) };
        Unfit::Invalid(misfit.to_string())
    })?;
    if json::depth(item) + 2 > json::MAX_DEPTH {
        return Err(Unfit::Invalid(format!("it would be nested deeper than {}", json::MAX_DEPTH)));
    }
    Ok(())
}

/// Returns the revision that a document, or an entry of one, says it has.
pub fn revision_in(value: &Value) -> u64 {
    value.read(Stamps::revision).unwrap_or(0)
}

/// Reads the bytes of a document file.
pub fn open(doc: &Doc, place: &str, bytes: &[u8]) -> Result<Value> {
    let damaged = |line, column, message| Error::Damaged { path: place.into(), line, column, message };
    let value = json::parse(bytes).map_err(|error| damaged(error.line, error.column, error.message))?;
    match doc.kind.shape.check(&value) {
        Ok(()) => Ok(value),
        Err(_) if newer_format(doc, &value).is_some() => Ok(value),
        Err(misfit) => {
            let path = Path::from_record(&misfit.path).unwrap_or_default();
            let (line, column) = json::locate(bytes, &path).unwrap_or((1, 1));
            Err(damaged(line, column, misfit.to_string()))
        }
    }
}

/// Refuses to write over a format that is newer than ours.
pub fn check_writable(doc: &Doc, value: &Value) -> Result<(), Unfit> {
    match newer_format(doc, value) {
        Some(found) => Err(Unfit::Newer { found, known: doc.kind.format }),
        None => Ok(()),
    }
}

fn newer_format(doc: &Doc, value: &Value) -> Option<u64> {
    let version = value.at(Stamps::version)?;
    let major = match version {
        Value::String(text) => text.split('.').next()?.parse().ok()?,
        number => number.as_u64()?,
    };
    (major > doc.kind.format).then_some(major)
}
