//! What hooks keep about agents, sessions, errors and compaction, and the work loop's queue (seed 002).

use serde_json::{Map, Value};

use super::dispatch::CostSum;
use super::queue::{Changes, LastClaim, Lease};
use crate::model::shape::{Decimal, Entries, FormatVersion, Integer, Maybe, Time, document, words};

words!(
    /// How bad or urgent something is; `S0` is the worst.
    Severity { S0 = "S0", S1 = "S1", S2 = "S2", S3 = "S3" }
);

document!(
    /// The agents that run now, and how many have run in the session.
    ActiveAgents {
        revision: Option<Integer>,
        agents: Vec<ActiveAgent>,
        total_spawned: Option<Integer>,
        total_completed: Option<Integer>,
        session_id: Option<String>,
        /// The results that there are, by session.
        finished: Option<Entries<FinishedAgents>>,
    }
);

document!(
    /// What the agents of a session left, until it ends.
    FinishedAgents {
        completed: Option<Integer>,
        failed: Option<Integer>,
        issues_found: Option<Integer>,
        /// The agents whose results are there, in the order in which they came.
        results: Option<Vec<String>>,
    }
);

document!(
    ActiveAgent {
        id: String,
        kind as "type": Option<String>,
        task: Option<String>,
        started: Option<Time>,
        status: Option<String>,
        parent_task: Option<String>,
        /// The session that started it.
        session_id: Option<String>,
        /// The checkout when it began, by git, if it works on a phase.
        before: Option<Checkout>,
    }
);

document!(
    Checkout {
        top: Maybe<String>,
        /// The commit.
        head: Maybe<String>,
        /// The files that differ from it, each with a word that is another one when the file is.
        dirty: Map<String, Value>,
    }
);

document!(
    /// What one agent found and recommends.
    AgentResult {
        revision: Option<Integer>,
        agent_id: String,
        kind as "type": Option<String>,
        task: Option<String>,
        started: Option<Time>,
        completed: Option<Time>,
        duration_seconds: Option<Decimal>,
        /// Such as `success`, `failed`, `released`, or `unclear` if its last words tell of a failure, or of nothing.
        status: Option<String>,
        /// Whether the agent did not say itself that it was successful.
        assumed: Option<bool>,
        /// What really changed while it worked on its phase.
        changed: Option<Changes>,
        findings: Option<Vec<Finding>>,
        recommendations: Option<Vec<String>>,
        files_analyzed: Option<Vec<String>>,
        metrics: Option<Map<String, Value>>,
        /// The session that started the agent.
        session_id: Option<String>,
    }
);

document!(
    /// What agents are known to count in `metrics`.
    ResultMetrics { issues_found: Option<Integer> }
);

document!(
    /// A finding of one agent or more, when their results are put together.
    MergedFinding { agent_ids: Option<Vec<String>> }
);

document!(
    Finding {
        severity: Option<Severity>,
        category: Option<String>,
        title: Option<String>,
        details: Option<String>,
        recommendation: Option<String>,
    }
);

document!(
    /// What the loop has left to do, and how its quality gates came out last.
    WorkQueue {
        version: FormatVersion,
        revision: Option<Integer>,
        task: String,
        iteration: Integer,
        /// Iterations in a row in which every gate passed.
        consecutive_passes: Option<Integer>,
        items: Vec<WorkItem>,
        /// The last result of each gate, by gate name.
        gate_results: Option<Entries<GateResult>>,
        /// Where the loop stands, such as `building`, `recovering`, `complete`, `paused` or `stopped`.
        status: Option<String>,
        phase: Option<Phase>,
        started: Option<Time>,
        /// After so many iterations the loop stops.
        max_iterations: Option<Integer>,
        /// An open item this bad, or worse, holds the loop up for the user; `none` for never.
        pause_on: Option<PauseOn>,
        /// Why the loop is paused or has stopped.
        reason: Option<String>,
        /// Iterations in a row with the same failures.
        same_failures: Option<Integer>,
        /// What came out of each iteration.
        history: Option<Vec<LoopIteration>>,
        /// What its agents used.
        costs: Option<CostSum>,
    }
);

words!(
    /// What the loop is at, in the order of one iteration.
    Phase {
        Contextualize = "CONTEXTUALIZE",
        Assess = "ASSESS",
        MetaCognition = "META-COGNITION",
        Plan = "PLAN",
        Build = "BUILD",
        Test = "TEST",
        Quality = "QUALITY",
        Reassess = "REASSESS",
        Evaluate = "EVALUATE",
        Recover = "RECOVER",
        Done = "DONE",
    }
);

words!(
    /// How bad an open item must be to hold the loop up.
    PauseOn { S0 = "S0", S1 = "S1", Never = "none" }
);

document!(
    LoopIteration {
        iteration: Integer,
        /// How many items were done.
        fixed: Option<Integer>,
        /// How many items its gates made.
        new_issues: Option<Integer>,
        /// The gates that failed.
        failed: Option<Vec<String>>,
        /// How many issues they found.
        issues: Option<Integer>,
        /// The same for the same failures of the same gates.
        fingerprint: Option<String>,
        timestamp: Option<Time>,
    }
);

document!(
    WorkItem {
        id: String,
        priority: Option<Severity>,
        title: Option<String>,
        description: Option<String>,
        status: Option<WorkItemStatus>,
        added_iteration: Option<Integer>,
        completed_iteration: Option<Integer>,
        /// The error that made it.
        error_id: Option<String>,
        /// The gate that made it by failing.
        gate: Option<String>,
        /// Who has taken it.
        assigned_to: Option<String>,
        /// The session of whoever has it: its signs of life renew the lease, its end gives the item back.
        session_id: Option<String>,
        /// The run that has it.
        run: Option<String>,
        lease: Option<Lease>,
        /// How the last claim ended that gave the item back.
        last_claim: Option<LastClaim>,
        /// What really changed while an agent worked on it.
        changed: Option<Changes>,
    }
);

words!(
    WorkItemStatus {
        Pending = "pending",
        InProgress = "in_progress",
        Done = "done",
        Blocked = "blocked",
        Cancelled = "cancelled",
    }
);

document!(
    GateResult {
        /// `pass`, `fail`, `warn` or `skip`.
        status: Option<String>,
        timestamp: Option<Time>,
        issues: Option<Integer>,
        /// How bad the worst issue is.
        severity: Option<Severity>,
        /// The same for the same failures.
        fingerprint: Option<String>,
        duration_seconds: Option<Decimal>,
        exit_code: Option<Integer>,
        /// Why there is no exit code, or what it means.
        reason: Option<String>,
        /// The file with the last of what its command printed.
        log: Option<String>,
    }
);

document!(
    /// The session that runs in this project now.
    CurrentSession {
        revision: Option<Integer>,
        session_id: String,
        started: Option<Time>,
        git_branch: Option<String>,
        git_commit_start: Option<String>,
        working_directory: Option<String>,
        hooks_version: Option<String>,
        /// The last ones.
        commands_executed: Option<Vec<String>>,
        /// How often each command ran before those.
        commands_before: Option<Entries<Integer>>,
        agents_spawned: Option<Integer>,
        files_modified: Option<Vec<String>>,
        errors_encountered: Option<Integer>,
        errors_recovered: Option<Integer>,
        /// How many items of the loop it has done.
        issues_fixed: Option<Integer>,
        /// How often the stop gate has sent it back to work.
        stops_held: Option<Integer>,
        /// When it left its work to the session that follows in the same client.
        left: Option<Leave>,
        /// The same records of sessions that are at work beside it.
        others: Option<Vec<Map<String, Value>>>,
    }
);

document!(
    Leave {
        at: Option<Time>,
        client: Option<String>,
    }
);

document!(
    /// The numbers of past sessions, one entry each; older ones are in archives.
    Metrics {
        revision: Option<Integer>,
        sessions: Vec<SessionMetrics>,
    }
);

document!(
    SessionMetrics {
        session_id: String,
        /// A calendar day such as `2026-01-31`.
        date: Option<String>,
        duration_minutes: Option<Decimal>,
        /// How often each command ran.
        commands: Option<Entries<Integer>>,
        agents: Option<AgentCounts>,
        quality: Option<QualityCounts>,
        errors: Option<ErrorCounts>,
    }
);

document!(
    AgentCounts {
        spawned: Option<Integer>,
        completed: Option<Integer>,
        failed: Option<Integer>,
    }
);

document!(
    QualityCounts {
        issues_found: Option<Integer>,
        issues_fixed: Option<Integer>,
        /// A signed percentage such as `+8%`.
        coverage_delta: Option<String>,
    }
);

document!(
    ErrorCounts {
        total: Option<Integer>,
        recovered: Option<Integer>,
        escalated: Option<Integer>,
    }
);

document!(
    /// Failed tool calls with their class and when to try again; those that are over, or old, are in archives.
    Errors {
        revision: Option<Integer>,
        errors: Vec<ClassifiedError>,
        summary: Option<ErrorSummary>,
    }
);

document!(
    ClassifiedError {
        id: String,
        timestamp: Option<Time>,
        classification: Option<ErrorClass>,
        tool: Option<String>,
        message: Option<String>,
        retry_count: Option<Integer>,
        max_retries: Option<Integer>,
        status: Option<String>,
        next_retry: Option<Time>,
        context: Option<Map<String, Value>>,
        /// When it was recorded last.
        last_seen: Option<Time>,
        resolved_at: Option<Time>,
        /// Who deals with it when its retries are used up: `work_queue`, `user` or `blocked`.
        escalated_to: Option<String>,
        /// The item of the work queue that it has become.
        work_item: Option<String>,
    }
);

document!(
    /// What is always known of where an error was met, if a session met it.
    ErrorContext {
        session_id: Option<String>,
        /// What was tried.
        operation: Option<String>,
    }
);

words!(
    /// The kind of an error, which decides whether and when to retry.
    ErrorClass {
        Unknown = "unknown",
        Network = "network",
        RateLimit = "rate_limit",
        Timeout = "timeout",
        Syntax = "syntax",
        Permission = "permission",
        Resource = "resource",
        Validation = "validation",
        External = "external",
    }
);

document!(
    /// How the errors of the list stand.
    ErrorSummary {
        total: Option<Integer>,
        recovered: Option<Integer>,
        pending: Option<Integer>,
        escalated: Option<Integer>,
        /// How many have left the list for an archive.
        archived: Option<Integer>,
    }
);

document!(
    /// State saved before the client shortens its context.
    Backup {
        revision: Option<Integer>,
        timestamp: Time,
        reason: Option<String>,
        /// The session whose context is shortened.
        session_id: Option<String>,
        preserved: Option<Preserved>,
        context_tokens_before: Option<Integer>,
        files_in_context: Option<Vec<String>>,
    }
);

document!(
    /// Copies of other documents; anything, so that a damaged one can be kept too.
    Preserved {
        loop_state: Maybe<Value>,
        work_queue: Maybe<Value>,
        active_agents: Maybe<Value>,
        session: Maybe<Value>,
        workflow: Maybe<Value>,
        /// The tasks of the queue that the session had in hand.
        claims: Maybe<Value>,
    }
);

document!(
    /// What is preserved of the loop in few words, and the text of `LOOP_STATE.md`.
    LoopState {
        markdown: Option<String>,
        task: Option<String>,
        status: Option<String>,
        phase: Option<Phase>,
        iteration: Option<Integer>,
        consecutive_passes: Option<Integer>,
        gate_results: Option<Entries<GateResult>>,
        open_items: Option<Integer>,
        /// The revision of a work queue that is too long to be copied.
        work_queue_revision: Option<Integer>,
    }
);
