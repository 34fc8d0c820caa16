//! What a session does, counted in `current.json`: commands and files. A tool call that adds nothing costs nothing.

use super::turn::{OP, Turn, document};
use crate::model::current_session;
use crate::model::documents::agent_loop::CurrentSession;
use crate::model::key::Key;
use crate::ops::Result;

pub fn count(turn: &mut Turn<'_>) -> Result<()> {
    let files = turn.edited_files();
    let command = turn.event.command();
    if files.is_empty() && command.is_none() {
        return Ok(());
    }
    if command.is_none() && is_known(turn, &files)? {
        return Ok(());
    }
    let now = turn.actor.now();
    turn.change_present(OP, |present| {
        let record = present.at_work(turn.session(), || turn.arrival(), now);
        for file in &files {
            if !current_session::has(record, FILES, file) {
                current_session::add(record, FILES, file);
            }
        }
        if let Some(command) = &command {
            current_session::add_command(record, command);
        }
    })
}

const FILES: Key<Option<Vec<String>>> = CurrentSession::files_modified;

/// Whether all of these files were noted before; without a lock, as most edits are not the first of a file.
fn is_known(turn: &Turn<'_>, files: &[String]) -> Result<bool> {
    let Some(document) = turn.engine.read(&document("current_session"))? else { return Ok(false) };
    let mut present = current_session::CurrentSessions::of(Some(document.value));
    let record = present.record(turn.session());
    Ok(record.is_some_and(|record| files.iter().all(|file| current_session::has(record, FILES, file))))
}
