use anthill_core::model::changes::NO_CHANGE;
use anthill_core::model::paper::Paper;
use anthill_core::ops::queue::lead::{self, Aggregated};
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
    let Aggregated { results, hollow } = lead::aggregate(&*context.engine, &context.actor)?;
    let path = context.shown(&Paper::Summary);
    match context.output.json {
        true => {
            let mut value = json!({"path": path, "results": results});
            if !hollow.is_empty() {
                value["without_change"] = json!(hollow);
            }
            context.output.changed(&value, Format::Json)
        }
        false => {
            context.output.said(&format!("Put {results} results together: {path}"))?;
            if !hollow.is_empty() {
                context.output.warning(&format!("done, {NO_CHANGE}: {}", hollow.join(", ")));
            }
            Ok(())
        }
    }
}
