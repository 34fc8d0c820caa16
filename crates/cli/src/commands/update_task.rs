use anthill_core::model::kind::Kind;
use anthill_core::model::plan::SessionTaskStatus;
use anthill_core::model::room::Room;
use anthill_core::ops::planning::tasks::{self, TaskChange};
use clap::Args;

use crate::args::ScopeArgs;
use crate::context::{Context, parse_id};
use crate::error::{CliError, Result};
use crate::planning::{ExpectArgs, one_of, report};

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
    let kind = Kind::find("tasks").expect("tasks is a kind");
    let session = match context.document(kind, &ScopeArgs::default())?.room {
        Room::Session(session) => session,
        _ => unreachable!("BUG: tasks are kept by session"),
    };
    if args.status.is_none() && args.assigned_to.is_none() {
        return Err(CliError::invalid(
            "say what is to change: --status STATUS, --assigned-to AGENT, or both",
        ));
    }
    let change = TaskChange {
        session,
        task: parse_id(&args.task)?,
        status: args.status,
        assigned_to: args.assigned_to.clone(),
    };
    let done = tasks::update(&*context.engine, &change, args.expect.expect_revision, &context.actor)?;
    report(context, &done, ("Updated task", &args.task), "")
}
