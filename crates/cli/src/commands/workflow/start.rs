use anthill_core::api::workflow::StartWorkflow;
use clap::Args;

use super::report;
use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;

/// Let everything begin that waits for nothing
///
/// The first phases, and, also while others run, phases that were put back or whose agents are gone
/// with their session. Nothing else changes in a workflow that runs.
///
/// Examples:
///   anthill workflow start
///   anthill workflow start --json | jq -r .current_phase
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StartArgs {
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &StartArgs) -> Result<()> {
    let request = StartWorkflow { expect_revision: args.expect.expect_revision };
    context.perform(request, |done| report::tell(context, done, ("Started", done.flow.id())))
}
