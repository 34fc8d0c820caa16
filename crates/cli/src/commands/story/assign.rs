use anthill_core::api::planning::{AssignStory, Planned};
use clap::Args;

use crate::args::{ExpectArgs, ProjectArgs};
use crate::context::Context;
use crate::error::Result;
use crate::planning::report;
use crate::sentence::text;
use crate::typed::parse_id;

/// Give a story to an agent
///
/// The agent is a registered tool, a member of the team, or any other name (with a warning). A tool
/// must have the capabilities that the story needs, and no more open stories than its max_instances
/// allow; the configuration and the team limit how many agents work at once (max_parallel_agents). A
/// session gets a task for the story, in the same commit.
///
/// Examples:
///   anthill story assign story-001 engineering-fullstack
///   anthill story assign story-001 qa-e2e --to-session session-abc123
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AssignArgs {
    /// The story
    story: String,
    /// Who is to do it
    agent: String,
    /// The session that gets the task [default: the session at work, if it is registered]
    #[arg(long, value_name = "SESSION")]
    to_session: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &AssignArgs) -> Result<()> {
    let request = AssignStory {
        story: parse_id(&args.story)?,
        agent: parse_id(&args.agent)?,
        to_session: args.to_session.as_deref().map(parse_id).transpose()?,
        project_id: args.project.id()?,
        expect_revision: args.expect.expect_revision,
    };
    let session = args.to_session.as_ref().or(context.actor.session.as_ref());
    context.perform(request, |Planned { done, .. }| {
        let next = match (&done.task, session) {
            (Some(task), Some(session)) => {
                let task = text(task, "id");
                format!("anthill update-task {task} --session-id {session} --status in_progress")
            }
            _ => args.project.next(&format!("anthill story status {} in_progress", args.story)),
        };
        report(context, done, (&format!("Assigned to {}", args.agent), &args.story), &next)
    })
}
