//! Whom a message is for: a session by its id, by the name that it works under, or by the begin of its id.

use crate::hint;
use crate::model::documents::queue::Worker;
use crate::model::ids::SessionId;
use crate::model::key::Fields;
use crate::model::kind::Doc;
use crate::model::next::See;
use crate::ops::{Error, Result};
use crate::store::Engine;
use crate::store::engine::items;

/// How many candidates an error names.
const FEW: usize = 5;

/// Returns the session that somebody means. Who is not known gets a mailbox all the same.
pub fn find(engine: &dyn Engine, named: &SessionId) -> Result<SessionId> {
    if is_known(engine, named)? {
        return Ok(named.clone());
    }
    if let Some(session) = session_of_worker(engine, named)? {
        return Ok(session);
    }
    let begins = |id: &SessionId| id.as_str().starts_with(named.as_str());
    let mut found: Vec<_> = engine.live()?.ids.into_iter().filter(begins).collect();
    match &found[..] {
        [] => Ok(named.clone()),
        [_] => Ok(found.remove(0)),
        _ => Err(ambiguous(named, &mut found)),
    }
}

fn is_known(engine: &dyn Engine, session: &SessionId) -> Result<bool> {
    let has_mail = [Doc::mailbox(session), Doc::sent(session)].iter().any(|doc| !engine.is_absent(doc));
    Ok(has_mail || super::is_registered(engine, session)?)
}

/// Returns the session that worked under this name last.
fn session_of_worker(engine: &dyn Engine, name: &SessionId) -> Result<Option<SessionId>> {
    let workers = engine.read(&Doc::workers())?.map(|found| found.value).unwrap_or_default();
    let workers = items(Doc::workers().kind, &workers).into_iter();
    let mut named = workers.filter(|worker| worker.text(Worker::id) == Some(name.as_str()));
    Ok(named.find_map(|worker| worker.text(Worker::session_id)?.parse().ok()))
}

fn ambiguous(named: &SessionId, found: &mut [SessionId]) -> Error {
    found.sort();
    let names: Vec<_> = found.iter().take(FEW).map(|id| format!("`{id}`")).collect();
    let more = match found.len().saturating_sub(FEW) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!("`{named}` begins the ids of {} sessions: {}{more}", found.len(), names.join(", "));
    Error::invalid(message, hint!["type more of it; see them: ", See::Sessions])
}
