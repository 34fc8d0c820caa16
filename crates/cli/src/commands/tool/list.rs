use anthill_core::api::planning::ListTools;
use anthill_core::view::plan;
use clap::Args;

use crate::context::Context;
use crate::error::Result;

/// List the registered tools
///
/// Examples:
///   anthill tool list
///   anthill tool list --json | jq '.[].capabilities'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Accepted like everywhere in planning; all projects share the register
    #[arg(long, value_name = "ID", hide = true)]
    project_id: Option<String>,
}

pub fn run(context: &Context<'_>, _: &ListArgs) -> Result<()> {
    let none = "no tools yet; register one: anthill tool register ID --capabilities a,b";
    context.perform(ListTools {}, |found| context.output.table(found.items(), plan::tools, none))
}
