use anthill_core::api::records::ShowResult;
use anthill_core::model::documents::AgentResult;
use anthill_core::model::key::Fields;
use anthill_core::model::plan;
use anthill_core::view::plan::text;
use anthill_core::view::records;
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;
use crate::sentence::shorten;
use crate::typed::parse_id;

/// Show what one agent found and recommends
///
/// Examples:
///   anthill agents result agent-uuid-1234
///   anthill agents result agent-uuid-1234 --json      # exactly as it is stored
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ResultArgs {
    /// The agent
    agent_id: String,
}

pub fn run(context: &Context<'_>, args: &ResultArgs) -> Result<()> {
    let request = ShowResult { agent_id: parse_id(&args.agent_id)? };
    context.perform(request, |found| tell(context, &found.value))
}

fn tell(context: &Context<'_>, result: &Value) -> Result<()> {
    let mut head = format!(
        "{} ({}, {})",
        text(result, AgentResult::agent_id),
        text(result, AgentResult::kind),
        text(result, AgentResult::status)
    );
    let facts = [
        ("task", text(result, AgentResult::task)),
        ("started", text(result, AgentResult::started)),
        ("completed", text(result, AgentResult::completed)),
    ];
    for (label, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
        head += &format!("\n  {label}: {}", shorten(fact, 80));
    }
    for recommendation in plan::texts(result, AgentResult::recommendations) {
        head += &format!("\n  recommends: {}", shorten(&recommendation.replace(['\n', '\r', '\t'], " "), 80));
    }
    context.output.print(&head)?;
    match result.read(AgentResult::findings) {
        Some(findings) if !findings.is_empty() => {
            context.output.value(&records::findings(findings), Format::Table)
        }
        _ => {
            context.output.status("it found nothing");
            Ok(())
        }
    }
}
