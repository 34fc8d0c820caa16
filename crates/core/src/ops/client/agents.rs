//! Agents that a session starts: who runs, what came out, and which phase of the workflow it was.
//!
//! A client tells of one agent in up to four events, in different orders: the tool call that starts it (at its launch when it
//! runs in the background, at its end otherwise), its start and its end. Whichever comes first counts it.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{OP, Turn, document};
use crate::model::client_event::Agent;
use crate::model::kind::{Doc, Kind};
use crate::model::plan;
use crate::model::present;
use crate::model::redact::{redact, redact_value};
use crate::model::room::Room;
use crate::model::said::{self, Said, cut};
use crate::model::time;
use crate::ops::Result;
use crate::ops::workflow::{self, Worker};
use crate::store::{Durability, Transaction};
use crate::view::briefing;

/// How many running agents are listed.
const MOST: usize = 1000;

/// How much of an agent's task is kept.
const TASK: usize = 500;

/// An agent begins, or goes on after it was done.
pub fn start(turn: &mut Turn<'_>) -> Result<()> {
    let Some(agent) = named(turn) else { return Ok(()) };
    note(turn, &agent, None)?;
    let worker = Worker { id: agent.id.as_str(), kind: &agent.kind, phase: None };
    if let Some((flow, phase)) = workflow::agent_began(turn.engine, worker, &turn.actor)? {
        turn.reply.parts.extend(briefing::phase(&flow, &phase));
    }
    Ok(())
}

/// An agent is done.
pub fn stop(turn: &mut Turn<'_>) -> Result<()> {
    let Some(agent) = named(turn) else { return Ok(()) };
    let message = turn.event.text("last_assistant_message").unwrap_or_default();
    let said = safe(&message);
    file(turn, &agent, None, &said)?;
    let worker = Worker { id: agent.id.as_str(), kind: &agent.kind, phase: said.phase.as_deref() };
    workflow::agent_ended(turn.engine, worker, &said, &turn.actor).map(drop)
}

/// The tool call that starts an agent has returned: at its launch, or with what came out.
pub fn follow_tool(turn: &mut Turn<'_>) -> Result<()> {
    if !matches!(&*turn.event.tool(), "Agent" | "Task") {
        return Ok(());
    }
    let (input, response) = (turn.event.value("tool_input"), turn.event.value("tool_response"));
    let text = |value: &Value, field: &str| value[field].as_str().map(str::to_owned);
    let id = text(&response, "agentId").or_else(|| turn.event.text("tool_use_id").map(Into::into));
    let Some(id) = id.and_then(|id| id.parse().ok()) else { return Ok(()) };
    let kind = text(&response, "agentType").or_else(|| text(&input, "subagent_type"));
    let agent = Agent { id, kind: kind.unwrap_or_else(|| "general-purpose".into()) };
    let task = text(&input, "description").map(|task| cut(&redact(&task), TASK));
    let phase = text(&input, "prompt").and_then(|prompt| said::phase(&prompt));
    let launched = matches!(response["status"].as_str(), Some("async_launched" | "teammate_spawned"));
    let followed = if launched && is_done(turn, &agent)? {
        // The agent was faster than this event: only its task is news.
        file(turn, &agent, task.as_deref(), &Said::default())?;
        None
    } else if launched {
        note(turn, &agent, task.as_deref())?;
        let worker = Worker { id: agent.id.as_str(), kind: &agent.kind, phase: phase.as_deref() };
        workflow::agent_began(turn.engine, worker, &turn.actor)?
    } else {
        let said = safe(&answer(&response));
        file(turn, &agent, task.as_deref(), &said)?;
        let phase = phase.or_else(|| said.phase.clone());
        let worker = Worker { id: agent.id.as_str(), kind: &agent.kind, phase: phase.as_deref() };
        workflow::agent_ended(turn.engine, worker, &said, &turn.actor)?
    };
    if let Some((flow, _)) = followed {
        turn.reply.parts.push(briefing::workflow(&flow));
    }
    Ok(())
}

/// Whether an agent has told its end, and does not run again.
fn is_done(turn: &Turn<'_>, agent: &Agent) -> Result<bool> {
    if !turn.engine.may_exist(&result(agent)) {
        return Ok(false);
    }
    let running = turn.engine.read(&document("active_agents"))?.is_some_and(|active| {
        let agents = active.value["agents"].as_array().into_iter().flatten();
        agents.into_iter().any(|known| known["id"] == agent.id.as_str())
    });
    Ok(!running && turn.engine.read(&result(agent))?.is_some())
}

/// Tells where the workflow stands when an agent in the background has come to its end.
pub fn brief_workflow(turn: &mut Turn<'_>) -> Result<()> {
    if !turn.event.is_notification() || !turn.engine.may_exist(&document("workflow")) {
        return Ok(());
    }
    turn.reply.parts.push(briefing::workflow(&workflow::show(turn.engine)?));
    Ok(())
}

/// Returns the agent that the event is about. The fork that summarises a context has no name, and is none.
fn named(turn: &Turn<'_>) -> Option<Agent> {
    turn.event.agent().filter(|agent| !agent.kind.is_empty())
}

/// Returns what an agent said at its end, without secrets.
fn safe(message: &str) -> Said {
    let mut said = Said::of(&redact(message));
    // What stood in JSON had its line breaks hidden, and with them what begins a line.
    said.findings.iter_mut().for_each(redact_value);
    let lists = [&mut said.recommendations, &mut said.deliverables, &mut said.files_analyzed];
    for text in lists.into_iter().flatten().chain([&mut said.context]) {
        if let Cow::Owned(clean) = redact(text) {
            *text = clean;
        }
    }
    said
}

/// Returns the text that a tool call returned.
fn answer(response: &Value) -> String {
    let content = response.get("content").unwrap_or(response);
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => response["result"].as_str().unwrap_or_default().to_owned(),
    }
}

/// Notes that an agent runs. One that has run before goes on, and is counted once.
fn note(turn: &Turn<'_>, agent: &Agent, task: Option<&str>) -> Result<()> {
    let mut transaction = turn.engine.begin(&[&Room::State])?;
    let doc = document("active_agents");
    let now = turn.actor.now();
    let mut value = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(now));
    let Some(list) = value["agents"].as_array_mut() else { return Ok(()) };
    let changed = if let Some(known) = list.iter_mut().find(|known| known["id"] == agent.id.as_str()) {
        let news = task.filter(|task| known["task"] != *task);
        news.map(|task| known["task"] = task.into()).is_some()
    } else {
        let is_new = transaction.get(&result(agent))?.is_none();
        list.push(json!({
            "id": agent.id.as_str(), "type": cut(&redact(&agent.kind), 128), "task": task, "started": time::stamp(now),
            "status": "running", "parent_task": parent_task(&mut *transaction)?, "session_id": turn.session(),
        }));
        list.drain(..list.len().saturating_sub(MOST));
        value["session_id"] = turn.session().into();
        if is_new {
            count_spawned(turn, &mut *transaction, &mut value)?;
        }
        true
    };
    if changed {
        transaction.put(&doc, value)?;
    }
    turn.commit(transaction, OP, Durability::Lazy)
}

fn count_spawned(turn: &Turn<'_>, transaction: &mut dyn Transaction, agents: &mut Value) -> Result<()> {
    present::count(agents, "total_spawned");
    let now = turn.actor.now();
    turn.change_present_in(transaction, |present| {
        present::count(present.at_work(turn.session(), || turn.arrival(), now), "agents_spawned");
    })
}

/// Files what came out of an agent that does not run any more.
fn file(turn: &Turn<'_>, agent: &Agent, task: Option<&str>, said: &Said) -> Result<()> {
    let mut transaction = turn.engine.begin(&[&Room::State])?;
    let (doc, now) = (document("active_agents"), turn.actor.now());
    let mut agents = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(now));
    let running = agents["agents"].as_array_mut().and_then(|list| {
        let place = list.iter().position(|known| known["id"] == agent.id.as_str())?;
        Some(list.remove(place))
    });
    let filed = transaction.get(&result(agent))?.cloned();
    let mut value = match (&running, &filed) {
        // The tool call returns after the agent has told its end: only its task is news.
        (None, Some(filed)) => filed.clone(),
        _ => outcome(turn, agent, running.as_ref(), said),
    };
    let known = task.map(Value::from).or_else(|| running.as_ref().map(|agent| agent["task"].clone()));
    if let Some(known) = known.filter(|known| !known.is_null()) {
        value["task"] = known;
    }
    if filed.is_none() {
        if running.is_none() {
            count_spawned(turn, &mut *transaction, &mut agents)?;
        }
        present::count(&mut agents, "total_completed");
        agents["session_id"] = turn.session().into();
    }
    if filed.as_ref() != Some(&value) {
        transaction.put(&result(agent), value)?;
    }
    if running.is_some() || filed.is_none() {
        transaction.put(&doc, agents)?;
    }
    turn.commit(transaction, OP, Durability::Synced)
}

fn outcome(turn: &Turn<'_>, agent: &Agent, running: Option<&Value>, said: &Said) -> Value {
    let now = turn.actor.now();
    let started = running.and_then(|agent| time::read(agent["started"].as_str()?)).unwrap_or(now);
    let seconds = now.duration_since(started).as_secs_f64().max(0.0);
    json!({
        "agent_id": agent.id.as_str(), "type": cut(&redact(&agent.kind), 128), "task": null,
        "started": time::stamp(started), "completed": time::stamp(now),
        "duration_seconds": plan::number((seconds * 1000.0).round() / 1000.0),
        "status": if said.failed { "failed" } else { "success" }, "findings": said.findings,
        "recommendations": said.recommendations, "files_analyzed": said.files_analyzed,
        "metrics": {"issues_found": said.findings.len()}, "session_id": turn.session(),
    })
}

/// Returns what the agents are started for: the workflow's task, or the loop's.
fn parent_task(transaction: &mut dyn Transaction) -> Result<Value> {
    for kind in ["workflow", "work_queue"] {
        let task = transaction.get(&document(kind))?.and_then(|value| value.get("task")).cloned();
        if let Some(Value::String(task)) = task {
            return Ok(cut(&task, TASK).into());
        }
    }
    Ok(Value::Null)
}

fn result(agent: &Agent) -> Doc {
    Doc::of_key(Kind::find("agent_result").expect("a kind of the registry"), &agent.id)
}
