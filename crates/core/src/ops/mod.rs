//! Use cases: one function each, one transaction each. They know no flags, terminal or HTTP.

pub mod agent_loop;
pub mod agents;
pub mod archive;
pub mod clean;
pub mod client;
pub mod compact;
pub mod doctor;
pub mod edit;
pub mod errors;
pub mod history;
pub mod hooks;
pub mod merge;
pub mod messages;
pub mod orchestrate;
pub mod pipeline;
pub mod planning;
pub mod queue;
pub mod read;
pub mod sessions;
pub mod settings;
pub mod status;
pub mod surplus;
pub mod trust;
mod views;
pub mod workflow;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::error::Code;
use crate::model::hint::{Door, Hint};
use crate::model::kind::{Doc, Kind};
use crate::model::path::PathError;
use crate::model::room::Room;
use crate::model::task::Refusal;
use crate::model::time::Clock;
use crate::store::{self, Durability, Engine, Entry, Transaction};

/// Who does something, and when.
#[derive(Debug, Clone)]
pub struct Actor {
    pub clock: Arc<dyn Clock>,
    /// The session at work, if known: what is claimed, sent or taken is its.
    pub session: Option<String>,
    /// The session that the environment names. It is the author of a change, also of one that is done for another.
    pub acting: Option<String>,
    /// Who it is when there is no session.
    pub user: String,
    /// Who finds the words for what is proposed to do next.
    pub door: &'static dyn Door,
}

impl Actor {
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the session that acts, if one is known.
    pub fn speaker(&self) -> Option<&String> {
        self.acting.as_ref().or(self.session.as_ref())
    }

    /// Returns who acts: a session that is known, else whoever is named for this.
    fn author(&self, otherwise: &str) -> String {
        self.speaker().map_or(otherwise, |session| session).to_owned()
    }

    /// Returns who acts in a role, such as a worker: the role tells more than a session that was only told.
    fn in_role(&self, role: &str) -> String {
        self.acting.as_deref().unwrap_or(role).to_owned()
    }

    fn entry(&self, op: &str) -> Entry {
        let by = self.author(&self.user);
        Entry {
            at: self.now(),
            author: Some(by.clone()),
            by,
            op: op.into(),
            undoes: None,
            token: None,
            durability: Durability::Synced,
        }
    }
}

/// Returns a document of `.claude/state`.
fn document_of_state(kind: &str) -> Doc {
    Doc::shared(Kind::find(kind).expect("a kind of the registry"), Room::State)
}

/// Opens a room for somebody who only asks what would be: where nothing can be written, a look is enough.
fn begin_to_ask<'e>(engine: &'e dyn Engine, room: &Room) -> Result<Box<dyn Transaction + 'e>> {
    match engine.begin(&[room]) {
        Err(error) if error.is_read_only() => Ok(engine.browse(room)?.ok_or(error)?),
        transaction => Ok(transaction?),
    }
}

/// Reads a document whose damage is to cost only itself: then it counts as not there.
fn readable(transaction: &mut dyn Transaction, doc: &Doc) -> Result<Option<Value>> {
    match transaction.get(doc) {
        Err(error) if error.code() == Code::Damaged => Ok(None),
        found => Ok(found?.cloned()),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("there is no {kind} yet: `{place}` does not exist")]
    NoDocument {
        kind: &'static str,
        place: String,
        /// How to bring it back, if somebody removed it.
        removed: Option<Hint>,
    },
    #[error("`{subject}` is at revision {found}, not {expected}: somebody else changed it")]
    Conflict { subject: String, expected: u64, found: u64 },
    #[error("revision {revision} of {kind} is not kept; known are {known}")]
    NoRevision { kind: &'static str, revision: u64, known: String },
    #[error("there is nothing to undo in {kind}")]
    NothingToUndo { kind: &'static str },
    /// Changes of others, newest first: revision, operation and whose it is.
    #[error("{}", of_others(kind, taken))]
    OfOthers { kind: &'static str, taken: Vec<(u64, String, String)> },
    #[error("{} would be gone from {kind}, and with it how often it was claimed", claimed(id, *count))]
    ClaimedSince { kind: &'static str, id: String, count: usize },
    #[error("{kind} has no list of items")]
    NoList { kind: &'static str },
    #[error("`{field}` is kept by anthill and cannot be set or deleted")]
    ManagedField { field: String },
    /// There is no such list to append to.
    #[error("{message}")]
    NoSuchList { message: String, hint: Hint },
    #[error("{0}")]
    Input(String),
    #[error("there is no task `{id}`")]
    NoTask { id: String },
    #[error("there is no worker `{worker}`, and it has no task")]
    NoWorker { worker: String },
    #[error("`{worker}` has no task by lease {epoch}")]
    NoLease { worker: String, epoch: u64 },
    #[error("there is another task `{id}` already")]
    OtherTask { id: String },
    #[error("the task {of:?} depends on `{id}`, which does not exist")]
    UnknownDependency { id: String, of: String },
    #[error("tasks depend on each other in a circle: {} -> {}", ids.join(" -> "), ids[0])]
    Circle { ids: Vec<String> },
    #[error("there are no results yet")]
    NoResults,
    #[error("nothing is ready to be claimed")]
    NothingReady { worker: String, others_work: bool },
    #[error("nothing to change: say what is to be different")]
    NothingToEdit { id: String },
    #[error("nothing to change: say what the task's status is, or who has it")]
    NothingToUpdate,
    /// A kind of which there are many documents, and what would say which one.
    #[error("{kind} needs a {by}: it is kept at `{path}`")]
    Unnamed { kind: &'static str, by: &'static str, path: String },
    /// Somebody wants to be sure that there is a reader.
    #[error("there is no session `{session}`")]
    NoReader { session: String },
    #[error("nothing of `{kind}` goes to an archive")]
    NoArchive { kind: &'static str },
    #[error("whose task is not known")]
    WhoseTask,
    #[error("`{name}` has no task in hand")]
    NothingInHand { name: String },
    #[error("`{name}` has {} tasks in hand: {}", ids.len(), ids.join(", "))]
    SeveralInHand { name: String, ids: Vec<String> },
    /// What is asked for does not mean anything.
    #[error("{message}")]
    Invalid { message: String, hint: Hint },
    #[error(transparent)]
    Task(Refusal),
    /// A rule says no.
    #[error("{message}")]
    Refused { message: String, hint: Hint },
    /// One thing that is not there.
    #[error("{message}")]
    Missing { message: String, hint: Hint },
    /// Somebody was faster, or means something else by the same id.
    #[error("{message}")]
    Clash { message: String, hint: Hint },
}

impl Error {
    pub fn code(&self) -> Code {
        match self {
            Error::Store(error) => error.code(),
            Error::Path(PathError::NotFound { .. }) => Code::NotFound,
            Error::Path(_) | Error::ManagedField { .. } | Error::NoSuchList { .. } => Code::Invalid,
            Error::NoList { .. } | Error::Input(_) => Code::Invalid,
            Error::NoDocument { .. } | Error::NoRevision { .. } => Code::NotFound,
            Error::NothingToUndo { .. } | Error::OfOthers { .. } | Error::ClaimedSince { .. } => {
                Code::Refused
            }
            Error::Conflict { .. } | Error::OtherTask { .. } | Error::NoLease { .. } => Code::Conflict,
            Error::UnknownDependency { .. } | Error::Circle { .. } => Code::Invalid,
            Error::NoTask { .. } | Error::NoWorker { .. } | Error::NoResults => Code::NotFound,
            Error::NothingReady { .. } | Error::NothingInHand { .. } | Error::NoReader { .. } => {
                Code::NotFound
            }
            Error::NothingToEdit { .. }
            | Error::NothingToUpdate
            | Error::WhoseTask
            | Error::SeveralInHand { .. } => Code::Invalid,
            Error::Invalid { .. } | Error::Unnamed { .. } | Error::NoArchive { .. } => Code::Invalid,
            Error::Task(Refusal::Taken { .. } | Refusal::LeaseOver { .. }) => Code::Conflict,
            Error::Task(Refusal::WrongState { .. }) | Error::Refused { .. } => Code::Refused,
            Error::Missing { .. } => Code::NotFound,
            Error::Clash { .. } => Code::Conflict,
        }
    }

    /// A rule says no; `hint` is what to do instead.
    pub fn refused(message: impl Into<String>, hint: impl Into<Hint>) -> Error {
        Error::Refused { message: message.into(), hint: hint.into() }
    }

    /// What is asked for does not mean anything.
    pub fn invalid(message: impl Into<String>, hint: impl Into<Hint>) -> Error {
        Error::Invalid { message: message.into(), hint: hint.into() }
    }

    pub fn missing(message: impl Into<String>, hint: impl Into<Hint>) -> Error {
        Error::Missing { message: message.into(), hint: hint.into() }
    }

    pub fn clash(message: impl Into<String>, hint: impl Into<Hint>) -> Error {
        Error::Clash { message: message.into(), hint: hint.into() }
    }

    pub fn indeterminate(&self) -> bool {
        matches!(self, Error::Store(error) if error.indeterminate())
    }
}

fn of_others(kind: &str, taken: &[(u64, String, String)]) -> String {
    let told =
        |(revision, op, whose): &(u64, String, String)| format!("revision {revision} ({op}) by {whose}");
    let first: Vec<_> = taken.iter().take(3).map(told).collect();
    let more = if taken.len() > 3 { format!(" and {} more", taken.len() - 3) } else { String::new() };
    format!("this would take back changes of {kind} that are not yours: {}{more}", first.join(", "))
}

fn claimed(id: &str, count: usize) -> String {
    match count {
        1 => format!("`{id}`, which was claimed already,"),
        count => format!("`{id}` and {} more, which were claimed already,", count - 1),
    }
}

pub type Result<T> = std::result::Result<T, Error>;
