//! What follows from the groups for everything that tells how far the run is.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::orders::is_at_work;
use super::ready::binds;
use super::table::{self, Purpose, Role};
use super::{GroupStage, MOST_DEVELOPERS, Mode, Order, Pipeline, RunStatus, list, text, word};
use crate::model::documents::dispatch::KeptOrder;
use crate::model::documents::pipeline::{
    ExecutionPhase, Group, OrchestratorState, PipelinePhase, PmProgress, PmState, PmTask, SpawnedAgent,
    TaskGroup, TaskGroupStatus,
};
use crate::model::key::{Fields, FieldsMut, Held, Key, List, Put};
use crate::model::plan::{figure, number, texts};

impl Pipeline {
    /// Brings every figure that follows from others up to date.
    pub(super) fn derive(&mut self) {
        // Asked for once each: this is what a change spends its time on.
        let stages: Vec<(String, GroupStage)> =
            self.group_ids().map(|id| (id.to_owned(), self.stage(id))).collect();
        let stage_of = |id: &str| {
            let found = stages.iter().find(|(known, _)| known == id);
            found.map_or(GroupStage::Pending, |(_, stage)| *stage)
        };
        let with = |wanted: fn(GroupStage) -> bool| -> Vec<Value> {
            stages.iter().filter(|(_, stage)| wanted(*stage)).map(|(id, _)| id.as_str().into()).collect()
        };
        let complete = with(|stage| stage == GroupStage::Complete);
        let percentage = match stages.len() {
            0 => 0.0,
            all => (1000.0 * complete.len() as f64 / all as f64).round() / 10.0,
        };
        self.pm.set(PmState::completed_groups, complete);
        self.pm[PmState::in_progress_groups] =
            with(|stage| !matches!(stage, GroupStage::Complete | GroupStage::Pending)).into();
        self.pm.set(PmState::pending_groups, with(|stage| stage == GroupStage::Pending));
        self.pm[PmState::completion_percentage] = number(percentage);
        self.pm[PmState::estimated_time_remaining_minutes] = number(self.minutes_left(&stage_of).round());
        self.derive_groups();
        for task in items(&mut self.pm, PmState::all_tasks) {
            let progress = progress([stage_of(text(task, PmTask::group_id))].into_iter());
            set(task, PmTask::status, progress);
        }
        for phase in items(&mut self.pm, PmState::execution_phases) {
            let progress = progress(texts(phase, ExecutionPhase::group_ids).into_iter().map(stage_of));
            set(phase, ExecutionPhase::status, progress);
        }
        self.derive_orchestrator();
    }

    fn derive_groups(&mut self) {
        for group in items(&mut self.pm, PmState::task_groups) {
            let entry = self.groups.get(text(group, TaskGroup::id));
            let status = match entry.and_then(|entry| table::stage(text(entry, Group::status))) {
                None | Some(GroupStage::Pending) => TaskGroupStatus::Pending,
                Some(GroupStage::Complete) => TaskGroupStatus::Complete,
                _ if entry.is_some_and(|entry| entry.has(Group::handoff)) => TaskGroupStatus::InProgress,
                // A developer has it and nobody has heard of it yet.
                _ => TaskGroupStatus::Assigned,
            };
            set(group, TaskGroup::status, status);
        }
    }

    fn derive_orchestrator(&mut self) {
        let agents: Vec<Value> = list(&self.orchestrator, OrchestratorState::orders)
            .iter()
            .filter(|order| is_at_work(order))
            .map(|order| {
                json!({
                    SpawnedAgent::agent_type: text(order, KeptOrder::role),
                    SpawnedAgent::group_id: text(order, KeptOrder::group_id),
                    SpawnedAgent::spawned_at: text(order, KeptOrder::spawned_at),
                    SpawnedAgent::order_id: text(order, KeptOrder::id),
                })
            })
            .collect();
        self.orchestrator[OrchestratorState::active_agents] = json!(agents);
        self.orchestrator[OrchestratorState::current_phase] = json!(self.phase());
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

    /// Estimates the minutes until all groups are complete: the phases of the plan's author one after the other, else
    /// as many groups at once as may be, each after what it depends on.
    fn minutes_left(&self, stage_of: &impl Fn(&str) -> GroupStage) -> f64 {
        let (written, derived): (Vec<&Value>, Vec<&Value>) =
            list(&self.pm, PmState::execution_phases).iter().partition(|phase| binds(phase));
        let left = |phase: &Value| -> Vec<(String, f64)> {
            let ids = texts(phase, ExecutionPhase::group_ids).into_iter();
            ids.map(|id| (id.to_owned(), self.left_of(id, stage_of(id)))).collect()
        };
        let mut parts: Vec<Vec<(String, f64)>> = written.into_iter().map(left).collect();
        parts.push(derived.into_iter().flat_map(left).collect());
        parts.iter().map(|part| self.minutes_of(part)).sum()
    }

    /// Estimates the minutes for groups that may run at once: the longest chain of them, or all of them shared out.
    fn minutes_of(&self, groups: &[(String, f64)]) -> f64 {
        let at_once = if self.mode() == Mode::Parallel { MOST_DEVELOPERS } else { 1 };
        let mut ends: BTreeMap<&str, f64> = BTreeMap::new();
        for (id, minutes) in groups {
            let needs =
                self.task_group(id).map(|group| texts(group, TaskGroup::depends_on)).unwrap_or_default();
            let begin = needs.iter().filter_map(|need| ends.get(need)).copied().fold(0.0, f64::max);
            ends.insert(id, begin + minutes);
        }
        let longest = ends.into_values().fold(0.0, f64::max);
        let all: f64 = groups.iter().map(|(_, minutes)| minutes).sum();
        longest.max(all / at_once.min(groups.len().max(1)) as f64)
    }

    /// Estimates the minutes until a group is complete, by what the plan says and the step it is at.
    fn left_of(&self, id: &str, stage: GroupStage) -> f64 {
        if stage == GroupStage::Complete {
            return 0.0;
        }
        let Some(group) = self.task_group(id) else { return 0.0 };
        let told = figure(group, TaskGroup::estimated_effort_minutes).filter(|minutes| *minutes >= 0.0);
        let all = told.unwrap_or(match text(group, TaskGroup::complexity) {
            "low" => 10.0,
            "high" => 30.0,
            _ => 15.0,
        });
        match stage {
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

/// Returns the items of a list field, for a change.
fn items<T: Held<Kind: List>>(value: &mut Value, key: Key<T>) -> impl Iterator<Item = &mut Value> {
    value.list_mut(key).into_iter().flatten()
}

/// Sets a word, if it is another one.
fn set<T: Held>(item: &mut Value, key: Key<T>, word: impl Put<T::Kind>) {
    let word = word.put();
    if item.at(key) != Some(&word) {
        item[key] = word;
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
