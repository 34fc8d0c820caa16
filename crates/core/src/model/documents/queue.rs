//! The task queue of a leader and its workers, and the register of workers (seed 004).

use serde_json::Value;

use crate::model::shape::{ById, Decimal, FormatVersion, Integer, Time, document, words};

document!(
    /// The tasks a leader has added and how far workers are with them.
    Queue {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        created_at: Option<Time>,
        last_updated: Option<Time>,
        tasks: ById<QueueTask>,
    }
);

document!(
    QueueTask {
        id: String,
        description: String,
        status: QueueStatus,
        /// 1 to 10, 1 first.
        priority: Option<Integer>,
        /// The worker that has the task.
        claimed_by: Option<String>,
        /// The session of that worker, when known.
        session_id: Option<String>,
        lease: Option<Lease>,
        /// Ids of tasks that must be done first.
        dependencies: Option<Vec<String>>,
        required_capabilities: Option<Vec<String>>,
        /// Names; what people kept under this name in another form stays.
        labels: Option<Value>,
        /// The id of the task that this one is a part of.
        parent: Option<Value>,
        /// The ids of its parts; it depends on them, and is done when they are.
        parts: Option<Value>,
        /// The story that it is a task of: `PROJECT/STORY`.
        story: Option<String>,
        context: Option<TaskContext>,
        result: Option<TaskResult>,
        usage: Option<TaskUsage>,
        /// Remarks of people and agents (`at`, `by`, `text`), the newest last; what people kept under this name in another
        /// form stays.
        notes: Option<Value>,
        /// How the last claim ended that gave the task back.
        last_claim: Option<LastClaim>,
        /// How the last claims ended that came to nothing, the newest last.
        attempts: Option<Vec<Attempt>>,
        /// How often a failed attempt was followed by another one.
        retries: Option<Integer>,
        /// The task is not given out before this time.
        next_retry_at: Option<Time>,
        created_at: Option<Time>,
        claimed_at: Option<Time>,
        started_at: Option<Time>,
        completed_at: Option<Time>,
    }
);

words!(
    QueueStatus {
        Created = "created",
        Available = "available",
        Claimed = "claimed",
        InProgress = "in_progress",
        Done = "done",
        Failed = "failed",
        Cancelled = "cancelled",
    }
);

document!(
    Lease {
        /// Counts the claims of this task or item; an older number belongs to a former owner.
        epoch: Integer,
        /// How long a renewal lasts.
        seconds: Option<Decimal>,
        expires_at: Time,
        /// By which clock: without it `expires_at` is taken as it is.
        clock: Option<LeaseClock>,
    }
);

document!(
    /// The clock that a lease was given by. If that boot began at another time by now, the clock was set.
    LeaseClock {
        boot: String,
        began: Time,
    }
);

document!(LastClaim {
    by: String,
    epoch: Integer,
    ended_at: Time,
    /// `expired`, `released`, `reset`, `retried`, `edited`, `session ended`, `session expired`, `handed over` or
    /// `run ended`.
    reason: String,
});

document!(Attempt {
    by: String,
    epoch: Integer,
    ended_at: Time,
    /// What the worker said of its failure; or how the task was taken from it, as in `last_claim`.
    reason: String,
});

document!(
    /// A task in the archive has this besides.
    ArchivedTask {
        /// What its command printed.
        log: Option<String>,
    }
);

document!(
    /// A piece of a log in the archive.
    ArchivedLog {
        id: Option<String>,
        text: Option<String>,
    }
);

document!(
    /// A remark of `notes`.
    Note {
        at: Option<Time>,
        by: Option<String>,
        text: Option<String>,
    }
);

document!(
    TaskContext {
        /// Paths and patterns the task may touch.
        files: Option<Vec<String>>,
        hints: Option<String>,
    }
);

document!(
    TaskResult {
        output: Option<String>,
        files_modified: Option<Vec<String>>,
        files_created: Option<Vec<String>>,
        /// Why the task failed.
        error: Option<String>,
        /// What really changed while the task was worked on.
        changed: Option<Changes>,
    }
);

document!(
    /// The files that changed between the start and the end of a piece of work, whatever is said of them.
    Changes {
        /// The first of them, as seen from the project's root.
        files: Vec<String>,
        /// How many there are in all.
        count: Integer,
        /// Who saw it: `git`.
        by: String,
        /// Others were at work in the same tree meanwhile, so that some of it may be theirs.
        shared: Option<bool>,
    }
);

document!(
    /// What the agents of a task used, over all its attempts, as far as their clients say so.
    TaskUsage {
        tries: Option<Integer>,
        cost_usd: Option<Decimal>,
        input_tokens: Option<Integer>,
        output_tokens: Option<Integer>,
        /// Input that was read from, or written to, the client's cache.
        cached_tokens: Option<Integer>,
        /// The claim that was counted last.
        epoch: Option<Integer>,
    }
);

document!(
    /// The workers that have registered for the queue.
    Agents {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        last_updated: Option<Time>,
        agents: ById<Worker>,
    }
);

document!(
    Worker {
        id: String,
        capabilities: Option<Vec<String>>,
        registered_at: Option<Time>,
        last_seen: Option<Time>,
        /// The session that worked under this name last.
        session_id: Option<String>,
        /// Nothing is started for it now.
        paused: Option<WorkerPause>,
    }
);

document!(
    /// The service that its agents depend on does not serve; it goes on by itself.
    WorkerPause {
        until: Time,
        reason: String,
    }
);
