use anthill_core::api::queue::look::ShowTask;
use anthill_core::view::task;
use anthill_live::board::left;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_id;

/// Show everything about one task
///
/// Its words, how it stands and why, parts, what it waits for and what waits for it, attempts, notes,
/// result, and the last commits that changed it.
///
/// Examples:
///   anthill leader show parser
///   anthill leader show parser --json | jq .waits_for
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ShowArgs {
    /// The task
    id: String,
}

pub fn run(context: &Context<'_>, args: &ShowArgs) -> Result<()> {
    show(context, &args.id)
}

/// Shows the task that is named so.
pub fn show(context: &Context<'_>, id: &str) -> Result<()> {
    let shown = context.on_tasks(&[id.to_owned()], |ids| Ok(ShowTask { id: parse_id(&ids[0])? }))?;
    context.answer::<ShowTask>(&shown, |shown| {
        let now = context.actor.clock.moment();
        let task = &shown.explained.task;
        let why: Vec<_> = shown.explained.reasons.iter().map(|reason| reason.text.clone()).collect();
        let left = left(&now)(task.value());
        context.output.lines(&task::sheet(task, &shown.around, &why, now.at, left, context.output.width()))
    })
}
