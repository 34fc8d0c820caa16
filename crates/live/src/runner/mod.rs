//! The runner: claims tasks for a worker and runs a command once for each.
//!
//! One thread claims (`crew`); every task has a thread of its own, from its start to its report (`errand`).
//! What they know together is the `shift`: how many are at work, and whether it is over. What happens is told
//! as [`Event`]s on the caller's thread, for this crate knows no terminal.
//!
//! The pipeline's agents are run by [`crate::orchestrate`] with the same parts.
//!
//! - `child`: one process group: start, feed, listen, kill.
//! - `agent`: one agent, watched from its start to its end; `transcript`: what coding agents print about themselves.
//! - `report`: what the output of a command means.
//! - `signals`: Ctrl-C and its kin end the shift.
//! - [`watchdog`]: if the runner is killed, its commands do not go on without it.

pub(crate) mod agent;
pub(crate) mod child;
mod crew;
pub(crate) mod errand;
pub(crate) mod report;
pub(crate) mod shift;
pub(crate) mod signals;
pub(crate) mod task_file;
pub(crate) mod transcript;
pub mod watchdog;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Weak, mpsc};
use std::time::Duration;
use std::{io, thread};

use anthill_core::model::ids::Key;
use anthill_core::model::kind::Doc;
use anthill_core::model::task::Task;
use anthill_core::ops::{self, Actor};
use anthill_core::store::{Engine, Listener};

use self::crew::Crew;
use self::shift::Shift;
use self::task_file::TaskFiles;
use self::watchdog::Watchdog;

/// What to run, for whom and how.
#[derive(Debug)]
pub struct Job {
    pub worker: Key,
    /// The command as it was typed, program first; no shell reads it.
    pub command: Vec<OsString>,
    /// Where the command works.
    pub root: PathBuf,
    /// What the command is to know besides its task.
    pub environment: Vec<(&'static str, OsString)>,
    /// How many tasks at once.
    pub parallel: usize,
    pub until: Until,
    /// How long one task may take.
    pub timeout: Option<Duration>,
    /// How long a lease lasts without a heartbeat, in seconds.
    pub lease: Option<f64>,
    /// The program that calls [`watchdog::watch`] on its input.
    pub watchdog: Option<Vec<OsString>>,
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
    Done(Key),
    Failed {
        task: Key,
        reason: String,
    },
    Released(Key),
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
    /// The signal that ended the run.
    pub signal: Option<i32>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Ops(#[from] ops::Error),
    #[error("cannot run `{program}`")]
    Command {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot {action}")]
    Io {
        action: &'static str,
        #[source]
        source: io::Error,
    },
}

pub type Result<T> = std::result::Result<T, Error>;

/// How many events may wait to be told; then commands wait with their output.
const EVENTS: usize = 256;

/// How long to wait before asking a store again that did not answer.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// Runs the job until it has done enough or is stopped, and tells what happens.
pub fn run(engine: &dyn Engine, job: &Job, actor: &Actor, tell: &mut dyn FnMut(Event)) -> Result<Summary> {
    let shift = Arc::new(Shift::default());
    let signals = signals::heed(&shift)?;
    // Made before the first claim, so whatever happens after a claim is heard.
    look_out(
        engine.listen(&[Doc::queue(), Doc::workers()]).map_err(ops::Error::from)?,
        Arc::downgrade(&shift),
    );
    let (events, told) = mpsc::sync_channel(EVENTS);
    let (watchdog, files) = (Watchdog::start(job.watchdog.as_deref()), TaskFiles::new()?);
    watchdog.tidy(files.dir());
    let crew = Crew { engine, job, actor, shift: &shift, events, watchdog, files };
    let mut summary = Summary::default();
    thread::scope(|scope| {
        scope.spawn(|| crew.work());
        for event in told.iter().map_while(|message| message) {
            summary.note(&event);
            tell(event);
        }
    });
    drop(signals);
    summary.signal = shift.signal();
    shift.failure().map_or(Ok(summary), Err)
}

/// Rings whenever the queue changes. The thread is left alone: it ends with the process, or at the first change
/// after the shift.
fn look_out(mut queue: Box<dyn Listener>, shift: Weak<Shift>) {
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
            Event::Claimed(_) | Event::Output { .. } | Event::Warning(_) => {}
        }
    }
}
