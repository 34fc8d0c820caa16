//! The workflow, its task graph and their view, opened for one change.

use jiff::Timestamp;
use serde_json::Value;

use crate::hint;
use crate::model::flow::Flow;
use crate::model::hint::Hint;
use crate::model::ids::Key;
use crate::model::kind::Doc;
use crate::model::next::Next;
use crate::model::text_file::TextFile;
use crate::model::{json, time};
use crate::ops::edit::Target;
use crate::ops::{Actor, Error, Result, document_of_state, read};
use crate::store::{Engine, Kept, Transaction};
use crate::view;

/// What a use case did.
#[derive(Debug)]
pub struct WorkflowChanged {
    /// The workflow as it is stored now.
    pub flow: Flow,
    /// Whether anything changed.
    pub changed: bool,
    /// The file that keeps the workflow that was there before.
    pub archived: Option<String>,
    pub warnings: Vec<Hint>,
}

/// The workflow, open for one change.
pub struct WorkflowTransaction<'e> {
    engine: &'e dyn Engine,
    pub transaction: Box<dyn Transaction + 'e>,
    pub now: Timestamp,
    pub before: Option<Flow>,
    /// The graph as it is stored.
    graph: Option<Value>,
    archived: Option<String>,
}

impl<'e> WorkflowTransaction<'e> {
    /// Waits for its turn, and refuses when the workflow has moved on.
    pub fn open(
        engine: &'e dyn Engine,
        expect: Option<u64>,
        actor: &Actor,
    ) -> Result<WorkflowTransaction<'e>> {
        let doc_of = doc("workflow");
        let mut transaction = engine.begin(&[&doc_of.room])?;
        Target::whole(&doc_of, expect).expect_revision(&mut *transaction)?;
        let workflow = transaction.get(&doc_of)?.cloned();
        let graph = transaction.get(&doc("task_graph"))?.cloned();
        let before = workflow.map(|workflow| Flow::of(workflow, graph.clone()));
        Ok(WorkflowTransaction { engine, transaction, now: actor.now(), before, graph, archived: None })
    }

    pub fn workflow(&mut self, engine: &dyn Engine) -> Result<Flow> {
        self.before.clone().ok_or_else(|| none(engine))
    }

    /// Returns an id that no workflow has or had.
    pub fn free_id(&mut self) -> Result<String> {
        let first = format!("wf_{}", time::compact(self.now));
        for number in 1.. {
            let id = if number == 1 { first.clone() } else { format!("{first}_{number}") };
            let known = self.before.as_ref().is_some_and(|before| before.id() == id);
            let key = id.parse().expect("digits make an id");
            if !known && self.transaction.text_file(&TextFile::OldWorkflow(key))?.is_none() {
                return Ok(id);
            }
        }
        unreachable!("BUG: ran out of numbers")
    }

    /// Keeps a workflow that makes room for another one.
    pub fn archive(&mut self, known: &Flow) -> Result<()> {
        let text = String::from_utf8(json::render(&known.workflow)).expect("BUG: JSON is text");
        // An id that somebody wrote by hand may be no name for a file.
        let name: Key = known.id().parse().unwrap_or_else(|_| "workflow".parse().expect("a word is an id"));
        for number in 1.. {
            let name = if number == 1 { name.to_string() } else { format!("{name}_{number}") };
            let Ok(key) = name.parse::<Key>() else {
                return Err(Error::Input(format!("the id `{name}` is too long")));
            };
            let text_file = TextFile::OldWorkflow(key);
            let there = self.transaction.text_file(&text_file)?;
            if there.as_ref().is_none_or(|there| *there == text) {
                self.archived = Some(self.engine.called(Kept::TextFile(&text_file)).path);
                self.transaction.write_text_file(&text_file, text)?;
                return Ok(());
            }
        }
        unreachable!("BUG: ran out of numbers")
    }

    /// Makes it happen: the workflow, its graph and the view, as far as they are others than before.
    pub fn finish(mut self, mut flow: Flow, op: &str, actor: &Actor) -> Result<WorkflowChanged> {
        let changed = self.before.as_ref().map(|before| &before.workflow) != Some(&flow.workflow);
        let put = put(&mut *self.transaction, self.before.as_ref(), self.graph.as_ref(), &flow)?;
        let any = put || self.archived.is_some();
        let mut warnings = Vec::new();
        if any {
            let committed = self.transaction.commit(&actor.entry(op))?;
            warnings = committed.warnings;
            for (doc, document) in committed.documents {
                match doc.kind.name {
                    "workflow" => flow.workflow = document.value,
                    _ => flow.graph = document.value,
                }
            }
        }
        Ok(WorkflowChanged { flow, changed, archived: self.archived, warnings })
    }
}

/// Writes the workflow, its graph and the view, as far as they are others than before; returns whether any was.
pub fn put(
    transaction: &mut dyn Transaction,
    before: Option<&Flow>,
    graph: Option<&Value>,
    flow: &Flow,
) -> Result<bool> {
    let mut any = false;
    if before.map(|before| &before.workflow) != Some(&flow.workflow) {
        transaction.put(&doc("workflow"), flow.workflow.clone())?;
        any = true;
    }
    if graph != Some(&flow.graph) {
        transaction.put(&doc("task_graph"), flow.graph.clone())?;
        any = true;
    }
    let text = view::workflow::markdown(flow);
    if transaction.text_file(&TextFile::WorkflowView)?.as_ref() != Some(&text) {
        transaction.write_text_file(&TextFile::WorkflowView, text)?;
        any = true;
    }
    Ok(any)
}

pub fn doc(name: &str) -> Doc {
    document_of_state(name)
}

pub fn none(engine: &dyn Engine) -> Error {
    let (doc, place) = (doc("workflow"), engine.place(&doc("workflow")));
    let hint = hint!["make one: ", Next::MakeWorkflow { phases: 2 }];
    Error::missing(
        format!("there is no workflow yet: `{place}` does not exist"),
        read::ways_on(engine, &doc, hint),
    )
}
