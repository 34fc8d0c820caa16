use anthill_core::api::queue::lead::CancelTask;
use clap::Args;

use super::report;
use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_id;

/// Take a task out of the work
///
/// Tasks that depend on it stay waiting. A worker that has it is refused when it reports.
///
/// Example:
///   anthill leader cancel task-20260119200002-zzzz
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CancelArgs {
    /// The task
    id: String,
}

pub fn run(context: &Context<'_>, args: &CancelArgs) -> Result<()> {
    let request = CancelTask { id: parse_id(&args.id)? };
    context.perform(request, |task| report::tell(context, "Cancelled", task))
}
