//! All ids of one sort, for who names something by less than its id. Looked at only when an exact id leads nowhere.

use crate::model::documents::queue::{QueueTask, Worker};
use crate::model::ids::is_sound;
use crate::model::key::{Fields, Held, Key, Text};
use crate::model::kind::Doc;
use crate::model::room::Room;
use crate::ops::{Result, read};
use crate::store::Engine;
use crate::store::engine::items;

/// Returns the ids of all tasks, without building them if an engine can do that.
pub fn tasks(engine: &dyn Engine) -> Result<Vec<String>> {
    let (queue, mut ids) = (Doc::queue(), Vec::new());
    if engine.is_absent(&queue) {
        return Ok(ids);
    }
    let name = QueueTask::id.name();
    if !read::each_item(engine, &queue, &mut |task| ids.extend(task.string(name).map(|id| id.into_owned()))) {
        ids = of_items(engine, &queue, QueueTask::id)?;
    }
    ids.retain(|id| is_sound(id));
    Ok(ids)
}

/// Returns the names of all workers that are known.
pub fn workers(engine: &dyn Engine) -> Result<Vec<String>> {
    of_items(engine, &Doc::workers(), Worker::id)
}

/// Returns the ids of all sessions that have not gone to the archive.
pub fn sessions(engine: &dyn Engine) -> Result<Vec<String>> {
    let session = |room| match room {
        Room::Session(id) => Some(id.to_string()),
        _ => None,
    };
    Ok(engine.rooms()?.into_iter().filter_map(session).collect())
}

fn of_items<T: Held<Kind: Text>>(engine: &dyn Engine, doc: &Doc, id: Key<T>) -> Result<Vec<String>> {
    let value = engine.read(doc)?.map(|found| found.value).unwrap_or_default();
    Ok(items(doc.kind, &value).into_iter().filter_map(|item| item.text(id)).map(str::to_owned).collect())
}
