use anthill_core::api::queue::look::ShowTask;
use anthill_core::view::task;
use anthill_live::board::left;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_id;

/// Show everything about one task
///
/// Its words, how it stands and why, what it waits for and what waits for it, attempts, notes, result.
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
    context.perform(ShowTask { id: parse_id(&args.id)? }, |shown| {
        let now = context.actor.clock.moment();
        let task = &shown.explained.task;
        let why: Vec<_> = shown.explained.reasons.iter().map(|reason| reason.text.clone()).collect();
        let left = left(&now)(task.value());
        context.output.lines(&task::sheet(task, &shown.around, &why, now.at, left, context.output.width()))
    })
}
