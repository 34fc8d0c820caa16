use std::time::{Duration, Instant};

use anthill_core::api::queue::work::{ClaimTask, Claimed};
use anthill_core::api::request::{Chosen, Seconds};
use anthill_core::model::ids::Key;
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
use crate::typed::{parse_id, parse_new_id, seconds, span};

/// Take the best task that is ready
///
/// Highest priority first, then the oldest; its dependencies are done, you have what it needs, and
/// nobody works on the same files. You have it until the lease runs out; `start` and `heartbeat`
/// renew it. Without a sign of life it goes back to the queue by itself. Nothing ready is exit 4.
///
/// With ID you get that task and no other, or hear why not: exit 3 if somebody else has it, 1 if a
/// rule keeps it back.
///
/// Without a name you get one of your own: your session's, else a new one, which is printed. You are
/// warned if another session at work has the same name.
///
/// Examples:
///   anthill worker claim
///   anthill worker claim terminal-2
///   anthill worker claim terminal-2 parser          # this one
///   anthill worker claim terminal-2 --wait 60       # wait up to a minute (--wait alone: for ever)
///   anthill worker claim terminal-2 --lease 3600    # for long work without heartbeats
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ClaimArgs {
    /// Who you are [default: a name that nobody else has]
    worker: Option<String>,
    /// This task and no other
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Wait for a task, at most this long; without polling
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "86400000", value_parser = seconds, conflicts_with = "id")]
    wait: Option<f64>,
    /// How long you may be silent before the task goes back [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    lease: Option<Seconds>,
}

impl Direct for ClaimArgs {
    const OPTIONS: &'static [Opt] = &[("--wait", "", Takes::Perhaps), ("--lease", "", Takes::One)];

    fn read(words: &mut Words) -> Option<ClaimArgs> {
        let (wait, worker, id) = (words.wait()?, words.plain(), words.plain());
        if wait.is_some() && id.is_some() {
            return None;
        }
        Some(ClaimArgs { worker, id, wait, lease: words.parsed("--lease", |text| span(text).ok())? })
    }
}

pub fn run(context: &Context<'_>, args: &ClaimArgs) -> Result<()> {
    let worker = args.worker.as_deref().map(parse_new_id).transpose()?;
    take(context, worker, args.id.as_deref(), (args.wait, args.lease), Way::Long)
}

/// Claims this task, or the next one that is ready.
pub fn take(
    context: &Context<'_>,
    worker: Option<Key>,
    id: Option<&str>,
    (wait, lease): (Option<f64>, Option<Seconds>),
    way: Way,
) -> Result<()> {
    let name = worker.as_ref().map(ToString::to_string).unwrap_or_default();
    let worker = worker.map(Chosen);
    match (id, wait) {
        (Some(id), _) => {
            let request =
                |id: &str| Ok(ClaimTask { worker: worker.clone(), task: Some(parse_id(id)?), lease });
            let claimed = context.by_worker([&name, id], request)?;
            context.answer::<ClaimTask>(&claimed, |claimed| tell(context, way, claimed))
        }
        (None, Some(wait)) => wait_for(context, &ClaimTask { worker, task: None, lease }, wait, way),
        (None, None) => {
            context.perform(ClaimTask { worker, task: None, lease }, |claimed| tell(context, way, claimed))
        }
    }
}

/// Claims the next task that is ready, within so many seconds.
fn wait_for(context: &Context<'_>, request: &ClaimTask, wait: f64, way: Way) -> Result<()> {
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
    context.answer::<ClaimTask>(&claimed?, |claimed| tell(context, way, claimed))
}

/// What to type behind a claim: the command that was typed has its own words.
#[derive(Debug, Clone, Copy)]
pub enum Way {
    Short,
    Long,
}

fn tell(context: &Context<'_>, way: Way, Claimed { worker, task, .. }: &Claimed) -> Result<()> {
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
    context.output.status(&match way {
        Way::Short => format!("next: anthill worker brief {id}\nthen: anthill done {id} \"what you did\""),
        Way::Long => format!(
            "next: anthill worker brief {id}\nthen: anthill worker start {worker} {id}\nthen: anthill worker complete {worker} {id} \"what you did\" --modified FILE… --created FILE…"
        ),
    });
    Ok(())
}
