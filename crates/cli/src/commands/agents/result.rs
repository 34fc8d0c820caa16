use anthill_core::model::plan;
use anthill_core::ops::agents;
use anthill_core::view::{self, records};
use clap::Args;
use serde_json::Value;

use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::output::{Format, shorten};

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
    let result = agents::result(&*context.engine, &parse_id(&args.agent_id)?)?;
    if context.output.json {
        return context.output.value(&result, Format::Json);
    }
    let text = |field| view::plan::text(&result, field);
    let mut head = format!("{} ({}, {})", text("agent_id"), text("type"), text("status"));
    for (label, field) in [("task", "task"), ("started", "started"), ("completed", "completed")] {
        if !text(field).is_empty() {
            head += &format!("\n  {label}: {}", shorten(&text(field), 80));
        }
    }
    for recommendation in plan::texts(&result, "recommendations") {
        head += &format!("\n  recommends: {}", shorten(&recommendation.replace(['\n', '\r', '\t'], " "), 80));
    }
    context.output.said(&head)?;
    match result.get("findings").and_then(Value::as_array) {
        Some(findings) if !findings.is_empty() => {
            context.output.value(&records::findings(findings), Format::Table)
        }
        _ => {
            context.output.status("it found nothing");
            Ok(())
        }
    }
}
