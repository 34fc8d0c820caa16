//! Tasks that are made of others. How a parent follows its parts: `docs/decisions.md`, "Parts of tasks".

use std::borrow::Cow;

use super::QueueTransaction;
use super::rules::{LEADER, Several, check_circle, hold_dependents};
use crate::hint;
use crate::model::documents::queue::{QueueTask, TaskContext};
use crate::model::ids::Key;
use crate::model::key::Fields;
use crate::model::new_task::NewTask;
use crate::model::next::Next;
use crate::model::task::{Status, Task, priority};
use crate::ops::{Actor, Error, Result};
use crate::store::Engine;

/// Returns the task that a new one is to be a part of, if it may have one more.
pub(super) fn parent(tx: &mut QueueTransaction<'_>, id: &str, new: &NewTask<'_>) -> Result<Task> {
    let task = tx.task(id)?;
    check_open(&task, "split")?;
    check_circle(tx, id, &new.dependencies)?;
    Ok(task)
}

/// Refuses parts for a task that somebody works on, or that is over.
fn check_open(task: &Task, verb: &'static str) -> Result<()> {
    match task.owner().filter(|_| task.is_active()) {
        Some(owner) => Err(Error::refused(
            format!("`{owner}` is at work on `{}`, so it cannot get parts now", task.id()),
            hint!["take it back first: ", Next::Reset { id: task.id().into(), force: false }],
        )),
        None if task.is_over() => Err(task.wrong_state(verb).into()),
        None => Ok(()),
    }
}

/// Makes a task a part of another one, which waits for it from now on.
pub(super) fn join(tx: &mut QueueTransaction<'_>, mut parent: Task, id: &str) -> Result<()> {
    if parent.status() == Status::Failed {
        parent = tx.give_back(parent, "split", "")?;
    }
    parent.add_part(id);
    parent.set_status(Status::Created);
    tx.put(parent)
}

/// Takes a part that is not wanted any more out of its parent. If that was the last open one, the parent is done; if it was the only
/// one, the parent is a task as any other.
pub(super) fn leave(tx: &mut QueueTransaction<'_>, part: &Task) -> Result<()> {
    let Some(mut parent) = parent_of(tx, part)? else { return Ok(()) };
    if !parent.parts().contains(&part.id()) || parent.status() == Status::Cancelled {
        return Ok(());
    }
    parent.drop_part(part.id());
    tx.put(parent.clone())?;
    tx.make_available(parent).map(drop)
}

/// Makes the parent of a task that is open again wait for it again, also if it was done already.
pub(super) fn rejoin(tx: &mut QueueTransaction<'_>, part: &Task) -> Result<()> {
    let Some(mut parent) = parent_of(tx, part)? else { return Ok(()) };
    if parent.status() == Status::Cancelled || parent.is_active() {
        return Ok(());
    }
    let was_done = parent.status() == Status::Done;
    if was_done {
        parent = tx.give_back(parent, "reset", "")?;
    }
    parent.add_part(part.id());
    parent.set_status(Status::Created);
    tx.put(parent.clone())?;
    if was_done {
        hold_dependents(tx, parent.id())?;
        rejoin(tx, &parent)?;
    }
    Ok(())
}

fn parent_of(tx: &mut QueueTransaction<'_>, part: &Task) -> Result<Option<Task>> {
    match part.parent() {
        Some(id) => Ok(tx.transaction.item(&tx.queue, id)?.map(Task::of)),
        None => Ok(None),
    }
}

/// Makes several tasks of one, which is done when they are. Returns it, and then its new parts.
pub fn split(engine: &dyn Engine, id: &Key, texts: &[String], actor: &Actor) -> Result<Several> {
    if texts.is_empty() {
        return Err(Error::Input("there is nothing to split it into: say what each part is".into()));
    }
    let mut tx = QueueTransaction::open_queue(engine, actor)?;
    let mut whole = tx.task(id.as_str())?;
    check_open(&whole, "split")?;
    let mut parts = Vec::new();
    for text in texts {
        let new = inheriting(&whole, text);
        new.check().map_err(Error::Input)?;
        let part_id = free_id(&mut tx, id, whole.parts().len())?;
        let mut part = Task::new(part_id.as_str(), &new, Status::Created, tx.now.at);
        part.set_status(tx.open_status(&part)?);
        tx.put(part.clone())?;
        join(&mut tx, whole, part_id.as_str())?;
        whole = tx.task(id.as_str())?;
        parts.push(part);
    }
    tx.log(LEADER, "SPLIT", &format!("{id}: {}", whole.parts().join(", ")))?;
    let warnings = tx.commit(LEADER, "split", actor)?;
    Ok(Several { tasks: std::iter::once(whole).chain(parts).collect(), warnings })
}

/// Describes a part of a task: what is not said of it is as for the whole.
fn inheriting<'t>(whole: &'t Task, text: &'t str) -> NewTask<'t> {
    let all = |texts: Vec<&'t str>| texts.into_iter().map(Cow::Borrowed).collect();
    let hints = whole.value().at(QueueTask::context).text(TaskContext::hints);
    NewTask {
        id: None,
        description: text.into(),
        priority: Some(priority(whole.value())),
        dependencies: all(whole.prerequisites()),
        files: all(whole.files()),
        hints: hints.map(Cow::Borrowed),
        needs: all(whole.needs()),
        labels: all(whole.labels()),
        parent: Some(whole.id().into()),
    }
}

/// Returns the next of `ID-1`, `ID-2`, … that is free.
fn free_id(tx: &mut QueueTransaction<'_>, whole: &Key, known: usize) -> Result<Key> {
    for number in known + 1.. {
        let id = format!("{whole}-{number}");
        if tx.transaction.item(&tx.queue, &id)?.is_none() {
            return id.parse().map_err(|error: crate::model::ids::InvalidId| Error::Input(error.to_string()));
        }
    }
    unreachable!("BUG: ran out of numbers")
}
