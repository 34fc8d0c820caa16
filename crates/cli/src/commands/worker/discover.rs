use anthill_core::model::ids::Key;
use anthill_core::model::paper::Paper;
use anthill_core::ops::queue::work;
use clap::Args;
use serde_json::json;

use crate::args::prose;
use crate::context::{Context, parse_new_id};
use crate::error::Result;
use crate::output::Format;

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
    let worker: Key = parse_new_id(&args.worker)?;
    work::discover(&*context.engine, &worker, &args.text, &context.actor)?;
    let path = context.shown(&Paper::Discoveries);
    match context.output.json {
        true => context
            .output
            .changed(&json!({"worker": args.worker, "text": args.text, "path": path}), Format::Json),
        false => context.output.said(&format!("Noted by {worker}: {path}")),
    }
}
