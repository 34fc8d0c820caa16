use anthill_core::model::ids::{Key, SessionId};
use anthill_core::ops::sessions::handoff::{self, Handoff};
use clap::Args;

use super::report;
use crate::args::prose;
use crate::context::{Context, parse_id};
use crate::error::Result;

/// Hand a session's work over to another one
///
/// Open tasks of its own list, its claims in the queue of this project, and the epic and story it is
/// at change hands at once. Whoever had a claim is refused from then on (exit 3).
///
/// Examples:
///   anthill session handoff session-abc123 session-xyz789
///   anthill session handoff session-abc123 session-xyz789 --task task-001 \
///       --context "only the tests are left"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct HandoffArgs {
    /// The session that has the work
    from: String,
    /// The session that takes it
    to: String,
    /// Only this task, of its own list or of the queue
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// What the other session should know
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    context: Option<String>,
}

pub fn run(context: &Context<'_>, args: &HandoffArgs) -> Result<()> {
    let (from, to): (SessionId, SessionId) = (parse_id(&args.from)?, parse_id(&args.to)?);
    let task: Option<Key> = args.task.as_deref().map(parse_id).transpose()?;
    let handoff = Handoff {
        from: &from,
        to: &to,
        task: task.as_ref(),
        context: args.context.as_deref(),
        same_agent: false,
    };
    let handed = handoff::handoff(&*context.engine, handoff, &context.actor)?;
    report(context, &format!("Handed over from {from} ({}) to", handed.tasks.join(" ")), &handed.to)?;
    context.output.status(&format!("next: anthill session show {to}"));
    Ok(())
}
