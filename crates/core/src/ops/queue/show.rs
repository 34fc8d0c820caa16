//! One task with everything that has to do with it.

use serde_json::{Value, json};

use super::look::{self, Explained};
use crate::model::documents::answers::{ShownTask, TaskEvent, TaskNote};
use crate::model::documents::queue::{Queue, QueueTask};
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::Doc;
use crate::model::listing::Among;
use crate::model::task::{Task, word};
use crate::ops::{Actor, Result, read};
use crate::store::engine::{find_in, item_in};
use crate::store::{Engine, Revision};
use crate::view::task::{Around, Event};

#[derive(Debug)]
pub struct Shown {
    pub explained: Explained,
    pub around: Around,
}

/// Returns a task and the tasks before and behind it.
pub fn show(engine: &dyn Engine, id: &str, actor: &Actor) -> Result<Shown> {
    let explained = look::explain(engine, id, actor)?;
    let mut around = match browse(engine, &explained.task)? {
        Some(around) => around,
        None => around_in(&read::document(engine, &Doc::queue())?.value, &explained.task),
    };
    around.past = past(engine, explained.task.id())?;
    Ok(Shown { explained, around })
}

/// So many commits of a task are shown, and so many of the queue are looked at for them.
const SHOWN: usize = 10;
const LOOKED_AT: usize = 2000;

/// Returns the last commits that changed a task, the newest first, without renewals of its lease.
fn past(engine: &dyn Engine, id: &str) -> Result<Vec<Event>> {
    let (queue, mut events, mut looked) = (Doc::queue(), Vec::new(), 0);
    engine.look_back(&queue.room, Some(&queue), &mut |revision| {
        looked += 1;
        if !revision.is_heartbeat() && is_about(&revision, id) {
            let Revision { revision, at, by, op, .. } = revision;
            events.push(Event { revision, at, by, op });
        }
        events.len() < SHOWN && looked < LOOKED_AT
    })?;
    Ok(events)
}

/// Whether a commit changed a task, put it there or took it away, perhaps with others.
fn is_about(revision: &Revision, id: &str) -> bool {
    let is_it = |value: &Value| value.text(QueueTask::id) == Some(id);
    let has_it = |value: &Value| is_it(value) || value.list(Queue::tasks).iter().any(is_it);
    let mut values = revision.changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
    revision.names.values().any(|name| name == id) || values.any(has_it)
}

/// Looks at the tasks around one without reading the others, if that can be done.
fn browse(engine: &dyn Engine, task: &Task) -> Result<Option<Around>> {
    let queue = Doc::queue();
    let Some(mut transaction) = engine.browse(&queue.room)? else { return Ok(None) };
    if !transaction.edits(&queue)?.is_empty() {
        return Ok(None);
    }
    let mut waits_for = Vec::new();
    for id in task.dependencies() {
        waits_for.push((id.to_owned(), transaction.item(&queue, id)?.map(Task::of)));
    }
    let behind = transaction.find(&queue, Among::InNeedOf(task.id()))?;
    let needed_by = behind.into_iter().map(Task::of).collect();
    Ok(Some(Around { waits_for, needed_by, past: Vec::new() }))
}

fn around_in(value: &Value, task: &Task) -> Around {
    let queue = Doc::queue();
    let find = |id: &str| (id.to_owned(), item_in(&queue, value, id).cloned().map(Task::of));
    let behind = find_in(&queue, value, Among::InNeedOf(task.id()));
    Around {
        waits_for: task.dependencies().into_iter().map(find).collect(),
        needed_by: behind.into_iter().map(Task::of).collect(),
        past: Vec::new(),
    }
}

impl Shown {
    /// Returns the task as it is stored, and what is known of it beside that.
    pub fn json(&self) -> Value {
        let brief = |id: &str, task: Option<&Task>| {
            let status = task.map(|task| word(task.status()));
            json!({
                TaskNote::id: id, TaskNote::status: status, TaskNote::claimed_by: task.and_then(Task::owner),
            })
        };
        let mut value = self.explained.task.value().clone();
        value[ShownTask::waits_for] =
            self.around.waits_for.iter().map(|(id, task)| brief(id, task.as_ref())).collect();
        value[ShownTask::needed_by] =
            self.around.needed_by.iter().map(|task| brief(task.id(), Some(task))).collect();
        value.set(ShownTask::ready, self.explained.ready);
        value[ShownTask::reasons] = self.explained.json()[ShownTask::reasons].take();
        let event = |event: &Event| {
            json!({
                TaskEvent::revision: event.revision, TaskEvent::at: event.at, TaskEvent::by: event.by,
                TaskEvent::op: event.op,
            })
        };
        value[ShownTask::history] = self.around.past.iter().map(event).collect();
        value
    }
}
