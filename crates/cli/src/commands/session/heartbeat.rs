use anthill_core::model::ids::SessionId;
use anthill_core::model::session::Status;
use anthill_core::ops::sessions;
use clap::{Args, ValueEnum};

use super::report;
use crate::context::{Context, parse_id};
use crate::direct::{Direct, Opt, Takes, Words};
use crate::error::Result;

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
    #[arg(long, value_name = "STATUS", default_value = "active")]
    status: Told,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Told {
    Active,
    Idle,
}

impl Direct for HeartbeatArgs {
    const OPTIONS: &'static [Opt] = &[("--status", "", Takes::One)];

    fn read(words: &mut Words) -> Option<HeartbeatArgs> {
        let status = words.parsed("--status", |text| Told::from_str(text, false).ok())?;
        Some(HeartbeatArgs { id: words.plain()?, status: status.unwrap_or(Told::Active) })
    }
}

pub fn run(context: &Context<'_>, args: &HeartbeatArgs) -> Result<()> {
    let id: SessionId = parse_id(&args.id)?;
    let status = match args.status {
        Told::Active => Status::Active,
        Told::Idle => Status::Idle,
    };
    let changed = sessions::heartbeat(&*context.engine, &id, status, &context.actor)?;
    report(context, "Heartbeat of", &changed)
}
