//! What workers do.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::obstacle::{self, Obstacle};
use super::pick::{Able, Pick};
use super::rules::who_waits;
use super::{QueueTransaction, register};
use crate::hint;
use crate::model::documents::queue::{Lease, QueueTask, TaskResult, Worker, WorkerPause};
use crate::model::files;
use crate::model::hint::Hint;
use crate::model::ids::{Key, SessionId};
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::Doc;
use crate::model::lease::HEARTBEAT;
use crate::model::next::Next;
use crate::model::redact::redact;
use crate::model::session::{BEAT, Session};
use crate::model::task::{Claimant, Effect, LEASE, Refusal, Report, Status, Task};
use crate::model::text_file::TextFile;
use crate::model::time;
use crate::model::usage::{Tries, Usage};
use crate::ops::{Actor, Error, Result};
use crate::store::{Durability, Engine, Expected};
use crate::view::queue_texts;

/// A worker's call for a task.
#[derive(Debug)]
pub struct ClaimRequest<'a> {
    pub worker: &'a Key,
    /// This one, and no other.
    pub task: Option<&'a Key>,
    /// How long the lease lasts without a sign of life.
    pub lease: Option<f64>,
}

#[derive(Debug)]
pub enum Claim {
    Claimed { task: Task, warnings: Vec<Hint> },
    NothingReady(NothingReady),
}

/// What is known when nothing can be claimed.
#[derive(Debug, Clone, Copy)]
pub struct NothingReady {
    /// After this long something may be ready by itself: a lease runs out, a retry is due.
    pub look_again: Option<Duration>,
    /// Whether others are at work, who may set free what waits for them.
    pub others_work: bool,
}

/// How many tasks a claim looks at, as a rule.
const LIKELY: usize = 4;

/// Gives the worker the best task that is ready, after taking back what dead workers have.
pub fn claim(engine: &dyn Engine, request: &ClaimRequest<'_>, actor: &Actor) -> Result<Claim> {
    let (queue, workers) = (Doc::queue(), Doc::workers());
    let worker = Expected::Item(&workers, request.worker.as_str());
    let expected = [worker, Expected::Best(&queue, LIKELY), Expected::Active(&queue)];
    let mut tx = QueueTransaction::open_queue_expecting(engine, &expected, actor)?;
    let (mut pick, mut retry) = (Pick::default(), None);
    if tx.transaction.may_be_due(&tx.queue, &tx.now)? {
        take_back_expired(&mut tx)?;
    }
    let known = tx.transaction.item(&Doc::workers(), request.worker.as_str())?;
    let able = capabilities(known.as_ref());
    if known.is_none() && request.task.is_none() {
        check_name(&mut tx, request.worker)?;
    }
    if let Some(id) = request.task {
        return claim_this(engine, tx, (request, id), known, &able, actor);
    }
    let mut chosen = choose(&mut pick, &mut tx, &able, &mut retry)?;
    // Before saying no, make sure that nothing waits for nothing.
    if chosen.is_none() && tx.settle()? {
        pick.again();
        chosen = choose(&mut pick, &mut tx, &able, &mut retry)?;
    }
    let Some(task) = chosen else {
        let nothing = nothing_ready(&mut pick, &mut tx, retry)?;
        tx.commit(request.worker.as_str(), "expire", actor)?;
        return Ok(Claim::NothingReady(nothing));
    };
    give(engine, tx, request, (task, known), actor)
}

/// Refuses a new worker that is called as a task: that was typed in the worker's place.
fn check_name(tx: &mut QueueTransaction<'_>, worker: &Key) -> Result<()> {
    match tx.transaction.item(&tx.queue, worker.as_str())? {
        Some(_) => Err(Error::invalid(
            format!("`{worker}` is a task, and no worker is called so"),
            "say who you are, and then the task",
        )),
        None => Ok(()),
    }
}

/// Gives a worker the task that it has asked for, unless something keeps it back.
fn claim_this(
    engine: &dyn Engine,
    mut tx: QueueTransaction<'_>,
    (request, id): (&ClaimRequest<'_>, &Key),
    known: Option<Value>,
    able: &[String],
    actor: &Actor,
) -> Result<Claim> {
    let mut task = tx.task(id.as_str())?;
    if task.status() == Status::Created && tx.settle()? {
        task = tx.task(id.as_str())?;
    }
    let worker = request.worker.as_str();
    if task.is_active() && task.owner() == Some(worker) {
        return Ok(Claim::Claimed { task, warnings: Vec::new() });
    }
    if task.is_active() {
        task.fence(Claimant { worker, epoch: None }, "claim")?;
    }
    if !task.is_open() {
        return Err(task.wrong_state("claim").into());
    }
    let working = tx.active()?;
    let look_up = &mut |id: &str| Ok(tx.transaction.item(&tx.queue, id)?.map(Task::of));
    match obstacle::obstacle(&task, able, &working, &tx.now, look_up)? {
        Some(found) => Err(obstacle::kept_back(&task, &found)),
        None => give(engine, tx, request, (task, known), actor),
    }
}

/// Gives a task to the worker who asked.
fn give(
    engine: &dyn Engine,
    mut tx: QueueTransaction<'_>,
    request: &ClaimRequest<'_>,
    (mut task, known): (Task, Option<Value>),
    actor: &Actor,
) -> Result<Claim> {
    let worker = request.worker.as_str();
    let namesake = register::note_claim(&mut tx, request.worker, known, actor)?;
    task.claim(worker, actor.session.as_deref(), request.lease.unwrap_or(LEASE), &tx.now);
    tx.put(task.clone())?;
    tx.log(worker, "CLAIMED", &format!("{} (lease {})", task.id(), task.epoch()))?;
    let mut warnings = tx.commit(worker, "claim", actor)?;
    warnings.extend(register::warn_of(engine, request.worker, namesake, actor));
    register::sign_of_session(engine, actor);
    Ok(Claim::Claimed { task, warnings })
}

/// Returns the best task that the worker may have; `retry` is told the time until one is to be tried again.
fn choose(
    pick: &mut Pick,
    tx: &mut QueueTransaction<'_>,
    able: &[String],
    retry: &mut Option<SignedDuration>,
) -> Result<Option<Task>> {
    while let Some((task, found)) = pick.next(&mut *tx.transaction, Able::To(able), &tx.now)? {
        match found {
            None => return Ok(Some(task)),
            Some(Obstacle::Later { until }) => {
                let wait = until.duration_since(tx.now.at);
                *retry = Some(retry.map_or(wait, |next| next.min(wait)));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

fn nothing_ready(
    pick: &mut Pick,
    tx: &mut QueueTransaction<'_>,
    retry: Option<SignedDuration>,
) -> Result<NothingReady> {
    let working = pick.working(&mut *tx.transaction)?;
    let others_work = !working.is_empty();
    let signs = tx.transaction.signs(&tx.queue)?;
    let left = |task: &Task| signs.left(task.value(), &tx.now);
    let next = working.iter().filter_map(left).chain(retry).min();
    let look_again = next.map(|next| Duration::try_from(next).unwrap_or(Duration::ZERO));
    Ok(NothingReady { look_again, others_work })
}

/// Takes back the tasks whose leases have run out.
fn take_back_expired(tx: &mut QueueTransaction<'_>) -> Result<()> {
    for task in tx.expired()? {
        let details = format!(" (lease {} ran out without a sign of life)", task.epoch());
        tx.give_back(task, "expired", &details)?;
    }
    Ok(())
}

fn capabilities(worker: Option<&Value>) -> Vec<String> {
    let list = worker.read(Worker::capabilities);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// One task and whoever wants to do something to it.
#[derive(Debug, Clone, Copy)]
pub struct On<'a> {
    pub worker: &'a Key,
    pub task: &'a Key,
    /// The lease that the worker believes to have.
    pub epoch: Option<u64>,
}

/// A task after a change, and what a person should hear.
#[derive(Debug)]
pub struct TaskChanged {
    pub task: Task,
    /// Whether it was so already.
    pub repeated: bool,
    pub warnings: Vec<Hint>,
}

/// Says that the work has begun, and renews the lease.
pub fn start(engine: &dyn Engine, on: On<'_>, actor: &Actor) -> Result<TaskChanged> {
    change(engine, on, actor, "start", |tx, task, by| {
        let effect = task.start(by, &tx.now)?;
        if effect == Effect::Changed {
            tx.log(by.worker, "STARTED", task.id())?;
        }
        Ok(effect)
    })
}

/// What comes of a task.
#[derive(Debug, Clone, Copy)]
pub enum End<'e> {
    Done(&'e Report),
    /// It did not work out, and why.
    Failed(&'e str),
    /// Others may take it.
    Released,
}

/// Ends a task: result, log line and the tasks that waited for it, all at once.
pub fn complete(engine: &dyn Engine, on: On<'_>, report: &Report, actor: &Actor) -> Result<TaskChanged> {
    settle(engine, on, End::Done(report), &Tries::default(), actor)
}

/// Ends a task that did not work out.
pub fn fail(engine: &dyn Engine, on: On<'_>, reason: &str, actor: &Actor) -> Result<TaskChanged> {
    settle(engine, on, End::Failed(reason), &Tries::default(), actor)
}

/// Gives a task back for others to take.
pub fn release(engine: &dyn Engine, on: On<'_>, actor: &Actor) -> Result<TaskChanged> {
    settle(engine, on, End::Released, &Tries::default(), actor)
}

/// Notes what came of a task, and what its agents used and changed.
pub fn settle(
    engine: &dyn Engine,
    on: On<'_>,
    end: End<'_>,
    tries: &Tries,
    actor: &Actor,
) -> Result<TaskChanged> {
    let (report, reason);
    let end = match end {
        End::Done(told) => {
            report = told.redacted();
            End::Done(&report)
        }
        End::Failed(told) => {
            reason = redact(told);
            End::Failed(&reason)
        }
        End::Released => End::Released,
    };
    let op = match end {
        End::Done(_) => "complete",
        End::Failed(_) => "fail",
        End::Released => "release",
    };
    let mut blocked = Vec::new();
    let mut done = change(engine, on, actor, op, |tx, task, by| {
        let effect = match end {
            End::Done(report) => task.complete(by, report, &tx.now)?,
            End::Failed(reason) => task.fail(by, reason, &tx.now)?,
            End::Released => {
                let to = tx.open_status(task)?;
                task.release(by, to, &tx.now)?
            }
        };
        if effect == Effect::Repeated {
            return Ok(effect);
        }
        task.count(on.epoch, tries);
        if let Some(changes) = &tries.changed {
            task.note_changes(on.epoch, changes);
        }
        match end {
            End::Done(_) => {
                finish(tx, on, task, "COMPLETED")?;
                tx.release_dependents(task.id())?;
            }
            End::Failed(_) => {
                finish(tx, on, task, "FAILED")?;
                blocked = tx.waiting_for(task.id())?;
            }
            End::Released => tx.log(by.worker, "RELEASED", task.id())?,
        }
        Ok(effect)
    })?;
    if !blocked.is_empty() {
        let retry = Next::Retry(on.task.to_string());
        let told = format!("{} for `{}`; to have it tried again: ", who_waits(&blocked), on.task);
        done.warnings.push(hint![told, retry]);
    }
    Ok(done)
}

fn change(
    engine: &dyn Engine,
    on: On<'_>,
    actor: &Actor,
    op: &str,
    act: impl FnOnce(&mut QueueTransaction<'_>, &mut Task, Claimant<'_>) -> Result<Effect>,
) -> Result<TaskChanged> {
    let (queue, workers) = (Doc::queue(), Doc::workers());
    let expected = [Expected::Item(&queue, on.task.as_str()), Expected::Item(&workers, on.worker.as_str())];
    let mut tx = QueueTransaction::open_queue_expecting(engine, &expected, actor)?;
    let mut task = tx.task(on.task.as_str())?;
    let before = task.clone();
    let by = Claimant { worker: on.worker.as_str(), epoch: on.epoch };
    let effect = act(&mut tx, &mut task, by)?;
    if task != before {
        tx.put(task.clone())?;
    }
    register::note(&mut tx, on.worker, actor)?;
    let warnings = tx.commit(on.worker.as_str(), op, actor)?;
    register::sign_of_session(engine, actor);
    Ok(TaskChanged { task, repeated: effect == Effect::Repeated, warnings })
}

/// Writes the result of a task that has ended, and the line that says so.
fn finish(tx: &mut QueueTransaction<'_>, on: On<'_>, task: &Task, action: &str) -> Result<()> {
    tx.put(task.clone())?;
    tx.transaction.write_text_file(&TextFile::Result(on.task.clone()), queue_texts::result(task.value()))?;
    let result = &task.value()[QueueTask::result];
    let told = [&result[TaskResult::output], &result[TaskResult::error]]
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or_default();
    let first: String = told.lines().next().unwrap_or_default().chars().take(200).collect();
    let details = if first.is_empty() { task.id().into() } else { format!("{}: {first}", task.id()) };
    tx.log(on.worker.as_str(), action, &details)
}

/// A worker's sign of life. Renews its leases; a worker without a task is noted in the register.
///
/// Atomic but not synced: a lost heartbeat repairs itself.
pub fn heartbeat(
    engine: &dyn Engine,
    worker: &Key,
    only: Option<&Key>,
    epoch: Option<u64>,
    actor: &Actor,
) -> Result<Vec<Task>> {
    let (queue, workers) = (Doc::queue(), Doc::workers());
    let expected = [Expected::Active(&queue), Expected::Item(&workers, worker.as_str())];
    let mut tx = QueueTransaction::open_with(engine, &[&queue.room], &expected, actor)?;
    let wanted = |task: &Task| {
        task.is_active()
            && task.owner() == Some(worker.as_str())
            && only.is_none_or(|only| task.id() == only.as_str())
            && epoch.is_none_or(|epoch| task.epoch() == epoch)
    };
    let mut renewed = match only {
        Some(only) => tx.transaction.item(&queue, only.as_str())?.into_iter().map(Task::of).collect(),
        None => tx.active()?,
    };
    renewed.retain(wanted);
    let mut is_written = false;
    for task in &mut renewed {
        is_written |= tx.renew(task)?;
    }
    if renewed.is_empty() {
        without_task(&mut tx, worker, only, epoch)?;
    } else if is_written {
        register::note(&mut tx, worker, actor)?;
    }
    tx.commit_with(worker.as_str(), HEARTBEAT, actor, Durability::Lazy)?;
    register::sign_of_session(engine, actor);
    Ok(renewed)
}

/// Renews the leases of a session that has given a sign of life, those that were not renewed just now.
///
/// Atomic but not synced, as a heartbeat.
pub fn renew_session(engine: &dyn Engine, session: &SessionId, actor: &Actor) -> Result<()> {
    let queue = Doc::queue();
    if engine.is_absent(&queue) {
        return Ok(());
    }
    if let Some(mut look) = engine.browse(&queue.room)?
        && !look.may_be_occupied(&queue, &[files::holder(session.as_str())])?
    {
        return Ok(());
    }
    let mut tx = QueueTransaction::open_with(engine, &[&queue.room], &[Expected::Active(&queue)], actor)?;
    let signs = tx.transaction.signs(&queue)?;
    for mut task in tx.active()? {
        if Session::has(session, &task) && signs.used(task.value(), &tx.now) >= BEAT {
            tx.renew(&mut task)?;
        }
    }
    tx.commit_with(session.as_str(), HEARTBEAT, actor, Durability::Lazy).map(drop)
}

/// What a heartbeat means that renews nothing.
fn without_task(
    tx: &mut QueueTransaction<'_>,
    worker: &Key,
    only: Option<&Key>,
    epoch: Option<u64>,
) -> Result<()> {
    let by = Claimant { worker: worker.as_str(), epoch };
    if let Some(only) = only {
        let task = tx.task(only.as_str())?;
        task.fence(by, "renew")?;
        return Err(task.wrong_state("renew").into());
    }
    if let Some(epoch) = epoch {
        return Err(Error::NoLease { worker: worker.to_string(), epoch });
    }
    if let Some(lost) = tx.active()?.iter().find(|task| task.was_taken_from(worker.as_str())) {
        lost.fence(by, "renew")?;
    }
    let workers = Doc::workers();
    let Some(mut entry) = tx.transaction.item(&workers, worker.as_str())? else {
        return Err(Error::NoWorker { worker: worker.to_string() });
    };
    entry.set(Worker::last_seen, time::stamp(tx.now.at));
    tx.transaction.put_item(&workers, worker.as_str(), entry)?;
    tx.touch();
    Ok(())
}

/// Notes until when nothing is started for a worker, and why; `None` when it goes on.
pub fn pause(
    engine: &dyn Engine,
    worker: &Key,
    pause: Option<(Timestamp, &str)>,
    actor: &Actor,
) -> Result<()> {
    // Who is not known does not pause.
    if pause.is_none() && engine.is_absent(&Doc::workers()) {
        return Ok(());
    }
    let mut tx = QueueTransaction::open(engine, actor)?;
    let mut entry = register::entry(&mut tx, worker)?;
    if pause.is_none() && entry.at(Worker::paused).is_none() {
        return Ok(());
    }
    entry.set(Worker::last_seen, time::stamp(tx.now.at));
    match pause {
        Some((until, reason)) => {
            let reason = redact(reason);
            entry[Worker::paused] =
                json!({WorkerPause::until: time::stamp(until), WorkerPause::reason: reason});
            tx.log(worker.as_str(), "PAUSED", &format!("until {}: {reason}", time::stamp(until)))?;
        }
        None => {
            entry.as_object_mut().map(|entry| entry.unset(Worker::paused));
            tx.log(worker.as_str(), "RESUMED", worker.as_str())?;
        }
    }
    tx.transaction.put_item(&Doc::workers(), worker.as_str(), entry)?;
    tx.commit(worker.as_str(), "pause", actor).map(drop)
}

/// Adds to what everybody should know.
pub fn discover(engine: &dyn Engine, worker: &Key, text: &str, actor: &Actor) -> Result<String> {
    if text.trim().is_empty() {
        return Err(Error::Input("there is nothing to tell: the text is blank".into()));
    }
    let text = &*redact(text);
    let mut tx = QueueTransaction::open(engine, actor)?;
    if tx.transaction.text_file(&TextFile::Discoveries)?.is_none() {
        tx.transaction.append_text_file(&TextFile::Discoveries, &queue_texts::discoveries(actor.door))?;
    }
    let piece = queue_texts::discovery(worker.as_str(), text, &time::stamp(tx.now.at));
    tx.transaction.append_text_file(&TextFile::Discoveries, &piece)?;
    let first: String = text.trim().lines().next().unwrap_or_default().chars().take(200).collect();
    tx.log(worker.as_str(), "DISCOVERED", &first)?;
    register::note(&mut tx, worker, actor)?;
    tx.commit(worker.as_str(), "discover", actor)?;
    register::sign_of_session(engine, actor);
    Ok(piece)
}

/// Keeps what the command or agent of a task printed; and what it used and changed, if it reported by itself.
pub fn keep_output(engine: &dyn Engine, on: On<'_>, tries: &Tries, actor: &Actor) -> Result<()> {
    let mut tx = QueueTransaction::open(engine, actor)?;
    tx.transaction.write_text_file(&TextFile::TaskLog(on.task.clone()), redact(&tries.log).into_owned())?;
    tx.touch();
    let is_told = tries.changed.is_some() || tries.usage != Usage::default();
    if is_told && let Some(task) = tx.transaction.item(&tx.queue, on.task.as_str())? {
        let mut task = Task::of(task);
        let counted = task.count(on.epoch, tries);
        let noted = tries.changed.as_ref().is_some_and(|changes| task.note_changes(on.epoch, changes));
        if matches!(task.status(), Status::Done | Status::Failed) && (counted || noted) {
            let result = queue_texts::result(task.value());
            tx.transaction.write_text_file(&TextFile::Result(on.task.clone()), result)?;
        }
        if counted || noted {
            tx.put(task)?;
        }
    }
    tx.commit_with(on.worker.as_str(), "output", actor, Durability::Lazy).map(drop)
}

/// Returns until when a task may be worked on, for messages.
pub fn lease_end(task: &Task) -> Option<Timestamp> {
    task.value().at(QueueTask::lease).text(Lease::expires_at).and_then(time::read)
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Task(refusal)
    }
}
