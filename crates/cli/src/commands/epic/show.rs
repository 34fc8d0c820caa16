use anthill_core::api::planning::ShowEpic;
use anthill_core::model::documents::state::Epic;
use anthill_core::model::plan::stories;
use anthill_core::view::plan;
use clap::Args;

use crate::args::ProjectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::Format;
use crate::sentence::text;
use crate::typed::parse_id;

/// Show an epic and its stories
///
/// Examples:
///   anthill epic show epic-001
///   anthill epic show epic-001 --json | jq '.stories[].status'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ShowArgs {
    /// The epic
    epic: String,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn run(context: &Context<'_>, args: &ShowArgs) -> Result<()> {
    let request = ShowEpic { epic: parse_id(&args.epic)?, project_id: args.project.id()? };
    context.perform(request, |shown| {
        let (epic, id) = (&shown.value, &args.epic);
        let (title, status) = (plan::text(epic, Epic::title), text(epic, "status"));
        context.output.print(&format!("{title} ({id}, {status}, priority {})", text(epic, "priority")))?;
        match stories(epic).is_empty() {
            true => context.output.status(&format!("no stories yet; add one: anthill story add {id} TITLE")),
            false => context.output.value(&plan::stories(stories(epic)), Format::Table)?,
        }
        Ok(())
    })
}
