use anthill_core::api::planning::{Planned, SetStoryStatus};
use anthill_core::model::plan::{PlanStatus, word};
use clap::Args;

use crate::args::{ExpectArgs, ProjectArgs};
use crate::context::Context;
use crate::error::Result;
use crate::planning::report;
use crate::typed::{parse_id, plan_status};

/// Say where a story stands
///
/// Its epic's status and its sprint's points follow in the same commit. A session's task for the
/// story is not touched; `anthill update-task` moves task and story together.
///
/// Examples:
///   anthill story status story-001 in_progress
///   anthill story status story-001 completed --expect-revision 7
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StatusArgs {
    /// The story
    story: String,
    /// Where it stands now; `done` means completed
    #[arg(value_parser = plan_status())]
    status: PlanStatus,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &StatusArgs) -> Result<()> {
    let request = SetStoryStatus {
        story: parse_id(&args.story)?,
        status: args.status,
        project_id: args.project.id()?,
        expect_revision: args.expect.expect_revision,
    };
    let id = &args.story;
    let next = match args.status {
        PlanStatus::Completed => args.project.next("anthill sprint status"),
        PlanStatus::InProgress => args.project.next(&format!("anthill story status {id} completed")),
        _ => String::new(),
    };
    let what = format!("Set to {}", word(args.status));
    context.perform(request, |Planned { done, .. }| report(context, done, (&what, id), &next))
}
