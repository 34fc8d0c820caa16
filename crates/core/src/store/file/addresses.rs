//! Where everything lies: rooms are directories, documents and texts are files in them. Nobody else knows.

use std::borrow::Cow;
use std::path::Path;

use crate::model::ids::{Key, SessionId};
use crate::model::kind::{Doc, KINDS, Kind, Scope};
use crate::model::room::{Room, Root};
use crate::model::text_file::{TextFile, TextFiles, Tray};

/// The file of each kind below its room; `{key}` stands for what tells the members of a family apart.
const FILES: [(&str, &str); 31] = [
    ("config", "config.json"),
    ("tools", "tools.json"),
    ("epics", "epics.json"),
    ("sprints", "sprints.json"),
    ("team", "team.json"),
    ("session", "state.json"),
    ("messages", "messages.json"),
    ("events", "events.json"),
    ("hooks", "hooks.json"),
    ("tasks", "tasks.json"),
    ("mailbox", "mailbox.json"),
    ("sent", "sent.json"),
    ("triggers", "triggers.json"),
    ("trusted", "trusted.json"),
    ("pm_state", "pm_state.json"),
    ("group_status", "group_status.json"),
    ("orchestrator_state", "orchestrator_state.json"),
    ("dev_to_qa", "messages/dev_to_qa.json"),
    ("qa_to_techlead", "messages/qa_to_techlead.json"),
    ("techlead_to_dev", "messages/techlead_to_dev.json"),
    ("active_agents", "agents/active.json"),
    ("agent_result", "agents/results/{key}.json"),
    ("work_queue", "loop/work_queue.json"),
    ("current_session", "session/current.json"),
    ("metrics", "session/metrics.json"),
    ("errors", "errors/classified.json"),
    ("backup", "compaction/backup_{key}.json"),
    ("workflow", "workflow.json"),
    ("task_graph", "active_task_graph.json"),
    ("queue", "tasks.json"),
    ("workers", "agents.json"),
];

const KEY: &str = "{key}";

const CONTEXT: &str = "context";
const LOGS: &str = "logs";
const TASK_LOGS: &str = "logs/tasks";
/// Agents may also put files of their own in here.
const RESULTS: &str = "results";
const HOOK_LOG: &str = "hooks.log";
const OLD_WORKFLOWS: &str = "workflow_archive";
const ARCHIVES: &str = "archive";
const LOOP: &str = "loop";
const LOOP_STATE: &str = "LOOP_STATE.md";
const GATE_LOGS: &str = "loop/gates";
const ITEM_LOGS: &str = "loop/items";
const AGENT_LOGS: &str = "logs";
const RUN_REPORT: &str = "report.md";

/// The one file of a room that is not in its directory but beside it.
const BESIDE: &str = "../workflow_state_system.md";

/// A room as a directory.
pub trait RoomFiles {
    /// Returns the room's directory below its root.
    fn dir(&self) -> String;

    /// Returns the path of one of the room's files below its root.
    fn path(&self, file: &str) -> String;

    /// Returns the room's hidden directory: journal, head, quarantine.
    fn hidden(&self) -> String;

    /// Returns the lock file of a seat beside the room.
    fn seat(&self, name: &str) -> String;

    /// Returns the room's lock file. It is never renamed, and deleted only with its room, by who holds it.
    fn lock(&self) -> String;
}

impl RoomFiles for Room {
    fn dir(&self) -> String {
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

    fn path(&self, file: &str) -> String {
        match (self, file) {
            (_, "") => self.dir(),
            (Room::State, BESIDE) => ".claude/workflow_state_system.md".into(),
            _ => [&self.dir(), "/", file].concat(),
        }
    }

    fn hidden(&self) -> String {
        self.dir() + "/.anthill"
    }

    fn seat(&self, name: &str) -> String {
        match self.root() {
            Root::Home => format!("orchestration/locks/{name}-{}.lock", self.to_string().replace('/', "-")),
            Root::Project => format!("{}/{name}.lock", self.hidden()),
        }
    }

    fn lock(&self) -> String {
        match self.root() {
            Root::Home => format!("orchestration/locks/{}.lock", self.to_string().replace('/', "-")),
            Root::Project => format!("{}/lock", self.hidden()),
        }
    }
}

/// A kind as a name of files.
pub trait KindFiles {
    /// Returns the file below the room, with `{key}` in it where there may be many.
    fn file(&self) -> &'static str;

    /// Returns where its documents are, for people: what has to be filled in stands in braces.
    fn pattern(&self) -> String;

    /// Returns the name under which a room remembers the members of a family that are gone; no key is spelled so.
    fn rest(&self) -> Option<String>;

    /// Returns the key inside a family's file name.
    fn key_of(&self, file: &str) -> Option<Key>;
}

impl KindFiles for Kind {
    fn file(&self) -> &'static str {
        FILES[self.number].1
    }

    fn pattern(&self) -> String {
        let dir = match (self.room(), self.scope) {
            (Some(room), _) => room.dir(),
            (None, Scope::Project) => "orchestration/projects/{project_id}".into(),
            (None, Scope::Mailbox) => "orchestration/messages/{session_id}".into(),
            (None, _) => "sessions/{session_id}".into(),
        };
        format!("{dir}/{}", self.file())
    }

    fn rest(&self) -> Option<String> {
        self.is_family().then(|| self.file().replace(KEY, "*"))
    }

    fn key_of(&self, file: &str) -> Option<Key> {
        let (before, after) = self.file().split_once(KEY)?;
        file.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
    }
}

/// A document as a file.
pub trait DocFiles: Sized {
    /// Returns the file below the room.
    fn file(&self) -> Cow<'static, str>;

    /// Returns the path below the room's root.
    fn path(&self) -> String;

    /// Returns the document that `file` of `room` is, if it is one of ours.
    fn at(room: &Room, file: &str) -> Option<Self>;

    /// Returns the kind that a name in a room's records is about: that of a document, or of the members of a family that
    /// are gone.
    fn kind_at(room: &Room, file: &str) -> Option<&'static Kind>;
}

impl DocFiles for Doc {
    fn file(&self) -> Cow<'static, str> {
        let file = self.kind.file();
        match &self.key {
            Some(key) => Cow::Owned(file.replace(KEY, key.as_str())),
            None => Cow::Borrowed(file),
        }
    }

    fn path(&self) -> String {
        [&self.room.dir(), "/", &*self.file()].concat()
    }

    fn at(room: &Room, file: &str) -> Option<Doc> {
        KINDS.iter().filter(|kind| kind.is_of(room)).find_map(|kind| {
            let key = if kind.is_family() { Some(kind.key_of(file)?) } else { None };
            (key.is_some() || kind.file() == file).then(|| Doc { kind, room: room.clone(), key })
        })
    }

    fn kind_at(room: &Room, file: &str) -> Option<&'static Kind> {
        let is_rest = |kind: &&Kind| kind.is_of(room) && kind.rest().as_deref() == Some(file);
        Doc::at(room, file).map(|doc| doc.kind).or_else(|| KINDS.iter().find(is_rest))
    }
}

/// A text as a file.
pub trait PaperFiles: Sized {
    /// Returns the file below the room.
    fn file(&self) -> String;

    /// Returns the path below the room's root.
    fn path(&self) -> String;

    /// Returns the text that `file` of `room` is, if it is one.
    fn at(room: &Room, file: &str) -> Option<Self>;

    /// Returns the folders of a room that hold texts; the empty one is the room itself.
    fn folders(room: &Room) -> &'static [&'static str];

    /// Returns the text that stands beside a room instead of in it.
    fn beside(room: &Room) -> Option<Self>;

    /// Returns the folders in which other programs may leave texts, so that somebody has to look.
    fn open_folders(room: &Room) -> &'static [&'static str];
}

impl PaperFiles for TextFile {
    fn file(&self) -> String {
        match self {
            TextFile::Plan => "master-plan.md".into(),
            TextFile::Summary => "summary.md".into(),
            TextFile::Discoveries => "context/discoveries.md".into(),
            TextFile::Log(agent) => format!("{LOGS}/{agent}.log"),
            TextFile::TaskLog(task) => format!("{TASK_LOGS}/{task}.log"),
            TextFile::Result(task) => format!("{RESULTS}/{task}.md"),
            TextFile::Message { tray, id, .. } => format!("{}/{id}.json", tray.word()),
            TextFile::HookLog(_) => HOOK_LOG.into(),
            TextFile::WorkflowView => BESIDE.into(),
            TextFile::OldWorkflow(id) => format!("{OLD_WORKFLOWS}/{id}.json"),
            TextFile::Archive(name) => format!("{name}.jsonl"),
            TextFile::OldTasks(name) | TextFile::OldState(name) => format!("{ARCHIVES}/{name}.jsonl"),
            TextFile::LoopState => format!("{LOOP}/{LOOP_STATE}"),
            TextFile::GateLog(gate) => format!("{GATE_LOGS}/{gate}.log"),
            TextFile::ItemLog(item) => format!("{ITEM_LOGS}/{item}.log"),
            TextFile::AgentLog(order) => format!("{AGENT_LOGS}/{order}.log"),
            TextFile::RunReport => RUN_REPORT.into(),
        }
    }

    fn path(&self) -> String {
        self.room().path(&self.file())
    }

    fn at(room: &Room, file: &str) -> Option<TextFile> {
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        let key = |suffix: &str| name.strip_suffix(suffix)?.parse::<Key>().ok();
        match (room, folder) {
            (Room::Mailbox(mailbox), _) => {
                let tray = Tray::ALL.into_iter().find(|tray| tray.word() == folder)?;
                message_named(mailbox, tray, name)
            }
            (Room::Session(session), "") => (name == HOOK_LOG).then(|| TextFile::HookLog(session.clone())),
            (Room::Archive, "") => key(".jsonl").map(TextFile::Archive),
            (Room::Pipeline, "") => (name == RUN_REPORT).then_some(TextFile::RunReport),
            (Room::Pipeline, AGENT_LOGS) => key(".log").map(TextFile::AgentLog),
            (Room::State, _) if file == BESIDE => Some(TextFile::WorkflowView),
            (Room::State, LOOP) => (name == LOOP_STATE).then_some(TextFile::LoopState),
            (Room::State, GATE_LOGS) => key(".log").map(TextFile::GateLog),
            (Room::State, ITEM_LOGS) => key(".log").map(TextFile::ItemLog),
            (Room::State, OLD_WORKFLOWS) => key(".json").map(TextFile::OldWorkflow),
            (Room::State, ARCHIVES) => key(".jsonl").map(TextFile::OldState),
            (Room::Queue, LOGS) => key(".log").map(TextFile::Log),
            (Room::Queue, TASK_LOGS) => key(".log").map(TextFile::TaskLog),
            (Room::Queue, RESULTS) => key(".md").map(TextFile::Result),
            (Room::Queue, ARCHIVES) => key(".jsonl").map(TextFile::OldTasks),
            (Room::Queue, "" | CONTEXT) => [TextFile::Plan, TextFile::Summary, TextFile::Discoveries]
                .into_iter()
                .find(|text_file| text_file.file() == file),
            _ => None,
        }
    }

    fn folders(room: &Room) -> &'static [&'static str] {
        match room {
            Room::Queue => &["", CONTEXT, LOGS, TASK_LOGS, RESULTS, ARCHIVES],
            Room::Archive => &[""],
            Room::Session(_) => &[""],
            Room::Pipeline => &["", AGENT_LOGS],
            Room::State => &[OLD_WORKFLOWS, ARCHIVES, LOOP, GATE_LOGS, ITEM_LOGS],
            Room::Mailbox(_) => &["inbox", "outbox", "processed"],
            _ => &[],
        }
    }

    fn beside(room: &Room) -> Option<TextFile> {
        (*room == Room::State).then_some(TextFile::WorkflowView)
    }

    fn open_folders(room: &Room) -> &'static [&'static str] {
        match room {
            Room::Mailbox(_) => &["inbox"],
            _ => &[],
        }
    }
}

/// Returns the folder of texts of one sort.
pub fn folder_of(room: &Room, text_files: TextFiles) -> &'static str {
    match text_files {
        TextFiles::Messages(tray) => tray.word(),
        TextFiles::Results => RESULTS,
        TextFiles::Logs => LOGS,
        TextFiles::Archived if *room == Room::Archive => "",
        TextFiles::Archived => ARCHIVES,
    }
}

/// Returns the text that a name in such a folder is.
pub fn text_file_named(room: &Room, text_files: TextFiles, name: &str) -> Option<TextFile> {
    let text_file = match (text_files, room) {
        (TextFiles::Messages(tray), Room::Mailbox(mailbox)) => message_named(mailbox, tray, name)?,
        _ => TextFile::at(room, [folder_of(room, text_files), name].join("/").trim_start_matches('/'))?,
    };
    text_files.have(&text_file).then_some(text_file)
}

/// Whether anthill itself writes to a path below a project. Others have a directory of the pipeline's name, too.
pub fn is_ours(path: &str, project: &Path) -> bool {
    let has_pipeline = || project.join("coordination/pm_state.json").exists();
    let below = |room: Room| path.strip_prefix(&room.dir()).is_some_and(|rest| rest.starts_with('/'));
    below(Room::Queue)
        || below(Room::State)
        || path == TextFile::WorkflowView.path()
        || (below(Room::Pipeline) && has_pipeline())
}

fn message_named(mailbox: &SessionId, tray: Tray, name: &str) -> Option<TextFile> {
    let id = name.strip_suffix(".json")?.parse().ok()?;
    Some(TextFile::Message { mailbox: mailbox.clone(), tray, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_file() {
        assert_eq!(KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>(), FILES.map(|(kind, _)| kind));
        for (kind, file) in KINDS.iter().zip(FILES.map(|(_, file)| file)) {
            assert_eq!(kind.is_family(), file.contains(KEY), "{}", kind.name);
        }
    }

    #[test]
    fn a_document_is_found_by_its_file() {
        let key: Key = "k1".parse().unwrap();
        for kind in KINDS {
            let doc = match kind.scope {
                Scope::Project => Doc::of_project(kind, "p1".parse().unwrap()),
                Scope::Session => Doc::of_session(kind, "s1".parse().unwrap()),
                Scope::Mailbox => Doc::of_mailbox(kind, "s1".parse().unwrap()),
                Scope::Agent | Scope::Moment => Doc::of_key(kind, &key),
                _ => Doc::shared(kind, kind.room().unwrap()),
            };
            assert_eq!(Doc::at(&doc.room, &doc.file()), Some(doc));
        }
        for file in
            ["", "tasks", "queue", "agents/results/.json", "agents/results/a/b.json", "agents/results/*.json"]
        {
            assert_eq!(Doc::at(&Room::State, file), None, "{file}");
        }
        assert_eq!(Doc::kind_at(&Room::State, "agents/results/*.json"), Kind::find("agent_result"));
    }

    #[test]
    fn a_sort_of_texts_is_found_in_its_folder() {
        let mailbox = Room::Mailbox("s1".parse().unwrap());
        for (room, text_files, name) in [
            (&Room::Queue, TextFiles::Results, "t1.md"),
            (&Room::Queue, TextFiles::Logs, "w1.log"),
            (&Room::Queue, TextFiles::Archived, "tasks-2026-11.jsonl"),
            (&Room::State, TextFiles::Archived, "errors-2026-11.jsonl"),
            (&Room::Archive, TextFiles::Archived, "sessions-2026-11.jsonl"),
            (&mailbox, TextFiles::Messages(Tray::Inbox), "m1.json"),
        ] {
            let text_file = text_file_named(room, text_files, name).unwrap();
            assert!(
                text_files.have(&text_file) && text_file.file().ends_with(name) && text_file.room() == *room
            );
            for name in ["x", "../x.md", ".md", "a/b.log", "tasks"] {
                assert_eq!(text_file_named(room, text_files, name), None, "{name}");
            }
        }
    }

    #[test]
    fn a_paper_is_found_by_its_file_and_nothing_else_is_one() {
        let key = |text: &str| text.parse::<Key>().unwrap();
        let text_files = [
            TextFile::Plan,
            TextFile::Summary,
            TextFile::Discoveries,
            TextFile::Log(key("w-1")),
            TextFile::Log(key("tasks")),
            TextFile::TaskLog(key("t-1")),
            TextFile::Result(key("t.1")),
        ];
        // Of the same name in both rooms.
        for text_file in [TextFile::OldTasks(key("tasks-2026-11")), TextFile::OldState(key("errors-2026-11"))]
        {
            assert_eq!(TextFile::at(&text_file.room(), &text_file.file()), Some(text_file));
        }
        for text_file in text_files {
            assert_eq!(TextFile::at(&Room::Queue, &text_file.file()), Some(text_file.clone()));
            assert_eq!(TextFile::at(&Room::State, &text_file.file()), None);
        }
        let mailbox: SessionId = "s1".parse().unwrap();
        for tray in Tray::ALL {
            let text_file = TextFile::Message { mailbox: mailbox.clone(), tray, id: key("msg-1") };
            assert_eq!(TextFile::at(&text_file.room(), &text_file.file()), Some(text_file.clone()));
            assert_eq!(TextFile::at(&Room::Queue, &text_file.file()), None);
        }
        for file in
            ["inbox/x", "inbox/../x.json", "x.json", "trash/x.json", "inbox/.x.json", "inbox/a/b.json"]
        {
            assert_eq!(TextFile::at(&Room::Mailbox(mailbox.clone()), file), None, "{file}");
        }
        let of_state = [
            TextFile::WorkflowView,
            TextFile::OldWorkflow(key("wf_1")),
            TextFile::LoopState,
            TextFile::GateLog(key("lint")),
            TextFile::ItemLog(key("work-001")),
        ];
        for text_file in of_state {
            assert_eq!(TextFile::at(&Room::State, &text_file.file()), Some(text_file.clone()));
            assert_eq!(TextFile::at(&Room::Queue, &text_file.file()), None);
        }
        let archive = TextFile::Archive(key("sessions-2026-11"));
        assert_eq!(TextFile::at(&Room::Archive, &archive.file()), Some(archive));
        for file in ["x.json", "a/b.jsonl", ".x.jsonl", "../x.jsonl"] {
            assert_eq!(TextFile::at(&Room::Archive, file), None, "{file}");
        }
        for text_file in [TextFile::AgentLog(key("v4_1-2")), TextFile::RunReport] {
            assert_eq!(TextFile::at(&Room::Pipeline, &text_file.file()), Some(text_file.clone()));
            assert_eq!(TextFile::at(&Room::State, &text_file.file()), None);
        }
        for file in ["pm_state.json", "logs/../x.log", "logs/a/b.log", "messages/report.md", "summary.md"] {
            assert_eq!(TextFile::at(&Room::Pipeline, file), None, "{file}");
        }
        assert_eq!(TextFile::WorkflowView.path(), ".claude/workflow_state_system.md");
        assert_eq!(TextFile::LoopState.path(), ".claude/state/loop/LOOP_STATE.md");
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
            assert_eq!(TextFile::at(&Room::State, file), None, "{file}");
        }
        let session: SessionId = "s1".parse().unwrap();
        let log = TextFile::HookLog(session.clone());
        assert_eq!(TextFile::at(&Room::Session(session), "hooks.log"), Some(log));
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
            assert_eq!(TextFile::at(&Room::Queue, file), None, "{file}");
        }
    }
}
