use anthill_core::api::planning::{ShowTeam, project};
use anthill_core::view::plan;
use clap::Args;

use crate::args::ProjectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::Format;

/// Show who works on a project, and how many open stories each has
///
/// Examples:
///   anthill team show
///   anthill team show --project-id myapp --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ShowArgs {
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn run(context: &Context<'_>, args: &ShowArgs) -> Result<()> {
    let project_id = args.project.id()?;
    context.perform(ShowTeam { project_id: project_id.clone() }, |view| {
        let most = &view.team["settings"]["max_parallel_agents"];
        let limit = if most.is_null() { String::new() } else { format!(", at most {most} agents at once") };
        let project = project(&context.caller(), project_id.as_ref())?;
        context.output.print(&format!("Team of {}{limit}", project.0))?;
        match view.open_stories.is_empty() {
            true => context.output.status("nobody yet; add somebody: anthill team add AGENT"),
            false => context.output.value(&plan::members(&view.team, &view.open_stories), Format::Table)?,
        }
        Ok(())
    })
}
