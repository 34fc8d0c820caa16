use anthill_core::api::agent_loop::FinishItem;
use anthill_core::model::agent_loop::is_open;
use clap::Args;

use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;

/// Say that an item is done
///
/// Examples:
///   anthill loop done work-001
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct DoneArgs {
    /// The item
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &DoneArgs) -> Result<()> {
    let request = FinishItem { id: args.id.clone(), expect_revision: args.expect.expect_revision };
    context.perform(request, |done| {
        let what = if done.changed { "Done" } else { "Done already" };
        let open = done.work.items().iter().filter(|item| is_open(item)).count();
        let next = if open > 0 { "anthill loop take" } else { "anthill loop gate --all" };
        context.output.print_with_next(&format!("{what}: {}", args.id), next)
    })
}
