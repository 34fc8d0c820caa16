//! What commands answer that is no document: put together in one place, read in another.

use serde_json::Value;

use super::dispatch::{Escalation, LimitCounts};
use super::queue::{QueueStatus, QueueTask};
use super::workflow::Workflow;
use crate::model::shape::{Entries, Integer, Maybe, Time, document};

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
