use anthill_core::api::queue::look::{ExplainQueue, ExplainTask, ExplainedInFull};
use anthill_core::model::task::word;
use anthill_core::view::{diagnosis, queue_texts};
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_id;

/// Say why nothing moves, or why one task is not running
///
/// Without an id: whether the queue moves, what holds it up, down to the root causes, and the command
/// that helps. A cause is a task that failed, or was cancelled while others wait for it; a dependency
/// that does not exist; tasks that wait for each other; a lease that ran out; a worker not heard of
/// for half of its lease; a capability that no registered worker has; files that somebody is at work
/// on; a retry that is not due; a runner that is paused; tasks that nobody takes.
///
/// With an id: why this task is not running, and the whole chain that it hangs on.
///
/// At most 1,000 waiting tasks are looked at, and 200 that are ready; it says so if there are more.
///
/// Examples:
///   anthill explain
///   anthill explain release
///   anthill explain --json | jq -r '.needs[].steps[0]'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ExplainArgs {
    /// The task; without it, the whole queue
    id: Option<String>,
    /// Every cause, however many there are
    #[arg(long, conflicts_with = "id")]
    all: bool,
}

pub fn run(context: &Context<'_>, args: &ExplainArgs) -> Result<()> {
    match &args.id {
        Some(id) => {
            let request = |ids: &[String]| Ok(ExplainTask { id: parse_id(&ids[0])? });
            let found = context.on_tasks(std::slice::from_ref(id), request)?;
            context.answer::<ExplainTask>(&found, |found| tell(context, found))
        }
        None => context.perform(ExplainQueue {}, |found| {
            let most = if args.all { usize::MAX } else { diagnosis::MOST };
            let (width, door) = (context.output.width(), context.actor.door);
            context.output.lines(&diagnosis::page(&found.diagnosis, most, width, door))
        }),
    }
}

fn tell(context: &Context<'_>, found: &ExplainedInFull) -> Result<()> {
    let task = &found.explained.task;
    let head = format!("{} is {}", task.id(), word(task.status()));
    let reasons = found.explained.reasons.iter().map(|reason| format!("  - {}", reason.text));
    let usage = task.value().get("usage").filter(|usage| usage.is_object());
    let used = usage.map(|usage| format!("  - its agents have used {}", queue_texts::used(usage)));
    context.output.print(&std::iter::once(head).chain(reasons).chain(used).collect::<Vec<_>>().join("\n"))?;
    if found.has_chain() {
        let (width, door) = (context.output.width(), context.actor.door);
        context.output.data("")?;
        context.output.lines(&diagnosis::chain(&found.chain.links, found.chain.cut, width, door))?;
    }
    Ok(())
}
