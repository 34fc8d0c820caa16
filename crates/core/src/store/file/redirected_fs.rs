//! A home whose sessions, or whose projects and mailboxes, are kept elsewhere, as `paths` in the configuration says.
//!
//! The configuration itself stays where it is, or nobody would find it; and so do the locks: two commands that
//! disagree about the configuration for a moment must still agree about them.
//!
//! The configuration is a document like any other: whoever tells what it says reads it through its room, which sees past what a crash left.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::addresses::{DocFiles, RoomFiles};
use super::fs::{Access, Events, Fs, Handle, Lock, LockMode, Stat};
use super::roots::{FileEngine, Options};
use crate::model::kind::Doc;
use crate::store::engine::Engine;
use crate::store::error::{Error, Result, Unplaced};
use crate::store::places::Places;

/// What may be elsewhere, and which part of the place that [`Places`] names for it.
const MOVABLE: [(&str, Whose, &str); 3] = [
    ("sessions", Whose::Sessions, ""),
    ("orchestration/projects", Whose::Shared, "projects"),
    ("orchestration/messages", Whose::Shared, "messages"),
];

#[derive(Debug, Clone, Copy)]
enum Whose {
    Sessions,
    Shared,
}

/// Tells where parts of a home are; asked when it matters. The engine is that of the home itself.
pub type ToldPlaces = dyn Fn(&dyn Engine) -> Result<Places> + Send + Sync;

/// The home root, with parts of it elsewhere.
pub struct RedirectedFs {
    home: Arc<dyn Fs>,
    told: Box<ToldPlaces>,
    /// Makes what holds another directory.
    elsewhere: Box<Elsewhere>,
    /// How long the configuration is waited for while somebody saves it.
    patience: Duration,
    moved: OnceLock<Vec<Moved>>,
}

/// Makes a root of a directory.
pub type Elsewhere = dyn Fn(PathBuf) -> Arc<dyn Fs> + Send + Sync;

/// What is elsewhere, and where.
type Moved = (&'static str, Arc<dyn Fs>);

impl fmt::Debug for RedirectedFs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RedirectedFs").field(&self.home).field(&self.moved).finish()
    }
}

impl RedirectedFs {
    pub fn new(
        home: Arc<dyn Fs>,
        told: Box<ToldPlaces>,
        elsewhere: Box<Elsewhere>,
        patience: Duration,
    ) -> RedirectedFs {
        RedirectedFs { home, told, elsewhere, patience, moved: OnceLock::new() }
    }

    /// Returns where a path is: which root, and what is left of the path below it. If the configuration cannot be read
    /// that would say so, it is in its usual place for those who only look.
    fn at<'p>(&self, path: &'p str) -> (&dyn Fs, &'p str) {
        self.surely_at(path).unwrap_or((&*self.home, path))
    }

    /// The same for those who write: what lands in the wrong place is lost.
    fn surely_at<'p>(&self, path: &'p str) -> io::Result<(&dyn Fs, &'p str)> {
        let below = |dir: &str| {
            let rest = path.strip_prefix(dir)?;
            if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
        };
        // Who asks for nothing that may be moved need not know the configuration.
        if MOVABLE.iter().all(|(dir, ..)| below(dir).is_none()) {
            return Ok((&*self.home, path));
        }
        let moved = self.moved()?.iter().find_map(|(dir, fs)| Some((&**fs, below(dir)?)));
        Ok(moved.unwrap_or((&*self.home, path)))
    }

    fn moved(&self) -> io::Result<&[Moved]> {
        if self.moved.get().is_none() {
            let moved = self.ask()?;
            let _ = self.moved.set(moved);
        }
        Ok(self.moved.get().map(Vec::as_slice).unwrap_or_default())
    }

    fn ask(&self) -> io::Result<Vec<Moved>> {
        let places = self.places()?;
        let moved = |(dir, part, below)| {
            let place = match part {
                Whose::Sessions => places.sessions.as_ref(),
                Whose::Shared => places.shared.as_ref(),
            };
            Some((dir, (self.elsewhere)(place?.join(below))))
        };
        Ok(MOVABLE.into_iter().filter_map(moved).collect())
    }

    fn places(&self) -> io::Result<Places> {
        let config = Doc::config();
        // Most homes have none, and no history that could know one which is gone.
        let journal = format!("{}/journal.jsonl", config.room.hidden());
        if !self.home.may_exist(&config.path()) && !self.home.may_exist(&journal) {
            return Ok(Places::default());
        }
        // Whether the place can be trusted is asked by those who use it.
        let options = Options { patience: self.patience, allow_network_fs: true, ..Options::default() };
        let engine = FileEngine::new(Arc::clone(&self.home), Arc::clone(&self.home), options);
        (self.told)(&engine).map_err(|error| {
            let kind = match &error {
                Error::Io { source, .. } => source.kind(),
                Error::UnsupportedPlace { .. } => io::ErrorKind::Other,
                _ => io::ErrorKind::InvalidData,
            };
            io::Error::new(kind, Unplaced(error))
        })
    }
}

impl Fs for RedirectedFs {
    fn read(&self, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let (fs, path) = self.at(path);
        fs.read(path, limit)
    }

    fn read_from(&self, path: &str, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let (fs, path) = self.at(path);
        fs.read_from(path, offset)
    }

    fn open(&self, path: &str, access: Access) -> io::Result<Option<Box<dyn Handle>>> {
        let (fs, path) = match access {
            Access::Read => self.at(path),
            _ => self.surely_at(path)?,
        };
        fs.open(path, access)
    }

    fn copy(&self, from: &dyn Handle, to: &str) -> io::Result<()> {
        let (fs, to) = self.surely_at(to)?;
        fs.copy(from, to)
    }

    fn size(&self, path: &str) -> io::Result<Option<u64>> {
        let (fs, path) = self.at(path);
        fs.size(path)
    }

    fn may_exist(&self, path: &str) -> bool {
        let (fs, path) = self.at(path);
        fs.may_exist(path)
    }

    fn entries(&self, dir: &str) -> io::Result<Vec<String>> {
        let (fs, dir) = self.at(dir);
        fs.entries(dir)
    }

    fn folders(&self, dir: &str) -> io::Result<Vec<String>> {
        let (fs, dir) = self.at(dir);
        fs.folders(dir)
    }

    fn create_dir(&self, dir: &str) -> io::Result<bool> {
        let (fs, dir) = self.surely_at(dir)?;
        fs.create_dir(dir)
    }

    fn write_new(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let (fs, path) = self.surely_at(path)?;
        fs.write_new(path, bytes)
    }

    fn write_at(&self, path: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (fs, path) = self.surely_at(path)?;
        fs.write_at(path, offset, bytes)
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let (fs, path) = self.surely_at(path)?;
        fs.append(path, bytes)
    }

    fn truncate(&self, path: &str, length: u64) -> io::Result<()> {
        let (fs, path) = self.surely_at(path)?;
        fs.truncate(path, length)
    }

    fn sync_file(&self, path: &str) -> io::Result<()> {
        let (fs, path) = self.surely_at(path)?;
        fs.sync_file(path)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        let (fs, dir) = self.surely_at(dir)?;
        fs.sync_dir(dir)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        // A room is never in two places.
        let ((fs, from), (_, to)) = (self.surely_at(from)?, self.surely_at(to)?);
        fs.rename(from, to)
    }

    fn exchange(&self, one: &str, other: &str) -> io::Result<()> {
        let ((fs, one), (_, other)) = (self.surely_at(one)?, self.surely_at(other)?);
        fs.exchange(one, other)
    }

    fn remove(&self, path: &str) -> io::Result<bool> {
        let (fs, path) = self.surely_at(path)?;
        fs.remove(path)
    }

    fn remove_dir(&self, dir: &str) -> io::Result<bool> {
        let (fs, dir) = self.surely_at(dir)?;
        fs.remove_dir(dir)
    }

    fn lock(&self, path: &str, mode: LockMode, patience: Duration) -> io::Result<Box<dyn Lock>> {
        let lock = self.home.lock(path, mode, patience);
        self.moved.get().into_iter().flatten().for_each(|(_, fs)| fs.forget_dirs());
        lock
    }

    fn boot_id(&self) -> io::Result<String> {
        self.home.boot_id()
    }

    fn mounted(&self, path: &str) -> io::Result<Option<u64>> {
        let (fs, path) = self.at(path);
        fs.mounted(path)
    }

    fn forget_dirs(&self) {
        self.home.forget_dirs();
        self.moved.get().into_iter().flatten().for_each(|(_, fs)| fs.forget_dirs());
    }

    fn stat(&self, path: &str) -> io::Result<Option<Stat>> {
        let (fs, path) = self.at(path);
        fs.stat(path)
    }

    fn folder_stamp(&self, dir: &str) -> io::Result<Option<u64>> {
        let (fs, dir) = self.at(dir);
        fs.folder_stamp(dir)
    }

    fn network_fs(&self) -> io::Result<Option<&'static str>> {
        for (_, fs) in self.moved.get().map(Vec::as_slice).unwrap_or_default() {
            if let Some(name) = fs.network_fs()? {
                return Ok(Some(name));
            }
        }
        self.home.network_fs()
    }

    fn events(&self, dirs: &[String]) -> io::Result<Box<dyn Events>> {
        // Below a root, an absolute path stays what it is.
        let place = |dir: &String| {
            let (fs, dir) = self.at(dir);
            fs.display(dir)
        };
        self.home.events(&dirs.iter().map(place).collect::<Vec<_>>())
    }

    fn owner(&self, path: &str) -> Option<String> {
        let (fs, path) = self.at(path);
        fs.owner(path)
    }

    fn display(&self, path: &str) -> String {
        match self.at(path) {
            (fs, "") => fs.display("").trim_end_matches('/').to_owned(),
            (fs, path) => fs.display(path),
        }
    }
}
