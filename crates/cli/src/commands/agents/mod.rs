//! Agents of a session, and what they found.

mod list;
mod merge;
mod result;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

/// See which agents are at work, and what they found
///
/// Examples:
///   anthill agents list
///   anthill agents result agent-uuid-1234
///   anthill agents merge --json | jq '.[] | select(.severity == "S0")'
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Agents {
    List(list::ListArgs),
    Result(result::ResultArgs),
    Merge(merge::MergeArgs),
}

pub fn run(context: &Context<'_>, command: &Agents) -> Result<()> {
    match command {
        Agents::List(args) => list::run(context, args),
        Agents::Result(args) => result::run(context, args),
        Agents::Merge(args) => merge::run(context, args),
    }
}
