//! Runs the commands of gates: each a process group with a limit, some of them side by side.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::{Duration, Instant};

use anthill_core::model::agent_loop::{Ended, Severity};
use anthill_core::ops::agent_loop::{self, LoopChanged};
use anthill_core::ops::{self, Actor};
use anthill_core::store::Engine;

use super::{Gate, consent};
use crate::runner::run_state::RunState;
use crate::runner::supervisor::{Call, Cut, Finished, Supervisor};
use crate::runner::watchdog::Watchdog;
use crate::runner::{Limits, Site};

/// What a shell says of a program that it cannot start.
const CANNOT_RUN: i32 = 126;

/// How tools say that a part of them is not installed.
const PART_MISSING: [&str; 3] =
    ["error: no such command: `", " is not installed for the toolchain ", ": No module named pytest"];

/// How a gate's command ended, and the end of its output.
#[derive(Debug)]
pub struct Ran {
    pub ended: Ended,
    pub output: String,
    pub took: Duration,
}

/// What happens meanwhile.
#[derive(Debug)]
pub enum Event<'g> {
    /// Somebody else runs the gates.
    Waiting,
    Begun(&'g Gate),
    Ended(&'g Gate, &'g Ran),
    Warning(String),
}

/// What somebody found, beside what a gate's command says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Findings {
    pub issues: Option<u64>,
    pub severity: Option<Severity>,
}

/// Runs one gate and notes how it came out.
pub fn run_and_note(
    engine: &dyn Engine,
    gate: &Gate,
    findings: Findings,
    site: &Site,
    (expect, actor): (Option<u64>, &Actor),
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> ops::Result<LoopChanged> {
    let mut report = run_one(engine, gate, site, tell)?.report(gate);
    report.check.issues = findings.issues.or(report.check.issues);
    report.check.severity = findings.severity;
    agent_loop::note_gates(engine, &[report], false, expect, actor)
}

fn run_one(
    engine: &dyn Engine,
    gate: &Gate,
    site: &Site,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> ops::Result<Ran> {
    consent::check(engine, &site.root, std::slice::from_ref(gate))?;
    let watchdog = Watchdog::start(site.watchdog.as_deref());
    if let Err(error) = watchdog.trouble() {
        tell(Event::Warning(format!("a gate's command will outlive us if we are killed: {error}")));
    }
    let ran = run_within(std::slice::from_ref(gate), site, (&RunState::default(), &watchdog), tell);
    Ok(ran.and_then(|mut ran| ran.pop()).expect("BUG: nobody ends this run"))
}

/// Runs gates in their order; neighbours that are parallel run side by side. Returns how each ended; nothing if the run
/// was over before.
pub(crate) fn run_within(
    gates: &[Gate],
    site: &Site,
    (state, watchdog): (&RunState, &Watchdog),
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Option<Vec<Ran>> {
    let attend = |gate: &Gate| {
        tell(Event::Begun(gate));
        let ran = run(gate, site, state, watchdog)?;
        tell(Event::Ended(gate, &ran));
        Some(ran)
    };
    let mut all = Vec::new();
    for batch in gates.chunk_by(|gate, next| gate.parallel && next.parallel) {
        if let [gate] = batch {
            all.push(attend(gate)?);
            continue;
        }
        let ran: Option<Vec<Ran>> = thread::scope(|scope| {
            let runs: Vec<_> = batch.iter().map(|gate| scope.spawn(|| attend(gate))).collect();
            let ended = |run: thread::ScopedJoinHandle<'_, Option<Ran>>| {
                run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            runs.into_iter().map(ended).collect()
        });
        all.extend(ran?);
    }
    Some(all)
}

/// Runs one gate. Returns nothing if the run was stopped.
fn run(gate: &Gate, site: &Site, state: &RunState, watchdog: &Watchdog) -> Option<Ran> {
    let mut command = site.command(&gate.run);
    command.env("ANTHILL_GATE", gate.name.as_str());
    let limits = Limits { timeout: Some(gate.timeout), stall: None };
    let mut call = Call { command, input: String::new(), limits, sign_of_life: None, tell: None };
    let begun = Instant::now();
    let (ended, output) = match Supervisor::new(&state.enter(), watchdog).run(&mut call) {
        Ok(Finished { cut: Some(Cut::Stopped), .. }) => return None,
        Ok(finished) => {
            let output = lines(finished.said());
            (how(&finished, gate, &output), output)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => (Ended::Missing, error.to_string()),
        Err(error) => (Ended::Exit(CANNOT_RUN), error.to_string()),
    };
    Some(Ran { ended, output, took: begun.elapsed() })
}

fn how(finished: &Finished, gate: &Gate, output: &str) -> Ended {
    let lacks_a_part = || PART_MISSING.iter().any(|sign| output.contains(sign));
    match (&finished.cut, finished.status.code()) {
        (Some(_), _) => Ended::TimedOut(gate.timeout.as_secs_f64()),
        (None, Some(code)) if gate.detected && code != 0 && lacks_a_part() => Ended::Missing,
        (None, Some(code)) => Ended::Exit(code),
        (None, None) => Ended::Signal(finished.status.signal().unwrap_or(0)),
    }
}

fn lines(said: String) -> String {
    if said.is_empty() { said } else { said + "\n" }
}

#[cfg(test)]
mod tests {
    use super::super::Run;
    use super::*;

    fn gate(name: &str, line: &str) -> Gate {
        Gate::new(name.parse().unwrap(), Run::Line(line.into()))
    }

    fn run_in_root(gates: &[Gate]) -> Vec<Ran> {
        let site = Site { root: "/".into(), environment: Vec::new(), watchdog: None, variable: |_| None };
        let watchdog = Watchdog::start(None);
        run_within(gates, &site, (&RunState::default(), &watchdog), &|_| {}).unwrap()
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
    fn a_detected_tool_may_lack_a_part() {
        let line = "echo 'python3: No module named pytest' >&2; exit 1";
        let gates = [Gate { detected: true, ..gate("g", line) }, gate("g", line)];
        let ended: Vec<Ended> = run_in_root(&gates).iter().map(|ran| ran.ended).collect();
        assert_eq!(ended, [Ended::Missing, Ended::Exit(1)]);
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
