use anthill_core::api::overview::{ArchiveOld, CleanUp, CleanedUp};
use anthill_core::ops::archive::Archived;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::remains;
use crate::typed::parse_when;

/// Clean up what sessions leave behind
///
/// Without an option, in `.claude/state`: results of agents, errors, and all but the last 3
/// backups, as at the end of a session. The loop and the figures stay. All goes in one commit, and
/// can be taken back document by document.
///
/// With `--older-than`: sessions that ended before that, with their mailboxes, messages that were
/// done with, and tasks of the queue that are done and that no open task needs, with their logs and
/// what workers logged until then. Without an age, what the configuration says counts
/// (`retention.sessions_days`, `messages_days`, `tasks_days`: 30, 30 and 90 unless set). Commands do
/// this in passing too, a few at a time.
/// They go to an archive, one readable file for each month:
/// `orchestration/archive/sessions-2026-11.jsonl`, `messages-2026-11.jsonl`, and
/// `.coordination/archive/tasks-2026-11.jsonl` in the project.
///
/// Examples:
///   anthill clean --dry-run
///   anthill clean
///   anthill clean --loop --agents
///   anthill clean --all
///   anthill clean --older-than 30d --dry-run
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
    /// Archive what has been over for so long, or was before: 30d, 12h, monday, 2026-11-01
    #[arg(long, value_name = "AGE", num_args = 0..=1, default_missing_value = CONFIGURED, conflicts_with_all = ["all", "of_loop", "agents"])]
    older_than: Option<String>,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

pub fn run(context: &Context<'_>, args: &CleanArgs) -> Result<()> {
    if let Some(age) = &args.older_than {
        return make_room(context, age, args.dry_run);
    }
    let CleanArgs { all, of_loop, agents, dry_run, .. } = *args;
    context.perform(CleanUp { all, of_loop, agents, dry_run }, |cleaned| {
        tell(context, cleaned)?;
        if all {
            tell_what_stays(context);
        }
        Ok(())
    })
}

/// Says what is kept for all projects, and how to remove it.
fn tell_what_stays(context: &Context<'_>) {
    let Ok(home) = context.roots.home() else { return };
    let shared = remains::in_home(&home).join(" ");
    if !shared.is_empty() {
        context.output.status(&format!(
            "what anthill keeps for all projects stays: anthill clean --older-than 30d archives old parts; all of it goes by rm -r {shared}"
        ));
    }
}

fn tell(context: &Context<'_>, cleaned: &CleanedUp) -> Result<()> {
    let files = &cleaned.removed;
    if files.is_empty() {
        context.output.status("there is nothing to remove");
        return Ok(());
    }
    let word = if cleaned.dry_run { "Would remove" } else { "Removed" };
    context
        .output
        .print(&files.iter().map(|file| format!("{word}: {file}")).collect::<Vec<_>>().join("\n"))?;
    let mut kinds: Vec<_> = cleaned.cleaned.documents.iter().map(|doc| named(doc.kind.name)).collect();
    kinds.dedup();
    context.output.status(&match cleaned.dry_run {
        true => "nothing was changed".into(),
        false if kinds.is_empty() => "there was nothing left that it showed".into(),
        false => format!("take it back: anthill undo KIND   ({})", kinds.join(", ")),
    });
    Ok(())
}

/// Stands for what the configuration says.
const CONFIGURED: &str = "configured";

/// Archives what is over for longer than that.
fn make_room(context: &Context<'_>, age: &str, dry_run: bool) -> Result<()> {
    let older_than = if age == CONFIGURED { None } else { Some(parse_when(age)?) };
    context.perform(ArchiveOld { older_than, dry_run }, |made| {
        let Archived { sessions, messages, tasks, .. } = &made.archived;
        let word = if dry_run { "Would archive" } else { "Archived" };
        let (sessions, tasks) = (sessions.len(), tasks.len());
        context.output.print(&format!("{word}: {sessions} sessions, {messages} messages, {tasks} tasks"))?;
        context.output.status(match dry_run {
            true => "nothing was changed",
            false => "see them: anthill session list --archived, anthill history queue --archived   (or the files in orchestration/archive and .coordination/archive)",
        });
        Ok(())
    })
}

/// Returns how a kind is named on the command line.
fn named(kind: &'static str) -> &'static str {
    match kind {
        "agent_result" => "agent_result --agent-id ID",
        "backup" => "backup --timestamp T",
        other => other,
    }
}
