//! Sessions: who is at work.

mod end;
mod handoff;
pub(super) mod heartbeat;
pub(super) mod list;
mod report;
mod show;
mod start;

use clap::Subcommand;

use crate::context::Context;
use crate::direct::one;
use crate::error::Result;
use crate::process::ExitCode;

/// Say who is at work: start, give signs of life, hand work over, end
///
/// A session that nobody has heard of for `global.session_timeout` seconds (of the configuration) is
/// given up by whoever looks next: what it has in the queue of this project goes back for others.
///
/// Examples:
///   anthill session start session-abc123 --project-id myapp
///   anthill session heartbeat session-abc123
///   anthill session list --active
///   anthill session handoff session-abc123 session-xyz789 --context "the tests are left"
///   anthill session end session-abc123
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Session {
    Start(start::StartArgs),
    Heartbeat(heartbeat::HeartbeatArgs),
    List(list::ListArgs),
    ListActive(list::ListActiveArgs),
    Show(show::ShowArgs),
    Handoff(handoff::HandoffArgs),
    End(end::EndArgs),
}

pub fn run(context: &Context<'_>, command: &Session) -> Result<()> {
    match command {
        Session::Start(args) => start::run(context, args),
        Session::Heartbeat(args) => heartbeat::run(context, args),
        Session::List(args) => list::run(context, args),
        Session::ListActive(args) => list::run_active(context, args),
        Session::Show(args) => show::run(context, args),
        Session::Handoff(args) => handoff::run(context, args),
        Session::End(args) => end::run(context, args),
    }
}

/// Runs the hot commands, which need no clap.
pub fn direct(verb: &str, rest: &[String]) -> Option<ExitCode> {
    match verb {
        "heartbeat" => one(rest, heartbeat::run),
        "list" => one(rest, list::run),
        "list-active" => one(rest, list::run_active),
        _ => None,
    }
}
