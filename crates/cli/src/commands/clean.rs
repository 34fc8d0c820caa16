use anthill_core::ops::clean::{self, What};
use clap::Args;
use serde_json::Value;

use super::object;
use crate::context::Context;
use crate::error::Result;
use crate::output::Format;

/// Clean up what sessions leave behind in `.claude/state`
///
/// Without an option: results of agents, errors, and all but the last 3 backups, as at the end of a
/// session. The loop and the figures stay. All goes in one commit, and can be taken back document by
/// document.
///
/// Examples:
///   anthill clean --dry-run
///   anthill clean
///   anthill clean --loop --agents
///   anthill clean --all
///   anthill undo work_queue        # take it back
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CleanArgs {
    /// Reset everything: all documents below `.claude/state`, the workflow and the views too
    #[arg(long)]
    all: bool,
    /// Reset the loop
    #[arg(long = "loop")]
    of_loop: bool,
    /// Reset the agents and their results
    #[arg(long)]
    agents: bool,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

pub fn run(context: &Context<'_>, args: &CleanArgs) -> Result<()> {
    let told = [(args.all, What::All), (args.of_loop, What::Loop), (args.agents, What::Agents)];
    let mut what: Vec<_> = told.iter().filter(|(on, _)| *on).map(|(_, what)| *what).collect();
    if what.is_empty() {
        what.push(What::Session);
    }
    let cleaned = clean::clean(&*context.engine, &what, args.dry_run, &context.actor)?;
    cleaned.warnings.iter().for_each(|warning| context.output.warning(warning));
    let texts = cleaned.papers.iter().map(|paper| paper.path());
    let files: Vec<_> = cleaned.documents.iter().map(|doc| doc.path()).chain(texts).collect();
    if context.output.json {
        let removed = files.iter().map(|file| Value::from(file.as_str())).collect();
        let value = object([("removed", removed), ("dry_run", args.dry_run.into())]);
        return context.output.changed(&value, Format::Json);
    }
    if files.is_empty() {
        context.output.status("there is nothing to remove");
        return Ok(());
    }
    let word = if args.dry_run { "Would remove" } else { "Removed" };
    context
        .output
        .said(&files.iter().map(|file| format!("{word}: {file}")).collect::<Vec<_>>().join("\n"))?;
    let mut kinds: Vec<_> = cleaned.documents.iter().map(|doc| named(doc.kind.name)).collect();
    kinds.dedup();
    context.output.status(&match args.dry_run {
        true => "nothing was changed".into(),
        false if kinds.is_empty() => "there was nothing left that it showed".into(),
        false => format!("take it back: anthill undo KIND   ({})", kinds.join(", ")),
    });
    Ok(())
}

/// Returns how a kind is named on the command line.
fn named(kind: &'static str) -> &'static str {
    match kind {
        "agent_result" => "agent_result --agent-id ID",
        "backup" => "backup --timestamp T",
        other => other,
    }
}
