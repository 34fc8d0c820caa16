//! Runs the commands of gates: each a process group with a limit, some of them side by side.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anthill_core::model::agent_loop::Ended;

use super::{Gate, Run};
use crate::runner::child::{self, Process};
use crate::runner::watchdog::Watchdog;

/// What a shell says of a program that it cannot start.
const CANNOT_RUN: i32 = 126;

/// Where gates are run.
#[derive(Debug)]
pub struct Job {
    pub root: PathBuf,
    pub environment: Vec<(&'static str, OsString)>,
    /// The program that kills what runs when we are killed.
    pub watchdog: Option<Vec<OsString>>,
}

/// How a gate's command ended, and the last it said.
#[derive(Debug)]
pub struct Ran {
    pub ended: Ended,
    pub output: String,
    pub took: Duration,
}

/// What happens meanwhile.
#[derive(Debug)]
pub enum Event<'g> {
    Begun(&'g Gate),
    Ended(&'g Gate, &'g Ran),
    Warning(String),
}

/// Runs gates in their order; neighbours that are parallel run side by side. Returns how each ended.
pub fn run_all(gates: &[Gate], job: &Job, tell: &(dyn Fn(Event<'_>) + Sync)) -> Vec<Ran> {
    let watchdog = Watchdog::start(job.watchdog.as_deref());
    if let Err(error) = watchdog.trouble() {
        tell(Event::Warning(format!("a gate's command will outlive us if we are killed: {error}")));
    }
    let attend = |gate: &Gate| {
        tell(Event::Begun(gate));
        let ran = run(gate, job, &watchdog);
        tell(Event::Ended(gate, &ran));
        ran
    };
    let mut all = Vec::new();
    for batch in gates.chunk_by(|gate, next| gate.parallel && next.parallel) {
        if let [gate] = batch {
            all.push(attend(gate));
            continue;
        }
        thread::scope(|scope| {
            let runs: Vec<_> = batch.iter().map(|gate| scope.spawn(|| attend(gate))).collect();
            let ended = |run: thread::ScopedJoinHandle<'_, Ran>| {
                run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            all.extend(runs.into_iter().map(ended));
        });
    }
    all
}

fn run(gate: &Gate, job: &Job, watchdog: &Watchdog) -> Ran {
    let begun = Instant::now();
    let (ended, output) = match start_and_wait(gate, job, watchdog) {
        Ok((true, ended)) => (how(&ended), said(&ended)),
        Ok((false, ended)) => (Ended::TimedOut(gate.timeout.as_secs_f64()), said(&ended)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (Ended::Missing, error.to_string()),
        Err(error) => (Ended::Exit(CANNOT_RUN), error.to_string()),
    };
    Ran { ended, output, took: begun.elapsed() }
}

/// Returns whether the command ended in time, and how.
fn start_and_wait(gate: &Gate, job: &Job, watchdog: &Watchdog) -> io::Result<(bool, child::Ended)> {
    let mut command = command(gate)?;
    let environment = job.environment.iter().map(|(name, value)| (name, value));
    command.current_dir(&job.root).envs(environment).env("ANTHILL_GATE", gate.name.as_str());
    let start = |command: &mut Command| Process::start(command, String::new(), |_| {});
    let process = watchdog.start_command(&mut command, start)?;
    process.end_within(gate.timeout, |group| watchdog.forget(group))
}

fn command(gate: &Gate) -> io::Result<Command> {
    match &gate.run {
        Run::Line(line) => {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", line]);
            Ok(command)
        }
        Run::Command(words) => {
            let [program, arguments @ ..] = &words[..] else {
                return Err(io::Error::other("there is no command"));
            };
            let mut command = Command::new(program);
            command.args(arguments);
            Ok(command)
        }
    }
}

fn how(ended: &child::Ended) -> Ended {
    match ended.status.code() {
        Some(code) => Ended::Exit(code),
        None => Ended::Signal(ended.status.signal().unwrap_or(0)),
    }
}

fn said(ended: &child::Ended) -> String {
    match (ended.stdout.trim_end(), ended.stderr.trim_end()) {
        ("", "") => String::new(),
        ("", text) | (text, "") => format!("{text}\n"),
        (stdout, stderr) => format!("{stdout}\n--- stderr\n{stderr}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(name: &str, line: &str) -> Gate {
        Gate::new(name.parse().unwrap(), Run::Line(line.into()))
    }

    fn run_in_root(gates: &[Gate]) -> Vec<Ran> {
        let job = Job { root: "/".into(), environment: Vec::new(), watchdog: None };
        run_all(gates, &job, &|_| {})
    }

    #[test]
    fn ends_are_told_with_what_was_said() {
        let lines = ["echo a; echo b >&2; exit 3", "true", "no-such-tool-here", "kill -9 $$"];
        let gates: Vec<Gate> = lines.iter().map(|line| gate("g", line)).collect();
        let ran = run_in_root(&gates);
        let ended: Vec<Ended> = ran.iter().map(|ran| ran.ended).collect();
        assert_eq!(ended, [Ended::Exit(3), Ended::Exit(0), Ended::Exit(127), Ended::Signal(9)]);
        assert_eq!((&*ran[0].output, &*ran[1].output), ("a\n--- stderr\nb\n", ""));
        let words = vec!["no-such-tool-here".into()];
        let typed = Gate::new("g".parse().unwrap(), Run::Command(words));
        assert_eq!(run_in_root(&[typed])[0].ended, Ended::Missing);
    }

    #[test]
    fn what_takes_too_long_is_killed_with_all_it_started() {
        // Enough for a shell to say something, however busy the machine is.
        let slow = Gate { timeout: Duration::from_secs(3), ..gate("g", "echo a; sleep 600 & sleep 600") };
        let ran = run_in_root(&[slow]);
        assert_eq!((ran[0].ended, &*ran[0].output), (Ended::TimedOut(3.0), "a\n"));
        assert!(ran[0].took < Duration::from_secs(60));
    }

    #[test]
    fn neighbours_that_are_parallel_run_side_by_side() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe").display().to_string();
        // Each waits for the other: one after the other, neither would end before its limit.
        let limit = Duration::from_secs(60);
        let side = |line: String| Gate { parallel: true, timeout: limit, ..gate("g", &line) };
        let made = run_in_root(&[gate("g", &format!("mkfifo '{pipe}'"))]);
        assert_eq!(made[0].ended, Ended::Exit(0));
        let ran = run_in_root(&[side(format!("echo x > '{pipe}'")), side(format!("cat '{pipe}'"))]);
        assert_eq!((ran[0].ended, ran[1].ended), (Ended::Exit(0), Ended::Exit(0)));
        assert_eq!(ran[1].output, "x\n");
    }
}
