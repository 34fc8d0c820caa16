use anthill_core::model::ids::Key;
use anthill_core::ops::queue::show;
use anthill_core::view::task;
use clap::Args;

use super::status::left;
use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::output::Format;

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
    let id: Key = parse_id(&args.id)?;
    let shown = show::show(&*context.engine, id.as_str(), &context.actor)?;
    if context.output.json {
        return context.output.value(&shown.json(), Format::Json);
    }
    let now = context.actor.clock.moment();
    let task = &shown.explained.task;
    let why: Vec<_> = shown.explained.reasons.iter().map(|reason| reason.text.clone()).collect();
    let left = left(&now)(task.value());
    context.output.lines(&task::sheet(task, &shown.around, &why, now.at, left, context.output.width()))
}
