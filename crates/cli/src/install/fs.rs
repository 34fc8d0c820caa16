//! The only place that touches files of others: settings, instructions and ignore rules outside our rooms.
//!
//! A file is replaced whole (a new one beside it, renamed over it) with the owner and the permissions that it had. A symbolic link is
//! followed: what it leads to is replaced, and the link stays.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anthill_core::store::file::owners::{self, Rule};
use anthill_live::foreign;
use rustix::fs::{FlockOperation, Mode, flock};

/// How often a lock is asked for.
const PAUSE: Duration = Duration::from_millis(20);

/// Keeps other installations away from a directory for as long as it lives. The directory itself is locked, so that nothing is
/// left behind.
#[derive(Debug)]
pub struct Guard {
    _dir: File,
}

/// Locks a directory, or the nearest one above it that exists; `None` when another process had it for too long.
pub fn lock(dir: &Path, patience: Duration) -> io::Result<Option<Guard>> {
    let dir = dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
    let (dir, start) = (File::open(dir)?, Instant::now());
    loop {
        match flock(&dir, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() >= patience => return Ok(None),
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
            // A file system without locks is no reason not to install.
            _ => return Ok(Some(Guard { _dir: dir })),
        }
    }
}

pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match foreign::read(path, foreign::SETTINGS) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Replaces a file. A new one gets this mode, less what the umask takes.
#[expect(
    clippy::disallowed_methods,
    reason = "files of others are not in a room: they are no business of the store"
)]
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let (dir, temporary) = (path.parent().unwrap_or(Path::new("/")), beside(path));
    make_dirs(dir, 0o777)?;
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        match fs::metadata(path) {
            Ok(about) => {
                owners::keep(file.as_fd(), &about)?;
                file.set_permissions(Permissions::from_mode(about.permissions().mode()))?;
            }
            Err(_) => Rule::of(File::open(dir)?.as_fd())?.hand_over(file.as_fd())?,
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    // The content is whole in any case; whether its name survives a loss of power is up to the file system.
    let _ = File::open(dir).and_then(|dir| dir.sync_all());
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "files of others are not in a room: they are no business of the store"
)]
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn make_dirs(dir: &Path, mode: u32) -> io::Result<()> {
    owners::make_dirs(dir, Mode::from_raw_mode(mode), |_| Ok(())).map(drop)
}

/// Makes a directory that nobody else looks into, apart from a group that shares it.
pub fn private_dir(dir: &Path) -> io::Result<()> {
    make_dirs(dir, 0o700)?;
    let mode = fs::metadata(dir)?.permissions().mode();
    if mode & 0o077 == 0 || owners::is_shared(mode) {
        Ok(())
    } else {
        fs::set_permissions(dir, Permissions::from_mode(0o700))
    }
}

/// Sweeps what a killed installation may have left beside a file.
pub fn sweep(path: &Path) {
    // Removes a link, not what it leads to; a directory of that name makes the write fail.
    let _ = remove(&beside(path));
}

/// Removes a directory if it is empty.
pub fn remove_dir(path: &Path) {
    // What is not empty is in use.
    let _ = fs::remove_dir(path);
}

/// Returns the directories that do not exist above a file, the highest first.
pub fn missing_dirs(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).take_while(|dir| !dir.exists());
    let mut missing: Vec<_> = above.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.anthill-new"))
}
