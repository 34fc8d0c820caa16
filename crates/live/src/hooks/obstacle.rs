//! Why a hook does not run, and what to do about it: one answer for the log, `anthill on` and `anthill doctor`.

use std::path::{Path, PathBuf};

use anthill_core::error::Code;
use anthill_core::hint;
use anthill_core::model::hint::{Door, Hint};
use anthill_core::model::ids::SessionId;
use anthill_core::model::kind::Doc;
use anthill_core::model::next::Next;
use anthill_core::model::room::Room;
use anthill_core::ops::Result;
use anthill_core::ops::hooks;
use anthill_core::ops::trust::{self, Verdict};
use anthill_core::store::{Engine, Finding};
use anthill_core::view::text::escape;
use serde_json::Value;

use super::{fingerprint, scripts};

/// What a shell says of a command that it cannot run, or cannot find.
const NOT_STARTED: [&str; 2] = ["exit 126 ", "exit 127 "];

#[derive(Debug)]
pub struct Obstacle {
    pub why: String,
    pub fix: Hint,
}

impl Obstacle {
    /// Returns all of it, in the words of a door.
    pub fn in_words(&self, door: &dyn Door) -> String {
        format!("{}; {}", self.why, door.tell(&self.fix))
    }
}

/// The hooks of one session, and where they run.
#[derive(Debug)]
pub struct Owner<'a> {
    pub session: &'a SessionId,
    pub place: PathBuf,
}

impl<'a> Owner<'a> {
    /// Finds out where a session's hooks run: in its working directory, else in the project root.
    pub fn new(session: &'a SessionId, working_directory: Option<&str>, root: &Path) -> Owner<'a> {
        let told = working_directory.map(PathBuf::from).filter(|place| place.is_dir());
        Owner { session, place: told.unwrap_or_else(|| root.to_owned()) }
    }

    /// The same for a session of the store.
    pub fn find(engine: &dyn Engine, session: &'a SessionId, root: &Path) -> Result<Owner<'a>> {
        let state = engine.read(&Doc::session(session))?.map(|state| state.value).unwrap_or_default();
        Ok(Owner::new(session, state["context"]["working_directory"].as_str(), root))
    }

    /// Says what keeps each of these hooks from running, as things are now.
    pub fn obstacles(&self, engine: &dyn Engine, hooks: &[Value]) -> Result<Vec<Option<Obstacle>>> {
        let triggered = hooks::triggered(engine, self.session)?;
        let check = |hook: &Value| match self.obstacle(engine, hook)? {
            None if !triggered.contains(text(hook, "on")) => Ok(Some(self.unregistered(hook))),
            found => Ok(found),
        };
        hooks.iter().map(check).collect()
    }

    /// Says what keeps a hook from running, as things are now.
    pub fn obstacle(&self, engine: &dyn Engine, hook: &Value) -> Result<Option<Obstacle>> {
        let (id, command) = (text(hook, "id"), text(hook, "command"));
        if !hooks::is_enabled(hook) {
            let enable = Next::EnableHook { session: self.session.to_string(), id: id.into() };
            let fix = hint!["enable it: ", enable];
            return Ok(Some(Obstacle { why: "it is disabled".into(), fix }));
        }
        let fingerprint = match fingerprint::take(command, &self.place) {
            Ok(fingerprint) => fingerprint,
            Err(error) => {
                return Ok(Some(self.lost(hook, format!("its script cannot be read: {error}"))));
            }
        };
        Ok(match (trust::judge(engine, &fingerprint)?, fingerprint.files.first()) {
            (Verdict::Trusted, _) => None,
            (Verdict::Unknown, _) => Some(self.distrusted(command, "its command is not trusted".into())),
            (Verdict::Changed, None) => Some(self.lost(hook, "its script is gone".into())),
            (Verdict::Changed, Some(script)) => {
                let now = script.sha256.get(..12).unwrap_or_default();
                let why = format!("its script has changed since it was trusted (now {now})");
                Some(self.distrusted(command, why))
            }
        })
    }

    /// The command that trusts it has to be typed in the right directory, if its scripts have relative paths.
    fn distrusted(&self, command: &str, why: String) -> Obstacle {
        let from = scripts::are_relative(command).then(|| self.place.display().to_string());
        Obstacle { why, fix: hint!["allow it: ", Next::Trust { command: command.into(), from }] }
    }

    fn lost(&self, hook: &Value, why: String) -> Obstacle {
        let (id, session) = (text(hook, "id").to_owned(), self.session.to_string());
        Obstacle { why, fix: hint!["mend it, or drop it: ", Next::RemoveHook { session, id }] }
    }

    /// Says that a hook was only added to the document, so that no change starts it.
    fn unregistered(&self, hook: &Value) -> Obstacle {
        let (on, command) = (text(hook, "on").to_owned(), text(hook, "command").to_owned());
        let add = Next::AddHook { session: self.session.to_string(), on, command };
        let why = "it was added by hand, which registers nothing".into();
        Obstacle { why, fix: hint!["register it: ", add] }
    }

    /// Says why a hook did not run at the last change, if it did not.
    fn missed(&self, log: &str, hook: &Value) -> Option<Obstacle> {
        let last = hooks::last_told(log, &head(hook))?;
        let why = match last.strip_prefix(": not run: ") {
            Some(why) => why,
            None => last.split_once(": ").map(|(_, how)| how).filter(|how| {
                how.starts_with("could not be run") || NOT_STARTED.iter().any(|code| how.starts_with(code))
            })?,
        };
        Some(self.lost(hook, format!("it did not run at the last change: {why}")))
    }
}

/// Finds the hooks of living sessions that did not run, or will not. What is damaged is told elsewhere.
pub fn check(engine: &dyn Engine, root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for room in engine.rooms()? {
        if let Room::Session(session) = &room {
            findings.extend(check_session(engine, session, root).unwrap_or_default());
        }
    }
    Ok(findings)
}

fn check_session(engine: &dyn Engine, session: &SessionId, root: &Path) -> Result<Vec<Finding>> {
    let found = hooks::list(engine, session)?;
    let state = engine.read(&Doc::session(session))?.map(|state| state.value).unwrap_or_default();
    if found.is_empty() || hooks::is_over(&state) {
        return Ok(Vec::new());
    }
    let owner = Owner::new(session, state["context"]["working_directory"].as_str(), root);
    let (obstacles, log) = (owner.obstacles(engine, &found)?, hooks::logged(engine, session)?);
    let enabled = found.iter().zip(obstacles).filter(|(hook, _)| hooks::is_enabled(hook));
    let told = enabled.filter_map(|(hook, obstacle)| {
        let obstacle = obstacle.or_else(|| owner.missed(&log, hook))?;
        Some(finding(session, hook, obstacle))
    });
    Ok(told.collect())
}

fn finding(session: &SessionId, hook: &Value, Obstacle { why, fix }: Obstacle) -> Finding {
    let subject = format!("hook `{}` of session `{session}`", text(hook, "id"));
    Finding { code: Code::Refused, message: format!("{subject}: {why}"), subject, fix, repaired: false }
}

/// Returns what lines of the log about a hook begin with.
pub fn head(hook: &Value) -> String {
    escape(&format!("{} on {}", text(hook, "id").replace('\n', " "), text(hook, "on"))).into_owned()
}

fn text<'h>(hook: &'h Value, field: &str) -> &'h str {
    hook[field].as_str().unwrap_or_default()
}
