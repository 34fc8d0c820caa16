use anthill_core::api::records::MergeFindings;
use anthill_core::view::records;
use clap::Args;

use crate::context::Context;
use crate::error::Result;

/// Print the findings of all agents, the worst first
///
/// What several agents found is told once, with `agent_ids`; if they disagree how bad it is, the
/// worse holds.
///
/// Examples:
///   anthill agents merge
///   anthill agents merge --json | jq 'group_by(.severity) | map({(.[0].severity): length}) | add'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct MergeArgs {}

pub fn run(context: &Context<'_>, _: &MergeArgs) -> Result<()> {
    context.perform(MergeFindings {}, |merged| {
        let none = match merged.results {
            0 => "there are no results of agents yet",
            _ => "the agents found nothing",
        };
        context.output.table(merged.findings.items(), records::findings, none)
    })
}
