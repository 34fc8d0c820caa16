//! If the runner is killed without warning, its commands and all that they started are killed too.
//!
//! The watchdog is a small process of its own that the runner tells which process groups it has. When the
//! runner is gone, for whatever reason, the pipe between them closes, what is left is killed, and the
//! directory of its task files is removed. The parent death signal of Linux would reach a command only, not what the command has started.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

use super::task_file;

/// The runner's end of the leash.
#[derive(Debug)]
pub struct Watchdog(io::Result<Mutex<Child>>);

impl Watchdog {
    /// Starts the program, in a group that no signal for the runner reaches.
    pub fn start(program: Option<&[OsString]>) -> Watchdog {
        Watchdog::start_holding(program, None)
    }

    /// The same for a runner that has something which must not be free before all its commands are gone.
    pub fn start_holding(program: Option<&[OsString]>, held: Option<OwnedFd>) -> Watchdog {
        let Some([program, arguments @ ..]) = program else {
            return Watchdog(Err(io::Error::other("there is no watchdog")));
        };
        let child = Command::new(program)
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::piped())
            // It has nothing to say; an open file is passed on without ado.
            .stdout(held.map_or_else(Stdio::null, Stdio::from))
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        Watchdog(child.map(Mutex::new))
    }

    /// Says why there is none.
    pub fn trouble(&self) -> Result<(), &io::Error> {
        self.0.as_ref().map(drop)
    }

    /// Names the directory to remove.
    pub fn tidy(&self, dir: &Path) {
        self.say(&dir.display().to_string());
    }

    pub fn guard(&self, group: Pid) {
        self.say(&format!("+{}", group.as_raw_pid()));
    }

    /// To be called while the number still belongs to the group.
    pub fn forget(&self, group: Pid) {
        self.say(&format!("-{}", group.as_raw_pid()));
    }

    fn say(&self, line: &str) {
        let Ok(child) = &self.0 else { return };
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe) = &mut child.stdin {
            // A watchdog that somebody killed guards nothing any more.
            let _ = writeln!(pipe, "{line}");
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Ok(child) = &mut self.0 {
            // Waiting closes the pipe first.
            let _ = child.get_mut().unwrap_or_else(PoisonError::into_inner).wait();
        }
    }
}

/// The watchdog's end: reads what there is, and ends what is left at the end.
pub fn watch(runner: impl BufRead) {
    let (groups, dir) = left(runner);
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process_group(group, Signal::KILL);
    }
    if let Some(dir) = dir {
        // A runner that ended well has removed it.
        let _ = std::fs::remove_dir_all(dir);
    }
}

fn left(runner: impl BufRead) -> (BTreeSet<i32>, Option<PathBuf>) {
    let (mut groups, mut dir) = (BTreeSet::new(), None);
    for line in runner.lines().map_while(Result::ok) {
        let path = Path::new(&line);
        if path.is_absolute() && task_file::is_ours(path) {
            dir = Some(path.to_owned());
            continue;
        }
        match line.split_at_checked(1).map(|(sign, group)| (sign, group.parse())) {
            Some(("+", Ok(group @ 2..))) => drop(groups.insert(group)),
            Some(("-", Ok(group))) => drop(groups.remove(&group)),
            _ => {}
        }
    }
    (groups, dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_are_left_are_killed() {
        let left = |told: &str| left(told.as_bytes()).0.into_iter().collect::<Vec<_>>();
        assert_eq!(left("+10\n+11\n-10\n+12\n"), [11, 12]);
        assert_eq!(left("+10\n-10\n"), [0; 0]);
        assert_eq!(left("+1\n+0\n+-5\n+x\n\nnoise\n"), [0; 0], "never everybody's group");
    }

    #[test]
    fn only_a_directory_of_our_own_is_removed() {
        let left = |told: &str| left(told.as_bytes()).1;
        assert_eq!(left("/tmp/anthill-run-7-0\n+10\n"), Some("/tmp/anthill-run-7-0".into()));
        assert_eq!(left("/\n/home\nanthill-run-7-0\n/tmp/anthill-run-7-0/..\n"), None);
    }
}
