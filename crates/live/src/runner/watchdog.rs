//! If the runner is killed without warning, its commands and all that they started are killed too.
//!
//! The watchdog is a small process of its own that the runner tells which process groups it has. When the
//! runner is gone, for whatever reason, the pipe between them closes, and what is left is killed. The parent
//! death signal of Linux would reach a command only, not what the command has started.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

/// The runner's end of the leash.
#[derive(Debug)]
pub struct Watchdog(io::Result<Mutex<Child>>);

impl Watchdog {
    /// Starts the program, in a group that no signal for the runner reaches.
    pub fn start(program: Option<&[OsString]>) -> Watchdog {
        let Some([program, arguments @ ..]) = program else {
            return Watchdog(Err(io::Error::other("there is no watchdog")));
        };
        let child = Command::new(program)
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        Watchdog(child.map(Mutex::new))
    }

    /// Says why there is none.
    pub fn trouble(&self) -> Result<(), &io::Error> {
        self.0.as_ref().map(drop)
    }

    pub fn guard(&self, group: Pid) {
        self.say('+', group);
    }

    /// To be called while the number still belongs to the group.
    pub fn forget(&self, group: Pid) {
        self.say('-', group);
    }

    fn say(&self, sign: char, group: Pid) {
        let Ok(child) = &self.0 else { return };
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe) = &mut child.stdin {
            // A watchdog that somebody killed guards nothing any more.
            let _ = writeln!(pipe, "{sign}{}", group.as_raw_pid());
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

/// The watchdog's end: reads which groups there are and kills those that are left at the end.
pub fn watch(runner: impl BufRead) {
    left(runner).into_iter().filter_map(Pid::from_raw).for_each(|group| {
        // It may have ended by itself.
        let _ = kill_process_group(group, Signal::KILL);
    });
}

fn left(runner: impl BufRead) -> BTreeSet<i32> {
    let mut groups = BTreeSet::new();
    for line in runner.lines().map_while(Result::ok) {
        match line.split_at_checked(1).map(|(sign, group)| (sign, group.parse())) {
            Some(("+", Ok(group @ 2..))) => drop(groups.insert(group)),
            Some(("-", Ok(group))) => drop(groups.remove(&group)),
            _ => {}
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_are_left_are_killed() {
        let left = |told: &str| left(told.as_bytes()).into_iter().collect::<Vec<_>>();
        assert_eq!(left("+10\n+11\n-10\n+12\n"), [11, 12]);
        assert_eq!(left("+10\n-10\n"), [0; 0]);
        assert_eq!(left("+1\n+0\n+-5\n+x\n\nnoise\n"), [0; 0], "never everybody's group");
    }
}
