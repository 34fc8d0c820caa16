//! What a caller says of a commit.

use jiff::Timestamp;

use crate::model::ids::Key;

/// How sure a commit must be before it is reported as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    Synced,
    Lazy,
}

/// What the log says about a commit.
#[derive(Debug, Clone)]
pub struct Entry {
    pub at: Timestamp,
    /// Who, for the log.
    pub by: String,
    /// Whom to name in `updated_by`, if known.
    pub author: Option<String>,
    pub op: String,
    /// The revision that this commit takes back, for `undo`.
    pub undoes: Option<u64>,
    /// What the commit is to be known by.
    pub token: Option<Key>,
    pub durability: Durability,
}
