use anthill_core::model::paper::Paper;
use anthill_core::ops::queue::lead;
use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;

/// Put all results into one text, `.coordination/summary.md`
///
/// Example:
///   anthill leader aggregate && less .coordination/summary.md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AggregateArgs {}

pub fn run(context: &Context<'_>, _: &AggregateArgs) -> Result<()> {
    let results = lead::aggregate(&*context.engine, &context.actor)?;
    let path = Paper::Summary.path();
    match context.output.json {
        true => context.output.changed(&json!({"path": path, "results": results}), Format::Json),
        false => context.output.said(&format!("Put {results} results together: {path}")),
    }
}
