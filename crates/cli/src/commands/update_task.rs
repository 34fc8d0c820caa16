use anthill_core::api::planning::{Planned, UpdateSessionTask};
use anthill_core::model::plan::SessionTaskStatus;
use clap::Args;

use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::planning::report;
use crate::typed::{one_of, parse_id};

/// Change a task of a session
///
/// A task that stands for a story takes it along: in_progress starts the story, completed completes
/// it, and its epic and its sprint follow, all in one commit. The story's project is the task's
/// project_id, else the session's, else the default project.
///
/// Examples:
///   anthill update-task task-001 --status completed --session-id session-abc123
///   anthill update-task task-story-001 --assigned-to engineering-api --session-id session-abc123
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct UpdateTaskArgs {
    /// The task
    task: String,
    /// Where it stands now
    #[arg(long, value_name = "STATUS", value_parser = one_of::<SessionTaskStatus>())]
    status: Option<SessionTaskStatus>,
    /// Who has it now
    #[arg(long, value_name = "AGENT")]
    assigned_to: Option<String>,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &UpdateTaskArgs) -> Result<()> {
    let request = UpdateSessionTask {
        session_id: None,
        task: parse_id(&args.task)?,
        status: args.status,
        assigned_to: args.assigned_to.clone(),
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |Planned { done, .. }| report(context, done, ("Updated task", &args.task), ""))
}
