use anthill_core::api::history::{Decided, MergeEdit, Side};
use clap::Args;

use super::revisions::tell_revision;
use crate::context::Context;
use crate::error::Result;

/// Decide about an edit by hand that could not be joined
///
/// Such an edit is kept aside as a whole, and `anthill diff KIND` shows both sides. PATH is where it is
/// kept, or the kind of its document if there is only one.
///
/// Examples:
///   anthill merge --theirs queue   # where both changed the same, the edit counts
///   anthill merge --ours queue     # what was committed stays; the edit is dropped
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct MergeArgs {
    /// Take the edit
    #[arg(long, value_name = "PATH", required_unless_present = "ours", conflicts_with = "ours")]
    theirs: Option<String>,
    /// Drop the edit
    #[arg(long, value_name = "PATH")]
    ours: Option<String>,
}

pub fn run(context: &Context<'_>, args: &MergeArgs) -> Result<()> {
    let take = if args.ours.is_some() { Side::Ours } else { Side::Theirs };
    let edit = args.theirs.clone().or_else(|| args.ours.clone()).unwrap_or_default();
    context.perform(MergeEdit { edit, take }, |decided| match decided {
        Decided::Taken(edited) => {
            tell_revision(context, &format!("Took the edit of {}", edited.kind), edited)
        }
        Decided::Dropped(aside) => {
            let kind = aside.doc.kind.name;
            context.output.status(&format!("Dropped the edit of {kind}: {}", aside.path));
            Ok(())
        }
    })
}
