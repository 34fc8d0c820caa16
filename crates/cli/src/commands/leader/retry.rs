use anthill_core::ops::queue::lead;
use clap::Args;

use super::report;
use crate::args::seconds;
use crate::context::{Context, parse_id};
use crate::error::Result;

/// Let a failed task be tried again
///
/// Examples:
///   anthill leader retry task-20260119200002-zzzz
///   anthill leader retry task-20260119200002-zzzz --after 30     # not before 30 seconds have passed
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RetryArgs {
    /// The task
    id: String,
    /// Wait this long before it is given out again
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    after: Option<f64>,
}

pub fn run(context: &Context<'_>, args: &RetryArgs) -> Result<()> {
    let task = lead::retry(&*context.engine, &parse_id(&args.id)?, args.after, &context.actor)?;
    report(context, "To be tried again", &task)
}
