use anthill_core::api::queue::lead::ResetTask;
use clap::Args;

use super::report;
use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_id;

/// Make a task open again, whoever has it
///
/// The lease of whoever has it ends. Dead workers need no reset: their leases run out by themselves.
///
/// Examples:
///   anthill leader reset task-20260119200002-zzzz
///   anthill leader reset task-20260119200002-zzzz --force     # also when it is done
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ResetArgs {
    /// The task
    id: String,
    /// Also open a task again that is done
    #[arg(long)]
    force: bool,
}

pub fn run(context: &Context<'_>, args: &ResetArgs) -> Result<()> {
    let request = ResetTask { id: parse_id(&args.id)?, force: args.force };
    context.perform(request, |task| report::tell(context, "Reset", task))
}
