//! What follows from an iteration: by its gates a loop is complete, goes on, pauses or stops.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::{COMPLETE, Check, NewItem, PAUSED, Phase, STOPPED, Severity, WorkLoop, is_open, text};
use crate::hint;
use crate::model::documents::agent_loop::{GateResult, LoopIteration, WorkItem, WorkQueue};
use crate::model::hint::{Door, Hint};
use crate::model::key::{Fields, FieldsMut};
use crate::model::next::Next;
use crate::model::time;

/// So many passing iterations in a row make a loop complete.
const PASSES: u64 = 2;

/// So many iterations in a row with the same failures stop it; one less calls for another approach.
const SAME_FAILURES: u64 = 3;

/// The iterations that the history keeps.
const HISTORY: usize = 200;

/// What follows from an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Twice passed, and nothing is open.
    Complete,
    /// It passed; there is a next one, to make sure or because items are open.
    Passed,
    /// These gates failed.
    Failed(Vec<String>),
    /// An open item waits for the user.
    Paused(String),
    /// It does not go on by itself.
    Stopped(String),
}

impl WorkLoop {
    /// Notes how a gate came out.
    pub fn note_gate(&mut self, name: &str, check: &Check, log: Option<&str>, now: Timestamp) {
        if !self.queue[WorkQueue::gate_results].is_object() {
            self.queue[WorkQueue::gate_results] = json!({});
        }
        let known = &mut self.queue[WorkQueue::gate_results][name];
        let mut record = check.record(log, now);
        // What others keep there stays; what we know is all new.
        if let (Some(known), Some(record)) = (known.as_object(), record.as_object_mut()) {
            let ours = [
                GateResult::severity.name(),
                GateResult::fingerprint.name(),
                GateResult::duration_seconds.name(),
                GateResult::exit_code.name(),
                GateResult::reason.name(),
                GateResult::log.name(),
            ];
            let others: Map<_, _> = known
                .iter()
                .filter(|(name, _)| !record.contains_key(*name) && !ours.contains(&name.as_str()))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            record.extend(others);
        }
        *known = record;
        if self.status() != COMPLETE {
            let test = ["test", "tests", "unit", "integration"].contains(&name);
            self.enter(if test { Phase::Test } else { Phase::Quality });
        }
    }

    /// Judges the iteration by what its gates say, and begins the next one if there is to be one. `about` gives what is
    /// known of a failed gate, for its item; `ran` says whether any gate was run at all.
    pub fn evaluate(
        &mut self,
        about: &dyn Fn(&str) -> String,
        ran: bool,
        now: Timestamp,
        door: &dyn Door,
    ) -> Verdict {
        let failed = self.gates_that("fail");
        if failed.is_empty() && self.status() == COMPLETE {
            return Verdict::Complete;
        }
        if failed.is_empty() && !ran {
            self.forget_reason();
            return self.stop(door.tell(&self.nothing_ran()));
        }
        let iteration = self.at_work();
        self.queue.set(WorkQueue::iteration, iteration);
        self.finish_mended();
        let new = failed.iter().filter(|gate| self.recover(gate, about)).count();
        let passes = if failed.is_empty() { self.number(WorkQueue::consecutive_passes) + 1 } else { 0 };
        self.queue.set(WorkQueue::consecutive_passes, passes);
        let failures = self.failures(&failed);
        let again = match self.last_failures() {
            _ if failed.is_empty() => 0,
            Some(last) if last == failures => self.number(WorkQueue::same_failures) + 1,
            _ => 1,
        };
        self.queue.set(WorkQueue::same_failures, again);
        self.remember(iteration, new, &failed, failures, now);
        self.forget_reason();
        let open = self.items().iter().any(is_open);
        if passes >= PASSES && !open {
            self.enter(Phase::Done);
            return Verdict::Complete;
        }
        if again >= SAME_FAILURES {
            let gates = failed.join(", ");
            return self.stop(format!("the same failures came in {again} iterations in a row: {gates}"));
        }
        if iteration >= self.max_iterations() {
            return self.stop(format!("it has had all of its iterations: {iteration}"));
        }
        self.queue.set(WorkQueue::iteration, iteration + 1);
        self.enter(match (failed.is_empty(), again + 1 >= SAME_FAILURES) {
            (true, _) => Phase::Contextualize,
            (false, false) => Phase::Recover,
            (false, true) => Phase::Reassess,
        });
        if let Some(id) = self.holding() {
            let reason = format!("`{id}` is open and waits for the user");
            self.queue.set(WorkQueue::status, PAUSED);
            self.queue.set(WorkQueue::reason, reason.as_str());
            return Verdict::Paused(reason);
        }
        if failed.is_empty() { Verdict::Passed } else { Verdict::Failed(failed) }
    }

    /// Returns what followed from the last iteration, as far as the loop stands there still.
    pub fn verdict(&self) -> Option<Verdict> {
        let reason = || self.reason().to_owned();
        match self.status() {
            COMPLETE => return Some(Verdict::Complete),
            PAUSED => return Some(Verdict::Paused(reason())),
            STOPPED => return Some(Verdict::Stopped(reason())),
            _ => {}
        }
        let failed = self.last_judged()?.list(LoopIteration::failed).iter();
        let failed: Vec<String> = failed.filter_map(Value::as_str).map(str::to_owned).collect();
        Some(if failed.is_empty() { Verdict::Passed } else { Verdict::Failed(failed) })
    }

    fn gates_that(&self, status: &str) -> Vec<String> {
        let gates = self.queue.read(WorkQueue::gate_results).into_iter().flatten();
        gates
            .filter(|(_, result)| text(result, GateResult::status) == status)
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Notes the items of gates as done that pass now.
    fn finish_mended(&mut self) {
        let passed = self.gates_that("pass");
        let mended =
            |item: &Value| is_open(item) && passed.iter().any(|gate| text(item, WorkItem::gate) == gate);
        for place in 0..self.items().len() {
            if mended(&self.items()[place]) {
                self.finish(place);
            }
        }
    }

    /// Makes an item of a failed gate, or tells the open one what is known now. Returns whether it is a new one.
    fn recover(&mut self, gate: &str, about: &dyn Fn(&str) -> String) -> bool {
        let known = |item: &Value| is_open(item) && text(item, WorkItem::gate) == gate;
        if let Some(place) = self.items().iter().position(known) {
            let about = about(gate);
            if !about.is_empty() {
                self.queue[WorkQueue::items][place][WorkItem::description] = about.into();
            }
            return false;
        }
        let severity = self.gate(gate).at(GateResult::severity).cloned().unwrap_or_default();
        let new = NewItem {
            priority: serde_json::from_value(severity).unwrap_or(Severity::S1),
            title: format!("Fix the failed gate: {gate}"),
            description: about(gate),
            gate: Some(gate.to_owned()),
            error_id: None,
        };
        self.add(&new);
        true
    }

    /// Returns a text that is the same for the same failures of the same gates.
    fn failures(&self, failed: &[String]) -> String {
        let of = |gate: &String| {
            let result = self.gate(gate);
            let told = result.map(|result| text(result, GateResult::fingerprint)).unwrap_or_default();
            format!("{gate}\n{told}\n")
        };
        match failed {
            [] => String::new(),
            failed => format!("{:016x}", xxh3_64(failed.iter().map(of).collect::<String>().as_bytes())),
        }
    }

    /// Says why nothing is known, and what to do about it.
    fn nothing_ran(&self) -> Hint {
        let skipped: Vec<String> = self
            .gates_that("skip")
            .iter()
            .map(|gate| {
                let reason =
                    self.gate(gate).map(|result| text(result, GateResult::reason)).unwrap_or_default();
                format!("{gate}: {reason}")
            })
            .collect();
        let gates = skipped.join(", ");
        hint![format!("no gate ran ({gates}); give it one that can: "), Next::AddGate]
    }

    fn remember(&mut self, iteration: u64, new: usize, failed: &[String], failures: String, now: Timestamp) {
        let done = |item: &&Value| {
            text(item, WorkItem::status) == "done"
                && item.read(WorkItem::completed_iteration) == Some(iteration)
        };
        let fixed = self.items().iter().filter(done).count();
        let issues = |gate: &String| self.gate(gate)?.read(GateResult::issues);
        let issues: u64 = failed.iter().filter_map(issues).sum();
        let mut entry = json!({
            LoopIteration::iteration: iteration, LoopIteration::fixed: fixed, LoopIteration::new_issues: new,
            LoopIteration::failed: failed, LoopIteration::issues: issues,
        });
        if !failures.is_empty() {
            entry.set(LoopIteration::fingerprint, failures);
        }
        entry.set(LoopIteration::timestamp, time::stamp(now));
        if !self.queue[WorkQueue::history].is_array() {
            self.queue[WorkQueue::history] = json!([]);
        }
        if let Some(history) = self.queue[WorkQueue::history].as_array_mut() {
            history.push(entry);
            history.drain(..history.len().saturating_sub(HISTORY));
        }
    }

    fn last_failures(&self) -> Option<&str> {
        self.last_judged()?.text(LoopIteration::fingerprint)
    }

    fn stop(&mut self, reason: String) -> Verdict {
        self.enter(Phase::Evaluate);
        self.queue.set(WorkQueue::status, STOPPED);
        self.queue.set(WorkQueue::reason, reason.as_str());
        Verdict::Stopped(reason)
    }
}
