//! Reports: what somebody says at the end of an order moves the group by the table, unless a limit says otherwise.

use jiff::Timestamp;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::table::{self, Outcome, Purpose, Role, Row};
use super::values::{joined, object, push, remove};
use super::{
    Content, GroupStage, MEDIATIONS, NO_GROUP, Order, PLANS, Pipeline, QA_FAILURES, REJECTED_REVIEWS,
    Refusal, RunStatus, handoff, list, proof, text, time, word,
};
use crate::model::documents::dispatch::{
    Escalation, HandedOver, Handoff, KeptOrder, LimitCounts, NextOrder, StopKind,
};
use crate::model::documents::pipeline::{Group, GroupAgent, OrchestratorState, PmState};
use crate::model::key::{Fields, FieldsMut, Key};
use crate::model::shape::{Integer, Maybe};

/// What somebody says.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    pub role: Role,
    /// The group, or `-`.
    pub group: &'a str,
    pub outcome: Outcome,
    pub content: &'a Content,
    /// The order that this answers; without one it is the open order of that role and group.
    pub order: Option<&'a str>,
}

/// What a report did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// It moved this group, or the run (`-`).
    Moved { group: String },
    /// It was known already.
    Repeated { group: String },
}

impl Effect {
    pub fn group(&self) -> &str {
        match self {
            Effect::Moved { group } | Effect::Repeated { group } => group,
        }
    }
}

/// The order that a report is about.
enum Found<'p> {
    Open(Order),
    /// With how it was kept.
    Past(Order, &'p Value),
}

impl Found<'_> {
    fn order(&self) -> &Order {
        match self {
            Found::Open(order) | Found::Past(order, _) => order,
        }
    }
}

impl Said<'_> {
    /// Returns what tells this report from others.
    fn digest(&self) -> String {
        let text = format!("{} {}", word(self.outcome), json!(self.content));
        format!("{:016x}", xxh3_64(text.as_bytes()))
    }
}

impl Pipeline {
    /// Takes a report over. A refusal changes nothing.
    pub fn report(&mut self, said: &Said<'_>, now: Timestamp) -> Result<Effect, Refusal> {
        if said.group != NO_GROUP {
            self.check_group(said.group)?;
        } else if said.role != Role::Pm {
            return Err(Refusal::NeedsGroup { role: said.role });
        }
        let digest = said.digest();
        let order = match self.find_order(said)? {
            Found::Open(order) => order,
            Found::Past(order, kept) if text(kept, KeptOrder::digest) == digest => {
                return Ok(Effect::Repeated { group: order.group });
            }
            Found::Past(order, kept) => {
                return Err(Refusal::Reported { order: order.id, said: text(kept, KeptOrder::said).into() });
            }
        };
        let row =
            table::find(order.purpose, said.outcome).ok_or_else(|| not_allowed(&order, said.outcome))?;
        handoff::check(said.role, said.content).map_err(Refusal::Report)?;
        self.check_claims(said)?;
        self.close(&order.id, &json!(said.outcome), &digest, now);
        self.count();
        let decision = match order.group.as_str() {
            NO_GROUP => format!("{}_{}", word(order.role), word(said.outcome)),
            group => format!("{}_group_{group}_{}", word(order.role), word(said.outcome)),
        };
        match order.group.as_str() {
            NO_GROUP => self.move_run(row, said, &decision, now),
            group => self.move_group(row, group, said, &decision, now),
        }
        self.derive();
        Ok(Effect::Moved { group: order.group })
    }

    /// Returns the order that a report is about: the one it names, else the open one, else the last one, unless the next
    /// one is due and nobody has asked for it.
    fn find_order(&self, said: &Said<'_>) -> Result<Found<'_>, Refusal> {
        let any_group = said.role == Role::Pm && said.group == NO_GROUP;
        let fits = |order: &Order| order.role == said.role && (any_group || order.group == said.group);
        if let Some(id) = said.order {
            let open = self.open_orders().find(|order| order.id == id).map(Found::Open);
            let past =
                || self.past_order(|order| order.id == id).map(|(order, kept)| Found::Past(order, kept));
            let found = open.or_else(past).ok_or_else(|| Refusal::NoOrder { id: id.into() })?;
            let order = found.order();
            return match fits(order) {
                true => Ok(found),
                false => {
                    Err(Refusal::OtherOrder { id: id.into(), role: order.role, group: order.group.clone() })
                }
            };
        }
        let mut open: Vec<Order> = self.open_orders().filter(|order| fits(order)).collect();
        if open.len() > 1 {
            return Err(Refusal::WhichOrder { orders: open.into_iter().map(|order| order.id).collect() });
        }
        let all: Vec<Order> = self.open_orders().collect();
        let is_due =
            |(purpose, group): &(Purpose, String)| purpose.role() == said.role && group == said.group;
        let past = || {
            let past = self.past_order(|order| fits(order) && order.purpose != Purpose::Plan);
            past.filter(|_| !self.due(&all).iter().any(is_due))
        };
        let found =
            open.pop().map(Found::Open).or_else(|| past().map(|(order, kept)| Found::Past(order, kept)));
        found.ok_or_else(|| Refusal::NoneOpen { role: said.role, group: said.group.into() })
    }

    /// Refuses a report that what it carries does not bear out.
    fn check_claims(&self, said: &Said<'_>) -> Result<(), Refusal> {
        match said.outcome {
            Outcome::Pass => {
                let failed = proof::failed_tests(said.content);
                let excused = said.content.text(handoff::WITHOUT_RESULTS);
                if !failed.is_empty() {
                    return Err(Refusal::Contradiction(format!("PASS, but {}", failed.join(", "))));
                }
                match proof::has_results(said.content) || excused.is_some_and(proof::is_something) {
                    true => Ok(()),
                    false => Err(Refusal::NoResults),
                }
            }
            Outcome::Complete | Outcome::Bazinga => match self.unproven(said.content) {
                missing if missing.is_empty() => Ok(()),
                missing => Err(Refusal::Unproven { missing }),
            },
            _ => Ok(()),
        }
    }

    fn move_run(&mut self, row: &Row, said: &Said<'_>, decision: &str, now: Timestamp) {
        if row.next.is_some() {
            // Whoever plans next should know what is missing.
            self.orchestrator[OrchestratorState::handoff] = json!({
                Handoff::from: said.role, Handoff::status: said.outcome, Handoff::at: time::stamp(now),
                Handoff::content: said.content,
            });
        }
        let plans = list(&self.orchestrator, OrchestratorState::plans).len();
        match row.next {
            Some(_) if plans >= PLANS => {
                self.log(decision, "the project manager wants more work done", now);
                self.orchestrator[OrchestratorState::next_order] = json!({NextOrder::purpose: Purpose::Plan});
                self.stop(StopKind::Limit, &format!("{plans} plans did not lead to an end"), now);
            }
            Some(next) => {
                self.orchestrator[OrchestratorState::next_order] = json!({NextOrder::purpose: next});
                self.log(decision, "the project manager wants more work done", now);
            }
            None => {
                if let Some(evidence) = said.content.at(HandedOver::evidence) {
                    self.pm[PmState::evidence] = evidence.clone();
                }
                self.orchestrator[OrchestratorState::status] = json!(RunStatus::Completed);
                self.orchestrator.set(OrchestratorState::end_time, time::stamp(now));
                self.log(decision, "all groups are complete, and every requirement has its evidence", now);
            }
        }
    }

    fn move_group(&mut self, row: &Row, group: &str, said: &Said<'_>, decision: &str, now: Timestamp) {
        self.hand_over((said.role, group), said.outcome, said.content, now);
        let next = row.next.map(|next| self.within_limits(next, group, said.outcome, now));
        let status = row.status.unwrap_or_default();
        let entry = self.entry_mut(group);
        entry[Group::status] = json!(status);
        entry.set(Group::current_agent, GroupAgent::None);
        match next {
            Some(next) => {
                entry[Group::next_order] =
                    json!({NextOrder::role: next.role(), NextOrder::purpose: next, NextOrder::stage: status});
            }
            None => remove(entry, Group::next_order),
        }
        if status == GroupStage::Complete {
            entry.set(Group::end_time, time::stamp(now));
            if let Some(minutes) = handoff::minutes(text(entry, Group::start_time), now) {
                entry[Group::duration_minutes] = minutes;
            }
        }
        let then = match next {
            Some(next) => format!("next: {} to {}", word(next.role()), word(next)),
            None => "the group is complete".into(),
        };
        let excuse = match text(entry, handoff::WITHOUT_RESULTS) {
            reason if said.outcome == Outcome::Pass && !reason.is_empty() => {
                format!("; without test results: {reason}")
            }
            _ => String::new(),
        };
        self.log(decision, &format!("{}; {then}{excuse}", word(status)), now);
        let mediations = self.mediations(group);
        if next.is_some_and(|next| next.role() == Role::Pm) && mediations > MEDIATIONS {
            let reason = format!(
                "group {group} needed the project manager {mediations} times, at most {MEDIATIONS} are allowed"
            );
            self.stop(StopKind::Limit, &reason, now);
        }
    }

    /// Counts what has a limit. Returns what is needed instead when one is exceeded.
    fn within_limits(&mut self, next: Purpose, group: &str, outcome: Outcome, now: Timestamp) -> Purpose {
        let counted = match outcome {
            Outcome::Fail => Some((LimitCounts::qa_failures, QA_FAILURES, Purpose::Help)),
            Outcome::ChangesRequested => {
                Some((LimitCounts::rejected_reviews, REJECTED_REVIEWS, Purpose::Mediate))
            }
            _ => None,
        };
        if let Some((what, most, instead)) = counted {
            let count = self.count_of(group, what).saturating_add(1);
            object(self.entry_mut(group), Group::counts)[what] = count.into();
            if count > most {
                return self.escalate(group, what, count, instead, now);
            }
        }
        if next == Purpose::Work && self.developers_used_up(group) {
            let count = self.count_of(group, LimitCounts::developer).saturating_add(1);
            return self.escalate(group, LimitCounts::developer, count, Purpose::Simplify, now);
        }
        next
    }

    /// Writes down that a limit is exceeded. Counting begins anew: for what was counted, and for everything when the
    /// project manager takes a hand.
    fn escalate(
        &mut self,
        group: &str,
        what: Key<Maybe<Integer>>,
        count: u64,
        to: Purpose,
        now: Timestamp,
    ) -> Purpose {
        let entry = self.entry_mut(group);
        let counts = object(entry, Group::counts);
        match to.role() {
            Role::Pm => {
                *counts = json!({
                    LimitCounts::developer: 0, LimitCounts::qa_failures: 0, LimitCounts::rejected_reviews: 0,
                });
            }
            _ => counts[what] = 0.into(),
        }
        let escalation = json!({
            Escalation::limit: what.name(), Escalation::count: count, Escalation::to: to.role(),
            Escalation::purpose: to, Escalation::timestamp: time::stamp(now),
        });
        push(entry, Group::escalations, escalation, usize::MAX);
        let decision = format!("escalate_group_{group}_to_{}", word(to.role()));
        self.log(&decision, &format!("{} is {count}, beyond its limit: {}", what.name(), word(to)), now);
        to
    }

    /// Returns how often the project manager was needed for a group.
    fn mediations(&self, group: &str) -> usize {
        let escalations = self.entry(group).map_or(&[][..], |entry| list(entry, Group::escalations));
        escalations.iter().filter(|escalation| text(escalation, Escalation::to) == "pm").count()
    }

    /// Lets a group begin to count anew.
    pub(super) fn forgive(&mut self, group: &str) {
        let entry = self.entry_mut(group);
        entry[Group::counts] =
            json!({LimitCounts::developer: 0, LimitCounts::qa_failures: 0, LimitCounts::rejected_reviews: 0});
        remove(entry, Group::escalations);
    }
}

fn not_allowed(order: &Order, said: Outcome) -> Refusal {
    let allowed = table::allowed(order.purpose);
    let allowed = match allowed.is_empty() {
        true => String::new(),
        false => format!("; allowed are {}", joined(allowed)),
    };
    Refusal::NotAllowed { said, order: order.id.clone(), purpose: order.purpose, allowed }
}
