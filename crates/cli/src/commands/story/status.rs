use anthill_core::model::ids::Key;
use anthill_core::model::plan::{PlanStatus, word};
use anthill_core::ops::planning::stories;
use clap::Args;

use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::planning::{ExpectArgs, ProjectArgs, one_of, report};

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
    /// Where it stands now
    #[arg(value_parser = one_of::<PlanStatus>())]
    status: PlanStatus,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &StatusArgs) -> Result<()> {
    let (id, project): (Key, _) = (parse_id(&args.story)?, args.project.find(context)?);
    let expect = args.expect.expect_revision;
    let done = stories::set_status(&*context.engine, &project, &id, args.status, expect, &context.actor)?;
    let next = match args.status {
        PlanStatus::Completed => args.project.next("anthill sprint status"),
        PlanStatus::InProgress => args.project.next(&format!("anthill story status {id} completed")),
        _ => String::new(),
    };
    report(context, &done, (&format!("Set to {}", word(args.status)), id.as_str()), &next)
}
