use anthill_core::api::records::ListDue;
use anthill_core::view::records;
use clap::Args;

use crate::context::Context;
use crate::error::Result;

/// List the errors that can be tried again now, the longest due first
///
/// Try again what failed. If it works, resolve the error; if not, record it once more.
///
/// Examples:
///   anthill error due
///   anthill error due --json | jq -r '.[] | "\(.id) \(.tool)"'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct DueArgs {}

pub fn run(context: &Context<'_>, _: &DueArgs) -> Result<()> {
    let none = "nothing is due; see all: anthill error list";
    context.perform(ListDue {}, |found| context.output.table(found.items(), records::errors, none))
}
