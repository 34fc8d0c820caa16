//! Long histories of a queue: leader, workers, clocks that jump and people who edit, against a simple model.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anthill_core::model::hint::Plain;
use anthill_core::model::ids::Key;
use anthill_core::model::json;
use anthill_core::model::kind::Doc;
use anthill_core::model::new_task::NewTask;
use anthill_core::model::task::{Report, word};
use anthill_core::model::time::{Boot, Clock, Moment};
use anthill_core::ops::queue::lead;
use anthill_core::ops::queue::work::{self, Claim, ClaimRequest, TaskChanged};
use anthill_core::ops::{self, Actor};
use anthill_core::store::Engine;
use anthill_core::store::file::addresses::DocFiles;
use anthill_core::store::memory::MemoryEngine;
use anthill_testkit::sim_fs::SimFs;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::Value;

use crate::queue_model::{Answer, Now, On, Plan, Queue, STATUSES, Step, Verb};
use crate::stores::{NORMAL, TINY, hasty, sim_fs, simulated};

const TASKS: usize = 6;
const WORKERS: usize = 3;

/// Something that happens. Epochs are meant relative to those given so far.
#[derive(Debug, Clone)]
enum Action {
    Add(Plan),
    AddAgain {
        task: usize,
        same: bool,
    },
    Claim {
        worker: usize,
        lease: i64,
    },
    /// Without a worker: by whoever has or had the task.
    Do {
        verb: Verb,
        worker: Option<usize>,
        task: usize,
        epoch: Epoch,
    },
    Heartbeat {
        worker: usize,
        epoch: Option<u64>,
    },
    Reset {
        task: usize,
        force: bool,
    },
    Retry {
        task: usize,
        after: Option<i64>,
    },
    Cancel(usize),
    /// Time goes by.
    Pass(i64),
    /// Somebody sets the clock.
    SetClock(i64),
    Reboot,
    KnowBoot(bool),
    Edit {
        task: usize,
        status: &'static str,
        nobody: bool,
    },
}

#[derive(Debug, Clone, Copy)]
enum Epoch {
    NotTold,
    Newest,
    Older(u64),
    Next,
}

fn action(by_hand: u32) -> impl Strategy<Value = Action> {
    // Much happens to few tasks, so that one thing comes after another.
    let task = || (0..TASKS, 0..TASKS, 0..TASKS).prop_map(|(a, b, c)| a.min(b).min(c));
    let worker = || 0..WORKERS;
    let plan = || {
        (any::<u8>(), any::<u8>(), 1..4_i64, any::<u8>(), any::<u8>())
            // Few dependencies and few files, so that something can be done.
            .prop_map(|(a, b, priority, c, d)| Plan { after: a & b & 31, priority, files: c & d & 3 })
    };
    let verb = prop_oneof![
        2 => Just(Verb::Start),
        5 => Just(Verb::Complete),
        2 => Just(Verb::Fail),
        4 => Just(Verb::Release),
        1 => Just(Verb::Heartbeat),
    ];
    let epoch = prop_oneof![
        2 => Just(Epoch::NotTold),
        4 => Just(Epoch::Newest),
        2 => (1..4_u64).prop_map(Epoch::Older),
        1 => Just(Epoch::Next),
    ];
    let status = prop::sample::select(STATUSES.to_vec());
    let jump = prop_oneof![-5..5_i64, -4_000..4_000_i64, -300_000_000..300_000_000_i64];
    let edit = (task(), status, any::<bool>()).prop_map(|(task, status, nobody)| Action::Edit {
        task,
        status,
        nobody,
    });
    let other = prop_oneof![
        6 => plan().prop_map(Action::Add),
        1 => (task(), any::<bool>()).prop_map(|(task, same)| Action::AddAgain { task, same }),
        10 => (worker(), 1..20_i64).prop_map(|(worker, lease)| Action::Claim { worker, lease }),
        16 => (verb, prop::option::weighted(0.4, worker()), task(), epoch)
            .prop_map(|(verb, worker, task, epoch)| Action::Do { verb, worker, task, epoch }),
        1 => (worker(), prop::option::of(0..4_u64))
            .prop_map(|(worker, epoch)| Action::Heartbeat { worker, epoch }),
        2 => (task(), any::<bool>()).prop_map(|(task, force)| Action::Reset { task, force }),
        2 => (task(), prop::option::of(0..20_i64)).prop_map(|(task, after)| Action::Retry { task, after }),
        1 => task().prop_map(Action::Cancel),
        4 => (0..15_i64).prop_map(Action::Pass),
        2 => jump.prop_map(Action::SetClock),
        1 => Just(Action::Reboot),
        1 => any::<bool>().prop_map(Action::KnowBoot),
    ];
    prop_oneof![8 => other, by_hand => edit]
}

#[derive(Debug)]
struct TestClock(Mutex<Now>);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + self.0.lock().unwrap().wall).unwrap()
    }

    fn moment(&self) -> Moment {
        let (at, now) = (self.now(), *self.0.lock().unwrap());
        let began = at - SignedDuration::from_secs(now.up);
        let boot = now.knows_boot.then(|| Boot { id: format!("boot{}", now.boot), began });
        Moment { at, boot }
    }
}

/// Two engines that should say the same, a model, and one clock for all.
struct World {
    clock: Arc<TestClock>,
    disk: SimFs,
    files: Box<dyn Engine>,
    /// People can edit files only.
    memory: Option<MemoryEngine>,
    model: Queue,
    plans: Vec<Plan>,
    owners: BTreeMap<(String, String), String>,
}

impl World {
    fn new(by_hand: bool, segment_bytes: u64) -> World {
        let now = Now { wall: 0, up: 1_000, boot: 1, knows_boot: true };
        let disk = sim_fs(true);
        let world = World {
            clock: Arc::new(TestClock(Mutex::new(now))),
            files: Box::new(simulated(&sim_fs(true), &disk, hasty(segment_bytes))),
            disk,
            memory: (!by_hand).then(MemoryEngine::default),
            model: Queue::default(),
            plans: Vec::new(),
            owners: BTreeMap::new(),
        };
        for engine in world.engines() {
            lead::init(engine, &lead::Begin { goal: "goal", ..Default::default() }, &world.actor()).unwrap();
        }
        world
    }

    fn engines(&self) -> impl Iterator<Item = &dyn Engine> {
        let memory = self.memory.as_ref().map(|memory| memory as &dyn Engine);
        std::iter::once(&*self.files).chain(memory)
    }

    fn actor(&self) -> Actor {
        Actor { clock: self.clock.clone(), session: None, acting: None, user: "tester".into(), door: &Plain }
    }

    fn act(&mut self, action: &Action) {
        match self.step(action) {
            Some(step) => self.check(step, &format!("{action:?}")),
            None => self.happen(action),
        }
        let document = self.document();
        self.model.compare(&document, &format!("{action:?}"));
        if self.memory.is_some() {
            self.model.is_filed(&document, &format!("{action:?}"));
        }
    }

    fn document(&self) -> Value {
        self.files.read(&Doc::queue()).unwrap().unwrap().value
    }

    /// Does the step everywhere; the answers and what they leave must agree.
    fn check(&mut self, step: Step, told: &str) {
        let (before, disk_before) = (self.document(), bytes(&self.disk));
        let expected = self.model.act(step, *self.clock.0.lock().unwrap());
        let actor = self.actor();
        for engine in self.engines() {
            assert_eq!(perform(engine, step, &actor), expected, "{told}: {step:?}");
        }
        let after = self.document();
        if let Some(memory) = &self.memory {
            assert_eq!(memory.read(&Doc::queue()).unwrap().unwrap().value, after, "{told}");
        }
        if expected.is_err() {
            assert!(bytes(&self.disk) == disk_before, "{told}: a refused step changed something");
        }
        if let (Step::Claim { .. }, Ok(claim)) = (step, &expected)
            && let Some((task, claim)) = claim.split_once(" by ")
        {
            let (by, epoch) = claim.split_once(" with ").unwrap();
            let known = self.owners.insert((task.into(), epoch.into()), by.into());
            assert_eq!(known, None, "{told}: {task} had a claim {epoch} already");
        }
        let force = matches!(step, Step::Reset { force: true, .. });
        for (old, new) in tasks(&before).iter().zip(tasks(&after)) {
            assert!(force || old["status"] != "done" || new["status"] == "done", "{told}: {new}");
        }
    }

    fn happen(&mut self, action: &Action) {
        let mut now = self.clock.0.lock().unwrap();
        match action {
            Action::Pass(seconds) => {
                now.wall += seconds;
                now.up += seconds;
            }
            Action::SetClock(seconds) => now.wall += seconds,
            Action::Reboot => (now.boot, now.up) = (now.boot + 1, 10),
            Action::KnowBoot(knows) => now.knows_boot = *knows,
            Action::Edit { task, status, nobody } if *task < self.model.len() => {
                let (path, mut document) = (Doc::queue().path(), self.document());
                let edited = &mut document["tasks"][*task];
                edited["status"] = (*status).into();
                if *nobody {
                    edited["claimed_by"] = Value::Null;
                }
                self.disk.put(&path, &json::render(&document));
                self.model.edit(*task, status, *nobody);
            }
            _ => {}
        }
    }

    /// Says what is asked of the queue, if anything is.
    fn step(&mut self, action: &Action) -> Option<Step> {
        Some(match *action {
            Action::Add(plan) if self.plans.len() < TASKS => {
                let task = self.plans.len();
                let plan = Plan { after: plan.after & ((1 << task) - 1), ..plan };
                self.plans.push(plan);
                Step::Add { task, plan }
            }
            Action::AddAgain { task, same } if task < self.plans.len() => {
                let plan = self.plans[task];
                let priority = if same { plan.priority } else { 9 };
                Step::Add { task, plan: Plan { priority, ..plan } }
            }
            Action::Claim { worker, lease } => Step::Claim { worker, lease },
            Action::Do { verb, worker, task, epoch } => {
                let newest = self.model.epoch(task);
                let worker = worker.or(self.model.last_owner(task)).unwrap_or(0);
                let epoch = match epoch {
                    Epoch::NotTold => None,
                    Epoch::Newest => Some(newest),
                    Epoch::Older(by) => Some(newest.saturating_sub(by)),
                    Epoch::Next => Some(newest + 1),
                };
                Step::Do { verb, on: On { worker, task, epoch } }
            }
            Action::Heartbeat { worker, epoch } => Step::Heartbeat { worker, epoch },
            Action::Reset { task, force } => Step::Reset { task, force },
            Action::Retry { task, after } => Step::Retry { task, after },
            Action::Cancel(task) => Step::Cancel { task },
            _ => return None,
        })
    }
}

fn tasks(document: &Value) -> &[Value] {
    document["tasks"].as_array().unwrap()
}

/// Returns every byte of a disk, apart from locks.
/// Returns everything on the disk but the lock and the index, which is only a cache.
fn bytes(disk: &SimFs) -> BTreeMap<String, Option<Vec<u8>>> {
    let cache = |path: &String| path.ends_with("/lock") || path.contains("/index-");
    let files = disk.files().into_iter().filter(|path| !cache(path));
    files.map(|path| (path.clone(), disk.get(&path))).collect()
}

fn id(letter: char, number: usize) -> Key {
    format!("{letter}{number}").parse().unwrap()
}

/// Does what a command would do.
fn perform(engine: &dyn Engine, step: Step, actor: &Actor) -> Answer {
    let status = |task: anthill_core::model::task::Task| word(task.status()).to_owned();
    let first = |mut several: lead::Several| status(several.tasks.remove(0));
    let done = |done: TaskChanged| {
        let again = if done.repeated { " as before" } else { "" };
        format!("{}{again}", word(done.task.status()))
    };
    let answer: ops::Result<String> = match step {
        Step::Add { task, plan } => lead::add(engine, &new_task(task, plan), actor).map(status),
        Step::Claim { worker, lease } => {
            let request = ClaimRequest { worker: &id('w', worker), task: None, lease: Some(lease as f64) };
            work::claim(engine, &request, actor).map(|claim| match claim {
                Claim::Claimed { task, .. } => {
                    format!("{} by {} with {}", task.id(), task.owner().unwrap(), task.epoch())
                }
                Claim::NothingReady(_) => "nothing".into(),
            })
        }
        Step::Do { verb, on } => {
            let (worker, task) = (id('w', on.worker), id('t', on.task));
            let on = work::On { worker: &worker, task: &task, epoch: on.epoch };
            match verb {
                Verb::Start => work::start(engine, on, actor).map(done),
                Verb::Complete => work::complete(engine, on, &Report::default(), actor).map(done),
                Verb::Fail => work::fail(engine, on, "bad luck", actor).map(done),
                Verb::Release => work::release(engine, on, actor).map(done),
                Verb::Heartbeat => work::heartbeat(engine, &worker, Some(&task), on.epoch, actor)
                    .map(|mut tasks| status(tasks.remove(0))),
            }
        }
        Step::Heartbeat { worker, epoch } => {
            let ids = |tasks: Vec<anthill_core::model::task::Task>| {
                tasks.iter().map(|task| task.id().to_owned()).collect::<Vec<_>>().join(" ")
            };
            work::heartbeat(engine, &id('w', worker), None, epoch, actor).map(ids)
        }
        Step::Reset { task, force } => lead::reset(engine, &[id('t', task)], force, false, actor).map(first),
        Step::Retry { task, after } => {
            lead::retry(engine, &[id('t', task)], after.map(|after| after as f64), actor).map(first)
        }
        Step::Cancel { task } => lead::cancel(engine, &[id('t', task)], false, actor).map(first),
    };
    answer.map_err(|error| error.code())
}

fn new_task(task: usize, plan: Plan) -> NewTask<'static> {
    let bits = |set: u8| (0..8_usize).filter(move |bit| set & (1 << bit) != 0);
    NewTask {
        id: Some(id('t', task).to_string().into()),
        description: format!("task {task}").into(),
        priority: Some(plan.priority),
        dependencies: bits(plan.after).map(|bit| id('t', bit).to_string().into()).collect(),
        files: bits(plan.files).map(|bit| format!("src/f{bit}.rs").into()).collect(),
        ..NewTask::default()
    }
}

fn play(by_hand: bool, segment_bytes: u64, actions: &[Action]) {
    let mut world = World::new(by_hand, segment_bytes);
    actions.iter().for_each(|action| world.act(action));
    assert_eq!(world.files.check(&Doc::queue().room, false).unwrap(), []);
}

fn actions(by_hand: u32) -> impl Strategy<Value = Vec<Action>> {
    prop::collection::vec(action(by_hand), 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn queues_agree_with_the_model(
        actions in actions(0), segment_bytes in prop_oneof![Just(TINY), Just(NORMAL)]
    ) {
        play(false, segment_bytes, &actions);
    }

    #[test]
    fn queues_edited_by_hand_agree_with_the_model(
        actions in actions(1), segment_bytes in prop_oneof![Just(TINY), Just(NORMAL)]
    ) {
        play(true, segment_bytes, &actions);
    }
}
