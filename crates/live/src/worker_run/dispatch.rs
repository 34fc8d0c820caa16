//! Claims tasks, and starts a thread for each.

use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::model::hint::Hint;
use anthill_core::model::task::Task;
use anthill_core::model::usage::Usage;
use anthill_core::ops::queue::work::{self, Claim, ClaimRequest, NothingReady};
use anthill_core::ops::{self, Actor};
use anthill_core::store::Engine;
use jiff::Timestamp;

use super::job::{Event, Job, Until};
use crate::runner::run_state::{Pause, RunState};
use crate::runner::task_file::TaskFiles;
use crate::runner::watchdog::Watchdog;
use crate::runner::{Closing, PAUSE, Result};
use crate::waiting::SLACK;

/// What all threads of the run share.
pub struct WorkerRun<'r> {
    pub engine: &'r dyn Engine,
    pub job: &'r Job,
    pub actor: &'r Actor,
    pub state: &'r RunState,
    /// `None` says that no more will come.
    pub events: SyncSender<Option<Event>>,
    pub watchdog: Watchdog,
    pub files: TaskFiles,
    pub used: Mutex<Usage>,
}

impl WorkerRun<'_> {
    pub fn tell(&self, event: Event) {
        // Nobody may be listening any more, and that is fine.
        let _ = self.events.send(Some(event));
    }

    pub fn warn(&self, warnings: &[Hint]) {
        warnings.iter().for_each(|warning| self.tell(Event::Warning(self.actor.door.tell(warning))));
    }

    pub fn used(&self) -> Usage {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_over_budget(&self) -> bool {
        self.job.max_cost.is_some_and(|most| self.used().cost_usd >= most)
    }

    /// Adds what a command used. When the budget is used up, nothing more is claimed.
    pub fn count(&self, usage: Usage) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).add(usage);
        if self.is_over_budget() {
            self.state.close();
        }
    }

    /// Claims tasks and starts them until the run is over and all of them have ended.
    pub fn work(&self) {
        let _closing = Closing(&self.events);
        if let Err(error) = self.watchdog.trouble() {
            self.tell(Event::Warning(format!("commands will outlive a killed runner: {error}")));
        }
        // A run that was killed during a pause has left it on the board.
        self.show_pause(None);
        thread::scope(|scope| {
            if let Err(error) = self.dispatch(scope) {
                self.state.fail(error);
            }
        });
    }

    fn dispatch<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> Result<()> {
        let request = ClaimRequest { worker: &self.job.worker, task: None, lease: self.job.lease };
        while let Some(news) = self.state.wait_for_room(self.job.parallel) {
            if let Some(pause) = self.state.pause() {
                self.sit_out(&pause);
                continue;
            }
            let (patience, even_alone) = match work::claim(self.engine, &request, self.actor) {
                Ok(Claim::Claimed { task, warnings }) => {
                    self.warn(&warnings);
                    self.send_off(scope, task);
                    continue;
                }
                Ok(Claim::NothingReady(nothing)) => {
                    (nothing.look_again.map(|again| again + SLACK), self.waits(&nothing))
                }
                Err(error) => self.bear(error)?,
            };
            if !self.state.wait_for_news(news, patience, even_alone) {
                break;
            }
        }
        Ok(())
    }

    /// Waits until the service is back; the pause is on the board.
    fn sit_out(&self, pause: &Pause) {
        let reason = pause.ailment.words();
        self.tell(Event::Paused { until: pause.until, reason });
        self.show_pause(Some((pause.until, reason)));
        self.state.sit_out(pause, &|| self.actor.now());
        if self.state.pause().is_none() || self.state.signal().is_some() {
            self.show_pause(None);
        }
    }

    fn show_pause(&self, pause: Option<(Timestamp, &str)>) {
        let shown = work::pause(self.engine, &self.job.worker, pause, self.actor);
        if let Err(error) = shown {
            self.tell(Event::Warning(format!("the pause is not on the board: {error}")));
        }
    }

    /// Returns how long to wait after a claim that failed, if this run waits at all.
    fn bear(&self, error: ops::Error) -> Result<(Option<Duration>, bool)> {
        match (self.job.until, &error) {
            (Until::Stopped, ops::Error::NoDocument { .. }) => Ok((None, true)),
            (Until::Stopped | Until::Empty, _) if error.code() == Code::Busy => {
                self.tell(Event::Warning(error.to_string()));
                Ok((Some(PAUSE), true))
            }
            _ => Err(error.into()),
        }
    }

    /// Whether to wait for others although no command of ours is at work.
    fn waits(&self, nothing: &NothingReady) -> bool {
        match self.job.until {
            Until::NothingReady => false,
            Until::Empty => nothing.others_work || nothing.look_again.is_some(),
            Until::Stopped => true,
        }
    }

    fn send_off<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, task: Task) {
        let Ok(key) = task.id().parse() else {
            return self.tell(Event::Warning(format!("{:?} is no id: the task is left alone", task.id())));
        };
        // Nobody else has taken it since: the same command would only give it back again.
        if self.state.gave_back(&key) {
            self.tell(Event::Warning(format!("`{key}` was given back and came round again: that is enough")));
            self.state.close();
        }
        let place = self.state.enter();
        scope.spawn(move || self.attend(&key, task.epoch(), &place));
    }
}
