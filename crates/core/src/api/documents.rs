//! Documents of any kind: reading, changing, checking.

use serde_json::Value;

use super::request::{KindName, data, request};
use super::{Caller, Request, Stored, answers, written};
use crate::error::with_causes;
use crate::model::documents::answers::{ChangedDocument, CheckedDocument, KindNote};
use crate::model::ids::{Key, ProjectId, SessionId};
use crate::model::kind::{Doc, Items, KINDS, Kind, Scope};
use crate::model::path::Path;
use crate::model::room::Room;
use crate::model::shape::Maybe;
use crate::model::time;
use crate::ops::doctor::{self, Checked};
use crate::ops::edit::{self, Target};
use crate::ops::planning::stories::{self, Filter};
use crate::ops::settings::Settings;
use crate::ops::{Error, Result, read};
use crate::store::file::addresses::KindFiles;

data!(
    /// Which document.
    Select {
        /// The kind; `schema.show` lists them.
        kind: KindName,
        /// Of epics, sprints and team: the project; the caller's own, or the configuration's default, unless told.
        project_id: Option<ProjectId>,
        /// Of what belongs to a session: which one; the caller's own unless told.
        session_id: Option<SessionId>,
        /// Of agent_result: the agent.
        agent_id: Option<Key>,
        /// Of backup: the moment; the newest unless told.
        timestamp: Option<Key>,
    }
);

impl Select {
    /// Names a document by its kind alone.
    pub fn of(kind: &'static Kind) -> Select {
        Select { kind: KindName(kind), project_id: None, session_id: None, agent_id: None, timestamp: None }
    }

    /// Returns the address of the document.
    pub fn find(&self, caller: &Caller<'_>) -> Result<Doc> {
        let kind = self.kind.0;
        match kind.scope {
            Scope::Project => Ok(Doc::of_project(kind, project(caller, kind, self.project_id.as_ref())?)),
            Scope::Session => Ok(Doc::of_session(kind, self.session(caller)?)),
            Scope::Mailbox => Ok(Doc::of_mailbox(kind, self.session(caller)?)),
            Scope::Agent => {
                let agent = self.agent_id.as_ref().ok_or_else(|| unnamed(kind, "agent-id"))?;
                Ok(Doc::of_key(kind, agent))
            }
            Scope::Moment => self.moment(caller),
            Scope::Shared | Scope::Queue | Scope::Pipeline | Scope::State => {
                Ok(Doc::shared(kind, kind.room().expect("these scopes name their room")))
            }
        }
    }

    fn session(&self, caller: &Caller<'_>) -> Result<SessionId> {
        let known = self.session_id.clone().or_else(|| caller.session());
        known.ok_or_else(|| unnamed(self.kind.0, "session-id"))
    }

    /// Returns the moment asked for, else the newest one, else this one.
    fn moment(&self, caller: &Caller<'_>) -> Result<Doc> {
        let kind = self.kind.0;
        if let Some(timestamp) = &self.timestamp {
            return Ok(Doc::of_key(kind, timestamp));
        }
        let known = caller.engine.documents(&Room::State)?;
        let newest = known.into_iter().rfind(|doc| doc.kind == kind);
        Ok(newest.unwrap_or_else(|| {
            Doc::of_key(kind, &time::compact(caller.actor.now()).parse().expect("digits make an id"))
        }))
    }
}

/// Returns the project that is meant: the one that is told, the caller's own, or the configuration's default.
pub fn project(caller: &Caller<'_>, kind: &Kind, told: Option<&ProjectId>) -> Result<ProjectId> {
    if let Some(project) = told.cloned().or_else(|| caller.around.project()) {
        return Ok(project);
    }
    match Settings::read(caller.engine)?.default_project() {
        Some(project) => project.parse().map_err(|error| Error::Input(format!("{error}"))),
        None => Err(unnamed(kind, "project-id")),
    }
}

fn unnamed(kind: &Kind, by: &'static str) -> Error {
    Error::Unnamed { kind: kind.name, by, path: kind.pattern() }
}

request!(
    /// Read a document, or one field of it.
    GetDocument("document.get", Reads, "get", r#"{"document": {"kind": "config"}, "field": "global.default_project"}"#) {
        /// Which document.
        document: Select,
        /// Path of the field, such as `epics[0].status` or `epics[id=epic-001].status`.
        field: Option<Path>,
    }
);

impl Request for GetDocument {
    type Answer = Stored<Value>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Value>> {
        let doc = self.document.find(caller)?;
        read::get(caller.engine, &doc, &self.field.unwrap_or_else(Path::root)).map(Stored::new)
    }
}

/// A document after a change.
#[derive(Debug)]
pub struct Edited {
    pub kind: &'static str,
    pub changed: edit::Changed,
}

answers! {
    Edited: ChangedDocument, edited => written(&ChangedDocument {
        kind: edited.kind.into(),
        revision: edited.changed.revision.into(),
        value: edited.changed.value.clone(),
    }), warns &edited.changed.warnings;
}

request!(
    /// Set a field of a document. A document that does not exist yet starts from its kind's default.
    SetField("document.set", Changes, "set", r#"{"document": {"kind": "config"}, "path": "global.default_project", "value": "myapp"}"#) {
        /// Which document.
        document: Select,
        /// Where: `epics[0].status`, `epics[id=epic-001].status`, `.` for the whole document.
        path: Path,
        /// What is to stand there.
        value: Value,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for SetField {
    type Answer = Edited;

    fn perform(self, caller: &Caller<'_>) -> Result<Edited> {
        let doc = self.document.find(caller)?;
        let target = Target { doc: &doc, path: &self.path, expect: self.expect_revision };
        let changed = edit::set(caller.engine, &target, self.value, caller.actor)?;
        Ok(Edited { kind: doc.kind.name, changed })
    }
}

request!(
    /// Append an item to a list in a document.
    AppendItem("document.append", Changes, "append", r#"{"document": {"kind": "epics"}, "path": "epics", "item": {"id": "epic-009", "title": "Sign-in", "status": "pending"}}"#) {
        /// Which document.
        document: Select,
        /// The list: `epics`, `epics[0].stories`.
        path: Path,
        /// The item.
        item: Value,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for AppendItem {
    type Answer = Edited;

    fn perform(self, caller: &Caller<'_>) -> Result<Edited> {
        let doc = self.document.find(caller)?;
        let target = Target { doc: &doc, path: &self.path, expect: self.expect_revision };
        let changed = edit::append(caller.engine, &target, self.item, caller.actor)?;
        Ok(Edited { kind: doc.kind.name, changed })
    }
}

request!(
    /// Delete a field or an item of a document, or the document itself; it can be taken back.
    DeleteField("document.delete", Removes, "delete", r#"{"document": {"kind": "epics"}, "path": "epics[id=epic-009]"}"#) {
        /// Which document.
        document: Select,
        /// What to delete; `.` is the whole document.
        path: Path,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for DeleteField {
    type Answer = Edited;

    fn perform(self, caller: &Caller<'_>) -> Result<Edited> {
        let doc = self.document.find(caller)?;
        let target = Target { doc: &doc, path: &self.path, expect: self.expect_revision };
        let changed = edit::delete(caller.engine, &target, caller.actor)?;
        Ok(Edited { kind: doc.kind.name, changed })
    }
}

request!(
    /// List the items of a document's list.
    ListItems("document.list", Reads, "list", r#"{"document": {"kind": "epics"}, "status": "pending"}"#) {
        /// Which document.
        document: Select,
        /// Only items with this status.
        status: Option<String>,
        /// Of epics: the stories of all of them, in place of the epics.
        stories: bool,
        /// Only stories that nobody has.
        unassigned: bool,
    }
);

impl Request for ListItems {
    type Answer = Stored<Vec<Value>>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Vec<Value>>> {
        let (kind, status) = (self.document.kind, self.status.as_deref());
        if self.stories && kind.0.name != "epics" || self.unassigned && !self.stories {
            return Err(Error::Input(
                "only epics have stories, and only stories are given to somebody".into(),
            ));
        }
        let doc = self.document.find(caller)?;
        let items = match self.stories {
            true => {
                let filter = Filter { status, unassigned: self.unassigned, epic: None };
                stories::list_in(caller.engine, &doc, &filter)?
            }
            false => read::list(caller.engine, &doc, status)?,
        };
        Ok(Stored::new(items))
    }
}

request!(
    /// Check documents against their schemas, also for being there.
    ValidateDocuments("document.validate", Reads, "validate", "{}") {
        /// Only this one.
        document: Option<Select>,
    }
);

/// What is known of documents that were checked, each with settings that have no effect.
#[derive(Debug)]
pub struct Validated(pub Vec<(CheckedDocument, Checked, Vec<crate::store::Finding>)>);

answers! {
    Validated: Vec<CheckedDocument>, validated => {
        validated.0.iter().map(|(note, ..)| written(note)).collect::<Value>()
    };
}

impl Request for ValidateDocuments {
    type Answer = Validated;

    fn perform(self, caller: &Caller<'_>) -> Result<Validated> {
        let wanted = self.document.map(|document| document.find(caller)).transpose()?;
        let is_wanted = |doc: &Doc| wanted.as_ref().is_none_or(|wanted| wanted == doc);
        let checked = doctor::validate(caller.engine, is_wanted)?;
        if let (Some(doc), true) = (&wanted, checked.is_empty()) {
            read::document(caller.engine, doc)?;
        }
        Ok(Validated(checked.into_iter().map(|checked| noted(caller, checked)).collect()))
    }
}

fn noted(caller: &Caller<'_>, checked: Checked) -> (CheckedDocument, Checked, Vec<crate::store::Finding>) {
    let doc = &checked.doc;
    let idle = if *doc == Doc::config() {
        doctor::without_effect(caller.engine, caller.actor.door)
    } else {
        Vec::new()
    };
    let odd = checked.odd.iter().map(|finding| finding.message.clone());
    let wrong: Vec<_> = checked.error.iter().map(|error| with_causes(error)).chain(odd).collect();
    let messages = idle.iter().map(|idle| idle.message.clone()).collect::<Vec<_>>();
    let note = CheckedDocument {
        kind: doc.kind.name.into(),
        path: caller.engine.place(doc),
        valid: wrong.is_empty(),
        error: Maybe(Some(if wrong.is_empty() { Value::Null } else { wrong.join("\n").into() })),
        warnings: Maybe(Some(messages).filter(|messages| !messages.is_empty())),
    };
    (note, checked, idle)
}

request!(
    /// Show the JSON Schema of a kind, or list all kinds.
    ShowSchema("schema.show", Reads, "schema", "{}") {
        /// The kind.
        kind: Option<KindName>,
    }
);

impl Request for ShowSchema {
    type Answer = Stored<Value>;

    fn perform(self, _: &Caller<'_>) -> Result<Stored<Value>> {
        Ok(self.answer())
    }
}

impl ShowSchema {
    /// Returns the answer, which needs no store.
    pub fn answer(&self) -> Stored<Value> {
        match self.kind {
            Some(KindName(kind)) => {
                Stored::new(serde_json::from_str::<Value>(kind.schema).expect("we wrote it"))
            }
            None => Stored::new(KINDS.iter().map(|kind| written(&summary(kind))).collect::<Value>()),
        }
    }
}

fn summary(kind: &Kind) -> KindNote {
    let option = match kind.scope {
        Scope::Project => "--project-id",
        Scope::Session | Scope::Mailbox => "--session-id",
        Scope::Agent => "--agent-id",
        Scope::Moment => "--timestamp",
        Scope::Shared | Scope::Queue | Scope::Pipeline | Scope::State => "",
    };
    let list = match kind.items {
        Items::None => String::new(),
        Items::Field(field) => field.into(),
        Items::Nested(outer, field) => format!("{outer}.{field}"),
        Items::Document => "(entries)".into(),
    };
    KindNote {
        kind: kind.name.into(),
        what: kind.about.into(),
        file: kind.pattern(),
        option: option.into(),
        list,
    }
}
