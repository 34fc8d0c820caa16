//! The file engine: human-readable JSON files that cannot be lost or torn.
//!
//! The files are the truth that people read and may edit; the room's `journal` makes commits atomic and
//! durable. One commit is followed in `transaction`, what a crash leaves in `recover`. Readers take no
//! lock and never write. `docs/design/store.md` has the reasons and what was refused.

pub mod addresses;
pub mod check;
mod course;
mod edits;
pub mod events;
pub mod fs;
mod journal;
#[cfg(target_os = "linux")]
mod kernel;
pub(crate) mod list;
#[cfg(target_os = "linux")]
mod mounted;
pub mod moved;
pub mod news;
pub mod owners;
mod papers;
mod part;
mod past;
mod place;
pub mod real_fs;
mod recover;
mod removal;
mod roster;
mod rotate;
mod transaction;
mod watch;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use self::addresses::{DocFiles, KindFiles, PaperFiles, RoomFiles};
use self::fs::{Fs, Lock, LockMode};
use self::journal::{SNAPSHOT, Segment, Sum};
use self::list::{List, Opened};
use self::part::{Part, effective_revision};
use self::place::{Head, HeadDoc, Place};
use self::recover::{Glance, View};
use self::transaction::FileTransaction;
use super::engine::{
    Aside, Called, Commits, Cursor, Document, Engine, Expected, Finding, Glimpse, Kept, Listener, Live,
    Reading, Revision, Seat, Transaction, Upkeep, Visit, Watch, keep_in,
};
use super::error::{Error, Result, forbids_writing};
use super::state;
use crate::model::documents::common::Stamps;
use crate::model::documents::state::{Config, JournalSettings};
use crate::model::ids::{Key, SessionId};
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::{Doc, Items, KINDS, Kind};
use crate::model::listing::{Excerpt, Most};
use crate::model::raw::{self, Raw};
use crate::model::room::{Room, Root};

/// Settings of the file engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long to wait for a lock.
    pub patience: Duration,
    pub allow_network_fs: bool,
    /// A journal longer than this starts a new segment.
    pub segment_bytes: u64,
    /// How many older segments stay for `history`.
    pub kept_segments: usize,
    /// The content of a list that is at least this long is kept beside the journal instead of in it.
    pub long_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            patience: Duration::from_secs(10),
            allow_network_fs: false,
            segment_bytes: 1 << 20,
            kept_segments: 16,
            long_bytes: 64 << 10,
        }
    }
}

/// How long a look waits for writers before it reads the whole document instead.
const BROWSE: Duration = Duration::from_millis(50);

/// Documents in files below two roots.
#[derive(Debug, Clone)]
pub struct FileEngine {
    home: Arc<dyn Fs>,
    project: Arc<dyn Fs>,
    options: Options,
    /// Whether each root was found to be local, by [`Root`].
    local: Arc<[OnceLock<()>; 2]>,
    /// Rooms in which nothing that is not there can be a lost write.
    settled: Arc<Mutex<BTreeSet<Room>>>,
}

impl FileEngine {
    pub fn new(home: Arc<dyn Fs>, project: Arc<dyn Fs>, options: Options) -> FileEngine {
        FileEngine { home, project, options, local: Arc::default(), settled: Arc::default() }
    }

    fn fs(&self, root: Root) -> &dyn Fs {
        match root {
            Root::Home => &*self.home,
            Root::Project => &*self.project,
        }
    }

    /// Returns how many older segments stay: what the configuration says, else the default. It is asked
    /// only when a segment is put aside.
    fn kept_segments(&self) -> usize {
        let told = |config: &Document| {
            usize::try_from(config.value.at(Config::journal).read(JournalSettings::kept_segments)?).ok()
        };
        match self.read(&Doc::config()) {
            Ok(config) => config.as_ref().and_then(told).unwrap_or(self.options.kept_segments),
            // What cannot be read now may say that all of them stay.
            Err(_) => usize::MAX,
        }
    }

    /// Returns the text of a document with a list, the list's field, and the revision, if its file is what our last commit
    /// left: then it is known to be good.
    fn known_text(&self, doc: &Doc) -> Result<Option<(Vec<u8>, &'static str, u64)>> {
        let Items::Field(field) = doc.kind.items else { return Ok(None) };
        let place = self.open(&doc.room)?;
        let View::Clean(head) = recover::look_as_reader(&place)? else { return Ok(None) };
        let Some(HeadDoc { revision, sum: Some(sum) }) = head.docs.get(&*doc.file()).copied() else {
            return Ok(None);
        };
        let bytes =
            place.read_doc(&doc.file(), doc.kind.limit)?.filter(|bytes| place::sum(doc, bytes) == sum);
        Ok(bytes.map(|bytes| (bytes, field, revision)))
    }

    fn place_of(&self, room: &Room) -> Place<'_> {
        let Options { patience, long_bytes: long, .. } = self.options;
        Place {
            engine: self,
            fs: self.fs(room.root()),
            room: room.clone(),
            patience,
            long,
            writes: false,
            open: RefCell::default(),
        }
    }

    /// Returns the room's place, after making sure that its locks can be trusted.
    fn open(&self, room: &Room) -> Result<Place<'_>> {
        let root = room.root();
        let place = self.place_of(room);
        if self.options.allow_network_fs || self.local[root as usize].get().is_some() {
            return Ok(place);
        }
        let found = place.fs.network_fs().map_err(|error| place.failed("look at", "", error))?;
        if let Some(name) = found {
            return Err(Error::NetworkFs { path: place.fs.display(""), name });
        }
        let _ = self.local[root as usize].set(());
        Ok(place)
    }

    /// Returns whether a room has documents, a history, or what somebody left who was about to begin one; a lock that
    /// somebody once took is nothing.
    fn holds_something(&self, room: &Room) -> bool {
        let place = self.place_of(room);
        let there = |path: &str| !matches!(place.fs.size(path), Ok(None));
        let left =
            || place.fs.entries(&room.hidden()).map_or(true, |names| names.iter().any(|name| name != "lock"));
        there(&place.journal())
            || left()
            || self.documents(room).map_or(true, |documents| !documents.is_empty())
    }

    /// Whether the journal may know a document that is not there. Where somebody may have removed it, only power that was lost tells that: whether the room
    /// is in another life is asked once, as a process does not outlive it.
    fn may_lack(&self, doc: &Doc) -> bool {
        let place = self.place_of(&doc.room);
        if !place.fs.may_exist(&place.journal()) {
            return false;
        }
        if !doc.kind.gone.is_allowed() {
            return true;
        }
        if self.settled().contains(&doc.room) {
            return false;
        }
        let is_settled = matches!(recover::glance(&place), Ok(Glance::Fresh | Glance::Clean(_)));
        if is_settled {
            self.settled().insert(doc.room.clone());
        }
        !is_settled
    }

    fn settled(&self) -> MutexGuard<'_, BTreeSet<Room>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock and finishes what a crash left.
    fn enter(&self, place: &Place<'_>) -> Result<(Box<dyn fs::Lock>, Head)> {
        let lock = place.lock()?;
        let head = match recover::look(place)? {
            View::Fresh => Head { life: place.life()?, ..Head::default() },
            View::Clean(head) => head,
            View::Unfinished(plan) => recover::finish(place, &plan)?,
        };
        self.settled().insert(place.room.clone());
        Ok((lock, head))
    }

    /// Takes the lock for a look, if that is free within a moment and nothing is left to do. Who only looks leaves it
    /// to others to make directories and locks, and to finish what a crash left.
    fn peep(&self, room: &Room) -> Result<Option<Peeped<'_>>> {
        let place = Place { patience: BROWSE, ..self.open(room)? };
        if !place.fs.may_exist(&room.lock()) {
            return Ok(None);
        }
        let lock = |mode| place.fs.lock(&room.lock(), mode, BROWSE);
        let locked = match lock(LockMode::Exclusive) {
            // Where we cannot write, keeping writers out is enough.
            Err(error) if forbids_writing(&error) => lock(LockMode::Shared),
            other => other,
        };
        let Ok(lock) = locked else { return Ok(None) };
        match recover::look(&place)? {
            View::Clean(head) => Ok(Some((place, head, lock))),
            View::Fresh | View::Unfinished(_) => Ok(None),
        }
    }
}

/// The lock of a room that nobody has written to yet. If nobody does, as when a command names a session that does not exist,
/// it leaves no file behind: who waits for a lock looks whether its file is still there.
#[derive(Debug)]
struct PassingLock {
    lock: Box<dyn Lock>,
    fs: Arc<dyn Fs>,
    room: Room,
}

impl Lock for PassingLock {
    fn share(&self) -> Option<OwnedFd> {
        self.lock.share()
    }
}

impl Drop for PassingLock {
    fn drop(&mut self) {
        if matches!(self.fs.size(&format!("{}/journal.jsonl", self.room.hidden())), Ok(None)) {
            // A file that stays does no harm.
            let _ = self.fs.remove(&self.room.lock());
        }
    }
}

/// A room that somebody looks into, while nobody changes it.
type Peeped<'e> = (Place<'e>, Head, Box<dyn Lock>);

/// A document as a reader found it.
struct Seen {
    /// `None` if there is no such document.
    value: Option<Value>,
    /// Counts an edit by hand, also one that deleted the file.
    revision: u64,
    sum: Option<Sum>,
    /// What the last commit left, if the file is something else.
    edited: Option<HeadDoc>,
}

/// Reads a document as of one moment. A file that the head does not know was edited by hand, unless a
/// commit came between the two looks: then it is time to look again.
fn see(place: &Place<'_>, doc: &Doc) -> Result<Seen> {
    let mut view = recover::look_as_reader(place)?;
    loop {
        let seen = read_document(place, doc, &view);
        let in_doubt = match &seen {
            Ok(seen) => seen.edited.is_some(),
            Err(error) => matches!(error, Error::Gone { .. }),
        };
        if !in_doubt {
            return seen;
        }
        let again = recover::look_as_reader(place)?;
        if again.seq() == view.seq() {
            return join(place, doc, &view, seen?);
        }
        view = again;
    }
}

fn read_document(place: &Place<'_>, doc: &Doc, view: &View) -> Result<Seen> {
    let planned;
    let head = match view {
        View::Fresh => None,
        View::Clean(head) => Some(head),
        View::Unfinished(plan) => {
            if let Some(known) = plan.pending(&doc.file()) {
                let (revision, sum) = (known.revision, known.sum);
                let value = sum.map(|_| known.content.clone());
                return Ok(Seen { value, revision, sum, edited: None });
            }
            planned = plan.head();
            Some(&planned)
        }
    };
    let mut known = head.and_then(|head| head.docs.get(&*doc.file()));
    let mut opened = place.open_doc(doc)?;
    if let (None, Some(head)) = (&opened, head)
        && place.missed(doc, head)?
    {
        opened = place.open_doc(doc)?;
    }
    if opened.is_none() {
        known = head.and_then(|head| head.gone(doc));
    }
    let (value, sum) = opened.map(|opened| (opened.value, opened.sum)).unzip();
    let revision = effective_revision(known, sum, value.as_ref());
    let nothing = HeadDoc { revision: 0, sum: None };
    let edited = Some(*known.unwrap_or(&nothing)).filter(|known| known.sum != sum);
    Ok(Seen { value, revision, sum, edited })
}

/// Lets an edit count for what it is: one that was made from an older state is joined with what came after that.
fn join(place: &Place<'_>, doc: &Doc, view: &View, mut seen: Seen) -> Result<Seen> {
    if let (Some(known), Some(theirs)) = (seen.edited, seen.value.take()) {
        let ours = || edits::committed(place, doc, view.seq());
        let (value, revision) = edits::shown(place, doc, theirs, &known, ours)?;
        (seen.value, seen.revision) = (Some(value), revision);
    }
    let Seen { value, revision, .. } = &mut seen;
    if let Some(value) = value.as_mut().filter(|value| *revision != state::revision_in(value)) {
        show_revision(doc, value, *revision);
    }
    Ok(seen)
}

/// Shows the revision that an edited document counts as, so that `--expect-revision` can rely on it.
fn show_revision(doc: &Doc, value: &mut Value, revision: u64) {
    if let (false, Some(document)) = (doc.kind.items == Items::Document, value.as_object_mut()) {
        document.set(Stamps::revision, revision);
    }
}

/// Calls `visit` with every line of every kept segment, oldest first, each once; with what they say of `only` this document,
/// if one is named.
///
/// No lock is held. The current segment is read first, so that one that is put aside meanwhile shows up
/// twice instead of not at all; the numbers of the lines then tell what was there already.
fn each_line(place: &Place<'_>, only: Option<&Doc>, visit: &mut dyn FnMut(&journal::Line)) -> Result<()> {
    let read = |bytes: &[u8]| match only {
        Some(doc) => place.segment_of(bytes, doc),
        None => place.segment(bytes),
    };
    let mut current = read(&current_segment(place)?);
    if recover::in_doubt(&current, place.read_head()?.as_ref()).is_some() {
        current.drop_last();
    }
    let mut seen = 0;
    let mut visit_new = |segment: Segment| {
        for line in segment.lines {
            if line.seq > seen || (line.seq == seen && line.op == SNAPSHOT) {
                seen = line.seq;
                visit(&line);
            }
        }
    };
    for path in rotate::old_segments(place)? {
        visit_new(read(&place.read(&path)?.unwrap_or_default()));
    }
    visit_new(current);
    Ok(())
}

/// Returns the bytes of the current segment, which has no name for a moment while it is put aside.
fn current_segment(place: &Place<'_>) -> Result<Vec<u8>> {
    for path in [place.journal(), place.next_journal(), place.journal()] {
        if let Some(bytes) = place.read(&path)? {
            return Ok(bytes);
        }
    }
    Ok(Vec::new())
}

struct TakenSeat(Box<dyn Lock>);

impl Seat for TakenSeat {
    fn for_child(&self) -> Stdio {
        self.0.share().map_or_else(Stdio::null, Stdio::from)
    }
}

impl Engine for FileEngine {
    fn read(&self, doc: &Doc) -> Result<Option<Document>> {
        let place = self.open(&doc.room)?;
        let Seen { value, revision, .. } = see(&place, doc)?;
        Ok(value.map(|value| Document { value, revision }))
    }

    /// Everything is near: nothing has to be fetched beforehand.
    fn begin_expecting(&self, rooms: &[&Room], _: &[Expected<'_>]) -> Result<Box<dyn Transaction + '_>> {
        // In one order for all, so that nobody waits for each other.
        let mut rooms = rooms.to_vec();
        rooms.sort();
        rooms.dedup();
        let enter = |room: &Room| {
            let place = Place { writes: true, ..self.open(room)? };
            let (mut lock, head) = self.enter(&place)?;
            let is_passing =
                matches!(room, Room::Archive | Room::Session(_) | Room::Mailbox(_) | Room::Project(_));
            if head.seq == 0 && is_passing {
                lock = Box::new(PassingLock { lock, fs: Arc::clone(&self.home), room: room.clone() });
            }
            Ok(Part::new(place, head, lock))
        };
        let parts = rooms.into_iter().map(enter).collect::<Result<_>>()?;
        Ok(Box::new(FileTransaction::new(parts)))
    }

    fn replay(&self, doc: &Doc, visit: &mut dyn FnMut(&Revision, Option<&Value>)) -> Result<()> {
        let place = self.open(&doc.room)?;
        let mut replay = journal::Replay::default();
        each_line(&place, Some(doc), &mut |line| {
            let entry = line.docs.iter().find(|entry| entry.file == doc.file() && line.op != SNAPSHOT);
            let revision = entry.map(|entry| line.revision(entry, replay.content(&entry.file)));
            replay.apply(line);
            if let Some(revision) = revision {
                visit(&revision, replay.content(&doc.file()));
            }
        })
    }

    fn log(&self, room: &Room) -> Result<Vec<Revision>> {
        let place = self.open(room)?;
        let (mut revisions, mut replay) = (Vec::new(), journal::Replay::default());
        each_line(&place, None, &mut |line| {
            if line.op != SNAPSHOT {
                let revision = |entry| line.revision(entry, replay.content(&entry.file));
                revisions.extend(line.docs.iter().map(revision));
            }
            replay.apply(line);
        })?;
        Ok(revisions)
    }

    fn look_back(&self, room: &Room, only: Option<&Doc>, visit: Visit<'_>) -> Result<()> {
        past::look_back(&self.open(room)?, only, visit)
    }

    fn cursor(&self) -> Result<Cursor> {
        course::end(self)
    }

    fn commits_since(&self, cursor: &Cursor, most: usize) -> Result<Commits> {
        course::since(self, cursor, most)
    }

    fn has_committed(&self, room: &Room, token: &Key) -> Result<bool> {
        past::has_token(&self.open(room)?, token.as_str())
    }

    fn watch(&self, doc: &Doc, from: Option<u64>) -> Result<Box<dyn Watch>> {
        Ok(Box::new(watch::FileWatch::start(self.clone(), doc.clone(), from)?))
    }

    fn listen(&self, docs: &[Doc]) -> Result<Box<dyn Listener>> {
        Ok(Box::new(watch::FileListener::start(self.clone(), docs.to_vec())?))
    }

    fn seat(&self, room: &Room, name: &str, patience: Duration) -> Result<Option<Box<dyn Seat>>> {
        let lock = self.open(room)?.lock_file(&room.seat(name), patience)?;
        Ok(lock.map(|lock| Box::new(TakenSeat(lock)) as Box<dyn Seat>))
    }

    fn rooms(&self) -> Result<Vec<Room>> {
        let mut rooms = vec![Room::Shared, Room::Archive];
        // Clients keep files of their own in here, beside our sessions.
        let ids = |dir: &str| {
            self.home.folders(dir).map_err(|source| Error::Io {
                action: "list",
                path: self.home.display(dir),
                indeterminate: false,
                source,
            })
        };
        rooms.extend(
            ids("orchestration/projects")?.iter().filter_map(|id| id.parse().ok().map(Room::Project)),
        );
        rooms.extend(ids("sessions")?.iter().filter_map(|id| id.parse().ok().map(Room::Session)));
        rooms.extend(
            ids("orchestration/messages")?.iter().filter_map(|id| id.parse().ok().map(Room::Mailbox)),
        );
        rooms.extend(Room::OF_PROJECT);
        rooms.retain(|room| self.holds_something(room));
        Ok(rooms)
    }

    fn documents(&self, room: &Room) -> Result<Vec<Doc>> {
        let place = self.open(room)?;
        let mut documents = Vec::new();
        for kind in KINDS.iter().filter(|kind| kind.is_of(room)) {
            let files = match kind.file().split_once("{key}") {
                Some(_) => {
                    let dir = place.doc(place::parent(kind.file()));
                    place.fs.entries(&dir).map_err(|error| place.failed("list", &dir, error))?
                }
                None => vec![kind.file().into()],
            };
            documents.extend(files.iter().filter_map(|name| document_at(&place, kind, name)));
        }
        documents.sort_by(|one, other| one.file().cmp(&other.file()));
        Ok(documents)
    }
}

impl Reading for FileEngine {
    fn browse(&self, room: &Room) -> Result<Option<Box<dyn Transaction + '_>>> {
        let Some((place, head, lock)) = self.peep(room)? else { return Ok(None) };
        Ok(Some(Box::new(FileTransaction::new(vec![Part::new(place, head, lock)]))))
    }

    fn excerpt(&self, doc: &Doc, most: Most) -> Result<Option<Excerpt>> {
        let Some((place, head, _lock)) = self.peep(&doc.room)? else { return Ok(None) };
        Ok(List::open(&place, doc, &head, Opened::ToChange)?.and_then(|mut list| list.excerpt(most).ok()))
    }

    /// No lock is held: a file with the head's checksum is the state that the head tells of, whatever comes after it.
    fn each_item(&self, doc: &Doc, visit: &mut dyn FnMut(&Raw)) -> Result<bool> {
        let place = self.open(&doc.room)?;
        let View::Clean(head) = recover::look_as_reader(&place)? else { return Ok(false) };
        let known = head.docs.get(&*doc.file()).and_then(|known| known.sum);
        let (Some(field), Some(known)) = (list::field_of(doc), known) else { return Ok(false) };
        let Some(bytes) = place.read_doc(&doc.file(), doc.kind.limit)? else { return Ok(false) };
        Ok(list::layout::visit(&bytes, field, visit) == Some(known))
    }

    fn read_some(&self, doc: &Doc, wanted: &mut dyn FnMut(&Raw) -> bool) -> Result<Option<Document>> {
        if let Some((bytes, field, revision)) = self.known_text(doc)?
            && let Some(value) = raw::sift(&bytes, field, wanted)
        {
            return Ok(Some(Document { value, revision }));
        }
        let Some(mut document) = self.read(doc)? else { return Ok(None) };
        keep_in(doc.kind, &mut document.value, wanted);
        Ok(Some(document))
    }

    fn glimpse(&self, doc: &Doc) -> Result<Option<Glimpse>> {
        let Some((bytes, field, revision)) = self.known_text(doc)? else { return Ok(None) };
        let size = bytes.len();
        Ok(raw::before(&bytes, field).map(|value| Glimpse { value, revision, size }))
    }

    fn is_absent(&self, doc: &Doc) -> bool {
        // What the history may know must be looked at: without its file it is damaged, or lost.
        !self.fs(doc.room.root()).may_exist(&doc.path()) && !self.may_lack(doc)
    }

    fn lacks(&self, doc: &Doc, text: &str) -> bool {
        let look = || {
            let place = self.open(&doc.room)?;
            let bytes = place.read_doc(&doc.file(), doc.kind.limit)?.unwrap_or_default();
            let lacks = !std::str::from_utf8(&bytes).is_ok_and(|bytes| bytes.contains(text));
            // What a killed writer has left is not in the file yet.
            Ok::<_, Error>(lacks && matches!(recover::glance(&place)?, Glance::Fresh | Glance::Clean(_)))
        };
        look().unwrap_or(false)
    }

    fn written_at(&self, doc: &Doc) -> Option<Timestamp> {
        let stat = self.fs(doc.room.root()).stat(&doc.path()).ok()??;
        Timestamp::from_nanosecond(stat.modified).ok()
    }

    fn live(&self) -> Result<Live> {
        roster::read(&self.open(&Room::Shared)?)
    }
}

impl Upkeep for FileEngine {
    fn check(&self, room: &Room, repair: bool) -> Result<Vec<Finding>> {
        check::check(self, room, repair)
    }

    fn notes(&self, room: &Room) -> Result<Vec<String>> {
        let place = self.open(room)?;
        let lists = self.documents(room)?.iter().any(|doc| list::field_of(doc).is_some());
        let mut notes = if lists { check::notes(&place)? } else { Vec::new() };
        notes.extend(check::quarantined(&place));
        Ok(notes)
    }

    fn lost(&self, room: &Room) -> Result<Vec<Doc>> {
        let known = match recover::look_as_reader(&self.open(room)?)? {
            View::Fresh => return Ok(Vec::new()),
            View::Clean(head) => head.docs,
            View::Unfinished(plan) => plan.head().docs,
        };
        let docs = known.keys().filter_map(|file| Doc::at(room, file));
        Ok(docs.filter(|doc| matches!(self.read(doc), Err(Error::Gone { .. }))).collect())
    }

    fn asides(&self, room: &Room) -> Result<Vec<Aside>> {
        self.open(room)?.asides()
    }

    fn read_aside(&self, aside: &Aside) -> Result<Option<Vec<u8>>> {
        self.open(&aside.doc.room)?.read_aside(aside)
    }

    fn drop_aside(&self, aside: &Aside) -> Result<()> {
        self.open(&aside.doc.room)?.drop_aside(aside)
    }

    fn note_aside(&self, aside: &Aside) -> Result<()> {
        self.open(&aside.doc.room)?.note_aside(aside)
    }

    fn take_aged(&self, before: Timestamp, most: usize) -> Result<Vec<SessionId>> {
        roster::take_aged(&self.open(&Room::Shared)?, before, most)
    }

    fn remove_room(&self, room: &Room) -> Result<bool> {
        removal::remove(&Place { writes: true, ..self.open(room)? })
    }

    fn remove_remains(&self) -> Result<()> {
        for room in removal::locked_rooms(&*self.home) {
            if !self.holds_something(&room) {
                removal::remove_remains(&Place { writes: true, ..self.open(&room)? })?;
            }
        }
        Ok(())
    }

    fn text(&self, doc: &Doc) -> Result<Option<Vec<u8>>> {
        self.open(&doc.room)?.read_doc(&doc.file(), doc.kind.limit)
    }

    fn place(&self, doc: &Doc) -> String {
        self.fs(doc.room.root()).display(&doc.path())
    }

    fn called(&self, kept: Kept<'_>) -> Called {
        match kept {
            Kept::Document(doc) => Called { name: doc.file().into_owned(), path: doc.path() },
            Kept::Paper(paper) => Called { name: paper.file(), path: paper.path() },
        }
    }
}

/// Returns the document of this kind that a file name is, if it is there.
fn document_at(place: &Place<'_>, kind: &'static Kind, name: &str) -> Option<Doc> {
    let file = match kind.file().rsplit_once('/') {
        Some((dir, _)) if kind.file().contains("{key}") => format!("{dir}/{name}"),
        _ => name.into(),
    };
    let doc = Doc::at(&place.room, &file).filter(|doc| doc.kind == kind)?;
    // A name that is there but cannot be looked at is still a document, for `doctor` to judge.
    let there = place.fs.size(&doc.path()).map_or(true, |size| size.is_some());
    there.then_some(doc)
}
