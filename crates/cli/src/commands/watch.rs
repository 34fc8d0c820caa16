use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use anthill_core::model::diff::{Change, diff};
use anthill_core::model::documents::answers::ChangeNote;
use anthill_core::model::kind::Doc;
use anthill_core::model::names::names_of;
use anthill_core::model::time;
use anthill_core::store::{Event, Long, Stream};
use anthill_core::view::events;
use anthill_live::watching;
use clap::Args;
use serde_json::Value;

use crate::args::Select;
use crate::context::Context;
use crate::error::{Result, io_error};
use crate::output::safe_json;
use crate::typed::seconds;

/// Print every change of a document as it happens, one JSON object per line
///
/// On a terminal a readable line per change instead, as `anthill log` has it; --json prints objects
/// there too.
///
/// The first line is the state of now (`"op": "snapshot"`), unless --from asks for what happened
/// since a revision. Changes by other programs are seen too (`"op": "edit"`).
///
/// A list whose file has 512 KB or more is told by what changes: `changes` instead of `value`
/// (`[{path, before, after}]`, with paths like `tasks[id=t-1].status`); only snapshots have the
/// `value`. Edits of its file are told when a command takes them in. Whoever reads too slowly gets
/// a snapshot with the number of revisions that were `missed`.
///
/// Examples:
///   anthill watch epics --project-id myapp
///   anthill watch epics --from 12                          # resume after revision 12
///   anthill watch queue --exec 'jq -c .value.tasks[-1]'    # run a command per change, event on stdin
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct WatchArgs {
    #[command(flatten)]
    select: Select,
    /// Print at most one change (the newest) in this time; changes are pushed, never polled
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    interval: Option<f64>,
    /// Run this shell command for every change, with the event on stdin
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,
    /// Start after this revision instead of now
    #[arg(long, value_name = "REV")]
    from: Option<u64>,
    /// End after N events
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

pub fn run(context: &Context<'_>, args: &WatchArgs) -> Result<()> {
    let doc = context.select(&args.select)?;
    let mut watch = context.engine.watch(&doc, args.from)?;
    let (interval, most) = (args.interval.map(Duration::from_secs_f64), args.count.unwrap_or(u64::MAX));
    let readable = !context.output.json && args.exec.is_none() && io::stdout().is_terminal();
    let mut reader = readable.then(Reader::default);
    watching::follow(&mut *watch, interval, most, &mut |event| match &mut reader {
        Some(reader) => reader.show(context, &doc, &event),
        None => show(context, args, &doc, event),
    })
}

fn show(context: &Context<'_>, args: &WatchArgs, doc: &Doc, event: Event) -> Result<()> {
    let mut line = watching::head(doc, &event, context.actor.now());
    match event.long {
        Some(Long::Whole(value)) if args.exec.is_none() => return show_whole(context, line, &value),
        Some(Long::Changes(changes)) => line.extend([",\"changes\":", &changes, "}\n"]),
        _ => line.extend([",\"value\":", event.text.as_str(), "}\n"]),
    }
    let line = safe_json(line);
    match &args.exec {
        Some(_) if event.op == "snapshot" => Ok(()),
        Some(command) => execute(context, command, doc, event.revision, &line),
        None => context.output.whole(&line),
    }
}

/// Tells somebody at a terminal what changes.
#[derive(Default)]
struct Reader {
    /// The document as it was told of last.
    before: Value,
}

impl Reader {
    fn show(&mut self, context: &Context<'_>, doc: &Doc, event: &Event) -> Result<()> {
        let Event { revision, by, op, .. } = event;
        let at = event.at.clone().unwrap_or_else(|| time::stamp(context.actor.now()));
        let after: Value = serde_json::from_str(&event.text).unwrap_or_default();
        let changes = match &event.long {
            Some(Long::Changes(changes)) => noted(changes),
            Some(Long::Whole(_)) => Vec::new(),
            None if op == "snapshot" => Vec::new(),
            None => diff(&self.before, &after),
        };
        let names = names_of(&changes, &after);
        self.before = after;
        let event = events::Event {
            at: &at,
            kind: doc.kind.name,
            revision: *revision,
            by,
            op,
            changes: &changes,
            names: &names,
            note: None,
        };
        context.output.print(&events::line(&event, context.output.width()))
    }
}

/// Reads the changes of a long list, which have its items by their ids.
fn noted(changes: &str) -> Vec<Change> {
    let changes: Vec<Value> = serde_json::from_str(changes).unwrap_or_default();
    let side = |value: &Value| Some(value.clone()).filter(|value| !value.is_null());
    let change = |change: &Value| Change {
        path: change[ChangeNote::path].as_str().unwrap_or_default().into(),
        before: side(&change[ChangeNote::before]),
        after: side(&change[ChangeNote::after]),
        at: None,
    };
    changes.iter().map(change).collect()
}

/// Prints a long document piece by piece.
fn show_whole(context: &Context<'_>, mut line: String, value: &Stream) -> Result<()> {
    line.push_str(",\"value\":");
    context.output.whole(&safe_json(line))?;
    let mut written = Ok(());
    let read = value.each_piece(&mut |piece| {
        written = context.output.whole(&safe_json(piece.to_owned()));
        if written.is_ok() { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
    });
    written?;
    read.map_err(|error| io_error("read the document", &error))?;
    context.output.whole("}\n")
}

/// Runs the user's command; if it fails, that is a warning and the watch goes on.
fn execute(context: &Context<'_>, command: &str, doc: &Doc, revision: u64, line: &str) -> Result<()> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env("ANTHILL_KIND", doc.kind.name)
        .env("ANTHILL_REVISION", revision.to_string())
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| io_error("run `sh`", &error))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input is fine.
        let _ = stdin.write_all(line.as_bytes());
    }
    let status = child.wait().map_err(|error| io_error("wait for the command", &error))?;
    if !status.success() {
        context.output.warning(&format!("the command ended with {status}"));
    }
    Ok(())
}
