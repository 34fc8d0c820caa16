use anthill_core::api::queue::lead::RetryTasks;
use anthill_core::api::request::Seconds;
use clap::Args;

use super::report::tell_all;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{parse_ids, span};

/// Let failed tasks be tried again
///
/// With several ids all are tried again, or none.
///
/// Examples:
///   anthill leader retry parser
///   anthill leader retry parser tests --after 30     # not before 30 seconds have passed
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RetryArgs {
    /// The tasks
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Wait this long before they are given out again
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    after: Option<Seconds>,
}

pub fn run(context: &Context<'_>, args: &RetryArgs) -> Result<()> {
    tell_all(context, "To be tried again", &args.ids, |ids| {
        Ok(RetryTasks { ids: parse_ids(ids)?, after: args.after })
    })
}
