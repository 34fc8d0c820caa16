use anthill_core::api::pipeline::ExplainGroup;
use anthill_core::view::pipeline::explained;
use clap::Args;

use crate::context::Context;
use crate::error::Result;

/// Say what a group waits for, and which report would move it
///
/// Examples:
///   anthill pipeline explain C
///   anthill pipeline explain C --json | jq -r '.waits_for[].detail'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ExplainArgs {
    /// The group
    group: String,
}

pub fn run(context: &Context<'_>, args: &ExplainArgs) -> Result<()> {
    let request = ExplainGroup { group: args.group.clone() };
    let door = context.actor.door;
    context.perform(request, |found| context.output.print(&explained(&found.value, door).join("\n")))
}
