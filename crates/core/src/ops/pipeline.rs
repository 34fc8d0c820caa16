//! The pipeline of a project: begun, planned, asked for orders, reported to. One commit each, of all six documents.

use jiff::Timestamp;
use serde_json::Value;

use super::edit::Target;
use super::settings::Settings;
use super::{Actor, Error, Result};
use crate::hint;
use crate::model::documents::pipeline::{Mode, PmState, RunStatus};
use crate::model::hint::{Door, Hint};
use crate::model::json;
use crate::model::key::Fields;
use crate::model::kind::{Doc, Kind};
use crate::model::next::{Input, Next, See, With};
use crate::model::path::{self, Path};
use crate::model::pipeline::table::{self, Outcome, Role};
use crate::model::pipeline::{Caps, Content, KINDS, NO_GROUP, Order, Pipeline, Plan, Refusal, Said};
use crate::model::plan::word;
use crate::model::redact::redact_value;
use crate::model::room::Room;
use crate::model::time;
use crate::store::{Engine, Transaction};

/// The largest report, in bytes of JSON: it goes into a message and, in part, into prompts.
const LARGEST_REPORT: usize = 64 * 1024;

/// What a use case did.
#[derive(Debug)]
pub struct PipelineChanged {
    /// The documents as they are stored now.
    pub pipeline: Pipeline,
    /// Whether anything changed.
    pub changed: bool,
    pub warnings: Vec<Hint>,
}

/// A run as somebody wants it.
#[derive(Debug, Clone)]
pub struct NewRun {
    pub requirements: String,
    pub mode: Option<Mode>,
    /// Whether it may take the place of one that is not over.
    pub replace: bool,
}

/// What somebody says at the end of an order.
#[derive(Debug, Clone)]
pub struct Report {
    pub role: Role,
    /// The group, or `-`.
    pub group: String,
    /// The word for what came out.
    pub status: String,
    pub content: Content,
    pub order: Option<String>,
}

/// Begins a run. The same one again is no second one; one that is over makes room, and the history keeps it.
pub fn init(
    engine: &dyn Engine,
    new: &NewRun,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PipelineChanged> {
    if new.requirements.trim().is_empty() {
        return Err(Error::Input("the requirements are blank".into()));
    }
    json::check_input(&new.requirements.as_str().into()).map_err(Error::Input)?;
    let tx = PipelineTransaction::open(engine, "pm_state", &path::ROOT, expect, actor)?;
    let known = tx.before.as_ref().filter(|known| known.status() != RunStatus::Completed);
    if let Some(known) = known {
        let same = known.requirements() == new.requirements && known.requested_mode() == new.mode;
        if same && !new.replace {
            let known = known.clone();
            return tx.finish(known, "pipeline init", actor);
        }
        if !new.replace {
            return Err(unfinished(known));
        }
    }
    let session = tx.free_session();
    let pipeline = Pipeline::new(&session, &new.requirements, new.mode, tx.now);
    tx.finish(pipeline, "pipeline init", actor)
}

/// Adopts a plan.
pub fn plan(
    engine: &dyn Engine,
    plan: &Value,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<PipelineChanged> {
    let plan = read_plan(plan)?;
    let tx = PipelineTransaction::open(engine, "pm_state", &path::ROOT, expect, actor)?;
    let mut pipeline = tx.pipeline(engine)?;
    adopt(&mut pipeline, &plan, tx.now)?;
    tx.finish(pipeline, "pipeline plan", actor)
}

pub(super) fn read_plan(plan: &Value) -> Result<Plan> {
    json::check_input(plan).map_err(Error::Input)?;
    let mut plan = plan.clone();
    redact_value(&mut plan);
    Plan::read(&plan).map_err(|refusal| refused(&refusal, None))
}

pub(super) fn adopt(pipeline: &mut Pipeline, plan: &Plan, now: Timestamp) -> Result<()> {
    pipeline.adopt(plan, now).map(drop).map_err(|refusal| refused(&refusal, Some(pipeline)))
}

/// Opens the orders that may be opened. Returns all that are open.
pub fn next(
    engine: &dyn Engine,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<(Vec<Order>, PipelineChanged)> {
    let caps = caps(engine)?;
    let tx = PipelineTransaction::open(engine, "orchestrator_state", &path::ROOT, expect, actor)?;
    let mut pipeline = tx.pipeline(engine)?;
    let orders = pipeline.give_out(caps, tx.now);
    Ok((orders, tx.finish(pipeline, "pipeline next", actor)?))
}

/// The same for who starts the agents by itself, and counts them when it does.
pub fn next_within(engine: &dyn Engine, caps: Caps, actor: &Actor) -> Result<(Vec<Order>, PipelineChanged)> {
    let tx = PipelineTransaction::open(engine, "orchestrator_state", &path::ROOT, None, actor)?;
    let mut pipeline = tx.pipeline(engine)?;
    let orders = pipeline.next(caps, tx.now);
    Ok((orders, tx.finish(pipeline, "pipeline next", actor)?))
}

/// Takes a report over. Returns the group that it was about, or `-`.
pub fn report(
    engine: &dyn Engine,
    report: &Report,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<(String, PipelineChanged)> {
    let (outcome, report) = (check_report(report)?, &redacted(report));
    let entry: Path = format!("[{}]", Value::from(report.group.as_str()))
        .parse()
        .map_err(|error| Error::Input(format!("{error}")))?;
    let (kind, path) = match report.group.as_str() {
        NO_GROUP => ("orchestrator_state", &path::ROOT),
        _ => ("group_status", &entry),
    };
    let tx = PipelineTransaction::open(engine, kind, path, expect, actor)?;
    let mut pipeline = tx.pipeline(engine)?;
    let open: Vec<Order> = pipeline.open_orders().collect();
    let group = take_report(&mut pipeline, report, outcome, tx.now, actor.door)?;
    let done = open.iter().filter(|order| pipeline.said(&order.id).is_some());
    for order in done.cloned().collect::<Vec<_>>() {
        pipeline.note_success(&order);
    }
    Ok((group, tx.finish(pipeline, "pipeline report", actor)?))
}

/// Returns a report without the secrets that an agent may have told.
pub(super) fn redacted(report: &Report) -> Report {
    let mut report = report.clone();
    let mut content = Value::Object(std::mem::take(&mut report.content));
    redact_value(&mut content);
    if let Value::Object(content) = content {
        report.content = content;
    }
    report
}

/// Refuses what no order could be answered with.
pub(super) fn check_report(report: &Report) -> Result<Outcome> {
    let outcome = table::outcome(report.role, &report.status).map_err(|allowed| {
        let (role, said) = (word(report.role), shown(&report.status));
        Error::Input(format!("`{said}` is no status of {role}; allowed are {}", allowed.join(", ")))
    })?;
    let content = Value::Object(report.content.clone());
    json::check_input(&content).map_err(Error::Input)?;
    let size = content.to_string().len();
    if size > LARGEST_REPORT {
        return Err(Error::Input(format!(
            "the report is {size} bytes long; at most {LARGEST_REPORT} are allowed: name files instead of quoting them"
        )));
    }
    Ok(outcome)
}

/// Moves a run by a report. Returns the group that it was about, or `-`.
pub(super) fn take_report(
    pipeline: &mut Pipeline,
    report: &Report,
    outcome: Outcome,
    now: Timestamp,
    door: &dyn Door,
) -> Result<String> {
    let said = Said {
        role: report.role,
        group: &report.group,
        outcome,
        content: &report.content,
        order: report.order.as_deref(),
    };
    let effect = pipeline.report(&said, now).map_err(|refusal| match &refusal {
        Refusal::NotAllowed { allowed, .. } if allowed.is_empty() => {
            let plan = hint!["; it is answered by `", Next::HandInPlan(Input::File), "`"];
            Error::refused(refusal.to_string() + &door.tell(&plan), open_hint(Some(pipeline)))
        }
        refusal => refused(refusal, Some(pipeline)),
    })?;
    Ok(effect.group().to_owned())
}

/// Returns the run as it stands.
pub fn show(engine: &dyn Engine) -> Result<Pipeline> {
    // Readers take no lock. Every change of the run counts in the orchestrator's state, so that documents of two
    // moments are noticed.
    let clock = || Ok::<_, Error>(engine.read(&doc("orchestrator_state"))?.map(|document| document.revision));
    let mut before = clock()?;
    loop {
        let mut values = Vec::new();
        for kind in KINDS {
            values.push(engine.read(&doc(kind))?.map(|document| document.value));
        }
        let after = clock()?;
        if before == after {
            let mut pipeline = assemble(&values, Timestamp::UNIX_EPOCH).ok_or_else(|| none(engine))?;
            pipeline.heed_edits(Timestamp::UNIX_EPOCH);
            return Ok(pipeline);
        }
        before = after;
    }
}

/// Returns how many may work at once, by the configuration.
pub fn caps(engine: &dyn Engine) -> Result<Caps> {
    Ok(Caps::of(Settings::read(engine)?.max_parallel_agents()))
}

/// Refuses a group that is not there.
pub fn check_group(pipeline: &Pipeline, group: &str) -> Result<()> {
    pipeline.check_group(group).map_err(|refusal| refused(&refusal, Some(pipeline)))
}

/// The documents of the run, open for one change.
pub(super) struct PipelineTransaction<'e> {
    pub(super) transaction: Box<dyn Transaction + 'e>,
    pub(super) now: Timestamp,
    before: Option<Pipeline>,
    /// The documents as they are stored, in the order of their kinds.
    stored: Vec<Option<Value>>,
}

impl<'e> PipelineTransaction<'e> {
    /// Waits for its turn, and refuses when the document that was named has moved on.
    pub(super) fn open(
        engine: &'e dyn Engine,
        kind: &str,
        path: &Path,
        expect: Option<u64>,
        actor: &Actor,
    ) -> Result<PipelineTransaction<'e>> {
        let mut transaction = engine.begin(&[&Room::Pipeline])?;
        Target { doc: &doc(kind), path, expect }.expect_revision(&mut *transaction)?;
        let mut stored = Vec::new();
        for kind in KINDS {
            stored.push(transaction.get(&doc(kind))?.cloned());
        }
        let now = actor.now();
        let mut before = assemble(&stored, now);
        if let Some(pipeline) = &mut before {
            let void = pipeline.heed_edits(now);
            pipeline.log_edits(&void, now);
        }
        Ok(PipelineTransaction { transaction, now, before, stored })
    }

    pub(super) fn pipeline(&self, engine: &dyn Engine) -> Result<Pipeline> {
        self.before.clone().ok_or_else(|| none(engine))
    }

    /// Returns a session id that no run before has: within one second they are numbered.
    fn free_session(&self) -> String {
        let id = format!("v4_{}", time::compact(self.now));
        let before = self.before.as_ref().and_then(|before| before.session().strip_prefix(&id));
        match before.map(|rest| rest.strip_prefix('_').and_then(|number| number.parse().ok())) {
            None => id,
            Some(number) => format!("{id}_{}", number.unwrap_or(1u64).saturating_add(1)),
        }
    }

    /// Makes it happen, as far as something is other than before.
    pub(super) fn finish(
        mut self,
        mut pipeline: Pipeline,
        op: &str,
        actor: &Actor,
    ) -> Result<PipelineChanged> {
        let mut changed = false;
        for (place, value) in pipeline.documents().into_iter().enumerate() {
            if self.stored[place].as_ref() != Some(value) {
                self.transaction.put(&doc(KINDS[place]), value.clone())?;
                changed = true;
            }
        }
        let mut warnings = Vec::new();
        if changed {
            let committed = self.transaction.commit(&actor.entry(op))?;
            warnings = committed.warnings;
            for (doc, document) in committed.documents {
                if let Some(place) = pipeline.document_mut(doc.kind.name) {
                    *place = document.value;
                }
            }
        }
        Ok(PipelineChanged { pipeline, changed, warnings })
    }
}

/// Puts the documents together. Without the project manager's there is no run; what else is missing begins empty.
fn assemble(stored: &[Option<Value>], now: Timestamp) -> Option<Pipeline> {
    let pm = stored.first()?.clone()?;
    let session = pm.text(PmState::session_id).unwrap_or_default();
    let mut pipeline = Pipeline::new(session, "", None, now);
    for (kind, value) in KINDS.into_iter().zip(stored) {
        if let (Some(value), Some(place)) = (value, pipeline.document_mut(kind)) {
            place.clone_from(value);
        }
    }
    Some(pipeline)
}

fn doc(kind: &str) -> Doc {
    Doc::shared(Kind::find(kind).expect("the pipeline's kinds are known"), Room::Pipeline)
}

fn none(engine: &dyn Engine) -> Error {
    let place = engine.place(&doc("pm_state"));
    let hint = hint!["begin one: ", Next::BeginPipeline];
    Error::missing(format!("there is no pipeline yet: `{place}` does not exist"), hint)
}

fn unfinished(known: &Pipeline) -> Error {
    Error::refused(
        format!("the run `{}` is not over: {}", known.session(), known.summary()),
        hint![
            "see it: ",
            See::Pipeline,
            "\ngo on: ",
            Next::AskForOrders,
            "\nor put it aside with ",
            With::Replace,
            ": `",
            See::History("pm_state"),
            "` keeps it",
        ],
    )
}

/// Returns a word that somebody typed, short enough for a sentence.
fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Turns a refusal into an error with what to do next.
fn refused(refusal: &Refusal, pipeline: Option<&Pipeline>) -> Error {
    let message = refusal.to_string();
    match refusal {
        Refusal::Plan(_) | Refusal::Report(_) | Refusal::NeedsGroup { .. } => Error::Input(message),
        Refusal::OtherOrder { .. } => Error::Input(message),
        Refusal::NoGroup { .. } => Error::missing(message, hint!["see them: ", See::Pipeline]),
        Refusal::NoOrder { .. } => Error::missing(message, hint!["see what is open: ", Next::AskForOrders]),
        Refusal::Reported { .. } => Error::clash(
            message,
            hint![
                "nothing was changed; see how the group stands: ",
                See::Pipeline,
                "\nsee what is open: ",
                Next::AskForOrders,
            ],
        ),
        Refusal::Planned => Error::refused(
            message,
            hint![
                "go on: ",
                Next::AskForOrders,
                "\nwhen all groups are complete, `",
                Next::AskForMoreWork,
                "` asks for more",
            ],
        ),
        Refusal::Over => Error::refused(message, hint!["begin the next one: ", Next::BeginPipeline]),
        Refusal::NoneOpen { .. } => Error::refused(message, open_hint(pipeline)),
        Refusal::WhichOrder { .. } => Error::refused(message, hint!["say which one with ", With::Order]),
        Refusal::NotAllowed { .. } => Error::refused(message, open_hint(pipeline)),
        Refusal::Unproven { .. } => Error::refused(
            message,
            hint![
                "report it with a file: {\"evidence\": [{\"requirement\": \"…\", \"met\": true, \"evidence\": \"…\"}]}\nsee what needs an entry: ",
                Next::AskForOrders,
                "\nor ask for more work: ",
                Next::AskForMoreWork,
            ],
        ),
        Refusal::NoResults => Error::refused(
            message,
            hint![
                "report it with a file: {\"test_results\": {\"integration_tests\": \"8/8 passed\"}}\nor say why there are none: ",
                With::WithoutResults,
                " (the reason is kept and shown)",
            ],
        ),
        Refusal::Contradiction(_) => Error::refused(message, "report FAIL, or what the tests really gave"),
    }
}

/// Says what is waited for.
fn open_hint(pipeline: Option<&Pipeline>) -> Hint {
    let open: Vec<String> = pipeline
        .into_iter()
        .flat_map(Pipeline::open_orders)
        .map(|order| format!("{} {} ({})", word(order.role), order.group, word(order.purpose)))
        .collect();
    match open.is_empty() {
        true => hint!["ask for the order first: ", Next::AskForOrders],
        false => {
            hint![format!("waited for: {}\nask for what is due: ", open.join(", ")), Next::AskForOrders,]
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::model::hint::Plain;
    use crate::store::memory::MemoryEngine;

    /// What somebody does to a run, sensible or not.
    #[derive(Debug, Clone)]
    enum Act {
        Init(bool),
        Plan(Value),
        Next,
        /// A role, a group, a status and a content.
        Report(usize, usize, usize, usize),
        /// The answer to an open order: which one, and which of its statuses.
        Answer(usize, usize),
        /// Somebody writes what he likes into a field that the shapes leave open.
        Vandal(usize, usize),
    }

    const ROLES: [Role; 4] = [Role::Pm, Role::Developer, Role::QaExpert, Role::TechLead];
    const GROUPS: [&str; 6] = ["-", "A", "B", "C", "nobody", "../x"];

    fn contents() -> Vec<Value> {
        vec![
            json!({}),
            json!({"notes": "x", "files_modified": ["a"], "commits": ["c"], "unit_tests_status": "1/2 passing"}),
            json!({"test_results": {"e2e_tests": "9999999999999999999999/1", "unit_tests": {"total": -1}, "x": null}}),
            json!({"feedback": "no", "issues": [], "quality_metrics": {"first_pass_approval": true, "x": [1]}}),
            json!({"evidence": [{"requirement": "all", "met": true, "evidence": "seen"}], "id": 1, "read": "x"}),
            json!({"feedback": 1, "notes": 2, "context": 3, "test_results": 4, "branch_name": "-x"}),
        ]
    }

    fn plans() -> Vec<Value> {
        vec![
            json!({"task_groups": [{"id": "A"}, {"id": "B"}, {"id": "C", "depends_on": ["A"]}]}),
            json!({"all_tasks": [{"id": "T1"}, {"id": "T2", "description": "x"}]}),
            json!({"task_groups": [{"id": "B", "can_parallel": false}, {"id": "D"}], "mode": "parallel"}),
            json!({"task_groups": [{"id": "A", "depends_on": ["A"]}]}),
            json!([]),
        ]
    }

    const FIELDS: [(&str, &str); 11] = [
        ("orchestrator_state", "orders"),
        ("orchestrator_state", "past_orders"),
        ("orchestrator_state", "plans"),
        ("orchestrator_state", "next_order"),
        ("orchestrator_state", "stop_reason"),
        ("orchestrator_state", "handoff"),
        ("orchestrator_state", "costs"),
        ("group_status", "counts"),
        ("group_status", "next_order"),
        ("group_status", "handoff"),
        ("group_status", "escalations"),
    ];

    fn junk() -> Vec<Value> {
        let order = json!({"id": "o", "role": "pm", "group_id": "A", "purpose": "simplify"});
        vec![
            Value::Null,
            json!("x"),
            json!(-1.5),
            json!([]),
            json!({}),
            json!([1, null, "x", {"id": 1}, order, order]),
            json!({"purpose": "final_check", "developer": "many", "content": [1]}),
            json!({"purpose": "nothing", "developer": 18_446_744_073_709_551_615_u64}),
        ]
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            1 => any::<bool>().prop_map(Act::Init),
            3 => prop::sample::select(plans()).prop_map(Act::Plan),
            6 => Just(Act::Next),
            4 => (0..4usize, 0..6usize, 0..16usize, 0..6usize).prop_map(|(role, group, status, content)| Act::Report(role, group, status, content)),
            12 => (0..8usize, 0..6usize).prop_map(|(order, status)| Act::Answer(order, status)),
            3 => (0..FIELDS.len(), 0..8usize).prop_map(|(field, value)| Act::Vandal(field, value)),
        ]
    }

    fn perform(engine: &MemoryEngine, act: &Act, actor: &Actor) -> Result<()> {
        match act {
            Act::Init(replace) => {
                let new = NewRun { requirements: "all".into(), mode: None, replace: *replace };
                init(engine, &new, None, actor).map(drop)
            }
            Act::Plan(plan) => super::plan(engine, plan, None, actor).map(drop),
            Act::Next => {
                let (orders, done) = next(engine, None, actor)?;
                for order in &orders {
                    let text =
                        crate::view::prompt::order(&done.pipeline, order, &Plain)["prompt"].to_string();
                    assert!(text.len() < 32_000);
                }
                let caps = caps(engine)?;
                crate::view::pipeline::head(&done.pipeline, false, &Plain);
                crate::view::pipeline::table(&done.pipeline, caps, &Plain);
                Ok(())
            }
            Act::Report(role, group, status, content) => {
                let role = ROLES[*role];
                let words = table::words_of(role);
                let status = words.get(*status).map_or("WRONG", String::as_str).to_owned();
                let content = contents()[*content].as_object().cloned().unwrap_or_default();
                let group = GROUPS[*group].to_owned();
                super::report(engine, &Report { role, group, status, content, order: None }, None, actor)
                    .map(drop)
            }
            Act::Answer(order, status) => {
                let pipeline = show(engine)?;
                let open: Vec<Order> = pipeline.open_orders().collect();
                let Some(order) = open.get(order % open.len().max(1)) else { return Ok(()) };
                let allowed = table::allowed(order.purpose);
                let Some(said) = allowed.get(status % allowed.len().max(1)) else { return Ok(()) };
                let content = contents()[*status].as_object().cloned().unwrap_or_default();
                let report = Report {
                    role: order.role,
                    group: order.group.clone(),
                    status: word(said),
                    content,
                    order: Some(order.id.clone()),
                };
                super::report(engine, &report, None, actor).map(drop)
            }
            Act::Vandal(field, value) => {
                let (kind, field) = FIELDS[*field];
                let path = if kind == "group_status" { format!("A.{field}") } else { field.to_owned() };
                let path: Path = path.parse().expect("a constant path");
                let doc = doc(kind);
                let target = Target { doc: &doc, path: &path, expect: None };
                super::super::edit::set(engine, &target, junk()[*value].clone(), actor).map(drop)
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn whatever_happens_the_documents_stay_valid(acts in prop::collection::vec(act(), 1..40)) {
            let engine = MemoryEngine::default();
            let actor = Actor { clock: Arc::new(Timestamp::UNIX_EPOCH), session: None, acting: None, user: "tester".into(), door: &Plain };
            let read = |kind: &str| engine.read(&doc(kind)).unwrap();
            perform(&engine, &Act::Init(false), &actor).unwrap();
            perform(&engine, &Act::Plan(plans().remove(0)), &actor).unwrap();
            for act in acts {
                let before: Vec<_> = KINDS.iter().map(|kind| read(kind)).collect();
                let result = perform(&engine, &act, &actor);
                for (kind, before) in KINDS.iter().zip(before) {
                    let after = read(kind);
                    let value = &after.as_ref().expect("it was made").value;
                    prop_assert_eq!(doc(kind).kind.shape.check(value), Ok(()), "{} after {:?}", kind, act);
                    prop_assert!(result.is_ok() || after == before, "{} changed by {:?}, which was refused", kind, act);
                }
            }
        }
    }
}
