//! What the leader changes about tasks that are there.

use serde_json::Value;

use super::rules::{LEADER, check_circle, check_known};
use super::{QueueTransaction, parts};
use crate::hint;
use crate::model::documents::queue::QueueTask;
use crate::model::ids::Key;
use crate::model::listing::Among;
use crate::model::next::Next;
use crate::model::task::{Task, TaskEdit};
use crate::model::text_file::TextFile;
use crate::ops::{Actor, Error, Result};
use crate::store::Engine;

/// A task as it is now, and who has it.
#[derive(Debug)]
pub struct Revised {
    pub task: Task,
    /// Whoever is at work on it, and has been told the old words.
    pub at_work: Option<String>,
}

/// Changes words and rules of a task.
pub fn edit(engine: &dyn Engine, id: &Key, edit: &TaskEdit, actor: &Actor) -> Result<Revised> {
    edit.check(id.as_str()).map_err(Error::Input)?;
    let mut tx = QueueTransaction::open_queue(engine, actor)?;
    let mut task = tx.task(id.as_str())?;
    if task.is_over() && !edit.is_only_labels() {
        return Err(task.wrong_state("edit").into());
    }
    let at_work = task.owner().filter(|_| task.is_active()).map(str::to_owned);
    if let Some(owner) = at_work.as_deref().filter(|_| edit.is_about_claims()) {
        return Err(held(id, owner, "its files, dependencies and needed capabilities are settled"));
    }
    for on in &edit.depends.added {
        check_known(&mut tx, on, id.as_str())?;
    }
    check_circle(&mut tx, id.as_str(), &edit.depends.added)?;
    if task.edit(edit) {
        if task.is_open() {
            task.set_status(tx.open_status(&task)?);
        }
        tx.put(task.clone())?;
        tx.log(LEADER, "EDIT", id.as_str())?;
    }
    tx.commit(LEADER, "edit-task", actor)?;
    Ok(Revised { task, at_work })
}

fn held(id: &Key, owner: &str, why: &str) -> Error {
    let message = format!("`{owner}` is at work on `{id}`: {why}");
    Error::refused(message, hint!["take it back first: ", Next::Reset { id: id.to_string(), force: false }])
}

/// Adds a remark to a task, however it stands.
pub fn note(engine: &dyn Engine, id: &Key, text: &str, actor: &Actor) -> Result<Task> {
    if text.trim().is_empty() {
        return Err(Error::Input("the note is blank".into()));
    }
    let mut tx = QueueTransaction::open_queue(engine, actor)?;
    let mut task = tx.task(id.as_str())?;
    let by = actor.entry("note").by;
    task.note(&by, text, &tx.now);
    tx.put(task.clone())?;
    tx.log(LEADER, "NOTE", &format!("{id}: {text}"))?;
    tx.commit(&by, "note", actor)?;
    Ok(task)
}

/// Takes tasks out of the queue, with their results; with `only_look` nothing changes. Returns them as they were.
pub fn remove(engine: &dyn Engine, ids: &[Key], only_look: bool, actor: &Actor) -> Result<Vec<Task>> {
    let mut tx = QueueTransaction::open_queue(engine, actor)?;
    let tasks = ids.iter().map(|id| tx.task(id.as_str())).collect::<Result<Vec<_>>>()?;
    let stay = |part: &&str| !ids.iter().any(|id| id.as_str() == *part);
    for (id, task) in ids.iter().zip(&tasks) {
        if let Some(owner) = task.owner().filter(|_| task.is_active()) {
            return Err(held(id, owner, "it cannot be removed now"));
        }
        if let Some(part) = task.parts().into_iter().find(stay) {
            let message = format!("`{id}` has parts, `{part}` among them");
            return Err(Error::refused(message, "remove the parts with it"));
        }
        // What waits for its parts does not wait for those that are gone.
        if task.parent().is_some_and(|parent| stay(&parent)) {
            parts::leave(&mut tx, task)?;
        }
        check_unneeded(&mut tx, id, ids)?;
    }
    if only_look {
        return Ok(tasks);
    }
    tx.remove(&ids.iter().map(Key::as_str).collect::<Vec<_>>())?;
    for id in ids {
        tx.transaction.remove_text_file(&TextFile::Result(id.clone()))?;
        tx.log(LEADER, "REMOVE", id.as_str())?;
    }
    tx.commit(LEADER, "remove", actor)?;
    Ok(tasks)
}

/// Others would wait for it for ever.
fn check_unneeded(tx: &mut QueueTransaction<'_>, id: &Key, also: &[Key]) -> Result<()> {
    let dependents = tx.transaction.find(&tx.queue, Among::InNeedOf(id.as_str()))?;
    let stays = |task: &&Value| !also.iter().any(|id| task[QueueTask::id] == id.as_str());
    let Some(dependent) = dependents.iter().find(stays).map(|task| Task::of(task.clone())) else {
        return Ok(());
    };
    let apart = Next::StopWaiting { id: dependent.id().into(), on: id.to_string() };
    Err(Error::refused(
        format!("`{}` depends on `{id}`", dependent.id()),
        hint!["let it wait no more: ", apart],
    ))
}
