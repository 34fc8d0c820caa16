use anthill_core::model::task::{Task, word};

use crate::context::Context;
use crate::error::Result;

/// Tells what a task is now.
pub fn tell(context: &Context<'_>, what: &str, task: &Task) -> Result<()> {
    context.output.print(&format!("{what} ({}): {}", word(task.status()), task.id()))
}
