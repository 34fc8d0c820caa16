//! `loop run`: an agent does item after item, then the gates judge, until the loop is complete or held up.
//!
//! One item at a time. Each run has a place among the runs at work and takes items under its name, so that several runs do each item
//! once, and wait for what another one has. If we are stopped, the item is put back; if we are killed, our place becomes free, and
//! the next run that looks puts back what we had.

use std::process::Command;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::hint;
use anthill_core::model::agent_loop::{
    COMPLETE, Check, Failures, GivenBack, Grip, Holder, PAUSED, STOPPED, Verdict, WorkLoop, is_in_hand,
    is_open,
};
use anthill_core::model::hint::Door;
use anthill_core::model::lease::LEASE;
use anthill_core::model::next::See;
use anthill_core::model::room::Room;
use anthill_core::model::usage::{Tries, Usage};
use anthill_core::ops::agent_loop::{self, GateReport, hold};
use anthill_core::ops::{self, Actor};
use anthill_core::store::{Engine, Seat};
use anthill_core::view;
use jiff::Timestamp;
use serde_json::Value;

use crate::gates::{self, Gate, GateRunner};
use crate::runner::agent::Agent;
use crate::runner::asking::{Ailing, Answered, Asking, Reply};
use crate::runner::report::Verdict as Answer;
use crate::runner::run_state::{Place, RunState};
use crate::runner::supervisor::{Beat, Call, Cut, Pulse, Supervisor};
use crate::runner::task_file::{TaskFile, TaskFiles};
use crate::runner::watchdog::Watchdog;
use crate::runner::{
    Closing, EVENTS, Error, Limits, Result, Run, Site, brief, health, persist, place, signals,
};

/// What does the items, and what judges them.
#[derive(Debug)]
pub struct Job {
    pub agent: Agent,
    /// The name under which items are taken; that of the run, unless told.
    pub who: Option<String>,
    /// How long one try at an item may take.
    pub limits: Limits,
    /// How often a failed try is repeated, instead of what its class says.
    pub retries: Option<u64>,
    /// No more agents are started when this run has cost this much, in dollars.
    pub max_cost: Option<f64>,
    pub gates: Vec<Gate>,
    pub site: Site,
}

/// Something that happened.
#[derive(Debug)]
pub enum Event<'e> {
    Taken(&'e Value),
    /// A line that the agent printed.
    Output(String),
    /// The agent failed, and is run again after a while.
    Again {
        id: &'e str,
        reason: &'e str,
        delay: Duration,
    },
    Done(&'e str),
    PutBack {
        id: &'e str,
        reason: &'e str,
    },
    /// Nothing is started before that time.
    Paused {
        until: Timestamp,
        reason: &'static str,
    },
    /// Somebody who is gone had it.
    TakenBack(&'e GivenBack),
    /// Others have what is left to do.
    Waiting {
        id: &'e str,
        by: &'e str,
    },
    Gate(gates::Event<'e>),
    Judged(&'e ops::agent_loop::LoopChanged),
    Warning(String),
}

/// What happens while an agent is at work, in its order.
enum AgentNews {
    Line(String),
    Again(String, Duration),
}

/// How the run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    /// Somebody has to look at it, for this reason.
    Held(String),
    Signal(i32),
}

/// Runs the loop to its end. Also returns what the agents used.
pub fn run(
    engine: &dyn Engine,
    job: &Job,
    actor: &Actor,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(End, Usage)> {
    place::check(&job.agent, &job.site)?;
    let state = Arc::new(RunState::default());
    let _signals = signals::heed(&state)?;
    let (run, seat) = take_place(engine)?;
    // Before the first look, so that no change after it is missed.
    state.ring_at(engine.listen(&[agent_loop::work_queue()]).map_err(ops::Error::from)?);
    let watchdog = Watchdog::start_holding(job.site.watchdog.as_deref(), seat.for_child());
    if let Err(error) = watchdog.trouble() {
        tell(Event::Warning(format!("the agent will outlive us if we are killed: {error}")));
    }
    let files = TaskFiles::new()?;
    watchdog.tidy(files.dir());
    let who = job.who.clone().unwrap_or_else(|| run.clone());
    let mut runner =
        Runner { engine, job, run, who, actor, tell, state: &state, watchdog, files, used: Usage::default() };
    runner.begin()?;
    let end = runner.work()?;
    if let Some(error) = state.failure() {
        return Err(error);
    }
    Ok((state.signal().map_or(end, End::Signal), runner.used))
}

/// How many runs may be at work in one project.
const RUNS: usize = 64;

/// How long to wait for others before checking whether they are still there: a killed process says nothing.
const PATIENCE: Duration = Duration::from_secs(5);

/// Takes the first free place among the runs at work. A killed run has its place until all that it started is gone.
fn take_place(engine: &dyn Engine) -> Result<(String, Box<dyn Seat>)> {
    for number in 1..=RUNS {
        let run = format!("run-{number}");
        if let Some(seat) = seat_of(engine, &run)? {
            return Ok((run, seat));
        }
    }
    Err(Error::Ops(ops::Error::refused(
        format!("{RUNS} runs are at work in this project"),
        hint!["see what they do: ", See::Loop],
    )))
}

/// Returns the place of a run, if nobody has it.
fn seat_of(engine: &dyn Engine, run: &str) -> Result<Option<Box<dyn Seat>>> {
    let seat = engine.seat(&Room::State, &format!("loop-{run}"), Duration::ZERO);
    Ok(seat.map_err(ops::Error::from)?)
}

struct Runner<'r> {
    engine: &'r dyn Engine,
    job: &'r Job,
    /// Our place among those at work.
    run: String,
    who: String,
    actor: &'r Actor,
    tell: &'r (dyn Fn(Event<'_>) + Sync),
    state: &'r RunState,
    watchdog: Watchdog,
    files: TaskFiles,
    used: Usage,
}

impl Runner<'_> {
    fn tell(&self, event: Event<'_>) {
        (self.tell)(event);
    }

    fn holder(&self) -> Holder<'_> {
        Holder { who: &self.who, session: None, run: Some(&self.run), lease: LEASE }
    }

    fn begin(&self) -> Result<()> {
        self.take_back()?;
        agent_loop::begin_with_task(self.engine, self.actor)?;
        Ok(())
    }

    fn work(&mut self) -> Result<End> {
        loop {
            let work = agent_loop::show(self.engine)?;
            match work.status() {
                COMPLETE => return Ok(End::Complete),
                PAUSED | STOPPED => return Ok(End::Held(work.reason().to_owned())),
                _ => {}
            }
            let Some(news) = self.state.wait_for_room(usize::MAX) else {
                return Ok(End::Held("stopped".into()));
            };
            let end = match self.next_item()? {
                Some((item, work)) => self.attend(&item, &work)?,
                None if self.take_back()? => None,
                None if self.wait_for_others(news)? => None,
                None => self.judge()?,
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Takes an item, if one waits.
    fn next_item(&self) -> Result<Option<(Value, WorkLoop)>> {
        let taken = persist(|| hold::take(self.engine, &self.holder(), None, None, self.actor));
        let done = match taken {
            Err(error) if error.code() == Code::NotFound => return Ok(None),
            taken => taken?,
        };
        done.given_back.iter().for_each(|given| self.tell(Event::TakenBack(given)));
        let item = done.item.as_deref().and_then(|id| done.work.item(id)).cloned();
        Ok(item.map(|item| (item, done.work)))
    }

    /// Gives back the items of runs that are gone, as their free places show. Returns whether there were any.
    fn take_back(&self) -> Result<bool> {
        let work = agent_loop::show(self.engine)?;
        let mut gone = Vec::new();
        for run in work.runs() {
            // The run that had our place before must be gone.
            if run == self.run || (is_place(run) && seat_of(self.engine, run)?.is_some()) {
                gone.push(run.to_owned());
            }
        }
        if gone.is_empty() {
            return Ok(false);
        }
        let given = persist(|| hold::give_back_of_runs(self.engine, &gone, self.actor))?;
        given.iter().for_each(|given| self.tell(Event::TakenBack(given)));
        Ok(!given.is_empty())
    }

    /// Waits for a change if another run has the items that are left, since its work is not finished. Returns false if there is nobody to
    /// wait for.
    fn wait_for_others(&self, news: u64) -> Result<bool> {
        let work = agent_loop::show(self.engine)?;
        let is_of_run = |item: &&Value| is_in_hand(item) && is_place(text(item, "run"));
        let Some(item) = work.items().iter().find(is_of_run) else { return Ok(false) };
        self.tell(Event::Waiting { id: text(item, "id"), by: text(item, "assigned_to") });
        self.state.wait_for_news(news, Some(PATIENCE), true);
        Ok(true)
    }

    /// Lets the agent do an item. Returns an end if it failed: the next one to be taken would be the same item.
    fn attend(&mut self, item: &Value, work: &WorkLoop) -> Result<Option<End>> {
        self.tell(Event::Taken(item));
        let id = item["id"].as_str().unwrap_or_default();
        let (undone, tries) = match self.ask(item, work, &self.state.enter()) {
            Ok(Reply::Answered(Answered { verdict, tries, .. })) => match verdict {
                Answer::Done(_) => {
                    self.state.is_served();
                    (None, tries)
                }
                Answer::Failed(reason) => (Some(reason), tries),
                Answer::Released => (Some("the agent gave it back".into()), tries),
            },
            Ok(Reply::Cut(Cut::Lost(reason), tries)) => {
                self.settle(id, false, &tries)?;
                self.tell(Event::PutBack { id, reason: &reason });
                return Ok(self.over_budget());
            }
            Ok(Reply::Cut(_, tries)) => (Some("stopped".into()), tries),
            Ok(Reply::Ailing(ailing)) => return self.put_back(id, &ailing),
            Err(error) => {
                self.settle(id, false, &Tries::default())?;
                return Err(error);
            }
        };
        self.settle(id, undone.is_none(), &tries)?;
        let Some(reason) = undone else {
            self.tell(Event::Done(id));
            return Ok(self.over_budget());
        };
        self.tell(Event::PutBack { id, reason: &reason });
        Ok(Some(End::Held(format!("`{id}` is not done: {}", brief(&reason)))))
    }

    /// Puts back an item whose agent could not work. A trouble that passes is waited for; any other ends the run.
    fn put_back(&mut self, id: &str, Ailing { diagnosis, reason, tries }: &Ailing) -> Result<Option<End>> {
        self.settle(id, false, tries)?;
        self.tell(Event::PutBack { id, reason });
        if !diagnosis.ailment.passes() {
            return Err(health::stopped(&self.job.agent, diagnosis.ailment, reason));
        }
        self.state.rest(diagnosis, self.actor.now());
        while let Some(pause) = self.state.pause().filter(|_| self.state.signal().is_none()) {
            self.tell(Event::Paused { until: pause.until, reason: pause.ailment.words() });
            self.state.sit_out(&pause, &|| self.actor.now());
        }
        Ok(self.over_budget())
    }

    fn settle(&mut self, id: &str, is_done: bool, tries: &Tries) -> Result<()> {
        self.used.add(tries.usage);
        let settled = hold::settle(self.engine, (&self.holder(), id), is_done, tries, self.actor)?;
        settled.warnings.iter().for_each(|warning| self.tell(Event::Warning(self.actor.door.tell(warning))));
        Ok(())
    }

    /// Whether somebody has said that an item is done.
    fn is_done(&self, id: &str) -> bool {
        let work = agent_loop::show(self.engine);
        work.is_ok_and(|work| work.item(id).is_some_and(|item| !is_open(item)))
    }

    /// Whether others are at work in the project now, as far as we can tell.
    fn has_company(&self, id: &str) -> bool {
        let is_other = |item: &Value| item["status"] == "in_progress" && item["id"] != id;
        let work = agent_loop::show(self.engine);
        let in_loop = work.is_ok_and(|work| work.items().iter().any(is_other));
        in_loop || ops::queue::brief::active(self.engine).is_ok_and(|tasks| !tasks.is_empty())
    }

    fn over_budget(&self) -> Option<End> {
        let most = self.job.max_cost.filter(|most| self.used.cost_usd >= *most)?;
        Some(End::Held(format!("the budget of ${most} is used up")))
    }

    fn ask(&self, item: &Value, work: &WorkLoop, place: &Place<'_>) -> Result<Reply> {
        let id = item["id"].as_str().unwrap_or_default();
        let file = self.files.write_value("item", item)?;
        // `None` ends it: a process outside the group may keep the output open for longer.
        let (sender, told) = mpsc::sync_channel(EVENTS);
        let talk = sender.clone();
        let mut call = Call {
            command: self.command(id, &file),
            input: view::agent_loop::prompt(&work.queue, item, &self.who, self.actor.door),
            limits: self.job.limits,
            sign_of_life: Some(file.path()),
            tell: Some(Arc::new(move |line| talk.send(Some(AgentNews::Line(line))).unwrap_or_default())),
        };
        let again = |reason: &str, delay| {
            sender.send(Some(AgentNews::Again(reason.to_owned(), delay))).unwrap_or_default();
        };
        let asked = thread::scope(|scope| {
            scope.spawn(move || {
                told.into_iter().map_while(|told| told).for_each(|told| match told {
                    AgentNews::Line(line) => self.tell(Event::Output(line)),
                    AgentNews::Again(reason, delay) => self.tell(Event::Again { id, reason: &reason, delay }),
                });
            });
            let _closing = Closing(&sender);
            let asking = Asking {
                agent: Some(&self.job.agent),
                retries: self.job.retries,
                now: &|| health::now(self.actor),
                has_reported: &|| self.is_done(id),
                others: &|| self.has_company(id),
                again: &again,
            };
            let give = || self.sign_of_life(id);
            let beat = Beat { every: Duration::from_secs_f64(LEASE / 3.0), give: &give };
            Supervisor::new(place, &self.watchdog).beating(beat).ask(&mut call, &asking)
        });
        asked.map_err(|source| Error::Command { program: self.job.agent.line.clone(), source })
    }

    /// Returns the agent's command for an item.
    fn command(&self, id: &str, file: &TaskFile) -> Command {
        let mut command = self.job.site.command(&Run::Line(self.job.agent.line.clone()));
        command
            .env("ANTHILL_TASK_ID", id)
            .env("ANTHILL_TASK_FILE", file.path())
            .env("ANTHILL_WORKER", &self.who);
        command
    }

    /// Renews the lease while an agent works, and says whether the item is still ours.
    fn sign_of_life(&self, id: &str) -> Pulse {
        match hold::renew(self.engine, &self.holder(), id, self.actor) {
            Ok(Grip::Lost(by)) => Pulse::Lost(format!("`{by}` has it now")),
            Ok(Grip::Dropped) => Pulse::Lost("somebody gave it back".into()),
            // The agent has said so by itself and is about to end.
            Ok(Grip::Closed) => Pulse::Settled,
            // The next heartbeat may succeed.
            Ok(Grip::Held) | Err(_) => Pulse::Beating,
        }
    }

    /// Runs the gates and judges the iteration, once for all runs that want to now. Returns an end if there is nothing to do next.
    fn judge(&self) -> Result<Option<End>> {
        let told = |event: gates::Event<'_>| self.tell(Event::Gate(event));
        let Job { gates, site, .. } = self.job;
        let bench =
            GateRunner { engine: self.engine, gates, site, state: self.state, watchdog: &self.watchdog };
        let Some(done) = bench.judge(None, self.actor, &told)? else {
            return Ok(Some(End::Held("stopped".into())));
        };
        self.tell(Event::Judged(&done));
        // The open items belong to others that are not runs: another round would change nothing.
        let is_held = |item: &&Value| {
            is_open(item) && !matches!(text(item, "status"), "" | "pending") && !is_place(text(item, "run"))
        };
        match (&done.verdict, done.work.items().iter().find(is_held)) {
            (Some(Verdict::Passed), Some(item)) => Ok(Some(End::Held(held(item, self.actor.door)))),
            _ => Ok(None),
        }
    }
}

/// Says why an item cannot be taken.
fn held(item: &Value, door: &dyn Door) -> String {
    let (id, by) = (text(item, "id"), text(item, "assigned_to"));
    match is_in_hand(item) {
        true => {
            let told = format!("`{id}` is in the hands of `{by}`; if they are gone: ");
            door.tell(&hint![told, agent_loop::release(id, by)])
        }
        false => format!("`{id}` is {}", text(item, "status")),
    }
}

/// Whether a name is that of a place: no other text of a document becomes a file name.
fn is_place(run: &str) -> bool {
    let number = run.strip_prefix("run-").and_then(|number| number.parse::<usize>().ok());
    number.is_some_and(|number| (1..=RUNS).contains(&number) && run == format!("run-{number}"))
}

fn text<'v>(item: &'v Value, field: &str) -> &'v str {
    item.get(field).and_then(Value::as_str).unwrap_or_default()
}

impl gates::Ran {
    /// Returns what is recorded of a gate that ended so.
    pub fn report(self, gate: &Gate) -> GateReport {
        let check = Check {
            ended: self.ended,
            issues: gate.count.as_ref().and_then(|count| count.find(&self.output)),
            severity: None,
            default_severity: gate.severity,
            blocking: gate.blocking,
            detected: gate.detected,
            seconds: Some(self.took.as_secs_f64()),
            failures: Failures::of(&self.output),
        };
        GateReport { name: gate.name.clone(), check, output: Some(self.output) }
    }
}
