//! Looking back and going back: history, restore, undo, log.

use std::collections::HashSet;

use serde_json::Value;

use super::edit::{Changed, Target};
use super::{Actor, Error, Result, views};
use crate::model::diff;
use crate::model::kind::Doc;
use crate::model::merge;
use crate::model::time;
use crate::store::{Engine, Entry, Revision, Transaction};

/// Returns every kept revision of a document, oldest first.
pub fn history(engine: &dyn Engine, doc: &Doc) -> Result<Vec<Revision>> {
    let mut revisions = Vec::new();
    engine.replay(doc, &mut |revision, _| revisions.push(revision.clone()))?;
    Ok(revisions)
}

/// Makes a document be again what it was at `revision`, as a new revision.
pub fn restore(engine: &dyn Engine, target: &Target<'_>, revision: u64, actor: &Actor) -> Result<Changed> {
    let (doc, mut transaction) = (target.doc, engine.begin(&[&target.doc.room])?);
    target.expect_revision(&mut *transaction)?;
    let (mut found, mut first, mut last) = (None, u64::MAX, 0);
    engine.replay(doc, &mut |record, value| {
        (first, last) = (first.min(record.revision), last.max(record.revision));
        if record.revision == revision {
            found = Some(value.cloned());
        }
    })?;
    let known = if last == 0 { "none".into() } else { format!("{first} to {last}") };
    let value = found.ok_or(Error::NoRevision { kind: doc.kind.name, revision, known })?;
    replace(transaction, doc, value, &actor.entry("restore"))
}

/// Takes back the newest change that was not taken back yet, be it ours or an edit by hand.
pub fn undo(engine: &dyn Engine, target: &Target<'_>, actor: &Actor) -> Result<Changed> {
    // The lock comes first: what others commit between looking back and going back must not be run over.
    let (doc, mut transaction) = (target.doc, engine.begin(&[&target.doc.room])?);
    target.expect_revision(&mut *transaction)?;
    let revisions = history(engine, doc)?;
    let newest = revisions.last().map_or(0, |record| record.revision);
    let current = transaction.revision(doc)?;
    let undone = if newest > 0 && current > newest { Some(current) } else { last_standing(&revisions) };
    let undone = undone.ok_or(Error::NothingToUndo { kind: doc.kind.name })?;
    let value = value_before(engine, doc, undone)?;
    replace(transaction, doc, value, &Entry { undoes: Some(undone), ..actor.entry("undo") })
}

fn last_standing(revisions: &[Revision]) -> Option<u64> {
    let undone: HashSet<u64> = revisions.iter().filter_map(|record| record.undoes).collect();
    let standing = |record: &&Revision| record.undoes.is_none() && !undone.contains(&record.revision);
    revisions.iter().rev().find(standing).map(|record| record.revision)
}

/// Returns the content just before `revision`; `None` if it did not exist then.
fn value_before(engine: &dyn Engine, doc: &Doc, revision: u64) -> Result<Option<Value>> {
    let (mut before, mut known) = (None, false);
    engine.replay(doc, &mut |record, value| {
        if record.revision < revision {
            (before, known) = (value.cloned(), true);
        } else if record.revision == revision && !known {
            before = taken_back(record, value);
        }
    })?;
    Ok(before)
}

/// Returns what a document was before the first revision that we know of it.
fn taken_back(record: &Revision, value: Option<&Value>) -> Option<Value> {
    if let [whole] = &record.changes[..]
        && whole.path.is_empty()
    {
        return whole.before.clone();
    }
    let mut before = value?.clone();
    diff::apply(&mut before, &diff::invert(&record.changes)).ok()?;
    Some(before)
}

fn replace(
    mut transaction: Box<dyn Transaction + '_>,
    doc: &Doc,
    value: Option<Value>,
    entry: &Entry,
) -> Result<Changed> {
    let revision = transaction.revision(doc)? + 1;
    match value {
        Some(mut value) => {
            // A claim's number is never given twice, or whoever slept through it would pass the fence.
            if let Some(now) = transaction.get(doc)? {
                merge::keep_epochs(doc.kind, now, &mut value);
            }
            views::put(&mut *transaction, doc, value)?;
        }
        None if transaction.get(doc)?.is_none() => {
            return Ok(Changed { revision: revision - 1, value: Value::Null, warnings: Vec::new() });
        }
        None => views::delete(&mut *transaction, doc)?,
    }
    let mut committed = transaction.commit(entry)?;
    let value = committed.documents.pop().map(|(_, document)| document.value).unwrap_or_default();
    Ok(Changed { revision, value, warnings: committed.warnings })
}

/// What `log` shows.
#[derive(Debug, Default)]
pub struct LogFilter {
    pub since: Option<jiff::Timestamp>,
    pub actor: Option<String>,
    pub kind: Option<String>,
}

/// Returns the revisions of all rooms that pass the filter, in the order of time.
pub fn log(engine: &dyn Engine, filter: &LogFilter) -> Result<Vec<Revision>> {
    let mut revisions = Vec::new();
    for room in engine.rooms()? {
        revisions.extend(engine.log(&room)?.into_iter().filter(|record| filter.passes(record)));
    }
    revisions.sort_by(|one, other| one.at.cmp(&other.at));
    Ok(revisions)
}

impl LogFilter {
    fn passes(&self, record: &Revision) -> bool {
        self.since.is_none_or(|since| time::read(&record.at).is_none_or(|at| at >= since))
            && self.actor.as_ref().is_none_or(|actor| record.by == *actor)
            && self.kind.as_ref().is_none_or(|kind| record.kind == *kind)
    }
}
