//! Whose the files are that we make, and who may use them.
//!
//! The directory that a name is made in decides. What root makes belongs to that directory's owner and group: one command as root in
//! the project of a user must not lock the user out. Where a directory is shared on purpose (it has the set-group-ID bit and its group
//! may write, others may not), its group may use what is made in it: files have 0660 and directories 2770, whatever the umask is. Everything else is
//! for its maker alone: 0600 and 0700.
//!
//! Everything is done to what is open, so no link can lead it astray.

use std::fs::Metadata;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{self as sys, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

/// What tells that a directory is shared: its group may write, and what is made in it belongs to that group.
const SHARED: u32 = 0o2020;
const OTHERS_WRITE: u32 = 0o002;

/// What a group is allowed where a directory is shared.
const FILE_SHARED: sys::RawMode = 0o060;
const DIR_SHARED: sys::RawMode = 0o2070;

/// What becomes of a new name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Who gets what we make, unless it is ours.
    owner: Option<(u32, u32)>,
    /// Whether the group may use it.
    shared: bool,
}

impl Rule {
    pub fn of(dir: BorrowedFd<'_>) -> io::Result<Rule> {
        let dir = sys::fstat(dir)?;
        let owner = Some((dir.st_uid, dir.st_gid)).filter(|owner| is_root() && *owner != (0, 0));
        Ok(Rule { owner, shared: is_shared(dir.st_mode) })
    }

    /// Gives a file that we have just made to whom it belongs.
    pub fn hand_over(self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.hand_over_with(file, FILE_SHARED)
    }

    fn hand_over_with(self, made: BorrowedFd<'_>, group: sys::RawMode) -> io::Result<()> {
        if let Some((user, group)) = self.owner {
            give(made, user, group)?;
        }
        if self.shared {
            let mode = Mode::from_raw_mode(sys::fstat(made)?.st_mode & 0o7777 | group);
            allowed(sys::fchmod(made, mode))?;
        }
        Ok(())
    }

    /// Makes a directory in the one that this rule is of. Returns false if the name is taken.
    pub fn make_dir(self, parent: BorrowedFd<'_>, name: &Path, mode: Mode) -> io::Result<bool> {
        match sys::mkdirat(parent, name, mode) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
        if self.owner.is_some() || self.shared {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let made = sys::openat(parent, name, flags, Mode::empty())?;
            // Others may have put another directory of ours in its place: an empty one gives nothing away.
            if sys::fstat(&made)?.st_uid == rustix::process::geteuid().as_raw() && is_empty(&made)? {
                self.hand_over_with(made.as_fd(), DIR_SHARED)?;
            }
        }
        Ok(true)
    }
}

/// Lets a file that takes the place of another one have its owner and group, as far as we may decide that.
pub fn keep(file: BorrowedFd<'_>, replaced: &Metadata) -> io::Result<()> {
    let made = sys::fstat(file)?;
    if (made.st_uid, made.st_gid) == (replaced.uid(), replaced.gid()) {
        return Ok(());
    }
    give(file, if is_root() { replaced.uid() } else { made.st_uid }, replaced.gid())
}

fn give(made: BorrowedFd<'_>, user: u32, group: u32) -> io::Result<()> {
    allowed(sys::fchown(made, Some(Uid::from_raw(user)), Some(Gid::from_raw(group))))
}

/// Makes a directory and what is missing above it, for the owner of what is there. Returns whether something was missing; `each` is told
/// in which directory a name was made.
pub fn make_dirs(dir: &Path, mode: Mode, mut each: impl FnMut(&Path) -> io::Result<()>) -> io::Result<bool> {
    let missing = dir.ancestors().take_while(|dir| !dir.is_dir() && !dir.as_os_str().is_empty());
    let missing: Vec<_> = missing.collect();
    for dir in missing.iter().rev() {
        let above = dir.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = sys::open(above, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let name = Path::new(dir.file_name().ok_or(io::ErrorKind::InvalidInput)?);
        if !Rule::of(parent.as_fd())?.make_dir(parent.as_fd(), name, mode)? && !dir.is_dir() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        each(above)?;
    }
    Ok(!missing.is_empty())
}

/// Whether a directory of this mode is shared on purpose. Where everybody may write, nobody is a member.
pub fn is_shared(mode: impl Into<u32>) -> bool {
    let mode = mode.into();
    mode & SHARED == SHARED && mode & OTHERS_WRITE == 0
}

fn is_root() -> bool {
    static ROOT: OnceLock<bool> = OnceLock::new();
    *ROOT.get_or_init(|| rustix::process::geteuid().is_root())
}

fn is_empty(dir: &OwnedFd) -> io::Result<bool> {
    for entry in sys::Dir::read_from(dir)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A root without that power (in a container, say) and a file system without owners leave things as they are.
fn allowed(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::PERM | Errno::INVAL | Errno::NOTSUP | Errno::NOSYS) => Ok(()),
        other => Ok(other?),
    }
}
