//! Looking at the queue: what can be claimed, and why a task cannot.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::obstacle::{Obstacle, later, missing, overlap};
use super::pick::{Able, Pick};
use crate::hint;
use crate::model::changes::{self, NO_CHANGE};
use crate::model::diagnosis::telling;
use crate::model::documents::answers::Reason as ReasonDoc;
use crate::model::documents::queue::{Queue, QueueTask, TaskResult, Worker};
use crate::model::files;
use crate::model::hint::Door;
use crate::model::ids::{self, RULE};
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::Doc;
use crate::model::listing::{Among, Most, Overview};
use crate::model::next::{Next, See};
use crate::model::task::{self, Status, Task, word};
use crate::model::time::{self, Moment};
use crate::ops::archive::shelf::Shelf;
use crate::ops::{Actor, Error, Result, read};
use crate::store::engine::items;
use crate::store::{Engine, Transaction};

/// Returns the tasks that some worker could claim now, best first; at most `limit`.
pub fn ready(engine: &dyn Engine, limit: Option<usize>, actor: &Actor) -> Result<Vec<Value>> {
    if let (Some(limit), Some(mut transaction)) = (limit, engine.browse(&Doc::queue().room)?)
        && let Some(ready) = first_ready(&mut *transaction, limit, &actor.clock.moment())?
    {
        return Ok(ready);
    }
    let overview = read::overview(engine, &Doc::queue(), FEW).filter(has_all_ready);
    let now = actor.clock.moment();
    let tasks = match overview {
        Some(overview) => Tasks::of(overview.items, overview.needed, &now),
        None => Tasks::of_queue(read::document(engine, &Doc::queue())?.value, &now),
    };
    // A newer format may have statuses that we do not know.
    let known = |task: &Task| task.value()[QueueTask::status] == word(task.status());
    let able = |task: &&Task| {
        (task.is_open() || task.is_expired(&now)) && known(task) && tasks.obstacles(task, &now).is_empty()
    };
    // A claim makes it available first: what waits for nothing, and what its owner let go.
    let mut ready: Vec<_> = tasks.all.iter().filter(able).collect();
    ready.sort_by_cached_key(|task| task.rank());
    ready.truncate(limit.unwrap_or(usize::MAX));
    Ok(ready.into_iter().map(|task| task.value().clone()).collect())
}

/// So many are looked at one by one, while others have to wait; more are read as a whole.
const FEW: Most = Most { ready: 1000, waiting: 0, done: 0 };

/// Whether an overview has everything that may be ready, or become so with the next claim.
fn has_all_ready(overview: &Overview) -> bool {
    let available = word(Status::Available);
    let fits = |item: &&Value| {
        item[QueueTask::status] == available && ids::is_sound(item.text(QueueTask::id).unwrap_or_default())
    };
    let shown = overview.items.iter().filter(fits).count();
    overview.counts.contains(&(available, shown))
}

/// Returns the first tasks that are ready, without looking at the others; `None` if there is more to do than to look:
/// somebody edited the queue, a lease is over, a task waits for nothing.
fn first_ready(transaction: &mut dyn Transaction, limit: usize, now: &Moment) -> Result<Option<Vec<Value>>> {
    let queue = Doc::queue();
    let unsettled = !transaction.exists(&queue)?
        || !transaction.edits(&queue)?.is_empty()
        || transaction.may_be_due(&queue, now)?
        || !transaction.find(&queue, Among::Loose)?.is_empty();
    if unsettled {
        return Ok(None);
    }
    let (mut ready, mut pick) = (Vec::new(), Pick::default());
    while ready.len() < limit
        && let Some((task, found)) = pick.next(transaction, Able::Anything, now)?
    {
        if found.is_none() {
            ready.push(task.into_value());
        }
    }
    Ok(Some(ready))
}

/// Why a task does not run, or that it does.
#[derive(Debug)]
pub struct Explained {
    pub task: Task,
    /// One sentence each, the most telling first.
    pub reasons: Vec<Reason>,
    /// Whether a worker can take it now.
    pub ready: bool,
}

#[derive(Debug)]
pub struct Reason {
    /// What kind of reason it is, for scripts.
    pub kind: &'static str,
    pub text: String,
    /// The other task that it is about.
    pub task: Option<String>,
}

/// Finds a task that has left the queue.
fn archived(engine: &dyn Engine, id: &str) -> Result<Explained> {
    let found = Shelf::tasks().newest(engine, Some(id), Some(1))?.pop();
    let task = found.map(Task::of).ok_or_else(|| Error::NoTask { id: id.into() })?;
    let text = format!("it is over ({}) and has left the queue for its archive", word(task.status()));
    Ok(Explained { task, reasons: vec![Reason::new("archived", text, None)], ready: false })
}

/// Says why a task is not running.
pub fn explain(engine: &dyn Engine, id: &str, actor: &Actor) -> Result<Explained> {
    let now = actor.clock.moment();
    let tasks = match neighbours(engine, id)? {
        Some(neighbours) => Tasks::of(neighbours, HashMap::new(), &now),
        None => Tasks::of_queue(read::document(engine, &Doc::queue())?.value, &now),
    };
    let Some(task) = tasks.get(id).cloned() else { return archived(engine, id) };
    let open = matches!(task.status(), Status::Created | Status::Available);
    let mut reasons = match open {
        true => tasks
            .obstacles(&task, &now)
            .iter()
            .map(|obstacle| tasks.reason(obstacle, &now, actor.door))
            .collect(),
        false => vec![standing(&task, &now, actor.door)],
    };
    reasons.extend(needs(engine, &task, open)?);
    let ready = open && !reasons.iter().any(|reason| reason.kind != "capabilities");
    if ready && reasons.is_empty() {
        reasons.push(Reason::new("ready", "it is ready: the next worker that asks gets it", None));
    }
    Ok(Explained { task, reasons, ready })
}

/// Returns a task, if there is one, with all that may keep it from running: what it depends on, and what is being worked on.
/// `None` if somebody edited the queue, or nobody can tell without reading all of it.
fn neighbours(engine: &dyn Engine, id: &str) -> Result<Option<Vec<Value>>> {
    let queue = Doc::queue();
    let Some(mut look) = engine.browse(&queue.room)? else { return Ok(None) };
    if !look.exists(&queue)? || !look.edits(&queue)?.is_empty() {
        return Ok(None);
    }
    let Some(task) = look.item(&queue, id)?.map(Task::of) else { return Ok(Some(Vec::new())) };
    let mut found = look.find(&queue, Among::Active)?;
    for needed in task.dependencies() {
        found.extend(look.item(&queue, needed)?);
    }
    // Each is there once.
    let mut known = HashSet::from([task.id().to_owned()]);
    found.retain(|other| known.insert(other.text(QueueTask::id).unwrap_or_default().to_owned()));
    found.insert(0, task.into_value());
    let signs = look.signs(&queue)?;
    found.iter_mut().for_each(|task| signs.renew(task));
    Ok(Some(found))
}

/// Says which registered workers could do a task that needs something.
fn needs(engine: &dyn Engine, task: &Task, open: bool) -> Result<Option<Reason>> {
    if task.needs().is_empty() || !open {
        return Ok(None);
    }
    let workers = engine.read(&Doc::workers())?.map(|document| document.value).unwrap_or_default();
    let able = |worker: &&Value| {
        let has = worker.list(Worker::capabilities).iter();
        let has: Vec<String> = has.filter_map(Value::as_str).map(str::to_owned).collect();
        missing(task, &has).is_empty()
    };
    let able = items(Doc::workers().kind, &workers).into_iter().filter(able);
    let able: Vec<_> =
        able.filter_map(|worker| worker.text(Worker::id)).map(|id| format!("`{id}`")).collect();
    let needs = task.needs().join(", ");
    let text = match able.is_empty() {
        true => format!("it needs {needs}, and no registered worker has that"),
        false => format!("it needs {needs}; only {} can take it", able.join(", ")),
    };
    Ok(Some(Reason::new("capabilities", text, None)))
}

/// Tells how a task stands that is not open.
fn standing(task: &Task, now: &Moment, door: &dyn Door) -> Reason {
    let reset = || Next::Reset { id: task.id().into(), force: false };
    let owner = task.owner().unwrap_or("nobody");
    match (task.status(), task.lease_left(now)) {
        (status @ (Status::Claimed | Status::InProgress), Some(left)) if left.is_positive() => {
            let text =
                format!("`{owner}` has it ({}); its lease lasts {} more s", word(status), left.as_secs());
            Reason::new("lease", text, None)
        }
        (Status::Claimed | Status::InProgress, Some(left)) => {
            let text = format!(
                "the lease of `{owner}` ran out {} s ago: the next claim takes it back",
                -left.as_secs()
            );
            Reason::new("expired", text, None)
        }
        (Status::Claimed | Status::InProgress, None) => {
            let text = format!("`{owner}` has it without a lease, so it never comes back by itself: ");
            Reason::new("lease", door.tell(&hint![text, reset()]), None)
        }
        (Status::Failed, _) => {
            let why = task.value()[QueueTask::result].text(TaskResult::error).and_then(telling);
            let why = why.unwrap_or("no reason given");
            let text = hint![format!("it failed: {why}; try again: "), Next::Retry(task.id().into())];
            Reason::new("failed", door.tell(&text), None)
        }
        (Status::Done, _) => {
            // Who is made of parts is done by nobody.
            let by = task.owner().map(|owner| format!(", by `{owner}`")).unwrap_or_default();
            let mut told = format!("it is done{by}");
            if changes::is_hollow(task.value()) {
                told += &format!(", {NO_CHANGE}");
            }
            Reason::new("done", told, None)
        }
        _ => {
            let text = hint!["it was cancelled; take it up again: ", reset()];
            Reason::new("cancelled", door.tell(&text), None)
        }
    }
}

impl Reason {
    fn new(kind: &'static str, text: impl Into<String>, task: Option<&str>) -> Reason {
        Reason { kind, text: text.into(), task: task.map(str::to_owned) }
    }
}

impl Explained {
    pub fn json(&self) -> Value {
        let reason = |reason: &Reason| {
            json!({
                ReasonDoc::kind: reason.kind, ReasonDoc::message: reason.text, ReasonDoc::task: reason.task,
            })
        };
        let fields = [
            ("id", Value::from(self.task.id())),
            ("status", word(self.task.status()).into()),
            ("ready", self.ready.into()),
            ("reasons", self.reasons.iter().map(reason).collect()),
            ("task", self.task.value().clone()),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The tasks of a queue as they stand, by id.
pub(super) struct Tasks {
    all: Vec<Task>,
    by_id: HashMap<String, usize>,
    /// The statuses of others that they depend on.
    needed: HashMap<String, &'static str>,
    /// Those that somebody works on.
    working: Vec<usize>,
    /// The keys of their files; `None` if keys cannot tell.
    occupied: Option<HashSet<u64>>,
}

impl Tasks {
    pub(super) fn of_queue(mut queue: Value, now: &Moment) -> Tasks {
        let all = match queue.at_mut(Queue::tasks).map(Value::take) {
            Some(Value::Array(all)) => all,
            _ => Vec::new(),
        };
        Tasks::of(all, HashMap::new(), now)
    }

    fn of(tasks: Vec<Value>, needed: HashMap<String, &'static str>, now: &Moment) -> Tasks {
        let all: Vec<_> = tasks.into_iter().map(Task::of).collect();
        let by_id = all.iter().enumerate().rev().map(|(index, task)| (task.id().to_owned(), index)).collect();
        let works = |task: &Task| task.is_active() && !task.is_expired(now);
        let working: Vec<_> = (0..all.len()).filter(|index| works(&all[*index])).collect();
        let keys = working.iter().map(|index| files::occupied(&all[*index].files()));
        let occupied = keys.collect::<Option<Vec<_>>>().map(|keys| keys.into_iter().flatten().collect());
        Tasks { all, by_id, needed, working, occupied }
    }

    fn may_overlap(&self, task: &Task) -> bool {
        let keys = files::asked_for(&task.files());
        keys.zip(self.occupied.as_ref())
            .is_none_or(|(keys, occupied)| keys.iter().any(|key| occupied.contains(key)))
    }

    pub(super) fn get(&self, id: &str) -> Option<&Task> {
        self.by_id.get(id).map(|index| &self.all[*index])
    }

    fn status(&self, id: &str) -> Option<Status> {
        self.get(id).map(Task::status).or_else(|| self.needed.get(id).map(|word| task::status(word)))
    }

    /// Returns everything that keeps an open task from any worker; what it needs is not asked here.
    fn obstacles(&self, task: &Task, now: &Moment) -> Vec<Obstacle> {
        let status = |id: &str| self.status(id);
        let open = task.dependencies().into_iter().filter(|id| status(id) != Some(Status::Done));
        let waits = open.map(|id| Obstacle::Dependency { id: id.into(), status: status(id) });
        let working = if self.may_overlap(task) { &self.working[..] } else { &[] };
        let working = working.iter().map(|index| &self.all[*index]).filter(|other| other.id() != task.id());
        let unfit = (!ids::is_sound(task.id())).then_some(Obstacle::Id);
        let overlaps = working.filter_map(|other| overlap(task, other));
        unfit.into_iter().chain(waits).chain(later(task, now)).chain(overlaps).collect()
    }

    fn reason(&self, obstacle: &Obstacle, now: &Moment, door: &dyn Door) -> Reason {
        match obstacle {
            Obstacle::Id => {
                let text = format!("nobody gets it, because its id is not valid: {RULE}; see: ");
                Reason::new("id", door.tell(&hint![text, See::Flaws("queue")]), None)
            }
            Obstacle::Dependency { id, status } => {
                let text = match (status, self.get(id).and_then(Task::owner)) {
                    (None, _) => format!("it waits for `{id}`, which does not exist"),
                    (Some(status @ (Status::Claimed | Status::InProgress)), Some(owner)) => {
                        format!("it waits for `{id}` ({}, by `{owner}`)", word(*status))
                    }
                    (Some(Status::Failed), _) => {
                        let retry = Next::Retry(id.clone());
                        door.tell(&hint![format!("it waits for `{id}`, which failed: "), retry])
                    }
                    (Some(Status::Cancelled), _) => {
                        let reset = Next::Reset { id: id.clone(), force: false };
                        door.tell(&hint![format!("it waits for `{id}`, which was cancelled: "), reset])
                    }
                    (Some(status), _) => format!("it waits for `{id}` ({})", word(*status)),
                };
                Reason::new("dependency", text, Some(id))
            }
            Obstacle::Later { until } => {
                let left = until.duration_since(now.at).as_secs();
                let text = format!("it is to be tried again at {}, in {left} s", time::stamp(*until));
                Reason::new("retry", text, None)
            }
            Obstacle::Overlap { with, by, ours, theirs } => {
                let text = format!(
                    "its files overlap with `{with}`, which `{by}` works on: `{ours}` and `{theirs}`"
                );
                Reason::new("overlap", text, Some(with))
            }
            Obstacle::Capabilities { missing } => {
                Reason::new("capabilities", format!("it needs {}", missing.join(", ")), None)
            }
        }
    }
}
