use anthill_core::model::kind::Doc;
use anthill_core::ops::read;
use anthill_core::view::graph;
use anthill_core::view::text::escape;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;

/// Draw what depends on what
///
/// Examples:
///   anthill leader graph
///   anthill leader graph --format mermaid > plan.mmd
///   anthill leader graph --format dot | dot -Tsvg > plan.svg
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct GraphArgs {
    #[arg(long, value_enum, default_value = "text")]
    format: Drawing,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Drawing {
    /// A tree in the terminal
    Text,
    /// A Mermaid flow chart
    Mermaid,
    /// A Graphviz graph
    Dot,
}

pub fn run(context: &Context<'_>, args: &GraphArgs) -> Result<()> {
    let queue = read::document(&*context.engine, &Doc::queue())?.value;
    let format = match args.format {
        Drawing::Text => graph::Format::Text,
        Drawing::Mermaid => graph::Format::Mermaid,
        Drawing::Dot => graph::Format::Dot,
    };
    let drawn = graph::graph(&queue, format);
    match context.output.json {
        true => context.output.value(&json!({ "graph": drawn }), Format::Json),
        false => context.output.data(escape(&drawn).trim_end()),
    }
}
