//! What is over makes room: sessions, messages and tasks go to an archive, one JSON line each, one text for each month.
//!
//! The line is appended in the same commit that deletes what it tells of, so that nothing is lost or told twice, whenever a process
//! dies. What is left of a room then, its journal and its lock, is removed by [`remove_room`](crate::store::Upkeep::remove_room); whoever is killed before that leaves a
//! room without documents, or less, which the next look at all of them removes ([`remove_remains`](crate::store::Upkeep::remove_remains)).

mod logs;
pub mod messages;
pub mod shelf;
pub mod tasks;

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use self::shelf::Shelf;
use super::settings::Settings;
use super::{Actor, Result};
use crate::model::documents::state::{ArchivedSession, RetentionSettings, Session as SessionDoc};
use crate::model::hint::Hint;
use crate::model::ids::{Key, SessionId};
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::{Doc, KINDS};
use crate::model::room::Room;
use crate::model::session::Session;
use crate::model::text_file::TextFile;
use crate::model::{json, time};
use crate::store::{Engine, Transaction};

/// What the history calls it.
const OP: &str = "archive";

/// What of the past is to make room, and whether to do it or only to tell.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Sessions that ended before this; and so on.
    pub sessions: Timestamp,
    pub messages: Timestamp,
    pub tasks: Timestamp,
    pub dry_run: bool,
}

impl Request {
    /// All that ended before this.
    pub fn before(time: Timestamp) -> Request {
        Request { sessions: time, messages: time, tasks: time, dry_run: false }
    }

    /// What is over for as long as the configuration says.
    pub fn of(settings: &Settings, now: Timestamp) -> Request {
        let before = |field| {
            let kept = SignedDuration::try_from(settings.kept_for(field)?).ok()?;
            now.checked_sub(kept).ok()
        };
        let before = |field| before(field).unwrap_or(Timestamp::MIN);
        Request {
            sessions: before(RetentionSettings::sessions_days),
            messages: before(RetentionSettings::messages_days),
            tasks: before(RetentionSettings::tasks_days),
            dry_run: false,
        }
    }
}

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

/// Whether a session is over since before a time. One that cannot be read is not.
fn is_over(state: Option<&Value>, before: Timestamp) -> bool {
    let Some(session) = state.map(|state| Session::of(state.clone())) else { return false };
    session.is_over() && over_since(session.value()).is_some_and(|at| at < before)
}

/// Returns when a session that is over was heard of last, or ended.
fn over_since(state: &Value) -> Option<Timestamp> {
    let fields =
        [SessionDoc::ended_at, SessionDoc::expired_at, SessionDoc::last_heartbeat, SessionDoc::created_at];
    fields.into_iter().find_map(|field| time::read(state.text(field)?))
}

fn is_over_now(engine: &dyn Engine, id: &SessionId, before: Timestamp) -> Result<bool> {
    Ok(is_over(engine.read(&Doc::session(id))?.map(|state| state.value).as_ref(), before))
}

/// Moves a session that is over to the archive. Returns whether it was. Its mailbox has to be gone.
pub fn session(engine: &dyn Engine, id: &SessionId, request: Request, actor: &Actor) -> Result<bool> {
    let room = Room::Session(id.clone());
    let state = engine.read(&Doc::session(id))?.map(|state| state.value);
    if !is_over(state.as_ref(), request.sessions) {
        if !request.dry_run && state.is_none() {
            // Somebody may have been killed before it could finish, or remove the rest.
            drop(engine.begin(&[&Room::Archive, &room])?);
            if engine.read(&Doc::session(id))?.is_none() {
                engine.remove_room(&room)?;
            }
        }
        return Ok(false);
    }
    if request.dry_run {
        return Ok(true);
    }
    let mut transaction = engine.begin(&[&Room::Archive, &room])?;
    let state = transaction.get(&Doc::session(id))?.cloned();
    if !is_over(state.as_ref(), request.sessions) {
        return Ok(false);
    }
    let mut record = Map::new();
    record.set(ArchivedSession::session_id, id.as_str());
    record.set(ArchivedSession::archived_at, time::stamp(actor.now()));
    for kind in KINDS.iter().filter(|kind| kind.is_of(&room)) {
        let doc = Doc::of_session(kind, id.clone());
        if let Some(value) = transaction.get(&doc)?.cloned() {
            record.insert(kind.name.into(), value);
            transaction.delete(&doc)?;
        }
    }
    let log = TextFile::HookLog(id.clone());
    if let Some(text) = transaction.text_file(&log)? {
        record.set(ArchivedSession::hooks_log, text);
        transaction.remove_text_file(&log)?;
    }
    let over = state.as_ref().and_then(over_since);
    append(&mut *transaction, TextFile::Archive, "sessions", over, &record.into())?;
    transaction.commit(&actor.entry(OP))?;
    engine.remove_room(&room)?;
    Ok(true)
}

/// Appends a record to the text of its month.
fn append(
    transaction: &mut dyn Transaction,
    text_file: fn(Key) -> TextFile,
    what: &str,
    at: Option<Timestamp>,
    record: &Value,
) -> Result<()> {
    let month = at.map(time::stamp).and_then(|at| at.get(..7).map(str::to_owned));
    let name = format!("{what}-{}", month.as_deref().unwrap_or("unknown"));
    let text_file = text_file(name.parse().expect("a name of ours is a key"));
    let mut line = json::dense(record);
    line.push('\n');
    Ok(transaction.append_text_file(&text_file, &line)?)
}

/// Returns what the archive has of a session, the newest record.
pub fn find_session(engine: &dyn Engine, id: &SessionId) -> Result<Option<Value>> {
    Ok(Shelf::sessions().newest(engine, Some(id.as_str()), Some(1))?.pop())
}
