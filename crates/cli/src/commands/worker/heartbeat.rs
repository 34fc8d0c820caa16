use anthill_core::model::ids::Key;
use anthill_core::ops::queue::work;
use clap::Args;
use serde_json::Value;

use crate::context::{Context, parse_id};
use crate::direct::{Direct, Opt, Takes, Words};
use crate::error::Result;
use crate::output::Format;

/// Give a sign of life: renew the leases of all your tasks, or of one
///
/// Examples:
///   anthill worker heartbeat terminal-2
///   anthill worker heartbeat terminal-2 task-20260119200000-xxxx --epoch 1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct HeartbeatArgs {
    /// Who you are
    worker: String,
    /// Only this task
    id: Option<String>,
    /// The lease you have: refuse (exit 3) if it is another one by now
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
}

impl Direct for HeartbeatArgs {
    const OPTIONS: &'static [Opt] = &[("--epoch", "", Takes::One)];

    fn read(words: &mut Words) -> Option<HeartbeatArgs> {
        Some(HeartbeatArgs {
            worker: words.plain()?,
            id: words.plain(),
            epoch: words.parsed("--epoch", |text| text.parse().ok())?,
        })
    }
}

pub fn run(context: &Context<'_>, args: &HeartbeatArgs) -> Result<()> {
    let worker: Key = parse_id(&args.worker)?;
    let only: Option<Key> = args.id.as_deref().map(parse_id).transpose()?;
    let renewed = work::heartbeat(&*context.engine, &worker, only.as_ref(), args.epoch, &context.actor)?;
    if context.output.json {
        let tasks = renewed.into_iter().map(|task| task.into_value()).collect();
        return context.output.changed(&Value::Array(tasks), Format::Json);
    }
    if renewed.is_empty() {
        return context.output.said(&format!("Noted, without a task: {worker}"));
    }
    let ids: Vec<_> = renewed.iter().map(|task| task.id()).collect();
    context.output.said(&format!("Renewed for {worker}: {}", ids.join(" ")))
}
