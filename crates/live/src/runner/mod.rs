//! Runs a command for a piece of work, from its start to its answer.
//!
//! Used by everything that starts agents or commands: the queue ([`crate::worker_run`]), the loop ([`crate::loop_run`]), the pipeline
//! ([`crate::pipeline_run`]) and the gates ([`crate::gates`]).
//!
//! - [`Site`]: where commands are run; [`agent`]: which command line a coding agent is.
//! - `child`: one process group: start, feed, listen, kill.
//! - `supervisor`: runs one command within its limits and gives signs of life; `asking`: asks until there is an answer.
//! - `transcript`: what coding agents print about themselves.
//! - `trouble`: why a try came to nothing, and whether another may help; `report`: what an end means for a piece of work;
//!   `health`: whether the service behind an agent is the cause; [`place`]: whether a client works here at all.
//! - `run_state`: what the threads of one run share; `signals`: Ctrl-C and the like end the run.
//! - [`watchdog`]: ends the commands if we are killed.

pub mod agent;
pub(crate) mod asking;
pub(crate) mod child;
pub(crate) mod clip;
pub(crate) mod health;
pub mod place;
pub(crate) mod report;
pub(crate) mod run_state;
pub(crate) mod signals;
mod site;
pub(crate) mod supervisor;
pub(crate) mod task_file;
pub(crate) mod transcript;
pub(crate) mod trouble;
pub mod watchdog;

use std::sync::mpsc::SyncSender;
use std::time::Duration;
use std::{io, thread};

use anthill_core::error::Code;
use anthill_core::ops;

pub use self::health::{local, zone};
pub use self::site::{Run, Site};
pub use self::supervisor::Limits;
pub use self::trouble::brief;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Ops(#[from] ops::Error),
    #[error("cannot run `{program}`")]
    Command {
        program: String,
        #[source]
        source: io::Error,
    },
    /// The shell could not run the agent's line.
    #[error("cannot run the agent `{line}`: {reason}")]
    Agent { line: String, reason: String },
    /// The service that the agent needs does not work, and waiting does not help.
    #[error("{what}: {reason}")]
    Service { what: &'static str, reason: String, cure: String },
    #[error("cannot {action}")]
    Io {
        action: &'static str,
        #[source]
        source: io::Error,
    },
}

pub type Result<T> = std::result::Result<T, Error>;

/// How many events of a run may be waiting; then the output of its commands waits, too.
pub(crate) const EVENTS: usize = 256;

/// Closes the channel of events, whatever happens to the thread that sends them.
pub(crate) struct Closing<'r, E>(pub &'r SyncSender<Option<E>>);

impl<E> Drop for Closing<'_, E> {
    fn drop(&mut self) {
        // Nobody may be listening any more.
        let _ = self.0.send(None);
    }
}

/// How long to wait before the next attempt, when the store was busy.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// How often a report is tried when the store is busy or fails.
const ATTEMPTS: u32 = 5;

/// Tries again when the store is busy or fails. Every report may be repeated.
pub(crate) fn persist<T>(mut attempt: impl FnMut() -> ops::Result<T>) -> ops::Result<T> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(error) if matches!(error.code(), Code::Busy | Code::Io) => thread::sleep(PAUSE),
            other => return other,
        }
    }
    attempt()
}
