//! One task with everything that has to do with it.

use serde_json::{Value, json};

use super::look::{self, Explained};
use crate::model::documents::answers::{ShownTask, TaskNote};
use crate::model::key::FieldsMut;
use crate::model::kind::Doc;
use crate::model::listing::Among;
use crate::model::task::{Task, word};
use crate::ops::{Actor, Result, read};
use crate::store::Engine;
use crate::store::engine::{find_in, item_in};
use crate::view::task::Around;

#[derive(Debug)]
pub struct Shown {
    pub explained: Explained,
    pub around: Around,
}

/// Returns a task and the tasks before and behind it.
pub fn show(engine: &dyn Engine, id: &str, actor: &Actor) -> Result<Shown> {
    let explained = look::explain(engine, id, actor)?;
    let around = match browse(engine, &explained.task)? {
        Some(around) => around,
        None => around_in(&read::document(engine, &Doc::queue())?.value, &explained.task),
    };
    Ok(Shown { explained, around })
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
    Ok(Some(Around { waits_for, needed_by: behind.into_iter().map(Task::of).collect() }))
}

fn around_in(value: &Value, task: &Task) -> Around {
    let queue = Doc::queue();
    let find = |id: &str| (id.to_owned(), item_in(&queue, value, id).cloned().map(Task::of));
    let behind = find_in(&queue, value, Among::InNeedOf(task.id()));
    Around {
        waits_for: task.dependencies().into_iter().map(find).collect(),
        needed_by: behind.into_iter().map(Task::of).collect(),
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
        value
    }
}
