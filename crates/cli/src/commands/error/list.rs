use anthill_core::api::records::{ErrorState, ListErrors};
use anthill_core::view::records;
use clap::{Args, ValueEnum};

use crate::context::Context;
use crate::error::Result;

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
    let status = args.filter_status.map(|status| match status {
        Status::PendingRetry => ErrorState::Pending,
        Status::Recovered => ErrorState::Recovered,
        Status::Escalated => ErrorState::Escalated,
    });
    const NONE: &str = "no such errors; record one: anthill error record --message TEXT";
    let request = ListErrors { status, all: args.all };
    context.perform(request, |found| context.output.table(found.items(), records::errors, NONE))
}
