//! What may begin now, and what holds the others up.
//!
//! A group begins when what it depends on is complete and a place is free. Phases hold it up only where the author of
//! the plan wrote them; those that we derive say how the work could be cut, and bind nobody.

use serde_json::Value;

use super::phases::{MOST_DEVELOPERS, share_files};
use super::table::{Purpose, Role};
use super::{GroupStage, Mode, NO_GROUP, Order, Pipeline, RunStatus, list, text, word};
use crate::hint;
use crate::model::documents::pipeline::{ExecutionPhase, PmState, TaskGroup};
use crate::model::hint::Hint;
use crate::model::ids::{self, RULE};
use crate::model::key::Fields;
use crate::model::next::{Next, See};
use crate::model::plan::texts;

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

/// What keeps a group from going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    Stopped { reason: String },
    Over,
    Open { order: Order },
    Id,
    GivenUp { reason: String },
    Dependency { on: Vec<String> },
    Phase { phase: usize, groups: Vec<String> },
    Alone { groups: Vec<String> },
    Files { groups: Vec<String> },
    Developers { most: usize },
    Agents { most: usize },
}

impl Obstacle {
    pub fn told(&self) -> Hint {
        match self {
            Obstacle::Stopped { reason } => format!("the run has stopped: {reason}").into(),
            Obstacle::Over => "the run is over".into(),
            Obstacle::Open { order } => {
                format!("{} has the order `{}` ({})", word(order.role), order.id, word(order.purpose)).into()
            }
            Obstacle::Id => {
                let why = format!("nobody gets it, because its id is not valid: {RULE}; see: ");
                hint![why, See::Flaws("pm_state")]
            }
            Obstacle::GivenUp { reason } => {
                hint![format!("it was given up: {reason}; somebody may try again: "), Next::ResumeRun]
            }
            Obstacle::Dependency { on } => format!("it depends on {}", on.join(", ")).into(),
            Obstacle::Phase { phase, groups } => {
                format!("phase {phase} is not complete: {}", groups.join(", ")).into()
            }
            Obstacle::Alone { groups } => format!("it cannot run beside {}", groups.join(", ")).into(),
            Obstacle::Files { groups } => {
                format!("it works on the same files as {}", groups.join(", ")).into()
            }
            Obstacle::Developers { most } => {
                format!("{most} developers are at work, and no more may be at once").into()
            }
            Obstacle::Agents { most } => {
                format!("{most} agents are at work, and no more may be at once").into()
            }
        }
    }
}

impl Obstacle {
    /// The word for scripts.
    pub fn name(&self) -> &'static str {
        match self {
            Obstacle::Stopped { .. } => "stopped",
            Obstacle::Over => "over",
            Obstacle::Open { .. } => "open_order",
            Obstacle::Id => "id",
            Obstacle::GivenUp { .. } => "given_up",
            Obstacle::Dependency { .. } => "dependency",
            Obstacle::Phase { .. } => "phase",
            Obstacle::Alone { .. } => "alone",
            Obstacle::Files { .. } => "files",
            Obstacle::Developers { .. } => "developers",
            Obstacle::Agents { .. } => "agents",
        }
    }
}

impl Pipeline {
    /// Returns what keeps a group from going on.
    pub fn obstacles(&self, group: &str, caps: Caps) -> Vec<Obstacle> {
        let open: Vec<Order> = self.open_orders().collect();
        if let Some(order) = open.iter().find(|order| order.group == group) {
            return vec![Obstacle::Open { order: order.clone() }];
        }
        if let Some(reason) = self.given_up(group) {
            let reason = reason.lines().next().unwrap_or_default().into();
            return vec![Obstacle::GivenUp { reason }];
        }
        match self.need_of(group, &open) {
            Some(need) => self.held_up(group, need, caps, &open),
            None => Vec::new(),
        }
    }

    pub(super) fn held_up(&self, group: &str, need: Purpose, caps: Caps, open: &[Order]) -> Vec<Obstacle> {
        match (self.status(), self.stop_reason()) {
            (RunStatus::Running, _) => {}
            (RunStatus::Completed, _) => return vec![Obstacle::Over],
            (RunStatus::Error, reason) => {
                return vec![Obstacle::Stopped { reason: reason.unwrap_or("an error").into() }];
            }
        }
        if group != NO_GROUP && !ids::is_sound(group) {
            return vec![Obstacle::Id];
        }
        let mut obstacles = Vec::new();
        if group != NO_GROUP && self.stage(group) == GroupStage::Pending {
            obstacles.extend(self.not_yet(group));
        }
        obstacles.extend(self.no_place(group, need, caps, open));
        obstacles
    }

    /// Returns which limit leaves no place for somebody.
    fn no_place(&self, group: &str, need: Purpose, caps: Caps, open: &[Order]) -> Option<Obstacle> {
        if need.role() == Role::Developer {
            let developers = || open.iter().filter(|order| order.role == Role::Developer);
            if developers().count() >= caps.developers {
                return Some(Obstacle::Developers { most: caps.developers });
            }
            if let Some((most, ids)) = self.bound_of(group)
                && developers().filter(|order| ids.contains(&order.group.as_str())).count() >= most
            {
                return Some(Obstacle::Developers { most });
            }
        }
        (open.len() >= caps.agents).then_some(Obstacle::Agents { most: caps.agents })
    }

    /// Returns how many developers the author of the plan wants at once in the phase of a group, and its groups.
    fn bound_of(&self, group: &str) -> Option<(usize, Vec<&str>)> {
        let (_, phase) = self.binding_phase(group)?;
        let most = usize::try_from(phase.read(ExecutionPhase::parallel_count)?).ok()?;
        Some((most.max(1), texts(phase, ExecutionPhase::group_ids)))
    }

    /// Returns why a group may not begin.
    fn not_yet(&self, id: &str) -> Vec<Obstacle> {
        let Some(group) = self.task_group(id) else { return Vec::new() };
        let open = |id: &&str| !self.is_complete(id);
        let on: Vec<String> =
            texts(group, TaskGroup::depends_on).into_iter().filter(open).map(Into::into).collect();
        let dependency = (!on.is_empty()).then_some(Obstacle::Dependency { on });
        let begun: Vec<&str> =
            self.group_ids().filter(|other| *other != id && self.is_in_flight(other)).collect();
        let together =
            |other: &&str| self.mode() == Mode::Parallel && self.is_social(id) && self.is_social(other);
        let among = |fits: &dyn Fn(&&str) -> bool| -> Vec<String> {
            begun.iter().copied().filter(|other| fits(other)).map(Into::into).collect()
        };
        let alone = among(&|other| !together(other));
        let alone = (!alone.is_empty()).then_some(Obstacle::Alone { groups: alone });
        let same = among(&|other| together(other) && self.touches(group, other));
        let files = (!same.is_empty()).then_some(Obstacle::Files { groups: same });
        [dependency, self.earlier_phase(id), alone, files].into_iter().flatten().collect()
    }

    /// Returns the first phase before a group's that binds it and is not complete.
    fn earlier_phase(&self, id: &str) -> Option<Obstacle> {
        let (own, _) = self.binding_phase(id)?;
        let before = list(&self.pm, PmState::execution_phases).iter().take(own).enumerate();
        before.filter(|(_, phase)| binds(phase)).find_map(|(place, phase)| {
            let open = texts(phase, ExecutionPhase::group_ids).into_iter().filter(|id| !self.is_complete(id));
            let groups: Vec<String> = open.map(Into::into).collect();
            (!groups.is_empty()).then_some(Obstacle::Phase { phase: place + 1, groups })
        })
    }

    /// Returns the phase that the author of the plan has put a group into, and its place.
    fn binding_phase(&self, id: &str) -> Option<(usize, &Value)> {
        let mut phases = list(&self.pm, PmState::execution_phases).iter().enumerate();
        phases
            .find(|(_, phase)| texts(phase, ExecutionPhase::group_ids).contains(&id))
            .filter(|(_, phase)| binds(phase))
    }

    /// Whether a group works on files of another one, and nobody has said that they may run side by side.
    fn touches(&self, group: &Value, other: &str) -> bool {
        let wanted = self.binding_phase(text(group, TaskGroup::id)).map(|(place, _)| place);
        let side_by_side = wanted.is_some() && wanted == self.binding_phase(other).map(|(place, _)| place);
        !side_by_side && self.task_group(other).is_some_and(|other| share_files(group, other))
    }

    /// Whether a group may run beside others.
    fn is_social(&self, id: &str) -> bool {
        self.task_group(id).read(TaskGroup::can_parallel).unwrap_or(true)
    }

    /// Returns the place of a group's phase; a group without one may begin with the first.
    pub(super) fn phase_of(&self, id: &str) -> usize {
        let phases = list(&self.pm, PmState::execution_phases).iter();
        phases.clone().position(|phase| texts(phase, ExecutionPhase::group_ids).contains(&id)).unwrap_or(0)
    }
}

/// Whether the author of the plan wrote this phase.
pub(super) fn binds(phase: &Value) -> bool {
    phase.at(ExecutionPhase::derived) != Some(&Value::Bool(true))
}
