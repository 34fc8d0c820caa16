//! What agents cost: how many were started, what their clients say of tokens and money, which tries failed.
//!
//! `costs` of the orchestrator's state has the sums of the run, of each role and of each group. A try of an order has a
//! number and is counted once, whatever is repeated.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::values::{bump, clip, number, object, object_named, push};
use super::{Pipeline, list, text};
use crate::model::documents::dispatch::{CostSum, Costs, FailedTry, KeptOrder};
use crate::model::documents::pipeline::OrchestratorState;
use crate::model::key::{Fields, FieldsMut};
use crate::model::plan::figure;
use crate::model::usage::Usage;

/// How many failed tries an order keeps.
const FAILURES: usize = 10;
/// How much of the reason of a failed try is kept.
const REASON: usize = 500;

/// A try that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The word of its class.
    pub class: String,
    pub reason: String,
}

impl Failure {
    /// Returns the reason as one line: what happened, and the last that was said about it.
    pub fn brief(&self) -> String {
        let mut lines = self.reason.lines().map(str::trim).filter(|line| !line.is_empty());
        let what = lines.next().unwrap_or_default();
        let said = lines.next_back().map(|said| format!(": {said}"));
        clip(&format!("{what}{}", said.unwrap_or_default()), REASON)
    }
}

impl Pipeline {
    /// Counts one more try of an open order. Returns its number; `None` if the order is not open.
    pub fn begin_try(&mut self, id: &str, now: Timestamp) -> Option<u64> {
        let order = self.open_orders().find(|order| order.id == id)?;
        self.pick_up(&order, now);
        let kept = self.kept_order(id)?;
        let number = bump(kept, KeptOrder::tries);
        let kept = kept.clone();
        self.each_sum(&kept, |sum| {
            bump(sum, CostSum::spawns);
        });
        self.derive();
        Some(number)
    }

    /// Adds what a try used, unless that is counted already. Returns whether it was added.
    pub fn end_try(&mut self, id: &str, tried: u64, usage: Usage, failure: Option<&Failure>) -> bool {
        let Some(order) = self.kept_order(id) else { return false };
        if number(order, KeptOrder::tries_counted) >= tried {
            return false;
        }
        order.set(KeptOrder::tries_counted, tried);
        if let Some(Failure { class, reason }) = failure {
            let failure = json!({
                FailedTry::number: tried, FailedTry::class: class, FailedTry::reason: clip(reason, REASON),
            });
            push(order, KeptOrder::failures, failure, FAILURES);
        }
        let order = order.clone();
        self.each_sum(&order, |sum| {
            if failure.is_some() {
                bump(sum, CostSum::failures);
            }
            usage.add_to(sum);
        });
        let open = self.open_orders().find(|open| open.id == id);
        if let Some(open) = open {
            self.put_down(&open);
            self.derive();
        }
        true
    }

    /// Returns how many agents were started for this run.
    pub fn spawns(&self) -> u64 {
        self.orchestrator.at(OrchestratorState::costs).map_or(0, |costs| number(costs, Costs::spawns))
    }

    /// Returns what the run has cost so far, in dollars, as far as clients say so.
    pub fn cost(&self) -> f64 {
        self.orchestrator
            .at(OrchestratorState::costs)
            .and_then(|costs| figure(costs, Costs::cost_usd))
            .unwrap_or(0.0)
    }

    /// Returns what an order that is not open any more was reported as.
    pub fn said(&self, id: &str) -> Option<&str> {
        let past = list(&self.orchestrator, OrchestratorState::past_orders).iter().rev();
        past.clone().find(|order| text(order, KeptOrder::id) == id).map(|order| text(order, KeptOrder::said))
    }

    /// Returns an order as it is kept, open or past.
    pub(super) fn kept_order(&mut self, id: &str) -> Option<&mut Value> {
        let field =
            [OrchestratorState::orders, OrchestratorState::past_orders].into_iter().find(|field| {
                list(&self.orchestrator, *field).iter().any(|order| text(order, KeptOrder::id) == id)
            })?;
        let orders = self.orchestrator.list_mut(field)?;
        orders.iter_mut().find(|order| text(order, KeptOrder::id) == id)
    }

    /// Changes the sums that an order counts for: of the run, of its role, of its group.
    fn each_sum(&mut self, order: &Value, change: impl Fn(&mut Value)) {
        let costs = object(&mut self.orchestrator, OrchestratorState::costs);
        change(costs);
        let sums = [
            (Costs::by_role, text(order, KeptOrder::role)),
            (Costs::by_group, text(order, KeptOrder::group_id)),
        ];
        for (of, name) in sums {
            change(object_named(object(costs, of), name));
        }
    }
}

/// Returns the reasons why an order was not done so far, the last one first.
pub fn failures(pipeline: &Pipeline, id: &str) -> Vec<String> {
    let orders = list(&pipeline.orchestrator, OrchestratorState::orders).iter();
    let order = orders.clone().find(|order| text(order, KeptOrder::id) == id);
    let failures = order.map_or(&[][..], |order| list(order, KeptOrder::failures)).iter().rev();
    failures
        .map(|failure| format!("{}: {}", text(failure, FailedTry::class), text(failure, FailedTry::reason)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::Caps;
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn a_try_counts_once_for_run_role_and_group() {
        let mut run = Pipeline::new("v4_1", "x", None, NOW);
        let order = run.next(Caps::of(None), NOW).remove(0);
        assert_eq!(run.begin_try("nobody", NOW), None);
        let usage = Usage { cost_usd: 0.1, input_tokens: 10, output_tokens: 2, cached_tokens: 5 };
        for tried in 1..=3 {
            assert_eq!(run.begin_try(&order.id, NOW), Some(tried));
            let failure = Failure { class: "timeout".into(), reason: "x".repeat(1000) };
            assert!(run.end_try(&order.id, tried, usage, Some(&failure).filter(|_| tried < 3)));
            assert!(!run.end_try(&order.id, tried, usage, None), "it is counted already");
        }
        assert!(!run.end_try("nobody", 1, usage, None));
        let sum = json!({
            "spawns": 3, "failures": 2, "cost_usd": 0.3, "input_tokens": 30, "output_tokens": 6, "cached_tokens": 15,
        });
        let mut costs = run.orchestrator["costs"].clone();
        assert_eq!(costs["by_role"]["pm"], sum);
        assert_eq!(costs["by_group"]["-"], sum);
        costs.as_object_mut().unwrap().retain(|field, _| !field.starts_with("by_"));
        assert_eq!(costs, sum);
        assert_eq!((run.spawns(), run.cost()), (3, 0.3));
        assert_eq!(
            (&run.orchestrator["total_spawns"], &run.orchestrator["active_agents"]),
            (&json!(3), &json!([]))
        );
        assert_eq!(failures(&run, &order.id).len(), 2);
    }

    #[test]
    fn what_somebody_made_of_the_sums_is_no_obstacle() {
        for junk in [json!(1), json!([]), json!({"by_role": 1, "spawns": "x", "cost_usd": "y"}), json!(null)]
        {
            let mut run = Pipeline::new("v4_1", "x", None, NOW);
            let order = run.next(Caps::of(None), NOW).remove(0);
            run.orchestrator["costs"] = junk;
            let tried = run.begin_try(&order.id, NOW).unwrap();
            assert!(run.end_try(&order.id, tried, Usage { cost_usd: 1.0, ..Usage::default() }, None));
            assert_eq!((run.spawns(), run.cost()), (1, 1.0));
        }
    }
}
