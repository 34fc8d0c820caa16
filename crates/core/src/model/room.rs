//! Rooms: what is locked, committed and kept the history of as one.

use std::fmt;
use std::str::FromStr;

use super::ids::{InvalidId, ProjectId, SessionId};

/// Whom a room belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Root {
    /// All projects of a team together.
    Home,
    /// One project.
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
    /// The rooms of a project's own.
    pub const OF_PROJECT: [Room; 3] = [Room::Queue, Room::Pipeline, Room::State];

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
