//! One order, from its first try to its report.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anthill_core::model::changes::Changes;
use anthill_core::model::error_class::ErrorClass;
use anthill_core::model::ids::Key;
use anthill_core::model::pipeline::table::{Purpose, Role};
use anthill_core::model::pipeline::{Failure, failures};
use anthill_core::model::pipeline::{NO_GROUP, Order, Pipeline};
use anthill_core::model::plan::word;
use anthill_core::model::redact::redact;
use anthill_core::model::service::Diagnosis;
use anthill_core::ops::orchestrate::{self as tries, Answer, Begun, Ended, Settled};
use anthill_core::ops::{self, pipeline};
use anthill_core::view::prompt;

use super::{Error, Event, PipelineRun, Result, answer};
use crate::changes::{self, Effort};
use crate::runner::health;
use crate::runner::run_state::Place;
use crate::runner::supervisor::{Call, Cut, Finished, Supervisor};
use crate::runner::task_file::TaskFile;
use crate::runner::trouble::{Trouble, bad_end, brief, with_details};
use crate::runner::{Limits, Run, persist};

/// How one try ended.
enum Tried {
    Settled,
    /// Not again before this time.
    Again(Duration),
    /// The connection got lost, which may be over by now.
    Hiccup,
    Over,
}

impl PipelineRun<'_> {
    /// Tries an order until it is settled, cannot be, or everybody stops.
    pub(super) fn attend(&self, order: &Order, place: &Place<'_>) -> Result<()> {
        if order.purpose == Purpose::FinalCheck && !self.check(order, place)? {
            return Ok(());
        }
        if self.worktrees.is_some() && order.purpose == Purpose::Review && !self.check_merge(order)? {
            return Ok(());
        }
        let mut hiccups = 0;
        while self.state.signal().is_none() {
            let begun = persist(|| tries::begin_try(self.engine, &order.id, self.job.budget, self.actor))?;
            let (number, run) = match begun {
                Begun::Try(number, run) => (number, run),
                Begun::Settled => return Ok(()),
                Begun::UsedUp(reason) => {
                    self.known().used_up = Some(reason);
                    return Ok(());
                }
            };
            self.tell(Event::Started { order: order.clone(), number });
            match self.try_once((order, number), &run, place, hiccups)? {
                Tried::Hiccup => hiccups += 1,
                Tried::Again(delay) if Supervisor::new(place, &self.watchdog).pause(delay).is_none() => {}
                Tried::Again(_) | Tried::Settled | Tried::Over => return Ok(()),
            }
        }
        Ok(())
    }

    fn try_once(
        &self,
        (order, number): (&Order, u64),
        run: &Pipeline,
        place: &Place<'_>,
        hiccups: u32,
    ) -> Result<Tried> {
        let (finished, changed) = match self.run_agent(order, number, run, place) {
            Ok(ran) => ran,
            Err(error) => {
                let trouble =
                    Trouble { cannot_run: true, ..Trouble::new(ErrorClass::Unknown, error.to_string()) };
                return self.failed(order, number, run, &trouble, Ended::default());
            }
        };
        let (usage, log) = (finished.transcript.heard.usage, finished.said());
        let ended = Ended { usage, log, changed, ..Ended::default() };
        if finished.cut == Some(Cut::Stopped) {
            self.end_try(order, number, &ended, None)?;
            self.tell(Event::Stopped { order: order.clone() });
            return Ok(Tried::Over);
        }
        let agent = self.job.agents.of(order.role);
        if let Some(diagnosis) = health::diagnose(agent, &finished, &health::now(self.actor)) {
            let settled = self.end_try(order, number, &ended, None)?;
            let may_be_over = health::is_hiccup(&diagnosis) && hiccups == 0 && self.job.retries != Some(0);
            return match settled.is_open {
                // It has reported by itself before.
                false => Ok(self.settled(order, &settled)),
                true if may_be_over => Ok(Tried::Hiccup),
                true => self.put_back(order, &diagnosis, &finished),
            };
        }
        self.take_answer((order, number), run, &finished, ended)
    }

    /// Hands in what an agent answered. Without an answer, or with one that is refused, the try has failed.
    fn take_answer(
        &self,
        (order, number): (&Order, u64),
        run: &Pipeline,
        finished: &Finished,
        ended: Ended,
    ) -> Result<Tried> {
        let trouble = match answer::read(order, finished) {
            Err(trouble) => trouble,
            Ok(answer) => match self.hand_in(order, number, run, &ended, answer) {
                Ok(settled) => {
                    self.state.is_served();
                    return Ok(self.settled(order, &settled));
                }
                Err(Error::Ops(error)) if PipelineRun::is_refusal(&error) => {
                    Trouble::new(ErrorClass::Unknown, format!("its answer was refused: {error}"))
                }
                Err(error) => return Err(error),
            },
        };
        self.failed(order, number, run, &trouble, ended)
    }

    /// Runs an agent, asks it once more if it does not answer, and looks at what really changed meanwhile.
    fn run_agent(
        &self,
        order: &Order,
        number: u64,
        run: &Pipeline,
        place: &Place<'_>,
    ) -> Result<(Finished, Option<Changes>)> {
        let file = self.write_order(order, number, run)?;
        let agent = self.job.agents.of(order.role);
        let place_of_work = {
            let _turn = self.turn();
            self.workplace(run, order).map_err(no_place)?
        };
        let before = Some(&place_of_work).filter(|_| order.role == Role::Developer);
        let before = before.and_then(|dir| changes::look(dir, Effort::RUN));
        let mut call = Call {
            command: self.command(order, &file, &place_of_work),
            input: prompt::spoken(run, order, self.actor.door),
            limits: self.job.limits,
            sign_of_life: Some(file.path()),
            tell: None,
        };
        let mut supervisor = Supervisor::new(place, &self.watchdog);
        let cannot_run = |source| Error::Command { program: agent.line.clone(), source };
        self.known().idle.started(order, self.actor.now().as_millisecond());
        let finished = supervisor.run(&mut call).map_err(cannot_run)?;
        let changed = || before?.since(self.worktrees.is_none() && run.open_orders().count() > 1);
        if !answer::is_unclear(order, &finished) || !self.is_open(order)? {
            return Ok((finished, changed()));
        }
        self.tell(Event::Unclear { order: order.clone() });
        let mut again =
            supervisor.question(&call, agent, &finished, &prompt::question(order)).map_err(cannot_run)?;
        again.transcript.heard.usage.add(finished.transcript.heard.usage);
        again.stdout = format!("{}\n--- asked for an answer\n{}", finished.said(), again.stdout);
        Ok((again, changed()))
    }

    /// Writes the order and its state to a file for its agent.
    fn write_order(&self, order: &Order, number: u64, run: &Pipeline) -> Result<TaskFile> {
        // An id that somebody made up is not used as a file name.
        let name = order.id.parse::<Key>().map_or_else(|_| "order".into(), |id| id.to_string());
        self.files.write_value(&format!("{name}-{number}"), &prompt::order(run, order, self.actor.door))
    }

    /// Returns the command of an order's agent.
    fn command(&self, order: &Order, file: &TaskFile, place: &Path) -> Command {
        let line = self.job.agents.of(order.role).line.clone();
        let group = if order.group == NO_GROUP { String::new() } else { format!("-{}", order.group) };
        let mut command = self.job.site.command(&Run::Line(line));
        command
            .current_dir(place)
            .env("ANTHILL_ORDER_ID", &order.id)
            .env("ANTHILL_TASK_FILE", file.path())
            .env("ANTHILL_WORKER", format!("{}{group}", word(order.role)))
            .env("ANTHILL_ROLE", word(order.role))
            .env("ANTHILL_PURPOSE", word(order.purpose))
            .env("ANTHILL_GROUP", &order.group);
        command
    }

    /// Whether somebody still waits for this order.
    fn is_open(&self, order: &Order) -> Result<bool> {
        Ok(pipeline::show(self.engine)?.open_orders().any(|open| open.id == order.id))
    }

    /// Leaves an order open if its agent's service is not available, until it is, or somebody repairs it.
    fn put_back(&self, order: &Order, diagnosis: &Diagnosis, finished: &Finished) -> Result<Tried> {
        let told = with_details(diagnosis.ailment.words(), finished);
        let reason = brief(&redact(&told));
        self.tell(Event::PutBack { order: order.clone(), reason: reason.clone() });
        if !diagnosis.ailment.passes() {
            return Err(health::stopped(self.job.agents.of(order.role), diagnosis.ailment, &reason));
        }
        self.state.rest(diagnosis, self.actor.now());
        Ok(Tried::Over)
    }

    /// Hands in an answer. If the group would not merge, an approval becomes a request for changes.
    fn hand_in(
        &self,
        order: &Order,
        number: u64,
        run: &Pipeline,
        ended: &Ended,
        answer: Answer,
    ) -> Result<Settled> {
        if !PipelineRun::approves(&answer) {
            return Ok(self.end_try(order, number, ended, Some(&answer))?);
        }
        // Nobody else merges between the look and the merge.
        let _turn = self.turn();
        let instead = self.unmergeable(run, order).map_err(no_place)?.map(Answer::Report);
        let settled = self.end_try(order, number, ended, Some(&instead.unwrap_or(answer)))?;
        // A merge that fails now is reported before the next orders.
        let _ = self.merge_complete(&settled.pipeline);
        Ok(settled)
    }

    fn end_try(
        &self,
        order: &Order,
        number: u64,
        ended: &Ended,
        answer: Option<&Answer>,
    ) -> ops::Result<Settled> {
        let settled =
            persist(|| tries::end_try(self.engine, (&order.id, number), ended, answer, self.actor))?;
        settled.warnings.iter().for_each(|warning| self.tell(Event::Warning(self.actor.door.tell(warning))));
        Ok(settled)
    }

    fn settled(&self, order: &Order, settled: &Settled) -> Tried {
        let said = settled.pipeline.said(&order.id).unwrap_or_default().to_owned();
        self.tell(Event::Settled { order: order.clone(), said });
        Tried::Settled
    }

    /// Decides what follows a failed try: another one, a report instead of the agent's, or nothing.
    fn failed(
        &self,
        order: &Order,
        number: u64,
        run: &Pipeline,
        trouble: &Trouble,
        mut ended: Ended,
    ) -> Result<Tried> {
        let so_far = failures(run, &order.id).len() as u64;
        let again_in = trouble.again_in(so_far, self.job.retries);
        let reason = redact(&trouble.reason).into_owned();
        ended.failure = Some(Failure { class: word(trouble.class), reason: reason.clone() });
        let trouble = Trouble { reason: reason.clone(), ..trouble.clone() };
        let instead = if again_in.is_some() { None } else { answer::instead(order, &trouble) };
        ended.most_alike = Some(self.job.most_alike);
        ended.hopeless = again_in.is_none() && instead.is_none();
        let settled = self.end_try(order, number, &ended, instead.as_ref())?;
        if let Some(why) = settled.given_up {
            self.tell(Event::Failed { order: order.clone(), reason, again_in: None });
            self.tell(Event::GaveUp { group: order.group.clone(), reason: why });
            return Ok(Tried::Over);
        }
        if !settled.is_open && instead.is_none() {
            // It has reported by itself before it failed.
            return Ok(self.settled(order, &settled));
        }
        self.tell(Event::Failed { order: order.clone(), reason: reason.clone(), again_in });
        match again_in {
            Some(delay) => Ok(Tried::Again(delay)),
            None if !settled.is_open => Ok(self.settled(order, &settled)),
            None => {
                let line = brief(&reason);
                let stuck = format!("{} {} ({}): {line}", word(order.role), order.group, word(order.purpose));
                self.known().stuck.insert(order.id.clone(), stuck);
                Ok(Tried::Over)
            }
        }
    }

    /// Checks whether a group's branch would merge, before it is reviewed. Returns whether the order can go on.
    fn check_merge(&self, order: &Order) -> Result<bool> {
        let run = pipeline::show(self.engine)?;
        let unmergeable = {
            let _turn = self.turn();
            self.unmergeable(&run, order).map_err(no_place)?
        };
        let Some(report) = unmergeable else { return Ok(true) };
        let said = report.status.clone();
        match persist(|| pipeline::report(self.engine, &report, None, self.actor)) {
            Err(error) if !PipelineRun::is_refusal(&error) => return Err(error.into()),
            // Somebody else has reported meanwhile.
            Ok(_) | Err(_) => self.tell(Event::Settled { order: order.clone(), said }),
        }
        Ok(false)
    }

    /// Runs the check before the final decision. Returns whether the order can go on.
    fn check(&self, order: &Order, place: &Place<'_>) -> Result<bool> {
        let Some(line) = &self.job.check else { return Ok(true) };
        let command = self.job.site.command(&Run::Line(line.clone()));
        let limits = Limits { stall: None, ..self.job.limits };
        let mut call = Call { command, input: String::new(), limits, sign_of_life: None, tell: None };
        let ran = Supervisor::new(place, &self.watchdog).run(&mut call);
        let finished = ran.map_err(|source| Error::Command { program: line.clone(), source })?;
        if finished.cut == Some(Cut::Stopped) {
            return Ok(false);
        }
        let Some(what) = bad_end(&finished) else {
            self.tell(Event::Checked { failure: None });
            return Ok(true);
        };
        let what = with_details(&format!("the check `{line}` failed: {what}"), &finished);
        let feedback = redact(&what).into_owned();
        let report = answer::unchecked(order, &feedback);
        match persist(|| pipeline::report(self.engine, &report, None, self.actor)) {
            Err(error) if !PipelineRun::is_refusal(&error) => return Err(error.into()),
            // Somebody else has reported meanwhile.
            Ok(_) | Err(_) => self.tell(Event::Checked { failure: Some(feedback) }),
        }
        Ok(false)
    }
}

fn no_place(what: String) -> Error {
    ops::Error::refused(what, "see: git worktree list").into()
}
