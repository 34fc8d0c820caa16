use anthill_core::api::queue::work::ReleaseTask;
use clap::Args;

use super::report::ReportArgs;
use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};

/// Give a task back for others to take
///
/// Example:
///   anthill worker release terminal-2 task-20260119200000-xxxx
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ReleaseArgs {
    #[command(flatten)]
    on: ReportArgs,
}

impl Direct for ReleaseArgs {
    const OPTIONS: &'static [Opt] = &[("--epoch", "", Takes::One)];

    fn read(words: &mut Words) -> Option<ReleaseArgs> {
        Some(ReleaseArgs { on: ReportArgs::read(words)? })
    }
}

pub fn run(context: &Context<'_>, args: &ReleaseArgs) -> Result<()> {
    args.on.perform(context, "Released", |worker, task| ReleaseTask { worker, task, epoch: args.on.epoch })
}
