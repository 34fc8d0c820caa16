//! What a run has to do, and the events that it reports.

use std::ffi::OsString;
use std::time::Duration;

use anthill_core::model::ids::Key;
use anthill_core::model::task::Task;
use jiff::Timestamp;

use crate::runner::agent::Agent;
use crate::runner::{Limits, Run, Site};

/// What to run, for whom and how.
#[derive(Debug)]
pub struct Job {
    pub worker: Key,
    pub doer: Doer,
    pub site: Site,
    /// How many tasks at once.
    pub parallel: usize,
    pub until: Until,
    pub limits: Limits,
    /// How often a failed try is repeated, instead of what its class says.
    pub retries: Option<u64>,
    /// No more tasks are claimed when the commands have cost this much, in dollars.
    pub max_cost: Option<f64>,
    /// How long a lease lasts without a heartbeat, in seconds.
    pub lease: Option<f64>,
}

/// Who does the tasks.
#[derive(Debug)]
pub enum Doer {
    /// It has to say what came of a task.
    Agent(Agent),
    /// A program with its arguments; its exit code is its answer.
    Command(Vec<OsString>),
}

impl Doer {
    pub fn agent(&self) -> Option<&Agent> {
        match self {
            Doer::Agent(agent) => Some(agent),
            Doer::Command(_) => None,
        }
    }

    pub(super) fn run(&self) -> Run {
        match self {
            Doer::Agent(agent) => Run::Line(agent.line.clone()),
            Doer::Command(words) => Run::Command(words.clone()),
        }
    }
}

/// When a run has done enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Nothing can be claimed, and no command of ours can change that.
    NothingReady,
    /// Nothing can become ready any more, not even by the work of others.
    Empty,
    /// Somebody stops it.
    Stopped,
}

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    Claimed(Task),
    /// A line that the command printed.
    Output {
        task: Key,
        line: String,
    },
    /// The command failed, and is run again after a while.
    Again {
        task: Key,
        reason: String,
        delay: Duration,
    },
    Done(Key),
    Failed {
        task: Key,
        reason: String,
    },
    Released(Key),
    /// The service behind the agent is not available: the task waits as before.
    PutBack {
        task: Key,
        reason: String,
    },
    /// Nothing is started before that time.
    Paused {
        until: Timestamp,
        reason: &'static str,
    },
    /// The task is not ours any more, and nothing was reported.
    Lost {
        task: Key,
        why: String,
    },
    Warning(String),
}
