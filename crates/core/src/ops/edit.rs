//! Changing one place in a document: set, append, delete. A text that shows the document changes with it.

use serde_json::Value;

use super::read::missing;
use super::{Actor, Error, Result, views};
use crate::model::ids::RULE;
use crate::model::json;
use crate::model::kind::{Doc, Items};
use crate::model::odd_ids::odd_ids;
use crate::model::path::{self, Path, Segment};
use crate::store::state::revision_in;
use crate::store::{Engine, Transaction};

/// Which place to change, and what must hold for it.
#[derive(Debug)]
pub struct Target<'a> {
    pub doc: &'a Doc,
    pub path: &'a Path,
    /// The revision the document, or the entry, must still have.
    pub expect: Option<u64>,
}

/// What a change did.
#[derive(Debug)]
pub struct Changed {
    /// The document's new revision; in a document of entries, the entry's.
    pub revision: u64,
    /// The value set, the item appended, or what was deleted.
    pub value: Value,
    pub warnings: Vec<String>,
}

/// Puts `value` there; a missing document starts from its kind's default.
pub fn set(engine: &dyn Engine, target: &Target<'_>, value: Value, actor: &Actor) -> Result<Changed> {
    json::check_input(&value).map_err(Error::Input)?;
    change(engine, target, actor, "set", |document| {
        target.path.set(document, value.clone())?;
        Ok(value)
    })
}

/// Appends `item` to the list there; a missing document starts from its kind's default.
pub fn append(engine: &dyn Engine, target: &Target<'_>, item: Value, actor: &Actor) -> Result<Changed> {
    json::check_input(&item).map_err(Error::Input)?;
    change(engine, target, actor, "append", |document| {
        target.path.append(document, item.clone())?;
        Ok(item)
    })
}

/// Removes what is there; the whole document for the empty path.
pub fn delete(engine: &dyn Engine, target: &Target<'_>, actor: &Actor) -> Result<Changed> {
    if target.path.segments().is_empty() {
        return delete_document(engine, target, actor);
    }
    change(engine, target, actor, "delete", |document| Ok(target.path.remove(document)?))
}

fn change(
    engine: &dyn Engine,
    target: &Target<'_>,
    actor: &Actor,
    op: &str,
    edit: impl FnOnce(&mut Value) -> Result<Value>,
) -> Result<Changed> {
    if target.is_managed() {
        return Err(Error::ManagedField);
    }
    let doc = target.doc;
    let mut transaction = engine.begin(&[&doc.room])?;
    target.expect_revision(&mut *transaction)?;
    let mut document = match transaction.get(doc)? {
        Some(document) => document.clone(),
        None if op == "delete" => return Err(missing(engine, doc)),
        None => doc.default(actor.now()),
    };
    let value = edit(&mut document)?;
    check_ids(doc, transaction.get(doc)?, &document)?;
    views::put(&mut *transaction, doc, document)?;
    let mut committed = transaction.commit(&actor.entry(op))?;
    let (_, document) = committed.documents.pop().expect("a put document is committed");
    let entry = target.entry().and_then(|key| document.value.get(key));
    let revision = entry.map_or(document.revision, revision_in);
    Ok(Changed { revision, value, warnings: committed.warnings })
}

/// Refuses ids that are none, unless they were there before.
fn check_ids(doc: &Doc, before: Option<&Value>, after: &Value) -> Result<()> {
    let odd = odd_ids(doc.kind, after);
    if odd.is_empty() {
        return Ok(());
    }
    let known = before.map(|before| odd_ids(doc.kind, before)).unwrap_or_default();
    match odd.iter().find(|odd| !known.iter().any(|known| known.id == odd.id)) {
        Some(new) => Err(Error::Input(format!("`{}` would be no valid id: {RULE}", new.path))),
        None => Ok(()),
    }
}

fn delete_document(engine: &dyn Engine, target: &Target<'_>, actor: &Actor) -> Result<Changed> {
    let mut transaction = engine.begin(&[&target.doc.room])?;
    target.expect_revision(&mut *transaction)?;
    let value = transaction.get(target.doc)?.cloned().ok_or_else(|| missing(engine, target.doc))?;
    let revision = transaction.revision(target.doc)? + 1;
    views::delete(&mut *transaction, target.doc)?;
    let committed = transaction.commit(&actor.entry("delete"))?;
    Ok(Changed { revision, value, warnings: committed.warnings })
}

impl<'a> Target<'a> {
    /// The document as a whole.
    pub fn whole(doc: &'a Doc, expect: Option<u64>) -> Target<'a> {
        Target { doc, path: &path::ROOT, expect }
    }

    /// Refuses when the document, or the entry that the path leads into, has moved on.
    pub(super) fn expect_revision(&self, transaction: &mut dyn Transaction) -> Result<()> {
        let Some(expected) = self.expect else { return Ok(()) };
        let found = match self.entry() {
            Some(key) => {
                transaction.get(self.doc)?.and_then(|document| document.get(key)).map_or(0, revision_in)
            }
            None => transaction.revision(self.doc)?,
        };
        if found == expected {
            return Ok(());
        }
        let kind = self.doc.kind.name;
        let subject = self.entry().map_or(kind.into(), |key| format!("{kind}.{key}"));
        Err(Error::Conflict { subject, expected, found })
    }

    /// Returns the entry that the path leads into, where entries have revisions of their own.
    fn entry(&self) -> Option<&str> {
        match (self.doc.kind.items, self.path.segments()) {
            (Items::Document, [Segment::Key(key), ..]) => Some(key),
            _ => None,
        }
    }

    fn is_managed(&self) -> bool {
        let revision = |segment: &Segment| matches!(segment, Segment::Key(key) if key == "revision");
        match (self.doc.kind.items, self.path.segments()) {
            (Items::Document, [_, last]) | (_, [last]) => revision(last),
            _ => false,
        }
    }
}
