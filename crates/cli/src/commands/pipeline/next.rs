use anthill_core::api::pipeline::{NextOrders, Orders};
use anthill_core::model::plan::word;
use anthill_core::view::prompt;
use clap::Args;

use super::next_step;
use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;

/// Say who is needed now, and with which prompt
///
/// Opens an order for everybody who may begin: dependencies complete, a place free, and where the
/// plan has phases of its own, the earlier ones complete. At most 4 developers work at once, and no
/// more agents than `global.max_parallel_agents`. Orders stay open, with their ids, until they are
/// reported: asking again gives the same ones. With --json an array of {id, role, group_id,
/// purpose, prompt, state}. --expect-revision is about orchestrator_state.
///
/// Examples:
///   anthill pipeline next
///   anthill pipeline next --json | jq -c '.[] | {id, role, group_id}'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct NextArgs {
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &NextArgs) -> Result<()> {
    let request = NextOrders { expect_revision: args.expect.expect_revision };
    context.perform(request, |Orders { orders, done, .. }| {
        for order in orders {
            let head =
                format!("{} {} ({}): {}", word(order.role), order.group, word(order.purpose), order.id);
            let prompt = prompt::prompt(&done.pipeline, order, context.actor.door);
            context.output.print(&format!("## {head}\n\n{prompt}\n"))?;
        }
        if orders.is_empty() {
            next_step::tell(context, &done.pipeline);
        }
        Ok(())
    })
}
