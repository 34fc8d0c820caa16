use anthill_core::api::queue::look::{DrawTasks, GraphFormat};
use anthill_core::view::text::escape;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::typed::one_of;

/// Draw what depends on what
///
/// Examples:
///   anthill leader graph
///   anthill leader graph --format mermaid > plan.mmd
///   anthill leader graph --format dot | dot -Tsvg > plan.svg
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct GraphArgs {
    /// A tree in the terminal, a Mermaid flow chart or a Graphviz graph
    #[arg(long, default_value = "text", value_parser = one_of::<GraphFormat>())]
    format: GraphFormat,
}

pub fn run(context: &Context<'_>, args: &GraphArgs) -> Result<()> {
    let request = DrawTasks { format: Some(args.format) };
    context.perform(request, |drawn| context.output.data(escape(&drawn.graph).trim_end()))
}
