//! One room on disk: its paths, and file operations whose errors know their path.

use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fs::{Fs, Lock, LockMode, Stat};
use super::journal::{self, Sum};
use crate::model::kind::Doc;
use crate::model::room::Room;
use crate::store::error::{Error, Result};
use crate::store::state;

/// A room and the file system that holds it.
#[derive(Debug, Clone)]
pub struct Place<'e> {
    pub fs: &'e dyn Fs,
    pub room: Room,
    /// How long to wait for others.
    pub patience: Duration,
}

/// An editor that writes in place leaves half a file for a moment: what cannot be read is read again for this
/// long before it counts as damaged.
const MID_SAVE: Duration = Duration::from_millis(100);

/// What the room looked like after the last commit: a cache of the journal's end.
///
/// It says whether there is anything to recover (`life` and `end` must match) and which bytes are ours
/// (`docs`). Losing or spoiling it costs one replay of the current segment, never data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub life: Life,
    pub seq: u64,
    /// Length of the journal up to which everything is published.
    pub end: u64,
    pub docs: BTreeMap<String, HeadDoc>,
}

/// Tells one life of a room from another. A reboot begins a new one, and so does a copy of the directory:
/// in both, what was not synced may be missing, and the files cannot be trusted before the journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Life {
    boot: String,
    /// Identity of the journal file; unknown while there is none.
    pub journal: Option<String>,
}

impl Life {
    pub fn continues(&self, earlier: &Life) -> bool {
        let known = self.journal.as_ref().zip(earlier.journal.as_ref());
        self.boot == earlier.boot && known.is_none_or(|(now, then)| now == then)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeadDoc {
    pub revision: u64,
    /// `None` when the document was deleted.
    pub sum: Option<Sum>,
}

/// How an operation on a path failed, before it is told to a person.
fn wrap(place: &Place<'_>, action: &'static str, path: &str) -> impl FnOnce(io::Error) -> Error {
    move |source| {
        let path = place.fs.display(path);
        match source.kind() {
            io::ErrorKind::InvalidInput => Error::UnsupportedPlace { path, message: source.to_string() },
            _ => Error::Io { action, path, indeterminate: false, source },
        }
    }
}

impl Place<'_> {
    pub fn journal(&self) -> String {
        format!("{}/journal.jsonl", self.room.hidden())
    }

    /// The next segment while it is being made.
    pub fn next_journal(&self) -> String {
        format!("{}/journal.next", self.room.hidden())
    }

    pub fn old_journal(&self, seq: u64) -> String {
        format!("{}/journal-{seq:012}.jsonl", self.room.hidden())
    }

    pub fn doc(&self, file: &str) -> String {
        format!("{}/{file}", self.room.dir())
    }

    /// Where the new content of `file` waits to be published.
    pub fn spare(&self, file: &str) -> String {
        format!("{}/next-{}", self.room.hidden(), file.replace('/', "~"))
    }

    /// Where the old content of `file` waits while the new one is published without an exchange.
    pub fn copy(&self, file: &str) -> String {
        format!("{}~", self.spare(file))
    }

    fn head(&self) -> String {
        format!("{}/head.json", self.room.hidden())
    }

    pub fn lock(&self) -> Result<Box<dyn Lock>> {
        let patience = self.patience;
        let path = self.room.lock();
        let attempt = || self.fs.lock(&path, LockMode::Exclusive, patience);
        let locked = match attempt() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_dirs(parent(&path))?;
                attempt()
            }
            other => other,
        };
        locked.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => Error::Busy { path: self.fs.display(&path), waited: patience },
            _ => wrap(self, "lock", &path)(error),
        })
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

    /// Returns what a document says, and the checksum of its bytes.
    pub fn open_doc(&self, doc: &Doc) -> Result<Option<(Value, Sum)>> {
        let mut deadline = None;
        let mut in_time = || {
            // Begun at the first failure: a reader that finds all well never asks for the time.
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + self.patience.min(MID_SAVE));
            Instant::now() < deadline
        };
        loop {
            let Some(bytes) = self.read_doc(&doc.file, doc.kind.limit)? else { return Ok(None) };
            match state::open(doc, &self.show(doc), &bytes) {
                Err(Error::Damaged { .. }) if in_time() => thread::sleep(MID_SAVE / 10),
                opened => return opened.map(|value| Some((value, Sum::of(&bytes)))),
            }
        }
    }

    /// Returns the bytes of a document file.
    pub fn read_doc(&self, file: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let path = self.doc(file);
        self.fs.read(&path, limit).map_err(|source| match source.kind() {
            io::ErrorKind::FileTooLarge => {
                let message = format!("it is larger than {limit} bytes");
                Error::NotAFile { path: self.fs.display(&path), message }
            }
            _ => self.no_file("read", &path, source),
        })
    }

    /// Returns the length of a document's or text's file.
    pub fn doc_size(&self, file: &str) -> Result<Option<u64>> {
        let path = self.doc(file);
        self.fs.size(&path).map_err(|source| self.no_file("look at", &path, source))
    }

    fn no_file(&self, action: &'static str, path: &str, source: io::Error) -> Error {
        let path = self.fs.display(path);
        match source.kind() {
            io::ErrorKind::InvalidInput => Error::NotAFile { path, message: source.to_string() },
            _ => Error::Io { action, path, indeterminate: false, source },
        }
    }

    /// Returns the cache, if it is there and whole. A disk that fails now is no proof that it is not.
    pub fn read_head(&self) -> Result<Option<Head>> {
        let bytes = match self.fs.read_from(&self.head(), 0) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => None,
            other => other.map_err(wrap(self, "read", &self.head()))?,
        };
        let line = bytes.as_deref().and_then(|bytes| bytes.split(|byte| *byte == b'\n').next());
        Ok(line.and_then(journal::decode))
    }

    /// Writes the cache. A failure is no failure: the next command replays the journal instead.
    ///
    /// It is swapped in whole: a reader that found half a head could not tell a commit under way from one
    /// that was cut off by a power loss, and would show it too early.
    pub fn write_head(&self, head: &Head) {
        let (path, spare) = (self.head(), self.spare("head.json"));
        if self.write_spare("head.json", &journal::encode(head)).is_ok() {
            let _ = self.fs.exchange(&spare, &path).or_else(|_| self.fs.rename(&spare, &path));
            let _ = self.fs.remove(&spare);
        }
    }

    pub fn life(&self) -> Result<Life> {
        self.life_with(self.stat(&self.journal())?)
    }

    /// Returns the life of a room whose journal looks like this.
    pub fn life_with(&self, journal: Option<Stat>) -> Result<Life> {
        let boot = self.fs.boot_id().map_err(wrap(self, "read", "boot id"))?;
        Ok(Life { boot, journal: journal.and_then(|journal| journal.identity) })
    }

    pub fn stat(&self, path: &str) -> Result<Option<Stat>> {
        self.fs.stat(path).map_err(wrap(self, "look at", path))
    }

    pub fn size(&self, path: &str) -> Result<Option<u64>> {
        self.fs.size(path).map_err(wrap(self, "look at", path))
    }

    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.fs.read_from(path, 0).map_err(wrap(self, "read", path))
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

    /// Publishes the spare in one step, or fails and leaves the file as it was (else it is indeterminate).
    /// What was there before, if anything, is the spare afterwards, or the copy beside it.
    ///
    /// A new name is made durable at once: in another life a missing file then always means that somebody
    /// deleted it. Bytes need no sync here, the journal has them.
    pub fn swap(&self, file: &str, exists: bool) -> Result<()> {
        if !exists {
            return self.publish_new(file);
        }
        let (spare, path) = (self.spare(file), self.doc(file));
        if self.fs.exchange(&spare, &path).is_ok() {
            return Ok(());
        }
        let copied = self.fs.read(&path, u64::MAX - 1).and_then(|bytes| {
            self.fs.remove(&self.copy(file))?;
            self.fs.write_new(&self.copy(file), &bytes.unwrap_or_default())
        });
        copied.and_then(|()| self.fs.rename(&spare, &path)).map_err(wrap(self, "replace", &path))
    }

    fn publish_new(&self, file: &str) -> Result<()> {
        let (spare, path) = (self.spare(file), self.doc(file));
        self.fs.sync_file(&spare).map_err(wrap(self, "sync", &spare))?;
        self.fs.rename(&spare, &path).map_err(wrap(self, "replace", &path))?;
        self.sync_up(parent(&path), &self.room.dir()).map_err(|error| {
            let error = wrap(self, "sync", parent(&path))(error);
            let back = self.fs.rename(&path, &spare).is_ok() && self.sync_swapped(file).is_ok();
            if back { error } else { error.into_indeterminate() }
        })
    }

    /// Keeps bytes that are about to be replaced and are nobody's known state.
    pub fn quarantine(&self, file: &str, bytes: &[u8]) -> Result<String> {
        let dir = format!("{}/quarantine", self.room.hidden());
        self.make_dirs(&dir)?;
        let name = file.replace('/', "~");
        for number in 1.. {
            let path = format!("{dir}/{name}.{number}");
            match self.fs.write_new(&path, bytes) {
                Ok(()) => {
                    self.fs.sync_file(&path).map_err(wrap(self, "sync", &path))?;
                    self.sync_up(&dir, &self.room.hidden()).map_err(wrap(self, "sync", &dir))?;
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

pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}
