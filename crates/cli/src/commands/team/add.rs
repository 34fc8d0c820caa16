use anthill_core::api::planning::{AddMember, Planned, project};
use anthill_core::api::request::Amount;
use clap::Args;

use crate::args::{ExpectArgs, ProjectArgs};
use crate::context::Context;
use crate::error::Result;
use crate::planning::report;
use crate::typed::{amount, names, parse_id};

/// Add a member to a project's team, or change what is said of it
///
/// What you do not say stays as it is.
///
/// Examples:
///   anthill team add engineering-lead --role "tech lead" --capacity 13 --skills review,architecture
///   anthill team add engineering-api --model sonnet --project-id myapp
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AddArgs {
    /// The agent's id
    agent: String,
    /// What it does in the team
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// How many points it can do in a sprint
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = amount)]
    capacity: Option<Amount>,
    /// What it can do
    #[arg(long, value_name = "SKILL", num_args = 1.., value_delimiter = ',')]
    skills: Option<Vec<String>>,
    /// The model that it runs on
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &AddArgs) -> Result<()> {
    let project_id = args.project.id()?;
    let request = AddMember {
        agent: parse_id(&args.agent)?,
        role: args.role.clone(),
        capacity: args.capacity,
        skills: args.skills.as_deref().map(names),
        model: args.model.clone(),
        project_id: project_id.clone(),
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |Planned { done, .. }| {
        let what = format!("In the team of {}", project(&context.caller(), project_id.as_ref())?.0);
        let next = args.project.next(&format!("anthill story assign STORY {}", args.agent));
        report(context, done, (&what, &args.agent), &next)
    })
}
