//! The register of tools that work can be given to.

mod list;
mod register;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

/// Keep the register of agents and other tools that stories can be given to
///
/// All projects of a user share it.
///
/// Examples:
///   anthill tool register engineering-fullstack --capabilities frontend,backend,database \
///       --max-instances 2
///   anthill tool list
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Tool {
    Register(register::RegisterArgs),
    List(list::ListArgs),
}

pub fn run(context: &Context<'_>, command: &Tool) -> Result<()> {
    match command {
        Tool::Register(args) => register::run(context, args),
        Tool::List(args) => list::run(context, args),
    }
}
