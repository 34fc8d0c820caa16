use anthill_core::api::queue::lead::CancelTasks;
use clap::Args;

use super::report::tell_all;
use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_ids;

/// Take tasks out of the work
///
/// Tasks that depend on one stay waiting, and are named. A worker that has it is refused when it
/// reports. The parts of a task are cancelled with it; a part that is cancelled no longer counts for
/// its parent. With several ids all are cancelled, or none.
///
/// Examples:
///   anthill leader cancel parser
///   anthill leader cancel old-1 old-2 --dry-run       # shows what would become of them
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CancelArgs {
    /// The tasks
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Only show what would become of them
    #[arg(long)]
    dry_run: bool,
}

pub fn run(context: &Context<'_>, args: &CancelArgs) -> Result<()> {
    let what = if args.dry_run { "Would cancel" } else { "Cancelled" };
    tell_all(context, what, &args.ids, |ids| Ok(CancelTasks { ids: parse_ids(ids)?, dry_run: args.dry_run }))
}
