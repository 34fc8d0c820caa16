use std::io;

use anthill_live::runner::watchdog;
use clap::Args;

use crate::process::ExitCode;

/// Kill what a runner leaves behind; `anthill worker run` starts this itself
#[derive(Debug, Args)]
pub struct WatchdogArgs {}

pub fn run(_: &WatchdogArgs) -> ExitCode {
    watchdog::watch(io::stdin().lock());
    ExitCode::SUCCESS
}
