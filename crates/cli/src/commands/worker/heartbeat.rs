use anthill_core::api::queue::work::RenewTasks;
use clap::Args;

use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::sentence::text;
use crate::typed::parse_id;

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
    let request = |id: Option<&str>| {
        let task = id.map(parse_id).transpose()?;
        Ok(RenewTasks { worker: parse_id(&args.worker)?, task, epoch: args.epoch })
    };
    let renewed = match &args.id {
        Some(id) => context.by_worker([&args.worker, id], |id| request(Some(id)))?,
        None => context.ask(request(None)?)?,
    };
    context.answer::<RenewTasks>(&renewed, |renewed| {
        let ids: Vec<_> = renewed.items().iter().map(|task| text(task, "id")).collect();
        context.output.print(&match ids.is_empty() {
            true => format!("Noted, without a task: {}", args.worker),
            false => format!("Renewed for {}: {}", args.worker, ids.join(" ")),
        })
    })
}
