use anthill_core::api::history::RestoreRevision;
use clap::Args;

use super::revisions::{GoingBack, tell_back};
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;

/// Make a document be again what it was at a revision
///
/// The restored content becomes a new revision; nothing is lost. It says what is taken back and whose
/// it was. What another session, worker or user did is taken back only with --force. Results go with
/// their tasks, and a lease number is never given out twice.
///
/// Examples:
///   anthill restore config --revision 3
///   anthill restore queue --revision 3 --dry-run
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
    #[command(flatten)]
    how: GoingBack,
}

pub fn run(context: &Context<'_>, args: &RestoreArgs) -> Result<()> {
    let GoingBack { force, dry_run } = args.how;
    let request = RestoreRevision {
        document: args.select.of()?,
        revision: args.revision,
        expect_revision: args.expect_revision,
        force,
        dry_run,
    };
    let done = format!("Restored {} as of revision {}", args.select.kind, args.revision);
    context.perform(request, |gone| tell_back(context, &done, gone))
}
