//! Why something may not happen to a pipeline.

use super::table::{Outcome, Purpose, Role};
use crate::model::plan::word;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the plan is not valid: {0}")]
    Plan(String),
    #[error("there is a plan already, and nobody has asked for another one")]
    Planned,
    #[error("the run is over")]
    Over,
    #[error("there is no group `{id}`; {known}")]
    NoGroup { id: String, known: String },
    #[error("{} works for a group, not for `-`", word(role))]
    NeedsGroup { role: Role },
    #[error("there is no order `{id}`, or it is long finished")]
    NoOrder { id: String },
    #[error("the order `{id}` is for {} of {group}", word(role))]
    OtherOrder { id: String, role: Role, group: String },
    #[error("nobody is waited for: there is no open order for {} of {group}", word(role))]
    NoneOpen { role: Role, group: String },
    #[error("several orders are open for the project manager: {}", orders.join(", "))]
    WhichOrder { orders: Vec<String> },
    #[error("`{}` is no answer to the order `{order}` ({}){allowed}", word(said), word(purpose))]
    NotAllowed { said: Outcome, order: String, purpose: Purpose, allowed: String },
    #[error("the order `{order}` was reported already, as `{said}`")]
    Reported { order: String, said: String },
    #[error("the run is not complete: {}", missing.join("; "))]
    Unproven { missing: Vec<String> },
    #[error("PASS needs `test_results` that say what ran and what came out")]
    NoResults,
    #[error("the report contradicts itself: {0}")]
    Contradiction(String),
    #[error("the report is not valid: {0}")]
    Report(String),
}
