//! One room on disk: its paths, and file operations whose errors know their path.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::addresses::{DocFiles, KindFiles, RoomFiles};
use super::fs::{Access, Fs, Handle, Lock, LockMode, Stat};
use super::journal::{self, Segment, Sum};
use super::list::layout;
use super::roots::{FileEngine, Options};
use crate::model::json;
use crate::model::kind::{Doc, Gone};
use crate::model::room::Room;
use crate::store::error::{Error, Result};
use crate::store::state;

/// A room and the file system that holds it.
#[derive(Debug)]
pub struct Place<'e> {
    /// Whose room it is.
    pub engine: &'e FileEngine,
    pub fs: &'e dyn Fs,
    pub room: Room,
    /// How long to wait for others.
    pub patience: Duration,
    /// A content of at least this length is kept beside the journal instead of in it.
    pub long: usize,
    /// Whether the files that every commit writes are opened for that when they are looked at.
    pub writes: bool,
    /// Those files, once they were.
    pub open: RefCell<OpenFiles>,
}

impl FileEngine {
    pub(super) fn place_of(&self, room: &Room) -> Place<'_> {
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
    pub(super) fn open(&self, room: &Room) -> Result<Place<'_>> {
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
}

/// What a writer has open from its first look to the end of its commit.
#[derive(Debug, Default)]
pub struct OpenFiles {
    pub head: Option<Box<dyn Handle>>,
    pub journal: Option<Box<dyn Handle>>,
}

/// An editor that writes in place leaves half a file for a moment: what cannot be read is read again for this
/// long before it counts as damaged.
pub const MID_SAVE: Duration = Duration::from_millis(100);

/// How long somebody is waited for who writes a file in many pieces.
const LONGEST_SAVE: Duration = Duration::from_secs(2);

/// What the room looked like after the last commit: a cache of the journal's end.
///
/// It says whether there is anything to recover (`life` and `end` must match) and which bytes are ours
/// (`docs`). Losing or spoiling it costs one replay of the current segment, never data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Counts how often it was written.
    #[serde(default)]
    pub turn: u64,
    pub life: Life,
    pub seq: u64,
    /// Length of the journal up to which everything is published.
    pub end: u64,
    /// The length at which a new segment is to begin; 0 for the usual one.
    #[serde(default)]
    pub rotate_at: u64,
    pub docs: BTreeMap<String, HeadDoc>,
    /// What open folders looked like when all that was in them was known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub folders: BTreeMap<String, u64>,
}

/// Tells one life of a room from another. A reboot begins a new one, and so does a disk that is mounted anew or a copy of
/// the directory: in all of them what was not synced may be missing, and the files cannot be trusted before the journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Life {
    boot: String,
    /// The mount through which the journal was seen. Others may see it through another one, in a container for example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mount: Option<u64>,
    /// Which mounting of the file system it is, through whatever mount; asked only when the mount does not settle it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mounted: Option<u64>,
    /// Identity of the journal file; unknown while there is none.
    pub journal: Option<String>,
}

impl Life {
    /// Returns a number that other boots, and other mountings of the disk, do not have.
    pub fn number(&self) -> u64 {
        let mounting = self.mounted.or(self.mount).unwrap_or_default();
        xxh3_64(self.boot.as_bytes()) ^ xxh3_64(&mounting.to_le_bytes())
    }

    pub fn continues(&self, earlier: &Life) -> bool {
        let is_known = self.mounted.is_some() && self.mounted == earlier.mounted;
        self.may_continue(earlier) && (is_known || self.has_mount_of(earlier))
    }

    /// Whether nothing but the mount speaks against it.
    fn may_continue(&self, earlier: &Life) -> bool {
        let known = self.journal.as_ref().zip(earlier.journal.as_ref());
        self.boot == earlier.boot && known.is_none_or(|(now, then)| now == then)
    }

    fn has_mount_of(&self, earlier: &Life) -> bool {
        self.mount == earlier.mount && (self.mount.is_some() || self.mounted == earlier.mounted)
    }
}

/// A document that was read.
pub struct Opened {
    pub value: Value,
    pub sum: Sum,
    pub bytes: Vec<u8>,
}

impl Head {
    /// Returns what is known of a document that is not there: of a member of a family that left long ago, no more than
    /// that none of them had a higher revision.
    pub fn gone(&self, doc: &Doc) -> Option<&HeadDoc> {
        self.docs.get(&*doc.file()).or_else(|| self.docs.get(&doc.kind.rest()?))
    }

    /// Forgets who the members of families were that are gone, when there are more than a few: what each commit reads and
    /// writes must not grow with them. Their revisions never come again all the same.
    pub fn forget_gone(&mut self, room: &Room) {
        let rest_of = |file: &str| Doc::at(room, file).and_then(|doc| doc.kind.rest());
        let gone = self.docs.iter().filter(|(_, known)| known.sum.is_none());
        let gone: Vec<(String, String, u64)> =
            gone.filter_map(|(file, known)| Some((file.clone(), rest_of(file)?, known.revision))).collect();
        if gone.len() <= FEW_GONE {
            return;
        }
        for (file, rest, revision) in gone {
            self.docs.remove(&file);
            let rest = self.docs.entry(rest).or_insert(HeadDoc { revision, sum: None });
            rest.revision = rest.revision.max(revision);
        }
    }
}

/// So many members of families that are gone are remembered one by one.
const FEW_GONE: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeadDoc {
    pub revision: u64,
    /// `None` when the document was deleted.
    pub sum: Option<Sum>,
}

/// How an operation on a path failed, before it is told to a person.
fn wrap(place: &Place<'_>, action: &'static str, path: &str) -> impl FnOnce(io::Error) -> Error {
    move |source| {
        if place.is_file_of_ours(path) {
            return place.no_file(action, path, source);
        }
        let path = place.fs.display(path);
        match source.kind() {
            io::ErrorKind::InvalidInput => Error::UnsupportedPlace { path, message: source.to_string() },
            _ => Error::Io { action, path, indeterminate: false, source },
        }
    }
}

impl Place<'_> {
    pub fn journal(&self) -> String {
        self.hidden("journal.jsonl")
    }

    /// The next segment while it is being made.
    pub fn next_journal(&self) -> String {
        self.hidden("journal.next")
    }

    pub fn old_journal(&self, seq: u64) -> String {
        self.hidden(&format!("journal-{seq:012}.jsonl"))
    }

    pub fn doc(&self, file: &str) -> String {
        self.room.path(file)
    }

    /// Where the new content of `file` waits to be published.
    pub fn spare(&self, file: &str) -> String {
        self.hidden(&["next-", &file.replace('/', "~")].concat())
    }

    /// Where the old content of `file` waits while the new one is published without an exchange.
    pub fn copy(&self, file: &str) -> String {
        self.spare(file) + "~"
    }

    /// The other buffer of a long list: its previous state.
    pub fn twin(&self, file: &str) -> String {
        self.hidden(&["twin-", &file.replace('/', "~")].concat())
    }

    /// The index of a long list.
    pub fn index(&self, file: &str) -> String {
        self.hidden(&["index-", &file.replace('/', "~")].concat())
    }

    /// Signs of life of those who have items of a list.
    pub fn signs(&self, file: &str) -> String {
        self.hidden(&["signs-", &file.replace('/', "~")].concat())
    }

    /// Where the content of a long document is kept for the journal's line of this number.
    pub fn content(&self, seq: u64, file: &str) -> String {
        self.hidden(&content_name(seq, file))
    }

    fn head(&self) -> String {
        self.hidden("head.json")
    }

    /// Whether a path is that of a file of our own, in a directory that can be looked at.
    fn is_file_of_ours(&self, path: &str) -> bool {
        let is_named = parent(path) == self.room.hidden() || path == self.room.lock();
        is_named && self.fs.entries(parent(path)).is_ok()
    }

    /// Returns the path of one of our own files.
    pub fn hidden(&self, name: &str) -> String {
        [&self.room.hidden(), "/", name].concat()
    }

    pub fn lock(&self) -> Result<Box<dyn Lock>> {
        let path = self.room.lock();
        self.lock_file(&path, self.patience)?.ok_or_else(|| self.busy(&path))
    }

    /// The error of a lock that stayed taken.
    pub fn busy(&self, path: &str) -> Error {
        Error::Busy { path: self.fs.display(path), waited: self.patience }
    }

    /// Takes a lock, whose directory may have to be made first; `None` if it stayed taken.
    pub fn lock_file(&self, path: &str, patience: Duration) -> Result<Option<Box<dyn Lock>>> {
        let attempt = || self.fs.lock(path, LockMode::Exclusive, patience);
        let locked = match attempt() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_dirs(parent(path))?;
                attempt()
            }
            other => other,
        };
        match locked {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(None),
            Err(error) => Err(wrap(self, "lock", path)(error)),
        }
    }

    /// Returns whether no writer is at work, by taking the lock for a moment as a reader.
    pub fn lock_shared(&self) -> Option<Box<dyn Lock>> {
        self.fs.lock(&self.room.lock(), LockMode::Shared, Duration::ZERO).ok()
    }

    /// Creates a directory and its ancestors. Their names are durable only after [`Place::sync_up`].
    pub fn make_dirs(&self, dir: &str) -> Result<()> {
        match self.fs.create_dir(dir) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !dir.is_empty() => {
                self.make_dirs(parent(dir))?;
                self.fs.create_dir(dir).map(drop).map_err(wrap(self, "create", dir))
            }
            Err(error) => Err(wrap(self, "create", dir)(error)),
        }
    }

    /// Makes the names in `dir` durable, and those of the directories between it and `top`: a command
    /// that was interrupted may have made them without syncing, so "it was there already" proves nothing.
    pub fn sync_up(&self, dir: &str, top: &str) -> io::Result<()> {
        let mut dir = dir;
        loop {
            self.fs.sync_dir(dir)?;
            if dir.len() <= top.len() {
                return Ok(());
            }
            dir = parent(dir);
        }
    }

    /// Makes the name of a document durable, or its absence.
    pub fn sync_names(&self, file: &str) -> Result<()> {
        let path = self.doc(file);
        match self.sync_up(parent(&path), &self.room.dir()) {
            // Somebody removed the whole directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(wrap(self, "sync", parent(&path))),
        }
    }

    /// Makes a swap durable, in both directories.
    pub fn sync_swapped(&self, file: &str) -> Result<()> {
        let hidden = self.room.hidden();
        self.sync_names(file)?;
        self.fs.sync_dir(&hidden).map_err(wrap(self, "sync", &hidden))
    }

    /// Returns what a document says, and the bytes that say it.
    pub fn open_doc(&self, doc: &Doc) -> Result<Option<Opened>> {
        unless_damaged_for_long(self.patience.min(MID_SAVE), || {
            let Some(bytes) = self.read_doc(&doc.file(), doc.kind.limit)? else { return Ok(None) };
            let value = state::open(doc, &self.show(doc), &bytes)?;
            Ok(Some(Opened { value, sum: sum(doc, &bytes), bytes }))
        })
    }

    /// Refuses that a document is gone which the last commit left, unless that is how people begin anew. Whoever saves by
    /// removing first is waited for. Returns whether it is back.
    pub fn missed(&self, doc: &Doc, head: &Head) -> Result<bool> {
        let is_there = |(file, known): (&String, &HeadDoc)| {
            known.sum.is_some() && !matches!(self.doc_size(file), Ok(None))
        };
        let is_known = head.docs.get(&*doc.file()).is_some_and(|known| known.sum.is_some());
        let is_reset = match doc.kind.gone {
            Gone::Damage => false,
            Gone::DamageAlone => !head.docs.iter().any(is_there),
            Gone::Reset | Gone::Derived => true,
        };
        if is_reset || !is_known {
            return Ok(false);
        }
        let deadline = Instant::now() + self.patience.min(MID_SAVE);
        loop {
            let is_late = Instant::now() >= deadline;
            if self.doc_size(&doc.file())?.is_some() {
                return Ok(true);
            }
            if is_late {
                return Err(Error::Gone { path: self.show(doc), doc: doc.into() });
            }
            thread::sleep(MID_SAVE / 10);
        }
    }

    /// Returns the bytes of a document file.
    pub fn read_doc(&self, file: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let path = self.doc(file);
        self.fs.read(&path, limit).map_err(|source| match source.kind() {
            io::ErrorKind::FileTooLarge => self.too_long(&path, limit),
            _ => self.no_file("read", &path, source),
        })
    }

    /// Returns the length of a document's or text's file.
    pub fn doc_size(&self, file: &str) -> Result<Option<u64>> {
        let path = self.doc(file);
        self.fs.size(&path).map_err(|source| self.no_file("look at", &path, source))
    }

    /// The same for one that is to be read as a whole.
    pub fn text_size(&self, file: &str, limit: u64) -> Result<Option<u64>> {
        match self.doc_size(file)? {
            Some(size) if size > limit => Err(self.too_long(&self.doc(file), limit)),
            size => Ok(size),
        }
    }

    fn too_long(&self, path: &str, limit: u64) -> Error {
        Error::NotAFile { path: self.fs.display(path), message: format!("it is larger than {limit} bytes") }
    }

    /// Opens a text to append to it, if it is there.
    pub fn open_to_append(&self, file: &str) -> Result<Option<Box<dyn Handle>>> {
        let path = self.doc(file);
        self.fs.open(&path, Access::Append).map_err(|source| self.no_file("open", &path, source))
    }

    pub fn no_file(&self, action: &'static str, path: &str, source: io::Error) -> Error {
        let path = self.fs.display(path);
        match source.kind() {
            io::ErrorKind::InvalidInput => Error::NotAFile { path, message: source.to_string() },
            _ => Error::Io { action, path, indeterminate: false, source },
        }
    }

    /// Returns the cache, if it is there and whole. A disk that fails now is no proof that it is not.
    pub fn read_head(&self) -> Result<Option<Head>> {
        let path = self.head();
        let file = match self.fs.open(&path, self.access()) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => None,
            other => other.map_err(wrap(self, "open", &path))?,
        };
        let Some(file) = file else { return Ok(None) };
        // What is longer was never written as a head, and the next one takes its place.
        let size = Some(file.opened().size).filter(|size| *size <= LONGEST_HEAD);
        let Some(size) = size.and_then(|size| usize::try_from(size).ok()) else { return Ok(None) };
        let bytes = file.read_at(0, size).map_err(wrap(self, "read", &path))?;
        if self.writes {
            self.open.borrow_mut().head = Some(file);
        }
        Ok(newest_head(&bytes))
    }

    fn access(&self) -> Access {
        if self.writes { Access::Write } else { Access::Read }
    }

    /// Writes the cache. A failure is no failure: the next command replays the journal instead.
    ///
    /// The file has two slots, and the older one is written: a reader that found half a head and no other could
    /// not tell a commit under way from one that was cut off by a power loss, and would show it too early.
    pub fn write_head(&self, head: &mut Head) {
        head.turn += 1;
        let mut slot = journal::encode(head);
        slot.pop();
        let known = self.open.borrow_mut().head.take();
        let file = known.or_else(|| self.fs.open(&self.head(), Access::Write).ok().flatten());
        let fits = |size: &usize| (size / SPARE..*size).contains(&slot.len().max(HEAD_SLOT / 2));
        let size = |file: &dyn Handle| slots_of(file.opened().size).filter(fits);
        match file.and_then(|file| Some((size(&*file)?, file))) {
            Some((size, file)) => drop(file.write_at(head.turn % 2 * size as u64, &padded(slot, size))),
            None => self.replace_head(slot, head.turn),
        }
    }

    /// Makes durable what the cache says.
    pub fn sync_head(&self) -> Result<()> {
        let (head, hidden) = (self.head(), self.room.hidden());
        if self.size(&head)?.is_none() {
            return Ok(());
        }
        self.fs.sync_file(&head).map_err(wrap(self, "sync", &head))?;
        self.fs.sync_dir(&hidden).map_err(wrap(self, "sync", &hidden))
    }

    fn replace_head(&self, slot: Vec<u8>, turn: u64) {
        let (path, spare) = (self.head(), self.spare("head.json"));
        let size = (slot.len() + 1).next_power_of_two().max(HEAD_SLOT);
        let (slot, other) = (padded(slot, size), padded(Vec::new(), size));
        let whole = if turn.is_multiple_of(2) { [slot, other] } else { [other, slot] }.concat();
        if self.write_spare("head.json", &whole).is_ok() {
            let _ = self.fs.exchange(&spare, &path).or_else(|_| self.fs.rename(&spare, &path));
            let _ = self.fs.remove(&spare);
        }
    }

    pub fn life(&self) -> Result<Life> {
        self.life_with(self.stat(&self.journal())?.as_ref(), None)
    }

    pub fn open_journal(&self) -> Result<Option<Box<dyn Handle>>> {
        let path = self.journal();
        self.fs.open(&path, self.access()).map_err(wrap(self, "open", &path))
    }

    /// Whether nothing but empty lines follows in the journal.
    pub fn ends_at(&self, journal: &dyn Handle, end: u64) -> Result<bool> {
        let size = journal.opened().size;
        if size <= end {
            return Ok(size == end);
        }
        let next = journal.read_at(end, 1).map_err(|error| self.failed("read", &self.journal(), error))?;
        Ok(next == b"\n")
    }

    /// Returns the life of a room whose journal looks like this, if it is to be compared with an earlier one.
    ///
    /// Most often the mount tells that it is the same. Where it does not, the file system is asked: another mount
    /// of it, as every container and sandbox has, is no other life.
    pub fn life_with(&self, journal: Option<&Stat>, earlier: Option<&Life>) -> Result<Life> {
        let boot = self.fs.boot_id().map_err(wrap(self, "read", "boot id"))?;
        let identity = journal.and_then(|journal| journal.identity);
        let mut life = Life {
            boot,
            mount: journal.and_then(|journal| journal.mount),
            mounted: None,
            journal: identity.map(|identity| format!("{:x}.{:x}", identity.inode, identity.born)),
        };
        let is_settled = |earlier: &Life| {
            !life.may_continue(earlier) || (life.mount.is_some() && life.mount == earlier.mount)
        };
        if journal.is_some() && !earlier.is_some_and(is_settled) {
            let path = self.journal();
            life.mounted = self.fs.mounted(&path).map_err(wrap(self, "look at", &path))?;
        }
        Ok(life)
    }

    pub fn stat(&self, path: &str) -> Result<Option<Stat>> {
        self.fs.stat(path).map_err(wrap(self, "look at", path))
    }

    pub fn size(&self, path: &str) -> Result<Option<u64>> {
        self.fs.size(path).map_err(wrap(self, "look at", path))
    }

    /// Reads a segment. Of a file that is longer than any segment only what comes before a hole is read: what begins with
    /// a hole is nothing that we wrote, and is cut like any line that was not finished.
    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        if self.size(path)?.is_none_or(|size| size <= LONGEST_SEGMENT) {
            return self.fs.read_from(path, 0).map_err(wrap(self, "read", path));
        }
        let Some(file) = self.fs.open(path, Access::Read).map_err(wrap(self, "open", path))? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < LONGEST_SEGMENT {
            let piece = file.read_at(bytes.len() as u64, HOLE).map_err(wrap(self, "read", path))?;
            let is_hole = piece.iter().all(|byte| *byte == 0);
            bytes.extend_from_slice(&piece);
            if is_hole {
                return Ok(Some(bytes));
            }
        }
        let message = format!("it is larger than {LONGEST_SEGMENT} bytes");
        Err(Error::NotAFile { path: self.fs.display(path), message })
    }

    /// Reads a segment, with the contents that are kept beside it. One that is gone or spoiled stays unknown.
    pub fn segment(&self, bytes: &[u8]) -> Segment {
        self.with_contents(Segment::parse(bytes))
    }

    /// The same, with what the lines say of one document and nothing else: a neighbour may be long.
    pub fn segment_of(&self, bytes: &[u8], doc: &Doc) -> Segment {
        let mut segment = Segment::parse(bytes);
        for line in &mut segment.lines {
            line.docs.retain(|entry| entry.file == doc.file());
            line.text_files.clear();
        }
        self.with_contents(segment)
    }

    fn with_contents(&self, mut segment: Segment) -> Segment {
        for entry in segment.lines.iter_mut().flat_map(|line| &mut line.docs) {
            if let (Some(name), Some(doc)) = (&entry.stored, Doc::at(&self.room, &entry.file)) {
                let path = format!("{}/{name}", self.room.hidden());
                let bytes = self.fs.read(&path, doc.kind.limit).ok().flatten();
                let good =
                    bytes.filter(|bytes| name.starts_with(CONTENT) && Some(sum(&doc, bytes)) == entry.sum);
                entry.content = good.and_then(|bytes| json::parse(&bytes).ok());
            }
        }
        segment
    }

    /// Keeps the content of a long document for a line that is about to be written. Returns its name.
    pub fn store_content(&self, seq: u64, file: &str, bytes: &[u8]) -> Result<()> {
        let (path, hidden) = (self.content(seq, file), self.room.hidden());
        let written = self.fs.remove(&path).and_then(|_| self.fs.write_new(&path, bytes));
        let synced = written.and_then(|()| self.fs.sync_file(&path)).and_then(|()| self.fs.sync_dir(&hidden));
        synced.map_err(wrap(self, "write", &path))
    }

    /// Does so with what stands in the other buffer of a long list.
    pub fn store_twin(&self, seq: u64, file: &str) -> Result<()> {
        let (path, twin) = (self.content(seq, file), self.twin(file));
        let copy = || {
            let twin = self.fs.open(&twin, Access::Read)?.ok_or(io::ErrorKind::NotFound)?;
            self.fs.remove(&path)?;
            self.fs.copy(&*twin, &path)?;
            self.fs.sync_file(&path)?;
            self.fs.sync_dir(&self.room.hidden())
        };
        copy().map_err(wrap(self, "write", &path))
    }

    /// Puts the new content of `file` where [`Place::swap`] finds it.
    pub fn write_spare(&self, file: &str, bytes: &[u8]) -> Result<()> {
        let spare = self.spare(file);
        let written = match self.fs.write_new(&spare, bytes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.fs.remove(&spare).and_then(|_| self.fs.write_new(&spare, bytes))
            }
            other => other,
        };
        written.map_err(wrap(self, "write", &spare))
    }

    /// Removes what was swapped out: it is the spare, or else the copy beside it.
    pub fn clear_spare(&self, file: &str) {
        if !self.fs.remove(&self.spare(file)).is_ok_and(|removed| removed) {
            let _ = self.fs.remove(&self.copy(file));
        }
    }

    /// Publishes the spare in one step, or fails and leaves the file as it was (else it is indeterminate).
    /// What was there before, if anything, is the spare afterwards, or the copy beside it.
    ///
    /// A new name is made durable at once: in another life a missing file then always means that somebody
    /// deleted it. Bytes need no sync here, the journal has them.
    pub fn swap(&self, file: &str, exists: bool) -> Result<()> {
        match exists {
            true => self.swap_with(&self.spare(file), file).map(drop),
            false => self.publish_new(file),
        }
    }

    /// The same with another spare, for a file that is there. Returns whether the old file is the spare now.
    pub fn swap_with(&self, spare: &str, file: &str) -> Result<bool> {
        let path = self.doc(file);
        if self.fs.exchange(spare, &path).is_ok() {
            return Ok(true);
        }
        let copied = self.fs.read(&path, u64::MAX - 1).and_then(|bytes| {
            self.fs.remove(&self.copy(file))?;
            self.fs.write_new(&self.copy(file), &bytes.unwrap_or_default())
        });
        copied.and_then(|()| self.fs.rename(spare, &path)).map_err(wrap(self, "replace", &path))?;
        Ok(false)
    }

    fn publish_new(&self, file: &str) -> Result<()> {
        let spare = self.spare(file);
        self.fs.sync_file(&spare).map_err(wrap(self, "sync", &spare))?;
        self.publish_unsynced(file)
    }

    /// The same for a file that is not there, and whose content is kept beside the journal: what a power loss
    /// leaves of it, if not all, is nothing that could be read.
    pub fn publish_unsynced(&self, file: &str) -> Result<()> {
        let (spare, path) = (self.spare(file), self.doc(file));
        self.fs.rename(&spare, &path).map_err(wrap(self, "replace", &path))?;
        self.sync_up(parent(&path), &self.room.dir()).map_err(|error| {
            let error = wrap(self, "sync", parent(&path))(error);
            let back = self.fs.rename(&path, &spare).is_ok() && self.sync_swapped(file).is_ok();
            if back { error } else { error.into_indeterminate() }
        })
    }

    /// Moves what stands in the place of a file of ours, whatever it is, into the quarantine. Returns where it is then.
    pub fn set_aside(&self, path: &str) -> io::Result<String> {
        let (dir, name) = (self.hidden(QUARANTINE), path.rsplit('/').next().unwrap_or_default());
        let dir = if path == dir { self.room.hidden() } else { self.fs.create_dir(&dir).map(|_| dir)? };
        let mut kept = (1..).map(|number| format!("{dir}/{name}.{number}"));
        let kept = kept.find(|kept| !self.fs.may_exist(kept)).expect("numbers do not end");
        self.fs.rename(path, &kept)?;
        Ok(kept)
    }

    /// Keeps bytes that are about to be replaced and are nobody's known state.
    pub fn quarantine(&self, file: &str, bytes: &[u8]) -> Result<String> {
        self.keep_in(&self.hidden(QUARANTINE), file, bytes)
    }

    /// Keeps bytes in a directory of ours, durably, under a name that tells what they were.
    pub fn keep_in(&self, dir: &str, file: &str, bytes: &[u8]) -> Result<String> {
        self.make_dirs(dir)?;
        let name = file.replace('/', "~");
        for number in 1.. {
            let path = format!("{dir}/{name}.{number}");
            match self.fs.write_new(&path, bytes) {
                Ok(()) => {
                    self.fs.sync_file(&path).map_err(wrap(self, "sync", &path))?;
                    self.sync_up(dir, &self.room.hidden()).map_err(wrap(self, "sync", dir))?;
                    return Ok(self.fs.display(&path));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(wrap(self, "write", &path)(error)),
            }
        }
        unreachable!("BUG: ran out of numbers")
    }

    /// Returns the error of `action` on `path`.
    pub fn failed(&self, action: &'static str, path: &str, source: io::Error) -> Error {
        wrap(self, action, path)(source)
    }

    pub fn show(&self, doc: &Doc) -> String {
        self.fs.display(&doc.path())
    }
}

/// Reads again what cannot be read, until it has stayed so for this long. What is damaged at another place each time is being
/// written: that is waited for, too, though not for ever.
pub fn unless_damaged_for_long<T>(long: Duration, mut read: impl FnMut() -> Result<T>) -> Result<T> {
    // Where it is damaged, until when it may be so there, and until when at all.
    let mut waiting: Option<((usize, usize), Instant, Instant)> = None;
    loop {
        // Before the read: whoever is held up after it must not take an old look for a late one. A reader that finds all well
        // never asks for the time.
        let looked = waiting.map(|_| Instant::now());
        let result = read();
        let Err(Error::Damaged { line, column, .. }) = &result else { return result };
        let (found, now) = ((*line, *column), Instant::now());
        let (place, until, end) = waiting.unwrap_or((found, now + long, now + LONGEST_SAVE));
        let until = if found == place { until } else { end.min(now + long) };
        if long.is_zero() || looked.is_some_and(|looked| looked >= until) {
            return result;
        }
        waiting = Some((found, until, end));
        thread::sleep(MID_SAVE / 10);
    }
}

/// No head is longer, however many documents a room has.
const LONGEST_HEAD: u64 = 64 << 20;

/// No segment is longer: it ends when it is some times as long as the documents of its room.
const LONGEST_SEGMENT: u64 = 1 << 30;

/// So many zero bytes are a hole.
const HOLE: usize = 1 << 20;

/// How long one of the two heads in a file is at least, with the blanks behind it. Longer ones are powers of two.
const HEAD_SLOT: usize = 1024;

/// A head that fills less of its slot than one part of so many gets a shorter one.
const SPARE: usize = 8;

/// Returns how long the slots of a file of this size are; `None` if it has none.
fn slots_of(size: u64) -> Option<usize> {
    let slot = usize::try_from(size / 2).ok()?;
    (size.is_power_of_two() && slot >= HEAD_SLOT).then_some(slot)
}

/// Fills a slot.
fn padded(mut slot: Vec<u8>, size: usize) -> Vec<u8> {
    slot.resize(size - 1, b' ');
    slot.push(b'\n');
    slot
}

/// Returns the newer of the heads in a file.
fn newest_head(bytes: &[u8]) -> Option<Head> {
    let mut slots = [bytes, &[]];
    if let Some(size) = slots_of(bytes.len() as u64) {
        (slots[0], slots[1]) = bytes.split_at(size);
    }
    slots.sort_by_key(|slot| std::cmp::Reverse(turn(slot)));
    slots.into_iter().find_map(|slot| journal::decode(slot.trim_ascii_end()))
}

/// Reads which turn a head says it has, without proof.
fn turn(line: &[u8]) -> u64 {
    let digits = line.strip_prefix(b"{\"turn\":").unwrap_or_default();
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |turn, digit| turn.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

/// Where bytes are kept that were replaced.
pub const QUARANTINE: &str = "quarantine";

/// How the names of contents begin that are kept beside the journal.
pub const CONTENT: &str = "content-";

pub fn content_name(seq: u64, file: &str) -> String {
    format!("{CONTENT}{seq:012}-{}", file.replace('/', "~"))
}

/// Returns the checksum of a document's bytes.
pub fn sum(doc: &Doc, bytes: &[u8]) -> Sum {
    layout::field_of(doc).map_or_else(|| Sum::of(bytes), |field| layout::sum(bytes, field))
}

/// Returns the bytes of a document, in the form that its kind has on disk.
pub fn render(doc: &Doc, value: &Value) -> Vec<u8> {
    let as_list = || layout::render(value.as_object()?, layout::field_of(doc)?, layout::room_of(doc));
    as_list().unwrap_or_else(|| json::render(value))
}

pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damaged() -> Error {
        Error::Damaged { path: "x".into(), line: 1, column: 1, message: "half".into() }
    }

    #[test]
    fn a_reader_that_is_held_up_looks_again() {
        let mut reads = 0;
        let read = unless_damaged_for_long(MID_SAVE, || {
            reads += 1;
            if reads == 2 {
                thread::sleep(2 * MID_SAVE);
            }
            if reads < 3 { Err(damaged()) } else { Ok(()) }
        });
        assert_eq!((read.is_ok(), reads), (true, 3));
    }

    #[test]
    fn who_still_writes_is_waited_for() {
        let mut reads = 0;
        let read = unless_damaged_for_long(MID_SAVE / 10, || {
            reads += 1;
            if reads < 20 {
                Err(Error::Damaged { path: "x".into(), line: 1, column: reads, message: "half".into() })
            } else {
                Ok(())
            }
        });
        assert_eq!((read.is_ok(), reads), (true, 20));
    }

    #[test]
    fn what_stays_damaged_is_told() {
        let begin = Instant::now();
        assert!(unless_damaged_for_long(MID_SAVE, || Err::<(), _>(damaged())).is_err());
        assert!(begin.elapsed() >= MID_SAVE);
        let mut reads = 0;
        let mut read = || {
            reads += 1;
            Err::<(), _>(damaged())
        };
        assert!(unless_damaged_for_long(Duration::ZERO, &mut read).is_err());
        assert_eq!(reads, 1, "without patience");
    }
}
