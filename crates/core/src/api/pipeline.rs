//! The pipeline: project manager, developers, testers, tech lead.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::request::request;
use super::{Answer, Caller, Request, Stored, answers};
use crate::model::documents::answers::{Explanation, OrderNote, PipelineOverview};
use crate::model::documents::pipeline::{Group, Mode};
use crate::model::documents::{OrchestratorState, PmState};
use crate::model::hint::{Door, Hint};
use crate::model::pipeline::Order;
use crate::model::pipeline::table::{Outcome, Role};
use crate::model::pipeline::{NO_GROUP, Pipeline, WITHOUT_RESULTS};
use crate::model::plan::word;
use crate::model::shape::{Shape, Shaped};
use crate::ops::pipeline::{self, NewRun, PipelineChanged, Report};
use crate::ops::{Error, Result, orchestrate};
use crate::view::pipeline::{explanation, status};
use crate::view::prompt;

request!(
    /// Start a run of the pipeline for some requirements.
    InitRun("pipeline.init", Changes, "pipeline init", r#"{"requirements": "Sign-in and reset"}"#) {
        /// What is to be built, word for word.
        requirements: String,
        /// One developer at a time, or several, whatever the plan says.
        mode: Option<Mode>,
        /// Put a run aside that is not complete.
        replace: bool,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

answers! {
    PipelineChanged: PmState, done => &done.pipeline.pm, warns &done.warnings;
    Orders: Vec<OrderNote>, orders => {
        orders.orders.iter().map(|order| prompt::order(&orders.done.pipeline, order, orders.door)).collect::<Value>()
    }, warns &orders.done.warnings;
    RunStatus: PipelineOverview, standing => status(&standing.run, standing.conducted);
}

impl Request for InitRun {
    type Answer = PipelineChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<PipelineChanged> {
        let requirements = caller.told(self.requirements);
        let new = NewRun { requirements, mode: self.mode, replace: self.replace };
        pipeline::init(caller.engine, &new, self.expect_revision, caller.actor)
    }
}

request!(
    /// Hand in the plan of a run: tasks in groups.
    PlanRun("pipeline.plan", Changes, "pipeline plan", r#"{"plan": {"mode": "parallel", "mode_reasoning": "one", "all_tasks": [{"id": "T1", "description": "Sign in", "group_id": "A"}], "task_groups": [{"id": "A", "name": "Sign-in", "tasks": ["T1"], "files_affected": ["a.py"], "branch_name": "feature/a", "status": "pending", "can_parallel": true, "depends_on": [], "complexity": "low", "estimated_effort_minutes": 5}], "execution_phases": [{"phase_number": 1, "group_ids": ["A"], "parallel_count": 1, "status": "pending"}]}}"#) {
        /// The plan.
        plan: Value,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

impl Request for PlanRun {
    type Answer = PipelineChanged;

    fn perform(self, caller: &Caller<'_>) -> Result<PipelineChanged> {
        pipeline::plan(caller.engine, &self.plan, self.expect_revision, caller.actor)
    }
}

request!(
    /// Return what is to be done now: who is to be started, with which prompt.
    NextOrders("pipeline.next", Changes, "pipeline next", "{}") {
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

/// What is to be done now.
#[derive(Debug)]
pub struct Orders {
    pub orders: Vec<Order>,
    pub done: PipelineChanged,
    door: &'static dyn Door,
}

impl Request for NextOrders {
    type Answer = Orders;

    fn perform(self, caller: &Caller<'_>) -> Result<Orders> {
        let (orders, done) = pipeline::next(caller.engine, self.expect_revision, caller.actor)?;
        Ok(Orders { orders, done, door: caller.actor.door })
    }
}

request!(
    /// Report what came out of an order.
    ReportOrder("pipeline.report", Changes, "pipeline report", r#"{"role": "developer", "group": "A", "status": "READY_FOR_QA"}"#) {
        /// Who reports.
        role: Role,
        /// The group; `-` for the project manager.
        group: String,
        /// What came out.
        status: String,
        /// What to hand over.
        content: Option<Map<String, Value>>,
        /// The order that this answers; the open one of this role and group unless told.
        order: Option<String>,
        /// Why there are no results of tests, for PASS; the reason is kept and shown.
        without_results: Option<String>,
        /// Refused unless the document is at this revision.
        expect_revision: Option<u64>,
    }
);

/// A run after a report, and the group that it was about.
#[derive(Debug)]
pub struct Reported {
    pub group: String,
    pub done: PipelineChanged,
}

impl Reported {
    /// Returns the group as it is kept; of a report about none, how the whole run stands.
    pub fn entry(&self) -> &Value {
        let run = &self.done.pipeline;
        run.entry(&self.group).unwrap_or(&run.orchestrator)
    }

    pub fn is_of_group(&self) -> bool {
        self.group != NO_GROUP
    }
}

impl Answer for Reported {
    const SHAPE: &'static Shape = &Shape::Either(Group::SHAPE, OrchestratorState::SHAPE);

    fn json(&self) -> Cow<'_, Value> {
        Cow::Borrowed(self.entry())
    }

    fn warnings(&self) -> &[Hint] {
        &self.done.warnings
    }
}

impl Request for ReportOrder {
    type Answer = Reported;

    fn perform(self, caller: &Caller<'_>) -> Result<Reported> {
        let mut content = self.content.unwrap_or_default();
        if let Some(reason) = self.without_results {
            if word(Outcome::Pass) != self.status {
                return Err(Error::invalid("only PASS can be without results", "nothing was changed"));
            }
            content.insert(WITHOUT_RESULTS.into(), reason.into());
        }
        let ReportOrder { role, group, status, order, .. } = self;
        let report = Report { role, group, status, content, order };
        let (group, done) = pipeline::report(caller.engine, &report, self.expect_revision, caller.actor)?;
        Ok(Reported { group, done })
    }
}

request!(
    /// Show how the run stands: groups, orders, and who starts the agents.
    ShowRun("pipeline.status", Reads, "pipeline status", "{}") {}
);

/// A run, and whether whoever starts its agents is at work now.
#[derive(Debug)]
pub struct RunStatus {
    pub run: Pipeline,
    pub conducted: bool,
}

impl Request for ShowRun {
    type Answer = RunStatus;

    fn perform(self, caller: &Caller<'_>) -> Result<RunStatus> {
        let run = pipeline::show(caller.engine)?;
        let conducted = orchestrate::is_conducted(caller.engine, &run)?;
        Ok(RunStatus { run, conducted })
    }
}

request!(
    /// Say what a group waits for, and which report would move it.
    ExplainGroup("pipeline.explain", Reads, "pipeline explain", r#"{"group": "A"}"#) {
        /// The group.
        group: String,
    }
);

impl Request for ExplainGroup {
    type Answer = Stored<Explanation>;

    fn perform(self, caller: &Caller<'_>) -> Result<Stored<Explanation>> {
        let run = pipeline::show(caller.engine)?;
        pipeline::check_group(&run, &self.group)?;
        Ok(Stored::new(explanation(&run, &self.group, pipeline::caps(caller.engine)?, caller.actor.door)))
    }
}
