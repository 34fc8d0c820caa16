//! What is measured. The names and numbers are those of docs/performance.md.

mod aged;
mod bulk;
mod hook;
mod kept;
mod messages;
mod queue;
mod single;
mod storm;
mod wake;
mod weight;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::peers::Peer;
use super::rounds::{Budget, Measured, Run, race};
use super::row::{Found, Row};
use super::spawn;
use super::stage::Stage;

/// What the rows work with.
pub struct Bench {
    pub stage: Stage,
    pub budget: Budget,
    /// Numbers of tasks, ascending.
    pub sizes: Vec<usize>,
    /// How many claims the storm makes at most.
    pub storm: usize,
    /// How many messages are followed at most.
    pub letters: usize,
    /// How many sessions, failures, agents and prompts an old store has seen, each.
    pub past: usize,
}

/// A part of the measurement: what it is called while it runs, and how to run it.
pub type Step = (String, Box<dyn FnOnce(&Bench) -> Vec<Row>>);

/// Returns everything there is to measure, in order.
pub fn steps(bench: &Bench) -> Vec<Step> {
    let typical = bench.typical();
    let mut steps: Vec<Step> = vec![("start, get, set".into(), Box::new(single::rows))];
    for size in bench.sizes.clone() {
        steps.push((format!("a queue of {size} tasks"), Box::new(move |bench| queue::rows(bench, size))));
    }
    for size in bench.sizes.clone() {
        steps.push((
            format!("{size} tasks that are kept back"),
            Box::new(move |bench| kept::rows(bench, size)),
        ));
    }
    steps.push((
        format!("a changed file of {typical} tasks"),
        Box::new(move |bench| vec![bulk::cold(bench, typical)]),
    ));
    for size in bench.sizes.iter().copied().filter(|size| *size >= typical) {
        steps.push((
            format!("import of {size} tasks"),
            Box::new(move |bench| vec![bulk::import(bench, size)]),
        ));
    }
    steps.push(("32 at once".into(), Box::new(move |bench| storm::rows(bench, typical))));
    steps.push(("waking up".into(), Box::new(wake::rows)));
    steps.push(("hooks".into(), Box::new(hook::rows)));
    steps.push(("messages".into(), Box::new(messages::rows)));
    steps.push(past(bench));
    steps.push(("memory and size".into(), Box::new(weight::rows)));
    steps
}

/// Returns what there is to measure of a store that saw a year of work.
pub fn past(bench: &Bench) -> Step {
    let largest = bench.sizes.last().copied().unwrap_or(1);
    let name = format!("a store that has seen {} sessions", bench.past);
    (name, Box::new(move |bench| aged::rows(bench, largest)))
}

/// Shown where a peer would be compared.
pub const NOT_INSTALLED: &str = "not installed";

impl Bench {
    /// Returns the number of tasks for rows that have only one.
    pub fn typical(&self) -> usize {
        let largest = self.sizes.last().copied().unwrap_or(1);
        if self.sizes.contains(&10_000) { 10_000 } else { largest }
    }

    /// Measures something of ours in turns with the empty program and with peers.
    fn race<'a>(&'a self, ours: Run<'a>, peers: Vec<(Peer, Run<'a>)>) -> Measured<Found> {
        self.race_at_most(usize::MAX, ours, peers)
    }

    /// The same for work of which there is only so much.
    fn race_at_most<'a>(
        &'a self,
        most: usize,
        ours: Run<'a>,
        peers: Vec<(Peer, Run<'a>)>,
    ) -> Measured<Found> {
        let budget = Budget { most: self.budget.most.min(most), ..self.budget };
        self.race_within(&budget, ours, peers)
    }

    fn race_within<'a>(
        &'a self,
        budget: &Budget,
        ours: Run<'a>,
        peers: Vec<(Peer, Run<'a>)>,
    ) -> Measured<Found> {
        Ok(Found::of(&race(budget, ours, Box::new(|_| self.floor()), peers)?))
    }

    fn floor(&self) -> Measured<Duration> {
        self.time(self.stage.floor())
    }

    /// Times a process that is started when it is our turn.
    fn time(&self, command: Command) -> Measured<Duration> {
        self.settle()?;
        spawn::timed(command)
    }

    /// The same for a process that is to say no, with this exit code.
    fn time_refused(&self, command: Command, code: i32) -> Measured<Duration> {
        self.settle()?;
        spawn::refused(command, code)
    }

    /// The same for a process that reads a file on its standard input.
    fn time_fed(&self, command: Command, input: &Path) -> Measured<Duration> {
        self.settle()?;
        spawn::fed(command, input)
    }

    /// Runs empty processes, uncounted, until one is not held up. On a machine with other work, whoever comes after a
    /// process that slept in a sync begins by waiting for the processor: that would be counted as F's own time.
    fn settle(&self) -> Measured<()> {
        const TRIES: usize = 10;
        for _ in 0..TRIES {
            if spawn::timed(self.stage.floor())? < self.stage.floor.best * 5 / 2 {
                break;
            }
        }
        Ok(())
    }

    /// Prepares the rounds of a peer, which get their arguments anew each time.
    fn peer<'a>(&'a self, peer: Peer, args: impl Fn(usize) -> Vec<String> + 'a) -> (Peer, Run<'a>) {
        let run = move |round| {
            let mut command = self.stage.peer(peer).ok_or(NOT_INSTALLED)?;
            command.args(args(round));
            self.time(command)
        };
        (peer, Box::new(run))
    }
}

/// Makes arguments of words.
fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
