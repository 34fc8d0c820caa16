//! What reports on a claimed task have in common.

use anthill_core::api::Request;
use anthill_core::model::ids::Key;
use anthill_core::model::task::word;
use anthill_core::ops::queue::work::TaskChanged;
use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::line::Words;
use crate::typed::parse_id;

/// Which task, and by which claim.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Who you are
    pub worker: String,
    /// The task
    pub id: String,
    /// The lease you have (`lease.epoch` of the claim): refuse (exit 3) if it is another one by now
    #[arg(long, value_name = "N")]
    pub epoch: Option<u64>,
}

impl ReportArgs {
    pub fn read(words: &mut Words) -> Option<ReportArgs> {
        Some(ReportArgs {
            worker: words.plain()?,
            id: words.plain()?,
            epoch: words.parsed("--epoch", |text| text.parse().ok())?,
        })
    }

    /// Performs a request about the task that is named, by the beginning of its id at least.
    pub fn perform<R: Request<Answer = TaskChanged>>(
        &self,
        context: &Context<'_>,
        what: &str,
        request: impl Fn(Key, Key) -> R,
    ) -> Result<()> {
        let worker: Key = parse_id(&self.worker)?;
        let done =
            context.by_worker([&self.worker, &self.id], |id| Ok(request(worker.clone(), parse_id(id)?)))?;
        context.answer::<R>(&done, |done| tell(context, what, done))
    }
}

/// Tells what a task is now.
pub fn tell(context: &Context<'_>, what: &str, done: &TaskChanged) -> Result<()> {
    let again = if done.repeated { ", as before" } else { "" };
    let task = &done.task;
    context.output.print(&format!("{what}{again} ({}): {}", word(task.status()), task.id()))
}
