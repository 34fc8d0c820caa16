use anthill_core::ops::workflow;
use anthill_core::view::workflow::waves;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;

/// Show in which waves the phases run
///
/// Examples:
///   anthill workflow graph
///   anthill workflow graph --json | jq '.execution_plan.waves'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct GraphArgs {}

pub fn run(context: &Context<'_>) -> Result<()> {
    let flow = workflow::show(&*context.engine)?;
    match context.output.json {
        true => context.output.value(&flow.graph, Format::Json),
        false => context.output.said(&waves(&flow).join("\n")),
    }
}
