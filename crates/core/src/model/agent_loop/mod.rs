//! The work loop: what may happen to its items, what its gates say, and what follows from an iteration.
//!
//! A loop is done when every gate has passed in two iterations in a row and no item is open. A gate that fails makes
//! an item, once, and there is a next iteration. The loop stops by itself after so many iterations, when the same
//! failures come three times in a row, or when no gate ran; an open item that is bad enough holds it up for the user.
//!
//! The document is edited as a value, so what others keep in it stays.

mod check;
mod failures;
mod hold;
mod judge;
#[cfg(test)]
mod tests;

use std::fmt;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::changes::Changes;
use super::ids::RULE;
use super::plan::{self, word};
use super::time;
use super::usage::Tries;
use crate::model::documents::agent_loop::{LoopIteration, WorkItem, WorkItemStatus, WorkQueue};
use crate::model::documents::dispatch::CostSum;
use crate::model::key::{Fields, FieldsMut, Held, Key, Text};
use crate::model::shape::Integer;

pub use self::check::{Check, Ended, GateStatus};
pub use self::failures::{CountPattern, Failures};
pub use self::hold::{GivenBack, Grip, Holder, is_expired, is_in_hand};
pub use self::judge::Verdict;
pub use super::documents::agent_loop::{PauseOn, Phase, Severity};

/// After so many iterations a loop stops, unless told otherwise.
pub const MAX_ITERATIONS: u64 = 50;

pub const COMPLETE: &str = "complete";
pub const PAUSED: &str = "paused";
pub const STOPPED: &str = "stopped";

/// A phase as its source numbers it.
#[derive(Debug, Clone, Copy)]
pub struct PhaseFacts {
    pub phase: Phase,
    pub number: &'static str,
    /// Where a loop in this phase stands.
    pub status: &'static str,
    /// What is to be done in it.
    pub work: &'static str,
}

/// The phases, in the order of one iteration. `RECOVER` leads back to the first.
pub const PHASES: [PhaseFacts; 11] = [
    facts(Phase::Contextualize, "1", "in_progress", "look at the project and the task"),
    facts(Phase::Assess, "2", "assessing", "find out what is to be done, and add it"),
    facts(Phase::MetaCognition, "2.5", "assessing", "ask whether the approach is right"),
    facts(Phase::Plan, "3", "planning", "decide how"),
    facts(Phase::Build, "4", "building", "do the items"),
    facts(Phase::Test, "5", "testing", "run the tests"),
    facts(Phase::Quality, "6", "checking", "run the gates"),
    facts(Phase::Reassess, "6.5", "reassessing", "the same failures came twice: choose another approach"),
    facts(Phase::Evaluate, "7", "evaluating", "judge the iteration"),
    facts(Phase::Recover, "8", "recovering", "do what the failed gates ask for"),
    facts(Phase::Done, "", COMPLETE, "nothing is left to do"),
];

const fn facts(phase: Phase, number: &'static str, status: &'static str, work: &'static str) -> PhaseFacts {
    PhaseFacts { phase, number, status, work }
}

/// An item as somebody wants it.
#[derive(Debug, Clone, Default)]
pub struct NewItem {
    pub priority: Severity,
    pub title: String,
    pub description: String,
    /// The gate or the error that it comes from.
    pub gate: Option<String>,
    pub error_id: Option<String>,
}

/// How a loop is to run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    pub max_iterations: Option<u64>,
    pub pause_on: Option<PauseOn>,
}

/// A rule that says no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NoItem {
        id: String,
    },
    /// It is over.
    Closed {
        id: String,
        status: String,
    },
    /// Somebody else has it.
    Taken {
        id: String,
        by: String,
    },
    /// No item waits. Somebody may have one in hand: the item and who.
    Nothing {
        held: Option<(String, String)>,
    },
    /// Nobody gets it: its id is none.
    OddId {
        id: String,
    },
    /// Nothing is in the hands of this one.
    EmptyHanded {
        who: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoItem { id } => write!(formatter, "there is no item `{id}`"),
            Refusal::Closed { id, status } => write!(formatter, "the item `{id}` is {status}"),
            Refusal::Taken { id, by } => write!(formatter, "the item `{id}` is in the hands of `{by}`"),
            Refusal::Nothing { held: None } => write!(formatter, "no item waits to be done"),
            Refusal::Nothing { held: Some((id, by)) } => {
                write!(formatter, "no item waits to be done; `{id}` is in the hands of `{by}`")
            }
            Refusal::OddId { id } => write!(formatter, "nobody gets the item {id:?}: {RULE}"),
            Refusal::EmptyHanded { who } => write!(formatter, "`{who}` has no item in hand"),
        }
    }
}

/// A loop, as its document has it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkLoop {
    pub queue: Value,
}

impl WorkLoop {
    pub fn new(task: &str, options: Options, now: Timestamp) -> WorkLoop {
        let pause_on = options.pause_on.unwrap_or(PauseOn::S0);
        let queue = json!({
            WorkQueue::version: 1, WorkQueue::task: task, WorkQueue::iteration: 1,
            WorkQueue::consecutive_passes: 0, WorkQueue::items: [], WorkQueue::gate_results: {},
            WorkQueue::status: "in_progress", WorkQueue::phase: word(Phase::Contextualize),
            WorkQueue::started: time::stamp(now),
            WorkQueue::max_iterations: options.max_iterations.unwrap_or(MAX_ITERATIONS),
            WorkQueue::pause_on: word(pause_on),
            WorkQueue::same_failures: 0, WorkQueue::history: [],
        });
        WorkLoop { queue }
    }

    pub fn task(&self) -> &str {
        text(&self.queue, WorkQueue::task)
    }

    pub fn status(&self) -> &str {
        text(&self.queue, WorkQueue::status)
    }

    /// Whether there is nothing left to do in it.
    pub fn is_over(&self) -> bool {
        self.status() == COMPLETE
    }

    /// Returns why it is paused or has stopped.
    pub fn reason(&self) -> &str {
        text(&self.queue, WorkQueue::reason)
    }

    pub fn iteration(&self) -> u64 {
        self.number(WorkQueue::iteration).max(1)
    }

    /// Returns the iteration that work belongs to now: one that was judged is over.
    fn at_work(&self) -> u64 {
        let judged = self.last_judged().read(LoopIteration::iteration);
        self.iteration() + u64::from(judged == Some(self.iteration()))
    }

    /// Returns what came of the last iteration that was judged.
    pub fn last_judged(&self) -> Option<&Value> {
        self.queue.read(WorkQueue::history)?.last()
    }

    pub fn max_iterations(&self) -> u64 {
        self.queue.read(WorkQueue::max_iterations).unwrap_or(MAX_ITERATIONS)
    }

    pub fn phase(&self) -> Option<PhaseFacts> {
        let phase = serde_json::from_value(self.queue.at(WorkQueue::phase)?.clone()).ok()?;
        PHASES.into_iter().find(|facts| facts.phase == phase)
    }

    pub fn items(&self) -> &[Value] {
        self.queue.list(WorkQueue::items)
    }

    pub fn item(&self, id: &str) -> Option<&Value> {
        self.items().iter().find(|item| text(item, WorkItem::id) == id)
    }

    /// Returns how a gate came out last.
    pub fn gate(&self, name: &str) -> Option<&Value> {
        self.queue.at(WorkQueue::gate_results)?.get(name)
    }

    /// Goes on with a loop that was paused or has stopped, and takes over how it is to run.
    pub fn resume(&mut self, options: Options) {
        if let Some(most) = options.max_iterations {
            self.queue.set(WorkQueue::max_iterations, most);
        }
        if let Some(pause_on) = options.pause_on {
            self.queue.set(WorkQueue::pause_on, pause_on);
        }
        if [PAUSED, STOPPED].contains(&self.status()) {
            self.queue.set(WorkQueue::same_failures, 0);
            self.queue.set(WorkQueue::iteration, self.at_work());
            self.forget_reason();
            self.enter(Phase::Contextualize);
        }
    }

    /// Adds an item and returns its id; the same one that is open already is no second one. A loop that was complete has
    /// work again.
    pub fn add(&mut self, new: &NewItem) -> String {
        let of = |value: &Option<String>| value.as_deref().map_or(Value::Null, Value::from);
        let (gate, error) = (of(&new.gate), of(&new.error_id));
        let same = |item: &&Value| {
            is_open(item)
                && text(item, WorkItem::title) == new.title
                && text(item, WorkItem::priority) == word(new.priority)
                && item[WorkItem::gate] == gate
                && item[WorkItem::error_id] == error
        };
        if let Some(known) = self.items().iter().find(same) {
            return text(known, WorkItem::id).to_owned();
        }
        let id = plan::next_id("work", self.items().iter().map(|item| text(item, WorkItem::id)));
        let mut item = json!({
            WorkItem::id: id, WorkItem::priority: word(new.priority), WorkItem::title: new.title,
            WorkItem::description: new.description,
            WorkItem::status: "pending", WorkItem::added_iteration: self.at_work(),
            WorkItem::completed_iteration: null,
        });
        for (name, value) in [("gate", gate), ("error_id", error)] {
            if !value.is_null() {
                item[name] = value;
            }
        }
        if let Some(items) = self.queue[WorkQueue::items].as_array_mut() {
            items.push(item);
        }
        if self.status() == COMPLETE {
            self.queue.set(WorkQueue::consecutive_passes, 0);
            self.queue.set(WorkQueue::iteration, self.at_work());
            self.enter(Phase::Assess);
        } else if self.queue.at(WorkQueue::phase) == Some(&word(Phase::Contextualize).into()) {
            self.enter(Phase::Assess);
        }
        id
    }

    /// Notes that an item is done; one that is stays as it is.
    pub fn done(&mut self, id: &str) -> Result<(), Refusal> {
        let place = self.place(id)?;
        match text(&self.items()[place], WorkQueue::status) {
            "done" => return Ok(()),
            status @ "cancelled" => {
                return Err(Refusal::Closed { id: id.to_owned(), status: status.to_owned() });
            }
            _ => {}
        }
        self.finish(place);
        self.enter(Phase::Build);
        if self.status() == PAUSED && self.holding().is_none() {
            self.forget_reason();
            self.enter(Phase::Build);
        }
        Ok(())
    }

    /// Adds what agents used to the costs.
    pub fn count(&mut self, tries: &Tries) {
        let costs = &mut self.queue[WorkQueue::costs];
        if !costs.is_object() {
            *costs = json!({});
        }
        for (field, more) in [(CostSum::spawns, tries.count), (CostSum::failures, tries.failed)] {
            let so_far = costs.read(field).unwrap_or(0);
            costs.set(field, so_far.saturating_add(more));
        }
        tries.usage.add_to(costs);
    }

    /// Notes what changed while an item was worked on.
    pub fn note_changes(&mut self, id: &str, changes: &Changes) {
        if let Ok(place) = self.place(id) {
            self.queue[WorkQueue::items][place][WorkItem::changed] = changes.value();
        }
    }

    /// Returns the open item that is bad enough to hold the loop up.
    pub fn holding(&self) -> Option<&str> {
        let limit = match text(&self.queue, WorkQueue::pause_on) {
            "none" => return None,
            "S1" => 1,
            _ => 0,
        };
        let bad = |item: &&Value| is_open(item) && rank(item) <= limit;
        self.items().iter().find(bad).map(|item| text(item, WorkItem::id))
    }

    /// Goes to a phase. While the loop is held up, that is where it stands.
    fn enter(&mut self, phase: Phase) {
        let facts = PHASES.iter().find(|facts| facts.phase == phase).expect("the table has every phase");
        self.queue.set(WorkQueue::phase, phase);
        if !self.queue.at(WorkQueue::reason).is_some_and(Value::is_string) {
            self.queue.set(WorkQueue::status, facts.status);
        }
    }

    fn forget_reason(&mut self) {
        self.queue.as_object_mut().map(|queue| queue.unset(WorkQueue::reason));
    }

    fn finish(&mut self, place: usize) {
        let iteration = self.at_work();
        let item = &mut self.queue[WorkQueue::items][place];
        // Who did it stays; nothing is leased any more.
        for field in ["run", "lease"] {
            item.as_object_mut().map(|item| item.shift_remove(field));
        }
        item.set(WorkItem::status, WorkItemStatus::Done);
        item.set(WorkItem::completed_iteration, iteration);
    }

    fn place(&self, id: &str) -> Result<usize, Refusal> {
        let place = self.items().iter().position(|item| text(item, WorkItem::id) == id);
        place.ok_or_else(|| Refusal::NoItem { id: id.to_owned() })
    }

    fn number<T: Held<Kind = Integer>>(&self, key: Key<T>) -> u64 {
        self.queue.read(key).unwrap_or(0)
    }
}

/// Whether an item has still to be done.
pub fn is_open(item: &Value) -> bool {
    !matches!(text(item, WorkItem::status), "done" | "cancelled")
}

/// Returns how urgent an item is; 0 comes first.
pub(crate) fn rank(item: &Value) -> usize {
    ["S0", "S1", "S2", "S3"].iter().position(|known| text(item, WorkItem::priority) == *known).unwrap_or(4)
}

fn text<T: Held<Kind: Text>>(value: &Value, key: Key<T>) -> &str {
    value.text(key).unwrap_or_default()
}
