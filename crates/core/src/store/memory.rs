//! The reference engine: the contract in memory, with nothing to hide. Tests compare others with it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

use super::edits::{self, Edits, How, TakenIn};
use super::engine::{
    self, Aside, Called, Commit, Commits, Committed, Cursor, Document, Engine, Entry, Event, Expected,
    Finding, Glimpse, Kept, Listener, Live, Picking, Rank, Reading, Revision, Seat, Transaction, Upkeep,
    Visit, Watch, keep_in,
};
use super::error::{Error, Result};
use super::state::{self, Sealed};
use super::texts::Texts;
use crate::model::diff::{self, Change};
use crate::model::hint::Hint;
use crate::model::ids::{Key, SessionId};
use crate::model::json;
use crate::model::kind::Doc;
use crate::model::lease::{Sign, Signs};
use crate::model::listing::{Among, Marks, Most, Overview};
use crate::model::merge::Clash;
use crate::model::names::{Names, names_of};
use crate::model::raw::Raw;
use crate::model::room::Room;
use crate::model::text_file::{TextFile, TextFiles, Writing};
use crate::model::time::{self, Clock, Moment};

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
    /// All commits in their order, and the rooms that they were made in.
    course: Mutex<Vec<(Commit, Vec<Room>)>>,
    seats: Mutex<BTreeSet<(Room, String)>>,
    /// Told when a seat is free.
    left: Condvar,
}

#[derive(Debug, Default)]
struct RoomState {
    busy: bool,
    docs: BTreeMap<String, Stored>,
    text_files: BTreeMap<TextFile, String>,
    /// What people made of documents since the last commit of each, as a test lets them.
    edits: BTreeMap<String, Value>,
    asides: Vec<(Aside, Vec<u8>)>,
    log: Vec<Revision>,
    /// Signs of life, by document; the last one of an item counts.
    signs: BTreeMap<String, Vec<Sign>>,
}

#[derive(Debug, Clone)]
struct Stored {
    doc: Doc,
    revision: u64,
    /// `None` when it was deleted.
    value: Option<Value>,
    /// When it was committed.
    at: Timestamp,
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
        match room.docs.get(&doc.to_string()).is_some_and(|stored| stored.value.as_ref() == Some(&value)) {
            true => drop(room.edits.remove(&doc.to_string())),
            false => drop(room.edits.insert(doc.to_string(), value)),
        }
        drop(rooms);
        self.shared.changed.notify_all();
    }

    fn revisions(&self, docs: &[Doc]) -> Vec<u64> {
        let rooms = self.shared.lock();
        let stored = |doc: &Doc| rooms.get(&doc.room).and_then(|room| room.docs.get(&doc.to_string()));
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

    fn course(&self) -> MutexGuard<'_, Vec<(Commit, Vec<Room>)>> {
        self.course.lock().expect("see `lock`")
    }
}

impl Engine for MemoryEngine {
    fn read(&self, doc: &Doc) -> Result<Option<Document>> {
        let rooms = self.shared.lock();
        let Some(room) = rooms.get(&doc.room) else { return Ok(None) };
        let edited = room.edited(doc)?.map(|edited| edited.stored);
        let stored = edited.as_ref().or_else(|| room.docs.get(&doc.to_string()));
        Ok(stored
            .and_then(|stored| Some(Document { value: stored.value.clone()?, revision: stored.revision })))
    }

    fn begin_expecting(&self, rooms: &[&Room], _: &[Expected<'_>]) -> Result<Box<dyn Transaction + '_>> {
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
                    docs.insert(doc.to_string(), edit.stored.clone());
                    edited.insert(doc.to_string(), edit);
                }
            }
            before.insert(room, Before { docs, edited, text_files: state.text_files.clone() });
        }
        Ok(Box::new(MemoryTransaction {
            engine: self,
            before,
            new: Vec::new(),
            texts: Vec::new(),
            signs: Vec::new(),
        }))
    }

    fn replay(&self, doc: &Doc, visit: &mut dyn FnMut(&Revision, Option<&Value>)) -> Result<()> {
        let mut content = Value::Null;
        for revision in self.log(&doc.room)?.iter().filter(|revision| revision.is_of(doc)) {
            apply(&mut content, &revision.changes);
            visit(revision, (!content.is_null()).then_some(&content));
        }
        Ok(())
    }

    fn log(&self, room: &Room) -> Result<Vec<Revision>> {
        Ok(self.shared.lock().get(room).map(|room| room.log.clone()).unwrap_or_default())
    }

    fn look_back(&self, room: &Room, only: Option<&Doc>, visit: Visit<'_>) -> Result<()> {
        let wanted = |revision: &Revision| only.is_none_or(|doc| revision.is_of(doc));
        let _ = self.log(room)?.into_iter().rev().filter(wanted).all(visit);
        Ok(())
    }

    fn cursor(&self) -> Result<Cursor> {
        Ok(Cursor::new(self.shared.course().len().to_string()))
    }

    fn commits_since(&self, cursor: &Cursor, most: usize) -> Result<Commits> {
        let course = self.shared.course();
        let after = if cursor.as_str().is_empty() { Some(0) } else { cursor.as_str().parse().ok() };
        let Some(left) = after.and_then(|after: usize| course.get(after..)) else {
            let message = "it is none of this store's".into();
            return Err(Error::Invalid { subject: "cursor".into(), message });
        };
        let (told, untold) = left.split_at(most.min(left.len()));
        let cursor = Cursor::new((course.len() - untold.len()).to_string());
        let commits = told.iter().map(|(commit, _)| commit.clone()).collect();
        Ok(Commits { commits, cursor, more: !untold.is_empty(), gap: false })
    }

    fn has_committed(&self, room: &Room, token: &Key) -> Result<bool> {
        let is_it = |(commit, rooms): &(Commit, Vec<Room>)| {
            commit.token.as_deref() == Some(token.as_str()) && rooms.contains(room)
        };
        Ok(self.shared.course().iter().any(is_it))
    }

    fn watch(&self, doc: &Doc, from: Option<u64>) -> Result<Box<dyn Watch>> {
        let mut queue = VecDeque::new();
        let rooms = self.shared.lock();
        let stored = rooms.get(&doc.room).and_then(|room| room.docs.get(&doc.to_string()));
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

    fn seat(&self, room: &Room, name: &str, patience: Duration) -> Result<Option<Box<dyn Seat>>> {
        let seat = (room.clone(), name.to_owned());
        let is_taken = |seats: &mut BTreeSet<_>| seats.contains(&seat);
        let seats = self.shared.seats.lock().expect("see `lock`");
        let (mut seats, waited) =
            self.shared.left.wait_timeout_while(seats, patience, is_taken).expect("see `lock`");
        if waited.timed_out() {
            return Ok(None);
        }
        seats.insert(seat.clone());
        Ok(Some(Box::new(TakenSeat { shared: Arc::clone(&self.shared), seat })))
    }
}

struct TakenSeat {
    shared: Arc<Shared>,
    seat: (Room, String),
}

impl Seat for TakenSeat {
    fn for_child(&self) -> Stdio {
        Stdio::null()
    }
}

impl Drop for TakenSeat {
    fn drop(&mut self) {
        self.shared.seats.lock().expect("see `lock`").remove(&self.seat);
        self.shared.left.notify_all();
    }
}

impl Reading for MemoryEngine {
    fn browse(&self, _: &Room) -> Result<Option<Box<dyn Transaction + '_>>> {
        Ok(None)
    }

    fn overview(&self, _: &Doc, _: Most) -> Result<Option<Overview>> {
        Ok(None)
    }

    fn each_item(&self, _: &Doc, _: &mut dyn FnMut(&Raw)) -> Result<bool> {
        Ok(false)
    }

    fn read_some(&self, doc: &Doc, wanted: &mut dyn FnMut(&Raw) -> bool) -> Result<Option<Document>> {
        let Some(mut document) = self.read(doc)? else { return Ok(None) };
        keep_in(doc.kind, &mut document.value, wanted);
        Ok(Some(document))
    }

    fn glimpse(&self, _: &Doc) -> Result<Option<Glimpse>> {
        Ok(None)
    }

    fn is_absent(&self, doc: &Doc) -> bool {
        matches!(self.read(doc), Ok(None))
    }

    fn lacks(&self, doc: &Doc, text: &str) -> bool {
        self.text(doc)
            .is_ok_and(|found| !found.is_some_and(|found| String::from_utf8_lossy(&found).contains(text)))
    }

    fn written_at(&self, doc: &Doc) -> Option<Timestamp> {
        let rooms = self.shared.lock();
        let stored = rooms.get(&doc.room)?.docs.get(&doc.to_string())?;
        stored.value.is_some().then_some(stored.at)
    }

    fn signs(&self, doc: &Doc) -> Result<Signs> {
        let rooms = self.shared.lock();
        let given = rooms.get(&doc.room).and_then(|room| room.signs.get(&doc.to_string()));
        Ok(given.into_iter().flatten().cloned().collect())
    }

    fn live(&self) -> Result<Live> {
        let rooms = self.rooms()?;
        let any = rooms.iter().any(|room| matches!(room, Room::Session(_)));
        let ids: BTreeSet<_> = rooms.iter().filter_map(Room::session).cloned().collect();
        Ok(Live { ids: ids.into_iter().collect(), any })
    }
}

impl Upkeep for MemoryEngine {
    fn check(&self, _: &Room, _: bool) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }

    fn notes(&self, _: &Room) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn lost(&self, _: &Room) -> Result<Vec<Doc>> {
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

    fn note_aside(&self, aside: &Aside) -> Result<()> {
        let mut rooms = self.shared.lock();
        let mut kept = rooms.get_mut(&aside.doc.room).into_iter().flat_map(|room| &mut room.asides);
        if let Some((known, _)) = kept.find(|(known, _)| known.name == aside.name) {
            known.noted = true;
        }
        Ok(())
    }

    fn take_aged(&self, _: Timestamp, _: usize) -> Result<Vec<SessionId>> {
        Ok(Vec::new())
    }

    fn remove_room(&self, _: &Room) -> Result<bool> {
        Ok(false)
    }

    fn remove_remains(&self) -> Result<()> {
        Ok(())
    }

    fn text(&self, doc: &Doc) -> Result<Option<Vec<u8>>> {
        Ok(self.read(doc)?.map(|document| json::render(&document.value)))
    }

    fn place(&self, doc: &Doc) -> String {
        format!("memory:{}/{doc}", doc.room)
    }

    fn called(&self, kept: Kept<'_>) -> Called {
        let (room, name) = match kept {
            Kept::Document(doc) => (doc.room.clone(), doc.to_string()),
            Kept::TextFile(text_file) => (text_file.room(), format!("{text_file:?}")),
        };
        Called { path: format!("{room}/{name}"), name }
    }
}

struct MemoryTransaction<'e> {
    engine: &'e MemoryEngine,
    before: BTreeMap<Room, Before>,
    /// New contents in the order of the first write.
    new: Vec<(Doc, Option<Value>)>,
    /// What is done to texts.
    texts: Vec<(TextFile, Writing)>,
    /// Signs of life.
    signs: Vec<(Doc, Sign)>,
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
        let (Some(theirs), Some(stored)) =
            (self.edits.get(&doc.to_string()), self.docs.get(&doc.to_string()))
        else {
            return Ok(None);
        };
        let Some(ours) = stored.value.clone() else { return Ok(None) };
        let mut past = |visit: &mut dyn FnMut(u64, &Value)| {
            let mut content = Value::Null;
            for record in self.log.iter().filter(|record| record.is_of(doc)) {
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
        let stored = Stored { doc: doc.clone(), revision, value: Some(value), at: stored.at };
        Ok(Some(Edited { stored, ours, how, clashes }))
    }
}

/// A room before this transaction.
#[derive(Debug)]
struct Before {
    docs: BTreeMap<String, Stored>,
    edited: BTreeMap<String, Edited>,
    text_files: BTreeMap<TextFile, String>,
}

impl MemoryTransaction<'_> {
    fn write(&mut self, doc: &Doc, value: Option<Value>) -> Result<()> {
        if let Some(base) = self.base(doc).0 {
            state::check_writable(doc, base).map_err(|unfit| unfit.of(doc.to_string()))?;
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
        let stored = self.room(&doc.room).docs.get(&doc.to_string());
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
                        state::seal(&doc, base, revision, value, entry, |_, value| json::render(value))
                            .map_err(|unfit| unfit.of(doc.to_string()))?;
                    let created = base.is_none().then(|| whole(None, Some(value.clone())));
                    (Some(value), created.map_or(changes, |created| vec![created]))
                }
            };
            let revision = revision + 1;
            let names = value.as_ref().map(|value| names_of(&changes, value)).unwrap_or_default();
            let record = Revision { names, ..record(&doc, revision, changes, entry) };
            sealed.push((Stored { doc, revision, value, at: entry.at }, record));
        }
        Ok(sealed)
    }
}

impl Transaction for MemoryTransaction<'_> {
    fn get(&mut self, doc: &Doc) -> Result<Option<&Value>> {
        let new = self.new.iter().find(|(known, _)| known == doc);
        Ok(new.map_or_else(|| self.base(doc).0, |(_, new)| new.as_ref()))
    }

    fn exists(&mut self, doc: &Doc) -> Result<bool> {
        Ok(self.get(doc)?.is_some())
    }

    fn documents(&mut self, room: &Room) -> Result<Vec<Doc>> {
        let stored = self.room(room).docs.values().filter(|stored| stored.value.is_some());
        let mut documents: Vec<_> = stored.map(|stored| stored.doc.clone()).collect();
        for (doc, new) in self.new.iter().filter(|(doc, _)| doc.room == *room) {
            documents.retain(|known| known != doc);
            documents.extend(new.is_some().then(|| doc.clone()));
        }
        documents.sort_by_key(Doc::to_string);
        Ok(documents)
    }

    fn now(&mut self, here: &dyn Clock) -> Result<Moment> {
        Ok(here.moment())
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
        let Some(edited) = self.room(&doc.room).edited.get(&doc.to_string()) else {
            return Ok(Edits::default());
        };
        let value = edited.stored.value.as_ref().unwrap_or(&Value::Null);
        Ok(Edits::between(&edited.ours, value, edited.how, edited.clashes.clone()))
    }

    fn text_file(&mut self, text_file: &TextFile) -> Result<Option<String>> {
        Ok(self.room(&text_file.room()).text_files.get(text_file).cloned())
    }

    fn text_files(&mut self, room: &Room, sort: TextFiles) -> Result<Vec<TextFile>> {
        Ok(self.room(room).text_files.keys().filter(|text_file| sort.have(text_file)).cloned().collect())
    }

    fn text_files_changed(&mut self, _: &Room, _: TextFiles) -> Result<bool> {
        Ok(false)
    }

    fn write_text_file(&mut self, text_file: &TextFile, text: String) -> Result<()> {
        self.texts.push((text_file.clone(), Writing::Whole(text)));
        Ok(())
    }

    fn append_text_file(&mut self, text_file: &TextFile, piece: &str) -> Result<()> {
        self.texts.push((text_file.clone(), Writing::Piece(piece.to_owned())));
        Ok(())
    }

    fn remove_text_file(&mut self, text_file: &TextFile) -> Result<()> {
        self.texts.push((text_file.clone(), Writing::Gone));
        Ok(())
    }

    fn sign(&mut self, doc: &Doc, sign: Sign, _: &Moment) -> Result<bool> {
        self.signs.push((doc.clone(), sign));
        Ok(true)
    }

    fn signs(&mut self, doc: &Doc) -> Result<Signs> {
        let rooms = self.engine.shared.lock();
        let given = rooms.get(&doc.room).and_then(|room| room.signs.get(&doc.to_string()));
        let own = self.signs.iter().filter(|(of, _)| of == doc).map(|(_, sign)| sign);
        Ok(given.into_iter().flatten().chain(own).cloned().collect())
    }

    fn commit(mut self: Box<Self>, entry: &Entry) -> Result<Committed> {
        let sealed = self.seal(entry)?;
        let mut rooms = self.engine.shared.lock();
        for (doc, sign) in std::mem::take(&mut self.signs) {
            let given = rooms.entry(doc.room.clone()).or_default().signs.entry(doc.to_string()).or_default();
            given.retain(|known| known.id != sign.id);
            given.push(sign);
        }
        let mut course = self.engine.shared.course();
        let mut committed = Committed::default();
        for (stored, _) in &sealed {
            let before = self.before.get_mut(&stored.doc.room).expect("it was sealed from there");
            if let Some(edited) = before.edited.remove(&stored.doc.to_string()) {
                let state = rooms.entry(stored.doc.room.clone()).or_default();
                let known = state.log.len();
                committed.warnings.extend(edited.take_in(state, entry).map(Hint::from));
                for record in &state.log[known..] {
                    let revisions = vec![(stored.doc.room.clone(), record.clone())];
                    let (by, op, author) = (record.by.clone(), record.op.clone(), record.author.clone());
                    let entry = Entry { by, op, author, token: None, ..entry.clone() };
                    let commit = commit(course.len(), revisions, &entry);
                    course.push((commit, vec![stored.doc.room.clone()]));
                }
            }
        }
        let mut touched: Vec<Room> = Vec::new();
        for (text_file, text) in std::mem::take(&mut self.texts) {
            touched.push(text_file.room());
            let text_files = &mut rooms.entry(text_file.room()).or_default().text_files;
            match text {
                Writing::Whole(text) => drop(text_files.insert(text_file, text)),
                Writing::Piece(piece) => text_files.entry(text_file).or_default().push_str(&piece),
                Writing::Gone => drop(text_files.remove(&text_file)),
            }
        }
        let mut told = Vec::new();
        for (stored, record) in sealed {
            told.push((stored.doc.room.clone(), record.clone()));
            if let Some(value) = stored.value.clone() {
                committed.documents.push((stored.doc.clone(), Document { value, revision: stored.revision }));
            }
            let state = rooms.entry(stored.doc.room.clone()).or_default();
            state.docs.insert(stored.doc.to_string(), stored);
            state.log.push(record);
        }
        touched.extend(told.iter().map(|(room, _)| room.clone()));
        if !touched.is_empty() {
            let commit = commit(course.len(), told, entry);
            course.push((commit, touched));
        }
        drop(course);
        drop(rooms);
        Ok(committed)
    }
}

impl MemoryTransaction<'_> {
    /// Changes the whole document, as the plainest way to change its items.
    fn amend(&mut self, doc: &Doc, change: impl FnOnce(&mut Value) -> Result<()>) -> Result<()> {
        let mut value = self.get(doc)?.cloned().unwrap_or_default();
        change(&mut value)?;
        self.put(doc, value)
    }
}

impl Picking for MemoryTransaction<'_> {
    fn item(&mut self, doc: &Doc, id: &str) -> Result<Option<Value>> {
        Ok(self.get(doc)?.and_then(|value| engine::item_in(doc, value, id)).cloned())
    }

    fn item_at(&mut self, doc: &Doc, position: usize) -> Result<Option<Value>> {
        let items = self.get(doc)?.map(|value| engine::items(doc.kind, value)).unwrap_or_default();
        Ok(items.get(position).map(|item| (*item).clone()))
    }

    fn put_item(&mut self, doc: &Doc, id: &str, item: Value) -> Result<()> {
        self.amend(doc, |value| {
            engine::put_in(doc, value, id, item).map_err(|unfit| unfit.of(doc.to_string()))
        })
    }

    fn remove_items(&mut self, doc: &Doc, ids: &[&str]) -> Result<()> {
        if self.get(doc)?.is_none() {
            return Ok(());
        }
        self.amend(doc, |value| {
            engine::remove_in(doc, value, ids);
            Ok(())
        })
    }

    fn extend(&mut self, doc: &Doc, items: Texts) -> Result<()> {
        self.amend(doc, |value| {
            engine::extend_in(doc, value, &items).map_err(|unfit| unfit.of(doc.to_string()))
        })
    }

    fn taken(&mut self, _: &Doc, _: &[&str]) -> Result<Option<Vec<bool>>> {
        Ok(None)
    }

    fn find(&mut self, doc: &Doc, among: Among<'_>) -> Result<Vec<Value>> {
        Ok(self.get(doc)?.map(|value| engine::find_in(doc, value, among)).unwrap_or_default())
    }

    fn best(&mut self, doc: &Doc, after: Option<Rank>, without: &Marks) -> Result<Option<(Rank, Value)>> {
        Ok(self.get(doc)?.and_then(|value| engine::best_in(doc, value, after, without)))
    }

    fn may_be_due(&mut self, _: &Doc, _: &Moment) -> Result<bool> {
        Ok(true)
    }

    fn due(&mut self, doc: &Doc, _: &Moment) -> Result<Vec<Value>> {
        self.find(doc, Among::Active)
    }

    fn may_be_occupied(&mut self, _: &Doc, _: &[u64]) -> Result<bool> {
        Ok(true)
    }

    fn frame(&mut self, doc: &Doc) -> Result<Option<Value>> {
        Ok(self.get(doc)?.map(|value| engine::frame_of(doc, value)))
    }

    fn counts(&mut self, doc: &Doc) -> Result<Vec<usize>> {
        Ok(engine::counts_in(doc, self.get(doc)?))
    }
}

impl Edited {
    fn changes(&self) -> Vec<Change> {
        diff::diff(&self.ours, self.stored.value.as_ref().unwrap_or(&Value::Null))
    }

    /// Records the edit, and keeps it aside if not all of it counts.
    fn take_in(self, room: &mut RoomState, entry: &Entry) -> Option<String> {
        let (doc, changes) = (&self.stored.doc, self.changes());
        let theirs = room.edits.remove(&doc.to_string())?;
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
        let name = format!("{}.{}", doc.to_string().replace('/', "-"), room.asides.len() + 1);
        let path = format!("memory:{name}");
        let aside =
            Aside { doc: doc.clone(), called: doc.to_string(), name, path: path.clone(), noted: false };
        room.asides.push((aside, json::render(&theirs)));
        Some(format!("an edit of `{}` could not be joined; it is kept in `{path}`", doc))
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

/// Makes the commit that comes after so many.
fn commit(before: usize, revisions: Vec<(Room, Revision)>, entry: &Entry) -> Commit {
    Commit {
        id: format!("memory/{}", before + 1),
        at: time::stamp(entry.at),
        by: entry.by.clone(),
        author: entry.author.clone().filter(|author| *author != entry.by),
        op: entry.op.clone(),
        token: entry.token.as_ref().map(ToString::to_string),
        revisions,
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
        key: doc.key.clone(),
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
