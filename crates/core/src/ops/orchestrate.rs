//! What whoever starts the agents of a pipeline writes down: that a try of an order began, how it ended and what it cost,
//! and at the end a report for people. One commit each.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::pipeline::{self, NewRun, PipelineChanged, PipelineTransaction, Report};
use super::{Actor, Error, Result};
use crate::error::Code;
use crate::hint;
use crate::model::changes::Changes;
use crate::model::documents::dispatch::Conductor;
use crate::model::documents::pipeline::{OrchestratorState, RunStatus};
use crate::model::hint::{Door, Hint};
use crate::model::ids::Key;
use crate::model::key::Fields;
use crate::model::next::{Next, See, With};
use crate::model::path;
use crate::model::pipeline::Failure;
use crate::model::pipeline::{Caps, NO_GROUP, Order, Pipeline};
use crate::model::plan::{number, word};
use crate::model::redact::redact;
use crate::model::room::Room;
use crate::model::text_file::TextFile;
use crate::model::usage::Usage;
use crate::store::{Engine, Seat};
use crate::view::pipeline as view;

/// What an agent answered for its order.
#[derive(Debug, Clone)]
pub enum Answer {
    Plan(Value),
    Report(Report),
}

/// How one try of an order ended.
#[derive(Debug, Clone, Default)]
pub struct Ended {
    pub usage: Usage,
    pub failure: Option<Failure>,
    /// After how many failures of one kind a group is given up.
    pub most_alike: Option<u64>,
    /// Whether neither this order's agent nor anybody instead of it can help.
    pub hopeless: bool,
    /// What goes to the order's log.
    pub log: String,
    /// What really changed meanwhile, where git tells.
    pub changed: Option<Changes>,
}

/// What became of an order.
#[derive(Debug)]
pub struct Settled {
    pub pipeline: Pipeline,
    /// Whether it is still waited for.
    pub is_open: bool,
    /// Why its group was given up, if it was.
    pub given_up: Option<String>,
    pub warnings: Vec<Hint>,
}

/// Begins a run, or goes on with the one for these requirements, even if that is complete.
pub fn begin(engine: &dyn Engine, new: &NewRun, actor: &Actor) -> Result<Pipeline> {
    if !new.replace
        && let Some(known) = known(engine)?
        && known.status() == RunStatus::Completed
        && known.requirements() == new.requirements
    {
        return Ok(known);
    }
    Ok(pipeline::init(engine, new, None, actor)?.pipeline)
}

/// Writes down who starts the agents from now on. A run that was given up goes on.
pub fn take_over(engine: &dyn Engine, pid: u32, actor: &Actor) -> Result<Pipeline> {
    let tx = PipelineTransaction::open(engine, "orchestrator_state", &path::ROOT, None, actor)?;
    let mut run = tx.pipeline(engine)?;
    run.go_on(tx.now);
    run.take_over(pid, tx.now);
    Ok(tx.finish(run, "orchestrate begin", actor)?.pipeline)
}

/// Writes down that nobody starts agents any more, and why if the run was given up.
pub fn leave(
    engine: &dyn Engine,
    gave_up: Option<&str>,
    idle_seconds: f64,
    actor: &Actor,
) -> Result<Pipeline> {
    let tx = PipelineTransaction::open(engine, "orchestrator_state", &path::ROOT, None, actor)?;
    let mut run = tx.pipeline(engine)?;
    if let Some(reason) = gave_up {
        run.give_up(&redact(reason), tx.now);
    }
    run.leave(number((idle_seconds * 1000.0).round() / 1000.0), tx.now);
    Ok(tx.finish(run, "orchestrate leave", actor)?.pipeline)
}

/// Writes down that nobody is started for a while, and why; or that it is over.
pub fn pause(engine: &dyn Engine, pause: Option<&str>, actor: &Actor) -> Result<()> {
    let tx = PipelineTransaction::open(engine, "orchestrator_state", &path::ROOT, None, actor)?;
    let mut run = tx.pipeline(engine)?;
    run.pause(pause.map(redact).as_deref());
    tx.finish(run, "orchestrate pause", actor).map(drop)
}

/// Takes the seat of whoever starts the agents of a run; `None` if it stayed taken for so long.
pub fn seat(engine: &dyn Engine, patience: Duration) -> Result<Option<Box<dyn Seat>>> {
    Ok(engine.seat(&Room::Pipeline, "orchestrate", patience)?)
}

/// Whether somebody starts the agents of a run just now.
pub fn is_conducted(engine: &dyn Engine, run: &Pipeline) -> Result<bool> {
    let conductor = run.orchestrator.at(OrchestratorState::conductor);
    // Who has left has said so, and where nobody ever was there is no seat.
    let may_be = conductor.is_some_and(|conductor| conductor.at(Conductor::until).is_none());
    Ok(may_be && seat(engine, Duration::ZERO)?.is_none())
}

/// Goes on with the run that there is.
pub fn resume(engine: &dyn Engine, requirements: Option<&str>) -> Result<Pipeline> {
    let known = pipeline::show(engine)?;
    match requirements {
        Some(wanted) if wanted != known.requirements() => Err(Error::refused(
            format!("the run `{}` is for other requirements", known.session()),
            hint!["go on with it: ", Next::ResumeRun, "\nor see what it is for: ", See::Pipeline],
        )),
        _ => Ok(known),
    }
}

/// Returns the orders that would be open next. Changes nothing.
pub fn preview(
    engine: &dyn Engine,
    new: Option<&NewRun>,
    caps: Caps,
    actor: &Actor,
) -> Result<(Pipeline, Vec<Order>)> {
    let fresh = |new: &NewRun| Pipeline::new("v4_preview", &new.requirements, new.mode, actor.now());
    let mut run = match (new, known(engine)?) {
        (None, _) => resume(engine, None)?,
        (Some(new), Some(known)) if !new.replace && known.requirements() == new.requirements => known,
        (Some(new), _) => fresh(new),
    };
    run.go_on(actor.now());
    let orders = run.next(caps, actor.now());
    Ok((run, orders))
}

fn known(engine: &dyn Engine) -> Result<Option<Pipeline>> {
    match pipeline::show(engine) {
        Err(error) if error.code() == Code::NotFound => Ok(None),
        shown => shown.map(Some),
    }
}

/// How much a run may use, all its tries together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Budget {
    /// In dollars.
    pub cost: Option<f64>,
    pub spawns: Option<u64>,
}

impl Budget {
    /// Says why nobody may be started any more.
    pub fn used_up(&self, run: &Pipeline, door: &dyn Door) -> Option<String> {
        let (spawns, cost) = (run.spawns(), run.cost());
        if let Some(most) = self.spawns.filter(|most| spawns >= *most) {
            let told = format!("{spawns} agents were started, at most {most} are allowed (");
            return Some(door.tell(&hint![told, With::MaxSpawns, ")"]));
        }
        let most = self.cost.filter(|most| cost >= *most)?;
        let told = format!("the run has cost {cost} dollars, at most {most} are allowed (");
        Some(door.tell(&hint![told, With::MaxCost, ")"]))
    }
}

/// Whether a try of an order may begin.
#[derive(Debug)]
pub enum Begun {
    /// With its number, and the run as it is now.
    Try(u64, Box<Pipeline>),
    /// The order is not waited for any more.
    Settled,
    UsedUp(String),
}

/// Counts one more try of an order, if the budget allows it.
pub fn begin_try(engine: &dyn Engine, order: &str, budget: Budget, actor: &Actor) -> Result<Begun> {
    let tx = PipelineTransaction::open(engine, "orchestrator_state", &path::ROOT, None, actor)?;
    let mut run = tx.pipeline(engine)?;
    if let Some(reason) = budget.used_up(&run, actor.door) {
        return Ok(Begun::UsedUp(reason));
    }
    let Some(number) = run.begin_try(order, tx.now) else { return Ok(Begun::Settled) };
    let done = tx.finish(run, "orchestrate start", actor)?;
    Ok(Begun::Try(number, Box::new(done.pipeline)))
}

/// Writes down how a try ended, and takes its answer over if the order still waits for one. A refused answer changes
/// nothing at all.
pub fn end_try(
    engine: &dyn Engine,
    (order, number): (&str, u64),
    ended: &Ended,
    answer: Option<&Answer>,
    actor: &Actor,
) -> Result<Settled> {
    let taken = answer.map(|answer| read(answer, actor.door)).transpose()?;
    let mut tx = PipelineTransaction::open(engine, "orchestrator_state", &path::ROOT, None, actor)?;
    let mut run = tx.pipeline(engine)?;
    let open = |run: &Pipeline| run.open_orders().find(|open| open.id == order);
    let waited_for = open(&run);
    // Who has reported by itself has not failed, however it ended.
    let failure = ended.failure.as_ref().filter(|_| waited_for.is_some());
    if run.end_try(order, number, ended.usage, failure) {
        log(&mut tx, (order, number), ended)?;
        if let Some(changes) = &ended.changed {
            run.note_changes(order, changes);
        }
    }
    let mut given_up = None;
    if let Some(waited_for) = waited_for {
        given_up = failure.and_then(|failure| give_up(&mut run, &waited_for, failure, ended, tx.now));
        if let Some(take) = taken.filter(|_| given_up.is_none()) {
            take(&mut run, tx.now)?;
            if failure.is_none() {
                run.note_success(&waited_for);
            }
        }
    }
    let PipelineChanged { pipeline, warnings, .. } = tx.finish(run, "orchestrate end", actor)?;
    Ok(Settled { is_open: open(&pipeline).is_some(), given_up, pipeline, warnings })
}

/// Gives the group of an order up if its agents have failed too often in the same way, or nobody can help. Returns why.
fn give_up(
    run: &mut Pipeline,
    order: &Order,
    failure: &Failure,
    ended: &Ended,
    now: Timestamp,
) -> Option<String> {
    if order.group == NO_GROUP {
        return None;
    }
    let times = run.note_failure(order, failure);
    let too_often = ended.most_alike.is_some_and(|most| times >= most);
    let what = failure.brief();
    let reason = match (too_often, ended.hopeless) {
        (true, _) => format!("{} failed {times} times in the same way: {what}", word(order.role)),
        (false, true) => format!("{} ({}): {what}", word(order.role), word(order.purpose)),
        (false, false) => return None,
    };
    run.give_up_group(order, &reason, now);
    Some(reason)
}

type Take<'a> = Box<dyn FnOnce(&mut Pipeline, Timestamp) -> Result<()> + 'a>;

/// Checks what can be checked of an answer before anybody waits for a lock.
fn read<'a>(answer: &'a Answer, door: &'a dyn Door) -> Result<Take<'a>> {
    match answer {
        Answer::Plan(plan) => {
            let plan = pipeline::read_plan(plan)?;
            Ok(Box::new(move |run, now| pipeline::adopt(run, &plan, now)))
        }
        Answer::Report(report) => {
            let (outcome, report) = (pipeline::check_report(report)?, pipeline::redacted(report));
            Ok(Box::new(move |run, now| pipeline::take_report(run, &report, outcome, now, door).map(drop)))
        }
    }
}

fn log(tx: &mut PipelineTransaction<'_>, (order, number): (&str, u64), ended: &Ended) -> Result<()> {
    // An id that somebody made unusable names no file.
    let Ok(key) = order.parse::<Key>() else { return Ok(()) };
    let result = ended.failure.as_ref().map_or("ended", |failure| failure.class.as_str());
    let text = format!("--- try {number}: {result}\n{}\n", redact(ended.log.trim_end()));
    Ok(tx.transaction.append_text_file(&TextFile::AgentLog(key), &text)?)
}

/// Writes the report for people, and returns it.
pub fn report(engine: &dyn Engine, actor: &Actor) -> Result<String> {
    let text = view::report(&pipeline::show(engine)?);
    let mut transaction = engine.begin(&[&Room::Pipeline])?;
    if transaction.text_file(&TextFile::RunReport)?.as_ref() != Some(&text) {
        transaction.write_text_file(&TextFile::RunReport, text.clone())?;
        transaction.commit(&actor.entry("orchestrate report"))?;
    }
    Ok(text)
}
