//! The file engine: human-readable JSON files that cannot be lost or torn.
//!
//! The files are the truth that people read and may edit; the room's `journal` makes commits atomic and
//! durable. One commit is followed in `transaction`, what a crash leaves in `recover`. Readers take no
//! lock and never write. `docs/design/store.md` has the reasons and what was refused.

pub mod addresses;
pub mod check;
mod course;
mod edits;
mod entering;
pub mod events;
pub mod fs;
mod journal;
#[cfg(target_os = "linux")]
mod kernel;
pub(crate) mod list;
#[cfg(target_os = "linux")]
mod mounted;
pub mod news;
pub mod owners;
mod past;
mod place;
pub mod real_fs;
mod recover;
pub mod redirected_fs;
mod removal;
mod room_transaction;
mod roots;
mod roster;
mod rotate;
mod seeing;
mod segments;
mod signs;
mod text_files;
mod transaction;
mod watch;

use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use self::addresses::{DocFiles, KindFiles, PaperFiles, RoomFiles};
use self::fs::{Fs, Lock};
use self::journal::SNAPSHOT;
use self::list::{List, Opened, layout};
use self::place::{HeadDoc, Place};
use self::recover::{Glance, View};
use self::room_transaction::RoomTransaction;
use self::seeing::{Seen, see};
use self::segments::each_line;
use self::transaction::FileTransaction;

pub use self::roots::{FileEngine, Options};

use super::engine::{
    Aside, Called, Commits, Cursor, Document, Engine, Expected, Finding, Glimpse, Kept, Listener, Live,
    Reading, Revision, Seat, Transaction, Upkeep, Visit, Watch, keep_in,
};
use super::error::{Error, Result};
use crate::model::ids::{Key, SessionId};
use crate::model::kind::{Doc, Items, KINDS, Kind};
use crate::model::lease::Signs;
use crate::model::listing::{Most, Overview};
use crate::model::raw::{self, Raw};
use crate::model::room::Room;

impl FileEngine {
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
            Ok(RoomTransaction::new(place, head, lock))
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
        Ok(Some(Box::new(FileTransaction::new(vec![RoomTransaction::new(place, head, lock)]))))
    }

    fn overview(&self, doc: &Doc, most: Most) -> Result<Option<Overview>> {
        let Some((place, head, _lock)) = self.peep(&doc.room)? else { return Ok(None) };
        Ok(List::open(&place, doc, &head, Opened::ToChange)?.and_then(|mut list| list.overview(most).ok()))
    }

    /// No lock is held: a file with the head's checksum is the state that the head tells of, whatever comes after it.
    fn each_item(&self, doc: &Doc, visit: &mut dyn FnMut(&Raw)) -> Result<bool> {
        let place = self.open(&doc.room)?;
        let View::Clean(head) = recover::look_as_reader(&place)? else { return Ok(false) };
        let known = head.docs.get(&*doc.file()).and_then(|known| known.sum);
        let (Some(field), Some(known)) = (layout::field_of(doc), known) else { return Ok(false) };
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

    fn signs(&self, doc: &Doc) -> Result<Signs> {
        signs::read(&self.open(&doc.room)?, doc)
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
        let lists = self.documents(room)?.iter().any(|doc| layout::field_of(doc).is_some());
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
            Kept::TextFile(text_file) => Called { name: text_file.file(), path: text_file.path() },
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
