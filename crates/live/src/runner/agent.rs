//! One agent as a process group: started, listened to, and ended when it takes too long, falls silent, or everybody stops.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::child::Process;
use super::errand::GRACE;
use super::shift::{Nudge, Place};
use super::transcript::Transcript;
use super::watchdog::Watchdog;

/// How long an agent may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub timeout: Duration,
    /// How long it may be silent.
    pub stall: Option<Duration>,
}

/// Why we ended an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Stopped,
    TimedOut(Duration),
    Stalled(Duration),
}

/// How an agent ended, and what it said.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub cut: Option<Cut>,
    pub transcript: Transcript,
    /// The last of it.
    pub stdout: String,
    pub stderr: String,
}

/// Runs an agent to its end. Changing `sign_of_life` counts as one, as does any output.
pub fn run(
    command: &mut Command,
    input: String,
    limits: Limits,
    sign_of_life: Option<&Path>,
    (place, watchdog): (&Place<'_>, &Watchdog),
) -> io::Result<Finished> {
    let heard = Arc::new(Mutex::new(Heard { at: Instant::now(), transcript: Transcript::default() }));
    let (stdout, stderr) = (Arc::clone(&heard), Arc::clone(&heard));
    let process = watchdog.start_command(command, |command| {
        let on_stdout = move |bytes: &_| Heard::lock(&stdout).hear(Some(bytes));
        Process::start_heard(command, input, on_stdout, move |_| Heard::lock(&stderr).hear(None))
    })?;
    let exited = place.sender.clone();
    process.when_ended(move || exited.send(Nudge::Exited).unwrap_or_default());
    let cut =
        Watch { process: &process, heard: &heard, sign_of_life, limits, kill: None, cut: None }.keep(place);
    let ended = process.finish(|group| watchdog.forget(group))?;
    let transcript = std::mem::take(&mut Heard::lock(&heard).transcript);
    Ok(Finished { status: ended.status, cut, transcript, stdout: ended.stdout, stderr: ended.stderr })
}

struct Heard {
    at: Instant,
    transcript: Transcript,
}

impl Heard {
    fn lock(heard: &Mutex<Heard>) -> std::sync::MutexGuard<'_, Heard> {
        heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&mut self, stdout: Option<&[u8]>) {
        self.at = Instant::now();
        if let Some(bytes) = stdout {
            self.transcript.hear(bytes);
        }
    }
}

struct Watch<'w> {
    process: &'w Process,
    heard: &'w Mutex<Heard>,
    sign_of_life: Option<&'w Path>,
    limits: Limits,
    kill: Option<Instant>,
    cut: Option<Cut>,
}

impl Watch<'_> {
    /// Returns when the agent has ended, with the reason if it was ours.
    fn keep(mut self, place: &Place<'_>) -> Option<Cut> {
        let begun = Instant::now();
        let limit = begun.checked_add(self.limits.timeout);
        loop {
            let next = match self.cut {
                Some(_) => self.kill,
                None => [limit, self.silent_until()].into_iter().flatten().min(),
            };
            let left = next.map_or(Duration::MAX, |next| next.saturating_duration_since(Instant::now()));
            match place.nudges.recv_timeout(left) {
                Ok(Nudge::Exited) | Err(RecvTimeoutError::Disconnected) => return self.cut,
                Ok(Nudge::Stop) => self.end(Cut::Stopped),
                Ok(Nudge::Kill) => self.process.signal(Signal::KILL),
                Err(RecvTimeoutError::Timeout) => self.look_at_the_clock(limit),
            }
        }
    }

    fn look_at_the_clock(&mut self, limit: Option<Instant>) {
        let now = Instant::now();
        if self.kill.take_if(|kill| *kill <= now).is_some() {
            self.process.signal(Signal::KILL);
        } else if limit.is_some_and(|limit| limit <= now) {
            self.end(Cut::TimedOut(self.limits.timeout));
        } else if self.silent_until().is_some_and(|until| until <= now) {
            self.end(Cut::Stalled(self.limits.stall.unwrap_or_default()));
        }
    }

    /// Returns until when the agent may be silent.
    fn silent_until(&self) -> Option<Instant> {
        let stall = self.limits.stall?;
        let (heard, now) = (Heard::lock(self.heard).at, Instant::now());
        let touched =
            self.sign_of_life.and_then(|file| file.metadata().ok()?.modified().ok()?.elapsed().ok());
        let touched = touched.and_then(|ago| now.checked_sub(ago));
        touched.map_or(heard, |touched| touched.max(heard)).checked_add(stall)
    }

    /// Asks the agent to end; the first reason counts.
    fn end(&mut self, why: Cut) {
        if self.cut.is_none() {
            self.cut = Some(why);
            self.kill = Some(Instant::now() + GRACE);
            self.process.signal(Signal::TERM);
        }
    }
}
