//! What really changed while somebody was at work, by what git saw.

use serde_json::{Value, json};

use super::documents::agent_loop::WorkItem;
use super::documents::queue::{Changes as ChangesDoc, QueueTask, TaskContext, TaskResult};
use super::key::{Fields, FieldsMut};

/// How many files are named.
const MOST: usize = 50;

/// What is said of something that is reported as done.
pub const NO_CHANGE: &str = "but git saw no change";

/// The files that changed between the start and the end of a piece of work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// As seen from the project's root; the first ones, if there are very many.
    files: Vec<String>,
    count: usize,
    /// Whether others were at work in the same tree meanwhile: some of it may be theirs.
    shared: bool,
}

impl Changes {
    pub fn of(mut files: Vec<String>, shared: bool) -> Changes {
        let count = files.len();
        files.truncate(MOST);
        Changes { files, count, shared }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds what documents keep of an earlier look.
    #[must_use]
    pub fn and(mut self, earlier: Option<&Value>) -> Changes {
        let Some(earlier) = earlier else { return self };
        let files = earlier.list(ChangesDoc::files).iter();
        let others: Vec<String> = files
            .filter_map(Value::as_str)
            .filter(|file| !self.files.iter().any(|ours| ours == file))
            .map(Into::into)
            .collect();
        let count = earlier.read(ChangesDoc::count).and_then(|count| usize::try_from(count).ok());
        self.count = self.count.saturating_add(others.len()).max(count.unwrap_or(0));
        self.files.extend(others);
        self.files.sort_unstable();
        self.files.truncate(MOST);
        self.shared |= earlier.at(ChangesDoc::shared) == Some(&Value::Bool(true));
        self
    }

    /// Returns what documents keep of it.
    pub fn value(&self) -> Value {
        let mut value =
            json!({ChangesDoc::files: self.files, ChangesDoc::count: self.count, ChangesDoc::by: "git"});
        if self.shared {
            value.set(ChangesDoc::shared, true);
        }
        value
    }
}

/// Whether a task was reported as done although it names files and nothing changed at all.
pub fn is_hollow(task: &Value) -> bool {
    let files = task.at(QueueTask::context).read(TaskContext::files);
    task.text(QueueTask::status) == Some("done")
        && files.is_some_and(|files| !files.is_empty())
        && changed(task).at(ChangesDoc::count) == Some(&json!(0))
}

/// Whether an item of the loop is done and nothing changed at all.
pub fn is_idle(item: &Value) -> bool {
    let count = item.at(WorkItem::changed).at(ChangesDoc::count);
    item.text(WorkItem::status) == Some("done") && count == Some(&json!(0))
}

/// Returns what is known of the changes of a task.
pub fn changed(task: &Value) -> Option<&Value> {
    task.at(QueueTask::result)?.at(TaskResult::changed).filter(|changed| changed.is_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_add_up() {
        let of = |files: &[&str], shared| {
            Changes::of(files.iter().map(|file| (*file).to_owned()).collect(), shared)
        };
        let both = of(&["b", "c"], false).and(Some(&of(&["a", "b"], true).value()));
        assert_eq!(both, of(&["a", "b", "c"], true));
        assert_eq!(of(&[], false).and(None), Changes::default());
        let many: Vec<String> = (0..MOST + 9).map(|number| number.to_string()).collect();
        assert_eq!(of(&["0"], false).and(Some(&Changes::of(many, false).value())).count, MOST + 9);
    }

    #[test]
    fn only_what_names_files_and_changed_none_is_hollow() {
        let check = |status: &str, files: &[&str], changed: Value, expected: bool| {
            let task = json!({"status": status, "context": {"files": files}, "result": {"changed": changed}});
            assert_eq!(is_hollow(&task), expected, "{task}");
        };
        let nothing = Changes::default().value();
        check("done", &["a.rs"], nothing.clone(), true);
        check("done", &[], nothing.clone(), false);
        check("failed", &["a.rs"], nothing, false);
        check("done", &["a.rs"], Value::Null, false);
        check("done", &["a.rs"], Changes::of(vec!["b.rs".into()], true).value(), false);
        assert!(!is_hollow(&json!({"status": "done"})) && !is_hollow(&Value::Null));
    }

    #[test]
    fn very_many_files_are_counted() {
        let value = Changes::of((0..70).map(|number| format!("f{number}")).collect(), true).value();
        assert_eq!(value["files"].as_array().map(Vec::len), Some(MOST));
        assert_eq!((&value["count"], &value["shared"]), (&json!(70), &json!(true)));
    }
}
