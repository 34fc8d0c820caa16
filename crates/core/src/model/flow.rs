//! Workflows: what may happen to a phase, and what follows from it.
//!
//! A workflow says what is happening, its task graph in which order. Both are edited as the values they are, so that
//! what we do not know of them stays. A phase may run when all that it depends on is completed; without a graph,
//! phases run one after the other.
//!
//! | from | may become |
//! | --- | --- |
//! | pending | active |
//! | active | completed, failed, pending (put back) |
//! | failed | active, pending (a retry) |
//! | completed | nothing else |
//!
//! Whose a workflow is, and who has its phases in hand: `hands`.

mod hands;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::changes::Changes;
use super::documents::workflow::{
    ExecutionPlan, Phase, PhaseProgress, PlannedPhase, TaskGraph, Wave, Workflow,
};
use super::ids::RULE;
use super::key::{Fields, FieldsMut, Held, Key, Text};
use super::plan::{status, texts, word};
use super::{files, ids, time};

pub use super::documents::workflow::{PhaseOutcome, WorkflowStatus};
use WorkflowStatus::{Active, Completed, Failed, Pending};
pub use hands::{Moment, Named, Ownership, Worker, outcome, reason};

/// A phase as somebody wants it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewPhase {
    pub title: String,
    pub agent: String,
    /// The places of the phases that must be completed first.
    pub depends_on: Vec<usize>,
    pub files: Vec<String>,
    /// Whether its agent is asked for a report before it stops.
    pub handover: bool,
}

/// What somebody reports of a phase.
#[derive(Debug, Default)]
pub struct Report {
    pub deliverables: Vec<String>,
    /// What the following phases should know; of a failed one, why.
    pub context: Option<String>,
    /// Whether nobody has said how it ended: it is taken to be done.
    pub assumed: bool,
    /// What git saw change meanwhile.
    pub changed: Option<Changes>,
}

/// Why something may not happen to a workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no phase `{id}`; there are {known}")]
    NoPhase { id: String, known: String },
    #[error("the phase `{id}` is {from} and cannot become {to}")]
    Wrong { id: String, from: String, to: String },
    #[error("the phase `{id}` waits for {}", on.join(", "))]
    Waits { id: String, on: Vec<String> },
    #[error("the phase `{failed}` has failed, and the workflow with it")]
    Failed { failed: String },
    #[error("the workflow is completed")]
    Over,
    #[error("the workflow has no phase that could start")]
    Stuck,
    #[error("nobody gets the phase {id:?}: {RULE}")]
    OddId { id: String },
}

/// Returns the id of a phase by its place.
pub fn phase_id(place: usize) -> String {
    format!("phase_{place}")
}

/// Puts phases in order: those whose files overlap come one after the other. Returns each one's wave, or the places
/// of those that wait for each other in a circle.
pub fn order(phases: &mut [NewPhase]) -> Result<Vec<usize>, Vec<usize>> {
    let mut needs: Vec<Vec<usize>> = phases.iter().map(|phase| phase.depends_on.clone()).collect();
    let first = waves(&needs)?;
    let mut places: Vec<usize> = (0..phases.len()).collect();
    places.sort_by_key(|place| (first[*place], *place));
    let files: Vec<Vec<&str>> =
        phases.iter().map(|phase| phase.files.iter().map(String::as_str).collect()).collect();
    for (done, &place) in places.iter().enumerate() {
        // The nearest first: what it waits for already is waited for through it.
        for &earlier in places[..done].iter().rev() {
            if files::overlap(&files[place], &files[earlier]).is_some() && !reaches(&needs, place, earlier) {
                needs[place].push(earlier);
            }
        }
    }
    let waves = waves(&needs)?;
    phases.iter_mut().zip(needs).for_each(|(phase, needs)| phase.depends_on = needs);
    Ok(waves)
}

/// Returns how many phases, at most, come before each one.
fn waves(needs: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut waves: Vec<Option<usize>> = vec![None; needs.len()];
    loop {
        let mut moved = false;
        for place in 0..needs.len() {
            let before: Option<Vec<usize>> = needs[place].iter().map(|on| waves[*on]).collect();
            if let (None, Some(before)) = (waves[place], before) {
                waves[place] = Some(before.into_iter().max().map_or(0, |wave| wave + 1));
                moved = true;
            }
        }
        if !moved {
            let stuck = (0..needs.len()).filter(|place| waves[*place].is_none()).collect();
            return waves.into_iter().collect::<Option<_>>().ok_or(stuck);
        }
    }
}

/// Whether a phase waits for another one, perhaps through others.
fn reaches(needs: &[Vec<usize>], from: usize, to: usize) -> bool {
    let (mut seen, mut next) = (vec![false; needs.len()], vec![from]);
    while let Some(place) = next.pop() {
        if !std::mem::replace(&mut seen[place], true) {
            next.extend(&needs[place]);
        }
    }
    seen[to]
}

/// A workflow and the order of its phases.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    pub workflow: Value,
    pub graph: Value,
}

impl Flow {
    /// Makes a workflow of phases that have been put in order, with the wave of each.
    pub fn new(id: &str, task: &str, phases: &[NewPhase], waves: &[usize]) -> Flow {
        let plan = |(place, new): (usize, &NewPhase)| {
            let mut phase = json!({
                Phase::id: phase_id(place), Phase::title: new.title, Phase::agent: new.agent,
                Phase::status: "pending",
                Phase::deliverables: [], Phase::context_for_next: "",
            });
            if new.handover {
                phase.set(Phase::handover, true);
            }
            phase
        };
        let phases_of_wave = |wave: usize| {
            let phases = phases.iter().enumerate().filter(|(place, _)| waves[*place] == wave);
            phases.map(|(place, new)| planned(place, new)).collect::<Vec<_>>()
        };
        let total = waves.iter().max().map_or(0, |last| last + 1);
        let workflow = json!({
            Workflow::id: id, Workflow::task: task, Workflow::status: "pending",
            Workflow::current_phase: null,
            Workflow::phases: phases.iter().enumerate().map(plan).collect::<Vec<_>>(),
        });
        let mut graph = empty_graph(id);
        graph[TaskGraph::execution_plan] = plan_of((0..total).map(phases_of_wave).collect());
        let mut flow = Flow { workflow, graph };
        flow.note_progress(None);
        flow
    }

    /// Takes a stored workflow with its graph. A graph of another workflow does not count.
    pub fn of(workflow: Value, graph: Option<Value>) -> Flow {
        let id = text(&workflow, Workflow::id).to_owned();
        let belongs = |graph: &Value| ["", &id].contains(&text(graph, TaskGraph::workflow_id));
        let graph = graph.filter(belongs).unwrap_or_else(|| empty_graph(&id));
        let mut flow = Flow { workflow, graph };
        let known = |phase: &Value| flow.planned(text(phase, Phase::id)).is_some();
        if !flow.phases().iter().all(known) {
            flow.plan_in_turn();
        }
        flow
    }

    /// Plans the phases one after the other, as a workflow without a graph means it.
    fn plan_in_turn(&mut self) {
        let ids: Vec<&str> = self.phases().iter().map(|phase| text(phase, Phase::id)).collect();
        let waves = self.phases().iter().enumerate().map(|(place, phase)| {
            let before: Vec<&str> = place.checked_sub(1).map(|before| ids[before]).into_iter().collect();
            vec![json!({
                PlannedPhase::phase_id: ids[place], PlannedPhase::agent: phase[Phase::agent],
                PlannedPhase::depends_on: before,
            })]
        });
        self.graph[TaskGraph::execution_plan] = plan_of(waves.collect());
    }

    pub fn id(&self) -> &str {
        text(&self.workflow, Workflow::id)
    }

    pub fn status(&self) -> WorkflowStatus {
        standing(&self.workflow)
    }

    pub fn phases(&self) -> &[Value] {
        self.workflow.list(Workflow::phases)
    }

    /// Returns the waves of the plan.
    pub fn waves(&self) -> &[Value] {
        self.graph.at(TaskGraph::execution_plan).list(ExecutionPlan::waves)
    }

    pub fn phase(&self, id: &str) -> Option<&Value> {
        self.phases().iter().find(|phase| text(phase, Phase::id) == id)
    }

    fn phase_mut(&mut self, place: usize) -> &mut Value {
        &mut self.workflow[Workflow::phases][place]
    }

    /// Returns the wave of a phase, and what the plan says of it.
    fn planned(&self, id: &str) -> Option<(usize, &Value)> {
        let phases = self
            .waves()
            .iter()
            .enumerate()
            .flat_map(|(wave, value)| value.list(Wave::phases).iter().map(move |phase| (wave, phase)));
        phases.into_iter().find(|(_, phase)| text(phase, PlannedPhase::phase_id) == id)
    }

    /// Whether the plan says which files a phase is about.
    pub fn names_files(&self, id: &str) -> bool {
        let files = self.planned(id).and_then(|(_, planned)| planned.read(PlannedPhase::files));
        files.is_some_and(|files| !files.is_empty())
    }

    /// Returns the phases that must be completed before this one; those of the wave before it, unless the plan says
    /// more.
    pub fn depends_on(&self, id: &str) -> Vec<&str> {
        let Some((wave, planned)) = self.planned(id) else { return Vec::new() };
        if planned.at(PlannedPhase::depends_on).is_some_and(Value::is_array) {
            return texts(planned, PlannedPhase::depends_on);
        }
        let before = wave.checked_sub(1).and_then(|before| self.waves().get(before)?.read(Wave::phases));
        before.into_iter().flatten().map(|phase| text(phase, PlannedPhase::phase_id)).collect()
    }

    /// Returns the phases before this one that are not completed.
    fn open_before(&self, id: &str) -> Vec<&str> {
        let open = |on: &&str| self.phase(on).map(standing) != Some(Completed);
        self.depends_on(id).into_iter().filter(open).collect()
    }

    fn first(&self, wanted: WorkflowStatus) -> Option<&str> {
        self.phases().iter().find(|phase| standing(phase) == wanted).map(|phase| text(phase, Phase::id))
    }

    /// Lets everything begin that waits for nothing: the first phases, and those that were put back.
    pub fn start(&mut self, now: Timestamp) -> Result<(), Refusal> {
        if let Some(failed) = self.first(Failed) {
            return Err(Refusal::Failed { failed: failed.into() });
        }
        if !self.phases().is_empty() && self.phases().iter().all(|phase| standing(phase) == Completed) {
            return Err(Refusal::Over);
        }
        let ready = self.ready();
        if ready.is_empty() && self.first(Active).is_none() {
            return Err(Refusal::Stuck);
        }
        ready.into_iter().for_each(|place| self.phase_mut(place)[Phase::status] = json!(Active));
        self.settle(None, now);
        Ok(())
    }

    /// Returns the places of pending phases that wait for nothing.
    fn ready(&self) -> Vec<usize> {
        let is_ready = |phase: &Value| {
            let id = text(phase, Phase::id);
            standing(phase) == Pending && ids::is_sound(id) && self.open_before(id).is_empty()
        };
        let phases = self.phases().iter().enumerate();
        phases.filter(|(_, phase)| is_ready(phase)).map(|(place, _)| place).collect()
    }

    /// Takes over what somebody reports of a phase. The same report again changes nothing.
    pub fn report(
        &mut self,
        id: &str,
        to: WorkflowStatus,
        report: &Report,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let place = self.phases().iter().position(|phase| text(phase, Phase::id) == id);
        let place = place.ok_or_else(|| self.no_phase(id))?;
        let from = standing(&self.phases()[place]);
        self.check(id, from, to)?;
        let phase = self.phase_mut(place);
        if from != to {
            phase[Phase::status] = json!(to);
        }
        add_deliverables(phase, &report.deliverables);
        if let Some(context) = &report.context {
            phase.set(Phase::context_for_next, context.as_str());
        }
        note_changes(phase, report.changed.as_ref());
        hands::note_end(phase, from, to, report.assumed);
        if from != to && (to == Completed || from == Failed) {
            self.go_on(place, from);
        }
        self.settle((from != to && to == Completed).then_some(id), now);
        Ok(())
    }

    fn check(&self, id: &str, from: WorkflowStatus, to: WorkflowStatus) -> Result<(), Refusal> {
        match (from, to) {
            _ if from == to => Ok(()),
            (Active, Completed | Failed | Pending) | (Failed, Pending) => Ok(()),
            (Pending | Failed, Active) if !ids::is_sound(id) => Err(Refusal::OddId { id: id.into() }),
            (Pending | Failed, Active) => {
                let on = self.open_before(id);
                if !on.is_empty() {
                    return Err(Refusal::Waits {
                        id: id.into(),
                        on: on.into_iter().map(str::to_owned).collect(),
                    });
                }
                match self.first(Failed) {
                    Some(failed) if from == Pending => Err(Refusal::Failed { failed: failed.into() }),
                    _ => Ok(()),
                }
            }
            _ => Err(Refusal::Wrong { id: id.into(), from: word(from), to: word(to) }),
        }
    }

    fn no_phase(&self, id: &str) -> Refusal {
        let known: Vec<&str> = self.phases().iter().map(|phase| text(phase, Phase::id)).collect();
        let known = if known.is_empty() { "none".into() } else { known.join(", ") };
        Refusal::NoPhase { id: id.into(), known }
    }

    /// Lets begin what waited for a phase and does so no more, unless one has failed; when one is tried again, also what its
    /// failure has held up. What was put back waits for a start.
    fn go_on(&mut self, changed: usize, from: WorkflowStatus) {
        if self.first(Failed).is_some() {
            return;
        }
        let after = text(&self.phases()[changed], Phase::id).to_owned();
        for place in self.ready() {
            let waited = self.depends_on(text(&self.phases()[place], Phase::id));
            let begins = waited.contains(&after.as_str()) || (from == Failed && !waited.is_empty());
            if place != changed && begins {
                self.phase_mut(place)[Phase::status] = json!(Active);
            }
        }
    }

    /// Computes what follows from the phases.
    fn settle(&mut self, completed: Option<&str>, now: Timestamp) {
        for place in 0..self.phases().len() {
            let phase = &self.phases()[place];
            let context = self.context_of(text(phase, Phase::id));
            if matches!(standing(phase), Active | Failed) && !context.is_empty() {
                self.phase_mut(place)[Phase::context_from_previous] = context.into();
            }
        }
        let status = status_of(&self.phases().iter().map(standing).collect::<Vec<_>>());
        let current = self.first(Active).or_else(|| self.first(Failed)).map(str::to_owned);
        set(&mut self.workflow, Workflow::status, json!(status));
        set(&mut self.workflow, Workflow::current_phase, current.into());
        self.note_progress(completed.map(|id| (id, now)));
    }

    /// Returns what the phases before this one said about it.
    fn context_of(&self, id: &str) -> String {
        let before = self.depends_on(id).into_iter().filter_map(|on| self.phase(on));
        let said = before
            .filter(|phase| standing(phase) == Completed)
            .map(|phase| text(phase, Phase::context_for_next));
        said.filter(|said| !said.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// Writes into the graph how far the phases are.
    fn note_progress(&mut self, completed: Option<(&str, Timestamp)>) {
        let phases: Vec<(String, WorkflowStatus)> =
            self.phases().iter().map(|phase| (text(phase, Phase::id).to_owned(), standing(phase))).collect();
        let begun = phases.iter().filter(|(_, status)| *status != Pending);
        let wave = begun.filter_map(|(id, _)| Some(self.planned(id)?.0)).max().unwrap_or(0);
        let wave = self.waves().get(wave).at(Wave::wave_id).cloned().unwrap_or(0.into());
        let (id, status) = (self.workflow[Workflow::id].clone(), self.workflow[Workflow::status].clone());
        set(&mut self.graph, TaskGraph::workflow_id, id);
        set(&mut self.graph, TaskGraph::status, status);
        set(&mut self.graph, TaskGraph::current_wave, wave);
        let known = &mut self.graph[TaskGraph::phase_status];
        if !known.is_object() {
            *known = json!({});
        }
        for (id, status) in phases {
            let progress = &mut known[&id];
            if !progress.is_object() {
                *progress = json!({});
            }
            set(progress, Phase::status, json!(status));
            match completed {
                Some((of, at)) if of == id => progress[PhaseProgress::completed_at] = time::stamp(at).into(),
                _ => {}
            }
        }
    }
}

/// Returns where a workflow or a phase stands.
pub fn standing(item: &Value) -> WorkflowStatus {
    status(item).unwrap_or_default()
}

/// Returns where a workflow stands by its phases.
fn status_of(phases: &[WorkflowStatus]) -> WorkflowStatus {
    let all = |status| phases.iter().all(|phase| *phase == status);
    match phases {
        _ if phases.contains(&Failed) => Failed,
        _ if all(Pending) => Pending,
        _ if all(Completed) => Completed,
        _ => Active,
    }
}

fn planned(place: usize, new: &NewPhase) -> Value {
    let depends_on: Vec<String> = new.depends_on.iter().copied().map(phase_id).collect();
    let mut planned = json!({
        PlannedPhase::phase_id: phase_id(place), PlannedPhase::agent: new.agent,
        PlannedPhase::depends_on: depends_on,
    });
    if !new.files.is_empty() {
        planned[PlannedPhase::files] = json!(new.files);
    }
    planned
}

fn plan_of(waves: Vec<Vec<Value>>) -> Value {
    let total = waves.len();
    let wave = |(wave, phases): (usize, Vec<Value>)| {
        let parallel = phases.len() > 1;
        json!({Wave::wave_id: wave, Wave::parallel: parallel, Wave::phases: phases})
    };
    json!({
        ExecutionPlan::total_waves: total,
        ExecutionPlan::waves: waves.into_iter().enumerate().map(wave).collect::<Vec<_>>(),
    })
}

fn empty_graph(id: &str) -> Value {
    json!({
        TaskGraph::workflow_id: id, TaskGraph::status: "pending", TaskGraph::current_wave: 0,
        TaskGraph::execution_plan: {ExecutionPlan::total_waves: 0, ExecutionPlan::waves: []},
        TaskGraph::phase_status: {}, TaskGraph::compliance_log: [],
    })
}

/// Adds what changed in one more try.
fn note_changes(phase: &mut Value, changed: Option<&Changes>) {
    if let Some(changed) = changed {
        phase[Phase::changed] = changed.clone().and(phase.at(Phase::changed)).value();
    }
}

/// Appends what is not there yet.
fn add_deliverables(phase: &mut Value, deliverables: &[String]) {
    for deliverable in deliverables {
        if !texts(phase, Phase::deliverables).contains(&deliverable.as_str()) {
            match phase.list_mut(Phase::deliverables) {
                Some(known) => known.push(deliverable.as_str().into()),
                None => phase[Phase::deliverables] = json!([deliverable]),
            }
        }
    }
}

/// Sets a field that says something else; a number that is spelled differently stays.
fn set<T>(value: &mut Value, key: Key<T>, to: Value) {
    let same = match (value.at(key), &to) {
        (Some(Value::Number(known)), Value::Number(to)) => known.as_f64() == to.as_f64(),
        (known, to) => known == Some(to),
    };
    if !same {
        value[key] = to;
    }
}

fn text<T: Held<Kind: Text>>(value: &Value, key: Key<T>) -> &str {
    value.text(key).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn phase(depends_on: &[usize], files: &[&str]) -> NewPhase {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        NewPhase {
            title: "T".into(),
            agent: "a".into(),
            depends_on: depends_on.to_vec(),
            files,
            handover: false,
        }
    }

    fn flow(mut phases: Vec<NewPhase>) -> Flow {
        let waves = order(&mut phases).unwrap();
        Flow::new("wf_1", "task", &phases, &waves)
    }

    fn report(flow: &mut Flow, place: usize, to: WorkflowStatus) -> Result<(), String> {
        flow.report(&phase_id(place), to, &Report::default(), NOW).map_err(|refusal| refusal.to_string())
    }

    /// Returns the first letters of the workflow's and the phases' statuses.
    fn letters(flow: &Flow) -> String {
        let status = |status| word(status)[..1].to_owned();
        let phases: String = flow.phases().iter().map(|phase| status(standing(phase))).collect();
        format!("{} {phases}", status(flow.status()))
    }

    #[test]
    fn phases_run_one_after_the_other() {
        let mut flow = flow(vec![phase(&[], &[]), phase(&[0], &[]), phase(&[1], &[])]);
        assert_eq!((letters(&flow).as_str(), &flow.workflow["current_phase"]), ("p ppp", &Value::Null));
        flow.start(NOW).unwrap();
        assert_eq!((letters(&flow).as_str(), &flow.workflow["current_phase"]), ("a app", &json!("phase_0")));
        let before = flow.clone();
        flow.start(NOW).unwrap();
        assert_eq!(flow, before, "a repeat changes nothing");
        let said = Report {
            deliverables: vec!["a.rs".into(), "a.rs".into()],
            context: Some("four functions".into()),
            ..Report::default()
        };
        for _ in 0..2 {
            flow.report("phase_0", Completed, &said, NOW).unwrap();
            assert_eq!(letters(&flow), "a cap");
            assert_eq!(flow.phases()[0]["deliverables"], json!(["a.rs"]));
            assert_eq!(flow.phases()[1]["context_from_previous"], "four functions");
        }
        report(&mut flow, 1, Completed).unwrap();
        report(&mut flow, 2, Completed).unwrap();
        assert_eq!((letters(&flow).as_str(), &flow.workflow["current_phase"]), ("c ccc", &Value::Null));
        assert_eq!(flow.graph["current_wave"], 2);
        assert_eq!(flow.graph["phase_status"]["phase_2"]["completed_at"], "1970-01-01T00:00:00.000Z");
        assert_eq!(flow.start(NOW), Err(Refusal::Over));
    }

    #[test]
    fn only_the_transitions_of_the_table_are_allowed() {
        for from in [Pending, Active, Completed, Failed] {
            for to in [Pending, Active, Completed, Failed] {
                let mut flow = flow(vec![phase(&[], &[])]);
                flow.phase_mut(0)["status"] = json!(from);
                let allowed = from == to
                    || matches!(
                        (from, to),
                        (Pending | Failed, Active)
                            | (Active, Completed | Failed)
                            | (Active | Failed, Pending)
                    );
                assert_eq!(report(&mut flow, 0, to).is_ok(), allowed, "{from:?} to {to:?}");
            }
        }
        let mut flow = flow(vec![phase(&[], &[]), phase(&[0], &[])]);
        assert_eq!(report(&mut flow, 1, Active).unwrap_err(), "the phase `phase_1` waits for phase_0");
        assert_eq!(
            report(&mut flow, 7, Active).unwrap_err(),
            "there is no phase `phase_7`; there are phase_0, phase_1"
        );
    }

    #[test]
    fn a_failed_phase_holds_everything_until_it_is_retried() {
        let mut flow = flow(vec![phase(&[], &[]), phase(&[], &[]), phase(&[0], &[]), phase(&[1, 2], &[])]);
        flow.start(NOW).unwrap();
        assert_eq!(letters(&flow), "a aapp");
        report(&mut flow, 1, Failed).unwrap();
        report(&mut flow, 0, Completed).unwrap();
        assert_eq!((letters(&flow).as_str(), &flow.workflow["current_phase"]), ("f cfpp", &json!("phase_1")));
        assert!(report(&mut flow, 2, Active).unwrap_err().contains("`phase_1` has failed"));
        assert!(flow.start(NOW).is_err());
        let mut later = flow.clone();
        report(&mut flow, 1, Active).unwrap();
        assert_eq!(letters(&flow), "a caap", "what was held goes on");
        report(&mut later, 1, Pending).unwrap();
        assert_eq!(letters(&later), "a cpap");
        report(&mut later, 1, Active).unwrap();
        report(&mut later, 1, Completed).unwrap();
        assert_eq!(letters(&later), "a ccap");
        report(&mut later, 2, Completed).unwrap();
        assert_eq!(letters(&later), "a ccca");
    }

    #[test]
    fn phases_that_share_files_never_share_a_wave() {
        let check =
            |mut phases: Vec<NewPhase>, expected: &[usize]| assert_eq!(order(&mut phases).unwrap(), expected);
        check(vec![phase(&[], &["a"]), phase(&[], &["b"]), phase(&[], &[])], &[0, 0, 0]);
        check(vec![phase(&[], &["src"]), phase(&[], &["src/a.rs"]), phase(&[], &["b"])], &[0, 1, 0]);
        check(vec![phase(&[], &["a"]), phase(&[], &["a"]), phase(&[], &["a"])], &[0, 1, 2]);
        check(vec![phase(&[1], &["a"]), phase(&[], &["a"]), phase(&[], &["a"])], &[2, 0, 1]);
        let mut circle = vec![phase(&[1], &[]), phase(&[0], &[]), phase(&[], &[])];
        assert_eq!(order(&mut circle), Err(vec![0, 1]));
    }

    #[test]
    fn a_workflow_without_its_graph_runs_in_turn_and_a_foreign_plan_by_waves() {
        let made = flow(vec![phase(&[], &[]), phase(&[], &[]), phase(&[], &[])]);
        let other = json!({"workflow_id": "wf_other", "execution_plan": {"waves": []}});
        for graph in [None, Some(other)] {
            let mut flow = Flow::of(made.workflow.clone(), graph);
            flow.start(NOW).unwrap();
            assert_eq!(letters(&flow), "a app");
            assert_eq!(Flow::of(flow.workflow.clone(), Some(flow.graph.clone())), flow);
        }
        let phases =
            |ids: &[usize]| ids.iter().map(|id| json!({"phase_id": phase_id(*id)})).collect::<Vec<_>>();
        let waves =
            json!([{"wave_id": 1, "phases": phases(&[0, 1])}, {"wave_id": 2, "phases": phases(&[2])}]);
        let mut flow = Flow::of(made.workflow, Some(json!({"execution_plan": {"waves": waves}, "mine": 1})));
        flow.start(NOW).unwrap();
        assert_eq!(letters(&flow), "a aap");
        report(&mut flow, 0, Completed).unwrap();
        assert_eq!(letters(&flow), "a cap");
        report(&mut flow, 1, Completed).unwrap();
        assert_eq!((letters(&flow).as_str(), &flow.graph["mine"]), ("a cca", &json!(1)));
    }

    #[test]
    fn a_circle_drawn_by_hand_is_no_loop_for_us() {
        let mut flow = flow(vec![phase(&[], &[]), phase(&[0], &[])]);
        flow.graph["execution_plan"]["waves"][0]["phases"][0]["depends_on"] = json!(["phase_1", "gone"]);
        assert_eq!(flow.start(NOW), Err(Refusal::Stuck));
        assert_eq!(report(&mut flow, 0, Active).unwrap_err(), "the phase `phase_0` waits for phase_1, gone");
    }
}
