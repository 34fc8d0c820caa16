//! What was committed, as an engine tells it.

use std::fmt;

use crate::model::diff::Change;
use crate::model::ids::Key;
use crate::model::kind::Doc;
use crate::model::lease::HEARTBEAT;
use crate::model::names::Names;
use crate::model::room::Room;

/// Sees one revision after the other, until it returns false.
pub type Visit<'v> = &'v mut dyn FnMut(Revision) -> bool;

/// One revision of one document, as the log tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Revision {
    pub kind: String,
    /// Tells the document from others of its family.
    pub key: Option<Key>,
    pub revision: u64,
    pub at: String,
    pub by: String,
    pub op: String,
    pub undoes: Option<u64>,
    /// What an edit by hand was made from, if that is not the revision before it.
    pub made_from: Option<u64>,
    /// Who acted, where `by` is the role in which they did.
    pub author: Option<String>,
    pub changes: Vec<Change>,
    /// The items that the changes lead into.
    pub names: Names,
    /// Where the content is that it left, if that is too long for the log and the changes are not told.
    pub stored: Option<String>,
}

impl Revision {
    /// Whether it is one of this document of its room.
    pub fn is_of(&self, doc: &Doc) -> bool {
        self.kind == doc.kind.name && self.key == doc.key
    }

    /// Whether it does nothing but renew leases.
    pub fn is_heartbeat(&self) -> bool {
        self.op == HEARTBEAT
    }

    /// Whether this session or user made it, or somebody in this role.
    pub fn is_by(&self, who: &str) -> bool {
        self.by == who || self.author.as_deref() == Some(who)
    }

    /// Says who made it, for people.
    pub fn whose(&self) -> String {
        match &self.author {
            Some(author) => format!("{} for {author}", self.by),
            None => self.by.clone(),
        }
    }
}

/// A point in the course of all commits of all rooms. What it looks like is the engine's own affair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor(String);

impl Cursor {
    /// Takes what [`Cursor::as_str`] gave.
    pub fn new(text: impl Into<String>) -> Cursor {
        Cursor(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// One commit, whatever rooms it was made in.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// Names it for good.
    pub id: String,
    pub at: String,
    pub by: String,
    /// Who acted, where `by` is the role in which they did.
    pub author: Option<String>,
    pub op: String,
    /// What it was given to be known by.
    pub token: Option<String>,
    /// What it changed; nothing if that were texts only.
    pub revisions: Vec<(Room, Revision)>,
}

/// What was committed after a [`Cursor`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Commits {
    /// In the order in which they were made, as far as one knows of another.
    pub commits: Vec<Commit>,
    /// Where they end.
    pub cursor: Cursor,
    /// Whether there are more.
    pub more: bool,
    /// Whether some before these are not kept: who follows what is there has to look at all of it again.
    pub gap: bool,
}
