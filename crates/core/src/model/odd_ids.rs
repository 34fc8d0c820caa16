//! Ids in documents that nobody should be given: written by hand or by another program, they are none that we would make.
//!
//! A document with such an id can be read and written, and everything else in it goes on. What has the id is not handed out, and it
//! is named wherever somebody looks after documents.

use serde_json::Value;

use super::ids;
use super::kind::Kind;
use super::shape::push_key;

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
    ("queue", &["tasks", EACH, "id"]),
    ("workers", &["agents", EACH, "id"]),
    ("epics", &["epics", EACH, "id"]),
    ("epics", &["epics", EACH, "stories", EACH, "id"]),
    ("sprints", &["sprints", EACH, "id"]),
    ("team", &["members", EACH, "agent"]),
    ("session", &["session_id"]),
    ("hooks", &["hooks", EACH, "id"]),
    ("mailbox", &["messages", EACH, "id"]),
    ("pm_state", &["task_groups", EACH, "id"]),
    ("group_status", &[KEYS]),
    ("active_agents", &["agents", EACH, "id"]),
    ("work_queue", &["items", EACH, "id"]),
    ("errors", &["errors", EACH, "id"]),
    ("workflow", &["phases", EACH, "id"]),
    ("orchestrator_state", &["orders", EACH, "id"]),
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
                if rest != ["id"] || !item["id"].as_str().is_some_and(ids::is_sound) {
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
