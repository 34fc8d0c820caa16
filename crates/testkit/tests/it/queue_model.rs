//! The queue by the words of its design, written without a look at the code: small enough to be believed.

use std::collections::BTreeSet;

use anthill_core::error::Code;
use serde_json::Value;

pub type Answer = Result<String, Code>;

/// A machine's clock: what it shows, how long the machine is up, and which boot this is, if that can be told.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    pub wall: i64,
    pub up: i64,
    pub boot: u32,
    pub knows_boot: bool,
}

/// What is asked of the queue. Tasks and workers are numbers; times are seconds.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Add { task: usize, plan: Plan },
    Claim { worker: usize, lease: i64 },
    Do { verb: Verb, on: On },
    Heartbeat { worker: usize, epoch: Option<u64> },
    Reset { task: usize, force: bool },
    Retry { task: usize, after: Option<i64> },
    Cancel { task: usize },
}

/// What a leader says of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// One bit for each task that comes first.
    pub after: u8,
    pub priority: i64,
    /// One bit for each file.
    pub files: u8,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verb {
    Start,
    Complete,
    Fail,
    Release,
    Heartbeat,
}

#[derive(Debug, Clone, Copy)]
pub struct On {
    pub worker: usize,
    pub task: usize,
    pub epoch: Option<u64>,
}

pub const STATUSES: [&str; 7] =
    ["created", "available", "claimed", "in_progress", "done", "failed", "cancelled"];

#[derive(Debug, Clone)]
struct Task {
    plan: Plan,
    added: i64,
    status: &'static str,
    owner: Option<usize>,
    epoch: u64,
    lease: Option<Lease>,
    /// Who had it last, with which epoch, and how that ended.
    last: Option<(Option<usize>, u64, &'static str)>,
    retries: u64,
    not_before: Option<i64>,
    /// Who had it before people edited it, and whether it was open then.
    unedited: Option<(Option<usize>, bool)>,
}

/// A lease ends by the machine's own time; by the clock on the wall where that is all that is known.
#[derive(Debug, Clone, Copy)]
struct Lease {
    seconds: i64,
    wall_end: i64,
    up_end: Option<(u32, i64)>,
}

impl Lease {
    fn new(seconds: i64, now: Now) -> Lease {
        let up_end = now.knows_boot.then_some((now.boot, now.up + seconds));
        Lease { seconds, wall_end: now.wall + seconds, up_end }
    }

    fn is_over(&self, now: Now) -> bool {
        match self.up_end {
            Some((boot, end)) if now.knows_boot && boot == now.boot => end <= now.up,
            _ => self.wall_end <= now.wall,
        }
    }
}

impl Task {
    fn is_open(&self) -> bool {
        matches!(self.status, "created" | "available")
    }

    fn is_active(&self) -> bool {
        matches!(self.status, "claimed" | "in_progress")
    }

    /// An old or foreign claim is a conflict; without any claim only the state can be wrong.
    fn fence(&self, on: On) -> Result<(), Code> {
        let mine = self.owner == Some(on.worker) && on.epoch.is_none_or(|epoch| epoch == self.epoch);
        let was_mine = self.last.is_some_and(|(by, ..)| by == Some(on.worker));
        match () {
            () if mine && !self.is_open() => Ok(()),
            () if on.epoch.is_some() || !self.is_open() && self.owner.is_some() => Err(Code::Conflict),
            () if self.is_open() && was_mine => Err(Code::Conflict),
            () => Err(Code::Refused),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Queue {
    tasks: Vec<Task>,
    /// Whoever has claimed anything is in the register.
    known: BTreeSet<usize>,
}

impl Queue {
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    pub fn epoch(&self, task: usize) -> u64 {
        self.tasks.get(task).map_or(0, |task| task.epoch)
    }

    pub fn last_owner(&self, task: usize) -> Option<usize> {
        let task = self.tasks.get(task)?;
        task.owner.or(task.last.and_then(|(by, ..)| by))
    }

    /// Does a step: all of it or nothing.
    pub fn act(&mut self, step: Step, now: Now) -> Answer {
        let mut after = self.clone();
        after.take_in();
        let known = after.is_known(step);
        let answer = after.try_act(step, now)?;
        // What is so already is no reason to write, and what people edited waits for one. Neither is a claim that
        // finds nothing to do.
        let idle = matches!(step, Step::Claim { .. }) && self.stands_like(&after);
        if !(known || idle) {
            *self = after;
        }
        Ok(answer)
    }

    /// Whether all tasks are the same, whatever they were before people edited them.
    fn stands_like(&self, other: &Queue) -> bool {
        let told = |queue: &Queue| {
            let tasks = queue.tasks.iter().map(|task| Task { unedited: None, ..task.clone() });
            format!("{:?}", tasks.collect::<Vec<_>>())
        };
        told(self) == told(other)
    }

    fn is_known(&self, step: Step) -> bool {
        let task = |task: usize| self.tasks.get(task);
        match step {
            Step::Add { task: place, .. } => task(place).is_some(),
            Step::Retry { task: place, .. } => task(place).is_some_and(Task::is_open),
            Step::Cancel { task: place } => task(place).is_some_and(|task| task.status == "cancelled"),
            _ => false,
        }
    }

    /// A person writes a status into the file, and perhaps takes the owner's name out.
    pub fn edit(&mut self, task: usize, status: &'static str, nobody: bool) {
        let task = &mut self.tasks[task];
        task.unedited.get_or_insert((task.owner, task.is_open()));
        task.status = status;
        if nobody {
            task.owner = None;
        }
    }

    /// What a person has set back is given back; what waits for nothing is available.
    fn take_in(&mut self) {
        for place in 0..self.tasks.len() {
            let task = &mut self.tasks[place];
            // Who had it is remembered, whatever was taken out.
            if let Some((owner, false)) = task.unedited.take()
                && task.is_open()
            {
                task.owner = task.owner.or(owner);
            }
            if task.is_open() && (task.owner.is_some() || task.lease.is_some()) {
                self.give_back(place, "edited");
            }
        }
        self.settle();
    }

    fn settle(&mut self) {
        for place in 0..self.tasks.len() {
            if self.tasks[place].status == "created" && self.is_free(place) {
                self.tasks[place].status = "available";
            }
        }
    }

    fn is_free(&self, task: usize) -> bool {
        let after = self.tasks[task].plan.after;
        (0..8).filter(|bit| after & (1 << bit) != 0).all(|bit| self.tasks[bit].status == "done")
    }

    fn give_back(&mut self, task: usize, reason: &'static str) {
        let to = if self.is_free(task) { "available" } else { "created" };
        let task = &mut self.tasks[task];
        if task.owner.is_some() || task.lease.is_some() {
            task.last = Some((task.owner, task.epoch, reason));
        }
        (task.status, task.owner, task.lease, task.not_before) = (to, None, None, None);
    }

    fn find(&mut self, task: usize) -> Result<&mut Task, Code> {
        self.tasks.get_mut(task).ok_or(Code::NotFound)
    }

    fn try_act(&mut self, step: Step, now: Now) -> Answer {
        match step {
            Step::Add { task, plan } => self.add(task, plan, now),
            Step::Claim { worker, lease } => Ok(self.claim(worker, lease, now)),
            Step::Do { verb, on } => self.change(verb, on, now),
            Step::Heartbeat { worker, epoch } => self.heartbeat(worker, epoch, now),
            Step::Reset { task, force } => {
                let found = self.find(task)?;
                if found.status == "done" && !force {
                    return Err(Code::Refused);
                }
                let was_done = found.status == "done";
                if !found.is_open() || found.not_before.is_some() {
                    self.give_back(task, "reset");
                }
                for place in 0..self.tasks.len() {
                    let waits = self.tasks[place].plan.after & (1 << task) != 0;
                    if was_done && waits && self.tasks[place].status == "available" {
                        self.tasks[place].status = "created";
                    }
                }
                Ok(self.tasks[task].status.into())
            }
            Step::Retry { task, after } => {
                let found = self.find(task)?;
                match found.status {
                    "failed" => self.give_back(task, "retried"),
                    _ if found.is_open() && found.retries > 0 => return Ok(found.status.into()),
                    _ => return Err(Code::Refused),
                }
                let found = &mut self.tasks[task];
                found.retries += 1;
                found.not_before = after.map(|after| now.wall + after);
                Ok(found.status.into())
            }
            Step::Cancel { task } => {
                let found = self.find(task)?;
                if found.status == "done" {
                    return Err(Code::Refused);
                }
                found.status = "cancelled";
                Ok("cancelled".into())
            }
        }
    }

    fn add(&mut self, task: usize, plan: Plan, now: Now) -> Answer {
        if let Some(known) = self.tasks.get(task) {
            return if known.plan == plan { Ok(known.status.into()) } else { Err(Code::Conflict) };
        }
        assert_eq!(task, self.tasks.len());
        self.tasks.push(Task {
            plan,
            added: now.wall,
            status: "created",
            owner: None,
            epoch: 0,
            lease: None,
            last: None,
            retries: 0,
            not_before: None,
            unedited: None,
        });
        self.settle();
        Ok(self.tasks[task].status.into())
    }

    fn claim(&mut self, worker: usize, lease: i64, now: Now) -> String {
        for place in 0..self.tasks.len() {
            let task = &self.tasks[place];
            if task.is_active() && task.lease.is_some_and(|lease| lease.is_over(now)) {
                self.give_back(place, "expired");
            }
        }
        self.settle();
        let files =
            self.tasks.iter().filter(|task| task.is_active()).fold(0, |files, task| files | task.plan.files);
        let ready = |place: &usize| {
            let task = &self.tasks[*place];
            task.status == "available"
                && self.is_free(*place)
                && task.not_before.is_none_or(|time| time <= now.wall)
                && task.plan.files & files == 0
        };
        let order = |place: &usize| (self.tasks[*place].plan.priority, self.tasks[*place].added, *place);
        let Some(best) = (0..self.tasks.len()).filter(ready).min_by_key(order) else {
            return "nothing".into();
        };
        self.known.insert(worker);
        let task = &mut self.tasks[best];
        task.epoch += 1;
        (task.status, task.owner, task.not_before) = ("claimed", Some(worker), None);
        task.lease = Some(Lease::new(lease, now));
        format!("t{best} by w{worker} with {}", task.epoch)
    }

    fn change(&mut self, verb: Verb, on: On, now: Now) -> Answer {
        let task = self.find(on.task)?;
        let released = task.last == Some((Some(on.worker), task.epoch, "released"));
        if verb == Verb::Release && task.is_open() && released && on.epoch.is_none_or(|it| it == task.epoch) {
            return Ok(format!("{} as before", task.status));
        }
        task.fence(on)?;
        let end = match verb {
            Verb::Complete => "done",
            Verb::Fail => "failed",
            _ => "in_progress",
        };
        let again = task.status == end && verb != Verb::Release && verb != Verb::Heartbeat;
        if !task.is_active() && !again {
            return Err(Code::Refused);
        }
        match verb {
            Verb::Start | Verb::Heartbeat => {
                let seconds = task.lease.map_or(600, |lease| lease.seconds);
                task.lease = Some(Lease::new(seconds, now));
                if verb == Verb::Start {
                    task.status = end;
                }
            }
            Verb::Complete | Verb::Fail => task.status = end,
            Verb::Release => self.give_back(on.task, "released"),
        }
        if verb == Verb::Complete {
            self.settle();
        }
        let again = if again { " as before" } else { "" };
        Ok(format!("{}{again}", self.tasks[on.task].status))
    }

    fn heartbeat(&mut self, worker: usize, epoch: Option<u64>, now: Now) -> Answer {
        let mut renewed = Vec::new();
        for (place, task) in self.tasks.iter_mut().enumerate() {
            let wanted = task.owner == Some(worker) && epoch.is_none_or(|epoch| epoch == task.epoch);
            if task.is_active() && wanted {
                let seconds = task.lease.map_or(600, |lease| lease.seconds);
                task.lease = Some(Lease::new(seconds, now));
                renewed.push(format!("t{place}"));
            }
        }
        match epoch {
            _ if !renewed.is_empty() => Ok(renewed.join(" ")),
            Some(_) => Err(Code::Conflict),
            None => {
                let taken = |task: &&Task| {
                    let away = |(by, _, reason)| {
                        by == Some(worker) && ["expired", "reset", "edited"].contains(&reason)
                    };
                    task.is_active() && task.last.is_some_and(away)
                };
                let lost = self.tasks.iter().find(taken);
                lost.map_or(Ok(()), |lost| lost.fence(On { worker, task: 0, epoch: None }))?;
                if self.known.contains(&worker) { Ok(String::new()) } else { Err(Code::NotFound) }
            }
        }
    }

    /// Holds a document against this queue.
    #[track_caller]
    pub fn compare(&self, document: &Value, told: &str) {
        let tasks = document["tasks"].as_array().unwrap();
        assert_eq!(tasks.len(), self.tasks.len(), "{told}");
        for (place, (found, task)) in tasks.iter().zip(&self.tasks).enumerate() {
            let owner = task.owner.map(|owner| format!("w{owner}"));
            let expected = (task.status, owner.as_deref(), task.epoch, task.lease.is_some(), task.retries);
            let epochs = [&found["lease"]["epoch"], &found["last_claim"]["epoch"]];
            let found = (
                found["status"].as_str().unwrap(),
                found["claimed_by"].as_str(),
                epochs.iter().filter_map(|epoch| epoch.as_u64()).max().unwrap_or(0),
                found["lease"].is_object(),
                found["retries"].as_u64().unwrap_or(0),
            );
            assert_eq!(found, expected, "t{place} after {told}");
        }
    }

    /// Where nobody edits, open tasks are always filed rightly.
    #[track_caller]
    pub fn is_filed(&self, document: &Value, told: &str) {
        let tasks = document["tasks"].as_array().unwrap();
        let done: BTreeSet<_> =
            tasks.iter().filter(|task| task["status"] == "done").map(|task| task["id"].as_str()).collect();
        for task in tasks {
            let free = task["dependencies"].as_array().unwrap().iter().all(|id| done.contains(&id.as_str()));
            let right = match task["status"].as_str().unwrap() {
                "created" => !free,
                "available" => free,
                _ => true,
            };
            assert!(right, "{told}: {task}");
        }
    }
}
