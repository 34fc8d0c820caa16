//! Cleaning up `.claude/state` by the seed's procedures: one commit, which history can take back.
//!
//! Only documents and the texts beside them are deleted. The journal stays, and so do files that are none of ours.

use super::agent_loop::{logs, work_queue};
use super::{Actor, Result, compact};
use crate::error::Code;
use crate::model::hint::Hint;
use crate::model::kind::{Doc, Kind};
use crate::model::room::Room;
use crate::model::text_file::TextFile;
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
    /// Whether documents of a kind go.
    fn covers(self, kind: &Kind) -> bool {
        match self {
            What::Session => matches!(kind.name, "agent_result" | "errors"),
            What::Loop => kind.name == "work_queue",
            What::Agents => matches!(kind.name, "active_agents" | "agent_result"),
            What::All => true,
        }
    }
}

/// What was deleted, or would be.
#[derive(Debug, Default)]
pub struct Cleaned {
    pub documents: Vec<Doc>,
    /// The texts that went with them.
    pub text_files: Vec<TextFile>,
    pub warnings: Vec<Hint>,
}

/// Deletes documents in one commit; with `dry_run` only says which.
pub fn clean(engine: &dyn Engine, what: &[What], dry_run: bool, actor: &Actor) -> Result<Cleaned> {
    let mut cleaned = Cleaned::default();
    // A project without this room does not get one for being clean.
    if engine.documents(&Room::State)?.is_empty() {
        return Ok(cleaned);
    }
    // Whoever only asks can be where nothing can be written.
    let browsed = if dry_run { engine.browse(&Room::State)? } else { None };
    let mut transaction = browsed.map_or_else(|| engine.begin(&[&Room::State]), Ok)?;
    for text_file in texts(&mut *transaction, what) {
        if transaction.text_file(&text_file)?.is_some() {
            transaction.remove_text_file(&text_file)?;
            cleaned.text_files.push(text_file);
        }
    }
    for doc in wanted(engine, &mut *transaction, what)? {
        match transaction.delete(&doc) {
            Ok(()) => cleaned.documents.push(doc),
            Err(error) if error.code() == Code::Damaged => {
                cleaned.warnings.push(format!("it stays as it is: {error}").into());
            }
            Err(error) => return Err(error.into()),
        }
    }
    let nothing = cleaned.documents.is_empty() && cleaned.text_files.is_empty();
    if !dry_run && !nothing {
        cleaned.warnings.extend(transaction.commit(&actor.entry("clean"))?.warnings);
    }
    Ok(cleaned)
}

/// Returns the texts that may be there and go.
fn texts(transaction: &mut dyn Transaction, what: &[What]) -> Vec<TextFile> {
    let mut text_files = Vec::new();
    if what.iter().any(|what| matches!(what, What::Loop | What::All)) {
        text_files.push(TextFile::LoopState);
        // One that is damaged does not tell which gates it knows.
        let queue = transaction.get(&work_queue()).ok().flatten();
        text_files.extend(queue.map(logs).unwrap_or_default());
    }
    if what.contains(&What::All) {
        text_files.push(TextFile::WorkflowView);
    }
    text_files
}

fn wanted(engine: &dyn Engine, transaction: &mut dyn Transaction, what: &[What]) -> Result<Vec<Doc>> {
    let mut known = transaction.documents(&Room::State)?;
    let mut old = Vec::new();
    if what.contains(&What::Session) {
        old = compact::surplus(engine, &compact::backups(known.clone()))?;
    }
    known.retain(|doc| what.iter().any(|what| what.covers(doc.kind)) || old.contains(doc));
    Ok(known)
}
