use anthill_core::ops::workflow;
use anthill_core::view::workflow::shown;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;

/// Show the workflow and its phases
///
/// Examples:
///   anthill workflow show
///   anthill workflow show --json      exactly as it is stored
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ShowArgs {}

pub fn run(context: &Context<'_>) -> Result<()> {
    let flow = workflow::show(&*context.engine)?;
    match context.output.json {
        true => context.output.value(&flow.workflow, Format::Json),
        false => context.output.said(&shown(&flow).join("\n")),
    }
}
