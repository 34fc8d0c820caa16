//! `worker run`: claims tasks for a worker and runs a command for each.
//!
//! One thread claims (`dispatch`); every task has a thread of its own, from its start to its report (`task`). What happens
//! is reported as [`Event`]s on the caller's thread, since this crate knows no terminal. The [runner](crate::runner) runs the
//! commands.

mod dispatch;
mod job;
mod task;

use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use anthill_core::model::ids::Key;
use anthill_core::model::kind::Doc;
use anthill_core::model::usage::Usage;
use anthill_core::ops::settings::Settings;
use anthill_core::ops::{self, Actor};
use anthill_core::store::Engine;
use serde_json::{Value, json};

use self::dispatch::WorkerRun;
pub use self::job::{Doer, Event, Job, Until};
use crate::runner::run_state::RunState;
use crate::runner::task_file::TaskFiles;
use crate::runner::watchdog::Watchdog;
use crate::runner::{EVENTS, Result, place, signals};

/// What became of the tasks, in the order in which they ended.
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

/// Runs the job until it has done enough or is stopped, and reports what happens.
pub fn run(engine: &dyn Engine, job: &Job, actor: &Actor, tell: &mut dyn FnMut(Event)) -> Result<Summary> {
    Settings::read(engine)?.allow_agents(job.parallel as u64)?;
    job.doer.agent().map_or(Ok(()), |agent| place::check(agent, &job.site))?;
    let state = Arc::new(RunState::default());
    let signals = signals::heed(&state)?;
    // Before the first claim, so that no change after a claim is missed.
    state.ring_at(engine.listen(&[Doc::queue(), Doc::workers()]).map_err(ops::Error::from)?);
    let (events, told) = mpsc::sync_channel(EVENTS);
    let (watchdog, files) = (Watchdog::start(job.site.watchdog.as_deref()), TaskFiles::new()?);
    watchdog.tidy(files.dir());
    let used = Mutex::default();
    let run = WorkerRun { engine, job, actor, state: &state, events, watchdog, files, used };
    let mut summary = Summary::default();
    thread::scope(|scope| {
        scope.spawn(|| run.work());
        for event in told.iter().map_while(|message| message) {
            summary.note(&event);
            tell(event);
        }
    });
    drop(signals);
    summary.usage = run.used();
    summary.over_budget = run.is_over_budget();
    summary.signal = state.signal();
    state.failure().map_or(Ok(summary), Err)
}

impl Summary {
    /// Returns it as JSON.
    pub fn json(&self, worker: &Key) -> Value {
        let ids = |keys: &[Key]| keys.iter().map(Key::to_string).collect::<Vec<_>>();
        let mut summary = json!({
            "worker": worker.as_str(), "done": ids(&self.done), "failed": ids(&self.failed),
            "released": ids(&self.released), "lost": ids(&self.lost),
        });
        let usage = self.usage;
        if usage != Usage::default() {
            summary["used"] = json!({
                "cost_usd": usage.cost_usd, "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens, "cached_tokens": usage.cached_tokens,
            });
        }
        summary
    }

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
