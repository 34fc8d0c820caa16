//! The manager, developer, tester and reviewer pipeline (seed 001).
//!
//! In the seed's fields these types accept exactly what the seed's own schemas accept, so most fields may be absent but
//! not `null`. The one difference is an `end_time` of `null`, which the seed's example shows and its schema
//! forbids. The fields at the end of a type are our additions (see `dispatch.rs`) and are checked like all others;
//! `revision` stays untyped here so as not to narrow the seed's schemas.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::dispatch::{
    AdoptedPlan, Conductor, Costs, Escalation, Evidence, GivenUp, Handoff, KeptOrder, LimitCounts, NextOrder,
    OpenItem, RepeatedFailure, StopKind,
};
pub use super::pipeline_words::{DeveloperContext, GroupStage};
use super::queue::Changes;
use crate::model::shape::{Decimal, Entries, Integer, Maybe, Shape, Shaped, Time, document, words};

document!(
    /// What the project manager remembers: the request, its tasks, groups and phases, and the progress.
    PmState {
        session_id: String,
        revision: Maybe<Value>,
        mode: Mode,
        mode_reasoning: Maybe<String>,
        /// The request, word for word.
        original_requirements: String,
        all_tasks: Maybe<Vec<PmTask>>,
        task_groups: Vec<TaskGroup>,
        execution_phases: Maybe<Vec<ExecutionPhase>>,
        completed_groups: Maybe<Vec<String>>,
        in_progress_groups: Maybe<Vec<String>>,
        pending_groups: Maybe<Vec<String>>,
        /// Counts the changes of this document.
        iteration: Integer,
        last_update: Time,
        completion_percentage: Maybe<Decimal>,
        estimated_time_remaining_minutes: Maybe<Decimal>,
        /// The mode that whoever started the run has asked for.
        requested_mode: Maybe<Mode>,
        /// What must be shown at the end; without them, each task.
        success_criteria: Maybe<Vec<String>>,
        evidence: Maybe<Vec<Evidence>>,
    }
);

words!(
    /// Whether one developer works or several at once.
    Mode { Simple = "simple", Parallel = "parallel" }
);

document!(
    PmTask {
        id: Maybe<String>,
        description: Maybe<String>,
        group_id: Maybe<String>,
        status: Maybe<PmProgress>,
    }
);

words!(
    PmProgress {
        Pending = "pending",
        InProgress = "in_progress",
        Complete = "complete",
    }
);

document!(
    TaskGroup {
        id: Maybe<String>,
        name: Maybe<String>,
        /// Ids of tasks.
        tasks: Maybe<Vec<String>>,
        files_affected: Maybe<Vec<String>>,
        branch_name: Maybe<String>,
        status: Maybe<TaskGroupStatus>,
        can_parallel: Maybe<bool>,
        /// Ids of groups that must be complete first.
        depends_on: Maybe<Vec<String>>,
        complexity: Maybe<Complexity>,
        estimated_effort_minutes: Maybe<Decimal>,
    }
);

words!(
    TaskGroupStatus {
        Pending = "pending",
        Assigned = "assigned",
        InProgress = "in_progress",
        Complete = "complete",
    }
);

words!(Complexity { Low = "low", Medium = "medium", High = "high" });

document!(
    ExecutionPhase {
        phase_number: Maybe<Integer>,
        group_ids: Maybe<Vec<String>>,
        /// How many developers may work on its groups at once.
        parallel_count: Maybe<Integer>,
        status: Maybe<PmProgress>,
        /// Whether we cut it ourselves: then no group waits for it.
        derived: Maybe<bool>,
    }
);

/// Where each task group stands, by group id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupStatus(pub Entries<Group>);

impl Shaped for GroupStatus {
    const SHAPE: &'static Shape = <Entries<Group>>::SHAPE;
    const ABOUT: &'static str = "Where each task group stands, by group id.";
}

document!(
    Group {
        group_id: Maybe<String>,
        group_name: Maybe<String>,
        revision: Maybe<Value>,
        status: Maybe<GroupStage>,
        current_agent: Maybe<GroupAgent>,
        iterations: Maybe<Iterations>,
        start_time: Maybe<Time>,
        end_time: Option<Time>,
        duration_minutes: Maybe<Decimal>,
        branch_name: Maybe<String>,
        files_modified: Maybe<Vec<String>>,
        commits: Maybe<Vec<String>>,
        test_results: Maybe<TestResults>,
        tech_lead_feedback: Maybe<Vec<Feedback>>,
        blockers: Maybe<Vec<Blocker>>,
        quality_metrics: Maybe<QualityMetrics>,
        last_update: Maybe<Time>,
        next_order: Maybe<NextOrder>,
        handoff: Maybe<Handoff>,
        counts: Maybe<LimitCounts>,
        escalations: Maybe<Vec<Escalation>>,
        /// What really changed while its last developer worked.
        changed: Maybe<Changes>,
        /// Why the last PASS had no results of tests to show.
        without_results: Maybe<String>,
        /// What was found, asked for and advised, until it is closed.
        open_items: Maybe<Vec<OpenItem>>,
        repeated_failures: Maybe<Vec<RepeatedFailure>>,
        given_up: Maybe<GivenUp>,
    }
);

words!(
    /// Whose turn it is in a task group.
    GroupAgent {
        None = "none",
        Developer = "developer",
        QaExpert = "qa_expert",
        TechLead = "tech_lead",
    }
);

document!(
    Iterations {
        developer: Maybe<Integer>,
        qa: Maybe<Integer>,
        tech_lead: Maybe<Integer>,
    }
);

document!(
    TestResults {
        unit_tests: Maybe<TestCounts>,
        integration_tests: Maybe<TestCounts>,
        contract_tests: Maybe<TestCounts>,
        e2e_tests: Maybe<TestCounts>,
    }
);

document!(
    TestCounts {
        total: Maybe<Integer>,
        passed: Maybe<Integer>,
        failed: Maybe<Integer>,
    }
);

document!(
    Feedback {
        iteration: Maybe<Integer>,
        decision: Maybe<Decision>,
        feedback: Maybe<String>,
        timestamp: Maybe<Time>,
    }
);

words!(
    /// What the tech lead made of a group's work.
    Decision {
        Approved = "approved",
        ChangesRequested = "changes_requested",
        Unblocked = "unblocked",
    }
);

document!(
    Blocker {
        description: Maybe<String>,
        resolved: Maybe<bool>,
        resolution: Maybe<String>,
    }
);

document!(
    QualityMetrics {
        code_quality_score: Maybe<Decimal>,
        security_issues_count: Maybe<Integer>,
        first_pass_approval: Maybe<bool>,
    }
);

document!(
    /// What the orchestrator has decided and started so far.
    OrchestratorState {
        session_id: String,
        revision: Maybe<Value>,
        current_phase: PipelinePhase,
        active_agents: Maybe<Vec<SpawnedAgent>>,
        iteration: Integer,
        total_spawns: Maybe<Integer>,
        decisions_log: Maybe<Vec<LoggedDecision>>,
        status: RunStatus,
        start_time: Time,
        /// `null` while the run is not over.
        end_time: Option<Time>,
        last_update: Maybe<Time>,
        /// What is open.
        orders: Maybe<Vec<KeptOrder>>,
        past_orders: Maybe<Vec<KeptOrder>>,
        /// The number of the last order.
        last_order: Maybe<Integer>,
        plans: Maybe<Vec<AdoptedPlan>>,
        next_order: Maybe<NextOrder>,
        handoff: Maybe<Handoff>,
        costs: Maybe<Costs>,
        stop_reason: Maybe<String>,
        stop_kind: Maybe<StopKind>,
        conductor: Maybe<Conductor>,
    }
);

words!(
    PipelinePhase {
        Initialization = "initialization",
        PmPlanning = "pm_planning",
        DeveloperWorking = "developer_working",
        QaTesting = "qa_testing",
        TechReview = "tech_review",
        PmFinalCheck = "pm_final_check",
        Completed = "completed",
    }
);

words!(
    RunStatus {
        Running = "running",
        Completed = "completed",
        Error = "error",
    }
);

document!(
    SpawnedAgent {
        agent_type: Maybe<String>,
        group_id: Maybe<String>,
        spawned_at: Maybe<Time>,
        order_id: Maybe<String>,
    }
);

document!(
    LoggedDecision {
        iteration: Maybe<Integer>,
        decision: Maybe<String>,
        reasoning: Maybe<String>,
        timestamp: Maybe<Time>,
    }
);

words!(Developer { Developer = "developer" });
words!(QaExpert { QaExpert = "qa_expert" });
words!(TechLead { TechLead = "tech_lead" });

document!(
    /// Finished work that developers hand to the testers.
    DevToQa {
        revision: Maybe<Value>,
        messages: Maybe<Vec<DevMessage>>,
    }
);

document!(
    DevMessage {
        id: Maybe<String>,
        group_id: Maybe<String>,
        from: Maybe<Developer>,
        to: Maybe<QaExpert>,
        timestamp: Maybe<Time>,
        subject: Maybe<String>,
        status: Maybe<String>,
        context: Maybe<DevContext>,
        read: Maybe<bool>,
    }
);

document!(
    DevContext {
        branch_name: Maybe<String>,
        files_modified: Maybe<Vec<String>>,
        commits: Maybe<Vec<String>>,
        unit_tests_status: Maybe<String>,
        notes: Maybe<String>,
    }
);

document!(
    /// Test results that testers hand to the tech lead.
    QaToTechlead {
        revision: Maybe<Value>,
        messages: Maybe<Vec<QaMessage>>,
    }
);

document!(
    QaMessage {
        id: Maybe<String>,
        group_id: Maybe<String>,
        from: Maybe<QaExpert>,
        to: Maybe<TechLead>,
        timestamp: Maybe<Time>,
        subject: Maybe<String>,
        result: Maybe<QaResult>,
        test_results: Maybe<QaTestResults>,
        developer_context: Maybe<DeveloperContext>,
        read: Maybe<bool>,
    }
);

words!(QaResult { Pass = "PASS", Fail = "FAIL" });

document!(
    /// Results as words, for example `8/8 passed`.
    QaTestResults {
        integration_tests: Maybe<String>,
        contract_tests: Maybe<String>,
        e2e_tests: Maybe<String>,
        total_time: Maybe<String>,
    }
);

document!(
    /// Review results that the tech lead hands back to developers.
    TechleadToDev {
        revision: Maybe<Value>,
        messages: Maybe<Vec<ReviewMessage>>,
    }
);

document!(
    ReviewMessage {
        id: Maybe<String>,
        group_id: Maybe<String>,
        from: Maybe<TechLead>,
        to: Maybe<Developer>,
        timestamp: Maybe<Time>,
        subject: Maybe<String>,
        decision: Maybe<Decision>,
        feedback: Maybe<String>,
        issues: Maybe<Vec<ReviewIssue>>,
        actionable_items: Maybe<Vec<String>>,
        read: Maybe<bool>,
    }
);

document!(
    ReviewIssue {
        priority: Maybe<IssuePriority>,
        title: Maybe<String>,
        location: Maybe<String>,
        description: Maybe<String>,
        fix_suggestion: Maybe<String>,
    }
);

words!(
    IssuePriority {
        Critical = "critical",
        High = "high",
        Medium = "medium",
        Low = "low",
    }
);
