//! The reference engine: the contract in memory, with nothing to hide. Tests compare others with it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::edits::{self, Edits, How, TakenIn};
use super::engine::{
    Aside, Committed, Document, Engine, Entry, Event, Finding, Listener, Revision, Transaction, Visit, Watch,
};
use super::error::{Error, Result};
use super::state::{self, Sealed};
use crate::model::diff::{self, Change};
use crate::model::json;
use crate::model::kind::Doc;
use crate::model::merge::Clash;
use crate::model::names::{Names, names_of};
use crate::model::paper::{Paper, Writing};
use crate::model::room::Room;
use crate::model::time;

/// Documents in memory, shared by all clones.
#[derive(Debug, Clone)]
pub struct MemoryEngine {
    shared: Arc<Shared>,
    patience: Duration,
}

#[derive(Debug, Default)]
struct Shared {
    rooms: Mutex<BTreeMap<Room, RoomState>>,
    /// Told when a transaction ends.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct RoomState {
    busy: bool,
    docs: BTreeMap<String, Stored>,
    papers: BTreeMap<String, String>,
    /// What people made of documents since the last commit of each, as a test lets them.
    edits: BTreeMap<String, Value>,
    asides: Vec<(Aside, Vec<u8>)>,
    log: Vec<Revision>,
}

#[derive(Debug, Clone)]
struct Stored {
    doc: Doc,
    revision: u64,
    /// `None` when it was deleted.
    value: Option<Value>,
}

impl Default for MemoryEngine {
    fn default() -> Self {
        MemoryEngine { shared: Arc::default(), patience: Duration::from_secs(10) }
    }
}

impl MemoryEngine {
    pub fn with_patience(patience: Duration) -> MemoryEngine {
        MemoryEngine { patience, ..MemoryEngine::default() }
    }

    /// Does what an editor does to a file: from now on the document looks like this, until a commit takes it in.
    pub fn edit(&self, doc: &Doc, value: Value) {
        let mut rooms = self.shared.lock();
        let room = rooms.entry(doc.room.clone()).or_default();
        match room.docs.get(&doc.file).is_some_and(|stored| stored.value.as_ref() == Some(&value)) {
            true => drop(room.edits.remove(&doc.file)),
            false => drop(room.edits.insert(doc.file.clone(), value)),
        }
        drop(rooms);
        self.shared.changed.notify_all();
    }

    fn revisions(&self, docs: &[Doc]) -> Vec<u64> {
        let rooms = self.shared.lock();
        let stored = |doc: &Doc| rooms.get(&doc.room).and_then(|room| room.docs.get(&doc.file));
        docs.iter().map(|doc| stored(doc).map_or(0, |stored| stored.revision)).collect()
    }
}

struct MemoryListener {
    engine: MemoryEngine,
    docs: Vec<Doc>,
    seen: Vec<u64>,
}

impl Listener for MemoryListener {
    fn wait(&mut self, timeout: Option<Duration>) -> Result<bool> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let seen = std::mem::replace(&mut self.seen, self.engine.revisions(&self.docs));
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if seen != self.seen || left == Some(Duration::ZERO) {
                return Ok(seen != self.seen);
            }
            let pause = left.unwrap_or(Duration::MAX).min(Duration::from_millis(20));
            let rooms = self.engine.shared.lock();
            drop(self.engine.shared.changed.wait_timeout(rooms, pause).expect("see `lock`"));
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Room, RoomState>> {
        self.rooms.lock().expect("no thread panics while it holds the rooms")
    }
}

impl Engine for MemoryEngine {
    fn read(&self, doc: &Doc) -> Result<Option<Document>> {
        let rooms = self.shared.lock();
        let Some(room) = rooms.get(&doc.room) else { return Ok(None) };
        let edited = room.edited(doc)?.map(|edited| edited.stored);
        let stored = edited.as_ref().or_else(|| room.docs.get(&doc.file));
        Ok(stored
            .and_then(|stored| Some(Document { value: stored.value.clone()?, revision: stored.revision })))
    }

    fn begin(&self, rooms: &[&Room]) -> Result<Box<dyn Transaction + '_>> {
        let wanted: BTreeSet<Room> = rooms.iter().copied().cloned().collect();
        let busy = |rooms: &mut BTreeMap<Room, RoomState>| {
            wanted.iter().any(|room| rooms.get(room).is_some_and(|state| state.busy))
        };
        let rooms = self.shared.lock();
        let (mut rooms, waited) =
            self.shared.changed.wait_timeout_while(rooms, self.patience, busy).expect("see `lock`");
        if waited.timed_out() {
            let names: Vec<_> = wanted.iter().map(Room::to_string).collect();
            return Err(Error::Busy { path: names.join(", "), waited: self.patience });
        }
        let mut before = BTreeMap::new();
        for room in wanted {
            let state = rooms.entry(room.clone()).or_default();
            state.busy = true;
            let (mut docs, mut edited) = (state.docs.clone(), BTreeMap::new());
            for doc in state.docs.values().map(|stored| &stored.doc) {
                if let Some(edit) = state.edited(doc)? {
                    docs.insert(doc.file.clone(), edit.stored.clone());
                    edited.insert(doc.file.clone(), edit);
                }
            }
            before.insert(room, Before { docs, edited, papers: state.papers.clone() });
        }
        Ok(Box::new(MemoryTransaction { engine: self, before, new: Vec::new(), texts: Vec::new() }))
    }

    fn replay(&self, doc: &Doc, visit: &mut dyn FnMut(&Revision, Option<&Value>)) -> Result<()> {
        let mut content = Value::Null;
        for revision in self.log(&doc.room)?.iter().filter(|revision| revision.file == doc.file) {
            apply(&mut content, &revision.changes);
            visit(revision, (!content.is_null()).then_some(&content));
        }
        Ok(())
    }

    fn log(&self, room: &Room) -> Result<Vec<Revision>> {
        Ok(self.shared.lock().get(room).map(|room| room.log.clone()).unwrap_or_default())
    }

    fn look_back(&self, room: &Room, only: Option<&Doc>, visit: Visit<'_>) -> Result<()> {
        let wanted = |revision: &Revision| only.is_none_or(|doc| revision.file == doc.file);
        let _ = self.log(room)?.into_iter().rev().filter(wanted).all(visit);
        Ok(())
    }

    fn watch(&self, doc: &Doc, from: Option<u64>) -> Result<Box<dyn Watch>> {
        let mut queue = VecDeque::new();
        let rooms = self.shared.lock();
        let stored = rooms.get(&doc.room).and_then(|room| room.docs.get(&doc.file));
        let revision = from.unwrap_or_else(|| stored.map_or(0, |stored| stored.revision));
        if let (None, Some(value)) = (from, stored.and_then(|stored| stored.value.as_ref())) {
            let text = json::dense(value);
            queue.push_back(Event::new(revision, None, "anthill", "snapshot", text));
        }
        drop(rooms);
        Ok(Box::new(MemoryWatch { engine: self.clone(), doc: doc.clone(), revision, queue }))
    }

    fn listen(&self, docs: &[Doc]) -> Result<Box<dyn Listener>> {
        Ok(Box::new(MemoryListener { engine: self.clone(), docs: docs.to_vec(), seen: self.revisions(docs) }))
    }

    fn rooms(&self) -> Result<Vec<Room>> {
        Ok(self
            .shared
            .lock()
            .iter()
            .filter(|(_, room)| !room.log.is_empty())
            .map(|(room, _)| room.clone())
            .collect())
    }

    fn documents(&self, room: &Room) -> Result<Vec<Doc>> {
        let rooms = self.shared.lock();
        let stored = rooms.get(room).into_iter().flat_map(|room| room.docs.values());
        Ok(stored.filter(|stored| stored.value.is_some()).map(|stored| stored.doc.clone()).collect())
    }

    fn check(&self, _: &Room, _: bool) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }

    fn asides(&self, room: &Room) -> Result<Vec<Aside>> {
        let rooms = self.shared.lock();
        let kept = rooms.get(room).into_iter().flat_map(|room| &room.asides);
        Ok(kept.map(|(aside, _)| aside.clone()).collect())
    }

    fn read_aside(&self, aside: &Aside) -> Result<Option<Vec<u8>>> {
        let rooms = self.shared.lock();
        let mut kept = rooms.get(&aside.doc.room).into_iter().flat_map(|room| &room.asides);
        Ok(kept.find(|(known, _)| known.name == aside.name).map(|(_, bytes)| bytes.clone()))
    }

    fn drop_aside(&self, aside: &Aside) -> Result<()> {
        if let Some(room) = self.shared.lock().get_mut(&aside.doc.room) {
            room.asides.retain(|(known, _)| known.name != aside.name);
        }
        Ok(())
    }

    fn place(&self, doc: &Doc) -> String {
        format!("memory:{}", doc.path())
    }
}

struct MemoryTransaction<'e> {
    engine: &'e MemoryEngine,
    before: BTreeMap<Room, Before>,
    /// New contents in the order of the first write.
    new: Vec<(Doc, Option<Value>)>,
    /// What is done to texts.
    texts: Vec<(Paper, Writing)>,
}

/// A document that somebody has edited.
#[derive(Debug)]
struct Edited {
    /// What counts of it.
    stored: Stored,
    ours: Value,
    how: How,
    clashes: Vec<Clash>,
}

impl RoomState {
    /// Returns what counts of an edit that no commit has taken in yet.
    fn edited(&self, doc: &Doc) -> Result<Option<Edited>> {
        let (Some(theirs), Some(stored)) = (self.edits.get(&doc.file), self.docs.get(&doc.file)) else {
            return Ok(None);
        };
        let Some(ours) = stored.value.clone() else { return Ok(None) };
        let mut past = |visit: &mut dyn FnMut(u64, &Value)| {
            let mut content = Value::Null;
            for record in self.log.iter().filter(|record| record.file == doc.file) {
                apply(&mut content, &record.changes);
                visit(record.revision, &content);
            }
            Ok(())
        };
        let taken = edits::take_in(doc, theirs.clone(), &ours, stored.revision, &mut past)?;
        let TakenIn { value, how, clashes } = taken;
        let counts = how == How::Fresh || value != ours;
        let counted = (stored.revision + 1).max(state::revision_in(theirs));
        let revision = if counts { counted } else { stored.revision };
        let stored = Stored { doc: doc.clone(), revision, value: Some(value) };
        Ok(Some(Edited { stored, ours, how, clashes }))
    }
}

/// A room before this transaction.
#[derive(Debug)]
struct Before {
    docs: BTreeMap<String, Stored>,
    edited: BTreeMap<String, Edited>,
    papers: BTreeMap<String, String>,
}

impl MemoryTransaction<'_> {
    fn write(&mut self, doc: &Doc, value: Option<Value>) -> Result<()> {
        if let Some(base) = self.base(doc).0 {
            state::check_writable(doc, &doc.file, base)?;
        }
        match self.new.iter_mut().find(|(known, _)| known == doc) {
            Some((_, new)) => *new = value,
            None => self.new.push((doc.clone(), value)),
        }
        Ok(())
    }

    fn room(&self, room: &Room) -> &Before {
        self.before.get(room).expect("a transaction is asked for the rooms that it was opened for")
    }

    fn base(&self, doc: &Doc) -> (Option<&Value>, u64) {
        let stored = self.room(&doc.room).docs.get(&doc.file);
        stored.map_or((None, 0), |stored| (stored.value.as_ref(), stored.revision))
    }

    fn seal(&mut self, entry: &Entry) -> Result<Vec<(Stored, Revision)>> {
        let mut sealed = Vec::new();
        for (doc, value) in std::mem::take(&mut self.new) {
            let (base, revision) = self.base(&doc);
            let (value, changes) = match (value, base) {
                (None, None) => continue,
                (None, Some(base)) => (None, vec![whole(Some(base.clone()), None)]),
                (Some(value), base) => {
                    let Sealed { value, changes, .. } =
                        state::seal(&doc, base, revision, value, entry, |_, value| json::render(value))?;
                    let created = base.is_none().then(|| whole(None, Some(value.clone())));
                    (Some(value), created.map_or(changes, |created| vec![created]))
                }
            };
            let revision = revision + 1;
            let names = value.as_ref().map(|value| names_of(&changes, value)).unwrap_or_default();
            let record = Revision { names, ..record(&doc, revision, changes, entry) };
            sealed.push((Stored { doc, revision, value }, record));
        }
        Ok(sealed)
    }
}

impl Transaction for MemoryTransaction<'_> {
    fn get(&mut self, doc: &Doc) -> Result<Option<&Value>> {
        let new = self.new.iter().find(|(known, _)| known == doc);
        Ok(new.map_or_else(|| self.base(doc).0, |(_, new)| new.as_ref()))
    }

    fn revision(&mut self, doc: &Doc) -> Result<u64> {
        Ok(self.base(doc).1)
    }

    fn put(&mut self, doc: &Doc, value: Value) -> Result<()> {
        self.write(doc, Some(value))
    }

    fn delete(&mut self, doc: &Doc) -> Result<()> {
        self.write(doc, None)
    }

    fn edits(&mut self, doc: &Doc) -> Result<Edits> {
        let Some(edited) = self.room(&doc.room).edited.get(&doc.file) else { return Ok(Edits::default()) };
        let value = edited.stored.value.as_ref().unwrap_or(&Value::Null);
        Ok(Edits::between(&edited.ours, value, edited.how, edited.clashes.clone()))
    }

    fn paper(&mut self, paper: &Paper) -> Result<Option<String>> {
        Ok(self.room(&paper.room()).papers.get(&paper.file()).cloned())
    }

    fn folder(&mut self, room: &Room, dir: &'static str) -> Result<Vec<String>> {
        let papers = &self.room(room).papers;
        let names = papers.keys().filter_map(|file| file.strip_prefix(dir)?.strip_prefix('/'));
        Ok(names.map(str::to_owned).collect())
    }

    fn write_paper(&mut self, paper: &Paper, text: String) -> Result<()> {
        self.texts.push((paper.clone(), Writing::Whole(text)));
        Ok(())
    }

    fn append_paper(&mut self, paper: &Paper, piece: &str) -> Result<()> {
        self.texts.push((paper.clone(), Writing::Piece(piece.to_owned())));
        Ok(())
    }

    fn remove_paper(&mut self, paper: &Paper) -> Result<()> {
        self.texts.push((paper.clone(), Writing::Gone));
        Ok(())
    }

    fn commit(mut self: Box<Self>, entry: &Entry) -> Result<Committed> {
        let sealed = self.seal(entry)?;
        let mut rooms = self.engine.shared.lock();
        let mut committed = Committed::default();
        for (stored, _) in &sealed {
            let before = self.before.get_mut(&stored.doc.room).expect("it was sealed from there");
            if let Some(edited) = before.edited.remove(&stored.doc.file) {
                let state = rooms.entry(stored.doc.room.clone()).or_default();
                committed.warnings.extend(edited.take_in(state, entry));
            }
        }
        for (paper, text) in std::mem::take(&mut self.texts) {
            let papers = &mut rooms.entry(paper.room()).or_default().papers;
            match text {
                Writing::Whole(text) => drop(papers.insert(paper.file(), text)),
                Writing::Piece(piece) => papers.entry(paper.file()).or_default().push_str(&piece),
                Writing::Gone => drop(papers.remove(&paper.file())),
            }
        }
        for (stored, record) in sealed {
            if let Some(value) = stored.value.clone() {
                committed.documents.push((stored.doc.clone(), Document { value, revision: stored.revision }));
            }
            let state = rooms.entry(stored.doc.room.clone()).or_default();
            state.docs.insert(stored.doc.file.clone(), stored);
            state.log.push(record);
        }
        drop(rooms);
        Ok(committed)
    }
}

impl Edited {
    fn changes(&self) -> Vec<Change> {
        diff::diff(&self.ours, self.stored.value.as_ref().unwrap_or(&Value::Null))
    }

    /// Records the edit, and keeps it aside if not all of it counts.
    fn take_in(self, room: &mut RoomState, entry: &Entry) -> Option<String> {
        let (doc, changes) = (&self.stored.doc, self.changes());
        let theirs = room.edits.remove(&doc.file)?;
        if !changes.is_empty() || self.how == How::Fresh {
            let restored = matches!(self.how, How::Restored { .. });
            let (by, op) = ("hand".into(), if restored { "restore" } else { "edit" }.into());
            let entry = Entry { by, op, undoes: None, ..entry.clone() };
            let (made_from, names) = (
                self.how.made_from(),
                names_of(&changes, self.stored.value.as_ref().unwrap_or(&Value::Null)),
            );
            let entry = Entry { author: None, ..entry };
            room.log.push(Revision {
                made_from,
                names,
                ..record(doc, self.stored.revision, changes, &entry)
            });
        }
        if self.clashes.is_empty() {
            return None;
        }
        let name = format!("{}.{}", doc.file, room.asides.len() + 1);
        let path = format!("memory:{name}");
        let aside = Aside { doc: doc.clone(), name, path: path.clone(), noted: false };
        room.asides.push((aside, json::render(&theirs)));
        Some(format!("an edit of `{}` could not be joined; it is kept in `{path}`", doc.file))
    }
}

impl Drop for MemoryTransaction<'_> {
    fn drop(&mut self) {
        let mut rooms = self.engine.shared.lock();
        for room in self.before.keys() {
            rooms.entry(room.clone()).or_default().busy = false;
        }
        drop(rooms);
        self.engine.shared.changed.notify_all();
    }
}

struct MemoryWatch {
    engine: MemoryEngine,
    doc: Doc,
    revision: u64,
    queue: VecDeque<Event>,
}

impl MemoryWatch {
    fn refresh(&mut self) -> Result<()> {
        let (engine, doc, seen) = (self.engine.clone(), self.doc.clone(), self.revision);
        engine.replay(&doc, &mut |record, value| {
            if record.revision > seen {
                let (at, by, op) = (Some(record.at.clone()), record.by.clone(), record.op.clone());
                let text = json::dense(value.unwrap_or(&Value::Null));
                self.revision = record.revision;
                self.queue.push_back(Event::new(record.revision, at, &by, &op, text));
            }
        })
    }
}

impl Watch for MemoryWatch {
    fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Event>> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            if self.queue.is_empty() {
                self.refresh()?;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let event = self.queue.pop_front();
            if event.is_some() || left == Some(Duration::ZERO) {
                return Ok(event);
            }
            let rooms = self.engine.shared.lock();
            let pause = left.unwrap_or(Duration::from_secs(5)).min(Duration::from_millis(20));
            drop(self.engine.shared.changed.wait_timeout(rooms, pause).expect("see `lock`"));
        }
    }
}

fn whole(before: Option<Value>, after: Option<Value>) -> Change {
    Change { path: String::new(), before, after, at: None }
}

fn apply(content: &mut Value, changes: &[Change]) {
    match changes {
        [Change { path, before: None, after: Some(after), .. }] if path.is_empty() => {
            *content = after.clone();
        }
        [Change { path, after: None, .. }] if path.is_empty() => *content = Value::Null,
        changes => diff::apply(content, changes).expect("the log of this engine is exact"),
    }
}

fn record(doc: &Doc, revision: u64, changes: Vec<Change>, entry: &Entry) -> Revision {
    Revision {
        kind: doc.kind.name.into(),
        file: doc.file.clone(),
        revision,
        at: time::stamp(entry.at),
        by: entry.by.clone(),
        op: entry.op.clone(),
        undoes: entry.undoes,
        made_from: None,
        author: entry.author.clone().filter(|author| *author != entry.by),
        changes,
        names: Names::new(),
        stored: None,
    }
}
