//! Tasks that are made of others: a parent depends on its parts, and is done when they are.

use serde_json::{Value, json};

use super::{Status, Task, time};
use crate::model::documents::queue::{QueueTask, TaskResult};
use crate::model::key::{Fields, FieldsMut};
use crate::model::time::Moment;

impl Task {
    /// Returns the task that this one is a part of.
    pub fn parent(&self) -> Option<&str> {
        self.0.at(QueueTask::parent).and_then(Value::as_str)
    }

    /// Returns its parts that count.
    pub fn parts(&self) -> Vec<&str> {
        parts_of(&self.0)
    }

    /// Returns what it waits for beside its parts.
    pub fn prerequisites(&self) -> Vec<&str> {
        let parts = self.parts();
        self.dependencies().into_iter().filter(|id| !parts.contains(id)).collect()
    }

    /// Makes it wait for these tasks too.
    pub fn wait_also_for(&mut self, ids: &[&str]) {
        let known = self.dependencies();
        let more = ids.iter().filter(|id| !known.contains(id));
        let all = json!(known.iter().chain(more).collect::<Vec<_>>());
        self.0[QueueTask::dependencies] = all;
    }

    /// Makes it wait for one more part.
    pub fn add_part(&mut self, id: &str) {
        let with = |list: Vec<&str>| {
            let new = Some(&id).filter(|id| !list.contains(id));
            json!(list.iter().chain(new).collect::<Vec<_>>())
        };
        let (parts, dependencies) = (with(self.parts()), with(self.dependencies()));
        self.0.set(QueueTask::parts, parts);
        self.0[QueueTask::dependencies] = dependencies;
    }

    /// Makes it wait for a part no more.
    pub fn drop_part(&mut self, id: &str) {
        let without =
            |list: Vec<&str>| json!(list.into_iter().filter(|other| *other != id).collect::<Vec<_>>());
        let dependencies = without(self.dependencies());
        self.0[QueueTask::dependencies] = dependencies;
        self.keep_parts();
    }

    /// Forgets the parts that it does not wait for.
    pub(super) fn keep_parts(&mut self) {
        let dependencies = self.dependencies();
        let all = self.parts();
        let kept: Vec<_> = all.iter().copied().filter(|part| dependencies.contains(part)).collect();
        if kept.len() == all.len() {
            return;
        }
        match kept.is_empty() {
            true => self.unset(QueueTask::parts),
            false => {
                let kept = json!(kept);
                self.0.set(QueueTask::parts, kept);
            }
        }
    }

    /// Ends a task whose parts are all done.
    pub fn end_by_parts(&mut self, now: &Moment) {
        let output = format!("All parts are done: {}", self.parts().join(", "));
        self.set(QueueTask::status, Status::Done);
        self.set(
            QueueTask::result,
            json!({
                TaskResult::output: output, TaskResult::files_modified: [], TaskResult::files_created: [],
            }),
        );
        self.set(QueueTask::completed_at, time::stamp(now.at));
    }
}

/// Returns the parts of a task, which people may also keep in another form.
pub fn parts_of(task: &Value) -> Vec<&str> {
    let parts = task.at(QueueTask::parts).and_then(Value::as_array);
    parts.into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_and_go_with_what_is_waited_for() {
        let mut task = Task::of(json!({"id": "a", "status": "available", "dependencies": ["x"]}));
        task.add_part("a-1");
        task.add_part("a-2");
        task.add_part("a-1");
        assert_eq!((task.parts(), task.dependencies()), (vec!["a-1", "a-2"], vec!["x", "a-1", "a-2"]));
        assert_eq!(task.prerequisites(), ["x"]);
        task.drop_part("a-1");
        assert_eq!((task.parts(), task.dependencies()), (vec!["a-2"], vec!["x", "a-2"]));
        task.drop_part("a-2");
        assert!(task.parts().is_empty() && task.value().get("parts").is_none());
    }

    #[test]
    fn what_people_kept_as_parts_is_no_list_of_ours() {
        let task = Task::of(json!({"id": "a", "parts": "wheels", "parent": 7}));
        assert_eq!((task.parts(), task.parent()), (Vec::new(), None));
    }
}
