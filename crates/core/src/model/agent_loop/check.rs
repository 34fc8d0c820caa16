//! One check of a gate: how its command ended, and what that means.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Failures, Severity};
use crate::model::documents::agent_loop::GateResult;
use crate::model::key::FieldsMut;
use crate::model::time;

/// How a gate came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateStatus {
    Pass,
    Fail,
    /// There is something, but it holds nothing up.
    Warn,
    /// Nobody asked for it, and its tool is missing.
    Skip,
}

impl GateStatus {
    pub fn word(self) -> &'static str {
        match self {
            GateStatus::Pass => "pass",
            GateStatus::Fail => "fail",
            GateStatus::Warn => "warn",
            GateStatus::Skip => "skip",
        }
    }
}

/// How the command of a gate ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ended {
    /// There was none: somebody tells the result.
    Told,
    Exit(i32),
    Signal(i32),
    /// It took longer than so many seconds.
    TimedOut(f64),
    /// There is no such program.
    Missing,
}

/// What a shell says of a program that is not there, and of one that it may not or cannot run.
const NOT_FOUND: i32 = 127;
const NOT_RUNNABLE: i32 = 126;

/// What is known about one check of a gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    pub ended: Ended,
    /// How many issues somebody counted, and how bad the worst is.
    pub issues: Option<u64>,
    pub severity: Option<Severity>,
    /// How bad a failure is when nobody says so.
    pub default_severity: Severity,
    /// Whether a failure holds the loop up.
    pub blocking: bool,
    /// Whether only the project's files tell of it: then its tool may be missing.
    pub detected: bool,
    pub seconds: Option<f64>,
    /// What its output tells of the failures.
    pub failures: Failures,
}

impl Check {
    pub fn status(&self) -> GateStatus {
        let found = self.issues.is_some_and(|issues| issues > 0);
        let failed = match self.ended {
            Ended::Missing | Ended::Exit(NOT_FOUND) if self.detected => return GateStatus::Skip,
            Ended::Told | Ended::Exit(0) => found,
            Ended::Missing | Ended::Exit(_) | Ended::Signal(_) | Ended::TimedOut(_) => true,
        };
        let mild = matches!(self.severity, Some(Severity::S2 | Severity::S3)) || !self.blocking;
        match (failed, mild) {
            (false, _) => GateStatus::Pass,
            (true, true) => GateStatus::Warn,
            (true, false) => GateStatus::Fail,
        }
    }

    /// Says in words why there is no good exit code.
    pub fn reason(&self) -> Option<String> {
        match self.ended {
            Ended::Told | Ended::Exit(0) => None,
            Ended::Exit(NOT_FOUND) | Ended::Missing if self.detected => {
                Some("its tool is not installed".into())
            }
            Ended::Exit(NOT_FOUND) | Ended::Missing => Some("it cannot run: there is no such program".into()),
            Ended::Exit(NOT_RUNNABLE) => Some("it cannot run: the program is not executable".into()),
            Ended::Exit(code) => Some(format!("exit {code}")),
            Ended::Signal(signal) => Some(format!("ended by signal {signal}")),
            Ended::TimedOut(seconds) => Some(format!("timed out after {seconds} s")),
        }
    }

    /// Returns how many issues there are; a failure without a count is one.
    fn count(&self) -> u64 {
        self.issues.or(self.failures.count).unwrap_or(1).max(1)
    }

    /// Returns a text that is the same for the same failures.
    fn fingerprint(&self) -> String {
        match (&*self.failures.fingerprint, self.issues) {
            ("", None) => self.reason().unwrap_or_default(),
            ("", Some(issues)) => format!("{issues} told"),
            (fingerprint, None) => fingerprint.to_owned(),
            (fingerprint, Some(issues)) => format!("{fingerprint} {issues}"),
        }
    }

    pub(super) fn record(&self, log: Option<&str>, now: Timestamp) -> Value {
        let status = self.status();
        let mut record = json!({GateResult::status: status.word(), GateResult::timestamp: time::stamp(now)});
        let bad = matches!(status, GateStatus::Fail | GateStatus::Warn);
        record[GateResult::issues] = if bad { self.count().into() } else { 0.into() };
        if bad {
            record.set(GateResult::fingerprint, self.fingerprint());
            record.set(GateResult::severity, self.severity.unwrap_or(self.default_severity));
        }
        if let Some(seconds) = self.seconds {
            record.set(GateResult::duration_seconds, (seconds * 1000.0).round() / 1000.0);
        }
        if let Ended::Exit(code) = self.ended {
            record.set(GateResult::exit_code, i64::from(code));
        }
        if let Some(reason) = self.reason() {
            record.set(GateResult::reason, reason);
        }
        if let Some(log) = log {
            record.set(GateResult::log, log);
        }
        record
    }
}
