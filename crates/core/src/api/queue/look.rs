//! Looking at the queue.

use std::borrow::Cow;

use serde_json::Value;

use super::TaskList;
use crate::api::request::request;
use crate::api::{Answer, Caller, Request, answers, written};
use crate::model::diagnosis::Diagnosis;
use crate::model::documents::answers::{Drawing, ExplainedTask, QueueBoard, QueueDiagnosis, ShownTask};
use crate::model::documents::queue::QueueTask;
use crate::model::hint::Door;
use crate::model::ids::Key;
use crate::model::kind::Doc;
use crate::model::shape::{Shape, Shaped, words};
use crate::ops::queue::diagnose::{self, Chain};
use crate::ops::queue::{look, show};
use crate::ops::{Error, Result, read};
use crate::view::board::{self, Order, Sheet, Wanted};
use crate::view::{diagnosis as view, graph};

request!(
    /// Show how far the work is: a count for every status, and all tasks.
    ShowQueue("queue.status", Reads, "leader status", "{}") {}
);

/// A queue as it stands.
#[derive(Debug)]
pub enum Board {
    /// Written down without making values of its tasks: there may be very many.
    Written(String),
    Counted(Value),
}

impl Answer for Board {
    const SHAPE: &'static Shape = QueueBoard::SHAPE;

    fn json(&self) -> Cow<'_, Value> {
        match self {
            Board::Written(text) => Cow::Owned(serde_json::from_str(text).expect("we wrote it")),
            Board::Counted(value) => Cow::Borrowed(value),
        }
    }

    fn text(&self) -> String {
        match self {
            Board::Written(text) => text.clone(),
            Board::Counted(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
        }
    }
}

impl Request for ShowQueue {
    type Answer = Board;

    fn perform(self, caller: &Caller<'_>) -> Result<Board> {
        let mut sheet = Sheet::default();
        let all = read::each_item(caller.engine, &Doc::queue(), &mut |task| sheet.add(task));
        if let Some(text) = all.then(|| sheet.text()).flatten() {
            return Ok(Board::Written(text));
        }
        Ok(Board::Counted(board::json(&read::document(caller.engine, &Doc::queue())?.value)))
    }
}

request!(
    /// List tasks, by how they stand. Without a choice: everything that is not done or cancelled.
    ListTasks("task.list", Reads, "leader list", r#"{"status": ["ready"]}"#) {
        /// Only tasks that stand so: working, ready, waiting, failed, done, cancelled, or a status of the file.
        status: Vec<String>,
        /// Only tasks of this worker.
        worker: Option<String>,
        /// Only tasks with all of these labels.
        labels: Vec<String>,
        /// Also what is done or cancelled.
        all: bool,
        /// In which order: by status, and then as they are claimed, unless told.
        sort: Option<TaskSort>,
    }
);

words!(
    /// In which order tasks are listed.
    TaskSort { Status = "status", Priority = "priority", Age = "age", Id = "id" }
);

impl Request for ListTasks {
    type Answer = TaskList;

    fn perform(self, caller: &Caller<'_>) -> Result<TaskList> {
        let wanted = self.wanted()?;
        let queue = read::document(caller.engine, &Doc::queue())?.value;
        Ok(TaskList::new(board::listed(&queue, &wanted, caller.actor.now())))
    }
}

impl ListTasks {
    /// Returns what is wanted, in words that the board knows.
    pub fn wanted(self) -> Result<Wanted> {
        let ListTasks { status, worker, labels, all, sort } = self;
        let order = match sort.unwrap_or_default() {
            TaskSort::Status => Order::Status,
            TaskSort::Priority => Order::Priority,
            TaskSort::Age => Order::Age,
            TaskSort::Id => Order::Id,
        };
        match status.iter().find(|word| !Wanted::words().contains(&word.as_str())) {
            Some(word) => Err(Error::Input(format!(
                "no task stands `{word}`; the words are {}",
                Wanted::words().join(", ")
            ))),
            None => Ok(Wanted { statuses: status, worker, labels, all, order }),
        }
    }
}

request!(
    /// Show everything about one task: how it stands and why, what it waits for and what waits for it.
    ShowTask("task.show", Reads, "leader show", r#"{"id": "model"}"#) {
        /// The task.
        id: Key,
    }
);

impl Answer for show::Shown {
    /// As it is stored, and what is known of it beside that.
    const SHAPE: &'static Shape = &Shape::Both(QueueTask::SHAPE, ShownTask::SHAPE);

    fn json(&self) -> Cow<'_, Value> {
        Cow::Owned(show::Shown::json(self))
    }
}

impl Request for ShowTask {
    type Answer = show::Shown;

    fn perform(self, caller: &Caller<'_>) -> Result<show::Shown> {
        show::show(caller.engine, self.id.as_str(), caller.actor)
    }
}

request!(
    /// Say why nothing moves, or that it does: what holds up the work, down to the root causes, and what helps.
    ExplainQueue("queue.explain", Reads, "explain", "{}") {}
);

/// Why a queue moves or does not.
#[derive(Debug)]
pub struct Diagnosed {
    pub diagnosis: Diagnosis,
    door: &'static dyn Door,
}

impl Request for ExplainQueue {
    type Answer = Diagnosed;

    fn perform(self, caller: &Caller<'_>) -> Result<Diagnosed> {
        let diagnosis = diagnose::diagnose(caller.engine, caller.actor)?;
        Ok(Diagnosed { diagnosis, door: caller.actor.door })
    }
}

request!(
    /// Say why a task is not running: which dependency, overlap, capability or lease, and all that it hangs on.
    ExplainTask("task.explain", Reads, "leader explain", r#"{"id": "endpoint"}"#) {
        /// The task.
        id: Key,
    }
);

/// Why a task does not run, and the chain that it hangs on.
#[derive(Debug)]
pub struct ExplainedInFull {
    pub explained: look::Explained,
    pub chain: Chain,
    door: &'static dyn Door,
}

impl ExplainedInFull {
    /// Whether the chain tells more than the reasons do.
    pub fn has_chain(&self) -> bool {
        self.chain.links.iter().any(|link| link.depth > 1)
    }

    fn json(&self) -> Value {
        let mut value = self.explained.json();
        if self.has_chain() {
            let links = self.chain.links.iter().map(|link| view::link_note(link, self.door));
            value[ExplainedTask::chain] = links.collect();
        }
        value
    }
}

answers! {
    Diagnosed: QueueDiagnosis, found => written(&view::note(&found.diagnosis, found.door));
    ExplainedInFull: ExplainedTask, explained => explained.json();
    Drawing: Drawing, drawing => written(drawing);
}

impl Request for ExplainTask {
    type Answer = ExplainedInFull;

    fn perform(self, caller: &Caller<'_>) -> Result<ExplainedInFull> {
        let explained = look::explain(caller.engine, self.id.as_str(), caller.actor)?;
        let chain = diagnose::chain(caller.engine, &explained.task, caller.actor)?;
        Ok(ExplainedInFull { explained, chain, door: caller.actor.door })
    }
}

words!(
    /// In which language a graph is written.
    GraphFormat { Text = "text", Mermaid = "mermaid", Dot = "dot" }
);

request!(
    /// Draw what depends on what.
    DrawTasks("queue.graph", Reads, "leader graph", r#"{"format": "mermaid"}"#) {
        /// A tree of text unless told.
        format: Option<GraphFormat>,
        /// Only the longest chain of open tasks, as text.
        critical: bool,
    }
);

impl Request for DrawTasks {
    type Answer = Drawing;

    fn perform(self, caller: &Caller<'_>) -> Result<Drawing> {
        let queue = read::document(caller.engine, &Doc::queue())?.value;
        if self.critical {
            return Ok(Drawing { graph: graph::critical(&queue) });
        }
        let format = match self.format.unwrap_or_default() {
            GraphFormat::Text => graph::Format::Text,
            GraphFormat::Mermaid => graph::Format::Mermaid,
            GraphFormat::Dot => graph::Format::Dot,
        };
        Ok(Drawing { graph: graph::graph(&queue, format) })
    }
}

request!(
    /// List the tasks that can be claimed now, best first.
    ListReady("task.ready", Reads, "worker list", r#"{"limit": 10}"#) {
        /// At most so many.
        limit: Option<usize>,
    }
);

impl Request for ListReady {
    type Answer = TaskList;

    fn perform(self, caller: &Caller<'_>) -> Result<TaskList> {
        Ok(TaskList::new(look::ready(caller.engine, self.limit, caller.actor)?))
    }
}
