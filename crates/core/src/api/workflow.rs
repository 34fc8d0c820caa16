//! Workflows: a task in phases.

use serde_json::Value;

use super::request::{Chosen, data, request};
use super::{Caller, Request, Stored, answers};
use crate::model::documents::{TaskGraph, Workflow};
use crate::model::flow::{Flow, NewPhase, Report, WorkflowStatus, phase_id};
use crate::model::ids::Key;
use crate::ops::workflow::{self, NewWorkflow, WorkflowChanged, hands};
use crate::ops::{Error, Result};
use crate::view::workflow::{tasks, todos};

data!(
    /// A phase of a new workflow.
    PhasePlan {
        /// What is done in it.
        title: String,
        /// The agent that does it.
        agent: String,
        /// The phases that it waits for, such as `phase_0`; the one before it unless told.
        depends_on: Option<Vec<String>>,
        /// What it works on: files, directories or patterns.
        files: Vec<String>,
        /// Its agent is asked for a report before it stops, once.
        handover: bool,
    }
);

request!(
    /// Create a workflow: a task in phases, each done by an agent.
    CreateWorkflow("workflow.create", Changes, "workflow create", r#"{"task": "Calculator", "phases": [{"title": "Create", "agent": "general"}, {"title": "Test", "agent": "verifier"}]}"#) {
        /// The request, word for word.
        task: String,
        /// The phases, in order.
        phases: Vec<PhasePlan>,
        /// Phases wait only for what they say.
        parallel: bool,
        /// The workflow's id; `wf_` and the time unless told.
        id: Option<Chosen<Key>>,
        /// Put a workflow aside that is not completed.
        replace: bool,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

answers! {
    WorkflowChanged: Workflow, done => &done.flow.workflow, warns &done.warnings;
    Flow: Workflow, flow => &flow.workflow;
    Adopted: Workflow, adopted => &adopted.done.flow.workflow, warns &adopted.done.warnings;
}

impl Request for CreateWorkflow {
    type Answer = WorkflowChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<WorkflowChanged> {
        let (count, parallel) = (self.phases.len(), self.parallel);
        let phase = |(place, phase): (usize, PhasePlan)| -> Result<NewPhase> {
            let before = if parallel { None } else { place.checked_sub(1) };
            let depends_on = match phase.depends_on {
                None => before.into_iter().collect(),
                Some(ids) => places(&ids, count)?,
            };
            let PhasePlan { title, agent, files, handover, .. } = phase;
            Ok(NewPhase { title, agent, depends_on, files, handover })
        };
        let phases = self.phases.into_iter().enumerate().map(phase).collect::<Result<_>>()?;
        let id = self.id.map(|Chosen(id)| id);
        let new = NewWorkflow { id, task: caller.told(self.task), phases, replace: self.replace };
        workflow::create(caller.engine, &new, self.expect_revision, caller.actor)
    }
}

fn places(ids: &[String], count: usize) -> Result<Vec<usize>> {
    let mut places = Vec::new();
    for id in ids {
        let place = place(id, count)?;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
}

/// Returns the place of a phase among so many.
pub fn place(id: &str, count: usize) -> Result<usize> {
    let place = (0..count).find(|place| phase_id(*place) == id);
    let last = phase_id(count.saturating_sub(1));
    place.ok_or_else(|| Error::Input(format!("there is no phase `{id}`; they are phase_0 to {last}")))
}

request!(
    /// Start the phases of a workflow that wait for nothing.
    StartWorkflow("workflow.start", Changes, "workflow start", "{}") {
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for StartWorkflow {
    type Answer = WorkflowChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<WorkflowChanged> {
        workflow::start(caller.engine, self.expect_revision, caller.actor)
    }
}

request!(
    /// Say how far a phase is; those that waited for it follow.
    ReportPhase("workflow.phase", Changes, "workflow phase", r#"{"id": "phase_0", "status": "completed", "deliverables": ["calculator.js"]}"#) {
        /// The phase, such as phase_0.
        id: String,
        /// How far it is.
        status: WorkflowStatus,
        /// Files or outcomes.
        deliverables: Vec<String>,
        /// What the following phases should know, or why it failed.
        context: Option<String>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for ReportPhase {
    type Answer = WorkflowChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<WorkflowChanged> {
        let said = Report { deliverables: self.deliverables, context: self.context, ..Report::default() };
        workflow::report(caller.engine, &self.id, self.status, &said, self.expect_revision, caller.actor)
    }
}

request!(
    /// Show the workflow as it is stored.
    ShowWorkflow("workflow.show", Reads, "workflow show", "{}") {}
);

impl Request for ShowWorkflow {
    type Answer = Flow;

    fn perform(self, caller: &Caller<'_>) -> Result<Flow> {
        workflow::show(caller.engine)
    }
}

request!(
    /// Take over a workflow whose session is over.
    AdoptWorkflow("workflow.adopt", Changes, "workflow adopt", "{}") {
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

/// A workflow that was taken over, and whose it was.
#[derive(Debug)]
pub struct Adopted {
    pub done: WorkflowChanged,
    pub before: Option<String>,
}

impl Request for AdoptWorkflow {
    type Answer = Adopted;

    fn perform(self, caller: &Caller<'_>) -> Result<Adopted> {
        let (done, before) = hands::adopt(caller.engine, self.expect_revision, caller.actor)?;
        Ok(Adopted { done, before })
    }
}

request!(
    /// Return the phases as a list of todos, for an agent's own list.
    ListTodos("workflow.todos", Reads, "workflow todos", "{}") {
        /// For `TaskCreate` and `TaskUpdate`.
        tasks: bool,
    }
);

impl Request for ListTodos {
    type Answer = Stored<Value>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Value>> {
        let flow = workflow::show(caller.engine)?;
        Ok(Stored::new(if self.tasks { tasks(&flow) } else { todos(&flow) }))
    }
}

request!(
    /// Show which phases run at the same time, in waves.
    DrawWorkflow("workflow.graph", Reads, "workflow graph", "{}") {}
);

/// A workflow of which the graph is wanted.
#[derive(Debug)]
pub struct Graph(pub Flow);

answers! {
    Graph: TaskGraph, graph => &graph.0.graph;
}

impl Request for DrawWorkflow {
    type Answer = Graph;

    fn perform(self, caller: &Caller<'_>) -> Result<Graph> {
        workflow::show(caller.engine).map(Graph)
    }
}
