use anthill_core::api::planning::ListEpics;
use anthill_core::model::plan::PlanStatus;
use anthill_core::view::plan;
use clap::Args;

use crate::args::ProjectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::typed::one_of;

/// List the epics of a project
///
/// Examples:
///   anthill epic list
///   anthill epic list --filter-status in_progress --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Only epics with this status
    #[arg(long, value_name = "STATUS", value_parser = one_of::<PlanStatus>())]
    filter_status: Option<PlanStatus>,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    let request = ListEpics { status: args.filter_status, project_id: args.project.id()? };
    let none = "no such epics; add one: anthill epic add TITLE";
    context.perform(request, |found| context.output.table(found.items(), plan::epics, none))
}
