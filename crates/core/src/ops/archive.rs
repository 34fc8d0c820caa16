//! What is over makes room: sessions, messages and tasks go to an archive, one JSON line each, one text for each month.
//!
//! The line is appended in the same commit that deletes what it tells of, so that nothing is lost or told twice, whenever a process
//! dies. What is left of a room then, its journal and its lock, is removed by [`Engine::remove_room`]; whoever is killed before that leaves a
//! room without documents, which the next look removes.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::settings::Settings;
use super::{Actor, Result, readable};
use crate::model::ids::{Key, SessionId};
use crate::model::kind::{Doc, KINDS};
use crate::model::paper::{Paper, Tray};
use crate::model::room::Room;
use crate::model::session::Session;
use crate::model::{json, message, time};
use crate::store::engine::items;
use crate::store::{Engine, Transaction};

/// How many messages one commit moves at most.
const BATCH: usize = 500;

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
            sessions: before("sessions_days"),
            messages: before("messages_days"),
            tasks: before("tasks_days"),
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
    pub warnings: Vec<String>,
}

/// Archives all that is over for long enough: sessions with their mailboxes, messages that are done with, tasks of this project.
pub fn all(engine: &dyn Engine, request: Request, actor: &Actor) -> Result<Archived> {
    let mut archived = Archived::default();
    for room in engine.rooms()? {
        let done = match &room {
            Room::Mailbox(id) => mailbox(engine, id, request, actor).map(|moved| archived.messages += moved),
            _ => Ok(()),
        };
        if let Err(error) = done {
            archived.warnings.push(format!("mailbox of `{room}` stays: {error}"));
        }
    }
    for room in engine.rooms()? {
        let Room::Session(id) = room else { continue };
        match session(engine, &id, request, actor) {
            Ok(true) => archived.sessions.push(id.to_string()),
            Ok(false) => {}
            Err(error) => archived.warnings.push(format!("session `{id}` stays: {error}")),
        }
    }
    archived.tasks = tasks(engine, request, actor)?;
    Ok(archived)
}

/// How many sessions make room when another one ends.
const IN_PASSING: usize = 2;

/// Lets a few sessions that are over for as long as the configuration says make room. What goes wrong is left to `clean`.
pub fn in_passing(engine: &dyn Engine, settings: &Settings, actor: &Actor) {
    let request = Request::of(settings, actor.now());
    for id in engine.take_aged(request.sessions, IN_PASSING).unwrap_or_default() {
        let is_empty = !engine.may_exist(&Doc::mailbox(&id)) && !engine.may_exist(&Doc::sent(&id));
        if is_empty || mailbox_batch(engine, &id, request, actor).is_ok_and(|moved| moved < BATCH) {
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
    let fields = ["ended_at", "expired_at", "last_heartbeat", "created_at"];
    fields.into_iter().find_map(|field| time::read(state.get(field)?.as_str()?))
}

fn is_over_now(engine: &dyn Engine, id: &SessionId, before: Timestamp) -> Result<bool> {
    Ok(is_over(engine.read(&Doc::session(id))?.map(|state| state.value).as_ref(), before))
}

/// Moves a session that is over to the archive. Returns whether it was. Its mailbox has to be gone.
pub fn session(engine: &dyn Engine, id: &SessionId, request: Request, actor: &Actor) -> Result<bool> {
    let room = Room::Session(id.clone());
    if !is_over_now(engine, id, request.sessions)? {
        // Somebody may have been killed before it could remove the rest.
        if !request.dry_run && !engine.may_exist(&Doc::session(id)) {
            engine.remove_room(&room)?;
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
    record.insert("session_id".into(), id.as_str().into());
    record.insert("archived_at".into(), time::stamp(actor.now()).into());
    for kind in KINDS.iter().filter(|kind| kind.is_of(&room)) {
        let doc = Doc::of_session(kind, id.clone());
        if let Some(value) = transaction.get(&doc)?.cloned() {
            record.insert(kind.name.into(), value);
            transaction.delete(&doc)?;
        }
    }
    let log = Paper::HookLog(id.clone());
    if let Some(text) = transaction.paper(&log)? {
        record.insert("hooks_log".into(), text.into());
        transaction.remove_paper(&log)?;
    }
    let over = state.as_ref().and_then(over_since);
    append(&mut *transaction, Paper::Archive, "sessions", over, &record.into())?;
    transaction.commit(&actor.entry("archive"))?;
    engine.remove_room(&room)?;
    Ok(true)
}

/// Moves the messages of a mailbox that are done with, and the copies of what was sent, to the archive. When its session is over,
/// or there never was one and nothing has come for as long, the rest goes too. Returns how many moved.
pub fn mailbox(engine: &dyn Engine, id: &SessionId, request: Request, actor: &Actor) -> Result<usize> {
    let mut moved = 0;
    loop {
        let batch = mailbox_batch(engine, id, request, actor)?;
        moved += batch;
        if batch < BATCH || request.dry_run {
            return Ok(moved);
        }
    }
}

fn mailbox_batch(engine: &dyn Engine, id: &SessionId, request: Request, actor: &Actor) -> Result<usize> {
    let (room, over) = (Room::Mailbox(id.clone()), is_over_now(engine, id, request.sessions)?);
    let mut transaction = engine.begin(&[&Room::Archive, &room])?;
    let (mut moved, mut left) = (Vec::new(), 0);
    for tray in [Tray::Processed, Tray::Outbox, Tray::Inbox] {
        for name in transaction.folder(&room, tray.folder())? {
            let Some(paper @ Paper::Message { .. }) = Paper::message_named(id, tray, &name) else { continue };
            let text = transaction.paper(&paper)?;
            let Some(message) = text.and_then(|text| message::parse(&text).ok()) else { continue };
            let is_due = done_at(&message).is_some_and(|at| at < request.messages);
            if (moved.len() == BATCH && !request.dry_run) || !(over || (is_due && tray != Tray::Inbox)) {
                left += 1;
                continue;
            }
            let record = json!({"mailbox": id.as_str(), "tray": tray.folder(), "message": message});
            append(&mut *transaction, Paper::Archive, "messages", done_at(&message), &record)?;
            transaction.remove_paper(&paper)?;
            moved.push(message["id"].as_str().unwrap_or_default().to_owned());
        }
    }
    if request.dry_run {
        return Ok(moved.len());
    }
    let goes = left == 0 && (over || is_forgotten(engine, id, request.messages)?);
    forget(&mut *transaction, id, &moved, goes)?;
    transaction.commit(&actor.entry("archive"))?;
    if goes {
        engine.remove_room(&room)?;
    }
    Ok(moved.len())
}

/// Whether a mailbox belongs to no session and nobody has used it since before a time.
fn is_forgotten(engine: &dyn Engine, id: &SessionId, before: Timestamp) -> Result<bool> {
    let used = |doc: &Doc| engine.written_at(doc).is_some_and(|at| at >= before);
    Ok(engine.read(&Doc::session(id))?.is_none() && !used(&Doc::mailbox(id)) && !used(&Doc::sent(id)))
}

/// Takes messages off a mailbox's list, or deletes the lists.
fn forget(transaction: &mut dyn Transaction, id: &SessionId, moved: &[String], goes: bool) -> Result<()> {
    let mailbox = Doc::mailbox(id);
    if goes {
        transaction.delete(&mailbox)?;
        return Ok(transaction.delete(&Doc::sent(id))?);
    }
    let Some(mut list) = readable(transaction, &mailbox)? else { return Ok(()) };
    if let Some(notes) = list["messages"].as_array_mut() {
        let before = notes.len();
        let is_moved = |note: &Value| {
            note["status"] != "unread"
                && note["id"].as_str().is_some_and(|id| moved.iter().any(|moved| moved == id))
        };
        notes.retain(|note| !is_moved(note));
        if notes.len() < before {
            transaction.put(&mailbox, list)?;
        }
    }
    Ok(())
}

/// Returns when a message was done with, or else when it was sent.
fn done_at(message: &Value) -> Option<Timestamp> {
    ["processed_at", "timestamp"].into_iter().find_map(|field| time::read(message.get(field)?.as_str()?))
}

/// Moves the tasks of the queue that are done or cancelled, and that no open task needs, to the archive. Returns their ids.
pub fn tasks(engine: &dyn Engine, request: Request, actor: &Actor) -> Result<Vec<String>> {
    let doc = Doc::queue();
    let Some(queue) = engine.read(&doc)? else { return Ok(Vec::new()) };
    if old_tasks(&doc, &queue.value, request.tasks).is_empty() {
        return Ok(Vec::new());
    }
    let mut transaction = engine.begin(&[&Room::Queue])?;
    let Some(mut queue) = transaction.get(&doc)?.cloned() else { return Ok(Vec::new()) };
    let old = old_tasks(&doc, &queue, request.tasks);
    if request.dry_run || old.is_empty() {
        return Ok(old);
    }
    let tasks = queue["tasks"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let mut kept = Vec::new();
    for task in tasks {
        match task["id"].as_str().is_some_and(|id| old.binary_search(&id.to_owned()).is_ok()) {
            true => {
                let ended = ended_at(&task);
                append(&mut *transaction, Paper::OldTasks, "tasks", ended, &task)?;
            }
            false => kept.push(task),
        }
    }
    queue["tasks"] = kept.into();
    transaction.put(&doc, queue)?;
    transaction.commit(&actor.entry("archive"))?;
    Ok(old)
}

/// Returns the ids of the tasks that may go, sorted.
fn old_tasks(doc: &Doc, queue: &Value, before: Timestamp) -> Vec<String> {
    let tasks = items(doc.kind, queue);
    let is_over = |task: &Value| matches!(task["status"].as_str(), Some("done" | "cancelled"));
    let open = tasks.iter().filter(|task| !is_over(task));
    let mut needed: Vec<_> = open
        .flat_map(|task| task["dependencies"].as_array().into_iter().flatten().filter_map(Value::as_str))
        .collect();
    needed.sort_unstable();
    let is_old = |task: &&&Value| is_over(task) && ended_at(task).is_some_and(|at| at < before);
    let mut old: Vec<_> = tasks
        .iter()
        .filter(is_old)
        .filter_map(|task| task["id"].as_str())
        .filter(|id| needed.binary_search(id).is_err())
        .map(str::to_owned)
        .collect();
    old.sort_unstable();
    old
}

fn ended_at(task: &Value) -> Option<Timestamp> {
    let fields = ["completed_at", "updated_at", "created_at"];
    fields.into_iter().find_map(|field| time::read(task.get(field)?.as_str()?))
}

/// Appends a record to the text of its month.
fn append(
    transaction: &mut dyn Transaction,
    paper: fn(Key) -> Paper,
    what: &str,
    at: Option<Timestamp>,
    record: &Value,
) -> Result<()> {
    let month = at.map(time::stamp).and_then(|at| at.get(..7).map(str::to_owned));
    let name = format!("{what}-{}", month.as_deref().unwrap_or("unknown"));
    let paper = paper(name.parse().expect("a name of ours is a key"));
    let mut line = json::dense(record);
    line.push('\n');
    Ok(transaction.append_paper(&paper, &line)?)
}

/// Returns what the archive has of a session, the newest record.
pub fn find_session(engine: &dyn Engine, id: &SessionId) -> Result<Option<Value>> {
    let mut found = None;
    each_session(engine, &mut |record| {
        if record["session_id"] == id.as_str() {
            found = Some(record.take());
        }
    })?;
    Ok(found)
}

/// Visits every record of a session in the archive, the oldest month first. A line that is no record is passed over.
pub fn each_session(engine: &dyn Engine, visit: &mut dyn FnMut(&mut Value)) -> Result<()> {
    let mut look = match engine.browse(&Room::Archive)? {
        Some(look) => look,
        // Nobody has archived anything, or somebody was killed in the middle of it.
        None => engine.begin(&[&Room::Archive])?,
    };
    let mut names = look.folder(&Room::Archive, "")?;
    names.retain(|name| name.starts_with("sessions-"));
    for paper in names.iter().filter_map(|name| Paper::at(&Room::Archive, name)) {
        let text = look.paper(&paper)?.unwrap_or_default();
        for mut record in text.lines().filter_map(|line| json::parse(line.as_bytes()).ok()) {
            visit(&mut record);
        }
    }
    Ok(())
}
