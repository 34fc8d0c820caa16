use anthill_core::ops::edit::Target;
use anthill_core::ops::history;
use clap::Args;

use super::report;
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;

/// Take back the last change of a document; again to go further back
///
/// An edit by hand counts as a change.
///
/// Example:
///   anthill undo epics --project-id myapp
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct UndoArgs {
    #[command(flatten)]
    select: Select,
    /// Refuse (exit 3) unless the document is at this revision
    #[arg(long, value_name = "N")]
    expect_revision: Option<u64>,
}

pub fn run(context: &Context<'_>, args: &UndoArgs) -> Result<()> {
    let doc = context.select(&args.select)?;
    let changed =
        history::undo(&*context.engine, &Target::whole(&doc, args.expect_revision), &context.actor)?;
    report(context, doc.kind.name, &format!("Undid the last change of {}", doc.kind.name), &changed)
}
