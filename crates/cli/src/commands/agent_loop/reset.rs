use anthill_core::ops::agent_loop;
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;
use crate::planning::{ExpectArgs, text};

/// Remove the loop: its items, results, view and logs
///
/// With --json it prints what was removed, `null` if there was nothing.
///
/// Examples:
///   anthill loop reset
///   anthill undo work_queue        # take it back
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ResetArgs {
    #[command(flatten)]
    expect: ExpectArgs,
}

pub fn run(context: &Context<'_>, args: &ResetArgs) -> Result<()> {
    let (known, warnings) = agent_loop::reset(&*context.engine, args.expect.expect_revision, &context.actor)?;
    warnings.iter().for_each(|warning| context.output.warning(warning));
    if context.output.json {
        return context.output.changed(&known.unwrap_or(Value::Null), Format::Json);
    }
    let Some(known) = known else {
        context.output.status("there is no loop to remove");
        return Ok(());
    };
    context.output.said(&format!("Removed the loop: {}", text(&known, "task")))?;
    context.output.status("take it back: anthill undo work_queue");
    Ok(())
}
