//! The queue's room, opened for one change.

use serde_json::Value;

use crate::hint;
use crate::model::diff;
use crate::model::hint::Hint;
use crate::model::ids::Key;
use crate::model::kind::Doc;
use crate::model::listing::Among;
use crate::model::next::See;
use crate::model::room::Room;
use crate::model::task::{Status, Task, word};
use crate::model::text_file::TextFile;
use crate::model::time::{self, Moment};
use crate::ops::{Actor, Error, Result};
use crate::store::edits::{self, Touched, clash_in_words};
use crate::store::{Durability, Edits, Engine, Entry, Expected, How, Transaction};
use crate::view::queue_texts;

pub struct QueueTransaction<'e> {
    pub transaction: Box<dyn Transaction + 'e>,
    pub queue: Doc,
    pub now: Moment,
    /// Whether anything was put down yet.
    dirty: bool,
    /// What the leader's log is told of edits by hand, by the commit that takes them in.
    edited: Vec<(&'static str, String)>,
    /// Whether this one does: it changes the queue itself.
    takes_in: bool,
}

impl<'e> QueueTransaction<'e> {
    /// Waits for the room's turn, looks at the clock, and takes in what people edited.
    pub fn open(engine: &'e dyn Engine, actor: &Actor) -> Result<QueueTransaction<'e>> {
        QueueTransaction::open_with(engine, &[&Room::Queue], &[], actor)
    }

    /// The same, together with other rooms, and with what will be asked.
    pub fn open_with(
        engine: &'e dyn Engine,
        rooms: &[&Room],
        expected: &[Expected<'_>],
        actor: &Actor,
    ) -> Result<QueueTransaction<'e>> {
        let mut tx = QueueTransaction::over(engine.begin_expecting(rooms, expected)?, actor)?;
        let edits = tx.transaction.edits(&tx.queue)?;
        if !edits.is_empty() {
            tx.take_in(&edits, actor)?;
        }
        Ok(tx)
    }

    /// Opens it without a look at the queue, which may not even be part of the transaction.
    pub fn over(mut transaction: Box<dyn Transaction + 'e>, actor: &Actor) -> Result<QueueTransaction<'e>> {
        let now = transaction.now(&*actor.clock)?;
        let (edited, takes_in) = (Vec::new(), false);
        Ok(QueueTransaction { transaction, queue: Doc::queue(), now, dirty: false, edited, takes_in })
    }

    /// Opens a queue that must exist.
    pub fn open_queue(engine: &'e dyn Engine, actor: &Actor) -> Result<QueueTransaction<'e>> {
        QueueTransaction::open_queue_expecting(engine, &[], actor)
    }

    /// The same, with what will be asked.
    pub fn open_queue_expecting(
        engine: &'e dyn Engine,
        expected: &[Expected<'_>],
        actor: &Actor,
    ) -> Result<QueueTransaction<'e>> {
        let mut tx = QueueTransaction::open_with(engine, &[&Room::Queue], expected, actor)?;
        match tx.transaction.exists(&tx.queue)? {
            true => Ok(tx),
            false => Err(crate::ops::read::missing(engine, &tx.queue)),
        }
    }

    pub fn task(&mut self, id: &str) -> Result<Task> {
        let found = self.transaction.item(&self.queue, id)?.ok_or_else(|| Error::NoTask { id: id.into() })?;
        Ok(Task::of(found).renewed_by(&self.transaction.signs(&self.queue)?))
    }

    /// Renews the lease of a task, which is as the document has it: by a sign of life beside that, or in it when the last one there is old.
    /// Returns whether it is in the document.
    pub fn renew(&mut self, task: &mut Task) -> Result<bool> {
        let is_stale = task.is_stale(&self.now);
        task.renew(&self.now);
        if !is_stale && self.transaction.sign(&self.queue, task.sign(), &self.now)? {
            self.touch();
            return Ok(false);
        }
        self.put(task.clone()).map(|()| true)
    }

    pub fn put(&mut self, task: Task) -> Result<()> {
        self.change();
        let id = task.id().to_owned();
        Ok(self.transaction.put_item(&self.queue, &id, task.into_value())?)
    }

    pub fn remove(&mut self, ids: &[&str]) -> Result<()> {
        self.change();
        Ok(self.transaction.remove_items(&self.queue, ids)?)
    }

    /// Returns the tasks that somebody has, as the document has them.
    pub fn active(&mut self) -> Result<Vec<Task>> {
        Ok(self.transaction.find(&self.queue, Among::Active)?.into_iter().map(Task::of).collect())
    }

    /// Returns the tasks whose leases have run out.
    pub fn expired(&mut self) -> Result<Vec<Task>> {
        let due = self.transaction.due(&self.queue, &self.now)?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let signs = self.transaction.signs(&self.queue)?;
        let renewed = due.into_iter().map(|task| Task::of(task).renewed_by(&signs));
        Ok(renewed.filter(|task| task.is_expired(&self.now)).collect())
    }

    pub fn is_done(&mut self, id: &str) -> Result<bool> {
        let task = self.transaction.item(&self.queue, id)?;
        Ok(task.is_some_and(|task| Task::of(task).status() == Status::Done))
    }

    /// Returns where a task that nobody has belongs.
    pub fn open_status(&mut self, task: &Task) -> Result<Status> {
        for id in task.dependencies() {
            if !self.is_done(id)? {
                return Ok(Status::Created);
            }
        }
        Ok(Status::Available)
    }

    /// Makes available what has waited for this task only.
    pub fn release_dependents(&mut self, id: &str) -> Result<()> {
        for dependent in self.transaction.find(&self.queue, Among::InNeedOf(id))? {
            self.make_available(Task::of(dependent))?;
        }
        Ok(())
    }

    /// Takes a task from its owner and tells that owner's log.
    pub fn give_back(&mut self, mut task: Task, reason: &str, details: &str) -> Result<Task> {
        let (to, owner) = (self.open_status(&task)?, task.owner().map(str::to_owned));
        task.give_back(to, reason, &self.now);
        if let Some(owner) = owner {
            let details = format!("{}{details}", task.id());
            self.log(&owner, &reason.to_uppercase(), &details)?;
        }
        self.put(task.clone())?;
        Ok(task)
    }

    /// Writes a line into an agent's log; into the leader's for a name that came in by hand and is no id.
    pub fn log(&mut self, agent: &str, action: &str, details: &str) -> Result<()> {
        self.dirty = true;
        let agent = agent.parse::<Key>().unwrap_or_else(|_| leader());
        let line = queue_texts::log_line(&time::stamp(self.now.at), action, details);
        Ok(self.transaction.append_text_file(&TextFile::Log(agent), &line)?)
    }

    /// Honours what people changed in the file: statuses that were set back give the task back, and tasks
    /// whose dependencies were set to done become available.
    fn take_in(&mut self, edits: &Edits, actor: &Actor) -> Result<()> {
        let said = |(action, details): (_, Hint)| (action, actor.door.tell(&details));
        self.edited = in_words(edits).into_iter().map(said).collect();
        let touched = match &edits.touched {
            Some(touched) => touched.clone(),
            None => self.touched(edits)?,
        };
        self.edited.extend(touched.iter().filter_map(told).map(|details| ("EDITED", details)));
        for Touched { before, after } in touched {
            let Some(mut task) = after.map(Task::of) else { continue };
            let missed = before.is_some_and(|before| task.recall(&Task::of(before)));
            if task.is_half_given_back() {
                self.give_back(task, "edited", " (status was set back by hand)")?;
            } else if missed {
                self.put(task)?;
            }
        }
        self.settle().map(drop)
    }

    /// Returns the tasks that were edited, where the whole queue has to tell.
    fn touched(&mut self, edits: &Edits) -> Result<Vec<Touched>> {
        let Some(queue) = self.transaction.get(&self.queue)? else { return Ok(Vec::new()) };
        let mut before = queue.clone();
        diff::apply(&mut before, &diff::invert(&edits.changes))
            .expect("BUG: edits lead to the document as it is");
        Ok(edits::touched(self.queue.kind, &before, queue))
    }

    /// Makes available what waits although all its dependencies are done, as after an edit. Returns whether
    /// there was such a task.
    pub fn settle(&mut self) -> Result<bool> {
        let mut settled = false;
        for waiting in self.transaction.find(&self.queue, Among::Loose)? {
            settled |= self.make_available(Task::of(waiting))?;
        }
        Ok(settled)
    }

    /// Returns the ids of the tasks that wait for one.
    pub fn waiting_for(&mut self, id: &str) -> Result<Vec<String>> {
        let waiting = self.transaction.find(&self.queue, Among::InNeedOf(id))?;
        Ok(waiting.into_iter().map(|task| Task::of(task).id().to_owned()).collect())
    }

    /// Makes a task available that waits for nothing any more; one that is made of parts is done then. Returns whether it does.
    pub fn make_available(&mut self, mut task: Task) -> Result<bool> {
        let ready = task.status() == Status::Created && self.open_status(&task)? == Status::Available;
        match ready {
            true if task.parts().is_empty() => {
                task.set_status(Status::Available);
                self.put(task)?;
            }
            true => self.end_by_parts(&task)?,
            false => {}
        }
        Ok(ready)
    }

    /// Ends a task whose parts are done, unless that has just happened.
    fn end_by_parts(&mut self, task: &Task) -> Result<()> {
        let mut task = self.task(task.id())?;
        if task.status() != Status::Created {
            return Ok(());
        }
        task.end_by_parts(&self.now);
        self.put(task.clone())?;
        if let Ok(id) = task.id().parse() {
            self.transaction.write_text_file(&TextFile::Result(id), queue_texts::result(task.value()))?;
        }
        self.log("leader", "COMPLETED", &format!("{}: all its parts are done", task.id()))?;
        self.release_dependents(task.id())
    }

    /// Commits in a role, and returns warnings. Nothing put down is nothing to commit.
    pub fn commit(self, role: &str, op: &str, actor: &Actor) -> Result<Vec<Hint>> {
        self.commit_with(role, op, actor, Durability::Synced)
    }

    pub fn commit_with(
        mut self,
        role: &str,
        op: &str,
        actor: &Actor,
        durability: Durability,
    ) -> Result<Vec<Hint>> {
        if !self.dirty {
            return Ok(Vec::new());
        }
        if self.takes_in {
            self.tell_edits()?;
        }
        let entry = Entry { at: self.now.at, by: actor.in_role(role), durability, ..actor.entry(op) };
        Ok(self.transaction.commit(&entry)?.warnings)
    }

    /// Says that something else than the queue was put down.
    pub fn touch(&mut self) {
        self.dirty = true;
    }

    /// Says that the queue is changed.
    pub fn change(&mut self) {
        (self.dirty, self.takes_in) = (true, true);
    }

    fn tell_edits(&mut self) -> Result<()> {
        let edited = std::mem::take(&mut self.edited);
        edited.into_iter().try_for_each(|(action, details)| self.log("leader", action, &details))
    }
}

/// Opens a document's room for somebody who changes the document in a way of their own. Edits of the queue are taken in as by [`QueueTransaction::open`].
pub fn begin<'e>(engine: &'e dyn Engine, doc: &Doc, actor: &Actor) -> Result<Box<dyn Transaction + 'e>> {
    if *doc != Doc::queue() {
        return Ok(engine.begin(&[&doc.room])?);
    }
    let mut tx = QueueTransaction::open(engine, actor)?;
    tx.tell_edits()?;
    Ok(tx.transaction)
}

/// Tells the leader's log of edits that are taken in only to be taken back.
pub fn note(transaction: &mut dyn Transaction, edits: &Edits, actor: &Actor) -> Result<()> {
    for (action, details) in in_words(edits) {
        let line = queue_texts::log_line(&time::stamp(actor.now()), action, &actor.door.tell(&details));
        transaction.append_text_file(&TextFile::Log(leader()), &line)?;
    }
    Ok(())
}

/// Puts another queue in the place of the one that is there, as an edit by hand does.
pub fn replace(
    mut transaction: Box<dyn Transaction + '_>,
    queue: Value,
    edits: &Edits,
    op: &str,
    actor: &Actor,
) -> Result<Vec<Hint>> {
    transaction.put(&Doc::queue(), queue)?;
    let mut tx = QueueTransaction::over(transaction, actor)?;
    tx.take_in(edits, actor)?;
    tx.change();
    let by = actor.entry(op).by;
    tx.commit(&by, op, actor)
}

/// The name that the leader's log goes by.
fn leader() -> Key {
    "leader".parse().expect("a constant id")
}

/// Tells what became of an edit that was not made from the last commit.
fn in_words(edits: &Edits) -> Vec<(&'static str, Hint)> {
    let how = match edits.how {
        How::Fresh => None,
        How::Merged { from } => {
            Some(("EDITED", format!("an edit made from revision {from} was joined with what came after it").into()))
        }
        How::MadeLongAgo { from } => Some((
            "EDITED",
            format!(
                "an edit made from revision {from}, which is not kept any more, was joined as far as that is sure"
            )
            .into(),
        )),
        How::Restored { to } => {
            Some(("RESTORED", format!("the queue was put back to revision {to} by hand").into()))
        }
        How::Foreign if edits.clashes.is_empty() => {
            Some(("EDITED", "the queue was replaced by one of another store".into()))
        }
        How::Foreign => None,
    };
    let clashes = edits.clashes.iter().map(|clash| {
        let what = match clash.path.is_empty() {
            true => "the whole file".to_owned(),
            false => clash_in_words(clash),
        };
        let what = format!("{what}; what was committed stays, `");
        ("CONFLICT", hint![what, See::Edits(Some("queue")), "` shows both"])
    });
    how.into_iter().chain(clashes).collect()
}

/// Tells in words whether a task came, went or got another status.
fn told(Touched { before, after }: &Touched) -> Option<String> {
    let task = |item: &Option<Value>| item.clone().map(Task::of);
    match (task(before), task(after)) {
        (Some(task), None) => Some(format!("{} removed by hand", task.id())),
        (None, Some(task)) => Some(format!("{} added by hand", task.id())),
        (Some(was), Some(is)) if was.status() != is.status() => {
            let (was, is, id) = (word(was.status()), word(is.status()), is.id());
            Some(format!("{id} set from {was} to {is} by hand"))
        }
        _ => None,
    }
}
