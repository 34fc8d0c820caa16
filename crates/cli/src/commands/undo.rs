use anthill_core::api::history::UndoChange;
use clap::Args;

use super::revisions::{GoingBack, tell_back};
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;

/// Take back the last change of a document; again to go further back
///
/// It says what is taken back and whose it was. What another session, worker or user did is taken
/// back only with --force. An edit by hand counts as a change. The result of a task goes with the
/// task, and a lease number is never given out twice. A second undo takes back the change before;
/// to take back an undo: anthill restore KIND --revision N.
///
/// Examples:
///   anthill undo epics --project-id myapp
///   anthill undo queue --dry-run
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct UndoArgs {
    #[command(flatten)]
    select: Select,
    /// Refuse (exit 3) unless the document is at this revision
    #[arg(long, value_name = "N")]
    expect_revision: Option<u64>,
    #[command(flatten)]
    how: GoingBack,
}

pub fn run(context: &Context<'_>, args: &UndoArgs) -> Result<()> {
    let GoingBack { force, dry_run } = args.how;
    let request =
        UndoChange { document: args.select.of()?, expect_revision: args.expect_revision, force, dry_run };
    let done = format!("Undid the last change of {}", args.select.kind);
    context.perform(request, |gone| tell_back(context, &done, gone))
}
