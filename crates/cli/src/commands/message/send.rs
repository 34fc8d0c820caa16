use anthill_core::api::messages::{Delivered, SendMessage};
use clap::Args;

use super::letter::{LetterArgs, perhaps};
use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::sentence::text;
use crate::typed::parse_id;
use crate::typed::parse_value;

/// Send a message to one session
///
/// It is in the recipient's inbox when this returns, and survives a power loss. The recipient need
/// not have started yet.
///
/// Examples:
///   anthill message send session-abc123 session-xyz789 task_handoff '{"task_id": "task-001"}'
///   anthill message send me session-xyz789 question '"Which branch?"' --ttl 600 --id q-1
///   jq -n '{diff: $d}' --rawfile d change.diff | anthill message send me session-xyz789 review -
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct SendArgs {
    /// The session that sends
    from: String,
    /// The session that is to read it
    to: String,
    /// What kind of message it is, such as `task_handoff`
    #[arg(value_name = "TYPE")]
    kind: String,
    /// What it says, as JSON; `-` reads it from stdin
    #[arg(value_name = "JSON")]
    payload: String,
    #[command(flatten)]
    letter: LetterArgs,
    /// Refuse if the recipient has never started a session
    #[arg(long)]
    require_session: bool,
}

impl Direct for SendArgs {
    const OPTIONS: &'static [Opt] = &{
        let [priority, ttl, id, in_reply_to, role, sent_as] = LetterArgs::OPTIONS;
        [priority, ttl, id, in_reply_to, role, sent_as, ("--require-session", "", Takes::Nothing)]
    };

    fn read(words: &mut Words) -> Option<SendArgs> {
        Some(SendArgs {
            from: words.plain()?,
            to: words.plain()?,
            kind: words.plain()?,
            payload: words.plain()?,
            letter: LetterArgs::read(words)?,
            require_session: words.flag("--require-session"),
        })
    }
}

pub fn run(context: &Context<'_>, args: &SendArgs) -> Result<()> {
    let letter = &args.letter;
    let request = SendMessage {
        from: parse_id(&args.from)?,
        id: perhaps(&letter.id)?,
        in_reply_to: perhaps(&letter.in_reply_to)?,
        payload: parse_value(&args.payload)?,
        to: parse_id(&args.to)?,
        kind: args.kind.clone(),
        priority: letter.priority(),
        ttl: letter.ttl,
        role: letter.role(),
        sent_as: letter.sent_as,
        require_session: args.require_session,
    };
    context.perform(request, |Delivered { posted, .. }| {
        let (id, seq) = (text(&posted.message, "id"), &posted.message["seq"]);
        let told = if posted.repeated { "Had been sent" } else { "Sent" };
        context.output.print(&format!("{told} to {}: {id} (number {seq} from {})", args.to, args.from))
    })
}
