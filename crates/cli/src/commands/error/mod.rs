//! Errors that agents meet, and when to try again.

mod due;
mod list;
mod record;
mod resolve;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

/// Keep track of errors: record them, see which can be tried again, resolve them
///
/// The class of an error decides how often and when it is tried again:
///   network             3 times, at once and then after 2 and 4 s
///   rate_limit          3 times, after 60, 120 and 240 s
///   timeout             2 times, at once
///   resource            2 times, after 30 and 60 s
///   external            2 times, at once and then after 2 s
///   unknown             once
///   syntax, validation  not, they are work for the loop
///   permission          not, a person has to look
/// An error whose retries are used up is escalated.
///
/// Examples:
///   anthill error record --message "Connection timeout" --tool WebFetch
///   anthill error due --json | jq -r '.[].id'
///   anthill error list --filter-status escalated
///   anthill error resolve error-20260129103000-4f2a
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum ErrorCommand {
    Record(record::RecordArgs),
    List(list::ListArgs),
    Due(due::DueArgs),
    Resolve(resolve::ResolveArgs),
}

pub fn run(context: &Context<'_>, command: &ErrorCommand) -> Result<()> {
    match command {
        ErrorCommand::Record(args) => record::run(context, args),
        ErrorCommand::List(args) => list::run(context, args),
        ErrorCommand::Due(args) => due::run(context, args),
        ErrorCommand::Resolve(args) => resolve::run(context, args),
    }
}
