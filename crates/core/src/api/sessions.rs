//! Sessions: who is at work.

use std::time::Duration;

use super::request::{Chosen, Minutes, request};
use super::{Caller, Request, Stored, answers};
use crate::model::documents::answers::SeenSession;
use crate::model::documents::state::Session;
use crate::model::hint::Hint;
use crate::model::ids::{Key, ProjectId, SessionId};
use crate::model::session::{Start, Status, Whereabouts};
use crate::model::shape::words;
use crate::ops::sessions::handoff::{self, HandedOver, Handoff};
use crate::ops::sessions::look::{self, Shown, Wanted};
use crate::ops::sessions::{self, Changed};
use crate::ops::{Error, Result};

request!(
    /// Start a session, or start it again: what you tell replaces what is known of it.
    StartSession("session.start", Changes, "session start", r#"{"id": "s1", "project_id": "myapp"}"#) {
        /// The session; a new id unless told.
        id: Option<Chosen<SessionId>>,
        /// The project that it works on; the caller's own, or the configuration's default, unless told.
        project_id: Option<Chosen<ProjectId>>,
        /// Where it works; where the caller is unless told.
        working_directory: Option<String>,
    }
);

/// A session that has started, and those that were given up on the way.
#[derive(Debug)]
pub struct Started {
    pub changed: Changed,
    pub expired: Vec<Changed>,
    warnings: Vec<Hint>,
}

answers! {
    Started: Session, started => started.changed.session.value(), warns &started.warnings;
    Changed: Session, changed => changed.session.value(), warns &changed.warnings;
    HandedOver: Session, handed => handed.to.session.value(), warns &handed.to.warnings;
    Shown: Session, shown => shown.session.value();
    Sessions: Vec<SeenSession>, found => &found.sessions.value, warns &found.sessions.warnings;
}

impl Request for StartSession {
    type Answer = Started;

    fn perform(self, caller: &Caller<'_>) -> Result<Started> {
        let told = self.working_directory.is_some();
        let directory = self.working_directory.or_else(|| caller.around.directory());
        let branch = directory.as_deref().and_then(|directory| caller.around.branch(directory));
        let start = Start {
            project: self.project_id.map(|Chosen(project)| project),
            default_project: caller.around.project().map(|project| project.to_string()),
            whereabouts: Whereabouts { directory, branch, told },
            user: caller.actor.user.clone(),
            sparing: false,
        };
        let id = self.id.map(|Chosen(id)| id);
        let changed = sessions::start(caller.engine, id.as_ref(), &start, caller.actor)?;
        // The session has started: what others left behind is no reason to fail.
        let (expired, mut warnings) = match look::expire_overdue(caller.engine, caller.actor) {
            Ok(expired) => (expired, Vec::new()),
            Err(error) => (Vec::new(), vec![format!("did not look for silent sessions: {error}").into()]),
        };
        warnings.extend(changed.warnings.iter().cloned());
        Ok(Started { changed, expired, warnings })
    }
}

words!(
    /// How a session that is there says it stands.
    Presence { Active = "active", Idle = "idle" }
);

request!(
    /// Give a sign of life of a session.
    RenewSession("session.heartbeat", Changes, "session heartbeat", r#"{"id": "s1"}"#) {
        /// The session.
        id: SessionId,
        /// How it stands; active unless told.
        status: Option<Presence>,
    }
);

impl Request for RenewSession {
    type Answer = Changed;

    fn perform(self, caller: &Caller<'_>) -> Result<Changed> {
        let status = match self.status.unwrap_or_default() {
            Presence::Active => Status::Active,
            Presence::Idle => Status::Idle,
        };
        sessions::heartbeat(caller.engine, &self.id, status, caller.actor)
    }
}

request!(
    /// List sessions, the one that was heard of last first. Those that are silent for too long are given up on the way.
    ListSessions("session.list", Changes, "session list", r#"{"active": true}"#) {
        /// Only those that are active or idle and were heard of in the last minutes.
        active: bool,
        /// Only those that went to the archive.
        archived: bool,
        /// Only those of this project.
        project_id: Option<ProjectId>,
        /// How many minutes an active session may have been silent; 5 unless told.
        timeout_minutes: Option<Minutes>,
    }
);

/// Sessions, and those that were given up on the way.
#[derive(Debug)]
pub struct Sessions {
    pub sessions: Stored<Vec<SeenSession>>,
    pub expired: Vec<Changed>,
}

/// How many minutes an active session may have been silent, unless told.
pub const MINUTES: f64 = 5.0;

impl Request for ListSessions {
    type Answer = Sessions;

    fn perform(self, caller: &Caller<'_>) -> Result<Sessions> {
        let project = self.project_id.as_ref().map(ProjectId::as_str);
        if self.archived && self.active {
            return Err(Error::Input("what is active is in no archive".into()));
        }
        if self.archived {
            let sessions = look::archived(caller.engine, project, caller.actor)?;
            return Ok(Sessions { sessions: Stored::new(sessions), expired: Vec::new() });
        }
        let minutes = self.timeout_minutes.map_or(MINUTES, Minutes::get);
        let active_within = self.active.then(|| Duration::from_secs_f64(minutes * 60.0));
        let found = look::list(caller.engine, &Wanted { active_within, project }, caller.actor)?;
        Ok(Sessions { sessions: Stored::new(found.sessions).warned(found.warnings), expired: found.expired })
    }
}

request!(
    /// Show a session as it is stored. If it is silent for too long it is given up on the way.
    ShowSession("session.show", Changes, "session show", r#"{"id": "s1"}"#) {
        /// The session.
        id: SessionId,
    }
);

impl Request for ShowSession {
    type Answer = Shown;

    fn perform(self, caller: &Caller<'_>) -> Result<Shown> {
        look::show(caller.engine, &self.id, caller.actor)
    }
}

request!(
    /// Hand work over to another session: all that is open, or one task.
    HandOver("session.handoff", Changes, "session handoff", r#"{"from": "s1", "to": "s2", "context": "the tests are left"}"#) {
        /// The session that has the work.
        from: SessionId,
        /// The session that takes it.
        to: SessionId,
        /// Only this task, of its own list or of the queue.
        task: Option<Key>,
        /// What the other session should know.
        context: Option<String>,
    }
);

impl Request for HandOver {
    type Answer = HandedOver;

    fn perform(self, caller: &Caller<'_>) -> Result<HandedOver> {
        let handoff = Handoff {
            from: &self.from,
            to: &self.to,
            task: self.task.as_ref(),
            context: self.context.as_deref(),
            same_agent: false,
        };
        handoff::handoff(caller.engine, handoff, caller.actor)
    }
}

request!(
    /// End a session: what it has in the queue goes back for others.
    EndSession("session.end", Changes, "session end", r#"{"id": "s1"}"#) {
        /// The session.
        id: SessionId,
    }
);

impl Request for EndSession {
    type Answer = Changed;

    fn perform(self, caller: &Caller<'_>) -> Result<Changed> {
        sessions::end(caller.engine, &self.id, caller.actor)
    }
}
