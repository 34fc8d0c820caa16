use anthill_core::api::queue::work::{BriefTask, Briefed};
use anthill_core::model::ids::Key;
use anthill_core::model::session::Session;
use clap::Args;

use crate::context::Context;
use crate::env;
use crate::error::Result;
use crate::typed::parse_id;

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
    let worker = worker.map(|worker| context.known_worker(&worker)).transpose()?;
    let worker = worker.as_deref().map(parse_id::<Key>).transpose()?;
    let told = if args.worker.is_some() { None } else { env::text(env::ANTHILL_TASK_ID) };
    let typed = Vec::from_iter(args.id.clone().or(told));
    let told = context.on_tasks(&typed, |ids| {
        let task = ids.first().map(|id| parse_id(id)).transpose()?;
        Ok(BriefTask { task, worker: worker.clone(), full: args.full })
    })?;
    context.answer::<BriefTask>(&told, |told| {
        context.output.print(text(context, told, worker.as_ref()).trim_end())
    })
}

fn text(context: &Context<'_>, Briefed { brief, length }: &Briefed, worker: Option<&Key>) -> String {
    let is_ours = context.own_session().is_some_and(|session| Session::has(session, &brief.task));
    let reader = if is_ours { brief.task.owner() } else { worker.map(Key::as_str) };
    let mut text = brief.text(reader, *length, context.actor.door);
    if let Some([complete, fail]) = brief.report() {
        let [complete, fail] = [complete, fail].map(|step| context.actor.door.say(&step));
        text += &format!("\n## How to report\n\n- Done: {complete}\n- It does not work out: {fail}\n");
    }
    text
}
