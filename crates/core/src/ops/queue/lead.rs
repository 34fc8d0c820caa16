//! What the leader does.

use std::borrow::Cow;
use std::collections::HashMap;

use jiff::SignedDuration;
use serde_json::Value;

use super::rules::{LEADER, check_circle, check_known, hold_dependents, who_waits};
use super::{QueueTransaction, parts};
use crate::hint;
use crate::model::both::both;
use crate::model::changes;
use crate::model::documents::queue::QueueTask;
use crate::model::hint::Hint;
use crate::model::ids::{self, Key};
use crate::model::key::Fields;
use crate::model::kind::Doc;
use crate::model::listing::Among;
use crate::model::new_task::NewTask;
use crate::model::next::{Next, With};
use crate::model::quick_hash::{QuickMap, QuickSet};
use crate::model::room::Room;
use crate::model::task::{self, Status, Task};
use crate::model::text_file::{TextFile, TextFiles};
use crate::model::time;
use crate::ops::archive::tasks as old;
use crate::ops::{Actor, Error, Result};
use crate::store::engine::items;
use crate::store::texts::Texts;
use crate::store::{Called, Engine, Kept};
use crate::view::queue_texts;

pub use super::rules::Several;

/// What `init` found and made, as files below the queue's room.
#[derive(Debug, Default)]
pub struct Initialised {
    pub created: Vec<Called>,
    pub kept: Vec<Called>,
}

/// Lays out the queue's room. What is there already stays as it is.
///
/// Another goal than the one that the plan has is refused; with `replace` it takes its place there.
pub fn init(engine: &dyn Engine, begin: &Begin<'_>, actor: &Actor) -> Result<Initialised> {
    let Begin { goal, approach, .. } = *begin;
    if goal.trim().is_empty() {
        return Err(Error::Input("the goal is blank: say what the team is to achieve".into()));
    }
    let mut tx = QueueTransaction::open(engine, actor)?;
    let replaced = other_plan(&mut tx, begin)?;
    let (mut done, now) = (Initialised::default(), time::stamp(tx.now.at));
    let queue = tx.queue.clone();
    let called = |kept: Kept<'_>| engine.called(kept);
    match tx.transaction.exists(&queue)? {
        true => done.kept.push(called(Kept::Document(&queue))),
        false => {
            done.created.push(called(Kept::Document(&queue)));
            tx.transaction.put(&queue, queue.default(tx.now.at))?;
            tx.change();
        }
    }
    if let Some(plan) = replaced {
        tx.transaction.write_text_file(&TextFile::Plan, plan)?;
    }
    for (text_file, text) in [
        (TextFile::Plan, queue_texts::plan(goal, approach, &now, actor.door)),
        (TextFile::Discoveries, queue_texts::discoveries(actor.door)),
    ] {
        match tx.transaction.text_file(&text_file)?.is_some() {
            true => done.kept.push(called(Kept::TextFile(&text_file))),
            false => {
                done.created.push(called(Kept::TextFile(&text_file)));
                tx.transaction.write_text_file(&text_file, text)?;
            }
        }
    }
    tx.transaction.text_files(&Room::Queue, TextFiles::Results)?;
    tx.log(LEADER, "INIT", goal)?;
    tx.commit(LEADER, "init", actor)?;
    Ok(done)
}

/// What a team begins with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Begin<'b> {
    pub goal: &'b str,
    pub approach: Option<&'b str>,
    /// Take the place of another goal.
    pub replace: bool,
}

/// Returns the plan with another goal than it has; `None` if it has this one, or does not tell.
fn other_plan(tx: &mut QueueTransaction<'_>, begin: &Begin<'_>) -> Result<Option<String>> {
    let Some(plan) = tx.transaction.text_file(&TextFile::Plan)? else { return Ok(None) };
    let Some(known) = queue_texts::section(&plan, queue_texts::OBJECTIVE) else { return Ok(None) };
    let asked = queue_texts::goal(begin.goal);
    // People add to it; that is no other goal.
    if known.contains(asked.trim()) {
        return Ok(None);
    }
    if !begin.replace {
        let first: String = known.lines().next().unwrap_or_default().chars().take(200).collect();
        let message = format!("the team has another goal already: `{first}`");
        return Err(Error::clash(
            message,
            hint!["put the new one in its place: ", Next::Repeat(With::Replace)],
        ));
    }
    Ok(queue_texts::with_section(&plan, queue_texts::OBJECTIVE, &asked))
}

/// Adds one task. The same task under the same id is no second one.
pub fn add(engine: &dyn Engine, new: &NewTask<'_>, actor: &Actor) -> Result<Task> {
    new.check().map_err(Error::Input)?;
    let mut tx = open(engine, std::slice::from_ref(new), actor)?;
    start_queue(&mut tx)?;
    if let Some(id) = &new.id
        && let Some(known) = tx.transaction.item(&tx.queue, id)?.map(Task::of)
    {
        return if known.is(new) { Ok(known) } else { Err(Error::OtherTask { id: id.to_string() }) };
    }
    for id in &new.dependencies {
        check_known(&mut tx, id, &new.description)?;
    }
    let parent = new.parent.as_deref().map(|id| parts::parent(&mut tx, id, new)).transpose()?;
    let id = match &new.id {
        Some(id) => {
            // Somebody may have named it by hand before it came.
            if !tx.transaction.find(&tx.queue, Among::InNeedOf(id))?.is_empty() {
                check_circle(&mut tx, id, &new.dependencies)?;
            }
            id.to_string()
        }
        None => {
            let now = tx.now.at;
            let mut free = |id: &str| Ok::<_, Error>(tx.transaction.item(&tx.queue, id)?.is_none());
            ids::new("task", now, &new.description, &mut free)?
        }
    };
    let mut task = Task::new(&id, new, Status::Created, tx.now.at);
    if let Some(parent) = &parent {
        task.wait_also_for(&parent.prerequisites());
    }
    task.set_status(tx.open_status(&task)?);
    tx.put(task.clone())?;
    if let Some(parent) = parent {
        parts::join(&mut tx, parent, &id)?;
    }
    tx.log(LEADER, "ADD_TASK", &format!("{id}: {}", new.description))?;
    tx.commit(LEADER, "add-task", actor)?;
    Ok(task)
}

/// Takes a seat to add tasks. From time to time what is over makes room first, so that the new ones are the last change; but not what
/// they name.
fn open<'e>(engine: &'e dyn Engine, new: &[NewTask<'_>], actor: &Actor) -> Result<QueueTransaction<'e>> {
    let mut tx = QueueTransaction::open(engine, actor)?;
    if !tx.transaction.exists(&tx.queue)? || !old::is_time(&mut *tx.transaction, &tx.queue, new.len())? {
        return Ok(tx);
    }
    drop(tx);
    let named = new.iter().flat_map(|new| new.id.iter().chain(&new.dependencies).chain(&new.parent));
    old::in_passing(engine, new.len(), &named.map(|id| id.as_ref()).collect(), actor);
    QueueTransaction::open(engine, actor)
}

fn start_queue(tx: &mut QueueTransaction<'_>) -> Result<()> {
    let queue = tx.queue.clone();
    if !tx.transaction.exists(&queue)? {
        tx.transaction.put(&queue, queue.default(tx.now.at))?;
    }
    Ok(())
}

/// What an import did.
#[derive(Debug)]
pub struct Imported<'n> {
    pub added: usize,
    new: &'n [NewTask<'n>],
    ids: Vec<Cow<'n, str>>,
    known: HashMap<String, Task>,
    now: jiff::Timestamp,
}

impl Imported<'_> {
    /// Returns the tasks of the file in its order, as they are now in the queue.
    pub fn tasks(&self) -> Vec<Value> {
        let task = |(id, new): (&Cow<'_, str>, &NewTask<'_>)| match self.known.get(&**id) {
            Some(task) => task.value().clone(),
            None => Task::new(id, new, status(new, &self.known), self.now).into_value(),
        };
        self.ids.iter().zip(self.new).map(task).collect()
    }
}

/// Adds many tasks at once: all of them, or none. They may depend on each other in any order. `step` is told
/// how many are done.
pub fn import<'n>(
    engine: &dyn Engine,
    new: &'n [NewTask<'n>],
    actor: &Actor,
    step: &mut dyn FnMut(usize),
) -> Result<Imported<'n>> {
    let mut tx = open(engine, new, actor)?;
    start_queue(&mut tx)?;
    let (queue, now) = (tx.queue.clone(), tx.now.at);
    let (known, ids) = match needed(&mut tx, new)? {
        Some(known) => {
            let free = |id: &str| Ok(tx.transaction.item(&queue, id)?.is_none());
            let ids = ids(new, &known, now, free)?;
            (known, ids)
        }
        None => {
            let known = all_tasks(&mut tx)?;
            let ids = ids(new, &known, now, |id| Ok(!known.contains_key(id)))?;
            (known, ids)
        }
    };
    check_dependencies(new, &ids, &known)?;
    let texts = texts(new, &ids, &known, &time::stamp(now), step);
    let added = texts.len();
    if added > 0 {
        tx.transaction.extend(&queue, texts)?;
        tx.change();
        tx.log(LEADER, "IMPORT", &format!("{added} tasks"))?;
    }
    tx.commit(LEADER, "import", actor)?;
    Ok(Imported { added, new, ids, known, now })
}

/// Writes down the tasks that are not in the queue yet, both halves at once.
fn texts(
    new: &[NewTask<'_>],
    ids: &[Cow<'_, str>],
    known: &HashMap<String, Task>,
    now: &str,
    step: &mut dyn FnMut(usize),
) -> Texts {
    let write = |new: &[NewTask<'_>], ids: &[Cow<'_, str>], step: &mut dyn FnMut(usize)| {
        let mut texts = Texts::with_room(new.len(), new.iter().map(room).sum());
        for (number, (new, id)) in new.iter().zip(ids).enumerate() {
            if !known.contains_key(&**id) {
                texts.push(|task| task::write_new(task, id, new, status(new, known), now));
            }
            step(number + 1);
        }
        texts
    };
    if new.len() < MANY {
        return write(new, ids, step);
    }
    let ((new, more), (ids, more_ids)) = (new.split_at(new.len() / 2), ids.split_at(new.len() / 2));
    let (mut texts, rest) = both(|| write(new, ids, step), || write(more, more_ids, &mut |_| {}));
    step(new.len() + more.len());
    texts.append(rest);
    texts
}

/// So many tasks are worth a second thread.
const MANY: usize = 1000;

/// Returns about how long a task is when it is written.
fn room(new: &NewTask<'_>) -> usize {
    let lists = new.dependencies.iter().chain(&new.files).chain(&new.needs).map(|text| text.len() + 4);
    400 + new.description.len() + new.hints.as_ref().map_or(0, |hints| hints.len()) + lists.sum::<usize>()
}

/// Returns how a new task begins; only tasks that were there before can be done.
fn status(new: &NewTask<'_>, known: &HashMap<String, Task>) -> Status {
    let is_done = |id: &Cow<'_, str>| known.get(&**id).is_some_and(|task| task.status() == Status::Done);
    if new.dependencies.iter().all(is_done) { Status::Available } else { Status::Created }
}

/// Returns the tasks of the queue that new ones wait for, where that is all there is to know of it: every id of the
/// file is free, and nobody waits for one. `None` if it takes all tasks to tell.
fn needed(tx: &mut QueueTransaction<'_>, new: &[NewTask<'_>]) -> Result<Option<HashMap<String, Task>>> {
    let ids: Vec<&str> = new.iter().filter_map(|new| new.id.as_deref()).collect();
    match tx.transaction.taken(&tx.queue, &ids)? {
        Some(taken) if !taken.contains(&true) => {}
        _ => return Ok(None),
    }
    let mut known = HashMap::new();
    for id in new.iter().flat_map(|new| &new.dependencies) {
        if !known.contains_key(&**id)
            && let Some(task) = tx.transaction.item(&tx.queue, id)?
        {
            known.insert(id.to_string(), Task::of(task));
        }
    }
    Ok(Some(known))
}

fn all_tasks(tx: &mut QueueTransaction<'_>) -> Result<HashMap<String, Task>> {
    let Some(document) = tx.transaction.get(&tx.queue)? else { return Ok(HashMap::new()) };
    let tasks = items(tx.queue.kind, document).into_iter().cloned().map(Task::of);
    Ok(tasks.map(|task| (task.id().to_owned(), task)).collect())
}

/// Gives every task of a file its id; one that is in the queue already must be the same.
fn ids<'n>(
    new: &'n [NewTask<'n>],
    known: &HashMap<String, Task>,
    now: jiff::Timestamp,
    mut free: impl FnMut(&str) -> Result<bool>,
) -> Result<Vec<Cow<'n, str>>> {
    let mut taken: QuickSet<Cow<'n, str>> = QuickSet::with_capacity_and_hasher(new.len(), Default::default());
    for id in new.iter().filter_map(|new| new.id.as_deref()) {
        if !taken.insert(Cow::Borrowed(id)) {
            return Err(Error::Input(format!("the id `{id}` is there twice")));
        }
    }
    for (new, id) in new.iter().filter_map(|new| Some((new, new.id.as_ref()?))) {
        if known.get(&**id).is_some_and(|task| !task.is(new)) {
            return Err(Error::OtherTask { id: id.to_string() });
        }
    }
    let id = |new: &'n NewTask<'n>| match &new.id {
        Some(id) => Ok(Cow::Borrowed(&**id)),
        None => {
            let id = ids::new("task", now, &new.description, &mut |id| {
                Ok::<_, Error>(!taken.contains(id) && free(id)?)
            })?;
            taken.insert(Cow::Owned(id.clone()));
            Ok(Cow::Owned(id))
        }
    };
    new.iter().map(id).collect()
}

/// Refuses dependencies on nothing, and circles; a task of the queue may wait for one that only comes now.
fn check_dependencies(
    new: &[NewTask<'_>],
    ids: &[Cow<'_, str>],
    known: &HashMap<String, Task>,
) -> Result<()> {
    if new.iter().all(|task| task.dependencies.is_empty()) {
        return Ok(());
    }
    let mut place: QuickMap<&str, usize> = QuickMap::default();
    place.reserve(new.len() + known.len());
    let mut waits_for: Vec<Vec<&str>> = Vec::with_capacity(new.len() + known.len());
    for (id, task) in ids.iter().zip(new) {
        place.insert(id, waits_for.len());
        waits_for.push(task.dependencies.iter().map(|id| &**id).collect());
    }
    for (id, task) in known {
        if !place.contains_key(id.as_str()) {
            place.insert(id, waits_for.len());
            waits_for.push(task.dependencies());
        }
    }
    for task in new {
        if let Some(id) = task.dependencies.iter().find(|id| !place.contains_key(&***id)) {
            return Err(Error::UnknownDependency { id: id.to_string(), of: task.description.to_string() });
        }
    }
    let waits_for: Vec<Vec<usize>> = waits_for
        .into_iter()
        .map(|on| on.into_iter().filter_map(|id| place.get(id).copied()).collect())
        .collect();
    let stuck = stuck(&waits_for);
    // A circle that is in the queue already is no reason to refuse what has nothing to do with it.
    match (0..new.len()).find(|number| stuck[*number]) {
        None => Ok(()),
        Some(start) => {
            let circle = walk_circle(start, |number| waits_for[number].iter().copied().find(|on| stuck[*on]));
            let names: HashMap<usize, &str> = place.iter().map(|(id, number)| (*number, *id)).collect();
            Err(Error::Circle { ids: circle.iter().map(|number| names[number].to_owned()).collect() })
        }
    }
}

/// Takes away what waits for nothing until only circles, and what waits for them, are left.
fn stuck(waits_for: &[Vec<usize>]) -> Vec<bool> {
    let mut waits: Vec<usize> = waits_for.iter().map(Vec::len).collect();
    let mut dependents = vec![Vec::new(); waits_for.len()];
    for (number, on) in waits_for.iter().enumerate() {
        on.iter().for_each(|on| dependents[*on].push(number));
    }
    let mut free: Vec<usize> = (0..waits.len()).filter(|number| waits[*number] == 0).collect();
    while let Some(number) = free.pop() {
        for dependent in &dependents[number] {
            waits[*dependent] -= 1;
            if waits[*dependent] == 0 {
                free.push(*dependent);
            }
        }
    }
    waits.iter().map(|waits| *waits > 0).collect()
}

/// Follows dependencies until one comes again, and returns the circle.
fn walk_circle(start: usize, next: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut walked = vec![start];
    while let Some(number) = next(walked[walked.len() - 1]) {
        if let Some(first) = walked.iter().position(|seen| *seen == number) {
            return walked.split_off(first);
        }
        walked.push(number);
    }
    walked
}

/// Does something to every one of several tasks, all in one commit; with `only_look` nothing is kept. `act` says whether it did anything:
/// a command that is repeated commits nothing.
fn each(
    engine: &dyn Engine,
    ids: &[Key],
    (op, only_look): (&str, bool),
    actor: &Actor,
    mut act: impl FnMut(&mut QueueTransaction<'_>, &Key) -> Result<(Task, bool)>,
) -> Result<Several> {
    let mut tx = QueueTransaction::open_queue(engine, actor)?;
    let done = ids.iter().map(|id| act(&mut tx, id)).collect::<Result<Vec<_>>>()?;
    let keeps = !only_look && done.iter().any(|(_, changed)| *changed);
    let warnings = if keeps { tx.commit(LEADER, op, actor)? } else { Vec::new() };
    let tasks = done.into_iter().map(|(task, _)| task).collect();
    Ok(Several { tasks, warnings })
}

/// Makes tasks open again, whoever has them and however they stand. What is done stays done, unless forced.
pub fn reset(
    engine: &dyn Engine,
    ids: &[Key],
    force: bool,
    only_look: bool,
    actor: &Actor,
) -> Result<Several> {
    each(engine, ids, ("reset", only_look), actor, |tx, id| {
        let task = tx.task(id.as_str())?;
        let was = task.status();
        let task = match was {
            Status::Done if !force => return Err(task.wrong_state("reset").into()),
            Status::Created | Status::Available if task.retry_at().is_none() => {
                return Ok((task, true));
            }
            _ => tx.give_back(task, "reset", " (by the leader)")?,
        };
        tx.log(LEADER, "RESET", id.as_str())?;
        if was == Status::Done {
            hold_dependents(tx, id.as_str())?;
        }
        parts::rejoin(tx, &task)?;
        Ok((task, true))
    })
}

/// Lets failed tasks be tried again, at once or after a while.
pub fn retry(engine: &dyn Engine, ids: &[Key], after: Option<f64>, actor: &Actor) -> Result<Several> {
    let wait = after.and_then(|after| SignedDuration::try_from_secs_f64(after).ok());
    each(engine, ids, ("retry", false), actor, |tx, id| {
        let task = tx.task(id.as_str())?;
        match task.status() {
            Status::Failed => {}
            // It was so already.
            Status::Created | Status::Available if task.value().has(QueueTask::retries) => {
                return Ok((task, false));
            }
            _ => return Err(task.wrong_state("retry").into()),
        }
        let mut task = tx.give_back(task, "retried", "")?;
        task.count_retry(wait.and_then(|wait| tx.now.at.checked_add(wait).ok()));
        tx.put(task.clone())?;
        tx.log(LEADER, "RETRY", id.as_str())?;
        Ok((task, true))
    })
}

/// Takes tasks out of the work, and their parts with them. Whoever has one is told when it reports.
pub fn cancel(engine: &dyn Engine, ids: &[Key], only_look: bool, actor: &Actor) -> Result<Several> {
    let mut blocked = Vec::new();
    let mut done = each(engine, ids, ("cancel", only_look), actor, |tx, id| {
        let changed = tx.task(id.as_str())?.status() != Status::Cancelled;
        let task = cancel_one(tx, id.as_str())?;
        blocked.push((id.clone(), tx.waiting_for(id.as_str())?));
        Ok((task, changed))
    })?;
    let stays = |other: &String| !ids.iter().any(|id| id.as_str() == other);
    for (id, waiting) in blocked {
        let waiting: Vec<_> = waiting.into_iter().filter(stays).collect();
        done.warnings.extend(blocked_by_cancel(&id, &waiting));
    }
    Ok(done)
}

fn cancel_one(tx: &mut QueueTransaction<'_>, id: &str) -> Result<Task> {
    let mut task = tx.task(id)?;
    match task.status() {
        Status::Cancelled => return Ok(task),
        Status::Done => return Err(task.wrong_state("cancel").into()),
        _ => {}
    }
    task.set_status(Status::Cancelled);
    tx.put(task.clone())?;
    tx.log(LEADER, "CANCEL", id)?;
    for part in task.parts() {
        if !tx.is_done(part)? {
            cancel_one(tx, part)?;
        }
    }
    parts::leave(tx, &task)?;
    Ok(task)
}

/// Names the tasks that wait for one that was cancelled.
fn blocked_by_cancel(id: &Key, waiting: &[String]) -> Option<Hint> {
    let first = waiting.first()?;
    let apart = Next::StopWaiting { id: first.clone(), on: id.to_string() };
    Some(hint![format!("{} for `{id}`; to go on without it: ", who_waits(waiting)), apart])
}

/// What was put together.
#[derive(Debug)]
pub struct Aggregated {
    pub results: usize,
    /// The tasks that are reported as done although nothing changed.
    pub hollow: Vec<String>,
}

/// Puts all results into one text.
pub fn aggregate(engine: &dyn Engine, actor: &Actor) -> Result<Aggregated> {
    let mut tx = QueueTransaction::open_queue(engine, actor)?;
    let queue = tx.transaction.get(&tx.queue)?.cloned().unwrap_or_default();
    let mut found: HashMap<String, String> = HashMap::new();
    for text_file in tx.transaction.text_files(&Room::Queue, TextFiles::Results)? {
        if let (TextFile::Result(id), Some(text)) = (&text_file, tx.transaction.text_file(&text_file)?) {
            found.insert(id.to_string(), text);
        }
    }
    let results = in_order(&queue, found);
    if results.is_empty() {
        return Err(Error::NoResults);
    }
    let plan = tx.transaction.text_file(&TextFile::Plan)?;
    let goal = plan.as_deref().and_then(|plan| queue_texts::section(plan, queue_texts::OBJECTIVE));
    let summary = queue_texts::summary(goal.as_deref(), &results, &queue, &time::stamp(tx.now.at));
    tx.transaction.write_text_file(&TextFile::Summary, summary)?;
    tx.log(LEADER, "AGGREGATE", &format!("{} results", results.len()))?;
    tx.commit(LEADER, "aggregate", actor)?;
    let hollow = items(Doc::queue().kind, &queue).into_iter().filter(|task| changes::is_hollow(task));
    let hollow = hollow.filter_map(|task| task.text(QueueTask::id)).map(str::to_owned).collect();
    Ok(Aggregated { results: results.len(), hollow })
}

/// Brings results into the order of their tasks; what belongs to no task comes last.
fn in_order(queue: &Value, mut found: HashMap<String, String>) -> Vec<(String, String)> {
    let ids = items(Doc::queue().kind, queue).into_iter().filter_map(|task| task.text(QueueTask::id));
    let mut results: Vec<_> = ids.filter_map(|id| found.remove_entry(id)).collect();
    let mut rest: Vec<_> = found.into_iter().collect();
    rest.sort_unstable();
    results.append(&mut rest);
    results
}
