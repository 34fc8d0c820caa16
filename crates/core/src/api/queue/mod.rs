//! The task queue: what leaders ask for ([`lead`]), what workers ask for ([`work`]), and looking at it ([`look`]).

pub mod lead;
pub mod look;
pub mod work;

use crate::api::answers;
use crate::model::documents::queue::QueueTask;
use crate::model::task::Task;

answers! {
    Task: QueueTask, task => task.value();
}

/// Tasks as they are stored.
#[derive(Debug)]
pub struct TaskList(serde_json::Value);

impl TaskList {
    pub fn new(tasks: Vec<serde_json::Value>) -> TaskList {
        TaskList(tasks.into())
    }

    pub fn tasks(&self) -> &[serde_json::Value] {
        self.0.as_array().map_or(&[], Vec::as_slice)
    }
}

impl FromIterator<Task> for TaskList {
    fn from_iter<I: IntoIterator<Item = Task>>(tasks: I) -> TaskList {
        TaskList::new(tasks.into_iter().map(Task::into_value).collect())
    }
}

answers! {
    TaskList: Vec<QueueTask>, list => &list.0;
}
