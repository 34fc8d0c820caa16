//! Things that are named by the beginnings of their ids, mistyped, or in each other's place.
//!
//! The request is made with what was typed first, so that an exact id costs nothing. Only if that leads nowhere, all ids are
//! looked at.

use anthill_core::api::Request;
use anthill_core::error::Code;
use anthill_core::model::kind::KINDS;
use anthill_core::model::near::{self, Found};
use anthill_core::ops::Error;
use anthill_core::ops::queue::{brief, names};
use anthill_core::view::shell;

use crate::context::Context;
use crate::error::{CliError, Result};

/// How many ids are listed.
const MOST: usize = 10;

impl Context<'_> {
    /// Performs a request about tasks that exist, each named by its id or by the beginning of it.
    pub fn on_tasks<R: Request>(
        &self,
        typed: &[String],
        request: impl Fn(&[String]) -> Result<R>,
    ) -> Result<R::Answer> {
        let mut ids = typed.to_vec();
        loop {
            let error = match request(&ids)?.perform(&self.caller()) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(at) = missing(&error).and_then(|id| ids.iter().position(|known| known == id)) else {
                return Err(error.into());
            };
            ids[at] = meant("task", &ids[at], names::tasks(&*self.engine)?, error.into())?;
        }
    }

    /// The same for a worker who names itself and one task. The two may have changed places.
    pub fn by_worker<R: Request>(
        &self,
        [worker, id]: [&str; 2],
        request: impl Fn(&str) -> Result<R>,
    ) -> Result<R::Answer> {
        let done = self.on_tasks(&[id.to_owned()], |ids| request(&ids[0]));
        match done {
            Err(error) if error.code == Code::NotFound && self.is_task(worker) => Err(CliError::invalid(
                format!("`{worker}` is a task, and `{id}` is none: the worker comes first"),
            )
            .hinted(format!("that is: {} {}", shell::word(id), shell::word(worker)))),
            done => done,
        }
    }

    pub fn is_task(&self, id: &str) -> bool {
        brief::tasks(&*self.engine, &[id]).is_ok_and(|found| !found.is_empty())
    }

    /// Performs a request about a session that exists, named by its id or by the beginning of it.
    pub fn on_session<R: Request>(
        &self,
        typed: &str,
        request: impl Fn(&str) -> Result<R>,
    ) -> Result<R::Answer> {
        match request(typed)?.perform(&self.caller()) {
            Err(error) if error.code() == Code::NotFound => {
                let id = meant("session", typed, names::sessions(&*self.engine)?, error.into())?;
                self.ask(request(&id)?)
            }
            done => done.map_err(CliError::from),
        }
    }

    /// Returns the worker that is known by this name, or by one that begins so; else what was typed.
    pub fn known_worker(&self, typed: &str) -> Result<String> {
        let known = names::workers(&*self.engine)?;
        match near::find(typed, known) {
            Found::One(worker) => Ok(worker),
            Found::Several(workers) => Err(ambiguous("worker", typed, &workers)),
            Found::Nothing(_) => Ok(typed.to_owned()),
        }
    }
}

/// Adds the kind that may be meant, where a task or a kind can be named.
pub fn or_kind(name: &str, mut error: CliError) -> CliError {
    let kinds = KINDS.iter().map(|kind| kind.name.to_owned());
    let meant = match near::find(name, kinds) {
        Found::One(kind) => Some(kind),
        Found::Nothing(mut kinds) if !kinds.is_empty() => Some(kinds.remove(0)),
        _ => None,
    };
    if let Some(kind) = meant.filter(|_| error.code == Code::NotFound) {
        error.hints.insert(0, format!("did you mean the kind `{kind}`?"));
    }
    error
}

/// Returns the task that is not there.
fn missing(error: &Error) -> Option<&str> {
    match error {
        Error::NoTask { id } | Error::UnknownDependency { id, .. } => Some(id),
        _ => None,
    }
}

/// Returns the id that is meant; else says what there is, beside what went wrong.
fn meant(what: &str, typed: &str, ids: Vec<String>, error: CliError) -> Result<String> {
    match near::find(typed, ids) {
        Found::One(id) if id != typed => Ok(id),
        Found::Several(ids) => Err(ambiguous(what, typed, &ids)),
        Found::Nothing(ids) if !ids.is_empty() => {
            let ids: Vec<_> = ids.iter().map(|id| format!("`{id}`")).collect();
            let mut error = error;
            error.hints.insert(0, format!("did you mean {}?", ids.join(" or ")));
            Err(error)
        }
        _ => Err(error),
    }
}

fn ambiguous(what: &str, typed: &str, ids: &[String]) -> CliError {
    let shown: Vec<_> = ids.iter().take(MOST).map(|id| format!("`{id}`")).collect();
    let more = ids.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    CliError::invalid(format!("`{typed}` is the beginning of {} {what} ids", ids.len()))
        .hinted(format!("type more of one: {}{more}", shown.join(", ")))
        .detail("candidates", ids.to_vec())
}
