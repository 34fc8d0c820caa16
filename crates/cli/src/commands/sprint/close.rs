use anthill_core::model::ids::Key;
use anthill_core::ops::planning::sprints;
use clap::Args;

use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::planning::{ExpectArgs, ProjectArgs, report, text};

/// Close a sprint
///
/// Its velocity is the sum of the points that were completed in it. Stories that are not completed
/// stay as they are.
///
/// Examples:
///   anthill sprint close
///   anthill sprint close sprint-003 --project-id myapp
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CloseArgs {
    /// The sprint [default: the current one]
    sprint: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &CloseArgs) -> Result<()> {
    let id: Option<Key> = args.sprint.as_deref().map(parse_id).transpose()?;
    let project = args.project.find(context)?;
    let expect = args.expect.expect_revision;
    let done = sprints::close(&*context.engine, &project, id.as_ref(), expect, &context.actor)?;
    let what = format!("Closed with velocity {}", done.value["velocity"]);
    report(
        context,
        &done,
        (&what, text(&done.value, "id")),
        &args.project.next("anthill sprint start NAME --stories ID…"),
    )
}
