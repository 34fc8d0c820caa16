//! Text files: the texts that stand beside the documents, for people and agents to read.
//!
//! A text file has no revision and no history of its own. It is written, or a piece appended to it, in the same
//! commit as the documents that it tells of. People may edit text files as they like.

use super::ids::{Key, SessionId};
use super::room::Room;

/// The address of one text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextFile {
    /// The leader's plan. Written once, then it belongs to people.
    Plan,
    /// All results in one text.
    Summary,
    /// What workers found out, for everybody. Grows.
    Discoveries,
    /// What one leader or worker did. Grows.
    Log(Key),
    /// What came out of one task.
    Result(Key),
    /// What the command or agent of a task printed, the last time.
    TaskLog(Key),
    /// What the hooks of a session did. Grows.
    HookLog(SessionId),
    /// How far the workflow is. It stands beside its room, where people look first.
    WorkflowView,
    /// How far the loop is.
    LoopState,
    /// The last of what the command of a gate printed.
    GateLog(Key),
    /// What the agent of an item of the loop printed, the last time.
    ItemLog(Key),
    /// What the agents of one order of the pipeline printed. Grows with every try.
    AgentLog(Key),
    /// What came of a run of the pipeline, for people.
    RunReport,
    /// A workflow that made room for the next one, as JSON.
    OldWorkflow(Key),
    /// Sessions or messages that had to make room, one JSON line each, by their month: `sessions-2026-11`.
    Archive(Key),
    /// The same for tasks of the queue.
    OldTasks(Key),
    /// The same for what is over of a project's state: `errors-2026-11`.
    OldState(Key),
    /// One message, as JSON, in one of the trays of a mailbox.
    Message { mailbox: SessionId, tray: Tray, id: Key },
}

/// Where a message lies in a mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tray {
    Inbox,
    /// The sender's copy.
    Outbox,
    /// Done with, or expired unread.
    Processed,
}

impl Tray {
    pub const ALL: [Tray; 3] = [Tray::Inbox, Tray::Outbox, Tray::Processed];

    pub fn word(self) -> &'static str {
        match self {
            Tray::Inbox => "inbox",
            Tray::Outbox => "outbox",
            Tray::Processed => "processed",
        }
    }
}

/// Texts of one sort, of which a room has many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFiles {
    /// The messages in a tray of a mailbox.
    Messages(Tray),
    /// The results of tasks.
    Results,
    /// The logs of leader and workers.
    Logs,
    /// What is over and had to make room.
    Archived,
}

impl TextFiles {
    /// Whether a text is one of them.
    pub fn have(self, text_file: &TextFile) -> bool {
        match (self, text_file) {
            (TextFiles::Messages(of), TextFile::Message { tray, .. }) => of == *tray,
            (TextFiles::Results, TextFile::Result(_)) | (TextFiles::Logs, TextFile::Log(_)) => true,
            (TextFiles::Archived, TextFile::Archive(_) | TextFile::OldTasks(_) | TextFile::OldState(_)) => {
                true
            }
            _ => false,
        }
    }
}

/// What is done to a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writing {
    /// This is all of it.
    Whole(String),
    /// This goes to its end.
    Piece(String),
    Gone,
}

impl Writing {
    /// Adds a piece to what is to be written.
    pub fn push(&mut self, piece: &str) {
        match self {
            Writing::Whole(text) | Writing::Piece(text) => text.push_str(piece),
            Writing::Gone => *self = Writing::Whole(piece.to_owned()),
        }
    }
}

impl TextFile {
    pub fn room(&self) -> Room {
        match self {
            TextFile::Message { mailbox, .. } => Room::Mailbox(mailbox.clone()),
            TextFile::HookLog(session) => Room::Session(session.clone()),
            TextFile::Archive(_) => Room::Archive,
            TextFile::AgentLog(_) | TextFile::RunReport => Room::Pipeline,
            TextFile::WorkflowView
            | TextFile::OldWorkflow(_)
            | TextFile::OldState(_)
            | TextFile::LoopState
            | TextFile::GateLog(_)
            | TextFile::ItemLog(_) => Room::State,
            _ => Room::Queue,
        }
    }

    /// Returns what tells it from others of its sort.
    pub fn key(&self) -> Option<&Key> {
        match self {
            TextFile::Log(key)
            | TextFile::Result(key)
            | TextFile::TaskLog(key)
            | TextFile::GateLog(key)
            | TextFile::ItemLog(key)
            | TextFile::AgentLog(key)
            | TextFile::OldWorkflow(key)
            | TextFile::Archive(key)
            | TextFile::OldTasks(key)
            | TextFile::OldState(key)
            | TextFile::Message { id: key, .. } => Some(key),
            _ => None,
        }
    }
}
