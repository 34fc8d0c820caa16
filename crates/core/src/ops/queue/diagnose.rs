//! Why nothing moves: gathers what the verdict needs, never more than so much, and follows the chain below one task.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::look::Tasks;
use crate::model::diagnosis::{self, Counts, Diagnosis, Scene};
use crate::model::documents::queue::QueueTask;
use crate::model::forecast::Sample;
use crate::model::kind::Doc;
use crate::model::lease::Signs;
use crate::model::listing::{Most, Overview};
use crate::model::next::Next;
use crate::model::raw::Raw;
use crate::model::task::{self, Status, Task, word};
use crate::ops::{Actor, Result, read};
use crate::store::engine::items;
use crate::store::{Engine, Transaction};
use crate::view::diagnosis::Link;

/// So many tasks are looked at, of those that there may be very many of.
/// The index knows the last five that were done.
const FEW: Most = Most { ready: 200, waiting: 1000, done: 5 };

/// So many links of a chain are followed.
const LINKS: usize = 1000;

/// Says why the queue moves, or does not.
pub fn diagnose(engine: &dyn Engine, actor: &Actor) -> Result<Diagnosis> {
    Ok(diagnosis::diagnose(&scene(engine, actor)?))
}

/// Looks at as much of the queue as a verdict needs.
pub fn scene(engine: &dyn Engine, actor: &Actor) -> Result<Scene> {
    let (now, workers) = (actor.clock.moment(), Doc::workers());
    let register = match engine.is_absent(&workers) {
        true => Value::Null,
        false => read::found(engine, &workers)?.map(|found| found.value).unwrap_or_default(),
    };
    let workers = items(workers.kind, &register).into_iter().cloned().collect();
    let seen = match read::overview(engine, &Doc::queue(), FEW) {
        Some(overview) => Seen::of(overview),
        None => Seen::sift(engine)?,
    };
    let Seen { tasks, statuses, counts } = seen;
    let finished = tasks.iter().filter_map(Sample::of).collect();
    Ok(Scene { tasks, statuses, counts, workers, finished, now })
}

/// What was seen of the tasks.
#[derive(Default)]
struct Seen {
    tasks: Vec<Task>,
    statuses: HashMap<String, Status>,
    counts: Counts,
}

impl Seen {
    fn of(overview: Overview) -> Seen {
        let mut counts = Counts::default();
        overview.counts.iter().for_each(|(word, number)| add(&mut counts, word, *number));
        let statuses = overview.needed.into_iter().map(|(id, word)| (id, task::status(word))).collect();
        Seen { tasks: overview.items.into_iter().map(Task::of).collect(), statuses, counts }
    }

    /// The same from the whole text, of which no more values are made.
    fn sift(engine: &dyn Engine) -> Result<Seen> {
        let (mut seen, since) = (Seen::default(), last_ends(engine)?);
        let mut is_wanted = |task: &Raw| {
            let status = task.string(QueueTask::status.name()).unwrap_or_default();
            let id = task.string(QueueTask::id.name()).unwrap_or_default().into_owned();
            seen.statuses.entry(id).or_insert(task::status(&status));
            add(&mut seen.counts, &status, 1);
            match &*status {
                "done" => task.string(QueueTask::completed_at.name()).is_some_and(|end| *end >= *since),
                "created" => seen.counts.created <= FEW.waiting,
                "available" => seen.counts.available <= FEW.ready,
                "claimed" | "in_progress" | "failed" => true,
                _ => false,
            }
        };
        let Some(found) = engine.read_some(&Doc::queue(), &mut is_wanted)? else {
            return Err(read::missing(engine, &Doc::queue()));
        };
        let signs = engine.signs(&Doc::queue())?;
        let mut tasks: Vec<_> = items(Doc::queue().kind, &found.value).into_iter().cloned().collect();
        tasks.iter_mut().for_each(|task| signs.renew(task));
        seen.tasks = tasks.into_iter().map(Task::of).collect();
        Ok(seen)
    }
}

/// Returns since when the last tasks were done that a forecast is made of.
fn last_ends(engine: &dyn Engine) -> Result<String> {
    let mut ends = Vec::new();
    engine.read_some(&Doc::queue(), &mut |task: &Raw| {
        ends.extend(task.string(QueueTask::completed_at.name()).map(Cow::into_owned));
        false
    })?;
    ends.sort_unstable_by(|one, other| other.cmp(one));
    ends.truncate(FEW.done);
    Ok(ends.pop().unwrap_or_default())
}

fn add(counts: &mut Counts, status: &str, number: usize) {
    let count = match status {
        "created" => &mut counts.created,
        "available" => &mut counts.available,
        "claimed" | "in_progress" => &mut counts.active,
        "done" => &mut counts.done,
        "failed" => &mut counts.failed,
        "cancelled" => &mut counts.cancelled,
        _ => return,
    };
    *count += number;
}

/// A task with everything that it hangs on, each above what it waits for.
#[derive(Debug, Default)]
pub struct Chain {
    pub links: Vec<Link>,
    /// Whether there is more of it.
    pub cut: bool,
}

/// Follows what a task waits for down to the roots.
pub fn chain(engine: &dyn Engine, task: &Task, actor: &Actor) -> Result<Chain> {
    let queue = Doc::queue();
    if task.dependencies().is_empty() || !task.is_open() {
        return Ok(Chain::default());
    }
    let mut look = engine.browse(&queue.room)?;
    if let Some(look) = &mut look
        && look.exists(&queue)?
        && look.edits(&queue)?.is_empty()
    {
        let signs = look.signs(&queue)?;
        return follow(task, actor, &mut |id| find(&mut **look, id, &signs));
    }
    let tasks = Tasks::of_queue(read::document(engine, &queue)?.value, &actor.clock.moment());
    follow(task, actor, &mut |id| Ok(tasks.get(id).cloned()))
}

/// Returns a task with its lease as it counts.
fn find(look: &mut dyn Transaction, id: &str, signs: &Signs) -> Result<Option<Task>> {
    let mut found = look.item(&Doc::queue(), id)?;
    found.iter_mut().for_each(|task| signs.renew(task));
    Ok(found.map(Task::of))
}

fn follow(task: &Task, actor: &Actor, find: &mut dyn FnMut(&str) -> Result<Option<Task>>) -> Result<Chain> {
    let (mut chain, mut known) = (Chain::default(), HashSet::new());
    let mut ahead = vec![(task.id().to_owned(), 0, Some(task.clone()))];
    while let Some((id, depth, task)) = ahead.pop() {
        if chain.links.len() == LINKS {
            chain.cut = true;
            break;
        }
        let mut open = Vec::new();
        for needed in task.iter().filter(|task| task.is_open()).flat_map(|task| task.dependencies()) {
            let found = find(needed)?;
            if found.as_ref().map(Task::status) != Some(Status::Done) {
                open.push((needed.to_owned(), depth + 1, found));
            }
        }
        let waits_for: Vec<_> = open.iter().map(|(id, ..)| id.clone()).collect();
        let again = !known.insert(id.clone()) && !waits_for.is_empty();
        if !again {
            ahead.extend(open.into_iter().rev());
        }
        chain.links.push(link(id, depth, task.as_ref(), waits_for, again, actor));
    }
    Ok(chain)
}

fn link(
    id: String,
    depth: usize,
    task: Option<&Task>,
    waits_for: Vec<String>,
    again: bool,
    actor: &Actor,
) -> Link {
    let status = task.map(|task| word(task.status()));
    let owner = task.and_then(Task::owner).map(|owner| format!(", by {owner}")).unwrap_or_default();
    let reason = task.and_then(Task::failure).and_then(diagnosis::telling);
    let later = || task.and_then(Task::retry_at).is_some_and(|until| until > actor.now());
    let (about, steps) = match task.map(Task::status) {
        None => ("does not exist".to_owned(), Vec::new()),
        Some(Status::Failed) => {
            let reason = reason.unwrap_or("no reason given");
            (format!("failed{owner}: {reason}"), vec![Next::Retry(id.clone())])
        }
        Some(Status::Cancelled) => {
            ("cancelled".to_owned(), vec![Next::Reset { id: id.clone(), force: false }])
        }
        Some(Status::Claimed | Status::InProgress) => {
            let expired = task.is_some_and(|task| task.is_expired(&actor.clock.moment()));
            let lease = if expired { "; its lease ran out" } else { "" };
            (format!("{}{owner}{lease}", status.unwrap_or_default()), Vec::new())
        }
        Some(_) if !waits_for.is_empty() => {
            (format!("{}, waits for", status.unwrap_or_default()), Vec::new())
        }
        Some(_) if later() => ("available, to be tried again later".to_owned(), Vec::new()),
        Some(_) => ("ready, and nobody has it".to_owned(), vec![Next::Claim { named: true, session: None }]),
    };
    Link { id, depth, status, about, waits_for, again, steps }
}
