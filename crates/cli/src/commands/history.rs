use anthill_core::ops::{history, read};
use clap::Args;

use super::revisions::{Window, show_revisions};
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;

/// Show the changes of a document, oldest first
///
/// Items of lists are named by their ids. With a limit, a change that is too long for the journal
/// (an import) is named by the file that has it.
///
/// Examples:
///   anthill history config
///   anthill history queue --limit 10 --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct HistoryArgs {
    #[command(flatten)]
    select: Select,
    #[command(flatten)]
    window: Window,
}

pub fn run(context: &Context<'_>, args: &HistoryArgs) -> Result<()> {
    let doc = context.select(&args.select)?;
    let revisions = match args.window.limit(context.output) {
        Some(limit) => history::newest(&*context.engine, &doc, limit)?,
        None => history::history(&*context.engine, &doc)?,
    };
    if revisions.is_empty() {
        read::document(&*context.engine, &doc)?;
    }
    show_revisions(context.output, &revisions)?;
    args.window.say_if_cut(context.output, revisions.len());
    Ok(())
}
