//! The agent's own lists, mirrored into the tasks of its session.

use serde_json::{Value, json};

use super::turn::{OP, Turn};
use crate::model::agent_report::cut;
use crate::model::client_event::What;
use crate::model::clients::Tool;
use crate::model::documents::state::{SessionTask, SessionTaskStatus, Tasks};
use crate::model::json::check_input;
use crate::model::key::FieldsMut;
use crate::model::kind::{Doc, Kind};
use crate::model::redact::redact;
use crate::model::time;
use crate::ops::Result;
use crate::store::Durability;

/// The types of mirrored tasks: of the todo list, and of the client's own tasks.
const LISTED: &str = "todo";
const NATIVE: &str = "client_task";

/// How many are mirrored, and how much of a title.
const MOST: usize = 500;
const TITLE: usize = 500;
const ID: usize = 128;

/// Mirrors what the tools for lists and tasks did.
pub fn mirror(turn: &mut Turn<'_>) -> Result<()> {
    match turn.event.does() {
        Some(Tool::Todos) => {
            let input = turn.event.value("tool_input");
            let Some(todos) = input["todos"].as_array() else { return Ok(()) };
            let list: Vec<_> = todos.iter().take(MOST).enumerate().map(Change::of_todo).collect();
            write(turn, LISTED, &list, true)
        }
        Some(Tool::TaskCreate) => {
            let response = turn.event.value("tool_response");
            let Some(id) = response["task"]["id"].as_str() else { return Ok(()) };
            let (title, status) = (response["task"]["subject"].as_str(), None);
            write(turn, NATIVE, &[Change { id: cut(&redact(id), ID), title, status, owner: None }], false)
        }
        Some(Tool::TaskUpdate) => {
            let (input, response) = (turn.event.value("tool_input"), turn.event.value("tool_response"));
            let Some(id) = input["taskId"].as_str() else { return Ok(()) };
            if response["success"] == false {
                return Ok(());
            }
            let text = |field: &str| input[field].as_str();
            let (title, status, owner) = (text("subject"), text("status"), text("owner"));
            write(turn, NATIVE, &[Change { id: cut(&redact(id), ID), title, status, owner }], false)
        }
        _ => Ok(()),
    }
}

/// Mirrors a task that the client tells of by itself.
pub fn mirror_native(turn: &mut Turn<'_>) -> Result<()> {
    let Some(id) = turn.event.text("task_id") else { return Ok(()) };
    let (title, owner) = (turn.event.text("task_subject"), turn.event.text("teammate_name"));
    let status = (turn.event.what == What::TaskCompleted).then_some("completed");
    let change =
        Change { id: cut(&redact(&id), ID), title: title.as_deref(), status, owner: owner.as_deref() };
    write(turn, NATIVE, &[change], false)
}

/// What is known of one entry.
struct Change<'a> {
    id: String,
    title: Option<&'a str>,
    status: Option<&'a str>,
    owner: Option<&'a str>,
}

/// Puts entries into the session's tasks; with `all`, entries of this type that are not among them go.
fn write(turn: &Turn<'_>, kind: &str, changes: &[Change<'_>], all: bool) -> Result<()> {
    let doc =
        Doc::of_session(Kind::find("tasks").expect("a kind of the registry"), turn.event.session.clone());
    let mut transaction = turn.engine.begin(&[&doc.room])?;
    let now = turn.actor.now();
    let before = transaction.get(&doc)?.cloned();
    let mut after = before.clone().unwrap_or_else(|| doc.default(now));
    let Some(tasks) = after.list_mut(Tasks::tasks) else { return Ok(()) };
    for change in changes {
        let stamp = time::stamp(now);
        let same = |task: &Value| task[SessionTask::id] == *change.id && task[SessionTask::kind] == kind;
        let place = tasks.iter().position(same).unwrap_or_else(|| {
            tasks.push(json!({
                SessionTask::id: change.id, SessionTask::kind: kind, SessionTask::title: null,
                SessionTask::status: "pending", SessionTask::created_at: stamp,
                SessionTask::updated_at: stamp,
            }));
            tasks.len() - 1
        });
        change.apply(&mut tasks[place], &stamp);
    }
    if all {
        tasks.retain(|task| {
            task[SessionTask::kind] != kind
                || changes.iter().any(|change| task[SessionTask::id] == *change.id)
        });
    }
    let mirrored = tasks.iter().filter(|task| task[SessionTask::kind] == kind).count();
    let mut surplus = mirrored.saturating_sub(MOST);
    tasks.retain(|task| {
        let goes = surplus > 0 && task[SessionTask::kind] == kind;
        surplus -= usize::from(goes);
        !goes
    });
    if before.as_ref() == Some(&after) || check_input(&after).is_err() {
        return Ok(());
    }
    transaction.put(&doc, after)?;
    turn.commit(transaction, OP, Durability::Lazy)
}

impl<'a> Change<'a> {
    fn of_todo((place, todo): (usize, &'a Value)) -> Change<'a> {
        let title = ["content", "description"].iter().find_map(|field| todo[*field].as_str());
        Change { id: format!("todo-{}", place + 1), title, status: todo["status"].as_str(), owner: None }
    }

    fn apply(&self, task: &mut Value, stamp: &str) {
        let before = task.clone();
        if let Some(title) = self.title {
            task.set(SessionTask::title, cut(&redact(title), TITLE));
        }
        match self.status {
            Some(status @ ("pending" | "in_progress" | "completed" | "cancelled")) => {
                task.set(SessionTask::status, Value::from(status));
            }
            Some("deleted") => task.set(SessionTask::status, SessionTaskStatus::Cancelled),
            _ => {}
        }
        if let Some(owner) = self.owner {
            task.set(SessionTask::assigned_to, cut(&redact(owner), 128));
        }
        if *task != before {
            task.set(SessionTask::updated_at, stamp);
        }
    }
}
