//! Sprints of a project.

mod add;
mod close;
mod list;
mod start;
mod status;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

/// Work in sprints: start one, follow it, close it
///
/// One sprint runs at a time. Its points are added up from its stories.
///
/// Examples:
///   anthill sprint start "Sprint 3 - Authentication" --stories story-001 story-002 \
///       --end-date 2026-01-29
///   anthill sprint add "Sprint 4" --id sprint-004       # planned; started later
///   anthill sprint list
///   anthill sprint status
///   anthill sprint close
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Sprint {
    Start(start::StartArgs),
    Status(status::StatusArgs),
    Close(close::CloseArgs),
    Add(add::AddArgs),
    List(list::ListArgs),
}

pub fn run(context: &Context<'_>, command: &Sprint) -> Result<()> {
    match command {
        Sprint::Start(args) => start::run(context, args),
        Sprint::Status(args) => status::run(context, args),
        Sprint::Close(args) => close::run(context, args),
        Sprint::Add(args) => add::run(context, args),
        Sprint::List(args) => list::run(context, args),
    }
}
