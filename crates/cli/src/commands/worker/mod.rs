//! The workers' side of the queue.

mod claim;
mod complete;
mod discover;
mod fail;
mod heartbeat;
mod list;
mod register;
mod release;
mod start;

use anthill_core::model::ids::Key;
use anthill_core::model::task::{Task, word};
use anthill_core::ops::queue::work::{Done, On};
use clap::{Args, Subcommand};

use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::output::Format;

/// Do work: claim tasks, report results
///
/// Examples:
///   anthill worker claim terminal-2
///   anthill worker start terminal-2 TASK-ID
///   anthill worker complete terminal-2 TASK-ID "What I did" --modified src/a.rs --created src/b.rs
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Worker {
    Register(register::RegisterArgs),
    List(list::ListArgs),
    Claim(claim::ClaimArgs),
    Start(start::StartArgs),
    Heartbeat(heartbeat::HeartbeatArgs),
    Complete(complete::CompleteArgs),
    Fail(fail::FailArgs),
    Release(release::ReleaseArgs),
    Discover(discover::DiscoverArgs),
}

pub fn run(context: &Context<'_>, command: &Worker) -> Result<()> {
    match command {
        Worker::Register(args) => register::run(context, args),
        Worker::List(args) => list::run(context, args),
        Worker::Claim(args) => claim::run(context, args),
        Worker::Start(args) => start::run(context, args),
        Worker::Heartbeat(args) => heartbeat::run(context, args),
        Worker::Complete(args) => complete::run(context, args),
        Worker::Fail(args) => fail::run(context, args),
        Worker::Release(args) => release::run(context, args),
        Worker::Discover(args) => discover::run(context, args),
    }
}

/// Which task, and by which claim.
#[derive(Debug, Args)]
struct OnArgs {
    /// Who you are
    worker: String,
    /// The task
    id: String,
    /// The lease you have (`lease.epoch` of the claim): refuse (exit 3) if it is another one by now
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
}

impl OnArgs {
    fn ids(&self) -> Result<(Key, Key)> {
        Ok((parse_id(&self.worker)?, parse_id(&self.id)?))
    }

    fn on<'a>(&self, (worker, task): &'a (Key, Key)) -> On<'a> {
        On { worker, task, epoch: self.epoch }
    }
}

/// Reports what a task is now.
fn report(context: &Context<'_>, what: &str, done: &Done) -> Result<()> {
    done.warnings.iter().for_each(|warning| context.output.warning(warning));
    let again = if done.repeated { ", as before" } else { "" };
    tell(context, &format!("{what}{again}"), &done.task)
}

fn tell(context: &Context<'_>, what: &str, task: &Task) -> Result<()> {
    match context.output.json {
        true => context.output.changed(task.value(), Format::Json),
        false => context.output.said(&format!("{what} ({}): {}", word(task.status()), task.id())),
    }
}
