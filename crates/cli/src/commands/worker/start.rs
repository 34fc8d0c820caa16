use anthill_core::ops::queue::work;
use clap::Args;

use super::{OnArgs, report};
use crate::context::Context;
use crate::direct::{Direct, Opt, Takes, Words};
use crate::error::Result;

/// Say that you have begun, and renew the lease
///
/// Example:
///   anthill worker start terminal-2 task-20260119200000-xxxx
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StartArgs {
    #[command(flatten)]
    on: OnArgs,
}

impl Direct for StartArgs {
    const OPTIONS: &'static [Opt] = &[("--epoch", "", Takes::One)];

    fn read(words: &mut Words) -> Option<StartArgs> {
        Some(StartArgs { on: OnArgs::read(words)? })
    }
}

pub fn run(context: &Context<'_>, args: &StartArgs) -> Result<()> {
    let ids = args.on.ids()?;
    let done = work::start(&*context.engine, args.on.on(&ids), &context.actor)?;
    report(context, "Started", &done)
}
