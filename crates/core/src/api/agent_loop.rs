//! The work loop: items, gates, iterations.

use super::request::{Iterations, Seconds, request};
use super::{Caller, Request, Stored, answers};
use crate::model::agent_loop::{
    Check, Ended, Failures, Holder, NewItem, Options, PauseOn, Severity, WorkLoop,
};
use crate::model::documents::WorkQueue;
use crate::model::ids::Key;
use crate::model::lease::LEASE;
use crate::ops::Result;
use crate::ops::agent_loop::{self, GateReport, LoopChanged, NewLoop, hold};
use serde_json::Value;

request!(
    /// Start the loop for a task, or let it go on.
    StartLoop("loop.start", Changes, "loop start", r#"{"task": "Make it work", "max_iterations": 5}"#) {
        /// What is to be done; the task of the loop that is there unless told.
        task: Option<String>,
        /// Begin anew, whatever is there.
        reset: bool,
        /// Stop after so many iterations; 50 unless told.
        max_iterations: Option<Iterations>,
        /// Hold the loop up for an open item this bad, or worse; S0 unless told.
        pause_on: Option<PauseOn>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

answers! {
    LoopChanged: WorkQueue, done => &done.work.queue, warns &done.warnings;
    WorkLoop: WorkQueue, work => &work.queue;
}

impl Request for StartLoop {
    type Answer = LoopChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<LoopChanged> {
        let max_iterations = self.max_iterations.map(Iterations::get);
        let new = NewLoop {
            task: self.task.map(|task| caller.told(task)),
            options: Options { max_iterations, pause_on: self.pause_on },
            reset: self.reset,
        };
        agent_loop::start(caller.engine, &new, self.expect_revision, caller.actor)
    }
}

request!(
    /// Add an item of work to the loop.
    AddItem("loop.add", Changes, "loop add", r#"{"title": "Fix the parser", "priority": "S1"}"#) {
        /// What is to be done, in a line.
        title: String,
        /// How urgent it is; S0 comes first, S2 unless told.
        priority: Option<Severity>,
        /// More about it.
        description: Option<String>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for AddItem {
    type Answer = LoopChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<LoopChanged> {
        let new = NewItem {
            priority: self.priority.unwrap_or(Severity::S2),
            title: self.title,
            description: self.description.unwrap_or_default(),
            ..NewItem::default()
        };
        agent_loop::add(caller.engine, &new, self.expect_revision, caller.actor)
    }
}

request!(
    /// Take an item to work on: the most urgent one, or one that you name.
    TakeItem("loop.take", Changes, "loop take", r#"{"as": "w1"}"#) {
        /// The item; the most urgent one unless told.
        id: Option<String>,
        /// Who takes it; the caller's session, else the user, unless told.
        who as "as": Option<String>,
        /// How many seconds you may be silent before others may take it; 600, without a session 3600, unless told.
        lease: Option<Seconds>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

/// People at work by hand give no signs of life.
const BY_HAND: f64 = 3600.0;

impl Request for TakeItem {
    type Answer = LoopChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<LoopChanged> {
        let session = caller.actor.session.as_deref();
        let usual = if session.is_some() { LEASE } else { BY_HAND };
        let lease = self.lease.map_or(usual, Seconds::get);
        let holder = Holder { who: who(caller, self.who.as_deref()), session, run: None, lease };
        hold::take(caller.engine, &holder, self.id.as_deref(), self.expect_revision, caller.actor)
    }
}

/// Returns who has items of the loop: whoever is told, else the session, else the user.
fn who<'c>(caller: &Caller<'c>, told: Option<&'c str>) -> &'c str {
    told.or(caller.actor.session.as_deref()).unwrap_or(&caller.actor.user)
}

request!(
    /// Give an item back for others to take, or all that you have in hand.
    ReleaseItem("loop.release", Changes, "loop release", r#"{"as": "w1"}"#) {
        /// The item; all that you have in hand unless told.
        id: Option<String>,
        /// Who has it; the caller's session, else the user, unless told.
        who as "as": Option<String>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for ReleaseItem {
    type Answer = LoopChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<LoopChanged> {
        let who = who(caller, self.who.as_deref());
        hold::release(caller.engine, who, self.id.as_deref(), self.expect_revision, caller.actor)
    }
}

request!(
    /// Say that an item is done.
    FinishItem("loop.done", Changes, "loop done", r#"{"id": "work-001"}"#) {
        /// The item.
        id: String,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for FinishItem {
    type Answer = LoopChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<LoopChanged> {
        agent_loop::done(caller.engine, &self.id, self.expect_revision, caller.actor)
    }
}

request!(
    /// Note what a gate found that somebody has looked after by other means.
    NoteGate("loop.gate", Changes, "loop gate", r#"{"name": "review", "issues": 0}"#) {
        /// The gate.
        name: Key,
        /// How many issues were found.
        issues: u64,
        /// How bad the worst of them is.
        severity: Option<Severity>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for NoteGate {
    type Answer = LoopChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<LoopChanged> {
        let check = Check {
            ended: Ended::Told,
            issues: Some(self.issues),
            severity: self.severity,
            default_severity: Severity::S1,
            blocking: true,
            detected: false,
            seconds: None,
            failures: Failures::default(),
        };
        let report = GateReport { name: self.name, check, output: None };
        agent_loop::note_gates(caller.engine, &[report], false, self.expect_revision, caller.actor)
    }
}

request!(
    /// Show how the loop stands.
    ShowLoop("loop.status", Reads, "loop status", "{}") {}
);

impl Request for ShowLoop {
    type Answer = WorkLoop;

    fn perform(self, caller: &Caller<'_>) -> Result<WorkLoop> {
        agent_loop::show(caller.engine)
    }
}

request!(
    /// Remove the loop; it can be taken back.
    ResetLoop("loop.reset", Removes, "loop reset", "{}") {
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for ResetLoop {
    type Answer = Stored<Option<WorkQueue>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Option<WorkQueue>>> {
        let (known, warnings) = agent_loop::reset(caller.engine, self.expect_revision, caller.actor)?;
        Ok(Stored::new(known.unwrap_or(Value::Null)).warned(warnings))
    }
}
