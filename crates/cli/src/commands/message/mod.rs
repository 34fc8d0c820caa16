//! Messages between sessions.

mod broadcast;
pub(super) mod done;
mod letter;
mod list;
mod outbox;
pub(super) mod poll;
mod reply;
pub(super) mod send;

use clap::Subcommand;

use crate::context::Context;
use crate::direct::one;
use crate::error::Result;
use crate::process::ExitCode;

/// Send messages to other sessions, and read your own
///
/// Examples:
///   anthill message send bob "look at the tests"          # a session, a worker, or the begin of an id
///   anthill message list                                 # what you got and sent, and what was read
///   anthill message reply msg-20260131120000-1a2b "done"
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
    List(list::ListArgs),
    Reply(reply::ReplyArgs),
    Poll(poll::PollArgs),
    Done(done::DoneArgs),
    Outbox(outbox::OutboxArgs),
    Broadcast(broadcast::BroadcastArgs),
}

pub fn run(context: &Context<'_>, command: &Message) -> Result<()> {
    match command {
        Message::Send(args) => send::run(context, args),
        Message::List(args) => list::run(context, args),
        Message::Reply(args) => reply::run(context, args),
        Message::Poll(args) => poll::run(context, args),
        Message::Done(args) => done::run(context, args),
        Message::Outbox(args) => outbox::run(context, args),
        Message::Broadcast(args) => broadcast::run(context, args),
    }
}

/// Runs the hot commands, which need no clap.
pub fn direct(verb: &str, rest: &[String]) -> Option<ExitCode> {
    match verb {
        "send" => one(rest, send::run),
        "poll" => one(rest, poll::run),
        "done" => one(rest, done::run),
        _ => None,
    }
}
