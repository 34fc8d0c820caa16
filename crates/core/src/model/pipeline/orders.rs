//! Orders: who is needed now, for what, and what holds the others up.
//!
//! An order is open until its report. `next` opens what may be opened and returns all that are open, so it can be
//! asked as often as one likes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::table::{self, Purpose, Role};
use super::{
    DEVELOPER_ITERATIONS, GroupStage, Mode, NO_GROUP, PAST_ORDERS, Pipeline, RunStatus, bump, list, number,
    object, push, remove, text, time, word,
};
use crate::model::ids::Key;
use crate::model::plan::texts;

/// More developers at once than these get in each other's way.
pub const MOST_DEVELOPERS: usize = 4;

/// How many may work at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    pub developers: usize,
    /// Of all roles.
    pub agents: usize,
}

impl Caps {
    /// Returns what holds when so many agents may work at once.
    pub fn of(agents: Option<u64>) -> Caps {
        let agents = agents.map_or(usize::MAX, |agents| usize::try_from(agents).unwrap_or(usize::MAX)).max(1);
        Caps { developers: agents.min(MOST_DEVELOPERS), agents }
    }
}

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
    /// Reads an order that is kept; one that somebody made unreadable is none.
    fn of(value: &Value) -> Option<Order> {
        let purpose = Purpose::read(value.get("purpose")?.as_str()?)?;
        let id = value.get("id")?.as_str()?.into();
        let group = value.get("group_id")?.as_str()?.into();
        Some(Order { id, role: purpose.role(), group, purpose })
    }
}

/// What keeps a group from going on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    #[error("the run has stopped: {reason}")]
    Stopped { reason: String },
    #[error("the run is over")]
    Over,
    #[error("{} has the order `{}` ({})", word(order.role), order.id, word(order.purpose))]
    Open { order: Order },
    #[error("it depends on {}", on.join(", "))]
    Dependency { on: Vec<String> },
    #[error("phase {phase} is not complete: {}", groups.join(", "))]
    Phase { phase: usize, groups: Vec<String> },
    #[error("it cannot run beside {}", groups.join(", "))]
    Alone { groups: Vec<String> },
    #[error("{most} developers are at work, and no more may be at once")]
    Developers { most: usize },
    #[error("{most} agents are at work, and no more may be at once")]
    Agents { most: usize },
}

impl Obstacle {
    /// The word for scripts.
    pub fn name(&self) -> &'static str {
        match self {
            Obstacle::Stopped { .. } => "stopped",
            Obstacle::Over => "over",
            Obstacle::Open { .. } => "open_order",
            Obstacle::Dependency { .. } => "dependency",
            Obstacle::Phase { .. } => "phase",
            Obstacle::Alone { .. } => "alone",
            Obstacle::Developers { .. } => "developers",
            Obstacle::Agents { .. } => "agents",
        }
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

    /// Opens the order that somebody reports on who did not ask for it: the work was due, and nothing stood in its way.
    pub fn open_for(&mut self, role: Role, group: &str, caps: Caps, now: Timestamp) {
        let open: Vec<Order> = self.open_orders().collect();
        if self.status() != RunStatus::Running || open.iter().any(|order| order.group == group) {
            return;
        }
        let due = self.due(&open).into_iter().find(|(purpose, of)| of == group && purpose.role() == role);
        let Some((purpose, group)) = due else { return };
        if purpose != Purpose::Plan && self.held_up(&group, purpose, caps, &open).is_empty() {
            let order = self.open(purpose, &group, now);
            self.count();
            self.log_opened(&[order], now);
            self.derive();
        }
    }

    /// Returns the open orders, oldest first.
    pub fn open_orders(&self) -> impl Iterator<Item = Order> + '_ {
        list(&self.orchestrator, "orders").iter().filter_map(Order::of)
    }

    /// Returns what a group needs next; `None` while somebody is at it, and when it is complete.
    fn need_of(&self, group: &str, open: &[Order]) -> Option<Purpose> {
        if self.is_complete(group) || open.iter().any(|order| order.group == group) {
            return None;
        }
        let written = self.entry(group).and_then(|entry| entry.get("next_order")).and_then(purpose_of);
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
        let written = self.orchestrator.get("next_order").and_then(purpose_of);
        match (self.is_planned(), self.all_complete()) {
            (false, _) => Some(Purpose::Plan),
            (true, true) => written.or(Some(Purpose::FinalCheck)),
            (true, false) => written,
        }
    }

    /// Returns what keeps a group from going on.
    pub fn obstacles(&self, group: &str, caps: Caps) -> Vec<Obstacle> {
        let open: Vec<Order> = self.open_orders().collect();
        if let Some(order) = open.iter().find(|order| order.group == group) {
            return vec![Obstacle::Open { order: order.clone() }];
        }
        match self.need_of(group, &open) {
            Some(need) => self.held_up(group, need, caps, &open),
            None => Vec::new(),
        }
    }

    fn held_up(&self, group: &str, need: Purpose, caps: Caps, open: &[Order]) -> Vec<Obstacle> {
        match (self.status(), self.stop_reason()) {
            (RunStatus::Running, _) => {}
            (RunStatus::Completed, _) => return vec![Obstacle::Over],
            (RunStatus::Error, reason) => {
                return vec![Obstacle::Stopped { reason: reason.unwrap_or("an error").into() }];
            }
        }
        let mut obstacles = Vec::new();
        if group != NO_GROUP && self.stage(group) == GroupStage::Pending {
            obstacles.extend(self.not_yet(group));
        }
        let agents = open.len();
        let developers = open.iter().filter(|order| order.role == Role::Developer).count();
        if need.role() == Role::Developer && developers >= caps.developers {
            obstacles.push(Obstacle::Developers { most: caps.developers });
        } else if agents >= caps.agents {
            obstacles.push(Obstacle::Agents { most: caps.agents });
        }
        obstacles
    }

    /// Returns why a group may not begin.
    fn not_yet(&self, id: &str) -> Vec<Obstacle> {
        let mut obstacles = Vec::new();
        let Some(group) = self.task_group(id) else { return obstacles };
        let open = |id: &&str| !self.is_complete(id);
        let on: Vec<String> = texts(group, "depends_on").into_iter().filter(open).map(Into::into).collect();
        if !on.is_empty() {
            obstacles.push(Obstacle::Dependency { on });
        }
        let phases = list(&self.pm, "execution_phases");
        for (place, phase) in phases.iter().take(self.phase_of(id)).enumerate() {
            let groups: Vec<String> =
                texts(phase, "group_ids").into_iter().filter(open).map(Into::into).collect();
            if !groups.is_empty() {
                obstacles.push(Obstacle::Phase { phase: place + 1, groups });
                break;
            }
        }
        let groups: Vec<String> = self
            .group_ids()
            .filter(|other| *other != id && self.is_in_flight(other))
            .filter(|other| !(self.mode() == Mode::Parallel && self.is_social(id) && self.is_social(other)))
            .map(Into::into)
            .collect();
        if !groups.is_empty() {
            obstacles.push(Obstacle::Alone { groups });
        }
        obstacles
    }

    /// Whether a group may run beside others.
    fn is_social(&self, id: &str) -> bool {
        self.task_group(id).and_then(|group| group.get("can_parallel")?.as_bool()).unwrap_or(true)
    }

    /// Returns the place of a group's phase; a group without one may begin with the first.
    fn phase_of(&self, id: &str) -> usize {
        let phases = list(&self.pm, "execution_phases").iter();
        phases.clone().position(|phase| texts(phase, "group_ids").contains(&id)).unwrap_or(0)
    }

    fn open(&mut self, purpose: Purpose, group: &str, now: Timestamp) -> Order {
        let id = self.free_order_id();
        let order = Order { id, role: purpose.role(), group: group.into(), purpose };
        let kept = json!({
            "id": order.id, "role": order.role, "group_id": group, "purpose": purpose,
            "spawned_at": time::stamp(now),
        });
        push(&mut self.orchestrator, "orders", kept, usize::MAX);
        if group == NO_GROUP {
            remove(&mut self.orchestrator, "next_order");
        } else {
            self.begin(purpose, group, now);
            self.mark_read(group);
        }
        order
    }

    fn free_order_id(&mut self) -> String {
        // Orders of an earlier run are none of this one; a name that somebody made up is no part of an id.
        let run = self.session().parse::<Key>().map_or_else(|_| "order".into(), |run| run.to_string());
        loop {
            let id = format!("{run}-{}", bump(&mut self.orchestrator, "total_spawns"));
            let mut known =
                ["orders", "past_orders"].into_iter().flat_map(|field| list(&self.orchestrator, field));
            if !known.any(|order| text(order, "id") == id) {
                return id;
            }
        }
    }

    /// Says in a group's entry who is at it now.
    fn begin(&mut self, purpose: Purpose, group: &str, now: Timestamp) {
        let began = self.count_of(group, "developer");
        let entry = self.entry_mut(group);
        remove(entry, "next_order");
        let (agent, counter, stage) = match purpose.role() {
            Role::Developer => ("developer", "developer", Some(GroupStage::DevWorking)),
            Role::QaExpert => ("qa_expert", "qa", Some(GroupStage::QaTesting)),
            Role::TechLead if purpose == Purpose::Review => {
                ("tech_lead", "tech_lead", Some(GroupStage::TechReview))
            }
            Role::TechLead => ("tech_lead", "tech_lead", None),
            // The documents have no word for the project manager here.
            Role::Pm => ("none", "", None),
        };
        entry["current_agent"] = agent.into();
        if let Some(stage) = stage {
            entry["status"] = json!(stage);
        }
        if !counter.is_empty() {
            bump(object(entry, "iterations"), counter);
        }
        if purpose == Purpose::Work {
            object(entry, "counts")["developer"] = began.saturating_add(1).into();
            if !entry.get("start_time").is_some_and(Value::is_string) {
                entry["start_time"] = time::stamp(now).into();
            }
        }
    }

    /// Returns how often something has happened to a group since the last escalation.
    pub fn count_of(&self, group: &str, what: &str) -> u64 {
        let Some(entry) = self.entry(group) else { return 0 };
        match entry.get("counts").and_then(|counts| counts.get(what)) {
            Some(count) => count.as_u64().unwrap_or(0),
            None => entry.get("iterations").filter(|_| what == "developer").map_or(0, |of| number(of, what)),
        }
    }

    /// Whether the next developer would be one too many.
    pub(super) fn developers_used_up(&self, group: &str) -> bool {
        self.count_of(group, "developer") >= DEVELOPER_ITERATIONS
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
        let Some(orders) = self.orchestrator["orders"].as_array_mut() else { return };
        let Some(place) = orders.iter().position(|order| text(order, "id") == id) else { return };
        let mut order = orders.remove(place);
        order["finished_at"] = time::stamp(now).into();
        order["said"] = said.clone();
        order["digest"] = digest.into();
        push(&mut self.orchestrator, "past_orders", order, PAST_ORDERS);
    }

    /// Returns the last finished order like this, and how it was kept.
    pub(super) fn past_order(&self, fits: impl Fn(&Order) -> bool) -> Option<(Order, &Value)> {
        let past = list(&self.orchestrator, "past_orders").iter().rev();
        past.filter_map(|kept| Some((Order::of(kept)?, kept))).find(|(order, _)| fits(order))
    }
}

fn purpose_of(value: &Value) -> Option<Purpose> {
    Purpose::read(value.get("purpose")?.as_str()?)
}
