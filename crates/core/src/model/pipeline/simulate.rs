//! Random plans, scripted agents and injected failures: whether the pipeline keeps its promises.
//!
//! Everything happens in memory, with the very functions that the commands call. The promises are checked by what the
//! agents saw, not by what the documents say:
//!
//! - every run ends: complete, or stopped at a limit with a reason;
//! - no group begins before what it depends on is complete;
//! - never more at once than allowed, and nobody idle while a group is ready and a place is free;
//! - no group is complete without tests, unless its developer said that it has none, and never without a review;
//! - repeated reports change nothing, and neither do wrong ones;
//! - the documents are valid.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::table::{Outcome, Purpose, Role};
use super::{
    Caps, Content, Effect, KINDS, MOST_DEVELOPERS, Mode, NO_GROUP, Order, Pipeline, Plan, RunStatus, Said,
    list, text, word,
};
use crate::model::documents::dispatch::{Escalation, Evidence, HandedOver};
use crate::model::documents::pipeline::{
    ExecutionPhase, Group, OrchestratorState, PmState, ReviewIssue, TaskGroup, TestResults,
};
use crate::model::kind::Kind;
use crate::model::plan::texts;

/// A run that takes more reports than this does not end.
const MOST_REPORTS: usize = 5000;

/// Of so many runs, the documents of one are checked after every step; of the others at the end.
const THOROUGH: u64 = 100;

/// What many runs came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    pub plans: u64,
    pub completed: u64,
    pub stopped: u64,
    pub groups: u64,
    pub orders: u64,
    pub reports: u64,
    /// The same report once more.
    pub repeats: u64,
    /// Reports that had to be refused.
    pub refusals: u64,
    /// Agents that were gone without a word.
    pub deaths: u64,
    pub escalations: BTreeMap<String, u64>,
    pub most_developers: usize,
    pub longest_run: usize,
}

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the run with the seed {seed} breaks a promise: {what}")]
pub struct Broken {
    /// Repeats that run alone.
    pub seed: u64,
    pub what: String,
}

/// Runs so many plans, on so many threads; the first has this seed, the next one the next.
pub fn simulate(plans: u64, seed: u64, threads: u64, done: &(dyn Fn() + Sync)) -> Result<Figures, Broken> {
    let threads = threads.clamp(1, plans.max(1));
    let share = |first: u64| {
        let mut figures = Figures::default();
        for number in (first..plans).step_by(usize::try_from(threads).unwrap_or(1)) {
            let seed = seed.wrapping_add(number);
            Run::new(seed).go(&mut figures).map_err(|what| Broken { seed, what })?;
            figures.plans += 1;
            done();
        }
        Ok(figures)
    };
    let shares: Vec<_> = std::thread::scope(|scope| {
        let share = &share;
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
        workers.into_iter().map(|worker| worker.join().expect("a simulation does not panic")).collect()
    });
    shares.into_iter().try_fold(Figures::default(), |sum, share| Ok(sum.and(share?)))
}

impl Figures {
    fn and(mut self, other: Figures) -> Figures {
        self.plans += other.plans;
        self.completed += other.completed;
        self.stopped += other.stopped;
        self.groups += other.groups;
        self.orders += other.orders;
        self.reports += other.reports;
        self.repeats += other.repeats;
        self.refusals += other.refusals;
        self.deaths += other.deaths;
        for (purpose, count) in other.escalations {
            *self.escalations.entry(purpose).or_default() += count;
        }
        self.most_developers = self.most_developers.max(other.most_developers);
        self.longest_run = self.longest_run.max(other.longest_run);
        self
    }
}

type Checked<T = ()> = Result<T, String>;

/// One run and what its agents saw.
struct Run {
    dice: Dice,
    pipeline: Pipeline,
    caps: Caps,
    now: Timestamp,
    /// How likely something goes wrong, of 100: with the commands, with developers, in tests, in reviews.
    trouble: [u64; 4],
    thorough: bool,
    /// What was said about each group, in turn.
    said: BTreeMap<String, Vec<Outcome>>,
    /// The orders that were open when somebody looked last.
    seen: Vec<Order>,
    more_plans: u64,
    /// Whether a group was given up.
    given_up: bool,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut dice = Dice(seed);
        let mode = [None, None, Some(Mode::Simple), Some(Mode::Parallel)][dice.below(4)];
        let agents = if dice.chance(30) { Some(1 + dice.below(6) as u64) } else { None };
        let now = Timestamp::UNIX_EPOCH;
        Run {
            pipeline: Pipeline::new("v4_19700101_000000", "everything works", mode, now),
            caps: Caps::of(agents),
            now,
            trouble: std::array::from_fn(|_| [0, 0, 0, 10, 60][dice.below(5)]),
            thorough: seed.is_multiple_of(THOROUGH),
            said: BTreeMap::new(),
            seen: Vec::new(),
            more_plans: [0, 0, 0, 0, 0, 0, 0, 0, 1, 2][dice.below(10)],
            given_up: false,
            dice,
        }
    }

    fn go(&mut self, figures: &mut Figures) -> Checked {
        let mut reports = 0;
        loop {
            let open = self.look(figures)?;
            let Some(order) = open.get(self.dice.below(open.len().max(1))).cloned() else {
                if self.given_up && self.pipeline.status() == RunStatus::Running {
                    self.pipeline.give_up("nothing can go on", self.now);
                }
                break;
            };
            if order.group != NO_GROUP && !self.given_up && self.dice.chance(self.trouble[0] / 30) {
                // Its agents fail again and again: the others go on.
                self.pipeline.give_up_group(&order, "it hangs", self.now);
                self.seen.retain(|seen| *seen != order);
                self.given_up = true;
                continue;
            }
            if self.dice.chance(self.trouble[0] / 4) {
                // The agent is gone; its order stays for whoever comes next.
                figures.deaths += 1;
                continue;
            }
            self.now += SignedDuration::from_secs(1 + self.dice.below(600) as i64);
            self.answer(&order, figures)?;
            reports += 1;
            if reports > MOST_REPORTS {
                return Err(format!("it does not end within {MOST_REPORTS} reports"));
            }
        }
        self.check_end(figures)?;
        figures.reports += reports as u64;
        figures.longest_run = figures.longest_run.max(reports);
        Ok(())
    }

    /// Asks what to do, now and then twice, and checks what comes.
    fn look(&mut self, figures: &mut Figures) -> Checked<Vec<Order>> {
        let open = self.pipeline.give_out(self.caps, self.now);
        if self.thorough || self.dice.chance(20) {
            let before = self.mark();
            if self.pipeline.give_out(self.caps, self.now) != open || before != self.mark() {
                return Err("asked twice, something changed".into());
            }
        }
        let developers = open.iter().filter(|order| order.role == Role::Developer).count();
        let most =
            if self.pipeline.mode() == Mode::Simple { 1 } else { self.caps.developers.min(MOST_DEVELOPERS) };
        if developers > most {
            return Err(format!("{developers} developers at once, allowed are {most}"));
        }
        if open.len() > self.caps.agents {
            return Err(format!("{} agents at once, allowed are {}", open.len(), self.caps.agents));
        }
        for order in &open {
            if !self.seen.contains(order) {
                figures.orders += 1;
                self.check_opened(order)?;
            }
            if open.iter().filter(|other| other.group == order.group).count() > 1 {
                return Err(format!("two orders for {}", order.group));
            }
        }
        if let Some(lost) = self.seen.iter().find(|order| !open.contains(order)) {
            return Err(format!("the order {} is gone without a report", lost.id));
        }
        if self.pipeline.mode() == Mode::Parallel && developers < most && open.len() < self.caps.agents {
            self.check_nobody_idle(&open)?;
        }
        figures.most_developers = figures.most_developers.max(developers);
        self.seen.clone_from(&open);
        self.check_documents()?;
        Ok(open)
    }

    fn check_opened(&self, order: &Order) -> Checked {
        let Some(group) = self.pipeline.task_group(&order.group) else { return Ok(()) };
        let is_done = |id: &&str| self.said.get(*id).and_then(|said| said.last()) == Some(&Outcome::Approved);
        match texts(group, TaskGroup::depends_on).into_iter().find(|id| !is_done(id)) {
            Some(need) => Err(format!("{} began before {need}", order.group)),
            None => Ok(()),
        }
    }

    /// Checks that no group could have begun that has not.
    fn check_nobody_idle(&self, open: &[Order]) -> Checked {
        if self.pipeline.status() != RunStatus::Running {
            return Ok(());
        }
        let groups = self.pipeline.task_groups();
        let done = |id: &str| self.said.get(id).and_then(|said| said.last()) == Some(&Outcome::Approved);
        let given_up = |id: &str| self.pipeline.given_up(id).is_some();
        let begun = |id: &str| {
            self.said.contains_key(id) || open.iter().any(|order| order.group == id) || given_up(id)
        };
        let at_work: Vec<&Value> = groups
            .iter()
            .filter(|group| begun(text(group, TaskGroup::id)) && !done(text(group, TaskGroup::id)))
            .collect();
        let social = |group: &Value| group[TaskGroup::can_parallel] == Value::Bool(true);
        let beside = |one: &Value, other: &Value| {
            social(one)
                && social(other)
                && texts(one, TaskGroup::files_affected) != texts(other, TaskGroup::files_affected)
        };
        let ready = |group: &&Value| {
            !begun(text(group, TaskGroup::id))
                && texts(group, TaskGroup::depends_on).into_iter().all(done)
                && at_work.iter().all(|other| beside(group, other))
        };
        match groups.iter().find(ready) {
            Some(group) => {
                Err(format!("{} is ready, a place is free, and nobody begins", text(group, TaskGroup::id)))
            }
            None => Ok(()),
        }
    }

    /// Lets an agent do what its order says, well or badly.
    fn answer(&mut self, order: &Order, figures: &mut Figures) -> Checked {
        if order.purpose == Purpose::Plan {
            self.seen.retain(|seen| seen != order);
            return self.plan(order);
        }
        let (outcome, content) = self.choose(order);
        if self.dice.chance(self.trouble[0]) {
            self.wrong_report(order, figures)?;
        }
        let said = Said {
            role: order.role,
            group: &order.group,
            outcome,
            content: &content,
            order: Some(&order.id),
        };
        let effect =
            self.pipeline.report(&said, self.now).map_err(|refusal| format!("refused: {refusal}"))?;
        if effect != (Effect::Moved { group: order.group.clone() }) {
            return Err(format!("a first report gave {effect:?}"));
        }
        self.seen.retain(|seen| seen != order);
        if order.group != NO_GROUP {
            let trail = self.said.entry(order.group.clone()).or_default();
            trail.push(outcome);
            check_trail(&order.group, trail, self.pipeline.is_complete(&order.group))?;
        }
        if self.dice.chance(self.trouble[0]) {
            let before = self.mark();
            let again = self.pipeline.report(&said, self.now);
            if again != Ok(Effect::Repeated { group: order.group.clone() }) || before != self.mark() {
                return Err(format!("a repeated report gave {again:?}"));
            }
            figures.repeats += 1;
        }
        Ok(())
    }

    /// Says something that must be refused.
    fn wrong_report(&mut self, order: &Order, figures: &mut Figures) -> Checked {
        let all =
            [Outcome::ReadyForQa, Outcome::Pass, Outcome::Approved, Outcome::Unblocked, Outcome::Complete];
        let wrong = all[self.dice.below(all.len())];
        let allowed = super::table::allowed(order.purpose).contains(&wrong);
        // Without evidence it is never complete.
        if allowed && wrong != Outcome::Complete {
            return Ok(());
        }
        let (before, nothing) = (self.mark(), Content::new());
        let said = Said {
            role: order.role,
            group: &order.group,
            outcome: wrong,
            content: &nothing,
            order: Some(&order.id),
        };
        let refused = self.pipeline.report(&said, self.now).is_err();
        figures.refusals += 1;
        match refused && before == self.mark() {
            true => Ok(()),
            false => Err(format!("{} was taken from {}", word(wrong), word(order.purpose))),
        }
    }

    fn choose(&mut self, order: &Order) -> (Outcome, Content) {
        let trouble = match order.purpose {
            Purpose::Work => 1,
            Purpose::Test => 2,
            Purpose::Review => 3,
            _ => 0,
        };
        let bad = self.dice.chance(self.trouble[trouble]);
        let outcome = match (order.purpose, bad) {
            (Purpose::Work, false) if self.dice.chance(15) => Outcome::ReadyForReview,
            (Purpose::Work, false) => Outcome::ReadyForQa,
            (Purpose::Work, true) => [Outcome::Blocked, Outcome::Incomplete][self.dice.below(2)],
            (Purpose::Test, false) => Outcome::Pass,
            (Purpose::Test, true) => {
                [Outcome::Fail, Outcome::Fail, Outcome::Blocked, Outcome::Flaky][self.dice.below(4)]
            }
            (Purpose::Review, false) => Outcome::Approved,
            (Purpose::Review, true) => Outcome::ChangesRequested,
            (Purpose::Unblock | Purpose::Guide | Purpose::Help, _) => Outcome::Unblocked,
            (Purpose::FinalCheck, _) if self.more_plans == 0 => {
                [Outcome::Complete, Outcome::Bazinga][self.dice.below(2)]
            }
            (Purpose::FinalCheck | Purpose::Simplify | Purpose::Mediate | Purpose::Plan, _) => {
                Outcome::Continue
            }
        };
        let content = match outcome {
            Outcome::Complete | Outcome::Bazinga => {
                json!({
                    HandedOver::evidence: [{Evidence::requirement: "everything works", Evidence::met: true, Evidence::evidence: "seen"}],
                })
            }
            Outcome::ReadyForQa => {
                json!({
                    HandedOver::files_modified: ["a.rs"], HandedOver::commits: ["abc"],
                    HandedOver::notes: "done",
                })
            }
            Outcome::Pass => json!({HandedOver::test_results: {TestResults::e2e_tests: "3/3 passed"}}),
            Outcome::ChangesRequested => {
                json!({
                    HandedOver::feedback: "not yet", HandedOver::issues: [{ReviewIssue::priority: "high"}],
                })
            }
            _ => json!({}),
        };
        (outcome, content.as_object().cloned().unwrap_or_default())
    }

    fn plan(&mut self, order: &Order) -> Checked {
        let plan = self.make_plan();
        let read = Plan::read(&plan).map_err(|refusal| format!("{refusal}: {plan}"))?;
        match self.pipeline.adopt(&read, self.now) {
            Ok(true) => {}
            other => return Err(format!("the plan of {} gave {other:?}: {plan}", order.id)),
        }
        self.more_plans = self.more_plans.saturating_sub(u64::from(!self.said.is_empty()));
        match self.pipeline.adopt(&read, self.now) {
            Ok(false) => Ok(()),
            other => Err(format!("the same plan again gave {other:?}")),
        }
    }

    fn make_plan(&mut self) -> Value {
        let known: Vec<String> = self.pipeline.group_ids().map(Into::into).collect();
        let first = known.len();
        let count =
            if first == 0 { [1, 2, 2, 3, 3, 4, 5, 8][self.dice.below(8)] } else { 1 + self.dice.below(2) };
        let ids: Vec<String> =
            known.into_iter().chain((first..first + count).map(|id| format!("G{id}"))).collect();
        let (density, social) = (self.dice.below(40) as u64, 60 + self.dice.below(41) as u64);
        let mut groups = Vec::new();
        for place in first..ids.len() {
            let needs: Vec<&String> = ids[..place].iter().filter(|_| self.dice.chance(density)).collect();
            let files = format!("src/{}.rs", self.dice.below(2 * count));
            groups.push(json!({
                TaskGroup::id: ids[place], TaskGroup::name: format!("Group number {place}"),
                TaskGroup::depends_on: needs,
                TaskGroup::can_parallel: self.dice.chance(social), TaskGroup::files_affected: [files],
                TaskGroup::complexity: "low",
            }));
        }
        let mut plan = json!({PmState::task_groups: groups});
        if self.dice.chance(30) {
            plan[PmState::mode] = json!([Mode::Simple, Mode::Parallel][self.dice.below(2)]);
        }
        if self.dice.chance(30) {
            // All in one phase: only what they depend on holds them up.
            plan[PmState::execution_phases] = json!([{ExecutionPhase::group_ids: ids[first..]}]);
        }
        plan
    }

    fn check_end(&self, figures: &mut Figures) -> Checked {
        let pipeline = &self.pipeline;
        match (pipeline.status(), pipeline.stop_reason()) {
            (RunStatus::Completed, _) if !pipeline.all_complete() => {
                return Err("completed with open groups".into());
            }
            (RunStatus::Completed, _) => figures.completed += 1,
            (RunStatus::Error, Some(_)) => figures.stopped += 1,
            (status, reason) => {
                return Err(format!("nothing is left to do, and it is {status:?} ({reason:?})"));
            }
        }
        self.check_shapes()?;
        for id in pipeline.group_ids() {
            figures.groups += 1;
            for escalation in pipeline.entry(id).map_or(&[][..], |entry| list(entry, Group::escalations)) {
                *figures.escalations.entry(text(escalation, Escalation::purpose).into()).or_default() += 1;
            }
        }
        Ok(())
    }

    /// Returns what tells whether something changed: all documents, or the number of changes.
    fn mark(&self) -> (Value, Option<Pipeline>) {
        (
            self.pipeline.orchestrator[OrchestratorState::iteration].clone(),
            self.thorough.then(|| self.pipeline.clone()),
        )
    }

    fn check_documents(&self) -> Checked {
        if self.thorough { self.check_shapes() } else { Ok(()) }
    }

    fn check_shapes(&self) -> Checked {
        for (name, value) in KINDS.into_iter().zip(self.pipeline.documents()) {
            let kind = Kind::find(name).ok_or("an unknown kind")?;
            kind.shape.check(value).map_err(|misfit| format!("{name}: {misfit}"))?;
        }
        Ok(())
    }
}

/// Checks what led a group to where it is.
fn check_trail(group: &str, trail: &[Outcome], complete: bool) -> Checked {
    use Outcome::{Approved, Continue, Pass, ReadyForQa, ReadyForReview};
    let reviewed =
        trail.ends_with(&[ReadyForQa, Pass, Approved]) || trail.ends_with(&[ReadyForReview, Approved]);
    if complete != reviewed {
        return Err(format!("{group} is complete: {complete}, after {trail:?}"));
    }
    let since = trail.rsplit(|outcome| *outcome == Continue).next().unwrap_or_default();
    let begun = since.iter().filter(|outcome| is_of_developer(**outcome)).count() as u64;
    let rejected = since.iter().filter(|outcome| **outcome == Outcome::ChangesRequested).count() as u64;
    if rejected > super::REJECTED_REVIEWS + 1 {
        return Err(format!("{group}: {rejected} rejected reviews without the project manager"));
    }
    // What blocks a tester is told with the same word.
    let blocked = trail.iter().filter(|outcome| **outcome == Outcome::Blocked).count() as u64;
    match begun > super::DEVELOPER_ITERATIONS + blocked {
        true => Err(format!("{group}: {begun} developers without the project manager")),
        false => Ok(()),
    }
}

fn is_of_developer(outcome: Outcome) -> bool {
    let developer = [Outcome::ReadyForQa, Outcome::ReadyForReview, Outcome::Blocked, Outcome::Incomplete];
    developer.contains(&outcome)
}

/// Numbers that look random and are the same for the same seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to below `most`.
    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// Says yes in so many cases of 100.
    fn chance(&mut self, of_hundred: u64) -> bool {
        self.next() % 100 < of_hundred
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundreds_of_runs_keep_every_promise() {
        let figures = simulate(400, 1, 2, &|| {}).unwrap_or_else(|broken| panic!("{broken}"));
        assert_eq!((figures.plans, figures.completed + figures.stopped), (400, 400));
        assert!(figures.completed > 300 && figures.stopped > 3, "{figures:?}");
        assert!(figures.repeats > 100 && figures.refusals > 100 && figures.deaths > 100, "{figures:?}");
        assert_eq!(figures.most_developers, MOST_DEVELOPERS);
        let kinds: Vec<_> = figures.escalations.keys().map(String::as_str).collect();
        assert_eq!(kinds, ["help", "mediate", "simplify"]);
    }

    #[test]
    fn a_seed_gives_the_same_run() {
        let one = simulate(20, 77, 1, &|| {});
        assert_eq!(one, simulate(20, 77, 3, &|| {}));
        let parts: u64 = (77..97).map(|seed| simulate(1, seed, 1, &|| {}).unwrap().reports).sum();
        assert_eq!(one.unwrap().reports, parts);
    }
}
