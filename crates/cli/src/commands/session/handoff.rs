use anthill_core::api::sessions::HandOver;
use clap::Args;

use super::report;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{parse_id, prose};

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
    let request = HandOver {
        from: parse_id(&args.from)?,
        to: parse_id(&args.to)?,
        task: args.task.as_deref().map(parse_id).transpose()?,
        context: args.context.clone(),
    };
    context.perform(request, |handed| {
        let what = format!("Handed over from {} ({}) to", args.from, handed.tasks.join(" "));
        report::tell(context, &what, &handed.to)?;
        context.output.status(&format!("next: anthill session show {}", args.to));
        Ok(())
    })
}
