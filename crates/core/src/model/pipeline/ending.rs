//! Giving up, and going on after it: a group whose agents fail again and again in the same way, a run that nobody can go
//! on with, and who conducts it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::spending::Failure;
use super::table::Purpose;
use super::values::{clip, number, push, remove};
use super::{GroupStage, NO_GROUP, Order, Pipeline, RunStatus, list, text, time, word};
use crate::model::documents::dispatch::{Conductor, GivenUp, NextOrder, RepeatedFailure, StopKind};
use crate::model::documents::pipeline::{Blocker, Group, GroupAgent, OrchestratorState, TaskGroup};
use crate::model::key::{Fields, FieldsMut};
use crate::model::plan::texts;

/// What is kept as said of an order that nobody could do.
const GAVE_UP: &str = "GAVE_UP";

/// How much of a reason is kept.
const REASON: usize = 500;

impl Pipeline {
    /// Counts a failed try of a group's order. Returns how often the same work has failed in the same way by now.
    pub fn note_failure(&mut self, order: &Order, failure: &Failure) -> u64 {
        if order.group == NO_GROUP {
            return 0;
        }
        let (purpose, fingerprint) = (word(order.purpose), fingerprint(failure));
        let entry = self.entry_mut(&order.group);
        let known = list(entry, Group::repeated_failures)
            .iter()
            .find(|known| text(known, RepeatedFailure::purpose) == purpose);
        let alike = |known: &&Value| {
            text(known, RepeatedFailure::class) == failure.class
                && text(known, RepeatedFailure::fingerprint) == fingerprint
        };
        let times =
            known.filter(alike).map_or(0, |known| number(known, RepeatedFailure::times)).saturating_add(1);
        forget(entry, order.purpose);
        let noted = json!({
            RepeatedFailure::purpose: purpose, RepeatedFailure::class: failure.class,
            RepeatedFailure::fingerprint: fingerprint, RepeatedFailure::times: times,
        });
        push(entry, Group::repeated_failures, noted, Purpose::ALL.len());
        times
    }

    /// Forgets the failures of work that somebody has done after all.
    pub fn note_success(&mut self, order: &Order) {
        if order.group != NO_GROUP && self.entry(&order.group).is_some() {
            forget(self.entry_mut(&order.group), order.purpose);
        }
    }

    /// Gives a group up: nobody is started for it any more, and the others go on.
    pub fn give_up_group(&mut self, order: &Order, reason: &str, now: Timestamp) {
        let reason = clip(reason, REASON);
        self.close(&order.id, &GAVE_UP.into(), "", now);
        self.count();
        let entry = self.entry_mut(&order.group);
        entry[Group::given_up] =
            json!({GivenUp::purpose: order.purpose, GivenUp::reason: reason, GivenUp::at: time::stamp(now)});
        entry[Group::status] = json!(GroupStage::DevBlocked);
        entry.set(Group::current_agent, GroupAgent::None);
        entry[Group::next_order] = json!({
            NextOrder::role: order.role, NextOrder::purpose: order.purpose,
            NextOrder::stage: GroupStage::DevBlocked,
        });
        push(entry, Group::blockers, json!({Blocker::description: reason, Blocker::resolved: false}), 200);
        self.log(&format!("give_up_group_{}", order.group), &reason, now);
        self.derive();
    }

    /// Returns why nobody goes on with a group.
    pub fn given_up(&self, group: &str) -> Option<&str> {
        self.entry(group)?.at(Group::given_up)?.text(GivenUp::reason)
    }

    /// Ends the run because whoever starts the agents cannot go on.
    pub fn give_up(&mut self, reason: &str, now: Timestamp) {
        if self.status() == RunStatus::Running {
            self.count();
            self.stop(StopKind::GaveUp, &clip(reason, 4 * REASON), now);
        }
    }

    /// Whether the run has stopped because nobody could go on with it.
    pub fn is_given_up(&self) -> bool {
        self.status() == RunStatus::Error
            && text(&self.orchestrator, OrchestratorState::stop_kind) == word(StopKind::GaveUp)
    }

    /// Lets a run go on that was given up, and its groups. One that has stopped at a limit needs a plan.
    pub fn go_on(&mut self, now: Timestamp) {
        if !self.is_given_up() {
            return;
        }
        self.unstop();
        self.count();
        self.log("resume", "somebody goes on with the run", now);
        self.derive();
    }

    /// Takes back that a run has stopped, and that groups were given up.
    pub(super) fn unstop(&mut self) {
        self.orchestrator[OrchestratorState::status] = json!(RunStatus::Running);
        self.orchestrator[OrchestratorState::end_time] = Value::Null;
        remove(&mut self.orchestrator, OrchestratorState::stop_reason);
        remove(&mut self.orchestrator, OrchestratorState::stop_kind);
        let groups: Vec<String> = self.group_ids().map(Into::into).collect();
        groups.iter().for_each(|group| self.take_up_again(group));
    }

    /// Lets somebody try a group again that was given up.
    pub(super) fn take_up_again(&mut self, group: &str) {
        if self.entry(group).is_none() {
            return;
        }
        let entry = self.entry_mut(group);
        if entry.has(Group::given_up) {
            super::handoff::resolve(entry, "somebody tries again");
        }
        remove(entry, Group::given_up);
        remove(entry, Group::repeated_failures);
    }

    /// Writes down who starts the agents from now on. Whoever did so before is gone, and so are its agents.
    pub fn take_over(&mut self, pid: u32, now: Timestamp) {
        self.orchestrator[OrchestratorState::conductor] =
            json!({Conductor::pid: pid, Conductor::since: time::stamp(now)});
        self.put_all_down();
    }

    /// Writes down that nobody starts agents any more, and how long developers stood idle.
    pub fn leave(&mut self, idle_seconds: Value, now: Timestamp) {
        let conductor = super::values::object(&mut self.orchestrator, OrchestratorState::conductor);
        conductor.set(Conductor::until, time::stamp(now));
        conductor[Conductor::idle_seconds] = idle_seconds;
        remove(conductor, Conductor::paused);
        self.put_all_down();
    }

    /// Writes down that nobody is started for a while, and why; or that it is over.
    pub fn pause(&mut self, pause: Option<&str>) {
        let conductor = super::values::object(&mut self.orchestrator, OrchestratorState::conductor);
        match pause {
            Some(pause) => conductor[Conductor::paused] = pause.into(),
            None => remove(conductor, Conductor::paused),
        }
    }

    fn put_all_down(&mut self) {
        let open: Vec<Order> = self.open_orders().collect();
        open.iter().for_each(|order| self.put_down(order));
        self.derive();
    }

    /// Returns what a run lacks that is not complete, one line for each group.
    pub fn missing(&self) -> Vec<String> {
        let line = |id: &str| {
            let need = |id: &&str| !self.is_complete(id);
            let needs =
                self.task_group(id).map(|group| texts(group, TaskGroup::depends_on)).unwrap_or_default();
            let open: Vec<&str> = needs.into_iter().filter(need).collect();
            match self.given_up(id) {
                Some(reason) => format!("group {id} is blocked: {reason}"),
                None if !open.is_empty() => format!("group {id} waits for {}", open.join(", ")),
                None => format!("group {id} is {}", word(self.stage(id))),
            }
        };
        match self.status() {
            RunStatus::Completed => Vec::new(),
            _ if !self.is_planned() => vec!["there is no plan".into()],
            _ if self.all_complete() => vec!["the final check is open".into()],
            _ => self.group_ids().filter(|id| !self.is_complete(id)).map(line).collect(),
        }
    }
}

fn forget(entry: &mut Value, purpose: Purpose) {
    if let Some(known) = entry.list_mut(Group::repeated_failures) {
        known.retain(|known| text(known, RepeatedFailure::purpose) != word(purpose));
        if known.is_empty() {
            remove(entry, Group::repeated_failures);
        }
    }
}

/// Returns what failures of one kind have in common: what happened and the last that was said, without numbers, paths
/// and names of orders. What an agent printed before it fell silent says nothing about that.
fn fingerprint(failure: &Failure) -> String {
    let mut lines = failure.reason.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let last = if failure.class == "timeout" { None } else { lines.next_back() };
    let words = first.split_whitespace().chain(last.unwrap_or_default().split_whitespace());
    let plain =
        |word: &&str| !word.contains(|sign: char| sign.is_ascii_digit() || sign == '/' || sign == '\\');
    clip(&words.filter(plain).collect::<Vec<_>>().join(" ").to_lowercase(), 200)
}

#[cfg(test)]
mod tests {
    use super::super::{Caps, Plan};
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn failure(class: &str, reason: &str) -> Failure {
        Failure { class: class.into(), reason: reason.into() }
    }

    fn begun() -> (Pipeline, Order) {
        let mut run = Pipeline::new("v4_1", "x", None, NOW);
        let plan = json!({"task_groups": [{"id": "A"}, {"id": "B"}, {"id": "C", "depends_on": ["A"]}]});
        run.adopt(&Plan::read(&plan).unwrap(), NOW).unwrap();
        let order = run.next(Caps::of(None), NOW).remove(0);
        (run, order)
    }

    #[test]
    fn failures_of_one_kind_are_counted_until_one_differs() {
        let (mut run, order) = begun();
        let mut times = |class: &str, reason: &str| run.note_failure(&order, &failure(class, reason));
        assert_eq!(times("timeout", "timed out after 2 s\nline 17"), 1);
        assert_eq!(times("timeout", "timed out after 3 s\nother words"), 2);
        assert_eq!(times("unknown", "exit code 1\n/tmp/a/b.rs:17: no such thing"), 1);
        assert_eq!(times("unknown", "exit code 1\n/tmp/c/d.rs:9: no such thing"), 2);
        assert_eq!(times("unknown", "exit code 1\nsomething else"), 1);
        run.note_success(&order);
        assert_eq!(run.note_failure(&order, &failure("unknown", "exit code 1\nsomething else")), 1);
    }

    #[test]
    fn a_group_that_was_given_up_waits_and_the_others_go_on() {
        let (mut run, order) = begun();
        run.give_up_group(&order, "timed out after 2 s", NOW);
        assert_eq!(run.stage("A"), GroupStage::DevBlocked);
        let open: Vec<String> = run.next(Caps::of(None), NOW).into_iter().map(|order| order.group).collect();
        assert_eq!(open, ["B"]);
        let missing =
            ["group A is blocked: timed out after 2 s", "group B is dev_working", "group C waits for A"];
        assert_eq!(run.missing(), missing);
        run.give_up("nothing can go on", NOW);
        assert_eq!((run.status(), run.stop_reason()), (RunStatus::Error, Some("nothing can go on")));
        run.go_on(NOW);
        assert_eq!((run.status(), run.stop_reason()), (RunStatus::Running, None));
        let open: Vec<Purpose> =
            run.next(Caps::of(None), NOW).into_iter().map(|order| order.purpose).collect();
        assert_eq!(open, [Purpose::Work, Purpose::Work]);
        // A limit of the pipeline takes more than that.
        run.stop(StopKind::Limit, "too often", NOW);
        run.go_on(NOW);
        assert_eq!(run.status(), RunStatus::Error);
    }

    #[test]
    fn whoever_leaves_leaves_nobody_at_work() {
        let (mut run, order) = begun();
        run.begin_try(&order.id, NOW);
        assert_eq!(
            (
                list(&run.orchestrator, OrchestratorState::active_agents).len(),
                text(&run.groups["A"], Group::current_agent)
            ),
            (1, "developer")
        );
        run.leave(json!(0.5), NOW);
        assert_eq!(
            (
                list(&run.orchestrator, OrchestratorState::active_agents).len(),
                text(&run.groups["A"], Group::current_agent)
            ),
            (0, "none")
        );
        assert_eq!(run.open_orders().count(), 2, "they stay open");
        let spawned = |run: &Pipeline| number(&run.orchestrator, OrchestratorState::total_spawns);
        assert_eq!(spawned(&run), 1);
        run.give_out(Caps::of(None), NOW);
        assert_eq!(spawned(&run), 3, "given out by hand");
        run.give_out(Caps::of(None), NOW);
        assert_eq!(spawned(&run), 3);
    }
}
