use anthill_core::api::records::ListAgents;
use anthill_core::view::records;
use clap::Args;

use crate::context::Context;
use crate::error::Result;

/// List the agents of the session that works here
///
/// Examples:
///   anthill agents list
///   anthill agents list --filter-status running --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Only agents with this status
    #[arg(long, value_name = "STATUS")]
    filter_status: Option<String>,
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    let request = ListAgents { status: args.filter_status.clone() };
    let none = "no such agents; what others found: anthill agents merge";
    context.perform(request, |found| context.output.table(found.items(), records::agents, none))
}
