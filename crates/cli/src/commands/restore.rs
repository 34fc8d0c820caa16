use anthill_core::ops::edit::Target;
use anthill_core::ops::history;
use clap::Args;

use super::report;
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;

/// Make a document be again what it was at a revision
///
/// The restored content becomes a new revision; nothing is lost.
///
/// Example:
///   anthill restore config --revision 3
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RestoreArgs {
    #[command(flatten)]
    select: Select,
    /// The revision to go back to (`anthill history KIND` lists them)
    #[arg(long, value_name = "N")]
    revision: u64,
    /// Refuse (exit 3) unless the document is at this revision
    #[arg(long, value_name = "N")]
    expect_revision: Option<u64>,
}

pub fn run(context: &Context<'_>, args: &RestoreArgs) -> Result<()> {
    let doc = context.select(&args.select)?;
    let changed = history::restore(
        &*context.engine,
        &Target::whole(&doc, args.expect_revision),
        args.revision,
        &context.actor,
    )?;
    let what = format!("Restored {} as of revision {}", doc.kind.name, args.revision);
    report(context, doc.kind.name, &what, &changed)
}
