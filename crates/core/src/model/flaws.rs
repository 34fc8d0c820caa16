//! What is wrong with a document although its shape is right: an id that is there twice, a dependency on nothing or in a circle, a
//! number out of its range.
//!
//! A document with a flaw can be read and written, or one entry made by hand would stop a team. But no command brings a new one in,
//! and it is named wherever somebody looks after documents.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::documents::agent_loop::{ActiveAgents, ClassifiedError, Errors, WorkQueue};
use super::documents::pipeline::{ExecutionPhase, OrchestratorState, PmState, TaskGroup};
use super::documents::queue::{Queue, QueueTask};
use super::documents::state::{
    Config, Epic, Epics, GlobalSettings, JournalSettings, Member, SessionTask, Sprint, Sprints, Story, Tasks,
    Team, TeamSettings, Tool, Tools,
};
use super::documents::workflow::{ExecutionPlan, PlannedPhase, TaskGraph, Wave};
use super::kind::Kind;
use super::odd_ids::{EACH, KEYS, PLACES};
use super::shape::At;

/// One thing that is wrong, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The path expression of the value.
    pub path: String,
    /// What is wrong with it, without the path: so a flaw is recognised after its item has moved.
    pub message: String,
}

/// Whose items wait for others: where they stand, the field of their ids, and the one of what they wait for.
const NEEDS: [(&str, &[&str], &str, &str); 3] = [
    ("queue", &[Queue::tasks.name(), EACH], QueueTask::id.name(), QueueTask::dependencies.name()),
    ("pm_state", &[PmState::task_groups.name(), EACH], TaskGroup::id.name(), TaskGroup::depends_on.name()),
    (
        "task_graph",
        &[TaskGraph::execution_plan.name(), ExecutionPlan::waves.name(), EACH, Wave::phases.name(), EACH],
        PlannedPhase::phase_id.name(),
        PlannedPhase::depends_on.name(),
    ),
];

/// What a number may be.
#[derive(Debug, Clone, Copy)]
enum Range {
    Positive,
    NotNegative,
    Between(f64, f64),
}

const RANGES: [(&str, &[&str], Range); 26] = [
    ("config", &[Config::global.name(), GlobalSettings::max_parallel_agents.name()], Range::Positive),
    ("config", &[Config::global.name(), GlobalSettings::session_timeout.name()], Range::Positive),
    ("config", &[Config::global.name(), GlobalSettings::state_sync_interval.name()], Range::Positive),
    ("config", &[Config::journal.name(), JournalSettings::kept_segments.name()], Range::NotNegative),
    ("config", &[Config::retention.name(), KEYS], Range::NotNegative),
    ("tools", &[Tools::tools.name(), KEYS, Tool::max_instances.name()], Range::Positive),
    (
        "epics",
        &[Epics::epics.name(), EACH, Epic::stories.name(), EACH, Story::points.name()],
        Range::NotNegative,
    ),
    ("sprints", &[Sprints::sprints.name(), EACH, Sprint::velocity.name()], Range::NotNegative),
    ("sprints", &[Sprints::sprints.name(), EACH, Sprint::completed_points.name()], Range::NotNegative),
    ("sprints", &[Sprints::sprints.name(), EACH, Sprint::total_points.name()], Range::NotNegative),
    ("team", &[Team::settings.name(), TeamSettings::max_parallel_agents.name()], Range::Positive),
    ("team", &[Team::members.name(), EACH, Member::capacity.name()], Range::NotNegative),
    ("queue", &[Queue::tasks.name(), EACH, QueueTask::priority.name()], Range::Between(1.0, 10.0)),
    ("queue", &[Queue::tasks.name(), EACH, QueueTask::retries.name()], Range::NotNegative),
    ("work_queue", &[WorkQueue::iteration.name()], Range::NotNegative),
    ("work_queue", &[WorkQueue::consecutive_passes.name()], Range::NotNegative),
    ("work_queue", &[WorkQueue::max_iterations.name()], Range::Positive),
    ("active_agents", &[ActiveAgents::total_spawned.name()], Range::NotNegative),
    ("active_agents", &[ActiveAgents::total_completed.name()], Range::NotNegative),
    ("errors", &[Errors::errors.name(), EACH, ClassifiedError::retry_count.name()], Range::NotNegative),
    ("errors", &[Errors::errors.name(), EACH, ClassifiedError::max_retries.name()], Range::NotNegative),
    ("pm_state", &[PmState::iteration.name()], Range::NotNegative),
    ("pm_state", &[PmState::completion_percentage.name()], Range::Between(0.0, 100.0)),
    (
        "pm_state",
        &[PmState::execution_phases.name(), EACH, ExecutionPhase::parallel_count.name()],
        Range::Positive,
    ),
    ("orchestrator_state", &[OrchestratorState::iteration.name()], Range::NotNegative),
    ("orchestrator_state", &[OrchestratorState::total_spawns.name()], Range::NotNegative),
];

/// Returns what is wrong with a document.
pub fn flaws(kind: &Kind, document: &Value) -> Vec<Flaw> {
    let mut found = Vec::new();
    twice(kind, document, &mut found);
    NEEDS.iter().filter(|(name, ..)| *name == kind.name).for_each(|(_, place, id, needs)| {
        let mut items = Vec::new();
        visit(document, place, &At::Document, &mut |_, item| {
            let needs = item[*needs].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            items.extend(item[*id].as_str().map(|id| Item { id, needs }));
        });
        let mut flawed = missing(&items);
        flawed.extend(circle(&items));
        // Paths are put together for what is flawed only: a list may be long.
        for (number, message) in flawed {
            let mut index = 0;
            visit(document, place, &At::Document, &mut |at, item| {
                let is_it = item[*id].is_string() && index == number;
                index += usize::from(item[*id].is_string());
                found.extend(is_it.then(|| Flaw { path: at.path(), message: message.clone() }));
            });
        }
    });
    RANGES.iter().filter(|(name, ..)| *name == kind.name).for_each(|(_, place, range)| {
        visit(document, place, &At::Document, &mut |at, value| found.extend(range.misfit(at, value)));
    });
    found
}

/// Returns what is wrong now and was not before.
pub fn new_flaw(kind: &Kind, before: Option<&Value>, after: &Value) -> Option<Flaw> {
    let found = flaws(kind, after);
    if found.is_empty() {
        return None;
    }
    let known = before.map(|before| flaws(kind, before)).unwrap_or_default();
    found.into_iter().find(|flaw| !known.iter().any(|known| known.message == flaw.message))
}

/// Something that waits for others.
struct Item<'v> {
    id: &'v str,
    needs: Vec<&'v str>,
}

/// Finds ids that are there twice. Tasks of sessions have ids of their clients, which are ids all the same.
fn twice(kind: &Kind, document: &Value, found: &mut Vec<Flaw>) {
    const OF_SESSIONS: (&str, &[&str]) = ("tasks", &[Tasks::tasks.name(), EACH, SessionTask::id.name()]);
    let places = PLACES.iter().chain([&OF_SESSIONS]);
    for (_, place) in places.filter(|(name, place)| *name == kind.name && place.contains(&EACH)) {
        let mut seen: HashSet<&str> = HashSet::new();
        visit(document, place, &At::Document, &mut |at, id| {
            if let Some(id) = id.as_str().filter(|id| !seen.insert(id)) {
                let message = format!("the id `{}` is there twice", short(id));
                found.push(Flaw { path: at.path(), message });
            }
        });
    }
}

/// Finds what waits for nothing that is there: which items, and why that is wrong.
fn missing(items: &[Item<'_>]) -> Vec<(usize, String)> {
    let known: HashSet<&str> = items.iter().map(|item| item.id).collect();
    let pairs = items
        .iter()
        .enumerate()
        .flat_map(|(number, item)| item.needs.iter().map(move |id| (number, item, *id)));
    let unknown = pairs.filter(|(_, _, id)| !known.contains(id));
    let told = |(number, item, id): (usize, &Item<'_>, &str)| {
        (number, format!("`{}` depends on `{}`, which does not exist", short(item.id), short(id)))
    };
    unknown.map(told).collect()
}

/// Finds one circle; another one shows when that is broken.
fn circle(items: &[Item<'_>]) -> Option<(usize, String)> {
    let numbers: HashMap<&str, usize> =
        items.iter().enumerate().map(|(number, item)| (item.id, number)).collect();
    let needs = |number: usize| items[number].needs.iter().filter_map(|id| numbers.get(id).copied());
    let mut waits: Vec<usize> = (0..items.len()).map(|number| needs(number).count()).collect();
    let mut dependents = vec![Vec::new(); items.len()];
    (0..items.len()).for_each(|number| needs(number).for_each(|on| dependents[on].push(number)));
    let mut free: Vec<usize> = (0..items.len()).filter(|number| waits[*number] == 0).collect();
    while let Some(number) = free.pop() {
        for dependent in &dependents[number] {
            waits[*dependent] -= 1;
            free.extend((waits[*dependent] == 0).then_some(*dependent));
        }
    }
    let start = waits.iter().position(|waits| *waits > 0)?;
    let mut way = vec![start];
    // Whatever is left waits for something that is left, so this comes round.
    let round = loop {
        let next = needs(way[way.len() - 1]).find(|on| waits[*on] > 0)?;
        match way.iter().position(|number| *number == next) {
            Some(round) => break round,
            None => way.push(next),
        }
    };
    let ids: Vec<_> = way[round..].iter().map(|number| short(items[*number].id)).collect();
    let message = format!("these wait for each other in a circle: {} -> {}", ids.join(" -> "), ids[0]);
    Some((way[round], message))
}

impl Range {
    fn misfit(self, at: &At<'_>, value: &Value) -> Option<Flaw> {
        let number = value.as_f64()?;
        let (fits, wanted) = match self {
            Range::Positive => (number > 0.0, "more than 0".to_owned()),
            Range::NotNegative => (number >= 0.0, "0 or more".to_owned()),
            Range::Between(least, most) => ((least..=most).contains(&number), format!("{least} to {most}")),
        };
        (!fits).then(|| {
            let path = at.path();
            let field = path.rsplit('.').next().unwrap_or(&path);
            let message = format!("{field} must be {wanted}, and is {value}");
            Flaw { path, message }
        })
    }
}

/// Calls `found` with every value at a place.
fn visit<'v>(value: &'v Value, place: &[&str], at: &At<'_>, found: &mut dyn FnMut(&At<'_>, &'v Value)) {
    match (place, value) {
        ([], value) => found(at, value),
        ([EACH, rest @ ..], Value::Array(items)) => {
            items.iter().enumerate().for_each(|(index, item)| visit(item, rest, &At::Item(at, index), found));
        }
        ([KEYS, rest @ ..], Value::Object(entries)) => {
            entries.iter().for_each(|(name, entry)| visit(entry, rest, &At::Key(at, name), found));
        }
        ([name, rest @ ..], Value::Object(members)) => {
            if let Some(value) = members.get(*name) {
                visit(value, rest, &At::Key(at, name), found);
            }
        }
        _ => {}
    }
}

/// Shortens an id, which may be none of ours.
fn short(id: &str) -> String {
    id.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(kind: &str, document: &Value, expected: &[(&str, &str)]) {
        let found = flaws(Kind::find(kind).unwrap(), document);
        let found: Vec<_> = found.iter().map(|flaw| (&*flaw.path, &*flaw.message)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn places_are_of_kinds() {
        let kinds = NEEDS.iter().map(|(kind, ..)| kind).chain(RANGES.iter().map(|(kind, ..)| kind));
        kinds.for_each(|kind| assert!(Kind::find(kind).is_some(), "{kind}"));
    }

    #[test]
    fn ids_that_are_there_twice() {
        let items = json!({"items": [{"id": "a"}, {"id": "b"}, {"id": "a"}, {}]});
        check("work_queue", &items, &[("items[2].id", "the id `a` is there twice")]);
        // A story is named without its epic.
        let epics =
            json!({"epics": [{"id": "e", "stories": [{"id": "s"}]}, {"id": "f", "stories": [{"id": "s"}]}]});
        check("epics", &epics, &[("epics[1].stories[0].id", "the id `s` is there twice")]);
        check(
            "tasks",
            &json!({"tasks": [{"id": "1"}, {"id": "1"}]}),
            &[("tasks[1].id", "the id `1` is there twice")],
        );
    }

    #[test]
    fn dependencies_on_nothing_and_in_a_circle() {
        let task = |id: &str, needs: &[&str]| json!({"id": id, "dependencies": needs});
        check("queue", &json!({"tasks": [task("a", &[]), task("b", &["a"])]}), &[]);
        let found = [("tasks[0]", "`a` depends on `x`, which does not exist")];
        check("queue", &json!({"tasks": [task("a", &["x"])]}), &found);
        let around =
            json!({"tasks": [task("z", &["a"]), task("a", &["b"]), task("b", &["c"]), task("c", &["a"])]});
        check("queue", &around, &[("tasks[1]", "these wait for each other in a circle: a -> b -> c -> a")]);
        let own = [("tasks[0]", "these wait for each other in a circle: a -> a")];
        check("queue", &json!({"tasks": [task("a", &["a"])]}), &own);
        let groups = json!({"task_groups": [{"id": "A", "depends_on": ["B"]}]});
        check("pm_state", &groups, &[("task_groups[0]", "`A` depends on `B`, which does not exist")]);
    }

    #[test]
    fn numbers_out_of_their_range() {
        let config = json!({"global": {"max_parallel_agents": -5, "session_timeout": 0.5}, "journal": {"kept_segments": 0}});
        let found = [("global.max_parallel_agents", "max_parallel_agents must be more than 0, and is -5")];
        check("config", &config, &found);
        for (priority, is_fine) in [(0, false), (1, true), (10, true), (11, false)] {
            let queue = json!({"tasks": [{"id": "t", "priority": priority}]});
            assert_eq!(flaws(Kind::find("queue").unwrap(), &queue).is_empty(), is_fine, "{priority}");
        }
        check("tools", &json!({"tools": {"t": {"max_instances": null}}}), &[]);
    }

    #[test]
    fn only_what_is_new_is_refused() {
        let kind = Kind::find("queue").unwrap();
        let old = json!({"tasks": [{"id": "a", "dependencies": ["x"]}]});
        let moved = json!({"tasks": [{"id": "b"}, {"id": "a", "dependencies": ["x"]}]});
        assert_eq!(new_flaw(kind, Some(&old), &moved), None);
        let worse = json!({"tasks": [{"id": "a", "dependencies": ["x"], "priority": 0}]});
        assert_eq!(new_flaw(kind, Some(&old), &worse).unwrap().path, "tasks[0].priority");
        assert!(new_flaw(kind, None, &old).is_some());
    }
}
