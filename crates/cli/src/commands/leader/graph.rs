use std::io::{self, IsTerminal};

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
///   anthill leader graph --critical              # the longest chain of what is still to be done
///   anthill leader graph --format mermaid > plan.mmd
///   anthill leader graph --format dot | dot -Tsvg > plan.svg
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct GraphArgs {
    /// A tree in the terminal, a Mermaid flow chart or a Graphviz graph
    #[arg(long, default_value = "text", value_parser = one_of::<GraphFormat>())]
    format: GraphFormat,
    /// Only the longest chain of open tasks: what decides how long the rest takes
    #[arg(long, conflicts_with = "format")]
    critical: bool,
    /// All of a long tree, also on a terminal
    #[arg(long)]
    all: bool,
}

/// So many lines of a tree are shown on a terminal.
const MOST: usize = 40;

pub fn run(context: &Context<'_>, args: &GraphArgs) -> Result<()> {
    let request = DrawTasks { format: Some(args.format), critical: args.critical };
    let cuts = !args.all && args.format == GraphFormat::Text && io::stdout().is_terminal();
    context.perform(request, |drawn| {
        let graph = escape(&drawn.graph);
        let lines: Vec<_> = graph.lines().collect();
        let shown = if cuts { lines.len().min(MOST) } else { lines.len() };
        context.output.data(&lines[..shown].join("\n"))?;
        if shown < lines.len() {
            let rest = lines.len() - shown;
            context.output.status(&format!("… and {rest} more: anthill leader graph --all"));
        }
        Ok(())
    })
}
