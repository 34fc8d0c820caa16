use anthill_core::model::time;
use anthill_core::ops::history::{self, LogFilter};
use clap::Args;
use jiff::{SignedDuration, Timestamp};

use super::revisions::{Window, show_revisions};
use crate::args::kind_parser;
use crate::context::Context;
use crate::error::{CliError, Result};

/// Show who changed what, in all documents
///
/// Items of lists are named by their ids. With a limit, a change that is too long for the journal
/// (an import) is named by the file that has it.
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
    #[command(flatten)]
    window: Window,
}

pub fn run(context: &Context<'_>, args: &LogArgs) -> Result<()> {
    let since = args.since.as_deref().map(|text| parse_since(text, context.actor.now())).transpose()?;
    let limit = args.window.limit(context.output);
    let filter = LogFilter { since, actor: args.actor.clone(), kind: args.kind.clone(), limit };
    let revisions = history::log(&*context.engine, &filter)?;
    show_revisions(context.output, &revisions)?;
    args.window.say_if_cut(context.output, revisions.len());
    Ok(())
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
