//! File events: wakes a watcher when something in its directories may have changed.
//!
//! The system has only so many of them for each user. Where none is left we look ourselves: soon after something
//! happened, more and more seldom while nothing does.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use super::fs::Events;
use super::news;

/// How soon we look again after something happened, and how long we wait at most.
const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

/// Says, once, that the system has no events left for us.
fn tell_shortage(limit: &str) {
    static TOLD: OnceLock<()> = OnceLock::new();
    if TOLD.set(()).is_ok() {
        news::tell(&format!(
            "the system has no file events left for this user, so changes are looked for and seen up to a second late; \
             raise the limit: sudo sysctl {limit}=8192"
        ));
    }
}

/// Looks again and again.
struct Looking {
    dirs: Vec<PathBuf>,
    pause: Duration,
    /// When names in the directories changed last.
    seen: Vec<Option<SystemTime>>,
}

impl Looking {
    fn new(dirs: Vec<PathBuf>) -> Looking {
        let mut looking = Looking { dirs, pause: FIRST, seen: Vec::new() };
        looking.seen = looking.look();
        looking
    }

    fn look(&self) -> Vec<Option<SystemTime>> {
        self.dirs.iter().map(|dir| dir.metadata().and_then(|found| found.modified()).ok()).collect()
    }
}

impl Events for Looking {
    /// Wakes after every pause: what was written into a file does not show in its directory.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        let pause = timeout.map_or(self.pause, |timeout| timeout.min(self.pause));
        std::thread::sleep(pause);
        let seen = self.look();
        let changed = seen != self.seen;
        self.seen = seen;
        let slept = pause == self.pause;
        if changed {
            self.pause = FIRST;
        } else if slept {
            self.pause = (self.pause * 2).min(LONGEST);
        }
        Ok(changed || slept)
    }
}

/// The system's events while it has some, and our own looking from then on.
struct Ears {
    events: Box<dyn Events>,
    dirs: Vec<PathBuf>,
}

impl Events for Ears {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        match self.events.wait(timeout) {
            Err(error) => {
                self.events = instead(error, &self.dirs)?;
                // What happened meanwhile, nobody told.
                Ok(true)
            }
            told => told,
        }
    }
}

/// Returns what to do without the system's events, if this error says that none is left.
fn instead(error: io::Error, dirs: &[PathBuf]) -> io::Result<Box<dyn Events>> {
    let limit = limit_of(&error).ok_or(error)?;
    tell_shortage(limit);
    Ok(Box::new(Looking::new(dirs.to_vec())))
}

/// Returns the limit that was reached.
fn limit_of(error: &io::Error) -> Option<&'static str> {
    match rustix::io::Errno::from_io_error(error)? {
        rustix::io::Errno::MFILE => Some("fs.inotify.max_user_instances"),
        rustix::io::Errno::NOSPC => Some("fs.inotify.max_user_watches"),
        _ => None,
    }
}

#[cfg(target_os = "linux")]
pub fn open(dirs: Vec<PathBuf>) -> io::Result<Box<dyn Events>> {
    let events = linux::open(dirs.clone()).or_else(|error| instead(error, &dirs))?;
    Ok(Box::new(Ears { events, dirs }))
}

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

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[derive(Debug)]
    struct Fails(Errno);

    impl Events for Fails {
        fn wait(&mut self, _: Option<Duration>) -> io::Result<bool> {
            Err(self.0.into())
        }
    }

    fn ears(errno: Errno) -> Ears {
        Ears { events: Box::new(Fails(errno)), dirs: Vec::new() }
    }

    #[test]
    fn without_events_we_look_ourselves() {
        for errno in [Errno::NOSPC, Errno::MFILE] {
            let mut ears = ears(errno);
            assert!(ears.wait(None).unwrap(), "what happened meanwhile, nobody told");
            assert!(ears.wait(Some(LONGEST)).unwrap(), "it looks after a pause");
            assert!(!ears.wait(Some(Duration::from_millis(1))).unwrap(), "the time is up");
        }
        assert!(ears(Errno::IO).wait(None).is_err(), "what is no shortage is told");
    }

    #[test]
    fn it_looks_more_seldom_until_something_happens() {
        let dir = tempfile::tempdir().unwrap();
        let mut looking = Looking::new(vec![dir.path().into(), dir.path().join("not/there")]);
        let mut pauses = Vec::new();
        for _ in 0..3 {
            pauses.push(looking.pause);
            assert!(looking.wait(None).unwrap());
        }
        assert_eq!(pauses, [FIRST, FIRST * 2, FIRST * 4]);
        std::fs::create_dir(dir.path().join("new")).unwrap();
        assert!(looking.wait(Some(Duration::from_millis(1))).unwrap(), "something happened");
        assert_eq!(looking.pause, FIRST);
        looking.pause = Duration::from_millis(900);
        looking.wait(None).unwrap();
        assert_eq!(looking.pause, LONGEST);
    }
}
