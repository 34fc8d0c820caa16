//! What a leader may change about a task that is there already.

use serde_json::{Value, json};

use super::{Status, Task, time};
use crate::model::documents::queue::{Note, QueueTask, TaskContext};
use crate::model::key::{Fields, FieldsMut, Held, Key, Put};
use crate::model::new_task::NewTask;
use crate::model::time::Moment;

/// What is to be different. What is not said stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskEdit {
    pub description: Option<String>,
    pub priority: Option<i64>,
    /// Blank takes them away.
    pub hints: Option<String>,
    /// All files, in place of those before.
    pub files: Option<Vec<String>>,
    /// All capabilities that are needed, in place of those before.
    pub needs: Option<Vec<String>>,
    pub depends: Changed,
    pub labels: Changed,
}

/// What comes to a list of names, and what goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    pub added: Vec<String>,
    pub removed: Removed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removed {
    These(Vec<String>),
    All,
}

impl Default for Removed {
    fn default() -> Removed {
        Removed::These(Vec::new())
    }
}

impl Changed {
    fn is_empty(&self) -> bool {
        *self == Changed::default()
    }

    fn apply(&self, names: &[&str]) -> Vec<String> {
        let stays = |name: &&&str| match &self.removed {
            Removed::All => false,
            Removed::These(removed) => !removed.iter().any(|removed| removed == **name),
        };
        let mut list: Vec<String> = names.iter().filter(stays).map(ToString::to_string).collect();
        for name in &self.added {
            if !list.contains(name) {
                list.push(name.clone());
            }
        }
        list
    }
}

impl TaskEdit {
    /// Checks what can be checked without the queue, as for a new task.
    pub fn check(&self, id: &str) -> Result<(), String> {
        let new = NewTask {
            id: Some(id.into()),
            description: self.description.as_deref().unwrap_or("as it is").into(),
            priority: self.priority,
            dependencies: self.depends.added.iter().map(Into::into).collect(),
            labels: self.labels.added.iter().map(Into::into).collect(),
            ..NewTask::default()
        };
        new.check()
    }

    /// Whether it changes when the task may be worked on, and by whom: for who has it that is settled.
    pub fn is_about_claims(&self) -> bool {
        self.files.is_some() || self.needs.is_some() || !self.depends.is_empty()
    }

    /// Whether it only sorts the task into something.
    pub fn is_only_labels(&self) -> bool {
        let rest = TaskEdit { labels: Changed::default(), ..self.clone() };
        rest == TaskEdit::default()
    }
}

impl Task {
    /// Whether its words and rules may still be changed.
    pub fn is_over(&self) -> bool {
        matches!(self.status(), Status::Done | Status::Cancelled)
    }

    pub fn labels(&self) -> Vec<&str> {
        let labels = self.0.at(QueueTask::labels).and_then(Value::as_array);
        labels.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Makes the task what the edit says. Returns whether that is something else than before.
    pub fn edit(&mut self, edit: &TaskEdit) -> bool {
        let before = self.0.clone();
        let depends = edit.depends.apply(&self.dependencies());
        let labels = edit.labels.apply(&self.labels());
        if let Some(description) = &edit.description {
            self.set(QueueTask::description, description.as_str());
        }
        if let Some(priority) = edit.priority {
            self.set(QueueTask::priority, priority);
        }
        if let Some(files) = &edit.files {
            self.set_context(TaskContext::files, files.as_slice());
        }
        if let Some(hints) = &edit.hints {
            self.set_context(
                TaskContext::hints,
                Some(hints.as_str()).filter(|hints| !hints.trim().is_empty()),
            );
        }
        if let Some(needs) = &edit.needs {
            self.set_list(QueueTask::required_capabilities, needs);
        }
        if !edit.depends.is_empty() {
            self.set(QueueTask::dependencies, depends);
            self.keep_parts();
        }
        if !edit.labels.is_empty() {
            self.set_list(QueueTask::labels, &labels);
        }
        self.0 != before
    }

    /// Adds a remark to the task.
    pub fn note(&mut self, by: &str, text: &str, now: &Moment) {
        let mut notes = match self.0.at(QueueTask::notes) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(notes)) => notes.clone(),
            Some(other) => vec![other.clone()],
        };
        notes.push(json!({ Note::at: time::stamp(now.at), Note::by: by, Note::text: text }));
        self.set(QueueTask::notes, Value::from(notes));
    }

    fn set_context<T: Held>(&mut self, key: Key<T>, value: impl Put<T::Kind>) {
        let mut context = self.0.at(QueueTask::context).filter(|context| context.is_object()).cloned();
        let context = context.get_or_insert_with(|| json!({}));
        context.set(key, value);
        self.set(QueueTask::context, context.take());
    }

    /// An empty list is none.
    fn set_list<T: Held>(&mut self, key: Key<T>, names: &[String]) {
        match names.is_empty() {
            true => self.unset(key),
            false => self.set(key, Value::from(names)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        Task::of(json!({
            "id": "a", "description": "d", "status": "available", "priority": 5, "dependencies": ["x", "y"],
            "context": {"files": ["src/"], "hints": "h", "more": 1.50}, "mine": true,
        }))
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_not_said_stays() {
        let mut task = task();
        assert!(!task.edit(&TaskEdit::default()));
        let edit = TaskEdit { description: Some("e".into()), hints: Some(" ".into()), ..TaskEdit::default() };
        assert!(task.edit(&edit));
        let context = json!({"files": ["src/"], "hints": null, "more": 1.50});
        assert_eq!(task.value()["context"], context);
        assert_eq!((&task.value()["description"], &task.value()["mine"]), (&json!("e"), &json!(true)));
        assert!(!task.edit(&edit), "the same again changes nothing");
    }

    #[test]
    fn what_people_kept_as_notes_stays() {
        let now = Moment { at: "2026-01-01T00:00:00Z".parse().unwrap(), boot: None };
        let mut task = Task::of(json!({"id": "a", "notes": "mine"}));
        task.note("w", "more", &now);
        assert_eq!(task.value()["notes"][0], "mine");
        assert_eq!(task.value()["notes"][1]["text"], "more");
    }

    #[test]
    fn names_come_and_go() {
        let mut task = task();
        let removed = Removed::These(names(&["x", "nothing"]));
        let depends = Changed { added: names(&["z", "y"]), removed };
        task.edit(&TaskEdit { depends, ..TaskEdit::default() });
        assert_eq!(task.dependencies(), ["y", "z"]);
        let depends = Changed { removed: Removed::All, ..Changed::default() };
        task.edit(&TaskEdit { depends, needs: Some(names(&["rust"])), ..TaskEdit::default() });
        assert_eq!((task.dependencies(), task.needs()), (vec![], vec!["rust"]));
        task.edit(&TaskEdit { needs: Some(vec![]), ..TaskEdit::default() });
        assert!(task.value().get("required_capabilities").is_none());
    }

    #[test]
    fn what_a_new_task_may_not_say_an_edit_may_not_either() {
        let check = |edit: TaskEdit| edit.check("a").unwrap_err();
        assert!(check(TaskEdit { description: Some(" ".into()), ..TaskEdit::default() }).contains("blank"));
        assert!(check(TaskEdit { priority: Some(11), ..TaskEdit::default() }).contains("1 (first) to 10"));
        let depends = Changed { added: names(&["a"]), ..Changed::default() };
        assert!(check(TaskEdit { depends, ..TaskEdit::default() }).contains("itself"));
    }
}
