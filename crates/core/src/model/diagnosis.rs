//! Why nothing moves, or that it does: the verdict on a queue, and what needs somebody, by named causes.
//!
//! Waiting as planned is no cause. Only what a look has gathered is judged ([`Scene`]); it may be less than there is.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::documents::queue::{QueueTask, Worker, WorkerPause};
use super::files;
use super::forecast::{Forecast, Sample, forecast};
use super::ids;
use super::key::Fields;
use super::lease;
use super::next::{Next, See};
use super::task::{Status, Task};
use super::time::{self, Moment};

/// A queue as it was looked at.
#[derive(Debug)]
pub struct Scene {
    /// What is open, at work or failed; of very many the first ones.
    pub tasks: Vec<Task>,
    /// How everything stands that those depend on, unless it is not there.
    pub statuses: HashMap<String, Status>,
    pub counts: Counts,
    /// The register of workers.
    pub workers: Vec<Value>,
    /// What was finished last.
    pub finished: Vec<Sample>,
    pub now: Moment,
}

/// How many tasks stand how, by their status in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub created: usize,
    pub available: usize,
    /// Claimed or in progress.
    pub active: usize,
    pub done: usize,
    pub failed: usize,
    pub cancelled: usize,
}

/// What is to be said of a queue.
#[derive(Debug)]
pub struct Diagnosis {
    pub verdict: Verdict,
    pub counts: Counts,
    /// The most telling first.
    pub needs: Vec<Need>,
    /// How many open tasks nobody looked at, as there are so many.
    pub unseen: usize,
    /// When the rest may be done, if enough is done to tell.
    pub forecast: Option<Forecast>,
    /// When it was so.
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// There is no task.
    Empty,
    /// No open work.
    Done,
    /// Open work, and nobody alive has any.
    Stuck,
    /// All that is open hangs on something that somebody has to decide.
    WaitsForYou,
    Moving,
}

impl Verdict {
    /// Returns its name, for scripts.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Empty => "empty",
            Verdict::Done => "done",
            Verdict::Stuck => "stuck",
            Verdict::WaitsForYou => "waits_for_you",
            Verdict::Moving => "moving",
        }
    }

    /// Whether there is work that will not be done by itself.
    pub fn is_stuck(self) -> bool {
        matches!(self, Verdict::Stuck | Verdict::WaitsForYou)
    }
}

/// Something that somebody has to look after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    pub cause: Cause,
    /// The tasks that it is about.
    pub tasks: Vec<String>,
    /// The open tasks that wait because of it, over others too.
    pub holds_up: Vec<String>,
    pub since: Option<Timestamp>,
}

/// Why something does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    Failed {
        by: Option<String>,
        reason: Option<String>,
    },
    /// The task was cancelled, and this one waits for it.
    Cancelled {
        waiting: String,
    },
    /// There is no such task, and this one waits for it.
    Missing {
        waiting: String,
    },
    /// The tasks wait for each other.
    Circle,
    /// The id is none.
    Unfit,
    /// The owner's lease ran out.
    Expired {
        by: String,
    },
    /// No registered worker has these capabilities.
    NobodyCan {
        needs: Vec<String>,
    },
    /// Ready, and nobody is at work.
    Unclaimed,
    /// Nothing is started for the worker.
    Paused {
        worker: String,
        until: Timestamp,
        reason: String,
    },
    /// The owner was not heard of for more than half of the lease.
    Silent {
        by: String,
        left: SignedDuration,
    },
    /// Somebody works on the same files.
    Files {
        with: String,
        by: String,
        ours: String,
        theirs: String,
    },
    /// A retry is not due yet.
    Later {
        until: Timestamp,
    },
}

impl Cause {
    /// Returns its name, for scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Cause::Failed { .. } => "failed",
            Cause::Cancelled { .. } => "cancelled",
            Cause::Missing { .. } => "missing",
            Cause::Circle => "circle",
            Cause::Unfit => "id",
            Cause::Expired { .. } => "expired",
            Cause::NobodyCan { .. } => "capabilities",
            Cause::Unclaimed => "unclaimed",
            Cause::Paused { .. } => "paused",
            Cause::Silent { .. } => "silent",
            Cause::Files { .. } => "files",
            Cause::Later { .. } => "retry",
        }
    }

    /// Which of two causes comes first that hold up as much.
    fn order(&self) -> usize {
        const ORDER: [&str; 12] = [
            "failed",
            "cancelled",
            "missing",
            "circle",
            "id",
            "expired",
            "capabilities",
            "unclaimed",
            "paused",
            "silent",
            "files",
            "retry",
        ];
        ORDER.iter().position(|word| *word == self.word()).unwrap_or(ORDER.len())
    }
}

impl Need {
    fn of(cause: Cause, tasks: &[&str]) -> Need {
        let tasks = tasks.iter().map(|&id| id.to_owned()).collect();
        Need { cause, tasks, holds_up: Vec::new(), since: None }
    }

    /// Returns the first of the tasks that it is about.
    pub fn task(&self) -> Option<&str> {
        self.tasks.first().map(String::as_str)
    }

    /// Returns what can be done about it, the likeliest first.
    pub fn steps(&self) -> Vec<Next> {
        let task = || self.task().unwrap_or_default().to_owned();
        let stop = |waiting: &String| Next::StopWaiting { id: waiting.clone(), on: task() };
        match &self.cause {
            Cause::Failed { .. } => vec![Next::Retry(task())],
            Cause::Cancelled { waiting } => {
                vec![Next::Reset { id: task(), force: false }, stop(waiting)]
            }
            Cause::Missing { waiting } => vec![stop(waiting)],
            Cause::Circle => {
                let on = self.tasks.get(1).cloned().unwrap_or_else(task);
                vec![Next::StopWaiting { id: task(), on }]
            }
            Cause::Unfit => vec![Next::See(See::Flaws("queue"))],
            Cause::Expired { .. } | Cause::Unclaimed => vec![Next::Claim { named: true, session: None }],
            Cause::NobodyCan { needs } => vec![Next::RegisterWith { needs: needs.clone() }],
            Cause::Silent { .. } => vec![Next::Reset { id: task(), force: true }],
            Cause::Files { with, .. } => vec![Next::See(See::Task(with.clone()))],
            Cause::Paused { .. } | Cause::Later { .. } => Vec::new(),
        }
    }
}

/// Returns the line of a failure that says most: the first, unless that is a mere exit code and more follows.
pub fn telling(failure: &str) -> Option<&str> {
    let mut lines = failure.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    let is_code = first.strip_prefix("exit code ").is_some_and(|code| code.parse::<i32>().is_ok());
    Some(lines.next_back().filter(|_| is_code).unwrap_or(first))
}

/// Says how a queue stands, and why.
pub fn diagnose(scene: &Scene) -> Diagnosis {
    let net = Net::of(scene);
    let mut needs = net.needs();
    needs.sort_by_key(|need| (Reverse(need.holds_up.len()), need.cause.order(), need.since));
    let Counts { created, available, active, .. } = scene.counts;
    let seen = scene.tasks.iter().filter(|task| task.is_open() || task.is_active()).count();
    let verdict = net.verdict(&needs);
    let moves = verdict == Verdict::Moving;
    let ahead = || forecast(&scene.finished, created + available + active, net.longest(), scene.now.at);
    Diagnosis {
        verdict,
        counts: scene.counts,
        needs,
        // What does not move has no end.
        forecast: moves.then(ahead).flatten(),
        unseen: (created + available + active).saturating_sub(seen),
        at: scene.now.at,
    }
}

/// The tasks by id, and what waits for them.
struct Net<'a> {
    scene: &'a Scene,
    by_id: HashMap<&'a str, &'a Task>,
    /// The open tasks that depend on each.
    behind: HashMap<&'a str, Vec<&'a Task>>,
    /// What somebody alive works on.
    alive: Vec<&'a Task>,
}

impl<'a> Net<'a> {
    fn of(scene: &'a Scene) -> Net<'a> {
        let tasks = scene.tasks.iter();
        let mut behind: HashMap<&str, Vec<&Task>> = HashMap::new();
        for task in tasks.clone().filter(|task| task.is_open()) {
            task.dependencies().into_iter().for_each(|id| behind.entry(id).or_default().push(task));
        }
        let by_id = tasks.clone().rev().map(|task| (task.id(), task)).collect();
        let alive = tasks.filter(|task| task.is_active() && !task.is_expired(&scene.now)).collect();
        Net { scene, by_id, behind, alive }
    }

    fn status(&self, id: &str) -> Option<Status> {
        self.scene.statuses.get(id).copied().or_else(|| self.by_id.get(id).map(|task| task.status()))
    }

    fn waits_for(&self, task: &'a Task) -> Vec<&'a str> {
        let is_done = |id: &str| self.status(id) == Some(Status::Done);
        task.dependencies().into_iter().filter(|id| !is_done(id)).collect()
    }

    fn is_later(&self, task: &Task) -> bool {
        task.retry_at().is_some_and(|until| until > self.scene.now.at)
    }

    /// Returns how many tasks have to be done one after the other, as far as they were looked at.
    fn longest(&self) -> usize {
        let mut length: HashMap<&str, usize> = HashMap::new();
        let mut ahead: Vec<&Task> =
            self.scene.tasks.iter().filter(|task| task.is_open() || task.is_active()).collect();
        // Each round settles those whose dependencies are settled; what is left is in a circle.
        let mut before = usize::MAX;
        while ahead.len() < before {
            before = ahead.len();
            ahead.retain(|task| {
                let open = self.waits_for(task).into_iter().filter(|id| self.by_id.contains_key(id));
                let lengths: Option<Vec<_>> = open.map(|id| length.get(id).copied()).collect();
                let Some(lengths) = lengths else { return true };
                length.insert(task.id(), lengths.into_iter().max().unwrap_or(0) + 1);
                false
            });
        }
        length.into_values().max().unwrap_or(0)
    }

    /// Returns the open tasks that wait because of these, in the order of how near they are.
    fn held_up(&self, by: &[&'a str]) -> Vec<String> {
        let mut ahead: VecDeque<&str> = by.iter().copied().collect();
        let (mut known, mut held): (HashSet<&str>, Vec<String>) = (by.iter().copied().collect(), Vec::new());
        while let Some(id) = ahead.pop_front() {
            for task in self.behind.get(id).into_iter().flatten().filter(|task| known.insert(task.id())) {
                held.push(task.id().to_owned());
                ahead.push_back(task.id());
            }
        }
        held
    }

    fn need(&self, cause: Cause, tasks: &[&'a str], since: Option<Timestamp>) -> Need {
        Need { holds_up: self.held_up(tasks), since, ..Need::of(cause, tasks) }
    }

    fn needs(&self) -> Vec<Need> {
        let mut needs: Vec<_> = self.scene.tasks.iter().filter_map(|task| self.own_trouble(task)).collect();
        needs.extend(self.dead_ends());
        needs.extend(self.circles());
        let (free, kept): (Vec<_>, Vec<_>) = self.could_be_claimed().partition(|task| self.is_free(task));
        let (able, unable): (Vec<&Task>, Vec<_>) = free.into_iter().partition(|task| self.somebody_can(task));
        needs.extend(self.nobody_can(&unable));
        if able.is_empty() {
            needs.extend(kept.iter().filter_map(|task| self.kept_back(task)));
        }
        needs.extend(self.paused());
        if !able.is_empty() && self.alive.is_empty() {
            let ids: Vec<_> = able.iter().map(|task| task.id()).collect();
            needs.push(self.need(Cause::Unclaimed, &ids, None));
        }
        needs
    }

    /// What is wrong with a task itself.
    fn own_trouble(&self, task: &'a Task) -> Option<Need> {
        let by = || task.owner().unwrap_or_default().to_owned();
        let now = &self.scene.now;
        let ended = task.value().text(QueueTask::completed_at).and_then(time::read);
        let (cause, since) = match task.status() {
            Status::Failed => {
                let reason = task.failure().and_then(telling).map(str::to_owned);
                (Cause::Failed { by: task.owner().map(str::to_owned), reason }, ended)
            }
            _ if task.is_open() && !ids::is_sound(task.id()) => (Cause::Unfit, None),
            _ if task.is_expired(now) => {
                let left = task.lease_left(now)?;
                (Cause::Expired { by: by() }, now.at.checked_add(left).ok())
            }
            _ if task.is_active() => {
                let (left, used) = (task.lease_left(now)?, lease::used(task.value(), now));
                (left < used).then_some(())?;
                (Cause::Silent { by: by(), left }, now.at.checked_sub(used).ok())
            }
            _ => return None,
        };
        Some(self.need(cause, &[task.id()], since))
    }

    /// Dependencies that never come, each told once, with the first task that waits for it.
    fn dead_ends(&self) -> Vec<Need> {
        let mut told = HashSet::new();
        let mut needs = Vec::new();
        for task in self.scene.tasks.iter().filter(|task| task.is_open()) {
            for id in self.waits_for(task) {
                let waiting = || task.id().to_owned();
                let cause = match self.status(id) {
                    None => Cause::Missing { waiting: waiting() },
                    Some(Status::Cancelled) => Cause::Cancelled { waiting: waiting() },
                    Some(_) => continue,
                };
                if told.insert(id) {
                    needs.push(self.need(cause, &[id], None));
                }
            }
        }
        needs
    }

    /// Tasks that wait for each other. Each is told in one circle at most.
    fn circles(&self) -> Vec<Need> {
        let (mut left, mut needs): (HashSet<&str>, Vec<Need>) = (HashSet::new(), Vec::new());
        for task in self.scene.tasks.iter().filter(|task| task.is_open()) {
            let mut path: Vec<(&Task, Vec<&str>)> = Vec::new();
            let mut next = Some(task);
            loop {
                if let Some(task) = next.take().filter(|task| left.insert(task.id())) {
                    path.push((task, self.waits_for(task)));
                }
                let Some((_, ahead)) = path.last_mut() else { break };
                let Some(id) = ahead.pop() else {
                    path.pop();
                    continue;
                };
                if let Some(from) = path.iter().position(|(task, _)| task.id() == id) {
                    let circle: Vec<_> = path[from..].iter().map(|(task, _)| task.id()).collect();
                    needs.push(self.need(Cause::Circle, &circle, None));
                } else {
                    next = self.by_id.get(id).copied().filter(|task| task.is_open());
                }
            }
        }
        needs
    }

    /// What waits for nothing but somebody who takes it, a time or files.
    fn could_be_claimed(&self) -> impl Iterator<Item = &'a Task> {
        let open = self.scene.tasks.iter().filter(|task| task.is_open() && ids::is_sound(task.id()));
        open.filter(|task| self.waits_for(task).is_empty())
    }

    fn is_free(&self, task: &Task) -> bool {
        !self.is_later(task) && self.in_the_way(task).is_none()
    }

    /// Returns whose work touches the same files, with the two paths.
    fn in_the_way<'t>(&self, task: &'t Task) -> Option<(&'a Task, &'t str, &'a str)> {
        let ours = task.files();
        self.alive.iter().filter(|_| !ours.is_empty()).find_map(|other| {
            let (ours, theirs) = files::overlap(&ours, &other.files())?;
            Some((*other, ours, theirs))
        })
    }

    fn kept_back(&self, task: &'a Task) -> Option<Need> {
        let later = task.retry_at().filter(|until| *until > self.scene.now.at);
        let cause = match (later, self.in_the_way(task)) {
            (Some(until), _) => Cause::Later { until },
            (None, Some((other, ours, theirs))) => Cause::Files {
                with: other.id().into(),
                by: other.owner().unwrap_or_default().into(),
                ours: ours.into(),
                theirs: theirs.into(),
            },
            (None, None) => return None,
        };
        Some(self.need(cause, &[task.id()], None))
    }

    fn somebody_can(&self, task: &Task) -> bool {
        let has = |worker: &Value, need: &&str| worker.texts(Worker::capabilities).any(|has| has == *need);
        let needs = task.needs();
        needs.is_empty() || self.scene.workers.iter().any(|worker| needs.iter().all(|need| has(worker, need)))
    }

    /// Tells of tasks that no worker can do, together if they need the same.
    fn nobody_can(&self, tasks: &[&'a Task]) -> Vec<Need> {
        let mut by_needs: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
        for task in tasks {
            match by_needs.iter_mut().find(|(needs, _)| *needs == task.needs()) {
                Some((_, ids)) => ids.push(task.id()),
                None => by_needs.push((task.needs(), vec![task.id()])),
            }
        }
        let told = |(needs, ids): &(Vec<&str>, Vec<&'a str>)| {
            let needs = needs.iter().map(|&need| need.to_owned()).collect();
            self.need(Cause::NobodyCan { needs }, ids, None)
        };
        by_needs.iter().map(told).collect()
    }

    fn paused(&self) -> Vec<Need> {
        let told = |worker: &Value| {
            let pause = &worker[Worker::paused];
            let until =
                time::read(pause.text(WorkerPause::until)?).filter(|until| *until > self.scene.now.at)?;
            let reason = pause.text(WorkerPause::reason).unwrap_or_default().to_owned();
            let worker = worker.text(Worker::id)?.to_owned();
            Some(Need::of(Cause::Paused { worker, until, reason }, &[]))
        };
        self.scene.workers.iter().filter_map(told).collect()
    }

    fn verdict(&self, needs: &[Need]) -> Verdict {
        let Counts { created, available, active, done, failed, cancelled } = self.scene.counts;
        let is_doubtful = |task: &&&Task| {
            let about =
                |need: &&Need| matches!(need.cause, Cause::Silent { .. }) && need.tasks == [task.id()];
            needs.iter().any(|need| about(&need))
        };
        match created + available + active {
            0 if done + failed + cancelled == 0 => Verdict::Empty,
            0 if failed == 0 => Verdict::Done,
            0 => Verdict::WaitsForYou,
            _ if self.alive.is_empty() => Verdict::Stuck,
            _ if available == 0 && self.alive.iter().filter(is_doubtful).count() == self.alive.len() => {
                Verdict::WaitsForYou
            }
            _ => Verdict::Moving,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-01-02T12:00:00Z";

    fn scene(tasks: Value, workers: &Value) -> Scene {
        let Value::Array(tasks) = tasks else { panic!("tasks are a list") };
        let tasks: Vec<_> = tasks.into_iter().map(Task::of).collect();
        let count = |wanted: &[Status]| tasks.iter().filter(|task| wanted.contains(&task.status())).count();
        let counts = Counts {
            created: count(&[Status::Created]),
            available: count(&[Status::Available]),
            active: count(&[Status::Claimed, Status::InProgress]),
            done: count(&[Status::Done]),
            failed: count(&[Status::Failed]),
            cancelled: count(&[Status::Cancelled]),
        };
        let statuses = tasks.iter().map(|task| (task.id().to_owned(), task.status())).collect();
        let workers = workers.as_array().cloned().unwrap_or_default();
        Scene {
            tasks,
            statuses,
            counts,
            workers,
            finished: Vec::new(),
            now: Moment { at: NOW.parse().unwrap(), boot: None },
        }
    }

    fn task(id: &str, status: &str, after: &[&str]) -> Value {
        json!({"id": id, "status": status, "dependencies": after})
    }

    fn at_work(id: &str, by: &str, expires_at: &str, files: &[&str]) -> Value {
        json!({"id": id, "status": "in_progress", "claimed_by": by, "context": {"files": files},
               "lease": {"epoch": 1, "seconds": 600, "expires_at": expires_at}})
    }

    /// Checks the verdict and, of each need, its word, its tasks and how many it holds up.
    fn check(tasks: Value, workers: &Value, verdict: &str, expected: &[(&str, &str, usize)]) {
        let found = diagnose(&scene(tasks, workers));
        let told = |need: &Need| (need.cause.word(), need.tasks.join(" "), need.holds_up.len());
        let expected: Vec<_> =
            expected.iter().map(|(word, tasks, held)| (*word, (*tasks).to_owned(), *held)).collect();
        assert_eq!(found.needs.iter().map(told).collect::<Vec<_>>(), expected);
        assert_eq!(found.verdict.word(), verdict);
    }

    #[test]
    fn a_chain_is_followed_to_its_root() {
        let tasks =
            json!([task("a", "failed", &[]), task("b", "created", &["a"]), task("c", "created", &["b"])]);
        check(tasks, &json!([]), "stuck", &[("failed", "a", 2)]);
        let tasks = json!([
            task("a", "cancelled", &[]),
            task("b", "created", &["a"]),
            task("c", "created", &["b", "a"])
        ]);
        check(tasks, &json!([]), "stuck", &[("cancelled", "a", 2)]);
        check(json!([task("b", "created", &["gone"])]), &json!([]), "stuck", &[("missing", "gone", 1)]);
    }

    #[test]
    fn circles_are_found_once() {
        let tasks =
            json!([task("a", "created", &["b"]), task("b", "created", &["c"]), task("c", "created", &["b"])]);
        check(tasks, &json!([]), "stuck", &[("circle", "b c", 1)]);
        check(json!([task("a", "created", &["a"])]), &json!([]), "stuck", &[("circle", "a", 0)]);
    }

    #[test]
    fn whoever_is_alive_makes_it_move() {
        let alive = at_work("a", "w1", "2026-01-02T12:09:00Z", &[]);
        check(json!([alive, task("b", "created", &["a"])]), &json!([]), "moving", &[]);
        let silent = at_work("a", "w1", "2026-01-02T12:04:00Z", &[]);
        check(
            json!([silent, task("b", "created", &["a"])]),
            &json!([]),
            "waits_for_you",
            &[("silent", "a", 1)],
        );
        let gone = at_work("a", "w1", "2026-01-02T11:59:00Z", &[]);
        check(json!([gone, task("b", "created", &["a"])]), &json!([]), "stuck", &[("expired", "a", 1)]);
    }

    #[test]
    fn what_is_ready_needs_somebody_who_can() {
        let ready = || json!({"id": "a", "status": "available", "required_capabilities": ["gpu"]});
        let able = json!([{"id": "w1", "capabilities": ["gpu"]}]);
        check(json!([ready()]), &json!([]), "stuck", &[("capabilities", "a", 0)]);
        check(json!([ready()]), &able, "stuck", &[("unclaimed", "a", 0)]);
        let paused =
            json!([{"id": "w1", "paused": {"until": "2026-01-02T12:05:00Z", "reason": "usage limit"}}]);
        check(
            json!([task("a", "available", &[])]),
            &paused,
            "stuck",
            &[("unclaimed", "a", 0), ("paused", "", 0)],
        );
    }

    #[test]
    fn files_and_times_are_causes_only_if_nothing_else_can_be_taken() {
        let busy = || at_work("a", "w1", "2026-01-02T12:09:00Z", &["src/"]);
        let wants = || json!({"id": "b", "status": "available", "context": {"files": ["src/x.rs"]}});
        let later = || json!({"id": "c", "status": "available", "next_retry_at": "2026-01-02T12:00:30Z"});
        let expected = [("files", "b", 0), ("retry", "c", 0)];
        check(json!([busy(), wants(), later()]), &json!([]), "moving", &expected);
        check(json!([busy(), wants(), task("d", "available", &[])]), &json!([]), "moving", &[]);
    }

    #[test]
    fn work_that_is_over_is_done_unless_it_failed() {
        check(json!([]), &json!([]), "empty", &[]);
        check(json!([task("a", "done", &[]), task("b", "cancelled", &[])]), &json!([]), "done", &[]);
        check(json!([task("a", "failed", &[])]), &json!([]), "waits_for_you", &[("failed", "a", 0)]);
    }

    #[test]
    fn an_exit_code_is_told_only_if_nothing_else_is_known() {
        assert_eq!(
            telling("exit code 1\nFAILED (2 of 3)\nno such table: users\n"),
            Some("no such table: users")
        );
        assert_eq!(telling("exit code 1"), Some("exit code 1"));
        assert_eq!(telling("the table is locked\nand more"), Some("the table is locked"));
        assert_eq!(telling(" \n"), None);
    }

    #[test]
    fn what_holds_up_most_comes_first() {
        let tasks = json!([
            task("a", "failed", &[]),
            task("b", "failed", &[]),
            task("c", "created", &["b"]),
            task("d", "created", &["no"]),
            task("e", "created", &["d"]),
        ]);
        check(tasks, &json!([]), "stuck", &[("missing", "no", 2), ("failed", "b", 1), ("failed", "a", 0)]);
    }
}
