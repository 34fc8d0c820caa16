use anthill_core::model::ids::Key;
use anthill_core::model::task::{Task, word};
use anthill_core::ops::queue::revise;
use clap::Args;

use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::output::Format;

/// Take tasks out of the queue, with their results
///
/// For a task that is not wanted any more `cancel` is enough; this is for one that should never have
/// been there. Refused while somebody is at work on it, or another task waits for it.
///
/// Examples:
///   anthill leader remove typo
///   anthill leader remove old-1 old-2 --dry-run       # shows what would go
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RemoveArgs {
    /// The tasks
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Only show what would go
    #[arg(long)]
    dry_run: bool,
}

pub fn run(context: &Context<'_>, args: &RemoveArgs) -> Result<()> {
    let ids = args.ids.iter().map(|id| parse_id(id)).collect::<Result<Vec<Key>>>()?;
    let tasks = revise::remove(&*context.engine, &ids, args.dry_run, &context.actor)?;
    if context.output.json {
        let tasks = tasks.into_iter().map(Task::into_value).collect();
        return context.output.changed(&tasks, Format::Json);
    }
    let what = if args.dry_run { "Would remove" } else { "Removed" };
    let line = |task: &Task| format!("{what} ({}): {}", word(task.status()), task.id());
    context.output.said(&tasks.iter().map(line).collect::<Vec<_>>().join("\n"))
}
