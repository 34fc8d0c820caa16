//! The seam between the file engine and the operating system.
//!
//! Everything the engine does to a disk goes through [`Fs`], so that tests can kill it before any call,
//! make any call fail, or lose what was not synced (`testkit::sim_fs`). [`super::real_fs::RealFs`] is the
//! only implementation that touches a disk.
//!
//! Paths are relative to the root the `Fs` was made for, with `/` between parts and no `.` or `..`.
//! Files are made with mode 0600, directories with 0700, and `super::owners` says whose they are and where a group may use them too. No call follows a symbolic link beneath the root.

use std::fmt::Debug;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A held lock; dropping it lets the next process in.
pub trait Lock: Send + Sync + Debug {
    /// Returns something that holds the same lock as long as any process has it.
    fn share(&self) -> Option<OwnedFd> {
        None
    }
}

/// Wakes when something beneath the watched directories may have changed.
pub trait Events: Send {
    /// Blocks until something may have changed, or until `timeout` has passed. Returns whether it woke early.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool>;
}

/// Whether others may hold the lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    Shared,
    Exclusive,
}

/// What is known of a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    pub size: u64,
    /// Names the file itself, whatever it is called and holds: a copy of it has another identity. `None` where
    /// the file system cannot tell.
    pub identity: Option<Identity>,
    /// When its bytes were last changed, in nanoseconds.
    pub modified: i128,
    /// How many names it has: a hard link is one more.
    pub names: u64,
    /// The mount that it was seen through, by a number that no other mount of this boot ever has. `None` where the
    /// kernel does not tell.
    pub mount: Option<u64>,
}

/// The number of a file and when it was made: numbers of deleted files are given away again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub inode: u64,
    pub born: i128,
}

/// What a handle is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// To write at the end, wherever that is by then.
    Append,
    /// To write, creating the file if needed.
    Create,
}

/// An open file. It stays the same file when its name is given to another one.
pub trait Handle: Send + Debug {
    /// Returns at most `length` bytes from `offset`; less only at the end of the file.
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>>;

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// The same for what nobody will change in its place. It may be quicker.
    fn write_for_good(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, bytes)
    }

    /// Cuts or extends the file to `length`.
    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Makes the bytes survive a power loss.
    fn sync(&self) -> io::Result<()>;

    /// Lets the disk begin with that. A mere hint.
    fn begin_sync(&self) {}

    /// Writes `bytes` at the end of a file that was opened to append.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;

    /// Returns what the file looked like when it was opened.
    fn opened(&self) -> &Stat;

    /// Returns what the file looks like now.
    fn look(&self) -> io::Result<Stat> {
        Ok(self.opened().clone())
    }

    /// Gives the file a time of change that no other change gives it, also where the clock of the file system is
    /// too coarse to tell two changes apart, and returns what is known of it then.
    fn mark(&self) -> io::Result<Stat>;

    /// Whether nobody else has this file open or mapped. `ErrorKind::Unsupported` where that cannot be told.
    fn is_alone(&self) -> io::Result<bool>;
}

/// The file operations that the engine needs, and no more.
///
/// Persistence model that the engine relies on (and the simulation enforces): bytes of a file survive a
/// power loss only after [`Fs::sync_file`]; the creation, renaming or removal of a name survives only after
/// [`Fs::sync_dir`] of its directory. Without a sync each of them may independently survive or be lost.
pub trait Fs: Send + Sync + Debug {
    /// Returns the bytes of a regular file, or `None` if the name does not exist.
    /// Something else than a regular file is `ErrorKind::InvalidInput`; more than `limit` bytes is `FileTooLarge`.
    fn read(&self, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>>;

    /// Returns the bytes from `offset` to the end, or `None` if the name does not exist.
    fn read_from(&self, path: &str, offset: u64) -> io::Result<Option<Vec<u8>>>;

    /// Opens a regular file; `None` if the name does not exist.
    fn open(&self, path: &str, access: Access) -> io::Result<Option<Box<dyn Handle>>>;

    /// Writes the bytes of `from` to `to`, which must not exist yet.
    fn copy(&self, from: &dyn Handle, to: &str) -> io::Result<()>;

    /// Returns the length of a regular file, or `None` if the name does not exist.
    fn size(&self, path: &str) -> io::Result<Option<u64>>;

    /// Whether the name may exist; one look and nothing else.
    fn may_exist(&self, path: &str) -> bool {
        !matches!(self.size(path), Ok(None))
    }

    /// Returns the names in a directory, sorted; none if the directory does not exist.
    fn entries(&self, dir: &str) -> io::Result<Vec<String>>;

    /// Returns the names of the directories in a directory, sorted. A link to one is none.
    fn folders(&self, dir: &str) -> io::Result<Vec<String>>;

    /// Creates one directory (its parent exists). Returns false if it was there already. The root is made with all that is
    /// missing above it, and those names are durable.
    fn create_dir(&self, dir: &str) -> io::Result<bool>;

    /// Creates a file that must not exist yet and writes all of `bytes`.
    fn write_new(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Writes `bytes` at `offset` of a file, creating it if needed.
    fn write_at(&self, path: &str, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes `bytes` at the end of a file, wherever that is by then, creating it if needed.
    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Cuts or extends a file to `length`.
    fn truncate(&self, path: &str, length: u64) -> io::Result<()>;

    /// Makes the bytes of a file survive a power loss.
    fn sync_file(&self, path: &str) -> io::Result<()>;

    /// Makes the names in a directory survive a power loss. The empty path is the root itself.
    fn sync_dir(&self, dir: &str) -> io::Result<()>;

    /// Renames `from` to `to`, replacing what was there, in one step.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Swaps two existing names in one step. `ErrorKind::Unsupported` where the file system cannot.
    fn exchange(&self, one: &str, other: &str) -> io::Result<()>;

    /// Removes a file. Returns false if the name did not exist.
    fn remove(&self, path: &str) -> io::Result<bool>;

    /// Removes a directory that is empty. Returns false if the name did not exist, or if something is in it.
    fn remove_dir(&self, dir: &str) -> io::Result<bool>;

    /// Takes the lock on `path` (created if needed for an exclusive lock), waiting at most `patience`.
    /// `ErrorKind::TimedOut` when it stayed taken; `NotFound` when a shared lock is asked on a missing file.
    fn lock(&self, path: &str, mode: LockMode, patience: Duration) -> io::Result<Box<dyn Lock>>;

    /// Names the boot of the machine; it changes when unsynced data may have been lost.
    fn boot_id(&self) -> io::Result<String>;

    /// Names the mounting of the file system that holds `path`: the same through every mount and in every namespace until
    /// it is mounted anew, when what was not synced may be lost. `None` where that cannot be told.
    fn mounted(&self, path: &str) -> io::Result<Option<u64>>;

    /// Looks directories up anew from now on, as after taking a lock.
    fn forget_dirs(&self) {}

    /// Returns what is known of a regular file without reading it, or `None` if the name does not exist.
    fn stat(&self, path: &str) -> io::Result<Option<Stat>>;

    /// Returns a number that changes with the names in a directory, or `None` if it does not exist.
    fn folder_stamp(&self, dir: &str) -> io::Result<Option<u64>>;

    /// Names the network file system that holds the root, or `None` for a local one.
    fn network_fs(&self) -> io::Result<Option<&'static str>>;

    /// Starts listening for changes in `dirs` (a missing one is waited for). Whatever happens after this
    /// call returned wakes a later [`Events::wait`]; it may also wake for nothing.
    fn events(&self, dirs: &[String]) -> io::Result<Box<dyn Events>>;

    /// Names the user that a file belongs to; `None` where that cannot be told.
    fn owner(&self, _path: &str) -> Option<String> {
        None
    }

    /// Returns where `path` is on the machine, for messages.
    fn display(&self, path: &str) -> String;
}
