use anthill_core::api::queue::work::FailTask;
use clap::Args;

use super::report::ReportArgs;
use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::typed::prose;

/// Report that a task did not work out
///
/// The leader may let it be tried again (leader retry). To give it to others as it is, use release.
///
/// Example:
///   anthill worker fail terminal-2 task-20260119200000-xxxx "The schema is missing"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct FailArgs {
    #[command(flatten)]
    on: ReportArgs,
    /// Why
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    reason: String,
}

impl Direct for FailArgs {
    const OPTIONS: &'static [Opt] = &[("--epoch", "", Takes::One)];

    fn read(words: &mut Words) -> Option<FailArgs> {
        Some(FailArgs { on: ReportArgs::read(words)?, reason: words.plain()? })
    }
}

pub fn run(context: &Context<'_>, args: &FailArgs) -> Result<()> {
    args.on.perform(context, "Failed", |worker, task| FailTask {
        worker,
        task,
        reason: args.reason.clone(),
        epoch: args.on.epoch,
    })
}
