//! Ids in documents that nobody should be given: written by hand or by another program, they are none that we would make.
//!
//! A document with such an id can be read and written, and everything else in it goes on. What has the id is not handed out, and it
//! is named wherever somebody looks after documents.

use serde_json::Value;

use super::documents::agent_loop::{ActiveAgent, ActiveAgents, ClassifiedError, Errors, WorkItem, WorkQueue};
use super::documents::common::Item;
use super::documents::dispatch::KeptOrder;
use super::documents::pipeline::{OrchestratorState, PmState, TaskGroup};
use super::documents::queue::{Agents, Queue, QueueTask, Worker};
use super::documents::state::{
    Epic, Epics, Hook, Hooks, Mailbox, Member, MessageNote, Session, Sprint, Sprints, Story, Team,
};
use super::documents::workflow::{Phase, Workflow};
use super::ids;
use super::key::Fields;
use super::key_text::push_key;
use super::kind::Kind;

/// An id that is none, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddId {
    /// The path expression of the value, or of the entry that has it as its name.
    pub path: String,
    pub id: String,
}

/// Where the ids of a kind's documents stand: names of members, [`EACH`] item of a list, [`KEYS`] of an object. The tasks of a session
/// are missing: clients bring ids of their own, and nobody is given one by us.
pub const PLACES: [(&str, &[&str]); 16] = [
    ("queue", &[Queue::tasks.name(), EACH, QueueTask::id.name()]),
    ("workers", &[Agents::agents.name(), EACH, Worker::id.name()]),
    ("epics", &[Epics::epics.name(), EACH, Epic::id.name()]),
    ("epics", &[Epics::epics.name(), EACH, Epic::stories.name(), EACH, Story::id.name()]),
    ("sprints", &[Sprints::sprints.name(), EACH, Sprint::id.name()]),
    ("team", &[Team::members.name(), EACH, Member::agent.name()]),
    ("session", &[Session::session_id.name()]),
    ("hooks", &[Hooks::hooks.name(), EACH, Hook::id.name()]),
    ("mailbox", &[Mailbox::messages.name(), EACH, MessageNote::id.name()]),
    ("pm_state", &[PmState::task_groups.name(), EACH, TaskGroup::id.name()]),
    ("group_status", &[KEYS]),
    ("active_agents", &[ActiveAgents::agents.name(), EACH, ActiveAgent::id.name()]),
    ("work_queue", &[WorkQueue::items.name(), EACH, WorkItem::id.name()]),
    ("errors", &[Errors::errors.name(), EACH, ClassifiedError::id.name()]),
    ("workflow", &[Workflow::phases.name(), EACH, Phase::id.name()]),
    ("orchestrator_state", &[OrchestratorState::orders.name(), EACH, KeptOrder::id.name()]),
];

pub const EACH: &str = "[]";
pub const KEYS: &str = "{}";

/// Returns the ids of a document that are none.
pub fn odd_ids(kind: &Kind, document: &Value) -> Vec<OddId> {
    let mut found = Vec::new();
    for (_, place) in PLACES.iter().filter(|(name, _)| *name == kind.name) {
        look(document, place, "", &mut found);
    }
    found
}

fn look(value: &Value, place: &[&str], path: &str, found: &mut Vec<OddId>) {
    let at = |key: &str| {
        let mut path = path.to_owned();
        push_key(&mut path, key);
        path
    };
    match (place, value) {
        ([], Value::String(id)) if !ids::is_sound(id) => {
            found.push(OddId { path: path.to_owned(), id: id.clone() });
        }
        ([EACH, rest @ ..], Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                // Paths are put together for what may be odd only: a list may be long.
                if rest != [Item::id.name()] || !item.text(Item::id).is_some_and(ids::is_sound) {
                    look(item, rest, &format!("{path}[{index}]"), found);
                }
            }
        }
        ([KEYS], Value::Object(entries)) => {
            let odd = entries.keys().filter(|key| !ids::is_sound(key));
            found.extend(odd.map(|key| OddId { path: at(key), id: key.clone() }));
        }
        ([name, rest @ ..], Value::Object(members)) => {
            if let Some(value) = members.get(*name) {
                look(value, rest, &at(name), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(kind: &str, document: &Value, expected: &[&str]) {
        let found = odd_ids(Kind::find(kind).unwrap(), document);
        assert_eq!(found.iter().map(|odd| &*odd.path).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn places_are_of_kinds() {
        assert!(PLACES.iter().all(|(kind, _)| Kind::find(kind).is_some()));
    }

    #[test]
    fn odd_ids_are_found_where_they_stand() {
        let ids = ["a-1", "x; touch PWN #", "a\nb", "../../evil", "", "-rf", "a.b_c"];
        let items: Vec<Value> = ids.iter().map(|id| json!({ "id": id })).collect();
        let odd: Vec<_> = (1..6).map(|index| format!("tasks[{index}].id")).collect();
        check("queue", &json!({ "tasks": items }), &odd.iter().map(|path| &**path).collect::<Vec<_>>());
        let epics =
            json!({"epics": [{"id": "e", "stories": [{"id": "s 1"}]}, {"id": "$(x)", "stories": []}]});
        check("epics", &epics, &["epics[1].id", "epics[0].stories[0].id"]);
        check("group_status", &json!({"A": {}, "`id`": {}}), &["`id`"]);
        check("work_queue", &json!({"items": [{"id": 7}, {}, null]}), &[]);
        check("config", &json!({"id": "x y"}), &[]);
    }
}
