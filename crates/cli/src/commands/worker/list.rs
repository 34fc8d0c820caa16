use anthill_core::api::queue::look::ListReady;
use anthill_core::model::task::priority;
use anthill_core::view::text::escape;
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::sentence::shorten;

/// List the tasks that can be claimed now, best first
///
/// Examples:
///   anthill worker list
///   anthill worker list --limit 10      # the best ten; as fast in a queue of 100,000 tasks
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
}

impl Direct for ListArgs {
    const OPTIONS: &'static [Opt] = &[("--limit", "-n", Takes::One)];

    fn read(words: &mut Words) -> Option<ListArgs> {
        Some(ListArgs { limit: words.parsed("--limit", |text| text.parse().ok())? })
    }
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    context.perform(ListReady { limit: args.limit }, |ready| tell(context, ready.items(), args.limit))
}

fn tell(context: &Context<'_>, ready: &[Value], limit: Option<usize>) -> Result<()> {
    let text =
        |task: &Value, field: &str| task.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let line = |task: &Value| {
        let description = shorten(&text(task, "description"), 60).replace(['\n', '\r', '\t'], " ");
        format!("  [{}] {}: {description}", priority(task), text(task, "id"))
    };
    let head = match limit == Some(ready.len()) {
        true => format!("Available tasks (the first {}):", ready.len()),
        false => format!("Available tasks ({}):", ready.len()),
    };
    let lines: Vec<_> = std::iter::once(head).chain(ready.iter().map(line)).collect();
    context.output.data(&escape(&lines.join("\n")))
}
