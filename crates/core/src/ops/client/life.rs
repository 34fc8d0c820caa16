//! Sessions come, give signs of life, and go.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{OP, Turn, document};
use crate::error::Code;
use crate::model::ids::SessionId;
use crate::model::kind::{Doc, Kind};
use crate::model::present::{self, Arrival, Legacy, Present};
use crate::model::room::Room;
use crate::model::session::{BEAT, Session, Start, Status, Whereabouts};
use crate::model::time;
use crate::ops::queue::work;
use crate::ops::sessions::handoff::{Handoff, handoff};
use crate::ops::sessions::{self, look};
use crate::ops::{Result, clean, compact, workflow};
use crate::store::engine::items;
use crate::store::{Durability, Transaction};
use crate::view::briefing;

/// How long after a session has left another one of the same client may take its place.
const FOLLOWS: SignedDuration = SignedDuration::from_secs(60);

/// How many sessions the metrics remember.
const METRICS: usize = 1000;

/// The field of a record that says that its session has gone and waits for the one that follows it.
const LEFT: &str = "left";

/// Registers the session.
pub fn start(turn: &mut Turn<'_>) -> Result<()> {
    sessions::start(turn.engine, Some(&turn.event.session), &start_of(turn), &turn.actor).map(drop)
}

fn start_of(turn: &Turn<'_>) -> Start {
    let Arrival { branch, directory, .. } = turn.arrival();
    let whereabouts = Whereabouts { directory, branch, told: true };
    Start { project: None, default_project: None, whereabouts, user: turn.world.user() }
}

/// Writes `current.json`.
pub fn enter(turn: &mut Turn<'_>) -> Result<()> {
    let (arrival, now) = (turn.arrival(), turn.actor.now());
    turn.change_present(OP, |present| {
        let record = present.enter(turn.session(), &arrival, now);
        record.as_object_mut().map(|record| record.shift_remove(LEFT));
    })
}

/// Takes over what a session of the same client has left for the one that follows it, as after `/clear`.
pub fn take_over(turn: &mut Turn<'_>) -> Result<()> {
    if !matches!(turn.event.text("source").as_deref(), Some("clear" | "resume")) {
        return Ok(());
    }
    let Some(left) = left_behind(turn)? else { return Ok(()) };
    let to = &turn.event.session;
    let context = Some("the same client goes on in a new session");
    match handoff(turn.engine, Handoff { from: &left, to, task: None, context }, &turn.actor) {
        Ok(_) => {}
        // Nothing is left to take over.
        Err(error) if matches!(error.code(), Code::Refused | Code::NotFound) => {}
        // Both have a list of todos: only what the queue has counts.
        Err(error) if error.code() == Code::Conflict => {
            for claim in look::claims(turn.engine, &left)? {
                let task = claim.id().parse().ok();
                let only = Handoff { from: &left, to, task: task.as_ref(), context };
                handoff(turn.engine, only, &turn.actor)?;
            }
        }
        Err(error) => return Err(error),
    }
    turn.follows = Some(left.clone());
    archive(turn, &left, Durability::Lazy)?;
    end_session(turn, &left)
}

/// Finds the session that has left last: that of the same client, or of any if clients do not say who they are.
fn left_behind(turn: &Turn<'_>) -> Result<Option<SessionId>> {
    let Some(document) = turn.engine.read(&document("current_session"))? else { return Ok(None) };
    let (client, now) = (turn.world.client(), turn.actor.now());
    let records = std::iter::once(&document.value)
        .chain(document.value["others"].as_array().into_iter().flatten())
        .filter(|record| record["session_id"] != turn.session());
    let left = records.filter_map(|record| {
        let at = time::read(record.get(LEFT)?.get("at")?.as_str()?)?;
        let same = record[LEFT]["client"].as_str() == client.as_deref();
        let lately = now.duration_since(at).abs() <= FOLLOWS;
        (same && lately).then_some((at, record["session_id"].as_str()?.parse().ok()?))
    });
    Ok(left.max_by_key(|(at, _)| *at).map(|(_, id)| id))
}

/// Gives up the sessions that nobody has heard of, and closes the books of those that are over, whoever ended them.
pub fn expire_others(turn: &mut Turn<'_>) -> Result<()> {
    look::expire_overdue(turn.engine, &turn.actor)?;
    let Some(document) = turn.engine.read(&document("current_session"))? else { return Ok(()) };
    let others = document.value["others"].as_array().into_iter().flatten();
    let others = others.filter_map(|record| record["session_id"].as_str()?.parse::<SessionId>().ok());
    for other in others.filter(|other| *other != turn.event.session) {
        if is_over(turn, &other)? {
            archive(turn, &other, Durability::Lazy)?;
        }
    }
    Ok(())
}

/// Takes a sign of life, also of a session that nobody knows: hooks may be new here.
pub fn beat(turn: &mut Turn<'_>) -> Result<()> {
    sign_of_life(turn, Status::Active)?;
    work::renew_session(turn.engine, &turn.event.session, &turn.actor)
}

/// The same, unless there was one just now.
pub fn beat_if_due(turn: &mut Turn<'_>) -> Result<()> {
    let written = turn.engine.written_at(&Doc::session(&turn.event.session));
    let fresh = |at: Timestamp| {
        let age = turn.actor.now().duration_since(at);
        SignedDuration::ZERO <= age && age < BEAT
    };
    if written.is_some_and(fresh) { Ok(()) } else { beat(turn) }
}

/// Notes that the session waits for its user.
pub fn rest(turn: &mut Turn<'_>) -> Result<()> {
    sign_of_life(turn, Status::Idle)?;
    work::renew_session(turn.engine, &turn.event.session, &turn.actor)
}

fn sign_of_life(turn: &Turn<'_>, status: Status) -> Result<()> {
    let id = &turn.event.session;
    match sessions::heartbeat(turn.engine, id, status, &turn.actor) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.code(), Code::NotFound | Code::Refused) => {
            sessions::start(turn.engine, Some(id), &start_of(turn), &turn.actor).map(drop)
        }
        Err(error) => Err(error),
    }
}

/// Tells the agent which tasks of the queue it has.
pub fn brief_task(turn: &mut Turn<'_>) -> Result<()> {
    let claims = look::claims(turn.engine, &turn.event.session)?;
    turn.reply.parts.extend(claims.iter().map(briefing::task));
    Ok(())
}

/// Tells the agent where workflow and loop stand, and after its context was lost what it had in hand before.
pub fn brief_state(turn: &mut Turn<'_>) -> Result<()> {
    if turn.engine.may_exist(&document("workflow")) {
        let flow = workflow::show(turn.engine)?;
        if matches!(flow.workflow["status"].as_str(), Some("active" | "failed" | "pending")) {
            turn.reply.parts.push(briefing::workflow(&flow));
        }
    }
    if turn.engine.may_exist(&document("work_queue"))
        && let Some(queue) = turn.engine.read(&document("work_queue"))?
    {
        turn.reply.parts.extend(briefing::agent_loop(&queue.value));
    }
    if matches!(turn.event.text("source").as_deref(), Some("compact" | "resume" | "clear")) {
        let ours = [Some(&turn.event.session), turn.follows.as_ref()];
        let saved = compact::newest_of(turn.engine, &ours.map(|id| id.map_or("", SessionId::as_str)))?;
        turn.reply.parts.extend(saved.as_ref().and_then(briefing::saved));
    }
    Ok(())
}

/// Saves what the agent should know after its context was shortened.
pub fn backup(turn: &mut Turn<'_>) -> Result<()> {
    let present = turn.engine.read(&document("current_session"))?.map(|document| document.value);
    let record = Present::of(present).record(turn.session()).cloned().unwrap_or_default();
    let files = record["files_modified"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let reason = match turn.event.text("trigger").as_deref() {
        Some("manual") => "manual_compaction",
        _ => "context_limit_approaching",
    };
    let new = compact::NewBackup {
        reason: reason.into(),
        context_tokens: turn.event.value("context_tokens").as_u64(),
        files: files.map(str::to_owned).collect(),
    };
    match compact::backup(turn.engine, &new, &turn.actor) {
        Err(error) if error.code() == Code::NotFound => Ok(()),
        done => done.map(drop),
    }
}

/// Whether the session leaves its work to the one that follows it in the same client.
fn is_followed(turn: &Turn<'_>) -> bool {
    matches!(turn.event.text("reason").as_deref(), Some("clear" | "resume"))
}

/// Closes the session's books in the project.
pub fn leave(turn: &mut Turn<'_>) -> Result<()> {
    if is_followed(turn) {
        let now = turn.actor.now();
        let left = json!({"at": time::stamp(now), "client": turn.world.client()});
        return turn.change_present(OP, |present| {
            present.at_work(turn.session(), || turn.arrival(), now)[LEFT] = left;
        });
    }
    archive(turn, &turn.event.session, Durability::Synced)
}

/// Ends the session: what it has goes back. One that is followed keeps its work, until that of the other one begins or it
/// counts as gone.
pub fn end(turn: &mut Turn<'_>) -> Result<()> {
    if is_followed(turn) && !look::claims(turn.engine, &turn.event.session)?.is_empty() {
        return match sessions::heartbeat(turn.engine, &turn.event.session, Status::Idle, &turn.actor) {
            Err(error) if matches!(error.code(), Code::NotFound | Code::Refused) => Ok(()),
            done => done.map(drop),
        };
    }
    end_session(turn, &turn.event.session)
}

fn end_session(turn: &Turn<'_>, session: &SessionId) -> Result<()> {
    match sessions::end(turn.engine, session, &turn.actor) {
        Err(error) if error.code() == Code::NotFound => Ok(()),
        done => done.map(drop),
    }
}

/// Moves what a session did to the metrics, and cleans up what it leaves in the project: one commit.
fn archive(turn: &Turn<'_>, session: &SessionId, durability: Durability) -> Result<()> {
    if !turn.engine.may_exist(&document("current_session"))
        && !turn.engine.may_exist(&document("active_agents"))
    {
        return Ok(());
    }
    let mut transaction = turn.engine.begin(&[&Room::State])?;
    let mut record = None;
    let mut last = true;
    turn.change_present_in(&mut *transaction, |present| {
        record = present.leave(session.as_str());
        last = present.is_empty();
    })?;
    let legacy = clear(turn, &mut *transaction, session, last)?;
    if let Some(record) = record {
        remember(&mut *transaction, present::metrics(&record, &legacy, turn.actor.now()), turn.actor.now())?;
    }
    turn.commit(transaction, "session metrics", durability)
}

fn remember(transaction: &mut dyn Transaction, entry: Value, now: Timestamp) -> Result<()> {
    let doc = document("metrics");
    let mut metrics = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(now));
    if let Some(sessions) = metrics.get_mut("sessions").and_then(Value::as_array_mut) {
        sessions.push(entry);
        sessions.drain(..sessions.len().saturating_sub(METRICS));
    }
    Ok(transaction.put(&doc, metrics)?)
}

/// Removes the agents, results and errors of a session; with the last one, all of them. Returns what they add up to.
fn clear(
    turn: &Turn<'_>,
    transaction: &mut dyn Transaction,
    session: &SessionId,
    last: bool,
) -> Result<Legacy> {
    let mut legacy = Legacy::default();
    let ours = |value: &Value| last || value["session_id"] == session.as_str();
    let result = Kind::find("agent_result").expect("a kind of the registry");
    for doc in turn.engine.documents(&Room::State)?.into_iter().filter(|doc| doc.kind == result) {
        let Some(value) = transaction.get(&doc)? else { continue };
        if !ours(value) {
            continue;
        }
        match value["status"].as_str() {
            Some("failed") => legacy.agents_failed += 1,
            _ => legacy.agents_completed += 1,
        }
        legacy.issues_found += items(doc.kind, value).len() as u64;
        transaction.delete(&doc)?;
    }
    let agents = document("active_agents");
    if let Some(mut value) = transaction.get(&agents)?.cloned() {
        if let Some(list) = value["agents"].as_array_mut() {
            list.retain(|agent| !ours(agent));
        }
        if last {
            value["total_spawned"] = 0.into();
            value["total_completed"] = 0.into();
        }
        if transaction.get(&agents)? != Some(&value) {
            transaction.put(&agents, value)?;
        }
    }
    legacy.errors_escalated = super::failures::forget(transaction, session, last)?;
    let queue = document("work_queue");
    if let Some(value) = transaction.get(&queue)? {
        let done = |item: &&Value| item["status"] == "done";
        legacy.issues_fixed = items(queue.kind, value).into_iter().filter(done).count() as u64;
    }
    clean::old_backups(turn.engine, transaction)?;
    Ok(legacy)
}

/// Whether a session is over, and may not change files any more.
pub fn is_over(turn: &Turn<'_>, session: &SessionId) -> Result<bool> {
    let state = turn.engine.read(&Doc::session(session))?;
    Ok(state.is_some_and(|state| Session::of(state.value).is_over()))
}
