//! The quality gates of a project: which there are, and how their commands come out.
//!
//! Commands come from the project's configuration ([`config`]), else from what its files tell about its tools
//! (`detect.rs`), else from whoever types one. They never come from state, which others may write, and what is configured
//! runs only with the user's consent ([`consent`]).

pub mod config;
pub mod consent;
mod detect;
mod judging;
mod python_tests;
mod run;

use std::path::Path;
use std::time::Duration;

use anthill_core::model::agent_loop::{CountPattern, Severity};
use anthill_core::model::ids::Key;

pub(crate) use self::judging::Bench;
pub use self::judging::judge;
pub(crate) use self::run::run_within;
pub use self::run::{Event, Ran, run_one};
pub use crate::runner::Run;

/// How long a gate may take unless it says so itself.
pub const TIMEOUT: Duration = Duration::from_secs(600);

/// A check with its command.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub name: Key,
    pub run: Run,
    pub timeout: Duration,
    /// Whether it may run beside its neighbours that say so too.
    pub parallel: bool,
    /// Whether its failure holds the loop up.
    pub blocking: bool,
    /// How bad its failure is.
    pub severity: Severity,
    /// Where its output says how many issues there are.
    pub count: Option<CountPattern>,
    /// Whether nobody asked for it: the project's files tell of it.
    pub detected: bool,
}

impl Gate {
    pub fn new(name: Key, run: Run) -> Gate {
        Gate {
            name,
            run,
            timeout: TIMEOUT,
            parallel: false,
            blocking: true,
            severity: Severity::S1,
            count: None,
            detected: false,
        }
    }
}

/// Where gates come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Config,
    /// From what the files of the project tell.
    Detected,
}

/// The gates of a project, in the order in which they run.
#[derive(Debug, PartialEq)]
pub struct Gates {
    pub list: Vec<Gate>,
    pub source: Source,
}

impl Gates {
    /// Finds the gates of the project at `root`. What is configured is all there is; without it, the project's files tell.
    pub fn of(root: &Path) -> Result<Gates, config::Error> {
        let configured = config::read(root)?;
        if !configured.is_empty() {
            return Ok(Gates { list: configured, source: Source::Config });
        }
        Ok(Gates { list: detect::gates(root), source: Source::Detected })
    }

    pub fn find(&self, name: &str) -> Option<&Gate> {
        self.list.iter().find(|gate| gate.name.as_str() == name)
    }
}
