//! Going back: what is taken back, whose it was, and what has to stay.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::then::{self, Pair, Then};
use crate::model::diff::{self, Change};
use crate::model::documents::queue::QueueTask;
use crate::model::hint::Hint;
use crate::model::key::Fields;
use crate::model::kind::Doc;
use crate::model::names::{Names, names_of};
use crate::model::room::Room;
use crate::model::{lease, merge};
use crate::ops::edit::Target;
use crate::ops::queue::LEADER;
use crate::ops::queue::results;
use crate::ops::{Actor, Error, Result, begin_to_ask, queue, views};
use crate::store::{Edits, Engine, Entry, Revision, Transaction};

/// Who made an edit that is not recorded yet.
const HAND: &str = "hand";
/// The operation of an edit by hand.
const EDIT: &str = "edit";

/// How far somebody wants to go.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms {
    /// Also take back what others did, and tasks that were claimed since.
    pub force: bool,
    /// Only say what would happen.
    pub dry_run: bool,
}

impl Terms {
    fn begin<'e>(self, engine: &'e dyn Engine, room: &Room) -> Result<Box<dyn Transaction + 'e>> {
        if self.dry_run { begin_to_ask(engine, room) } else { Ok(engine.begin(&[room])?) }
    }
}

/// What is taken back.
#[derive(Debug)]
pub struct TakenBack {
    /// The revisions, newest first.
    pub taken: Vec<Revision>,
    /// Whose they are, besides those of whoever asks.
    pub others: Vec<String>,
    /// What that changes, from now to then, besides stamps; and the items that it leads into.
    pub changes: Vec<Change>,
    pub names: Names,
    /// The revision that the document is at after it.
    pub revision: u64,
    /// The document after it, unless it is changed item by item.
    pub value: Option<Value>,
    pub warnings: Vec<Hint>,
}

/// Makes a document be again what it was at `revision`, as a new revision.
pub fn restore(
    engine: &dyn Engine,
    target: &Target<'_>,
    revision: u64,
    terms: Terms,
    actor: &Actor,
) -> Result<TakenBack> {
    let (doc, mut transaction) = (target.doc, terms.begin(engine, &target.doc.room)?);
    target.expect_unchanged(engine, &mut *transaction)?;
    let mut past = Past::begin(&mut *transaction, doc)?;
    let (mut found, mut first) = (false, u64::MAX);
    engine.look_back(&doc.room, Some(doc), &mut |record| {
        past.see_first(&record);
        first = record.revision;
        found = record.revision == revision;
        if !found {
            past.records.push(record);
        }
        !found
    })?;
    if !found {
        let known = past.newest.map_or("none".into(), |last| format!("{first} to {last}"));
        return Err(Error::NoRevision { kind: doc.kind.name, revision, known });
    }
    past.previous = Some(revision);
    let taken = standing(&past.records);
    let entry = actor.entry("restore");
    Back { engine, doc, past, taken, terms, entry }.go(transaction, actor)
}

/// Takes back the newest change that was not taken back yet, be it ours or an edit by hand. Signs of life are none.
pub fn undo(engine: &dyn Engine, target: &Target<'_>, terms: Terms, actor: &Actor) -> Result<TakenBack> {
    // The lock comes first: what others commit between looking back and going back must not be run over.
    let (doc, mut transaction) = (target.doc, terms.begin(engine, &target.doc.room)?);
    target.expect_unchanged(engine, &mut *transaction)?;
    let mut past = Past::begin(&mut *transaction, doc)?;
    let (mut undone, mut found) = (HashSet::new(), None);
    engine.look_back(&doc.room, Some(doc), &mut |record| {
        if past.see_first(&record) {
            found = past.records.first().cloned();
        }
        if found.is_some() {
            past.previous = Some(record.revision);
            return false;
        }
        undone.extend(record.undoes);
        if record.undoes.is_none() && !undone.contains(&record.revision) && !record.is_heartbeat() {
            found = Some(record.clone());
        }
        past.records.push(record);
        true
    })?;
    let found = found.ok_or(Error::NothingToUndo { kind: doc.kind.name })?;
    let entry = Entry { undoes: Some(found.revision), ..actor.entry("undo") };
    Back { engine, doc, past, taken: vec![found], terms, entry }.go(transaction, actor)
}

/// What lies between now and then.
struct Past {
    /// The revisions, newest first.
    records: Vec<Revision>,
    /// An edit that no revision tells of yet.
    pending: Option<Revision>,
    edits: Edits,
    newest: Option<u64>,
    /// The revision that `then` is; `None` if no older one is kept.
    previous: Option<u64>,
}

impl Past {
    fn begin(transaction: &mut dyn Transaction, doc: &Doc) -> Result<Past> {
        let (revision, edits) = (transaction.revision(doc)?, transaction.edits(doc)?);
        let pending = Revision {
            kind: doc.kind.name.into(),
            key: doc.key.clone(),
            revision,
            by: HAND.into(),
            op: EDIT.into(),
            changes: edits.changes.clone(),
            names: edits.names.clone(),
            ..Revision::default()
        };
        Ok(Past { records: Vec::new(), pending: Some(pending), edits, newest: None, previous: None })
    }

    /// Compares the newest revision with the document. Returns whether somebody has edited that since.
    fn see_first(&mut self, newest: &Revision) -> bool {
        let Some(pending) = self.pending.take() else { return false };
        self.newest = Some(newest.revision);
        let is_edited = pending.revision > newest.revision;
        self.records.extend(is_edited.then_some(pending));
        is_edited
    }
}

/// Returns those revisions that others among them did not take back already, without signs of life.
fn standing(records: &[Revision]) -> Vec<Revision> {
    let undone: HashSet<u64> = records.iter().filter_map(|record| record.undoes).collect();
    let among: HashSet<u64> = records.iter().map(|record| record.revision).collect();
    let stands = |record: &&Revision| {
        !undone.contains(&record.revision)
            && !record.undoes.is_some_and(|undoes| among.contains(&undoes))
            && !record.is_heartbeat()
    };
    records.iter().filter(stands).cloned().collect()
}

/// One step back.
struct Back<'b> {
    engine: &'b dyn Engine,
    doc: &'b Doc,
    past: Past,
    taken: Vec<Revision>,
    terms: Terms,
    entry: Entry,
}

impl Back<'_> {
    fn go(self, mut transaction: Box<dyn Transaction + '_>, actor: &Actor) -> Result<TakenBack> {
        let others: BTreeSet<String> =
            self.taken.iter().filter(|record| !is_own(record, actor)).map(Revision::whose).collect();
        if !others.is_empty() && !self.terms.force && !self.terms.dry_run {
            return Err(self.not_yours(actor));
        }
        let before = transaction.revision(self.doc)?;
        let then =
            then::then(self.engine, &mut *transaction, self.doc, &self.past.records, self.past.previous)?;
        let (mut changes, names, is_void) = match then {
            Then::Items(steps) => self.put_items(&mut *transaction, steps)?,
            Then::Whole(value) => self.put_whole(&mut *transaction, value)?,
        };
        changes.retain(|change| !self.doc.kind.stamps(&change.path));
        let Back { doc, past, taken, terms, entry, .. } = self;
        let (others, revision) = (others.into_iter().collect(), before + u64::from(!is_void));
        let mut back =
            TakenBack { taken, others, changes, names, revision, value: None, warnings: Vec::new() };
        if !terms.dry_run && !is_void {
            if *doc == Doc::queue() {
                queue::note(&mut *transaction, &past.edits, actor)?;
            }
            let mut committed = transaction.commit(&entry)?;
            back.value = committed.documents.pop().map(|(_, document)| document.value);
            back.warnings = committed.warnings;
        }
        Ok(back)
    }

    fn not_yours(&self, actor: &Actor) -> Error {
        let others = self.taken.iter().filter(|record| !is_own(record, actor));
        let taken = others.map(|record| (record.revision, record.op.clone(), record.whose())).collect();
        Error::OfOthers { kind: self.doc.kind.name, taken }
    }

    fn put_items(
        &self,
        transaction: &mut dyn Transaction,
        steps: Vec<then::Step>,
    ) -> Result<(Vec<Change>, Names, bool)> {
        let (mut changes, mut names, mut pairs) = (Vec::new(), Names::new(), Vec::new());
        for then::Step { place, id, now, mut then } in steps {
            match (&now, &mut then) {
                (Some(now), Some(then)) => {
                    merge::keep_epoch(self.doc.kind, now, then);
                    changes.extend(diff::diff_at(&place, now, then));
                }
                _ => {
                    let (path, before, after) = (place.clone(), now.clone(), then.clone());
                    changes.push(Change { path, before, after, at: None });
                }
            }
            match &then {
                Some(then) => transaction.put_item(self.doc, &id, then.clone())?,
                None => transaction.remove_items(self.doc, &[&id])?,
            }
            names.insert(place, id);
            pairs.push((now, then));
        }
        self.keep_together(transaction, &pairs)?;
        Ok((changes, names, false))
    }

    fn put_whole(
        &self,
        transaction: &mut dyn Transaction,
        value: Option<Value>,
    ) -> Result<(Vec<Change>, Names, bool)> {
        let now = transaction.get(self.doc)?.cloned();
        let whole = |before, after| vec![Change { path: String::new(), before, after, at: None }];
        match (now, value) {
            (None, None) => Ok((Vec::new(), Names::new(), true)),
            (Some(now), None) => {
                self.keep_together(transaction, &then::pairs(self.doc, &now, &Value::Null))?;
                views::delete(transaction, self.doc)?;
                Ok((whole(Some(now), None), Names::new(), false))
            }
            (None, Some(value)) => {
                views::put(transaction, self.doc, value.clone())?;
                Ok((whole(None, Some(value)), Names::new(), false))
            }
            (Some(now), Some(mut value)) => {
                // A claim's number is never given twice, or whoever slept through it would pass the fence.
                merge::keep_epochs(self.doc.kind, &now, &mut value);
                let changes = diff::diff(&now, &value);
                let names = names_of(&changes, &value);
                self.keep_together(transaction, &then::pairs(self.doc, &now, &value))?;
                views::put(transaction, self.doc, value)?;
                Ok((changes, names, false))
            }
        }
    }

    /// Sees to it that no claim is forgotten with its task, and that results go and come with theirs.
    fn keep_together(&self, transaction: &mut dyn Transaction, pairs: &[Pair]) -> Result<()> {
        let is_forced = self.terms.force || self.terms.dry_run;
        let claimed = |(now, then): &Pair| match (now, then) {
            (Some(now), None) if lease::epoch(now) > 0 => now.text(QueueTask::id).map(str::to_owned),
            _ => None,
        };
        let claimed: Vec<String> = pairs.iter().filter_map(claimed).collect();
        if let (false, Some(id)) = (is_forced, claimed.first()) {
            return Err(Error::ClaimedSince {
                kind: self.doc.kind.name,
                id: id.clone(),
                count: claimed.len(),
            });
        }
        if *self.doc == Doc::queue() {
            pairs.iter().try_for_each(|(now, then)| {
                results::follow(self.engine, transaction, now.as_ref(), then.as_ref())
            })?;
        }
        Ok(())
    }
}

/// Whether a change is of whoever acts now. A session's are also those that it made in a role. Whoever acts without a session
/// is a person: what they planned as the leader is theirs, and so are edits by hand; what workers did is not.
fn is_own(record: &Revision, actor: &Actor) -> bool {
    let me = actor.author(&actor.user);
    let author = record.author.as_ref().unwrap_or(&record.by);
    match actor.speaker() {
        Some(_) => *author == me,
        None if record.by == LEADER => record.author.as_ref().is_none_or(|author| *author == me),
        None => record.by == me || record.op == EDIT,
    }
}
