use anthill_core::api::stories::ListSprints;
use anthill_core::model::plan::SprintStatus;
use anthill_core::view::plan;
use clap::Args;

use crate::args::ProjectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::typed::one_of;

/// List the sprints of a project
///
/// Examples:
///   anthill sprint list
///   anthill sprint list --filter-status planned --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Only sprints with this status
    #[arg(long, value_name = "STATUS", value_parser = one_of::<SprintStatus>())]
    filter_status: Option<SprintStatus>,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    let request = ListSprints { status: args.filter_status, project_id: args.project.id()? };
    let none = "no such sprints; plan one: anthill sprint add NAME";
    context.perform(request, |found| context.output.table(found.items(), plan::sprints, none))
}
