//! Reading what was archived.

use serde_json::Value;

use crate::model::documents::agent_loop::AgentResult;
use crate::model::documents::common::Item;
use crate::model::documents::state::{ArchivedMessage, ArchivedSession, Message};
use crate::model::json;
use crate::model::key::{Fields, Key as Field};
use crate::model::kind::Doc;
use crate::model::room::Room;
use crate::model::text_file::{TextFile, TextFiles};
use crate::ops::Result;
use crate::store::{Engine, Transaction};

/// Where records of one sort are: a text for each month, a line for each record.
#[derive(Debug, Clone, PartialEq)]
pub struct Shelf {
    room: Room,
    /// How the names of the texts begin.
    what: &'static str,
    /// The field and the value that tell the wanted records from others, if they do not all count.
    only: Option<(Field<String>, String)>,
}

impl Shelf {
    pub fn sessions() -> Shelf {
        Shelf { room: Room::Archive, what: "sessions", only: None }
    }

    pub fn tasks() -> Shelf {
        Shelf { room: Room::Queue, what: "tasks", only: None }
    }

    /// Records of a project's state.
    pub fn of_state(what: &'static str) -> Shelf {
        Shelf { room: Room::State, what, only: None }
    }

    /// Returns where the things go that leave a document, or leave with it; `None` if they never do.
    pub fn of(doc: &Doc) -> Option<Shelf> {
        let only = |field, id: &dyn ToString| Some((field, id.to_string()));
        Some(match (&doc.room, doc.kind.name) {
            (_, "queue") => Shelf::tasks(),
            (_, "errors" | "metrics") => Shelf::of_state(doc.kind.name),
            (_, "active_agents" | "agent_result") => Shelf::of_state("agents"),
            (Room::Session(id), _) => {
                Shelf { only: only(ArchivedSession::session_id, id), ..Shelf::sessions() }
            }
            (Room::Mailbox(id), _) => {
                Shelf { what: "messages", only: only(ArchivedMessage::mailbox, id), ..Shelf::sessions() }
            }
            _ => return None,
        })
    }

    /// Visits the records, the newest month and the last line first, until `visit` returns false. A line that is no record is passed over.
    pub fn each(&self, engine: &dyn Engine, visit: &mut dyn FnMut(Value) -> bool) -> Result<()> {
        let Some(mut look) = self.open(engine)? else { return Ok(()) };
        for text_file in self.months(&mut *look)?.into_iter().rev() {
            let text = look.text_file(&text_file)?.unwrap_or_default();
            let records = text.lines().rev().filter_map(|line| json::parse(line.as_bytes()).ok());
            for record in records.filter(|record| self.has(record)) {
                if !visit(record) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Returns the newest records, the oldest of them first: those with this id, or all.
    pub fn newest(&self, engine: &dyn Engine, id: Option<&str>, limit: Option<usize>) -> Result<Vec<Value>> {
        let (mut found, limit) = (Vec::new(), limit.unwrap_or(usize::MAX));
        if limit > 0 {
            self.each(engine, &mut |record| {
                if id.is_none_or(|id| id_of(&record) == Some(id)) {
                    found.push(record);
                }
                found.len() < limit
            })?;
        }
        found.reverse();
        Ok(found)
    }

    /// Whether anything is there. Nobody has to read it for that.
    pub fn is_used(&self, engine: &dyn Engine) -> Result<bool> {
        let Some(mut look) = self.open(engine)? else { return Ok(false) };
        Ok(!self.months(&mut *look)?.is_empty())
    }

    /// Opens the room to look. A room that nobody has used does not come to be by that.
    fn open<'e>(&self, engine: &'e dyn Engine) -> Result<Option<Box<dyn Transaction + 'e>>> {
        match engine.browse(&self.room)? {
            Some(look) => Ok(Some(look)),
            None if !engine.rooms()?.contains(&self.room) => Ok(None),
            // Somebody was killed in the middle of a commit.
            None => Ok(Some(engine.begin(&[&self.room])?)),
        }
    }

    fn months(&self, look: &mut dyn Transaction) -> Result<Vec<TextFile>> {
        let mut text_files = look.text_files(&self.room, TextFiles::Archived)?;
        let rest =
            |text_file: &TextFile| text_file.key()?.as_str().strip_prefix(self.what).map(str::to_owned);
        text_files.retain(|text_file| rest(text_file).is_some_and(|rest| rest.starts_with('-')));
        text_files.sort();
        Ok(text_files)
    }

    fn has(&self, record: &Value) -> bool {
        self.only.as_ref().is_none_or(|(field, value)| record[*field] == value.as_str())
    }
}

/// Returns the id of what a record tells of.
pub fn id_of(record: &Value) -> Option<&str> {
    let message = record.at(ArchivedMessage::message).at(Message::id);
    let ids = [Item::id.any(), ArchivedSession::session_id.any(), AgentResult::agent_id.any()];
    ids.into_iter().find_map(|id| record.at(id)).or(message)?.as_str()
}
