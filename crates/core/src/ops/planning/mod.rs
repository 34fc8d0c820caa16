//! Planning: epics, stories, sprints, the team and its tools, and the tasks that sessions have because of them.
//!
//! A change to a story and what follows from it (its epic's status, its sprint's points, a session's task) are one
//! commit. Every change may expect a revision of the document that it is about. Tools and settings are looked at
//! without a lock: they say what is allowed now, and may say something else a moment later.

pub mod assign;
pub mod epics;
pub mod queue;
pub mod sprints;
pub mod stories;
pub mod tasks;
pub mod tools;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::edit::Target;
use super::{Actor, Error, Result};
use crate::hint;
use crate::model::documents::common::Item;
use crate::model::documents::state::{Epic, Sprint};
use crate::model::hint::Hint;
use crate::model::ids::{Key, ProjectId, SessionId};
use crate::model::json;
use crate::model::key::{Fields, FieldsMut, Held, Key as Field, List};
use crate::model::kind::{Doc, Kind};
use crate::model::next::{See, With};
use crate::model::plan;
use crate::model::room::Room;
use crate::store::engine::items;
use crate::store::{Engine, Transaction};

/// Whose plan it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project(pub ProjectId);

impl Project {
    pub fn epics(&self) -> Doc {
        Doc::of_project(kind("epics"), self.0.clone())
    }

    pub fn sprints(&self) -> Doc {
        Doc::of_project(kind("sprints"), self.0.clone())
    }

    pub fn team(&self) -> Doc {
        Doc::of_project(kind("team"), self.0.clone())
    }
}

fn tools_doc() -> Doc {
    Doc::shared(kind("tools"), Room::Shared)
}

fn of_session(name: &str, session: &SessionId) -> Doc {
    Doc::of_session(kind(name), session.clone())
}

fn kind(name: &str) -> &'static Kind {
    Kind::find(name).expect("planning names known kinds")
}

/// What a use case did.
#[derive(Debug)]
pub struct PlanChanged {
    /// The thing that it is about, as it is stored now.
    pub value: Value,
    /// What else was made or changed, and is worth to be told: a session's task.
    pub task: Option<Value>,
    /// Whether anything changed.
    pub changed: bool,
    pub warnings: Vec<Hint>,
}

/// A document in hand: as it was, and as it is going to be.
struct Sheet {
    doc: Doc,
    before: Option<Value>,
    value: Value,
}

impl Sheet {
    /// Takes a document in hand; a missing one starts from its kind's default.
    fn open(transaction: &mut dyn Transaction, doc: Doc, now: Timestamp) -> Result<Sheet> {
        let before = transaction.get(&doc)?.cloned();
        let value = before.clone().unwrap_or_else(|| doc.default(now));
        Ok(Sheet { doc, before, value })
    }

    fn items(&mut self) -> &mut Vec<Value> {
        let crate::model::kind::Items::Field(field) = self.doc.kind.items else {
            unreachable!("BUG: a sheet is of a kind with a list")
        };
        list_named(&mut self.value, field)
    }

    fn find(&mut self, id: &str) -> Option<&mut Value> {
        self.items().iter_mut().find(|item| is(item, id))
    }

    fn ids(&self) -> Vec<&str> {
        items(self.doc.kind, &self.value).into_iter().filter_map(|item| item.text(Item::id)).collect()
    }

    /// Puts the document down if it is another one now.
    fn put(self, transaction: &mut dyn Transaction) -> Result<bool> {
        let changed = self.before.as_ref() != Some(&self.value);
        if changed {
            transaction.put(&self.doc, self.value)?;
        }
        Ok(changed)
    }
}

/// A project's plan, open for one change.
struct PlanTransaction<'e> {
    transaction: Box<dyn Transaction + 'e>,
    now: Timestamp,
    epics: Sheet,
    /// In hand as soon as a story changes.
    sprints: Option<Sheet>,
    project: Project,
    warnings: Vec<Hint>,
}

impl<'e> PlanTransaction<'e> {
    /// Waits for the project's turn, and that of a session.
    fn open(
        engine: &'e dyn Engine,
        project: &Project,
        session: Option<&SessionId>,
        actor: &Actor,
    ) -> Result<PlanTransaction<'e>> {
        let epics = project.epics();
        let session = session.map(|session| Room::Session(session.clone()));
        let rooms: Vec<_> = std::iter::once(&epics.room).chain(&session).collect();
        let mut transaction = engine.begin(&rooms)?;
        let now = actor.now();
        let epics = Sheet::open(&mut *transaction, epics, now)?;
        let project = project.clone();
        Ok(PlanTransaction { transaction, now, epics, sprints: None, project, warnings: Vec::new() })
    }

    /// Refuses when the epics have moved on.
    fn expect(mut self, revision: Option<u64>) -> Result<PlanTransaction<'e>> {
        Target::whole(&self.epics.doc, revision).expect_revision(&mut *self.transaction)?;
        Ok(self)
    }

    /// Returns the story and the place of its epic.
    fn story(&mut self, id: &str) -> Option<(usize, &mut Value)> {
        let epics = self.epics.items().iter_mut().enumerate();
        let mut stories = epics.flat_map(|(epic, value)| {
            let stories = value.list_mut(Epic::stories);
            stories.into_iter().flatten().map(move |story| (epic, story))
        });
        stories.find(|(_, story)| is(story, id))
    }

    /// Returns the stories of all epics.
    fn stories(&self) -> Vec<&Value> {
        let epics = items(self.epics.doc.kind, &self.epics.value);
        epics.into_iter().flat_map(plan::stories).collect()
    }

    /// Takes over what a changed story means for its epic, and for the sprints that it is in.
    fn roll_up(&mut self, epic: usize, story: &str) -> Result<()> {
        let epic = &mut self.epics.items()[epic];
        let stories: Vec<_> = plan::stories(epic).iter().map(plan::standing).collect();
        let status = plan::epic_status(plan::standing(epic), &stories);
        if status != plan::standing(epic) {
            epic[Epic::status] = json!(status);
        }
        let mut sprints = match self.sprints.take() {
            Some(sprints) => sprints,
            None => Sheet::open(&mut *self.transaction, self.project.sprints(), self.now)?,
        };
        // There is nothing to say in a document that does not exist.
        if sprints.before.is_some() {
            let stories = self.stories();
            let holds = |sprint: &&mut Value| plan::texts(sprint, Sprint::stories).contains(&story);
            sprints.items().iter_mut().filter(holds).for_each(|sprint| plan::add_up(sprint, &stories));
            self.sprints = Some(sprints);
        }
        Ok(())
    }

    /// Makes what was changed happen, with these documents besides.
    fn commit(mut self, op: &str, actor: &Actor, others: Vec<Sheet>) -> Result<(bool, Vec<Hint>)> {
        let mut changed = false;
        for sheet in std::iter::once(self.epics).chain(self.sprints).chain(others) {
            changed |= sheet.put(&mut *self.transaction)?;
        }
        if changed {
            self.warnings.extend(self.transaction.commit(&actor.entry(op))?.warnings);
        }
        Ok((changed, self.warnings))
    }
}

/// Changes one document that stands for itself: `edit` returns the thing that it is about.
fn change(
    engine: &dyn Engine,
    doc: &Doc,
    expect: Option<u64>,
    (op, actor): (&str, &Actor),
    edit: impl FnOnce(&mut Sheet, Timestamp) -> Result<Value>,
) -> Result<PlanChanged> {
    let mut transaction = engine.begin(&[&doc.room])?;
    Target::whole(doc, expect).expect_revision(&mut *transaction)?;
    let now = actor.now();
    let mut sheet = Sheet::open(&mut *transaction, doc.clone(), now)?;
    let value = edit(&mut sheet, now)?;
    let changed = sheet.put(&mut *transaction)?;
    let warnings = if changed { transaction.commit(&actor.entry(op))?.warnings } else { Vec::new() };
    Ok(PlanChanged { value, task: None, changed, warnings })
}

/// Returns the list in a field, which is made if there is none.
fn list<T: Held<Kind: List>>(value: &mut Value, key: Field<T>) -> &mut Vec<Value> {
    list_named(value, key.name())
}

fn list_named<'v>(value: &'v mut Value, name: &str) -> &'v mut Vec<Value> {
    if !value[name].is_array() {
        value[name] = json!([]);
    }
    value[name].as_array_mut().expect("it is an array now")
}

fn is(item: &Value, id: &str) -> bool {
    item.text(Item::id) == Some(id)
}

/// Returns the id that was asked for, else the next free one.
fn id_or_next(id: Option<&Key>, prefix: &str, taken: &[&str]) -> String {
    id.map_or_else(|| plan::next_id(prefix, taken.iter().copied()), ToString::to_string)
}

/// Refuses a name or title that says nothing, or too much.
fn check_text(what: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::Input(format!("the {what} is blank")));
    }
    json::check_input(&text.into()).map_err(Error::Input)
}

fn other(what: &str, id: &str, see: See) -> Error {
    let hint = hint!["see it: ", see, "\nchoose another ", With::Id, ", or leave it out to get a new one"];
    Error::clash(format!("there is another {what} `{id}` already"), hint)
}

fn no_epic(id: &Key) -> Error {
    Error::missing(format!("there is no epic `{id}`"), hint!["see them: ", See::Epics])
}

fn no_story(id: &str) -> Error {
    Error::missing(format!("there is no story `{id}`"), hint!["see them: ", See::Stories])
}
