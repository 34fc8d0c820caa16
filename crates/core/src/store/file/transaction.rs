//! A transaction: lock, read, change in memory, commit.
//!
//! | step of `commit` | on disk afterwards | killed here, the next command finds |
//! | --- | --- | --- |
//! | write the spares | new contents beside the old ones | old |
//! | append the line, sync it | **the commit point** | new: it publishes the rest |
//! | swap spares and files | new contents in place | new |
//! | write the head, remove the spares | nothing left over | new |
//!
//! An error before the commit point leaves the old state; one after it is rolled back, and only if that
//! fails too is the error marked as indeterminate.
//!
//! A lazy commit skips the sync of the line, so a power loss may leave new bytes, or half of them, that no
//! line knows. That is harmless for one document whose old content is safe in the journal; every other
//! commit is synced whatever was asked for.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fs::Lock;
use super::journal::{self, DocEntry, Line, Replay, Segment, Sum};
use super::place::{Head, HeadDoc, Place, parent};
use super::{FileEngine, papers, rotate};
use crate::model::diff::{self, Change};
use crate::model::kind::Doc;
use crate::model::paper::Paper;
use crate::model::time;
use crate::store::engine::{self, Committed, Document, Durability, Entry, Transaction};
use crate::store::error::{Error, Result};
use crate::store::state::{self, Sealed};

pub struct FileTransaction<'e> {
    place: Place<'e>,
    engine: &'e FileEngine,
    head: Head,
    loaded: BTreeMap<String, Loaded>,
    /// Files in the order of their first write.
    order: Vec<String>,
    /// Texts to write (`false`) or to append (`true`), by file.
    papers: BTreeMap<String, (String, bool)>,
    folders: Vec<&'static str>,
    _lock: Box<dyn Lock>,
}

/// A document that this transaction has looked at.
struct Loaded {
    doc: Doc,
    /// What the file holds.
    base: Option<Value>,
    base_sum: Option<Sum>,
    /// The revision before this transaction, counting a hand edit.
    revision: u64,
    /// Whether somebody changed the file since our last commit.
    edited: bool,
    /// The new content; `Some(None)` deletes.
    new: Option<Option<Value>>,
}

/// A commit on its way to the disk.
struct Stage {
    docs: Vec<Staged>,
    papers: Vec<papers::Staged>,
    lines: Vec<Line>,
}

/// One document of a commit on its way to the disk.
struct Staged {
    doc: Doc,
    /// `None` deletes.
    sealed: Option<Sealed>,
    base_sum: Option<Sum>,
}

impl<'e> FileTransaction<'e> {
    pub fn new(place: Place<'e>, engine: &'e FileEngine, head: Head, lock: Box<dyn Lock>) -> Self {
        let (loaded, order, papers, folders) = Default::default();
        FileTransaction { place, engine, head, loaded, order, papers, folders, _lock: lock }
    }

    fn load(&mut self, doc: &Doc) -> Result<&mut Loaded> {
        if !self.loaded.contains_key(&doc.file) {
            let loaded = self.load_file(doc)?;
            self.loaded.insert(doc.file.clone(), loaded);
        }
        Ok(self.loaded.get_mut(&doc.file).expect("it was inserted above"))
    }

    fn load_file(&self, doc: &Doc) -> Result<Loaded> {
        let (base, base_sum) = self.place.open_doc(doc)?.unzip();
        let known = self.head.docs.get(&doc.file);
        let revision = effective_revision(known, base_sum, base.as_ref());
        let edited = known.is_some_and(|known| known.sum != base_sum);
        Ok(Loaded { doc: doc.clone(), base, base_sum, revision, edited, new: None })
    }

    fn write(&mut self, doc: &Doc, new: Option<Value>) -> Result<()> {
        let place = self.place.show(doc);
        let loaded = self.load(doc)?;
        if let Some(base) = &loaded.base {
            state::check_writable(doc, &place, base)?;
        }
        loaded.new = Some(new);
        if !self.order.contains(&doc.file) {
            self.order.push(doc.file.clone());
        }
        Ok(())
    }

    /// Seals every written document and composes the journal lines.
    fn stage(&mut self, entry: &Entry) -> Result<Stage> {
        let (mut docs, mut edits, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        for file in std::mem::take(&mut self.order) {
            let mut loaded = self.loaded.remove(&file).expect("a written document is loaded");
            let new = loaded.new.take().expect("it is in the order because it was written");
            if new.is_none() && loaded.base.is_none() {
                continue;
            }
            edits.extend(self.absorb(&loaded)?);
            let sealed = new
                .map(|value| state::seal(&loaded.doc, loaded.base.as_ref(), loaded.revision, value, entry))
                .transpose()?;
            entries.push(self.doc_entry(&loaded, sealed.as_ref()));
            docs.push(Staged { doc: loaded.doc, sealed, base_sum: loaded.base_sum });
        }
        let papers = std::mem::take(&mut self.papers).into_iter();
        let papers =
            papers.map(|(file, (text, append))| papers::Staged::new(&self.place, file, text, append));
        let papers = papers.collect::<Result<Vec<_>>>()?;
        let at = time::stamp(entry.at);
        let mut lines = Vec::new();
        if !edits.is_empty() {
            let (by, op) = (journal::HAND.into(), journal::EDIT.into());
            lines.push(Line {
                seq: 0,
                at: at.clone(),
                by,
                op,
                undoes: None,
                docs: edits,
                papers: Vec::new(),
            });
        }
        if !(entries.is_empty() && papers.is_empty()) {
            let (by, op) = (entry.by.clone(), entry.op.clone());
            let papers = papers.iter().map(|paper| paper.entry.clone()).collect();
            lines.push(Line { seq: 0, at, by, op, undoes: entry.undoes, docs: entries, papers });
        }
        (self.head.seq + 1..).zip(&mut lines).for_each(|(seq, line)| line.seq = seq);
        Ok(Stage { docs, papers, lines })
    }

    /// Describes what a person changed in the file since our last commit.
    fn absorb(&self, loaded: &Loaded) -> Result<Option<DocEntry>> {
        if !loaded.edited {
            return Ok(None);
        }
        let (changes, content) = match (self.journaled(&loaded.doc)?, &loaded.base) {
            (_, None) => (Vec::new(), None),
            (Some(known), Some(base)) => (diff::diff(&known, base), None),
            (None, Some(base)) => (Vec::new(), Some(base.clone())),
        };
        let known = self.head.docs.get(&loaded.doc.file).and_then(|known| known.sum);
        let sums = (known, loaded.base_sum);
        Ok(Some(entry_of(&loaded.doc, loaded.revision, sums, changes, content)))
    }

    /// Returns the content that our last commit of a document left, if it left one.
    fn journaled(&self, doc: &Doc) -> Result<Option<Value>> {
        let bytes = self.place.read(&self.place.journal())?.unwrap_or_default();
        let mut replay = Replay::of(&Segment::parse(&bytes));
        let known = replay.docs.remove(&doc.file).filter(|known| known.sum.is_some());
        Ok(known.map(|known| known.content))
    }

    fn doc_entry(&self, loaded: &Loaded, sealed: Option<&Sealed>) -> DocEntry {
        let known = self.head.docs.contains_key(&loaded.doc.file);
        let Some(sealed) = sealed else {
            let changes = if known { Vec::new() } else { deleted(loaded.base.clone()) };
            return entry_of(&loaded.doc, loaded.revision + 1, (loaded.base_sum, None), changes, None);
        };
        let sums = (loaded.base_sum, Some(Sum::of(&sealed.bytes)));
        let content = (loaded.base.is_none() || !known).then(|| sealed.value.clone());
        entry_of(&loaded.doc, sealed.revision, sums, sealed.changes.clone(), content)
    }

    /// Puts the new contents beside the old ones. Whatever can run out runs out here.
    fn prepare(&self, stage: &Stage) -> Result<()> {
        self.place.make_dirs(&self.place.room.hidden())?;
        for dir in &self.folders {
            self.place.make_dirs(&self.place.doc(dir))?;
        }
        stage.papers.iter().try_for_each(|paper| paper.prepare(&self.place))?;
        for Staged { doc, sealed, base_sum } in &stage.docs {
            let Some(sealed) = sealed else { continue };
            if base_sum.is_none() {
                self.place.make_dirs(parent(&self.place.doc(&doc.file)))?;
            }
            self.place.write_spare(&doc.file, &sealed.bytes)?;
        }
        Ok(())
    }

    /// Returns whether a power loss that takes the line can do no worse than the old state.
    fn may_be_lazy(&self, stage: &Stage) -> bool {
        let ([staged], []) = (&stage.docs[..], &stage.papers[..]) else { return false };
        let is_safe = |sum| self.head.docs.get(&staged.doc.file).is_some_and(|known| known.sum == Some(sum));
        staged.base_sum.is_some_and(is_safe)
    }

    /// Appends the lines and, unless lazy, makes them durable: the commit point. Returns the journal's end.
    fn append(&self, lines: &[Line], durability: Durability) -> Result<u64> {
        let bytes: Vec<u8> = lines.iter().flat_map(journal::encode).collect();
        let (journal, end) = (self.place.journal(), self.head.end);
        let fresh = end == 0 && self.place.size(&journal)?.is_none();
        let hidden = self.place.room.hidden();
        let appended = self.place.fs.write_at(&journal, end, &bytes).and_then(|()| match durability {
            Durability::Synced => self.place.fs.sync_file(&journal),
            Durability::Lazy => Ok(()),
        });
        let appended = match (appended, fresh) {
            (Ok(()), true) => self.place.sync_up(&hidden, ""),
            (other, _) => other,
        };
        match appended {
            Ok(()) => Ok(end + bytes.len() as u64),
            Err(source) => Err(self.take_back(self.place.failed("write", &journal, source))),
        }
    }

    /// Puts documents and texts into place; on failure takes back what was done.
    fn publish(&self, stage: &Stage) -> Result<()> {
        self.publish_docs(&stage.docs)?;
        for (done, paper) in stage.papers.iter().enumerate() {
            if let Err(error) = paper.publish(&self.place) {
                let restored = stage.papers[..done].iter().rev().all(|paper| paper.restore(&self.place))
                    && stage.docs.iter().rev().all(|staged| self.restore(staged));
                let back = restored && !error.indeterminate();
                return Err(if back { self.take_back(error) } else { error.into_indeterminate() });
            }
        }
        Ok(())
    }

    fn publish_docs(&self, staged: &[Staged]) -> Result<()> {
        for (done, Staged { doc, sealed, base_sum }) in staged.iter().enumerate() {
            let published = match sealed {
                Some(_) => self.place.swap(&doc.file, base_sum.is_some()),
                None => self.unpublish(doc),
            };
            if let Err(error) = published {
                let restored = staged[..done].iter().rev().all(|staged| self.restore(staged));
                let back = restored && !error.indeterminate();
                return Err(if back { self.take_back(error) } else { error.into_indeterminate() });
            }
        }
        Ok(())
    }

    /// Moves a deleted document aside, so that a failed commit can bring it back.
    fn unpublish(&self, doc: &Doc) -> Result<()> {
        let (path, spare) = (self.place.doc(&doc.file), self.place.spare(&doc.file));
        self.place.fs.rename(&path, &spare).map_err(|error| self.place.failed("remove", &path, error))
    }

    fn restore(&self, staged: &Staged) -> bool {
        let (spare, path) = (self.place.spare(&staged.doc.file), self.place.doc(&staged.doc.file));
        // Durably: otherwise a power loss could bring the content back that no line knows any more.
        let synced = || self.place.sync_swapped(&staged.doc.file).is_ok();
        let restored = match (&staged.sealed, staged.base_sum) {
            (Some(_), Some(_)) => {
                let copy = self.place.copy(&staged.doc.file);
                let swapped = self.place.fs.exchange(&spare, &path);
                let swapped = swapped.or_else(|_| self.place.fs.rename(&copy, &path));
                swapped.and_then(|()| self.place.fs.sync_file(&path))
            }
            (Some(_), None) => self.place.fs.remove(&path).map(drop),
            (None, _) => self.place.fs.rename(&spare, &path),
        };
        restored.is_ok() && synced()
    }

    /// Takes an appended line back; if even that fails, the change may happen after all.
    fn take_back(&self, error: Error) -> Error {
        let (journal, end) = (self.place.journal(), self.head.end);
        let cut = match self.place.fs.size(&journal) {
            Ok(Some(size)) if size > end => {
                self.place.fs.truncate(&journal, end).and_then(|()| self.place.fs.sync_file(&journal))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if cut.is_err() { error.into_indeterminate() } else { error }
    }

    /// Tidies up. From here on nothing can fail any more: the commit has happened.
    fn finish(&mut self, stage: &Stage, end: u64) -> Vec<String> {
        let lines = &stage.lines;
        self.head.seq = lines.last().map_or(self.head.seq, |line| line.seq);
        self.head.end = end;
        if self.head.life.journal.is_none() {
            // The journal may be of this commit. Without a known life the next command looks closely.
            self.head.life = self.place.life().unwrap_or_default();
        }
        for entry in lines.iter().flat_map(|line| &line.docs) {
            let doc = HeadDoc { revision: entry.revision, sum: entry.sum };
            self.head.docs.insert(entry.file.clone(), doc);
        }
        self.place.write_head(&self.head);
        stage.papers.iter().for_each(|paper| paper.clear(&self.place));
        let warnings = stage.docs.iter().filter_map(|staged| self.clear_spare(staged)).collect();
        if end > self.engine.options.segment_bytes {
            rotate::rotate(&self.place, self.engine, &mut self.head);
        }
        warnings
    }

    /// Removes what was swapped out, unless it is an edit that slipped in while we were committing.
    fn clear_spare(&self, staged: &Staged) -> Option<String> {
        let (spare, copy) = (self.place.spare(&staged.doc.file), self.place.copy(&staged.doc.file));
        let read = |path: &String| self.place.fs.read(path, staged.doc.kind.limit).ok().flatten();
        let bytes = staged.base_sum.and_then(|_| read(&spare).or_else(|| read(&copy)));
        let collided = bytes.filter(|bytes| Some(Sum::of(bytes)) != staged.base_sum);
        let warning = collided.map(|bytes| match self.place.quarantine(&staged.doc.file, &bytes) {
            Ok(kept) => {
                format!("`{}` was edited during this commit; that edit is kept in `{kept}`", staged.doc.file)
            }
            Err(_) => format!("`{}` was edited during this commit; that edit was replaced", staged.doc.file),
        });
        if !self.place.fs.remove(&spare).is_ok_and(|removed| removed) {
            let _ = self.place.fs.remove(&copy);
        }
        warning
    }
}

impl Transaction for FileTransaction<'_> {
    fn get(&mut self, doc: &Doc) -> Result<Option<&Value>> {
        let loaded = self.load(doc)?;
        Ok(match &loaded.new {
            Some(new) => new.as_ref(),
            None => loaded.base.as_ref(),
        })
    }

    fn revision(&mut self, doc: &Doc) -> Result<u64> {
        Ok(self.load(doc)?.revision)
    }

    fn put(&mut self, doc: &Doc, value: Value) -> Result<()> {
        self.write(doc, Some(value))
    }

    fn delete(&mut self, doc: &Doc) -> Result<()> {
        self.write(doc, None)
    }

    fn put_item(&mut self, doc: &Doc, id: &str, item: Value) -> Result<()> {
        if self.get(doc)?.is_some() && self.loaded[&doc.file].new.is_none() {
            let copy = self.loaded[&doc.file].base.clone();
            self.write(doc, copy)?;
        }
        match self.load(doc)?.new.as_mut() {
            Some(Some(value)) => engine::put_in(doc, value, id, item),
            _ => engine::put_in(doc, &mut Value::Null, id, item),
        }
    }

    fn edits(&mut self, doc: &Doc) -> Result<Vec<Change>> {
        let loaded = self.load(doc)?;
        let (false, Some(base)) = (!loaded.edited, loaded.base.clone()) else { return Ok(Vec::new()) };
        let known = self.journaled(doc)?;
        Ok(known.map(|known| diff::diff(&known, &base)).unwrap_or_default())
    }

    fn paper(&mut self, paper: &Paper) -> Result<Option<String>> {
        let bytes = self.place.read_doc(&paper.file(), papers::LIMIT)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn folder(&mut self, dir: &'static str) -> Result<Vec<String>> {
        self.folders.push(dir);
        let path = self.place.doc(dir);
        self.place.fs.entries(&path).map_err(|error| self.place.failed("list", &path, error))
    }

    fn write_paper(&mut self, paper: &Paper, text: String) -> Result<()> {
        self.papers.insert(paper.file(), (text, false));
        Ok(())
    }

    fn append_paper(&mut self, paper: &Paper, piece: &str) -> Result<()> {
        let (text, _) = self.papers.entry(paper.file()).or_insert_with(|| (String::new(), true));
        text.push_str(piece);
        Ok(())
    }

    fn commit(mut self: Box<Self>, entry: &Entry) -> Result<Committed> {
        let stage = self.stage(entry)?;
        if stage.lines.is_empty() {
            return Ok(Committed::default());
        }
        let durability = if self.may_be_lazy(&stage) { entry.durability } else { Durability::Synced };
        let committed =
            self.prepare(&stage).and_then(|()| self.append(&stage.lines, durability)).and_then(|end| {
                self.publish(&stage)?;
                Ok(end)
            });
        let end = match committed {
            Ok(end) => end,
            Err(error) => {
                super::recover::sweep(&self.place);
                return Err(error);
            }
        };
        let warnings = self.finish(&stage, end);
        let documents = stage.docs.into_iter().filter_map(|staged| {
            let Sealed { value, revision, .. } = staged.sealed?;
            Some((staged.doc, Document { value, revision }))
        });
        Ok(Committed { documents: documents.collect(), warnings })
    }
}

/// Returns a document's revision, counting an edit by hand as one.
pub fn effective_revision(known: Option<&HeadDoc>, sum: Option<Sum>, value: Option<&Value>) -> u64 {
    let stated = value.map_or(0, state::revision_in);
    match known {
        Some(known) if known.sum == sum => known.revision,
        Some(known) => (known.revision + 1).max(stated),
        None => stated,
    }
}

/// Keeps the content of a file that the journal has never heard of, so that deleting it can be undone.
fn deleted(before: Option<Value>) -> Vec<diff::Change> {
    vec![diff::Change { path: String::new(), before, after: None, at: None }]
}

/// Describes one document of a commit, with the checksums before and after it.
fn entry_of(
    doc: &Doc,
    revision: u64,
    (base, sum): (Option<Sum>, Option<Sum>),
    changes: Vec<diff::Change>,
    content: Option<Value>,
) -> DocEntry {
    let (file, kind) = (doc.file.clone(), doc.kind.name.into());
    DocEntry { file, kind, revision, sum, base, changes, content }
}
