//! What follows from the groups for everything that tells how far the run is.

use serde_json::{Value, json};

use super::table::{Purpose, Role};
use super::{GroupStage, MOST_DEVELOPERS, Mode, Order, Pipeline, RunStatus, list, text, word};
use crate::model::documents::pipeline::{PipelinePhase, PmProgress, TaskGroupStatus};
use crate::model::plan::{figure, number, texts};

impl Pipeline {
    /// Brings every figure that follows from others up to date.
    pub(super) fn derive(&mut self) {
        let ids: Vec<String> = self.group_ids().map(Into::into).collect();
        let with = |stages: fn(GroupStage) -> bool| -> Vec<&String> {
            ids.iter().filter(|id| stages(self.stage(id))).collect()
        };
        let complete = with(|stage| stage == GroupStage::Complete);
        let pending = with(|stage| stage == GroupStage::Pending);
        let in_flight = with(|stage| !matches!(stage, GroupStage::Complete | GroupStage::Pending));
        let percentage = match ids.len() {
            0 => 0.0,
            all => (1000.0 * complete.len() as f64 / all as f64).round() / 10.0,
        };
        let lists = [json!(complete), json!(in_flight), json!(pending)];
        let [complete, in_flight, pending] = lists;
        let remaining = number(self.minutes_left().round());
        self.pm["completed_groups"] = complete;
        self.pm["in_progress_groups"] = in_flight;
        self.pm["pending_groups"] = pending;
        self.pm["completion_percentage"] = number(percentage);
        self.pm["estimated_time_remaining_minutes"] = remaining;
        self.derive_groups();
        self.derive_tasks();
        self.derive_phases();
        self.derive_orchestrator();
    }

    fn derive_groups(&mut self) {
        for place in 0..self.task_groups().len() {
            let id = text(&self.task_groups()[place], "id");
            let status = match self.stage(id) {
                GroupStage::Pending => TaskGroupStatus::Pending,
                GroupStage::Complete => TaskGroupStatus::Complete,
                _ if self.entry(id).is_some_and(|entry| entry.get("handoff").is_some()) => {
                    TaskGroupStatus::InProgress
                }
                // A developer has it and nobody has heard of it yet.
                _ => TaskGroupStatus::Assigned,
            };
            self.pm["task_groups"][place]["status"] = json!(status);
        }
    }

    fn derive_tasks(&mut self) {
        for place in 0..list(&self.pm, "all_tasks").len() {
            let group = text(&self.pm["all_tasks"][place], "group_id");
            let progress = progress([self.stage(group)].into_iter());
            self.pm["all_tasks"][place]["status"] = json!(progress);
        }
    }

    fn derive_phases(&mut self) {
        for place in 0..list(&self.pm, "execution_phases").len() {
            let ids = texts(&self.pm["execution_phases"][place], "group_ids");
            let progress = progress(ids.into_iter().map(|id| self.stage(id)));
            self.pm["execution_phases"][place]["status"] = json!(progress);
        }
    }

    fn derive_orchestrator(&mut self) {
        let agents: Vec<Value> = list(&self.orchestrator, "orders")
            .iter()
            .map(|order| {
                json!({
                    "agent_type": text(order, "role"), "group_id": text(order, "group_id"),
                    "spawned_at": text(order, "spawned_at"), "order_id": text(order, "id"),
                })
            })
            .collect();
        self.orchestrator["active_agents"] = json!(agents);
        self.orchestrator["current_phase"] = json!(self.phase());
    }

    /// Returns the phase of the run: that of the order opened last, else of what is needed first.
    fn phase(&self) -> PipelinePhase {
        if self.status() == RunStatus::Completed {
            return PipelinePhase::Completed;
        }
        let open: Vec<Order> = self.open_orders().collect();
        let last = open.last().map(|order| order.purpose);
        match last.or_else(|| self.due(&open).first().map(|(purpose, _)| *purpose)) {
            None => PipelinePhase::Initialization,
            Some(Purpose::FinalCheck) => PipelinePhase::PmFinalCheck,
            Some(purpose) => match purpose.role() {
                Role::Pm => PipelinePhase::PmPlanning,
                Role::Developer => PipelinePhase::DeveloperWorking,
                Role::QaExpert => PipelinePhase::QaTesting,
                Role::TechLead => PipelinePhase::TechReview,
            },
        }
    }

    /// Estimates the minutes until all groups are complete: phase after phase, as many groups at once as may be.
    fn minutes_left(&self) -> f64 {
        let at_once = if self.mode() == Mode::Parallel { MOST_DEVELOPERS } else { 1 };
        let phases = list(&self.pm, "execution_phases").iter();
        let of_phase = |phase: &Value| {
            let left: Vec<f64> = texts(phase, "group_ids").into_iter().map(|id| self.left_of(id)).collect();
            let longest = left.iter().copied().fold(0.0, f64::max);
            longest.max(left.iter().sum::<f64>() / at_once.min(left.len().max(1)) as f64)
        };
        phases.map(of_phase).sum()
    }

    /// Estimates the minutes until a group is complete, by what the plan says and the step it is at.
    fn left_of(&self, id: &str) -> f64 {
        let Some(group) = self.task_group(id) else { return 0.0 };
        let told = figure(group, "estimated_effort_minutes").filter(|minutes| *minutes >= 0.0);
        let all = told.unwrap_or(match text(group, "complexity") {
            "low" => 10.0,
            "high" => 30.0,
            _ => 15.0,
        });
        match self.stage(id) {
            GroupStage::Complete => 0.0,
            GroupStage::WaitingReview | GroupStage::TechReview => all / 4.0,
            GroupStage::WaitingQa | GroupStage::QaTesting => all / 2.0,
            _ => all,
        }
    }

    /// Returns how the run stands, in a word or two.
    pub fn summary(&self) -> String {
        match (self.status(), self.stop_reason()) {
            (RunStatus::Error, Some(reason)) => format!("stopped: {reason}"),
            (status, _) => word(status),
        }
    }
}

fn progress(stages: impl Iterator<Item = GroupStage> + Clone) -> PmProgress {
    if stages.clone().all(|stage| stage == GroupStage::Complete) {
        return PmProgress::Complete;
    }
    match stages.into_iter().all(|stage| stage == GroupStage::Pending) {
        true => PmProgress::Pending,
        false => PmProgress::InProgress,
    }
}
