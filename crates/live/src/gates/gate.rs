//! One gate.

use std::time::Duration;

use anthill_core::model::agent_loop::{CountPattern, Severity};
use anthill_core::model::ids::Key;

use crate::runner::Run;

/// How long a gate may take unless told.
pub const TIMEOUT: Duration = Duration::from_secs(600);

/// A check with its command.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub name: Key,
    pub run: Run,
    pub timeout: Duration,
    /// Whether it may run at the same time as its neighbours that say so, too.
    pub parallel: bool,
    /// Whether its failure holds the loop up.
    pub blocking: bool,
    /// How bad its failure is.
    pub severity: Severity,
    /// Where its output says how many issues there are.
    pub count: Option<CountPattern>,
    /// Whether it was detected, and not configured or named.
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
