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
    /// What the command or agent of a task printed, the last time.
    TaskLog(Key),
    /// What the hooks of a session did. Grows.
    HookLog(SessionId),
    /// How far the workflow is. It stands beside its room, where people look first.
    WorkflowView,
    /// How far the loop is.
    LoopState,
    /// The last of what the command of a gate printed.
    GateLog(Key),
    /// What the agent of an item of the loop printed, the last time.
    ItemLog(Key),
    /// What the agents of one order of the pipeline printed. Grows with every try.
    AgentLog(Key),
    /// What came of a run of the pipeline, for people.
    RunReport,
    /// A workflow that made room for the next one, as JSON.
    OldWorkflow(Key),
    /// Sessions or messages that had to make room, one JSON line each, by their month: `sessions-2026-11`.
    Archive(Key),
    /// The same for tasks of the queue.
    OldTasks(Key),
    /// The same for what is over of a project's state: `errors-2026-11`.
    OldState(Key),
    /// One message, as JSON, in one of the trays of a mailbox.
    Message { mailbox: SessionId, tray: Tray, id: Key },
}

/// Where a message lies in a mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tray {
    Inbox,
    /// The sender's copy.
    Outbox,
    /// Done with, or expired unread.
    Processed,
}

impl Tray {
    pub const ALL: [Tray; 3] = [Tray::Inbox, Tray::Outbox, Tray::Processed];

    /// The folder below the mailbox.
    pub fn folder(self) -> &'static str {
        match self {
            Tray::Inbox => "inbox",
            Tray::Outbox => "outbox",
            Tray::Processed => "processed",
        }
    }
}

/// What is done to a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writing {
    /// This is all of it.
    Whole(String),
    /// This goes to its end.
    Piece(String),
    Gone,
}

impl Writing {
    /// Adds a piece to what is to be written.
    pub fn push(&mut self, piece: &str) {
        match self {
            Writing::Whole(text) | Writing::Piece(text) => text.push_str(piece),
            Writing::Gone => *self = Writing::Whole(piece.to_owned()),
        }
    }
}

const TASK_LOGS: &str = "logs/tasks";
const HOOK_LOG: &str = "hooks.log";
const OLD_WORKFLOWS: &str = "workflow_archive";
const ARCHIVES: &str = "archive";
const LOOP: &str = "loop";
const LOOP_STATE: &str = "LOOP_STATE.md";
const GATE_LOGS: &str = "loop/gates";
const ITEM_LOGS: &str = "loop/items";
const AGENT_LOGS: &str = "logs";
const RUN_REPORT: &str = "report.md";

impl Paper {
    /// The folder of what is over, where documents are in the room too.
    pub const ARCHIVES: &'static str = ARCHIVES;

    /// The folder of the logs of leader and workers.
    pub const LOGS: &'static str = "logs";

    /// The folder of the results, which agents may also put files of their own in.
    pub const RESULTS: &'static str = "results";

    /// Returns the folders of a room that hold papers; the empty one is the room itself.
    pub fn folders(room: &Room) -> &'static [&'static str] {
        match room {
            Room::Queue => &["", "context", Paper::LOGS, TASK_LOGS, Paper::RESULTS, ARCHIVES],
            Room::Archive => &[""],
            Room::Session(_) => &[""],
            Room::Pipeline => &["", AGENT_LOGS],
            Room::State => &[OLD_WORKFLOWS, ARCHIVES, LOOP, GATE_LOGS, ITEM_LOGS],
            Room::Mailbox(_) => &["inbox", "outbox", "processed"],
            _ => &[],
        }
    }

    /// Returns the paper that stands beside a room instead of in it.
    pub fn beside(room: &Room) -> Option<Paper> {
        (*room == Room::State).then_some(Paper::WorkflowView)
    }

    /// Returns the folders in which other programs may leave papers, so that somebody has to look.
    pub fn open_folders(room: &Room) -> &'static [&'static str] {
        match room {
            Room::Mailbox(_) => &["inbox"],
            _ => &[],
        }
    }

    pub fn room(&self) -> Room {
        match self {
            Paper::Message { mailbox, .. } => Room::Mailbox(mailbox.clone()),
            Paper::HookLog(session) => Room::Session(session.clone()),
            Paper::Archive(_) => Room::Archive,
            Paper::AgentLog(_) | Paper::RunReport => Room::Pipeline,
            Paper::WorkflowView
            | Paper::OldWorkflow(_)
            | Paper::OldState(_)
            | Paper::LoopState
            | Paper::GateLog(_)
            | Paper::ItemLog(_) => Room::State,
            _ => Room::Queue,
        }
    }

    /// Returns the file below the room.
    pub fn file(&self) -> String {
        match self {
            Paper::Plan => "master-plan.md".into(),
            Paper::Summary => "summary.md".into(),
            Paper::Discoveries => "context/discoveries.md".into(),
            Paper::Log(agent) => format!("{}/{agent}.log", Paper::LOGS),
            Paper::TaskLog(task) => format!("{TASK_LOGS}/{task}.log"),
            Paper::Result(task) => format!("{}/{task}.md", Paper::RESULTS),
            Paper::Message { tray, id, .. } => format!("{}/{id}.json", tray.folder()),
            Paper::HookLog(_) => HOOK_LOG.into(),
            Paper::WorkflowView => Room::BESIDE.into(),
            Paper::OldWorkflow(id) => format!("{OLD_WORKFLOWS}/{id}.json"),
            Paper::Archive(name) => format!("{name}.jsonl"),
            Paper::OldTasks(name) | Paper::OldState(name) => format!("{ARCHIVES}/{name}.jsonl"),
            Paper::LoopState => format!("{LOOP}/{LOOP_STATE}"),
            Paper::GateLog(gate) => format!("{GATE_LOGS}/{gate}.log"),
            Paper::ItemLog(item) => format!("{ITEM_LOGS}/{item}.log"),
            Paper::AgentLog(order) => format!("{AGENT_LOGS}/{order}.log"),
            Paper::RunReport => RUN_REPORT.into(),
        }
    }

    /// Returns the paper that `file` of `room` is, if it is one.
    pub fn at(room: &Room, file: &str) -> Option<Paper> {
        if let Room::Mailbox(mailbox) = room {
            let (folder, name) = file.split_once('/')?;
            let tray = Tray::ALL.into_iter().find(|tray| tray.folder() == folder)?;
            return Paper::message_named(mailbox, tray, name);
        }
        if let (Room::Session(session), HOOK_LOG) = (room, file) {
            return Some(Paper::HookLog(session.clone()));
        }
        match room {
            Room::Pipeline => return Paper::of_pipeline(file),
            Room::Archive => return file.strip_suffix(".jsonl")?.parse().ok().map(Paper::Archive),
            _ => {}
        }
        let paper = match file.split_once('/') {
            _ if file == Room::BESIDE => Paper::WorkflowView,
            Some((LOOP, LOOP_STATE)) => Paper::LoopState,
            Some((LOOP, _)) => Paper::loop_log_at(file)?,
            Some((OLD_WORKFLOWS, name)) => Paper::OldWorkflow(name.strip_suffix(".json")?.parse().ok()?),
            Some((ARCHIVES, name)) => {
                let name = name.strip_suffix(".jsonl")?.parse().ok()?;
                if *room == Room::State { Paper::OldState(name) } else { Paper::OldTasks(name) }
            }
            None if file == Paper::Plan.file() => Paper::Plan,
            None if file == Paper::Summary.file() => Paper::Summary,
            Some(("context", _)) if file == Paper::Discoveries.file() => Paper::Discoveries,
            Some((Paper::LOGS, name)) if name.contains('/') => Paper::task_log_at(file)?,
            Some((Paper::LOGS, name)) => Paper::Log(name.strip_suffix(".log")?.parse().ok()?),
            Some((Paper::RESULTS, name)) => Paper::result_named(name)?,
            _ => return None,
        };
        (paper.room() == *room).then_some(paper)
    }

    fn of_pipeline(file: &str) -> Option<Paper> {
        match file.split_once('/') {
            None if file == RUN_REPORT => Some(Paper::RunReport),
            Some((AGENT_LOGS, name)) => name.strip_suffix(".log")?.parse().ok().map(Paper::AgentLog),
            _ => None,
        }
    }

    fn task_log_at(file: &str) -> Option<Paper> {
        let name = file.strip_prefix(TASK_LOGS)?.strip_prefix('/')?;
        name.strip_suffix(".log")?.parse().ok().map(Paper::TaskLog)
    }

    fn loop_log_at(file: &str) -> Option<Paper> {
        let (folder, name) = file.rsplit_once('/')?;
        let name = name.strip_suffix(".log")?.parse().ok()?;
        match folder {
            GATE_LOGS => Some(Paper::GateLog(name)),
            ITEM_LOGS => Some(Paper::ItemLog(name)),
            _ => None,
        }
    }

    /// Returns the result that a file name in the results' folder is.
    pub fn result_named(name: &str) -> Option<Paper> {
        name.strip_suffix(".md")?.parse().ok().map(Paper::Result)
    }

    /// Returns the message that a file name in a tray is.
    pub fn message_named(mailbox: &SessionId, tray: Tray, name: &str) -> Option<Paper> {
        let id = name.strip_suffix(".json")?.parse().ok()?;
        Some(Paper::Message { mailbox: mailbox.clone(), tray, id })
    }

    /// Returns the path below the room's root.
    pub fn path(&self) -> String {
        self.room().path(&self.file())
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
            Paper::Log(key("tasks")),
            Paper::TaskLog(key("t-1")),
            Paper::Result(key("t.1")),
        ];
        // Of the same name in both rooms.
        for paper in [Paper::OldTasks(key("tasks-2026-11")), Paper::OldState(key("errors-2026-11"))] {
            assert_eq!(Paper::at(&paper.room(), &paper.file()), Some(paper));
        }
        for paper in papers {
            assert_eq!(Paper::at(&Room::Queue, &paper.file()), Some(paper.clone()));
            assert_eq!(Paper::at(&Room::State, &paper.file()), None);
        }
        let mailbox: SessionId = "s1".parse().unwrap();
        for tray in Tray::ALL {
            let paper = Paper::Message { mailbox: mailbox.clone(), tray, id: key("msg-1") };
            assert_eq!(Paper::at(&paper.room(), &paper.file()), Some(paper.clone()));
            assert_eq!(Paper::at(&Room::Queue, &paper.file()), None);
        }
        for file in
            ["inbox/x", "inbox/../x.json", "x.json", "trash/x.json", "inbox/.x.json", "inbox/a/b.json"]
        {
            assert_eq!(Paper::at(&Room::Mailbox(mailbox.clone()), file), None, "{file}");
        }
        let of_state = [
            Paper::WorkflowView,
            Paper::OldWorkflow(key("wf_1")),
            Paper::LoopState,
            Paper::GateLog(key("lint")),
            Paper::ItemLog(key("work-001")),
        ];
        for paper in of_state {
            assert_eq!(Paper::at(&Room::State, &paper.file()), Some(paper.clone()));
            assert_eq!(Paper::at(&Room::Queue, &paper.file()), None);
        }
        let archive = Paper::Archive(key("sessions-2026-11"));
        assert_eq!(Paper::at(&Room::Archive, &archive.file()), Some(archive));
        for file in ["x.json", "a/b.jsonl", ".x.jsonl", "../x.jsonl"] {
            assert_eq!(Paper::at(&Room::Archive, file), None, "{file}");
        }
        for paper in [Paper::AgentLog(key("v4_1-2")), Paper::RunReport] {
            assert_eq!(Paper::at(&Room::Pipeline, &paper.file()), Some(paper.clone()));
            assert_eq!(Paper::at(&Room::State, &paper.file()), None);
        }
        for file in ["pm_state.json", "logs/../x.log", "logs/a/b.log", "messages/report.md", "summary.md"] {
            assert_eq!(Paper::at(&Room::Pipeline, file), None, "{file}");
        }
        assert_eq!(Paper::WorkflowView.path(), ".claude/workflow_state_system.md");
        assert_eq!(Paper::LoopState.path(), ".claude/state/loop/LOOP_STATE.md");
        for file in [
            "../x.md",
            "../../workflow_state_system.md",
            "workflow_archive/../x.json",
            "archive/../x.jsonl",
            "archive/x.json",
            "..",
            "loop/work_queue.json",
            "loop/x.log",
            "loop/gates/../x.log",
            "loop/gates/a/b.log",
            "loop/gatesx.log",
        ] {
            assert_eq!(Paper::at(&Room::State, file), None, "{file}");
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
