use anthill_core::api::documents::AppendItem;
use clap::Args;

use super::revisions::tell_revision;
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{parse_path, parse_value};

/// Append an item to a list in a document
///
/// Example:
///   anthill append epics 'epics[0].stories' \
///       '{"id": "story-003", "title": "Reset", "status": "pending"}'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AppendArgs {
    #[command(flatten)]
    select: Select,
    /// The list: `epics`, `epics[0].stories`
    path: String,
    /// The JSON item, or `-` to read it from stdin
    #[arg(allow_hyphen_values = true)]
    item: String,
    /// Refuse (exit 3) unless the document is at this revision
    #[arg(long, value_name = "N")]
    expect_revision: Option<u64>,
}

pub fn run(context: &Context<'_>, args: &AppendArgs) -> Result<()> {
    let (path, item) = (parse_path(&args.path)?, parse_value(&args.item)?);
    let (document, expect_revision) = (args.select.of()?, args.expect_revision);
    let request = AppendItem { document, path: path.clone(), item, expect_revision };
    let kind = &args.select.kind;
    context
        .perform(request, |edited| tell_revision(context, &format!("Appended to {path} in {kind}"), edited))
}
