use anthill_core::api::workflow::ShowWorkflow;
use anthill_core::model::flow::{Flow, Ownership, WorkflowStatus};
use anthill_core::ops::workflow::hands;
use anthill_core::view::workflow::shown;
use clap::Args;

use crate::context::Context;
use crate::error::Result;

/// Show the workflow and its phases
///
/// Examples:
///   anthill workflow show
///   anthill workflow show --json      # exactly as it is stored
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ShowArgs {}

pub fn run(context: &Context<'_>) -> Result<()> {
    context.perform(ShowWorkflow {}, |flow| {
        let lines = [shown(flow), whose(context, flow)?.into_iter().collect()].concat();
        context.output.print(&lines.join("\n"))
    })
}

/// Says whose workflow it is, if it is another session's.
fn whose(context: &Context<'_>, flow: &Flow) -> Result<Option<String>> {
    let Some(owner) = flow.owner().filter(|_| flow.status() != WorkflowStatus::Completed) else {
        return Ok(None);
    };
    Ok(Some(match hands::ownership(&*context.engine, flow, &context.actor)? {
        Ownership::Ours | Ownership::Other(_) => format!("belongs to session {owner}"),
        Ownership::Nobody => {
            format!("belongs to nobody: session {owner} is over (to take it: anthill workflow adopt)")
        }
    }))
}
