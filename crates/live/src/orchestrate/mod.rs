//! The pipeline by itself: an agent for every order, until the run is complete or something stops it.
//!
//! One thread asks for orders; every order has a thread of its own, from its first try to its report (`errand`). All
//! that matters is in the store: if we are killed, our agents are killed too (the runner's watchdog), their orders stay
//! open, and the next orchestrator starts them again. What an agent says becomes an answer in `answer`; where a
//! group works if not in the project itself, is decided in `worktrees`.

mod answer;
mod errand;
mod worktrees;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::model::documents::pipeline::RunStatus;
use anthill_core::model::pipeline::table::Role;
use anthill_core::model::pipeline::{Caps, Order, Pipeline};
use anthill_core::model::room::Room;
use anthill_core::ops::orchestrate::Budget;
use anthill_core::ops::{self, Actor, pipeline};
use anthill_core::store::{Engine, Seat};

use self::worktrees::Worktrees;
use crate::runner::shift::Shift;
use crate::runner::task_file::TaskFiles;
use crate::runner::watchdog::Watchdog;
use crate::runner::{Closing, EVENTS, Error, Limits, Result, Site, persist, signals};

/// How long to wait for another orchestrator that is about to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who does the work, where and within which limits.
#[derive(Debug)]
pub struct Job {
    pub site: Site,
    pub agents: Agents,
    /// How many agents at once.
    pub parallel: usize,
    /// How long one try may take.
    pub limits: Limits,
    /// How often a failed try is repeated, instead of what its class says.
    pub retries: Option<u64>,
    /// A line for the shell that must end well before the end of the run is looked at.
    pub check: Option<String>,
    pub budget: Budget,
    /// Whether every group works in a git worktree of its own.
    pub worktrees: bool,
}

/// The agents, as lines for the shell.
#[derive(Debug)]
pub struct Agents {
    pub usual: String,
    pub of_roles: Vec<(Role, String)>,
}

impl Agents {
    fn of(&self, role: Role) -> &str {
        let own = self.of_roles.iter().rfind(|(of, _)| *of == role);
        own.map_or(&self.usual, |(_, line)| line)
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    Started {
        order: Order,
        number: u64,
    },
    /// The order was reported as this, by its agent or for it.
    Settled {
        order: Order,
        said: String,
    },
    Failed {
        order: Order,
        reason: String,
        again_in: Option<Duration>,
    },
    /// The try ended because everybody stops.
    Stopped {
        order: Order,
    },
    /// A group's branch is in the branch of the project root.
    Merged {
        group: String,
        branch: String,
    },
    /// The check ended well, or with this.
    Checked {
        failure: Option<String>,
    },
    Warning(String),
}

/// Why it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Completed,
    /// A rule of the pipeline ended the run.
    Limit(String),
    /// The budget is used up.
    Budget(String),
    /// These orders could not be done, and nothing else can go on.
    Stuck(Vec<String>),
    Signal(i32),
}

/// Makes sure that nobody else starts agents for the same run, until the answer is dropped. Who was killed has the seat
/// until its last agent is gone.
pub fn take_seat(engine: &dyn Engine) -> Result<Box<dyn Seat>> {
    let seat = engine.seat(&Room::Pipeline, "orchestrate", PATIENCE).map_err(ops::Error::from)?;
    seat.ok_or_else(|| {
        let hint = "see how far it is: anthill pipeline status";
        ops::Error::refused("another orchestrator is at work on this run", hint).into()
    })
}

/// Runs the pipeline until it is over, and tells what happens.
pub fn run(
    engine: &dyn Engine,
    job: &Job,
    actor: &Actor,
    seat: &dyn Seat,
    tell: &mut dyn FnMut(Event),
) -> Result<End> {
    let shift = Arc::new(Shift::default());
    let signals = signals::heed(&shift)?;
    let (events, told) = mpsc::sync_channel(EVENTS);
    let (watchdog, files) =
        (Watchdog::start_holding(job.site.watchdog.as_deref(), seat.share()), TaskFiles::new()?);
    watchdog.tidy(files.dir());
    let worktrees =
        job.worktrees.then(|| Worktrees::new(&job.site.root, seat.share(), files.dir())).transpose()?;
    let known = Mutex::default();
    let orchestra = Orchestra {
        engine,
        job,
        actor,
        shift: &shift,
        events,
        watchdog,
        files,
        worktrees,
        turn: Mutex::default(),
        known,
    };
    let ended = thread::scope(|scope| {
        let conductor = scope.spawn(|| orchestra.conduct());
        told.iter().map_while(|event| event).for_each(&mut *tell);
        conductor.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    drop(signals);
    match (shift.failure(), shift.signal()) {
        (Some(error), _) => Err(error),
        (None, Some(signal)) => Ok(End::Signal(signal)),
        (None, None) => ended,
    }
}

/// What all threads work with.
struct Orchestra<'r> {
    engine: &'r dyn Engine,
    job: &'r Job,
    actor: &'r Actor,
    shift: &'r Shift,
    /// `None` is the end.
    events: SyncSender<Option<Event>>,
    watchdog: Watchdog,
    files: TaskFiles,
    worktrees: Option<Worktrees>,
    /// Taken by whoever looks at branches, from the look to the merge.
    turn: Mutex<()>,
    known: Mutex<Known>,
}

/// What this orchestrator knows of the orders, beside what is stored.
#[derive(Debug, Default)]
struct Known {
    /// Who is at work.
    busy: BTreeSet<String>,
    /// Orders that we could not get done, and why.
    stuck: BTreeMap<String, String>,
    used_up: Option<String>,
    /// Groups whose branches need no merge any more.
    merged: BTreeSet<String>,
}

impl Orchestra<'_> {
    fn tell(&self, event: Event) {
        // Who listens no more has what it needs.
        let _ = self.events.send(Some(event));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says which orders we could not get done.
    fn stuck(&self) -> Vec<String> {
        let mut stuck: Vec<String> = self.known().stuck.values().cloned().collect();
        stuck.sort();
        stuck
    }

    fn conduct(&self) -> Result<End> {
        let _closing = Closing(&self.events);
        if let Err(error) = self.watchdog.trouble() {
            self.tell(Event::Warning(format!("agents will outlive us if we are killed: {error}")));
        }
        thread::scope(|scope| {
            let ended = self.dispatch(scope);
            if ended.is_err() {
                self.shift.close();
            }
            ended
        })
    }

    fn dispatch<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> Result<End> {
        loop {
            // When the shift is over for another reason, that reason is told.
            let Some(news) = self.shift.wait_for_room(self.job.parallel) else { return Ok(End::Signal(0)) };
            let (open, ended) = self.orders()?;
            let idle = |order: &Order| {
                let known = self.known();
                !known.busy.contains(&order.id) && !known.stuck.contains_key(&order.id)
            };
            if let Some(order) = open.into_iter().find(idle) {
                self.send_off(scope, order);
            } else if !self.shift.wait_for_news(news, None, false) {
                return Ok(ended.unwrap_or_else(|| End::Stuck(self.stuck())));
            }
        }
    }

    /// Returns the orders that may be started now, or why there will be none.
    fn orders(&self) -> Result<(Vec<Order>, Option<End>)> {
        let run = pipeline::show(self.engine)?;
        // Who begins now should find what is complete.
        let merged = {
            let _turn = self.turn();
            self.merge_complete(&run)
        };
        if let Err(unmerged) = merged {
            return Ok((Vec::new(), Some(End::Stuck(vec![unmerged]))));
        }
        if let Some(end) = self.over(&run) {
            return Ok((Vec::new(), Some(end)));
        }
        let most = u64::try_from(self.job.parallel).unwrap_or(u64::MAX);
        let next = || pipeline::next_within(self.engine, Caps::of(Some(most)), None, self.actor);
        let (orders, done) = persist(next)?;
        done.warnings.into_iter().for_each(|warning| self.tell(Event::Warning(warning)));
        Ok((orders, None))
    }

    fn over(&self, run: &Pipeline) -> Option<End> {
        match run.status() {
            RunStatus::Completed => return Some(End::Completed),
            RunStatus::Error => return Some(End::Limit(run.stop_reason().unwrap_or("an error").into())),
            RunStatus::Running => {}
        }
        let used_up = self.known().used_up.clone().or_else(|| self.job.budget.used_up(run));
        used_up.map(End::Budget)
    }

    fn send_off<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, order: Order) {
        let place = self.shift.enter();
        self.known().busy.insert(order.id.clone());
        scope.spawn(move || {
            if let Err(error) = self.attend(&order, &place) {
                self.shift.fail(error);
            }
            self.known().busy.remove(&order.id);
            drop(place);
        });
    }

    /// Whether an error is about what was said, and not about the store.
    fn is_refusal(error: &ops::Error) -> bool {
        matches!(error.code(), Code::Refused | Code::Invalid | Code::Conflict | Code::NotFound)
    }
}
