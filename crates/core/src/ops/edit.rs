//! Changing one place in a document: set, append, delete. A text that shows the document changes with it.

use serde_json::Value;

use super::read::{Wanted, missing};
use super::{Actor, Error, Result, queue, views};
use crate::hint;
use crate::model::documents::common::Item;
use crate::model::flaws;
use crate::model::hint::Hint;
use crate::model::ids::RULE;
use crate::model::json;
use crate::model::kind::{Doc, Items};
use crate::model::next::Next;
use crate::model::odd_ids::odd_ids;
use crate::model::path::{self, Path, Segment};
use crate::model::shape::Shape;
use crate::store::state::revision_in;
use crate::store::{self, Engine, Transaction};

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
    pub warnings: Vec<Hint>,
}

/// Puts `value` there; a missing document starts from its kind's default.
pub fn set(engine: &dyn Engine, target: &Target<'_>, value: Value, actor: &Actor) -> Result<Changed> {
    json::check_input(&value).map_err(Error::Input)?;
    change(engine, target, actor, "set", move |document| {
        target.path.set(document, value.clone())?;
        Ok(value.clone())
    })
}

/// Appends `item` to the list there; a missing document starts from its kind's default.
pub fn append(engine: &dyn Engine, target: &Target<'_>, item: Value, actor: &Actor) -> Result<Changed> {
    json::check_input(&item).map_err(Error::Input)?;
    change(engine, target, actor, "append", move |document| {
        check_list(target, document)?;
        target.path.append(document, item.clone())?;
        Ok(item.clone())
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
    edit: impl Fn(&mut Value) -> Result<Value>,
) -> Result<Changed> {
    if let Some(field) = target.stamp() {
        return Err(Error::ManagedField { field });
    }
    let doc = target.doc;
    let mut transaction = queue::begin(engine, doc, actor)?;
    target.expect_unchanged(engine, &mut *transaction)?;
    let next = transaction.revision(doc)? + 1;
    let value = match change_item(&mut *transaction, target, &edit)? {
        Some(value) => value,
        None if op == "delete" && !transaction.exists(doc)? => return Err(missing(engine, doc)),
        None => change_document(&mut *transaction, doc, actor, &edit)?,
    };
    let mut committed = transaction.commit(&actor.entry(op))?;
    let revision = committed.documents.pop().map_or(next, |(_, document)| {
        let entry = target.entry().and_then(|key| document.value.get(key));
        entry.map_or(document.revision, revision_in)
    });
    Ok(Changed { revision, value, warnings: committed.warnings })
}

fn change_document(
    transaction: &mut dyn Transaction,
    doc: &Doc,
    actor: &Actor,
    edit: &dyn Fn(&mut Value) -> Result<Value>,
) -> Result<Value> {
    let mut document = transaction.get(doc)?.cloned().unwrap_or_else(|| doc.default(actor.now()));
    let value = edit(&mut document)?;
    let before = transaction.get(doc)?;
    check_ids(doc, before, &document)?;
    check_flaws(doc, before, &document)?;
    views::put(transaction, doc, document)?;
    Ok(value)
}

/// Changes one item of a long list without a look at the others. `None` if the path leads elsewhere, or nowhere, or if
/// the item would be no longer the same: that is up to the whole document.
fn change_item(
    transaction: &mut dyn Transaction,
    target: &Target<'_>,
    edit: &dyn Fn(&mut Value) -> Result<Value>,
) -> Result<Option<Value>> {
    let (doc, Some(Wanted::Item(item))) = (target.doc, Wanted::of(target.doc, target.path)) else {
        return Ok(None);
    };
    let Some(before) = item.alone_in(transaction, doc)? else { return Ok(None) };
    let mut after = before.clone();
    let Ok(value) = edit(&mut after) else { return Ok(None) };
    check_ids(doc, Some(&before), &after)?;
    // What waits for another item looks flawed without it.
    if check_flaws(doc, Some(&before), &after).is_err() {
        return Ok(None);
    }
    match after[item.field].as_array_mut().map(Vec::as_mut_slice) {
        Some([changed]) if changed[Item::id] == item.id => {
            transaction.put_item(doc, item.id, changed.take())?;
            Ok(Some(value))
        }
        _ => Ok(None),
    }
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

/// Refuses what would be wrong with a document, unless it was so before.
pub(super) fn check_flaws(doc: &Doc, before: Option<&Value>, after: &Value) -> Result<()> {
    match flaws::new_flaw(doc.kind, before, after) {
        Some(flaw) => Err(Error::Input(format!("`{}` would be wrong: {}", flaw.path, flaw.message))),
        None => Ok(()),
    }
}

/// Refuses to begin a list that nobody would read.
fn check_list(target: &Target<'_>, document: &Value) -> Result<()> {
    let is_known = target.doc.kind.shape.at(target.path.segments()).is_some_and(Shape::is_list);
    if is_known || target.path.is_own() || target.path.get(document).is_ok() {
        return Ok(());
    }
    let (kind, path) = (target.doc.kind, target.path);
    let lists = match kind.shape.lists() {
        lists if lists.is_empty() => "it has none".to_owned(),
        lists => format!(
            "its lists are {}",
            lists.iter().map(|list| format!("`{list}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    let message = format!("{} has no list `{path}`; {lists}", kind.name);
    Err(Error::NoSuchList {
        message,
        hint: hint![
            "for a list of your own: ",
            Next::Set { kind: kind.name, path: path.to_string(), value: "[]".into() },
        ],
    })
}

fn delete_document(engine: &dyn Engine, target: &Target<'_>, actor: &Actor) -> Result<Changed> {
    let mut transaction = engine.begin(&[&target.doc.room])?;
    target.expect_unchanged(engine, &mut *transaction)?;
    let value = match transaction.get(target.doc) {
        // To delete what is gone is to go on without it.
        Err(store::Error::Gone { .. }) => Value::Null,
        found => found?.cloned().ok_or_else(|| missing(engine, target.doc))?,
    };
    views::delete(&mut *transaction, target.doc)?;
    let revision = transaction.revision(target.doc)? + 1;
    let committed = transaction.commit(&actor.entry("delete"))?;
    Ok(Changed { revision, value, warnings: committed.warnings })
}

/// How far back signs of life are looked for: about an hour of a thousand workers.
const LONGEST: u64 = 10_000;

/// Whether everything that happened to a document between two revisions are signs of life.
fn is_all_heartbeats(engine: &dyn Engine, doc: &Doc, after: u64, until: u64) -> Result<bool> {
    if !(after + 1..=after.saturating_add(LONGEST)).contains(&until) {
        return Ok(false);
    }
    let mut next = until;
    engine.look_back(&doc.room, Some(doc), &mut |record| {
        let is_one = record.revision == next && record.is_heartbeat();
        next -= u64::from(is_one);
        is_one && next > after
    })?;
    Ok(next == after)
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

    /// Refuses when the document has moved on, by more than signs of life: those change nothing that anybody decides upon.
    pub(super) fn expect_unchanged(
        &self,
        engine: &dyn Engine,
        transaction: &mut dyn Transaction,
    ) -> Result<()> {
        match self.expect_revision(transaction) {
            Err(Error::Conflict { expected, found, .. })
                if self.entry().is_none() && is_all_heartbeats(engine, self.doc, expected, found)? =>
            {
                Ok(())
            }
            other => other,
        }
    }

    /// Returns the entry that the path leads into, where entries have revisions of their own.
    fn entry(&self) -> Option<&str> {
        match (self.doc.kind.items, self.path.segments()) {
            (Items::Document, [Segment::Key(key), ..]) => Some(key),
            _ => None,
        }
    }

    /// Returns the field that every commit stamps, if the path leads to one.
    fn stamp(&self) -> Option<String> {
        let kind = self.doc.kind;
        let last = match (kind.items, self.path.segments()) {
            (Items::Document, [_, Segment::Key(last)]) => last,
            (Items::Document, _) => return None,
            (_, [Segment::Key(last)]) => last,
            _ => return None,
        };
        let is_stamp =
            last == "revision" || kind.time_field == Some(last) || kind.author && last == "updated_by";
        is_stamp.then(|| last.clone())
    }
}
