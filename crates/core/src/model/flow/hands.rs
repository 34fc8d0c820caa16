//! In whose hands a workflow and its phases are.
//!
//! A workflow belongs to a session. The agents that this session starts get its phases by their names; an agent of another
//! session gets one only by naming it. A phase is in the hands of an agent for as long as the session lives that started
//! the agent: that session's signs of life are the lease.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Flow, PhaseOutcome, Refusal, Report, WorkflowStatus, standing, text};
use crate::model::documents::workflow::{Phase, Workflow};
use crate::model::ids;
use crate::model::key::{Fields, FieldsMut, Key};
use WorkflowStatus::{Active, Completed, Failed, Pending};

/// An agent of a client, and what it is known by.
#[derive(Debug, Clone, Copy)]
pub struct Worker<'a> {
    pub id: &'a str,
    /// The name of its kind, which phases ask for.
    pub kind: &'a str,
    /// The session that started it.
    pub session: &'a str,
    pub moment: Moment,
    pub named: Named<'a>,
}

/// Where an agent stands when something is heard of it. Its name is an order only when it begins; later it has what it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Start,
    /// It is heard of for the first time, but not by its start: some clients tell of none.
    FirstHeard,
    Later,
}

/// The phase that is named for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'a> {
    Nothing,
    /// By what it was started with: that is over once the phase was taken from it.
    Orders(&'a str),
    /// By its own last words.
    Words(&'a str),
}

impl<'a> Named<'a> {
    fn id(self) -> Option<&'a str> {
        match self {
            Named::Nothing => None,
            Named::Orders(id) | Named::Words(id) => Some(id),
        }
    }
}

/// Whose a workflow is, seen by a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    Ours,
    /// Nobody has it, or nobody any more.
    Nobody,
    Other(String),
}

impl Flow {
    /// Returns the session that the workflow belongs to, whether it lives or not.
    pub fn owner(&self) -> Option<&str> {
        Some(text(&self.workflow, OWNER)).filter(|owner| !owner.is_empty())
    }

    /// Makes it the workflow of a session.
    pub fn belong_to(&mut self, session: &str) {
        if self.owner() != Some(session) {
            self.workflow[OWNER] = session.into();
        }
    }

    /// Moves everything that a session has here to the one that goes on with its work.
    pub fn pass_on(&mut self, from: &str, to: &str) {
        if self.owner() == Some(from) {
            self.belong_to(to);
        }
        for phase in self.phases_mut().iter_mut().filter(|phase| text(phase, OWNER) == from) {
            phase[OWNER] = to.into();
        }
    }

    /// Returns the sessions whose agents have phases in hand.
    pub fn sessions_at_work(&self) -> Vec<String> {
        let held = self.phases().iter().filter(|phase| standing(phase) == Active);
        let mut sessions: Vec<_> = held.map(|phase| text(phase, OWNER).to_owned()).collect();
        sessions.retain(|session| !session.is_empty());
        sessions.sort_unstable();
        sessions.dedup();
        sessions
    }

    /// Gives the phases back that agents of a session have in hand.
    pub fn give_back(&mut self, session: &str, now: Timestamp) {
        for phase in self.phases_mut() {
            if standing(phase) == Active && text(phase, OWNER) == session {
                phase[Phase::status] = json!(Pending);
                take_away(phase);
            }
        }
        self.settle(None, now);
    }

    /// Returns the phase that an agent works on: the one that is named for it, the one that it has, or, where its name may
    /// be taken for an order, the first that is to be done by an agent of this name and nobody has.
    pub fn phase_of(&self, worker: Worker<'_>, by_name: bool) -> Option<&str> {
        let open = |phase: &&Value| {
            let ready = || {
                ids::is_sound(text(phase, Phase::id)) && self.open_before(text(phase, Phase::id)).is_empty()
            };
            standing(phase) == Active || (standing(phase) == Pending && ready())
        };
        let free = |phase: &&Value| text(phase, AGENT).is_empty();
        let mine = |phase: &&Value| text(phase, AGENT) == worker.id && !is_elsewhere(phase, worker);
        let by_name = by_name
            && match worker.moment {
                Moment::Start => true,
                Moment::FirstHeard => !self.phases().iter().any(|phase| was_taken_from(phase, worker)),
                Moment::Later => false,
            };
        let asks = |phase: &&Value| by_name && text(phase, Phase::agent) == worker.kind && open(phase);
        let find = |wanted: &dyn Fn(&&Value) -> bool| self.phases().iter().find(wanted);
        if let Some(named) = find(&|phase| worker.named.id() == Some(text(phase, Phase::id))) {
            let id = Some(text(named, Phase::id));
            return id.filter(|_| !is_elsewhere(named, worker) && !is_over(named, worker));
        }
        let found = find(&mine)
            .or_else(|| find(&|phase| asks(phase) && free(phase)))
            // What an agent has left unclear may be done by another one.
            .or_else(|| find(&|phase| asks(phase) && outcome(phase) == Some(PhaseOutcome::Unclear)))?;
        Some(text(found, Phase::id))
    }

    /// Notes which agent works on a phase, and that it has begun.
    pub fn give(&mut self, id: &str, worker: Worker<'_>, now: Timestamp) -> Result<(), Refusal> {
        let status = self.phase(id).map(standing).ok_or_else(|| self.no_phase(id))?;
        if matches!(status, Pending | Failed) {
            self.report(id, Active, &Report::default(), now)?;
        }
        let place = self.phases().iter().position(|phase| text(phase, Phase::id) == id);
        let Some(place) = place.filter(|_| status != Completed) else { return Ok(()) };
        let before = holder(&self.phases()[place]);
        if before != worker.id {
            // A guess from its name may have given the agent another phase, and this one to somebody else.
            for other in self.phases_mut() {
                if holder(other) == worker.id && standing(other) != Completed {
                    let_go(other);
                    if !before.is_empty() {
                        hold(other, &before, worker.session);
                    }
                }
            }
        }
        hold(self.phase_mut(place), worker.id, worker.session);
        Ok(())
    }

    /// Leaves a phase open whose agent has ended without saying that it is done.
    pub fn leave_unclear(&mut self, id: &str, words: &str) {
        let Some(phase) = self.phases_mut().iter_mut().find(|phase| text(phase, Phase::id) == id) else {
            return;
        };
        phase.set(OUTCOME, PhaseOutcome::Unclear);
        phase.set(REASON, words);
    }

    /// Notes that an agent was asked for its hand-over; `false` if the phase asks for none, or asked this agent before.
    pub fn ask_handover(&mut self, id: &str, agent: &str) -> bool {
        let phase = self.phases_mut().iter_mut().find(|phase| text(phase, Phase::id) == id);
        let asks =
            |phase: &&mut Value| phase.read(Phase::handover) == Some(true) && text(phase, ASKED) != agent;
        phase.filter(asks).map(|phase| phase.set(ASKED, agent)).is_some()
    }

    fn phases_mut(&mut self) -> &mut [Value] {
        self.workflow.list_mut(Workflow::phases).map_or(&mut [], Vec::as_mut_slice)
    }
}

/// The fields of a phase, and of the workflow, that say whose it is and what is known of its end.
const OWNER: Key<Option<String>> = Phase::session_id;
const AGENT: Key<Option<String>> = Phase::agent_id;
const OUTCOME: Key<Option<PhaseOutcome>> = Phase::outcome;
const REASON: Key<Option<String>> = Phase::reason;
const ASKED: Key<Option<String>> = Phase::asked;
const FORMER: Key<Option<Vec<String>>> = Phase::former_agents;

/// How many agents are remembered that had a phase; who had it before them is hardly still at work.
const MOST_FORMER: usize = 16;

/// Returns what is known about how a phase came to its end, beside its status.
pub fn outcome(phase: &Value) -> Option<PhaseOutcome> {
    phase.read(OUTCOME)
}

/// Returns why a phase has failed, was given back or is unclear; of the last try, while it is tried again.
pub fn reason(phase: &Value) -> &str {
    text(phase, REASON)
}

/// Notes how a phase has come to its end. What a failed one says is the reason, not context for others.
pub(super) fn note_end(phase: &mut Value, from: WorkflowStatus, to: WorkflowStatus, assumed: bool) {
    if from == Failed || to == Failed || (from, to) == (Active, Pending) {
        let said = text(phase, CONTEXT).to_owned();
        if !said.is_empty() {
            phase.set(REASON, said);
            phase.set(CONTEXT, "");
        } else if from != to && to == Failed {
            phase.unset(REASON);
        }
    }
    match (from, to) {
        (_, Completed) => {
            phase.unset(REASON);
            phase.unset(FORMER);
        }
        (Active | Failed, Pending) | (Failed, Active) => take_away(phase),
        _ => {}
    }
    match assumed {
        true => phase.set(OUTCOME, PhaseOutcome::Assumed),
        false => drop(phase.unset(OUTCOME)),
    }
}

const CONTEXT: Key<Option<String>> = Phase::context_for_next;

fn holder(phase: &Value) -> String {
    text(phase, AGENT).to_owned()
}

fn hold(phase: &mut Value, agent: &str, session: &str) {
    if text(phase, AGENT) != agent || text(phase, OWNER) != session {
        phase.set(AGENT, agent);
        phase.set(OWNER, session);
    }
    phase.unset(OUTCOME);
    if former(phase).any(|before| before == agent) {
        let others: Vec<Value> = former(phase).filter(|before| *before != agent).map(Value::from).collect();
        phase.set(FORMER, others);
    }
}

/// Returns the agents that a phase was taken from. What they were started for is over.
fn former(phase: &Value) -> impl Iterator<Item = &str> {
    phase.texts(FORMER)
}

/// Whether what an agent was started for is over: the phase was taken from it since.
fn is_over(phase: &Value, worker: Worker<'_>) -> bool {
    let by_orders = matches!(worker.named, Named::Orders(_)) && worker.moment != Moment::Start;
    by_orders && was_taken_from(phase, worker)
}

fn was_taken_from(phase: &Value, worker: Worker<'_>) -> bool {
    former(phase).any(|before| before == worker.id)
}

/// Takes a phase out of its agent's hands for good: a late word of that agent does not move it.
fn take_away(phase: &mut Value) {
    let agent = holder(phase);
    let_go(phase);
    if agent.is_empty() {
        return;
    }
    let mut all: Vec<Value> = former(phase).filter(|before| *before != agent).map(Value::from).collect();
    all.push(agent.into());
    all.drain(..all.len().saturating_sub(MOST_FORMER));
    phase.set(FORMER, all);
}

/// Takes a phase out of its agent's hands.
fn let_go(phase: &mut Value) {
    for field in [AGENT.any(), OWNER.any(), OUTCOME.any(), ASKED.any()] {
        phase.unset(field);
    }
}

/// Whether an agent of another session has a phase in hand.
fn is_elsewhere(phase: &Value, worker: Worker<'_>) -> bool {
    let session = text(phase, OWNER);
    standing(phase) == Active
        && !session.is_empty()
        && session != worker.session
        && outcome(phase) != Some(PhaseOutcome::Unclear)
}

#[cfg(test)]
mod tests {
    use super::super::{NewPhase, order};
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    /// Two phases at once for a builder, of the session s1.
    fn flow() -> Flow {
        let phase = || NewPhase { title: "T".into(), agent: "builder".into(), ..NewPhase::default() };
        let mut phases = vec![phase(), phase()];
        let waves = order(&mut phases).unwrap();
        let mut flow = Flow::new("wf", "task", &phases, &waves);
        flow.belong_to("s1");
        flow
    }

    fn worker<'a>(id: &'a str, session: &'a str, orders: Option<&'a str>) -> Worker<'a> {
        let named = orders.map_or(Named::Nothing, Named::Orders);
        Worker { id, kind: "builder", session, moment: Moment::Start, named }
    }

    #[test]
    fn names_count_for_the_owner_and_named_phases_for_all() {
        let mut flow = flow();
        let (ours, other) = (worker("a1", "s1", None), worker("b1", "s2", None));
        assert_eq!(flow.phase_of(ours, true), Some("phase_0"));
        assert_eq!(flow.phase_of(other, false), None);
        flow.give("phase_0", ours, NOW).unwrap();
        assert_eq!(flow.phase_of(ours, false), Some("phase_0"), "what it has");
        assert_eq!(flow.phase_of(worker("a1", "s2", None), false), None, "an agent of the same id elsewhere");
        assert_eq!(flow.phase_of(worker("b1", "s2", Some("phase_0")), true), None, "in somebody's hands");
        assert_eq!(flow.phase_of(worker("b1", "s2", Some("phase_1")), false), Some("phase_1"));
        assert_eq!(flow.phase_of(worker("a2", "s1", None), true), Some("phase_1"));
        assert_eq!(flow.phase_of(worker("a2", "s1", Some("other")), true), Some("phase_1"));
    }

    #[test]
    fn an_unclear_phase_is_the_last_to_be_given_by_name() {
        let mut flow = flow();
        flow.give("phase_0", worker("a1", "s1", None), NOW).unwrap();
        flow.leave_unclear("phase_0", "hm");
        assert_eq!(
            (outcome(&flow.phases()[0]), reason(&flow.phases()[0])),
            (Some(PhaseOutcome::Unclear), "hm")
        );
        let next = worker("a2", "s1", None);
        assert_eq!(flow.phase_of(next, true), Some("phase_1"));
        flow.give("phase_1", next, NOW).unwrap();
        assert_eq!(flow.phase_of(worker("a3", "s1", None), true), Some("phase_0"));
        assert_eq!(flow.phase_of(worker("b1", "s2", Some("phase_0")), false), Some("phase_0"));
    }

    #[test]
    fn a_phase_that_was_taken_from_an_agent_is_its_own_only_by_its_words_or_a_new_start() {
        let mut flow = flow();
        let started = |named| Worker { named, ..worker("a1", "s1", None) };
        let at = |moment, named| Worker { moment, ..started(named) };
        let later = |named| at(Moment::Later, named);
        flow.give("phase_0", started(Named::Nothing), NOW).unwrap();
        assert_eq!(flow.phase_of(later(Named::Nothing), true), Some("phase_0"), "it has it");
        flow.report("phase_0", Pending, &Report::default(), NOW).unwrap();
        let orders = Named::Orders("phase_0");
        assert_eq!(flow.phase_of(later(Named::Nothing), true), None, "nor the other one by its name");
        assert_eq!(flow.phase_of(later(orders), true), None);
        assert_eq!(
            flow.phase_of(at(Moment::FirstHeard, Named::Nothing), true),
            None,
            "its record may be gone"
        );
        assert_eq!(flow.phase_of(at(Moment::FirstHeard, orders), true), None);
        assert_eq!(flow.phase_of(later(Named::Words("phase_0")), true), Some("phase_0"));
        assert_eq!(
            flow.phase_of(later(Named::Orders("phase_1")), true),
            Some("phase_1"),
            "never taken from it"
        );
        assert_eq!(flow.phase_of(started(orders), true), Some("phase_0"));
        // Others have it in between; the first one is still remembered, until it is started again or the phase is done.
        for other in ["a2", "a3"] {
            flow.give("phase_0", worker(other, "s1", None), NOW).unwrap();
            flow.report("phase_0", Pending, &Report::default(), NOW).unwrap();
        }
        assert_eq!(flow.phase_of(later(orders), true), None);
        flow.give("phase_0", started(orders), NOW).unwrap();
        assert_eq!(flow.phases()[0][FORMER], json!(["a2", "a3"]));
        flow.report("phase_0", Completed, &Report::default(), NOW).unwrap();
        assert_eq!(flow.phases()[0].at(FORMER), None);
        // There is an end to what is remembered.
        for number in 0..40 {
            flow.give("phase_1", worker(&format!("n{number}"), "s1", None), NOW).unwrap();
            flow.report("phase_1", Pending, &Report::default(), NOW).unwrap();
        }
        assert_eq!(former(&flow.phases()[1]).collect::<Vec<_>>().len(), MOST_FORMER);
    }

    #[test]
    fn a_session_gives_back_what_its_agents_have() {
        let mut flow = flow();
        flow.give("phase_0", worker("a1", "s1", None), NOW).unwrap();
        flow.give("phase_1", worker("b1", "s2", None), NOW).unwrap();
        assert_eq!(flow.sessions_at_work(), ["s1", "s2"]);
        flow.pass_on("s1", "s3");
        assert_eq!(
            (flow.owner(), flow.sessions_at_work()),
            (Some("s3"), vec!["s2".to_owned(), "s3".to_owned()])
        );
        flow.give_back("s3", NOW);
        let phase = &flow.phases()[0];
        assert_eq!((standing(phase), phase.at(AGENT), phase.at(OWNER)), (Pending, None, None));
        assert_eq!(flow.sessions_at_work(), ["s2"]);
        assert_eq!(flow.owner(), Some("s3"), "whoever comes back has it again");
    }
}
