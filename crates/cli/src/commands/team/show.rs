use anthill_core::ops::planning::tools;
use anthill_core::view::plan;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;
use crate::planning::ProjectArgs;

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
    let project = args.project.find(context)?;
    let view = tools::team(&*context.engine, &project)?;
    if context.output.json {
        return context.output.value(&view.team, Format::Json);
    }
    let most = &view.team["settings"]["max_parallel_agents"];
    let limit = if most.is_null() { String::new() } else { format!(", at most {most} agents at once") };
    context.output.said(&format!("Team of {}{limit}", project.0))?;
    match view.open_stories.is_empty() {
        true => context.output.status("nobody yet; add somebody: anthill team add AGENT"),
        false => context.output.value(&plan::members(&view.team, &view.open_stories), Format::Table)?,
    }
    Ok(())
}
