//! What is asked to make room, and how a record of it is written.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::model::documents::state::RetentionSettings;
use crate::model::ids::Key;
use crate::model::text_file::TextFile;
use crate::model::{json, time};
use crate::ops::Result;
use crate::ops::settings::Settings;
use crate::store::Transaction;

/// What the history calls it.
pub(super) const OP: &str = "archive";

/// What of the past is to make room, and whether to do it or only to tell.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Sessions that ended before this; and so on.
    pub sessions: Timestamp,
    pub messages: Timestamp,
    pub tasks: Timestamp,
    pub dry_run: bool,
}

impl Request {
    /// All that ended before this.
    pub fn before(time: Timestamp) -> Request {
        Request { sessions: time, messages: time, tasks: time, dry_run: false }
    }

    /// What is over for as long as the configuration says.
    pub fn of(settings: &Settings, now: Timestamp) -> Request {
        let before = |field| {
            let kept = SignedDuration::try_from(settings.kept_for(field)?).ok()?;
            now.checked_sub(kept).ok()
        };
        let before = |field| before(field).unwrap_or(Timestamp::MIN);
        Request {
            sessions: before(RetentionSettings::sessions_days),
            messages: before(RetentionSettings::messages_days),
            tasks: before(RetentionSettings::tasks_days),
            dry_run: false,
        }
    }
}

/// Appends a record to the text of its month.
pub(super) fn append(
    transaction: &mut dyn Transaction,
    text_file: fn(Key) -> TextFile,
    what: &str,
    at: Option<Timestamp>,
    record: &Value,
) -> Result<()> {
    let month = at.map(time::stamp).and_then(|at| at.get(..7).map(str::to_owned));
    let name = format!("{what}-{}", month.as_deref().unwrap_or("unknown"));
    let text_file = text_file(name.parse().expect("a name of ours is a key"));
    let mut line = json::dense(record);
    line.push('\n');
    Ok(transaction.append_text_file(&text_file, &line)?)
}
