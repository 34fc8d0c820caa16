use anthill_core::api::records::RestoreBackup;
use anthill_core::ops::compact::{Comparison, Restored};
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::sentence::{shorten, text};

/// Show what a backup would give back, and give it back with --apply
///
/// Documents that are missing, or differ from their copy in the backup, are written in one commit.
/// Without --apply nothing is changed. What the session had in hand in the queue is told, not
/// restored: see `anthill worker claim`.
///
/// Examples:
///   anthill compact restore
///   anthill compact restore 20260129_104500 --apply
///   anthill undo work_queue               # if it was not what you wanted
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RestoreArgs {
    /// The backup, as `anthill compact list` names it, or its time [default: the newest of this session]
    timestamp: Option<String>,
    /// Write it back
    #[arg(long)]
    apply: bool,
}

pub fn run(context: &Context<'_>, args: &RestoreArgs) -> Result<()> {
    let request = RestoreBackup { timestamp: args.timestamp.clone(), apply: args.apply };
    context.perform(request, |restored| tell(context, args, restored))
}

fn tell(context: &Context<'_>, args: &RestoreArgs, restored: &Restored) -> Result<()> {
    let mut lines: Vec<_> =
        restored.documents.iter().map(|(kind, standing)| line(kind, *standing, restored)).collect();
    let claims = restored.backup.value.pointer("/preserved/claims").and_then(Value::as_array);
    lines.extend(claims.into_iter().flatten().map(|task| {
        let what = shorten(&text(task, "description").replace(['\n', '\r', '\t'], " "), 80);
        format!("{}: was in hand, lease {}: {what}", text(task, "id"), task["lease"]["epoch"])
    }));
    let key = &restored.backup.key;
    if lines.is_empty() {
        context.output.status(&format!("the backup holds no document: {key}"));
        return Ok(());
    }
    context.output.print(&lines.join("\n"))?;
    let open = restored.documents.iter().any(|(_, standing)| *standing != Comparison::Same);
    context.output.status(&match (open, args.apply) {
        (true, false) => format!("nothing was changed; next: anthill compact restore {key} --apply"),
        (true, true) => format!("Restored from: {key}"),
        (false, _) => format!("all is as in: {key}"),
    });
    Ok(())
}

fn line(kind: &str, standing: Comparison, restored: &Restored) -> String {
    let what = match (standing, restored.applied) {
        (Comparison::Same, _) => "the same",
        (Comparison::Damaged, _) => "is damaged, stays as it is (mend it: anthill doctor --repair)",
        (Comparison::Missing, false) => "is missing, would be written back",
        (Comparison::Differs, false) => "differs, would be written back",
        (Comparison::Missing, true) => "was missing, written back",
        (Comparison::Differs, true) => "differed, written back",
    };
    format!("{kind}: {what}")
}
