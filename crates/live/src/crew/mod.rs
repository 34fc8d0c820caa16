//! The queue's crew: claims tasks for a worker and runs a command once for each.
//!
//! One thread claims (`dispatch`); every task has a thread of its own, from its start to its report (`errand`). What happens
//! is told as [`Event`]s on the caller's thread, for this crate knows no terminal. How a command is run is the business
//! of the [runner](crate::runner).

mod dispatch;
mod errand;

use std::ffi::OsString;
use std::sync::{Arc, Mutex, Weak, mpsc};
use std::thread;
use std::time::Duration;

use anthill_core::model::ids::Key;
use anthill_core::model::kind::Doc;
use anthill_core::model::task::Task;
use anthill_core::model::usage::Usage;
use anthill_core::ops::{self, Actor};
use anthill_core::store::{Engine, Listener};
use jiff::Timestamp;

use self::dispatch::Crew;
use crate::runner::agent::Agent;
use crate::runner::shift::Shift;
use crate::runner::task_file::TaskFiles;
use crate::runner::watchdog::Watchdog;
use crate::runner::{EVENTS, Limits, Result, Run, Site, place, signals};

/// What to run, for whom and how.
#[derive(Debug)]
pub struct Job {
    pub worker: Key,
    pub doer: Doer,
    pub site: Site,
    /// How many tasks at once.
    pub parallel: usize,
    pub until: Until,
    pub limits: Limits,
    /// How often a failed try is repeated, instead of what its class says.
    pub retries: Option<u64>,
    /// No task is claimed any more when the commands have cost so much, in dollars.
    pub max_cost: Option<f64>,
    /// How long a lease lasts without a heartbeat, in seconds.
    pub lease: Option<f64>,
}

/// Who does the tasks.
#[derive(Debug)]
pub enum Doer {
    /// It has to say what came of a task.
    Agent(Agent),
    /// A program with its arguments; its exit code is its answer.
    Command(Vec<OsString>),
}

impl Doer {
    pub fn agent(&self) -> Option<&Agent> {
        match self {
            Doer::Agent(agent) => Some(agent),
            Doer::Command(_) => None,
        }
    }

    fn run(&self) -> Run {
        match self {
            Doer::Agent(agent) => Run::Line(agent.line.clone()),
            Doer::Command(words) => Run::Command(words.clone()),
        }
    }
}

/// When a runner has done enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Nothing can be claimed, and no command of ours can change that.
    NothingReady,
    /// Nothing can become ready any more, whoever is at work.
    Empty,
    /// Somebody stops it.
    Stopped,
}

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    Claimed(Task),
    /// A line that the command printed.
    Output {
        task: Key,
        line: String,
    },
    /// The command failed, and is run again after a while.
    Again {
        task: Key,
        reason: String,
        delay: Duration,
    },
    Done(Key),
    Failed {
        task: Key,
        reason: String,
    },
    Released(Key),
    /// The service behind the agent does not serve: the task waits as before.
    PutBack {
        task: Key,
        reason: String,
    },
    /// Nothing is started before that time.
    Paused {
        until: Timestamp,
        reason: &'static str,
    },
    /// The task is not ours any more, and nothing was reported.
    Lost {
        task: Key,
        why: String,
    },
    Warning(String),
}

/// What became of the tasks, in the order of their ends.
#[derive(Debug, Default)]
pub struct Summary {
    pub done: Vec<Key>,
    pub failed: Vec<Key>,
    pub released: Vec<Key>,
    pub lost: Vec<Key>,
    /// What the commands used, as far as they say so.
    pub usage: Usage,
    pub over_budget: bool,
    /// The signal that ended the run.
    pub signal: Option<i32>,
}

/// Runs the job until it has done enough or is stopped, and tells what happens.
pub fn run(engine: &dyn Engine, job: &Job, actor: &Actor, tell: &mut dyn FnMut(Event)) -> Result<Summary> {
    job.doer.agent().map_or(Ok(()), |agent| place::check(agent, &job.site))?;
    let shift = Arc::new(Shift::default());
    let signals = signals::heed(&shift)?;
    // Made before the first claim, so whatever happens after a claim is heard.
    look_out(
        engine.listen(&[Doc::queue(), Doc::workers()]).map_err(ops::Error::from)?,
        Arc::downgrade(&shift),
    );
    let (events, told) = mpsc::sync_channel(EVENTS);
    let (watchdog, files) = (Watchdog::start(job.site.watchdog.as_deref()), TaskFiles::new()?);
    watchdog.tidy(files.dir());
    let used = Mutex::default();
    let crew = Crew { engine, job, actor, shift: &shift, events, watchdog, files, used };
    let mut summary = Summary::default();
    thread::scope(|scope| {
        scope.spawn(|| crew.work());
        for event in told.iter().map_while(|message| message) {
            summary.note(&event);
            tell(event);
        }
    });
    drop(signals);
    summary.usage = crew.used();
    summary.over_budget = crew.is_over_budget();
    summary.signal = shift.signal();
    shift.failure().map_or(Ok(summary), Err)
}

/// Rings whenever the queue changes. The thread is left alone: it ends with the process, or at the first change
/// after the shift.
pub(crate) fn look_out(mut queue: Box<dyn Listener>, shift: Weak<Shift>) {
    thread::spawn(move || {
        loop {
            let heard = queue.wait(None);
            let Some(shift) = shift.upgrade() else { return };
            match heard {
                Ok(_) => shift.ring(),
                Err(error) => return shift.fail(ops::Error::from(error).into()),
            }
        }
    });
}

impl Summary {
    fn note(&mut self, event: &Event) {
        match event {
            Event::Done(task) => self.done.push(task.clone()),
            Event::Failed { task, .. } => self.failed.push(task.clone()),
            Event::Released(task) if self.released.contains(task) => {}
            Event::Released(task) => self.released.push(task.clone()),
            Event::Lost { task, .. } => self.lost.push(task.clone()),
            Event::Claimed(_)
            | Event::Output { .. }
            | Event::Again { .. }
            | Event::PutBack { .. }
            | Event::Paused { .. }
            | Event::Warning(_) => {}
        }
    }
}
