//! The workers' side of the queue.

mod brief;
pub(super) mod claim;
pub(super) mod complete;
mod discover;
pub(super) mod fail;
pub(super) mod heartbeat;
pub(super) mod list;
mod mine;
mod register;
pub(super) mod release;
mod report;
pub mod run;
pub(super) mod start;
mod watchdog;

use clap::Subcommand;

use crate::context::Context;
use crate::direct::one;
use crate::error::Result;
use crate::process::ExitCode;

/// Do work: claim tasks, report results
///
/// Examples:
///   anthill worker claim terminal-2
///   anthill worker brief TASK-ID
///   anthill worker start terminal-2 TASK-ID
///   anthill worker complete terminal-2 TASK-ID "What I did" --modified src/a.rs --created src/b.rs
///   anthill worker run terminal-2 --until-empty --agent claude
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Worker {
    Register(register::RegisterArgs),
    List(list::ListArgs),
    Claim(claim::ClaimArgs),
    Mine(mine::MineArgs),
    Brief(brief::BriefArgs),
    Start(start::StartArgs),
    Heartbeat(heartbeat::HeartbeatArgs),
    Complete(complete::CompleteArgs),
    Fail(fail::FailArgs),
    Release(release::ReleaseArgs),
    Discover(discover::DiscoverArgs),
    Run(run::RunArgs),
    #[command(hide = true)]
    Watchdog(watchdog::WatchdogArgs),
}

pub fn run<'o>(context: impl FnOnce() -> Result<Context<'o>>, command: &Worker) -> Result<ExitCode> {
    let done = |result: Result<()>| result.map(|()| ExitCode::SUCCESS);
    match command {
        Worker::Register(args) => done(register::run(&context()?, args)),
        Worker::List(args) => done(list::run(&context()?, args)),
        Worker::Claim(args) => done(claim::run(&context()?, args)),
        Worker::Mine(args) => done(mine::run(&context()?, args)),
        Worker::Brief(args) => done(brief::run(&context()?, args)),
        Worker::Start(args) => done(start::run(&context()?, args)),
        Worker::Heartbeat(args) => done(heartbeat::run(&context()?, args)),
        Worker::Complete(args) => done(complete::run(&context()?, args)),
        Worker::Fail(args) => done(fail::run(&context()?, args)),
        Worker::Release(args) => done(release::run(&context()?, args)),
        Worker::Discover(args) => done(discover::run(&context()?, args)),
        Worker::Run(args) => run::run(&context()?, args),
        Worker::Watchdog(args) => Ok(watchdog::run(args)),
    }
}

/// Runs the hot commands, which need no clap.
pub fn direct(verb: &str, rest: &[String]) -> Option<ExitCode> {
    match verb {
        "list" => one(rest, list::run),
        "claim" => one(rest, claim::run),
        "start" => one(rest, start::run),
        "heartbeat" => one(rest, heartbeat::run),
        "complete" => one(rest, complete::run),
        "fail" => one(rest, fail::run),
        "release" => one(rest, release::run),
        _ => None,
    }
}
