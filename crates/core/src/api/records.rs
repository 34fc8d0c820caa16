//! What hooks and agents keep: errors and their retries, results, figures, backups.

use serde_json::{Map, Value};

use super::request::{Seconds, request};
use super::{Caller, Request, Stored, answers, written};
use crate::model::documents::agent_loop::{ActiveAgent, ClassifiedError, Finding, Preserved};
use crate::model::documents::answers::{RestoredBackup, RestoredDocument};
use crate::model::documents::{AgentResult, Backup, Metrics};
use crate::model::error_class::ErrorClass;
use crate::model::hint::Hint;
use crate::model::ids::Key;
use crate::model::key::Fields;
use crate::model::kind::{Doc, Kind};
use crate::model::room::Room;
use crate::model::service;
use crate::model::shape::words;
use crate::ops::compact::{self, Comparison, NewBackup, Restored};
use crate::ops::errors::{self, NewError};
use crate::ops::{Result, agents, read};

request!(
    /// Record an error: its class says how often and when it is tried again.
    RecordError("error.record", Changes, "error record", r#"{"message": "Connection timeout", "tool": "WebFetch"}"#) {
        /// What went wrong.
        message: String,
        /// The class; told by the message unless given.
        classification: Option<ErrorClass>,
        /// The tool that failed.
        tool: Option<String>,
        /// The file that it is about (kept in the context).
        file: Option<String>,
        /// The agent that met it (kept in the context).
        agent_id: Option<String>,
        /// More about it.
        context: Option<Map<String, Value>>,
        /// How many seconds the other side says to wait; what the message says unless told.
        retry_after: Option<Seconds>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

answers! {
    errors::ErrorChanged: ClassifiedError, done => &done.error, warns &done.warnings;
    Merged: Vec<Finding>, merged => &merged.findings.value, warns &merged.findings.warnings;
    compact::BackupMade: Backup, done => &done.backup.value, warns &done.warnings;
    Backups: Vec<Backup>, backups => {
        backups.backups.iter().map(|backup| backup.value.clone()).collect::<Value>()
    }, warns &backups.warnings;
    Restored: RestoredBackup, restored => written(&note(restored)), warns &restored.warnings;
}

impl Request for RecordError {
    type Answer = errors::ErrorChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<errors::ErrorChanged> {
        let mut context = self.context.unwrap_or_default();
        let more = [("file", self.file), ("agent_id", self.agent_id)];
        context.extend(more.into_iter().filter_map(|(name, text)| Some((name.into(), text?.into()))));
        let told = self.retry_after.map(|after| std::time::Duration::from_secs_f64(after.get()));
        let now = caller.actor.now().to_zoned(caller.around.zone());
        let retry_after = told.or_else(|| service::wait(&self.message, &now));
        let new = NewError {
            class: self.classification,
            message: self.message,
            tool: self.tool,
            context,
            retry_after,
        };
        errors::record(caller.engine, &new, self.expect_revision, caller.actor)
    }
}

request!(
    /// Say that an error is dealt with.
    ResolveError("error.resolve", Changes, "error resolve", r#"{"id": "error-1"}"#) {
        /// The error.
        id: String,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for ResolveError {
    type Answer = errors::ErrorChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<errors::ErrorChanged> {
        errors::resolve(caller.engine, &self.id, self.expect_revision, caller.actor)
    }
}

words!(
    /// How an error stands.
    ErrorState { Pending = "pending_retry", Recovered = "recovered", Escalated = "escalated" }
);

request!(
    /// List errors.
    ListErrors("error.list", Reads, "error list", r#"{"status": "pending_retry"}"#) {
        /// Only errors that stand so.
        status: Option<ErrorState>,
        /// Also those that are in an archive.
        all: bool,
    }
);

impl Request for ListErrors {
    type Answer = Stored<Vec<ClassifiedError>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<ClassifiedError>>> {
        let wanted = self.status.map(|status| match status {
            ErrorState::Pending => errors::ErrorState::Pending,
            ErrorState::Recovered => errors::ErrorState::Recovered,
            ErrorState::Escalated => errors::ErrorState::Escalated,
        });
        let found = match self.all {
            true => errors::list_all(caller.engine, wanted)?,
            false => errors::list(caller.engine, wanted)?,
        };
        Ok(Stored::new(found))
    }
}

request!(
    /// List the errors that may be tried again now.
    ListDue("error.due", Reads, "error due", "{}") {}
);

impl Request for ListDue {
    type Answer = Stored<Vec<ClassifiedError>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<ClassifiedError>>> {
        errors::due(caller.engine, caller.actor).map(Stored::new)
    }
}

request!(
    /// List the agents of the session.
    ListAgents("agent.list", Reads, "agents list", "{}") {
        /// Only agents with this status.
        status: Option<String>,
    }
);

impl Request for ListAgents {
    type Answer = Stored<Vec<ActiveAgent>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<ActiveAgent>>> {
        agents::list(caller.engine, self.status.as_deref()).map(Stored::new)
    }
}

request!(
    /// Show what an agent found.
    ShowResult("agent.result", Reads, "agents result", r#"{"agent_id": "agent-1"}"#) {
        /// The agent.
        agent_id: Key,
    }
);

impl Request for ShowResult {
    type Answer = Stored<AgentResult>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<AgentResult>> {
        agents::result(caller.engine, &self.agent_id).map(Stored::new)
    }
}

request!(
    /// Put the findings of all agents together, each once.
    MergeFindings("agent.merge", Reads, "agents merge", "{}") {}
);

/// Findings, and of how many results.
#[derive(Debug)]
pub struct Merged {
    pub findings: Stored<Vec<Finding>>,
    pub results: usize,
}

impl Request for MergeFindings {
    type Answer = Merged;

    fn perform(self, caller: &Caller<'_>) -> Result<Merged> {
        let merged = agents::merge(caller.engine)?;
        Ok(Merged { findings: Stored::new(merged.findings).warned(merged.warnings), results: merged.results })
    }
}

request!(
    /// Show the figures that sessions have left.
    ShowMetrics("metrics.show", Reads, "metrics", "{}") {}
);

impl Request for ShowMetrics {
    type Answer = Stored<Metrics>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Metrics>> {
        let doc = Doc::shared(Kind::find("metrics").expect("metrics is a kind"), Room::State);
        read::document(caller.engine, &doc).map(|found| Stored::new(found.value))
    }
}

request!(
    /// Back up what matters before a client shortens its context.
    MakeBackup("backup.make", Changes, "compact backup", r#"{"reason": "before the end"}"#) {
        /// Why it is made; manual unless told.
        reason: Option<String>,
        /// How many tokens the context has.
        context_tokens: Option<u64>,
        /// The files in the context.
        files: Vec<String>,
    }
);

impl Request for MakeBackup {
    type Answer = compact::BackupMade;

    fn perform(self, caller: &Caller<'_>) -> Result<compact::BackupMade> {
        let reason = self.reason.unwrap_or_else(|| "manual".into());
        let new = NewBackup { reason, context_tokens: self.context_tokens, files: self.files };
        compact::backup(caller.engine, &new, caller.actor)
    }
}

request!(
    /// List the backups.
    ListBackups("backup.list", Reads, "compact list", "{}") {}
);

/// Backups, the newest last.
#[derive(Debug)]
pub struct Backups {
    pub backups: Vec<compact::Backup>,
    warnings: Vec<Hint>,
}

impl Request for ListBackups {
    type Answer = Backups;

    fn perform(self, caller: &Caller<'_>) -> Result<Backups> {
        let (backups, warnings) = compact::list(caller.engine)?;
        let warnings = warnings.into_iter().map(Hint::from).collect();
        Ok(Backups { backups, warnings })
    }
}

request!(
    /// Compare a backup with what is there, and write it back if that is wanted.
    RestoreBackup("backup.restore", Changes, "compact restore", "{}") {
        /// The backup, or its time; the newest of the caller's session unless told.
        timestamp: Option<String>,
        /// Write it back.
        apply: bool,
    }
);

impl Request for RestoreBackup {
    type Answer = Restored;

    fn perform(self, caller: &Caller<'_>) -> Result<Restored> {
        compact::restore(caller.engine, self.timestamp.as_deref(), self.apply, caller.actor)
    }
}

fn note(restored: &Restored) -> RestoredBackup {
    let document = |(kind, standing): &(&str, Comparison)| {
        let found = match standing {
            Comparison::Same => "same",
            Comparison::Missing => "missing",
            Comparison::Differs => "differs",
            Comparison::Damaged => "damaged",
        };
        let restored = restored.applied && matches!(standing, Comparison::Missing | Comparison::Differs);
        RestoredDocument { kind: (*kind).into(), found: found.into(), restored }
    };
    let backup = &restored.backup.value;
    RestoredBackup {
        backup: restored.backup.key.clone(),
        timestamp: backup.at(Backup::timestamp).cloned().unwrap_or_default(),
        applied: restored.applied,
        documents: restored.documents.iter().map(document).collect(),
        claims: backup
            .at(Backup::preserved)
            .at(Preserved::claims)
            .cloned()
            .unwrap_or_else(|| Value::Array(Vec::new())),
    }
}
