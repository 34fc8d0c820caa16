//! Epics of a project's plan.

mod add;
mod list;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

/// Plan in epics: add, list and show them
///
/// An epic's status follows from its stories.
///
/// Examples:
///   anthill epic add "User authentication" --priority high
///   anthill epic list --filter-status in_progress
///   anthill epic show epic-001
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Epic {
    Add(add::AddArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
}

pub fn run(context: &Context<'_>, command: &Epic) -> Result<()> {
    match command {
        Epic::Add(args) => add::run(context, args),
        Epic::List(args) => list::run(context, args),
        Epic::Show(args) => show::run(context, args),
    }
}
