use anthill_core::ops::archive::{self, Archived, Request};
use anthill_core::ops::clean::{self, What};
use anthill_core::ops::settings::Settings;
use anthill_core::store::Kept;
use clap::Args;
use jiff::SignedDuration;
use serde_json::Value;

use super::object;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::Format;

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
    /// Archive what has been over for so long: 30d, 12h, 90m or seconds
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
    let told = [(args.all, What::All), (args.of_loop, What::Loop), (args.agents, What::Agents)];
    let mut what: Vec<_> = told.iter().filter(|(on, _)| *on).map(|(_, what)| *what).collect();
    if what.is_empty() {
        what.push(What::Session);
    }
    let cleaned = clean::clean(&*context.engine, &what, args.dry_run, &context.actor)?;
    cleaned.warnings.iter().for_each(|warning| context.output.warning(warning));
    let kept = cleaned.documents.iter().map(Kept::Document).chain(cleaned.papers.iter().map(Kept::Paper));
    let files: Vec<_> = kept.map(|kept| context.engine.called(kept).path).collect();
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

/// Stands for what the configuration says.
const CONFIGURED: &str = "configured";

/// Archives what is over for longer than that.
fn make_room(context: &Context<'_>, age: &str, dry_run: bool) -> Result<()> {
    let now = context.actor.now();
    let request = match age {
        CONFIGURED => Request::of(&Settings::read(&*context.engine)?, now),
        _ => Request::before(parse_age(age).and_then(|age| now.checked_sub(age).ok()).ok_or_else(|| {
            CliError::invalid(format!("`{age}` is no age"))
                .hinted("write --older-than 30d, 12h, 90m or seconds")
        })?),
    };
    let archived = archive::all(&*context.engine, Request { dry_run, ..request }, &context.actor)?;
    archived.warnings.iter().for_each(|warning| context.output.warning(warning));
    let Archived { sessions, messages, tasks, .. } = &archived;
    if context.output.json {
        let texts = |ids: &[String]| ids.iter().map(|id| Value::from(id.as_str())).collect::<Value>();
        let value = object([
            ("sessions", texts(sessions)),
            ("messages", (*messages).into()),
            ("tasks", texts(tasks)),
            ("dry_run", dry_run.into()),
        ]);
        return context.output.changed(&value, Format::Json);
    }
    let word = if dry_run { "Would archive" } else { "Archived" };
    let (sessions, tasks) = (sessions.len(), tasks.len());
    context.output.said(&format!("{word}: {sessions} sessions, {messages} messages, {tasks} tasks"))?;
    context.output.status(match dry_run {
        true => "nothing was changed",
        false => "see them: anthill session list --archived, anthill history queue --archived   (or the files in orchestration/archive and .coordination/archive)",
    });
    Ok(())
}

/// Reads an age such as `30d`.
fn parse_age(text: &str) -> Option<SignedDuration> {
    let (number, unit) = text.split_at(text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return None,
    };
    Some(SignedDuration::from_secs(number.parse::<i64>().ok()?.checked_mul(seconds)?))
}

/// Returns how a kind is named on the command line.
fn named(kind: &'static str) -> &'static str {
    match kind {
        "agent_result" => "agent_result --agent-id ID",
        "backup" => "backup --timestamp T",
        other => other,
    }
}
