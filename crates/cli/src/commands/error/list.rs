use anthill_core::ops::errors::{self, Standing};
use anthill_core::view::records;
use clap::{Args, ValueEnum};

use crate::context::Context;
use crate::error::Result;
use crate::planning::table;

/// List the recorded errors, in the order in which they came up
///
/// Examples:
///   anthill error list
///   anthill error list --filter-status escalated --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Only errors that stand so
    #[arg(long, value_name = "STATUS", value_enum)]
    filter_status: Option<Status>,
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
    let found = errors::list(&*context.engine, wanted)?;
    table(context, found, records::errors, "no such errors; record one: anthill error record --message TEXT")
}
