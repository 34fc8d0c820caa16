//! Tasks of the queue that are over.
//!
//! A queue in use keeps what was done lately, however much that is. In passing, tasks leave only while very many are over and a good part of
//! them has been so for long. To take tasks out of the middle is to write the queue anew, so nobody does it in passing with one that is
//! longer than what they bring, or than can be written in some milliseconds: that is for `clean`, which was asked to.

use std::borrow::Cow;
use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::Value;

use super::logs;
use super::request::{OP, Request, append};
use crate::model::documents::common::Item;
use crate::model::documents::queue::{ArchivedTask, QueueTask};
use crate::model::key::{Fields, FieldsMut, Key};
use crate::model::kind::Doc;
use crate::model::listing::{Among, Facet, Stage};
use crate::model::room::Room;
use crate::model::shape::Time;
use crate::model::text_file::TextFile;
use crate::model::{json, time};
use crate::ops::settings::Settings;
use crate::ops::{Actor, Result, queue};
use crate::store::{Engine, Entry, Transaction};
use crate::view::queue_texts;

/// Who takes tasks out: nobody who asks to take back what they did means this.
const KEEPER: &str = "retention";

/// How many tasks have to be over before any leaves unasked.
pub const CALM: usize = 1_000;

/// How often a queue that grows one by one is looked at.
const STEP: usize = 64;

/// How many tasks are looked at then, and how many of them have to be old.
const SAMPLE: usize = 16;
const ENOUGH: usize = 4;

/// How many leave unasked with one command, and how long the queue may be for that, in bytes of dense JSON; more if more come.
const FEW: usize = 100;
const SHORT: usize = 3 << 19;

/// Which fields tell when a task ended, the best first.
const ENDS: [Key<Option<Time>>; 3] = [QueueTask::completed_at, Item::updated_at, QueueTask::created_at];

/// How many leave in one commit, and how much their logs may have.
const BATCH: usize = 25_000;
const BATCH_LOGS: usize = 64 << 20;

/// Moves the tasks of the queue that are done or cancelled, and that no open task needs, to the archive. Returns their ids.
pub fn all(engine: &dyn Engine, request: Request, actor: &Actor) -> Result<Vec<String>> {
    let (none, mut moved) = (HashSet::new(), Vec::new());
    if !request.dry_run && !engine.is_absent(&Doc::queue()) {
        // Somebody may have been killed before what it took out of the queue was in the archive.
        drop(engine.begin(&[&Room::Queue])?);
    }
    loop {
        // Most often there are none, and nobody has to wait for that.
        let old = old_tasks(engine, request.tasks, usize::MAX, &none)?;
        if request.dry_run {
            return Ok(old);
        }
        let batch = if old.is_empty() { Vec::new() } else { some(engine, request, BATCH, &none, actor)? };
        if batch.is_empty() {
            return Ok(moved);
        }
        moved.extend(batch);
    }
}

/// Whether it is time to look for old tasks before so many new ones are added.
pub fn is_time(transaction: &mut dyn Transaction, queue: &Doc, new: usize) -> Result<bool> {
    let counts = transaction.counts(queue)?;
    let listing = queue.kind.listing.expect("the queue is a list");
    let is_over = |state: &usize| matches!(listing.stage(*state), Stage::Done | Stage::Out);
    let over: usize = (0..counts.len()).filter(is_over).map(|state| counts[state]).sum();
    Ok(over >= CALM && counts.iter().sum::<usize>() % STEP < new)
}

/// Lets tasks make room for so many new ones that are over for as long as the configuration says, if it pays, but none of these. What
/// goes wrong is left to `clean`.
pub fn in_passing(engine: &dyn Engine, new: usize, named: &HashSet<&str>, actor: &Actor) {
    let Ok(settings) = Settings::read(engine) else { return };
    let request = Request::of(&settings, actor.now());
    if pays(engine, request.tasks, new, named).unwrap_or(false) {
        let _ = some(engine, request, FEW.max(new), named, actor);
    }
}

/// Whether many of a few tasks, all over the queue, may go, and the queue is short enough, to judge by them.
fn pays(engine: &dyn Engine, before: Timestamp, new: usize, named: &HashSet<&str>) -> Result<bool> {
    let (queue, mut old, mut length) = (Doc::queue(), 0, 0);
    let Some(mut look) = engine.browse(&queue.room)? else { return Ok(false) };
    let count: usize = look.counts(&queue)?.iter().sum();
    for number in 0..SAMPLE {
        let Some(task) = look.item_at(&queue, number * count / SAMPLE)? else { continue };
        length += json::dense(&task).len();
        let Some(id) = task.text(QueueTask::id).filter(|_| is_old(&task, before)) else { continue };
        old += usize::from(!named.contains(id) && look.find(&queue, Among::InNeedOf(id))?.is_empty());
    }
    Ok(old >= ENOUGH && (count <= new || length / SAMPLE * count <= SHORT))
}

/// Moves so many of them at most, in one commit.
fn some(
    engine: &dyn Engine,
    request: Request,
    most: usize,
    named: &HashSet<&str>,
    actor: &Actor,
) -> Result<Vec<String>> {
    let doc = Doc::queue();
    let mut transaction = queue::begin(engine, &doc, actor)?;
    // Nobody can change the queue now, so what is read is what the transaction sees.
    let (mut gone, mut logged) = (Vec::new(), 0);
    for id in old_tasks(engine, request.tasks, most, named)? {
        if let Some(task) = transaction.item(&doc, &id)?.filter(|_| logged < BATCH_LOGS) {
            logged += put_away(&mut *transaction, task)?;
            gone.push(id);
        }
    }
    if gone.is_empty() {
        return Ok(gone);
    }
    logs::put_away(&mut *transaction, request.tasks)?;
    transaction.remove_items(&doc, &gone.iter().map(String::as_str).collect::<Vec<_>>())?;
    transaction.commit(&Entry { by: KEEPER.into(), author: Some(KEEPER.into()), ..actor.entry(OP) })?;
    Ok(gone)
}

/// Moves a task to the archive, with what its command printed. Returns how long that was.
fn put_away(transaction: &mut dyn Transaction, mut task: Value) -> Result<usize> {
    forget_result(transaction, &task)?;
    let log = logs::take(transaction, &task)?;
    let length = log.as_ref().map_or(0, String::len);
    if let Some(log) = log {
        task.set(ArchivedTask::log, log);
    }
    append(transaction, TextFile::OldTasks, "tasks", ended_at(&task), &task)?;
    Ok(length)
}

/// Removes the text of a result that says what the task says. One that somebody has changed stays.
fn forget_result(transaction: &mut dyn Transaction, task: &Value) -> Result<()> {
    let Some(id) = task.text(QueueTask::id).and_then(|id| id.parse().ok()) else { return Ok(()) };
    let text_file = TextFile::Result(id);
    // One that cannot be read is nobody's loss here.
    let text = transaction.text_file(&text_file).ok().flatten();
    if text.is_some_and(|text| text == queue_texts::result(task)) {
        transaction.remove_text_file(&text_file)?;
    }
    Ok(())
}

/// Returns the ids of the tasks that may go and are not named, of too many the first of the queue. No task becomes a value for that.
fn old_tasks(
    engine: &dyn Engine,
    before: Timestamp,
    most: usize,
    named: &HashSet<&str>,
) -> Result<Vec<String>> {
    let queue = Doc::queue();
    let listing = queue.kind.listing.expect("the queue is a list");
    let (mut old, mut needed) = (Vec::new(), HashSet::new());
    engine.read_some(&queue, &mut |task| {
        let facet = (listing.facet)(task);
        let is_over = |facet: &Facet<'_>| matches!(listing.stage(facet.state), Stage::Done | Stage::Out);
        let ended = || ENDS.into_iter().find_map(|field| time::read(&task.string(field.name())?));
        match facet.filter(is_over) {
            None => {
                needed.extend(task.strings(QueueTask::dependencies.name()).into_iter().map(Cow::into_owned));
            }
            Some(facet) if !named.contains(&*facet.id) && ended().is_some_and(|at| at < before) => {
                old.push(facet.id.into_owned());
            }
            Some(_) => {}
        }
        false
    })?;
    old.retain(|id| !needed.contains(id));
    old.truncate(most);
    Ok(old)
}

fn is_over(task: &Value) -> bool {
    matches!(task.text(QueueTask::status), Some("done" | "cancelled"))
}

fn is_old(task: &Value, before: Timestamp) -> bool {
    is_over(task) && ended_at(task).is_some_and(|at| at < before)
}

fn ended_at(task: &Value) -> Option<Timestamp> {
    ENDS.into_iter().find_map(|field| time::read(task.text(field)?))
}
