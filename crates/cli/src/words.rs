//! The command line's words for every step that anthill proposes: what to type.

use anthill_core::model::hint::{Door, Hint};
use anthill_core::model::kind::{Kind, Scope};
use anthill_core::model::next::{DocName, Input, Lease, Next, See, With};
use anthill_core::view::shell::word;

use crate::process;

/// The door of those who type.
#[derive(Debug)]
pub struct CommandLine;

impl Door for CommandLine {
    fn say(&self, step: &Next) -> String {
        what_to_type(step)
    }
}

/// Returns what to type, in words.
pub fn in_words(hint: &Hint) -> String {
    CommandLine.tell(hint)
}

/// What can be said to a person.
pub trait Words {
    fn words(&self) -> String;
}

impl Words for Hint {
    fn words(&self) -> String {
        in_words(self)
    }
}

impl Words for str {
    fn words(&self) -> String {
        self.to_owned()
    }
}

impl Words for String {
    fn words(&self) -> String {
        self.clone()
    }
}

fn what_to_type(step: &Next) -> String {
    let command = match step {
        Next::With(with) => return choice(with),
        Next::Repeat(with) => return format!("{} {}", as_typed(), choice(with)),
        Next::Create { kind } => return creation(kind),
        Next::RemoveFile(file) => return format!("rm {}", word(file)),
        Next::Trust { command, from: Some(dir) } => {
            return format!("cd {} && anthill trust {}", word(dir), word(command));
        }
        Next::See(see) => look(see),
        Next::Set { kind, path, value } => format!("set {kind} {} {}", word(path), word(value)),
        Next::Delete { doc, path } => {
            format!("delete {} {}", typed(doc), word(path.as_deref().unwrap_or(".")))
        }
        Next::Edit(doc) => format!("edit {}", typed(doc)),
        Next::Undo(doc) => format!("undo {}", typed(doc)),
        Next::Restore { doc, revision } => format!("restore {} --revision {revision}", typed(doc)),
        Next::TakeEdit(which) => format!("merge --theirs {}", word(which)),
        Next::DropEdit(which) => format!("merge --ours {}", word(which)),

        Next::Doctor => "doctor".into(),
        Next::Repair => "doctor --repair".into(),
        Next::Clean => "clean --older-than".into(),
        Next::Install => "init".into(),
        Next::NameProject => "init --project-id ID".into(),
        Next::StatusLine => "status --line".into(),

        Next::BeginQueue => "leader init GOAL".into(),
        Next::AddTask => "leader add-task \"…\"".into(),
        Next::EditTask { id } => format!("leader edit {} --priority 1", word(id)),
        Next::Aggregate => "leader aggregate".into(),
        Next::Cancel(id) => format!("leader cancel {}", word(id)),
        Next::Retry(id) => format!("leader retry {}", word(id)),
        Next::Reset { id, force: false } => format!("leader reset {}", word(id)),
        Next::Reset { id, force: true } => format!("leader reset {} --force", word(id)),
        Next::StopWaiting { id, on } => format!("leader edit {} --no-depends {}", word(id), word(on)),
        Next::Register(worker) => format!("worker register {}", word(worker)),
        Next::RegisterWith { needs } => {
            format!("worker register W --capabilities {}", word(&needs.join(",")))
        }
        Next::Claim { named: false, .. } => "worker claim".into(),
        Next::Claim { session: None, .. } => "worker claim W".into(),
        Next::Claim { session: Some(id), .. } => format!("worker claim W --session-id {}", word(id)),
        Next::AwaitTask { worker } => format!("worker claim {} --wait 600", word(worker)),
        Next::Complete(None) => "worker complete".into(),
        Next::Complete(Some(lease)) => report("complete", lease, "what you did"),
        Next::Fail(lease) => report("fail", lease, "why"),
        Next::Discover => "worker discover W \"text\"".into(),

        Next::StartSession(id) => format!("session start {}", word(id)),
        Next::SignOfLife(id) => format!("session heartbeat {}", word(id)),
        Next::HandOver { from, to } => format!("session handoff {} {} --task ID", word(from), word(to)),
        Next::ReadMail { session, again: false } => format!("message poll {}", word(session)),
        Next::ReadMail { session, again: true } => format!("message poll {} --again", word(session)),
        Next::SendMail { session } => format!("message send {} TO TYPE JSON", word(session)),
        Next::FinishMail { session } => format!("message done {} ID", word(session)),

        Next::BeginLoop => "loop start TASK".into(),
        Next::BeginLoopAnew => "loop start --reset".into(),
        Next::GoOnWithLoop => "loop start".into(),
        Next::MoreIterations(most) => format!("loop start --max-iterations {most}"),
        Next::AddItem => "loop add TITLE -p S1".into(),
        Next::TakeItem => "loop take".into(),
        Next::ReleaseItem { id, by } => format!("loop release {} --as {}", word(id), word(by)),
        Next::AddGate => "loop add-gate NAME -- CMD".into(),
        Next::RunGate => "loop gate NAME".into(),
        Next::RunGates => "loop gate --all".into(),

        Next::BeginPipeline => "pipeline init \"what is to be built\"".into(),
        Next::AskForOrders => "pipeline next".into(),
        Next::HandInPlan(from) => format!("pipeline plan --file {}", file(*from)),
        Next::Report { role, group, order, from } => {
            let [group, order] = [group, order].map(|id| word(id));
            format!("pipeline report {role} {group} STATUS --order {order} --file {}", file(*from))
        }
        Next::AskForMoreWork => "pipeline report pm - CONTINUE".into(),
        Next::ResumeRun => "orchestrate --resume".into(),

        Next::MakeWorkflow { phases: 0 } => "workflow create".into(),
        Next::MakeWorkflow { phases } => {
            format!("workflow create TASK{}", " --phase \"TITLE=AGENT\"".repeat(*phases))
        }
        Next::MovePhase { id, to } => format!("workflow phase {} --status {to}", word(id)),
        Next::ListTodos => "workflow todos".into(),
        Next::AdoptWorkflow => "workflow adopt".into(),

        Next::StartSprint => "sprint start NAME --stories ID…".into(),
        Next::CloseSprint(id) => format!("sprint close {}", word(id)),
        Next::MoveStory { id, to } => format!("story status {} {to}", word(id)),
        Next::AssignStory { id, to } => format!("story assign {} {}", word(id), word(to)),
        Next::AddMember(None) => "team add AGENT --role ROLE".into(),
        Next::AddMember(Some(agent)) => format!("team add {}", word(agent)),
        Next::RegisterTool(id) => format!("tool register {}", word(id)),
        Next::RegisterToolFor { needs } => format!("tool register ID --capabilities {}", word(needs)),
        Next::AllowInstances { tool, most } => {
            format!("tool register {} --max-instances {most}", word(tool))
        }

        Next::Trust { command, from: None } => format!("trust {}", word(command)),
        Next::TrustProject => "trust --project".into(),
        Next::AddHook { session, on, command } => {
            format!("on {on} --run {} --session-id {}", word(command), word(session))
        }
        Next::EnableHook { session, id } => {
            let path = word(&format!("hooks[id={id}].enabled"));
            format!("set hooks {path} true --session-id {}", word(session))
        }
        Next::RemoveHook { session, id } => {
            format!("on --remove {} --session-id {}", word(id), word(session))
        }

        Next::ResolveError(id) => format!("error resolve {}", word(id)),
        Next::BackUp => "compact backup".into(),
        Next::RestoreBackup => "compact restore".into(),
    };
    format!("anthill {command}")
}

fn look(see: &See) -> String {
    match see {
        See::Document { kind, path: None } => format!("get {kind}"),
        See::Document { kind, path: Some(path) } => format!("get {kind} --field {}", word(path)),
        See::Kinds => "schema".into(),
        See::History(kind) => format!("history {kind}"),
        See::Flaws(kind) => format!("validate {kind}"),
        See::Edits(kind) => format!("diff {}", kind.unwrap_or("KIND")),
        See::Tasks => "leader status".into(),
        See::Diagnosis { all: false } => "explain".into(),
        See::Diagnosis { all: true } => "explain --all".into(),
        See::Task(id) => format!("leader explain {}", word(id)),
        See::TasksThatAre(status) => format!("leader list --status {status}"),
        See::Brief { task, full: false } => format!("worker brief {}", word(task)),
        See::Brief { task, full: true } => format!("worker brief {} --full", word(task)),
        See::AnyBrief => "worker brief TASK".into(),
        See::BriefOfWorker => "worker brief --worker W".into(),
        See::Sessions => "session list".into(),
        See::Session(id) => format!("session show {}", word(id)),
        See::TasksOfSession(id) => {
            format!("list tasks --session-id {}", word(id.as_deref().unwrap_or("SESSION")))
        }
        See::Hooks { session } => format!("on --session-id {}", word(session)),
        See::Outbox { session } => format!("message outbox {}", word(session)),
        See::Mail { session } => format!("message list {}", word(session)),
        See::Loop => "loop status".into(),
        See::Pipeline => "pipeline status".into(),
        See::Workflow => "workflow show".into(),
        See::WorkflowGraph => "workflow graph".into(),
        See::Epics => "epic list".into(),
        See::Epic(id) => format!("epic show {}", word(id)),
        See::Stories => "story list".into(),
        See::StoriesOf { epic } => {
            format!("get epics --field {}", word(&format!("epics[{epic}].stories")))
        }
        See::Sprints => "list sprints --format table".into(),
        See::Sprint(id) => format!("sprint status {}", word(id)),
        See::Errors => "error list".into(),
        See::Agents => "agents list".into(),
        See::Findings => "agents merge".into(),
        See::Backups => "compact list".into(),
        See::Trusted => "trust".into(),
    }
}

fn choice(with: &With) -> String {
    match with {
        With::Force => "--force".into(),
        With::DryRun => "--dry-run".into(),
        With::Replace => "--replace".into(),
        With::Reset => "--reset".into(),
        With::Id => "--id".into(),
        With::Revision(None) => "--expect-revision N".into(),
        With::Revision(Some(revision)) => format!("--expect-revision {revision}"),
        With::Order => "--order ID".into(),
        With::WithoutResults => "--without-results \"…\"".into(),
        With::MaxSpawns => "--max-spawns".into(),
        With::MaxCost => "--max-cost".into(),
        With::LockTimeout => "--lock-timeout SECONDS".into(),
        With::NetworkFs => "--allow-network-fs".into(),
        With::Home => "--home".into(),
        With::HomeDir => "--home DIR".into(),
        With::FollowLinks => "--follow-links".into(),
        With::Worktrees => "--worktrees".into(),
        With::RootDir => "--root DIR".into(),
        With::Name(name) => format!("--{name} ID"),
        With::Status => "--status STATUS".into(),
        With::Assignee => "--assigned-to AGENT".into(),
        With::Reader => "--require-session".into(),
        With::Session(None) => "--session-id ID".into(),
        With::Session(Some(id)) => format!("--session-id {}", word(id)),
    }
}

fn report(verb: &str, lease: &Lease, said: &str) -> String {
    let [worker, task] = [&lease.worker, &lease.task].map(|id| word(id));
    format!("worker {verb} {worker} {task} \"{said}\" --epoch {}", lease.epoch)
}

fn file(from: Input) -> &'static str {
    match from {
        Input::File => "F",
        Input::Stdin => "-",
    }
}

/// Returns a document as commands are told it: its kind, and what picks it.
fn typed(DocName { kind, id }: &DocName) -> String {
    let Some(id) = id else { return (*kind).to_owned() };
    match Kind::find(kind).map(|kind| kind.scope) {
        Some(Scope::Project) => format!("{kind} --project-id {id}"),
        Some(Scope::Session | Scope::Mailbox) => format!("{kind} --session-id {id}"),
        Some(Scope::Agent) => format!("{kind} --agent-id {id}"),
        Some(Scope::Moment) => format!("{kind} --timestamp {id}"),
        Some(Scope::Shared | Scope::Queue | Scope::Pipeline | Scope::State) | None => (*kind).to_owned(),
    }
}

/// Returns the command as it was typed.
fn as_typed() -> String {
    let words = process::arguments().iter().map(|text| word(&text.to_string_lossy()));
    std::iter::once("anthill".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Returns a command that creates a document of this kind.
fn creation(kind: &str) -> String {
    match kind {
        "config" => r#"anthill set config global.default_project '"myapp"'   (the rest gets its defaults)"#.into(),
        "epics" => r#"anthill append epics epics '{"id": "epic-001", "title": "Sign-in", "status": "pending", "stories": []}'"#.into(),
        "sprints" => r#"anthill append sprints sprints '{"id": "sprint-001", "name": "Sprint 1", "status": "planned"}'"#.into(),
        "tools" => r#"anthill set tools tools.qa '{"id": "qa", "name": "Tester", "capabilities": ["testing"]}'"#.into(),
        "session" => "anthill session start ID".into(),
        "tasks" => r#"anthill append tasks tasks '{"id": "task-001", "title": "Try it", "status": "pending"}' --session-id ID"#.into(),
        "queue" => r#"anthill leader init "what the team is to achieve"   (then: anthill leader add-task "…")"#.into(),
        "workers" => "anthill worker register NAME --capabilities rust,sql".into(),
        "metrics" | "current_session" | "active_agents" | "agent_result" => {
            "it comes by itself, from the hooks of a client: anthill init".into()
        }
        other => format!("anthill set {other} PATH JSON   (`anthill schema {other}` shows the fields)"),
    }
}
