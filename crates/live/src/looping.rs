//! The loop by itself: a command does item after item, then the gates judge, until the loop is complete or held up.
//!
//! One item at a time. If we are killed, the item stays in the hands of who took it, and the next run by the same name
//! goes on with it.

use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::model::agent_loop::{
    COMPLETE, Check, NewItem, PAUSED, STOPPED, Severity, Verdict, WorkLoop, is_open,
};
use anthill_core::ops::agent_loop::{self, GateReport};
use anthill_core::ops::{self, Actor};
use anthill_core::store::Engine;
use anthill_core::view;
use serde_json::Value;

use crate::gates::{self, Gate, run_all};
use crate::runner::child::Process;
use crate::runner::report::{self, Verdict as Answer};
use crate::runner::task_file::TaskFiles;
use crate::runner::watchdog::Watchdog;
use crate::runner::{Error, Result};

/// So many failures of the command in a row end the run.
const FAILURES: usize = 3;

/// How many lines may wait to be told; then the command waits with its output.
const LINES: usize = 256;

/// What does the items, and what judges them.
#[derive(Debug)]
pub struct Job {
    /// A line for the shell that reads a prompt.
    pub agent: String,
    /// Who takes the items.
    pub who: String,
    /// How long one item may take.
    pub timeout: Duration,
    pub gates: Vec<Gate>,
    pub place: gates::Job,
}

/// Something that happened.
#[derive(Debug)]
pub enum Event<'e> {
    Taken(&'e Value),
    /// A line that the command printed.
    Output(String),
    Done(&'e str),
    PutBack {
        id: &'e str,
        reason: &'e str,
    },
    Gate(gates::Event<'e>),
    Judged(&'e [GateReport], &'e ops::agent_loop::Done),
    Warning(String),
}

/// How the run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    /// Somebody has to look at it, for this reason.
    Held(String),
}

/// Runs the loop to its end.
pub fn run(engine: &dyn Engine, job: &Job, actor: &Actor, tell: &(dyn Fn(Event<'_>) + Sync)) -> Result<End> {
    let watchdog = Watchdog::start(job.place.watchdog.as_deref());
    if let Err(error) = watchdog.trouble() {
        tell(Event::Warning(format!("the command will outlive us if we are killed: {error}")));
    }
    let files = TaskFiles::new()?;
    watchdog.tidy(files.dir());
    let runner = Runner { engine, job, actor, tell, watchdog, files };
    runner.begin()?;
    let mut failures = 0;
    loop {
        let work = agent_loop::show(engine)?;
        match work.status() {
            COMPLETE => return Ok(End::Complete),
            PAUSED | STOPPED => return Ok(End::Held(work.reason().to_owned())),
            _ => {}
        }
        match runner.next_item()? {
            Some((item, work)) => match runner.attend(&item, &work)? {
                None => failures = 0,
                Some(_) if failures + 1 < FAILURES => failures += 1,
                Some(reason) => {
                    let reason = reason.lines().next().unwrap_or_default();
                    return Ok(End::Held(format!("the command failed {FAILURES} times in a row: {reason}")));
                }
            },
            None => {
                if let Some(end) = runner.judge()? {
                    return Ok(end);
                }
            }
        }
    }
}

struct Runner<'r> {
    engine: &'r dyn Engine,
    job: &'r Job,
    actor: &'r Actor,
    tell: &'r (dyn Fn(Event<'_>) + Sync),
    watchdog: Watchdog,
    files: TaskFiles,
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

    /// Takes an item, if one waits.
    fn next_item(&self) -> Result<Option<(Value, WorkLoop)>> {
        let done = match agent_loop::take(self.engine, &self.job.who, None, None, self.actor) {
            Err(error) if error.code() == Code::NotFound => return Ok(None),
            taken => taken?,
        };
        let item = done.item.as_deref().and_then(|id| done.work.item(id)).cloned();
        Ok(item.map(|item| (item, done.work)))
    }

    /// Has an item done. Returns why it was not.
    fn attend(&self, item: &Value, work: &WorkLoop) -> Result<Option<String>> {
        self.tell(Event::Taken(item));
        let id = item["id"].as_str().unwrap_or_default();
        let reason = match self.answer(item, work)? {
            Answer::Done(_) => {
                agent_loop::done(self.engine, id, None, self.actor)?;
                self.tell(Event::Done(id));
                return Ok(None);
            }
            Answer::Failed(reason) => reason,
            Answer::Released => "the command gave it back".into(),
        };
        agent_loop::put_back(self.engine, &self.job.who, id, self.actor)?;
        self.tell(Event::PutBack { id, reason: &reason });
        Ok(Some(reason))
    }

    fn answer(&self, item: &Value, work: &WorkLoop) -> Result<Answer> {
        let file = self.files.write_value("item", item)?;
        let mut command = Command::new("/bin/sh");
        let environment = self.job.place.environment.iter().map(|(name, value)| (name, value));
        command
            .args(["-c", &self.job.agent])
            .current_dir(&self.job.place.root)
            .envs(environment)
            .env("ANTHILL_TASK_ID", item["id"].as_str().unwrap_or_default())
            .env("ANTHILL_TASK_FILE", file.path())
            .env("ANTHILL_WORKER", &self.job.who);
        let prompt = view::agent_loop::prompt(&work.queue, item, &self.job.who);
        // `None` is the end: somebody outside the group may hold the output open for longer.
        let (sender, lines) = mpsc::sync_channel(LINES);
        let closing = sender.clone();
        let told = move |line| sender.send(Some(line)).unwrap_or_default();
        let process = self
            .watchdog
            .start_command(&mut command, |command| Process::start(command, prompt, told))
            .map_err(|source| Error::Command { program: self.job.agent.clone(), source })?;
        let (in_time, ended) = thread::scope(|scope| {
            let lines = lines.into_iter().map_while(|line| line);
            scope.spawn(move || lines.for_each(|line| self.tell(Event::Output(line))));
            let ended = process.end_within(self.job.timeout, |group| self.watchdog.forget(group));
            closing.send(None).unwrap_or_default();
            ended
        })
        .map_err(|source| Error::Io { action: "wait for the command", source })?;
        Ok(report::read(&ended, (!in_time).then_some(self.job.timeout)).verdict)
    }

    /// Runs the gates and judges the iteration. Returns an end if there is nothing that we could do next.
    fn judge(&self) -> Result<Option<End>> {
        let ran = run_all(&self.job.gates, &self.job.place, &|event| self.tell(Event::Gate(event)));
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
