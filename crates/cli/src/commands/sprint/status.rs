use anthill_core::model::documents::state::Sprint;
use anthill_core::model::ids::Key;
use anthill_core::model::plan::texts;
use anthill_core::ops::planning::sprints;
use anthill_core::view::{burndown, plan};
use clap::Args;

use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::output::Format;
use crate::planning::ProjectArgs;

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
    let id: Option<Key> = args.sprint.as_deref().map(parse_id).transpose()?;
    let project = args.project.find(context)?;
    let report = sprints::report(&*context.engine, &project, id.as_ref(), context.actor.now())?;
    let known = |id: &&str| report.stories.iter().any(|story| story["id"] == **id);
    for id in texts(&report.sprint, Sprint::stories).iter().filter(|id| !known(id)) {
        context
            .output
            .warning(&format!("the story `{id}` of this sprint is in no epic; it counts no points"));
    }
    if context.output.json {
        return context.output.value(&burndown::json(&report), Format::Json);
    }
    context.output.lines(&burndown::lines(&report, context.output.width()))?;
    if !report.stories.is_empty() {
        context.output.data("")?;
        context.output.value(&plan::stories(&report.stories), Format::Table)?;
    }
    Ok(())
}
