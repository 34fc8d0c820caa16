use anthill_core::ops::planning::stories::{self, NewStory};
use clap::Args;

use crate::args::{names, prose};
use crate::context::{Context, parse_id, parse_new_id};
use crate::env;
use crate::error::Result;
use crate::planning::{ExpectArgs, ProjectArgs, amount, report, text};

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
    points: Option<f64>,
    /// Capabilities that a tool must have to be given the story
    #[arg(long, value_name = "CAPABILITY", num_args = 1.., value_delimiter = ',')]
    needs: Vec<String>,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &AddArgs) -> Result<()> {
    let new = NewStory {
        id: args.id.as_deref().map(parse_new_id).transpose()?,
        epic: parse_id(&args.epic)?,
        title: env::told(&args.title).into_owned(),
        points: args.points,
        needs: names(&args.needs),
    };
    let project = args.project.find(context)?;
    let done = stories::add(&*context.engine, &project, &new, args.expect.expect_revision, &context.actor)?;
    let (id, what) = (text(&done.value, "id"), format!("Added to {}", new.epic));
    report(context, &done, (&what, id), &args.project.next(&format!("anthill story assign {id} AGENT")))
}
