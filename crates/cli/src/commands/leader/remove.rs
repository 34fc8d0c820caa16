use anthill_core::api::queue::lead::RemoveTasks;
use anthill_core::model::task::{Task, word};
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_ids;

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
    let request = |ids: &[String]| Ok(RemoveTasks { ids: parse_ids(ids)?, dry_run: args.dry_run });
    let removed = context.on_tasks(&args.ids, request)?;
    context.answer::<RemoveTasks>(&removed, |removed| {
        let what = if args.dry_run { "Would remove" } else { "Removed" };
        let tasks = removed.items().iter().cloned().map(Task::of);
        let lines = tasks.map(|task| format!("{what} ({}): {}", word(task.status()), task.id()));
        context.output.print(&lines.collect::<Vec<_>>().join("\n"))
    })
}
