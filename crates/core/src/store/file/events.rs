//! File events: wakes a watcher when something in its directories may have changed.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::fs::Events;

#[cfg(target_os = "linux")]
pub use linux::open;

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    use rustix::io::Errno;

    use super::*;

    /// Listens to directories by inotify. A directory that does not exist yet is waited for at its
    /// nearest ancestor.
    struct Inotify {
        fd: OwnedFd,
        dirs: Vec<PathBuf>,
        /// The number that the system gave to the watch for each of them.
        watches: Vec<Option<i32>>,
    }

    pub fn open(dirs: Vec<PathBuf>) -> io::Result<Box<dyn Events>> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut events = Inotify { fd, dirs, watches: Vec::new() };
        events.arm()?;
        Ok(Box::new(events))
    }

    impl Inotify {
        /// Watches every directory, and returns whether one of them is another than before; adding a watch that is
        /// there already changes nothing.
        fn arm(&mut self) -> io::Result<bool> {
            let watches = self.dirs.iter().map(|dir| self.arm_one(dir)).collect::<io::Result<Vec<_>>>()?;
            Ok(std::mem::replace(&mut self.watches, watches) != self.watches)
        }

        fn arm_one(&self, dir: &Path) -> io::Result<Option<i32>> {
            for ancestor in dir.ancestors() {
                let Some(watch) = self.add(ancestor)? else { continue };
                // It may have appeared between the failed attempt and the watch on its parent.
                let missed = ancestor != dir
                    && dir.strip_prefix(ancestor).is_ok_and(|rest| {
                        rest.components().next().is_some_and(|next| ancestor.join(next).is_dir())
                    });
                if !missed {
                    return Ok(Some(watch));
                }
                return self.arm_one(dir);
            }
            Ok(None)
        }

        fn add(&self, dir: &Path) -> io::Result<Option<i32>> {
            let flags = WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MODIFY
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::MOVE
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
            match inotify::add_watch(&self.fd, dir, flags) {
                Ok(watch) => Ok(Some(watch)),
                Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
                Err(errno) => Err(errno.into()),
            }
        }

        /// Takes what happened off the list. What one read does not take wakes the next wait.
        fn drain(&self) -> io::Result<()> {
            match rustix::io::read(&self.fd, &mut [0; 4096]) {
                Ok(_) | Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(()),
                Err(errno) => Err(errno.into()),
            }
        }
    }

    impl Events for Inotify {
        fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
            // Before the sleep, when nobody waits for us. What happened in a directory before it was watched, nobody told.
            if self.arm()? {
                return Ok(true);
            }
            let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
            let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            self.drain()?;
            Ok(true)
        }
    }
}

/// Elsewhere: looks again twenty times a second.
#[cfg(not(target_os = "linux"))]
pub fn open(_: Vec<PathBuf>) -> io::Result<Box<dyn Events>> {
    struct Interval;
    impl Events for Interval {
        fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
            let pause = timeout.unwrap_or(Duration::MAX).min(Duration::from_millis(50));
            std::thread::sleep(pause);
            Ok(timeout.is_none_or(|timeout| pause < timeout))
        }
    }
    Ok(Box::new(Interval))
}
