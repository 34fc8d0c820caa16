use anthill_core::api::planning::{AddEpic, Planned};
use clap::Args;

use crate::args::{ExpectArgs, ProjectArgs};
use crate::context::Context;
use crate::error::Result;
use crate::planning::report;
use crate::sentence::text;
use crate::typed::{parse_id, prose};

/// Add an epic to the plan
///
/// With --id the command may be repeated safely: the same epic is added once.
///
/// Examples:
///   anthill epic add "User authentication"
///   anthill epic add "User authentication" --id auth --priority high --project-id myapp
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AddArgs {
    /// What it is about
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    title: String,
    /// The epic's id [default: the next free epic-001, epic-002, …]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// critical, high, normal or low [default: normal]
    #[arg(short, long, value_name = "PRIORITY")]
    priority: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &AddArgs) -> Result<()> {
    let request = AddEpic {
        id: args.id.as_deref().map(parse_id).transpose()?,
        title: args.title.clone(),
        priority: args.priority.clone(),
        project_id: args.project.id()?,
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |Planned { done, .. }| {
        let id = text(&done.value, "id");
        let next = args.project.next(&format!("anthill story add {id} TITLE --points N"));
        report(context, done, ("Added", id), &next)
    })
}
