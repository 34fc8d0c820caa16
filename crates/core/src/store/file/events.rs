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
    }

    pub fn open(dirs: Vec<PathBuf>) -> io::Result<Box<dyn Events>> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let events = Inotify { fd, dirs };
        events.arm()?;
        Ok(Box::new(events))
    }

    impl Inotify {
        /// Watches every directory; adding a watch that is there already changes nothing.
        fn arm(&self) -> io::Result<()> {
            self.dirs.iter().try_for_each(|dir| self.arm_one(dir))
        }

        fn arm_one(&self, dir: &Path) -> io::Result<()> {
            for ancestor in dir.ancestors() {
                if !self.add(ancestor)? {
                    continue;
                }
                // It may have appeared between the failed attempt and the watch on its parent.
                let missed = ancestor != dir
                    && dir.strip_prefix(ancestor).is_ok_and(|rest| {
                        rest.components().next().is_some_and(|next| ancestor.join(next).is_dir())
                    });
                if !missed {
                    return Ok(());
                }
                return self.arm_one(dir);
            }
            Ok(())
        }

        fn add(&self, dir: &Path) -> io::Result<bool> {
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
                Ok(_) => Ok(true),
                Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
                Err(errno) => Err(errno.into()),
            }
        }

        fn drain(&self) -> io::Result<()> {
            let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
            let mut reader = inotify::Reader::new(&self.fd, &mut buffer);
            loop {
                match reader.next() {
                    Ok(_) => {}
                    Err(Errno::WOULDBLOCK) => return Ok(()),
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
        }
    }

    impl Events for Inotify {
        fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
            let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
            let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            self.drain()?;
            self.arm()?;
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
