//! The task queue: what leaders ask for ([`lead`]), what workers ask for ([`work`]), and looking at it ([`look`]).

pub mod lead;
pub mod look;
pub mod work;

use crate::api::{Stored, answers};
use crate::model::documents::queue::QueueTask;
use crate::model::task::Task;
use crate::ops::queue::lead::Several;

answers! {
    Task: QueueTask, task => task.value();
}

/// Tasks as they are stored.
pub type TaskList = Stored<Vec<QueueTask>>;

/// Makes a list of what became of tasks.
fn several(done: Several) -> TaskList {
    list(done.tasks).warned(done.warnings)
}

/// Makes a list of tasks.
fn list(tasks: Vec<Task>) -> TaskList {
    Stored::new(tasks.into_iter().map(Task::into_value).collect::<Vec<_>>())
}
