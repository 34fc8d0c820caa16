use anthill_core::model::time;
use anthill_core::ops::history::{self, LogFilter};
use clap::Args;
use jiff::{SignedDuration, Timestamp};

use super::show_revisions;
use crate::args::kind_parser;
use crate::context::Context;
use crate::error::{CliError, Result};

/// Show who changed what, in all documents
///
/// Examples:
///   anthill log --since 3600
///   anthill log --actor session-abc123 --kind epics
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct LogArgs {
    /// Only what happened since this time, or in the last N seconds
    #[arg(long, value_name = "TIME|SECONDS")]
    since: Option<String>,
    /// Only changes by this session or user
    #[arg(long, value_name = "WHO")]
    actor: Option<String>,
    /// Only changes of this kind
    #[arg(long, value_parser = kind_parser(&[]))]
    kind: Option<String>,
    /// Only the newest N
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub fn run(context: &Context<'_>, args: &LogArgs) -> Result<()> {
    let since = args.since.as_deref().map(|text| parse_since(text, context.actor.now())).transpose()?;
    let filter = LogFilter { since, actor: args.actor.clone(), kind: args.kind.clone() };
    let revisions = history::log(&*context.engine, &filter)?;
    let start = args.limit.map_or(0, |limit| revisions.len().saturating_sub(limit));
    show_revisions(context.output, &revisions[start..])
}

fn parse_since(text: &str, now: Timestamp) -> Result<Timestamp> {
    let ago = || {
        let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.is_finite())?;
        now.checked_sub(SignedDuration::try_from_secs_f64(seconds).ok()?).ok()
    };
    ago().or_else(|| time::read(text)).ok_or_else(|| {
        CliError::invalid(format!("`{text}` is neither a time nor a number of seconds"))
            .hinted("write --since 2026-01-31T09:30:00Z or --since 3600")
    })
}
