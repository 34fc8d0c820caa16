//! What no single document can tell: whether those that speak of each other agree.
//!
//! Nothing here is damage of a file, and work goes on. Each finding names the command that settles it.

use std::collections::HashSet;

use serde_json::Value;

use super::MOST;
use crate::error::Code;
use crate::hint;
use crate::model::documents::dispatch::KeptOrder;
use crate::model::documents::pipeline::{OrchestratorState, PmState, TaskGroup};
use crate::model::documents::queue::QueueTask;
use crate::model::documents::state::{Mailbox, MessageNote};
use crate::model::hint::Hint;
use crate::model::ids::{Key, SessionId};
use crate::model::key::Fields;
use crate::model::kind::{Doc, Kind};
use crate::model::next::{Next, See};
use crate::model::room::Room;
use crate::model::task::{Status, Task};
use crate::model::text_file::{TextFile, TextFiles, Tray};
use crate::ops::sessions::look;
use crate::ops::{Actor, Result};
use crate::store::engine::items;
use crate::store::{Engine, Finding};

/// What was looked at, in words, and what was found.
#[derive(Debug, Default)]
pub struct Between {
    pub looked: Vec<&'static str>,
    pub findings: Vec<Finding>,
}

/// Compares the documents that speak of each other. One that cannot be read is told of elsewhere, and not compared.
pub fn between(engine: &dyn Engine, actor: &Actor) -> Result<Between> {
    let mut found = Between::default();
    if let Some(queue) = value(engine, &Doc::queue()) {
        let tasks: Vec<Task> = items(Doc::queue().kind, &queue).into_iter().cloned().map(Task::of).collect();
        found.add("sessions and claims", Some(claims(engine, &tasks, actor)?));
        found.add("tasks and results", results(engine, &tasks));
    }
    let documents =
        ["orchestrator_state", "pm_state", "group_status"].map(|kind| value(engine, &pipeline(kind)));
    if let [Some(state), Some(plan), Some(groups)] = &documents {
        found.add("orders and groups", Some(orders(state, plan, groups)));
    }
    for room in engine.rooms()? {
        if let Room::Mailbox(session) = &room {
            found.add("mailboxes and files", letters(engine, session));
        }
    }
    Ok(found)
}

impl Between {
    fn add(&mut self, what: &'static str, findings: Option<Vec<Finding>>) {
        let Some(findings) = findings else { return };
        if !self.looked.contains(&what) {
            self.looked.push(what);
        }
        self.findings.extend(findings.into_iter().take(MOST));
    }
}

/// Claims of sessions that are not at work.
fn claims(engine: &dyn Engine, tasks: &[Task], actor: &Actor) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for task in tasks.iter().filter(|task| task.is_active()) {
        let Some(session) = task.value().text(QueueTask::session_id) else { continue };
        if !look::is_at_work(engine, session, actor)? {
            let message =
                format!("task `{}` is in the hands of session `{session}`, which is not at work", task.id());
            let reset = Next::Reset { id: task.id().into(), force: false };
            let fix = hint!["give it back: ", reset, "   (or wait: its lease ends)"];
            findings.push(finding("queue", message, fix));
        }
    }
    Ok(findings)
}

/// Tasks that were done without a text of what came out, and texts of no task.
fn results(engine: &dyn Engine, tasks: &[Task]) -> Option<Vec<Finding>> {
    let text_files = engine.begin(&[&Room::Queue]).ok()?.text_files(&Room::Queue, TextFiles::Results).ok()?;
    let texts: HashSet<&str> = text_files.iter().filter_map(TextFile::key).map(Key::as_str).collect();
    let is_reported =
        |task: &&Task| task.status() == Status::Done && task.value()[QueueTask::result].is_object();
    let lost = tasks.iter().filter(is_reported).filter(|task| !texts.contains(task.id())).map(|task| {
        let message = format!("task `{0}` is done, and `results/{0}.md` is not there", task.id());
        let path = format!("tasks[id={}].result", task.id());
        let see = See::Document { kind: "queue", path: Some(path) };
        finding("queue", message, hint!["what it says is in the task: ", see])
    });
    let known: HashSet<&str> = tasks.iter().map(Task::id).collect();
    let mut strange: Vec<&&str> = texts.iter().filter(|id| !known.contains(**id)).collect();
    strange.sort_unstable();
    let strange = strange.into_iter().map(|id| {
        let file = format!(".coordination/results/{id}.md");
        let fix = hint!["read it, and remove it if nobody needs it: ", Next::RemoveFile(file.clone())];
        finding("queue", format!("`{file}` is the result of no task"), fix)
    });
    Some(lost.chain(strange).collect())
}

/// Open orders for groups that are in no plan, and groups that are only in one of two documents.
fn orders(state: &Value, plan: &Value, groups: &Value) -> Vec<Finding> {
    let planned: HashSet<&str> =
        plan.list(PmState::task_groups).iter().filter_map(|group| group.text(TaskGroup::id)).collect();
    let (see, undo) = (See::History("pm_state"), Next::Undo((&pipeline("pm_state")).into()));
    let back = hint!["see who took it out: ", see, "; bring it back: ", undo];
    let open =
        state.list(OrchestratorState::orders).iter().filter(|order| order[KeptOrder::finished_at].is_null());
    let groups_of_orders =
        open.filter_map(|order| Some((order.text(KeptOrder::id)?, order.text(KeptOrder::group_id)?)));
    let lost =
        groups_of_orders.filter(|(_, group)| *group != "-" && !planned.contains(group)).map(|(id, group)| {
            finding(
                "orchestrator_state",
                format!("order `{id}` is for the group `{group}`, which is in no plan"),
                back.clone(),
            )
        });
    let entries = groups.as_object().into_iter().flatten().map(|(group, _)| group);
    let stray = entries.filter(|group| !planned.contains(group.as_str())).map(|group| {
        finding("group_status", format!("the group `{group}` has a status, and is in no plan"), back.clone())
    });
    lost.chain(stray).collect()
}

/// Messages that wait to be read, and whose files are gone.
fn letters(engine: &dyn Engine, session: &SessionId) -> Option<Vec<Finding>> {
    let room = Room::Mailbox(session.clone());
    let list = value(engine, &Doc::mailbox(session))?;
    let text_files = engine.begin(&[&room]).ok()?.text_files(&room, TextFiles::Messages(Tray::Inbox)).ok()?;
    let lie: HashSet<&str> = text_files.iter().filter_map(TextFile::key).map(Key::as_str).collect();
    let waiting = list.read(Mailbox::messages)?.iter().filter(|note| note[MessageNote::status] == "unread");
    let lost = waiting.filter_map(|note| note.text(MessageNote::id)).filter(|id| !lie.contains(id));
    let told = |id: &str| {
        let message = format!("message `{id}` waits for `{session}`, and its file is gone");
        let fix = hint!["strike it off: ", Next::ReadMail { session: session.to_string(), again: false }];
        finding("mailbox", message, fix)
    };
    Some(lost.map(told).collect())
}

fn finding(subject: &str, message: String, fix: Hint) -> Finding {
    Finding { code: Code::Conflict, subject: subject.into(), message, fix, repaired: false }
}

fn value(engine: &dyn Engine, doc: &Doc) -> Option<Value> {
    engine.read(doc).ok().flatten().map(|document| document.value)
}

fn pipeline(kind: &str) -> Doc {
    Doc::shared(Kind::find(kind).expect("a kind of the registry"), Room::Pipeline)
}
