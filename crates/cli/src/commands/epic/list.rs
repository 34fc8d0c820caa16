use anthill_core::model::plan::PlanStatus;
use anthill_core::ops::planning::epics;
use anthill_core::view::plan;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::planning::{ProjectArgs, one_of, table};

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
    let found = epics::list(&*context.engine, &args.project.find(context)?, args.filter_status)?;
    table(context, found, plan::epics, "no such epics; add one: anthill epic add TITLE")
}
