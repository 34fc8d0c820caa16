//! Whose a workflow is: a session takes it over, its agents take phases and say how they ended.
//!
//! A workflow belongs to a session for as long as that session lives. One that belongs to nobody is taken by the next
//! session that starts an agent for it: one that names a phase, or, if no other session is at work here, one that has the
//! name that a phase asks for. With several sessions, whose agent was meant would be a guess.

use jiff::Timestamp;

use super::transaction::{WorkflowChanged, WorkflowTransaction, doc, put};
use crate::hint;
use crate::model::agent_report::{AgentReport, Ending};
use crate::model::changes::Changes;
use crate::model::current_session::CurrentSessions;
use crate::model::documents::workflow::Phase;
use crate::model::flow::{
    Flow, Ownership, PhaseOutcome, Refusal, Report, Worker, WorkflowStatus, outcome, standing,
};
use crate::model::ids::SessionId;
use crate::model::next::{Next, See, With};
use crate::ops::sessions::look;
use crate::ops::{Actor, Error, Result, document_of_state, readable};
use crate::store::{Engine, Transaction};

/// Returns whose a workflow is, as the acting session sees it. A session that is over, or was never known, owns nothing.
pub fn ownership(engine: &dyn Engine, flow: &Flow, actor: &Actor) -> Result<Ownership> {
    Ok(match flow.owner() {
        Some(owner) if actor.session.as_deref() == Some(owner) => Ownership::Ours,
        Some(owner) if look::is_at_work(engine, owner, actor)? => Ownership::Other(owner.to_owned()),
        _ => Ownership::Nobody,
    })
}

/// Makes it the workflow of the acting session, whosever it was. Returns the session that had it.
pub fn adopt(
    engine: &dyn Engine,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<(WorkflowChanged, Option<String>)> {
    let session = actor.session.as_deref().ok_or_else(|| {
        let name = hint!["a workflow is taken over by a session: name it with ", With::Session(None)];
        Error::Input(actor.door.tell(&name))
    })?;
    if !look::is_at_work(engine, session, actor)? {
        return Err(Error::refused(
            format!("session `{session}` is not at work"),
            hint!["start it: ", Next::StartSession(session.into()), "   (see them: ", See::Sessions, ")",],
        ));
    }
    let mut tx = WorkflowTransaction::open(engine, expect, actor)?;
    let mut flow = tx.workflow(engine)?;
    free_dead(engine, &mut flow, actor)?;
    let before = flow.owner().filter(|owner| *owner != session).map(str::to_owned);
    flow.belong_to(session);
    Ok((tx.finish(flow, "workflow adopt", actor)?, before))
}

/// Takes a workflow that belongs to nobody, and what dead sessions hold of it.
pub(super) fn take_up(engine: &dyn Engine, flow: &mut Flow, actor: &Actor) -> Result<()> {
    free_dead(engine, flow, actor)?;
    if let Some(session) = &actor.session
        && ownership(engine, flow, actor)? == Ownership::Nobody
        && look::is_at_work(engine, session, actor)?
    {
        flow.belong_to(session);
    }
    Ok(())
}

/// Gives back the phases that agents of dead sessions have in hand.
fn free_dead(engine: &dyn Engine, flow: &mut Flow, actor: &Actor) -> Result<()> {
    for session in flow.sessions_at_work() {
        if actor.session.as_ref() != Some(&session) && !look::is_at_work(engine, &session, actor)? {
            flow.give_back(&session, actor.now());
        }
    }
    Ok(())
}

/// Gives back what a session has in hand that is over, as part of a transaction on the room.
pub(in crate::ops) fn give_back(
    transaction: &mut dyn Transaction,
    session: &SessionId,
    now: Timestamp,
) -> Result<()> {
    let Some(workflow) = readable(transaction, &doc("workflow"))? else { return Ok(()) };
    let graph = readable(transaction, &doc("task_graph"))?;
    let mut flow = Flow::of(workflow, graph.clone());
    if flow.sessions_at_work().iter().any(|held| held == session.as_str()) {
        let before = flow.clone();
        flow.give_back(session.as_str(), now);
        put(transaction, Some(&before), graph.as_ref(), &flow)?;
    }
    Ok(())
}

/// Moves what a session has of the workflow to the one that goes on with its work.
pub(in crate::ops) fn pass_on(
    engine: &dyn Engine,
    from: &SessionId,
    to: &SessionId,
    actor: &Actor,
) -> Result<()> {
    if engine.is_absent(&doc("workflow")) {
        return Ok(());
    }
    let tx = WorkflowTransaction::open(engine, None, actor)?;
    let Some(mut flow) = tx.before.clone() else { return Ok(()) };
    flow.pass_on(from.as_str(), to.as_str());
    tx.finish(flow, "workflow adopt", actor).map(drop)
}

/// Notes that an agent has begun. Returns the workflow and the agent's phase, if it has one.
pub fn agent_began(engine: &dyn Engine, worker: Worker<'_>, actor: &Actor) -> Result<Option<(Flow, String)>> {
    let Some((tx, flow, id)) = phase_of(engine, worker, actor)? else { return Ok(None) };
    if standing_of(&flow, &id) == WorkflowStatus::Completed {
        return Ok(Some((flow, id)));
    }
    let mut next = flow.clone();
    // What a phase does not allow, an agent cannot make it do; it works all the same.
    match next.give(&id, worker, tx.now) {
        Ok(()) => Ok(Some((tx.finish(next, "workflow agent", actor)?.flow, id))),
        Err(_) => Ok(Some((flow, id))),
    }
}

/// Takes over what an agent says at its end. Returns the workflow and the agent's phase, if it has one.
pub fn agent_ended(
    engine: &dyn Engine,
    worker: Worker<'_>,
    said: &AgentReport,
    changed: Option<Changes>,
    actor: &Actor,
) -> Result<Option<(Flow, String)>> {
    let Some((tx, flow, id)) = phase_of(engine, worker, actor)? else { return Ok(None) };
    let mut next = flow.clone();
    let ended = is_news(&flow, &id, worker, said.ending)
        && next.give(&id, worker, tx.now).and_then(|()| end(&mut next, &id, said, changed, tx.now)).is_ok();
    match ended {
        true => Ok(Some((tx.finish(next, "workflow agent", actor)?.flow, id))),
        false => Ok(Some((flow, id))),
    }
}

/// Notes that an agent is asked for the hand-over that its phase wants; returns the phase. Once for each agent.
pub fn ask_handover(engine: &dyn Engine, worker: Worker<'_>, actor: &Actor) -> Result<Option<String>> {
    let Some((tx, mut flow, id)) = phase_of(engine, worker, actor)? else { return Ok(None) };
    if standing_of(&flow, &id) != WorkflowStatus::Active || !flow.ask_handover(&id, worker.id) {
        return Ok(None);
    }
    tx.finish(flow, "workflow agent", actor)?;
    Ok(Some(id))
}

/// Finds the phase of an agent, and whose the workflow is then.
fn phase_of<'e>(
    engine: &'e dyn Engine,
    worker: Worker<'_>,
    actor: &Actor,
) -> Result<Option<(WorkflowTransaction<'e>, Flow, String)>> {
    if engine.is_absent(&doc("workflow")) {
        return Ok(None);
    }
    let mut tx = WorkflowTransaction::open(engine, None, actor)?;
    let Some(mut flow) = tx.before.clone() else { return Ok(None) };
    free_dead(engine, &mut flow, actor)?;
    let ownership = ownership(engine, &flow, actor)?;
    let by_name = match &ownership {
        Ownership::Ours => true,
        Ownership::Nobody => is_alone(engine, &mut *tx.transaction, actor)?,
        Ownership::Other(_) => false,
    };
    let Some(id) = flow.phase_of(worker, by_name).map(str::to_owned) else { return Ok(None) };
    if ownership == Ownership::Nobody {
        flow.belong_to(worker.session);
    }
    Ok(Some((tx, flow, id)))
}

/// Whether no other session is at work in this project. A record of them that cannot be read keeps nobody from working.
fn is_alone(engine: &dyn Engine, transaction: &mut dyn Transaction, actor: &Actor) -> Result<bool> {
    let present = readable(transaction, &document_of_state("current_session"))?;
    for other in CurrentSessions::of(present).sessions() {
        if actor.session.as_ref() != Some(&other) && look::is_at_work(engine, &other, actor)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an agent's end says more than is known. Clients tell of one end twice.
fn is_news(flow: &Flow, id: &str, worker: Worker<'_>, ending: Ending) -> bool {
    let Some(phase) = flow.phase(id) else { return false };
    let same_agent = phase[Phase::agent_id] == worker.id;
    match standing(phase) {
        WorkflowStatus::Completed => {
            same_agent && ending == Ending::Done && outcome(phase) == Some(PhaseOutcome::Assumed)
        }
        WorkflowStatus::Failed => !same_agent || ending != Ending::Failed,
        _ => true,
    }
}

/// Lets a phase end as its agent did.
fn end(
    flow: &mut Flow,
    id: &str,
    said: &AgentReport,
    changed: Option<Changes>,
    now: Timestamp,
) -> std::result::Result<(), Refusal> {
    let status = match said.ending {
        Ending::Done | Ending::Assumed => WorkflowStatus::Completed,
        Ending::Failed => WorkflowStatus::Failed,
        Ending::PutBack => WorkflowStatus::Pending,
        Ending::Unclear => {
            let words = if said.context.is_empty() { "it ended without a word" } else { &said.context };
            flow.leave_unclear(id, words);
            return Ok(());
        }
    };
    let context = Some(said.context.clone()).filter(|context| !context.is_empty());
    let assumed = said.ending == Ending::Assumed;
    let report = Report { deliverables: said.deliverables.clone(), context, assumed, changed };
    flow.report(id, status, &report, now)
}

fn standing_of(flow: &Flow, id: &str) -> WorkflowStatus {
    flow.phase(id).map(standing).unwrap_or_default()
}
