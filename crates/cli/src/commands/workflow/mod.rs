//! Workflows: a task in phases.

mod adopt;
mod create;
mod graph;
mod phase;
mod show;
mod start;
mod todos;

use anthill_core::model::flow::{Flow, WorkflowStatus, standing};
use anthill_core::ops::workflow::WorkflowChanged;
use anthill_core::view::shell;
use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;
use crate::output::shorten;
use crate::planning::text;

/// Work in phases: create a workflow, report its phases, see how far it is
///
/// Completing a phase starts those that waited for it and hands its context on to them. Every change
/// also writes `.claude/workflow_state_system.md`, a view for people. A workflow belongs to the
/// session that created it; another one takes it over with `adopt`.
///
/// Examples:
///   anthill workflow create "Build a calculator with tests" \
///       --phase "Create module=general-purpose" --phase "Test=verifier"
///   anthill workflow start
///   anthill workflow phase phase_0 --status completed --deliverable src/calc.py \
///       --context "four functions in src/calc.py"
///   anthill workflow show
///   anthill workflow todos
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Workflow {
    Create(create::CreateArgs),
    Start(start::StartArgs),
    Phase(phase::PhaseArgs),
    Show(show::ShowArgs),
    Adopt(adopt::AdoptArgs),
    Todos(todos::TodosArgs),
    Graph(graph::GraphArgs),
}

pub fn run(context: &Context<'_>, command: &Workflow) -> Result<()> {
    match command {
        Workflow::Create(args) => create::run(context, args),
        Workflow::Start(args) => start::run(context, args),
        Workflow::Phase(args) => phase::run(context, args),
        Workflow::Show(_) => show::run(context),
        Workflow::Adopt(args) => adopt::run(context, args),
        Workflow::Todos(args) => todos::run(context, args),
        Workflow::Graph(_) => graph::run(context),
    }
}

/// Tells what was done, and what runs now.
fn report(context: &Context<'_>, done: &WorkflowChanged, (what, id): (&str, &str)) -> Result<()> {
    let what = if done.changed { what } else { "Unchanged" };
    context.output.said(&format!("{what}: {id}"))?;
    if let Some(file) = &done.archived {
        context.output.status(&format!("the workflow before it is kept: {file}"));
    }
    next_lines(&done.flow).iter().for_each(|line| context.output.status(line));
    Ok(())
}

/// Returns what can be typed next.
fn next_lines(flow: &Flow) -> Vec<String> {
    let phases = |wanted: WorkflowStatus| flow.phases().iter().filter(move |phase| standing(phase) == wanted);
    let command =
        |id: &str, status: &str| format!("anthill workflow phase {} --status {status}", shell::word(id));
    let mut lines: Vec<String> = phases(WorkflowStatus::Active)
        .map(|phase| {
            let (id, agent) = (text(phase, "id"), one_line(text(phase, "agent")));
            format!("running: {id} by {agent}: {}", one_line(text(phase, "title")))
        })
        .collect();
    let ids = |wanted| phases(wanted).map(|phase| text(phase, "id"));
    lines.extend(match flow.status() {
        WorkflowStatus::Completed => vec!["the workflow is completed".into()],
        WorkflowStatus::Failed => {
            ids(WorkflowStatus::Failed).map(|id| format!("to retry: {}", command(id, "active"))).collect()
        }
        _ => match ids(WorkflowStatus::Active).next() {
            Some(id) => vec![format!("next: {} --deliverable D --context T", command(id, "completed"))],
            None => vec!["next: anthill workflow start".into()],
        },
    });
    lines
}

fn one_line(text: &str) -> String {
    shorten(&text.replace(['\n', '\r', '\t'], " "), 80)
}

/// Returns the word for what became of a phase.
fn became(status: WorkflowStatus) -> &'static str {
    match status {
        WorkflowStatus::Pending => "Put back",
        WorkflowStatus::Active => "Started",
        WorkflowStatus::Completed => "Completed",
        WorkflowStatus::Failed => "Failed",
    }
}
