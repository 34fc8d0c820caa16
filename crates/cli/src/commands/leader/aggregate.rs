use anthill_core::api::queue::lead::AggregateResults;
use anthill_core::model::changes::NO_CHANGE;
use clap::Args;

use crate::context::Context;
use crate::error::Result;

/// Put all results into one text, `.coordination/summary.md`
///
/// Example:
///   anthill leader aggregate && less .coordination/summary.md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AggregateArgs {}

pub fn run(context: &Context<'_>, _: &AggregateArgs) -> Result<()> {
    context.perform(AggregateResults {}, |summary| {
        context.output.print(&format!("Put {} results together: {}", summary.results.0, summary.path))?;
        if let Some(hollow) = &summary.without_change.0 {
            context.output.warning(&format!("done, {NO_CHANGE}: {}", hollow.join(", ")));
        }
        Ok(())
    })
}
