//! One task, from its start to its report.

use std::sync::Arc;
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::model::changes::NO_CHANGE;
use anthill_core::model::ids::Key;
use anthill_core::model::task::{LEASE, Refusal, Status, Task};
use anthill_core::model::time;
use anthill_core::model::usage::Tries;
use anthill_core::ops;
use anthill_core::ops::planning;
use anthill_core::ops::queue::work::{self, End, On, TaskChanged};
use anthill_core::view::brief::Brief;
use jiff::Timestamp;

use super::dispatch::WorkerRun;
use super::job::Event;
use crate::runner::asking::{Ailing, Answered, Asking, Reply};
use crate::runner::health;
use crate::runner::report::Verdict;
use crate::runner::run_state::Place;
use crate::runner::supervisor::{Beat, Call, Cut, Pulse, Supervisor};
use crate::runner::task_file::TaskFile;
use crate::runner::{Error, Result, brief, persist};

impl WorkerRun<'_> {
    /// Does one task and tells what became of it. A failure that other tasks would share ends the run.
    pub fn attend(&self, task: &Key, epoch: u64, place: &Place<'_>) {
        let on = On { worker: &self.job.worker, task, epoch: Some(epoch) };
        match self.do_task(on, place) {
            Ok(event) => self.tell(event),
            Err(error) => self.state.fail(error),
        }
    }

    fn do_task(&self, on: On<'_>, place: &Place<'_>) -> Result<Event> {
        if place.nudges.try_recv().is_ok() {
            return self.release(on, &Tries::default());
        }
        let task = match persist(|| work::start(self.engine, on, self.actor)) {
            Ok(started) => started.task,
            Err(error) => return as_found(on, error),
        };
        self.tell(Event::Claimed(task.clone()));
        let asked = self.files.write(on.task, &task).and_then(|file| self.ask(on, &task, &file, place));
        let (event, tries) = match asked {
            Ok(Reply::Cut(Cut::Lost(why), tries)) => (Ok(Event::Lost { task: on.task.clone(), why }), tries),
            Ok(Reply::Cut(_, tries)) => (self.release(on, &tries), tries),
            Ok(Reply::Ailing(ailing)) => (self.put_back(on, &ailing), ailing.tries),
            Ok(Reply::Answered(answered)) => {
                self.state.is_served();
                (self.report(on, &answered), answered.tries)
            }
            Err(error) => {
                self.tell(self.release(on, &Tries::default())?);
                return Err(error);
            }
        };
        self.count(tries.usage);
        // Whoever has the task now keeps a log of their own.
        if !matches!(event, Ok(Event::Lost { .. })) {
            self.keep(on, &tries);
        }
        let is_hollow = tries.changed.is_some_and(|changes| changes.is_empty()) && !task.files().is_empty();
        if is_hollow && matches!(event, Ok(Event::Done(_))) {
            self.tell(Event::Warning(format!("`{}` is reported as done, {NO_CHANGE}", on.task)));
        }
        event
    }

    /// Keeps what the command printed. That comes after the report, which must not wait for it.
    fn keep(&self, on: On<'_>, tries: &Tries) {
        let kept = work::keep_output(self.engine, on, tries, self.actor);
        if let Err(error) = kept {
            self.tell(Event::Warning(format!("what `{}` printed was not kept: {error}", on.task)));
        }
    }

    /// Lets the agent do the task, and keeps its lease alive meanwhile.
    fn ask(&self, on: On<'_>, task: &Task, file: &TaskFile, place: &Place<'_>) -> Result<Reply> {
        let mut command = self.job.site.command(&self.job.doer.run());
        command
            .env("ANTHILL_TASK_ID", on.task.as_str())
            .env("ANTHILL_TASK_FILE", file.path())
            .env("ANTHILL_WORKER", on.worker.as_str())
            .env("ANTHILL_EPOCH", task.epoch().to_string());
        let (events, id) = (self.events.clone(), on.task.clone());
        let tell = move |line| {
            // Nobody may be listening any more, and that is fine.
            let _ = events.send(Some(Event::Output { task: id.clone(), line }));
        };
        let brief = self.brief(task);
        let mut call = Call {
            command,
            input: brief.prompt(on.worker.as_str(), self.actor.door),
            limits: self.job.limits,
            sign_of_life: Some(file.path()),
            tell: Some(Arc::new(tell)),
        };
        let again = |reason: &str, delay| {
            self.tell(Event::Again { task: on.task.clone(), reason: reason.to_owned(), delay });
        };
        let give = || self.heartbeat(on);
        let mut supervisor = Supervisor::new(place, &self.watchdog)
            .beating(Beat { every: interval(self.job.lease), give: &give });
        let asking = Asking {
            agent: self.job.doer.agent(),
            retries: self.job.retries,
            now: &|| health::now(self.actor),
            has_reported: &|| matches!(self.heartbeat(on), Pulse::Settled),
            others: &|| !brief.others.is_empty() || self.met_others(task),
            again: &again,
        };
        let asked = supervisor.ask(&mut call, &asking);
        asked.map_err(|source| Error::Command { program: self.job.doer.run().name(), source })
    }

    /// Gathers what the team knows about a task. If that fails, the task is done without it.
    fn brief(&self, task: &Task) -> Brief {
        persist(|| ops::queue::brief::brief(self.engine, task.id())).unwrap_or_else(|error| {
            self.tell(Event::Warning(format!(
                "`{}` is done without what the team knows: {error}",
                task.id()
            )));
            Brief::bare(task.clone())
        })
    }

    /// Whether others worked on tasks since this one was started, as far as we can tell.
    fn met_others(&self, task: &Task) -> bool {
        let since = task.value()["started_at"].as_str().and_then(time::read).unwrap_or(Timestamp::MIN);
        ops::queue::brief::others_since(self.engine, task.id(), since).unwrap_or(true)
    }

    fn heartbeat(&self, on: On<'_>) -> Pulse {
        let beat = work::heartbeat(self.engine, on.worker, Some(on.task), on.epoch, self.actor);
        match beat.map_err(|error| as_found(on, error)) {
            Err(Ok(Event::Lost { why, .. })) => Pulse::Lost(why),
            // The command has reported by itself and is about to end.
            Err(Ok(_)) => Pulse::Settled,
            // The next heartbeat may succeed.
            Ok(_) | Err(Err(_)) => Pulse::Beating,
        }
    }

    fn report(&self, on: On<'_>, answered: &Answered) -> Result<Event> {
        for text in &answered.discoveries {
            if let Err(error) = persist(|| work::discover(self.engine, on.worker, text, self.actor)) {
                self.tell(Event::Warning(format!("a discovery was not recorded: {error}")));
            }
        }
        let end = match &answered.verdict {
            Verdict::Done(report) => End::Done(report),
            Verdict::Failed(reason) if answered.cannot_run && self.job.doer.agent().is_some() => {
                // All other tasks would end the same way.
                self.tell(self.release(on, &answered.tries)?);
                return Err(Error::Agent { line: self.job.doer.run().name(), reason: brief(reason) });
            }
            Verdict::Failed(reason) => End::Failed(reason),
            Verdict::Released => End::Released,
        };
        let event = self.settle(on, end, &answered.tries)?;
        if matches!(event, Event::Released(_)) {
            self.state.give_back(on.task);
        }
        Ok(event)
    }

    /// Puts back a task whose agent could not work. A trouble that passes is waited for; any other ends the run.
    fn put_back(&self, on: On<'_>, Ailing { diagnosis, reason, tries }: &Ailing) -> Result<Event> {
        let ailment = diagnosis.ailment;
        if ailment.passes() {
            self.state.rest(diagnosis, self.actor.now());
        } else if let Some(agent) = self.job.doer.agent() {
            self.state.fail(health::stopped(agent, ailment, reason));
        }
        Ok(match self.release(on, tries)? {
            Event::Released(task) => Event::PutBack { task, reason: reason.clone() },
            other => other,
        })
    }

    fn release(&self, on: On<'_>, tries: &Tries) -> Result<Event> {
        self.settle(on, End::Released, tries)
    }

    fn settle(&self, on: On<'_>, end: End<'_>, tries: &Tries) -> Result<Event> {
        self.settled(on, persist(|| work::settle(self.engine, on, end, tries, self.actor)))
    }

    /// Returns the event for a task after our report, or after the command's own.
    fn settled(&self, on: On<'_>, settled: ops::Result<TaskChanged>) -> Result<Event> {
        let TaskChanged { task, warnings, .. } = match settled {
            Ok(done) => done,
            Err(error) => return as_found(on, error),
        };
        self.warn(&warnings);
        planning::queue::completed(self.engine, task.value(), self.actor);
        let key = on.task.clone();
        Ok(match task.status() {
            Status::Done => Event::Done(key),
            Status::Failed => {
                let reason = task.value()["result"]["error"].as_str().unwrap_or_default().to_owned();
                Event::Failed { task: key, reason }
            }
            _ => Event::Released(key),
        })
    }
}

/// Returns the event for a task that refuses our report: its command has reported already, or somebody else has it now. Other
/// errors stay errors.
fn as_found(on: On<'_>, error: ops::Error) -> Result<Event> {
    let task = on.task.clone();
    match &error {
        ops::Error::Task(Refusal::WrongState { status: "done", .. }) => Ok(Event::Done(task)),
        ops::Error::Task(Refusal::WrongState { status: "failed", .. }) => {
            Ok(Event::Failed { task, reason: "as its command reported".into() })
        }
        ops::Error::Task(Refusal::LeaseOver { reason, .. }) if reason == "released" => {
            Ok(Event::Released(task))
        }
        // It is not ours any more.
        _ if matches!(error.code(), Code::Conflict | Code::Refused | Code::NotFound) => {
            Ok(Event::Lost { task, why: error.to_string() })
        }
        _ => Err(error.into()),
    }
}

/// Returns the time between heartbeats: two of them may fail before the lease runs out.
fn interval(lease: Option<f64>) -> Duration {
    Duration::from_secs_f64(lease.unwrap_or(LEASE).max(0.1) / 3.0)
}
