//! The workflow of a project: made, started, reported on phase by phase.
//!
//! A change to the workflow, its task graph and the Markdown view are one commit. A workflow that makes room for the
//! next one is kept beside it. Whose it is, and what its agents do: [`hands`].

pub mod hands;

use jiff::Timestamp;
use serde_json::Value;

use super::edit::Target;
use super::{Actor, Error, Result, document_of_state, read};
use crate::hint;
use crate::model::documents::workflow::{Phase, Workflow};
use crate::model::flow::{self, Flow, NewPhase, Refusal, Report, WorkflowStatus, phase_id};
use crate::model::hint::Hint;
use crate::model::ids::Key;
use crate::model::kind::Doc;
use crate::model::next::{Next, See, With};
use crate::model::redact::redact;
use crate::model::text_file::TextFile;
use crate::model::{json, plan, time};
use crate::store::{Engine, Kept, Transaction};
use crate::view;

/// A workflow as somebody wants it.
#[derive(Debug)]
pub struct NewWorkflow {
    pub id: Option<Key>,
    pub task: String,
    pub phases: Vec<NewPhase>,
    /// Whether it may take the place of one that is not completed.
    pub replace: bool,
}

/// What a use case did.
#[derive(Debug)]
pub struct WorkflowChanged {
    /// The workflow as it is stored now.
    pub flow: Flow,
    /// Whether anything changed.
    pub changed: bool,
    /// The file that keeps the workflow that was there before.
    pub archived: Option<String>,
    pub warnings: Vec<Hint>,
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

/// The workflow, open for one change.
struct WorkflowTransaction<'e> {
    engine: &'e dyn Engine,
    transaction: Box<dyn Transaction + 'e>,
    now: Timestamp,
    before: Option<Flow>,
    /// The graph as it is stored.
    graph: Option<Value>,
    archived: Option<String>,
}

impl<'e> WorkflowTransaction<'e> {
    /// Waits for its turn, and refuses when the workflow has moved on.
    fn open(engine: &'e dyn Engine, expect: Option<u64>, actor: &Actor) -> Result<WorkflowTransaction<'e>> {
        let doc_of = doc("workflow");
        let mut transaction = engine.begin(&[&doc_of.room])?;
        Target::whole(&doc_of, expect).expect_revision(&mut *transaction)?;
        let workflow = transaction.get(&doc_of)?.cloned();
        let graph = transaction.get(&doc("task_graph"))?.cloned();
        let before = workflow.map(|workflow| Flow::of(workflow, graph.clone()));
        Ok(WorkflowTransaction { engine, transaction, now: actor.now(), before, graph, archived: None })
    }

    fn workflow(&mut self, engine: &dyn Engine) -> Result<Flow> {
        self.before.clone().ok_or_else(|| none(engine))
    }

    /// Returns an id that no workflow has or had.
    fn free_id(&mut self) -> Result<String> {
        let first = format!("wf_{}", time::compact(self.now));
        for number in 1.. {
            let id = if number == 1 { first.clone() } else { format!("{first}_{number}") };
            let known = self.before.as_ref().is_some_and(|before| before.id() == id);
            let key = id.parse().expect("digits make an id");
            if !known && self.transaction.text_file(&TextFile::OldWorkflow(key))?.is_none() {
                return Ok(id);
            }
        }
        unreachable!("BUG: ran out of numbers")
    }

    /// Keeps a workflow that makes room for another one.
    fn archive(&mut self, known: &Flow) -> Result<()> {
        let text = String::from_utf8(json::render(&known.workflow)).expect("BUG: JSON is text");
        // An id that somebody wrote by hand may be no name for a file.
        let name: Key = known.id().parse().unwrap_or_else(|_| "workflow".parse().expect("a word is an id"));
        for number in 1.. {
            let name = if number == 1 { name.to_string() } else { format!("{name}_{number}") };
            let Ok(key) = name.parse::<Key>() else {
                return Err(Error::Input(format!("the id `{name}` is too long")));
            };
            let text_file = TextFile::OldWorkflow(key);
            let there = self.transaction.text_file(&text_file)?;
            if there.as_ref().is_none_or(|there| *there == text) {
                self.archived = Some(self.engine.called(Kept::TextFile(&text_file)).path);
                self.transaction.write_text_file(&text_file, text)?;
                return Ok(());
            }
        }
        unreachable!("BUG: ran out of numbers")
    }

    /// Makes it happen: the workflow, its graph and the view, as far as they are others than before.
    fn finish(mut self, mut flow: Flow, op: &str, actor: &Actor) -> Result<WorkflowChanged> {
        let changed = self.before.as_ref().map(|before| &before.workflow) != Some(&flow.workflow);
        let put = put(&mut *self.transaction, self.before.as_ref(), self.graph.as_ref(), &flow)?;
        let any = put || self.archived.is_some();
        let mut warnings = Vec::new();
        if any {
            let committed = self.transaction.commit(&actor.entry(op))?;
            warnings = committed.warnings;
            for (doc, document) in committed.documents {
                match doc.kind.name {
                    "workflow" => flow.workflow = document.value,
                    _ => flow.graph = document.value,
                }
            }
        }
        Ok(WorkflowChanged { flow, changed, archived: self.archived, warnings })
    }
}

/// Writes the workflow, its graph and the view, as far as they are others than before; returns whether any was.
fn put(
    transaction: &mut dyn Transaction,
    before: Option<&Flow>,
    graph: Option<&Value>,
    flow: &Flow,
) -> Result<bool> {
    let mut any = false;
    if before.map(|before| &before.workflow) != Some(&flow.workflow) {
        transaction.put(&doc("workflow"), flow.workflow.clone())?;
        any = true;
    }
    if graph != Some(&flow.graph) {
        transaction.put(&doc("task_graph"), flow.graph.clone())?;
        any = true;
    }
    let text = view::workflow::markdown(flow);
    if transaction.text_file(&TextFile::WorkflowView)?.as_ref() != Some(&text) {
        transaction.write_text_file(&TextFile::WorkflowView, text)?;
        any = true;
    }
    Ok(any)
}

fn doc(name: &str) -> Doc {
    document_of_state(name)
}

fn none(engine: &dyn Engine) -> Error {
    let (doc, place) = (doc("workflow"), engine.place(&doc("workflow")));
    let hint = hint!["make one: ", Next::MakeWorkflow { phases: 2 }];
    Error::missing(
        format!("there is no workflow yet: `{place}` does not exist"),
        read::ways_on(engine, &doc, hint),
    )
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
