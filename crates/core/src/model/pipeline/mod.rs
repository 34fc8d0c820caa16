//! The pipeline: a project manager plans, developers work, testers test, the tech lead reviews.
//!
//! The six documents of a run are one value, [`Pipeline`]. Three things happen to it: a plan (`plan.rs`, `phases.rs`)
//! is adopted (`adopt.rs`), orders are opened (`orders.rs`) for whoever is needed and not held up (`ready.rs`), and what
//! somebody reports moves a group (`report.rs`) by the one table (`table.rs`), if it is borne out (`proof.rs`). What follows for the figures is in
//! `progress.rs`, the messages between roles in `handoff.rs`, what stays open of them in `record.rs`, what agents cost in `spending.rs`. All of it is pure:
//! `simulate.rs` runs it by the thousand. Who conducts a run and how it is given up is in `ending.rs`, what an edit by hand does
//! to orders in `edited.rs`.
//!
//! The documents are edited as the values they are, so that what we do not know of them stays. What we keep in them beside
//! the seed's fields is in `documents/dispatch.rs`.

mod adopt;
mod edited;
mod ending;
mod handoff;
mod orders;
mod phases;
mod plan;
mod progress;
mod proof;
mod ready;
mod record;
mod refusal;
mod report;
pub mod simulate;
mod spending;
pub mod table;
mod values;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::plan::word;
use super::time;
use crate::model::documents::dispatch::StopKind;
use crate::model::documents::pipeline::{
    DevToQa, Group, GroupStage, LoggedDecision, Mode, OrchestratorState, PmState, PmTask, RunStatus,
    TaskGroup,
};
use crate::model::key::{Fields, FieldsMut};

pub use edited::REPLACED;
pub use handoff::WITHOUT_RESULTS;
pub use orders::Order;
pub use phases::MOST_DEVELOPERS;
pub use plan::{Plan, is_branch};
pub use proof::Criterion;
pub use ready::{Caps, Obstacle};
pub use refusal::Refusal;
pub use report::{Effect, Said};
pub use spending::{Failure, failures};
pub use values::{Content, list, text};
use values::{bump, clip, number, push};

/// The group of whoever works for all of them.
pub const NO_GROUP: &str = "-";

/// The kinds of the documents, in the order of [`Pipeline::documents`].
pub const KINDS: [&str; 6] =
    ["pm_state", "group_status", "orchestrator_state", "dev_to_qa", "qa_to_techlead", "techlead_to_dev"];

/// Limits of one group. Reaching one is allowed, going beyond is not.
pub const DEVELOPER_ITERATIONS: u64 = 5;
pub const QA_FAILURES: u64 = 3;
pub const REJECTED_REVIEWS: u64 = 3;
/// How often the project manager may help one group before the run stops.
pub const MEDIATIONS: usize = 2;
/// How many plans a run may have before it stops.
pub const PLANS: usize = 10;

/// How much of a growing list is kept; the store's history has the rest.
const DECISIONS: usize = 500;
const PAST_ORDERS: usize = 100;

/// The six documents of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    pub pm: Value,
    pub groups: Value,
    pub orchestrator: Value,
    pub dev_to_qa: Value,
    pub qa_to_techlead: Value,
    pub techlead_to_dev: Value,
}

impl Pipeline {
    /// Returns a run that has not begun.
    pub fn new(session: &str, requirements: &str, mode: Option<Mode>, now: Timestamp) -> Pipeline {
        let mut pm = json!({
            PmState::session_id: session, PmState::mode: mode.unwrap_or(Mode::Simple),
            PmState::mode_reasoning: "not planned yet",
            PmState::original_requirements: requirements, PmState::all_tasks: [], PmState::task_groups: [],
            PmState::execution_phases: [],
            PmState::completed_groups: [], PmState::in_progress_groups: [], PmState::pending_groups: [],
            PmState::iteration: 0,
            PmState::last_update: time::stamp(now), PmState::completion_percentage: 0,
            PmState::estimated_time_remaining_minutes: 0,
        });
        if let Some(mode) = mode {
            pm[PmState::requested_mode] = json!(mode);
            pm.set(PmState::mode_reasoning, "asked for");
        }
        let orchestrator = json!({
            OrchestratorState::session_id: session, OrchestratorState::current_phase: "initialization",
            OrchestratorState::active_agents: [], OrchestratorState::iteration: 0,
            OrchestratorState::total_spawns: 0, OrchestratorState::decisions_log: [],
            OrchestratorState::status: "running", OrchestratorState::start_time: time::stamp(now),
            OrchestratorState::end_time: null, OrchestratorState::last_update: time::stamp(now),
            OrchestratorState::orders: [], OrchestratorState::past_orders: [], OrchestratorState::plans: [],
        });
        let messages = || json!({DevToQa::messages: []});
        Pipeline {
            pm,
            groups: json!({}),
            orchestrator,
            dev_to_qa: messages(),
            qa_to_techlead: messages(),
            techlead_to_dev: messages(),
        }
    }

    /// Returns the documents, in the order of [`KINDS`].
    pub fn documents(&self) -> [&Value; 6] {
        [
            &self.pm,
            &self.groups,
            &self.orchestrator,
            &self.dev_to_qa,
            &self.qa_to_techlead,
            &self.techlead_to_dev,
        ]
    }

    /// Returns the place of a document by its kind.
    pub fn document_mut(&mut self, kind: &str) -> Option<&mut Value> {
        match kind {
            "pm_state" => Some(&mut self.pm),
            "group_status" => Some(&mut self.groups),
            "orchestrator_state" => Some(&mut self.orchestrator),
            "dev_to_qa" => Some(&mut self.dev_to_qa),
            "qa_to_techlead" => Some(&mut self.qa_to_techlead),
            "techlead_to_dev" => Some(&mut self.techlead_to_dev),
            _ => None,
        }
    }

    pub fn session(&self) -> &str {
        text(&self.pm, PmState::session_id)
    }

    pub fn requirements(&self) -> &str {
        text(&self.pm, PmState::original_requirements)
    }

    pub fn mode(&self) -> Mode {
        if text(&self.pm, PmState::mode) == "parallel" { Mode::Parallel } else { Mode::Simple }
    }

    /// Returns the mode that whoever started the run has asked for.
    pub fn requested_mode(&self) -> Option<Mode> {
        serde_json::from_value(self.pm.at(PmState::requested_mode)?.clone()).ok()
    }

    pub fn status(&self) -> RunStatus {
        match text(&self.orchestrator, OrchestratorState::status) {
            "completed" => RunStatus::Completed,
            "error" => RunStatus::Error,
            _ => RunStatus::Running,
        }
    }

    /// Returns why a run has stopped before it was complete.
    pub fn stop_reason(&self) -> Option<&str> {
        self.orchestrator.text(OrchestratorState::stop_reason)
    }

    /// Returns the groups as the plan describes them.
    pub fn task_groups(&self) -> &[Value] {
        list(&self.pm, PmState::task_groups)
    }

    pub fn task_group(&self, id: &str) -> Option<&Value> {
        self.task_groups().iter().find(|group| text(group, TaskGroup::id) == id)
    }

    /// Returns the tasks of a group.
    pub fn tasks_of(&self, id: &str) -> Vec<&Value> {
        list(&self.pm, PmState::all_tasks).iter().filter(|task| text(task, PmTask::group_id) == id).collect()
    }

    /// Returns how a group stands.
    pub fn entry(&self, id: &str) -> Option<&Value> {
        self.groups.get(id)
    }

    pub fn stage(&self, id: &str) -> GroupStage {
        self.entry(id).and_then(|entry| table::stage(text(entry, Group::status))).unwrap_or_default()
    }

    pub fn is_complete(&self, id: &str) -> bool {
        self.stage(id) == GroupStage::Complete
    }

    /// Whether work on a group has begun and is not complete.
    pub fn is_in_flight(&self, id: &str) -> bool {
        !matches!(self.stage(id), GroupStage::Pending | GroupStage::Complete)
    }

    /// Returns the ids of the groups, in the order of the plan.
    pub fn group_ids(&self) -> impl Iterator<Item = &str> {
        self.task_groups().iter().map(|group| text(group, TaskGroup::id)).filter(|id| !id.is_empty())
    }

    /// Whether everything that was planned is complete.
    pub fn all_complete(&self) -> bool {
        self.group_ids().next().is_some() && self.group_ids().all(|id| self.is_complete(id))
    }

    pub fn is_planned(&self) -> bool {
        self.group_ids().next().is_some()
    }

    /// Refuses a group that the plan does not have.
    pub fn check_group(&self, id: &str) -> Result<(), Refusal> {
        if self.group_ids().any(|known| known == id) {
            return Ok(());
        }
        let known: Vec<&str> = self.group_ids().collect();
        let known = if known.is_empty() {
            "there is no plan yet".into()
        } else {
            format!("there are {}", known.join(", "))
        };
        Err(Refusal::NoGroup { id: id.into(), known })
    }

    /// Returns the entry of a group, for a change.
    fn entry_mut(&mut self, id: &str) -> &mut Value {
        if !self.groups.is_object() {
            self.groups = json!({});
        }
        let entry = &mut self.groups[id];
        if !entry.is_object() {
            *entry = json!({Group::group_id: id, Group::status: "pending", Group::current_agent: "none"});
        }
        entry
    }

    /// Counts one change more. Returns its number.
    fn count(&mut self) -> u64 {
        bump(&mut self.pm, PmState::iteration);
        bump(&mut self.orchestrator, OrchestratorState::iteration)
    }

    /// Writes down what was decided and why.
    fn log(&mut self, decision: &str, reasoning: &str, now: Timestamp) {
        let line = json!({
            LoggedDecision::iteration: number(&self.orchestrator, OrchestratorState::iteration),
            LoggedDecision::decision: decision,
            LoggedDecision::reasoning: clip(reasoning, 500), LoggedDecision::timestamp: time::stamp(now),
        });
        push(&mut self.orchestrator, OrchestratorState::decisions_log, line, DECISIONS);
    }

    /// Ends the run before it is complete.
    fn stop(&mut self, kind: StopKind, reason: &str, now: Timestamp) {
        self.orchestrator[OrchestratorState::status] = json!(RunStatus::Error);
        self.orchestrator[OrchestratorState::stop_kind] = json!(kind);
        self.orchestrator.set(OrchestratorState::stop_reason, reason);
        self.orchestrator.set(OrchestratorState::end_time, time::stamp(now));
        self.log("stop", reason, now);
    }
}
