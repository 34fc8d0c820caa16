use anthill_core::api::records::ShowMetrics;
use anthill_core::view::records;
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;

/// Show the figures of past sessions
///
/// Examples:
///   anthill metrics
///   anthill metrics --last 5
///   anthill metrics --json | jq '[.sessions[].duration_minutes] | add'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct MetricsArgs {
    /// How many sessions the table has, the newest last
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    last: u32,
}

pub fn run(context: &Context<'_>, args: &MetricsArgs) -> Result<()> {
    context.perform(ShowMetrics {}, |metrics| tell(context, args, &metrics.value))
}

fn tell(context: &Context<'_>, args: &MetricsArgs, metrics: &Value) -> Result<()> {
    let sessions = metrics.get("sessions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if sessions.is_empty() {
        context.output.status("no session has left its figures yet");
        return Ok(());
    }
    let last = &sessions[sessions.len().saturating_sub(args.last as usize)..];
    context.output.value(&records::sessions(last), Format::Table)?;
    let curves = records::curves(sessions, context.output.width().saturating_sub(30).clamp(10, 100));
    if curves.is_empty() { Ok(()) } else { context.output.print(&format!("\n{}", curves.join("\n"))) }
}
