use anthill_core::api::planning::{AddStory, Planned};
use anthill_core::api::request::Amount;
use clap::Args;

use crate::args::{ExpectArgs, ProjectArgs};
use crate::context::Context;
use crate::error::Result;
use crate::planning::report;
use crate::sentence::text;
use crate::typed::{amount, names, parse_id, prose};

/// Add a story to an epic
///
/// With --id the command may be repeated safely: the same story is added once. Ids are unique over
/// all epics.
///
/// Examples:
///   anthill story add epic-001 "Implement JWT authentication" --points 5
///   anthill story add epic-001 "Add OAuth2 providers" --points 8 --needs backend database --id oauth
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AddArgs {
    /// The epic that it belongs to
    epic: String,
    /// What is to be done
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    title: String,
    /// The story's id [default: the next free story-001, story-002, …]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// How much work it is
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = amount)]
    points: Option<Amount>,
    /// Capabilities that a tool must have to be given the story
    #[arg(long, value_name = "CAPABILITY", num_args = 1.., value_delimiter = ',')]
    needs: Vec<String>,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &AddArgs) -> Result<()> {
    let request = AddStory {
        id: args.id.as_deref().map(parse_id).transpose()?,
        epic: parse_id(&args.epic)?,
        title: args.title.clone(),
        points: args.points,
        needs: names(&args.needs),
        project_id: args.project.id()?,
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |Planned { done, .. }| {
        let (id, what) = (text(&done.value, "id"), format!("Added to {}", args.epic));
        report(context, done, (&what, id), &args.project.next(&format!("anthill story assign {id} AGENT")))
    })
}
