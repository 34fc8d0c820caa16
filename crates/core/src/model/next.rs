//! The next steps that anthill proposes, with the facts that each needs.
//!
//! A step says what can be done, never how: the words, a command line or a link, are those of a [`Door`](super::hint::Door).

use serde::Serialize;

use super::kind::Doc;

/// A step that can be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Looking changes nothing.
    See(See),
    /// One more choice for the request that is spoken of.
    With(With),
    /// The same request again, with one more choice.
    Repeat(With),

    // Documents.
    Create {
        kind: &'static str,
    },
    Set {
        kind: &'static str,
        path: String,
        value: String,
    },
    /// Everything of the document, or what is at a path.
    Delete {
        doc: DocName,
        path: Option<String>,
    },
    Edit(DocName),
    Undo(DocName),
    Restore {
        doc: DocName,
        revision: u64,
    },
    /// Takes an edit by hand that was kept aside: that of a kind, or this one.
    TakeEdit(String),
    DropEdit(String),

    // The store.
    Doctor,
    Repair,
    Clean,
    RemoveFile(String),
    Install,
    /// Gives the project an id of its own.
    NameProject,
    StatusLine,

    // The queue.
    BeginQueue,
    AddTask,
    EditTask {
        id: String,
    },
    Aggregate,
    Cancel(String),
    Retry(String),
    Reset {
        id: String,
        force: bool,
    },
    /// Lets a task wait for another one no more.
    StopWaiting {
        id: String,
        on: String,
    },
    Register(String),
    /// As somebody who has these capabilities.
    RegisterWith {
        needs: Vec<String>,
    },
    /// With a name of one's own, or without.
    Claim {
        named: bool,
        session: Option<String>,
    },
    /// Claims the next task as soon as there is one.
    AwaitTask {
        worker: String,
    },
    Complete(Option<Lease>),
    Fail(Lease),
    Discover,

    // Sessions and messages.
    StartSession(String),
    SignOfLife(String),
    HandOver {
        from: String,
        to: String,
    },
    ReadMail {
        session: String,
        again: bool,
    },
    SendMail {
        session: String,
    },
    FinishMail {
        session: String,
    },

    // The loop.
    BeginLoop,
    BeginLoopAnew,
    GoOnWithLoop,
    MoreIterations(u64),
    AddItem,
    TakeItem,
    ReleaseItem {
        id: String,
        by: String,
    },
    AddGate,
    RunGate,
    RunGates,

    // The pipeline.
    BeginPipeline,
    AskForOrders,
    /// With the answer in a file, or on standard input.
    HandInPlan(Input),
    Report {
        role: String,
        group: String,
        order: String,
        from: Input,
    },
    AskForMoreWork,
    ResumeRun,

    // The workflow.
    /// With so many phases as an example.
    MakeWorkflow {
        phases: usize,
    },
    MovePhase {
        id: String,
        to: &'static str,
    },
    ListTodos,
    AdoptWorkflow,

    // Planning.
    StartSprint,
    CloseSprint(String),
    MoveStory {
        id: String,
        to: &'static str,
    },
    AssignStory {
        id: String,
        to: String,
    },
    /// Anybody, or this agent.
    AddMember(Option<String>),
    RegisterTool(String),
    RegisterToolFor {
        needs: String,
    },
    AllowInstances {
        tool: String,
        most: usize,
    },

    // What may run.
    /// Seen from a directory, if that matters.
    Trust {
        command: String,
        from: Option<String>,
    },
    TrustProject,
    AddHook {
        session: String,
        on: String,
        command: String,
    },
    EnableHook {
        session: String,
        id: String,
    },
    RemoveHook {
        session: String,
        id: String,
    },

    // The rest.
    ResolveError(String),
    BackUp,
    RestoreBackup,
}

/// What can be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum See {
    Document {
        kind: &'static str,
        path: Option<String>,
    },
    /// Which kinds there are, and where they are kept.
    Kinds,
    History(&'static str),
    Flaws(&'static str),
    /// The edits by hand that were kept aside.
    Edits(Option<&'static str>),
    Tasks,
    /// Why the queue does not move, with all of the causes or the first ones.
    Diagnosis {
        all: bool,
    },
    Task(String),
    TasksThatAre(String),
    Brief {
        task: String,
        full: bool,
    },
    /// The brief of a task that is still to be named.
    AnyBrief,
    /// The brief of what a worker has in hand.
    BriefOfWorker,
    Sessions,
    Session(String),
    TasksOfSession(Option<String>),
    Hooks {
        session: String,
    },
    Outbox {
        session: String,
    },
    /// What a session got and sent.
    Mail {
        session: String,
    },
    Loop,
    Pipeline,
    Workflow,
    WorkflowGraph,
    Epics,
    Epic(String),
    Stories,
    StoriesOf {
        epic: String,
    },
    Sprints,
    Sprint(String),
    Errors,
    Agents,
    Findings,
    Backups,
    Trusted,
}

/// A choice that a request leaves open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum With {
    Force,
    DryRun,
    Replace,
    Reset,
    Id,
    /// Any, or this one.
    Revision(Option<u64>),
    Order,
    WithoutResults,
    MaxSpawns,
    MaxCost,
    LockTimeout,
    NetworkFs,
    Home,
    HomeDir,
    FollowLinks,
    Worktrees,
    RootDir,
    /// The id that picks one document of its kind, by its name.
    Name(&'static str),
    Status,
    Assignee,
    /// That there is a session which will read the message.
    Reader,
    /// Any, or this one.
    Session(Option<String>),
}

/// Whose task it is, and by which lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lease {
    pub worker: String,
    pub task: String,
    pub epoch: u64,
}

/// Where a request takes its contents from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    File,
    Stdin,
}

/// A document by its names: its kind, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocName {
    pub kind: &'static str,
    pub id: Option<String>,
}

impl From<&Doc> for DocName {
    fn from(doc: &Doc) -> DocName {
        let id = doc.owner_id();
        DocName { kind: doc.kind.name, id: (!id.is_empty()).then(|| id.to_owned()) }
    }
}
