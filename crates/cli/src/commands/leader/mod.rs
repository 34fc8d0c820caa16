//! The leader's side of the queue.

pub(super) mod add_task;
mod aggregate;
mod cancel;
pub(super) mod edit;
mod explain;
mod graph;
mod import;
mod init;
pub(super) mod list;
mod note;
mod remove;
mod reset;
mod retry;
pub(super) mod show;
mod split;
pub(super) mod status;

use anthill_core::api::queue::TaskList;
use anthill_core::api::{Request, Stored};
use anthill_core::model::documents::queue::QueueTask;
use anthill_core::model::ids::Key;
use anthill_core::model::task::{Task, word};
use clap::Subcommand;

use crate::context::{Context, parse_id};
use crate::direct::one;
use crate::error::Result;
use crate::start::ExitCode;

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

/// Runs the commands that are worth a parser of their own.
pub fn direct(verb: &str, rest: &[String]) -> Option<ExitCode> {
    match verb {
        "add-task" => one(rest, add_task::run),
        "status" => one(rest, status::run),
        _ => None,
    }
}

fn parse_ids(ids: &[String]) -> Result<Vec<Key>> {
    ids.iter().map(|id| parse_id(id)).collect()
}

/// Performs a request about several tasks and tells what each of them is now. As JSON, one that was named alone stands alone.
fn report_all<R: Request<Answer = TaskList>>(
    context: &Context<'_>,
    what: &str,
    ids: &[String],
    request: impl Fn(&[String]) -> Result<R>,
) -> Result<()> {
    let done = context.on_tasks(ids, request)?;
    if let (1, [task]) = (ids.len(), done.items()) {
        let alone = Stored::<QueueTask>::new(task.clone()).warned(done.warnings.clone());
        return context
            .told(&alone, R::EFFECT, |alone| report(context, what, &Task::of(alone.value.clone())));
    }
    context.told(&done, R::EFFECT, |done| {
        done.items().iter().try_for_each(|task| report(context, what, &Task::of(task.clone())))
    })
}

/// Tells what a task is now.
fn report(context: &Context<'_>, what: &str, task: &Task) -> Result<()> {
    context.output.said(&format!("{what} ({}): {}", word(task.status()), task.id()))
}
