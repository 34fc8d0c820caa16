//! The runner: a command for a piece of work, from its start to its answer.
//!
//! Whoever has work to give away runs it with these parts: the queue ([`crate::crew`]), the loop ([`crate::looping`]), the
//! pipeline ([`crate::orchestrate`]), and those who judge ([`crate::gates`]).
//!
//! - [`Site`]: where commands are run; [`agent`]: which command line a coding agent is.
//! - `child`: one process group: start, feed, listen, kill.
//! - `minder`: looks after one command: limits and signs of life; `asking`: asks until there is an answer.
//! - `transcript`: what coding agents print about themselves.
//! - `trouble`: why a try came to nothing, and whether another may help; `report`: what an end means for a piece of work;
//!   `health`: when the trouble is not the work's, but that of the service behind an agent; [`place`]: told beforehand.
//! - `shift`: what the threads of one run know together; `signals`: Ctrl-C and its kin end it.
//! - [`watchdog`]: if the runner is killed, its commands do not go on without it.

pub mod agent;
pub(crate) mod asking;
pub(crate) mod child;
pub(crate) mod clip;
pub(crate) mod health;
pub(crate) mod minder;
pub mod place;
pub(crate) mod report;
pub(crate) mod shift;
pub(crate) mod signals;
mod site;
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
pub use self::minder::Limits;
pub use self::site::{Run, Site};
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
    /// The shell could not run the line that an agent is.
    #[error("cannot run the agent `{line}`: {reason}")]
    Agent { line: String, reason: String },
    /// What the agent depends on does not work, and does not mend itself.
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

/// How many events of a run may wait to be told; then its commands wait with their output.
pub(crate) const EVENTS: usize = 256;

/// Ends the telling of events, whatever happens to the thread that has them to tell.
pub(crate) struct Closing<'r, E>(pub &'r SyncSender<Option<E>>);

impl<E> Drop for Closing<'_, E> {
    fn drop(&mut self) {
        // Who listens no more needs no end.
        let _ = self.0.send(None);
    }
}

/// How long to wait before asking a store again that did not answer.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// How often a report is tried when the store does not take it.
const ATTEMPTS: u32 = 5;

/// Tries again what a busy or failing store did not take. Every report may be repeated.
pub(crate) fn persist<T>(mut attempt: impl FnMut() -> ops::Result<T>) -> ops::Result<T> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(error) if matches!(error.code(), Code::Busy | Code::Io) => thread::sleep(PAUSE),
            other => return other,
        }
    }
    attempt()
}
