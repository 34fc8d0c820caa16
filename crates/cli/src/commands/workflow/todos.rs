use anthill_core::api::workflow::ListTodos;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;

/// Print the phases as input of an agent's todo list
///
/// Without options, the input of the tool TodoWrite. With --tasks, the inputs of TaskCreate and
/// TaskUpdate, one of each per phase: task ids count from 1, as in a list that was empty before. A
/// failed phase is pending there.
///
/// Examples:
///   anthill workflow todos
///   anthill workflow todos --tasks | jq '.TaskCreate[]'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct TodosArgs {
    /// For TaskCreate and TaskUpdate
    #[arg(long)]
    tasks: bool,
}

pub fn run(context: &Context<'_>, args: &TodosArgs) -> Result<()> {
    let request = ListTodos { tasks: args.tasks };
    context.perform(request, |list| context.output.value(&list.value, Format::Json))
}
