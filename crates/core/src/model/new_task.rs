//! A task as a leader describes it.

use std::borrow::Cow;

use super::ids::{Id, Key};
use super::json::MAX_TEXT;

/// What a leader says about a task; the queue adds the rest. Most of it is borrowed from the file that says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTask<'t> {
    pub id: Option<Cow<'t, str>>,
    pub description: Cow<'t, str>,
    /// 1 to 10, 1 first.
    pub priority: Option<i64>,
    /// Ids of tasks that must be done first.
    pub dependencies: Vec<Cow<'t, str>>,
    /// Paths and patterns the task may touch.
    pub files: Vec<Cow<'t, str>>,
    pub hints: Option<Cow<'t, str>>,
    /// Capabilities a worker must have.
    pub needs: Vec<Cow<'t, str>>,
    pub labels: Vec<Cow<'t, str>>,
    /// The task that this one is a part of.
    pub parent: Option<Cow<'t, str>>,
}

impl NewTask<'_> {
    /// Checks what can be checked without the queue; the error says what is expected.
    pub fn check(&self) -> Result<(), String> {
        let length = self.description.len();
        if self.description.trim().is_empty() {
            return Err("the description is blank: say what is to be done".into());
        }
        if length > MAX_TEXT {
            return Err(format!("the description is {length} bytes long; at most {MAX_TEXT} are allowed"));
        }
        if let Some(priority) = self.priority.filter(|priority| !(1..=10).contains(priority)) {
            return Err(format!("the priority is {priority}: use 1 (first) to 10"));
        }
        if self.labels.iter().any(|label| label.trim().is_empty()) {
            return Err("a label is blank".into());
        }
        self.check_ids()
    }

    fn check_ids(&self) -> Result<(), String> {
        let chosen = self.id.iter().map(|id| Key::chosen(id));
        for id in chosen.chain(self.dependencies.iter().chain(&self.parent).map(|id| id.parse())) {
            id.map_err(|error| error.to_string())?;
        }
        match self.dependencies.iter().find(|id| Some(*id) == self.id.as_ref()) {
            Some(id) => Err(format!("the task `{id}` depends on itself")),
            None => Ok(()),
        }
    }
}

/// Texts of a task.
type Texts<'t> = Vec<Cow<'t, str>>;

/// Joins the files that were told in two places.
pub(super) fn joined_files<'t>(context: Option<Texts<'t>>, written: Option<Texts<'t>>) -> Texts<'t> {
    match (context, written) {
        (Some(mut files), Some(more)) => {
            files.extend(more);
            files
        }
        (one, other) => one.or(other).unwrap_or_default(),
    }
}

/// Joins the hints that were told in two places.
pub(super) fn joined_hints<'t>(
    context: Option<Cow<'t, str>>,
    written: Option<Cow<'t, str>>,
) -> Option<Cow<'t, str>> {
    match (context, written) {
        (Some(hints), Some(more)) => Some(format!("{hints}\n{more}").into()),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_checked() {
        let check = |change: &dyn Fn(&mut NewTask), expected: &str| {
            let mut task = NewTask { description: "x".into(), ..NewTask::default() };
            change(&mut task);
            assert_eq!(task.check().err().unwrap_or_default(), expected, "{task:?}");
        };
        let bad_id = "is not a valid id: use 1 to 128 of `A-Z a-z 0-9 . _ -`, not starting with `.` or `-`";
        check(&|_| {}, "");
        check(&|task| task.description = " \n".into(), "the description is blank: say what is to be done");
        check(&|task| task.description = "x".repeat(MAX_TEXT).into(), "");
        check(
            &|task| task.description = "x".repeat(MAX_TEXT + 1).into(),
            "the description is 65537 bytes long; at most 65536 are allowed",
        );
        check(&|task| task.priority = Some(10), "");
        check(&|task| task.priority = Some(0), "the priority is 0: use 1 (first) to 10");
        check(&|task| task.id = Some("a/b".into()), &format!("\"a/b\" {bad_id}"));
        check(&|task| task.dependencies = vec!["a".into(), "".into()], &format!("\"\" {bad_id}"));
        check(
            &|task| (task.id, task.dependencies) = (Some("a".into()), vec!["b".into(), "a".into()]),
            "the task `a` depends on itself",
        );
    }
}
