//! Backups before a client shortens its context.

mod backup;
mod contents;
mod list;
mod restore;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

/// Save state before the context is compacted, and get it back
///
/// A backup holds the loop's work queue, the active agents, the current session, the workflow, and
/// what the acting session has in hand in the queue. The last 3 are kept.
///
/// Examples:
///   anthill compact backup --reason context_limit_approaching
///   anthill compact list
///   anthill compact restore              # what the newest backup would give back
///   anthill compact restore --apply
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Compact {
    Backup(backup::BackupArgs),
    List(list::ListArgs),
    Restore(restore::RestoreArgs),
}

pub fn run(context: &Context<'_>, command: &Compact) -> Result<()> {
    match command {
        Compact::Backup(args) => backup::run(context, args),
        Compact::List(args) => list::run(context, args),
        Compact::Restore(args) => restore::run(context, args),
    }
}
