//! Why a try failed, and whether another one may help. Pure: how it ended in, a class and a reason out.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use anthill_core::model::error_class::{self, ErrorClass};
use anthill_core::model::outcome::Answer;
use serde_json::Value;

use super::clip::tail;
use super::supervisor::{Cut, Finished};

/// How much of what a command said goes with the reason of a failure.
const DETAILS: usize = 4 << 10;

/// What a shell says of a program that it cannot run.
const CANNOT_RUN: [i32; 2] = [126, 127];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub class: ErrorClass,
    pub reason: String,
    /// The command could not even be started: this says nothing about the work.
    pub cannot_run: bool,
}

impl Trouble {
    pub fn new(class: ErrorClass, reason: String) -> Trouble {
        Trouble { class, reason, cannot_run: false }
    }

    /// Returns what was wrong with the process, or what its client says went wrong.
    pub fn of(finished: &Finished) -> Option<Trouble> {
        if let Some(what) = bad_end(finished) {
            let reason = with_details(&what, finished);
            let class =
                if finished.cut.is_some() { ErrorClass::Timeout } else { error_class::classify(&reason) };
            let code = finished.status.code().filter(|_| finished.cut.is_none());
            return Some(Trouble {
                class,
                reason,
                cannot_run: code.is_some_and(|code| CANNOT_RUN.contains(&code)),
            });
        }
        let error = finished.transcript.heard.error.as_deref()?;
        Some(Trouble::new(error_class::classify(error), tail(error, DETAILS).into()))
    }

    /// Returns how long to wait before the next try, after so many failed ones; `None` if it was the last.
    pub fn again_in(&self, failed: u64, retries: Option<u64>) -> Option<Duration> {
        let by_class = error_class::max_retries(self.class);
        // Not repeated if it cannot succeed, whatever somebody allows.
        let most = if by_class == 0 || self.cannot_run { 0 } else { retries.unwrap_or(by_class) };
        (failed < most).then(|| error_class::delay(self.class, failed, None))
    }
}

/// Says in a line how a process ended badly.
pub fn bad_end(finished: &Finished) -> Option<String> {
    let status = finished.status;
    match (&finished.cut, status.code(), status.signal()) {
        (Some(Cut::TimedOut(limit)), ..) => Some(format!("timed out after {} s", limit.as_secs_f64())),
        (Some(Cut::Stalled(limit)), ..) => Some(format!("no sign of life for {} s", limit.as_secs_f64())),
        (_, Some(0), _) => None,
        (_, Some(code), _) => Some(format!("exit code {code}")),
        (_, None, signal) => Some(format!("killed by signal {}", signal.unwrap_or_default())),
    }
}

/// Adds the command's own words to the reason.
pub fn with_details(what: &str, finished: &Finished) -> String {
    let transcript = &finished.transcript;
    let fields = Answer::of(transcript.words()).fields;
    let summary = fields.get("summary").and_then(Value::as_str).unwrap_or_default();
    let error = transcript.heard.error.as_deref().unwrap_or_default();
    let told = [error, summary, &finished.stderr, transcript.words(), &finished.stdout];
    match told.into_iter().find(|text| !text.trim().is_empty()) {
        Some(told) => format!("{what}\n{}", tail(told, DETAILS)),
        None => what.to_owned(),
    }
}

/// Returns a reason as one line: what happened, and the last words about it.
pub fn brief(reason: &str) -> String {
    let mut lines = reason.trim().lines();
    let what = lines.next().unwrap_or_default();
    match lines.rfind(|line| !line.trim().is_empty()) {
        Some(said) => format!("{what}: {}", said.trim()),
        None => what.to_owned(),
    }
}
