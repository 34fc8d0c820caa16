//! Looking back: history and log. Going back: undo and restore.

mod back;
mod then;

use jiff::{SignedDuration, Timestamp};

pub use self::back::{TakenBack, Terms, restore, undo};
use super::Result;
use crate::model::kind::Doc;
use crate::model::time;
use crate::store::{Engine, Revision};

/// Which revisions are told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Told {
    /// Those that somebody made on purpose.
    #[default]
    Acts,
    /// Also signs of life.
    All,
}

impl Told {
    fn has(self, revision: &Revision) -> bool {
        self == Told::All || !revision.is_heartbeat()
    }
}

/// Returns every kept revision of a document, oldest first.
pub fn history(engine: &dyn Engine, doc: &Doc, told: Told) -> Result<Vec<Revision>> {
    let mut revisions = Vec::new();
    engine.replay(doc, &mut |revision, _| revisions.extend(told.has(revision).then(|| revision.clone())))?;
    Ok(revisions)
}

/// Returns the newest revisions of a document, oldest first, without reading more than those. What was too long for the
/// log is told by where it is.
pub fn newest(engine: &dyn Engine, doc: &Doc, limit: usize, told: Told) -> Result<Vec<Revision>> {
    let mut revisions = Vec::new();
    if limit > 0 {
        engine.look_back(&doc.room, Some(doc), &mut |revision| {
            revisions.extend(told.has(&revision).then_some(revision));
            revisions.len() < limit
        })?;
    }
    revisions.reverse();
    Ok(revisions)
}

/// What `log` shows.
#[derive(Debug, Default)]
pub struct LogFilter {
    pub since: Option<Timestamp>,
    pub actor: Option<String>,
    pub kind: Option<String>,
    /// Only the newest.
    pub limit: Option<usize>,
    pub told: Told,
}

/// Commits of a room are in their order, and so are their times, unless a clock was set back further than this.
const SKEW: SignedDuration = SignedDuration::from_mins(10);

/// Returns the revisions of all rooms that pass the filter, in the order of time.
pub fn log(engine: &dyn Engine, filter: &LogFilter) -> Result<Vec<Revision>> {
    let mut revisions = Vec::new();
    for room in engine.rooms()? {
        match filter.is_bounded() {
            true => {
                let mut found = Vec::new();
                engine.look_back(&room, None, &mut |record| filter.collect(record, &mut found))?;
                revisions.extend(found.into_iter().rev());
            }
            false => {
                revisions.extend(engine.log(&room)?.into_iter().filter(|record| filter.passes(record)));
            }
        }
    }
    revisions.sort_by(|one, other| one.at.cmp(&other.at));
    let start = filter.limit.map_or(0, |limit| revisions.len().saturating_sub(limit));
    Ok(revisions.split_off(start))
}

impl LogFilter {
    /// Whether there is a point beyond which nothing has to be read.
    fn is_bounded(&self) -> bool {
        self.limit.is_some()
    }

    /// Takes a revision if it passes. Returns whether older ones may be wanted.
    fn collect(&self, record: Revision, found: &mut Vec<Revision>) -> bool {
        let is_old = |since: Timestamp| {
            let since = since.checked_sub(SKEW).unwrap_or(Timestamp::MIN);
            time::read(&record.at).is_some_and(|at| at < since)
        };
        if self.since.is_some_and(is_old) {
            return false;
        }
        let is_full = |found: &Vec<Revision>| self.limit.is_some_and(|limit| found.len() >= limit);
        if self.passes(&record) && !is_full(found) {
            found.push(record);
        }
        !is_full(found)
    }

    fn passes(&self, record: &Revision) -> bool {
        self.since.is_none_or(|since| time::read(&record.at).is_none_or(|at| at >= since))
            && self.actor.as_ref().is_none_or(|actor| record.is_by(actor))
            && self.kind.as_ref().is_none_or(|kind| record.kind == *kind)
            && self.told.has(record)
    }
}
