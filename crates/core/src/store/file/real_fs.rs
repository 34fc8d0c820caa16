//! The file system of the machine.
//!
//! Everything is opened relative to a handle of the root, beneath it and without following links, so that
//! a planted symbolic link or a FIFO is refused instead of obeyed.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, ResolveFlags, Timespec};
use rustix::io::{Errno, retry_on_intr};
use xxhash_rust::xxh3::xxh3_64;

use super::fs::{Access, Events, Fs, Handle, Identity, Lock, LockMode, Stat};
#[cfg(target_os = "linux")]
use super::kernel;
use super::owners::{self, Rule};

const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const DIR_MODE: Mode = Mode::from_raw_mode(0o700);

/// A root directory on a disk.
#[derive(Debug)]
pub struct RealFs {
    root: Root,
    /// The root, once it was there.
    handle: OnceLock<OwnedFd>,
    /// Directories that were opened since the last lock was taken.
    dirs: Mutex<Vec<(String, Arc<Dir>)>>,
}

/// A directory that names are made, changed or removed in.
#[derive(Debug)]
struct Dir {
    fd: OwnedFd,
    rule: OnceLock<Rule>,
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Dir {
    /// Returns what becomes of new names in it.
    fn rule(&self) -> io::Result<Rule> {
        if let Some(rule) = self.rule.get() {
            return Ok(*rule);
        }
        let rule = Rule::of(self.as_fd())?;
        Ok(*self.rule.get_or_init(|| rule))
    }
}

/// A directory that may have to be looked for.
struct Root {
    find: Box<dyn Fn() -> io::Result<PathBuf> + Send + Sync>,
    found: OnceLock<PathBuf>,
}

impl Root {
    fn path(&self) -> io::Result<&Path> {
        if let Some(path) = self.found.get() {
            return Ok(path);
        }
        let path = (self.find)()?;
        Ok(self.found.get_or_init(|| path))
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.found.fmt(formatter)
    }
}

impl RealFs {
    pub fn new(root: impl Into<PathBuf>) -> RealFs {
        let root = root.into();
        RealFs::found_by(move || Ok(root.clone()))
    }

    /// Makes one whose root is looked for when it is needed first.
    pub fn found_by(find: impl Fn() -> io::Result<PathBuf> + Send + Sync + 'static) -> RealFs {
        let root = Root { find: Box::new(find), found: OnceLock::new() };
        RealFs { root, handle: OnceLock::new(), dirs: Mutex::default() }
    }

    fn root(&self) -> io::Result<BorrowedFd<'_>> {
        if let Some(root) = self.handle.get() {
            return Ok(root.as_fd());
        }
        let root =
            sys::open(self.root.path()?, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(self.handle.get_or_init(|| root).as_fd())
    }

    fn open(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let root = self.root()?;
        if path.is_empty() {
            return Ok(sys::openat(root, ".", flags | OFlags::CLOEXEC, Mode::empty())?);
        }
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let opened = match retry_on_intr(|| sys::openat2(root, path, flags, Mode::empty(), resolve)) {
            // Old kernels and strict sandboxes lack openat2: walk down by hand.
            Err(Errno::NOSYS | Errno::PERM) => walk(root, path, flags),
            other => other,
        };
        opened.map_err(told)
    }

    /// Makes a file that must not exist yet.
    fn create(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let (dir, name) = self.parent(path)?;
        let (rule, flags) =
            (dir.rule()?, flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC);
        let made = retry_on_intr(|| sys::openat(&dir, name, flags, FILE_MODE)).map_err(told)?;
        rule.hand_over(made.as_fd())?;
        Ok(made)
    }

    /// Opens a file, making it if needed.
    fn open_or_create(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        loop {
            match self.open(path, flags) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => return opened,
            }
            match self.create(path, flags) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made,
            }
        }
    }

    /// Opens a directory, unless it was opened since the last lock was taken.
    fn known_dir(&self, dir: &str) -> io::Result<Arc<Dir>> {
        let mut known = self.dirs();
        if let Some((_, dir)) = known.iter().find(|(path, _)| path == dir) {
            return Ok(Arc::clone(dir));
        }
        let fd = self.open(dir, OFlags::PATH | OFlags::DIRECTORY)?;
        let opened = Arc::new(Dir { fd, rule: OnceLock::new() });
        known.push((dir.to_owned(), Arc::clone(&opened)));
        Ok(opened)
    }

    /// Opens the directory that holds `path` and returns it with the last part of the name.
    fn parent<'p>(&self, path: &'p str) -> io::Result<(Arc<Dir>, &'p str)> {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.known_dir(dir)?, name))
    }

    fn dirs(&self) -> MutexGuard<'_, Vec<(String, Arc<Dir>)>> {
        self.dirs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn regular(&self, path: &str, flags: OFlags) -> io::Result<File> {
        let file = File::from(self.open(path, flags | OFlags::NONBLOCK)?);
        measured(file).map(|(file, _)| file)
    }

    /// The same, making it if needed.
    fn regular_or_new(&self, path: &str, flags: OFlags) -> io::Result<File> {
        let file = File::from(self.open_or_create(path, flags | OFlags::NONBLOCK)?);
        measured(file).map(|(file, _)| file)
    }

    /// Returns the names in a directory that somebody wants, sorted.
    fn names(&self, dir: &str, wanted: impl Fn(&OwnedFd, &sys::DirEntry) -> bool) -> io::Result<Vec<String>> {
        let Some(fd) = absent_as_none(self.open(dir, OFlags::RDONLY | OFlags::DIRECTORY))? else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in sys::Dir::read_from(&fd)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            if name != "." && name != ".." && wanted(&fd, &entry) {
                names.push(name.into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn existing(&self, path: &str) -> io::Result<Option<(File, u64)>> {
        let opened = absent_as_none(self.open(path, OFlags::RDONLY | OFlags::NONBLOCK))?;
        opened.map(|file| measured(file.into())).transpose()
    }
}

/// Makes a root and what is missing above it, each name durable before the next. Returns false if it was there already.
fn make_root(root: &Path) -> io::Result<bool> {
    owners::make_dirs(root, DIR_MODE, |above| File::open(above)?.sync_all())
}

/// Says how long a file is, which must be a regular one.
fn measured(file: File) -> io::Result<(File, u64)> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(irregular(NO_FILE));
    }
    Ok((file, metadata.len()))
}

fn told(errno: Errno) -> io::Error {
    match errno {
        Errno::LOOP => irregular("a symbolic link"),
        // A directory, or a socket or pipe that nobody listens to.
        Errno::ISDIR | Errno::NXIO => irregular(NO_FILE),
        errno => errno.into(),
    }
}

const NO_FILE: &str = "not a regular file";

fn walk(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let (dirs, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut at: Option<OwnedFd> = None;
    for part in dirs.split('/').filter(|part| !part.is_empty()) {
        let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        at = Some(sys::openat(at.as_ref().map_or(root, AsFd::as_fd), part, step, Mode::empty())?);
    }
    sys::openat(at.as_ref().map_or(root, AsFd::as_fd), name, flags, Mode::empty())
}

fn irregular(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

fn check_regular(mode: sys::RawMode) -> io::Result<()> {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Ok(()),
        _ => Err(irregular(NO_FILE)),
    }
}

fn absent_as_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Fs for RealFs {
    fn read(&self, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let Some((file, length)) = self.existing(path)? else { return Ok(None) };
        let bytes = read_at(&file, 0, usize::try_from(length.min(limit)).unwrap_or(usize::MAX - 1) + 1)?;
        match bytes.len() as u64 > limit {
            true => Err(io::ErrorKind::FileTooLarge.into()),
            false => Ok(Some(bytes)),
        }
    }

    fn read_from(&self, path: &str, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let Some((file, length)) = self.existing(path)? else { return Ok(None) };
        read_at(&file, offset, length.saturating_sub(offset) as usize).map(Some)
    }

    fn open(&self, path: &str, access: Access) -> io::Result<Option<Box<dyn Handle>>> {
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::RDWR,
            Access::Append => OFlags::WRONLY | OFlags::APPEND,
            Access::Create => OFlags::RDWR,
        } | OFlags::NONBLOCK;
        let opened = match access {
            Access::Create => self.open_or_create(path, flags),
            _ => self.open(path, flags),
        };
        let opened = absent_as_none(opened)?;
        let Some(file) = opened.map(File::from) else { return Ok(None) };
        let opened = stat(file.as_fd())?;
        Ok(Some(Box::new(RealFile { file, opened })))
    }

    fn copy(&self, from: &dyn Handle, to: &str) -> io::Result<()> {
        let to = File::from(self.create(to, OFlags::WRONLY)?);
        let mut at = 0;
        loop {
            let piece = from.read_at(at, PIECE)?;
            if piece.is_empty() {
                return Ok(());
            }
            to.write_all_at(&piece, at)?;
            at += piece.len() as u64;
        }
    }

    fn size(&self, path: &str) -> io::Result<Option<u64>> {
        let Some(fd) = absent_as_none(self.open(path, OFlags::PATH))? else { return Ok(None) };
        let stat = sys::fstat(&fd)?;
        check_regular(stat.st_mode)?;
        Ok(Some(stat.st_size as u64))
    }

    fn may_exist(&self, path: &str) -> bool {
        // Without a handle of the root, which nobody may have needed yet.
        let Ok(root) = self.root.path() else { return false };
        sys::access(root.join(path), sys::Access::EXISTS) != Err(Errno::NOENT)
    }

    fn entries(&self, dir: &str) -> io::Result<Vec<String>> {
        self.names(dir, |_, _| true)
    }

    fn folders(&self, dir: &str) -> io::Result<Vec<String>> {
        let looked_at = |dir: &OwnedFd, entry: &sys::DirEntry| {
            let stat = sys::statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
        };
        self.names(dir, |dir, entry| match entry.file_type() {
            FileType::Unknown => looked_at(dir, entry),
            known => known == FileType::Directory,
        })
    }

    fn create_dir(&self, dir: &str) -> io::Result<bool> {
        if dir.is_empty() {
            return make_root(self.root.path()?);
        }
        // Most are there, and whoever asks for one puts a name into it next.
        if absent_as_none(self.known_dir(dir))?.is_some() {
            return Ok(false);
        }
        let (parent, name) = self.parent(dir)?;
        match parent.rule()?.make_dir(parent.as_fd(), Path::new(name), DIR_MODE)? {
            true => Ok(true),
            false => self.known_dir(dir).map(|_| false),
        }
    }

    fn write_new(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let file = File::from(self.create(path, OFlags::WRONLY)?);
        write_pieces(&file, 0, bytes, PIECE)
    }

    fn write_at(&self, path: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.regular_or_new(path, OFlags::WRONLY)?.write_all_at(bytes, offset)
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.regular_or_new(path, OFlags::WRONLY | OFlags::APPEND)?.write_all(bytes)
    }

    fn truncate(&self, path: &str, length: u64) -> io::Result<()> {
        self.regular(path, OFlags::WRONLY)?.set_len(length)
    }

    fn sync_file(&self, path: &str) -> io::Result<()> {
        self.regular(path, OFlags::RDONLY)?.sync_data()
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        File::from(self.open(dir, OFlags::RDONLY | OFlags::DIRECTORY)?).sync_all()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let ((from_dir, from), (to_dir, to)) = (self.parent(from)?, self.parent(to)?);
        Ok(sys::renameat(&from_dir, from, &to_dir, to)?)
    }

    #[cfg(target_os = "linux")]
    fn exchange(&self, one: &str, other: &str) -> io::Result<()> {
        let ((one_dir, one), (other_dir, other)) = (self.parent(one)?, self.parent(other)?);
        match sys::renameat_with(&one_dir, one, &other_dir, other, sys::RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::Unsupported.into()),
            other => Ok(other?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn exchange(&self, _: &str, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&self, path: &str) -> io::Result<bool> {
        let Some((dir, name)) = absent_as_none(self.parent(path))? else { return Ok(false) };
        let removed = sys::unlinkat(&dir, name, AtFlags::empty()).map_err(io::Error::from);
        Ok(absent_as_none(removed)?.is_some())
    }

    fn remove_dir(&self, dir: &str) -> io::Result<bool> {
        let Some((above, name)) = absent_as_none(self.parent(dir))? else { return Ok(false) };
        self.dirs().retain(|(known, _)| known != dir);
        match sys::unlinkat(&above, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            other => Ok(other.map(|()| true)?),
        }
    }

    fn lock(&self, path: &str, mode: LockMode, patience: Duration) -> io::Result<Box<dyn Lock>> {
        loop {
            // Others may have moved or replaced directories, last while they had the room.
            self.dirs().clear();
            let file = match mode {
                LockMode::Shared => self.open(path, OFlags::RDONLY | OFlags::NONBLOCK)?,
                LockMode::Exclusive => self.open_or_create(path, OFlags::RDWR | OFlags::NONBLOCK)?,
            };
            let locked = take_lock(file.into(), mode, patience)?;
            self.dirs().clear();
            let stat = sys::fstat(locked.0.as_fd())?;
            check_regular(stat.st_mode)?;
            // A lock file that someone deleted meanwhile excludes nobody any more.
            if stat.st_nlink > 0 {
                return Ok(Box::new(locked));
            }
        }
    }

    fn boot_id(&self) -> io::Result<String> {
        Ok(boot_id()?.unwrap_or("unknown").to_owned())
    }

    #[cfg(target_os = "linux")]
    fn mounted(&self, path: &str) -> io::Result<Option<u64>> {
        let Some((file, _)) = self.existing(path)? else { return Ok(None) };
        Ok(super::mounted::number(&file))
    }

    #[cfg(not(target_os = "linux"))]
    fn mounted(&self, _: &str) -> io::Result<Option<u64>> {
        Ok(None)
    }

    fn forget_dirs(&self) {
        self.dirs().clear();
    }

    fn stat(&self, path: &str) -> io::Result<Option<Stat>> {
        let flags = if cfg!(target_os = "linux") { OFlags::PATH } else { OFlags::RDONLY };
        absent_as_none(self.open(path, flags))?.map(|file| stat(file.as_fd())).transpose()
    }

    fn folder_stamp(&self, dir: &str) -> io::Result<Option<u64>> {
        // Opened anew: whoever waits for its next change takes no lock.
        let opened = self.open(dir, OFlags::PATH | OFlags::DIRECTORY);
        let Some(fd) = absent_as_none(opened)? else { return Ok(None) };
        let stat = sys::fstat(&fd)?;
        let modified = nanoseconds(stat.st_mtime, stat.st_mtime_nsec as u32);
        let changed = nanoseconds(stat.st_ctime, stat.st_ctime_nsec as u32);
        // Most file systems count the folders in a folder as its names, also within a tick of their clock.
        let names = i128::from(stat.st_nlink);
        let parts = [i128::from(stat.st_ino), modified, changed, names].map(i128::to_le_bytes);
        Ok(Some(xxh3_64(parts.as_flattened())))
    }

    #[cfg(target_os = "linux")]
    fn network_fs(&self) -> io::Result<Option<&'static str>> {
        if let Ok(stat) = self.root().and_then(|root| Ok(sys::fstatfs(root)?)) {
            return Ok(network_name(stat.f_type as u32));
        }
        let mut place = self.root.path()?;
        while !place.exists() {
            let Some(parent) = place.parent() else { return Ok(None) };
            place = parent;
        }
        let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
        Ok(network_name(sys::statfs(place)?.f_type as u32))
    }

    #[cfg(not(target_os = "linux"))]
    fn network_fs(&self) -> io::Result<Option<&'static str>> {
        Ok(None)
    }

    fn events(&self, dirs: &[String]) -> io::Result<Box<dyn Events>> {
        let root = self.root.path()?;
        super::events::open(dirs.iter().map(|dir| root.join(dir)).collect())
    }

    fn owner(&self, path: &str) -> Option<String> {
        let flags = if cfg!(target_os = "linux") { OFlags::PATH } else { OFlags::RDONLY };
        let file = self.open(path, flags).ok()?;
        Some(user_name(sys::fstat(&file).ok()?.st_uid))
    }

    fn display(&self, path: &str) -> String {
        // A root that cannot be found has told why by now.
        self.root.path().unwrap_or(Path::new("")).join(path).display().to_string()
    }
}

/// How much is written at once. The page cache keeps what is written together as one piece, and on Linux 6.18 a later
/// small write into a file on ext4 goes through all blocks of the piece that it hits.
const PIECE: usize = 16 << 10;

/// The same for what is not written again: half the work of writing and syncing it. Not all at once, because the largest
/// pages are often ones that a virtual machine has to ask its host for, which takes ten times as long.
const LARGE_PIECE: usize = 64 << 10;

/// Reads at most `length` bytes; a read of a regular file that gives less has come to its end.
fn read_at(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(count) if filled + count < length && count < MOST_READ => {
                filled += count;
                break;
            }
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// The system does not read more than this at once.
const MOST_READ: usize = 0x7fff_f000;

fn write_pieces(file: &File, mut offset: u64, bytes: &[u8], length: usize) -> io::Result<()> {
    for piece in bytes.chunks(length) {
        file.write_all_at(piece, offset)?;
        offset += piece.len() as u64;
    }
    Ok(())
}

#[derive(Debug)]
struct RealFile {
    file: File,
    opened: Stat,
}

impl Handle for RealFile {
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        read_at(&self.file, offset, length)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_pieces(&self.file, offset, bytes, PIECE)
    }

    fn write_for_good(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_pieces(&self.file, offset, bytes, LARGE_PIECE)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn begin_sync(&self) {
        // Linux starts to write out what it could then forget.
        let _ = sys::fadvise(&self.file, 0, None, sys::Advice::DontNeed);
    }

    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.file).write_all(bytes)
    }

    fn opened(&self) -> &Stat {
        &self.opened
    }

    fn look(&self) -> io::Result<Stat> {
        stat(self.file.as_fd())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "nobody is told this time: it tells one change from another"
    )]
    fn mark(&self) -> io::Result<Stat> {
        // The clock that processes see is finer than the one that the file system stamps with.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Timespec::try_from(now).map_err(|_| io::ErrorKind::InvalidData)?;
        let times = sys::Timestamps { last_access: now, last_modification: now };
        sys::futimens(&self.file, &times)?;
        stat(self.file.as_fd())
    }

    #[cfg(target_os = "linux")]
    fn is_alone(&self) -> io::Result<bool> {
        kernel::is_alone(&self.file)
    }

    #[cfg(not(target_os = "linux"))]
    fn is_alone(&self) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Asks for the number of the mount that no other one ever has, since Linux 6.8. (The older number is given away again,
/// most often to the same disk.)
#[cfg(target_os = "linux")]
const MOUNT: sys::StatxFlags = sys::StatxFlags::from_bits_retain(0x4000);

#[cfg(target_os = "linux")]
fn stat(file: BorrowedFd<'_>) -> io::Result<Stat> {
    let wanted = sys::StatxFlags::BASIC_STATS | sys::StatxFlags::BTIME | MOUNT;
    match sys::statx(file, "", AtFlags::EMPTY_PATH, wanted) {
        Ok(stat) => {
            check_regular(u32::from(stat.stx_mode))?;
            let born = nanoseconds(stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec);
            let modified = nanoseconds(stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec);
            let (identity, names) = (Some(Identity { inode: stat.stx_ino, born }), stat.stx_nlink.into());
            let mount = (stat.stx_mask & MOUNT.bits() != 0).then_some(stat.stx_mnt_id);
            Ok(Stat { size: stat.stx_size, identity, modified, names, mount })
        }
        Err(Errno::NOSYS | Errno::PERM) => {
            let stat = sys::fstat(file)?;
            check_regular(stat.st_mode)?;
            let modified = nanoseconds(stat.st_mtime, stat.st_mtime_nsec as u32);
            let (size, names) = (stat.st_size as u64, stat.st_nlink as u64);
            Ok(Stat { size, identity: None, modified, names, mount: None })
        }
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn stat(file: BorrowedFd<'_>) -> io::Result<Stat> {
    let stat = sys::fstat(file)?;
    check_regular(stat.st_mode)?;
    let identity = Some(Identity { inode: stat.st_ino, born: 0 });
    let modified = nanoseconds(stat.st_mtime, stat.st_mtime_nsec as u32);
    Ok(Stat { size: stat.st_size as u64, identity, modified, names: stat.st_nlink as u64, mount: None })
}

/// Returns the name of a user, or its number where nobody has named it.
pub fn user_name(uid: u32) -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut fields = users.lines().map(|line| line.split(':'));
    let named = fields.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| format!("uid-{uid}"))
}

fn nanoseconds(seconds: i64, nanoseconds: u32) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

/// Returns how long the machine has been up, sleep included, where the system tells it.
pub fn uptime() -> Option<Duration> {
    #[cfg(target_os = "linux")]
    return kernel::uptime();
    #[cfg(not(target_os = "linux"))]
    None
}

/// Names the boot of the machine, where the system tells it.
pub fn boot_id() -> io::Result<Option<&'static str>> {
    /// A process does not outlive its boot.
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    if BOOT.get().is_none() {
        let _ = BOOT.set(read_boot_id()?);
    }
    Ok(BOOT.get().and_then(Option::as_deref))
}

fn read_boot_id() -> io::Result<Option<String>> {
    let path = "/proc/sys/kernel/random/boot_id";
    let opened = sys::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(io::Error::from);
    let Some(file) = absent_as_none(opened)? else { return Ok(None) };
    let mut id = [0; 64];
    let length = retry_on_intr(|| rustix::io::read(&file, &mut id))?;
    Ok(Some(String::from_utf8_lossy(&id[..length]).trim().to_owned()))
}

#[derive(Debug)]
struct HeldLock(File);

impl Lock for HeldLock {
    fn share(&self) -> Option<OwnedFd> {
        self.0.try_clone().ok().map(Into::into)
    }
}

fn take_lock(file: File, mode: LockMode, patience: Duration) -> io::Result<HeldLock> {
    let attempt = match mode {
        LockMode::Shared => file.try_lock_shared(),
        LockMode::Exclusive => file.try_lock(),
    };
    match attempt {
        Ok(()) => return Ok(HeldLock(file)),
        Err(std::fs::TryLockError::WouldBlock) if patience.is_zero() => {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Err(std::fs::TryLockError::WouldBlock) => {}
        Err(std::fs::TryLockError::Error(error)) => return Err(error),
    }
    wait_for_lock(file, mode, patience)
}

#[cfg(target_os = "linux")]
fn wait_for_lock(file: File, mode: LockMode, patience: Duration) -> io::Result<HeldLock> {
    match kernel::lock_within(&file, mode == LockMode::Exclusive, patience)? {
        true => Ok(HeldLock(file)),
        false => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Waits in a thread, for nothing else can stop waiting.
#[cfg(not(target_os = "linux"))]
fn wait_for_lock(file: File, mode: LockMode, patience: Duration) -> io::Result<HeldLock> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let wait = || match mode {
            LockMode::Shared => file.lock_shared(),
            LockMode::Exclusive => file.lock(),
        };
        let mut result = wait();
        while result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
            result = wait();
        }
        // Nobody listens any more after the patience ran out: then dropping the file unlocks it.
        let _ = sender.send(result.map(|()| HeldLock(file)));
    });
    receiver.recv_timeout(patience).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Names the file systems whose locks or renames may not hold across machines.
#[cfg(target_os = "linux")]
fn network_name(magic: u32) -> Option<&'static str> {
    let name = match magic {
        0x6969 => "nfs",
        0x517b | 0xfe53_4d42 => "smb",
        0xff53_4d42 => "cifs",
        0x5346_414f | 0x6b41_4653 => "afs",
        0x7375_7245 => "coda",
        0x564c => "ncp",
        0x0102_1997 => "9p",
        0x00c3_6400 => "ceph",
        0x0bd0_0bd0 => "lustre",
        _ => return None,
    };
    Some(name)
}
