//! Logs of the queue: what agents noted long ago leaves with the tasks that it tells of.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::request::append;
use crate::model::documents::queue::{ArchivedLog, QueueTask};
use crate::model::ids::Key;
use crate::model::key::Fields;
use crate::model::room::Room;
use crate::model::text_file::{TextFile, TextFiles};
use crate::model::time;
use crate::ops::Result;
use crate::store::Transaction;

/// Moves the lines that agents wrote before a time to the archive, one record for each log.
pub(super) fn put_away(transaction: &mut dyn Transaction, before: Timestamp) -> Result<()> {
    for text_file in transaction.text_files(&Room::Queue, TextFiles::Logs)? {
        // One that cannot be read stays.
        let Some(text) = transaction.text_file(&text_file).ok().flatten() else { continue };
        let (old, rest) = split(&text, before);
        let Some(last) = old.lines().rev().find_map(written_at) else { continue };
        let record = json!({ArchivedLog::id: text_file.key().map(Key::as_str), ArchivedLog::text: old});
        append(transaction, TextFile::OldTasks, "logs", Some(last), &record)?;
        match rest {
            "" => transaction.remove_text_file(&text_file)?,
            rest => transaction.write_text_file(&text_file, rest.to_owned())?,
        }
    }
    Ok(())
}

/// Takes away what the command of a task printed, and returns it.
pub(super) fn take(transaction: &mut dyn Transaction, task: &Value) -> Result<Option<String>> {
    let Some(id) = task.text(QueueTask::id).and_then(|id| id.parse().ok()) else { return Ok(None) };
    let text_file = TextFile::TaskLog(id);
    let text = transaction.text_file(&text_file).ok().flatten();
    if text.is_some() {
        transaction.remove_text_file(&text_file)?;
    }
    Ok(text)
}

/// Divides a log into the lines before a time and the rest. A line without a time belongs to the one above it.
fn split(text: &str, before: Timestamp) -> (&str, &str) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if written_at(line).is_some_and(|time| time >= before) {
            break;
        }
        at += line.len();
    }
    text.split_at(at)
}

/// Returns when a line of a log was written: `[2026-11-18T10:03:57.774Z] CLAIMED: …`.
fn written_at(line: &str) -> Option<Timestamp> {
    time::read(line.strip_prefix('[')?.split_once(']')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_divided_where_the_time_is_reached() {
        let text = "[2026-01-05T12:00:00.000Z] INIT: x\nby hand\n[2026-02-01T12:00:00.000Z] CLAIMED: a\n[2026-01-01T12:00:00.000Z] odd\n";
        let divided = |before: &str| split(text, before.parse().unwrap());
        let (old, rest) = divided("2026-02-01T12:00:00Z");
        assert_eq!(old, "[2026-01-05T12:00:00.000Z] INIT: x\nby hand\n");
        assert!(rest.starts_with("[2026-02-01") && rest.ends_with("odd\n"), "{rest}");
        assert_eq!(divided("2026-01-01T00:00:00Z"), ("", text));
        assert_eq!(divided("2027-01-01T00:00:00Z"), (text, ""));
        assert_eq!(split("", Timestamp::MAX), ("", ""));
    }
}
