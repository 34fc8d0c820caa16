use anthill_core::api::queue::lead::RetryTask;
use anthill_core::api::request::Seconds;
use clap::Args;

use super::report;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{parse_id, span};

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
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    after: Option<Seconds>,
}

pub fn run(context: &Context<'_>, args: &RetryArgs) -> Result<()> {
    let request = RetryTask { id: parse_id(&args.id)?, after: args.after };
    context.perform(request, |task| report::tell(context, "To be tried again", task))
}
