//! Messages between sessions.

mod broadcast;
pub(super) mod done;
mod outbox;
pub(super) mod poll;
pub(super) mod send;

use anthill_core::api::messages::SentAs;
use anthill_core::api::request::{Chosen, Seconds};
use anthill_core::model::documents::state::MessagePriority;
use anthill_core::model::ids::Key;
use anthill_core::model::message::{NORMAL, PRIORITIES};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use crate::args::span;
use crate::context::{Context, parse_id};
use crate::direct::{Opt, Takes, Words, one};
use crate::env;
use crate::error::Result;
use crate::planning::one_of;
use crate::start::ExitCode;

/// Send messages to other sessions, and read your own
///
/// Examples:
///   anthill message send session-abc123 session-xyz789 task_handoff '{"task_id": "task-001"}' \
///       --priority high
///   anthill message poll session-xyz789 --wait 600       # blocks until there is one; no polling
///   anthill message done session-xyz789 msg-20260131120000-1a2b
///   anthill message outbox session-abc123                # what was read of what it has sent
///   anthill message broadcast session-abc123 emergency_stop '{}' --priority critical
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Message {
    Send(send::SendArgs),
    Poll(poll::PollArgs),
    Done(done::DoneArgs),
    Outbox(outbox::OutboxArgs),
    Broadcast(broadcast::BroadcastArgs),
}

pub fn run(context: &Context<'_>, command: &Message) -> Result<()> {
    match command {
        Message::Send(args) => send::run(context, args),
        Message::Poll(args) => poll::run(context, args),
        Message::Done(args) => done::run(context, args),
        Message::Outbox(args) => outbox::run(context, args),
        Message::Broadcast(args) => broadcast::run(context, args),
    }
}

/// Runs the commands that are worth a parser of their own.
pub fn direct(verb: &str, rest: &[String]) -> Option<ExitCode> {
    match verb {
        "send" => one(rest, send::run),
        "poll" => one(rest, poll::run),
        "done" => one(rest, done::run),
        _ => None,
    }
}

/// What letters to one and to all have in common.
#[derive(Debug, Args)]
struct LetterArgs {
    /// How soon it should be read
    #[arg(long, value_name = "PRIORITY", default_value = NORMAL, value_parser = PossibleValuesParser::new(PRIORITIES))]
    priority: String,
    /// It expires if nobody has read it after this long
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    ttl: Option<Seconds>,
    /// An id of your own: sending it again is safe
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The message that this one answers
    #[arg(long, value_name = "ID")]
    in_reply_to: Option<String>,
    /// What you are, for the reader (such as `qa_expert`)
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Whether a person or an agent sends this [default: agent in an agent's session, else person]
    #[arg(long = "as", value_name = "KIND", value_parser = one_of::<SentAs>())]
    sent_as: Option<SentAs>,
}

impl LetterArgs {
    const OPTIONS: [Opt; 6] = [
        ("--priority", "", Takes::One),
        ("--ttl", "", Takes::One),
        ("--id", "", Takes::One),
        ("--in-reply-to", "", Takes::One),
        ("--role", "", Takes::One),
        ("--as", "", Takes::One),
    ];

    fn read(words: &mut Words) -> Option<LetterArgs> {
        let priority = words.value("--priority").unwrap_or_else(|| NORMAL.into());
        PRIORITIES.contains(&&*priority).then_some(())?;
        Some(LetterArgs {
            priority,
            ttl: words.parsed("--ttl", |text| span(text).ok())?,
            id: words.value("--id"),
            in_reply_to: words.value("--in-reply-to"),
            role: words.value("--role"),
            sent_as: words.parsed("--as", SentAs::of_word)?,
        })
    }

    fn role(&self) -> Option<String> {
        self.role.clone().or_else(|| env::text(env::ANTHILL_ROLE))
    }

    fn priority(&self) -> Option<MessagePriority> {
        MessagePriority::of_word(&self.priority)
    }
}

/// Reads an id that may be left out.
fn perhaps(id: &Option<String>) -> Result<Option<Chosen<Key>>> {
    id.as_deref().map(parse_id).transpose()
}
