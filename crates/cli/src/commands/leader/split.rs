use anthill_core::api::queue::lead::SplitTask;
use anthill_core::model::task::Task;
use clap::Args;

use super::report;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{parse_id, prose};

/// Make several tasks of one
///
/// The parts get its priority, files, hints, labels, capabilities and dependencies; `leader edit`
/// changes each of them. The task itself is not given out any more: it is done when all its parts are,
/// and what waits for it waits for all of them. More parts: `leader add-task --parent`.
///
/// Examples:
///   anthill leader split parser "Read tokens" "Build the tree" "Report errors"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct SplitArgs {
    /// The task
    id: String,
    /// What is to be done in each part
    #[arg(required = true, value_name = "PART", value_parser = prose)]
    parts: Vec<String>,
}

pub fn run(context: &Context<'_>, args: &SplitArgs) -> Result<()> {
    let request = |ids: &[String]| Ok(SplitTask { id: parse_id(&ids[0])?, parts: args.parts.clone() });
    let done = context.on_tasks(std::slice::from_ref(&args.id), request)?;
    context.answer::<SplitTask>(&done, |done| {
        let tasks = done.items().iter().cloned().map(Task::of);
        tasks.enumerate().try_for_each(|(number, task)| {
            report::tell(context, if number == 0 { "Split" } else { "Added" }, &task)
        })
    })
}
