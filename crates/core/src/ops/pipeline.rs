//! The pipeline of a project: begun, planned, asked for orders, reported to. One commit each, of all six documents.

use jiff::Timestamp;
use serde_json::Value;

use super::edit::Target;
use super::settings::Settings;
use super::{Actor, Error, Result};
use crate::model::documents::pipeline::{Mode, RunStatus};
use crate::model::json;
use crate::model::kind::{Doc, Kind};
use crate::model::path::{self, Path};
use crate::model::pipeline::table::{self, Role};
use crate::model::pipeline::{Caps, Content, KINDS, NO_GROUP, Order, Pipeline, Plan, Refusal, Said};
use crate::model::plan::word;
use crate::model::room::Room;
use crate::model::time;
use crate::store::{Engine, Transaction};

/// The largest report, in bytes of JSON: it goes into a message and, in part, into prompts.
const LARGEST_REPORT: usize = 64 * 1024;

/// What a use case did.
#[derive(Debug)]
pub struct Done {
    /// The documents as they are stored now.
    pub pipeline: Pipeline,
    /// Whether anything changed.
    pub changed: bool,
    pub warnings: Vec<String>,
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
pub fn init(engine: &dyn Engine, new: &NewRun, expect: Option<u64>, actor: &Actor) -> Result<Done> {
    if new.requirements.trim().is_empty() {
        return Err(Error::Input("the requirements are blank".into()));
    }
    json::check_input(&new.requirements.as_str().into()).map_err(Error::Input)?;
    let desk = Desk::open(engine, "pm_state", &path::ROOT, expect, actor)?;
    let known = desk.before.as_ref().filter(|known| known.status() != RunStatus::Completed);
    if let Some(known) = known {
        let same = known.requirements() == new.requirements && known.requested_mode() == new.mode;
        if same && !new.replace {
            let known = known.clone();
            return desk.finish(known, "pipeline init", actor);
        }
        if !new.replace {
            return Err(unfinished(known));
        }
    }
    let session = desk.free_session();
    let pipeline = Pipeline::new(&session, &new.requirements, new.mode, desk.now);
    desk.finish(pipeline, "pipeline init", actor)
}

/// Adopts a plan.
pub fn plan(engine: &dyn Engine, plan: &Value, expect: Option<u64>, actor: &Actor) -> Result<Done> {
    json::check_input(plan).map_err(Error::Input)?;
    let plan = Plan::read(plan).map_err(|refusal| refused(&refusal, None))?;
    let desk = Desk::open(engine, "pm_state", &path::ROOT, expect, actor)?;
    let mut pipeline = desk.pipeline(engine)?;
    pipeline.adopt(&plan, desk.now).map_err(|refusal| refused(&refusal, Some(&pipeline)))?;
    desk.finish(pipeline, "pipeline plan", actor)
}

/// Opens the orders that may be opened. Returns all that are open.
pub fn next(engine: &dyn Engine, expect: Option<u64>, actor: &Actor) -> Result<(Vec<Order>, Done)> {
    let caps = caps(engine)?;
    let desk = Desk::open(engine, "orchestrator_state", &path::ROOT, expect, actor)?;
    let mut pipeline = desk.pipeline(engine)?;
    let orders = pipeline.next(caps, desk.now);
    Ok((orders, desk.finish(pipeline, "pipeline next", actor)?))
}

/// Takes a report over. Returns the group that it was about, or `-`.
pub fn report(
    engine: &dyn Engine,
    report: &Report,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<(String, Done)> {
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
    let entry: Path = format!("[{}]", Value::from(report.group.as_str()))
        .parse()
        .map_err(|error| Error::Input(format!("{error}")))?;
    let (kind, path) = match report.group.as_str() {
        NO_GROUP => ("orchestrator_state", &path::ROOT),
        _ => ("group_status", &entry),
    };
    let desk = Desk::open(engine, kind, path, expect, actor)?;
    let mut pipeline = desk.pipeline(engine)?;
    let said = Said {
        role: report.role,
        group: &report.group,
        outcome,
        content: &report.content,
        order: report.order.as_deref(),
    };
    let effect = pipeline.report(&said, desk.now).map_err(|refusal| refused(&refusal, Some(&pipeline)))?;
    Ok((effect.group().to_owned(), desk.finish(pipeline, "pipeline report", actor)?))
}

/// Returns the run as it stands.
pub fn show(engine: &dyn Engine) -> Result<Pipeline> {
    let mut values = Vec::new();
    for kind in KINDS {
        values.push(engine.read(&doc(kind))?.map(|document| document.value));
    }
    assemble(&values, Timestamp::UNIX_EPOCH).ok_or_else(|| none(engine))
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
struct Desk<'e> {
    transaction: Box<dyn Transaction + 'e>,
    now: Timestamp,
    before: Option<Pipeline>,
    /// The documents as they are stored, in the order of their kinds.
    stored: Vec<Option<Value>>,
}

impl<'e> Desk<'e> {
    /// Waits for its turn, and refuses when the document that was named has moved on.
    fn open(
        engine: &'e dyn Engine,
        kind: &str,
        path: &Path,
        expect: Option<u64>,
        actor: &Actor,
    ) -> Result<Desk<'e>> {
        let mut transaction = engine.begin(&[&Room::Pipeline])?;
        Target { doc: &doc(kind), path, expect }.expect_revision(&mut *transaction)?;
        let mut stored = Vec::new();
        for kind in KINDS {
            stored.push(transaction.get(&doc(kind))?.cloned());
        }
        let now = actor.now();
        let before = assemble(&stored, now);
        Ok(Desk { transaction, now, before, stored })
    }

    fn pipeline(&self, engine: &dyn Engine) -> Result<Pipeline> {
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
    fn finish(mut self, mut pipeline: Pipeline, op: &str, actor: &Actor) -> Result<Done> {
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
        Ok(Done { pipeline, changed, warnings })
    }
}

/// Puts the documents together. Without the project manager's there is no run; what else is missing begins empty.
fn assemble(stored: &[Option<Value>], now: Timestamp) -> Option<Pipeline> {
    let pm = stored.first()?.clone()?;
    let session = pm.get("session_id").and_then(Value::as_str).unwrap_or_default();
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
    let hint = "begin one: anthill pipeline init \"what is to be built\"";
    Error::missing(format!("there is no pipeline yet: `{place}` does not exist"), hint)
}

fn unfinished(known: &Pipeline) -> Error {
    Error::refused(
        format!("the run `{}` is not over: {}", known.session(), known.summary()),
        "see it: anthill pipeline status\ngo on: anthill pipeline next\nor put it aside with --replace: `anthill history pm_state` keeps it",
    )
}

/// Returns a word that somebody typed, short enough for a sentence.
fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Turns a refusal into an error with what to type next.
fn refused(refusal: &Refusal, pipeline: Option<&Pipeline>) -> Error {
    let message = refusal.to_string();
    match refusal {
        Refusal::Plan(_) | Refusal::Report(_) | Refusal::NeedsGroup { .. } => Error::Input(message),
        Refusal::OtherOrder { .. } => Error::Input(message),
        Refusal::NoGroup { .. } => Error::missing(message, "see them: anthill pipeline status"),
        Refusal::NoOrder { .. } => Error::missing(message, "see what is open: anthill pipeline next"),
        Refusal::Reported { .. } => Error::clash(
            message,
            "nothing was changed; see how the group stands: anthill pipeline status\nsee what is open: anthill pipeline next",
        ),
        Refusal::Planned => Error::refused(
            message,
            "go on: anthill pipeline next\nwhen all groups are complete, `anthill pipeline report pm - CONTINUE` asks for more",
        ),
        Refusal::Over => {
            Error::refused(message, "begin the next one: anthill pipeline init \"what is to be built\"")
        }
        Refusal::NoneOpen { .. } => Error::refused(message, open_hint(pipeline)),
        Refusal::WhichOrder { .. } => Error::refused(message, "say which one with --order ID"),
        Refusal::NotAllowed { .. } => Error::refused(message, open_hint(pipeline)),
        Refusal::Unproven { .. } => Error::refused(
            message,
            "report it with a file: {\"evidence\": [{\"requirement\": \"…\", \"met\": true, \"evidence\": \"…\"}]}\nor ask for more work: anthill pipeline report pm - CONTINUE",
        ),
        Refusal::Contradiction(_) => Error::refused(message, "report FAIL, or what the tests really gave"),
    }
}

/// Says what is waited for.
fn open_hint(pipeline: Option<&Pipeline>) -> String {
    let open: Vec<String> = pipeline
        .into_iter()
        .flat_map(Pipeline::open_orders)
        .map(|order| format!("{} {} ({})", word(order.role), order.group, word(order.purpose)))
        .collect();
    match open.is_empty() {
        true => "open orders first: anthill pipeline next".into(),
        false => format!("waited for: {}\nsee them: anthill pipeline next", open.join(", ")),
    }
}
