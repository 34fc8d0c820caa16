//! Lets an agent go on that wants to stop with work in hand. Off unless the configuration says
//! `features.enable_stop_gate: true`; never twice in a row, a few times in a session, and not while something of the session
//! runs in the background.

use super::turn::{OP, Turn, document};
use crate::hint;
use crate::model::current_session;
use crate::model::documents::agent_loop::{CurrentSession, WorkItem, WorkQueue};
use crate::model::documents::state::Features;
use crate::model::key::{Fields, Key};
use crate::model::next::{Lease, Next};
use crate::model::raw::Raw;
use crate::model::shape::Integer;
use crate::ops::Result;
use crate::ops::sessions::look;
use crate::ops::settings::Settings;
use crate::view::shell;

/// How often a session is sent back to work.
const MOST: u64 = 3;

const COUNT: Key<Option<Integer>> = CurrentSession::stops_held;

pub fn session(turn: &mut Turn<'_>) -> Result<()> {
    hold(turn)
}

/// An agent of a session is held by the session's task too: it may have been started for it.
pub fn agent(turn: &mut Turn<'_>) -> Result<()> {
    // The fork that summarises a context is no agent.
    match turn.event.agent() {
        Some(agent) if !agent.kind.is_empty() && agent.kind.starts_with("anthill-") => hold(turn),
        _ => Ok(()),
    }
}

fn hold(turn: &mut Turn<'_>) -> Result<()> {
    if turn.event.is_true("stop_hook_active") || turn.event.has_background_work() {
        return Ok(());
    }
    if !Settings::read(turn.engine)?.is_switched_on(Features::enable_stop_gate) {
        return Ok(());
    }
    let Some(reason) = reason(turn)? else { return Ok(()) };
    let (now, mut held) = (turn.actor.now(), 0);
    turn.change_present(OP, |present| {
        let record = present.at_work(turn.session(), || turn.arrival(), now);
        held = record.read(COUNT).unwrap_or(0);
        if held < MOST {
            current_session::count(record, COUNT, 1);
        }
    })?;
    turn.reply.go_on = (held < MOST).then_some(reason);
    Ok(())
}

/// Returns what is left to do.
fn reason(turn: &Turn<'_>) -> Result<Option<String>> {
    if let Some(task) = look::claims(turn.engine, &turn.event.session)?.first() {
        let (task, worker, epoch) =
            (task.id().to_owned(), task.owner().unwrap_or_default().into(), task.epoch());
        let told = format!(
            "anthill: your task {} is still open. Go on with it, or say how it ended: ",
            shell::word(&task)
        );
        let complete = Next::Complete(Some(Lease { worker, task, epoch }));
        return Ok(Some(turn.actor.door.tell(&hint![told, complete, " (or fail, or release)."])));
    }
    let queue = document("work_queue");
    if turn.engine.is_absent(&queue) {
        return Ok(None);
    }
    let mut left = 0;
    let mut count = |item: &Raw| {
        left += usize::from(matches!(
            item.string(WorkItem::status.name()).as_deref(),
            Some("pending" | "in_progress")
        ));
        false
    };
    let Some(queue) = turn.engine.read_some(&queue, &mut count)? else { return Ok(None) };
    let is_over = matches!(
        queue.value.text(WorkQueue::status).map(str::to_ascii_uppercase).as_deref(),
        Some("COMPLETE" | "COMPLETED" | "DONE" | "STOPPED" | "PAUSED" | "FAILED")
    );
    Ok((!is_over && left > 0).then(|| {
        let told = format!("anthill: the loop is not finished, {left} items are open. Take the next one: ");
        turn.actor.door.tell(&hint![told, Next::TakeItem])
    }))
}
