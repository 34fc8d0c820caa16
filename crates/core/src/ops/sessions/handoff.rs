//! One session gives its work to another: tasks of its own list, claims in the queue, items of the loop, and what it was at. All of it
//! changes hands in one commit, and the old owner of a claim is fenced off by the new lease.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Changed, Seat, changed, document, entry, has_ended, known, note, room, state_of, unknown};
use crate::hint;
use crate::model::documents::queue::QueueTask;
use crate::model::documents::state::{EventData, Features, HandoffPayload, SessionTask, Tasks};
use crate::model::ids::{Key, SessionId};
use crate::model::json::check_input;
use crate::model::key::{Fields, FieldsMut};
use crate::model::message::{Letter, Sender};
use crate::model::next::{Next, See};
use crate::model::redact::redact;
use crate::model::room::Room;
use crate::model::session::{Session, Status, is_open};
use crate::model::task::{Effect, Task};
use crate::model::time;
use crate::ops::agent_loop::hold;
use crate::ops::queue::QueueTransaction;
use crate::ops::settings::Settings;
use crate::ops::{Actor, Error, Result, messages};
use crate::store::{Engine, Transaction};

/// Who gives what to whom.
#[derive(Debug, Clone, Copy)]
pub struct Handoff<'a> {
    pub from: &'a SessionId,
    pub to: &'a SessionId,
    /// Only this task, of the session's own list or of the queue.
    pub task: Option<&'a Key>,
    /// What the other session should know.
    pub context: Option<&'a str>,
    /// Whether it is the same agent that goes on: then its workers keep their names.
    pub same_agent: bool,
}

/// What changed hands.
#[derive(Debug)]
pub struct HandedOver {
    /// The session that has it now.
    pub to: Changed,
    /// Ids of all tasks, each once.
    pub tasks: Vec<String>,
}

pub fn handoff(engine: &dyn Engine, handoff: Handoff<'_>, actor: &Actor) -> Result<HandedOver> {
    check(handoff)?;
    let context = handoff.context.map(redact);
    let handoff = Handoff { context: context.as_deref(), ..handoff };
    let Handoff { from, to, context, .. } = handoff;
    let messages = Settings::read(engine)?.is_on(Features::enable_message_passing);
    let mailboxes = [Room::Mailbox(from.clone()), Room::Mailbox(to.clone())];
    let rooms = [&room(from), &room(to), &mailboxes[0], &mailboxes[1]];
    let mut seat = Seat::take(engine, &rooms, from, actor)?;
    let now = seat.tx.now.at;
    let giver = known(&mut *seat.tx.transaction, from)?;
    let mut taker = open(&mut *seat.tx.transaction, to)?;

    let mut tasks = move_own(&mut *seat.tx.transaction, handoff, now)?;
    for id in move_claims(&mut seat, handoff)?.into_iter().chain(move_items(&mut seat, handoff)?) {
        if !tasks.contains(&id) {
            tasks.push(id);
        }
    }
    if tasks.is_empty() {
        return Err(nothing(&mut seat, handoff)?);
    }
    taker.take_over(from, &giver, context, &tasks, now);
    let QueueTransaction { mut transaction, .. } = seat.tx;
    transaction.put(&state_of(to), taker.into_value())?;
    note(&mut *transaction, from, "handoff", &told(("to", to), &tasks, context), now)?;
    note(&mut *transaction, to, "handoff", &told(("from", from), &tasks, context), now)?;
    if messages {
        notify(&mut *transaction, handoff, &tasks, actor, now)?;
    }
    let committed = transaction.commit(&entry(actor, from, "session handoff", now))?;
    Ok(HandedOver { to: changed(to, committed, Effect::Changed, Vec::new()), tasks })
}

/// Sends the other session the message `task_handoff`. Both mailboxes are part of the transaction.
fn notify(
    transaction: &mut dyn Transaction,
    handoff: Handoff<'_>,
    tasks: &[String],
    actor: &Actor,
    now: Timestamp,
) -> Result<()> {
    let mut payload = match tasks {
        [only] => json!({HandoffPayload::task_id: only}),
        several => json!({HandoffPayload::task_ids: several}),
    };
    payload.set(HandoffPayload::from, handoff.from.as_str());
    if let Some(context) = handoff.context {
        payload.set(HandoffPayload::context, context);
    }
    let letter = Letter {
        from: handoff.from.clone(),
        to: handoff.to.clone(),
        kind: "task_handoff".into(),
        payload,
        priority: "high",
        ttl: None,
        id: None,
        in_reply_to: None,
        sender: Sender { session: actor.speaker().cloned(), role: None, is_person: actor.session.is_none() },
    };
    letter.check().map_err(Error::Input)?;
    messages::post(transaction, &letter, now).map(drop)
}

fn check(handoff: Handoff<'_>) -> Result<()> {
    if handoff.from == handoff.to {
        return Err(Error::Input(format!("`{}` cannot hand over to itself", handoff.from)));
    }
    match handoff.context {
        Some(context) => check_input(&context.into()).map_err(Error::Input),
        None => Ok(()),
    }
}

/// Returns the session that takes over, which must be at work.
fn open(transaction: &mut dyn Transaction, to: &SessionId) -> Result<Session> {
    let state = transaction.get(&state_of(to))?.cloned();
    let session = state.map(Session::of).ok_or_else(|| unknown(to))?;
    match session.status() {
        Status::Ended => Err(has_ended(to)),
        Status::Expired => Err(Error::refused(
            format!("session `{to}` has expired: nobody has heard of it for too long"),
            hint!["let it give a sign of life first: ", Next::SignOfLife(to.to_string())],
        )),
        Status::Active | Status::Idle => Ok(session),
    }
}

/// Moves open tasks from one session's own list to the other's.
fn move_own(transaction: &mut dyn Transaction, handoff: Handoff<'_>, now: Timestamp) -> Result<Vec<String>> {
    let (ours, theirs) = (document("tasks", handoff.from), document("tasks", handoff.to));
    let Some(mut from) = transaction.get(&ours)?.cloned() else { return Ok(Vec::new()) };
    let mut to = transaction.get(&theirs)?.cloned().unwrap_or_else(|| theirs.default(now));
    let (Some(from_tasks), Some(to_tasks)) = (tasks_of(&mut from), tasks_of(&mut to)) else {
        return Ok(Vec::new());
    };
    let mut moved = Vec::new();
    for mut task in std::mem::take(from_tasks) {
        let id = id_of(&task).to_owned();
        if !is_open(&task) || handoff.task.is_some_and(|only| only.as_str() != id) {
            from_tasks.push(task);
            continue;
        }
        if to_tasks.iter().any(|known| id_of(known) == id) {
            return Err(Error::clash(
                format!("session `{}` has another task `{id}` already", handoff.to),
                hint![
                    "nothing was changed; hand the others over one by one: ",
                    Next::HandOver { from: handoff.from.to_string(), to: handoff.to.to_string() },
                ],
            ));
        }
        task.set(SessionTask::updated_at, time::stamp(now));
        to_tasks.push(task);
        moved.push(id);
    }
    if !moved.is_empty() {
        transaction.put(&ours, from)?;
        transaction.put(&theirs, to)?;
    }
    Ok(moved)
}

fn tasks_of(document: &mut Value) -> Option<&mut Vec<Value>> {
    document.list_mut(Tasks::tasks)
}

fn id_of(task: &Value) -> &str {
    task.text(QueueTask::id).unwrap_or_default()
}

/// Moves claims in the queue.
fn move_claims(seat: &mut Seat<'_>, handoff: Handoff<'_>) -> Result<Vec<String>> {
    let mut moved = Vec::new();
    let wanted = |task: &Task| handoff.task.is_none_or(|only| only.as_str() == task.id());
    for mut task in seat.claims(handoff.from)?.into_iter().filter(wanted) {
        let (owner, to) = (task.owner().unwrap_or_default().to_owned(), handoff.to);
        let keeps_name = handoff.same_agent && owner != handoff.from.as_str();
        let worker = if keeps_name { owner.clone() } else { to.to_string() };
        task.hand_over(&worker, to.as_str(), &seat.tx.now)?;
        let (id, epoch) = (task.id().to_owned(), task.epoch());
        seat.tx.put(task)?;
        seat.tx.log(&owner, "HANDED OVER", &format!("{id} to {to} (lease {epoch})"))?;
        seat.tx.log(&worker, "TOOK OVER", &format!("{id} from {owner} (lease {epoch})"))?;
        moved.push(id);
    }
    Ok(moved)
}

/// Moves items of the loop.
fn move_items(seat: &mut Seat<'_>, handoff: Handoff<'_>) -> Result<Vec<String>> {
    if !seat.has_item {
        return Ok(Vec::new());
    }
    let QueueTransaction { transaction, now, .. } = &mut seat.tx;
    hold::hand_over(&mut **transaction, (handoff.from, handoff.to), handoff.task.map(Key::as_str), now)
}

/// Says why there is nothing to hand over.
fn nothing(seat: &mut Seat<'_>, handoff: Handoff<'_>) -> Result<Error> {
    let Handoff { from, to, task, .. } = handoff;
    let hint = hint!["see what it has: ", See::Session(from.to_string())];
    let Some(id) = task else {
        return Ok(Error::refused(format!("session `{from}` has no open task and no claim"), hint));
    };
    for session in [from, to] {
        let own = seat.tx.transaction.item(&document("tasks", session), id.as_str())?;
        if let Some(task) = own {
            let status = task.text(QueueTask::status).unwrap_or("pending");
            let message =
                format!("`{from}` cannot hand over `{id}`: it is {status}, in the list of `{session}`");
            return Ok(Error::refused(message, hint));
        }
    }
    let queued = match seat.has_queue {
        true => seat.tx.transaction.item(&seat.tx.queue, id.as_str())?.map(Task::of),
        false => None,
    };
    let Some(task) = queued else { return Ok(Error::missing(format!("there is no task `{id}`"), hint)) };
    let owner = task.owner().map_or("nobody".into(), |owner| format!("`{owner}`"));
    Ok(Error::refused(format!("`{from}` cannot hand over `{id}`: {owner} has it"), hint))
}

fn told(other: (&str, &SessionId), tasks: &[String], context: Option<&str>) -> Value {
    let mut data = Map::new();
    data.insert(other.0.into(), other.1.as_str().into());
    data.set(EventData::tasks, json!(tasks));
    if let Some(context) = context {
        data.set(EventData::context, context);
    }
    data.into()
}
