//! How groups may run: one after the other or side by side, and in which phases.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::plan::GROUPS;
use super::values::text;
use crate::model::documents::pipeline::{ExecutionPhase, Mode, TaskGroup};
use crate::model::files;
use crate::model::plan::texts;

/// More developers at once than these get in each other's way.
pub const MOST_DEVELOPERS: usize = 4;

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
    let free = |group: &&Value| group[TaskGroup::can_parallel] != Value::Bool(false);
    let any =
        groups.iter().filter(free).any(|one| groups.iter().filter(free).any(|other| beside(one, other)));
    match (any, groups.len()) {
        (false, _) => (Mode::Simple, "each group waits for another one".into()),
        (true, count) if count <= MOST_DEVELOPERS => {
            (Mode::Parallel, format!("{count} groups, some of them independent"))
        }
        (true, count) => (Mode::Parallel, format!("{count} groups, at most {MOST_DEVELOPERS} at once")),
    }
}

pub(super) fn id_of(group: &Value) -> &str {
    text(group, TaskGroup::id)
}

fn shares_files(group: &Value, groups: &[Value]) -> bool {
    groups.iter().any(|other| id_of(other) != id_of(group) && share_files(group, other))
}

/// Whether two groups work on the same files.
pub(super) fn share_files(one: &Value, other: &Value) -> bool {
    files::overlap(&texts(one, TaskGroup::files_affected), &texts(other, TaskGroup::files_affected)).is_some()
}

/// What each group waits for.
struct Needs<'v>(BTreeMap<&'v str, Vec<&'v str>>);

impl<'v> Needs<'v> {
    fn of(groups: &'v [Value]) -> Needs<'v> {
        Needs(groups.iter().map(|group| (id_of(group), texts(group, TaskGroup::depends_on))).collect())
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

/// Refuses groups that wait for nobody we know, or for each other.
pub(super) fn check_order(groups: &[Value]) -> Result<(), String> {
    if groups.len() > GROUPS {
        return Err(format!("{} groups are more than {GROUPS}", groups.len()));
    }
    for group in groups {
        let unknown = |need: &&str| !groups.iter().any(|known| id_of(known) == *need);
        if let Some(need) = texts(group, TaskGroup::depends_on).into_iter().find(unknown) {
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
pub(super) fn check_phases(
    phases: &[Value],
    groups: &[Value],
    is_complete: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let mut place_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, phase) in phases.iter().enumerate() {
        for id in texts(phase, ExecutionPhase::group_ids) {
            if !groups.iter().any(|group| id_of(group) == id) {
                return Err(format!("phase {} names the group `{id}`, which does not exist", place + 1));
            }
            if place_of.insert(id, place).is_some() {
                return Err(format!("the group `{id}` is in two phases, or twice in one"));
            }
        }
    }
    for group in groups.iter().filter(|group| !is_complete(id_of(group))) {
        for need in texts(group, TaskGroup::depends_on) {
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

/// Returns phases in which each group comes after what it depends on, and beside nothing that touches its files. They
/// are for people to read: no group waits for another one's phase.
pub(super) fn computed_phases(groups: &[&Value], mode: Mode) -> Vec<Value> {
    let mut phases = Vec::new();
    let mut rest: Vec<&Value> = groups.to_vec();
    while !rest.is_empty() {
        let mut phase: Vec<&Value> = Vec::new();
        let free = |group: &&&Value| {
            texts(group, TaskGroup::depends_on)
                .into_iter()
                .all(|need| !rest.iter().any(|other| id_of(other) == need))
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
        phases.push(json!({
            ExecutionPhase::phase_number: phases.len() + 1, ExecutionPhase::group_ids: ids,
            ExecutionPhase::derived: true,
        }));
    }
    phases
}

/// Whether two groups may be in one phase.
fn may_share(one: &Value, other: &Value) -> bool {
    let social = |group: &Value| group[TaskGroup::can_parallel] != Value::Bool(false);
    social(one) && social(other) && !share_files(one, other)
}
