use anthill_core::api::mail::TellSession;
use anthill_core::api::messages::{Delivered, SendMessage};
use anthill_core::ops::messages::Posted;
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
/// With two words, the second is a plain text, and the first is who is to read it: a session, a
/// worker, or the begin of a session's id. It comes from your session, or from a mailbox with your
/// user name where no session is known. With four words, you say who sends, and what as JSON.
///
/// It is in the recipient's inbox when this returns, and survives a power loss. The recipient need
/// not have started yet.
///
/// Examples:
///   anthill message send bob "look at the tests"
///   anthill message send session-abc123 session-xyz789 task_handoff '{"task_id": "task-001"}'
///   anthill message send me session-xyz789 question '"Which branch?"' --ttl 600 --id q-1
///   jq -n '{diff: $d}' --rawfile d change.diff | anthill message send me session-xyz789 review -
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    override_usage = "anthill message send [OPTIONS] <TO> <TEXT>\n       anthill message send [OPTIONS] <FROM> <TO> <TYPE> <JSON>"
)]
pub struct SendArgs {
    /// The session that sends; with two words, who is to read it
    from: String,
    /// The session that is to read it; with two words, the text
    to: String,
    /// What kind of message it is, such as `task_handoff`
    #[arg(value_name = "TYPE", requires = "payload")]
    kind: Option<String>,
    /// What it says, as JSON; `-` reads it from stdin
    #[arg(value_name = "JSON")]
    payload: Option<String>,
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
        let [from, to] = [words.plain()?, words.plain()?];
        let [kind, payload] = [words.plain(), words.plain()];
        if kind.is_some() != payload.is_some() {
            return None;
        }
        Some(SendArgs {
            from,
            to,
            kind,
            payload,
            letter: LetterArgs::read(words)?,
            require_session: words.flag("--require-session"),
        })
    }
}

pub fn run(context: &Context<'_>, args: &SendArgs) -> Result<()> {
    match (&args.kind, &args.payload) {
        (Some(kind), Some(payload)) => send(context, args, kind, payload),
        _ => send_text(context, args, [&args.from, &args.to]),
    }
}

fn send_text(context: &Context<'_>, args: &SendArgs, [to, text]: [&str; 2]) -> Result<()> {
    let letter = &args.letter;
    let request = TellSession {
        to: parse_id(to)?,
        text: text.to_owned(),
        from: None,
        priority: letter.priority(),
        ttl: letter.ttl,
        id: perhaps(&letter.id)?,
        in_reply_to: perhaps(&letter.in_reply_to)?,
        role: letter.role(),
        sent_as: letter.sent_as,
        require_session: args.require_session,
    };
    context.perform(request, |Delivered { posted, .. }| sent(context, posted))
}

/// Says what was sent to whom, and as whom.
pub fn sent(context: &Context<'_>, posted: &Posted) -> Result<()> {
    let message = &posted.message;
    let told = if posted.repeated { "Had been sent" } else { "Sent" };
    let [to, from, id] = ["to", "from", "id"].map(|field| text(message, field));
    context.output.print(&format!("{told} to {to}, from {from}: {id}"))?;
    if context.own_session().is_none() {
        context.output.status(&format!(
            "no session is known here, so it comes from the mailbox `{from}`; read answers: anthill message list"
        ));
    }
    Ok(())
}

fn send(context: &Context<'_>, args: &SendArgs, kind: &str, payload: &str) -> Result<()> {
    let letter = &args.letter;
    let request = SendMessage {
        from: parse_id(&args.from)?,
        id: perhaps(&letter.id)?,
        in_reply_to: perhaps(&letter.in_reply_to)?,
        payload: parse_value(payload)?,
        to: parse_id(&args.to)?,
        kind: kind.to_owned(),
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
