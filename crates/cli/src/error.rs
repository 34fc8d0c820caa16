//! Errors as a person or a script meets them: a kind, a message, the next thing to type.

use std::any::Any;
use std::io;

use anthill_core::error::{Code, with_causes};
use anthill_core::model::task::Refusal;
use anthill_core::store::error::Unplaced;
use anthill_core::view::shell;
use anthill_core::{ops, store};
use serde_json::{Value, json};

use crate::conflict;
use crate::denied;
use crate::roots::{self, Stranger};
use crate::start;

#[derive(Debug)]
pub struct CliError {
    pub code: Code,
    pub message: String,
    pub hints: Vec<String>,
    pub indeterminate: bool,
    /// Facts for scripts, beside the message.
    pub details: Vec<(&'static str, Value)>,
}

pub type Result<T> = std::result::Result<T, CliError>;

impl CliError {
    pub fn new(code: Code, message: impl Into<String>) -> CliError {
        CliError {
            code,
            message: bounded(message.into()),
            hints: Vec::new(),
            indeterminate: false,
            details: Vec::new(),
        }
    }

    pub fn invalid(message: impl Into<String>) -> CliError {
        CliError::new(Code::Invalid, message)
    }

    pub fn hinted(mut self, hint: impl Into<String>) -> CliError {
        self.hints.push(hint.into());
        self
    }

    pub fn detail(mut self, name: &'static str, value: impl Into<Value>) -> CliError {
        self.details.push((name, value.into()));
        self
    }

    pub fn bug(payload: &(dyn Any + Send)) -> CliError {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("unknown cause");
        CliError::new(Code::Bug, format!("BUG: {text}"))
            .hinted("please report this with the command that you typed")
    }

    pub fn json(&self) -> Value {
        let facts = self.code.facts();
        let mut error = json!({
            "code": facts.word,
            "message": self.message,
            "hint": if self.hints.is_empty() { Value::Null } else { self.hints.join("\n").into() },
            "retryable": facts.retryable,
            "indeterminate": self.indeterminate,
        });
        self.details.iter().for_each(|(name, value)| error[*name] = value.clone());
        json!({ "error": error })
    }
}

impl From<ops::Error> for CliError {
    fn from(error: ops::Error) -> CliError {
        let store = match error {
            ops::Error::Store(error) => return error.into(),
            other => other,
        };
        let message = with_causes(&store);
        let base = CliError::new(store.code(), message);
        match store {
            ops::Error::NoDocument { kind, removed, .. } => removed
                .into_iter()
                .fold(base, CliError::hinted)
                .hinted(format!("create it: {}", creation(kind)))
                .hinted("look elsewhere with --home DIR or --root DIR; `anthill schema` shows where each kind is kept"),
            ops::Error::Conflict { expected, found, .. } => base
                .hinted(format!("read it again and repeat with --expect-revision {found}"))
                .detail("expected", expected)
                .detail("revision", found),
            ops::Error::OfOthers { taken, .. } => {
                let taken = taken.iter().map(|(revision, op, whose)| json!({"revision": revision, "op": op, "by": whose}));
                with_force(base).detail("taken", taken.collect::<Vec<_>>())
            }
            ops::Error::ClaimedSince { id, .. } => base
                .hinted(format!("take it out of the work instead: anthill leader cancel {}", shell::word(&id)))
                .hinted(format!("or let it go all the same: {} --force", as_typed())),
            ops::Error::NoRevision { kind, .. } => base.hinted(format!("see them: anthill history {kind}")),
            ops::Error::NoList { kind } => base.hinted(format!("see the whole document: anthill get {kind}")),
            ops::Error::NoTask { .. } => base.hinted("see the tasks: anthill leader status"),
            ops::Error::NoWorker { worker } => base.hinted(format!("register first: anthill worker register {}", shell::word(&worker))),
            ops::Error::NoLease { .. } => base.hinted("see who has what: anthill leader status"),
            ops::Error::OtherTask { id } => base
                .hinted(format!("see it: anthill leader explain {}", shell::word(&id)))
                .hinted("choose another --id, or leave it out to get a new one"),
            ops::Error::UnknownDependency { .. } => base.hinted("see the ids: anthill leader status").hinted("nothing was added"),
            ops::Error::Circle { .. } => base.hinted("take one of the dependencies out; nothing was added"),
            ops::Error::NoResults => base.hinted("results come with `anthill worker complete`; see how far the work is: anthill leader status"),
            ops::Error::Task(refusal) => refused(base, &refusal),
            ops::Error::Refused { hint, .. }
            | ops::Error::Missing { hint, .. }
            | ops::Error::Clash { hint, .. }
            | ops::Error::Invalid { hint, .. }
            | ops::Error::NoSuchList { hint, .. } => {
                hint.lines().fold(base, CliError::hinted)
            }
            ops::Error::ManagedField { field } if field == "revision" => {
                base.hinted("use --expect-revision N to guard a change")
            }
            ops::Error::ManagedField { .. } => base.hinted("every change sets it anew"),
            _ => base,
        }
    }
}

/// Says how to do it all the same.
fn with_force(base: CliError) -> CliError {
    base.hinted(format!("nothing was changed; take them back all the same: {} --force", as_typed()))
        .hinted("look first what that would change: --dry-run")
}

/// Returns the command as it was typed.
fn as_typed() -> String {
    let words = start::arguments().iter().map(|word| shell::word(&word.to_string_lossy()));
    std::iter::once("anthill".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Says what a worker that was refused can do.
fn refused(base: CliError, refusal: &Refusal) -> CliError {
    match refusal {
        Refusal::Taken { id, owner, epoch, .. } => base
            .hinted("nothing was changed; the task is not yours: stop working on it and claim another one")
            .detail("task", id.as_str())
            .detail("owner", owner.as_str())
            .detail("epoch", *epoch),
        Refusal::LeaseOver { id, status, .. } => base
            .hinted("nothing was changed; claim again: anthill worker claim W")
            .detail("task", id.as_str())
            .detail("owner", Value::Null)
            .detail("status", *status),
        Refusal::WrongState { id, verb, status } => {
            let named = shell::word(id);
            let hint = match (*verb, *status) {
                ("retry", "available" | "created") => "it has not failed".into(),
                (_, "available") => "it has to be claimed first: anthill worker claim W".into(),
                (_, "created") => format!("it waits for other tasks: anthill leader explain {named}"),
                ("reset" | "retry", "done") => {
                    format!("do it all over: anthill leader reset {named} --force")
                }
                ("retry", "cancelled") => format!("take it up again: anthill leader reset {named}"),
                (_, "cancelled") => "the leader took it out of the work: claim another one".into(),
                ("retry", _) => {
                    format!("only failed tasks are tried again; make it open: anthill leader reset {named}")
                }
                _ => format!("see how it stands: anthill leader explain {named}"),
            };
            base.hinted(hint).detail("task", id.as_str()).detail("status", *status)
        }
    }
}

/// Returns a command that creates a document of this kind.
fn creation(kind: &str) -> String {
    match kind {
        "config" => r#"anthill set config global.default_project '"myapp"'   (the rest gets its defaults)"#.into(),
        "epics" => r#"anthill append epics epics '{"id": "epic-001", "title": "Sign-in", "status": "pending", "stories": []}'"#.into(),
        "sprints" => r#"anthill append sprints sprints '{"id": "sprint-001", "name": "Sprint 1", "status": "planned"}'"#.into(),
        "tools" => r#"anthill set tools tools.qa '{"id": "qa", "name": "Tester", "capabilities": ["testing"]}'"#.into(),
        "session" => "anthill session start ID".into(),
        "tasks" => r#"anthill append tasks tasks '{"id": "task-001", "title": "Try it", "status": "pending"}' --session-id ID"#.into(),
        "queue" => r#"anthill leader init "what the team is to achieve"   (then: anthill leader add-task "…")"#.into(),
        "workers" => "anthill worker register NAME --capabilities rust,sql".into(),
        "metrics" | "current_session" | "active_agents" | "agent_result" => {
            "it comes by itself, from the hooks of a client: anthill init".into()
        }
        other => format!("anthill set {other} PATH JSON   (`anthill schema {other}` shows the fields)"),
    }
}

impl From<store::Error> for CliError {
    fn from(error: store::Error) -> CliError {
        if let store::Error::Io { source, .. } = &error
            && let Some(stranger) = roots::stranger(source)
        {
            return not_ours(stranger);
        }
        let base = CliError::new(error.code(), with_causes(&error));
        let base = CliError { indeterminate: error.indeterminate(), ..base };
        match error {
            store::Error::Damaged { path, line, column, .. } => conflict::hint(&path)
                .into_iter()
                .fold(base, CliError::hinted)
                .hinted("see what can be done: anthill doctor   (mend it: anthill doctor --repair)")
                .detail("path", path)
                .detail("line", line)
                .detail("column", column),
            store::Error::NotAFile { path, .. } => {
                base.hinted("see what can be done: anthill doctor").detail("path", path)
            }
            store::Error::Gone { path, typed } => base
                .hinted("bring it back: anthill doctor --repair")
                .hinted(format!("or begin anew without it: anthill delete {typed} .   (its history stays)"))
                .detail("path", path),
            store::Error::Busy { path, .. } => base
                .hinted("wait longer with --lock-timeout SECONDS; a lock is free as soon as its holder ends")
                .detail("path", path),
            store::Error::Refused { hint, .. } => base.hinted(hint),
            store::Error::NewerFormat { path, .. } => {
                base.hinted("reading works; to write, use a newer anthill").detail("path", path)
            }
            store::Error::NetworkFs { .. } => {
                base.hinted("keep the state on a local disk, or pass --allow-network-fs at your own risk")
            }
            store::Error::UnsupportedPlace { path, .. } => base
                .hinted("links and special files are not followed; use a plain directory")
                .detail("path", path),
            store::Error::Io { path, indeterminate, source, .. } => {
                if base.code == Code::Damaged {
                    return mendable(base.detail("path", path), &source);
                }
                let base = denied::hints(&path, &source).into_iter().fold(base, CliError::hinted);
                let base = base.detail("path", path);
                base.hinted(match source.kind() {
                    _ if indeterminate => "the change may have happened: look before you repeat it",
                    io::ErrorKind::NotADirectory => {
                        "see what stands where a directory belongs: anthill doctor"
                    }
                    _ => "nothing was changed; free the cause and repeat",
                })
            }
            store::Error::Invalid { .. } | store::Error::TooLarge { .. } => {
                base.hinted("nothing was changed")
            }
        }
    }
}

/// Says how to go on when the configuration is what cannot be read.
fn mendable(base: CliError, source: &io::Error) -> CliError {
    let base = base.hinted("mend it: anthill doctor --repair");
    match Unplaced::in_error(source) {
        Some(Unplaced(store::Error::Gone { .. })) => {
            base.hinted("or begin anew without it: anthill delete config .")
        }
        _ => base,
    }
}

/// How much of what was typed or found in a file is repeated.
pub const REPEATED: usize = 200;

/// Shortens what a message repeats: texts in quotes, and words without an end.
pub fn bounded(message: String) -> String {
    if message.len() <= REPEATED {
        return message;
    }
    let words = |text: &str| text.split(' ').map(cut).collect::<Vec<_>>().join(" ");
    // Every second part is in quotes.
    let parts = message.split('`').enumerate();
    let parts: Vec<String> =
        parts.map(|(at, part)| if at % 2 == 1 { cut(part) } else { words(part) }).collect();
    parts.join("`")
}

/// Shortens one text that was typed.
pub fn cut(text: &str) -> String {
    match text.chars().count() {
        length if length <= REPEATED => text.to_owned(),
        length => {
            let (first, last) = (REPEATED * 3 / 4, REPEATED / 4 - 1);
            text.chars().take(first).chain(['…']).chain(text.chars().skip(length - last)).collect()
        }
    }
}

/// An error of our own input and output, apart from the store's.
pub fn io_error(action: &str, error: &io::Error) -> CliError {
    if let Some(stranger) = roots::stranger(error) {
        return not_ours(stranger);
    }
    CliError::new(Code::Io, format!("cannot {action}: {error}"))
}

/// Says how to work in a project that somebody else has made.
fn not_ours(stranger: &Stranger) -> CliError {
    let root = shell::word(&stranger.root.display().to_string());
    CliError::new(Code::Refused, stranger.to_string())
        .hinted("make a project of your own here: mkdir .claude")
        .hinted(format!(
            "or, if you know them, name it: anthill --root {root} ..., or export ANTHILL_ROOT={root}"
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_repeats_only_so_much_of_its_cause() {
        let long = "x".repeat(5000);
        for message in
            [format!("there is no `{long}`"), format!("not JSON: {long}"), format!("`{long}` `{long}`")]
        {
            let told = CliError::invalid(message.clone()).message;
            assert!(told.split(['`', ' ']).all(|part| part.chars().count() <= REPEATED), "{told}");
            assert!(told.contains('…') && told.starts_with(&message[..5]), "{told}");
        }
        let path = format!("cannot read `/{}/tasks.json`: no", "d/".repeat(200));
        assert!(CliError::invalid(path).message.ends_with("tasks.json`: no"), "the end of a path says most");
        assert_eq!(CliError::invalid("a `b` c").message, "a `b` c");
    }
}
