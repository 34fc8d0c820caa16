use std::time::{Duration, Instant};

use anthill_core::error::Code;
use anthill_core::model::ids::Key;
use anthill_core::model::task::{Task, priority};
use anthill_core::model::time;
use anthill_core::ops::queue::register;
use anthill_core::ops::queue::work::{self, Claim, ClaimRequest, NothingReady};
use anthill_core::view::shell;
use anthill_live::waiting;
use clap::Args;

use crate::args::seconds;
use crate::context::{Context, parse_new_id};
use crate::direct::{Direct, Opt, Takes, Words};
use crate::error::{CliError, Result};
use crate::output::Format;

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
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    lease: Option<f64>,
}

impl Direct for ClaimArgs {
    const OPTIONS: &'static [Opt] = &[("--wait", "", Takes::Perhaps), ("--lease", "", Takes::One)];

    fn read(words: &mut Words) -> Option<ClaimArgs> {
        let wait = words.wait()?;
        Some(ClaimArgs {
            worker: words.plain(),
            wait,
            lease: words.parsed("--lease", |text| seconds(text).ok())?,
        })
    }
}

pub fn run(context: &Context<'_>, args: &ClaimArgs) -> Result<()> {
    let worker: Key = match &args.worker {
        Some(worker) => parse_new_id(worker)?,
        None => {
            let seed = format!("{} {}", context.actor.user, std::process::id());
            register::new_name(&*context.engine, &seed, &context.actor)?
        }
    };
    let request = ClaimRequest { worker: &worker, lease: args.lease };
    let deadline = args.wait.map(|wait| Instant::now() + Duration::from_secs_f64(wait));
    let mut told = false;
    let mut wait_on = |_: &NothingReady| {
        if !std::mem::replace(&mut told, true) {
            context.output.status("nothing is ready yet: waiting");
        }
        true
    };
    let (engine, actor) = (&*context.engine, &context.actor);
    let mut listener = deadline.map(|_| waiting::listen(engine)).transpose()?;
    let claim = match &mut listener {
        None => work::claim(engine, &request, actor)?,
        Some(listener) => waiting::claim(engine, &mut **listener, &request, actor, deadline, &mut wait_on)?,
    };
    match claim {
        Claim::Claimed { task, warnings } => {
            warnings.iter().for_each(|warning| context.output.warning(warning));
            show(context, &worker, &task)
        }
        Claim::NothingReady(nothing) => Err(nothing_ready(&worker, &nothing)),
    }
}

fn nothing_ready(worker: &Key, nothing: &NothingReady) -> CliError {
    let wait = match nothing.others_work {
        true => "others are at work; wait for what they set free",
        false => "wait for the next task",
    };
    CliError::new(Code::NotFound, "nothing is ready to be claimed")
        .hinted(format!("{wait}: anthill worker claim {worker} --wait 600"))
        .hinted("see what is open and why: anthill leader status")
}

fn show(context: &Context<'_>, worker: &Key, task: &Task) -> Result<()> {
    if context.output.json {
        return context.output.changed(task.value(), Format::Json);
    }
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
    context.output.said(&lines.join("\n"))?;
    let id = shell::word(task.id());
    context.output.status(&format!(
        "next: anthill worker brief {id}\nthen: anthill worker start {worker} {id}\nthen: anthill worker complete {worker} {id} \"what you did\" --modified FILE… --created FILE…"
    ));
    Ok(())
}
