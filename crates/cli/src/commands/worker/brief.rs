use anthill_core::error::Code;
use anthill_core::model::ids::Key;
use anthill_core::model::session::Session;
use anthill_core::model::task::Task;
use anthill_core::ops::queue::brief::{self, Holder};
use anthill_core::view::brief::{Brief, Length};
use anthill_core::view::shell;
use clap::Args;

use crate::context::{Context, parse_id};
use crate::env;
use crate::error::{CliError, Result};
use crate::output::Format;

/// Tell what a worker should know for a task: the same that `worker run` and hooks tell
///
/// The task with its files and hints, earlier attempts and why they failed, the results of what it
/// depends on, goal and plan, discoveries, and what others have in hand. Works in every worktree of
/// the repository. Without TASK it is the task in hand: that of a runner's command
/// (ANTHILL_TASK_ID), of --worker (or ANTHILL_WORKER), or of the session at work. What others wrote
/// stands in fences, and is cut where it is long; the task itself is not.
///
/// Examples:
///   anthill worker brief
///   anthill worker brief TASK-ID --full
///   anthill worker brief --worker terminal-2 --json | jq .attempts
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct BriefArgs {
    /// The task [default: the one in hand]
    #[arg(value_name = "TASK")]
    id: Option<String>,
    /// Whose task in hand
    #[arg(short, long, value_name = "W")]
    worker: Option<String>,
    /// Cut nothing
    #[arg(long)]
    full: bool,
}

pub fn run(context: &Context<'_>, args: &BriefArgs) -> Result<()> {
    let worker = args.worker.clone().or_else(|| env::text(env::ANTHILL_WORKER));
    let worker = worker.as_deref().map(parse_id::<Key>).transpose()?;
    let told = if args.worker.is_some() { None } else { env::text(env::ANTHILL_TASK_ID) };
    let id = match args.id.clone().or(told) {
        Some(id) => parse_id::<Key>(&id)?.to_string(),
        None => in_hand(context, worker.as_ref())?,
    };
    let brief = brief::brief(&*context.engine, &id)?;
    let length = if args.full { Length::Full } else { Length::Short };
    match context.output.json {
        true => context.output.value(&brief.json(length), Format::Json),
        false => context.output.said(text(context, &brief, worker.as_ref(), length).trim_end()),
    }
}

fn text(context: &Context<'_>, brief: &Brief, worker: Option<&Key>, length: Length) -> String {
    let is_ours = context.own_session().is_some_and(|session| Session::has(session, &brief.task));
    let reader = if is_ours { brief.task.owner() } else { worker.map(Key::as_str) };
    let mut text = brief.text(reader, length, context.actor.door);
    if let Some([complete, fail]) = brief.report() {
        let [complete, fail] = [complete, fail].map(|step| context.actor.door.say(&step));
        text += &format!("\n## How to report\n\n- Done: {complete}\n- It does not work out: {fail}\n");
    }
    text
}

/// Returns the one task that the worker, or the session, has in hand.
fn in_hand(context: &Context<'_>, worker: Option<&Key>) -> Result<String> {
    let (holder, name) = match (worker, context.own_session()) {
        (Some(worker), _) => (Holder::Worker(worker), worker.to_string()),
        (None, Some(session)) => (Holder::Session(session), session.to_string()),
        (None, None) => {
            return Err(CliError::invalid("whose task is not known")
                .hinted("name it: anthill worker brief TASK")
                .hinted("or its worker: anthill worker brief --worker W"));
        }
    };
    let tasks = brief::in_hand(&*context.engine, holder)?;
    match &tasks[..] {
        [task] => Ok(task.id().to_owned()),
        [] => Err(CliError::new(Code::NotFound, format!("`{name}` has no task in hand"))
            .hinted("take one: anthill worker claim W")
            .hinted("or name any task: anthill worker brief TASK")),
        [first, ..] => {
            let ids = tasks.iter().map(Task::id).collect::<Vec<_>>().join(", ");
            Err(CliError::invalid(format!("`{name}` has {} tasks in hand: {ids}", tasks.len()))
                .hinted(format!("name one: anthill worker brief {}", shell::word(first.id()))))
        }
    }
}
