use std::str::FromStr;

use anthill_core::api::planning::Planned;
use anthill_core::api::request::Day;
use anthill_core::api::stories::AddSprint;
use clap::Args;

use crate::args::{ExpectArgs, ProjectArgs};
use crate::context::Context;
use crate::error::Result;
use crate::planning::report;
use crate::sentence::text;
use crate::typed::{names, parse_id, prose};

/// Plan a sprint that is started later
///
/// Start it by its id and its name. With --id the command may be repeated safely.
///
/// Examples:
///   anthill sprint add "Sprint 4" --id sprint-004 --stories story-003 --start-date 2026-02-01
///   anthill sprint start "Sprint 4" --id sprint-004
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AddArgs {
    /// What it is called
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    name: String,
    /// The sprint's id [default: the next free sprint-001, sprint-002, …]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Stories that it is to complete
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    stories: Vec<String>,
    /// Its first day, such as 2026-01-15 [default: today]
    #[arg(long, value_name = "DATE", value_parser = Day::from_str)]
    start_date: Option<Day>,
    /// Its last day [default: 14 days after the first]
    #[arg(long, value_name = "DATE", value_parser = Day::from_str)]
    end_date: Option<Day>,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &AddArgs) -> Result<()> {
    let request = AddSprint {
        id: args.id.as_deref().map(parse_id).transpose()?,
        name: args.name.clone(),
        stories: names(&args.stories).iter().map(|id| parse_id(id)).collect::<Result<_>>()?,
        start_date: args.start_date,
        end_date: args.end_date,
        project_id: args.project.id()?,
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |Planned { done, .. }| {
        let sprint = &done.value;
        let what = format!("Planned, {} to {}", text(sprint, "start_date"), text(sprint, "end_date"));
        report(context, done, (&what, text(sprint, "id")), &args.project.next("anthill sprint list"))
    })
}
