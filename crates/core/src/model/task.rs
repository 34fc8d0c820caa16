//! One task of the queue, and what may happen to it.
//!
//! ```text
//! created -> available -> claimed -> in_progress -> done | failed        cancelled
//!               ^------------+------------+   lease over, released, reset
//! ```
//! Whoever claims a task gets a lease with an *epoch* that no other claim of this task has had or will have.
//! Everything a worker does to a task is fenced by it: an old owner is told who has the task now, and nothing
//! changes. A lease that has run out stays valid until somebody else asks for work: work that is done is not
//! thrown away without need.
//!
//! A task is edited as the value it is, so that what we do not know of it stays.

mod edit;
mod parts;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::changes::Changes;
use super::documents::queue::{LastClaim, QueueTask, TaskContext, TaskResult, TaskUsage};
use super::item_text::ItemText;
use super::key::{Fields, FieldsMut, Held, Key, Put};
use super::lease::{self, Sign, Signs};
use super::new_task::NewTask;
use super::redact::redact;
use super::time::{self, Moment};
use super::usage::{Tries, Usage};

pub use super::documents::queue::QueueStatus as Status;
pub use super::lease::LEASE;
pub use edit::{Changed, Removed, TaskEdit};
pub use parts::parts_of;

/// How many attempts that came to nothing a task remembers, and how much of the reason of each.
const ATTEMPTS: usize = 5;
const REASON: usize = 1000;

/// The priority of a task that has none.
pub const PRIORITY: i64 = 5;

#[derive(Debug, Clone, PartialEq)]
pub struct Task(Value);

/// Writes a new task: what [`Task::new`] makes, without a value on the way. `now` is a [stamp](time::stamp).
pub fn write_new(task: &mut ItemText<'_>, id: &str, new: &NewTask<'_>, status: Status, now: &str) {
    task.text(QueueTask::id, id);
    task.text(QueueTask::description, &new.description);
    task.text(QueueTask::status, word(status));
    task.whole(QueueTask::priority, new.priority.unwrap_or(PRIORITY));
    task.null(QueueTask::claimed_by);
    task.texts(QueueTask::dependencies, &new.dependencies);
    task.object(QueueTask::context, |context| {
        context.texts(TaskContext::files, &new.files);
        match &new.hints {
            Some(hints) => context.text(TaskContext::hints, hints),
            None => context.null(TaskContext::hints),
        }
    });
    task.null(QueueTask::result);
    task.text(QueueTask::created_at, now);
    task.null(QueueTask::claimed_at);
    task.null(QueueTask::completed_at);
    if !new.needs.is_empty() {
        task.texts(QueueTask::required_capabilities, &new.needs);
    }
    if !new.labels.is_empty() {
        task.texts(QueueTask::labels, &new.labels);
    }
    if let Some(parent) = &new.parent {
        task.text(QueueTask::parent, parent);
    }
}

/// Who does something to a task, and by which claim.
#[derive(Debug, Clone, Copy)]
pub struct Claimant<'a> {
    pub worker: &'a str,
    /// The epoch that the worker believes to have; not every worker remembers it.
    pub epoch: Option<u64>,
}

/// Why a worker may not do that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{} `{owner}` (lease {epoch})", standing(id, status))]
    Taken { id: String, owner: String, epoch: u64, status: &'static str },
    #[error("your lease on `{id}` is over ({reason}); nobody has the task now, it is {status}")]
    LeaseOver { id: String, reason: String, status: &'static str },
    #[error("cannot {verb} `{id}`: it is {status}")]
    WrongState { id: String, verb: &'static str, status: &'static str },
}

/// What came of something that may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Changed,
    /// It was so already.
    Repeated,
}

type Outcome = Result<Effect, Refusal>;

/// What a worker reports at the end.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub output: String,
    pub modified: Vec<String>,
    pub created: Vec<String>,
}

impl Report {
    /// Returns it without the secrets that agents and their programs may have said.
    pub fn redacted(&self) -> Report {
        let clean = |text: &String| redact(text).into_owned();
        let [modified, created] =
            [&self.modified, &self.created].map(|files| files.iter().map(clean).collect());
        Report { output: clean(&self.output), modified, created }
    }
}

impl Task {
    /// Makes a new task, in the field order of the queue's documents.
    pub fn new(id: &str, new: &NewTask<'_>, status: Status, now: Timestamp) -> Task {
        let mut task = json!({
            QueueTask::id: id,
            QueueTask::description: new.description,
            QueueTask::status: word(status),
            QueueTask::priority: new.priority.unwrap_or(PRIORITY),
            QueueTask::claimed_by: null,
            QueueTask::dependencies: new.dependencies,
            QueueTask::context: {TaskContext::files: new.files, TaskContext::hints: new.hints},
            QueueTask::result: null,
            QueueTask::created_at: time::stamp(now),
            QueueTask::claimed_at: null,
            QueueTask::completed_at: null,
        });
        if !new.needs.is_empty() {
            task[QueueTask::required_capabilities] = json!(new.needs);
        }
        if !new.labels.is_empty() {
            task[QueueTask::labels] = json!(new.labels);
        }
        if let Some(parent) = &new.parent {
            task[QueueTask::parent] = json!(parent);
        }
        Task(task)
    }

    /// Takes a task of a valid queue.
    pub fn of(value: Value) -> Task {
        Task(value)
    }

    pub fn value(&self) -> &Value {
        &self.0
    }

    pub fn into_value(self) -> Value {
        self.0
    }

    pub fn id(&self) -> &str {
        self.0.text(QueueTask::id).unwrap_or_default()
    }

    pub fn status(&self) -> Status {
        self.0.text(QueueTask::status).map(status).unwrap_or_default()
    }

    /// Returns its place in the order of claims: by priority, then by age.
    pub fn rank(&self) -> (i64, i64) {
        (priority(&self.0), came(self.0.text(QueueTask::created_at)))
    }

    pub fn owner(&self) -> Option<&str> {
        self.0.text(QueueTask::claimed_by)
    }

    pub fn dependencies(&self) -> Vec<&str> {
        self.0.texts(QueueTask::dependencies).collect()
    }

    pub fn files(&self) -> Vec<&str> {
        self.0.at(QueueTask::context).texts(TaskContext::files).collect()
    }

    pub fn needs(&self) -> Vec<&str> {
        self.0.texts(QueueTask::required_capabilities).collect()
    }

    pub fn retry_at(&self) -> Option<Timestamp> {
        self.0.text(QueueTask::next_retry_at).and_then(time::read)
    }

    /// Whether nobody has it and somebody may.
    pub fn is_open(&self) -> bool {
        matches!(self.status(), Status::Created | Status::Available)
    }

    pub fn is_active(&self) -> bool {
        matches!(self.status(), Status::Claimed | Status::InProgress)
    }

    /// Returns the epoch of the newest claim; 0 before the first.
    pub fn epoch(&self) -> u64 {
        lease::epoch(&self.0)
    }

    /// Whether this is the task that `new` describes.
    pub fn is(&self, new: &NewTask<'_>) -> bool {
        let hints = self.0.at(QueueTask::context).text(TaskContext::hints);
        self.0.text(QueueTask::description).unwrap_or_default() == new.description
            && priority(&self.0) == new.priority.unwrap_or(PRIORITY)
            && self.waits_as(new)
            && self.files() == new.files
            && hints.unwrap_or_default() == new.hints.as_deref().unwrap_or_default()
            && self.needs() == new.needs
            && self.labels() == new.labels
            && self.parent() == new.parent.as_deref()
    }

    /// Whether it waits for what `new` names; a part also waits for what its parent waited for.
    fn waits_as(&self, new: &NewTask<'_>) -> bool {
        match new.parent.is_some() {
            true => new.dependencies.iter().all(|id| self.dependencies().contains(&&**id)),
            false => self.dependencies() == new.dependencies,
        }
    }

    /// Returns how much of the lease is left; negative when it has run out, `None` without one.
    pub fn lease_left(&self, now: &Moment) -> Option<SignedDuration> {
        lease::left(&self.0, now)
    }

    pub fn is_expired(&self, now: &Moment) -> bool {
        self.is_active() && self.lease_left(now).is_some_and(|left| left <= SignedDuration::ZERO)
    }

    /// Gives the task to a worker.
    pub fn claim(&mut self, worker: &str, session: Option<&str>, seconds: f64, now: &Moment) {
        let epoch = self.epoch() + 1;
        self.set(QueueTask::status, Status::Claimed);
        self.set(QueueTask::claimed_by, worker);
        self.set(QueueTask::claimed_at, time::stamp(now.at));
        match session {
            Some(session) => self.set(QueueTask::session_id, session),
            None => self.unset(QueueTask::session_id),
        }
        self.unset(QueueTask::started_at);
        self.unset(QueueTask::next_retry_at);
        self.set(QueueTask::completed_at, Value::Null);
        self.set(QueueTask::result, Value::Null);
        self.lease(epoch, seconds, now);
    }

    /// Makes the lease last its full time again.
    pub fn renew(&mut self, now: &Moment) {
        self.lease(self.epoch().max(1), lease::seconds(&self.0), now);
    }

    /// Whether a renewal has to be written into the document.
    pub fn is_stale(&self, now: &Moment) -> bool {
        lease::is_stale(&self.0, now)
    }

    /// Returns the sign of life that a renewal is.
    pub fn sign(&self) -> Sign {
        Sign::of(&self.0)
    }

    /// Returns the task with its lease as signs of life renewed it.
    pub fn renewed_by(mut self, signs: &Signs) -> Task {
        signs.renew(&mut self.0);
        self
    }

    fn lease(&mut self, epoch: u64, seconds: f64, now: &Moment) {
        self.set(QueueTask::lease, lease::new(epoch, seconds, now));
    }

    pub fn start(&mut self, by: Claimant<'_>, now: &Moment) -> Outcome {
        self.fence(by, "start")?;
        let effect = match self.status() {
            Status::Claimed => Effect::Changed,
            Status::InProgress => Effect::Repeated,
            _ => return Err(self.wrong_state("start")),
        };
        if effect == Effect::Changed {
            self.set(QueueTask::status, Status::InProgress);
            self.set(QueueTask::started_at, time::stamp(now.at));
        }
        self.renew(now);
        Ok(effect)
    }

    pub fn complete(&mut self, by: Claimant<'_>, report: &Report, now: &Moment) -> Outcome {
        let result = json!({
            TaskResult::output: report.output, TaskResult::files_modified: report.modified,
            TaskResult::files_created: report.created,
        });
        self.end(by, "complete", Status::Done, result, now)
    }

    pub fn fail(&mut self, by: Claimant<'_>, reason: &str, now: &Moment) -> Outcome {
        self.end(by, "fail", Status::Failed, json!({ TaskResult::error: reason }), now)
    }

    fn end(
        &mut self,
        by: Claimant<'_>,
        verb: &'static str,
        end: Status,
        result: Value,
        now: &Moment,
    ) -> Outcome {
        self.fence(by, verb)?;
        match self.status() {
            Status::Claimed | Status::InProgress => {}
            status if status == end => return Ok(Effect::Repeated),
            _ => return Err(self.wrong_state(verb)),
        }
        self.set(QueueTask::status, end);
        self.set(QueueTask::result, result);
        self.set(QueueTask::completed_at, time::stamp(now.at));
        Ok(Effect::Changed)
    }

    /// Adds what the agents of a claim used to what others have used before, once. Returns whether there was something.
    pub fn count(&mut self, epoch: Option<u64>, tries: &Tries) -> bool {
        let mut sums = self.0.at(QueueTask::usage).cloned().unwrap_or(Value::Null);
        let counted = sums.read(TaskUsage::epoch);
        if tries.usage == Usage::default()
            || epoch.is_some_and(|epoch| counted.is_some_and(|last| epoch <= last))
        {
            return false;
        }
        tries.add_to(&mut sums);
        if let Some(epoch) = epoch {
            sums.set(TaskUsage::epoch, epoch);
        }
        self.set(QueueTask::usage, sums);
        true
    }

    /// Gives the task back; `to` is where it goes, which depends on other tasks.
    pub fn release(&mut self, by: Claimant<'_>, to: Status, now: &Moment) -> Outcome {
        if self.was_released(by) {
            return Ok(Effect::Repeated);
        }
        self.fence(by, "release")?;
        if !self.is_active() {
            return Err(self.wrong_state("release"));
        }
        self.give_back(to, "released", now);
        Ok(Effect::Changed)
    }

    /// Whether it is this very claim that was given back last, and nobody has taken the task since.
    fn was_released(&self, by: Claimant<'_>) -> bool {
        let last = self.0.at(QueueTask::last_claim);
        self.is_open()
            && last.text(LastClaim::reason) == Some("released")
            && last.text(LastClaim::by) == Some(by.worker)
            && by.epoch.is_none_or(|epoch| epoch == self.epoch())
    }

    /// Gives the task to a worker of another session, with a lease of its own; how far it is stays.
    pub fn hand_over(&mut self, worker: &str, session: &str, now: &Moment) -> Outcome {
        if !self.is_active() {
            return Err(self.wrong_state("hand over"));
        }
        let (owner, epoch) = (self.owner().unwrap_or_default().to_owned(), self.epoch());
        self.set(QueueTask::last_claim, lease::last_claim(&owner, epoch, "handed over", now));
        self.set(QueueTask::claimed_by, worker);
        self.set(QueueTask::session_id, session);
        self.lease(epoch + 1, lease::seconds(&self.0), now);
        Ok(Effect::Changed)
    }

    /// Takes the task from whoever had it, and says why.
    pub fn give_back(&mut self, to: Status, reason: &str, now: &Moment) {
        let has_lease = self.0.at(QueueTask::lease).is_some_and(Value::is_object);
        self.note_attempt(reason, now);
        if self.owner().is_some() || has_lease {
            // Whoever sets a task back by hand may take the owner out; the epoch must not be given again.
            let owner = self.owner().unwrap_or_default().to_owned();
            self.set(QueueTask::last_claim, lease::last_claim(&owner, self.epoch(), reason, now));
        }
        self.set(QueueTask::status, to);
        self.set(QueueTask::claimed_by, Value::Null);
        self.set(QueueTask::claimed_at, Value::Null);
        self.set(QueueTask::completed_at, Value::Null);
        self.set(QueueTask::result, Value::Null);
        if self.0.has(QueueTask::lease) {
            self.set(QueueTask::lease, Value::Null);
        }
        self.unset(QueueTask::started_at);
        self.unset(QueueTask::session_id);
        self.unset(QueueTask::next_retry_at);
    }

    /// Remembers a claim that came to nothing, for whoever tries next. What was given back unharmed is no attempt.
    fn note_attempt(&mut self, reason: &str, now: &Moment) {
        let reason = match self.status() {
            Status::Failed => self.failure().unwrap_or("no reason given"),
            Status::Done => "it was reported as done, and not accepted",
            Status::Claimed | Status::InProgress if !matches!(reason, "released" | "edited") => reason,
            _ => return,
        };
        let reason: String = reason.chars().take(REASON).collect();
        let ended = self.0.text(QueueTask::completed_at);
        let ended = ended.map_or_else(|| time::stamp(now.at), str::to_owned);
        let by = self.owner().unwrap_or_default();
        let attempt = json!({
            LastClaim::by: by, LastClaim::epoch: self.epoch(), LastClaim::ended_at: ended,
            LastClaim::reason: reason,
        });
        let known = self.attempts();
        let kept = known.iter().skip((known.len() + 1).saturating_sub(ATTEMPTS)).cloned();
        let attempts: Vec<Value> = kept.chain([attempt]).collect();
        self.set(QueueTask::attempts, attempts);
    }

    /// Returns the attempts that came to nothing, the newest last.
    pub fn attempts(&self) -> &[Value] {
        self.0.list(QueueTask::attempts)
    }

    /// Returns why it failed.
    pub fn failure(&self) -> Option<&str> {
        let why = self.0.at(QueueTask::result)?.text(TaskResult::error)?.trim();
        (!why.is_empty()).then_some(why)
    }

    /// Notes what changed while the task was worked on, beside what this claim has reported. Returns whether that was not
    /// known yet.
    pub fn note_changes(&mut self, epoch: Option<u64>, changes: &Changes) -> bool {
        let ended = matches!(self.status(), Status::Done | Status::Failed);
        let ours = epoch.is_none_or(|epoch| epoch == self.epoch());
        match self.0.at_mut(QueueTask::result).and_then(Value::as_object_mut) {
            Some(result) if ended && ours && !result.has(TaskResult::changed) => {
                result.set(TaskResult::changed, changes.value());
                true
            }
            _ => false,
        }
    }

    /// Whether somebody set the status back by hand and left the traces of the claim.
    pub fn is_half_given_back(&self) -> bool {
        self.is_open()
            && (self.owner().is_some() || self.0.at(QueueTask::lease).is_some_and(Value::is_object))
    }

    /// Puts back what a hand took out since the task was `before`, as far as the fence needs it: who had the
    /// task, and by which claim. Returns whether anything was missing.
    pub fn recall(&mut self, before: &Task) -> bool {
        let given_back = self.is_open() && !before.is_open();
        let all = [QueueTask::claimed_by.any(), QueueTask::lease.any(), QueueTask::last_claim.any()];
        let fields = if given_back { &all[..] } else { &all[2..] };
        let mut missed = false;
        for field in fields {
            if let (Some(known), None) = (before.0.read(*field), self.0.read(*field)) {
                self.set(*field, known.clone());
                missed = true;
            }
        }
        missed
    }

    pub fn set_status(&mut self, status: Status) {
        self.set(QueueTask::status, status);
    }

    /// Counts one more attempt, not before `at`.
    pub fn count_retry(&mut self, at: Option<Timestamp>) {
        let retries = self.0.read(QueueTask::retries).unwrap_or(0);
        self.set(QueueTask::retries, retries + 1);
        if let Some(at) = at {
            self.set(QueueTask::next_retry_at, time::stamp(at));
        }
    }

    /// Whether this worker had the task and it was taken away.
    pub fn was_taken_from(&self, worker: &str) -> bool {
        let last = self.0.at(QueueTask::last_claim);
        let taken = ["expired", "reset", "edited", "session ended", "session expired", "handed over"];
        last.text(LastClaim::by) == Some(worker)
            && last.text(LastClaim::reason).is_some_and(|reason| taken.contains(&reason))
    }

    /// Refuses everybody but the current owner.
    pub fn fence(&self, by: Claimant<'_>, verb: &'static str) -> Result<(), Refusal> {
        let (status, open) = (self.status(), self.is_open());
        let last = self.0.at(QueueTask::last_claim);
        let was_owner = last.text(LastClaim::by) == Some(by.worker);
        if self.owner() == Some(by.worker) && !open && by.epoch.is_none_or(|epoch| epoch == self.epoch()) {
            return Ok(());
        }
        match self.owner().filter(|_| !open) {
            Some(owner) => {
                let (id, owner, epoch) = (self.id().into(), owner.into(), self.epoch());
                Err(Refusal::Taken { id, owner, epoch, status: word(status) })
            }
            None if by.epoch.is_some() || (open && was_owner) => {
                let reason = last.text(LastClaim::reason);
                let reason = reason.unwrap_or("there is none").into();
                Err(Refusal::LeaseOver { id: self.id().into(), reason, status: word(status) })
            }
            None => Err(self.wrong_state(verb)),
        }
    }

    pub fn wrong_state(&self, verb: &'static str) -> Refusal {
        Refusal::WrongState { id: self.id().into(), verb, status: word(self.status()) }
    }

    fn set<T: Held>(&mut self, key: Key<T>, value: impl Put<T::Kind>) {
        self.0.set(key, value);
    }

    fn unset<T>(&mut self, key: Key<T>) {
        self.0.unset(key);
    }
}

/// Returns the priority of a task, also where it is written as `2.0`.
pub fn priority(task: &Value) -> i64 {
    task.number(QueueTask::priority).map_or(PRIORITY, |number| number as i64)
}

/// Returns when a task came, for the order of claims: one that does not say it came before all others.
pub fn came(created_at: Option<&str>) -> i64 {
    created_at.and_then(time::read).map_or(0, Timestamp::as_millisecond)
}

/// Returns when a task ended, to tell what ended last: one that does not say it ended before all others.
pub fn ended(completed_at: Option<&str>) -> i64 {
    completed_at.and_then(time::read).map_or(i64::MIN, Timestamp::as_microsecond)
}

/// Returns the status that a word stands for; the first one, if it is none of them.
pub fn status(word: &str) -> Status {
    Status::of_word(word).unwrap_or_default()
}

/// Returns the word that documents use for a status.
pub fn word(status: Status) -> &'static str {
    status.word()
}

/// Says how a task stands with its owner, whose name follows.
fn standing(id: &str, status: &str) -> String {
    match status {
        "claimed" | "in_progress" => format!("`{id}` belongs now to"),
        "cancelled" => format!("`{id}` is cancelled; it belonged to"),
        ended => format!("`{id}` is {ended}, by"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::super::time::Boot;
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment { at: Timestamp::from_second(1_800_000_000 + seconds).unwrap(), boot: None }
    }

    fn by(worker: &str) -> Claimant<'_> {
        Claimant { worker, epoch: None }
    }

    fn with(worker: &str, epoch: u64) -> Claimant<'_> {
        Claimant { worker, epoch: Some(epoch) }
    }

    fn fresh() -> Task {
        Task::new(
            "t",
            &NewTask { description: "d".into(), ..NewTask::default() },
            Status::Available,
            at(0).at,
        )
    }

    fn claimed() -> Task {
        let mut task = fresh();
        task.claim("w1", None, 60.0, &at(0));
        task
    }

    #[test]
    fn a_new_task_is_written_as_it_is_made() {
        let full = NewTask {
            description: "d \"ä\"\n".into(),
            priority: Some(2),
            dependencies: vec!["a".into(), "b".into()],
            files: vec!["src/".into()],
            hints: Some("h".into()),
            needs: vec!["rust".into()],
            labels: vec!["ui".into()],
            parent: Some("p".into()),
            ..NewTask::default()
        };
        for new in [NewTask { description: "d".into(), ..NewTask::default() }, full] {
            let made = Task::new("t", &new, Status::Created, at(0).at).into_value();
            let mut written = Vec::new();
            ItemText::write(&mut written, |task| {
                write_new(task, "t", &new, Status::Created, &time::stamp(at(0).at));
            });
            assert_eq!(json::parse(&written).unwrap().to_string(), made.to_string());
        }
    }

    #[test]
    fn a_claim_is_remembered_whatever_a_hand_took_out() {
        let before = claimed();
        for hand in [
            json!({"id": "t", "status": "available"}),
            json!({"id": "t", "status": "available", "claimed_by": null, "lease": null}),
            json!({"id": "t", "status": "created", "claimed_by": "w1"}),
        ] {
            let mut task = Task::of(hand);
            assert!(task.recall(&before) && task.is_half_given_back());
            task.give_back(Status::Available, "edited", &at(1));
            assert_eq!(task.epoch(), 1);
            let mut bare = fresh();
            assert!(bare.recall(&task) && !bare.is_half_given_back());
            assert_eq!(bare.epoch(), 1);
        }
        let mut other = Task::of(json!({"id": "t", "status": "claimed", "claimed_by": null}));
        assert!(!other.recall(&before), "whoever clears the owner of a claimed task means it");
    }

    #[test]
    fn what_came_to_nothing_is_remembered() {
        let reasons = |task: &Task| {
            let reason = |attempt: &Value| attempt["reason"].as_str().unwrap().to_owned();
            task.attempts().iter().map(reason).collect::<Vec<_>>()
        };
        let mut task = claimed();
        task.fail(by("w1"), "no room", &at(5)).unwrap();
        task.give_back(Status::Available, "retried", &at(9));
        let attempt = json!({"by": "w1", "epoch": 1, "ended_at": time::stamp(at(5).at), "reason": "no room"});
        assert_eq!(task.attempts(), [attempt]);
        task.claim("w2", None, 60.0, &at(10));
        task.give_back(Status::Available, "expired", &at(80));
        task.claim("w3", None, 60.0, &at(90));
        task.release(by("w3"), Status::Available, &at(91)).unwrap();
        assert_eq!(reasons(&task), ["no room", "expired"], "what is released was not tried");
        task.claim("w4", None, 60.0, &at(92));
        task.complete(by("w4"), &Report::default(), &at(93)).unwrap();
        task.give_back(Status::Available, "reset", &at(94));
        assert_eq!(reasons(&task)[2], "it was reported as done, and not accepted");
        for number in 0..9 {
            task.claim("w5", None, 60.0, &at(100));
            task.fail(by("w5"), &format!("{number}{}", "x".repeat(5000)), &at(101)).unwrap();
            task.give_back(Status::Available, "retried", &at(102));
        }
        assert_eq!(task.attempts().len(), ATTEMPTS);
        assert!(reasons(&task)[4].starts_with("8x") && reasons(&task)[4].len() == REASON);
    }

    #[test]
    fn changes_stand_beside_the_report_of_the_same_claim() {
        let changes = Changes::of(vec!["a.rs".into()], false);
        let mut task = claimed();
        assert!(!task.note_changes(Some(1), &changes), "nothing is reported yet");
        task.complete(by("w1"), &Report::default(), &at(5)).unwrap();
        assert!(!task.note_changes(Some(2), &changes), "another claim");
        assert!(task.note_changes(Some(1), &changes));
        assert!(!task.note_changes(Some(1), &Changes::default()), "it is known");
        assert_eq!(task.value()["result"]["changed"], json!({"files": ["a.rs"], "count": 1, "by": "git"}));
    }

    fn refusal(outcome: Outcome) -> String {
        match outcome {
            Ok(effect) => format!("{effect:?}"),
            Err(refusal) => refusal.to_string(),
        }
    }

    #[test]
    fn a_task_goes_through_its_life() {
        let mut task = claimed();
        assert_eq!((task.status(), task.epoch(), task.owner()), (Status::Claimed, 1, Some("w1")));
        assert_eq!(task.start(by("w1"), &at(30)), Ok(Effect::Changed));
        assert_eq!(task.lease_left(&at(30)), Some(SignedDuration::from_secs(60)), "a start renews");
        assert_eq!(task.start(with("w1", 1), &at(31)), Ok(Effect::Repeated));
        assert_eq!(task.complete(with("w1", 1), &Report::default(), &at(40)), Ok(Effect::Changed));
        assert_eq!(task.complete(by("w1"), &Report::default(), &at(41)), Ok(Effect::Repeated));
        assert_eq!(refusal(task.fail(by("w1"), "x", &at(42))), "cannot fail `t`: it is done");
        assert_eq!(refusal(task.start(by("w1"), &at(42))), "cannot start `t`: it is done");
    }

    #[test]
    fn an_old_owner_changes_nothing() {
        let mut task = claimed();
        task.give_back(Status::Available, "expired", &at(61));
        let over = "your lease on `t` is over (expired); nobody has the task now, it is available";
        assert_eq!(refusal(task.complete(by("w1"), &Report::default(), &at(62))), over);
        assert_eq!(refusal(task.clone().release(with("w1", 1), Status::Available, &at(62))), over);
        task.claim("w2", None, 60.0, &at(63));
        let before = task.clone();
        let taken = "`t` belongs now to `w2` (lease 2)";
        assert_eq!(refusal(task.complete(by("w1"), &Report::default(), &at(64))), taken);
        assert_eq!(refusal(task.fail(with("w1", 1), "x", &at(64))), taken);
        assert_eq!(refusal(task.start(with("w2", 1), &at(64))), taken, "the right worker, an old lease");
        assert_eq!(task, before);
        assert_eq!(task.complete(with("w2", 2), &Report::default(), &at(65)), Ok(Effect::Changed));
        assert_eq!(
            refusal(task.complete(with("w1", 1), &Report::default(), &at(66))),
            "`t` is done, by `w2` (lease 2)"
        );
    }

    #[test]
    fn a_stranger_is_told_the_state() {
        let mut task = fresh();
        assert_eq!(
            refusal(task.complete(by("w9"), &Report::default(), &at(0))),
            "cannot complete `t`: it is available"
        );
        assert_eq!(refusal(task.start(by("w9"), &at(0))), "cannot start `t`: it is available");
    }

    #[test]
    fn a_lease_that_is_over_is_a_conflict_however_the_task_stands() {
        let mut task = claimed();
        task.give_back(Status::Available, "expired", &at(61));
        task.set_status(Status::Cancelled);
        let over = "your lease on `t` is over (expired); nobody has the task now, it is cancelled";
        assert_eq!(refusal(task.complete(with("w1", 1), &Report::default(), &at(62))), over);
        assert_eq!(
            refusal(task.complete(by("w1"), &Report::default(), &at(62))),
            "cannot complete `t`: it is cancelled"
        );
    }

    #[test]
    fn a_task_that_is_handed_over_fences_its_old_owner_off() {
        let mut task = claimed();
        task.start(by("w1"), &at(1)).unwrap();
        assert_eq!(task.hand_over("s2", "s2", &at(50)), Ok(Effect::Changed));
        assert_eq!((task.status(), task.owner(), task.epoch()), (Status::InProgress, Some("s2"), 2));
        assert_eq!(task.lease_left(&at(50)), Some(SignedDuration::from_secs(60)), "with a lease of its own");
        assert_eq!(task.value()["session_id"], "s2");
        assert!(task.was_taken_from("w1"));
        let taken = "`t` belongs now to `s2` (lease 2)";
        assert_eq!(refusal(task.complete(by("w1"), &Report::default(), &at(51))), taken);
        assert_eq!(refusal(task.complete(with("w1", 1), &Report::default(), &at(51))), taken);
        assert_eq!(refusal(task.complete(with("s2", 1), &Report::default(), &at(51))), taken);
        assert_eq!(task.complete(with("s2", 2), &Report::default(), &at(52)), Ok(Effect::Changed));
        assert_eq!(refusal(task.hand_over("s3", "s3", &at(53))), "cannot hand over `t`: it is done");
        assert_eq!(refusal(fresh().hand_over("s3", "s3", &at(53))), "cannot hand over `t`: it is available");
    }

    #[test]
    fn a_release_may_be_repeated() {
        let mut task = claimed();
        assert_eq!(task.release(by("w1"), Status::Available, &at(1)), Ok(Effect::Changed));
        assert_eq!((task.status(), task.owner(), task.epoch()), (Status::Available, None, 1));
        assert_eq!(task.release(with("w1", 1), Status::Available, &at(2)), Ok(Effect::Repeated));
        let over = "your lease on `t` is over (released); nobody has the task now, it is available";
        assert_eq!(
            refusal(task.release(with("w2", 1), Status::Available, &at(2))),
            over,
            "it was not theirs"
        );
        assert_eq!(
            refusal(task.release(with("w1", 7), Status::Available, &at(2))),
            over,
            "there is no such lease"
        );
        task.claim("w1", None, 1.5, &at(3));
        assert_eq!(task.epoch(), 2, "an epoch is never given twice");
        assert_eq!(task.value()["lease"]["seconds"], json!(1.5));
    }

    #[test]
    fn an_epoch_is_not_forgotten_with_its_owner() {
        let mut value = claimed().into_value();
        (value["status"], value["claimed_by"]) = (json!("available"), Value::Null);
        let mut task = Task::of(value);
        assert!(task.is_half_given_back());
        task.give_back(Status::Available, "edited", &at(1));
        assert_eq!((task.owner(), task.epoch()), (None, 1));
        task.claim("w1", None, 60.0, &at(2));
        assert_eq!(task.epoch(), 2, "an epoch is never given twice");
    }

    #[test]
    fn a_lease_follows_the_boot_and_not_the_wall_clock() {
        let moment = |wall: i64, up: i64, id: &str| {
            let at = at(wall).at;
            Moment { at, boot: Some(Boot { id: id.into(), began: at - SignedDuration::from_secs(up) }) }
        };
        let mut task = fresh();
        task.claim("w1", None, 60.0, &moment(0, 1000, "a"));
        let left = |task: &Task, now: &Moment| task.lease_left(now).unwrap().as_secs();
        assert_eq!(left(&task, &moment(20, 1020, "a")), 40);
        assert_eq!(left(&task, &moment(3620, 1020, "a")), 40, "the clock was put forward an hour");
        assert_eq!(left(&task, &moment(-3580, 1020, "a")), 40, "and back");
        assert!(task.is_expired(&moment(-3580, 1061, "a")), "an hour back does not make it longer");
        assert_eq!(left(&task, &moment(20, 5, "b")), 40, "after a reboot only the wall clock is left");
        assert_eq!(left(&task, &at(20)), 40);
    }

    #[test]
    fn what_we_do_not_know_stays() {
        let mut value = fresh().into_value();
        value["note"] = json!({"a": 1});
        let mut task = Task::of(value);
        task.claim("w1", Some("s1"), 60.0, &at(0));
        task.give_back(Status::Available, "reset", &at(1));
        assert_eq!(task.value()["note"], json!({"a": 1}));
        assert_eq!(task.value().get("session_id"), None);
    }

    #[test]
    fn what_a_claim_used_counts_once() {
        let used =
            |cost_usd| Tries { count: 1, usage: Usage { cost_usd, ..Usage::default() }, ..Tries::default() };
        let mut task = claimed();
        assert!(!task.count(Some(1), &Tries::default()) && task.value().get("usage").is_none());
        assert!(task.count(Some(1), &used(0.5)) && !task.count(Some(1), &used(0.5)));
        assert!(task.count(Some(2), &used(0.25)) && !task.count(Some(1), &used(9.0)));
        let sums = json!({"tries": 2, "cost_usd": 0.75, "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "epoch": 2});
        assert_eq!(task.value()["usage"], sums);
    }
}
