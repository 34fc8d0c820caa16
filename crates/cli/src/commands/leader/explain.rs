use anthill_core::api::queue::look::ExplainTask;
use anthill_core::model::task::word;
use anthill_core::view::queue_texts;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_id;

/// Say why a task is not running: which dependency, overlap, capability or lease
///
/// Example:
///   anthill leader explain task-20260119200002-zzzz
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ExplainArgs {
    /// The task
    id: String,
}

pub fn run(context: &Context<'_>, args: &ExplainArgs) -> Result<()> {
    let request = |ids: &[String]| Ok(ExplainTask { id: parse_id(&ids[0])? });
    let explained = context.on_tasks(std::slice::from_ref(&args.id), request)?;
    context.answer::<ExplainTask>(&explained, |explained| {
        let task = &explained.task;
        let head = format!("{} is {}", task.id(), word(task.status()));
        let reasons = explained.reasons.iter().map(|reason| format!("  - {}", reason.text));
        let usage = task.value().get("usage").filter(|usage| usage.is_object());
        let used = usage.map(|usage| format!("  - its agents have used {}", queue_texts::used(usage)));
        context.output.print(&std::iter::once(head).chain(reasons).chain(used).collect::<Vec<_>>().join("\n"))
    })
}
