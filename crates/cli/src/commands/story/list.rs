use anthill_core::api::planning::ListStories;
use anthill_core::model::plan::PlanStatus;
use anthill_core::view::plan;
use clap::Args;

use crate::args::ProjectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{parse_id, plan_status};

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
    #[arg(long, value_name = "STATUS", value_parser = plan_status())]
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
    let request = ListStories {
        status: args.filter_status,
        unassigned: args.unassigned,
        epic: args.epic.as_deref().map(parse_id).transpose()?,
        project_id: args.project.id()?,
    };
    let none = "no such stories; add one: anthill story add EPIC TITLE";
    context
        .perform(request, |found| context.output.table(found.items(), |stories| plan::stories(stories), none))
}
