//! The workflow of a project: made, started, reported on phase by phase.
//!
//! A change to the workflow, its task graph and the Markdown view are one commit. A workflow that makes room for the
//! next one is kept beside it. Whose it is, and what its agents do: [`hands`].

pub mod hands;
mod transaction;

use serde_json::Value;

pub use self::transaction::WorkflowChanged;
use self::transaction::{WorkflowTransaction, doc, none};
use super::{Actor, Error, Result};
use crate::hint;
use crate::model::documents::workflow::{Phase, Workflow};
use crate::model::flow::{self, Flow, NewPhase, Refusal, Report, WorkflowStatus, phase_id};
use crate::model::ids::Key;
use crate::model::next::{Next, See, With};
use crate::model::redact::redact;
use crate::model::{json, plan};
use crate::store::Engine;

/// A workflow as somebody wants it.
#[derive(Debug)]
pub struct NewWorkflow {
    pub id: Option<Key>,
    pub task: String,
    pub phases: Vec<NewPhase>,
    /// Whether it may take the place of one that is not completed.
    pub replace: bool,
}

/// Makes a workflow. The same one under the same id is no second one.
pub fn create(
    engine: &dyn Engine,
    new: &NewWorkflow,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<WorkflowChanged> {
    let mut phases = new.phases.clone();
    check_new(new)?;
    let waves = flow::order(&mut phases).map_err(|stuck| {
        let ids: Vec<String> = stuck.into_iter().map(phase_id).collect();
        Error::Input(format!("phases wait for each other in a circle: {}", ids.join(", ")))
    })?;
    let mut tx = WorkflowTransaction::open(engine, expect, actor)?;
    let made = |id: &str| Flow::new(id, &new.task, &phases, &waves);
    if let (Some(id), Some(known)) = (&new.id, &tx.before)
        && known.id() == id.as_str()
    {
        if !is_same(known, &made(id.as_str())) {
            return Err(Error::clash(
                format!("there is another workflow `{id}` already"),
                hint![
                    "see it: ",
                    See::Workflow,
                    "\nchoose another ",
                    With::Id,
                    ", or leave it out to get a new one",
                ],
            ));
        }
        let known = known.clone();
        return tx.finish(known, "workflow create", actor);
    }
    if let Some(known) = tx.before.clone() {
        if known.status() != WorkflowStatus::Completed && !new.replace {
            return Err(unfinished(&known));
        }
        tx.archive(&known)?;
    }
    let id = match &new.id {
        Some(id) => id.to_string(),
        None => tx.free_id()?,
    };
    let mut flow = made(&id);
    actor.session.iter().for_each(|session| flow.belong_to(session));
    tx.finish(flow, "workflow create", actor)
}

/// Whether a stored workflow is the one that is asked for, however far it is.
fn is_same(known: &Flow, new: &Flow) -> bool {
    let texts = |flow: &Flow| {
        let phase = |phase: &Value| {
            let fields = [Phase::id.any(), Phase::title.any(), Phase::agent.any(), Phase::handover.any()];
            fields.map(|field| phase[field].clone())
        };
        (flow.workflow[Workflow::task].clone(), flow.phases().iter().map(phase).collect::<Vec<_>>())
    };
    texts(known) == texts(new) && known.waves() == new.waves()
}

fn check_new(new: &NewWorkflow) -> Result<()> {
    check_text("task", &new.task)?;
    for phase in &new.phases {
        check_text("title of a phase", &phase.title)?;
        check_text("agent of a phase", &phase.agent)?;
    }
    match new.phases.is_empty() {
        true => Err(Error::Input("a workflow needs a phase at least".into())),
        false => Ok(()),
    }
}

fn unfinished(known: &Flow) -> Error {
    let id = known.id();
    Error::refused(
        format!("the workflow `{id}` is {}, not completed", plan::word(known.status())),
        hint![
            "see it: ",
            See::Workflow,
            "\nor put it aside with ",
            With::Replace,
            ": it is kept in workflow_archive",
        ],
    )
}

/// Lets everything begin that waits for nothing. The session that starts a workflow of nobody takes it.
pub fn start(engine: &dyn Engine, expect: Option<u64>, actor: &Actor) -> Result<WorkflowChanged> {
    let mut tx = WorkflowTransaction::open(engine, expect, actor)?;
    let mut flow = tx.workflow(engine)?;
    hands::take_up(engine, &mut flow, actor)?;
    flow.start(tx.now).map_err(|refusal| refused(&refusal))?;
    tx.finish(flow, "workflow start", actor)
}

/// Takes over what somebody reports of a phase.
pub fn report(
    engine: &dyn Engine,
    id: &str,
    status: WorkflowStatus,
    report: &Report,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<WorkflowChanged> {
    report.deliverables.iter().try_for_each(|deliverable| check_text("deliverable", deliverable))?;
    if let Some(context) = &report.context {
        json::check_input(&context.as_str().into()).map_err(Error::Input)?;
    }
    let mut tx = WorkflowTransaction::open(engine, expect, actor)?;
    let mut flow = tx.workflow(engine)?;
    let report = Report {
        deliverables: report.deliverables.iter().map(|text| redact(text).into_owned()).collect(),
        context: report.context.as_deref().map(|text| redact(text).into_owned()),
        assumed: report.assumed,
        changed: None,
    };
    flow.report(id, status, &report, tx.now).map_err(|refusal| refused(&refusal))?;
    tx.finish(flow, "workflow phase", actor)
}

/// Returns the workflow and the order of its phases.
pub fn show(engine: &dyn Engine) -> Result<Flow> {
    find(engine)?.ok_or_else(|| none(engine))
}

/// The same, for those who need not know why there is none: to tell that, all of the history is looked through.
pub fn find(engine: &dyn Engine) -> Result<Option<Flow>> {
    let workflow = doc("workflow");
    if engine.is_absent(&workflow) {
        return Ok(None);
    }
    let Some(workflow) = engine.read(&workflow)? else { return Ok(None) };
    let graph = engine.read(&doc("task_graph"))?;
    Ok(Some(Flow::of(workflow.value, graph.map(|graph| graph.value))))
}

fn refused(refusal: &Refusal) -> Error {
    let phase = |id: &str, to| Next::MovePhase { id: id.into(), to };
    let hint = match refusal {
        Refusal::NoPhase { .. } => {
            return Error::missing(refusal.to_string(), hint!["see them: ", See::Workflow]);
        }
        Refusal::Wrong { id, from, .. } => match from.as_str() {
            "pending" => hint!["start it first: ", phase(id, "active")],
            "active" => hint!["say how it ended: ", phase(id, "completed"), " (or failed)"],
            "failed" => hint!["try it again first: ", phase(id, "active")],
            _ => hint!["what is completed stays so; for more work: ", Next::MakeWorkflow { phases: 0 }],
        },
        Refusal::Waits { .. } => hint!["see what runs: ", See::WorkflowGraph],
        Refusal::Failed { failed } => hint!["try it again: ", phase(failed, "active")],
        Refusal::Over => hint!["make the next one: ", Next::MakeWorkflow { phases: 1 }],
        Refusal::OddId { .. } => hint!["see where it stands: ", See::Flaws("workflow")],
        Refusal::Stuck => hint!["see what waits for what: ", See::WorkflowGraph],
    };
    Error::refused(refusal.to_string(), hint)
}

/// Refuses a text that says nothing, or too much.
fn check_text(what: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::Input(format!("the {what} is blank")));
    }
    json::check_input(&text.into()).map_err(Error::Input)
}
