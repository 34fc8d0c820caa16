use anthill_core::model::ids::Key;
use anthill_core::ops::queue::work;
use clap::Args;

use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::output::Format;

/// Tell the team who you are and what you can do
///
/// Only tasks that need a capability (leader add-task --needs) ask for this. Registering again replaces
/// what you can do.
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
    let worker: Key = parse_id(&args.worker)?;
    let able: Vec<_> =
        args.capabilities.iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect();
    let entry = work::register(&*context.engine, &worker, &able, &context.actor)?;
    match context.output.json {
        true => context.output.changed(&entry, Format::Json),
        false => context.output.said(&format!("Registered: {worker}")),
    }
}
