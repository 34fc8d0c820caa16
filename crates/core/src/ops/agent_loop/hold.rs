//! Items change hands: taken, kept by signs of life, given back, taken over.

use super::{LoopChanged, LoopTransaction, check_text, item_log, refused, work_queue};
use crate::error::Code;
use crate::model::agent_loop::{GivenBack, Grip, Holder, WorkLoop};
use crate::model::ids::SessionId;
use crate::model::raw::Raw;
use crate::model::redact::redact;
use crate::model::time::Moment;
use crate::model::usage::Tries;
use crate::ops::{Actor, Result, views};
use crate::store::{Durability, Engine, Entry, Transaction};

/// Gives somebody the worst item that waits, or the one that they have in hand, or the named one. What nobody has given a
/// sign of life for is free again before.
pub fn take(
    engine: &dyn Engine,
    holder: &Holder<'_>,
    id: Option<&str>,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<LoopChanged> {
    check_text("name", holder.who)?;
    let mut tx = LoopTransaction::open(engine, expect)?;
    let (mut work, now) = (tx.work(engine)?, tx.now(actor)?);
    tx.given_back = work.take_back_expired(holder, &now);
    tx.item = Some(work.take(holder, id, &now).map_err(|refusal| refused(&refusal))?);
    tx.finish(work, "loop take", actor)
}

/// Gives back what somebody has in hand.
pub fn release(
    engine: &dyn Engine,
    who: &str,
    id: Option<&str>,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<LoopChanged> {
    let mut tx = LoopTransaction::open(engine, expect)?;
    let (mut work, now) = (tx.work(engine)?, tx.now(actor)?);
    tx.given_back = work.release(who, id, &now).map_err(|refusal| refused(&refusal))?;
    tx.finish(work, "loop release", actor)
}

/// Takes the sign of life of whoever works on an item, and says whether it is still theirs. Atomic but not synced: a lost
/// one repairs itself.
pub fn renew(engine: &dyn Engine, holder: &Holder<'_>, id: &str, actor: &Actor) -> Result<Grip> {
    let mut tx = LoopTransaction::open(engine, None)?;
    let (mut work, now) = (tx.work(engine)?, tx.now(actor)?);
    let grip = work.renew(holder, id, &now).map_err(|refusal| refused(&refusal))?;
    tx.finish_with(work, &lazy(actor)).map(|_| grip)
}

/// The same for a session that may have items. Nothing is opened if none of its leases is worth renewing.
pub fn renew_session(engine: &dyn Engine, session: &SessionId, actor: &Actor) -> Result<()> {
    let (now, session) = (actor.clock.moment(), session.as_str());
    let Some(found) = held(engine, session)? else { return Ok(()) };
    if !found.is_due_for(session, &now) {
        return Ok(());
    }
    let mut tx = LoopTransaction::open(engine, None)?;
    let (mut work, now) = (tx.work(engine)?, tx.now(actor)?);
    work.renew_session(session, &now);
    tx.finish_with(work, &lazy(actor)).map(drop)
}

fn lazy(actor: &Actor) -> Entry {
    Entry { durability: Durability::Lazy, ..actor.entry("loop heartbeat") }
}

/// Gives back what runs have that are gone.
pub fn give_back_of_runs(engine: &dyn Engine, runs: &[String], actor: &Actor) -> Result<Vec<GivenBack>> {
    let mut tx = LoopTransaction::open(engine, None)?;
    let (mut work, now) = (tx.work(engine)?, tx.now(actor)?);
    for run in runs {
        tx.given_back.extend(work.give_back_of_run(run, &now));
    }
    Ok(tx.finish(work, "loop give back", actor)?.given_back)
}

/// Notes what came of the agents that somebody had at work on an item: it is done, or put back. What they used is
/// added to the costs of the loop, and what they changed is noted with the item.
pub fn settle(
    engine: &dyn Engine,
    (holder, id): (&Holder<'_>, &str),
    is_done: bool,
    tries: &Tries,
    actor: &Actor,
) -> Result<LoopChanged> {
    let mut tx = LoopTransaction::open(engine, None)?;
    let (mut work, now) = (tx.work(engine)?, tx.now(actor)?);
    work.settle(holder, id, is_done, &now).map_err(|refusal| refused(&refusal))?;
    if is_done {
        tx.count_fixed(&work, actor)?;
    }
    if tries.count > 0 {
        work.count(tries);
        if let Some(text_file) = item_log(id) {
            tx.transaction.write_text_file(&text_file, redact(&tries.log).into_owned())?;
        }
    }
    if let Some(changes) = &tries.changed {
        work.note_changes(id, changes);
    }
    tx.item = Some(id.to_owned());
    tx.finish(work, if is_done { "loop done" } else { "loop put back" }, actor)
}

/// Whether a session has an item of the loop.
pub fn has_item(engine: &dyn Engine, session: &SessionId) -> Result<bool> {
    Ok(held(engine, session.as_str())?.is_some_and(|work| work.is_held_by(session.as_str())))
}

/// Returns the loop with the items that may be a session's, if there is one. One that is damaged costs only itself: sessions
/// live on and end without it.
fn held(engine: &dyn Engine, session: &str) -> Result<Option<WorkLoop>> {
    // Most sessions are not named there at all.
    if engine.is_absent(&work_queue()) || engine.lacks(&work_queue(), session) {
        return Ok(None);
    }
    let names = |item: &Raw, field: &str| item.string(field).is_some_and(|name| name == session);
    let mut may_be_its = |item: &Raw| names(item, "session_id") || names(item, "assigned_to");
    match engine.read_some(&work_queue(), &mut may_be_its) {
        Err(error) if error.code() == Code::Damaged => Ok(None),
        found => Ok(found?.map(|found| WorkLoop { queue: found.value })),
    }
}

/// Changes the loop within a transaction of its room, if there is one. Returns what the change does.
fn change_in<T: Default>(
    transaction: &mut dyn Transaction,
    change: impl FnOnce(&mut WorkLoop) -> Vec<T>,
) -> Result<Vec<T>> {
    let Some(queue) = transaction.get(&work_queue())?.cloned() else { return Ok(Vec::new()) };
    let mut work = WorkLoop { queue };
    let changed = change(&mut work);
    if !changed.is_empty() {
        views::put(transaction, &work_queue(), work.queue)?;
    }
    Ok(changed)
}

/// Gives back what a session has that ends. Returns the ids.
pub(in crate::ops) fn give_back_of_session(
    transaction: &mut dyn Transaction,
    session: &SessionId,
    reason: &str,
    now: &Moment,
) -> Result<Vec<String>> {
    change_in(transaction, |work| {
        let given = work.give_back_of_session(session.as_str(), reason, now);
        given.into_iter().map(|given| given.id).collect()
    })
}

/// Gives what one session has to another. Returns the ids.
pub(in crate::ops) fn hand_over(
    transaction: &mut dyn Transaction,
    (from, to): (&SessionId, &SessionId),
    only: Option<&str>,
    now: &Moment,
) -> Result<Vec<String>> {
    change_in(transaction, |work| work.hand_over(from.as_str(), to.as_str(), only, now))
}
