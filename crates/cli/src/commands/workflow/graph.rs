use anthill_core::api::workflow::{DrawWorkflow, Graph};
use anthill_core::view::workflow::waves;
use clap::Args;

use crate::context::Context;
use crate::error::Result;

/// Show in which waves the phases run
///
/// Examples:
///   anthill workflow graph
///   anthill workflow graph --json | jq '.execution_plan.waves'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct GraphArgs {}

pub fn run(context: &Context<'_>) -> Result<()> {
    context.perform(DrawWorkflow {}, |Graph(flow)| context.output.print(&waves(flow).join("\n")))
}
