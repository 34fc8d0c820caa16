//! If the runner is killed without warning, its commands and all that they started are killed too.
//!
//! The watchdog is a small process of its own that the runner tells which process groups it has. When the
//! runner is gone, for whatever reason, the pipe between them closes, what is left is killed, and the
//! directory of its task files is removed. The parent death signal of Linux would reach a command only, not what the command has started.
//!
//! A runner may be killed after it has started a command and before it could say so. Therefore it says beforehand that it is
//! about to, and the command carries a mark by which the watchdog finds it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgid, kill_process_group};

use super::child::Process;
use super::task_file;

/// In the environment of commands: the watchdog that guards them.
const MARK: &str = "ANTHILL_WATCHDOG";

/// What the runner says before it starts a command, and when that came to nothing.
const STARTING: &str = "~";
const NOT_STARTED: &str = "!";

/// How often, and how long apart, a command is looked for that was being started.
const LOOKS: u32 = 20;
const APART: Duration = Duration::from_millis(100);

/// Our end of the pipe to the watchdog.
#[derive(Debug)]
pub struct Watchdog(io::Result<Mutex<Child>>);

impl Watchdog {
    /// Starts the program, in a group that no signal for the runner reaches.
    pub fn start(program: Option<&[OsString]>) -> Watchdog {
        Watchdog::start_holding(program, Stdio::null())
    }

    /// The same, and the watchdog keeps something (a seat) until all commands are gone.
    pub fn start_holding(program: Option<&[OsString]>, held: Stdio) -> Watchdog {
        let Some([program, arguments @ ..]) = program else {
            return Watchdog(Err(io::Error::other("there is no watchdog")));
        };
        let child = Command::new(program)
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::piped())
            // It has nothing to say.
            .stdout(held)
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

    /// Starts a command, and guards its group from the first moment.
    pub fn start_command(
        &self,
        command: &mut Command,
        start: impl FnOnce(&mut Command) -> io::Result<Process>,
    ) -> io::Result<Process> {
        if let Ok(child) = &self.0 {
            command.env(MARK, child.lock().unwrap_or_else(PoisonError::into_inner).id().to_string());
        }
        self.say(STARTING);
        let started = start(command);
        match &started {
            Ok(process) => self.say(&format!("+{}", process.group.as_raw_pid())),
            Err(_) => self.say(NOT_STARTED),
        }
        started
    }

    /// To be called while the number still belongs to the group.
    pub fn forget(&self, group: Pid) {
        self.say(&format!("-{}", group.as_raw_pid()));
    }

    fn say(&self, line: &str) {
        let Ok(child) = &self.0 else { return };
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe) = &mut child.stdin {
            // Somebody may have killed the watchdog.
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

/// The watchdog itself: reads until the pipe closes, then ends what is left.
pub fn watch(runner: impl BufRead) {
    let mut left = Left::of(runner);
    let end = |group: &i32| {
        if let Some(group) = Pid::from_raw(*group) {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
    };
    left.groups.iter().for_each(end);
    for _ in 0..LOOKS {
        if left.starting == 0 {
            break;
        }
        for group in marked(&std::process::id().to_string()) {
            if left.told.insert(group) {
                end(&group);
                left.starting = left.starting.saturating_sub(1);
            }
        }
        // The system may be in the middle of it.
        thread::sleep(APART);
    }
    if let Some(dir) = left.dir {
        // A runner that ended well has removed it.
        let _ = std::fs::remove_dir_all(dir);
    }
}

/// What a runner leaves behind.
#[derive(Debug, Default)]
struct Left {
    groups: BTreeSet<i32>,
    /// All groups that were ever named.
    told: BTreeSet<i32>,
    /// How many commands were being started.
    starting: usize,
    dir: Option<PathBuf>,
}

impl Left {
    fn of(runner: impl BufRead) -> Left {
        let mut left = Left::default();
        for line in runner.lines().map_while(Result::ok) {
            let path = Path::new(&line);
            if path.is_absolute() && task_file::is_ours(path) {
                left.dir = Some(path.to_owned());
                continue;
            }
            match line.split_at_checked(1).map(|(sign, group)| (sign, group.parse())) {
                Some((STARTING, _)) => left.starting += 1,
                Some((NOT_STARTED, _)) => left.starting = left.starting.saturating_sub(1),
                Some(("+", Ok(group @ 2..))) => {
                    left.groups.insert(group);
                    left.told.insert(group);
                    left.starting = left.starting.saturating_sub(1);
                }
                Some(("-", Ok(group))) => drop(left.groups.remove(&group)),
                _ => {}
            }
        }
        left
    }
}

/// Returns the groups whose first process carries the mark, where the system tells that.
fn marked(watchdog: &str) -> Vec<i32> {
    let mark = format!("{MARK}={watchdog}");
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_marked = |id: &i32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let leads = |id: &i32| getpgid(Pid::from_raw(*id)).is_ok_and(|group| group.as_raw_pid() == *id);
    let ids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| *id > 1 && is_marked(id) && leads(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_are_left_are_killed() {
        let left = |told: &str| Left::of(told.as_bytes()).groups.into_iter().collect::<Vec<_>>();
        assert_eq!(left("+10\n+11\n-10\n+12\n"), [11, 12]);
        assert_eq!(left("+10\n-10\n"), [0; 0]);
        assert_eq!(left("+1\n+0\n+-5\n+x\n\nnoise\n"), [0; 0], "never everybody's group");
    }

    #[test]
    fn a_command_that_was_being_started_is_missed() {
        let starting = |told: &str| Left::of(told.as_bytes()).starting;
        assert_eq!(starting("~\n+10\n-10\n"), 0);
        assert_eq!(starting("~\n!\n"), 0);
        assert_eq!(starting("~\n+10\n~\n"), 1);
    }

    #[test]
    fn marks_are_found_where_the_system_tells_them() {
        if !Path::new("/proc/self/environ").exists() {
            return;
        }
        let mut command = Command::new("sleep");
        let mut child = command.arg("600").env(MARK, "a-test").process_group(0).spawn().expect("sleep runs");
        let id = i32::try_from(child.id()).expect("a number");
        // The environment changes when the program begins.
        while !marked("a-test").contains(&id) {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(marked("another"), [0; 0]);
        child.kill().and_then(|()| child.wait()).expect("it ends");
    }

    #[test]
    fn only_a_directory_of_our_own_is_removed() {
        let left = |told: &str| Left::of(told.as_bytes()).dir;
        assert_eq!(left("/tmp/anthill-run-7-0\n+10\n"), Some("/tmp/anthill-run-7-0".into()));
        assert_eq!(left("/\n/home\nanthill-run-7-0\n/tmp/anthill-run-7-0/..\n"), None);
    }
}
