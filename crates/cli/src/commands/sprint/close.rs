use anthill_core::api::planning::{CloseSprint, Planned};
use clap::Args;

use crate::args::{ExpectArgs, ProjectArgs};
use crate::context::Context;
use crate::error::Result;
use crate::planning::report;
use crate::sentence::text;
use crate::typed::parse_id;

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
    let request = CloseSprint {
        sprint: args.sprint.as_deref().map(parse_id).transpose()?,
        project_id: args.project.id()?,
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |Planned { done, .. }| {
        let what = format!("Closed with velocity {}", done.value["velocity"]);
        let next = args.project.next("anthill sprint start NAME --stories ID…");
        report(context, done, (&what, text(&done.value, "id")), &next)
    })
}
