use anthill_core::api::pipeline::{RunStatus, ShowRun};
use anthill_core::ops::pipeline;
use anthill_core::view::pipeline::{head, table};
use clap::Args;

use super::next_step;
use crate::context::Context;
use crate::error::Result;
use crate::output::Format;

/// Show where the run stands
///
/// With --json an object {pm_state, orchestrator_state, groups, orders, orchestrator, missing}: the
/// first three as they are stored, the open orders, who starts the agents ({alive, pid, since, until}),
/// and what the run lacks.
///
/// Examples:
///   anthill pipeline status
///   anthill pipeline status --json | jq '.pm_state.completion_percentage'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StatusArgs {}

pub fn run(context: &Context<'_>) -> Result<()> {
    let door = context.actor.door;
    context.perform(ShowRun {}, |RunStatus { run, conducted }| {
        context.output.print(&head(run, *conducted, door).join("\n"))?;
        if run.is_planned() {
            context.output.value(&table(run, pipeline::caps(&*context.engine)?, door), Format::Table)?;
        }
        next_step::tell(context, run);
        Ok(())
    })
}
