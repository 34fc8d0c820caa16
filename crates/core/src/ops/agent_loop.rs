//! The work loop of a project: begun, given items, worked on, checked by gates, judged.
//!
//! What changes the work queue changes `LOOP_STATE.md` in the same commit. Gates are run elsewhere; here is only what
//! came of them.

pub mod hold;

use serde_json::Value;

use super::edit::Target;
use super::{Actor, Error, Result, errors, read, readable, views};
use crate::hint;
use crate::model::agent_loop::{
    Check, GateStatus, GivenBack, NewItem, Options, Refusal, STOPPED, Severity, Verdict, WorkLoop,
};
use crate::model::documents::agent_loop::{CurrentSession, Finding, WorkItem, WorkQueue};
use crate::model::hint::Hint;
use crate::model::ids::Key;
use crate::model::json;
use crate::model::key::Fields;
use crate::model::kind::{Doc, Kind};
use crate::model::next::{Next, See, With};
use crate::model::redact::redact;
use crate::model::room::Room;
use crate::model::text_file::TextFile;
use crate::model::time::Moment;
use crate::store::{Engine, Entry, Kept, Transaction};

/// How long a title is that somebody else's words become.
const TITLE: usize = 120;

/// How much of a gate's output its item tells.
const ABOUT: usize = 2000;

/// What a use case did.
#[derive(Debug)]
pub struct LoopChanged {
    /// The loop as it is stored now.
    pub work: WorkLoop,
    /// The item it was about.
    pub item: Option<String>,
    pub verdict: Option<Verdict>,
    /// What went back for others: taken from who was silent, or released.
    pub given_back: Vec<GivenBack>,
    /// Whether anything changed.
    pub changed: bool,
    pub warnings: Vec<Hint>,
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
pub fn start(engine: &dyn Engine, new: &NewLoop, expect: Option<u64>, actor: &Actor) -> Result<LoopChanged> {
    new.task.as_deref().map(|task| check_text("task", task)).transpose()?;
    if new.options.max_iterations == Some(0) {
        return Err(Error::Input("a loop needs an iteration at least".into()));
    }
    let mut tx = LoopTransaction::open(engine, expect)?;
    let known = tx.before.clone().filter(|_| !new.reset);
    let Some(mut work) = known else {
        let task = new.task.as_deref().or(tx.before.as_ref().map(WorkLoop::task));
        let task = task.filter(|task| !task.is_empty()).ok_or_else(|| none(engine))?;
        let work = WorkLoop::new(task, new.options, actor.now());
        tx.remove_logs()?;
        return tx.finish(work, "loop start", actor);
    };
    let other = new.task.as_deref().is_some_and(|task| task != work.task());
    if other && !work.is_over() {
        return Err(Error::refused(
            format!("there is a loop for another task: \"{}\"", shortened(work.task())),
            hint!["see it: ", See::Loop, "\nput it aside and begin anew with ", With::Reset],
        ));
    }
    if other {
        let work = WorkLoop::new(new.task.as_deref().unwrap_or_default(), new.options, actor.now());
        tx.remove_logs()?;
        return tx.finish(work, "loop start", actor);
    }
    if work.is_over() {
        return Err(Error::refused(
            format!("the loop is complete: \"{}\"", shortened(work.task())),
            hint![
                "begin a new one: ",
                Next::BeginLoop,
                "\nbegin the same one anew: ",
                Next::BeginLoopAnew,
                "\ngive this one more work: ",
                Next::AddItem,
            ],
        ));
    }
    let most = new.options.max_iterations.unwrap_or_else(|| work.max_iterations());
    if work.status() == STOPPED && work.iteration() >= most {
        return Err(Error::refused(
            format!("the loop has had all of its iterations: {most}"),
            hint!["give it more: ", Next::MoreIterations(most.saturating_mul(2))],
        ));
    }
    work.resume(new.options);
    tx.finish(work, "loop start", actor)
}

/// Adds an item. The same one that is open already is no second one.
pub fn add(engine: &dyn Engine, new: &NewItem, expect: Option<u64>, actor: &Actor) -> Result<LoopChanged> {
    check_text("title", &new.title)?;
    json::check_input(&new.description.as_str().into()).map_err(Error::Input)?;
    let mut tx = LoopTransaction::open(engine, expect)?;
    let mut work = tx.work(engine)?;
    let [title, description] = [&new.title, &new.description].map(|text| redact(text).into_owned());
    tx.item = Some(work.add(&NewItem { title, description, ..new.clone() }));
    tx.finish(work, "loop add", actor)
}

/// Makes an item of the loop's task if nobody has added anything yet: gates that pass from the start would say nothing.
pub fn begin_with_task(engine: &dyn Engine, actor: &Actor) -> Result<LoopChanged> {
    let mut tx = LoopTransaction::open(engine, None)?;
    let mut work = tx.work(engine)?;
    if work.items().is_empty() && work.last_judged().is_none() {
        let description = work.task().to_owned();
        let title = description.lines().next().unwrap_or_default().chars().take(TITLE).collect();
        let new = NewItem { priority: Severity::S1, title, description, ..NewItem::default() };
        tx.item = Some(work.add(&new));
    }
    tx.finish(work, "loop add", actor)
}

/// Makes items of what an agent found that cannot wait (S0 and S1), if a loop goes on. The same one that is open already is
/// no second one.
pub(super) fn add_findings(transaction: &mut dyn Transaction, findings: &[Value]) -> Result<()> {
    let urgent: Vec<NewItem> = findings.iter().filter_map(item_of_finding).collect();
    if urgent.is_empty() {
        return Ok(());
    }
    let Some(queue) = readable(transaction, &work_queue())? else { return Ok(()) };
    let (before, mut work) = (queue.clone(), WorkLoop { queue });
    if work.is_over() {
        return Ok(());
    }
    for new in &urgent {
        work.add(new);
    }
    if work.queue != before {
        views::put(transaction, &work_queue(), work.queue)?;
    }
    Ok(())
}

fn item_of_finding(finding: &Value) -> Option<NewItem> {
    let text = |key| finding.text(key).unwrap_or_default().trim();
    let priority = match finding.text(Finding::severity).unwrap_or_default().trim() {
        "S0" => Severity::S0,
        "S1" => Severity::S1,
        _ => return None,
    };
    let title = [text(Finding::title), text(Finding::details)].into_iter().find(|title| !title.is_empty())?;
    let title = title.lines().next().unwrap_or_default().chars().take(TITLE).collect();
    let parts: Vec<&str> = [text(Finding::details), text(Finding::recommendation)]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    Some(NewItem { priority, title, description: parts.join("\n"), ..NewItem::default() })
}

/// Notes that an item is done.
pub fn done(engine: &dyn Engine, id: &str, expect: Option<u64>, actor: &Actor) -> Result<LoopChanged> {
    let mut tx = LoopTransaction::open(engine, expect)?;
    let mut work = tx.work(engine)?;
    work.done(id).map_err(|refusal| refused(&refusal))?;
    tx.count_fixed(&work, actor)?;
    tx.item = Some(id.to_owned());
    tx.finish(work, "loop done", actor)
}

/// Notes how gates came out; with `judge`, what follows for the iteration too.
pub fn note_gates(
    engine: &dyn Engine,
    reports: &[GateReport],
    judge: bool,
    expect: Option<u64>,
    actor: &Actor,
) -> Result<LoopChanged> {
    let mut tx = LoopTransaction::open(engine, expect)?;
    let mut work = tx.work(engine)?;
    if judge {
        check_goes_on(&work)?;
    }
    let now = actor.now();
    let outputs: Vec<Option<String>> = reports
        .iter()
        .map(|report| report.output.as_deref().map(|output| redact(output).into_owned()))
        .collect();
    for (report, output) in reports.iter().zip(&outputs) {
        let text_file = TextFile::GateLog(report.name.clone());
        if let Some(output) = output {
            tx.transaction.write_text_file(&text_file, output.clone())?;
        }
        let log = output.as_ref().map(|_| engine.called(Kept::TextFile(&text_file)).path);
        work.note_gate(report.name.as_str(), &report.check, log.as_deref(), now);
    }
    if judge {
        let about = |gate: &str| {
            let known = reports.iter().zip(&outputs).find(|(report, _)| report.name.as_str() == gate);
            known.map(|(report, output)| told(report, output.as_deref())).unwrap_or_default()
        };
        let ran = reports.iter().any(|report| report.check.status() != GateStatus::Skip);
        tx.verdict = Some(work.evaluate(&about, ran, now, actor.door));
    }
    tx.finish(work, "loop gate", actor)
}

/// Refuses when the loop has stopped: its gates are not run for nothing.
pub fn check_goes_on(work: &WorkLoop) -> Result<()> {
    if work.status() != STOPPED {
        return Ok(());
    }
    Err(Error::refused(
        format!("the loop has stopped: {}", work.reason()),
        hint!["look at it: ", See::Loop, "\ngo on: ", Next::GoOnWithLoop],
    ))
}

/// Returns what came of the iteration that somebody has just judged.
pub fn judged(engine: &dyn Engine) -> Result<LoopChanged> {
    let work = show(engine)?;
    let verdict = work.verdict();
    Ok(LoopChanged {
        work,
        item: None,
        verdict,
        given_back: Vec::new(),
        changed: false,
        warnings: Vec::new(),
    })
}

/// Returns the loop.
pub fn show(engine: &dyn Engine) -> Result<WorkLoop> {
    let found = engine.read(&work_queue())?.ok_or_else(|| none(engine))?;
    Ok(WorkLoop { queue: found.value })
}

/// Deletes the loop with its view and its logs. Returns it, if there was one.
pub fn reset(engine: &dyn Engine, expect: Option<u64>, actor: &Actor) -> Result<(Option<Value>, Vec<Hint>)> {
    // A project without a loop does not get a room for having none.
    if engine.read(&work_queue())?.is_none() {
        return Ok((None, Vec::new()));
    }
    let mut tx = LoopTransaction::open(engine, expect)?;
    tx.remove_logs()?;
    let Some(known) = tx.before else { return Ok((None, Vec::new())) };
    views::delete(&mut *tx.transaction, &work_queue())?;
    let warnings = tx.transaction.commit(&actor.entry("loop reset"))?.warnings;
    Ok((Some(known.queue), warnings))
}

/// The loop, open for one change.
struct LoopTransaction<'e> {
    transaction: Box<dyn Transaction + 'e>,
    before: Option<WorkLoop>,
    item: Option<String>,
    given_back: Vec<GivenBack>,
    verdict: Option<Verdict>,
}

impl<'e> LoopTransaction<'e> {
    fn open(engine: &'e dyn Engine, expect: Option<u64>) -> Result<LoopTransaction<'e>> {
        let doc = work_queue();
        let mut transaction = engine.begin(&[&doc.room])?;
        Target::whole(&doc, expect).expect_revision(&mut *transaction)?;
        let before = transaction.get(&doc)?.cloned().map(|queue| WorkLoop { queue });
        Ok(LoopTransaction { transaction, before, item: None, given_back: Vec::new(), verdict: None })
    }

    /// Returns the time that leases are given and judged by.
    fn now(&mut self, actor: &Actor) -> Result<Moment> {
        Ok(self.transaction.now(&*actor.clock)?)
    }

    fn work(&self, engine: &dyn Engine) -> Result<WorkLoop> {
        self.before.clone().ok_or_else(|| none(engine))
    }

    /// Counts an item that is done now among those of the acting session.
    fn count_fixed(&mut self, work: &WorkLoop, actor: &Actor) -> Result<()> {
        match self.before.as_ref() == Some(work) {
            true => Ok(()),
            false => errors::count(&mut *self.transaction, actor, CurrentSession::issues_fixed, 1),
        }
    }

    /// Removes what the gates and the agents of the loop before have left.
    fn remove_logs(&mut self) -> Result<()> {
        for log in self.before.as_ref().map(|before| logs(&before.queue)).unwrap_or_default() {
            if self.transaction.text_file(&log)?.is_some() {
                self.transaction.remove_text_file(&log)?;
            }
        }
        Ok(())
    }

    /// Makes it happen: the work queue and its view, as far as they are others than before.
    fn finish(self, work: WorkLoop, op: &str, actor: &Actor) -> Result<LoopChanged> {
        self.finish_with(work, &actor.entry(op))
    }

    fn finish_with(mut self, mut work: WorkLoop, entry: &Entry) -> Result<LoopChanged> {
        let changed = self.before.as_ref() != Some(&work);
        if changed {
            self.transaction.put(&work_queue(), work.queue.clone())?;
        }
        let mut warnings = Vec::new();
        if views::refresh(&mut *self.transaction, &work_queue())? || changed {
            let committed = self.transaction.commit(entry)?;
            warnings = committed.warnings;
            let queue = committed.documents.into_iter().find(|(doc, _)| *doc == work_queue());
            if let Some((_, document)) = queue {
                work.queue = document.value;
            }
        }
        let LoopTransaction { item, given_back, verdict, .. } = self;
        Ok(LoopChanged { work, item, verdict, given_back, changed, warnings })
    }
}

/// Returns the document of the loop.
pub fn work_queue() -> Doc {
    Doc::shared(Kind::find("work_queue").expect("work_queue is a kind"), Room::State)
}

/// Returns where the gates and the agents of a work queue have their logs.
pub(super) fn logs(queue: &Value) -> Vec<TextFile> {
    let gates = queue.read(WorkQueue::gate_results).into_iter().flatten();
    let gates = gates.filter_map(|(name, _)| name.parse().ok().map(TextFile::GateLog));
    let items = queue.list(WorkQueue::items).iter();
    gates.chain(items.filter_map(|item| item_log(item.text(WorkItem::id)?))).collect()
}

fn item_log(id: &str) -> Option<TextFile> {
    id.parse().ok().map(TextFile::ItemLog)
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
    let (doc, begin) = (work_queue(), hint!["begin one: ", Next::BeginLoop]);
    let message = format!("there is no loop yet: `{}` does not exist", engine.place(&doc));
    Error::missing(message, read::ways_on(engine, &doc, begin))
}

fn refused(refusal: &Refusal) -> Error {
    let message = refusal.to_string();
    match refusal {
        Refusal::NoItem { .. } => Error::missing(message, hint!["see them: ", See::Loop]),
        Refusal::Nothing { held: None } => Error::missing(
            message,
            hint!["add one: ", Next::AddItem, "\nor check what there is: ", Next::RunGates],
        ),
        Refusal::Nothing { held: Some((id, by)) } => Error::missing(
            message,
            hint!["add one: ", Next::AddItem, format!("\nif `{by}` is gone: "), release(id, by)],
        ),
        Refusal::OddId { .. } => {
            Error::refused(message, hint!["see where it stands: ", See::Flaws("work_queue")])
        }
        Refusal::EmptyHanded { .. } => Error::missing(message, hint!["see who has what: ", See::Loop]),
        Refusal::Taken { id, by } => Error::clash(
            message,
            hint!["take another one: ", Next::TakeItem, format!("\nif `{by}` is gone: "), release(id, by)],
        ),
        Refusal::Closed { .. } => Error::refused(message, hint!["for more work: ", Next::AddItem]),
    }
}

/// Returns the step that gives back what somebody has.
pub fn release(id: &str, by: &str) -> Next {
    Next::ReleaseItem { id: id.into(), by: by.into() }
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
