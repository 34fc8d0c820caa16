//! Cleaning up `.claude/state` by the seed's procedures: one commit, which history can take back.
//!
//! Only documents are deleted. The journal stays, and so do files that are none of ours.

use super::{Actor, Result, compact};
use crate::error::Code;
use crate::model::kind::Doc;
use crate::model::room::Room;
use crate::store::{Engine, Transaction};

/// What is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// What a session leaves behind: results of agents and errors; old backups.
    Session,
    /// The state of the loop.
    Loop,
    /// The agents and their results.
    Agents,
    /// All of it.
    All,
}

impl What {
    /// Whether a file of the room goes.
    fn covers(self, file: &str) -> bool {
        match self {
            What::Session => file.starts_with("agents/results/") || file.starts_with("errors/"),
            What::Loop => file.starts_with("loop/"),
            What::Agents => file.starts_with("agents/"),
            What::All => true,
        }
    }
}

/// What was deleted, or would be.
#[derive(Debug, Default)]
pub struct Cleaned {
    pub documents: Vec<Doc>,
    pub warnings: Vec<String>,
}

/// Deletes documents in one commit; with `dry_run` only says which.
pub fn clean(engine: &dyn Engine, what: &[What], dry_run: bool, actor: &Actor) -> Result<Cleaned> {
    // A project without this room does not get one for being clean.
    if dry_run || wanted(engine, what)?.is_empty() {
        return Ok(Cleaned { documents: wanted(engine, what)?, warnings: Vec::new() });
    }
    let mut transaction = engine.begin(&[&Room::State])?;
    let mut cleaned = Cleaned::default();
    for doc in wanted(engine, what)? {
        match transaction.delete(&doc) {
            Ok(()) => cleaned.documents.push(doc),
            Err(error) if error.code() == Code::Damaged => {
                cleaned.warnings.push(format!("it stays as it is: {error}"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if !cleaned.documents.is_empty() {
        cleaned.warnings.extend(transaction.commit(&actor.entry("clean"))?.warnings);
    }
    Ok(cleaned)
}

/// Deletes all but the last few backups, as part of a transaction on the room.
pub(super) fn old_backups(engine: &dyn Engine, transaction: &mut dyn Transaction) -> Result<()> {
    let known = compact::documents(engine)?;
    compact::forget(transaction, &known, compact::KEPT, &mut Vec::new()).map(drop)
}

fn wanted(engine: &dyn Engine, what: &[What]) -> Result<Vec<Doc>> {
    let mut known = engine.documents(&Room::State)?;
    let mut old = Vec::new();
    if what.contains(&What::Session) {
        old = compact::documents(engine)?;
        old.truncate(old.len().saturating_sub(compact::KEPT));
    }
    known.retain(|doc| what.iter().any(|what| what.covers(&doc.file)) || old.contains(doc));
    Ok(known)
}
