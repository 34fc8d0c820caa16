//! Papers: the texts that stand beside the documents, for people and agents to read.
//!
//! A paper has no revision and no history of its own. It is written, or a piece appended to it, in the same
//! commit as the documents that it tells of. People may edit papers as they like.

use super::ids::{Key, SessionId};
use super::room::Room;

/// The address of one text file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Paper {
    /// The leader's plan. Written once, then it belongs to people.
    Plan,
    /// All results in one text.
    Summary,
    /// What workers found out, for everybody. Grows.
    Discoveries,
    /// What one leader or worker did. Grows.
    Log(Key),
    /// What came out of one task.
    Result(Key),
    /// What the hooks of a session did. Grows.
    HookLog(SessionId),
}

const HOOK_LOG: &str = "hooks.log";

impl Paper {
    /// The folder of the results, which agents may also put files of their own in.
    pub const RESULTS: &'static str = "results";

    /// Returns the folders of a room that hold papers; the empty one is the room itself.
    pub fn folders(room: &Room) -> &'static [&'static str] {
        match room {
            Room::Queue => &["", "context", "logs", Paper::RESULTS],
            Room::Session(_) => &[""],
            _ => &[],
        }
    }

    pub fn room(&self) -> Room {
        match self {
            Paper::HookLog(session) => Room::Session(session.clone()),
            _ => Room::Queue,
        }
    }

    /// Returns the file below the room.
    pub fn file(&self) -> String {
        match self {
            Paper::Plan => "master-plan.md".into(),
            Paper::Summary => "summary.md".into(),
            Paper::Discoveries => "context/discoveries.md".into(),
            Paper::Log(agent) => format!("logs/{agent}.log"),
            Paper::Result(task) => format!("{}/{task}.md", Paper::RESULTS),
            Paper::HookLog(_) => HOOK_LOG.into(),
        }
    }

    /// Returns the paper that `file` of `room` is, if it is one.
    pub fn at(room: &Room, file: &str) -> Option<Paper> {
        if let (Room::Session(session), HOOK_LOG) = (room, file) {
            return Some(Paper::HookLog(session.clone()));
        }
        let paper = match file.split_once('/') {
            None if file == Paper::Plan.file() => Paper::Plan,
            None if file == Paper::Summary.file() => Paper::Summary,
            Some(("context", _)) if file == Paper::Discoveries.file() => Paper::Discoveries,
            Some(("logs", name)) => Paper::Log(name.strip_suffix(".log")?.parse().ok()?),
            Some((Paper::RESULTS, name)) => Paper::result_named(name)?,
            _ => return None,
        };
        (paper.room() == *room).then_some(paper)
    }

    /// Returns the result that a file name in the results' folder is.
    pub fn result_named(name: &str) -> Option<Paper> {
        name.strip_suffix(".md")?.parse().ok().map(Paper::Result)
    }

    /// Returns the path below the room's root.
    pub fn path(&self) -> String {
        format!("{}/{}", self.room().dir(), self.file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paper_is_found_by_its_file_and_nothing_else_is_one() {
        let key = |text: &str| text.parse::<Key>().unwrap();
        let papers = [
            Paper::Plan,
            Paper::Summary,
            Paper::Discoveries,
            Paper::Log(key("w-1")),
            Paper::Result(key("t.1")),
        ];
        for paper in papers {
            assert_eq!(Paper::at(&Room::Queue, &paper.file()), Some(paper.clone()));
            assert_eq!(Paper::at(&Room::State, &paper.file()), None);
        }
        let session: SessionId = "s1".parse().unwrap();
        let log = Paper::HookLog(session.clone());
        assert_eq!(Paper::at(&Room::Session(session), "hooks.log"), Some(log));
        for file in [
            "hooks.log",
            "tasks.json",
            "logs/../x.log",
            "logs/a/b.log",
            "results/.md",
            "results/x",
            "../x.md",
            "context/x",
        ] {
            assert_eq!(Paper::at(&Room::Queue, file), None, "{file}");
        }
    }
}
