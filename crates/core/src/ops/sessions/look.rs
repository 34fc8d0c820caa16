//! Looking at sessions. Whoever looks also gives up those that nobody has heard of, unless the configuration says
//! `features.enable_auto_recovery: false`.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Changed, document, expire, state_of, unknown};
use crate::error::Code;
use crate::model::documents::answers::SeenSession;
use crate::model::documents::state::{ArchivedSession, Features, Session as SessionDoc, SessionContext};
use crate::model::hint::Hint;
use crate::model::ids::SessionId;
use crate::model::key::{Fields, FieldsMut};
use crate::model::room::Room;
use crate::model::session::{Session, Status, is_open, word};
use crate::model::task::Task;
use crate::ops::archive::shelf::Shelf;
use crate::ops::queue::brief::{self, Holder};
use crate::ops::settings::Settings;
use crate::ops::{Actor, Error, Result, archive};
use crate::store::Engine;
use crate::store::engine::items;

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct Wanted<'a> {
    /// Only those at work that were heard of in this time.
    pub active_within: Option<Duration>,
    pub project: Option<&'a str>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// One entry per session, the one that was heard of last first.
    pub sessions: Vec<Value>,
    /// Those that were given up just now.
    pub expired: Vec<Changed>,
    pub warnings: Vec<Hint>,
}

/// Lists sessions. Each is read once, without a lock; one that cannot be read does not hide the others.
pub fn list(engine: &dyn Engine, wanted: &Wanted<'_>, actor: &Actor) -> Result<Found> {
    let settings = Settings::read(engine)?;
    // One that is over is not active, so only the others are looked at.
    let ids = match wanted.active_within {
        Some(_) => engine.live()?.ids,
        None => all(engine)?,
    };
    let mut swept = sweep(engine, ids, &settings, actor)?;
    let (now, timeout) = (actor.now(), settings.session_timeout());
    swept.sessions.retain(|(_, session)| {
        wanted.active_within.is_none_or(|within| session.is_active(within, now))
            && wanted.project.is_none_or(|project| session.project() == Some(project))
    });
    sort(&mut swept.sessions);
    let entry = |(id, session): &(SessionId, Session)| entry(id, session, timeout, now);
    let sessions = swept.sessions.iter().map(entry).collect();
    Ok(Found { sessions, expired: swept.expired, warnings: swept.warnings })
}

/// Lists the sessions of the archive, the one that was heard of last first.
pub fn archived(engine: &dyn Engine, project: Option<&str>, actor: &Actor) -> Result<Vec<Value>> {
    let timeout = Settings::read(engine)?.session_timeout();
    let mut found = Vec::new();
    Shelf::sessions().each(engine, &mut |mut record| {
        let id = record.text(ArchivedSession::session_id).and_then(|id| id.parse().ok());
        let session = Session::of(record[ArchivedSession::session].take());
        if let Some(id) = id.filter(|_| project.is_none_or(|project| session.project() == Some(project))) {
            found.push((id, session));
        }
        true
    })?;
    sort(&mut found);
    Ok(found.iter().map(|(id, session)| entry(id, session, timeout, actor.now())).collect())
}

/// Puts the one that was heard of last first.
fn sort(sessions: &mut [(SessionId, Session)]) {
    sessions.sort_by(|(one_id, one), (other_id, other)| {
        other.heard_at().cmp(&one.heard_at()).then_with(|| one_id.cmp(other_id))
    });
}

/// The sessions at work, seen by somebody who changes nothing.
#[derive(Debug, Default)]
pub struct AtWork {
    /// The entries of a list.
    pub sessions: Vec<Value>,
    pub unreadable: Vec<(SessionId, Error)>,
}

/// Returns the sessions that are neither over nor overdue, and gives nobody up; `None` if there has never been one.
pub fn at_work(
    engine: &dyn Engine,
    project: Option<&str>,
    settings: &Settings,
    actor: &Actor,
) -> Result<Option<AtWork>> {
    let (now, timeout) = (actor.now(), settings.session_timeout());
    let (mut found, mut unreadable, live) = (Vec::new(), Vec::new(), engine.live()?);
    for id in live.ids {
        match engine.read(&state_of(&id)) {
            Ok(None) => {}
            Ok(Some(state)) => found.push((id, Session::of(state.value))),
            Err(error) => unreadable.push((id, error.into())),
        }
    }
    found.retain(|(_, session)| {
        matches!(session.effective_status(timeout, now), Status::Active | Status::Idle)
            && project.is_none_or(|project| session.project() == Some(project))
    });
    sort(&mut found);
    let sessions = found.iter().map(|(id, session)| entry(id, session, timeout, now)).collect();
    Ok(live.any.then_some(AtWork { sessions, unreadable }))
}

/// Whether a session is at work: known, neither over nor overdue. One that cannot be read may be.
pub fn is_at_work(engine: &dyn Engine, id: &str, actor: &Actor) -> Result<bool> {
    let Ok(id) = id.parse::<SessionId>() else { return Ok(false) };
    let state = match engine.read(&state_of(&id)) {
        Err(error) if error.code() == Code::Damaged => return Ok(true),
        found => found?,
    };
    let Some(state) = state else { return Ok(false) };
    let timeout = Settings::read(engine)?.session_timeout();
    let status = Session::of(state.value).effective_status(timeout, actor.now());
    Ok(matches!(status, Status::Active | Status::Idle))
}

fn entry(id: &SessionId, session: &Session, timeout: Duration, now: Timestamp) -> Value {
    let mut entry = json!({
        SeenSession::session_id: id.as_str(),
        SeenSession::project_id: session.project(),
        SeenSession::status: word(session.effective_status(timeout, now)),
        SeenSession::last_heartbeat: session.last_heartbeat(),
    });
    let context = session.value().at(SessionDoc::context);
    if let Some(directory) = context.text(SessionContext::working_directory) {
        entry.set(SeenSession::working_directory, directory);
    }
    if let Some(branch) = context.text(SessionContext::current_branch) {
        entry.set(SeenSession::current_branch, branch);
    }
    entry.set(SeenSession::agents, session.agents().len());
    entry
}

/// Gives up the sessions that nobody has heard of. What cannot be read or changed is left to others.
pub fn expire_overdue(engine: &dyn Engine, actor: &Actor) -> Result<Vec<Changed>> {
    Ok(sweep(engine, engine.live()?.ids, &Settings::read(engine)?, actor)?.expired)
}

fn all(engine: &dyn Engine) -> Result<Vec<SessionId>> {
    let of_session = |room| match room {
        Room::Session(id) => Some(id),
        _ => None,
    };
    Ok(engine.rooms()?.into_iter().filter_map(of_session).collect())
}

/// Sessions, after the overdue ones were given up.
#[derive(Default)]
struct Swept {
    sessions: Vec<(SessionId, Session)>,
    expired: Vec<Changed>,
    warnings: Vec<Hint>,
}

fn sweep(engine: &dyn Engine, ids: Vec<SessionId>, settings: &Settings, actor: &Actor) -> Result<Swept> {
    let (now, timeout) = (actor.now(), settings.session_timeout());
    let recovers = settings.is_on(Features::enable_auto_recovery);
    let mut swept = Swept::default();
    for id in ids {
        let mut session = match engine.read(&state_of(&id)) {
            Ok(Some(state)) => Session::of(state.value),
            Ok(None) => continue,
            Err(error) => {
                swept.warnings.push(format!("session `{id}` is left out: {error}").into());
                continue;
            }
        };
        if recovers && session.is_overdue(timeout, now) {
            match expire(engine, &id, settings, actor) {
                Ok(Some(changed)) => {
                    session = changed.session.clone();
                    swept.expired.push(changed);
                }
                // It has moved on between the look and the lock.
                Ok(None) => {
                    session = engine.read(&state_of(&id))?.map_or(session, |state| Session::of(state.value));
                }
                Err(error) => {
                    swept.warnings.push(format!("session `{id}` cannot be given up: {error}").into());
                }
            }
        }
        swept.sessions.push((id, session));
    }
    Ok(swept)
}

/// A session with what it has in hand.
#[derive(Debug)]
pub struct Shown {
    /// Its state, as it is stored.
    pub session: Session,
    /// How it stands, also if nobody has written that down.
    pub status: Status,
    /// What is still to be done on its own list.
    pub tasks: Vec<Value>,
    /// What it has in the queue of this project.
    pub claims: Vec<Task>,
    /// The sessions that were given up just now.
    pub expired: Vec<Changed>,
}

pub fn show(engine: &dyn Engine, id: &SessionId, actor: &Actor) -> Result<Shown> {
    let settings = Settings::read(engine)?;
    let expired = sweep(engine, engine.live()?.ids, &settings, actor)?.expired;
    let session = match engine.read(&state_of(id))? {
        Some(state) => Session::of(state.value),
        None => Session::of(
            archive::find_session(engine, id)?.ok_or_else(|| unknown(id))?[ArchivedSession::session].take(),
        ),
    };
    let status = session.effective_status(settings.session_timeout(), actor.now());
    let own = document("tasks", id);
    let tasks = engine.read(&own)?.map(|tasks| {
        let tasks = items(own.kind, &tasks.value).into_iter();
        tasks.filter(|task| is_open(task)).cloned().collect()
    });
    Ok(Shown { session, status, tasks: tasks.unwrap_or_default(), claims: claims(engine, id)?, expired })
}

/// Returns the tasks of the queue that a session has.
pub(in crate::ops) fn claims(engine: &dyn Engine, id: &SessionId) -> Result<Vec<Task>> {
    brief::in_hand(engine, Holder::Session(id))
}
