//! Taking a plan over: what stays of the run, what comes, what goes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::phases::{check_order, check_phases, computed_phases, decide, id_of};
use super::table::Purpose;
use super::values::{push, remove};
use super::{MOST_DEVELOPERS, Mode, Order, Pipeline, Plan, Refusal, RunStatus, list, text, time, word};
use crate::model::documents::dispatch::{AdoptedPlan, KeptOrder};
use crate::model::documents::pipeline::{
    ExecutionPhase, Group, Iterations, OrchestratorState, PmState, PmTask, TaskGroup,
};
use crate::model::key::{Fields, FieldsMut};
use crate::model::plan::texts;

impl Pipeline {
    /// Takes a plan over. Returns whether it is another one than before.
    ///
    /// Groups that are complete stay as they are, groups that have begun stay at their step, and groups that have not
    /// begun are dropped when the plan does not name them.
    pub fn adopt(&mut self, plan: &Plan, now: Timestamp) -> Result<bool, Refusal> {
        let last = list(&self.orchestrator, OrchestratorState::plans).last();
        if last.is_some_and(|last| text(last, AdoptedPlan::digest) == plan.digest) && self.is_planned() {
            return Ok(false);
        }
        let resumed = self.status() == RunStatus::Error;
        self.check_wanted()?;
        let groups = self.merged_groups(plan);
        check_order(&groups).map_err(Refusal::Plan)?;
        let (mode, reasoning) = self.chosen_mode(plan, &groups);
        let phases = self.merged_phases(plan, &groups, mode)?;
        if groups.iter().all(|group| self.is_complete(id_of(group))) {
            return Err(Refusal::Plan("it has no group that is not complete yet".into()));
        }
        self.take(plan, &groups, &phases, (mode, &reasoning));
        if resumed {
            self.unstop();
            let begun: Vec<String> =
                self.group_ids().filter(|id| self.is_in_flight(id)).map(Into::into).collect();
            begun.iter().for_each(|id| self.forgive(id));
        }
        self.finish_planning(now);
        let plans = json!({
            AdoptedPlan::digest: plan.digest, AdoptedPlan::adopted_at: time::stamp(now),
            AdoptedPlan::groups: self.task_groups().len(),
        });
        push(&mut self.orchestrator, OrchestratorState::plans, plans, 100);
        self.count();
        let decision = format!("adopt_plan_{}_groups", self.task_groups().len());
        self.log(&decision, &format!("{}: {reasoning}", word(mode)), now);
        self.derive();
        Ok(true)
    }

    /// Whether a plan is wanted: there is none, somebody asked for one, or the run stopped.
    fn check_wanted(&self) -> Result<(), Refusal> {
        match self.status() {
            RunStatus::Completed => return Err(Refusal::Over),
            RunStatus::Error => return Ok(()),
            RunStatus::Running => {}
        }
        let helping = |purpose| matches!(purpose, Purpose::Plan | Purpose::Simplify | Purpose::Mediate);
        let open: Vec<Order> = self.open_orders().collect();
        let asked = open.iter().any(|order| helping(order.purpose));
        let due = self.due(&open).iter().any(|(purpose, _)| helping(*purpose));
        match !self.is_planned() || asked || due {
            true => Ok(()),
            false => Err(Refusal::Planned),
        }
    }

    /// Returns all groups that there will be.
    fn merged_groups(&self, plan: &Plan) -> Vec<Value> {
        let named = |id: &str| plan.groups.iter().find(|group| id_of(group) == id);
        let stays = |group: &&Value| {
            let id = id_of(group);
            self.is_complete(id) || self.is_in_flight(id) || named(id).is_some()
        };
        let update = |known: &Value| match named(id_of(known)) {
            Some(new) if !self.is_complete(id_of(known)) => {
                let mut group = known.clone();
                for (field, value) in new.as_object().into_iter().flatten() {
                    group[field] = value.clone();
                }
                group
            }
            _ => known.clone(),
        };
        let mut groups: Vec<Value> = self.task_groups().iter().filter(stays).map(update).collect();
        let new = plan.groups.iter().filter(|group| self.task_group(id_of(group)).is_none());
        groups.extend(new.cloned());
        groups
    }

    fn chosen_mode(&self, plan: &Plan, groups: &[Value]) -> (Mode, String) {
        let open: Vec<Value> =
            groups.iter().filter(|group| !self.is_complete(id_of(group))).cloned().collect();
        let (found, reasoning) = decide(&open);
        match (self.requested_mode(), plan.mode) {
            (Some(mode), _) => (mode, "asked for when the run was started".into()),
            (None, Some(mode)) => (mode, plan.reasoning.clone().unwrap_or(reasoning)),
            (None, None) => (found, plan.reasoning.clone().unwrap_or(reasoning)),
        }
    }

    /// Returns the phases: those of before without what the plan names, then the plan's, or computed ones.
    fn merged_phases(&self, plan: &Plan, groups: &[Value], mode: Mode) -> Result<Vec<Value>, Refusal> {
        let is_there = |id: &str| groups.iter().any(|group| id_of(group) == id);
        let open = |id: &str| is_there(id) && !self.is_complete(id);
        let fresh: Vec<Value> = match plan.phases.is_empty() {
            true => {
                let rest: Vec<&Value> = groups
                    .iter()
                    .filter(|group| plan.groups.iter().any(|new| id_of(new) == id_of(group)))
                    .collect();
                computed_phases(
                    &rest.into_iter().filter(|group| open(id_of(group))).collect::<Vec<_>>(),
                    mode,
                )
            }
            false => {
                check_phases(&plan.phases, groups, |id| self.is_complete(id)).map_err(Refusal::Plan)?;
                let without_complete = |phase: &Value| {
                    let mut phase = phase.clone();
                    let ids: Vec<&str> =
                        texts(&phase, ExecutionPhase::group_ids).into_iter().filter(|id| open(id)).collect();
                    phase[ExecutionPhase::group_ids] = json!(ids);
                    phase
                };
                plan.phases.iter().map(without_complete).collect()
            }
        };
        let named =
            |id: &str| fresh.iter().any(|phase| texts(phase, ExecutionPhase::group_ids).contains(&id));
        let kept = list(&self.pm, PmState::execution_phases).iter().map(|phase| {
            let mut phase = phase.clone();
            let ids: Vec<&str> = texts(&phase, ExecutionPhase::group_ids)
                .into_iter()
                .filter(|id| is_there(id) && !named(id))
                .collect();
            phase[ExecutionPhase::group_ids] = json!(ids);
            phase
        });
        let mut phases: Vec<Value> = kept.chain(fresh.iter().cloned()).collect();
        phases.retain(|phase| !texts(phase, ExecutionPhase::group_ids).is_empty());
        let lost = groups
            .iter()
            .map(id_of)
            .find(|id| !phases.iter().any(|phase| texts(phase, ExecutionPhase::group_ids).contains(id)));
        if let Some(lost) = lost {
            return Err(Refusal::Plan(format!("the group `{lost}` is in no phase")));
        }
        for (place, phase) in phases.iter_mut().enumerate() {
            let count = texts(phase, ExecutionPhase::group_ids).len();
            phase.set(ExecutionPhase::phase_number, place + 1);
            if phase.at(ExecutionPhase::parallel_count).is_none() || mode == Mode::Simple {
                let at_once = if mode == Mode::Parallel { count.min(MOST_DEVELOPERS) } else { 1 };
                phase.set(ExecutionPhase::parallel_count, at_once);
            }
        }
        check_phases(&phases, groups, |_| false).map_err(Refusal::Plan)?;
        Ok(phases)
    }

    fn take(&mut self, plan: &Plan, groups: &[Value], phases: &[Value], (mode, reasoning): (Mode, &str)) {
        let is_there = |id: &str| groups.iter().any(|group| id_of(group) == id);
        let replaced =
            |task: &Value| plan.tasks.iter().any(|new| text(new, KeptOrder::id) == text(task, PmTask::id));
        let kept = list(&self.pm, PmState::all_tasks).iter().filter(|task| {
            let group = text(task, PmTask::group_id);
            let redone = plan.groups.iter().any(|new| id_of(new) == group) && !self.is_complete(group);
            is_there(group) && !redone && !replaced(task)
        });
        let wanted = |task: &&Value| !self.is_complete(text(task, PmTask::group_id));
        let tasks: Vec<Value> = kept.chain(plan.tasks.iter().filter(wanted)).cloned().collect();
        let gone: Vec<String> = self.group_ids().filter(|id| !is_there(id)).map(Into::into).collect();
        if let Some(groups) = self.groups.as_object_mut() {
            gone.iter().for_each(|id| drop(groups.shift_remove(id)));
        }
        for (name, value) in &plan.more {
            self.pm[name] = value.clone();
        }
        self.pm[PmState::mode] = json!(mode);
        self.pm.set(PmState::mode_reasoning, reasoning);
        self.pm[PmState::all_tasks] = json!(tasks);
        self.pm[PmState::task_groups] = json!(groups);
        self.pm[PmState::execution_phases] = json!(phases);
        for group in groups {
            let entry = self.entry_mut(id_of(group));
            if text(entry, Group::status) != "complete" {
                entry[Group::group_name] = group[TaskGroup::name].clone();
                entry[Group::branch_name] = group[TaskGroup::branch_name].clone();
            }
            if entry.at(Group::iterations).is_none() {
                entry[Group::iterations] =
                    json!({Iterations::developer: 0, Iterations::qa: 0, Iterations::tech_lead: 0});
            }
        }
    }

    /// Finishes the order for a plan.
    fn finish_planning(&mut self, now: Timestamp) {
        remove(&mut self.orchestrator, OrchestratorState::next_order);
        remove(&mut self.orchestrator, OrchestratorState::handoff);
        let open = self.open_orders().filter(|order| order.purpose == Purpose::Plan);
        for order in open.collect::<Vec<_>>() {
            self.close(&order.id, &"PLAN".into(), "", now);
        }
    }
}
