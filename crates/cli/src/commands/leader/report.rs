//! What the leader is told about tasks.

use anthill_core::api::queue::TaskList;
use anthill_core::api::{Request, Stored};
use anthill_core::model::documents::queue::QueueTask;
use anthill_core::model::task::{Task, word};

use crate::context::Context;
use crate::error::Result;

/// Tells what a task is now.
pub fn tell(context: &Context<'_>, what: &str, task: &Task) -> Result<()> {
    context.output.print(&format!("{what} ({}): {}", word(task.status()), task.id()))
}

/// Performs a request about several tasks and tells what each of them is now. As JSON, one that was named alone stands alone.
pub fn tell_all<R: Request<Answer = TaskList>>(
    context: &Context<'_>,
    what: &str,
    ids: &[String],
    request: impl Fn(&[String]) -> Result<R>,
) -> Result<()> {
    let done = context.on_tasks(ids, request)?;
    if let (1, [task]) = (ids.len(), done.items()) {
        let alone = Stored::<QueueTask>::new(task.clone()).warned(done.warnings.clone());
        return context.told(&alone, R::EFFECT, |alone| tell(context, what, &Task::of(alone.value.clone())));
    }
    context.told(&done, R::EFFECT, |done| {
        done.items().iter().try_for_each(|task| tell(context, what, &Task::of(task.clone())))
    })
}
