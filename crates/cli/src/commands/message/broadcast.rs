use anthill_core::ops::messages;
use clap::Args;
use serde_json::Value;

use super::LetterArgs;
use crate::context::{Context, parse_id};
use crate::error::{CliError, Result};
use crate::output::Format;

/// Send a message to every session at work
///
/// That is every session that was heard of within `global.session_timeout` and has not ended, apart
/// from the sender. Each gets a message of its own. If this was cut off, repeat it with the same
/// --id: nobody gets it twice.
///
/// Examples:
///   anthill message broadcast session-abc123 emergency_stop '{}' --priority critical
///   anthill message broadcast lead note '"main is frozen"' --project-id myapp --id freeze-1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct BroadcastArgs {
    /// The session that sends
    from: String,
    /// What kind of message it is, such as `emergency_stop`
    #[arg(value_name = "TYPE")]
    kind: String,
    /// What it says, as JSON; `-` reads it from stdin
    #[arg(value_name = "JSON")]
    payload: String,
    /// Only to sessions of this project
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    #[command(flatten)]
    letter: LetterArgs,
}

pub fn run(context: &Context<'_>, args: &BroadcastArgs) -> Result<()> {
    let letter = args.letter.letter(context, &args.from, &args.kind, &args.payload)?;
    letter.check().map_err(CliError::invalid)?;
    let project = args.project_id.as_deref().map(parse_id).transpose()?;
    let posted = messages::broadcast(&*context.engine, &letter, project.as_ref(), &context.actor)?;
    let sent: Vec<Value> = posted.into_iter().map(|posted| posted.message).collect();
    if context.output.json {
        return context.output.changed(&sent.into(), Format::Json);
    }
    let to: Vec<_> = sent.iter().filter_map(|message| message["to"].as_str()).collect();
    match to.is_empty() {
        true => context.output.said("No other session is at work: nothing was sent"),
        false => context.output.said(&format!("Sent to {}: {}", to.len(), to.join(", "))),
    }
}
