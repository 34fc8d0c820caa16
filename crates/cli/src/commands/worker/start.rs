use anthill_core::api::queue::work::StartTask;
use clap::Args;

use super::report::ReportArgs;
use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};

/// Say that you have begun, and renew the lease
///
/// Example:
///   anthill worker start terminal-2 task-20260119200000-xxxx
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StartArgs {
    #[command(flatten)]
    on: ReportArgs,
}

impl Direct for StartArgs {
    const OPTIONS: &'static [Opt] = &[("--epoch", "", Takes::One)];

    fn read(words: &mut Words) -> Option<StartArgs> {
        Some(StartArgs { on: ReportArgs::read(words)? })
    }
}

pub fn run(context: &Context<'_>, args: &StartArgs) -> Result<()> {
    args.on.perform(context, "Started", |worker, task| StartTask { worker, task, epoch: args.on.epoch })
}
