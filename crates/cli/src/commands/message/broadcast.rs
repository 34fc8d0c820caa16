use anthill_core::api::messages::Broadcast;
use clap::Args;

use super::letter::{LetterArgs, perhaps};
use crate::context::Context;
use crate::error::Result;
use crate::typed::parse_id;
use crate::typed::parse_value;

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
    let letter = &args.letter;
    let request = Broadcast {
        from: parse_id(&args.from)?,
        id: perhaps(&letter.id)?,
        in_reply_to: perhaps(&letter.in_reply_to)?,
        payload: parse_value(&args.payload)?,
        kind: args.kind.clone(),
        project_id: args.project_id.as_deref().map(parse_id).transpose()?,
        priority: letter.priority(),
        ttl: letter.ttl,
        role: letter.role(),
        sent_as: letter.sent_as,
    };
    context.perform(request, |sent| {
        let to: Vec<_> = sent.items().iter().filter_map(|message| message["to"].as_str()).collect();
        match to.is_empty() {
            true => context.output.print("No other session is at work: nothing was sent"),
            false => context.output.print(&format!("Sent to {}: {}", to.len(), first_few(&to))),
        }
    })
}

/// How many recipients are named.
const FEW: usize = 5;

fn first_few(names: &[&str]) -> String {
    let named = names[..names.len().min(FEW)].join(", ");
    match names.len().saturating_sub(FEW) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
