//! Runs one command: starts it, reads what it prints, and ends it when it takes too long, falls silent, has lost its task, or when
//! the whole run stops.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::child::{self, Process};
use super::run_state::{Nudge, Place};
use super::site::shell;
use super::transcript::Transcript;
use super::watchdog::Watchdog;

/// How long a command may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// How long a command may take.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    pub timeout: Option<Duration>,
    /// How long it may be silent.
    pub stall: Option<Duration>,
}

/// Takes the lines that a command prints.
pub type Teller = Arc<dyn Fn(String) + Send + Sync>;

/// A command to run.
pub struct Call<'c> {
    pub command: Command,
    /// What it reads on stdin.
    pub input: String,
    pub limits: Limits,
    /// A file whose change is a sign of life, as is any output.
    pub sign_of_life: Option<&'c Path>,
    pub tell: Option<Teller>,
}

impl<'c> Call<'c> {
    /// Returns a call of another line, with another input, in the same place and within the same limits.
    pub fn of_line(&self, line: &str, input: String) -> Call<'c> {
        let mut command = shell(line);
        if let Some(dir) = self.command.get_current_dir() {
            command.current_dir(dir);
        }
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let (limits, sign_of_life, tell) = (self.limits, self.sign_of_life, self.tell.clone());
        Call { command, input, limits, sign_of_life, tell }
    }
}

/// The sign of life that we give while a command runs.
pub struct Beat<'b> {
    pub every: Duration,
    pub give: &'b (dyn Fn() -> Pulse + 'b),
}

/// What came of a sign of life.
#[derive(Debug)]
pub enum Pulse {
    Beating,
    /// No more are expected.
    Settled,
    /// The work is not ours any more, and why.
    Lost(String),
}

/// Why we ended a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    Stopped,
    TimedOut(Duration),
    Stalled(Duration),
    Lost(String),
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub cut: Option<Cut>,
    pub transcript: Transcript,
    /// The last of it.
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Returns the last of all that was printed.
    pub fn said(&self) -> String {
        match (self.stdout.trim_end(), self.stderr.trim_end()) {
            ("", said) | (said, "") => said.to_owned(),
            (stdout, stderr) => format!("{stdout}\n--- stderr\n{stderr}"),
        }
    }
}

#[cfg(test)]
impl Finished {
    pub fn made(raw: i32, cut: Option<Cut>, stdout: &str, stderr: &str) -> Finished {
        let status = std::os::unix::process::ExitStatusExt::from_raw(raw);
        let transcript = Transcript::of(stdout);
        Finished { status, cut, transcript, stdout: stdout.into(), stderr: stderr.into() }
    }
}

/// Runs commands, one at a time.
pub struct Supervisor<'m> {
    place: &'m Place<'m>,
    watchdog: &'m Watchdog,
    beat: Option<Beat<'m>>,
    next_beat: Option<Instant>,
}

impl<'m> Supervisor<'m> {
    pub fn new(place: &'m Place<'m>, watchdog: &'m Watchdog) -> Supervisor<'m> {
        Supervisor { place, watchdog, beat: None, next_beat: None }
    }

    pub fn beating(mut self, beat: Beat<'m>) -> Supervisor<'m> {
        self.next_beat = Instant::now().checked_add(beat.every);
        self.beat = Some(beat);
        self
    }

    /// Runs a command to its end.
    pub fn run(&mut self, call: &mut Call<'_>) -> io::Result<Finished> {
        let heard = Arc::new(Mutex::new(Heard { at: Instant::now(), transcript: Transcript::default() }));
        let (input, tell) = (call.input.clone(), call.tell.clone());
        let process = self.watchdog.start_command(&mut call.command, |command| {
            let on_stdout = Heard::on_stdout(&heard, tell.clone());
            let on_stderr = Heard::on_stderr(&heard, tell);
            Process::start(command, input, on_stdout, on_stderr)
        })?;
        let exited = self.place.sender.clone();
        process.when_ended(move || exited.send(Nudge::Exited).unwrap_or_default());
        let watch = Watch {
            process: &process,
            heard: &heard,
            sign_of_life: call.sign_of_life,
            limits: call.limits,
            limit: call.limits.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            kill: None,
            cut: None,
        };
        let cut = watch.keep(self);
        let ended = process.finish(|group| self.watchdog.forget(group))?;
        let transcript = std::mem::take(&mut Heard::lock(&heard).transcript);
        Ok(Finished { status: ended.status, cut, transcript, stdout: ended.stdout, stderr: ended.stderr })
    }

    /// Waits before the next try. Returns the reason if there is to be none.
    pub fn pause(&mut self, delay: Duration) -> Option<Cut> {
        let until = Instant::now() + delay;
        loop {
            match self.wait(Some(until)) {
                Woken::By(Nudge::Exited) => {}
                Woken::By(Nudge::Stop | Nudge::Kill) => return Some(Cut::Stopped),
                Woken::Lost(why) => return Some(Cut::Lost(why)),
                Woken::Time if Instant::now() < until => {}
                Woken::Time => return None,
            }
        }
    }

    /// Waits for an event or a deadline, and gives the sign of life that is due.
    fn wait(&mut self, until: Option<Instant>) -> Woken {
        let next = [until, self.next_beat].into_iter().flatten().min();
        let left = next.map_or(Duration::MAX, |next| next.saturating_duration_since(Instant::now()));
        match self.place.nudges.recv_timeout(left) {
            Ok(nudge) => Woken::By(nudge),
            Err(RecvTimeoutError::Disconnected) => Woken::By(Nudge::Exited),
            Err(RecvTimeoutError::Timeout) => self.give_sign().map_or(Woken::Time, Woken::Lost),
        }
    }

    /// Gives a sign of life if it is time. Returns the reason if the work is not ours any more.
    fn give_sign(&mut self) -> Option<String> {
        self.next_beat.take_if(|beat| *beat <= Instant::now())?;
        let beat = self.beat.as_ref()?;
        match (beat.give)() {
            Pulse::Beating => self.next_beat = Instant::now().checked_add(beat.every),
            Pulse::Settled => {}
            Pulse::Lost(why) => return Some(why),
        }
        None
    }
}

/// Why a wait is over.
enum Woken {
    By(Nudge),
    Lost(String),
    Time,
}

struct Heard {
    at: Instant,
    transcript: Transcript,
}

impl Heard {
    fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
        heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_stdout(heard: &Arc<Mutex<Heard>>, tell: Option<Teller>) -> impl FnMut(&[u8]) + use<> {
        let heard = Arc::clone(heard);
        move |bytes| {
            let lines = {
                let mut heard = Heard::lock(&heard);
                heard.at = Instant::now();
                heard.transcript.hear(bytes)
            };
            // Telling may take a while; the clock runs on.
            if let Some(tell) = &tell {
                lines.into_iter().for_each(|line| tell(line));
            }
        }
    }

    fn on_stderr(heard: &Arc<Mutex<Heard>>, tell: Option<Teller>) -> impl FnMut(&[u8]) + use<> {
        let heard = Arc::clone(heard);
        let mut lines = tell.map(|tell| child::in_lines(move |line| tell(line)));
        move |bytes| {
            Heard::lock(&heard).at = Instant::now();
            if let Some(lines) = &mut lines {
                lines(bytes);
            }
        }
    }
}

struct Watch<'w> {
    process: &'w Process,
    heard: &'w Mutex<Heard>,
    sign_of_life: Option<&'w Path>,
    limits: Limits,
    limit: Option<Instant>,
    kill: Option<Instant>,
    cut: Option<Cut>,
}

impl Watch<'_> {
    /// Returns when the command has ended, with the reason if it was ours.
    fn keep(mut self, supervisor: &mut Supervisor<'_>) -> Option<Cut> {
        loop {
            let next = match self.cut {
                Some(_) => self.kill,
                None => [self.limit, self.silent_until()].into_iter().flatten().min(),
            };
            match supervisor.wait(next) {
                Woken::By(Nudge::Exited) => return self.cut,
                Woken::By(Nudge::Stop) => self.end(Cut::Stopped),
                Woken::By(Nudge::Kill) => self.process.signal(Signal::KILL),
                Woken::Lost(why) => self.end(Cut::Lost(why)),
                Woken::Time => self.look_at_the_clock(),
            }
        }
    }

    fn look_at_the_clock(&mut self) {
        let now = Instant::now();
        if self.kill.take_if(|kill| *kill <= now).is_some() {
            self.process.signal(Signal::KILL);
        } else if self.limit.is_some_and(|limit| limit <= now) {
            self.end(Cut::TimedOut(self.limits.timeout.unwrap_or_default()));
        } else if self.silent_until().is_some_and(|until| until <= now) {
            self.end(Cut::Stalled(self.limits.stall.unwrap_or_default()));
        }
    }

    /// Returns until when the command may be silent.
    fn silent_until(&self) -> Option<Instant> {
        let stall = self.limits.stall?;
        let (heard, now) = (Heard::lock(self.heard).at, Instant::now());
        let touched =
            self.sign_of_life.and_then(|file| file.metadata().ok()?.modified().ok()?.elapsed().ok());
        let touched = touched.and_then(|ago| now.checked_sub(ago));
        touched.map_or(heard, |touched| touched.max(heard)).checked_add(stall)
    }

    /// Asks the command to end; the first reason counts.
    fn end(&mut self, why: Cut) {
        if self.cut.is_none() {
            self.cut = Some(why);
            self.kill = Some(Instant::now() + GRACE);
            self.process.signal(Signal::TERM);
        }
    }
}
