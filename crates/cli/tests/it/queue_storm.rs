//! Many workers on one queue, most of them unlucky: nothing is done twice, nothing is lost, nobody has to help.
//!
//! Each worker is a thread that does what a worker's script would do, with a real process for every command.
//! A third of the processes is killed at some moment; leases are so short that what they leave comes back.
//! `ANTHILL_STORM_WORKERS`, `_TASKS` and `_SEED` make it larger or repeat it.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anthill_testkit::queue_history::{self, Acknowledged, Event, What};
use anthill_testkit::test_env::{Ran, Running, TestEnv, exit_code};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::storm::Dice;
use crate::{env, told};

const QUEUE: &str = "project/.coordination/tasks.json";

/// The seed's own line, for people who look at the queue.
const COUNT: &str =
    "jq '.tasks | group_by(.status) | map({status: .[0].status, count: length})' .coordination/tasks.json";

#[test]
fn storm_of_workers() {
    let sizes = Sizes::from_environment();
    let _told = Told(format!("{sizes:?}"));
    let storm = Storm::new(&sizes);
    let begin = Instant::now();
    storm.fill();
    let (acknowledged, looks) = storm.rage();
    let raged = begin.elapsed();
    let events = storm.judge(&acknowledged);
    storm.compare_text_files(&events);
    storm.is_clean();
    storm.say(&events, raged, looks);
}

/// How large the storm is.
#[derive(Debug)]
struct Sizes {
    workers: u64,
    tasks: u64,
    seed: u64,
}

impl Sizes {
    fn from_environment() -> Sizes {
        let random = std::hash::RandomState::new().hash_one(0) >> 16;
        Sizes {
            workers: told("STORM_WORKERS", 8),
            tasks: told("STORM_TASKS", 80),
            seed: told("STORM_SEED", random),
        }
    }
}

/// Says how to repeat a storm that failed.
struct Told(String);

impl Drop for Told {
    #[expect(clippy::print_stderr, reason = "the only way to tell it beside the panic")]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the storm was {}", self.0);
        }
    }
}

struct Storm<'s> {
    sizes: &'s Sizes,
    env: TestEnv,
    tasks: Vec<Value>,
    over: AtomicBool,
    deadline: Instant,
    figures: Figures,
}

/// Ends the storm when one of those in it fails.
struct Alarm<'s>(&'s AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.fetch_or(thread::panicking(), Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Figures {
    commands: AtomicU64,
    kills: AtomicU64,
    /// Commands that waited too long for the lock, which is allowed.
    busy: AtomicU64,
    /// Workers that were told that the task is no longer theirs.
    refused: AtomicU64,
    /// How long a command that was left alone takes, roughly, in microseconds: claims, which may wait, and others.
    usual: [AtomicU64; 2],
}

impl<'s> Storm<'s> {
    fn new(sizes: &'s Sizes) -> Storm<'s> {
        let mut dice = Dice::new(sizes.seed);
        let tasks = (0..sizes.tasks).map(|number| random_task(&mut dice, number)).collect();
        let deadline = Instant::now() + Duration::from_secs(200 + 2 * sizes.tasks);
        let (over, figures) = (AtomicBool::new(false), Figures::default());
        Storm { sizes, env: env(), tasks, over, deadline, figures }
    }

    /// Prepares a command that lives by the real clock.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.env.command(args);
        command.env_remove("ANTHILL_NOW");
        command
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.env.finish(&mut self.command(args), b"");
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.shown());
        ran
    }

    /// Brings most of the tasks in; the leader adds the others later.
    fn fill(&self) {
        self.ok(&["set", "config", "journal.kept_segments", "1000000"]);
        self.ok(&["leader", "init", "weather the storm"]);
        let first = Value::from(self.tasks[..self.at_first()].to_vec());
        self.env.write("plan.json", first.to_string());
        let plan = self.env.root().join("plan.json").display().to_string();
        self.ok(&["leader", "import", &plan]);
        // A guess to begin with: everybody waits for everybody.
        let begin = Instant::now();
        self.ok(&["leader", "reset", "t0"]);
        let usual = micros(begin.elapsed()) * self.sizes.workers;
        self.figures.usual.iter().for_each(|average| average.store(usual, Ordering::Relaxed));
    }

    fn at_first(&self) -> usize {
        self.tasks.len() - (self.tasks.len() / 4).min(50)
    }

    /// Lets them all work until everything is done. Returns what the workers were told, and how often the
    /// reader looked.
    fn rage(&self) -> (Vec<Acknowledged>, u64) {
        thread::scope(|scope| {
            let workers: Vec<_> =
                (1..=self.sizes.workers).map(|number| scope.spawn(move || self.work(number))).collect();
            let leader = scope.spawn(|| self.lead());
            let reader = scope.spawn(|| self.look());
            let told = workers.into_iter().flat_map(|worker| worker.join().expect("no worker failed"));
            let told = told.collect();
            leader.join().expect("the leader did not fail");
            (told, reader.join().expect("the reader saw what it should"))
        })
    }

    fn goes_on(&self) -> bool {
        assert!(Instant::now() < self.deadline, "the storm does not end: {:?}", self.counts());
        !self.over.load(Ordering::Relaxed)
    }

    fn counts(&self) -> BTreeMap<String, u64> {
        counts(&serde_json::from_slice(&self.env.read(QUEUE)).expect("the file is whole"))
    }

    /// Runs a command, often with a kill at some moment. Returns nothing if it was killed, or had to wait too
    /// long and did nothing.
    fn try_once(&self, dice: &mut Dice, args: &[&str]) -> Option<Ran> {
        let (figures, begin) = (&self.figures, Instant::now());
        figures.commands.fetch_add(1, Ordering::Relaxed);
        let mut command = self.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let average = &figures.usual[usize::from(args[1] != "claim")];
        let usual = average.load(Ordering::Relaxed);
        let unlucky = dice.below(100) < 36;
        if unlucky {
            thread::sleep(Duration::from_micros(dice.below(usual)));
            // It may have ended by itself; as long as it is not waited for, its id is not used again.
            let _ = child.kill();
        }
        let output = child.wait_with_output().unwrap();
        if output.status.signal() == Some(9) {
            figures.kills.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        if !unlucky {
            let took = micros(begin.elapsed());
            average.store((7 * usual + took) / 8 + 1, Ordering::Relaxed);
        }
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        let ran =
            Ran { code: exit_code(output.status), stdout: text(output.stdout), stderr: text(output.stderr) };
        if ran.code == 5 {
            figures.busy.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(ran)
    }

    /// Repeats a command until it was allowed to end, as a careful script does.
    fn until_answered(&self, dice: &mut Dice, args: &[&str]) -> Ran {
        loop {
            if let Some(ran) = self.try_once(dice, args) {
                return ran;
            }
            assert!(Instant::now() < self.deadline, "no answer to {args:?}");
        }
    }

    /// The leader adds the last tasks, and sees when all is done.
    fn lead(&self) {
        let _alarm = Alarm(&self.over);
        let mut dice = Dice::new(self.sizes.seed ^ 0x1ead);
        for task in &self.tasks[self.at_first()..] {
            let args = add_arguments(task);
            let args: Vec<_> = args.iter().map(String::as_str).collect();
            let ran = self.until_answered(&mut dice, &args);
            assert_eq!(ran.code, 0, "{args:?}: {}", ran.shown());
        }
        while self.goes_on() {
            let begin = Instant::now();
            let done = self.counts().get("done").copied().unwrap_or(0);
            self.over.fetch_or(done == self.sizes.tasks, Ordering::Relaxed);
            rest(begin);
        }
    }

    /// Claims and does tasks until there are none. Returns the completions that were acknowledged.
    fn work(&self, number: u64) -> Vec<Acknowledged> {
        let _alarm = Alarm(&self.over);
        let mut dice = Dice::new(self.sizes.seed ^ (number << 20));
        let (worker, mut acknowledged) = (format!("w{number}"), Vec::new());
        while self.goes_on() {
            let lease = self.lease(&mut dice);
            let args = ["worker", "claim", &worker, "--wait", "0.5", "--lease", &lease, "--json"];
            let Some(ran) = self.try_once(&mut dice, &args) else { continue };
            match ran.code {
                0 => acknowledged.extend(self.do_task(&mut dice, &worker, &ran.json(), &lease)),
                4 => {}
                _ => panic!("{args:?}: {}", ran.shown()),
            }
        }
        acknowledged
    }

    /// One or two seconds, or more where commands are so slow that every lease would run out.
    fn lease(&self, dice: &mut Dice) -> String {
        let usual = Duration::from_micros(self.figures.usual[1].load(Ordering::Relaxed));
        let least = (5.0 * usual.as_secs_f64()).max(1.0);
        format!("{:.1}", least * (1.0 + dice.below(11) as f64 / 10.0))
    }

    fn do_task(&self, dice: &mut Dice, worker: &str, task: &Value, lease: &str) -> Option<Acknowledged> {
        let (id, epoch) = (task["id"].as_str().unwrap(), task["lease"]["epoch"].as_u64().unwrap());
        assert_eq!((&task["claimed_by"], &task["status"]), (&json!(worker), &json!("claimed")));
        let owned = epoch.to_string();
        let on = |verb| ["worker", verb, worker, id, "--epoch", &owned];
        if dice.below(5) > 0 && !self.is_mine(self.try_once(dice, &on("start"))) {
            return None;
        }
        if dice.below(10) < 3 && !self.is_mine(self.try_once(dice, &on("heartbeat"))) {
            return None;
        }
        match dice.below(100) {
            // Some forget the task, some oversleep.
            0..4 => return None,
            4..6 => thread::sleep(Duration::from_secs_f64(lease.parse::<f64>().unwrap() + 0.2)),
            _ => thread::sleep(Duration::from_millis(dice.below(10))),
        }
        match dice.below(100) {
            0..8 => {
                let args = [&on("fail")[..], &["bad luck"]].concat();
                if self.is_mine(Some(self.until_answered(dice, &args))) {
                    let ran = self.until_answered(dice, &["leader", "retry", id, "--after", "0.1"]);
                    // After a killed one that was heard, somebody may have the task again.
                    assert!(matches!(ran.code, 0 | 1), "{}", ran.shown());
                }
                None
            }
            8..16 => {
                self.is_mine(Some(self.until_answered(dice, &on("release"))));
                None
            }
            _ => {
                let output = format!("{worker} did {id} by lease {epoch}");
                let args = [&on("complete")[..], &[&output, "--modified", "src/a.rs", "--json"]].concat();
                let ran = self.until_answered(dice, &args);
                let told = || {
                    let answer = ran.json();
                    let found =
                        (&answer["claimed_by"], &answer["lease"]["epoch"], &answer["result"]["output"]);
                    assert_eq!(found, (&json!(worker), &json!(epoch), &json!(output)), "{answer}");
                    Acknowledged { task: id.into(), by: worker.into(), epoch, output: output.clone() }
                };
                self.is_mine(Some(ran.clone())).then(told)
            }
        }
    }

    /// Whether the answer leaves the task with us; a killed command tells nothing.
    #[track_caller]
    fn is_mine(&self, ran: Option<Ran>) -> bool {
        match ran {
            Some(ran) if ran.code == 3 => {
                self.figures.refused.fetch_add(1, Ordering::Relaxed);
                false
            }
            Some(ran) => {
                assert_eq!(ran.code, 0, "{}", ran.shown());
                true
            }
            None => true,
        }
    }

    /// Looks at the queue all the time as people do: always whole, never back. Returns how often.
    fn look(&self) -> u64 {
        let _alarm = Alarm(&self.over);
        let (mut last, mut looks) = (Seen::default(), 0);
        while self.goes_on() {
            for _ in 0..20 {
                let begin = Instant::now();
                let raw: Value = serde_json::from_slice(&self.env.read(QUEUE)).expect("the file is whole");
                last = self.seen(&last, &counts(&raw), raw["revision"].as_u64());
                looks += 1;
                rest(begin);
            }
            let begin = Instant::now();
            let counted = self.env.sh(COUNT);
            assert_eq!((counted.code, counted.stderr.as_str()), (0, ""), "{}", counted.shown());
            let rows = counted.json();
            let rows = rows.as_array().unwrap().iter();
            let rows = rows.map(|row| (text(&row["status"]), row["count"].as_u64().unwrap())).collect();
            last = self.seen(&last, &rows, None);
            let status = self.ok(&["leader", "status", "--json"]).json();
            let told = status["counts"].as_object().unwrap().iter();
            let told: BTreeMap<_, _> =
                told.map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect();
            let stored = counts(&status);
            assert!(told.iter().all(|(name, count)| stored.get(name).unwrap_or(&0) == count), "{status}");
            assert_eq!(status["progress"]["done"], told["done"], "{status}");
            last = self.seen(&last, &told, None);
            looks += 2;
            rest(begin);
        }
        looks
    }

    #[track_caller]
    fn seen(&self, last: &Seen, counts: &BTreeMap<String, u64>, revision: Option<u64>) -> Seen {
        let now = Seen {
            revision: revision.unwrap_or(last.revision),
            tasks: counts.values().sum(),
            done: counts.get("done").copied().unwrap_or(0),
        };
        let all = self.tasks.len() as u64;
        assert!(now.tasks >= self.at_first() as u64 && now.tasks <= all, "{now:?} of {all}");
        assert!(
            now.revision >= last.revision && now.tasks >= last.tasks && now.done >= last.done,
            "{now:?} after {last:?}"
        );
        now
    }

    /// Holds the journal and the file against the promises and against what the workers were told.
    fn judge(&self, acknowledged: &[Acknowledged]) -> Vec<Event> {
        let history = self.ok(&["history", "queue", "--all", "--json"]).json();
        let events = queue_history::events(history.as_array().unwrap());
        let violations = queue_history::check(&events, acknowledged);
        assert!(violations.is_empty(), "{violations:#?}");

        let queue: Value = serde_json::from_slice(&self.env.read(QUEUE)).unwrap();
        let tasks = queue["tasks"].as_array().unwrap();
        let by_id: HashMap<_, _> = tasks.iter().map(|task| (task["id"].as_str().unwrap(), task)).collect();
        assert_eq!((tasks.len(), by_id.len()), (self.tasks.len(), self.tasks.len()));
        let wrong: Vec<_> = tasks.iter().filter(|task| task["status"] != "done").collect();
        assert!(wrong.is_empty(), "not done: {wrong:#?}");
        for told in acknowledged {
            let task = by_id[told.task.as_str()];
            let found = (&task["claimed_by"], &task["lease"]["epoch"], &task["result"]["output"]);
            assert_eq!(found, (&json!(told.by), &json!(told.epoch), &json!(told.output)), "{task}");
        }
        let completions = events.iter().filter(|event| matches!(event.what, What::Completed { .. }));
        assert_eq!(completions.count(), tasks.len(), "each task is done once");
        events
    }

    /// Each result names who did the task, and the logs tell each claim and each end once.
    fn compare_text_files(&self, events: &[Event]) {
        let mut expected: BTreeMap<(String, &str), Vec<String>> = BTreeMap::new();
        let mut owner: HashMap<&str, &str> = HashMap::new();
        for Event { task, what, .. } in events {
            let (by, action, details) = match what {
                What::Added { .. } => continue,
                What::Claimed { by, epoch } => {
                    owner.insert(task, by);
                    (by.as_str(), "CLAIMED", format!("{task} (lease {epoch})"))
                }
                What::Completed { by, output, .. } => {
                    let result = self.env.read_text(&format!("project/.coordination/results/{task}.md"));
                    let names = |text: &str| assert!(result.contains(text), "{text:?} is not in {result}");
                    names(&format!("# Task: {task}\n"));
                    names(&format!("## Completed By\n\n{by}\n"));
                    names(&format!("## Output\n\n{output}\n"));
                    (by.as_str(), "COMPLETED", format!("{task}: {output}"))
                }
                What::Failed { by, .. } => (by.as_str(), "FAILED", format!("{task}: bad luck")),
                What::GivenBack { epoch, reason } => {
                    let (action, details) = match reason.as_str() {
                        "expired" => {
                            ("EXPIRED", format!("{task} (lease {epoch} ran out without a sign of life)"))
                        }
                        "released" => ("RELEASED", task.clone()),
                        "retried" => ("RETRIED", task.clone()),
                        other => panic!("{task} was {other}"),
                    };
                    (owner[task.as_str()], action, details)
                }
            };
            expected.entry((by.to_owned(), action)).or_default().push(details);
        }
        for worker in (1..=self.sizes.workers).map(|number| format!("w{number}")) {
            let log = self.env.root().join(format!("project/.coordination/logs/{worker}.log"));
            let log = if log.exists() { std::fs::read_to_string(log).unwrap() } else { String::new() };
            for action in ["CLAIMED", "COMPLETED", "FAILED", "EXPIRED", "RELEASED", "RETRIED"] {
                let mark = format!("] {action}: ");
                let found = log.lines().filter_map(|line| Some(line.split_once(&mark)?.1));
                let (mut found, mut wanted): (Vec<_>, Vec<_>) = (
                    found.map(str::to_owned).collect(),
                    expected.remove(&(worker.clone(), action)).unwrap_or_default(),
                );
                found.sort_unstable();
                wanted.sort_unstable();
                assert_eq!(found, wanted, "{action} in the log of {worker}");
            }
        }
        assert!(expected.is_empty(), "nobody's: {expected:?}");
    }

    fn is_clean(&self) {
        let report = self.ok(&["doctor", "--json"]).json();
        assert_eq!(report["findings"], json!([]), "{report:#}");
        self.ok(&["validate"]);
        self.ok(&["validate", "queue"]);
        let left: Vec<_> = self.env.bytes().into_keys().filter(|path| path.contains("/next-")).collect();
        assert!(left.is_empty(), "left over: {left:?}");
    }

    #[expect(clippy::print_stderr, reason = "figures, for the eye")]
    fn say(&self, events: &[Event], raged: Duration, looks: u64) {
        let count = |wanted: fn(&What) -> bool| events.iter().filter(|event| wanted(&event.what)).count();
        let given_back = |wanted: &str| {
            let is = |what: &What| matches!(what, What::GivenBack { reason, .. } if reason == wanted);
            events.iter().filter(|event| is(&event.what)).count()
        };
        let Figures { commands, kills, busy, refused, usual: [claim, other] } = &self.figures;
        eprintln!(
            "{:?}: {:.1} s, {commands:?} commands, {kills:?} killed, {busy:?} busy, {refused:?} told that the \
             lease is over; {} claims, {} leases expired, {} released, {} failed; {looks} looks; in the end a \
             claim took about {claim:?} µs, another command {other:?} µs",
            self.sizes,
            raged.as_secs_f64(),
            count(|what| matches!(what, What::Claimed { .. })),
            given_back("expired"),
            given_back("released"),
            count(|what| matches!(what, What::Failed { .. })),
        );
    }
}

/// Rests after something that began then: whoever takes a whole processor would only measure itself.
fn rest(begin: Instant) {
    thread::sleep(4 * begin.elapsed() + Duration::from_millis(1));
}

fn micros(time: Duration) -> u64 {
    time.as_micros().try_into().expect("a storm is over soon")
}

/// What a reader has seen last.
#[derive(Debug, Default)]
struct Seen {
    revision: u64,
    tasks: u64,
    done: u64,
}

fn counts(document: &Value) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for task in document["tasks"].as_array().unwrap() {
        *counts.entry(text(&task["status"])).or_default() += 1;
    }
    counts
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Makes a task that depends on a few earlier ones and shares files with some others.
fn random_task(dice: &mut Dice, number: u64) -> Value {
    let ids = |numbers: Vec<u64>| -> Vec<_> {
        let mut ids: Vec<_> = numbers.into_iter().map(|number| format!("t{number}")).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let many = if number == 0 { 0 } else { [0, 0, 0, 1, 1, 2, 3][dice.below(7) as usize] };
    let near = number.saturating_sub(40);
    let dependencies = ids((0..many).map(|_| near + dice.below(number - near)).collect());
    let files = match dice.below(6) {
        0 => vec![format!("src/m{}/", dice.below(6))],
        1 => vec![format!("src/m{}/f{}.rs", dice.below(6), dice.below(3)), format!("doc/{number}.md")],
        2 => vec![format!("doc/{number}.md")],
        _ => Vec::new(),
    };
    json!({
        "id": format!("t{number}"), "description": format!("task number {number}"),
        "priority": 1 + dice.below(10), "dependencies": dependencies, "context": {"files": files},
    })
}

fn add_arguments(task: &Value) -> Vec<String> {
    let mut args: Vec<String> = ["leader", "add-task"].map(str::to_owned).into();
    args.extend([text(&task["description"]), "--id".into(), text(&task["id"])]);
    args.extend(["-p".into(), task["priority"].to_string()]);
    for (flag, list) in [("--depends", &task["dependencies"]), ("--files", &task["context"]["files"])] {
        let list = list.as_array().unwrap();
        if !list.is_empty() {
            args.push(flag.into());
            args.extend(list.iter().map(text));
        }
    }
    args
}

/// Runs a command by the real clock.
fn now(env: &TestEnv, args: &[&str]) -> Ran {
    env.finish(env.command(args).env_remove("ANTHILL_NOW"), b"")
}

#[test]
fn storm_sleeper_is_told_who_has_its_task() {
    let env = env();
    for args in [
        &["leader", "add-task", "work", "--id", "t"][..],
        &["worker", "claim", "w1", "--lease", "1"],
        &["worker", "start", "w1", "t", "--epoch", "1"],
    ] {
        assert_eq!(now(&env, args).code, 0);
    }
    let args = ["worker", "claim", "w2", "--wait", "60", "--json"];
    let mut other = Running::start(env.command(&args).env_remove("ANTHILL_NOW"));
    assert_eq!(other.wait(), 0);
    assert_eq!(env.json(&["get", "queue", "--field", "tasks[0].lease.epoch"]), 2);
    let before = env.bytes();
    for verb in [
        &["complete", "w1", "t", "I did it", "--epoch", "1"][..],
        &["complete", "w1", "t", "I did it"],
        &["fail", "w1", "t", "it is hard", "--epoch", "1"],
        &["start", "w1", "t", "--epoch", "1"],
        &["release", "w1", "t", "--epoch", "1"],
        &["heartbeat", "w1", "t", "--epoch", "1"],
    ] {
        let ran = now(&env, &[&["worker"], verb].concat());
        assert_eq!(ran.code, 3, "{verb:?}: {}", ran.shown());
        assert!(ran.stderr.contains("`t` belongs now to `w2` (lease 2)"), "{verb:?}: {}", ran.shown());
    }
    assert!(env.bytes() == before, "an old owner changed something");
    assert_eq!(now(&env, &["worker", "complete", "w2", "t", "I did it", "--epoch", "2"]).code, 0);
}

/// A worker that waits for a task, known to wait.
struct Waiter {
    child: Child,
    pid: Pid,
}

impl Waiter {
    fn start(env: &TestEnv, args: &[&str]) -> Waiter {
        let mut command = env.command(args);
        command.env_remove("ANTHILL_NOW").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert!(said.contains("nothing is ready yet: waiting"), "{said}");
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        Waiter { child, pid }
    }

    fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    fn end(mut self) -> (i32, String) {
        let (status, mut said) = (self.child.wait().unwrap(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        (exit_code(status), said)
    }
}

#[test]
fn storm_waiter_stopped_while_another_takes_the_task() {
    let env = env();
    assert_eq!(now(&env, &["leader", "init", "goal"]).code, 0);
    let mut waiter = Waiter::start(&env, &["worker", "claim", "w1", "--wait", "60"]);
    kill_process(waiter.pid, Signal::STOP).unwrap();
    assert_eq!(now(&env, &["leader", "add-task", "first", "--id", "t1"]).code, 0);
    let ran = now(&env, &["worker", "claim", "w2", "--json"]);
    assert_eq!((ran.code, &ran.json()["id"]), (0, &json!("t1")), "{}", ran.shown());
    kill_process(waiter.pid, Signal::CONT).unwrap();
    thread::sleep(Duration::from_millis(500));
    assert!(!waiter.is_over(), "it has got something");
    let task = env.json(&["get", "queue", "--field", "tasks[0]"]);
    assert_eq!((&task["claimed_by"], &task["lease"]["epoch"]), (&json!("w2"), &json!(1)));
    // It still waits, and gets what comes next.
    assert_eq!(now(&env, &["leader", "add-task", "second", "--id", "t2"]).code, 0);
    let (code, said) = waiter.end();
    assert!(code == 0 && said.starts_with("Claimed for w1") && said.contains("(lease 1): t2\n"), "{said}");
}

#[test]
fn storm_waiter_stopped_past_its_patience() {
    let env = env();
    assert_eq!(now(&env, &["leader", "init", "goal"]).code, 0);
    let waiter = Waiter::start(&env, &["worker", "claim", "w1", "--wait", "0.5"]);
    kill_process(waiter.pid, Signal::STOP).unwrap();
    thread::sleep(Duration::from_millis(700));
    kill_process(waiter.pid, Signal::CONT).unwrap();
    let (code, said) = waiter.end();
    assert_eq!(code, 4, "{said}");
}
