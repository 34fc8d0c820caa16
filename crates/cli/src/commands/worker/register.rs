use anthill_core::api::queue::work::RegisterWorker;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::typed::{names, parse_id};

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
    let request = RegisterWorker { worker: parse_id(&args.worker)?, capabilities: names(&args.capabilities) };
    context.perform(request, |_| context.output.print(&format!("Registered: {}", args.worker)))
}
