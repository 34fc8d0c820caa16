//! Orders: who is needed now, for what, and what holds the others up.
//!
//! An order is open until its report. `next` opens what may be opened and returns all that are open, so it can be
//! asked as often as one likes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::table::{self, Purpose, Role};
use super::values::{bump, number, object, push, remove};
use super::{
    Caps, DEVELOPER_ITERATIONS, GroupStage, NO_GROUP, PAST_ORDERS, Pipeline, RunStatus, list, text, time,
    word,
};
use crate::model::documents::dispatch::{KeptOrder, LimitCounts};
use crate::model::documents::pipeline::{Group, GroupAgent, Iterations, OrchestratorState};
use crate::model::ids;
use crate::model::ids::Key;
use crate::model::key::{Fields, FieldsMut, Key as Field};
use crate::model::shape::{Integer, Maybe};

/// Somebody who is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub id: String,
    pub role: Role,
    /// The group, or `-`.
    pub group: String,
    pub purpose: Purpose,
}

impl Order {
    /// Reads an order that is kept; one that somebody made unreadable, or gave an id that is none, is none.
    fn of(value: &Value) -> Option<Order> {
        let purpose = Purpose::read(value.text(KeptOrder::purpose)?)?;
        let (id, group) = (value.text(KeptOrder::id)?, value.text(KeptOrder::group_id)?);
        let is_sound = ids::is_sound(id) && (group == NO_GROUP || ids::is_sound(group));
        is_sound.then(|| Order { id: id.into(), role: purpose.role(), group: group.into(), purpose })
    }
}

impl Pipeline {
    /// Opens what may be opened, and returns all orders that are open.
    pub fn next(&mut self, caps: Caps, now: Timestamp) -> Vec<Order> {
        let mut open: Vec<Order> = self.open_orders().collect();
        let before = open.len();
        if self.status() == RunStatus::Running {
            for (purpose, group) in self.due(&open) {
                // A plan that somebody edited may name a group twice.
                let twice = open.iter().any(|order| order.group == group);
                if !twice && self.held_up(&group, purpose, caps, &open).is_empty() {
                    open.push(self.open(purpose, &group, now));
                }
            }
        }
        if open.len() > before {
            self.count();
            self.log_opened(&open[before..], now);
            self.derive();
        }
        open
    }

    /// The same for somebody who starts agents by hand: whoever is not at work yet counts as started.
    pub fn give_out(&mut self, caps: Caps, now: Timestamp) -> Vec<Order> {
        let orders = self.next(caps, now);
        let idle: Vec<&Order> = orders.iter().filter(|order| !self.is_at_work(&order.id)).collect();
        if !idle.is_empty() {
            idle.into_iter().for_each(|order| self.pick_up(order, now));
            self.derive();
        }
        orders
    }

    /// Writes down that an agent is started for an order.
    pub(super) fn pick_up(&mut self, order: &Order, now: Timestamp) {
        bump(&mut self.orchestrator, OrchestratorState::total_spawns);
        if let Some(kept) = self.kept_order(&order.id) {
            kept.set(KeptOrder::at_work, true);
            kept.set(KeptOrder::spawned_at, time::stamp(now));
        }
        if order.group != NO_GROUP {
            self.entry_mut(&order.group)[Group::current_agent] = json!(agent_of(order.role));
        }
    }

    /// Writes down that nobody is at an order any more that is still open.
    pub(super) fn put_down(&mut self, order: &Order) {
        if let Some(kept) = self.kept_order(&order.id) {
            kept.set(KeptOrder::at_work, false);
        }
        if order.group != NO_GROUP {
            self.entry_mut(&order.group)[Group::current_agent] = "none".into();
        }
    }

    /// Whether somebody is at an order. Orders of an older version do not say, and count.
    pub fn is_at_work(&self, id: &str) -> bool {
        let mut open = list(&self.orchestrator, OrchestratorState::orders).iter();
        open.any(|kept| text(kept, KeptOrder::id) == id && is_at_work(kept))
    }

    /// Returns the open orders, oldest first.
    pub fn open_orders(&self) -> impl Iterator<Item = Order> + '_ {
        list(&self.orchestrator, OrchestratorState::orders).iter().filter_map(Order::of)
    }

    /// Returns what a group needs next; `None` while somebody is at it, and when it is complete.
    pub(super) fn need_of(&self, group: &str, open: &[Order]) -> Option<Purpose> {
        if self.is_complete(group) || open.iter().any(|order| order.group == group) {
            return None;
        }
        if self.given_up(group).is_some() {
            return None;
        }
        let written = self.entry(group).at(Group::next_order).and_then(purpose_of);
        written.or_else(|| table::usual(self.stage(group)))
    }

    /// Returns what is needed and not at work: the project manager, then groups that have begun, the last steps first,
    /// then groups that have not, in the order of their phases.
    pub(super) fn due(&self, open: &[Order]) -> Vec<(Purpose, String)> {
        let mut due: Vec<_> =
            self.need_of_all(open).map(|need| (need, NO_GROUP.to_owned())).into_iter().collect();
        let mut needs: Vec<(usize, Purpose, String)> = Vec::new();
        for id in self.group_ids() {
            let Some(need) = self.need_of(id, open) else { continue };
            let rank = match (need.role(), self.stage(id)) {
                (Role::Pm, _) => 0,
                (Role::TechLead, _) => 1,
                (Role::QaExpert, _) => 2,
                (Role::Developer, GroupStage::Pending) => 4 + self.phase_of(id),
                (Role::Developer, _) => 3,
            };
            needs.push((rank, need, id.into()));
        }
        needs.sort_by_key(|(rank, _, _)| *rank);
        due.extend(needs.into_iter().map(|(_, need, id)| (need, id)));
        due
    }

    /// Returns what the project manager is needed for by the run as a whole.
    fn need_of_all(&self, open: &[Order]) -> Option<Purpose> {
        if open.iter().any(|order| order.group == NO_GROUP) {
            return None;
        }
        let written = self.orchestrator.at(OrchestratorState::next_order).and_then(purpose_of);
        match (self.is_planned(), self.all_complete()) {
            (false, _) => Some(Purpose::Plan),
            (true, true) => written.or(Some(Purpose::FinalCheck)),
            (true, false) => written,
        }
    }

    fn open(&mut self, purpose: Purpose, group: &str, now: Timestamp) -> Order {
        let id = self.free_order_id();
        let order = Order { id, role: purpose.role(), group: group.into(), purpose };
        let mut kept = json!({
            KeptOrder::id: order.id, KeptOrder::role: order.role, KeptOrder::group_id: group,
            KeptOrder::purpose: purpose,
            KeptOrder::spawned_at: time::stamp(now), KeptOrder::at_work: false,
        });
        if group == NO_GROUP {
            remove(&mut self.orchestrator, OrchestratorState::next_order);
        } else {
            self.begin(purpose, group, now);
            self.mark_read(group);
            kept[KeptOrder::stage] = json!(self.stage(group));
        }
        push(&mut self.orchestrator, OrchestratorState::orders, kept, usize::MAX);
        order
    }

    fn free_order_id(&mut self) -> String {
        // Orders of an earlier run are none of this one; a name that somebody made up is no part of an id.
        let run = self.session().parse::<Key>().map_or_else(|_| "order".into(), |run| run.to_string());
        if self.orchestrator.at(OrchestratorState::last_order).is_none() {
            // Older versions numbered orders by their spawns.
            self.orchestrator.set(
                OrchestratorState::last_order,
                number(&self.orchestrator, OrchestratorState::total_spawns),
            );
        }
        loop {
            let id = format!("{run}-{}", bump(&mut self.orchestrator, OrchestratorState::last_order));
            let mut known = [OrchestratorState::orders, OrchestratorState::past_orders]
                .into_iter()
                .flat_map(|field| list(&self.orchestrator, field));
            if !known.any(|order| text(order, KeptOrder::id) == id) {
                return id;
            }
        }
    }

    /// Says in a group's entry who is at it now.
    fn begin(&mut self, purpose: Purpose, group: &str, now: Timestamp) {
        let began = self.count_of(group, LimitCounts::developer);
        let entry = self.entry_mut(group);
        remove(entry, Group::next_order);
        let (counter, stage) = match purpose.role() {
            Role::Developer => (Some(Iterations::developer), Some(GroupStage::DevWorking)),
            Role::QaExpert => (Some(Iterations::qa), Some(GroupStage::QaTesting)),
            Role::TechLead if purpose == Purpose::Review => {
                (Some(Iterations::tech_lead), Some(GroupStage::TechReview))
            }
            Role::TechLead => (Some(Iterations::tech_lead), None),
            Role::Pm => (None, None),
        };
        entry.set(Group::current_agent, GroupAgent::None);
        if let Some(stage) = stage {
            entry[Group::status] = json!(stage);
        }
        if let Some(counter) = counter {
            bump(object(entry, Group::iterations), counter);
        }
        if purpose == Purpose::Work {
            object(entry, Group::counts).set(LimitCounts::developer, began.saturating_add(1));
            if !entry.at(Group::start_time).is_some_and(Value::is_string) {
                entry.set(Group::start_time, time::stamp(now));
            }
        }
    }

    /// Returns how often something has happened to a group since the last escalation.
    pub fn count_of(&self, group: &str, what: Field<Maybe<Integer>>) -> u64 {
        let Some(entry) = self.entry(group) else { return 0 };
        match entry.at(Group::counts).at(what) {
            Some(count) => count.as_u64().unwrap_or(0),
            None if what == Iterations::developer => {
                entry.at(Group::iterations).read(Iterations::developer).unwrap_or(0)
            }
            None => 0,
        }
    }

    /// Whether the next developer would be one too many.
    pub(super) fn developers_used_up(&self, group: &str) -> bool {
        self.count_of(group, LimitCounts::developer) >= DEVELOPER_ITERATIONS
    }

    fn log_opened(&mut self, opened: &[Order], now: Timestamp) {
        let developers: Vec<&str> = opened
            .iter()
            .filter(|order| order.purpose == Purpose::Work)
            .map(|order| order.group.as_str())
            .collect();
        if developers.len() > 1 {
            let decision = format!("spawn_{}_developers_parallel", developers.len());
            self.log(&decision, &format!("groups {} may go on", developers.join(", ")), now);
        }
        for order in opened {
            let (group, role) = (&order.group, word(order.role));
            let (decision, reasoning) = match order.purpose {
                Purpose::Work if developers.len() > 1 => continue,
                Purpose::Plan => ("spawn_pm_for_planning".into(), "a plan is needed".into()),
                Purpose::FinalCheck => ("spawn_pm_for_final_check".into(), "all groups are complete".into()),
                purpose => (format!("spawn_{role}_group_{group}"), format!("needed to {}", word(purpose))),
            };
            self.log(&decision, &reasoning, now);
        }
    }

    /// Takes an order off the open ones and keeps what became of it.
    pub(super) fn close(&mut self, id: &str, said: &Value, digest: &str, now: Timestamp) {
        let Some(orders) = self.orchestrator[OrchestratorState::orders].as_array_mut() else { return };
        let Some(place) = orders.iter().position(|order| text(order, KeptOrder::id) == id) else { return };
        let mut order = orders.remove(place);
        remove(&mut order, KeptOrder::at_work);
        order.set(KeptOrder::finished_at, time::stamp(now));
        order[KeptOrder::said] = said.clone();
        order.set(KeptOrder::digest, digest);
        push(&mut self.orchestrator, OrchestratorState::past_orders, order, PAST_ORDERS);
    }

    /// Returns the last finished order like this, and how it was kept.
    pub(super) fn past_order(&self, fits: impl Fn(&Order) -> bool) -> Option<(Order, &Value)> {
        let past = list(&self.orchestrator, OrchestratorState::past_orders).iter().rev();
        past.filter_map(|kept| Some((Order::of(kept)?, kept))).find(|(order, _)| fits(order))
    }
}

fn purpose_of(value: &Value) -> Option<Purpose> {
    Purpose::read(value.text(KeptOrder::purpose)?)
}

/// Whether somebody is at an order that is kept.
pub(super) fn is_at_work(kept: &Value) -> bool {
    kept.at(KeptOrder::at_work) != Some(&Value::Bool(false))
}

/// Returns the word for who is at a group; the documents have none for the project manager.
fn agent_of(role: Role) -> GroupAgent {
    match role {
        Role::Developer => GroupAgent::Developer,
        Role::QaExpert => GroupAgent::QaExpert,
        Role::TechLead => GroupAgent::TechLead,
        Role::Pm => GroupAgent::None,
    }
}
