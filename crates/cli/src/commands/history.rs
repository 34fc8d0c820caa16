use anthill_core::ops::{history, read};
use clap::Args;

use super::show_revisions;
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;

/// Show the changes of a document, oldest first
///
/// Example:
///   anthill history config
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct HistoryArgs {
    #[command(flatten)]
    select: Select,
    /// Only the newest N
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub fn run(context: &Context<'_>, args: &HistoryArgs) -> Result<()> {
    let doc = context.select(&args.select)?;
    let revisions = history::history(&*context.engine, &doc)?;
    if revisions.is_empty() {
        read::document(&*context.engine, &doc)?;
    }
    let start = args.limit.map_or(0, |limit| revisions.len().saturating_sub(limit));
    show_revisions(context.output, &revisions[start..])
}
