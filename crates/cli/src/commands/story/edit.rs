use anthill_core::api::planning::Planned;
use anthill_core::api::request::Amount;
use anthill_core::api::stories::EditStory;
use anthill_core::model::plan::PlanStatus;
use clap::Args;

use crate::args::{ExpectArgs, ProjectArgs};
use crate::context::Context;
use crate::error::Result;
use crate::planning::report;
use crate::typed::{amount, names, parse_id, plan_status, prose};

/// Change a story
///
/// What is not named stays. Its epic's status and its sprint's points follow in the same commit.
///
/// Examples:
///   anthill story edit story-001 --title "Sign in with a passkey" --points 8
///   anthill story edit story-001 --epic epic-002
///   anthill story edit story-001 --status done
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct EditArgs {
    /// The story
    story: String,
    /// What is to be done
    #[arg(long, allow_hyphen_values = true, value_parser = prose)]
    title: Option<String>,
    /// How much work it is
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = amount)]
    points: Option<Amount>,
    /// Where it stands now; `done` means completed
    #[arg(long, value_parser = plan_status())]
    status: Option<PlanStatus>,
    /// The epic that it moves to
    #[arg(long, value_name = "ID")]
    epic: Option<String>,
    /// Capabilities that a tool must have to be given the story
    #[arg(long, value_name = "CAPABILITY", num_args = 1.., value_delimiter = ',')]
    needs: Option<Vec<String>>,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &EditArgs) -> Result<()> {
    let request = EditStory {
        story: parse_id(&args.story)?,
        title: args.title.clone(),
        points: args.points,
        status: args.status,
        epic: args.epic.as_deref().map(parse_id).transpose()?,
        needs: args.needs.as_deref().map(names),
        project_id: args.project.id()?,
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |Planned { done, .. }| report(context, done, ("Changed", &args.story), ""))
}
