//! What workers do.

mod run;
mod watchdog;

use std::process::ExitCode;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

/// Claim tasks and do them
#[derive(Debug, Subcommand)]
pub enum Worker {
    Run(run::RunArgs),
    #[command(hide = true)]
    Watchdog(watchdog::WatchdogArgs),
}

pub fn run<'o>(context: impl FnOnce() -> Result<Context<'o>>, worker: &Worker) -> Result<ExitCode> {
    match worker {
        Worker::Run(args) => run::run(&context()?, args),
        Worker::Watchdog(args) => Ok(watchdog::run(args)),
    }
}
