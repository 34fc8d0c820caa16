//! One task, from its start to its report.

use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use anthill_core::error::Code;
use anthill_core::model::ids::Key;
use anthill_core::model::task::{LEASE, Refusal, Status, Task};
use anthill_core::ops;
use anthill_core::ops::queue::work::{self, Done, On};
use anthill_core::view::papers;
use rustix::process::Signal;

use super::child::{Ended, Process};
use super::crew::Crew;
use super::report::{self, Answer, Verdict};
use super::shift::{Nudge, Place};
use super::task_file::TaskFile;
use super::{Error, Event, PAUSE, Result};

/// How long a command has to end after it was asked to.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// How often a report is tried when the store does not take it.
const ATTEMPTS: u32 = 5;

/// Why we ended a command.
#[derive(Debug)]
enum Cut {
    Stopped,
    TimedOut(Duration),
    Lost(String),
}

impl Crew<'_> {
    /// Does one task and tells what became of it. A failure that other tasks would share ends the shift.
    pub fn attend(&self, task: &Key, epoch: u64, place: &Place<'_>) {
        let on = On { worker: &self.job.worker, task, epoch: Some(epoch) };
        match self.do_task(on, place) {
            Ok(event) => self.tell(event),
            Err(error) => self.shift.fail(error),
        }
    }

    fn do_task(&self, on: On<'_>, place: &Place<'_>) -> Result<Event> {
        if place.nudges.try_recv().is_ok() {
            return self.release(on);
        }
        let task = match persist(|| work::start(self.engine, on, self.actor)) {
            Ok(started) => started.task,
            Err(error) => return as_found(on, error),
        };
        self.tell(Event::Claimed(task.clone()));
        let started =
            self.files.write(on.task, &task).and_then(|file| Ok((self.start(on, &task, &file)?, file)));
        let (process, _file) = match started {
            Ok(started) => started,
            Err(error) => {
                self.tell(self.release(on)?);
                return Err(error);
            }
        };
        let cut = Watch::new(self, on, &process).keep(place);
        let ended = process.finish(|group| self.watchdog.forget(group));
        let ended = ended.map_err(|source| Error::Io { action: "wait for the command", source })?;
        self.conclude(on, cut, &ended)
    }

    fn start(&self, on: On<'_>, task: &Task, file: &TaskFile) -> Result<Process> {
        let [program, arguments @ ..] = &*self.job.command else {
            return Err(Error::Ops(ops::Error::Input("there is no command".into())));
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.job.root)
            .envs(self.job.environment.iter().map(|(name, value)| (name, value)))
            .env("ANTHILL_TASK_ID", on.task.as_str())
            .env("ANTHILL_TASK_FILE", file.path())
            .env("ANTHILL_WORKER", on.worker.as_str())
            .env("ANTHILL_EPOCH", task.epoch().to_string());
        let (events, id) = (self.events.clone(), on.task.clone());
        let tell = move |line| {
            // Who listens no more has what it needs.
            let _ = events.send(Some(Event::Output { task: id.clone(), line }));
        };
        let prompt = papers::prompt(task.value(), on.worker.as_str());
        let started =
            self.watchdog.start_command(&mut command, |command| Process::start(command, prompt, tell));
        started.map_err(|source| Error::Command { program: program.to_string_lossy().into_owned(), source })
    }

    fn conclude(&self, on: On<'_>, cut: Option<Cut>, ended: &Ended) -> Result<Event> {
        match cut {
            Some(Cut::Stopped) => self.release(on),
            Some(Cut::Lost(why)) => Ok(Event::Lost { task: on.task.clone(), why }),
            Some(Cut::TimedOut(limit)) => self.report(on, &report::read(ended, Some(limit))),
            None => self.report(on, &report::read(ended, None)),
        }
    }

    fn report(&self, on: On<'_>, answer: &Answer) -> Result<Event> {
        for text in &answer.discoveries {
            if let Err(error) = persist(|| work::discover(self.engine, on.worker, text, self.actor)) {
                self.tell(Event::Warning(format!("a discovery was not recorded: {error}")));
            }
        }
        let settled = match &answer.verdict {
            Verdict::Done(report) => persist(|| work::complete(self.engine, on, report, self.actor)),
            Verdict::Failed(reason) => persist(|| work::fail(self.engine, on, reason, self.actor)),
            Verdict::Released => persist(|| work::release(self.engine, on, self.actor)),
        };
        let event = self.settled(on, settled)?;
        if matches!(event, Event::Released(_)) {
            self.shift.give_back(on.task);
        }
        Ok(event)
    }

    fn release(&self, on: On<'_>) -> Result<Event> {
        self.settled(on, persist(|| work::release(self.engine, on, self.actor)))
    }

    /// Tells how the task stands after our report, or after the command's own.
    fn settled(&self, on: On<'_>, settled: ops::Result<Done>) -> Result<Event> {
        let Done { task, warnings, .. } = match settled {
            Ok(done) => done,
            Err(error) => return as_found(on, error),
        };
        self.warn(warnings);
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

/// Tells how a task stands that does not take our report: its command has reported already, or somebody else
/// has a say. Other errors stay errors.
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

/// Tries again what a busy or failing store did not take. Every report may be repeated.
pub(crate) fn persist<T>(mut attempt: impl FnMut() -> ops::Result<T>) -> ops::Result<T> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(error) if matches!(error.code(), Code::Busy | Code::Io) => thread::sleep(PAUSE),
            other => return other,
        }
    }
    attempt()
}

/// Keeps an eye on a command: heartbeats, the time limit, and the end.
struct Watch<'w> {
    crew: &'w Crew<'w>,
    on: On<'w>,
    process: &'w Process,
    beat: Option<Instant>,
    limit: Option<Instant>,
    kill: Option<Instant>,
    cut: Option<Cut>,
}

impl<'w> Watch<'w> {
    fn new(crew: &'w Crew<'w>, on: On<'w>, process: &'w Process) -> Watch<'w> {
        let limit = crew.job.timeout.map(|timeout| Instant::now() + timeout);
        let beat = Some(Instant::now() + interval(crew.job.lease));
        Watch { crew, on, process, beat, limit, kill: None, cut: None }
    }

    /// Returns when the command has ended, with the reason if it was ours.
    fn keep(mut self, place: &Place<'_>) -> Option<Cut> {
        let exited = place.sender.clone();
        self.process.when_ended(move || exited.send(Nudge::Exited).unwrap_or_default());
        loop {
            let next = [self.beat, self.limit, self.kill].into_iter().flatten().min();
            let left = next.map_or(Duration::MAX, |next| next.saturating_duration_since(Instant::now()));
            match place.nudges.recv_timeout(left) {
                Ok(Nudge::Exited) | Err(RecvTimeoutError::Disconnected) => return self.cut,
                Ok(Nudge::Stop) => self.end(Cut::Stopped),
                Ok(Nudge::Kill) => self.process.signal(Signal::KILL),
                Err(RecvTimeoutError::Timeout) => self.look_at_the_clock(Instant::now()),
            }
        }
    }

    fn look_at_the_clock(&mut self, now: Instant) {
        let due = |time: &mut Option<Instant>| time.take_if(|time| *time <= now).is_some();
        if due(&mut self.kill) {
            self.process.signal(Signal::KILL);
        }
        if due(&mut self.limit) {
            self.end(Cut::TimedOut(self.crew.job.timeout.unwrap_or_default()));
        }
        if due(&mut self.beat) {
            self.heartbeat();
        }
    }

    /// Asks the command to end; the first reason counts.
    fn end(&mut self, why: Cut) {
        if self.cut.is_none() {
            self.cut = Some(why);
            self.kill = Some(Instant::now() + GRACE);
            self.process.signal(Signal::TERM);
        }
    }

    fn heartbeat(&mut self) {
        let On { worker, task, epoch } = self.on;
        let beat = work::heartbeat(self.crew.engine, worker, Some(task), epoch, self.crew.actor);
        match beat.map_err(|error| as_found(self.on, error)) {
            Err(Ok(Event::Lost { why, .. })) => self.end(Cut::Lost(why)),
            // The command has reported by itself and is about to end.
            Err(Ok(_)) => {}
            // What went wrong may go well the next time.
            Ok(_) | Err(Err(_)) => self.beat = Some(Instant::now() + interval(self.crew.job.lease)),
        }
    }
}

/// Returns how often to beat, so that two beats may go wrong.
fn interval(lease: Option<f64>) -> Duration {
    Duration::from_secs_f64(lease.unwrap_or(LEASE).max(0.1) / 3.0)
}
