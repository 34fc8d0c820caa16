use anthill_core::api::agent_loop::ResetLoop;
use clap::Args;

use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::sentence::text;

/// Remove the loop: its items, results, view and logs
///
/// With --json it prints what was removed, `null` if there was nothing.
///
/// Examples:
///   anthill loop reset
///   anthill undo work_queue        # take it back
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ResetArgs {
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &ResetArgs) -> Result<()> {
    let request = ResetLoop { expect_revision: args.expect.expect_revision };
    context.perform(request, |known| {
        if known.value.is_null() {
            context.output.status("there is no loop to remove");
            return Ok(());
        }
        context.output.print(&format!("Removed the loop: {}", text(&known.value, "task")))?;
        context.output.status("take it back: anthill undo work_queue");
        Ok(())
    })
}
