//! Sessions that are over.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::request::{OP, Request, append};
use super::shelf::Shelf;
use crate::model::documents::state::{ArchivedSession, Session as SessionDoc};
use crate::model::ids::SessionId;
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::{Doc, KINDS};
use crate::model::room::Room;
use crate::model::session::Session;
use crate::model::text_file::TextFile;
use crate::model::time;
use crate::ops::{Actor, Result};
use crate::store::Engine;

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

pub(super) fn is_over_now(engine: &dyn Engine, id: &SessionId, before: Timestamp) -> Result<bool> {
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

/// Returns what the archive has of a session, the newest record.
pub fn find_session(engine: &dyn Engine, id: &SessionId) -> Result<Option<Value>> {
    Ok(Shelf::sessions().newest(engine, Some(id.as_str()), Some(1))?.pop())
}
