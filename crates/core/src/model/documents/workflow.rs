//! Phased work with deliverables, and the graph that orders it (seed 003).

use serde_json::Value;

use super::queue::Changes;
use crate::model::shape::{Entries, Integer, Time, document, words};

document!(
    /// A task cut into phases that run one after the other.
    Workflow {
        revision: Option<Integer>,
        id: String,
        /// The request, word for word.
        task: String,
        status: WorkflowStatus,
        /// The id of the running phase; `null` before the first and after the last.
        current_phase: Option<String>,
        /// The session that it belongs to: the one that made it, or took it over.
        session_id: Option<String>,
        phases: Vec<Phase>,
    }
);

words!(
    /// Where a workflow or one of its phases stands.
    WorkflowStatus {
        Pending = "pending",
        Active = "active",
        Completed = "completed",
        Failed = "failed",
    }
);

document!(
    Phase {
        id: String,
        title: String,
        agent: Option<String>,
        /// The agent that works on it, or did, as its client calls it.
        agent_id: Option<String>,
        /// The session that started this agent.
        session_id: Option<String>,
        status: WorkflowStatus,
        /// Paths or outcomes.
        deliverables: Option<Vec<String>>,
        /// What the following phase should know.
        context_for_next: Option<String>,
        /// What the phases before this one said about it.
        context_from_previous: Option<String>,
        /// What is known of its end beside the status; nothing if somebody has said it.
        outcome: Option<PhaseOutcome>,
        /// Why it failed, was put back or is unclear.
        reason: Option<String>,
        /// Whether its agent is asked for a report before it stops.
        handover: Option<bool>,
        /// The agent that was asked.
        asked: Option<String>,
        /// The agents that it was taken from: what they say later does not move it, unless they name it.
        former_agents: Option<Vec<String>>,
        /// What really changed while its agents worked.
        changed: Option<Changes>,
    }
);

words!(
    /// How sure it is how a phase ended. `assumed`: its agent did not say, and nothing in its words speaks against done;
    /// `unclear`: its agent ended with words of failure, or none, and without a status.
    PhaseOutcome { Assumed = "assumed", Unclear = "unclear" }
);

document!(
    /// The order in which phases may run: waves, one after the other, of phases side by side.
    TaskGraph {
        revision: Option<Integer>,
        workflow_id: Option<String>,
        status: Option<WorkflowStatus>,
        /// The highest wave whose phases may run.
        current_wave: Option<Integer>,
        execution_plan: ExecutionPlan,
        /// How far each phase is, by phase id.
        phase_status: Option<Entries<PhaseProgress>>,
        compliance_log: Option<Vec<Value>>,
    }
);

document!(ExecutionPlan { total_waves: Option<Integer>, waves: Vec<Wave> });

document!(
    Wave {
        wave_id: Integer,
        /// Whether the phases of this wave may run at once.
        parallel: Option<bool>,
        phases: Vec<PlannedPhase>,
    }
);

document!(
    PlannedPhase {
        phase_id: String,
        agent: Option<String>,
        depth: Option<Integer>,
        is_atomic: Option<bool>,
        /// Ids of phases that must be completed first.
        depends_on: Option<Vec<String>>,
        /// Files it works on; phases that share some never run at once.
        files: Option<Vec<String>>,
    }
);

document!(PhaseProgress { status: Option<WorkflowStatus>, completed_at: Option<Time> });
