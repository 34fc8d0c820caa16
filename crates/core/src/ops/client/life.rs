//! Sessions come, give signs of life, and go.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::agents;
use super::turn::{OP, Turn, document};
use crate::error::Code;
use crate::model::current_session::{self, Arrival, CurrentSessions, Legacy};
use crate::model::documents::agent_loop::{
    ActiveAgent, ActiveAgents, CurrentSession, Leave, Metrics, WorkItem, WorkQueue,
};
use crate::model::documents::workflow::Workflow;
use crate::model::finished;
use crate::model::ids::SessionId;
use crate::model::key::{Fields, FieldsMut, Key};
use crate::model::kind::{Doc, Kind};
use crate::model::raw::Raw;
use crate::model::room::Room;
use crate::model::session::{self, BEAT, Session, Start, Status, Whereabouts};
use crate::model::{time, transcript};
use crate::ops::agent_loop::hold;
use crate::ops::queue::{brief, work};
use crate::ops::sessions::handoff::{Handoff, handoff};
use crate::ops::sessions::{self, look};
use crate::ops::surplus::What;
use crate::ops::workflow::{self, hands};
use crate::ops::{Error, Result, compact, readable};
use crate::store::{Durability, Transaction};
use crate::view::brief::Brief;
use crate::view::briefing;

/// How long after a session has left another one of the same client may take its place.
const FOLLOWS: SignedDuration = SignedDuration::from_secs(60);

/// How many results of agents leave with a session at once; the others follow.
const RESULTS: usize = 8;

/// The field of a record that says that its session has gone and waits for the one that follows it.
const LEFT: Key<Option<Leave>> = CurrentSession::left;

/// Registers the session.
pub fn start(turn: &mut Turn<'_>) -> Result<()> {
    sessions::start(turn.engine, Some(&turn.event.session), &start_of(turn), &turn.actor).map(drop)
}

fn start_of(turn: &Turn<'_>) -> Start {
    let Arrival { branch, directory, .. } = turn.arrival();
    let whereabouts = Whereabouts { directory, branch, told: true };
    let default_project = turn.world.project().map(|project| project.to_string());
    Start { project: None, default_project, whereabouts, user: turn.world.user(), sparing: true }
}

/// Writes `current.json`.
pub fn enter(turn: &mut Turn<'_>) -> Result<()> {
    let (arrival, now) = (turn.arrival(), turn.actor.now());
    turn.change_present(OP, |present| {
        let record = present.enter(turn.session(), &arrival, now);
        record.unset(LEFT);
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
    let all = Handoff { from: &left, to, task: None, context, same_agent: true };
    match handoff(turn.engine, all, &turn.actor) {
        Ok(_) => {}
        // Nothing is left to take over.
        Err(error) if matches!(error.code(), Code::Refused | Code::NotFound) => {}
        // Both have a list of todos: only what the queue has counts.
        Err(error) if error.code() == Code::Conflict => {
            for claim in look::claims(turn.engine, &left)? {
                let task = claim.id().parse().ok();
                let only = Handoff { task: task.as_ref(), ..all };
                handoff(turn.engine, only, &turn.actor)?;
            }
        }
        Err(error) => return Err(error),
    }
    turn.follows = Some(left.clone());
    hands::pass_on(turn.engine, &left, to, &turn.actor)?;
    archive(turn, &left, Durability::Lazy)?;
    end_session(turn, &left)
}

/// Finds the session that has left last: that of the same client, or of any if clients do not say who they are.
fn left_behind(turn: &Turn<'_>) -> Result<Option<SessionId>> {
    let Some(document) = turn.engine.read(&document("current_session"))? else { return Ok(None) };
    let (client, now) = (turn.world.client(), turn.actor.now());
    let records = std::iter::once(&document.value)
        .chain(document.value.list(CurrentSession::others).iter())
        .filter(|record| record[CurrentSession::session_id] != turn.session());
    let left = records.filter_map(|record| {
        let at = time::read(record.at(LEFT).text(Leave::at)?)?;
        let same = record.at(LEFT).text(Leave::client) == client.as_deref();
        let lately = now.duration_since(at).abs() <= FOLLOWS;
        (same && lately).then_some((at, record.text(CurrentSession::session_id)?.parse().ok()?))
    });
    Ok(left.max_by_key(|(at, _)| *at).map(|(_, id)| id))
}

/// Gives up the sessions that nobody has heard of, and closes the books of those that are over, whoever ended them.
pub fn expire_others(turn: &mut Turn<'_>) -> Result<()> {
    look::expire_overdue(turn.engine, &turn.actor)?;
    let Some(document) = turn.engine.read(&document("current_session"))? else { return Ok(()) };
    let others = document.value.list(CurrentSession::others).iter();
    let others =
        others.filter_map(|record| record.text(CurrentSession::session_id)?.parse::<SessionId>().ok());
    for other in others.filter(|other| *other != turn.event.session) {
        if is_over(turn, &other)? {
            archive(turn, &other, Durability::Lazy)?;
        }
    }
    Ok(())
}

/// Takes a sign of life, also of a session that nobody knows: hooks may be new here.
pub fn beat(turn: &mut Turn<'_>) -> Result<()> {
    live_on(turn, Status::Active, heard_at(turn))
}

/// The same, unless there was one just now.
pub fn beat_if_due(turn: &mut Turn<'_>) -> Result<()> {
    let heard = heard_at(turn);
    let fresh = |at: Timestamp| {
        let age = turn.actor.now().duration_since(at);
        SignedDuration::ZERO <= age && age < BEAT
    };
    if heard.is_some_and(fresh) { Ok(()) } else { live_on(turn, Status::Active, heard) }
}

/// Notes that the session waits for its user.
pub fn rest(turn: &mut Turn<'_>) -> Result<()> {
    live_on(turn, Status::Idle, heard_at(turn))
}

/// Returns when the session was heard of last, by one quick look.
fn heard_at(turn: &Turn<'_>) -> Option<Timestamp> {
    turn.engine.written_at(&Doc::session(&turn.event.session))
}

/// Notes a sign of life, and renews what the session has. The loop is looked at once a minute: its leases are longer.
fn live_on(turn: &Turn<'_>, status: Status, heard: Option<Timestamp>) -> Result<()> {
    sign_of_life(turn, status)?;
    work::renew_session(turn.engine, &turn.event.session, &turn.actor)?;
    let minute = |at: Timestamp| at.as_second().div_euclid(60);
    match heard.map(minute) == Some(minute(turn.actor.now())) {
        true => Ok(()),
        false => hold::renew_session(turn.engine, &turn.event.session, &turn.actor),
    }
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

/// Tells the agent who it is, if its commands do not know, and which tasks of the queue it has.
pub fn brief_task(turn: &mut Turn<'_>) -> Result<()> {
    if turn.world.hides_session() {
        turn.reply.parts.push(briefing::session(&turn.event.session, turn.actor.door));
    }
    let claims = look::claims(turn.engine, &turn.event.session);
    for claim in turn.pass_over(claims)? {
        let brief = brief::brief(turn.engine, claim.id()).unwrap_or_else(|_| Brief::bare(claim));
        turn.reply.parts.extend(briefing::task(&brief, turn.actor.door));
    }
    // A runner has told its task in the prompt, which goes with the context.
    let charge = turn.world.charge().filter(|_| has_lost_context(turn));
    if let Some(charge) = charge
        && let Ok(brief) = brief::brief(turn.engine, &charge.task)
        && charge.holds(&brief.task)
        && !Session::has(&turn.event.session, &brief.task)
    {
        turn.reply.parts.extend(briefing::task(&brief, turn.actor.door));
    }
    Ok(())
}

/// Whether the agent may not remember what it was told.
fn has_lost_context(turn: &Turn<'_>) -> bool {
    matches!(turn.event.text("source").as_deref(), Some("compact" | "resume" | "clear"))
}

/// Tells an agent that goes on after its session had ended what went back to the queue meanwhile.
pub fn brief_returned(turn: &mut Turn<'_>) -> Result<()> {
    if turn.event.text("source").as_deref() != Some("resume") {
        return Ok(());
    }
    let events = Kind::find("events").expect("events is a kind");
    let log = turn.engine.read(&Doc::of_session(events, turn.event.session.clone()))?;
    let returned = log.as_ref().map(|log| session::returned(&log.value)).unwrap_or_default();
    for task in brief::tasks(turn.engine, &returned)? {
        if !Session::has(&turn.event.session, &task) {
            turn.reply.parts.push(briefing::returned(&task, turn.actor.door));
        }
    }
    Ok(())
}

/// Tells the agent where workflow and loop stand, and after its context was lost what it had in hand before.
pub fn brief_state(turn: &mut Turn<'_>) -> Result<()> {
    let flow = workflow::find(turn.engine);
    if let Some(flow) = turn.pass_over(flow)?
        && matches!(flow.workflow.text(Workflow::status), Some("active" | "failed" | "pending"))
    {
        let ownership = hands::ownership(turn.engine, &flow, &turn.actor)?;
        turn.reply.parts.push(briefing::workflow(&flow, &ownership, turn.actor.door));
    }
    brief_loop(turn)?;
    if has_lost_context(turn) {
        let ours = [Some(&turn.event.session), turn.follows.as_ref()];
        let saved = compact::newest_of(turn.engine, &ours.map(|id| id.map_or("", SessionId::as_str)))?;
        turn.reply.parts.extend(saved.as_ref().and_then(|backup| briefing::saved(backup, turn.actor.door)));
    }
    Ok(())
}

fn brief_loop(turn: &mut Turn<'_>) -> Result<()> {
    let doc = document("work_queue");
    if turn.engine.is_absent(&doc) {
        return Ok(());
    }
    let (mut told, mut more) = (BTreeMap::<String, usize>::new(), 0);
    let mut is_told = |item: &Raw| {
        if !matches!(item.string(WorkItem::status.name()).as_deref(), Some("pending" | "in_progress")) {
            return false;
        }
        let told =
            told.entry(item.string(WorkItem::priority.name()).unwrap_or_default().into_owned()).or_default();
        *told += 1;
        more += usize::from(*told > briefing::ITEMS);
        *told <= briefing::ITEMS
    };
    let queue = turn.engine.read_some(&doc, &mut is_told).map_err(Error::from);
    if let Some(queue) = turn.pass_over(queue)? {
        let open = queue.value.list(WorkQueue::items);
        turn.reply.parts.extend(briefing::agent_loop(&queue.value, open, more, turn.actor.door));
    }
    Ok(())
}

/// Saves what the agent should know after its context was shortened.
pub fn backup(turn: &mut Turn<'_>) -> Result<()> {
    let present = turn.engine.read(&document("current_session")).map_err(Error::from);
    let present = turn.pass_over(present)?.map(|document| document.value);
    let record = CurrentSessions::of(present).record(turn.session()).cloned().unwrap_or_default();
    let files = record.texts(CurrentSession::files_modified);
    let reason = match turn.event.text("trigger").as_deref() {
        Some("manual") => "manual_compaction",
        _ => "context_limit_approaching",
    };
    let new = compact::NewBackup {
        reason: reason.into(),
        context_tokens: turn.event.value("context_tokens").as_u64().or_else(|| context_tokens(turn)),
        files: files.map(str::to_owned).collect(),
    };
    match compact::backup(turn.engine, &new, &turn.actor) {
        Err(error) if error.code() == Code::NotFound => Ok(()),
        done => done.map(drop),
    }
}

/// Returns how much was in the context at the agent's last answer, by the client's own record of the session.
fn context_tokens(turn: &Turn<'_>) -> Option<u64> {
    let path = turn.event.text("transcript_path")?;
    transcript::context_tokens(&turn.world.tail(&path, TRANSCRIPT)?)
}

/// How much of that record is read, from its end.
const TRANSCRIPT: u64 = 1 << 20;

/// Whether the session leaves its work to the one that follows it in the same client.
fn is_followed(turn: &Turn<'_>) -> bool {
    matches!(turn.event.text("reason").as_deref(), Some("clear" | "resume"))
}

/// Closes the session's books in the project.
pub fn leave(turn: &mut Turn<'_>) -> Result<()> {
    if is_followed(turn) {
        let now = turn.actor.now();
        let left = json!({Leave::at: time::stamp(now), Leave::client: turn.world.client()});
        return turn.change_present(OP, |present| {
            present.at_work(turn.session(), || turn.arrival(), now)[LEFT] = left;
        });
    }
    archive(turn, &turn.event.session, Durability::Synced)
}

/// Ends the session: what it has goes back. One that is followed keeps its work, until that of the other one begins or it
/// counts as gone.
pub fn end(turn: &mut Turn<'_>) -> Result<()> {
    if is_followed(turn) && has_work(turn)? {
        return match sessions::heartbeat(turn.engine, &turn.event.session, Status::Idle, &turn.actor) {
            Err(error) if matches!(error.code(), Code::NotFound | Code::Refused) => Ok(()),
            done => done.map(drop),
        };
    }
    end_session(turn, &turn.event.session)
}

fn has_work(turn: &Turn<'_>) -> Result<bool> {
    let session = &turn.event.session;
    Ok(!look::claims(turn.engine, session)?.is_empty() || hold::has_item(turn.engine, session)?)
}

fn end_session(turn: &Turn<'_>, session: &SessionId) -> Result<()> {
    match sessions::end(turn.engine, session, &turn.actor) {
        Err(error) if error.code() == Code::NotFound => Ok(()),
        done => done.map(drop),
    }
}

/// Moves what a session did to the metrics, and cleans up what it leaves in the project: one commit.
fn archive(turn: &Turn<'_>, session: &SessionId, durability: Durability) -> Result<()> {
    if turn.engine.is_absent(&document("current_session"))
        && turn.engine.is_absent(&document("active_agents"))
    {
        return Ok(());
    }
    let mut transaction = turn.engine.begin(&[&Room::State])?;
    let mut record = None;
    // Who else is here cannot be told from a record that is damaged: what is theirs stays.
    let mut last = false;
    let left = turn.change_present_in(&mut *transaction, |present| {
        record = present.leave(session.as_str());
        last = present.is_empty();
    });
    if let Err(error) = &left
        && error.code() != Code::Damaged
    {
        return left;
    }
    let legacy = clear(turn, &mut *transaction, session, last)?;
    if let Some(record) = record {
        remember(turn, &mut *transaction, current_session::metrics(&record, &legacy, turn.actor.now()))?;
    }
    turn.commit(transaction, "session metrics", durability)?;
    left
}

fn remember(turn: &Turn<'_>, transaction: &mut dyn Transaction, entry: Value) -> Result<()> {
    let (doc, now) = (document("metrics"), turn.actor.now());
    // One that is damaged is mended by `doctor`, and costs only its own entry.
    if transaction.get(&doc).is_err_and(|error| error.code() == Code::Damaged) {
        return Ok(());
    }
    let mut metrics = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(now));
    if let Some(sessions) = metrics.list_mut(Metrics::sessions) {
        sessions.push(entry);
        let surplus = What::Metrics.surplus(turn.engine, sessions.len())?;
        let left: Vec<Value> = sessions.drain(..surplus).collect();
        What::Metrics.put(transaction, &left, now)?;
    }
    Ok(transaction.put(&doc, metrics)?)
}

/// Puts away the agents, results and errors of a session; with the last one, all of them. Returns what they add up to.
fn clear(
    turn: &Turn<'_>,
    transaction: &mut dyn Transaction,
    session: &SessionId,
    last: bool,
) -> Result<Legacy> {
    let (doc, now) = (document("active_agents"), turn.actor.now());
    let found = readable(transaction, &doc)?;
    let mut agents = match &found {
        Some(found) => found.clone(),
        None if matches!(transaction.exists(&doc), Ok(false)) => Value::Null,
        // One that is damaged does not know its results.
        None => json!({ActiveAgents::total_completed: 1}),
    };
    agents::know_results(transaction, &mut agents)?;
    let whose = (!last).then_some(session.as_str());
    let mut legacy = finished::close(&mut agents, whose);
    agents::put_away(transaction, &finished::take(&mut agents, whose, RESULTS), now)?;
    if let Some(list) = agents.list_mut(ActiveAgents::agents) {
        list.retain(|agent| !last && agent[ActiveAgent::session_id] != session.as_str());
    }
    if last && found.is_some() {
        finished::begin_anew(&mut agents);
    }
    if found.as_ref().is_some_and(|found| *found != agents) {
        transaction.put(&doc, agents)?;
    }
    legacy.errors_escalated = super::failures::put_away(transaction, session, last, now)?;
    hands::give_back(transaction, session, now)?;
    Ok(legacy)
}

/// Whether a session is over, and may not change files any more.
pub fn is_over(turn: &Turn<'_>, session: &SessionId) -> Result<bool> {
    let state = turn.engine.read(&Doc::session(session))?;
    Ok(state.is_some_and(|state| Session::of(state.value).is_over()))
}
