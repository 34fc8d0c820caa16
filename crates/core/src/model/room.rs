//! Rooms: a room is a directory that is locked, journaled and committed as one.

use std::fmt;
use std::str::FromStr;

use super::ids::{InvalidId, ProjectId, SessionId};

/// The two directory trees that hold rooms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Root {
    /// `~/.claude`, shared by all projects of a user.
    Home,
    /// The project that the working directory belongs to.
    Project,
}

/// One room.
///
/// Who needs several locks takes them in the order of this type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Room {
    Shared,
    /// What is over and had to make room, one text for each month.
    Archive,
    Project(ProjectId),
    Session(SessionId),
    Mailbox(SessionId),
    Queue,
    Pipeline,
    State,
}

impl Room {
    /// The rooms of a project's own tree.
    pub const OF_PROJECT: [Room; 3] = [Room::Queue, Room::Pipeline, Room::State];

    /// The one file of a room that is not in its directory but beside it.
    pub const BESIDE: &str = "../workflow_state_system.md";

    pub fn root(&self) -> Root {
        match self {
            Room::Shared | Room::Archive | Room::Project(_) | Room::Session(_) | Room::Mailbox(_) => {
                Root::Home
            }
            Room::Queue | Room::Pipeline | Room::State => Root::Project,
        }
    }

    /// Returns the session that a room or a mailbox belongs to.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Room::Session(id) | Room::Mailbox(id) => Some(id),
            _ => None,
        }
    }

    /// Returns the room's directory below its root.
    pub fn dir(&self) -> String {
        match self {
            Room::Shared => "orchestration".into(),
            Room::Archive => "orchestration/archive".into(),
            Room::Project(id) => ["orchestration/projects/", id.as_str()].concat(),
            Room::Session(id) => ["sessions/", id.as_str()].concat(),
            Room::Mailbox(id) => ["orchestration/messages/", id.as_str()].concat(),
            Room::Queue => ".coordination".into(),
            Room::Pipeline => "coordination".into(),
            Room::State => ".claude/state".into(),
        }
    }

    /// Returns the path of one of the room's files below its root.
    pub fn path(&self, file: &str) -> String {
        match (self, file) {
            (_, "") => self.dir(),
            (Room::State, Room::BESIDE) => ".claude/workflow_state_system.md".into(),
            _ => [&self.dir(), "/", file].concat(),
        }
    }

    /// Returns the room's hidden directory: journal, head, quarantine.
    pub fn hidden(&self) -> String {
        self.dir() + "/.anthill"
    }

    /// Returns the lock file of a seat beside the room.
    pub fn seat(&self, name: &str) -> String {
        match self.root() {
            Root::Home => format!("orchestration/locks/{name}-{}.lock", self.to_string().replace('/', "-")),
            Root::Project => format!("{}/{name}.lock", self.hidden()),
        }
    }

    /// Returns the room's lock file. It is never renamed, and deleted only with its room, by who holds it.
    pub fn lock(&self) -> String {
        match self.root() {
            Root::Home => format!("orchestration/locks/{}.lock", self.to_string().replace('/', "-")),
            Root::Project => format!("{}/lock", self.hidden()),
        }
    }
}

impl FromStr for Room {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Room, InvalidId> {
        Ok(match text.split_once('/') {
            Some(("project", id)) => Room::Project(id.parse()?),
            Some(("session", id)) => Room::Session(id.parse()?),
            Some(("mailbox", id)) => Room::Mailbox(id.parse()?),
            _ => {
                let known = [Room::Shared, Room::Archive].into_iter().chain(Room::OF_PROJECT);
                let found = known.into_iter().find(|room| room.to_string() == text);
                found.ok_or_else(|| InvalidId::new("room", text))?
            }
        })
    }
}

impl fmt::Display for Room {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Room::Shared => formatter.write_str("shared"),
            Room::Archive => formatter.write_str("archive"),
            Room::Project(id) => write!(formatter, "project/{id}"),
            Room::Session(id) => write!(formatter, "session/{id}"),
            Room::Mailbox(id) => write!(formatter, "mailbox/{id}"),
            Room::Queue => formatter.write_str("queue"),
            Room::Pipeline => formatter.write_str("pipeline"),
            Room::State => formatter.write_str("state"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_found_by_its_name() {
        let id = || "a-1".parse().unwrap();
        let named =
            [Room::Shared, Room::Project("p".parse().unwrap()), Room::Session(id()), Room::Mailbox(id())];
        for room in named.into_iter().chain([Room::Archive]).chain(Room::OF_PROJECT) {
            assert_eq!(room.to_string().parse(), Ok(room));
        }
        for text in ["", "session", "session/", "session/../x", "queue/x", "nothing"] {
            assert!(text.parse::<Room>().is_err(), "{text}");
        }
    }
}
