//! Workflows: a task in phases.

mod adopt;
mod create;
mod graph;
mod phase;
mod report;
mod show;
mod start;
mod todos;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

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
