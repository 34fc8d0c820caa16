//! Sessions: who is at work, where, and since when nothing was heard of them.
//!
//! Here: start, heartbeat, end. [`look`]: list and show, which also give up the sessions that nobody has heard of.
//! [`handoff`]: one session gives its work to another. What a session has in the queue and the loop of this project
//! changes hands in the same commit as the session itself.

pub mod handoff;
pub mod look;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::hint;
use crate::model::documents::common::Stamps;
use crate::model::documents::state::EventData;
use crate::model::hint::Hint;
use crate::model::ids::{self, SessionId};
use crate::model::json::check_input;
use crate::model::key::FieldsMut;
use crate::model::kind::{Doc, Kind};
use crate::model::next::{Next, See};
use crate::model::room::Room;
use crate::model::session::{self, Session, Start, Status, Whereabouts};
use crate::model::task::{Effect, Task};
use crate::ops::agent_loop::hold;
use crate::ops::queue::QueueTransaction;
use crate::ops::settings::Settings;
use crate::ops::{Actor, Error, Result, archive, readable};
use crate::store::{Committed, Durability, Engine, Entry, Expected, Transaction};

/// The documents that every session has beside its state.
const COMPANIONS: [&str; 4] = ["messages", "events", "hooks", "tasks"];

/// A session after a change.
#[derive(Debug)]
pub struct Changed {
    pub id: SessionId,
    /// Its state, as it is stored.
    pub session: Session,
    /// Whether it was so already.
    pub repeated: bool,
    /// The tasks of the queue and the items of the loop that went back.
    pub released: Vec<String>,
    pub warnings: Vec<Hint>,
}

/// Starts a session under this id, or under a new one. A session that is there starts again.
pub fn start(engine: &dyn Engine, id: Option<&SessionId>, start: &Start, actor: &Actor) -> Result<Changed> {
    let Whereabouts { directory, branch, .. } = &start.whereabouts;
    check_input(&json!([directory, branch])).map_err(Error::Input)?;
    let settings = Settings::read(engine)?;
    let mut start = start.clone();
    if start.default_project.is_none() {
        start.default_project = settings.default_project().map(str::to_owned);
    }
    if let Some(id) = id {
        return start_in(id, engine.begin(&[&room(id)])?, &start, actor);
    }
    let seed = format!("{} {:?}", start.user, start.whereabouts.directory);
    loop {
        let free = &mut |id: &str| Ok::<_, Error>(engine.read(&state_of(&parsed(id)))?.is_none());
        let id = parsed(&ids::new("session", actor.now(), &seed, free)?);
        let mut transaction = engine.begin(&[&room(&id)])?;
        // Somebody may have taken it before the lock.
        if transaction.get(&state_of(&id))?.is_none() {
            return start_in(&id, transaction, &start, actor);
        }
    }
}

fn parsed(id: &str) -> SessionId {
    id.parse().expect("what we make is an id")
}

fn start_in(
    id: &SessionId,
    mut transaction: Box<dyn Transaction + '_>,
    start: &Start,
    actor: &Actor,
) -> Result<Changed> {
    let (now, doc) = (actor.now(), state_of(id));
    let (session, effect) = match transaction.get(&doc)? {
        None => (Session::new(id, start, now), Effect::Changed),
        Some(known) => {
            let mut session = Session::of(known.clone());
            let effect = session.restart(start, now);
            (session, effect)
        }
    };
    let data =
        json!({EventData::project_id: session.project(), EventData::working_directory: session.directory()});
    transaction.put(&doc, session.into_value())?;
    for kind in COMPANIONS.into_iter().filter(|kind| !start.sparing || *kind == "events") {
        let companion = document(kind, id);
        if !transaction.exists(&companion)? {
            transaction.put(&companion, companion.default(now))?;
        }
    }
    if effect == Effect::Changed {
        note(&mut *transaction, id, "start", &data, now)?;
    }
    let committed = transaction.commit(&entry(actor, id, "session start", now))?;
    Ok(changed(id, committed, effect, Vec::new()))
}

/// Takes a session's sign of life. Atomic but not synced: a lost heartbeat repairs itself.
pub fn heartbeat(engine: &dyn Engine, id: &SessionId, status: Status, actor: &Actor) -> Result<Changed> {
    let mut transaction = engine.begin_expecting(&[&room(id)], &[Expected::Document(&state_of(id))])?;
    let now = transaction.now(&*actor.clock)?.at;
    let mut session = known(&mut *transaction, id)?;
    if !session.beat(status, now) {
        return Err(has_ended(id));
    }
    transaction.put(&state_of(id), session.into_value())?;
    let entry = Entry { durability: Durability::Lazy, ..entry(actor, id, "session heartbeat", now) };
    Ok(changed(id, transaction.commit(&entry)?, Effect::Changed, Vec::new()))
}

/// Notes something of a session that is known. Atomic but not synced, as the hooks are that see it.
pub fn note_in(
    engine: &dyn Engine,
    id: &SessionId,
    actor: &Actor,
    note: impl FnOnce(&mut Session, Timestamp),
) -> Result<()> {
    if engine.is_absent(&state_of(id)) {
        return Ok(());
    }
    let mut transaction = engine.begin(&[&room(id)])?;
    let Some(known) = transaction.get(&state_of(id))?.cloned() else { return Ok(()) };
    let mut session = Session::of(known.clone());
    note(&mut session, actor.now());
    if *session.value() == known {
        return Ok(());
    }
    transaction.put(&state_of(id), session.into_value())?;
    let entry = Entry { durability: Durability::Lazy, ..entry(actor, id, "session agents", actor.now()) };
    transaction.commit(&entry).map(drop).map_err(Error::from)
}

/// Ends a session: its agents are released, and what it has in the queue goes back for others.
pub fn end(engine: &dyn Engine, id: &SessionId, actor: &Actor) -> Result<Changed> {
    let mut seat = Seat::take(engine, &[&room(id)], id, actor)?;
    let mut session = known(&mut *seat.tx.transaction, id)?;
    let effect = session.end(seat.tx.now.at);
    // Also once more: somebody may have claimed in its name since.
    let released = seat.release(id, "session ended")?;
    if effect == Effect::Repeated && released.is_empty() {
        return Ok(Changed { id: id.clone(), session, repeated: true, released, warnings: Vec::new() });
    }
    let changed = seat.close(id, session, "end", released, actor)?;
    if let Ok(settings) = Settings::read(engine) {
        archive::in_passing(engine, &settings, actor);
    }
    Ok(changed)
}

/// Ends a session that nobody has heard of for too long; `None` if it has given a sign of life, or is over anyway.
fn expire(
    engine: &dyn Engine,
    id: &SessionId,
    settings: &Settings,
    actor: &Actor,
) -> Result<Option<Changed>> {
    let mut seat = Seat::take(engine, &[&room(id)], id, actor)?;
    let mut session = known(&mut *seat.tx.transaction, id)?;
    let now = seat.tx.now.at;
    if !session.is_overdue(settings.session_timeout(), now) {
        return Ok(None);
    }
    session.expire(now);
    let released = seat.release(id, "session expired")?;
    seat.close(id, session, "expired", released, actor).map(Some)
}

/// Rooms of sessions, where the project has one the queue, and the loop if a session has something of it, opened for one
/// change.
struct Seat<'e> {
    tx: QueueTransaction<'e>,
    has_queue: bool,
    has_item: bool,
}

impl<'e> Seat<'e> {
    /// Takes a seat for what `giver` has.
    fn take(engine: &'e dyn Engine, rooms: &[&Room], giver: &SessionId, actor: &Actor) -> Result<Seat<'e>> {
        // A project without a queue or a loop does not get one's directory for this.
        let has_queue = engine.documents(&Room::Queue)?.contains(&Doc::queue());
        let has_item = hold::has_item(engine, giver)?;
        let mut rooms = rooms.to_vec();
        rooms.extend(has_item.then_some(&Room::State));
        let tx = match has_queue {
            true => {
                let expected = [Expected::Active(&Doc::queue())];
                QueueTransaction::open_with(
                    engine,
                    &[&rooms, &[&Room::Queue][..]].concat(),
                    &expected,
                    actor,
                )?
            }
            false => QueueTransaction::over(engine.begin(&rooms)?, actor)?,
        };
        Ok(Seat { tx, has_queue, has_item })
    }

    /// Returns the tasks of the queue that a session has.
    fn claims(&mut self, id: &SessionId) -> Result<Vec<Task>> {
        if !self.has_queue {
            return Ok(Vec::new());
        }
        let mut tasks = self.tx.active()?;
        tasks.retain(|task| Session::has(id, task));
        Ok(tasks)
    }

    /// Gives back what a session has in the queue and the loop.
    fn release(&mut self, id: &SessionId, reason: &str) -> Result<Vec<String>> {
        let mut released = Vec::new();
        for task in self.claims(id)? {
            let details = format!(" (lease {} of session {id})", task.epoch());
            released.push(self.tx.give_back(task, reason, &details)?.id().to_owned());
        }
        if self.has_item {
            let (transaction, now) = (&mut *self.tx.transaction, &self.tx.now);
            released.extend(hold::give_back_of_session(transaction, id, reason, now)?);
        }
        Ok(released)
    }

    fn close(
        self,
        id: &SessionId,
        session: Session,
        event: &str,
        released: Vec<String>,
        actor: &Actor,
    ) -> Result<Changed> {
        let QueueTransaction { mut transaction, now, .. } = self.tx;
        drop_blank(&mut *transaction, id, now.at)?;
        transaction.put(&state_of(id), session.into_value())?;
        note(&mut *transaction, id, event, &json!({ EventData::released: released }), now.at)?;
        let entry = match event {
            "end" => entry(actor, id, "session end", now.at),
            // It is whoever looks that gives a silent session up.
            _ => Entry { at: now.at, ..actor.entry("session expire") },
        };
        let committed = transaction.commit(&entry)?;
        Ok(changed(id, committed, Effect::Changed, released))
    }
}

fn changed(id: &SessionId, committed: Committed, effect: Effect, released: Vec<String>) -> Changed {
    let doc = state_of(id);
    let state = committed.documents.into_iter().find(|(known, _)| *known == doc);
    let (_, document) = state.expect("a put document is committed");
    Changed {
        id: id.clone(),
        session: Session::of(document.value),
        repeated: effect == Effect::Repeated,
        released,
        warnings: committed.warnings,
    }
}

/// Returns the state of a session that must be there.
fn known(transaction: &mut dyn Transaction, id: &SessionId) -> Result<Session> {
    let state = transaction.get(&state_of(id))?.cloned();
    state.map(Session::of).ok_or_else(|| unknown(id))
}

fn unknown(id: &SessionId) -> Error {
    Error::missing(
        format!("there is no session `{id}`"),
        hint!["start it: ", Next::StartSession(id.to_string()), "   (see them all: ", See::Sessions, ")",],
    )
}

fn has_ended(id: &SessionId) -> Error {
    Error::refused(
        format!("session `{id}` has ended"),
        hint!["start it again: ", Next::StartSession(id.to_string())],
    )
}

/// Deletes the lists of a session that nobody has put anything into.
fn drop_blank(transaction: &mut dyn Transaction, id: &SessionId, now: Timestamp) -> Result<()> {
    for kind in COMPANIONS {
        let doc = document(kind, id);
        let Some(mut value) = readable(transaction, &doc)? else { continue };
        let stamps = [Stamps::updated_at.any(), Stamps::updated_by.any(), Stamps::revision.any()];
        stamps.into_iter().for_each(|stamp| drop(value.unset(stamp)));
        if value == doc.default(now) {
            transaction.delete(&doc)?;
        }
    }
    Ok(())
}

/// Writes down what happened to a session.
fn note(
    transaction: &mut dyn Transaction,
    id: &SessionId,
    kind: &str,
    data: &Value,
    now: Timestamp,
) -> Result<()> {
    let events = document("events", id);
    let mut log = transaction.get(&events)?.cloned().unwrap_or_else(|| events.default(now));
    session::add_event(&mut log, kind, data, now);
    Ok(transaction.put(&events, log)?)
}

/// What the log says: without another name, a session speaks for itself.
fn entry(actor: &Actor, id: &SessionId, op: &str, now: Timestamp) -> Entry {
    let author = actor.author(id.as_str());
    Entry { at: now, by: author.clone(), author: Some(author), ..actor.entry(op) }
}

fn room(id: &SessionId) -> Room {
    Room::Session(id.clone())
}

fn state_of(id: &SessionId) -> Doc {
    document("session", id)
}

fn document(kind: &str, id: &SessionId) -> Doc {
    Doc::of_session(Kind::find(kind).expect("a kind of the registry"), id.clone())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::hint::Plain;
    use crate::store::memory::MemoryEngine;

    fn at(seconds: i64) -> Actor {
        let now = Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        Actor { clock: Arc::new(now), session: None, acting: None, user: "ann".into(), door: &Plain }
    }

    fn id(text: &str) -> SessionId {
        text.parse().unwrap()
    }

    #[test]
    fn a_heartbeat_that_comes_before_the_lock_saves_the_session() {
        let engine = MemoryEngine::default();
        let (s1, settings) = (id("s1"), Settings::read(&engine).unwrap());
        start(&engine, Some(&s1), &Start::default(), &at(0)).unwrap();
        // A list has found it overdue at 4000, and now waits for the lock.
        heartbeat(&engine, &s1, Status::Active, &at(3999)).unwrap();
        assert!(expire(&engine, &s1, &settings, &at(4000)).unwrap().is_none());
        let expired = expire(&engine, &s1, &settings, &at(8000)).unwrap().unwrap();
        assert_eq!(expired.session.status(), Status::Expired);
        assert!(expire(&engine, &s1, &settings, &at(9000)).unwrap().is_none(), "once is enough");
    }

    #[test]
    fn ids_of_one_moment_differ() {
        let engine = MemoryEngine::default();
        let made: Vec<_> =
            (0..3).map(|_| start(&engine, None, &Start::default(), &at(0)).unwrap().id).collect();
        assert!(made[0] != made[1] && made[1] != made[2] && made[0] != made[2], "{made:?}");
        assert!(made[0].as_str().starts_with("session-20270115080000-"), "{made:?}");
    }
}
