use anthill_core::model::ids::Key;
use anthill_core::ops::queue::register;
use clap::Args;

use crate::args::names;
use crate::context::{Context, parse_new_id};
use crate::error::Result;
use crate::output::Format;

/// Tell the team who you are and what you can do
///
/// A claim registers you by itself; only tasks that need a capability (leader add-task --needs) ask for
/// this. Registering again replaces what you can do.
///
/// Examples:
///   anthill worker register terminal-2
///   anthill worker register terminal-2 --capabilities rust,sql
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RegisterArgs {
    /// Who you are
    worker: String,
    /// What you can do
    #[arg(long, value_name = "CAPABILITY", num_args = 1.., value_delimiter = ',')]
    capabilities: Vec<String>,
}

pub fn run(context: &Context<'_>, args: &RegisterArgs) -> Result<()> {
    let worker: Key = parse_new_id(&args.worker)?;
    let entry = register::register(&*context.engine, &worker, &names(&args.capabilities), &context.actor)?;
    match context.output.json {
        true => context.output.changed(&entry, Format::Json),
        false => context.output.said(&format!("Registered: {worker}")),
    }
}
