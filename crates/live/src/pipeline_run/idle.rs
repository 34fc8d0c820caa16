//! How long developers are idle: from the moment when a group is ready and a place is free, to the start of its agent.
//!
//! Ready is judged by what is stored, not by when we look: by the first report since our last look.

use std::collections::BTreeMap;

use anthill_core::model::documents::OrchestratorState;
use anthill_core::model::documents::dispatch::KeptOrder;
use anthill_core::model::pipeline::table::Role;
use anthill_core::model::pipeline::{Order, Pipeline, list, text};
use anthill_core::model::time;

/// A moment, in milliseconds by the clock of the documents.
type Millis = i64;

#[derive(Debug, Default)]
pub struct Idle {
    looked: Option<Millis>,
    /// Since when open orders could be begun, but for a place; `None` once they have.
    ready: BTreeMap<String, Option<Millis>>,
    /// Since when there is a place, after there was none.
    room: Option<Millis>,
    waited: Millis,
}

impl Idle {
    /// Notes which orders are open, by a look at the run before they were opened.
    pub fn saw(&mut self, run: &Pipeline, open: &[Order], now: Millis) {
        let finished = list(&run.orchestrator, OrchestratorState::past_orders).iter();
        let finished = finished.filter_map(|order| time::read(text(order, KeptOrder::finished_at)));
        let finished = finished.map(|at| at.as_millisecond());
        let since = self.looked.and_then(|looked| finished.filter(|at| *at >= looked).min());
        for order in open {
            self.ready.entry(order.id.clone()).or_insert(Some(since.unwrap_or(now)));
        }
        self.looked = Some(now);
    }

    /// Notes that there is a place again.
    pub fn made_room(&mut self, now: Millis) {
        self.room = Some(now);
    }

    /// Adds how long the developer has waited whose agent starts now.
    pub fn started(&mut self, order: &Order, now: Millis) {
        let ready = self.ready.get_mut(&order.id).and_then(Option::take);
        let Some(ready) = ready.filter(|_| order.role == Role::Developer) else { return };
        let since = self.room.map_or(ready, |room| room.max(ready));
        self.waited += (now - since).max(0);
    }

    /// Returns how long all of them have waited.
    pub fn seconds(&self) -> f64 {
        self.waited as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use anthill_core::model::pipeline::table::Purpose;
    use serde_json::json;

    use super::*;

    #[test]
    fn waiting_counts_from_the_report_that_made_a_group_ready_and_not_while_there_is_no_place() {
        let order = |id: &str, purpose: Purpose| Order {
            id: id.into(),
            role: purpose.role(),
            group: "A".into(),
            purpose,
        };
        let mut run = Pipeline::new("v4_1", "x", None, time::read("1970-01-01T00:00:00Z").unwrap());
        let mut idle = Idle::default();
        idle.saw(&run, &[order("1", Purpose::Work)], 1000);
        idle.started(&order("1", Purpose::Work), 1010);
        assert_eq!(idle.seconds(), 0.01);
        // Another try of the same order is not idleness.
        idle.saw(&run, &[order("1", Purpose::Work)], 1500);
        idle.started(&order("1", Purpose::Work), 1900);
        assert_eq!(idle.seconds(), 0.01);
        // A report at 2000, seen at 2500, begun at 2600.
        run.orchestrator["past_orders"] = json!([{"id": "0", "finished_at": "1970-01-01T00:00:02Z"}]);
        idle.saw(&run, &[order("2", Purpose::Work), order("3", Purpose::Work)], 2500);
        idle.started(&order("2", Purpose::Work), 2600);
        assert_eq!(idle.seconds(), 0.61);
        // The other one has to wait for a place, which comes at 4000.
        idle.saw(&run, &[order("3", Purpose::Work)], 2600);
        idle.made_room(4000);
        idle.started(&order("3", Purpose::Work), 4005);
        assert_eq!(idle.seconds(), 0.615);
        // A tester is not a developer.
        idle.saw(&run, &[order("4", Purpose::Test)], 5000);
        idle.started(&order("4", Purpose::Test), 9000);
        assert_eq!(idle.seconds(), 0.615);
    }
}
