//! Plans: what the project manager wants done, checked before anybody works by it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::table::Purpose;
use super::{
    Content, MOST_DEVELOPERS, Mode, NO_GROUP, Order, Pipeline, Refusal, RunStatus, list, push, remove, text,
    time, word,
};
use crate::model::documents::pipeline::PmState;
use crate::model::files;
use crate::model::ids::Key;
use crate::model::plan::{figure, texts};
use crate::model::shape::Shaped;

/// How large a run may become.
const GROUPS: usize = 100;
const TASKS: usize = 1000;

/// The one group of a plan without groups.
const MAIN: &str = "main";

/// A plan that is sound in itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    mode: Option<Mode>,
    reasoning: Option<String>,
    tasks: Vec<Value>,
    groups: Vec<Value>,
    phases: Vec<Value>,
    /// What we do not know of it.
    more: Content,
    digest: String,
}

impl Plan {
    /// Reads the planning part of `pm_state`; what else of that document is in it is left alone.
    pub fn read(value: &Value) -> Result<Plan, Refusal> {
        let wrong = |message: String| Refusal::Plan(message);
        let map = value.as_object().ok_or_else(|| wrong("expected an object".into()))?;
        check_shape(map).map_err(wrong)?;
        let mut plan = Plan {
            mode: serde_json::from_value(value["mode"].clone()).ok(),
            reasoning: value.get("mode_reasoning").and_then(Value::as_str).map(Into::into),
            tasks: list(value, "all_tasks").to_vec(),
            groups: list(value, "task_groups").to_vec(),
            phases: list(value, "execution_phases").to_vec(),
            more: map
                .iter()
                .filter(|(name, _)| !is_ours(name))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
            digest: format!("{:016x}", xxh3_64(value.to_string().as_bytes())),
        };
        if plan.groups.is_empty() && !plan.tasks.is_empty() {
            plan.groups.push(json!({"id": MAIN, "name": MAIN}));
            plan.tasks.iter_mut().for_each(|task| task["group_id"] = MAIN.into());
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
            let id = text(group, "id").to_owned();
            if id == NO_GROUP || id.parse::<Key>().is_err() {
                return Err(format!(
                    "`task_groups[{place}].id` must be 1 to 128 of `A-Z a-z 0-9 . _ -`, and not `-`"
                ));
            }
            if !seen.insert(id.clone()) {
                return Err(format!("there are two groups `{id}`"));
            }
            if text(group, "name").trim().is_empty() {
                group["name"] = id.as_str().into();
            }
            if figure(group, "estimated_effort_minutes").is_some_and(|minutes| minutes < 0.0) {
                return Err(format!("`estimated_effort_minutes` of `{id}` is negative"));
            }
            match group.get("branch_name").and_then(Value::as_str) {
                Some(branch) if is_branch(branch) => {}
                Some(_) => return Err(format!("`branch_name` of `{id}` is no name for a branch")),
                None => group["branch_name"] = branch_name(&id, text(group, "name")).into(),
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
            let (id, group) = (text(task, "id"), text(task, "group_id"));
            if id.trim().is_empty() {
                return Err(format!("`all_tasks[{place}].id` is missing"));
            }
            if !group.is_empty() && !self.groups.iter().any(|known| text(known, "id") == group) {
                return Err(format!("the task `{id}` is of a group `{group}` that is not in the plan"));
            }
            if group_of.insert(id.into(), group.into()).is_some() {
                return Err(format!("there are two tasks `{id}`"));
            }
        }
        for group in &self.groups {
            let id = text(group, "id");
            for task in texts(group, "tasks") {
                match group_of.get_mut(task) {
                    None => return Err(format!("the task `{task}` of group `{id}` is not in `all_tasks`")),
                    Some(of) if of.is_empty() => *of = id.into(),
                    Some(of) if of == id => {}
                    Some(of) => return Err(format!("the task `{task}` is of the groups `{of}` and `{id}`")),
                }
            }
        }
        for task in &mut self.tasks {
            let group = group_of[text(task, "id")].as_str();
            if group.is_empty() {
                return Err(format!("the task `{}` is in no group", text(task, "id")));
            }
            task["group_id"] = group.into();
        }
        for group in &mut self.groups {
            let of = |task: &&Value| text(task, "group_id") == text(group, "id");
            let ids: Vec<&str> = self.tasks.iter().filter(of).map(|task| text(task, "id")).collect();
            group["tasks"] = json!(ids);
        }
        Ok(())
    }
}

/// Whether a field of `pm_state` is ours to write.
fn is_ours(name: &str) -> bool {
    let planning = ["mode", "mode_reasoning", "all_tasks", "task_groups", "execution_phases"];
    let kept = ["session_id", "original_requirements", "requested_mode", "evidence", "revision", "iteration"];
    let derived = ["completed_groups", "in_progress_groups", "pending_groups", "last_update"];
    let figures = ["completion_percentage", "estimated_time_remaining_minutes"];
    planning.contains(&name) || kept.contains(&name) || derived.contains(&name) || figures.contains(&name)
}

/// Checks the fields of a plan as those of the document that they go to.
fn check_shape(plan: &Content) -> Result<(), String> {
    let mut document = json!({
        "session_id": "", "mode": "simple", "original_requirements": "", "task_groups": [], "iteration": 0,
        "last_update": "",
    });
    let planning = ["mode", "mode_reasoning", "all_tasks", "task_groups", "execution_phases"];
    for (name, value) in plan.iter().filter(|(name, _)| planning.contains(&name.as_str())) {
        document[name] = value.clone();
    }
    PmState::SHAPE.check(&document).map_err(|misfit| misfit.to_string())?;
    match plan.get("success_criteria") {
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => Ok(()),
        None => Ok(()),
        Some(_) => Err("`success_criteria`: expected an array of strings".into()),
    }
}

/// Whether git would take this name for a branch, without surprises for a shell.
fn is_branch(name: &str) -> bool {
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

/// Returns how groups should run, and why: side by side only where that can be.
pub fn decide(groups: &[Value]) -> (Mode, String) {
    if groups.len() <= 1 {
        return (Mode::Simple, "one group".into());
    }
    let shared: Vec<&str> = groups.iter().filter(|group| shares_files(group, groups)).map(id_of).collect();
    if shared.len() * 2 > groups.len() {
        return (Mode::Simple, format!("groups work on the same files: {}", shared.join(", ")));
    }
    let needs = Needs::of(groups);
    let beside = |one: &Value, other: &Value| {
        id_of(one) != id_of(other)
            && !needs.reaches(id_of(one), id_of(other))
            && !needs.reaches(id_of(other), id_of(one))
    };
    let free = |group: &&Value| group["can_parallel"] != Value::Bool(false);
    let any =
        groups.iter().filter(free).any(|one| groups.iter().filter(free).any(|other| beside(one, other)));
    match (any, groups.len()) {
        (false, _) => (Mode::Simple, "each group waits for another one".into()),
        (true, count) if count <= MOST_DEVELOPERS => {
            (Mode::Parallel, format!("{count} groups, some of them independent"))
        }
        (true, count) => (Mode::Parallel, format!("{count} groups, in phases of at most {MOST_DEVELOPERS}")),
    }
}

fn id_of(group: &Value) -> &str {
    text(group, "id")
}

fn shares_files(group: &Value, groups: &[Value]) -> bool {
    let overlap = |one: &Value, other: &Value| {
        files::overlap(&texts(one, "files_affected"), &texts(other, "files_affected")).is_some()
    };
    groups.iter().any(|other| id_of(other) != id_of(group) && overlap(group, other))
}

/// What each group waits for.
struct Needs<'v>(BTreeMap<&'v str, Vec<&'v str>>);

impl<'v> Needs<'v> {
    fn of(groups: &'v [Value]) -> Needs<'v> {
        Needs(groups.iter().map(|group| (id_of(group), texts(group, "depends_on"))).collect())
    }

    /// Whether one group waits for another, by whatever way.
    fn reaches(&self, from: &str, to: &str) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(id) = open.pop() {
            for need in self.0.get(id).into_iter().flatten() {
                if *need == to {
                    return true;
                }
                if seen.insert(*need) {
                    open.push(need);
                }
            }
        }
        false
    }
}

impl Pipeline {
    /// Takes a plan over. Returns whether it is another one than before.
    ///
    /// Groups that are complete stay as they are, groups that have begun stay at their step, and groups that have not
    /// begun are dropped when the plan does not name them.
    pub fn adopt(&mut self, plan: &Plan, now: Timestamp) -> Result<bool, Refusal> {
        let last = list(&self.orchestrator, "plans").last();
        if last.is_some_and(|last| text(last, "digest") == plan.digest) && self.is_planned() {
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
        self.take(plan, groups, phases, (mode, &reasoning));
        if resumed {
            self.orchestrator["status"] = json!(RunStatus::Running);
            self.orchestrator["end_time"] = Value::Null;
            remove(&mut self.orchestrator, "stop_reason");
            let begun: Vec<String> =
                self.group_ids().filter(|id| self.is_in_flight(id)).map(Into::into).collect();
            begun.iter().for_each(|id| self.forgive(id));
        }
        self.finish_planning(now);
        let plans = json!({"digest": plan.digest, "adopted_at": time::stamp(now), "groups": self.task_groups().len()});
        push(&mut self.orchestrator, "plans", plans, 100);
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
                        texts(&phase, "group_ids").into_iter().filter(|id| open(id)).collect();
                    phase["group_ids"] = json!(ids);
                    phase
                };
                plan.phases.iter().map(without_complete).collect()
            }
        };
        let named = |id: &str| fresh.iter().any(|phase| texts(phase, "group_ids").contains(&id));
        let kept = list(&self.pm, "execution_phases").iter().map(|phase| {
            let mut phase = phase.clone();
            let ids: Vec<&str> =
                texts(&phase, "group_ids").into_iter().filter(|id| is_there(id) && !named(id)).collect();
            phase["group_ids"] = json!(ids);
            phase
        });
        let mut phases: Vec<Value> = kept.chain(fresh.iter().cloned()).collect();
        phases.retain(|phase| !texts(phase, "group_ids").is_empty());
        let lost = groups
            .iter()
            .map(id_of)
            .find(|id| !phases.iter().any(|phase| texts(phase, "group_ids").contains(id)));
        if let Some(lost) = lost {
            return Err(Refusal::Plan(format!("the group `{lost}` is in no phase")));
        }
        for (place, phase) in phases.iter_mut().enumerate() {
            let count = texts(phase, "group_ids").len();
            phase["phase_number"] = (place + 1).into();
            phase["parallel_count"] =
                if mode == Mode::Parallel { count.min(MOST_DEVELOPERS) } else { 1 }.into();
        }
        check_phases(&phases, groups, |_| false).map_err(Refusal::Plan)?;
        Ok(phases)
    }

    fn take(&mut self, plan: &Plan, groups: Vec<Value>, phases: Vec<Value>, (mode, reasoning): (Mode, &str)) {
        let is_there = |id: &str| groups.iter().any(|group| id_of(group) == id);
        let replaced = |task: &Value| plan.tasks.iter().any(|new| text(new, "id") == text(task, "id"));
        let kept = list(&self.pm, "all_tasks").iter().filter(|task| {
            let group = text(task, "group_id");
            let redone = plan.groups.iter().any(|new| id_of(new) == group) && !self.is_complete(group);
            is_there(group) && !redone && !replaced(task)
        });
        let wanted = |task: &&Value| !self.is_complete(text(task, "group_id"));
        let tasks: Vec<Value> = kept.chain(plan.tasks.iter().filter(wanted)).cloned().collect();
        let gone: Vec<String> = self.group_ids().filter(|id| !is_there(id)).map(Into::into).collect();
        gone.iter().for_each(|id| remove(&mut self.groups, id));
        for (name, value) in &plan.more {
            self.pm[name] = value.clone();
        }
        self.pm["mode"] = json!(mode);
        self.pm["mode_reasoning"] = reasoning.into();
        self.pm["all_tasks"] = json!(tasks);
        self.pm["task_groups"] = json!(groups);
        self.pm["execution_phases"] = json!(phases);
        for group in &groups {
            let entry = self.entry_mut(id_of(group));
            if text(entry, "status") != "complete" {
                entry["group_name"] = group["name"].clone();
                entry["branch_name"] = group["branch_name"].clone();
            }
            if entry.get("iterations").is_none() {
                entry["iterations"] = json!({"developer": 0, "qa": 0, "tech_lead": 0});
            }
        }
    }

    /// Finishes the order for a plan.
    fn finish_planning(&mut self, now: Timestamp) {
        remove(&mut self.orchestrator, "next_order");
        let open = self.open_orders().filter(|order| order.purpose == Purpose::Plan);
        for order in open.collect::<Vec<_>>() {
            self.close(&order.id, &"PLAN".into(), "", now);
        }
    }
}

/// Refuses groups that wait for nobody we know, or for each other.
fn check_order(groups: &[Value]) -> Result<(), String> {
    if groups.len() > GROUPS {
        return Err(format!("{} groups are more than {GROUPS}", groups.len()));
    }
    for group in groups {
        let unknown = |need: &&str| !groups.iter().any(|known| id_of(known) == *need);
        if let Some(need) = texts(group, "depends_on").into_iter().find(unknown) {
            return Err(format!("the group `{}` depends on `{need}`, which does not exist", id_of(group)));
        }
    }
    let needs = Needs::of(groups);
    let circle: Vec<&str> = groups.iter().map(id_of).filter(|id| needs.reaches(id, id)).collect();
    match circle.is_empty() {
        true => Ok(()),
        false => Err(format!("groups wait for each other in a circle: {}", circle.join(", "))),
    }
}

/// Refuses phases that name what is not there, name something twice, or begin before what they wait for.
fn check_phases(
    phases: &[Value],
    groups: &[Value],
    is_complete: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let mut place_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, phase) in phases.iter().enumerate() {
        for id in texts(phase, "group_ids") {
            if !groups.iter().any(|group| id_of(group) == id) {
                return Err(format!("phase {} names the group `{id}`, which does not exist", place + 1));
            }
            if place_of.insert(id, place).is_some() {
                return Err(format!("the group `{id}` is in two phases, or twice in one"));
            }
        }
    }
    for group in groups.iter().filter(|group| !is_complete(id_of(group))) {
        for need in texts(group, "depends_on") {
            if let (Some(own), Some(other)) = (place_of.get(id_of(group)), place_of.get(need))
                && other > own
            {
                return Err(format!(
                    "the group `{}` comes before `{need}`, which it depends on",
                    id_of(group)
                ));
            }
        }
    }
    Ok(())
}

/// Returns phases in which each group comes after what it depends on, and beside nothing that touches its files.
fn computed_phases(groups: &[&Value], mode: Mode) -> Vec<Value> {
    let mut phases = Vec::new();
    let mut rest: Vec<&Value> = groups.to_vec();
    while !rest.is_empty() {
        let mut phase: Vec<&Value> = Vec::new();
        let free = |group: &&&Value| {
            texts(group, "depends_on").into_iter().all(|need| !rest.iter().any(|other| id_of(other) == need))
        };
        for group in rest.iter().filter(free) {
            if mode == Mode::Simple && !phase.is_empty() || phase.len() >= MOST_DEVELOPERS {
                break;
            }
            if phase.iter().all(|other| may_share(group, other)) {
                phase.push(group);
            }
        }
        if phase.is_empty() {
            // A circle, which was refused before; nothing is lost all the same.
            phase.clone_from(&rest);
        }
        let ids: Vec<&str> = phase.iter().map(|group| id_of(group)).collect();
        rest.retain(|group| !ids.contains(&id_of(group)));
        phases.push(json!({"phase_number": phases.len() + 1, "group_ids": ids}));
    }
    phases
}

/// Whether two groups may be in one phase.
fn may_share(one: &Value, other: &Value) -> bool {
    let social = |group: &Value| group["can_parallel"] != Value::Bool(false);
    let files = |group| texts(group, "files_affected");
    social(one) && social(other) && files::overlap(&files(one), &files(other)).is_none()
}
