//! A change, as the command that made it tells the process that runs the hooks: one line of JSON.

use anthill_core::model::ids::Key;
use anthill_core::model::kind::{Doc, Scope};
use anthill_core::model::room::Room;
use anthill_core::model::time;
use anthill_core::store::observed::{Changed, Now};
use anthill_core::store::{Engine, Entry};
use serde_json::{Map, Value, json};

/// A longer content is left out of the event.
const SMALL: usize = 64 << 10;

/// A change to tell hooks about.
#[derive(Debug, PartialEq)]
pub struct Notice {
    pub doc: Doc,
    /// What a hook reads on stdin.
    pub event: Value,
    /// Whether the content is still to be read.
    unread: bool,
}

impl Notice {
    pub fn new(changed: &Changed<'_>, entry: &Entry) -> Notice {
        let doc = changed.doc;
        let (project, session) = match &doc.room {
            Room::Project(id) => (Some(id.as_str()), None),
            Room::Session(id) | Room::Mailbox(id) => (None, Some(id.as_str())),
            _ => (None, None),
        };
        let mut event = json!({
            "kind": doc.kind.name, "revision": changed.revision, "at": time::stamp(entry.at), "by": entry.by,
            "op": entry.op, "project_id": project, "session_id": session,
        });
        if matches!(doc.kind.scope, Scope::Agent | Scope::Moment) {
            event["key"] = doc.key.as_ref().map(Key::as_str).into();
        }
        match changed.now {
            Now::Known(value) if is_small(value) => event["value"] = value.clone(),
            Now::Deleted => event["value"] = Value::Null,
            Now::Known(_) | Now::Unread => {}
        }
        Notice { doc: doc.clone(), event, unread: matches!(changed.now, Now::Unread) }
    }

    pub fn encode(&self) -> String {
        let (room, doc) = (self.doc.room.to_string().into(), self.doc.to_string().into());
        let fields =
            [("room", room), ("doc", doc), ("unread", self.unread.into()), ("event", self.event.clone())];
        let fields: Map<String, Value> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        format!("{}\n", Value::Object(fields))
    }

    /// Reads one line; `None` if it is not a notice.
    pub fn decode(line: &str) -> Option<Notice> {
        let mut line: Value = serde_json::from_str(line).ok()?;
        let room: Room = line["room"].as_str()?.parse().ok()?;
        let doc = Doc::named(&room, line["doc"].as_str()?)?;
        let unread = line["unread"].as_bool()?;
        Some(Notice { doc, event: line.get_mut("event")?.take(), unread })
    }

    /// Adds the content, if it is small and has not changed again.
    pub fn look(&mut self, engine: &dyn Engine) {
        if !std::mem::take(&mut self.unread) {
            return;
        }
        // Without it the event still says what has changed.
        let Ok(Some(document)) = engine.read(&self.doc) else { return };
        if self.event["revision"] == document.revision && is_small(&document.value) {
            self.event["value"] = document.value;
        }
    }

    /// Returns the event as a hook reads it.
    pub fn line(&self) -> String {
        format!("{}\n", self.event)
    }
}

fn is_small(value: &Value) -> bool {
    serde_json::to_writer(Scale(SMALL), value).is_ok()
}

/// Fails when more than so much is written to it.
struct Scale(usize);

impl std::io::Write for Scale {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_survives_its_way_and_nothing_else_is_one() {
        let entry = Entry {
            at: time::read("2026-01-01T00:00:00Z").unwrap(),
            by: "s1".into(),
            author: None,
            op: "set".into(),
            undoes: None,
            token: None,
            durability: anthill_core::store::Durability::Synced,
        };
        let doc = Doc::named(&Room::Project("p1".parse().unwrap()), "epics").unwrap();
        let value = json!({"epics": []});
        let notice = Notice::new(&Changed { doc: &doc, revision: 3, now: Now::Known(&value) }, &entry);
        assert_eq!(notice.event["value"], value);
        assert_eq!(Notice::decode(&notice.encode()), Some(notice));
        for line in ["", "{}", r#"{"room":"project/../x","doc":"epics","unread":false,"event":{}}"#] {
            assert_eq!(Notice::decode(line), None);
        }
    }

    #[test]
    fn long_contents_are_left_out() {
        assert!(is_small(&json!("x".repeat(SMALL - 2))));
        assert!(!is_small(&json!("x".repeat(SMALL))));
    }
}
