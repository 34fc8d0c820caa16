use anthill_core::api::documents::DeleteField;
use clap::Args;

use super::revisions::tell_revision;
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_path;

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
    let (document, expect_revision) = (args.select.of()?, args.expect_revision);
    let request = DeleteField { document, path: path.clone(), expect_revision };
    let kind = &args.select.kind;
    context.perform(request, |edited| tell_revision(context, &format!("Deleted {path} from {kind}"), edited))
}
