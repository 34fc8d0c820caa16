//! What workers ask of the queue.

use std::borrow::Cow;

use super::{TaskList, list};
use crate::api::request::{Chosen, Seconds, request};
use crate::api::{Caller, Request, Stored, answers, written};
use crate::model::documents::answers::{Discovery, TaskBrief};
use crate::model::documents::queue::{QueueTask, Worker};
use crate::model::hint::Hint;
use crate::model::ids::{InvalidId, Key};
use crate::model::task::{Report, Task};
use crate::model::text_file::TextFile;
use crate::ops::planning;
use crate::ops::queue::brief::{self, Holder};
use crate::ops::queue::register;
use crate::ops::queue::work::{self, Claim, ClaimRequest, On};
use crate::ops::{Error, Result};
use crate::view::brief::{Brief, Length};

request!(
    /// Tell the team who you are and what you can do. A claim registers you by itself; only tasks that need a capability ask for this.
    RegisterWorker("worker.register", Changes, "worker register", r#"{"worker": "w1", "capabilities": ["rust"]}"#) {
        /// Who you are.
        worker: Chosen<Key>,
        /// What you can do, in place of what was known.
        capabilities: Vec<String>,
    }
);

answers! {
    Claimed: QueueTask, claimed => claimed.task.value(), warns &claimed.warnings;
    work::TaskChanged: QueueTask, done => done.task.value(), warns &done.warnings;
    Discovery: Discovery, discovery => written(discovery);
    Briefed: TaskBrief, briefed => briefed.brief.json(briefed.length);
}

impl Request for RegisterWorker {
    type Answer = Stored<Worker>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Worker>> {
        let Chosen(worker) = &self.worker;
        register::register(caller.engine, worker, &self.capabilities, caller.actor).map(Stored::new)
    }
}

request!(
    /// Take the best task that is ready: highest priority first, then the oldest. You have it until the lease runs out.
    ClaimTask("task.claim", Changes, "worker claim", r#"{"worker": "w1"}"#) {
        /// Who you are; a name that nobody else has unless told.
        worker: Option<Chosen<Key>>,
        /// This task and no other: refused if it cannot be had now.
        task: Option<Key>,
        /// How many seconds you may be silent before the task goes back; 600 unless told.
        lease: Option<Seconds>,
    }
);

/// A task, and who has it now.
#[derive(Debug)]
pub struct Claimed {
    pub worker: Key,
    pub task: Task,
    pub warnings: Vec<Hint>,
}

impl ClaimTask {
    /// Returns who claims.
    pub fn worker(&self, caller: &Caller<'_>) -> Result<Key> {
        match &self.worker {
            Some(Chosen(worker)) => Ok(worker.clone()),
            None => register::new_name(caller.engine, &caller.around.mark(), caller.actor),
        }
    }

    /// Claims by `attempt`, which may wait; nothing that is ready is an error here.
    pub fn perform_by(
        &self,
        caller: &Caller<'_>,
        attempt: impl FnOnce(&ClaimRequest<'_>) -> Result<Claim>,
    ) -> Result<Claimed> {
        let worker = self.worker(caller)?;
        let request =
            ClaimRequest { worker: &worker, task: self.task.as_ref(), lease: self.lease.map(Seconds::get) };
        match attempt(&request)? {
            Claim::Claimed { task, warnings } => Ok(Claimed { worker, task, warnings }),
            Claim::NothingReady(nothing) => {
                Err(Error::NothingReady { worker: worker.to_string(), others_work: nothing.others_work })
            }
        }
    }
}

impl Request for ClaimTask {
    type Answer = Claimed;

    fn perform(self, caller: &Caller<'_>) -> Result<Claimed> {
        self.perform_by(caller, |request| work::claim(caller.engine, request, caller.actor))
    }
}

request!(
    /// List the tasks that a worker has in hand.
    ListMine("task.mine", Reads, "worker mine", r#"{"worker": "w1"}"#) {
        /// The worker; unless told, the caller's session.
        worker: Option<Key>,
    }
);

impl Request for ListMine {
    type Answer = TaskList;

    fn perform(self, caller: &Caller<'_>) -> Result<TaskList> {
        held(caller, self.worker.as_ref()).map(|(_, tasks)| list(tasks))
    }
}

request!(
    /// Say that you have begun, and renew the lease.
    StartTask("task.start", Changes, "worker start", r#"{"worker": "w1", "task": "model", "epoch": 1}"#) {
        /// Who you are.
        worker: Key,
        /// The task.
        task: Key,
        /// The lease you have: refused if it is another one by now.
        epoch: Option<u64>,
    }
);

impl Request for StartTask {
    type Answer = work::TaskChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<work::TaskChanged> {
        let on = On { worker: &self.worker, task: &self.task, epoch: self.epoch };
        work::start(caller.engine, on, caller.actor)
    }
}

request!(
    /// Give a sign of life: renew the leases of all your tasks, or of one.
    RenewTasks("task.renew", Changes, "worker heartbeat", r#"{"worker": "w1"}"#) {
        /// Who you are.
        worker: Key,
        /// Only this task.
        task: Option<Key>,
        /// The lease you have: refused if it is another one by now.
        epoch: Option<u64>,
    }
);

impl Request for RenewTasks {
    type Answer = TaskList;

    fn perform(self, caller: &Caller<'_>) -> Result<TaskList> {
        let renewed =
            work::heartbeat(caller.engine, &self.worker, self.task.as_ref(), self.epoch, caller.actor)?;
        Ok(list(renewed))
    }
}

request!(
    /// Report a task as done: keeps the result and sets free what waited for it. May be repeated.
    CompleteTask("task.complete", Changes, "worker complete", r#"{"worker": "w1", "task": "model", "summary": "Added the model", "created": ["src/models/user.rs"]}"#) {
        /// Who you are.
        worker: Key,
        /// The task; unless told, the one that the worker has in hand.
        task: Option<Key>,
        /// What you did.
        summary: String,
        /// Files you changed.
        modified: Vec<String>,
        /// Files you made.
        created: Vec<String>,
        /// The lease you have: refused if it is another one by now.
        epoch: Option<u64>,
    }
);

impl Request for CompleteTask {
    type Answer = work::TaskChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<work::TaskChanged> {
        let task = match self.task {
            Some(task) => task,
            None => key(&in_hand(caller, Some(&self.worker))?)?,
        };
        let on = On { worker: &self.worker, task: &task, epoch: self.epoch };
        let report = Report { output: self.summary, modified: self.modified, created: self.created };
        let done = work::complete(caller.engine, on, &report, caller.actor)?;
        planning::queue::completed(caller.engine, done.task.value(), caller.actor);
        Ok(done)
    }
}

request!(
    /// Report that a task did not work out. To give it to others as it is, use `task.release`.
    FailTask("task.fail", Changes, "worker fail", r#"{"worker": "w1", "task": "endpoint", "reason": "The schema is missing"}"#) {
        /// Who you are.
        worker: Key,
        /// The task.
        task: Key,
        /// Why.
        reason: String,
        /// The lease you have: refused if it is another one by now.
        epoch: Option<u64>,
    }
);

impl Request for FailTask {
    type Answer = work::TaskChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<work::TaskChanged> {
        let on = On { worker: &self.worker, task: &self.task, epoch: self.epoch };
        work::fail(caller.engine, on, &self.reason, caller.actor)
    }
}

request!(
    /// Give a task back for others to take.
    ReleaseTask("task.release", Changes, "worker release", r#"{"worker": "w1", "task": "endpoint"}"#) {
        /// Who you are.
        worker: Key,
        /// The task.
        task: Key,
        /// The lease you have: refused if it is another one by now.
        epoch: Option<u64>,
    }
);

impl Request for ReleaseTask {
    type Answer = work::TaskChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<work::TaskChanged> {
        let on = On { worker: &self.worker, task: &self.task, epoch: self.epoch };
        work::release(caller.engine, on, caller.actor)
    }
}

request!(
    /// Tell everybody what you found out.
    Discover("worker.discover", Changes, "worker discover", r#"{"worker": "w1", "text": "The pool allows 10 connections"}"#) {
        /// Who you are.
        worker: Chosen<Key>,
        /// What you found out; the first line is the title.
        text: String,
    }
);

impl Request for Discover {
    type Answer = Discovery;

    fn perform(self, caller: &Caller<'_>) -> Result<Discovery> {
        let Chosen(worker) = &self.worker;
        work::discover(caller.engine, worker, &self.text, caller.actor)?;
        let path = caller.shown(&TextFile::Discoveries);
        Ok(Discovery { worker: worker.to_string(), text: self.text, path })
    }
}

request!(
    /// Tell what a worker should know for a task: the task, earlier attempts, results of what it depends on, goal, plan, discoveries.
    BriefTask("task.brief", Reads, "worker brief", r#"{"task": "endpoint"}"#) {
        /// The task; unless told, the one that the worker, or else the caller's session, has in hand.
        task: Option<Key>,
        /// Whose task in hand.
        worker: Option<Key>,
        /// Cut nothing.
        full: bool,
    }
);

/// What a worker should know, and at what length it is told.
#[derive(Debug)]
pub struct Briefed {
    pub brief: Brief,
    pub length: Length,
}

impl Request for BriefTask {
    type Answer = Briefed;

    fn perform(self, caller: &Caller<'_>) -> Result<Briefed> {
        let id = match &self.task {
            Some(task) => Cow::Borrowed(task.as_str()),
            None => Cow::Owned(in_hand(caller, self.worker.as_ref())?),
        };
        let length = if self.full { Length::Full } else { Length::Short };
        Ok(Briefed { brief: brief::brief(caller.engine, &id)?, length })
    }
}

/// Reads the id of a task that we have found.
fn key(id: &str) -> Result<Key> {
    id.parse().map_err(|error: InvalidId| Error::Input(error.to_string()))
}

/// Returns the worker's name, or the session's, and the tasks that it has in hand.
fn held(caller: &Caller<'_>, worker: Option<&Key>) -> Result<(String, Vec<Task>)> {
    let session = caller.session();
    let (holder, name) = match (worker, &session) {
        (Some(worker), _) => (Holder::Worker(worker), worker.to_string()),
        (None, Some(session)) => (Holder::Session(session), session.to_string()),
        (None, None) => return Err(Error::WhoseTask),
    };
    Ok((name, brief::in_hand(caller.engine, holder)?))
}

/// Returns the one task that the worker, or the session, has in hand.
fn in_hand(caller: &Caller<'_>, worker: Option<&Key>) -> Result<String> {
    let (name, tasks) = held(caller, worker)?;
    match &tasks[..] {
        [task] => Ok(task.id().to_owned()),
        [] => Err(Error::NothingInHand { name }),
        several => {
            let ids = several.iter().map(|task| task.id().to_owned()).collect();
            Err(Error::SeveralInHand { name, ids })
        }
    }
}
