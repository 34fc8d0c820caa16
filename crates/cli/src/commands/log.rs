use anthill_core::api::history::{Log, ShowLog};
use anthill_core::api::request::Since;
use clap::Args;
use jiff::Timestamp;

use super::revisions::{Window, show_revisions};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::typed::kind_parser;

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
    let request = ShowLog {
        since: args.since.as_deref().map(|text| parse_since(text, context.actor.now())).transpose()?,
        actor: args.actor.clone(),
        kind: args.kind.as_ref().map(|kind| kind.parse().map_err(CliError::invalid)).transpose()?,
        limit: args.window.limit(context.output),
        all: args.window.all,
    };
    context.perform(request, |Log(revisions)| {
        show_revisions(context.output, revisions)?;
        args.window.say_if_cut(context.output, revisions.len());
        Ok(())
    })
}

fn parse_since(text: &str, now: Timestamp) -> Result<Since> {
    let since = text.parse().ok().filter(|since: &Since| since.moment(now).is_some());
    since.ok_or_else(|| {
        CliError::invalid(format!("`{text}` is neither a time nor a number of seconds"))
            .hinted("write --since 2026-01-31T09:30:00Z or --since 3600")
    })
}
