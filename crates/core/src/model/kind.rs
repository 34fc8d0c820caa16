//! The registry of document kinds. Adding a kind is one entry in [`KINDS`] (and its type in `documents`).

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::documents::common::Stamps;
use super::documents::queue::{Lease, LeaseClock, QueueTask, TaskContext};
use super::documents::state::MessageNote;
use super::documents::{agent_loop, pipeline, queue, state, workflow};
use super::ids::{Key, ProjectId, SessionId};
use super::listing::{Due, Facet, Hold, Listing, Marking, Stage, State};
use super::raw::Raw;
use super::room::Room;
use super::shape::{Shape, Shaped};
use super::task::{self, PRIORITY};
use super::time;
use super::{files, ids, marks, message};

/// Which of the five systems owns a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    State,
    Pipeline,
    Loop,
    Workflow,
    Queue,
}

/// What picks the one document of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// There is one document, in the room of this name.
    Shared,
    Queue,
    Pipeline,
    State,
    /// One per project.
    Project,
    /// One per session.
    Session,
    /// One per session too, in its mailbox.
    Mailbox,
    /// One per agent.
    Agent,
    /// One per moment; the newest unless told otherwise.
    Moment,
}

/// Where the items of `list KIND` are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    None,
    /// An array, or an object whose values are the items.
    Field(&'static str),
    /// A field of a field.
    Nested(&'static str, &'static str),
    /// The document itself is an object of items; each item carries its own `revision`.
    Document,
}

/// What it means that a document is gone which was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// It was lost, and what others keep beside it with it: nothing begins anew by that.
    Damage,
    /// The same, unless everything else of its room is gone too: then somebody removed all of it to begin anew.
    DamageAlone,
    /// Somebody removed it to begin anew.
    Reset,
    /// Nothing is lost: it is made again of what it tells of.
    Derived,
}

impl Gone {
    /// Whether a document may be gone on its own.
    pub fn is_allowed(self) -> bool {
        matches!(self, Gone::Reset | Gone::Derived)
    }
}

/// A document kind: one row of the registry.
pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    pub owner: System,
    pub scope: Scope,
    /// Its place in [`KINDS`].
    pub number: usize,
    pub items: Items,
    /// The field that holds the time of the last change, where the seed has one.
    pub time_field: Option<&'static str>,
    /// Whether `updated_by` names who changed the document.
    pub author: bool,
    /// The newest major format version that we write.
    pub format: u64,
    /// The largest file we read or write.
    pub limit: u64,
    pub shape: &'static Shape,
    /// The committed JSON Schema.
    pub schema: &'static str,
    /// What a missing document starts from.
    pub default: fn(&Doc, Timestamp) -> Value,
    /// How items are picked; kinds without it are not picked from.
    pub listing: Option<&'static Listing>,
    pub gone: Gone,
}

impl Kind {
    pub fn find(name: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Returns the room, where no option is needed to know it.
    pub fn room(&self) -> Option<Room> {
        match self.scope {
            Scope::Shared => Some(Room::Shared),
            Scope::Queue => Some(Room::Queue),
            Scope::Pipeline => Some(Room::Pipeline),
            Scope::State | Scope::Agent | Scope::Moment => Some(Room::State),
            Scope::Project | Scope::Session | Scope::Mailbox => None,
        }
    }

    /// Whether a path of a document is one that every commit sets.
    pub fn stamps(&self, path: &str) -> bool {
        self.items != Items::Document
            && (path == Stamps::revision.name()
                || path == Stamps::updated_by.name()
                || self.time_field == Some(path))
    }

    /// Whether documents of this kind are in such a room.
    pub fn is_of(&self, room: &Room) -> bool {
        match (self.scope, room) {
            (Scope::Project, Room::Project(_))
            | (Scope::Session, Room::Session(_))
            | (Scope::Mailbox, Room::Mailbox(_)) => true,
            _ => self.room().as_ref() == Some(room),
        }
    }

    /// Whether a room may have many documents of this kind, each with a key.
    pub fn is_family(&self) -> bool {
        matches!(self.scope, Scope::Agent | Scope::Moment)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// The address of one document.
#[derive(Debug, Clone, PartialEq)]
pub struct Doc {
    pub kind: &'static Kind,
    pub room: Room,
    /// Tells it from others of its family.
    pub key: Option<Key>,
}

impl Doc {
    pub fn shared(kind: &'static Kind, room: Room) -> Doc {
        Doc { kind, room, key: None }
    }

    /// The task queue.
    pub fn queue() -> Doc {
        Doc::shared(Kind::find("queue").expect("queue is a kind"), Room::Queue)
    }

    /// The register of the queue's workers.
    pub fn workers() -> Doc {
        Doc::shared(Kind::find("workers").expect("workers is a kind"), Room::Queue)
    }

    /// The configuration, which others ask for a setting.
    pub fn config() -> Doc {
        Doc::shared(Kind::find("config").expect("config is a kind"), Room::Shared)
    }

    /// Which sessions have hooks.
    pub fn triggers() -> Doc {
        Doc::shared(Kind::find("triggers").expect("triggers is a kind"), Room::Shared)
    }

    /// The commands that hooks may run.
    pub fn trusted() -> Doc {
        Doc::shared(Kind::find("trusted").expect("trusted is a kind"), Room::Shared)
    }

    /// The hooks of a session.
    pub fn hooks(session: SessionId) -> Doc {
        Doc::of_session(Kind::find("hooks").expect("hooks is a kind"), session)
    }

    pub fn of_project(kind: &'static Kind, project: ProjectId) -> Doc {
        Doc::shared(kind, Room::Project(project))
    }

    pub fn of_session(kind: &'static Kind, session: SessionId) -> Doc {
        Doc::shared(kind, Room::Session(session))
    }

    pub fn of_mailbox(kind: &'static Kind, session: SessionId) -> Doc {
        Doc::shared(kind, Room::Mailbox(session))
    }

    /// What lies in a session's mailbox.
    pub fn mailbox(session: &SessionId) -> Doc {
        Doc::of_mailbox(Kind::find("mailbox").expect("mailbox is a kind"), session.clone())
    }

    /// What a session has sent.
    pub fn sent(session: &SessionId) -> Doc {
        Doc::of_mailbox(Kind::find("sent").expect("sent is a kind"), session.clone())
    }

    /// The messages that a session is done with.
    pub fn messages(session: &SessionId) -> Doc {
        Doc::of_session(Kind::find("messages").expect("messages is a kind"), session.clone())
    }

    /// What a session is and does.
    pub fn session(session: &SessionId) -> Doc {
        Doc::of_session(Kind::find("session").expect("session is a kind"), session.clone())
    }

    pub fn of_key(kind: &'static Kind, key: &Key) -> Doc {
        Doc { kind, room: Room::State, key: Some(key.clone()) }
    }

    /// Returns the document of a room that is called so: what `to_string` said.
    pub fn named(room: &Room, name: &str) -> Option<Doc> {
        let (name, key) = match name.split_once('/') {
            Some((name, key)) => (name, Some(key.parse().ok()?)),
            None => (name, None),
        };
        let kind = Kind::find(name).filter(|kind| kind.is_of(room) && kind.is_family() == key.is_some())?;
        Some(Doc { kind, room: room.clone(), key })
    }

    pub fn default(&self, now: Timestamp) -> Value {
        (self.kind.default)(self, now)
    }

    /// Returns whose it is; nothing if there is only one.
    pub(super) fn owner_id(&self) -> &str {
        match &self.room {
            Room::Project(id) => id.as_str(),
            Room::Session(id) | Room::Mailbox(id) => id.as_str(),
            _ => self.key.as_ref().map_or("", Key::as_str),
        }
    }
}

/// Its kind, and what tells it from others of its family.
impl fmt::Display for Doc {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(formatter, "{}/{key}", self.kind.name),
            None => formatter.write_str(self.kind.name),
        }
    }
}

const SMALL: u64 = 16 << 20;
const LARGE: u64 = 256 << 20;

macro_rules! kinds {
    ($($name:literal: $type:ty, $owner:ident, $scope:expr, $items:expr,
        { $($field:ident: $value:expr),* $(,)? }, $default:expr, $about:literal;)*) => {
        &numbered([$(Kind {
            name: $name,
            about: $about,
            owner: System::$owner,
            scope: $scope,
            items: $items,
            shape: <$type as Shaped>::SHAPE,
            schema: include_str!(concat!("../../../../schemas/", $name, ".schema.json")),
            default: $default,
            $($field: $value,)*
            ..PLAIN
        },)*])
    };
}

const fn numbered<const N: usize>(mut kinds: [Kind; N]) -> [Kind; N] {
    let mut number = 0;
    while number < N {
        kinds[number].number = number;
        number += 1;
    }
    kinds
}

const PLAIN: Kind = Kind {
    name: "",
    about: "",
    owner: System::State,
    scope: Scope::Session,
    number: 0,
    items: Items::None,
    time_field: None,
    author: false,
    format: 1,
    limit: SMALL,
    shape: &Shape::Any,
    schema: "",
    default: |_, _| json!({}),
    listing: None,
    gone: Gone::Damage,
};

const UPDATED_AT: Option<&str> = Some(state::Config::updated_at.name());
const LAST_UPDATE: Option<&str> = Some(pipeline::PmState::last_update.name());

#[rustfmt::skip]
pub static KINDS: &[Kind] = kinds! {
    "config": state::Config, State, Scope::Shared, Items::None,
        { time_field: UPDATED_AT, author: true, format: 2 }, default_config,
        "global limits, feature switches and paths";
    "tools": state::Tools, State, Scope::Shared, Items::Field(state::Tools::tools.name()),
        { time_field: UPDATED_AT, author: true, format: 2 }, |_, _| json!({"version": "1.0.0", "tools": {}}),
        "agents and tools that work may be assigned to";
    "epics": state::Epics, State, Scope::Project, Items::Field(state::Epics::epics.name()),
        { time_field: UPDATED_AT, author: true, format: 2 },
        |doc, _| json!({"version": "1.0.0", "project_id": doc.owner_id(), "epics": []}),
        "a project's epics and their stories";
    "sprints": state::Sprints, State, Scope::Project, Items::Field(state::Sprints::sprints.name()),
        { time_field: UPDATED_AT, author: true, format: 2 },
        |doc, _| json!({"version": "1.0.0", "project_id": doc.owner_id(), "current_sprint": null, "sprints": []}),
        "a project's sprints";
    "team": state::Team, State, Scope::Project, Items::Field(state::Team::members.name()),
        { time_field: UPDATED_AT, author: true, format: 2 },
        |doc, _| json!({"version": "1.0.0", "project_id": doc.owner_id(), "settings": {"max_parallel_agents": 5}, "members": []}),
        "who works on a project";
    "session": state::Session, State, Scope::Session, Items::Field(state::Session::agents.name()),
        { time_field: UPDATED_AT, author: true }, default_session,
        "what a session is and does";
    "messages": state::Messages, State, Scope::Session, Items::Field(state::Messages::messages.name()),
        { time_field: UPDATED_AT, author: true }, |_, _| json!({"messages": []}),
        "a session's message history";
    "events": state::Events, State, Scope::Session, Items::Field(state::Events::events.name()),
        { time_field: UPDATED_AT, author: true }, |_, _| json!({"events": []}),
        "a session's event log";
    "hooks": state::Hooks, State, Scope::Session, Items::Field(state::Hooks::hooks.name()),
        { time_field: UPDATED_AT, author: true }, |_, _| json!({"hooks": []}),
        "commands that run after a change";
    "tasks": state::Tasks, State, Scope::Session, Items::Field(state::Tasks::tasks.name()),
        { time_field: UPDATED_AT, author: true }, |_, _| json!({"tasks": []}),
        "a session's own tasks";
    "mailbox": state::Mailbox, State, Scope::Mailbox, Items::Field(state::Mailbox::messages.name()),
        { time_field: UPDATED_AT, limit: LARGE, listing: Some(&MAILBOX), gone: Gone::Derived },
        |doc, _| json!({"version": "1.0.0", "session_id": doc.owner_id(), "messages": []}),
        "how the messages of a session's mailbox stand";
    "sent": state::Sent, State, Scope::Mailbox, Items::None,
        { time_field: UPDATED_AT },
        |doc, _| json!({"version": "1.0.0", "session_id": doc.owner_id(), "last_seq": 0}),
        "how many messages a session has sent";
    "triggers": state::Triggers, State, Scope::Shared, Items::Field(state::Triggers::triggers.name()),
        { time_field: UPDATED_AT, author: true, gone: Gone::Derived }, |_, _| json!({
            "version": "1.0.0", "triggers": [],
        }),
        "which sessions have hooks for changes of what";
    "trusted": state::Trusted, State, Scope::Shared, Items::Field(state::Trusted::trusted.name()),
        { time_field: UPDATED_AT, author: true }, |_, _| json!({"version": "1.0.0", "trusted": []}),
        "commands that hooks may run";

    "pm_state": pipeline::PmState, Pipeline, Scope::Pipeline, Items::Field(pipeline::PmState::task_groups.name()),
        { time_field: LAST_UPDATE }, default_pm_state,
        "the project manager's memory";
    "group_status": pipeline::GroupStatus, Pipeline, Scope::Pipeline, Items::Document,
        { time_field: LAST_UPDATE }, |_, _| json!({}),
        "where each task group stands";
    "orchestrator_state": pipeline::OrchestratorState, Pipeline, Scope::Pipeline,
        Items::Field(pipeline::OrchestratorState::decisions_log.name()), { time_field: LAST_UPDATE }, default_orchestrator_state,
        "the orchestrator's phase and decisions";
    "dev_to_qa": pipeline::DevToQa, Pipeline, Scope::Pipeline,
        Items::Field(pipeline::DevToQa::messages.name()), {}, |_, _| json!({"messages": []}),
        "hand-overs from developer to QA";
    "qa_to_techlead": pipeline::QaToTechlead, Pipeline, Scope::Pipeline,
        Items::Field(pipeline::QaToTechlead::messages.name()), {}, |_, _| json!({"messages": []}),
        "hand-overs from QA to tech lead";
    "techlead_to_dev": pipeline::TechleadToDev, Pipeline, Scope::Pipeline,
        Items::Field(pipeline::TechleadToDev::messages.name()), {}, |_, _| json!({"messages": []}),
        "reviews from tech lead to developer";

    "active_agents": agent_loop::ActiveAgents, Loop, Scope::State, Items::Field(agent_loop::ActiveAgents::agents.name()),
        { gone: Gone::Reset }, |_, _| json!({
            "agents": [], "total_spawned": 0, "total_completed": 0, "session_id": null,
        }),
        "agents that run now";
    "agent_result": agent_loop::AgentResult, Loop, Scope::Agent, Items::Field(agent_loop::AgentResult::findings.name()),
        { gone: Gone::Reset }, |doc, _| json!({
            "agent_id": doc.owner_id(), "status": "running", "findings": [],
        }),
        "what one agent found";
    "work_queue": agent_loop::WorkQueue, Loop, Scope::State, Items::Field(agent_loop::WorkQueue::items.name()),
        { gone: Gone::Reset }, |_, _| json!({
            "version": 1, "task": "", "iteration": 0, "consecutive_passes": 0, "items": [],
            "gate_results": {},
        }),
        "the loop's work items and gate results";
    "current_session": agent_loop::CurrentSession, Loop, Scope::State, Items::None,
        { gone: Gone::Reset }, default_current_session,
        "the session that works here now";
    "metrics": agent_loop::Metrics, Loop, Scope::State, Items::Field(agent_loop::Metrics::sessions.name()),
        { gone: Gone::Reset }, |_, _| json!({"sessions": []}),
        "figures of past sessions";
    "errors": agent_loop::Errors, Loop, Scope::State, Items::Field(agent_loop::Errors::errors.name()),
        { gone: Gone::Reset }, |_, _| json!({
            "errors": [], "summary": {"total": 0, "recovered": 0, "pending": 0, "escalated": 0},
        }),
        "classified errors and their retries";
    "backup": agent_loop::Backup, Loop, Scope::Moment, Items::None,
        { gone: Gone::Reset }, |_, now| json!({
            "timestamp": time::stamp(now), "reason": "manual", "preserved": {},
        }),
        "state saved before a compaction";

    "workflow": workflow::Workflow, Workflow, Scope::State, Items::Field(workflow::Workflow::phases.name()),
        { gone: Gone::DamageAlone }, |_, now| json!({
            "id": format!("wf_{}", time::compact(now)), "task": "", "status": "pending",
            "current_phase": null, "phases": [],
        }),
        "phases of the current workflow";
    "task_graph": workflow::TaskGraph, Workflow, Scope::State,
        Items::Nested(workflow::TaskGraph::execution_plan.name(), workflow::ExecutionPlan::waves.name()), { gone: Gone::DamageAlone }, default_task_graph,
        "waves of phases that may run together";

    "queue": queue::Queue, Queue, Scope::Queue, Items::Field(queue::Queue::tasks.name()),
        { time_field: Some(queue::Queue::last_updated.name()), limit: LARGE, listing: Some(&QUEUE) },
        |_, now| json!({
            "version": "1.0", "created_at": time::stamp(now), "last_updated": time::stamp(now), "tasks": [],
        }),
        "the task queue of leader and workers";
    "workers": queue::Agents, Queue, Scope::Queue, Items::Field(queue::Agents::agents.name()),
        { time_field: Some(queue::Queue::last_updated.name()) }, |_, _| json!({
            "version": "1.0", "agents": [],
        }),
        "who has registered as a worker of the queue";
};

/// Tasks are picked by priority (1 first), then by age.
const QUEUE: Listing = Listing {
    states: &QUEUE_STATES,
    needs: QueueTask::dependencies.name(),
    facet: queue_facet,
    hold: queue_hold,
    timed: |task| task.string(QueueTask::next_retry_at.name()).is_some(),
    ended: Some(|task| task::ended(task.string(QueueTask::completed_at.name()).as_deref())),
    marking: Some(Marking {
        kin: |task| {
            let context = task.object(QueueTask::context.name());
            marks::kin(&task.strings(QueueTask::required_capabilities.name()), &files_in(context.as_ref()))
        },
        all: |task| {
            let context = task.object(QueueTask::context.name());
            let (needs, files) =
                (task.strings(QueueTask::required_capabilities.name()), files_in(context.as_ref()));
            marks::all(&texts(&needs), &texts(&files))
        },
    }),
};

fn files_in(context: Option<&Raw>) -> Vec<Cow<'_, str>> {
    context.map(|context| context.strings(TaskContext::files.name())).unwrap_or_default()
}

fn texts<'t>(texts: &'t [Cow<'_, str>]) -> Vec<&'t str> {
    texts.iter().map(|text| &**text).collect()
}

const QUEUE_STATES: [State; 8] = [
    State { word: "created", stage: Stage::Waiting },
    State { word: "available", stage: Stage::Ready },
    State { word: "claimed", stage: Stage::Active },
    State { word: "in_progress", stage: Stage::Active },
    State { word: "done", stage: Stage::Done },
    State { word: "failed", stage: Stage::Failed },
    State { word: "cancelled", stage: Stage::Out },
    // No status of a task: it is open, but its id is none, so nobody gets it until somebody has looked at it.
    State { word: UNFIT, stage: Stage::Failed },
];

/// How an open task counts that is never handed out, as its id is none.
pub const UNFIT: &str = "unfit";

fn queue_facet(task: &Raw) -> Option<Facet<'_>> {
    let (id, status) = (task.string(QueueTask::id.name())?, task.string(QueueTask::status.name())?);
    let unfit = QUEUE_STATES.len() - 1;
    let state = QUEUE_STATES[..unfit].iter().position(|state| state.word == status)?;
    let is_open = matches!(QUEUE_STATES[state].stage, Stage::Waiting | Stage::Ready);
    Some(Facet {
        state: if is_open && !ids::is_sound(&id) { unfit } else { state },
        id,
        class: task.number(QueueTask::priority.name()).map_or(PRIORITY, |number| number as i64),
        age: task::came(task.string(QueueTask::created_at.name()).as_deref()),
        needs: task.strings(QUEUE.needs),
    })
}

/// A claimed task is due when its lease is over, keeps its files from others, and keeps whoever has it busy.
fn queue_hold(task: &Raw) -> Hold {
    let mut keys = files::occupied(&texts(&files_in(task.object(QueueTask::context.name()).as_ref())));
    let holder =
        task.string(QueueTask::session_id.name()).or_else(|| task.string(QueueTask::claimed_by.name()));
    if let (Some(keys), Some(holder)) = (&mut keys, holder) {
        keys.push(files::holder(&holder));
    }
    Hold { due: task.object(QueueTask::lease.name()).and_then(|lease| lease_due(&lease)), keys }
}

fn lease_due(lease: &Raw) -> Option<Due> {
    let expires = time::read(&lease.string(Lease::expires_at.name())?)?.as_millisecond();
    let clock = lease.object(Lease::clock.name()).and_then(|clock| {
        let began = time::read(&clock.string(LeaseClock::began.name())?)?;
        Some(Due {
            clock: time::clock_of(&clock.string(LeaseClock::boot.name())?),
            at: expires - began.as_millisecond(),
        })
    });
    Some(clock.unwrap_or(Due { clock: 0, at: expires }))
}

/// Messages are read by priority, then in the order of their arrival.
const MAILBOX: Listing = Listing {
    states: &MAILBOX_STATES,
    needs: "needs",
    facet: mailbox_facet,
    hold: |_| Hold::default(),
    timed: |_| false,
    ended: None,
    marking: None,
};

const MAILBOX_STATES: [State; 4] = [
    State { word: "unread", stage: Stage::Ready },
    State { word: "read", stage: Stage::Done },
    State { word: "processed", stage: Stage::Out },
    State { word: "expired", stage: Stage::Out },
];

fn mailbox_facet(note: &Raw) -> Option<Facet<'_>> {
    let status = note.string(MessageNote::status.name())?;
    Some(Facet {
        id: note.string(MessageNote::id.name())?,
        state: MAILBOX_STATES.iter().position(|state| state.word == status)?,
        class: message::urgency(note.string(MessageNote::priority.name()).as_deref()),
        age: 0,
        needs: Vec::new(),
    })
}

fn default_config(_: &Doc, now: Timestamp) -> Value {
    json!({
        "version": "2.0.0",
        "updated_at": time::stamp(now),
        "global": {
            "default_project": null, "max_parallel_agents": 5, "session_timeout": 3600, "state_sync_interval": 5000
        },
        "features": {
            "enable_orchestration": true, "enable_state_sharing": true,
            "enable_message_passing": true, "enable_auto_recovery": true
        },
        "paths": {
            "shared_state": "~/.claude/orchestration", "session_state": "~/.claude/sessions",
            "scripts": "~/.claude/scripts", "locks": "~/.claude/orchestration/locks"
        }
    })
}

fn default_session(doc: &Doc, now: Timestamp) -> Value {
    json!({
        "session_id": doc.owner_id(), "project_id": null, "created_at": time::stamp(now),
        "last_heartbeat": time::stamp(now), "status": "active", "context": {}, "agents": []
    })
}

fn default_pm_state(_: &Doc, now: Timestamp) -> Value {
    json!({
        "session_id": format!("v4_{}", time::compact(now)), "mode": "simple", "original_requirements": "",
        "all_tasks": [], "task_groups": [], "execution_phases": [], "completed_groups": [],
        "in_progress_groups": [], "pending_groups": [], "iteration": 0, "last_update": time::stamp(now)
    })
}

fn default_orchestrator_state(_: &Doc, now: Timestamp) -> Value {
    json!({
        "session_id": format!("v4_{}", time::compact(now)), "current_phase": "initialization", "active_agents": [],
        "iteration": 0, "total_spawns": 0, "decisions_log": [], "status": "running",
        "start_time": time::stamp(now), "end_time": null, "last_update": time::stamp(now)
    })
}

fn default_current_session(_: &Doc, now: Timestamp) -> Value {
    json!({
        "session_id": "unknown", "started": time::stamp(now), "hooks_version": "3.0", "commands_executed": [],
        "agents_spawned": 0, "files_modified": [], "errors_encountered": 0, "errors_recovered": 0
    })
}

fn default_task_graph(_: &Doc, now: Timestamp) -> Value {
    json!({
        "workflow_id": format!("wf_{}", time::compact(now)), "status": "pending", "current_wave": 0,
        "execution_plan": {"total_waves": 0, "waves": []}, "phase_status": {}, "compliance_log": []
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::path::Segment;

    /// Checks that a shape knows every field of a value.
    fn all_known(kind: &str, shape: &Shape, value: &Value) {
        let Value::Object(map) = value else { return };
        for (name, value) in map {
            let known = shape.at(&[Segment::Key(name.clone())]);
            all_known(kind, known.unwrap_or_else(|| panic!("{kind}: nobody knows `{name}`")), value);
        }
    }

    #[test]
    fn defaults_have_only_known_fields() {
        for kind in KINDS {
            let room = kind.room().unwrap_or(Room::Shared);
            let value = Doc::shared(kind, room).default(Timestamp::UNIX_EPOCH);
            all_known(kind.name, kind.shape, &value);
        }
    }

    #[test]
    fn every_default_document_is_valid() {
        let key: Key = "k1".parse().unwrap();
        for kind in KINDS {
            let doc = match kind.scope {
                Scope::Project => Doc::of_project(kind, "p1".parse().unwrap()),
                Scope::Session => Doc::of_session(kind, "s1".parse().unwrap()),
                Scope::Mailbox => Doc::of_mailbox(kind, "s1".parse().unwrap()),
                Scope::Agent | Scope::Moment => Doc::of_key(kind, &key),
                _ => Doc::shared(kind, kind.room().unwrap()),
            };
            let value = doc.default(Timestamp::UNIX_EPOCH);
            assert_eq!(kind.shape.check(&value), Ok(()), "{}", kind.name);
            assert_eq!(Doc::named(&doc.room, &doc.to_string()), Some(doc));
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KINDS.len());
    }
}
