use anthill_core::model::ids::Key;
use anthill_core::model::task::word;
use anthill_core::ops::queue::look;
use anthill_core::view::papers;
use clap::Args;

use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::output::Format;

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
    let id: Key = parse_id(&args.id)?;
    let explained = look::explain(&*context.engine, id.as_str(), &context.actor)?;
    if context.output.json {
        return context.output.value(&explained.json(), Format::Json);
    }
    let head = format!("{id} is {}", word(explained.task.status()));
    let reasons = explained.reasons.iter().map(|reason| format!("  - {}", reason.text));
    let usage = explained.task.value().get("usage").filter(|usage| usage.is_object());
    let used = usage.map(|usage| format!("  - its agents have used {}", papers::used(usage)));
    context.output.said(&std::iter::once(head).chain(reasons).chain(used).collect::<Vec<_>>().join("\n"))
}
