//! The work loop: what may happen to its items, what its gates say, and what follows from an iteration.
//!
//! A loop is done when every gate has passed in two iterations in a row and no item is open. A gate that fails makes
//! an item, once, and there is a next iteration. The loop stops by itself after so many iterations, or when the same
//! gates fail three times in a row; an open item that is bad enough holds it up for the user.
//!
//! The document is edited as a value, so what others keep in it stays.

mod check;
mod judge;

use std::fmt;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::plan::{self, word};
use super::time;
use super::usage::Tries;

pub use self::check::{Check, Ended, GateStatus};
pub use self::judge::Verdict;
pub use super::documents::agent_loop::{PauseOn, Phase, Severity, WorkItemStatus};

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
    facts(Phase::Reassess, "6.5", "reassessing", "the same gates failed twice: choose another approach"),
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
    Nothing,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoItem { id } => write!(formatter, "there is no item `{id}`"),
            Refusal::Closed { id, status } => write!(formatter, "the item `{id}` is {status}"),
            Refusal::Taken { id, by } => write!(formatter, "the item `{id}` is in the hands of `{by}`"),
            Refusal::Nothing => write!(formatter, "no item waits to be done"),
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
            "version": 1, "task": task, "iteration": 1, "consecutive_passes": 0, "items": [], "gate_results": {},
            "status": "in_progress", "phase": word(Phase::Contextualize), "started": time::stamp(now),
            "max_iterations": options.max_iterations.unwrap_or(MAX_ITERATIONS), "pause_on": word(pause_on),
            "same_failures": 0, "history": [],
        });
        WorkLoop { queue }
    }

    pub fn task(&self) -> &str {
        text(&self.queue, "task")
    }

    pub fn status(&self) -> &str {
        text(&self.queue, "status")
    }

    /// Whether there is nothing left to do in it.
    pub fn is_over(&self) -> bool {
        self.status() == COMPLETE
    }

    /// Returns why it is paused or has stopped.
    pub fn reason(&self) -> &str {
        text(&self.queue, "reason")
    }

    pub fn iteration(&self) -> u64 {
        self.number("iteration").max(1)
    }

    pub fn max_iterations(&self) -> u64 {
        self.queue.get("max_iterations").and_then(Value::as_u64).unwrap_or(MAX_ITERATIONS)
    }

    pub fn phase(&self) -> Option<PhaseFacts> {
        let phase = serde_json::from_value(self.queue.get("phase")?.clone()).ok()?;
        PHASES.into_iter().find(|facts| facts.phase == phase)
    }

    pub fn items(&self) -> &[Value] {
        self.queue.get("items").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub fn item(&self, id: &str) -> Option<&Value> {
        self.items().iter().find(|item| text(item, "id") == id)
    }

    /// Returns how a gate came out last.
    pub fn gate(&self, name: &str) -> Option<&Value> {
        self.queue.get("gate_results")?.get(name)
    }

    /// Goes on with a loop that was paused or has stopped, and takes over how it is to run.
    pub fn resume(&mut self, options: Options) {
        if let Some(most) = options.max_iterations {
            self.queue["max_iterations"] = most.into();
        }
        if let Some(pause_on) = options.pause_on {
            self.queue["pause_on"] = word(pause_on).into();
        }
        if [PAUSED, STOPPED].contains(&self.status()) {
            self.queue["same_failures"] = 0.into();
            self.forget_reason();
            self.enter(Phase::Contextualize);
        }
    }

    /// Adds an item and returns its id; the same one that is open already is no second one. A loop that was complete has
    /// work again.
    pub fn add(&mut self, new: &NewItem) -> String {
        let of = |value: &Option<String>| value.as_deref().map_or(Value::Null, Value::from);
        let (gate, error) = (of(&new.gate), of(&new.error_id));
        let field = |item: &Value, name: &str| item.get(name).cloned().unwrap_or_default();
        let same = |item: &&Value| {
            is_open(item)
                && text(item, "title") == new.title
                && text(item, "priority") == word(new.priority)
                && field(item, "gate") == gate
                && field(item, "error_id") == error
        };
        if let Some(known) = self.items().iter().find(same) {
            return text(known, "id").to_owned();
        }
        let id = plan::next_id("work", self.items().iter().map(|item| text(item, "id")));
        let mut item = json!({
            "id": id, "priority": word(new.priority), "title": new.title, "description": new.description,
            "status": "pending", "added_iteration": self.number("iteration"), "completed_iteration": null,
        });
        for (name, value) in [("gate", gate), ("error_id", error)] {
            if !value.is_null() {
                item[name] = value;
            }
        }
        if let Some(items) = self.queue["items"].as_array_mut() {
            items.push(item);
        }
        if self.status() == COMPLETE {
            self.queue["consecutive_passes"] = 0.into();
            self.enter(Phase::Assess);
        } else if self.queue.get("phase") == Some(&word(Phase::Contextualize).into()) {
            self.enter(Phase::Assess);
        }
        id
    }

    /// Gives somebody an item: the one that they have in hand, the named one, or the worst that waits. Returns its id.
    pub fn take(&mut self, who: &str, id: Option<&str>) -> Result<String, Refusal> {
        let mine = |item: &Value| text(item, "status") == "in_progress" && text(item, "assigned_to") == who;
        let place = match id {
            Some(id) => self.place(id)?,
            None => {
                let waits = |(_, item): &(usize, &Value)| matches!(text(item, "status"), "" | "pending");
                let items = || self.items().iter().enumerate();
                let held = items().find(|(_, item)| mine(item));
                let next = || items().filter(waits).min_by_key(|(place, item)| (rank(item), *place));
                held.or_else(next).map(|(place, _)| place).ok_or(Refusal::Nothing)?
            }
        };
        let item = &mut self.queue["items"][place];
        let (id, by) = (text(item, "id").to_owned(), text(item, "assigned_to").to_owned());
        match text(item, "status") {
            "in_progress" if by == who => return Ok(id),
            "in_progress" if !by.is_empty() => return Err(Refusal::Taken { id, by }),
            status @ ("done" | "cancelled") => return Err(Refusal::Closed { id, status: status.to_owned() }),
            _ => {}
        }
        item["status"] = "in_progress".into();
        item["assigned_to"] = who.into();
        self.enter(Phase::Build);
        Ok(id)
    }

    /// Puts an item back that somebody has in hand; others stay as they are.
    pub fn put_back(&mut self, who: &str, id: &str) -> Result<(), Refusal> {
        let place = self.place(id)?;
        let item = &mut self.queue["items"][place];
        if text(item, "status") == "in_progress" && text(item, "assigned_to") == who {
            item["status"] = "pending".into();
            item.as_object_mut().map(|item| item.shift_remove("assigned_to"));
        }
        Ok(())
    }

    /// Notes that an item is done; one that is stays as it is.
    pub fn done(&mut self, id: &str) -> Result<(), Refusal> {
        let place = self.place(id)?;
        match text(&self.items()[place], "status") {
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
        let costs = &mut self.queue["costs"];
        if !costs.is_object() {
            *costs = json!({});
        }
        for (field, more) in [("spawns", tries.count), ("failures", tries.failed)] {
            let so_far = costs.get(field).and_then(Value::as_u64).unwrap_or(0);
            costs[field] = so_far.saturating_add(more).into();
        }
        tries.usage.add_to(costs);
    }

    /// Returns the open item that is bad enough to hold the loop up.
    pub fn holding(&self) -> Option<&str> {
        let limit = match text(&self.queue, "pause_on") {
            "none" => return None,
            "S1" => 1,
            _ => 0,
        };
        let bad = |item: &&Value| is_open(item) && rank(item) <= limit;
        self.items().iter().find(bad).map(|item| text(item, "id"))
    }

    /// Goes to a phase. While the loop is held up, that is where it stands.
    fn enter(&mut self, phase: Phase) {
        let facts = PHASES.iter().find(|facts| facts.phase == phase).expect("the table has every phase");
        self.queue["phase"] = word(phase).into();
        if !self.queue.get("reason").is_some_and(Value::is_string) {
            self.queue["status"] = facts.status.into();
        }
    }

    fn forget_reason(&mut self) {
        self.queue.as_object_mut().map(|queue| queue.shift_remove("reason"));
    }

    fn finish(&mut self, place: usize) {
        let iteration = self.iteration();
        let item = &mut self.queue["items"][place];
        item["status"] = "done".into();
        item["completed_iteration"] = iteration.into();
    }

    fn place(&self, id: &str) -> Result<usize, Refusal> {
        let place = self.items().iter().position(|item| text(item, "id") == id);
        place.ok_or_else(|| Refusal::NoItem { id: id.to_owned() })
    }

    fn number(&self, name: &str) -> u64 {
        self.queue.get(name).and_then(Value::as_u64).unwrap_or(0)
    }
}

/// Whether an item has still to be done.
pub fn is_open(item: &Value) -> bool {
    !matches!(text(item, "status"), "done" | "cancelled")
}

/// Returns how urgent an item is; 0 comes first.
fn rank(item: &Value) -> usize {
    ["S0", "S1", "S2", "S3"].iter().position(|known| text(item, "priority") == *known).unwrap_or(4)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn started() -> WorkLoop {
        WorkLoop::new("auth", Options::default(), now())
    }

    fn item(priority: Severity, title: &str) -> NewItem {
        NewItem { priority, title: title.into(), ..NewItem::default() }
    }

    fn check(ended: Ended) -> Check {
        let default_severity = Severity::S1;
        Check { ended, issues: None, severity: None, default_severity, blocking: true, seconds: None }
    }

    /// Runs an iteration in which these gates end so.
    fn iterate(work: &mut WorkLoop, gates: &[(&str, i32)]) -> Verdict {
        for (name, code) in gates {
            work.note_gate(name, &check(Ended::Exit(*code)), None, now());
        }
        work.evaluate(&|gate| format!("about {gate}"), now())
    }

    fn stands(work: &WorkLoop) -> (u64, u64, &str, &str) {
        (work.iteration(), work.number("consecutive_passes"), text(&work.queue, "phase"), work.status())
    }

    #[test]
    fn every_phase_is_in_the_table_once() {
        let names: Vec<String> = PHASES.iter().map(|facts| word(facts.phase)).collect();
        let expected =
            "CONTEXTUALIZE ASSESS META-COGNITION PLAN BUILD TEST QUALITY REASSESS EVALUATE RECOVER DONE";
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn gates_are_judged_by_exit_code_issues_and_severity() {
        use GateStatus::{Fail, Pass, Skip, Warn};
        let told = |issues, severity| Check { issues: Some(issues), severity, ..check(Ended::Told) };
        let lenient = |ended| Check { blocking: false, ..check(ended) };
        let cases = [
            (check(Ended::Exit(0)), Pass),
            (check(Ended::Exit(1)), Fail),
            (check(Ended::Exit(127)), Skip),
            (check(Ended::Missing), Skip),
            (check(Ended::Signal(9)), Fail),
            (check(Ended::TimedOut(600.0)), Fail),
            (lenient(Ended::Exit(1)), Warn),
            (lenient(Ended::Exit(0)), Pass),
            (told(0, None), Pass),
            (told(0, Some(Severity::S0)), Pass),
            (told(1, None), Fail),
            (told(1, Some(Severity::S1)), Fail),
            (told(1, Some(Severity::S2)), Warn),
            (Check { issues: Some(2), severity: Some(Severity::S3), ..check(Ended::Exit(1)) }, Warn),
            (Check { issues: Some(2), ..check(Ended::Exit(0)) }, Fail),
        ];
        for (check, expected) in cases {
            assert_eq!(check.status(), expected, "{check:?}");
        }
    }

    #[test]
    fn two_passes_in_a_row_complete_a_loop_without_open_items() {
        let mut work = started();
        assert_eq!(stands(&work), (1, 0, "CONTEXTUALIZE", "in_progress"));
        assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Passed);
        assert_eq!(stands(&work), (2, 1, "CONTEXTUALIZE", "in_progress"));
        assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Complete);
        assert_eq!(stands(&work), (2, 2, "DONE", "complete"));
        let before = work.clone();
        assert_eq!(work.evaluate(&|_| String::new(), now()), Verdict::Complete);
        assert_eq!(work, before, "once complete, a pass changes nothing");
        work.add(&item(Severity::S2, "more"));
        assert_eq!(stands(&work), (2, 0, "ASSESS", "assessing"));
    }

    #[test]
    fn open_items_keep_a_loop_from_being_complete() {
        let mut work = started();
        let id = work.add(&item(Severity::S2, "x"));
        for passes in 1..4 {
            assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Passed);
            assert_eq!(work.number("consecutive_passes"), passes);
        }
        work.done(&id).unwrap();
        assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Complete);
    }

    #[test]
    fn a_failed_gate_becomes_one_item_and_a_passing_one_finishes_it() {
        let mut work = started();
        iterate(&mut work, &[("lint", 0)]);
        assert_eq!(iterate(&mut work, &[("lint", 1), ("test", 0)]), Verdict::Failed(vec!["lint".into()]));
        assert_eq!(stands(&work), (3, 0, "RECOVER", "recovering"));
        let made = json!({
            "id": "work-001", "priority": "S1", "title": "Fix the failed gate: lint", "description": "about lint",
            "status": "pending", "added_iteration": 2, "completed_iteration": null, "gate": "lint",
        });
        assert_eq!(work.items(), [made]);
        assert_eq!(
            iterate(&mut work, &[("lint", 2), ("test", 1)]),
            Verdict::Failed(vec!["lint".into(), "test".into()])
        );
        assert_eq!(work.items().len(), 2, "not doubled");
        iterate(&mut work, &[("lint", 0), ("test", 1)]);
        assert_eq!(work.items()[0]["completed_iteration"], 4);
        iterate(&mut work, &[("lint", 1), ("test", 0)]);
        assert_eq!(work.items().len(), 3, "it failed again after it was done");
        let history: Vec<_> = work.queue["history"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| (entry["fixed"].as_u64().unwrap(), entry["new_issues"].as_u64().unwrap()))
            .collect();
        assert_eq!(history, [(0, 0), (0, 1), (0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn the_same_failures_call_for_another_approach_and_then_stop_the_loop() {
        let mut work = started();
        iterate(&mut work, &[("lint", 1)]);
        iterate(&mut work, &[("lint", 1)]);
        assert_eq!(stands(&work), (3, 0, "REASSESS", "reassessing"));
        assert!(
            matches!(iterate(&mut work, &[("lint", 1)]), Verdict::Stopped(reason) if reason.ends_with(": lint"))
        );
        assert_eq!(stands(&work), (3, 0, "EVALUATE", "stopped"));
        work.take("ann", None).unwrap();
        assert_eq!(work.status(), STOPPED, "work goes on, the loop does not");
        work.resume(Options::default());
        assert_eq!(stands(&work), (3, 0, "CONTEXTUALIZE", "in_progress"));
        assert_eq!(iterate(&mut work, &[("lint", 1)]), Verdict::Failed(vec!["lint".into()]));
        let mut other = started();
        iterate(&mut other, &[("lint", 1)]);
        iterate(&mut other, &[("lint", 1), ("test", 1)]);
        assert_eq!(other.number("same_failures"), 1, "others count anew");
    }

    #[test]
    fn a_loop_has_so_many_iterations_and_no_more() {
        let options = Options { max_iterations: Some(2), pause_on: None };
        let mut work = WorkLoop::new("auth", options, now());
        iterate(&mut work, &[("lint", 1)]);
        assert!(matches!(iterate(&mut work, &[("lint", 0)]), Verdict::Stopped(_)));
        assert_eq!(stands(&work), (2, 1, "EVALUATE", "stopped"));
        let mut work = WorkLoop::new("auth", options, now());
        iterate(&mut work, &[("lint", 0)]);
        assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Complete, "the last one counts");
    }

    #[test]
    fn bad_items_hold_the_loop_up_until_they_are_done() {
        for (pause_on, priority, held) in [
            (PauseOn::S0, Severity::S0, true),
            (PauseOn::S0, Severity::S1, false),
            (PauseOn::S1, Severity::S1, true),
            (PauseOn::Never, Severity::S0, false),
        ] {
            let mut work =
                WorkLoop::new("t", Options { max_iterations: None, pause_on: Some(pause_on) }, now());
            let id = work.add(&item(priority, "bad"));
            assert_eq!(matches!(iterate(&mut work, &[("lint", 0)]), Verdict::Paused(_)), held);
            assert_eq!(work.status() == PAUSED, held);
            work.take("ann", None).unwrap();
            assert_eq!(work.status() == PAUSED, held);
            work.done(&id).unwrap();
            assert_eq!((work.status(), work.reason()), ("building", ""));
        }
    }

    #[test]
    fn the_worst_item_is_taken_first_and_by_one() {
        let mut work = started();
        for (priority, title) in
            [(Severity::S2, "a"), (Severity::S0, "b"), (Severity::S1, "c"), (Severity::S0, "d")]
        {
            work.add(&item(priority, title));
        }
        assert_eq!(work.add(&item(Severity::S1, "c")), "work-003", "the same one");
        assert_eq!(work.take("ann", None), Ok("work-002".into()));
        assert_eq!(work.take("ann", None), Ok("work-002".into()), "she has it in hand");
        assert_eq!(work.take("bob", None), Ok("work-004".into()));
        let taken = Refusal::Taken { id: "work-002".into(), by: "ann".into() };
        assert_eq!(work.take("bob", Some("work-002")), Err(taken));
        work.done("work-002").unwrap();
        work.done("work-002").unwrap();
        assert_eq!(
            work.take("ann", Some("work-002")).unwrap_err().to_string(),
            "the item `work-002` is done"
        );
        assert_eq!(work.take("ann", None), Ok("work-003".into()));
        work.done("work-003").unwrap();
        assert_eq!(work.take("ann", Some("work-001")), Ok("work-001".into()));
        assert_eq!(work.take("cy", None), Err(Refusal::Nothing));
        work.put_back("cy", "work-004").unwrap();
        assert_eq!(work.take("cy", None), Err(Refusal::Nothing), "it is not hers");
        work.put_back("bob", "work-004").unwrap();
        assert_eq!(work.take("cy", None), Ok("work-004".into()));
        assert!(matches!(work.done("work-9"), Err(Refusal::NoItem { .. })));
    }

    #[test]
    fn a_document_of_the_source_can_be_worked_on() {
        let queue = json!({
            "version": 1, "task": "auth", "iteration": 3, "consecutive_passes": 1, "mine": 1,
            "items": [{"id": "work-001", "priority": "S1", "status": "done"}, {"id": "work-002", "status": "pending"}],
            "gate_results": {"lint": {"status": "pass", "timestamp": "...", "mine": 2}},
        });
        let mut work = WorkLoop { queue };
        assert_eq!(work.take("ann", None), Ok("work-002".into()));
        work.done("work-002").unwrap();
        assert_eq!(iterate(&mut work, &[("lint", 0)]), Verdict::Complete);
        assert_eq!(
            (&work.queue["mine"], &work.queue["gate_results"]["lint"]["mine"]),
            (&json!(1), &json!(2))
        );
    }

    #[test]
    fn a_record_tells_what_was_seen() {
        let told = Check { issues: Some(1), severity: Some(Severity::S2), ..check(Ended::Told) };
        let at = "1970-01-01T00:00:00.000Z";
        assert_eq!(
            told.record(None, now()),
            json!({"status": "warn", "timestamp": at, "issues": 1, "severity": "S2"})
        );
        let ran = Check { seconds: Some(1.23456), ..check(Ended::Exit(3)) };
        let expected = json!({
            "status": "fail", "timestamp": at, "issues": 1, "severity": "S1", "duration_seconds": 1.235,
            "exit_code": 3, "reason": "exit 3", "log": "x.log",
        });
        assert_eq!(ran.record(Some("x.log"), now()), expected);
        let mut work = started();
        work.note_gate("lint", &ran, Some("x.log"), now());
        work.note_gate("lint", &check(Ended::Exit(0)), None, now());
        let expected = json!({"status": "pass", "timestamp": at, "issues": 0, "exit_code": 0});
        assert_eq!(work.queue["gate_results"]["lint"], expected, "nothing is left of the last one");
        assert_eq!(text(&work.queue, "phase"), "QUALITY");
        work.note_gate("test", &check(Ended::Exit(0)), None, now());
        assert_eq!(text(&work.queue, "phase"), "TEST");
    }
}
