use anthill_core::api::history::{Log, ShowLog};
use clap::Args;

use super::revisions::{Window, show_revisions};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::typed::{kind_parser, parse_when};

/// Show who changed what, in all documents
///
/// Items of lists are named by their ids. With a limit, a change that is too long for the journal
/// (an import) is named by the file that has it.
///
/// Examples:
///   anthill log --since yesterday
///   anthill log --since 2h         # also: monday, 10:30, 2026-11-01, 3600 (seconds)
///   anthill log --actor session-abc123 --kind epics
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct LogArgs {
    /// Only what happened since then: 2h, yesterday, monday, 10:30, 2026-11-01 or seconds
    #[arg(long, value_name = "TIME")]
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
        since: args.since.as_deref().map(parse_when).transpose()?,
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
