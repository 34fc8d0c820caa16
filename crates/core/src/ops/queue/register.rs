//! The register of workers: who has been seen, by which session, and what they can do.
//!
//! A claim puts its worker there, and every verb of a worker is a sign of life. That is part of the commit of the verb, and
//! written only when it is news: a claim that writes two documents costs twice.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::QueueTransaction;
use crate::hint;
use crate::model::documents::queue::Worker;
use crate::model::hint::Hint;
use crate::model::ids::{self, Key, SessionId};
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::Doc;
use crate::model::next::Next;
use crate::model::session::Status;
use crate::model::time;
use crate::ops::sessions::{self, look};
use crate::ops::{Actor, Error, Result};
use crate::store::Engine;
use crate::store::engine::items;

/// A sign of life is news when the last one is so old.
const NEWS: SignedDuration = SignedDuration::from_secs(60);

/// Notes a worker and what it can do. A second time replaces what it can do.
pub fn register(engine: &dyn Engine, worker: &Key, capabilities: &[String], actor: &Actor) -> Result<Value> {
    let mut tx = QueueTransaction::open(engine, actor)?;
    let mut entry = entry(&mut tx, worker)?;
    entry[Worker::capabilities] = json!(capabilities);
    see(&mut entry, &tx, actor);
    tx.transaction.put_item(&Doc::workers(), worker.as_str(), entry.clone())?;
    let able =
        if capabilities.is_empty() { String::new() } else { format!(" ({})", capabilities.join(", ")) };
    tx.log(worker.as_str(), "REGISTERED", &format!("{worker}{able}"))?;
    tx.commit(worker.as_str(), "register", actor)?;
    sign_of_session(engine, actor);
    Ok(entry)
}

/// Makes a name that no worker has: that of the session, which gets the same one again, or a new one.
pub fn new_name(engine: &dyn Engine, seed: &str, actor: &Actor) -> Result<Key> {
    if let Some(session) = actor.session.as_ref().and_then(|session| session.parse().ok()) {
        return Ok(session);
    }
    let workers = engine.read(&Doc::workers())?.map(|found| found.value).unwrap_or_default();
    let known = items(Doc::workers().kind, &workers);
    let free = &mut |name: &str| Ok::<_, Error>(known.iter().all(|worker| worker[Worker::id] != name));
    Ok(ids::new("worker", actor.now(), seed, free)?.parse().expect("what we make is an id"))
}

/// Returns what is known of a worker, as it is known from now on.
pub(super) fn entry(tx: &mut QueueTransaction<'_>, worker: &Key) -> Result<Value> {
    let (workers, now) = (Doc::workers(), time::stamp(tx.now.at));
    if tx.transaction.get(&workers)?.is_none() {
        tx.transaction.put(&workers, workers.default(tx.now.at))?;
    }
    let known = tx.transaction.item(&workers, worker.as_str())?;
    Ok(known.unwrap_or_else(
        || json!({Worker::id: worker.as_str(), Worker::capabilities: [], Worker::registered_at: now}),
    ))
}

/// Notes the claim of a worker that is known so, or not at all. Returns the other session that was the last to work under
/// this name.
pub(super) fn note_claim(
    tx: &mut QueueTransaction<'_>,
    worker: &Key,
    known: Option<Value>,
    actor: &Actor,
) -> Result<Option<String>> {
    let mut entry = match known {
        Some(known) if is_no_news(&known, tx, actor) => return Ok(None),
        Some(known) => known,
        None => entry(tx, worker)?,
    };
    let before = entry.text(Worker::session_id).map(str::to_owned);
    see(&mut entry, tx, actor);
    tx.transaction.put_item(&Doc::workers(), worker.as_str(), entry)?;
    tx.touch();
    Ok(before.filter(|before| actor.session.as_ref().is_some_and(|session| session != before)))
}

/// Notes a sign of life of a worker that is known.
pub(super) fn note(tx: &mut QueueTransaction<'_>, worker: &Key, actor: &Actor) -> Result<()> {
    let known = tx.transaction.item(&Doc::workers(), worker.as_str())?;
    if known.is_some() {
        note_claim(tx, worker, known, actor)?;
    }
    Ok(())
}

/// Warns if another session is at work under the same name.
pub(super) fn warn_of(
    engine: &dyn Engine,
    worker: &Key,
    namesake: Option<String>,
    actor: &Actor,
) -> Option<Hint> {
    let namesake = namesake?;
    // Who cannot be looked at is no reason to fail what was done.
    let is_there = look::is_at_work(engine, &namesake, actor).unwrap_or(false);
    is_there.then(|| {
        hint![
            format!("session `{namesake}` works as `{worker}`, too; for a name of your own leave it out: "),
            Next::Claim { named: false, session: None },
        ]
    })
}

/// Passes a worker's sign of life on to its session, if that was silent for a while. What goes wrong there is not the
/// worker's business.
pub(super) fn sign_of_session(engine: &dyn Engine, actor: &Actor) {
    let Some(session) = actor.session.as_ref().and_then(|id| id.parse::<SessionId>().ok()) else { return };
    let Some(heard) = engine.written_at(&Doc::session(&session)) else { return };
    if actor.now().duration_since(heard).abs() >= NEWS {
        let _ = sessions::heartbeat(engine, &session, Status::Active, actor);
    }
}

fn see(entry: &mut Value, tx: &QueueTransaction<'_>, actor: &Actor) {
    entry.set(Worker::last_seen, time::stamp(tx.now.at));
    if let Some(session) = &actor.session {
        entry.set(Worker::session_id, session.as_str());
    }
}

/// Whether the register says already that the worker is there, by this session.
fn is_no_news(entry: &Value, tx: &QueueTransaction<'_>, actor: &Actor) -> bool {
    let seen = entry.text(Worker::last_seen).and_then(time::read);
    let is_fresh = seen.is_some_and(|seen| tx.now.at.duration_since(seen).abs() < NEWS);
    let session = entry.text(Worker::session_id);
    is_fresh && (actor.session.is_none() || actor.session.as_deref() == session)
}
