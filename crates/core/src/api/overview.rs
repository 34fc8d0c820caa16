//! Everything at a glance, and cleaning up; hooks of sessions, and what may run.

use serde_json::Value;

use super::documents::Select;
use super::request::{Chosen, KindName, request};
use super::{Caller, Request, Stored, answers, written};
use crate::model::documents::answers::{ArchivedNote, CleanedNote, ExaminedNote, FindingNote, Overview};
use crate::model::documents::state::{Hook, TrustedCommand};
use crate::model::hint::Door;
use crate::model::ids::{Key, ProjectId, SessionId};
use crate::model::kind::Kind;
use crate::model::room::Room;
use crate::model::when::When;
use crate::ops::archive::{self, Archived};
use crate::ops::clean::{self, Cleaned, What};
use crate::ops::doctor::{self, Between};
use crate::ops::hooks::{self, NewHook, Registered};
use crate::ops::settings::Settings;
use crate::ops::status::{self, Status, Wanted};
use crate::ops::{Result, trust};
use crate::store::{Finding, Kept};

request!(
    /// Show how everything stands: sessions, queue, workflow, pipeline, loop, errors, messages.
    ShowStatus("team.status", Reads, "status", "{}") {
        /// Only the sessions of this project.
        project_id: Option<ProjectId>,
        /// Whose messages are counted; the caller's own session's unless told.
        session_id: Option<SessionId>,
    }
);

answers! {
    Status: Overview, status => &status.value, warns &status.warnings;
    Examined: ExaminedNote, examined => written(&examined.note());
    CleanedUp: CleanedNote, cleaned => written(&cleaned.note()), warns &cleaned.cleaned.warnings;
    MadeRoom: ArchivedNote, made => written(&made.note()), warns &made.archived.warnings;
    Registered: Hook, registered => &registered.hook, warns &registered.warnings;
}

impl Request for ShowStatus {
    type Answer = Status;

    fn perform(self, caller: &Caller<'_>) -> Result<Status> {
        let session = self.session_id.or_else(|| caller.session());
        let project = self.project_id.as_ref().map(ProjectId::as_str);
        Ok(status::look(caller.engine, &Wanted { project, session: session.as_ref() }, caller.actor))
    }
}

request!(
    /// Look for damage in all rooms and for what keeps the team from working, and mend it if that is wanted.
    Examine("team.doctor", Changes, "doctor", "{}") {
        /// Restore the last good content of damaged files; the bad ones are kept.
        repair: bool,
    }
);

/// What was found in all rooms.
#[derive(Debug)]
pub struct Examined {
    pub findings: Vec<Finding>,
    /// What is no damage.
    pub obstacles: Vec<Finding>,
    pub notes: Vec<String>,
    door: &'static dyn Door,
    /// What was looked at between documents.
    pub looked: Vec<&'static str>,
}

impl Examined {
    /// Returns the first damage that is not mended.
    pub fn open(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| !finding.repaired)
    }

    fn note(&self) -> ExaminedNote {
        let severity = |finding: &Finding| if finding.repaired { "repaired" } else { "error" };
        let found = self.findings.iter().map(|finding| self.noted(finding, severity(finding)));
        let warned = self.obstacles.iter().map(|finding| self.noted(finding, "warning"));
        let findings = found.chain(warned).collect();
        ExaminedNote { ok: self.open().is_none(), findings, notes: self.notes.clone() }
    }

    fn noted(&self, finding: &Finding, severity: &str) -> FindingNote {
        FindingNote {
            code: finding.code.facts().word.into(),
            severity: severity.into(),
            subject: finding.subject.clone(),
            message: finding.message.clone(),
            fix: self.door.tell(&finding.fix),
        }
    }
}

impl Request for Examine {
    type Answer = Examined;

    fn perform(self, caller: &Caller<'_>) -> Result<Examined> {
        let findings = doctor::doctor(caller.engine, self.repair)?;
        let Between { looked, findings: disagreements } = doctor::between(caller.engine, caller.actor)?;
        let mut obstacles = caller.around.obstacles()?;
        obstacles.extend(disagreements);
        let door = caller.actor.door;
        let notes = doctor::notes(caller.engine, caller.actor)?;
        let mut notes: Vec<String> = notes.iter().map(|note| door.tell(note)).collect();
        // What was replaced just now is told with what it was replaced for.
        let is_told = |note: &str| {
            let path = note.split('`').nth(1);
            path.is_some_and(|path| findings.iter().any(|finding| door.tell(&finding.fix).contains(path)))
        };
        notes.retain(|note| !is_told(note));
        Ok(Examined { findings, obstacles, notes, door, looked })
    }
}

request!(
    /// Clean up what sessions leave behind: results of agents, errors, old backups; it can be taken back.
    CleanUp("team.clean", Removes, "clean", r#"{"dry_run": true}"#) {
        /// Reset everything below the project's state, the workflow and the views too.
        all: bool,
        /// Reset the loop.
        of_loop as "loop": bool,
        /// Reset the agents and their results.
        agents: bool,
        /// Only say what would be removed.
        dry_run: bool,
    }
);

/// What was removed, or would be.
#[derive(Debug)]
pub struct CleanedUp {
    pub cleaned: Cleaned,
    /// How what is gone was called.
    pub removed: Vec<String>,
    pub dry_run: bool,
}

impl CleanedUp {
    fn note(&self) -> CleanedNote {
        CleanedNote { removed: self.removed.clone(), dry_run: self.dry_run }
    }
}

impl Request for CleanUp {
    type Answer = CleanedUp;

    fn perform(self, caller: &Caller<'_>) -> Result<CleanedUp> {
        let told = [(self.all, What::All), (self.of_loop, What::Loop), (self.agents, What::Agents)];
        let mut what: Vec<_> = told.iter().filter(|(on, _)| *on).map(|(_, what)| *what).collect();
        if what.is_empty() {
            what.push(What::Session);
        }
        let cleaned = clean::clean(caller.engine, &what, self.dry_run, caller.actor)?;
        let kept =
            cleaned.documents.iter().map(Kept::Document).chain(cleaned.text_files.iter().map(Kept::TextFile));
        let removed = kept.map(|kept| caller.engine.called(kept).path).collect();
        Ok(CleanedUp { cleaned, removed, dry_run: self.dry_run })
    }
}

request!(
    /// Archive what has been over for long: sessions, messages that were done with, tasks that are done.
    ArchiveOld("team.archive", Changes, "", r#"{"older_than": "30d", "dry_run": true}"#) {
        /// For how long, or since when: `30d`, `12h`, `monday`, a date or seconds; what the configuration says unless told.
        older_than: Option<When>,
        /// Only say what would be archived.
        dry_run: bool,
    }
);

/// What was archived, or would be.
#[derive(Debug)]
pub struct MadeRoom {
    pub archived: Archived,
    pub dry_run: bool,
}

impl MadeRoom {
    fn note(&self) -> ArchivedNote {
        let Archived { sessions, messages, tasks, .. } = &self.archived;
        let (sessions, tasks) = (sessions.clone(), tasks.clone());
        ArchivedNote { sessions, messages: (*messages).into(), tasks, dry_run: self.dry_run }
    }
}

impl Request for ArchiveOld {
    type Answer = MadeRoom;

    fn perform(self, caller: &Caller<'_>) -> Result<MadeRoom> {
        let (now, dry_run) = (caller.actor.now(), self.dry_run);
        let request = match self.older_than {
            None => archive::Request::of(&Settings::read(caller.engine)?, now),
            Some(age) => archive::Request::before(caller.moment(&age)?),
        };
        let request = archive::Request { dry_run, ..request };
        Ok(MadeRoom { archived: archive::all(caller.engine, request, caller.actor)?, dry_run })
    }
}

request!(
    /// Let a command run after changes of a kind of documents, while a session is there. Only trusted commands run.
    AddHook("hook.add", Changes, "", r#"{"kind": "epics", "command": "true", "session_id": "s2"}"#) {
        /// The kind of documents.
        kind: KindName,
        /// The command to run.
        command: String,
        /// Name of the hook; the kind and a number unless told.
        id: Option<Chosen<Key>>,
        /// Whose hook; the caller's own session's unless told.
        session_id: Option<SessionId>,
    }
);

impl Request for AddHook {
    type Answer = Registered;

    fn perform(self, caller: &Caller<'_>) -> Result<Registered> {
        let session = owner(caller, self.session_id)?;
        let id = self.id.map(|Chosen(id)| id);
        let new = NewHook { session: &session, on: self.kind.0, command: &self.command, id: id.as_ref() };
        hooks::register(caller.engine, &new, caller.actor)
    }
}

/// Returns the session whose hooks are meant.
fn owner(caller: &Caller<'_>, told: Option<SessionId>) -> Result<SessionId> {
    let kind = Kind::find("hooks").expect("hooks is a kind");
    match (Select { session_id: told, ..Select::of(kind) }).find(caller)?.room {
        Room::Session(session) => Ok(session),
        _ => unreachable!("BUG: hooks belong to a session"),
    }
}

request!(
    /// List the hooks of a session.
    ListHooks("hook.list", Reads, "on", r#"{"session_id": "s2"}"#) {
        /// Whose hooks; the caller's own session's unless told.
        session_id: Option<SessionId>,
    }
);

impl Request for ListHooks {
    type Answer = Stored<Vec<Hook>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<Hook>>> {
        hooks::list(caller.engine, &owner(caller, self.session_id)?).map(Stored::new)
    }
}

request!(
    /// Remove a hook of a session.
    RemoveHook("hook.remove", Removes, "", r#"{"id": "epics-1", "session_id": "s2"}"#) {
        /// The hook.
        id: String,
        /// Whose hook; the caller's own session's unless told.
        session_id: Option<SessionId>,
    }
);

impl Request for RemoveHook {
    type Answer = Stored<Hook>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Hook>> {
        let session = owner(caller, self.session_id)?;
        hooks::remove(caller.engine, &session, &self.id, caller.actor).map(Stored::new)
    }
}

request!(
    /// List the commands that may run.
    ListTrusted("trust.list", Reads, "trust", "{}") {}
);

impl Request for ListTrusted {
    type Answer = Stored<Vec<TrustedCommand>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<TrustedCommand>>> {
        trust::list(caller.engine).map(|found| Stored::new(Value::Array(found)))
    }
}

request!(
    /// Let a command run no longer, also as a project's.
    Distrust("trust.remove", Removes, "", r#"{"command": "true"}"#) {
        /// The command, exactly as it was trusted.
        command: String,
    }
);

impl Request for Distrust {
    type Answer = Stored<Vec<TrustedCommand>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<TrustedCommand>>> {
        trust::distrust(caller.engine, &self.command, caller.actor).map(Stored::new)
    }
}
