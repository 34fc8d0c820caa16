//! What we keep in the pipeline's documents beside the fields of seed 001: orders and what became of them, hand-overs,
//! limits, what agents cost, who runs the pipeline and why it stopped.

use serde_json::Value;

use super::pipeline_words::{DeveloperContext, GroupStage, Outcome, Purpose, Role};
use super::queue::Changes;
use crate::model::shape::{Decimal, Entries, Integer, Maybe, Time, document, words};

document!(
    /// Somebody who is needed, and after the end what was said.
    KeptOrder {
        id: String,
        role: Role,
        /// The group, or `-`.
        group_id: String,
        purpose: Purpose,
        spawned_at: Maybe<Time>,
        /// How the group stood when the order was opened; another status is an edit that ends the order.
        stage: Maybe<GroupStage>,
        /// How many agents were started for it.
        tries: Maybe<Integer>,
        /// How many of them have ended and are counted.
        tries_counted: Maybe<Integer>,
        failures: Maybe<Vec<FailedTry>>,
        /// What really changed while its agents worked.
        changed: Maybe<Changes>,
        /// Whether somebody is at it now.
        at_work: Maybe<bool>,
        finished_at: Maybe<Time>,
        /// The word it ended with.
        said: Maybe<String>,
        digest: Maybe<String>,
    }
);

document!(
    FailedTry {
        number as "try": Maybe<Integer>,
        class: Maybe<String>,
        reason: Maybe<String>,
    }
);

document!(
    /// What somebody is needed for next.
    NextOrder {
        role: Maybe<Role>,
        purpose: Purpose,
        /// How the group stood when that was found; another status is an edit that makes it void.
        stage: Maybe<GroupStage>,
    }
);

document!(
    /// What whoever was there last has handed over.
    Handoff {
        from: Maybe<Role>,
        status: Maybe<Outcome>,
        at: Maybe<Time>,
        content: Maybe<Entries<Value>>,
    }
);

document!(
    /// What somebody says beside the word, each role in fields of its own; what else they say is kept with it.
    HandedOver {
        branch_name: Maybe<String>,
        files_modified: Maybe<Vec<String>>,
        commits: Maybe<Vec<String>>,
        unit_tests_status: Maybe<Value>,
        notes: Maybe<String>,
        blocker: Maybe<String>,
        reason: Maybe<String>,
        subject: Maybe<String>,
        /// Ids of open items that are settled.
        closed: Maybe<Vec<String>>,
        test_results: Maybe<Entries<Value>>,
        without_results: Maybe<String>,
        developer_context: Maybe<DeveloperContext>,
        feedback: Maybe<String>,
        issues: Maybe<Vec<Value>>,
        actionable_items: Maybe<Vec<Value>>,
        quality_metrics: Maybe<Entries<Value>>,
        findings: Maybe<Vec<Value>>,
        failures: Maybe<Vec<Value>>,
        failed_tests: Maybe<Vec<Value>>,
        evidence: Maybe<Vec<Evidence>>,
    }
);

document!(
    /// What has a limit, since somebody helped.
    LimitCounts {
        developer: Maybe<Integer>,
        qa_failures: Maybe<Integer>,
        rejected_reviews: Maybe<Integer>,
    }
);

document!(
    Escalation {
        limit: Maybe<String>,
        count: Maybe<Integer>,
        to: Maybe<Role>,
        purpose: Maybe<Purpose>,
        timestamp: Maybe<Time>,
    }
);

document!(
    OpenItem {
        id: Maybe<String>,
        kind: Maybe<ItemKind>,
        from: Maybe<Role>,
        at: Maybe<Time>,
        text: Maybe<String>,
    }
);

words!(
    /// What is open for a group: what a test found, what a review asked for, what somebody advised.
    ItemKind {
        Finding = "finding",
        Review = "review",
        Advice = "advice",
    }
);

document!(
    /// How often the same piece of work has failed in the same way, one try after the other.
    RepeatedFailure {
        purpose: Purpose,
        class: Maybe<String>,
        /// The reason without numbers and paths.
        fingerprint: Maybe<String>,
        times: Maybe<Integer>,
    }
);

document!(
    /// Why nobody goes on with a group.
    GivenUp {
        purpose: Maybe<Purpose>,
        reason: Maybe<String>,
        at: Maybe<Time>,
    }
);

document!(
    AdoptedPlan {
        digest: Maybe<String>,
        adopted_at: Maybe<Time>,
        groups: Maybe<Integer>,
    }
);

document!(
    /// What agents have cost.
    Costs {
        spawns: Maybe<Integer>,
        failures: Maybe<Integer>,
        cost_usd: Maybe<Decimal>,
        input_tokens: Maybe<Integer>,
        output_tokens: Maybe<Integer>,
        cached_tokens: Maybe<Integer>,
        by_role: Maybe<Entries<CostSum>>,
        by_group: Maybe<Entries<CostSum>>,
    }
);

document!(
    CostSum {
        spawns: Maybe<Integer>,
        failures: Maybe<Integer>,
        cost_usd: Maybe<Decimal>,
        input_tokens: Maybe<Integer>,
        output_tokens: Maybe<Integer>,
        cached_tokens: Maybe<Integer>,
    }
);

document!(
    /// Who starts the agents, or was the last to do so.
    Conductor {
        pid: Maybe<Integer>,
        since: Maybe<Time>,
        /// When it left; one that was killed has not said so.
        until: Maybe<Time>,
        /// How long a developer was ready to begin and had not begun, in seconds, all of them together.
        idle_seconds: Maybe<Decimal>,
        /// Why nobody is started just now.
        paused: Maybe<String>,
    }
);

words!(
    /// What ended a run that is not complete.
    StopKind {
        // A rule of the pipeline: it takes a new plan to go on.
        Limit = "limit",
        // Whoever started the agents could not go on, or not within the budget.
        GaveUp = "gave_up",
    }
);

document!(
    Evidence {
        requirement: Maybe<String>,
        met: Maybe<bool>,
        evidence: Maybe<Value>,
    }
);
