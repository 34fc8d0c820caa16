//! Every environment variable that anthill reads, in one place; those of clients are in their table.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use anthill_core::model::clients::{CLIENTS, Variables};
use anthill_core::model::redact::redact;

/// The home root, instead of `~/.claude`.
pub const ANTHILL_HOME: &str = "ANTHILL_HOME";
/// The user's home directory.
pub const HOME: &str = "HOME";
/// The project root.
pub const ANTHILL_ROOT: &str = "ANTHILL_ROOT";
/// The session at work.
pub const ANTHILL_SESSION_ID: &str = "ANTHILL_SESSION_ID";
/// The role of the session at work, for the readers of its messages.
pub const ANTHILL_ROLE: &str = "ANTHILL_ROLE";
/// The worker, the task and the lease that `worker run` has started this agent for.
pub const ANTHILL_WORKER: &str = "ANTHILL_WORKER";
pub const ANTHILL_TASK_ID: &str = "ANTHILL_TASK_ID";
pub const ANTHILL_EPOCH: &str = "ANTHILL_EPOCH";
/// How many hooks led to this command; set for hooks.
pub const ANTHILL_HOOK_DEPTH: &str = "ANTHILL_HOOK_DEPTH";
/// Where programs are looked for.
pub const PATH: &str = "PATH";
/// The name of the user, for the log.
pub const USER: &str = "USER";
/// The editor of `anthill edit`, the first that is set.
pub const VISUAL: &str = "VISUAL";
pub const EDITOR: &str = "EDITOR";
/// For tests: the time to use instead of the clock's. `TIME*RATE` is a clock that has run RATE times as fast since then.
pub const ANTHILL_NOW: &str = "ANTHILL_NOW";

/// Returns a variable that is set and not empty.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub fn raw(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

pub fn text(name: &str) -> Option<String> {
    raw(name)?.into_string().ok()
}

pub fn path(name: &str) -> Option<PathBuf> {
    raw(name).map(PathBuf::from)
}

/// Returns the first variable of this kind that a client has set.
pub fn of_clients(which: fn(&Variables) -> Option<&'static str>) -> Option<OsString> {
    CLIENTS.iter().filter_map(|client| which(&client.variables)).find_map(raw)
}

/// Returns the directories in which programs are looked for.
pub fn search_path() -> Vec<PathBuf> {
    raw(PATH).map(|list| std::env::split_paths(&list).collect()).unwrap_or_default()
}

/// Whether a coding agent runs this command, as far as it says so.
pub fn is_agent() -> bool {
    let marks = CLIENTS.iter().flat_map(|client| client.variables.marks);
    marks.chain([&ANTHILL_WORKER]).any(|name| raw(name).is_some())
}

/// Whether a person runs this command, as far as can be told: no hook, no coding agent, no session of one.
pub fn is_person() -> bool {
    hook_depth() == 0 && !is_agent() && session().is_none()
}

/// Returns a text as it is kept: without secrets, unless a person typed it.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    if is_person() { text.into() } else { redact(text) }
}

/// Returns how many hooks led to this command.
pub fn hook_depth() -> u32 {
    text(ANTHILL_HOOK_DEPTH).and_then(|depth| depth.parse().ok()).unwrap_or(0)
}

/// Returns the id of the session that the client at work names.
pub fn session() -> Option<String> {
    let of_clients =
        || CLIENTS.iter().flat_map(|client| client.variables.session).find_map(|name| text(name));
    text(ANTHILL_SESSION_ID).or_else(of_clients)
}
