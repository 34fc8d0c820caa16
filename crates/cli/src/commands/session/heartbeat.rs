use anthill_core::api::sessions::{Presence, RenewSession};
use clap::Args;

use super::report;
use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::typed::{one_of, parse_id};

/// Give a session's sign of life
///
/// A session that was idle or had expired is active again; one that has ended has to be started (exit
/// 1).
///
/// Examples:
///   anthill session heartbeat session-abc123
///   anthill session heartbeat session-abc123 --status idle      # alive, with nothing to do
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct HeartbeatArgs {
    /// The session
    id: String,
    /// How it stands
    #[arg(long, value_name = "STATUS", default_value = "active", value_parser = one_of::<Presence>())]
    status: Presence,
}

impl Direct for HeartbeatArgs {
    const OPTIONS: &'static [Opt] = &[("--status", "", Takes::One)];

    fn read(words: &mut Words) -> Option<HeartbeatArgs> {
        let status = words.parsed("--status", Presence::of_word)?;
        Some(HeartbeatArgs { id: words.plain()?, status: status.unwrap_or_default() })
    }
}

pub fn run(context: &Context<'_>, args: &HeartbeatArgs) -> Result<()> {
    let request = |id: &str| Ok(RenewSession { id: parse_id(id)?, status: Some(args.status) });
    let renewed = context.on_session(&args.id, request)?;
    context.answer::<RenewSession>(&renewed, |changed| report::tell(context, "Heartbeat of", changed))
}
