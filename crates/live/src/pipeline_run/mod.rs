//! `orchestrate`: runs an agent for every order of the pipeline, until the run is complete or something stops it.
//!
//! One thread asks for orders; every order has a thread of its own, from its first try to its report (`order`). All
//! that matters is in the store: if we are killed, our agents are killed too (the runner's watchdog), their orders stay
//! open, and the next orchestrator starts them again. A thread listens for what others change: agents that report by
//! themselves, and people who edit. `answer` reads what an agent says, `worktrees` decides where a group works, `idle` measures
//! how long developers wait although they could begin.

mod answer;
mod idle;
mod order;
mod worktrees;

use std::collections::{BTreeMap, BTreeSet};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::hint;
use anthill_core::model::documents::pipeline::RunStatus;
use anthill_core::model::documents::state::Features;
use anthill_core::model::kind::{Doc, Kind};
use anthill_core::model::next::See;
use anthill_core::model::pipeline::table::Role;
use anthill_core::model::pipeline::{Caps, KINDS, NO_GROUP, Order, Pipeline, REPLACED};
use anthill_core::model::room::Room;
use anthill_core::model::time;
use anthill_core::ops::orchestrate::{self as tries, Budget};
use anthill_core::ops::pipeline::NewRun;
use anthill_core::ops::settings::Settings;
use anthill_core::ops::{self, Actor, pipeline};
use anthill_core::store::{Engine, Listener, Seat};
use jiff::Timestamp;

use self::idle::Idle;
use self::worktrees::Worktrees;
use crate::runner::agent::Agent;
use crate::runner::run_state::{Nudge, Pause, RunState};
use crate::runner::task_file::TaskFiles;
use crate::runner::watchdog::Watchdog;
use crate::runner::{Closing, EVENTS, Error, Limits, Result, Site, persist, place, signals};

/// How long to listen before checking whether the run is over.
const LISTEN: Duration = Duration::from_millis(200);

/// How long to wait for another orchestrator that is about to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which agents do the work, where, and within which limits.
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
    /// After how many failures of one kind a group is given up.
    pub most_alike: u64,
    /// A line of shell that must succeed before the end of the run is judged.
    pub check: Option<String>,
    pub budget: Budget,
    /// Whether every group works in a git worktree of its own.
    pub worktrees: bool,
    /// Whether worktrees are made where links lead, also out of the project.
    pub follow_links: bool,
}

/// The agents.
#[derive(Debug)]
pub struct Agents {
    /// `None` where every role has its own.
    pub usual: Option<Agent>,
    pub of_roles: Vec<(Role, Agent)>,
}

impl Agents {
    fn of(&self, role: Role) -> &Agent {
        let own = self.of_roles.iter().rfind(|(of, _)| *of == role);
        let own = own.map(|(_, agent)| agent).or(self.usual.as_ref());
        own.expect("a role without an agent of its own has the usual one")
    }

    fn all(&self) -> impl Iterator<Item = &Agent> {
        self.usual.iter().chain(self.of_roles.iter().map(|(_, agent)| agent))
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    Started {
        order: Order,
        number: u64,
    },
    /// The order was reported, by its agent or for it.
    Settled {
        order: Order,
        said: String,
    },
    Failed {
        order: Order,
        reason: String,
        again_in: Option<Duration>,
    },
    /// The agent ended without an answer, and is asked once more.
    Unclear {
        order: Order,
    },
    /// The service behind the agent is not available: this says nothing about the work.
    PutBack {
        order: Order,
        reason: String,
    },
    /// Nobody is started until then.
    Paused {
        until: Timestamp,
        reason: &'static str,
    },
    /// The try ended because everybody stops, or somebody has given the group another status.
    Stopped {
        order: Order,
    },
    /// Nobody is started for this group any more.
    GaveUp {
        group: String,
        reason: String,
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

/// Which run it is about.
#[derive(Debug)]
pub enum Wanted {
    /// A new one, or the one that there is for the same requirements.
    New(NewRun),
    /// The one that there is; refused if it is for other requirements than these.
    Known { requirements: Option<String> },
}

/// Refuses where the configuration has turned orchestration off.
pub fn check_allowed(engine: &dyn Engine) -> ops::Result<()> {
    Settings::read(engine)?.need(Features::enable_orchestration, "orchestration")
}

/// Begins a run or takes one up, and works on it until it is over. Tells what happens.
pub fn run(
    engine: &dyn Engine,
    wanted: &Wanted,
    job: &Job,
    actor: &Actor,
    tell: &mut dyn FnMut(Event),
) -> Result<End> {
    check_allowed(engine)?;
    if let Wanted::Known { requirements } = wanted {
        tries::resume(engine, requirements.as_deref())?;
    }
    let seat = take_seat(engine)?;
    if let Wanted::New(new) = wanted {
        tries::begin(engine, new, actor)?;
    }
    attend(engine, job, actor, &*seat, tell)
}

/// Makes sure that nobody else starts agents for the same run, until the seat is dropped. A killed orchestrator keeps its seat
/// until its last agent is gone.
fn take_seat(engine: &dyn Engine) -> Result<Box<dyn Seat>> {
    tries::seat(engine, PATIENCE)?.ok_or_else(|| {
        let hint = hint!["see how far it is: ", See::Pipeline];
        ops::Error::refused("another orchestrator is at work on this run", hint).into()
    })
}

/// Runs the pipeline until it is over, and writes down who did so and how it ended.
fn attend(
    engine: &dyn Engine,
    job: &Job,
    actor: &Actor,
    seat: &dyn Seat,
    tell: &mut dyn FnMut(Event),
) -> Result<End> {
    // Before anything begins.
    job.agents.all().try_for_each(|agent| place::check(agent, &job.site))?;
    // A run that is complete has at most a merge left.
    let is_open = pipeline::show(engine)?.status() != RunStatus::Completed;
    if is_open {
        persist(|| tries::take_over(engine, process::id(), actor))?;
    }
    let mut idle = 0.0;
    let ended = conduct(engine, job, actor, seat, tell, &mut idle);
    let gave_up = match &ended {
        Ok(End::Budget(reason)) => Some(reason.clone()),
        Ok(End::Stuck(stuck)) => Some(format!("nothing can go on: {}", stuck.join("; "))),
        Err(error) => Some(error.to_string()),
        Ok(End::Completed | End::Limit(_) | End::Signal(_)) => None,
    };
    if is_open {
        let left = persist(|| tries::leave(engine, gave_up.as_deref(), idle, actor));
        // The first error matters more than the failure to write it down.
        return ended.and_then(|end| left.map(|_| end).map_err(Error::from));
    }
    ended
}

/// Runs it, and counts the seconds for which developers were idle.
fn conduct(
    engine: &dyn Engine,
    job: &Job,
    actor: &Actor,
    seat: &dyn Seat,
    tell: &mut dyn FnMut(Event),
    idle: &mut f64,
) -> Result<End> {
    let state = Arc::new(RunState::default());
    let signals = signals::heed(&state)?;
    let (events, told) = mpsc::sync_channel(EVENTS);
    let (watchdog, files) =
        (Watchdog::start_holding(job.site.watchdog.as_deref(), seat.for_child()), TaskFiles::new()?);
    watchdog.tidy(files.dir());
    let worktrees = job.worktrees.then(|| Worktrees::new(job, seat, files.dir())).transpose()?;
    let (turn, known) = (Mutex::default(), Mutex::default());
    let running =
        PipelineRun { engine, job, actor, state: &state, events, watchdog, files, worktrees, turn, known };
    let ended = thread::scope(|scope| {
        let conductor = scope.spawn(|| running.conduct());
        told.iter().map_while(|event| event).for_each(&mut *tell);
        conductor.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    drop(signals);
    *idle = running.known().idle.seconds();
    match (state.failure(), state.signal()) {
        (Some(error), _) => Err(error),
        (None, Some(signal)) => Ok(End::Signal(signal)),
        (None, None) => ended,
    }
}

/// What all threads share.
struct PipelineRun<'r> {
    engine: &'r dyn Engine,
    job: &'r Job,
    actor: &'r Actor,
    state: &'r RunState,
    /// `None` says that no more will come.
    events: SyncSender<Option<Event>>,
    watchdog: Watchdog,
    files: TaskFiles,
    worktrees: Option<Worktrees<'r>>,
    /// Held by whoever looks at branches, until the merge is done.
    turn: Mutex<()>,
    known: Mutex<Known>,
}

/// What this orchestrator knows of the orders, beside what is stored.
#[derive(Debug, Default)]
struct Known {
    /// Who is at work: by orders, with the group and how to stop it.
    busy: BTreeMap<String, (String, Sender<Nudge>)>,
    /// Orders of the project manager that we could not get done, and why.
    stuck: BTreeMap<String, String>,
    idle: Idle,
    used_up: Option<String>,
    /// Groups whose branches need no merge any more.
    merged: BTreeSet<String>,
}

impl PipelineRun<'_> {
    fn tell(&self, event: Event) {
        // Nobody may be listening any more, and that is fine.
        let _ = self.events.send(Some(event));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what is missing, and which orders of the project manager we could not get done.
    fn stuck(&self) -> Result<Vec<String>> {
        let missing = pipeline::show(self.engine)?.missing();
        let mut stuck: Vec<String> = self.known().stuck.values().cloned().collect();
        stuck.sort();
        stuck.extend(missing);
        Ok(stuck)
    }

    fn conduct(&self) -> Result<End> {
        let _closing = Closing(&self.events);
        if let Err(error) = self.watchdog.trouble() {
            self.tell(Event::Warning(format!("agents will outlive us if we are killed: {error}")));
        }
        let mut listener = self.engine.listen(&run_documents()).map_err(ops::Error::from)?;
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| self.hear(&mut *listener, &over));
            let ended = thread::scope(|scope| {
                let ended = self.dispatch(scope);
                if ended.is_err() {
                    self.state.close();
                }
                ended
            });
            over.store(true, Ordering::Release);
            ended
        })
    }

    /// Looks again whenever somebody has changed the run: an agent that reports by itself need not have ended.
    fn hear(&self, listener: &mut dyn Listener, over: &AtomicBool) {
        while !over.load(Ordering::Acquire) {
            match listener.wait(Some(LISTEN)) {
                Ok(true) => self.state.ring(),
                Ok(false) => {}
                // Then the end of an agent is the next news.
                Err(_) => return,
            }
        }
    }

    fn dispatch<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> Result<End> {
        loop {
            // If the run is over for another reason, that one is reported.
            let Some(news) = self.state.wait_for_room(self.job.parallel) else { return Ok(End::Signal(0)) };
            if let Some(pause) = self.state.pause() {
                self.sit_out(&pause);
                continue;
            }
            let (open, ended) = self.orders()?;
            let idle = |order: &Order| {
                let known = self.known();
                let is_busy =
                    |(_, (group, _)): (&String, &(String, _))| *group == order.group && group != NO_GROUP;
                !known.busy.contains_key(&order.id)
                    && !known.stuck.contains_key(&order.id)
                    && !known.busy.iter().any(is_busy)
            };
            let mut is_sent = false;
            // As many as there is room for: another look in between would delay the next one.
            for order in open {
                if idle(&order) && (!is_sent || self.state.has_room(self.job.parallel)) {
                    self.send_off(scope, order);
                    is_sent = true;
                }
            }
            if !is_sent && !self.state.wait_for_news(news, None, false) {
                return ended.map_or_else(|| self.stuck().map(End::Stuck), Ok);
            }
        }
    }

    /// Returns the orders that may be started now, or why there will be none.
    fn orders(&self) -> Result<(Vec<Order>, Option<End>)> {
        loop {
            // No approval between here and the new orders: whoever begins must find everything that is complete.
            let _turn = self.turn();
            let run = pipeline::show(self.engine)?;
            self.stop_replaced(&run);
            if let Err(unmerged) = self.merge_complete(&run) {
                return Ok((Vec::new(), Some(End::Stuck(vec![unmerged]))));
            }
            if let Some(end) = self.over(&run) {
                return Ok((Vec::new(), Some(end)));
            }
            let most = u64::try_from(self.job.parallel).unwrap_or(u64::MAX);
            let next = || pipeline::next_within(self.engine, Caps::of(Some(most)), self.actor);
            let (orders, done) = persist(next)?;
            done.warnings.iter().for_each(|warning| self.tell(Event::Warning(self.actor.door.tell(warning))));
            self.known().idle.saw(&run, &orders, self.actor.now().as_millisecond());
            // A reviewer may have reported by itself meanwhile.
            if self.is_merged(&done.pipeline) {
                return Ok((orders, None));
            }
        }
    }

    /// Waits until the service is back; the pause is on the board.
    fn sit_out(&self, pause: &Pause) {
        let reason = pause.ailment.words();
        self.tell(Event::Paused { until: pause.until, reason });
        self.show_pause(Some(&format!("paused until {}: {reason}", time::stamp(pause.until))));
        self.state.sit_out(pause, &|| self.actor.now());
        self.known().idle.made_room(self.actor.now().as_millisecond());
        if self.state.pause().is_none() {
            self.show_pause(None);
        }
    }

    fn show_pause(&self, pause: Option<&str>) {
        if let Err(error) = tries::pause(self.engine, pause, self.actor) {
            self.tell(Event::Warning(format!("`pipeline status` does not tell of the pause: {error}")));
        }
    }

    /// Stops agents whose groups somebody has given another status.
    fn stop_replaced(&self, run: &Pipeline) {
        for (id, (_, agent)) in &self.known().busy {
            if run.said(id) == Some(REPLACED) {
                // It may have ended already.
                let _ = agent.send(Nudge::Stop);
            }
        }
    }

    fn over(&self, run: &Pipeline) -> Option<End> {
        match run.status() {
            RunStatus::Completed => return Some(End::Completed),
            RunStatus::Error => return Some(End::Limit(run.stop_reason().unwrap_or("an error").into())),
            RunStatus::Running => {}
        }
        let used_up = self.known().used_up.clone().or_else(|| self.job.budget.used_up(run, self.actor.door));
        used_up.map(End::Budget)
    }

    fn send_off<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, order: Order) {
        let place = self.state.enter();
        self.known().busy.insert(order.id.clone(), (order.group.clone(), place.sender.clone()));
        scope.spawn(move || {
            if let Err(error) = self.attend(&order, &place) {
                self.state.fail(error);
            }
            {
                let (mut known, now) = (self.known(), self.actor.now().as_millisecond());
                if known.busy.len() >= self.job.parallel {
                    known.idle.made_room(now);
                }
                known.busy.remove(&order.id);
            }
            drop(place);
        });
    }

    /// Whether an error is about what was said, and not about the store.
    fn is_refusal(error: &ops::Error) -> bool {
        matches!(error.code(), Code::Refused | Code::Invalid | Code::Conflict | Code::NotFound)
    }
}

/// Returns the documents whose change may give us something to do.
fn run_documents() -> Vec<Doc> {
    let doc =
        |kind: &&str| Doc::shared(Kind::find(kind).expect("the pipeline's kinds are known"), Room::Pipeline);
    KINDS[..3].iter().map(doc).collect()
}
