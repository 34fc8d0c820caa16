//! Plans: what the project manager wants done, checked before anybody works by it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::refusal::Refusal;
use super::values::{Content, list, text};
use crate::model::documents::dispatch::KeptOrder;
use crate::model::documents::pipeline::{Mode, PmState, PmTask, TaskGroup};
use crate::model::ids::{self, RULE};
use crate::model::key::{Fields, FieldsMut};
use crate::model::plan::{figure, texts};
use crate::model::shape::Shaped;

/// How large a run may become.
pub(super) const GROUPS: usize = 100;
const TASKS: usize = 1000;

/// The one group of a plan without groups.
const MAIN: &str = "main";

/// A plan that is sound in itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub(super) mode: Option<Mode>,
    pub(super) reasoning: Option<String>,
    pub(super) tasks: Vec<Value>,
    pub(super) groups: Vec<Value>,
    pub(super) phases: Vec<Value>,
    /// What we do not know of it.
    pub(super) more: Content,
    pub(super) digest: String,
}

impl Plan {
    /// Reads the planning part of `pm_state`; what else of that document is in it is left alone.
    pub fn read(value: &Value) -> Result<Plan, Refusal> {
        let wrong = |message: String| Refusal::Plan(message);
        let map = value.as_object().ok_or_else(|| wrong("expected an object".into()))?;
        check_shape(map).map_err(wrong)?;
        let mut plan = Plan {
            mode: serde_json::from_value(value[PmState::mode].clone()).ok(),
            reasoning: value.text(PmState::mode_reasoning).map(Into::into),
            tasks: list(value, PmState::all_tasks).to_vec(),
            groups: list(value, PmState::task_groups).to_vec(),
            phases: list(value, PmState::execution_phases).to_vec(),
            more: map
                .iter()
                .filter(|(name, _)| !is_ours(name))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
            digest: format!("{:016x}", xxh3_64(value.to_string().as_bytes())),
        };
        if plan.groups.is_empty() && !plan.tasks.is_empty() {
            plan.groups.push(json!({TaskGroup::id: MAIN, TaskGroup::name: MAIN}));
            plan.tasks.iter_mut().for_each(|task| task[PmTask::group_id] = MAIN.into());
        }
        plan.check_groups().and_then(|()| plan.join_tasks()).map_err(wrong)?;
        Ok(plan)
    }

    fn check_groups(&mut self) -> Result<(), String> {
        match self.groups.len() {
            0 => return Err("`task_groups` is empty, and so is `all_tasks`".into()),
            count if count > GROUPS => return Err(format!("{count} groups are more than {GROUPS}")),
            _ => {}
        }
        let mut seen = BTreeSet::new();
        for (place, group) in self.groups.iter_mut().enumerate() {
            let id = text(group, TaskGroup::id).to_owned();
            if !ids::is_sound(&id) {
                return Err(format!("`task_groups[{place}].id` is no valid id: {RULE}"));
            }
            if !seen.insert(id.clone()) {
                return Err(format!("there are two groups `{id}`"));
            }
            if text(group, TaskGroup::name).trim().is_empty() {
                group.set(TaskGroup::name, id.as_str());
            }
            if figure(group, TaskGroup::estimated_effort_minutes).is_some_and(|minutes| minutes < 0.0) {
                return Err(format!("`estimated_effort_minutes` of `{id}` is negative"));
            }
            match group.text(TaskGroup::branch_name) {
                Some(branch) if is_branch(branch) => {}
                Some(_) => return Err(format!("`branch_name` of `{id}` is no name for a branch")),
                None => group[TaskGroup::branch_name] = branch_name(&id, text(group, TaskGroup::name)).into(),
            }
        }
        Ok(())
    }

    /// Makes tasks and groups name each other.
    fn join_tasks(&mut self) -> Result<(), String> {
        if self.tasks.len() > TASKS {
            return Err(format!("{} tasks are more than {TASKS}", self.tasks.len()));
        }
        let mut group_of: BTreeMap<String, String> = BTreeMap::new();
        for (place, task) in self.tasks.iter().enumerate() {
            let (id, group) = (text(task, PmTask::id), text(task, PmTask::group_id));
            if id.trim().is_empty() {
                return Err(format!("`all_tasks[{place}].id` is missing"));
            }
            if !group.is_empty() && !self.groups.iter().any(|known| text(known, KeptOrder::id) == group) {
                return Err(format!("the task `{id}` is of a group `{group}` that is not in the plan"));
            }
            if group_of.insert(id.into(), group.into()).is_some() {
                return Err(format!("there are two tasks `{id}`"));
            }
        }
        for group in &self.groups {
            let id = text(group, TaskGroup::id);
            for task in texts(group, TaskGroup::tasks) {
                match group_of.get_mut(task) {
                    None => return Err(format!("the task `{task}` of group `{id}` is not in `all_tasks`")),
                    Some(of) if of.is_empty() => *of = id.into(),
                    Some(of) if of == id => {}
                    Some(of) => return Err(format!("the task `{task}` is of the groups `{of}` and `{id}`")),
                }
            }
        }
        for task in &mut self.tasks {
            let group = group_of[text(task, PmTask::id)].as_str();
            if group.is_empty() {
                return Err(format!("the task `{}` is in no group", text(task, PmTask::id)));
            }
            task.set(PmTask::group_id, group);
        }
        for group in &mut self.groups {
            let of = |task: &&Value| text(task, PmTask::group_id) == text(group, TaskGroup::id);
            let ids: Vec<&str> = self.tasks.iter().filter(of).map(|task| text(task, PmTask::id)).collect();
            group[TaskGroup::tasks] = json!(ids);
        }
        Ok(())
    }
}

/// Whether a field of `pm_state` is ours to write.
fn is_ours(name: &str) -> bool {
    let planning = [
        PmState::mode.name(),
        PmState::mode_reasoning.name(),
        PmState::all_tasks.name(),
        PmState::task_groups.name(),
        PmState::execution_phases.name(),
    ];
    let kept = [
        PmState::session_id.name(),
        PmState::original_requirements.name(),
        PmState::requested_mode.name(),
        PmState::evidence.name(),
        PmState::revision.name(),
        PmState::iteration.name(),
    ];
    let derived = [
        PmState::completed_groups.name(),
        PmState::in_progress_groups.name(),
        PmState::pending_groups.name(),
        PmState::last_update.name(),
    ];
    let figures = [PmState::completion_percentage.name(), PmState::estimated_time_remaining_minutes.name()];
    planning.contains(&name) || kept.contains(&name) || derived.contains(&name) || figures.contains(&name)
}

/// Checks the fields of a plan as those of the document that they go to.
fn check_shape(plan: &Content) -> Result<(), String> {
    let mut document = json!({
        PmState::session_id: "", PmState::mode: "simple", PmState::original_requirements: "",
        PmState::task_groups: [], PmState::iteration: 0,
        PmState::last_update: "",
    });
    let planning = [
        PmState::mode.name(),
        PmState::mode_reasoning.name(),
        PmState::all_tasks.name(),
        PmState::task_groups.name(),
        PmState::execution_phases.name(),
        PmState::success_criteria.name(),
    ];
    for (name, value) in plan.iter().filter(|(name, _)| planning.contains(&name.as_str())) {
        document[name] = value.clone();
    }
    PmState::SHAPE.check(&document).map_err(|misfit| misfit.to_string())
}

/// Whether git would take this name for a branch, without surprises for a shell.
pub fn is_branch(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+#@".contains(&byte);
    let whole = |part: &str| !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with(".lock");
    name.len() <= 200
        && name.bytes().all(plain)
        && name.split('/').all(whole)
        && !name.contains("..")
        && !name.ends_with('.')
        && name != "@"
}

/// Returns `feature/group-<ID>-<slug>`.
fn branch_name(id: &str, name: &str) -> String {
    let mut slug = String::new();
    for character in name.to_lowercase().chars() {
        match character.is_ascii_alphanumeric() {
            true => slug.push(character),
            false if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            false => {}
        }
        if slug.len() >= 30 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    // An id may end as no branch may.
    let id = id.replace("..", "-");
    let id = id.trim_end_matches('.');
    let branch =
        if slug.is_empty() { format!("feature/group-{id}") } else { format!("feature/group-{id}-{slug}") };
    if is_branch(&branch) { branch } else { format!("{branch}-work") }
}
