//! The quality gates of a project: which there are, and whether they pass.
//!
//! Commands come from the project's configuration ([`config`]), else from what its files tell about its tools
//! (`detect.rs`), else from the command line. They never come from state, which others may write, and what is configured
//! runs only with the user's consent ([`consent`]).

mod choice;
pub mod config;
pub mod consent;
mod detect;
mod gate;
mod judging;
mod python_tests;
mod run;

use std::path::Path;

pub use self::choice::{GateChoice, NoGate};
pub use self::gate::{Gate, TIMEOUT};
pub(crate) use self::judging::GateRunner;
pub use self::judging::judge;
pub(crate) use self::run::run_within;
pub use self::run::{Event, Findings, Ran, run_and_note};
pub use crate::runner::Run;

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
