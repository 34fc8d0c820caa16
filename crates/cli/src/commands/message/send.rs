use anthill_core::error::Code;
use anthill_core::ops::messages;
use clap::Args;

use super::LetterArgs;
use crate::context::{Context, parse_new_id};
use crate::direct::{Direct, Opt, Takes, Words};
use crate::error::{CliError, Result};
use crate::output::Format;

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
    let mut letter = args.letter.letter(context, &args.from, &args.kind, &args.payload)?;
    letter.to = parse_new_id(&args.to)?;
    let (engine, to) = (&*context.engine, &letter.to);
    letter.check().map_err(CliError::invalid)?;
    let is_registered = messages::is_registered(engine, to)?;
    if args.require_session && !is_registered {
        return Err(CliError::new(Code::NotFound, format!("there is no session `{to}`"))
            .hinted("see who is there: anthill session list")
            .hinted("leave out --require-session to send it all the same; nothing was sent"));
    }
    let posted = messages::send(engine, &letter, &context.actor)?;
    if !is_registered {
        let warning = format!("no session `{to}` has started yet; the message waits in its mailbox");
        context.output.warning(&warning);
    }
    if context.output.json {
        return context.output.changed(&posted.message, Format::Json);
    }
    let (id, seq) = (posted.message["id"].as_str().unwrap_or_default(), &posted.message["seq"]);
    let told = if posted.repeated { "Had been sent" } else { "Sent" };
    context.output.said(&format!("{told} to {to}: {id} (number {seq} from {})", letter.from))
}
