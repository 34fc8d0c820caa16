//! The file engine: human-readable JSON files that cannot be lost or torn.
//!
//! The files are the truth that people read and may edit; the room's `journal` makes commits atomic and
//! durable. One commit is followed in `transaction`, what a crash leaves in `recover`. Readers take no
//! lock and never write. `docs/design/store.md` has the reasons and what was refused.

pub mod check;
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
mod papers;
mod part;
mod place;
pub mod real_fs;
mod recover;
mod rotate;
mod told;
mod transaction;
mod watch;

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use self::fs::{Fs, Lock, LockMode};
use self::journal::{SNAPSHOT, Segment, Sum};
use self::list::List;
use self::part::{Part, effective_revision};
use self::place::{Head, HeadDoc, Place};
use self::recover::View;
use self::transaction::FileTransaction;
use super::engine::{Aside, Document, Engine, Finding, Listener, Revision, Seat, Transaction, Watch};
use super::error::{Error, Result, forbids_writing};
use super::state;
use crate::model::kind::{Doc, Items, KINDS, Kind};
use crate::model::listing::{Excerpt, Most};
use crate::model::raw::Raw;
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
}

impl FileEngine {
    pub fn new(home: Arc<dyn Fs>, project: Arc<dyn Fs>, options: Options) -> FileEngine {
        FileEngine { home, project, options, local: Arc::default() }
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
            usize::try_from(config.value.get("journal")?.get("kept_segments")?.as_u64()?).ok()
        };
        match self.read(&Doc::config()) {
            Ok(config) => config.as_ref().and_then(told).unwrap_or(self.options.kept_segments),
            // What cannot be read now may say that all of them stay.
            Err(_) => usize::MAX,
        }
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

    /// Takes the lock and finishes what a crash left.
    fn enter(&self, place: &Place<'_>) -> Result<(Box<dyn fs::Lock>, Head)> {
        let lock = place.lock()?;
        let head = match recover::look(place)? {
            View::Fresh => Head { life: place.life()?, ..Head::default() },
            View::Clean(head) => head,
            View::Unfinished(plan) => recover::finish(place, &plan)?,
        };
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
    let head;
    let known = match view {
        View::Fresh => None,
        View::Clean(head) => head.docs.get(&doc.file),
        View::Unfinished(plan) => {
            if let Some(known) = plan.pending(&doc.file) {
                let (revision, sum) = (known.revision, known.sum);
                let value = sum.map(|_| known.content.clone());
                return Ok(Seen { value, revision, sum, edited: None });
            }
            head = plan.head();
            head.docs.get(&doc.file)
        }
    };
    let mut opened = place.open_doc(doc)?;
    if opened.is_none() && place.missed(doc, known)? {
        opened = place.open_doc(doc)?;
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
        document.insert("revision".into(), revision.into());
    }
}

/// Calls `visit` with every line of every kept segment, oldest first, each once.
///
/// No lock is held. The current segment is read first, so that one that is put aside meanwhile shows up
/// twice instead of not at all; the numbers of the lines then tell what was there already.
fn each_line(place: &Place<'_>, visit: &mut dyn FnMut(&journal::Line)) -> Result<()> {
    let mut current = place.segment(&current_segment(place)?);
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
        visit_new(place.segment(&place.read(&path)?.unwrap_or_default()));
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
    fn share(&self) -> Option<OwnedFd> {
        self.0.share()
    }
}

impl Engine for FileEngine {
    fn read(&self, doc: &Doc) -> Result<Option<Document>> {
        let place = self.open(&doc.room)?;
        let Seen { value, revision, .. } = see(&place, doc)?;
        Ok(value.map(|value| Document { value, revision }))
    }

    fn begin(&self, rooms: &[&Room]) -> Result<Box<dyn Transaction + '_>> {
        // In one order for all, so that nobody waits for each other.
        let mut rooms = rooms.to_vec();
        rooms.sort();
        rooms.dedup();
        let enter = |room: &Room| {
            let place = Place { writes: true, ..self.open(room)? };
            let (mut lock, head) = self.enter(&place)?;
            if head.seq == 0 && matches!(room, Room::Session(_) | Room::Mailbox(_) | Room::Project(_)) {
                lock = Box::new(PassingLock { lock, fs: Arc::clone(&self.home), room: room.clone() });
            }
            Ok(Part::new(place, head, lock))
        };
        let parts = rooms.into_iter().map(enter).collect::<Result<_>>()?;
        Ok(Box::new(FileTransaction::new(parts)))
    }

    fn browse(&self, room: &Room) -> Result<Option<Box<dyn Transaction + '_>>> {
        let Some((place, head, lock)) = self.peep(room)? else { return Ok(None) };
        Ok(Some(Box::new(FileTransaction::new(vec![Part::new(place, head, lock)]))))
    }

    fn excerpt(&self, doc: &Doc, most: Most) -> Result<Option<Excerpt>> {
        let Some((place, head, _lock)) = self.peep(&doc.room)? else { return Ok(None) };
        Ok(List::open(&place, doc, &head)?.and_then(|mut list| list.excerpt(most).ok()))
    }

    /// No lock is held: a file with the head's checksum is the state that the head tells of, whatever comes after it.
    fn each_item(&self, doc: &Doc, visit: &mut dyn FnMut(&Raw)) -> Result<bool> {
        let place = self.open(&doc.room)?;
        let View::Clean(head) = recover::look_as_reader(&place)? else { return Ok(false) };
        let known = head.docs.get(&doc.file).and_then(|known| known.sum);
        let (Some(field), Some(known)) = (list::field_of(doc), known) else { return Ok(false) };
        let Some(bytes) = place.read_doc(&doc.file, doc.kind.limit)? else { return Ok(false) };
        Ok(list::layout::visit(&bytes, field, visit) == Some(known))
    }

    fn replay(&self, doc: &Doc, visit: &mut dyn FnMut(&Revision, Option<&Value>)) -> Result<()> {
        let place = self.open(&doc.room)?;
        let mut replay = journal::Replay::default();
        each_line(&place, &mut |line| {
            let entry = line.docs.iter().find(|entry| entry.file == doc.file && line.op != SNAPSHOT);
            let revision = entry.map(|entry| line.revision(entry, &replay));
            replay.apply(line);
            if let Some(revision) = revision {
                visit(&revision, replay.content(&doc.file));
            }
        })
    }

    fn log(&self, room: &Room) -> Result<Vec<Revision>> {
        let place = self.open(room)?;
        let (mut revisions, mut replay) = (Vec::new(), journal::Replay::default());
        each_line(&place, &mut |line| {
            if line.op != SNAPSHOT {
                revisions.extend(line.docs.iter().map(|entry| line.revision(entry, &replay)));
            }
            replay.apply(line);
        })?;
        Ok(revisions)
    }

    fn watch(&self, doc: &Doc, from: Option<u64>) -> Result<Box<dyn Watch>> {
        Ok(Box::new(watch::FileWatch::start(self.clone(), doc.clone(), from)?))
    }

    fn listen(&self, docs: &[Doc]) -> Result<Box<dyn Listener>> {
        Ok(Box::new(watch::FileListener::start(self.clone(), docs.to_vec())?))
    }

    fn may_exist(&self, doc: &Doc) -> bool {
        self.fs(doc.room.root()).may_exist(&doc.path())
    }

    fn written_at(&self, doc: &Doc) -> Option<Timestamp> {
        let stat = self.fs(doc.room.root()).stat(&doc.path()).ok()??;
        Timestamp::from_nanosecond(stat.modified).ok()
    }

    fn seat(&self, room: &Room, name: &str, patience: Duration) -> Result<Option<Box<dyn Seat>>> {
        let lock = self.open(room)?.lock_file(&room.seat(name), patience)?;
        Ok(lock.map(|lock| Box::new(TakenSeat(lock)) as Box<dyn Seat>))
    }

    fn rooms(&self) -> Result<Vec<Room>> {
        let mut rooms = vec![Room::Shared];
        // Clients keep files of their own in here: Claude Code in `sessions`.
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
            let files = match kind.file.split_once("{key}") {
                Some(_) => {
                    let dir = place.doc(place::parent(kind.file));
                    place.fs.entries(&dir).map_err(|error| place.failed("list", &dir, error))?
                }
                None => vec![kind.file.into()],
            };
            documents.extend(files.iter().filter_map(|name| document_at(&place, kind, name)));
        }
        documents.sort_by(|one, other| one.file.cmp(&other.file));
        Ok(documents)
    }

    fn check(&self, room: &Room, repair: bool) -> Result<Vec<Finding>> {
        check::check(self, room, repair)
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

    fn notes(&self, room: &Room) -> Result<Vec<String>> {
        let place = self.open(room)?;
        let lists = self.documents(room)?.iter().any(|doc| list::field_of(doc).is_some());
        if lists { check::notes(&place) } else { Ok(Vec::new()) }
    }

    fn text(&self, doc: &Doc) -> Result<Option<Vec<u8>>> {
        self.open(&doc.room)?.read_doc(&doc.file, doc.kind.limit)
    }

    fn place(&self, doc: &Doc) -> String {
        self.fs(doc.room.root()).display(&doc.path())
    }
}

/// Returns the document of this kind that a file name is, if it is there.
fn document_at(place: &Place<'_>, kind: &'static Kind, name: &str) -> Option<Doc> {
    let file = match kind.file.rsplit_once('/') {
        Some((dir, _)) if kind.file.contains("{key}") => format!("{dir}/{name}"),
        _ => name.into(),
    };
    let doc = Doc::at(&place.room, &file).filter(|doc| doc.kind == kind)?;
    // A name that is there but cannot be looked at is still a document, for `doctor` to judge.
    let there = place.fs.size(&doc.path()).map_or(true, |size| size.is_some());
    there.then_some(doc)
}
