//! One look at everything: who is at work, and how far queue, workflow, pipeline and loop are.
//!
//! Nothing is changed by looking: no silent session is given up and no file is made. What cannot be read says so in
//! its place and hides nothing else.

use serde_json::{Map, Value, json};

use super::agent_loop::work_queue;
use super::merge::{self, all_asides};
use super::sessions::look;
use super::settings::Settings;
use super::{Actor, Result, errors, messages, pipeline, read};
use crate::error::{Code, with_causes};
use crate::model::current_session;
use crate::model::documents::agent_loop::{GateResult, WorkItem, WorkQueue};
use crate::model::documents::answers::{
    AsideEdit, Failure, GroupStanding, LoopStanding, MessageStanding, Overview, PipelineStanding, SeenSession,
};
use crate::model::documents::pipeline::PmState;
use crate::model::documents::workflow::{Phase, Workflow};
use crate::model::flow::{self, Flow};
use crate::model::hint::Hint;
use crate::model::ids::SessionId;
use crate::model::key::{Fields, FieldsMut};
use crate::model::kind::{Doc, Kind, UNFIT};
use crate::model::plan::word;
use crate::model::raw::Raw;
use crate::model::room::Room;
use crate::model::session;
use crate::store::{Aside, Engine};
use crate::view::board;

/// Whose things to look at.
#[derive(Debug, Clone, Default)]
pub struct Wanted<'a> {
    /// Only the sessions of this project.
    pub project: Option<&'a str>,
    /// The messages of this session; of all, if there is none.
    pub session: Option<&'a SessionId>,
}

/// What was seen.
#[derive(Debug)]
pub struct Status {
    /// `{sessions, queue, workflow, pipeline, loop, errors, messages}`, and `edits` that could not be joined, if any: `null` for what there is not, `{"error": …}`
    /// for what cannot be read.
    pub value: Value,
    pub warnings: Vec<Hint>,
}

/// Looks at everything, once. It cannot fail: what fails is part of the answer.
pub fn look(engine: &dyn Engine, wanted: &Wanted<'_>, actor: &Actor) -> Status {
    let mut eye = Eye { engine, actor, warnings: Vec::new() };
    let sessions = eye.sessions(wanted.project);
    let messages = eye.messages(wanted.session);
    let parts = [
        (Overview::sessions.name(), sessions),
        (Overview::queue.name(), queue(engine)),
        (Overview::workflow.name(), workflow(engine)),
        (Overview::pipeline.name(), run(engine)),
        (Overview::work_loop.name(), work_loop(engine)),
        (Overview::errors.name(), errors::summary(engine, actor)),
        (Overview::messages.name(), messages),
    ];
    let told = |(name, part): (&str, Result<Option<Value>>)| (name.to_owned(), eye.told(name, part));
    let mut value: Map<String, Value> = parts.into_iter().map(told).collect();
    let asides: Vec<Value> = all_asides(engine).iter().map(|edit| aside(edit, actor)).collect();
    if !asides.is_empty() {
        value.set(Overview::edits, asides);
    }
    let value = Value::Object(value);
    Status { value, warnings: eye.in_words() }
}

/// Tells of an edit that could not be joined.
fn aside(aside: &Aside, actor: &Actor) -> Value {
    json!({
        AsideEdit::kind: aside.doc.kind.name, AsideEdit::path: aside.path,
        AsideEdit::message: actor.door.tell(&merge::in_words(aside)),
    })
}

/// Whoever looks, and what it stumbled over.
struct Eye<'e> {
    engine: &'e dyn Engine,
    actor: &'e Actor,
    /// What is wrong, and with what.
    warnings: Vec<(String, String)>,
}

impl Eye<'_> {
    /// Says once what is wrong with several.
    fn in_words(self) -> Vec<Hint> {
        let mut said: Vec<(String, String)> = Vec::new();
        for (name, message) in self.warnings {
            match said.iter_mut().find(|(_, known)| *known == message) {
                Some((names, _)) => *names += &format!(", {name}"),
                None => said.push((name, message)),
            }
        }
        said.into_iter().map(|(names, message)| format!("{names}: {message}").into()).collect()
    }

    /// Returns a part as it is shown, also if it could not be read.
    fn told(&mut self, name: &str, part: Result<Option<Value>>) -> Value {
        match part {
            Ok(part) => part.unwrap_or_default(),
            Err(error) => {
                let message = with_causes(&error);
                self.warnings.push((name.to_owned(), message.clone()));
                json!({ Failure::error: message })
            }
        }
    }

    /// Returns the sessions that are at work, as `session list` shows them.
    fn sessions(&mut self, project: Option<&str>) -> Result<Option<Value>> {
        // Without a configuration that can be read, its defaults hold.
        let settings = Settings::read(self.engine).unwrap_or_else(|error| {
            self.warnings.push(("config".into(), with_causes(&error)));
            Settings::default()
        });
        let Some(seen) = look::at_work(self.engine, project, &settings, self.actor)? else { return Ok(None) };
        let mut sessions = seen.sessions;
        for (id, error) in seen.unreadable {
            let mut entry = json!({SeenSession::session_id: id.as_str()});
            entry[Failure::error] = self.told(&format!("session `{id}`"), Err(error))[Failure::error].take();
            sessions.push(entry);
        }
        Ok(Some(Value::Array(sessions)))
    }

    /// Returns how many messages a session has not read, or each of all that have a mailbox and are not over.
    fn messages(&mut self, session: Option<&SessionId>) -> Result<Option<Value>> {
        if let Some(session) = session {
            let unread = messages::unread_of(self.engine, session)?;
            return Ok(unread.map(|unread| {
                json!({MessageStanding::unread: unread, MessageStanding::session_id: session.as_str()})
            }));
        }
        let (mut total, mut sessions) = (0, Map::new());
        for id in self.engine.live()?.ids {
            let state = self.engine.read(&Doc::session(&id));
            if state.is_ok_and(|state| state.is_some_and(|state| session::is_over(&state.value))) {
                continue;
            }
            let unread = messages::unread_of(self.engine, &id).map(|unread| unread.map(Value::from));
            let unread = self.told(&format!("messages of `{id}`"), unread);
            total += unread.as_u64().unwrap_or(0);
            if !unread.is_null() {
                sessions.insert(id.to_string(), unread);
            }
        }
        Ok((!sessions.is_empty())
            .then(|| json!({MessageStanding::unread: total, MessageStanding::sessions: sessions})))
    }
}

/// Returns how many tasks stand how. An index answers that without a look at the tasks.
fn queue(engine: &dyn Engine) -> Result<Option<Value>> {
    let queue = Doc::queue();
    let Some(numbers) = read::counts(engine, &queue)? else { return Ok(None) };
    let states = queue.kind.listing.map_or(&[][..], |listing| listing.states);
    let counts = states.iter().map(|state| state.word).zip(numbers);
    let counts: Vec<_> = counts.filter(|(word, number)| *word != UNFIT || *number > 0).collect();
    Ok(Some(board::totals(&counts)))
}

fn workflow(engine: &dyn Engine) -> Result<Option<Value>> {
    let kind = Kind::find("workflow").expect("workflow is a kind");
    let Some(workflow) = engine.read(&Doc::shared(kind, Room::State))? else { return Ok(None) };
    let flow = Flow::of(workflow.value, None);
    let phase = |phase: &Value| {
        json!({
            Phase::id: phase[Phase::id], Phase::title: phase[Phase::title],
            Phase::status: flow::standing(phase),
        })
    };
    Ok(Some(json!({
        Workflow::id: flow.id(), Workflow::task: flow.workflow[Workflow::task],
        Workflow::status: flow.status(),
        Workflow::current_phase: flow.workflow[Workflow::current_phase],
        Workflow::phases: flow.phases().iter().map(phase).collect::<Vec<_>>(),
    })))
}

fn run(engine: &dyn Engine) -> Result<Option<Value>> {
    let run = match pipeline::show(engine) {
        Err(error) if error.code() == Code::NotFound => return Ok(None),
        other => other?,
    };
    let group = |id: &str| json!({GroupStanding::id: id, GroupStanding::status: word(run.stage(id))});
    Ok(Some(json!({
        PipelineStanding::status: word(run.status()), PipelineStanding::mode: word(run.mode()),
        PipelineStanding::groups: run.group_ids().map(group).collect::<Vec<_>>(),
        PipelineStanding::completion_percentage: run.pm[PmState::completion_percentage],
        PipelineStanding::open_orders: run.open_orders().count(),
    })))
}

fn work_loop(engine: &dyn Engine) -> Result<Option<Value>> {
    let mut open = json!({"S0": 0, "S1": 0, "S2": 0, "S3": 0});
    let mut count = |item: &Raw| {
        if !matches!(item.string(WorkItem::status.name()).as_deref(), Some("done" | "cancelled")) {
            // What does not say how bad it is, is not bad.
            current_session::count_named(
                &mut open,
                item.string(WorkItem::priority.name()).as_deref().unwrap_or("S3"),
                1,
            );
        }
        false
    };
    let Some(document) = engine.read_some(&work_queue(), &mut count)? else { return Ok(None) };
    let queue = document.value;
    let gates = queue.read(WorkQueue::gate_results).into_iter().flatten();
    let gates: Map<_, _> =
        gates.map(|(name, result)| (name.clone(), result[GateResult::status].clone())).collect();
    Ok(Some(json!({
        LoopStanding::task: queue[WorkQueue::task], LoopStanding::iteration: queue[WorkQueue::iteration],
        LoopStanding::max_iterations: queue[WorkQueue::max_iterations],
        LoopStanding::status: queue[WorkQueue::status], LoopStanding::open: open, LoopStanding::gates: gates,
    })))
}
