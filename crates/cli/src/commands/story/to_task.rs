use anthill_core::api::stories::StoriesToTasks;
use clap::Args;

use crate::args::ProjectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::sentence::text;
use crate::typed::parse_id;

/// Make a task of the queue of each story
///
/// The task has the story's id and title, and needs what the story needs. When all tasks of a story
/// are done, the story is completed. It may be repeated: a story gets one task.
///
/// Examples:
///   anthill story to-task story-001 story-002
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ToTaskArgs {
    /// The stories
    #[arg(value_name = "STORY", required = true)]
    stories: Vec<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn run(context: &Context<'_>, args: &ToTaskArgs) -> Result<()> {
    let stories = args.stories.iter().map(|id| parse_id(id)).collect::<Result<_>>()?;
    context.perform(StoriesToTasks { stories, project_id: args.project.id()? }, |tasks| {
        let line = |task| format!("In the queue, {}: {}", text(task, "status"), text(task, "id"));
        context.output.print(&tasks.items().iter().map(line).collect::<Vec<_>>().join("\n"))
    })
}
