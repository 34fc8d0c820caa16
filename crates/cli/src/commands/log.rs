use std::thread;
use std::time::Duration;

use anthill_core::api::history::{Log, ShowLog, note};
use anthill_core::store::{Cursor, Listener, Revision};
use clap::Args;

use super::revisions::{Window, event_line, show_revisions};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::compact;
use crate::typed::{kind_parser, parse_when};

/// Show who changed what, in all documents
///
/// A line for each change: when, which document at which revision, who did what, and what became of
/// which item. With --json everything that changed. With a limit, a change that is too long for the
/// journal (an import) is named by the file that has it.
///
/// Examples:
///   anthill log --since yesterday
///   anthill log --since 2h         # also: monday, 10:30, 2026-11-01, 3600 (seconds)
///   anthill log --actor session-abc123 --kind epics
///   anthill log --follow --kind queue            # and what happens from now on, until Ctrl-C
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
    /// Go on with what happens from now on, until Ctrl-C; with --json an object on each line
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    window: Window,
}

pub fn run(context: &Context<'_>, args: &LogArgs) -> Result<()> {
    let from = if args.follow { Some(context.engine.cursor()?) } else { None };
    let request = ShowLog {
        since: args.since.as_deref().map(parse_when).transpose()?,
        actor: args.actor.clone(),
        kind: args.kind.as_ref().map(|kind| kind.parse().map_err(CliError::invalid)).transpose()?,
        limit: args.window.limit(context.output),
        all: args.window.all,
    };
    if let Some(from) = from {
        context.ask(request)?.0.iter().try_for_each(|revision| tell(context, revision))?;
        return follow(context, args, from);
    }
    context.perform(request, |Log(revisions)| {
        show_revisions(context.output, revisions)?;
        args.window.say_if_cut(context.output, revisions.len());
        Ok(())
    })
}

/// So many commits are asked for at once.
const MOST: usize = 100;

/// Documents that nobody listens to yet are looked at after this long.
const LOOK: Duration = Duration::from_secs(5);

/// Tells every change after a point, for ever.
fn follow(context: &Context<'_>, args: &LogArgs, mut from: Cursor) -> Result<()> {
    let wanted = |revision: &Revision| {
        args.actor.as_ref().is_none_or(|actor| revision.is_by(actor))
            && args.kind.as_ref().is_none_or(|kind| revision.kind == *kind)
    };
    loop {
        // Before the look, so that whatever comes after it is heard.
        let listener = listen(context)?;
        let found = context.engine.commits_since(&from, MOST)?;
        let revisions = found.commits.iter().flat_map(|commit| &commit.revisions);
        for (_, revision) in revisions.filter(|(_, revision)| wanted(revision)) {
            tell(context, revision)?;
        }
        from = found.cursor;
        match listener {
            _ if found.more => {}
            Some(mut listener) => drop(listener.wait(Some(LOOK))?),
            None => thread::sleep(LOOK),
        }
    }
}

/// Listens to all documents that there are; `None` while there is none.
fn listen(context: &Context<'_>) -> Result<Option<Box<dyn Listener>>> {
    let mut docs = Vec::new();
    for room in context.engine.rooms()? {
        docs.extend(context.engine.documents(&room)?);
    }
    Ok(if docs.is_empty() { None } else { Some(context.engine.listen(&docs)?) })
}

fn tell(context: &Context<'_>, revision: &Revision) -> Result<()> {
    match context.output.json {
        true => context.output.data(&compact(&note(revision))),
        false => context.output.print(&event_line(revision, context.output.width())),
    }
}
