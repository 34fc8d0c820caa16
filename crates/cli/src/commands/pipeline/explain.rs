use anthill_core::ops::pipeline;
use anthill_core::view::pipeline::{explained, explanation};
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;

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
    let run = pipeline::show(&*context.engine)?;
    pipeline::check_group(&run, &args.group)?;
    let explanation = explanation(&run, &args.group, pipeline::caps(&*context.engine)?, context.actor.door);
    match context.output.json {
        true => context.output.value(&explanation, Format::Json),
        false => context.output.said(&explained(&explanation, context.actor.door).join("\n")),
    }
}
