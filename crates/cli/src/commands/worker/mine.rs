use anthill_core::api::queue::work::ListMine;
use anthill_core::model::task::{Task, word};
use anthill_core::model::time;
use anthill_core::ops::queue::work;
use clap::Args;

use crate::context::Context;
use crate::env;
use crate::error::Result;
use crate::identity;
use crate::typed::parse_id;

/// List the tasks that you have in hand
///
/// Without W it is the worker of a runner's command (ANTHILL_WORKER), or the session at work, or
/// whoever `anthill claim` takes you for.
///
/// Examples:
///   anthill worker mine terminal-2
///   anthill worker mine terminal-2 --json | jq -r '.[].id'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct MineArgs {
    /// Who you are
    #[arg(value_name = "W")]
    worker: Option<String>,
}

pub fn run(context: &Context<'_>, args: &MineArgs) -> Result<()> {
    let worker = match &args.worker {
        Some(worker) => Some(parse_id(&context.known_worker(worker)?)?),
        // Also what the session has taken under other names.
        None if context.own_session().is_some() && env::text(env::ANTHILL_WORKER).is_none() => None,
        None => Some(identity::worker(context, None)?.worker),
    };
    context.perform(ListMine { worker }, |mine| {
        if mine.items().is_empty() {
            context.output.status("nothing in hand; take a task: anthill claim");
        }
        mine.items().iter().cloned().map(Task::of).try_for_each(|task| context.output.print(&line(&task)))
    })
}

/// Says how a task in hand stands.
fn line(task: &Task) -> String {
    let until = work::lease_end(task).map(|end| format!(", until {}", time::stamp(end))).unwrap_or_default();
    let about = task.value()["description"].as_str().unwrap_or_default().lines().next().unwrap_or_default();
    format!("{} ({}, lease {}{until}): {about}", task.id(), word(task.status()), task.epoch())
}
