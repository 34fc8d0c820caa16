//! What is over makes room: sessions, messages and tasks go to an archive, one JSON line each, one text for each month.
//!
//! The line is appended in the same commit that deletes what it tells of, so that nothing is lost or told twice, whenever a process
//! dies. What is left of a room then, its journal and its lock, is removed by [`remove_room`](crate::store::Upkeep::remove_room); whoever is killed before that leaves a
//! room without documents, or less, which the next look at all of them removes ([`remove_remains`](crate::store::Upkeep::remove_remains)).

mod logs;
pub mod messages;
mod request;
mod sessions;
pub mod shelf;
pub mod tasks;

use std::collections::HashSet;

pub use self::request::Request;
pub use self::sessions::{find_session, session};
use super::settings::Settings;
use super::{Actor, Result};
use crate::model::hint::Hint;
use crate::model::kind::Doc;
use crate::model::room::Room;
use crate::store::Engine;

/// What made room, or would.
#[derive(Debug, Default)]
pub struct Archived {
    pub sessions: Vec<String>,
    pub messages: usize,
    pub tasks: Vec<String>,
    pub warnings: Vec<Hint>,
}

/// Archives all that is over for long enough: sessions with their mailboxes, messages that are done with, tasks of this project.
pub fn all(engine: &dyn Engine, request: Request, actor: &Actor) -> Result<Archived> {
    let (mut archived, mut held) = (Archived::default(), HashSet::new());
    for room in engine.rooms()? {
        let Room::Mailbox(id) = room else { continue };
        match messages::mailbox(engine, &id, request, actor) {
            Ok(moved) => archived.messages += moved,
            Err(error) => {
                archived.warnings.push(format!("mailbox of `{id}` stays: {error}").into());
                held.insert(id);
            }
        }
    }
    for room in engine.rooms()? {
        let Room::Session(id) = room else { continue };
        // Without its session nobody would know that a mailbox is done with.
        if held.contains(&id) {
            continue;
        }
        match session(engine, &id, request, actor) {
            Ok(true) => archived.sessions.push(id.to_string()),
            Ok(false) => {}
            Err(error) => archived.warnings.push(format!("session `{id}` stays: {error}").into()),
        }
    }
    if !request.dry_run {
        engine.remove_remains()?;
    }
    archived.tasks = tasks::all(engine, request, actor)?;
    Ok(archived)
}

/// How many sessions make room when another one ends.
const IN_PASSING: usize = 2;

/// Lets a few sessions that are over for as long as the configuration says make room. What goes wrong is left to `clean`.
pub fn in_passing(engine: &dyn Engine, settings: &Settings, actor: &Actor) {
    let request = Request::of(settings, actor.now());
    for id in engine.take_aged(request.sessions, IN_PASSING).unwrap_or_default() {
        let is_empty = engine.is_absent(&Doc::mailbox(&id)) && engine.is_absent(&Doc::sent(&id));
        let batch = || messages::mailbox_batch(engine, &id, request, actor);
        if is_empty || batch().is_ok_and(|moved| moved < messages::BATCH) {
            let _ = session(engine, &id, request, actor);
        }
    }
}
