//! What is over leaves the documents that hooks read, so that these stay short. It goes to a text of its month with a line of
//! JSON for each, in the commit that takes it out: nothing is lost and nothing doubled, whenever that is cut off.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::Result;
use super::archive::shelf::Shelf;
use super::settings::Settings;
use crate::error::Code;
use crate::model::documents::state::RetentionSettings;
use crate::model::json;
use crate::model::key::Key;
use crate::model::shape::Integer;
use crate::model::text_file::TextFile;
use crate::store::{Engine, Transaction};

/// Something of which the newest stay, and its name in `retention` and of its archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Errors,
    Agents,
    /// The numbers of past sessions.
    Metrics,
}

/// How many more than the surplus leave at once, so that not every commit has to archive something.
const STEP: usize = 8;

/// How many leave in one commit at most.
const MOST: usize = 256;

impl What {
    fn name(self) -> &'static str {
        match self {
            What::Errors => "errors",
            What::Agents => "agents",
            What::Metrics => "metrics",
        }
    }

    /// The setting that says how many stay.
    const fn setting(self) -> Key<Option<Integer>> {
        match self {
            What::Errors => RetentionSettings::errors,
            What::Agents => RetentionSettings::agents,
            What::Metrics => RetentionSettings::metrics,
        }
    }

    /// How many stay, unless the configuration says otherwise.
    pub const fn usual(self) -> usize {
        match self {
            What::Errors | What::Metrics => 30,
            What::Agents => 50,
        }
    }

    /// Returns how many of so many are to leave now. The configuration is asked every few entries, not by each commit.
    pub fn surplus(self, engine: &dyn Engine, count: usize) -> Result<usize> {
        if count <= self.usual() && !count.is_multiple_of(STEP) {
            return Ok(0);
        }
        let settings = match Settings::read(engine) {
            // A configuration that is damaged costs only itself.
            Err(error) if error.code() == Code::Damaged => Settings::default(),
            settings => settings?,
        };
        let kept = settings.kept_number(self.setting(), self.usual());
        Ok(match count.checked_sub(kept) {
            None | Some(0) => 0,
            Some(more) => (more + STEP.min(kept / 2)).min(MOST),
        })
    }

    /// Adds entries to the archive of this month.
    pub fn put(self, transaction: &mut dyn Transaction, entries: &[Value], now: Timestamp) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let month = now.to_zoned(TimeZone::UTC).strftime("%Y-%m");
        let name = format!("{}-{month}", self.name()).parse().expect("a word and digits make an id");
        let lines: String = entries.iter().map(|entry| json::dense(entry) + "\n").collect();
        Ok(transaction.append_text_file(&TextFile::OldState(name), &lines)?)
    }

    /// Returns all that was archived, the oldest first. A line that somebody spoiled is passed over.
    pub fn read(self, engine: &dyn Engine) -> Result<Vec<Value>> {
        Shelf::of_state(self.name()).newest(engine, None, None)
    }
}
