//! Every environment variable that anthill reads, in one place.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use anthill_core::model::redact::redact;
use anthill_live::runner::place::Gemini;

/// The home root, instead of `~/.claude`.
pub const ANTHILL_HOME: &str = "ANTHILL_HOME";
/// The configuration directory of Claude Code: the home root if `ANTHILL_HOME` is not set.
pub const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// The user's home directory.
pub const HOME: &str = "HOME";
/// The project root.
pub const ANTHILL_ROOT: &str = "ANTHILL_ROOT";
/// The project that Claude Code works on: the project root if `ANTHILL_ROOT` is not set.
pub const CLAUDE_PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
/// The session at work.
pub const ANTHILL_SESSION_ID: &str = "ANTHILL_SESSION_ID";
/// The session at work, as Claude Code tells its hooks and tools.
pub const CLAUDE_CODE_SESSION_ID: &str = "CLAUDE_CODE_SESSION_ID";
/// The session at work, as older clients and the seeds name it.
pub const CLAUDE_SESSION_ID: &str = "CLAUDE_SESSION_ID";
/// The session at work, as Codex tells its tools.
pub const CODEX_SESSION_ID: &str = "CODEX_SESSION_ID";
/// The session at work, as Gemini CLI tells its hooks, and nobody else.
pub const GEMINI_SESSION_ID: &str = "GEMINI_SESSION_ID";
/// What Gemini CLI goes by when it decides whether to trust a folder.
const GEMINI_CLI_HOME: &str = "GEMINI_CLI_HOME";
const GEMINI_CLI_TRUST_WORKSPACE: &str = "GEMINI_CLI_TRUST_WORKSPACE";
const GEMINI_RESTRICTED_MODE: &str = "GEMINI_RESTRICTED_MODE";
const GEMINI_CLI_TRUSTED_FOLDERS_PATH: &str = "GEMINI_CLI_TRUSTED_FOLDERS_PATH";
const GEMINI_CLI_SYSTEM_SETTINGS_PATH: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
const GEMINI_CLI_SYSTEM_DEFAULTS_PATH: &str = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";
/// An editor that Gemini CLI asks instead.
const GEMINI_CLI_IDE_SERVER_PORT: &str = "GEMINI_CLI_IDE_SERVER_PORT";
/// The file to which Claude Code's hooks add what its shell commands shall know.
pub const CLAUDE_ENV_FILE: &str = "CLAUDE_ENV_FILE";
/// The process of Claude Code.
pub const CLAUDE_PID: &str = "CLAUDE_PID";
/// What the session at work is to its team, for those who read its messages.
pub const ANTHILL_ROLE: &str = "ANTHILL_ROLE";
/// The worker, the task and the lease that `worker run` has started this agent for.
pub const ANTHILL_WORKER: &str = "ANTHILL_WORKER";
pub const ANTHILL_TASK_ID: &str = "ANTHILL_TASK_ID";
pub const ANTHILL_EPOCH: &str = "ANTHILL_EPOCH";
/// Set by coding agents for the commands that they run.
const AGENTS: [&str; 6] =
    ["CLAUDECODE", "CODEX_SANDBOX", CODEX_SESSION_ID, "GEMINI_CLI", "OPENCODE", ANTHILL_WORKER];
/// How many hooks led to this command; set for hooks.
pub const ANTHILL_HOOK_DEPTH: &str = "ANTHILL_HOOK_DEPTH";
/// Where programs are looked for.
pub const PATH: &str = "PATH";
/// The name of the user, for the log.
pub const USER: &str = "USER";
/// The editor of `anthill edit`, the first that is set.
pub const VISUAL: &str = "VISUAL";
pub const EDITOR: &str = "EDITOR";
/// For tests: the time to use instead of the clock's. `TIME*RATE` is a clock that has run so many times as fast since then.
pub const ANTHILL_NOW: &str = "ANTHILL_NOW";

/// Returns a variable that is set and not empty.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
fn raw(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

pub fn text(name: &str) -> Option<String> {
    raw(name)?.into_string().ok()
}

pub fn path(name: &str) -> Option<PathBuf> {
    raw(name).map(PathBuf::from)
}

/// Returns the directories in which programs are looked for.
pub fn search_path() -> Vec<PathBuf> {
    raw(PATH).map(|list| std::env::split_paths(&list).collect()).unwrap_or_default()
}

/// Whether a coding agent runs this command, as far as it says so.
pub fn is_agent() -> bool {
    AGENTS.into_iter().any(|name| raw(name).is_some())
}

/// Whether a person runs this command, as far as can be told: no hook, no coding agent, no session of one.
pub fn is_person() -> bool {
    hook_depth() == 0 && !is_agent() && session().is_none()
}

/// Returns what was typed as it is kept: without secrets, unless a person typed it, who knows what they write.
pub fn told(text: &str) -> Cow<'_, str> {
    if is_person() { text.into() } else { redact(text) }
}

/// Returns how many hooks led to this command.
pub fn hook_depth() -> u32 {
    text(ANTHILL_HOOK_DEPTH).and_then(|depth| depth.parse().ok()).unwrap_or(0)
}

/// Returns the id of the session that the client at work names.
pub fn session() -> Option<String> {
    [ANTHILL_SESSION_ID, CLAUDE_CODE_SESSION_ID, CLAUDE_SESSION_ID, CODEX_SESSION_ID]
        .into_iter()
        .find_map(text)
}

/// Returns what Gemini CLI finds in its environment.
pub fn gemini() -> Gemini {
    let is = |name: &str, word: &str| text(name).as_deref() == Some(word);
    let refused = is(GEMINI_RESTRICTED_MODE, "true") || is(GEMINI_CLI_TRUST_WORKSPACE, "false");
    let trusted = is(GEMINI_CLI_TRUST_WORKSPACE, "true");
    let machine = PathBuf::from("/etc/gemini-cli");
    let home = path(GEMINI_CLI_HOME).or_else(|| path(HOME));
    Gemini {
        said: (refused || trusted).then_some(!refused),
        dir: home.filter(|_| raw(GEMINI_CLI_IDE_SERVER_PORT).is_none()).map(|home| home.join(".gemini")),
        folders: path(GEMINI_CLI_TRUSTED_FOLDERS_PATH),
        system: vec![
            path(GEMINI_CLI_SYSTEM_SETTINGS_PATH).unwrap_or_else(|| machine.join("settings.json")),
            path(GEMINI_CLI_SYSTEM_DEFAULTS_PATH).unwrap_or_else(|| machine.join("system-defaults.json")),
        ],
    }
}
