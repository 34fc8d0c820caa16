use anthill_core::model::ids::Key;
use anthill_core::model::plan::{PlanStatus, word};
use anthill_core::ops::planning::stories::{self, Filter};
use anthill_core::view::plan;
use clap::Args;

use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::planning::{ProjectArgs, one_of, table};

/// List the stories of a project
///
/// Examples:
///   anthill story list
///   anthill story list --unassigned --filter-status pending
///   anthill story list --epic epic-001 --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Only stories with this status
    #[arg(long, value_name = "STATUS", value_parser = one_of::<PlanStatus>())]
    filter_status: Option<PlanStatus>,
    /// Only stories that nobody has
    #[arg(long)]
    unassigned: bool,
    /// Only stories of this epic
    #[arg(long, value_name = "ID")]
    epic: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    let epic: Option<Key> = args.epic.as_deref().map(parse_id).transpose()?;
    let status = args.filter_status.map(word);
    let filter = Filter { status: status.as_deref(), unassigned: args.unassigned, epic: epic.as_ref() };
    let found = stories::list_of(&*context.engine, &args.project.find(context)?, &filter)?;
    table(
        context,
        found,
        |stories| plan::stories(stories),
        "no such stories; add one: anthill story add EPIC TITLE",
    )
}
