use std::time::{Duration, Instant};

use anthill_core::api::queue::work::{ClaimTask, Claimed};
use anthill_core::api::request::Seconds;
use anthill_core::model::task::priority;
use anthill_core::model::time;
use anthill_core::ops::queue::work::{self, NothingReady};
use anthill_core::view::shell;
use anthill_live::waiting;
use clap::Args;

use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::typed::{parse_id, seconds, span};

/// Take the best task that is ready
///
/// Highest priority first, then the oldest; its dependencies are done, you have what it needs, and
/// nobody works on the same files. You have it until the lease runs out; `start` and `heartbeat`
/// renew it. Without a sign of life it goes back to the queue by itself. Nothing ready is exit 4.
///
/// Without a name you get one of your own: your session's, else a new one, which is printed. You are
/// warned if another session at work has the same name.
///
/// Examples:
///   anthill worker claim
///   anthill worker claim terminal-2
///   anthill worker claim terminal-2 --wait 60       # wait up to a minute (--wait alone: for ever)
///   anthill worker claim terminal-2 --lease 3600    # for long work without heartbeats
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ClaimArgs {
    /// Who you are [default: a name that nobody else has]
    worker: Option<String>,
    /// Wait for a task, at most this long; without polling
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "86400000", value_parser = seconds)]
    wait: Option<f64>,
    /// How long you may be silent before the task goes back [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    lease: Option<Seconds>,
}

impl Direct for ClaimArgs {
    const OPTIONS: &'static [Opt] = &[("--wait", "", Takes::Perhaps), ("--lease", "", Takes::One)];

    fn read(words: &mut Words) -> Option<ClaimArgs> {
        let wait = words.wait()?;
        Some(ClaimArgs {
            worker: words.plain(),
            wait,
            lease: words.parsed("--lease", |text| span(text).ok())?,
        })
    }
}

pub fn run(context: &Context<'_>, args: &ClaimArgs) -> Result<()> {
    let worker = args.worker.as_deref().map(parse_id).transpose()?;
    let request = ClaimTask { worker, lease: args.lease };
    let Some(wait) = args.wait else {
        return context.perform(request, |claimed| tell(context, claimed));
    };
    let deadline = Instant::now() + Duration::from_secs_f64(wait);
    let mut told = false;
    let mut wait_on = |_: &NothingReady| {
        if !std::mem::replace(&mut told, true) {
            context.output.status("nothing is ready yet: waiting");
        }
        true
    };
    let caller = context.caller();
    let mut listener = waiting::listen(caller.engine)?;
    let claimed = request.perform_by(&caller, |request| {
        waiting::claim(caller.engine, &mut *listener, request, caller.actor, Some(deadline), &mut wait_on)
    });
    context.answer::<ClaimTask>(&claimed?, |claimed| tell(context, claimed))
}

fn tell(context: &Context<'_>, Claimed { worker, task, .. }: &Claimed) -> Result<()> {
    let until = work::lease_end(task).map(time::stamp).unwrap_or_default();
    let (value, mut lines) = (task.value(), Vec::new());
    lines.push(format!("Claimed for {worker} until {until} (lease {}): {}", task.epoch(), task.id()));
    let indented = |text: &str| text.trim_end().replace('\n', "\n  ");
    lines.push(format!("  {}", indented(value["description"].as_str().unwrap_or_default())));
    lines.push(format!("  priority: {}", priority(value)));
    if !task.files().is_empty() {
        lines.push(format!("  files: {}", task.files().join(" ")));
    }
    if let Some(hints) = value["context"]["hints"].as_str() {
        lines.push(format!("  hints: {}", indented(hints)));
    }
    context.output.print(&lines.join("\n"))?;
    let id = shell::word(task.id());
    context.output.status(&format!(
        "next: anthill worker brief {id}\nthen: anthill worker start {worker} {id}\nthen: anthill worker complete {worker} {id} \"what you did\" --modified FILE… --created FILE…"
    ));
    Ok(())
}
