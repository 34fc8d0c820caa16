use anthill_core::api::queue::work::Discover;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::typed::{parse_id, prose};

/// Tell everybody what you found out
///
/// Adds to `.coordination/context/discoveries.md`; nothing that others add at the same time is lost.
///
/// Example:
///   anthill worker discover terminal-2 "The pool allows 10 connections (src/config/db.ts)"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct DiscoverArgs {
    /// Who you are
    worker: String,
    /// What you found out; the first line is the title
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    text: String,
}

pub fn run(context: &Context<'_>, args: &DiscoverArgs) -> Result<()> {
    let request = Discover { worker: parse_id(&args.worker)?, text: args.text.clone() };
    context
        .perform(request, |found| context.output.print(&format!("Noted by {}: {}", found.worker, found.path)))
}
