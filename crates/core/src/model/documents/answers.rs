//! What commands answer that is no document: put together in one place, read in another.

use serde_json::Value;

use super::dispatch::{Escalation, LimitCounts};
use super::queue::{QueueStatus, QueueTask};
use super::state::{Message, Sprint, Story};
use super::workflow::Workflow;
use crate::model::shape::{Decimal, Entries, Integer, Maybe, Time, document};

document!(
    /// Everything at a glance; each part may be a [`Failure`].
    Overview {
        sessions: Option<Vec<SeenSession>>,
        queue: Option<Totals>,
        workflow: Option<Workflow>,
        pipeline: Option<PipelineStanding>,
        work_loop as "loop": Option<LoopStanding>,
        errors: Option<ErrorStanding>,
        messages: Option<MessageStanding>,
        edits: Option<Vec<AsideEdit>>,
    }
);

document!(
    /// What could not be read, and why.
    Failure { error: Option<String> }
);

document!(
    SeenSession {
        session_id: String,
        project_id: Option<String>,
        status: Option<String>,
        last_heartbeat: Option<Time>,
        working_directory: Option<String>,
        current_branch: Option<String>,
        /// How many.
        agents: Option<Integer>,
    }
);

document!(
    /// How many tasks stand how.
    Totals {
        progress: Option<Progress>,
        counts: Option<Entries<Integer>>,
    }
);

document!(
    Progress {
        done: Integer,
        total: Integer,
        percent: Option<Integer>,
    }
);

document!(
    PipelineStanding {
        status: Option<String>,
        mode: Option<String>,
        groups: Option<Vec<GroupStanding>>,
        completion_percentage: Option<Integer>,
        open_orders: Option<Integer>,
    }
);

document!(GroupStanding { id: String, status: String });

document!(
    LoopStanding {
        task: Option<String>,
        iteration: Option<Integer>,
        max_iterations: Option<Integer>,
        status: Option<String>,
        /// How many items are open, by severity.
        open: Option<Entries<Integer>>,
        /// The last result of each gate.
        gates: Option<Entries<String>>,
    }
);

document!(
    ErrorStanding {
        pending: Option<Integer>,
        /// How many of them may be tried again now.
        due: Option<Integer>,
        escalated: Option<Integer>,
        recovered: Option<Integer>,
    }
);

document!(
    MessageStanding {
        unread: Option<Integer>,
        session_id: Option<String>,
        /// How many each session has not read.
        sessions: Option<Entries<Value>>,
    }
);

document!(
    /// An edit by hand that could not be joined.
    AsideEdit {
        kind: String,
        path: String,
        message: String,
    }
);

document!(
    /// What a group of the pipeline waits for, and which report would move it.
    Explanation {
        group_id: String,
        status: String,
        waits_for: Vec<Wait>,
        order: Option<String>,
        allowed: Vec<String>,
        report: Option<String>,
        counts: LimitCounts,
        escalations: Vec<Escalation>,
    }
);

document!(Wait { what: String, detail: String });

document!(
    /// What a queue was laid out for, and which of its files are new.
    QueueBegun {
        goal: String,
        created: Vec<String>,
        kept: Vec<String>,
    }
);

document!(
    /// The text that all results were put into.
    QueueSummary {
        path: String,
        results: Integer,
        /// Tasks that are done and changed nothing.
        without_change: Maybe<Vec<String>>,
    }
);

document!(
    /// A queue as it stands: a count for every status, and the tasks.
    QueueBoard {
        counts: Entries<Integer>,
        tasks: Vec<QueueTask>,
        progress: Progress,
    }
);

document!(Drawing { graph: String });

document!(
    /// Why a task stands as it does.
    ExplainedTask {
        id: String,
        status: QueueStatus,
        ready: bool,
        reasons: Vec<Reason>,
        task: QueueTask,
        /// What it hangs on down to the roots, if that is more than the tasks it waits for itself.
        chain: Maybe<Vec<ChainLink>>,
    }
);

document!(
    /// Why a queue moves or does not.
    QueueDiagnosis {
        /// `empty`, `done`, `stuck`, `waits_for_you` or `moving`.
        verdict: String,
        message: String,
        /// What somebody has to look after, the most telling first.
        needs: Vec<NeedNote>,
        /// How many open tasks were not looked at, as there are so many.
        unseen: Integer,
    }
);

document!(
    /// Something that somebody has to look after.
    NeedNote {
        /// `failed`, `cancelled`, `missing`, `circle`, `id`, `expired`, `capabilities`, `unclaimed`, `paused`, `silent`,
        /// `files` or `retry`.
        kind: String,
        message: String,
        /// The tasks that it is about.
        tasks: Vec<String>,
        /// The open tasks that wait because of it.
        holds_up: Vec<String>,
        /// What helps, the likeliest first.
        steps: Vec<String>,
    }
);

document!(
    /// One link of the chain that a task hangs on.
    ChainLink {
        id: String,
        /// How far down it is.
        depth: Integer,
        /// Null if there is no such task.
        status: Option<String>,
        message: String,
        waits_for: Vec<String>,
        steps: Vec<String>,
    }
);

document!(Discovery {
    worker: String,
    text: String,
    /// Where everybody reads it.
    path: String,
});

document!(
    /// What is shown of a task beside what is stored of it.
    ShownTask {
        waits_for: Option<Vec<TaskNote>>,
        needed_by: Option<Vec<TaskNote>>,
        ready: Option<bool>,
        reasons: Option<Vec<Reason>>,
        /// What happened to it last, the newest first.
        history: Option<Vec<TaskEvent>>,
    }
);

document!(
    /// A commit that changed a task.
    TaskEvent {
        revision: Integer,
        at: Time,
        by: String,
        op: String,
    }
);

document!(
    TaskNote {
        id: String,
        status: Option<String>,
        claimed_by: Option<String>,
    }
);

document!(
    /// Why a task is not, or cannot be, worked on.
    Reason {
        kind: String,
        message: String,
        task: Option<String>,
    }
);

document!(
    /// What a worker is told of a task, beside what the team knows, part by part.
    TaskBrief {
        task: Value,
        /// How many entries of which part are left out.
        left_out: Option<Entries<Integer>>,
    }
);

document!(
    /// What an agent of the pipeline should know beside its prompt.
    OrderState {
        session_id: Option<String>,
        mode: Option<String>,
        pm_state: Option<Value>,
        groups: Option<Value>,
        handoff: Option<Value>,
        criteria: Option<Vec<CriterionNote>>,
        group: Option<Value>,
        tasks: Option<Vec<Value>>,
        status: Option<Value>,
    }
);

document!(CriterionNote { id: String, text: String });

document!(
    /// Whether whoever starts the agents is at work now.
    ConductorStanding { alive: bool }
);

document!(
    /// What was changed in a document.
    ChangedDocument {
        kind: String,
        /// The revision that it is at now.
        revision: Integer,
        /// What stands at the path now.
        value: Value,
    }
);

document!(
    /// An edit by hand that was kept aside and is gone now.
    DroppedEdit { kind: String, dropped: String }
);

document!(
    /// A document kind.
    KindNote {
        kind: String,
        what: String,
        file: String,
        /// What picks one of several documents.
        option: String,
        /// Where its list of items is.
        list: String,
    }
);

document!(
    /// Whether a document is valid.
    CheckedDocument {
        kind: String,
        path: String,
        valid: bool,
        error: Maybe<Value>,
        /// Settings without an effect.
        warnings: Maybe<Vec<String>>,
    }
);

document!(
    /// A change of a document that was committed.
    RevisionNote {
        kind: String,
        revision: Integer,
        at: String,
        /// Who made it, or the role in which they did.
        by: String,
        op: String,
        changes: Maybe<Vec<ChangeNote>>,
        author: Maybe<String>,
        /// Where the content is that it left, if it is too long to be told.
        stored: Maybe<String>,
        made_from: Maybe<Integer>,
    }
);

document!(
    /// One value before and after a change.
    ChangeNote {
        /// Items by their ids.
        path: String,
        before: Value,
        after: Value,
        /// Items by position, where that is something else.
        place: Maybe<String>,
    }
);

document!(
    /// What was taken back of a document, or would be.
    TakenBackNote {
        kind: String,
        revision: Integer,
        taken_back: Vec<RevisionNote>,
        changes: Vec<ChangeNote>,
        /// Whose changes go with it.
        others: Vec<String>,
        dry_run: bool,
        /// The document, if it is no long list.
        value: Maybe<Value>,
    }
);

document!(
    /// Edits of a document by hand.
    EditsNote {
        /// What no command has taken in yet.
        pending: EditNote,
        /// What could not be joined.
        aside: Vec<EditNote>,
    }
);

document!(
    EditNote {
        made_from: Option<Integer>,
        changes: Vec<ChangeNote>,
        clashes: Vec<ClashNote>,
        /// Where it is kept.
        path: Maybe<String>,
    }
);

document!(ClashNote { path: String, base: Value, theirs: Value, ours: Value });

document!(
    /// How a sprint stands.
    SprintReport {
        sprint: Sprint,
        stories: Vec<Story>,
        completed_points: Option<Decimal>,
        total_points: Option<Decimal>,
        days_left: Option<Integer>,
        mean_velocity: Option<Decimal>,
        burndown: Vec<BurndownDay>,
    }
);

document!(
    BurndownDay {
        date: String,
        remaining: Option<Decimal>,
        ideal: Option<Decimal>,
    }
);

document!(
    /// Who is to be started, and with what.
    OrderNote {
        id: String,
        role: String,
        group_id: String,
        purpose: String,
        prompt: String,
        state: OrderState,
    }
);

document!(
    /// How a run of the pipeline stands.
    PipelineOverview {
        pm_state: Value,
        orchestrator_state: Value,
        groups: Value,
        /// Those that are open.
        orders: Vec<Value>,
        orchestrator: ConductorStanding,
        missing: Vec<String>,
    }
);

document!(
    /// A backup beside what is there.
    RestoredBackup {
        backup: String,
        timestamp: Value,
        applied: bool,
        documents: Vec<RestoredDocument>,
        /// Tasks that were in hand.
        claims: Value,
    }
);

document!(RestoredDocument {
    kind: String,
    /// `same`, `missing`, `differs` or `damaged`.
    found: String,
    restored: bool,
});

document!(
    /// Files that are gone, or would be.
    CleanedNote { removed: Vec<String>, dry_run: bool }
);

document!(
    /// What went to archives, or would go.
    ArchivedNote {
        sessions: Vec<String>,
        messages: Integer,
        tasks: Vec<String>,
        dry_run: bool,
    }
);

document!(
    /// What is wrong in the rooms of a team, and what is not but should be known.
    ExaminedNote {
        /// Nothing is damaged, or all of it is mended.
        ok: bool,
        findings: Vec<FindingNote>,
        notes: Vec<String>,
    }
);

document!(FindingNote {
    code: String,
    /// `error`, `repaired` or `warning`.
    severity: String,
    subject: String,
    message: String,
    /// What to do about it.
    fix: String,
});

document!(
    /// What a session got and what it sent, each with the newest last.
    MailNote {
        session: String,
        inbox: Vec<Message>,
        outbox: Vec<Message>,
    }
);
