use anthill_core::ops::edit::{self, Target};
use clap::Args;

use super::{parse_path, report};
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;

/// Delete a field or an item of a document, or the document itself
///
/// Examples:
///   anthill delete epics 'epics[id=epic-001].stories[-1]'
///   anthill delete workflow .                  # all of it; `anthill undo workflow` brings it back
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct DeleteArgs {
    #[command(flatten)]
    select: Select,
    /// What to delete; `.` is the whole document
    path: String,
    /// Refuse (exit 3) unless the document is at this revision
    #[arg(long, value_name = "N")]
    expect_revision: Option<u64>,
}

pub fn run(context: &Context<'_>, args: &DeleteArgs) -> Result<()> {
    let path = parse_path(&args.path)?;
    let doc = context.select(&args.select)?;
    let target = Target { doc: &doc, path: &path, expect: args.expect_revision };
    let changed = edit::delete(&*context.engine, &target, &context.actor)?;
    report(context, doc.kind.name, &format!("Deleted {path} from {}", doc.kind.name), &changed)
}
