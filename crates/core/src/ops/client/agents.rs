//! Agents that a session starts: who runs, what came out, and which phase of the workflow it was.
//!
//! A client tells of one agent in up to four events, in different orders: the tool call that starts it (at its launch when it
//! runs in the background, at its end otherwise), its start and its end. Whichever comes first counts it.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::turn::{OP, Turn, document};
use crate::error::Code;
use crate::model::agent_report::{self, AgentReport, Ending, cut};
use crate::model::changes::Changes;
use crate::model::client_event::Agent;
use crate::model::clients::Tool;
use crate::model::current_session::{self, CurrentSessions};
use crate::model::documents::agent_loop::{ActiveAgent, ActiveAgents, AgentResult, Checkout, CurrentSession};
use crate::model::documents::workflow::Phase;
use crate::model::finished;
use crate::model::flow::{Flow, Moment, Named, Worker};
use crate::model::ids::Key;
use crate::model::key::{Fields, FieldsMut, Key as Field};
use crate::model::kind::{Doc, Kind};
use crate::model::plan;
use crate::model::redact::{redact, redact_value};
use crate::model::room::Room;
use crate::model::session::Session;
use crate::model::{time, transcript};
use crate::ops::surplus::What;
use crate::ops::workflow::{self, hands};
use crate::ops::{Error, Result, agent_loop, readable, sessions};
use crate::store::{Durability, Engine, Transaction};
use crate::view::briefing;

/// How many running agents are listed.
const MOST: usize = 1000;

/// How much of the client's record is searched for an agent's orders, from its end.
const ORDERS: u64 = 256 << 10;

/// How many results are read to know what they add up to, where no list tells it.
const READ: usize = 256;

/// How much of an agent's task is kept.
const TASK: usize = 500;

/// What was there when an agent began.
const BEFORE: Field<Option<Checkout>> = ActiveAgent::before;

/// An agent begins, or goes on after it was done.
pub fn start(turn: &mut Turn<'_>) -> Result<()> {
    let Some(agent) = agent_of(turn) else { return Ok(()) };
    let worker = worker(turn, &agent, Moment::Start, Named::Nothing);
    let began = hands::agent_began(turn.engine, worker, &turn.actor);
    let title = began.as_ref().ok().and_then(Option::as_ref).and_then(|(flow, id)| {
        flow.phase(id).and_then(|phase| phase.text(Phase::title)).map(|title| cut(title, TASK))
    });
    // Only who works on a phase is looked at: git takes a while.
    let before = began.as_ref().ok().and_then(Option::as_ref).and_then(|_| turn.world.look());
    let noted = note(turn, &agent, Task::Guessed(ordered(turn, &agent).or(title)), before);
    if let Some((flow, phase)) = began? {
        turn.reply.parts.extend(briefing::phase(&flow, &phase));
    }
    noted
}

/// Returns what an agent was started for, by the client's own record: the call that starts it has not returned.
fn ordered(turn: &Turn<'_>, agent: &Agent) -> Option<String> {
    let tail = turn.world.tail(&turn.event.text("transcript_path")?, ORDERS)?;
    transcript::agent_task(&tail, &agent.kind).map(|task| cut(&redact(&task), TASK))
}

/// An agent is done, unless it is asked for the hand-over of its phase first.
pub fn stop(turn: &mut Turn<'_>) -> Result<()> {
    let Some(agent) = agent_of(turn) else { return Ok(()) };
    let message = turn.event.text("last_assistant_message").unwrap_or_default();
    let said = safe(&message);
    let moment = moment(turn, &agent);
    let worker = worker(turn, &agent, moment, said.phase.as_deref().map_or(Named::Nothing, Named::Words));
    if !said.ending.is_told() && can_be_held(turn) {
        let asked = hands::ask_handover(turn.engine, worker, &turn.actor)?;
        turn.reply.go_on = asked.map(|phase| briefing::handover(&phase));
        if turn.reply.go_on.is_some() {
            return Ok(());
        }
    }
    let changed = changed(turn, &agent);
    // Each costs only itself if it cannot be written.
    let filed = file(turn, &agent, None, &said, changed.as_ref());
    hands::agent_ended(turn.engine, worker, &said, changed, &turn.actor)?;
    filed
}

/// Whether the client lets an agent go on that wants to stop, and has not done so just now.
fn can_be_held(turn: &Turn<'_>) -> bool {
    turn.event.is_false("stop_hook_active")
}

fn worker<'a>(turn: &Turn<'a>, agent: &'a Agent, moment: Moment, named: Named<'a>) -> Worker<'a> {
    Worker { id: agent.id.as_str(), kind: &agent.kind, session: turn.event.session.as_str(), moment, named }
}

/// The tool call that starts an agent has returned: at its launch, or with what came out.
pub fn follow_tool(turn: &mut Turn<'_>) -> Result<()> {
    if turn.event.does() != Some(Tool::Agent) {
        return Ok(());
    }
    let (input, response) = (turn.event.value("tool_input"), turn.event.value("tool_response"));
    let text = |value: &Value, field: &str| value[field].as_str().map(str::to_owned);
    let id = text(&response, "agentId").or_else(|| turn.event.text("tool_use_id").map(Into::into));
    let Some(id) = id.and_then(|id| id.parse().ok()) else { return Ok(()) };
    let kind = text(&response, "agentType").or_else(|| text(&input, "subagent_type"));
    let agent = Agent { id, kind: kind.unwrap_or_else(|| "general-purpose".into()) };
    let task = text(&input, "description").map(|task| cut(&redact(&task), TASK));
    let phase = text(&input, "prompt").and_then(|prompt| agent_report::phase(&prompt));
    let moment = moment(turn, &agent);
    let launched = matches!(response["status"].as_str(), Some("async_launched" | "teammate_spawned"));
    let (noted, followed) = if launched && is_done(turn, &agent)? {
        // The agent was faster than this event: only its task is news.
        (file(turn, &agent, task.as_deref(), &AgentReport::default(), None), None)
    } else if launched {
        let noted = note(turn, &agent, Task::Told(task), None);
        let worker = worker(turn, &agent, moment, phase.as_deref().map_or(Named::Nothing, Named::Orders));
        (noted, hands::agent_began(turn.engine, worker, &turn.actor)?)
    } else {
        let said = safe(&answer(&response));
        let changed = changed(turn, &agent);
        let filed = file(turn, &agent, task.as_deref(), &said, changed.as_ref());
        let worker = worker(turn, &agent, moment, named(phase.as_deref(), said.phase.as_deref()));
        (filed, hands::agent_ended(turn.engine, worker, &said, changed, &turn.actor)?)
    };
    if let Some((flow, _)) = followed {
        tell_workflow(turn, &flow)?;
    }
    noted
}

/// Returns the phase that an agent's orders name, or its own words, which make it certain.
fn named<'a>(orders: Option<&'a str>, words: Option<&'a str>) -> Named<'a> {
    match (orders, words) {
        (Some(orders), words) if words != Some(orders) => Named::Orders(orders),
        (_, Some(words)) => Named::Words(words),
        _ => Named::Nothing,
    }
}

/// Tells the main agent where the workflow stands, and what it can do about it.
fn tell_workflow(turn: &mut Turn<'_>, flow: &Flow) -> Result<()> {
    let ownership = hands::ownership(turn.engine, flow, &turn.actor)?;
    turn.reply.parts.push(briefing::workflow(flow, &ownership, turn.actor.door));
    Ok(())
}

/// What an agent was started for.
enum Task {
    Told(Option<String>),
    /// As far as the workflow tells it, if nobody else does.
    Guessed(Option<String>),
}

/// Whether an agent has told its end, and does not run again.
fn is_done(turn: &Turn<'_>, agent: &Agent) -> Result<bool> {
    Ok(!turn.engine.is_absent(&result(agent))
        && !is_running(turn, agent)?
        && turn.engine.read(&result(agent))?.is_some())
}

fn is_running(turn: &Turn<'_>, agent: &Agent) -> Result<bool> {
    Ok(running(turn)?.iter().any(|known| known[ActiveAgent::id] == agent.id.as_str()))
}

/// Returns the agents that run.
fn running(turn: &Turn<'_>) -> Result<Vec<Value>> {
    let active = turn
        .engine
        .read(&document("active_agents"))?
        .map(|mut active| active.value[ActiveAgents::agents].take());
    Ok(active.and_then(|agents| serde_json::from_value(agents).ok()).unwrap_or_default())
}

/// Returns what git saw change since an agent has begun, as far as somebody looked then.
fn changed(turn: &Turn<'_>, agent: &Agent) -> Option<Changes> {
    let running = running(turn).ok()?;
    let before = running.iter().find(|known| known[ActiveAgent::id] == agent.id.as_str())?.at(BEFORE)?;
    let present = turn.engine.read(&document("current_session")).ok()?.map(|present| present.value);
    let shared = running.len() > 1 || CurrentSessions::of(present).sessions().len() > 1;
    turn.world.changes_since(before, shared)
}

/// Tells whether an agent was heard of before. Where that cannot be read it may have been.
fn moment(turn: &Turn<'_>, agent: &Agent) -> Moment {
    let has_result =
        || !turn.engine.is_absent(&result(agent)) && !matches!(turn.engine.read(&result(agent)), Ok(None));
    match is_running(turn, agent).unwrap_or(true) || has_result() {
        true => Moment::Later,
        false => Moment::FirstHeard,
    }
}

/// Tells where the workflow stands when an agent in the background has come to its end.
pub fn brief_workflow(turn: &mut Turn<'_>) -> Result<()> {
    if !turn.event.is_notification() {
        return Ok(());
    }
    match workflow::find(turn.engine)? {
        Some(flow) => tell_workflow(turn, &flow),
        None => Ok(()),
    }
}

/// Returns the agent that the event is about. The fork that summarises a context has no name, and is none.
fn agent_of(turn: &Turn<'_>) -> Option<Agent> {
    turn.event.agent().filter(|agent| !agent.kind.is_empty())
}

/// Returns what an agent said at its end, without secrets.
fn safe(message: &str) -> AgentReport {
    let mut said = AgentReport::of(&redact(message));
    // What stood in JSON had its line breaks hidden, and with them what begins a line.
    said.findings.iter_mut().chain(said.metrics.values_mut()).for_each(redact_value);
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
fn note(turn: &mut Turn<'_>, agent: &Agent, task: Task, before: Option<Value>) -> Result<()> {
    let engine = turn.engine;
    let mut transaction = engine.begin(&[&Room::State])?;
    let doc = document("active_agents");
    let now = turn.actor.now();
    let mut value = transaction.get(&doc)?.cloned().unwrap_or_else(|| doc.default(now));
    let Some(list) = value[ActiveAgents::agents].as_array_mut() else { return Ok(()) };
    let changed =
        if let Some(known) = list.iter_mut().find(|known| known[ActiveAgent::id] == agent.id.as_str()) {
            let news = match task {
                Task::Told(task) => task.filter(|task| known[ActiveAgent::task] != **task),
                Task::Guessed(task) => task.filter(|_| known[ActiveAgent::task].is_null()),
            };
            let before = before.filter(|_| !known.has(BEFORE));
            let is_first = before.is_some();
            before.into_iter().for_each(|before| known[BEFORE] = before);
            news.map(|task| known[ActiveAgent::task] = task.into()).is_some() || is_first
        } else {
            let is_new = readable(&mut *transaction, &result(agent))?.is_none();
            let (Task::Told(task) | Task::Guessed(task)) = task;
            let mut running = json!({
                ActiveAgent::id: agent.id.as_str(), ActiveAgent::kind: cut(&redact(&agent.kind), 128),
                ActiveAgent::task: task, ActiveAgent::started: time::stamp(now),
                ActiveAgent::status: "running", ActiveAgent::parent_task: parent_task(engine)?,
                ActiveAgent::session_id: turn.session(),
            });
            before.into_iter().for_each(|before| running[BEFORE] = before);
            list.push(running);
            list.drain(..list.len().saturating_sub(MOST));
            value.set(ActiveAgents::session_id, turn.session());
            if is_new {
                count_spawned(turn, &mut *transaction, &mut value)?;
            }
            true
        };
    if changed {
        transaction.put(&doc, value)?;
    }
    turn.commit(transaction, OP, Durability::Lazy)?;
    let kind = cut(&redact(&agent.kind), 128);
    let began = |session: &mut Session, now| session.agent_began(agent.id.as_str(), &kind, now);
    sessions::note_in(engine, &turn.event.session, &turn.actor, began)
}

fn count_spawned(turn: &mut Turn<'_>, transaction: &mut dyn Transaction, agents: &mut Value) -> Result<()> {
    current_session::count(agents, ActiveAgents::total_spawned, 1);
    let now = turn.actor.now();
    let counted = turn.change_present_in(transaction, |present| {
        current_session::count(
            present.at_work(turn.session(), || turn.arrival(), now),
            CurrentSession::agents_spawned,
            1,
        );
    });
    turn.spare(counted)
}

/// Files what came out of an agent that does not run any more.
fn file(
    turn: &mut Turn<'_>,
    agent: &Agent,
    task: Option<&str>,
    said: &AgentReport,
    changed: Option<&Changes>,
) -> Result<()> {
    let engine = turn.engine;
    let mut transaction = engine.begin(&[&Room::State])?;
    let (doc, now) = (document("active_agents"), turn.actor.now());
    let known = transaction.get(&doc).map(|agents| agents.cloned()).map_err(Error::from);
    let is_damaged = known.is_err();
    let mut agents = turn.spare(known)?.unwrap_or_else(|| doc.default(now));
    let running = agents[ActiveAgents::agents].as_array_mut().and_then(|list| {
        let place = list.iter().position(|known| known[ActiveAgent::id] == agent.id.as_str())?;
        Some(list.remove(place))
    });
    let filed = transaction.get(&result(agent))?.cloned();
    let mut value = match (&running, &filed) {
        // The tool call returns after the agent has told its end: only its task is news.
        (None, Some(filed)) => filed.clone(),
        _ => {
            agent_loop::add_findings(&mut *transaction, &said.findings)?;
            let value = outcome(turn, agent, running.as_ref(), said);
            know_results(&mut *transaction, &mut agents)?;
            finished::note(&mut agents, agent.id.as_str(), filed.as_ref(), &value);
            value
        }
    };
    let known =
        task.map(Value::from).or_else(|| running.as_ref().map(|agent| agent[ActiveAgent::task].clone()));
    if let Some(known) = known.filter(|known| !known.is_null()) {
        value[ActiveAgent::task] = known;
    }
    if let Some(changed) = changed {
        value[AgentResult::changed] = changed.clone().and(filed.as_ref().at(AgentResult::changed)).value();
    }
    if filed.is_none() {
        if running.is_none() {
            count_spawned(turn, &mut *transaction, &mut agents)?;
        }
        current_session::count(&mut agents, ActiveAgents::total_completed, 1);
        agents.set(ActiveAgents::session_id, turn.session());
    }
    if filed.as_ref() != Some(&value) {
        transaction.put(&result(agent), value)?;
    }
    if !is_damaged && (running.is_some() || filed.is_none()) {
        let surplus = What::Agents.surplus(engine, finished::count(&agents))?;
        put_away(&mut *transaction, &finished::take(&mut agents, None, surplus), now)?;
        transaction.put(&doc, agents)?;
    }
    turn.commit(transaction, OP, Durability::Synced)?;
    let ended = |session: &mut Session, now| session.agent_ended(agent.id.as_str(), now);
    sessions::note_in(engine, &turn.event.session, &turn.actor, ended)
}

/// Archives the results of agents.
pub fn put_away(transaction: &mut dyn Transaction, agents: &[String], now: Timestamp) -> Result<()> {
    let mut results = Vec::new();
    for doc in agents.iter().filter_map(|id| Some(result_of(&id.parse().ok()?))) {
        // One that is damaged stays for `doctor`.
        if let Some(value) = readable(transaction, &doc)? {
            results.push(value);
            transaction.delete(&doc)?;
        }
    }
    What::Agents.put(transaction, &results, now)
}

/// Lets the list of agents know the results that there are, if it does not: an older version has written it, or it is damaged.
pub fn know_results(transaction: &mut dyn Transaction, agents: &mut Value) -> Result<()> {
    if finished::is_known(agents) {
        return Ok(());
    }
    let known = transaction.documents(&Room::State)?.into_iter();
    let results = known.filter(|doc| doc.kind == result_kind());
    for (number, doc) in results.enumerate() {
        let id = doc.key.as_ref().map_or("", Key::as_str);
        // Most of very many leave unread.
        let found = if number < READ { readable(transaction, &doc)? } else { None };
        match found {
            Some(found) => finished::note(agents, id, None, &found),
            None => finished::list_unread(agents, id),
        }
    }
    Ok(())
}

fn outcome(turn: &Turn<'_>, agent: &Agent, running: Option<&Value>, said: &AgentReport) -> Value {
    let now = turn.actor.now();
    let started = running.and_then(|agent| time::read(agent.text(ActiveAgent::started)?)).unwrap_or(now);
    let seconds = now.duration_since(started).as_secs_f64().max(0.0);
    let mut result = json!({
        AgentResult::agent_id: agent.id.as_str(), AgentResult::kind: cut(&redact(&agent.kind), 128),
        AgentResult::task: null,
        AgentResult::started: time::stamp(started), AgentResult::completed: time::stamp(now),
        AgentResult::duration_seconds: plan::number((seconds * 1000.0).round() / 1000.0),
        AgentResult::status: said.ending.word(), AgentResult::findings: said.findings,
        AgentResult::recommendations: said.recommendations, AgentResult::files_analyzed: said.files_analyzed,
        AgentResult::metrics: said.metrics, AgentResult::session_id: turn.session(),
    });
    if said.ending == Ending::Assumed {
        result.set(AgentResult::assumed, true);
    }
    result
}

/// Returns what the agents are started for: the workflow's task, or the loop's.
fn parent_task(engine: &dyn Engine) -> Result<Value> {
    for doc in ["workflow", "work_queue"].map(document) {
        if engine.is_absent(&doc) {
            continue;
        }
        if let Some(task) = task_of(engine, &doc)? {
            return Ok(cut(&task, TASK).into());
        }
    }
    Ok(Value::Null)
}

/// Returns the task that a document is about. One that is damaged is about none.
fn task_of(engine: &dyn Engine, doc: &Doc) -> Result<Option<String>> {
    let task = |value: &Value| value.text(ActiveAgent::task).map(str::to_owned);
    if let Some(task) = engine.glimpse(doc)?.and_then(|begin| task(&begin.value)) {
        return Ok(Some(task));
    }
    match engine.read_some(doc, &mut |_| false) {
        Err(error) if error.code() == Code::Damaged => Ok(None),
        found => Ok(found?.and_then(|found| task(&found.value))),
    }
}

fn result(agent: &Agent) -> Doc {
    result_of(&agent.id)
}

fn result_of(id: &Key) -> Doc {
    Doc::of_key(result_kind(), id)
}

fn result_kind() -> &'static Kind {
    Kind::find("agent_result").expect("a kind of the registry")
}
