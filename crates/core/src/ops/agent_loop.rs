//! The work loop of a project: begun, given items, worked on, checked by gates, judged.
//!
//! What changes the work queue changes `LOOP_STATE.md` in the same commit. Gates are run elsewhere; here is only what
//! came of them.

use serde_json::Value;

use super::edit::Target;
use super::{Actor, Error, Result, views};
use crate::model::agent_loop::{Check, NewItem, Options, Refusal, STOPPED, Verdict, WorkLoop};
use crate::model::ids::Key;
use crate::model::json;
use crate::model::kind::{Doc, Kind};
use crate::model::paper::Paper;
use crate::model::redact::redact;
use crate::model::room::Room;
use crate::model::usage::Tries;
use crate::store::{Engine, Transaction};

/// How much of a gate's output its item tells.
const ABOUT: usize = 2000;

/// What a use case did.
#[derive(Debug)]
pub struct Done {
    /// The loop as it is stored now.
    pub work: WorkLoop,
    /// The item it was about.
    pub item: Option<String>,
    pub verdict: Option<Verdict>,
    /// Whether anything changed.
    pub changed: bool,
    pub warnings: Vec<String>,
}

/// A loop as somebody wants it.
#[derive(Debug, Default)]
pub struct NewLoop {
    /// The loop that is there, if none is named.
    pub task: Option<String>,
    pub options: Options,
    /// Whether to begin anew, whatever is there.
    pub reset: bool,
}

/// How one gate came out.
#[derive(Debug)]
pub struct GateReport {
    pub name: Key,
    pub check: Check,
    /// The last of what its command printed.
    pub output: Option<String>,
}

/// Begins a loop, or goes on with the one of the same task.
pub fn start(engine: &dyn Engine, new: &NewLoop, expect: Option<u64>, actor: &Actor) -> Result<Done> {
    new.task.as_deref().map(|task| check_text("task", task)).transpose()?;
    if new.options.max_iterations == Some(0) {
        return Err(Error::Input("a loop needs an iteration at least".into()));
    }
    let mut desk = Desk::open(engine, expect)?;
    let known = desk.before.clone().filter(|_| !new.reset);
    let Some(mut work) = known else {
        let task = new.task.as_deref().or(desk.before.as_ref().map(WorkLoop::task));
        let task = task.filter(|task| !task.is_empty()).ok_or_else(|| none(engine))?;
        let work = WorkLoop::new(task, new.options, actor.now());
        desk.remove_logs()?;
        return desk.finish(work, "loop start", actor);
    };
    let other = new.task.as_deref().is_some_and(|task| task != work.task());
    if other && !work.is_over() {
        return Err(Error::refused(
            format!("there is a loop for another task: \"{}\"", shortened(work.task())),
            "see it: anthill loop status\nput it aside and begin anew with --reset",
        ));
    }
    if other {
        let work = WorkLoop::new(new.task.as_deref().unwrap_or_default(), new.options, actor.now());
        desk.remove_logs()?;
        return desk.finish(work, "loop start", actor);
    }
    let most = new.options.max_iterations.unwrap_or_else(|| work.max_iterations());
    if work.status() == STOPPED && work.iteration() >= most {
        return Err(Error::refused(
            format!("the loop has had all of its iterations: {most}"),
            format!("give it more: anthill loop start --max-iterations {}", most.saturating_mul(2)),
        ));
    }
    work.resume(new.options);
    desk.finish(work, "loop start", actor)
}

/// Adds an item. The same one that is open already is no second one.
pub fn add(engine: &dyn Engine, new: &NewItem, expect: Option<u64>, actor: &Actor) -> Result<Done> {
    check_text("title", &new.title)?;
    json::check_input(&new.description.as_str().into()).map_err(Error::Input)?;
    let mut desk = Desk::open(engine, expect)?;
    let mut work = desk.work(engine)?;
    desk.item = Some(work.add(new));
    desk.finish(work, "loop add", actor)
}

/// Gives somebody the worst item that waits, or the one that they have in hand, or the named one.
pub fn take(
    engine: &dyn Engine,
    who: &str,
    id: Option<&str>,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<Done> {
    check_text("name", who)?;
    let mut desk = Desk::open(engine, expect)?;
    let mut work = desk.work(engine)?;
    desk.item = Some(work.take(who, id).map_err(|refusal| refused(&refusal))?);
    desk.finish(work, "loop take", actor)
}

/// Notes what came of the agents that somebody had at work on an item: it is done, or put back. What they used is
/// added to the costs of the loop.
pub fn settle(
    engine: &dyn Engine,
    (who, id): (&str, &str),
    is_done: bool,
    tries: &Tries,
    actor: &Actor,
) -> Result<Done> {
    let mut desk = Desk::open(engine, None)?;
    let mut work = desk.work(engine)?;
    let settled = if is_done { work.done(id) } else { work.put_back(who, id) };
    settled.map_err(|refusal| refused(&refusal))?;
    if tries.count > 0 {
        work.count(tries);
        if let Some(paper) = item_log(id) {
            desk.transaction.write_paper(&paper, redact(&tries.log).into_owned())?;
        }
    }
    desk.item = Some(id.to_owned());
    desk.finish(work, if is_done { "loop done" } else { "loop put back" }, actor)
}

/// Notes that an item is done.
pub fn done(engine: &dyn Engine, id: &str, expect: Option<u64>, actor: &Actor) -> Result<Done> {
    let mut desk = Desk::open(engine, expect)?;
    let mut work = desk.work(engine)?;
    work.done(id).map_err(|refusal| refused(&refusal))?;
    desk.item = Some(id.to_owned());
    desk.finish(work, "loop done", actor)
}

/// Notes how gates came out; with `judge`, what follows for the iteration too.
pub fn note_gates(
    engine: &dyn Engine,
    reports: &[GateReport],
    judge: bool,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<Done> {
    let mut desk = Desk::open(engine, expect)?;
    let mut work = desk.work(engine)?;
    if judge {
        check_goes_on(&work)?;
    }
    let now = actor.now();
    let outputs: Vec<Option<String>> = reports
        .iter()
        .map(|report| report.output.as_deref().map(|output| redact(output).into_owned()))
        .collect();
    for (report, output) in reports.iter().zip(&outputs) {
        let paper = Paper::GateLog(report.name.clone());
        if let Some(output) = output {
            desk.transaction.write_paper(&paper, output.clone())?;
        }
        let log = output.as_ref().map(|_| paper.path());
        work.note_gate(report.name.as_str(), &report.check, log.as_deref(), now);
    }
    if judge {
        let about = |gate: &str| {
            let known = reports.iter().zip(&outputs).find(|(report, _)| report.name.as_str() == gate);
            known.map(|(report, output)| told(report, output.as_deref())).unwrap_or_default()
        };
        desk.verdict = Some(work.evaluate(&about, now));
    }
    desk.finish(work, "loop gate", actor)
}

/// Refuses when the loop has stopped: its gates are not run for nothing.
pub fn check_goes_on(work: &WorkLoop) -> Result<()> {
    if work.status() != STOPPED {
        return Ok(());
    }
    Err(Error::refused(
        format!("the loop has stopped: {}", work.reason()),
        "look at it: anthill loop status\ngo on: anthill loop start",
    ))
}

/// Returns the loop.
pub fn show(engine: &dyn Engine) -> Result<WorkLoop> {
    let found = engine.read(&work_queue())?.ok_or_else(|| none(engine))?;
    Ok(WorkLoop { queue: found.value })
}

/// Deletes the loop with its view and its logs. Returns it, if there was one.
pub fn reset(
    engine: &dyn Engine,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<(Option<Value>, Vec<String>)> {
    // A project without a loop does not get a room for having none.
    if engine.read(&work_queue())?.is_none() {
        return Ok((None, Vec::new()));
    }
    let mut desk = Desk::open(engine, expect)?;
    desk.remove_logs()?;
    let Some(known) = desk.before else { return Ok((None, Vec::new())) };
    views::delete(&mut *desk.transaction, &work_queue())?;
    let warnings = desk.transaction.commit(&actor.entry("loop reset"))?.warnings;
    Ok((Some(known.queue), warnings))
}

/// The loop, open for one change.
struct Desk<'e> {
    transaction: Box<dyn Transaction + 'e>,
    before: Option<WorkLoop>,
    item: Option<String>,
    verdict: Option<Verdict>,
}

impl<'e> Desk<'e> {
    fn open(engine: &'e dyn Engine, expect: Option<u64>) -> Result<Desk<'e>> {
        let doc = work_queue();
        let mut transaction = engine.begin(&[&doc.room])?;
        Target::whole(&doc, expect).expect_revision(&mut *transaction)?;
        let before = transaction.get(&doc)?.cloned().map(|queue| WorkLoop { queue });
        Ok(Desk { transaction, before, item: None, verdict: None })
    }

    fn work(&self, engine: &dyn Engine) -> Result<WorkLoop> {
        self.before.clone().ok_or_else(|| none(engine))
    }

    /// Removes what the gates and the agents of the loop before have left.
    fn remove_logs(&mut self) -> Result<()> {
        for log in self.before.as_ref().map(|before| logs(&before.queue)).unwrap_or_default() {
            if self.transaction.paper(&log)?.is_some() {
                self.transaction.remove_paper(&log)?;
            }
        }
        Ok(())
    }

    /// Makes it happen: the work queue and its view, as far as they are others than before.
    fn finish(mut self, mut work: WorkLoop, op: &str, actor: &Actor) -> Result<Done> {
        let changed = self.before.as_ref() != Some(&work);
        if changed {
            self.transaction.put(&work_queue(), work.queue.clone())?;
        }
        let mut warnings = Vec::new();
        if views::refresh(&mut *self.transaction, &work_queue())? || changed {
            let committed = self.transaction.commit(&actor.entry(op))?;
            warnings = committed.warnings;
            if let Some((_, document)) = committed.documents.into_iter().next() {
                work.queue = document.value;
            }
        }
        Ok(Done { work, item: self.item, verdict: self.verdict, changed, warnings })
    }
}

pub(super) fn work_queue() -> Doc {
    Doc::shared(Kind::find("work_queue").expect("work_queue is a kind"), Room::State)
}

/// Returns where the gates and the agents of a work queue have their logs.
pub(super) fn logs(queue: &Value) -> Vec<Paper> {
    let gates = queue.get("gate_results").and_then(Value::as_object).into_iter().flatten();
    let gates = gates.filter_map(|(name, _)| name.parse().ok().map(Paper::GateLog));
    let items = queue.get("items").and_then(Value::as_array).into_iter().flatten();
    gates.chain(items.filter_map(|item| item_log(item["id"].as_str()?))).collect()
}

fn item_log(id: &str) -> Option<Paper> {
    id.parse().ok().map(Paper::ItemLog)
}

/// Returns what an item tells of its gate: why it failed, and the last it said.
fn told(report: &GateReport, output: Option<&str>) -> String {
    let reason = report.check.reason().unwrap_or_default();
    let output = output.unwrap_or_default().trim_end();
    let start = output.len().saturating_sub(ABOUT);
    let start = (start..=output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(output.len());
    format!("{reason}\n{}", &output[start..]).trim().to_owned()
}

fn none(engine: &dyn Engine) -> Error {
    let place = engine.place(&work_queue());
    Error::missing(
        format!("there is no loop yet: `{place}` does not exist"),
        "begin one: anthill loop start TASK",
    )
}

fn refused(refusal: &Refusal) -> Error {
    let message = refusal.to_string();
    match refusal {
        Refusal::NoItem { .. } => Error::missing(message, "see them: anthill loop status"),
        Refusal::Nothing => Error::missing(
            message,
            "add one: anthill loop add TITLE -p S1\nor check what there is: anthill loop gate --all",
        ),
        Refusal::Taken { id, .. } => Error::clash(
            message,
            format!("take another one: anthill loop take\nwhen it is done: anthill loop done {id}"),
        ),
        Refusal::Closed { .. } => Error::refused(message, "for more work: anthill loop add TITLE -p S1"),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Refuses a text that says nothing, or too much.
fn check_text(what: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::Input(format!("the {what} is blank")));
    }
    json::check_input(&text.into()).map_err(Error::Input)
}
