//! One check of a gate: how its command ended, and what that means.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Severity;
use crate::model::plan::word;
use crate::model::time;

/// How a gate came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateStatus {
    Pass,
    Fail,
    /// There is something, but it holds nothing up.
    Warn,
    /// It does not apply here, or its tool is missing.
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

/// What a shell says of a program that is not there.
const NOT_FOUND: i32 = 127;

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
    pub seconds: Option<f64>,
}

impl Check {
    pub fn status(&self) -> GateStatus {
        let found = self.issues.is_some_and(|issues| issues > 0);
        let failed = match self.ended {
            Ended::Missing | Ended::Exit(NOT_FOUND) => return GateStatus::Skip,
            Ended::Told | Ended::Exit(0) => found,
            Ended::Exit(_) | Ended::Signal(_) | Ended::TimedOut(_) => true,
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
            Ended::Exit(NOT_FOUND) | Ended::Missing => Some("its tool is not installed".into()),
            Ended::Exit(code) => Some(format!("exit {code}")),
            Ended::Signal(signal) => Some(format!("ended by signal {signal}")),
            Ended::TimedOut(seconds) => Some(format!("timed out after {seconds} s")),
        }
    }

    pub(super) fn record(&self, log: Option<&str>, now: Timestamp) -> Value {
        let status = self.status();
        let mut record = json!({"status": status.word(), "timestamp": time::stamp(now)});
        let bad = matches!(status, GateStatus::Fail | GateStatus::Warn);
        record["issues"] = self.issues.unwrap_or(u64::from(bad)).into();
        if bad {
            record["severity"] = word(self.severity.unwrap_or(self.default_severity)).into();
        }
        if let Some(seconds) = self.seconds {
            record["duration_seconds"] = ((seconds * 1000.0).round() / 1000.0).into();
        }
        if let Ended::Exit(code) = self.ended {
            record["exit_code"] = code.into();
        }
        if let Some(reason) = self.reason() {
            record["reason"] = reason.into();
        }
        if let Some(log) = log {
            record["log"] = log.into();
        }
        record
    }
}
