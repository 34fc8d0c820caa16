use anthill_core::ops::planning::assign::{self, Assignment, ForSession};
use clap::Args;

use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::planning::{ExpectArgs, ProjectArgs, report, text};

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
    let session = match (&args.to_session, &context.actor.session) {
        (Some(session), _) => Some(ForSession::Named(parse_id(session)?)),
        (None, Some(session)) => Some(ForSession::Acting(parse_id(session)?)),
        (None, None) => None,
    };
    let asked = Assignment { story: parse_id(&args.story)?, agent: parse_id(&args.agent)?, session };
    let project = args.project.find(context)?;
    let done =
        assign::assign(&*context.engine, &project, &asked, args.expect.expect_revision, &context.actor)?;
    let next = match (&done.task, &asked.session) {
        (Some(task), Some(ForSession::Named(session) | ForSession::Acting(session))) => {
            let task = text(task, "id");
            format!("anthill update-task {task} --session-id {session} --status in_progress")
        }
        _ => args.project.next(&format!("anthill story status {} in_progress", asked.story)),
    };
    report(context, &done, (&format!("Assigned to {}", asked.agent), asked.story.as_str()), &next)
}
