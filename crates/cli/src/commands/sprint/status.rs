use anthill_core::api::planning::{ShowSprint, SprintStanding};
use anthill_core::view::{burndown, plan};
use clap::Args;

use crate::args::ProjectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::Format;
use crate::typed::parse_id;

/// Show how a sprint goes: points, days left, velocity, burndown
///
/// The burndown sets the points that were left on each day against the ideal line. Stories burn on
/// the day on which they were completed (`anthill story status ID completed`).
///
/// Examples:
///   anthill sprint status
///   anthill sprint status sprint-003 --json | jq '.burndown[-1]'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StatusArgs {
    /// The sprint [default: the current one]
    sprint: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn run(context: &Context<'_>, args: &StatusArgs) -> Result<()> {
    let sprint = args.sprint.as_deref().map(parse_id).transpose()?;
    context.perform(
        ShowSprint { sprint, project_id: args.project.id()? },
        |SprintStanding { report, .. }| {
            context.output.lines(&burndown::lines(report, context.output.width()))?;
            if !report.stories.is_empty() {
                context.output.data("")?;
                context.output.value(&plan::stories(&report.stories), Format::Table)?;
            }
            Ok(())
        },
    )
}
