use anthill_core::ops::errors::{self, Standing};
use anthill_core::view::records;
use clap::{Args, ValueEnum};

use crate::context::Context;
use crate::error::Result;
use crate::planning::table;

/// List the recorded errors, in the order in which they came up
///
/// The newest stay in the list, first of all those that are not over. Older ones leave it for
/// `.claude/state/archive/errors-YEAR-MONTH.jsonl`. How many stay is set by `retention.errors` in
/// the configuration.
///
/// Examples:
///   anthill error list
///   anthill error list --all
///   anthill error list --filter-status escalated --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Only errors that stand so
    #[arg(long, value_name = "STATUS", value_enum)]
    filter_status: Option<Status>,

    /// Also those that are in an archive
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Status {
    /// To be tried again
    #[value(alias = "pending")]
    PendingRetry,
    /// Resolved
    Recovered,
    /// Not tried again
    Escalated,
}

pub fn run(context: &Context<'_>, args: &ListArgs) -> Result<()> {
    let wanted = args.filter_status.map(|status| match status {
        Status::PendingRetry => Standing::Pending,
        Status::Recovered => Standing::Recovered,
        Status::Escalated => Standing::Escalated,
    });
    let list = if args.all { errors::list_all } else { errors::list };
    let found = list(&*context.engine, wanted)?;
    table(context, found, records::errors, "no such errors; record one: anthill error record --message TEXT")
}
