//! What the rows are measured with: in turns, and when the machine is quiet.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::measured::Measured;
use super::peers::{NOT_INSTALLED, Peer};
use super::rounds::{Budget, Run, race};
use super::row::Found;
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

impl Bench {
    /// Returns the number of tasks for rows that have only one.
    pub fn typical(&self) -> usize {
        let largest = self.sizes.last().copied().unwrap_or(1);
        if self.sizes.contains(&10_000) { 10_000 } else { largest }
    }

    /// Measures something of ours in turns with the empty program and with peers.
    pub fn race<'a>(&'a self, ours: Run<'a>, peers: Vec<(Peer, Run<'a>)>) -> Measured<Found> {
        self.race_at_most(usize::MAX, ours, peers)
    }

    /// The same for work of which there is only so much.
    pub fn race_at_most<'a>(
        &'a self,
        most: usize,
        ours: Run<'a>,
        peers: Vec<(Peer, Run<'a>)>,
    ) -> Measured<Found> {
        let budget = Budget { most: self.budget.most.min(most), ..self.budget };
        self.race_within(&budget, ours, peers)
    }

    pub fn race_within<'a>(
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
    pub fn time(&self, command: Command) -> Measured<Duration> {
        self.settle()?;
        spawn::timed(command)
    }

    /// The same for a process that is to say no, with this exit code.
    pub fn time_refused(&self, command: Command, code: i32) -> Measured<Duration> {
        self.settle()?;
        spawn::refused(command, code)
    }

    /// The same for a process that reads a file on its standard input.
    pub fn time_fed(&self, command: Command, input: &Path) -> Measured<Duration> {
        self.settle()?;
        spawn::fed(command, input)
    }

    /// Runs empty processes, uncounted, until one is not held up. On a machine with other work, whoever comes after a
    /// process that slept in a sync begins by waiting for the processor: that would be counted as F's own time.
    pub fn settle(&self) -> Measured<()> {
        const TRIES: usize = 10;
        for _ in 0..TRIES {
            if spawn::timed(self.stage.floor())? < self.stage.floor.best * 5 / 2 {
                break;
            }
        }
        Ok(())
    }

    /// Prepares the rounds of a peer, which get their arguments anew each time.
    pub fn peer<'a>(&'a self, peer: Peer, args: impl Fn(usize) -> Vec<String> + 'a) -> (Peer, Run<'a>) {
        let run = move |round| {
            let mut command = self.stage.peer(peer).ok_or(NOT_INSTALLED)?;
            command.args(args(round));
            self.time(command)
        };
        (peer, Box::new(run))
    }
}

/// Makes arguments of words.
pub fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
