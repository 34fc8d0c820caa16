//! The past of documents, and edits by hand that wait for a decision.

use std::borrow::Cow;

use serde_json::Value;

use super::documents::{Edited, Select};
use super::request::{KindName, request};
use super::{Answer, Caller, Request, answers, written};
use crate::error::Code;
use crate::model::diff::Change;
use crate::model::documents::answers::{
    ChangeNote, ChangedDocument, ClashNote, DroppedEdit, EditNote, EditsNote, RevisionNote, TakenBackNote,
};
use crate::model::hint::Hint;
use crate::model::kind::{Doc, Kind};
use crate::model::names::{Names, named};
use crate::model::shape::{Maybe, Shape, Shaped, words};
use crate::model::when::When;
use crate::ops::archive::shelf::Shelf;
use crate::ops::edit::Target;
use crate::ops::history::{self, LogFilter, TakenBack, Terms, Told};
use crate::ops::merge::{self, Compared};
use crate::ops::{Error, Result, read};
use crate::store::{Aside, Edits, Revision};

request!(
    /// Show the changes of a document, oldest first, or what has left it for its archive.
    ShowHistory("document.history", Reads, "history", r#"{"document": {"kind": "config"}, "limit": 5}"#) {
        /// Which document.
        document: Select,
        /// Only the newest so many.
        limit: Option<usize>,
        /// Also the renewals of leases.
        all: bool,
        /// What has left the document for its archive.
        archived: bool,
        /// Only what was archived by this id.
        item: Option<String>,
    }
);

/// What is known of a document's past.
#[derive(Debug)]
pub enum Past {
    Revisions { revisions: Vec<Revision>, shelf: Option<Shelf> },
    Archived(Vec<Value>),
}

impl Answer for Past {
    const SHAPE: &'static Shape = &Shape::Either(<Vec<RevisionNote>>::SHAPE, <Vec<Value>>::SHAPE);

    fn json(&self) -> Cow<'_, Value> {
        Cow::Owned(match self {
            Past::Revisions { revisions, .. } => told(revisions),
            Past::Archived(records) => records.clone().into(),
        })
    }
}

impl Request for ShowHistory {
    type Answer = Past;

    fn perform(self, caller: &Caller<'_>) -> Result<Past> {
        let (doc, engine) = (self.document.find(caller)?, caller.engine);
        let shelf = Shelf::of(&doc);
        let records = |shelf: &Shelf| shelf.newest(engine, self.item.as_deref(), self.limit);
        if self.archived {
            let shelf = shelf.ok_or(Error::NoArchive { kind: doc.kind.name })?;
            return records(&shelf).map(Past::Archived);
        }
        let revisions = match self.limit {
            Some(limit) => history::newest(engine, &doc, limit, told_of(self.all))?,
            None => history::history(engine, &doc, told_of(self.all))?,
        };
        if revisions.is_empty()
            && let Err(error) = read::document(engine, &doc)
        {
            let is_gone = error.code() == Code::NotFound;
            return match shelf.filter(|_| is_gone) {
                Some(shelf) if !shelf.newest(engine, None, Some(1))?.is_empty() => {
                    records(&shelf).map(Past::Archived)
                }
                _ => Err(error),
            };
        }
        Ok(Past::Revisions { revisions, shelf })
    }
}

request!(
    /// Show who changed what, in all documents.
    ShowLog("document.log", Reads, "log", r#"{"since": "3600", "limit": 5}"#) {
        /// Only what happened since this time: `yesterday`, `2h`, `monday`, `10:30`, a date, or so many seconds ago.
        since: Option<When>,
        /// Only changes by this session or user.
        actor: Option<String>,
        /// Only changes of this kind.
        kind: Option<KindName>,
        /// Only the newest so many.
        limit: Option<usize>,
        /// Also the renewals of leases.
        all: bool,
    }
);

/// Changes of documents.
#[derive(Debug)]
pub struct Log(pub Vec<Revision>);

answers! {
    Log: Vec<RevisionNote>, log => told(&log.0);
}

impl Request for ShowLog {
    type Answer = Log;

    fn perform(self, caller: &Caller<'_>) -> Result<Log> {
        let filter = LogFilter {
            since: self.since.map(|since| caller.moment(&since)).transpose()?,
            actor: self.actor,
            kind: self.kind.map(|kind| kind.0.name.to_owned()),
            limit: self.limit,
            told: told_of(self.all),
        };
        history::log(caller.engine, &filter).map(Log)
    }
}

fn told_of(all: bool) -> Told {
    if all { Told::All } else { Told::Acts }
}

fn told(revisions: &[Revision]) -> Value {
    revisions.iter().map(note).collect()
}

/// Returns one change as all answers tell it.
pub fn note(record: &Revision) -> Value {
    written(&revision(record, true))
}

fn revision(record: &Revision, with_changes: bool) -> RevisionNote {
    RevisionNote {
        kind: record.kind.clone(),
        revision: record.revision.into(),
        at: record.at.clone(),
        by: record.by.clone(),
        op: record.op.clone(),
        changes: Maybe(with_changes.then(|| changes(&record.changes, &record.names))),
        author: Maybe(record.author.clone()),
        stored: Maybe(record.stored.clone()),
        made_from: Maybe(record.made_from.map(Into::into)),
    }
}

fn changes(changes: &[Change], names: &Names) -> Vec<ChangeNote> {
    changes.iter().map(|change| self::change(change, names)).collect()
}

/// Returns a change with items by their ids; `place` has them by position, where that is something else, to apply it.
pub fn change(change: &Change, names: &Names) -> ChangeNote {
    let side = |value: &Option<Value>| value.clone().unwrap_or_default();
    let path = named(change, names);
    let place = Maybe((path != change.path).then(|| change.path.clone()));
    ChangeNote { path, before: side(&change.before), after: side(&change.after), place }
}

/// A document after going back, or as it would be.
#[derive(Debug)]
pub struct GoneBack {
    pub kind: &'static Kind,
    pub back: TakenBack,
    pub dry_run: bool,
}

answers! {
    GoneBack: TakenBackNote, gone => written(&gone.note()), warns &gone.back.warnings;
}

impl GoneBack {
    fn note(&self) -> TakenBackNote {
        let back = &self.back;
        // A long list is not repeated: `changes` says what is different.
        let whole = || back.value.clone().unwrap_or_default();
        TakenBackNote {
            kind: self.kind.name.into(),
            revision: back.revision.into(),
            taken_back: back.taken.iter().map(|record| revision(record, false)).collect(),
            changes: changes(&back.changes, &back.names),
            others: back.others.clone(),
            dry_run: self.dry_run,
            value: Maybe(self.kind.listing.is_none().then(whole)),
        }
    }
}

request!(
    /// Take back the last change of a document; again to go further back.
    UndoChange("document.undo", Changes, "undo", r#"{"document": {"kind": "config"}, "force": true}"#) {
        /// Which document.
        document: Select,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
        /// Also take back what others did, and tasks that were claimed meanwhile.
        force: bool,
        /// Say what would be taken back, and change nothing.
        dry_run: bool,
    }
);

impl Request for UndoChange {
    type Answer = GoneBack;

    fn perform(self, caller: &Caller<'_>) -> Result<GoneBack> {
        let UndoChange { force, dry_run, .. } = self;
        let doc = self.document.find(caller)?;
        let target = Target::whole(&doc, self.expect_revision);
        let back = history::undo(caller.engine, &target, Terms { force, dry_run }, caller.actor)?;
        Ok(GoneBack { kind: doc.kind, back, dry_run })
    }
}

request!(
    /// Make a document be again what it was at a revision; that becomes a new revision.
    RestoreRevision("document.restore", Changes, "restore", r#"{"document": {"kind": "config"}, "revision": 1, "dry_run": true}"#) {
        /// Which document.
        document: Select,
        /// The revision to go back to.
        revision: u64,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
        /// Also take back what others did, and tasks that were claimed meanwhile.
        force: bool,
        /// Say what would be taken back, and change nothing.
        dry_run: bool,
    }
);

impl Request for RestoreRevision {
    type Answer = GoneBack;

    fn perform(self, caller: &Caller<'_>) -> Result<GoneBack> {
        let RestoreRevision { force, dry_run, revision, .. } = self;
        let doc = self.document.find(caller)?;
        let target = Target::whole(&doc, self.expect_revision);
        let terms = Terms { force, dry_run };
        let back = history::restore(caller.engine, &target, revision, terms, caller.actor)?;
        Ok(GoneBack { kind: doc.kind, back, dry_run })
    }
}

request!(
    /// Show what an edit by hand changes, and edits that could not be joined.
    ShowEdits("document.diff", Reads, "diff", r#"{"document": {"kind": "config"}}"#) {
        /// Which document.
        document: Select,
    }
);

/// Edits of a document by hand.
#[derive(Debug)]
pub struct ByHand {
    pub doc: Doc,
    pub pending: Edits,
    pub asides: Vec<(Compared, Aside)>,
}

answers! {
    ByHand: EditsNote, edits => written(&EditsNote {
        pending: edit(&edits.pending, None),
        aside: edits.asides.iter().map(|(kept, aside)| edit(&kept.edits, Some(&aside.path))).collect(),
    });
}

fn edit(edits: &Edits, path: Option<&String>) -> EditNote {
    let side = |value: &Option<Value>| value.clone().unwrap_or_default();
    let clashes = edits.clashes.iter().map(|clash| ClashNote {
        path: clash.path.clone(),
        base: side(&clash.base),
        theirs: side(&clash.theirs),
        ours: side(&clash.ours),
    });
    EditNote {
        made_from: edits.how.made_from().map(Into::into),
        changes: changes(&edits.changes, &edits.names),
        clashes: clashes.collect(),
        path: Maybe(path.cloned()),
    }
}

impl Request for ShowEdits {
    type Answer = ByHand;

    fn perform(self, caller: &Caller<'_>) -> Result<ByHand> {
        let (doc, engine) = (self.document.find(caller)?, caller.engine);
        let pending = merge::pending(engine, &doc)?;
        let asides = merge::asides(engine, std::slice::from_ref(&doc.room))?;
        let asides = asides.into_iter().filter(|aside| aside.doc == doc);
        let asides =
            asides.map(|aside| Ok((merge::compare(engine, &aside)?, aside))).collect::<Result<_>>()?;
        Ok(ByHand { doc, pending, asides })
    }
}

words!(
    /// Which side counts where an edit by hand and commits have changed the same.
    Side { Theirs = "theirs", Ours = "ours" }
);

request!(
    /// Decide about an edit by hand that could not be joined.
    MergeEdit("document.merge", Removes, "merge", r#"{"edit": "config", "take": "theirs"}"#) {
        /// Where it is kept, or the kind of its document if there is only one.
        edit: String,
        /// `theirs`: the edit counts; `ours`: what was committed stays, and the edit is dropped.
        take: Side,
    }
);

/// What became of an edit that was kept aside.
#[derive(Debug)]
pub enum Decided {
    Taken(Edited),
    Dropped(Aside),
}

impl Answer for Decided {
    const SHAPE: &'static Shape = &Shape::Either(ChangedDocument::SHAPE, DroppedEdit::SHAPE);

    fn json(&self) -> Cow<'_, Value> {
        match self {
            Decided::Taken(edited) => edited.json(),
            Decided::Dropped(aside) => {
                let (kind, dropped) = (aside.doc.kind.name.into(), aside.path.clone());
                Cow::Owned(written(&DroppedEdit { kind, dropped }))
            }
        }
    }

    fn warnings(&self) -> &[Hint] {
        match self {
            Decided::Taken(edited) => edited.warnings(),
            Decided::Dropped(_) => &[],
        }
    }
}

impl Request for MergeEdit {
    type Answer = Decided;

    fn perform(self, caller: &Caller<'_>) -> Result<Decided> {
        let aside = find(caller, &self.edit)?;
        match self.take {
            Side::Ours => {
                merge::keep_ours(caller.engine, &aside)?;
                Ok(Decided::Dropped(aside))
            }
            Side::Theirs => {
                let changed = merge::take_theirs(caller.engine, &aside, caller.actor)?;
                Ok(Decided::Taken(Edited { kind: aside.doc.kind.name, changed }))
            }
        }
    }
}

fn find(caller: &Caller<'_>, named: &str) -> Result<Aside> {
    // One that no commit has taken in yet is not kept aside yet.
    if let Some(doc) = Kind::find(named)
        .filter(|kind| !kind.is_family())
        .and_then(|kind| Some(Doc::shared(kind, kind.room()?)))
    {
        merge::settle(caller.engine, &doc, caller.actor)?;
    }
    let mut found = merge::asides(caller.engine, &caller.engine.rooms()?)?;
    let full = caller.around.absolute(named);
    found.retain(|aside| aside.path == full || aside.doc.kind.name == named);
    match &found[..] {
        [one] => Ok(one.clone()),
        [] => Err(merge::no_aside(named)),
        several => {
            let paths: Vec<_> = several.iter().map(|aside| aside.path.as_str()).collect();
            let hint = format!("name one of them: {}", paths.join(", "));
            Err(Error::invalid(format!("there are {} such edits", paths.len()), hint))
        }
    }
}
