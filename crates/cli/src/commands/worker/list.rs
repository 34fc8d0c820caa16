use anthill_core::model::task::priority;
use anthill_core::ops::queue::look;
use anthill_core::view::text::escape;
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::direct::{Direct, Opt, Words};
use crate::error::Result;
use crate::output::{Format, shorten};

/// List the tasks that can be claimed now, best first
///
/// Example:
///   anthill worker list
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {}

impl Direct for ListArgs {
    const OPTIONS: &'static [Opt] = &[];

    fn read(words: &mut Words) -> Option<ListArgs> {
        let _ = words;
        Some(ListArgs {})
    }
}

pub fn run(context: &Context<'_>, _: &ListArgs) -> Result<()> {
    let ready = look::ready(&*context.engine, &context.actor)?;
    if context.output.json {
        return context.output.value(&Value::Array(ready), Format::Json);
    }
    let text =
        |task: &Value, field: &str| task.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let line = |task: &Value| {
        let description = text(task, "description").replace(['\n', '\r', '\t'], " ");
        format!("  [{}] {}: {}", priority(task), text(task, "id"), shorten(&description, 60))
    };
    let head = format!("Available tasks ({}):", ready.len());
    let lines: Vec<_> = std::iter::once(head).chain(ready.iter().map(line)).collect();
    context.output.data(&escape(&lines.join("\n")))
}
