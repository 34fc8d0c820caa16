//! Stories of a project's plan.

mod add;
mod assign;
mod edit;
mod list;
mod status;
mod to_task;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

/// Plan in stories: add them to epics, give them to agents, move them on
///
/// What a story's status means for its epic and its sprint is written with it.
///
/// Examples:
///   anthill story add epic-001 "Add OAuth2 providers" --points 8 --needs backend
///   anthill story list --unassigned --filter-status pending
///   anthill story assign story-001 engineering-fullstack
///   anthill story status story-001 completed
///   anthill story to-task story-001         # its task is in the queue now, and completes it
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Story {
    Add(add::AddArgs),
    List(list::ListArgs),
    Assign(assign::AssignArgs),
    Status(status::StatusArgs),
    Edit(edit::EditArgs),
    ToTask(to_task::ToTaskArgs),
}

pub fn run(context: &Context<'_>, command: &Story) -> Result<()> {
    match command {
        Story::Add(args) => add::run(context, args),
        Story::List(args) => list::run(context, args),
        Story::Assign(args) => assign::run(context, args),
        Story::Status(args) => status::run(context, args),
        Story::Edit(args) => edit::run(context, args),
        Story::ToTask(args) => to_task::run(context, args),
    }
}
