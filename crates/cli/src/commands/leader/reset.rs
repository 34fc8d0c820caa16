use anthill_core::api::queue::lead::ResetTasks;
use clap::Args;

use super::report::tell_all;
use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_ids;

/// Make tasks open again, whoever has them
///
/// The lease of whoever has one ends. Dead workers need no reset: their leases run out by themselves.
/// A part that is open again opens its parent again. With several ids all are reset, or none.
///
/// Examples:
///   anthill leader reset parser
///   anthill leader reset parser --force           # also when it is done
///   anthill leader reset parser tests --dry-run   # shows what would become of them
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ResetArgs {
    /// The tasks
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Also open tasks again that are done
    #[arg(long)]
    force: bool,
    /// Only show what would become of them
    #[arg(long)]
    dry_run: bool,
}

pub fn run(context: &Context<'_>, args: &ResetArgs) -> Result<()> {
    let what = if args.dry_run { "Would reset" } else { "Reset" };
    tell_all(context, what, &args.ids, |ids| {
        Ok(ResetTasks { ids: parse_ids(ids)?, force: args.force, dry_run: args.dry_run })
    })
}
