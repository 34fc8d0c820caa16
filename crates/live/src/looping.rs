//! The loop by itself: an agent does item after item, then the gates judge, until the loop is complete or held up.
//!
//! One item at a time. If we are stopped, the item is put back; if we are killed, it stays in the hands of who took it,
//! and the next run by the same name goes on with it.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::model::agent_loop::{
    COMPLETE, Check, NewItem, PAUSED, STOPPED, Severity, Verdict, WorkLoop, is_open,
};
use anthill_core::model::usage::{Tries, Usage};
use anthill_core::ops::agent_loop::{self, GateReport};
use anthill_core::ops::{self, Actor};
use anthill_core::store::Engine;
use anthill_core::view;
use serde_json::Value;

use crate::gates::{self, Gate};
use crate::runner::minder::{Answered, Call, Minder, Reply};
use crate::runner::report::Verdict as Answer;
use crate::runner::shift::{Place, Shift};
use crate::runner::task_file::TaskFiles;
use crate::runner::watchdog::Watchdog;
use crate::runner::{Closing, EVENTS, Error, Limits, Result, Run, Site, brief, persist, signals};

/// What does the items, and what judges them.
#[derive(Debug)]
pub struct Job {
    /// A line for the shell that reads a prompt.
    pub agent: String,
    /// Who takes the items.
    pub who: String,
    /// How long one try at an item may take.
    pub limits: Limits,
    /// How often a failed try is repeated, instead of what its class says.
    pub retries: Option<u64>,
    /// No agent is started any more when this run has cost so much, in dollars.
    pub max_cost: Option<f64>,
    pub gates: Vec<Gate>,
    pub site: Site,
}

/// Something that happened.
#[derive(Debug)]
pub enum Event<'e> {
    Taken(&'e Value),
    /// A line that the agent printed.
    Output(String),
    /// The agent failed, and is run again after a while.
    Again {
        id: &'e str,
        reason: &'e str,
        delay: Duration,
    },
    Done(&'e str),
    PutBack {
        id: &'e str,
        reason: &'e str,
    },
    Gate(gates::Event<'e>),
    Judged(&'e [GateReport], &'e ops::agent_loop::Done),
    Warning(String),
}

/// What happens while an agent is at work, in its order.
enum Told {
    Line(String),
    Again(String, Duration),
}

/// How the run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    /// Somebody has to look at it, for this reason.
    Held(String),
    Signal(i32),
}

/// Runs the loop to its end. Returns what the agents used on the way, too.
pub fn run(
    engine: &dyn Engine,
    job: &Job,
    actor: &Actor,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(End, Usage)> {
    let shift = Arc::new(Shift::default());
    let _signals = signals::heed(&shift)?;
    let watchdog = Watchdog::start(job.site.watchdog.as_deref());
    if let Err(error) = watchdog.trouble() {
        tell(Event::Warning(format!("the agent will outlive us if we are killed: {error}")));
    }
    let files = TaskFiles::new()?;
    watchdog.tidy(files.dir());
    let mut runner =
        Runner { engine, job, actor, tell, shift: &shift, watchdog, files, used: Usage::default() };
    runner.begin()?;
    let end = runner.work()?;
    Ok((shift.signal().map_or(end, End::Signal), runner.used))
}

struct Runner<'r> {
    engine: &'r dyn Engine,
    job: &'r Job,
    actor: &'r Actor,
    tell: &'r (dyn Fn(Event<'_>) + Sync),
    shift: &'r Shift,
    watchdog: Watchdog,
    files: TaskFiles,
    used: Usage,
}

impl Runner<'_> {
    fn tell(&self, event: Event<'_>) {
        (self.tell)(event);
    }

    /// A loop that nobody has added anything to has its task to do: gates that pass from the start would say nothing.
    fn begin(&self) -> Result<()> {
        let work = agent_loop::show(self.engine)?;
        let begun = work.queue.get("history").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        if work.items().is_empty() && !begun {
            let line = work.task().lines().next().unwrap_or_default();
            let new = NewItem {
                priority: Severity::S1,
                title: line.chars().take(120).collect(),
                description: work.task().to_owned(),
                ..NewItem::default()
            };
            agent_loop::add(self.engine, &new, None, self.actor)?;
        }
        Ok(())
    }

    fn work(&mut self) -> Result<End> {
        loop {
            let work = agent_loop::show(self.engine)?;
            match work.status() {
                COMPLETE => return Ok(End::Complete),
                PAUSED | STOPPED => return Ok(End::Held(work.reason().to_owned())),
                _ => {}
            }
            if let Some(signal) = self.shift.signal() {
                return Ok(End::Signal(signal));
            }
            let end = match self.next_item()? {
                Some((item, work)) => self.attend(&item, &work)?,
                None => self.judge()?,
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Takes an item, if one waits.
    fn next_item(&self) -> Result<Option<(Value, WorkLoop)>> {
        let taken = persist(|| agent_loop::take(self.engine, &self.job.who, None, None, self.actor));
        let done = match taken {
            Err(error) if error.code() == Code::NotFound => return Ok(None),
            taken => taken?,
        };
        let item = done.item.as_deref().and_then(|id| done.work.item(id)).cloned();
        Ok(item.map(|item| (item, done.work)))
    }

    /// Has an item done. Returns an end if it was not: whoever takes the next one would get the same again.
    fn attend(&mut self, item: &Value, work: &WorkLoop) -> Result<Option<End>> {
        self.tell(Event::Taken(item));
        let id = item["id"].as_str().unwrap_or_default();
        let (undone, tries) = match self.ask(item, work, &self.shift.enter()) {
            Ok(Reply::Answered(Answered { verdict, tries, .. })) => match verdict {
                Answer::Done(_) => (None, tries),
                Answer::Failed(reason) => (Some(reason), tries),
                Answer::Released => (Some("the agent gave it back".into()), tries),
            },
            Ok(Reply::Cut(_, tries)) => (Some("stopped".into()), tries),
            Err(error) => {
                self.settle(id, false, &Tries::default())?;
                return Err(error);
            }
        };
        self.settle(id, undone.is_none(), &tries)?;
        let Some(reason) = undone else {
            self.tell(Event::Done(id));
            return Ok(self.over_budget());
        };
        self.tell(Event::PutBack { id, reason: &reason });
        Ok(Some(End::Held(format!("`{id}` is not done: {}", brief(&reason)))))
    }

    fn settle(&mut self, id: &str, is_done: bool, tries: &Tries) -> Result<()> {
        self.used.add(tries.usage);
        let settled = agent_loop::settle(self.engine, (&self.job.who, id), is_done, tries, self.actor)?;
        settled.warnings.into_iter().for_each(|warning| self.tell(Event::Warning(warning)));
        Ok(())
    }

    fn over_budget(&self) -> Option<End> {
        let most = self.job.max_cost.filter(|most| self.used.cost_usd >= *most)?;
        Some(End::Held(format!("the budget of ${most} is used up")))
    }

    fn ask(&self, item: &Value, work: &WorkLoop, place: &Place<'_>) -> Result<Reply> {
        let id = item["id"].as_str().unwrap_or_default();
        let file = self.files.write_value("item", item)?;
        let mut command = self.job.site.command(&Run::Line(self.job.agent.clone()));
        command
            .env("ANTHILL_TASK_ID", id)
            .env("ANTHILL_TASK_FILE", file.path())
            .env("ANTHILL_WORKER", &self.job.who);
        // `None` is the end: somebody outside the group may hold the output open for longer.
        let (sender, told) = mpsc::sync_channel(EVENTS);
        let talk = sender.clone();
        let mut call = Call {
            command,
            input: view::agent_loop::prompt(&work.queue, item, &self.job.who),
            limits: self.job.limits,
            sign_of_life: Some(file.path()),
            tell: Some(Arc::new(move |line| talk.send(Some(Told::Line(line))).unwrap_or_default())),
        };
        let again = |reason: &str, delay| {
            sender.send(Some(Told::Again(reason.to_owned(), delay))).unwrap_or_default();
        };
        let asked = thread::scope(|scope| {
            scope.spawn(move || {
                told.into_iter().map_while(|told| told).for_each(|told| match told {
                    Told::Line(line) => self.tell(Event::Output(line)),
                    Told::Again(reason, delay) => self.tell(Event::Again { id, reason: &reason, delay }),
                });
            });
            let _closing = Closing(&sender);
            Minder::new(place, &self.watchdog).ask(&mut call, self.job.retries, &again)
        });
        asked.map_err(|source| Error::Command { program: self.job.agent.clone(), source })
    }

    /// Runs the gates and judges the iteration. Returns an end if there is nothing that we could do next.
    fn judge(&self) -> Result<Option<End>> {
        let told = |event: gates::Event<'_>| self.tell(Event::Gate(event));
        let with = (self.shift, &self.watchdog);
        let Some(ran) = gates::run_within(&self.job.gates, &self.job.site, with, &told) else {
            return Ok(Some(End::Held("stopped".into())));
        };
        let reports: Vec<GateReport> =
            self.job.gates.iter().zip(ran).map(|(gate, ran)| ran.report(gate)).collect();
        let done = agent_loop::note_gates(self.engine, &reports, true, None, self.actor)?;
        self.tell(Event::Judged(&reports, &done));
        // What is open and cannot be taken is with others: to go round would not change that.
        let held = done
            .work
            .items()
            .iter()
            .find(|item| is_open(item) && !matches!(item["status"].as_str(), None | Some("pending")));
        match (&done.verdict, held) {
            (Some(Verdict::Passed), Some(item)) => {
                let id = item["id"].as_str().unwrap_or_default();
                let status = item["status"].as_str().unwrap_or_default();
                Ok(Some(End::Held(format!("`{id}` is {status}, and not with us"))))
            }
            _ => Ok(None),
        }
    }
}

impl gates::Ran {
    /// Returns what is recorded of a gate that ended so.
    pub fn report(self, gate: &Gate) -> GateReport {
        let check = Check {
            ended: self.ended,
            issues: None,
            severity: None,
            default_severity: gate.severity,
            blocking: gate.blocking,
            seconds: Some(self.took.as_secs_f64()),
        };
        GateReport { name: gate.name.clone(), check, output: Some(self.output) }
    }
}
