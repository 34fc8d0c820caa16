//! A project's team.

mod add;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

/// Keep a project's team
///
/// Examples:
///   anthill team add engineering-lead --role "tech lead" --capacity 13
///   anthill team show
///   anthill set team settings.max_parallel_agents 3       # how many agents may work at once
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Team {
    Show(show::ShowArgs),
    Add(add::AddArgs),
}

pub fn run(context: &Context<'_>, command: &Team) -> Result<()> {
    match command {
        Team::Show(args) => show::run(context, args),
        Team::Add(args) => add::run(context, args),
    }
}
