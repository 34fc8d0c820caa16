use anthill_core::api::history::{Past, ShowHistory};
use anthill_core::ops::archive::shelf::{self, Shelf};
use anthill_core::store::Revision;
use anthill_core::view::text::escape;
use clap::Args;
use serde_json::Value;

use super::revisions::{Window, show_revisions};
use crate::args::Select;
use crate::context::Context;
use crate::error::Result;
use crate::output::Output;
use crate::sentence::shorten;

/// Show the changes of a document, oldest first
///
/// A line for each change: when, at which revision, who did what, and what became of which item. With
/// --json everything that changed. With a limit, a change that is too long for the journal (an
/// import) is named by the file that has it.
///
/// What is over leaves its document after a while, and goes to an archive of its month: tasks of the
/// queue, sessions, messages, errors, agents, metrics. --archived shows that instead, the oldest
/// first. A session that is gone is looked for there anyway.
///
/// Examples:
///   anthill history config
///   anthill history queue --limit 10 --json
///   anthill history queue --archived
///   anthill history queue --archived --item parser --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct HistoryArgs {
    #[command(flatten)]
    select: Select,
    #[command(flatten)]
    window: Window,
    /// Show what has left the document for its archive
    #[arg(long)]
    archived: bool,
    /// Only what was archived by this id
    #[arg(long, value_name = "ID", requires = "archived")]
    item: Option<String>,
}

pub fn run(context: &Context<'_>, args: &HistoryArgs) -> Result<()> {
    let request = ShowHistory {
        document: args.select.of()?,
        limit: args.window.limit(context.output),
        all: args.window.all,
        archived: args.archived,
        item: args.item.clone(),
    };
    context.perform(request, |past| match past {
        Past::Revisions { revisions, shelf } => tell_revisions(context, args, revisions, shelf.as_ref()),
        Past::Archived(records) => tell_archived(context.output, args, records),
    })
}

fn tell_revisions(
    context: &Context<'_>,
    args: &HistoryArgs,
    revisions: &[Revision],
    shelf: Option<&Shelf>,
) -> Result<()> {
    show_revisions(context.output, revisions)?;
    args.window.say_if_cut(context.output, revisions.len());
    if shelf.is_some_and(|shelf| shelf.is_used(&*context.engine).unwrap_or(false)) {
        let kind = &args.select.kind;
        context.output.status(&format!("what is over for long: anthill history {kind} --archived"));
    }
    Ok(())
}

fn tell_archived(output: &Output, args: &HistoryArgs, records: &[Value]) -> Result<()> {
    for record in records {
        output.data(&escape(&line(record)))?;
    }
    match records.is_empty() {
        true => output.status("nothing was archived"),
        false => args.window.say_if_cut(output, records.len()),
    }
    Ok(())
}

/// Tells a record in one line: when, what, how it stood, and the first of its words.
fn line(record: &Value) -> String {
    let inner = [record, &record["message"], &record["session"]];
    let text = |fields: &[&str]| {
        let found = inner.iter().flat_map(|record| fields.iter().map(|field| &record[*field]));
        found.filter_map(Value::as_str).next().unwrap_or("-").to_owned()
    };
    let at = text(&["completed_at", "processed_at", "ended_at", "last_seen", "timestamp", "updated_at"]);
    let words = text(&["description", "payload", "summary", "type", "project_id"]);
    let id = shelf::id_of(record).unwrap_or("-");
    format!("{at}  {id}  {}  {}", text(&["status", "tray"]), shorten(&words, WIDTH))
}

/// How much is shown of the words of a record.
const WIDTH: usize = 60;
