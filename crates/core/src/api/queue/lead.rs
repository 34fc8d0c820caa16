//! What leaders ask of the queue.

use std::borrow::Cow;

use super::{TaskList, list, several};
use crate::api::request::{Seconds, request};
use crate::api::{Caller, Request, answers, written};
use crate::model::documents::answers::{QueueBegun, QueueSummary};
use crate::model::documents::queue::QueueTask;
use crate::model::ids::Key;
use crate::model::import;
use crate::model::new_task::NewTask;
use crate::model::shape::Maybe;
use crate::model::task::{Changed, Removed, Task, TaskEdit};
use crate::model::text_file::TextFile;
use crate::ops::queue::{lead, parts, revise};
use crate::ops::{Error, Result};
use crate::store::Called;

request!(
    /// Lay out the queue of this project; what is there already stays, and another goal is refused.
    InitQueue("queue.init", Changes, "leader init", r#"{"goal": "Build a REST API"}"#) {
        /// What the team is to achieve.
        goal: String,
        /// How to go about it, for the plan.
        approach: Option<String>,
        /// Take the place of another goal that the plan has.
        replace: bool,
    }
);

/// What was laid out, and how it is called.
pub struct Begun {
    goal: String,
    pub created: Vec<Called>,
    pub kept: Vec<Called>,
}

impl Begun {
    fn told(&self) -> QueueBegun {
        let names = |all: &[Called]| all.iter().map(|called| called.name.clone()).collect();
        QueueBegun { goal: self.goal.clone(), created: names(&self.created), kept: names(&self.kept) }
    }
}

answers! {
    Begun: QueueBegun, begun => written(&begun.told());
    QueueSummary: QueueSummary, summary => written(summary);
    revise::Revised: QueueTask, revised => revised.task.value();
}

impl Request for InitQueue {
    type Answer = Begun;

    fn perform(self, caller: &Caller<'_>) -> Result<Begun> {
        let (goal, approach) = (caller.told(self.goal), self.approach.map(|approach| caller.told(approach)));
        let begin = lead::Begin { goal: &goal, approach: approach.as_deref(), replace: self.replace };
        let done = lead::init(caller.engine, &begin, caller.actor)?;
        Ok(Begun { goal, created: done.created, kept: done.kept })
    }
}

request!(
    /// Add a task to the queue. With an id of your own the request may be repeated safely.
    AddTask("task.add", Changes, "leader add-task", r#"{"id": "model", "description": "Create the model", "files": ["src/models/"]}"#) {
        /// What is to be done.
        description: String,
        /// 1 (first) to 10; 5 unless told.
        priority: Option<i64>,
        /// Tasks that must be done first.
        depends: Vec<String>,
        /// Files, directories and patterns (`src/**/*.rs`) that the task may touch.
        files: Vec<String>,
        /// What the worker should know.
        hints: Option<String>,
        /// Capabilities that the worker must have registered.
        needs: Vec<String>,
        /// Names to find it by.
        labels: Vec<String>,
        /// The task that it is a part of, which is done when all its parts are.
        parent: Option<String>,
        /// The task's id; a new one unless told.
        id: Option<String>,
    }
);

/// The priority of a task that nobody gave one.
const PRIORITY: i64 = 5;

impl Request for AddTask {
    type Answer = Task;

    fn perform(self, caller: &Caller<'_>) -> Result<Task> {
        let owned = |texts: Vec<String>| texts.into_iter().map(Cow::Owned).collect();
        let new = NewTask {
            id: self.id.map(Cow::Owned),
            description: caller.told(self.description).into(),
            priority: Some(self.priority.unwrap_or(PRIORITY)),
            dependencies: owned(self.depends),
            files: self.files.into_iter().map(|file| caller.around.below_root(file).into()).collect(),
            hints: self.hints.map(|hints| caller.told(hints).into()),
            needs: owned(self.needs),
            labels: owned(self.labels),
            parent: self.parent.map(Cow::Owned),
        };
        lead::add(caller.engine, &new, caller.actor)
    }
}

request!(
    /// Add many tasks at once: all of them, or none.
    ImportTasks("task.import", Changes, "leader import", r#"{"text": "- [ ] Add the endpoint {id: endpoint, after: model}\n- [ ] Describe it {id: describe}"}"#) {
        /// JSON (an array, an object with `tasks`, or one object per line) or a Markdown checklist.
        text: String,
        /// Labels for all of them.
        labels: Vec<String>,
    }
);

impl Request for ImportTasks {
    type Answer = TaskList;

    fn perform(self, caller: &Caller<'_>) -> Result<TaskList> {
        let refused = |error: import::ImportError| Error::invalid(error.to_string(), "nothing was added");
        let mut tasks = import::parse(self.text.as_bytes()).map_err(refused)?;
        prepare(&mut tasks, &self.labels, caller);
        let imported = lead::import(caller.engine, &tasks, caller.actor, &mut |_| {})?;
        Ok(TaskList::new(imported.tasks()))
    }
}

/// Makes the tasks of a file what they are kept as.
pub fn prepare<'l>(tasks: &mut [NewTask<'l>], labels: &'l [String], caller: &Caller<'_>) {
    for task in tasks.iter_mut() {
        let known = std::mem::take(&mut task.labels);
        let new = labels.iter().filter(|label| !known.contains(&Cow::Borrowed(label.as_str())));
        task.labels = known.iter().cloned().chain(new.map(|label| label.as_str().into())).collect();
    }
    if !caller.around.is_person() {
        for text in
            tasks.iter_mut().flat_map(|task| std::iter::once(&mut task.description).chain(&mut task.hints))
        {
            *text = caller.told(text.to_string()).into();
        }
    }
    for file in tasks.iter_mut().flat_map(|task| &mut task.files).filter(|file| file.starts_with('/')) {
        *file = caller.around.below_root(file.to_string()).into();
    }
}

request!(
    /// Change a task. What is not named stays as it is; while somebody is at work on it, only words, priority and labels can change.
    EditTask("task.edit", Changes, "leader edit", r#"{"id": "endpoint", "priority": 2, "labels": ["nightly"]}"#) {
        /// The task.
        id: Key,
        /// What is to be done.
        description: Option<String>,
        /// 1 (first) to 10.
        priority: Option<i64>,
        /// Tasks that must be done first, beside those that it waits for already.
        depends: Vec<String>,
        /// Tasks that it no longer waits for; an empty list: all.
        no_depends: Option<Vec<String>>,
        /// All files, directories and patterns that the task may touch.
        files: Option<Vec<String>>,
        /// What the worker should know; blank for nothing.
        hints: Option<String>,
        /// All capabilities that the worker must have registered.
        needs: Option<Vec<String>>,
        /// Labels to add.
        labels: Vec<String>,
        /// Labels to take away; an empty list: all.
        no_labels: Option<Vec<String>>,
    }
);

impl Request for EditTask {
    type Answer = revise::Revised;

    fn perform(self, caller: &Caller<'_>) -> Result<revise::Revised> {
        let below = |file| caller.around.below_root(file);
        let edit = TaskEdit {
            description: self.description.map(|text| caller.told(text)),
            priority: self.priority,
            hints: self.hints.map(|text| caller.told(text)),
            files: self.files.map(|files| files.into_iter().map(below).collect()),
            needs: self.needs,
            depends: changed(self.depends, self.no_depends),
            labels: changed(self.labels, self.no_labels),
        };
        if edit == TaskEdit::default() {
            return Err(Error::NothingToEdit { id: self.id.to_string() });
        }
        revise::edit(caller.engine, &self.id, &edit, caller.actor)
    }
}

/// What takes away nothing in particular takes away everything.
fn changed(added: Vec<String>, removed: Option<Vec<String>>) -> Changed {
    let removed = match removed {
        Some(names) if names.is_empty() => Removed::All,
        names => Removed::These(names.unwrap_or_default()),
    };
    Changed { added, removed }
}

request!(
    /// Write a remark on a task.
    NoteTask("task.note", Changes, "leader note", r#"{"id": "model", "text": "The schema is in docs/schema.md"}"#) {
        /// The task.
        id: Key,
        /// The remark.
        text: String,
    }
);

impl Request for NoteTask {
    type Answer = Task;

    fn perform(self, caller: &Caller<'_>) -> Result<Task> {
        revise::note(caller.engine, &self.id, &caller.told(self.text), caller.actor)
    }
}

request!(
    /// Take tasks out of the queue, with their results. For a task that is not wanted any more `task.cancel` is enough.
    RemoveTasks("task.remove", Removes, "leader remove", r#"{"ids": ["describe"]}"#) {
        /// The tasks.
        ids: Vec<Key>,
        /// Only show what would go.
        dry_run: bool,
    }
);

impl Request for RemoveTasks {
    type Answer = TaskList;

    fn perform(self, caller: &Caller<'_>) -> Result<TaskList> {
        Ok(list(revise::remove(caller.engine, &self.ids, self.dry_run, caller.actor)?))
    }
}

request!(
    /// Make several tasks of one, which is done when they are. They inherit its priority, files, hints, labels, needs and dependencies; what waits for it waits for all of them. The answer is the task, then its parts.
    SplitTask("task.split", Changes, "leader split", r#"{"id": "endpoint", "parts": ["Add the route", "Check the input"]}"#) {
        /// The task.
        id: Key,
        /// What is to be done in each part.
        parts: Vec<String>,
    }
);

impl Request for SplitTask {
    type Answer = TaskList;

    fn perform(self, caller: &Caller<'_>) -> Result<TaskList> {
        let texts: Vec<_> = self.parts.into_iter().map(|text| caller.told(text)).collect();
        parts::split(caller.engine, &self.id, &texts, caller.actor).map(several)
    }
}

request!(
    /// Let failed tasks be tried again: all of them, or none.
    RetryTasks("task.retry", Changes, "leader retry", r#"{"ids": ["endpoint"], "after": 0}"#) {
        /// The tasks.
        ids: Vec<Key>,
        /// Wait so many seconds before they are given out again.
        after: Option<Seconds>,
    }
);

impl Request for RetryTasks {
    type Answer = TaskList;

    fn perform(self, caller: &Caller<'_>) -> Result<TaskList> {
        lead::retry(caller.engine, &self.ids, self.after.map(Seconds::get), caller.actor).map(several)
    }
}

request!(
    /// Make tasks open again, whoever has them: all of them, or none. A part that is open again opens its parent again.
    ResetTasks("task.reset", Changes, "leader reset", r#"{"ids": ["endpoint"]}"#) {
        /// The tasks.
        ids: Vec<Key>,
        /// Also open tasks again that are done.
        force: bool,
        /// Only show what would become of them.
        dry_run: bool,
    }
);

impl Request for ResetTasks {
    type Answer = TaskList;

    fn perform(self, caller: &Caller<'_>) -> Result<TaskList> {
        lead::reset(caller.engine, &self.ids, self.force, self.dry_run, caller.actor).map(several)
    }
}

request!(
    /// Take tasks out of the work, and their parts with them: all of them, or none. Tasks that depend on them stay waiting; a worker that has one is refused when it reports.
    CancelTasks("task.cancel", Removes, "leader cancel", r#"{"ids": ["endpoint"]}"#) {
        /// The tasks.
        ids: Vec<Key>,
        /// Only show what would become of them.
        dry_run: bool,
    }
);

impl Request for CancelTasks {
    type Answer = TaskList;

    fn perform(self, caller: &Caller<'_>) -> Result<TaskList> {
        lead::cancel(caller.engine, &self.ids, self.dry_run, caller.actor).map(several)
    }
}

request!(
    /// Put all results into one text.
    AggregateResults("queue.aggregate", Changes, "leader aggregate", "{}") {}
);

impl Request for AggregateResults {
    type Answer = QueueSummary;

    fn perform(self, caller: &Caller<'_>) -> Result<QueueSummary> {
        let done = lead::aggregate(caller.engine, caller.actor)?;
        Ok(QueueSummary {
            path: caller.shown(&TextFile::Summary),
            results: done.results.into(),
            without_change: Maybe(Some(done.hollow).filter(|hollow| !hollow.is_empty())),
        })
    }
}
