//! What a worker should know before it begins, gathered from the queue's room.

use jiff::Timestamp;

use crate::model::documents::queue::{QueueTask, TaskResult};
use crate::model::ids::{Key, SessionId};
use crate::model::key::Fields;
use crate::model::kind::Doc;
use crate::model::listing::{Among, Most};
use crate::model::session::Session;
use crate::model::task::Task;
use crate::model::text_file::TextFile;
use crate::model::time;
use crate::ops::{Error, Result, read};
use crate::store::engine::{find_in, item_in};
use crate::store::{Engine, Transaction};
use crate::view::brief::{Before, Brief};

/// Gathers what concerns a task, as of one moment.
pub fn brief(engine: &dyn Engine, id: &str) -> Result<Brief> {
    let queue = Doc::queue();
    if engine.is_absent(&queue) {
        return Err(read::missing(engine, &queue));
    }
    let mut look = match engine.browse(&queue.room)? {
        Some(look) => look,
        None => engine.begin(&[&queue.room])?,
    };
    let task = look.item(&queue, id)?.map(Task::of).ok_or_else(|| Error::NoTask { id: id.into() })?;
    let task = task.renewed_by(&look.signs(&queue)?);
    let before = task.dependencies().into_iter().map(|id| done_before(&mut *look, id));
    let before = before.collect::<Result<_>>()?;
    let others = look.find(&queue, Among::Active)?.into_iter().map(Task::of);
    let others = others.filter(|other| other.id() != id).collect();
    let mut text_file = |text_file| text(&mut *look, &text_file);
    let (plan, discoveries) = (text_file(TextFile::Plan), text_file(TextFile::Discoveries));
    Ok(Brief { task, before, others, plan, discoveries })
}

/// Returns a task that another one depends on. One that says nothing of its result may have left a text of it.
fn done_before(look: &mut dyn Transaction, id: &str) -> Result<Before> {
    let task = look.item(&Doc::queue(), id)?;
    let is_told = task.as_ref().is_some_and(|task| task[QueueTask::result][TaskResult::output].is_string());
    let text_file = if is_told { None } else { id.parse().ok().map(TextFile::Result) };
    let result = text_file.and_then(|text_file| text(look, &text_file));
    Ok(Before { id: id.to_owned(), task, result })
}

/// Returns a text; one that cannot be read is missed, and nothing else.
fn text(look: &mut dyn Transaction, text_file: &TextFile) -> Option<String> {
    look.text_file(text_file).ok().flatten()
}

/// Whether somebody else is at work on a task of the queue, or was since then.
pub fn others_since(engine: &dyn Engine, id: &str, since: Timestamp) -> Result<bool> {
    // The last one that is done may be this one.
    let most = Most { ready: 0, waiting: 0, done: 2 };
    let tasks = match read::overview(engine, &Doc::queue(), most) {
        Some(overview) => overview.items,
        None => read::list(engine, &Doc::queue(), None)?,
    };
    let ended = |task: &Task| time::read(task.value().text(QueueTask::completed_at)?);
    let meets = |task: &Task| task.is_active() || ended(task).is_some_and(|ended| ended >= since);
    Ok(tasks.into_iter().map(Task::of).any(|task| task.id() != id && meets(&task)))
}

/// Whose tasks are looked for.
#[derive(Debug, Clone, Copy)]
pub enum Holder<'a> {
    Worker(&'a Key),
    Session(&'a SessionId),
}

/// Returns the tasks that somebody has in hand.
pub fn in_hand(engine: &dyn Engine, holder: Holder<'_>) -> Result<Vec<Task>> {
    let mut tasks = active(engine)?;
    tasks.retain(|task| match holder {
        Holder::Worker(worker) => task.owner() == Some(worker.as_str()),
        Holder::Session(session) => Session::has(session, task),
    });
    if tasks.is_empty() {
        return Ok(tasks);
    }
    let signs = engine.signs(&Doc::queue())?;
    Ok(tasks.into_iter().map(|task| task.renewed_by(&signs)).collect())
}

/// Returns those of these tasks that there are, without reading the others if an index can tell.
pub fn tasks(engine: &dyn Engine, ids: &[&str]) -> Result<Vec<Task>> {
    let queue = Doc::queue();
    if ids.is_empty() || engine.is_absent(&queue) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    match engine.browse(&queue.room)? {
        Some(mut look) => {
            for id in ids {
                found.extend(look.item(&queue, id)?);
            }
        }
        None => {
            let read = engine.read(&queue)?;
            let value = read.as_ref().map(|read| &read.value);
            found.extend(ids.iter().filter_map(|id| item_in(&queue, value?, id)).cloned());
        }
    }
    Ok(found.into_iter().map(Task::of).collect())
}

/// Returns the tasks that are worked on.
pub fn active(engine: &dyn Engine) -> Result<Vec<Task>> {
    let queue = Doc::queue();
    if engine.is_absent(&queue) {
        return Ok(Vec::new());
    }
    let active = match engine.browse(&queue.room)? {
        Some(mut look) => look.find(&queue, Among::Active)?,
        None => {
            engine.read(&queue)?.map(|read| find_in(&queue, &read.value, Among::Active)).unwrap_or_default()
        }
    };
    Ok(active.into_iter().map(Task::of).collect())
}
