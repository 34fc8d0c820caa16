//! The leader's side of the queue.

pub(super) mod add_task;
mod aggregate;
mod cancel;
pub(super) mod edit;
mod graph;
mod import;
mod init;
pub(super) mod list;
mod note;
mod remove;
mod report;
mod reset;
mod retry;
pub(super) mod show;
mod split;
pub(super) mod status;

use clap::Subcommand;

use super::explain;
use crate::context::Context;
use crate::direct::one;
use crate::error::Result;
use crate::process::ExitCode;

/// Plan work: add tasks, follow them, put the results together
///
/// Examples:
///   anthill leader init "Build a REST API for user management"
///   anthill leader add-task "Create the User model" -p 1 --files src/models/ --hints "Use Prisma"
///   anthill leader add-task "Registration endpoint" --depends TASK-ID OTHER-ID
///   anthill leader status --watch
///   anthill leader aggregate
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Leader {
    Init(init::InitArgs),
    AddTask(add_task::AddTaskArgs),
    Import(import::ImportArgs),
    Status(status::StatusArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Graph(graph::GraphArgs),
    Explain(explain::ExplainArgs),
    Edit(edit::EditArgs),
    Split(split::SplitArgs),
    Note(note::NoteArgs),
    Remove(remove::RemoveArgs),
    Retry(retry::RetryArgs),
    Reset(reset::ResetArgs),
    Cancel(cancel::CancelArgs),
    Aggregate(aggregate::AggregateArgs),
}

pub fn run(context: &Context<'_>, command: &Leader) -> Result<()> {
    match command {
        Leader::Init(args) => init::run(context, args),
        Leader::AddTask(args) => add_task::run(context, args),
        Leader::Import(args) => import::run(context, args),
        Leader::Status(args) => status::run(context, args),
        Leader::List(args) => list::run(context, args),
        Leader::Show(args) => show::run(context, args),
        Leader::Graph(args) => graph::run(context, args),
        Leader::Explain(args) => explain::run(context, args),
        Leader::Edit(args) => edit::run(context, args),
        Leader::Split(args) => split::run(context, args),
        Leader::Note(args) => note::run(context, args),
        Leader::Remove(args) => remove::run(context, args),
        Leader::Retry(args) => retry::run(context, args),
        Leader::Reset(args) => reset::run(context, args),
        Leader::Cancel(args) => cancel::run(context, args),
        Leader::Aggregate(args) => aggregate::run(context, args),
    }
}

/// Runs the hot commands, which need no clap.
pub fn direct(verb: &str, rest: &[String]) -> Option<ExitCode> {
    match verb {
        "add-task" => one(rest, add_task::run),
        "status" => one(rest, status::run),
        _ => None,
    }
}
