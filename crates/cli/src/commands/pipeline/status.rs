use anthill_core::ops::{orchestrate, pipeline};
use anthill_core::view::pipeline::{head, status, table};
use clap::Args;

use super::tell_next;
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
    let run = pipeline::show(&*context.engine)?;
    let conducted = orchestrate::is_conducted(&*context.engine, &run)?;
    if context.output.json {
        return context.output.value(&status(&run, conducted), Format::Json);
    }
    context.output.said(&head(&run, conducted, context.actor.door).join("\n"))?;
    if run.is_planned() {
        context
            .output
            .value(&table(&run, pipeline::caps(&*context.engine)?, context.actor.door), Format::Table)?;
    }
    tell_next(context, &run);
    Ok(())
}
