//! An edit by hand, joined with what was committed since it was made.
//!
//! A person opens a file, others commit, the person saves: the file then holds their words and an old state of everything
//! else. [`merge`] applies only what the person changed: `base` is what the edit was made from, `theirs` the edit, `ours`
//! the newest committed state. Objects are joined by field, lists by item.
//!
//! | both changed | then |
//! | --- | --- |
//! | words: description, hints, priority, dependencies, files, … | the person's |
//! | how an item stands: status, owner, lease, result, … | the person's, if they set the status and the work has not ended meanwhile; else ours, and it is told |
//! | one removed what the other changed | ours, and it is told |
//! | revision, time and author | ours: they are the store's |
//!
//! What an edit was made from is found by `origin`; what an older state may not take back is in `epochs`.

mod epochs;
mod lists;
mod origin;

use serde_json::{Map, Value};

use super::documents::agent_loop::{WorkItem, WorkQueue};
use super::documents::common::{Item, Stamps};
use super::documents::pipeline::{Group, OrchestratorState};
use super::documents::queue::QueueTask;
use super::documents::state::Session;
use super::documents::workflow::{Phase, Workflow};
use super::key::Fields;
use super::key_text::push_key;
use super::kind::{Items, Kind};

pub use epochs::{keep_epoch, keep_epochs};
pub use origin::{Made, is_at_work, made_from, resembles, stated};

/// What becomes of an edit.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    pub value: Value,
    /// What could not be joined: there `value` has ours.
    pub clashes: Vec<Clash>,
}

/// One place that a person and a commit have both changed, and that cannot be both.
#[derive(Debug, Clone, PartialEq)]
pub struct Clash {
    /// Where it is, items by their ids; empty for the whole document.
    pub path: String,
    pub base: Option<Value>,
    pub theirs: Option<Value>,
    pub ours: Option<Value>,
}

/// How well it is known what an edit was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Known,
    /// It is older than what is kept: what differs may be the person's doing, or that of a commit that nobody remembers.
    Older,
}

/// Whose side counts where both cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Ours,
    Theirs,
}

/// Joins an edit with what was committed since. What cannot be joined stays ours.
pub fn merge(kind: &Kind, base: &Value, theirs: &Value, ours: &Value, is: Base) -> Merged {
    merge_for(Side::Ours, kind, base, theirs, ours, is)
}

/// The same, for somebody who has decided whose side counts.
pub fn merge_for(wins: Side, kind: &Kind, base: &Value, theirs: &Value, ours: &Value, is: Base) -> Merged {
    let made_at = kind.time_field.and_then(|field| theirs.get(field)?.as_str());
    let mut merge = Merge { wins, kind, is, made_at, path: String::new(), depth: 0, clashes: Vec::new() };
    let value = merge.value(Some(base), Some(theirs), Some(ours)).unwrap_or_else(|| ours.clone());
    Merged { value, clashes: merge.clashes }
}

/// Fields that say how an item stands. They belong together: half of a claim is none.
const STATE: &[&str] = &[
    QueueTask::status.name(),
    QueueTask::claimed_by.name(),
    QueueTask::claimed_at.name(),
    QueueTask::session_id.name(),
    QueueTask::lease.name(),
    QueueTask::last_claim.name(),
    QueueTask::started_at.name(),
    QueueTask::completed_at.name(),
    Session::ended_at.name(),
    QueueTask::result.name(),
    QueueTask::attempts.name(),
    QueueTask::retries.name(),
    QueueTask::next_retry_at.name(),
    QueueTask::usage.name(),
    WorkItem::assigned_to.name(),
    Phase::agent_id.name(),
    WorkItem::run.name(),
    Phase::outcome.name(),
    OrchestratorState::orders.name(),
    Group::counts.name(),
    Group::next_order.name(),
    WorkQueue::phase.name(),
    Workflow::current_phase.name(),
    WorkQueue::iteration.name(),
    WorkQueue::consecutive_passes.name(),
];

/// States in which work is over: an edit that knew nothing of it does not begin it again.
const ENDED: &[&str] = &["done", "completed", "complete", "cancelled", "processed", "ended", "recovered"];

/// Two values are the same whatever the order of their fields is: programs that rewrite a file sort them.
fn same(one: Option<&Value>, other: Option<&Value>) -> bool {
    one == other
}

/// A merge in the making.
struct Merge<'k> {
    wins: Side,
    kind: &'k Kind,
    is: Base,
    /// When the base was written, by what the edit says.
    made_at: Option<&'k str>,
    /// The place that is being joined.
    path: String,
    depth: usize,
    clashes: Vec<Clash>,
}

impl Merge<'_> {
    fn value(&mut self, base: Option<&Value>, theirs: Option<&Value>, ours: Option<&Value>) -> Option<Value> {
        if same(theirs, base) || same(theirs, ours) {
            return ours.cloned();
        }
        if same(ours, base) && !self.may_hold_state(theirs) {
            return theirs.cloned();
        }
        match (theirs, ours) {
            (Some(Value::Object(theirs)), Some(Value::Object(ours))) => {
                let empty = Map::new();
                let base = base.and_then(Value::as_object).unwrap_or(&empty);
                self.depth += 1;
                let joined = self.object(base, theirs, ours);
                self.depth -= 1;
                Some(Value::Object(joined))
            }
            (Some(Value::Array(theirs)), Some(Value::Array(ours))) => {
                let base = base.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                Some(Value::Array(self.list(base, theirs, ours)))
            }
            _ => theirs.cloned(),
        }
    }

    /// Whether a part that only the person changed has to be looked into: stamps are never theirs, and nothing is sure
    /// of the state where the base is not.
    fn may_hold_state(&self, theirs: Option<&Value>) -> bool {
        let whole = self.depth == 0 || self.is == Base::Older || (self.depth == 1 && self.has_entries());
        whole && theirs.is_some_and(|theirs| theirs.is_object() || theirs.is_array())
    }

    fn has_entries(&self) -> bool {
        self.kind.items == Items::Document
    }

    fn object(
        &mut self,
        base: &Map<String, Value>,
        theirs: &Map<String, Value>,
        ours: &Map<String, Value>,
    ) -> Map<String, Value> {
        let takes_state = self.takes_state(base, theirs, ours);
        let mut joined = ours.clone();
        let mut before: Option<&str> = None;
        for (key, value) in theirs {
            let (base, ours) = (base.get(key), ours.get(key));
            if !self.is_stamp(key) && !same(Some(value), base) {
                let joint = match STATE.contains(&key.as_str()) {
                    true if takes_state => Some(value.clone()),
                    true => ours.cloned(),
                    false => self.inside(key, |merge| merge.value(base, Some(value), ours)),
                };
                put(&mut joined, key, joint, before);
            }
            before = Some(key);
        }
        for (key, base) in base.iter().filter(|(key, _)| !theirs.contains_key(*key)) {
            if self.is_stamp(key) {
                continue;
            }
            let is_state = STATE.contains(&key.as_str());
            let is_item = self.depth == 1 && self.has_entries();
            let goes = match is_item && !same(ours.get(key), Some(base)) {
                true => self.inside(key, |merge| merge.clash(Some(base), None, ours.get(key))),
                false => !is_state || takes_state,
            };
            if goes {
                joined.shift_remove(key);
            }
        }
        joined
    }

    /// Whether the person's word on how an item stands counts. It does where they changed nothing, too.
    fn takes_state(
        &mut self,
        base: &Map<String, Value>,
        theirs: &Map<String, Value>,
        ours: &Map<String, Value>,
    ) -> bool {
        let differs = |one: &Map<String, Value>, other: &Map<String, Value>, key: &str| {
            !same(one.get(key), other.get(key))
        };
        let touched: Vec<&str> = STATE.iter().copied().filter(|key| differs(theirs, base, key)).collect();
        let Some(first) = touched.iter().copied().find(|key| differs(theirs, ours, key)) else {
            return false;
        };
        let moved = STATE.iter().any(|key| differs(ours, base, key));
        let is_known = self.is == Base::Known;
        if is_known && !moved {
            return true;
        }
        let ended = || ours.text(Item::status).is_some_and(|word| ENDED.contains(&word));
        let on_purpose =
            touched.contains(&Item::status.name()) && (!differs(ours, base, Item::status.name()) || !ended());
        if is_known && on_purpose {
            return true;
        }
        self.inside(first, |merge| merge.clash(base.get(first), theirs.get(first), ours.get(first)))
    }

    /// Whether a field is the store's own, of the document or of an entry that has a revision of its own.
    fn is_stamp(&self, key: &str) -> bool {
        let level = if self.has_entries() { 2 } else { 1 };
        self.depth == level
            && (key == Stamps::revision.name()
                || key == Stamps::updated_by.name()
                || self.kind.time_field == Some(key))
    }

    /// Notes what cannot be joined. Returns whether their side counts.
    fn clash(&mut self, base: Option<&Value>, theirs: Option<&Value>, ours: Option<&Value>) -> bool {
        let (base, theirs, ours) = (base.cloned(), theirs.cloned(), ours.cloned());
        self.clashes.push(Clash { path: self.path.clone(), base, theirs, ours });
        self.wins == Side::Theirs
    }

    fn inside<T>(&mut self, key: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        push_key(&mut self.path, key);
        let done = work(self);
        self.path.truncate(length);
        done
    }
}

/// Puts a field where it was, or behind the one that it stands behind in the edit.
fn put(fields: &mut Map<String, Value>, key: &str, value: Option<Value>, before: Option<&str>) {
    let Some(value) = value else {
        fields.shift_remove(key);
        return;
    };
    if let Some(place) = fields.get_mut(key) {
        *place = value;
        return;
    }
    let position = |before: &str| fields.keys().position(|key| key == before);
    let at = before.and_then(position).map_or(fields.len(), |position| position + 1);
    fields.shift_insert(at, key.to_owned(), value);
}

#[cfg(test)]
mod tests;
