//! Edits by hand: what somebody makes of a group's status takes the place of the order that was open for it.

use jiff::Timestamp;
use serde_json::Value;

use super::values::remove;
use super::{GroupStage, NO_GROUP, Order, Pipeline, list, text, word};
use crate::model::documents::dispatch::{KeptOrder, NextOrder};
use crate::model::documents::pipeline::{Group, OrchestratorState};
use crate::model::key::Fields;

/// What is kept as said of an order whose group was given another status.
pub const REPLACED: &str = "REPLACED";

impl Pipeline {
    /// Ends what does not fit how the groups stand any more: orders, and what was needed next. Returns the orders.
    pub fn heed_edits(&mut self, now: Timestamp) -> Vec<Order> {
        let open = list(&self.orchestrator, OrchestratorState::orders).iter();
        let edited = open.filter(|kept| {
            text(kept, KeptOrder::group_id) != NO_GROUP && self.is_void(kept, text(kept, KeptOrder::group_id))
        });
        let ids: Vec<&str> = edited.map(|kept| text(kept, KeptOrder::id)).collect();
        let void: Vec<Order> = self.open_orders().filter(|order| ids.contains(&order.id.as_str())).collect();
        for order in &void {
            self.close(&order.id, &REPLACED.into(), "", now);
            self.entry_mut(&order.group)[Group::current_agent] = "none".into();
        }
        let mut changed = !void.is_empty();
        let groups: Vec<String> =
            self.group_ids().filter(|group| self.entry(group).is_some()).map(Into::into).collect();
        for group in &groups {
            if self.entry(group).at(Group::next_order).is_some_and(|next| self.is_void(next, group)) {
                remove(self.entry_mut(group), Group::next_order);
                changed = true;
            }
            if self.given_up(group).is_some() && self.stage(group) != GroupStage::DevBlocked {
                self.take_up_again(group);
                changed = true;
            }
        }
        if changed {
            self.derive();
        }
        void
    }

    /// Writes down which orders an edit has ended.
    pub fn log_edits(&mut self, void: &[Order], now: Timestamp) {
        for order in void {
            self.count();
            let stands = word(self.stage(&order.group));
            let reasoning = format!("somebody made it {stands}: the order {} is void", order.id);
            self.log(&format!("edit_group_{}", order.group), &reasoning, now);
        }
    }

    /// Whether something was made for another status than the group has. What does not say so is not.
    fn is_void(&self, made: &Value, group: &str) -> bool {
        made.text(NextOrder::stage).is_some_and(|stage| stage != word(self.stage(group)))
    }
}
