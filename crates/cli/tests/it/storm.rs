//! Many processes at once, and processes that die: nothing lost, nothing doubled, nobody has to help.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anthill_testkit::effort::rounds;
use anthill_testkit::test_env::{Running, TestEnv};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::env;

const CONFIG: &str = "user/.claude/orchestration/config.json";
const SESSION: &str = "user/.claude/sessions/s1";

/// So many take turns that a busy machine needs longer than the usual patience.
const PATIENT: &str = "--lock-timeout=100";

/// More than the system has listeners for (128 of a user by default): who gets none looks by itself.
#[test]
fn storm_of_waiters() {
    const WAITERS: usize = 300;
    let env = env();
    env.ok(&["leader", "init", "goal"]);
    let told = |waiter: usize| env.root().join(format!("told-{waiter}"));
    let wait = |waiter: usize| {
        let mut claim = env.command(&["worker", "claim", &format!("w{waiter}"), "--wait", "200", PATIENT]);
        claim.stdout(Stdio::null()).stderr(File::create_new(told(waiter)).unwrap()).spawn().unwrap()
    };
    let mut waiters: Vec<_> = (0..WAITERS).map(wait).collect();
    for (waiter, process) in waiters.iter().enumerate() {
        let looks = || fs::read_to_string(told(waiter)).unwrap().contains("sysctl fs.inotify");
        while !looks() && listeners(process.id()) == 0 {
            thread::sleep(Duration::from_millis(5));
        }
    }
    let tasks: Vec<_> = (0..WAITERS).map(|task| json!({"description": format!("task {task}")})).collect();
    env.write("project/tasks.json", json!({"tasks": tasks}).to_string());
    env.ok(&["leader", "import", "tasks.json", PATIENT]);
    for waiter in &mut waiters {
        assert!(waiter.wait().unwrap().success());
    }
    let queue = env.json(&["get", "queue"]);
    let owners = queue["tasks"].as_array().unwrap().iter().map(|task| task["claimed_by"].as_str().unwrap());
    assert_eq!(owners.collect::<BTreeSet<_>>().len(), WAITERS, "everybody has one");
}

#[test]
fn a_crew_has_one_listener_for_all() {
    let env = env();
    env.ok(&["leader", "init", "goal"]);
    for _ in 0..3 {
        env.ok(&["leader", "add-task", "x"]);
    }
    let crew = env.spawn(&["worker", "run", "w", "--parallel", "4", "--forever", "--", "sleep", "200"]);
    let active = || env.read_text("project/.coordination/tasks.json").matches("\"in_progress\"").count();
    while active() < 3 {
        thread::sleep(Duration::from_millis(5));
    }
    // On a machine that has none left, it has none.
    assert!(listeners(crew.id()) <= 1);
}

/// Returns how many listeners of the system a process has.
fn listeners(process: u32) -> usize {
    let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let targets = open.filter_map(|file| fs::read_link(file.path()).ok());
    targets.filter(|target| target.to_string_lossy().contains("inotify")).count()
}

#[test]
fn storm_of_appends() {
    const PROCESSES: usize = 64;
    const APPENDS: usize = 50;
    let env = env();
    env.ok(&["set", "config", "x_items", "[]"]);
    let done = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        let reader = scope.spawn(|| follow(&env, &done));
        let writers: Vec<_> = (0..PROCESSES)
            .map(|process| {
                let env = &env;
                scope.spawn(move || {
                    for number in 0..APPENDS {
                        let item = format!("\"{process}-{number}\"");
                        env.ok(&["append", "config", "x_items", &item, PATIENT]);
                    }
                })
            })
            .collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(written.iter().all(Result::is_ok), "a writer failed");
        reader.join().expect("the reader saw whole files and growing revisions")
    });
    assert!(seen > 100, "the reader looked only {seen} times");

    let config = env.json(&["get", "config"]);
    let items: Vec<_> =
        config["x_items"].as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect();
    let different: BTreeSet<_> = items.iter().collect();
    assert_eq!((items.len(), different.len()), (PROCESSES * APPENDS, PROCESSES * APPENDS));
    assert_eq!(config["revision"], 1 + PROCESSES * APPENDS);
    // Each process sees its own appends in order.
    for process in 0..PROCESSES {
        let prefix = format!("{process}-");
        let own: Vec<usize> = items
            .iter()
            .filter_map(|item| item.strip_prefix(&prefix))
            .map(|number| number.parse().unwrap())
            .collect();
        assert!(own.is_sorted(), "process {process}: {own:?}");
    }
    clean(&env);
}

/// Reads the raw file and `get` in turn: both are always whole, and revisions never go back.
fn follow(env: &TestEnv, done: &AtomicBool) -> usize {
    let (mut revision, mut looks) = (0, 0);
    while !done.load(Ordering::Relaxed) {
        let raw: Value = serde_json::from_slice(&env.read(CONFIG)).expect("the file is whole");
        let got = env.json(&["get", "config"]);
        for document in [raw, got] {
            let found = document["revision"].as_u64().expect("every document has a revision");
            let items = document["x_items"].as_array().expect("every state has the list").len() as u64;
            assert!(found >= revision, "revision {found} after {revision}");
            assert_eq!(items + 1, found, "one append is one revision");
            revision = found;
            looks += 1;
        }
        // A reader that takes a whole processor would only measure itself.
        thread::sleep(Duration::from_millis(5));
    }
    looks
}

#[track_caller]
fn clean(env: &TestEnv) {
    let report = env.json(&["doctor"]);
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(0), "{report:#}");
    let left: Vec<_> = env.bytes().into_keys().filter(|path| path.contains("/next-")).collect();
    assert!(left.is_empty(), "left over: {left:?}");
    let after_first = env.bytes();
    env.ok(&["doctor"]);
    assert!(env.bytes() == after_first, "a second doctor changed something");
}

/// A small generator of numbers that look random; storms need variety, not secrecy.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice((seed ^ 0x9e37_79b9_7f4a_7c15).max(1))
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What one worker did to the documents, to be compared with what they hold in the end.
#[derive(Default)]
struct Diary {
    /// Appended items, and whether the append was acknowledged.
    appends: Vec<(&'static str, String, bool)>,
    /// What the worker's own key may hold in the end.
    possible: BTreeMap<&'static str, Vec<Option<u64>>>,
    acknowledged: usize,
}

#[test]
fn storm_of_kills() {
    const WORKERS: u64 = 32;
    const KINDS: [&str; 3] = ["tasks", "messages", "events"];
    let env = env();
    for kind in KINDS {
        env.ok(&["set", kind, "x_items", "[]", "--session-id", "s1"]);
        env.ok(&["set", kind, "x_keys", "{}", "--session-id", "s1"]);
    }
    // By all workers together, and by each.
    let (wanted, acknowledged) = (rounds(200, 4), rounds(7, 3));
    let kills = AtomicUsize::new(0);
    let diaries: Vec<Diary> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (env, kills) = (&env, &kills);
                scope.spawn(move || {
                    let mut dice = Dice::new(worker + 1);
                    let mut diary = Diary::default();
                    let mut number = 0;
                    // On a slow machine every kill hits, so that less is left to be done.
                    while kills.load(Ordering::Relaxed) < wanted || diary.acknowledged < acknowledged {
                        number += 1;
                        let kind = KINDS[dice.below(3) as usize];
                        work(env, kills, &mut dice, &mut diary, kind, worker, number);
                    }
                    diary
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker failed")).collect()
    });
    for kind in KINDS {
        let document: Value = env.json(&["get", kind, "--session-id", "s1"]);
        compare(kind, &document, &diaries);
    }
    clean(&env);
    for kind in KINDS {
        let raw = env.read(&format!("{SESSION}/{kind}.json"));
        compare(kind, &serde_json::from_slice(&raw).expect("the file is whole"), &diaries);
    }
}

fn work(
    env: &TestEnv,
    kills: &AtomicUsize,
    dice: &mut Dice,
    diary: &mut Diary,
    kind: &'static str,
    worker: u64,
    number: u64,
) {
    let key = format!("x_keys.w{worker}");
    let possible = diary.possible.entry(kind).or_insert_with(|| vec![None]);
    match dice.below(4) {
        0 if possible.iter().all(Option::is_some) => {
            let acknowledged = run_or_kill(env, kills, dice, &["delete", kind, &key, "--session-id", "s1"]);
            note(possible, None, acknowledged);
            diary.acknowledged += usize::from(acknowledged);
        }
        0 | 1 => {
            let args = ["set", kind, &key, &number.to_string(), "--session-id", "s1"];
            let acknowledged = run_or_kill(env, kills, dice, &args);
            note(possible, Some(number), acknowledged);
            diary.acknowledged += usize::from(acknowledged);
        }
        _ => {
            let item = format!("{worker}-{number}");
            let args = ["append", kind, "x_items", &format!("\"{item}\""), "--session-id", "s1"];
            let acknowledged = run_or_kill(env, kills, dice, &args);
            diary.acknowledged += usize::from(acknowledged);
            diary.appends.push((kind, item, acknowledged));
        }
    }
}

/// An acknowledged write is what counts; any other one may have happened or not.
fn note(possible: &mut Vec<Option<u64>>, value: Option<u64>, acknowledged: bool) {
    if acknowledged {
        possible.clear();
    }
    possible.push(value);
}

/// Runs a command, often with a kill at some moment. Returns whether it was acknowledged.
fn run_or_kill(env: &TestEnv, kills: &AtomicUsize, dice: &mut Dice, args: &[&str]) -> bool {
    let mut child =
        env.command(args).arg(PATIENT).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    if dice.below(2) == 0 {
        thread::sleep(Duration::from_micros(dice.below(400_000)));
        // It may have ended by itself; as long as it is not waited for, its id is not used again.
        let _ = child.kill();
    }
    let output = child.wait_with_output().unwrap();
    if output.status.signal() == Some(9) {
        kills.fetch_add(1, Ordering::Relaxed);
        return false;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
    true
}

#[track_caller]
fn compare(kind: &str, document: &Value, diaries: &[Diary]) {
    let mut count = BTreeMap::new();
    for item in document["x_items"].as_array().unwrap() {
        *count.entry(item.as_str().unwrap()).or_insert(0) += 1;
    }
    for (worker, diary) in diaries.iter().enumerate() {
        for (_, item, acknowledged) in diary.appends.iter().filter(|(of, ..)| *of == kind) {
            let found = count.remove(item.as_str()).unwrap_or(0);
            let allowed = if *acknowledged { 1..=1 } else { 0..=1 };
            assert!(
                allowed.contains(&found),
                "{kind}: {item} (acknowledged: {acknowledged}) is there {found} times"
            );
        }
        let found = document["x_keys"].get(format!("w{worker}")).map(|value| value.as_u64().unwrap());
        let possible = diary.possible.get(kind).cloned().unwrap_or_else(|| vec![None]);
        assert!(possible.contains(&found), "{kind}: worker {worker} left {possible:?}, found {found:?}");
    }
    assert!(count.is_empty(), "{kind}: nobody appended {count:?}");
}

/// A command that holds the queue's lock for long, because the queue is large.
struct Holder {
    env: TestEnv,
    lock: File,
}

impl Holder {
    fn new() -> Holder {
        let env = env();
        let task = |number| format!(r#"{{"id": "t{number}", "description": "work", "status": "available"}}"#);
        let tasks: Vec<_> = (0..20_000).map(task).collect();
        let queue = format!(r#"{{"version": "1.0", "tasks": [{}]}}"#, tasks.join(","));
        env.write("project/.coordination/tasks.json", queue);
        env.ok(&["set", "queue", "x", "0"]);
        let lock = File::open(env.project().join(".coordination/.anthill/lock")).unwrap();
        Holder { env, lock }
    }

    fn is_free(&self) -> bool {
        let free = self.lock.try_lock().is_ok();
        if free {
            self.lock.unlock().unwrap();
        }
        free
    }

    /// Starts a command and returns when it has the lock.
    fn start(&self) -> (Running, Pid) {
        loop {
            let mut command: Command = self.env.command(&["append", "queue", "x_log", "1"]);
            let mut running = Running::start(&mut command);
            let pid = Pid::from_raw(running.id() as i32).unwrap();
            let end = Instant::now() + Duration::from_secs(5);
            while Instant::now() < end {
                if !self.is_free() {
                    return (running, pid);
                }
            }
            running.kill();
        }
    }
}

#[test]
fn storm_holder_killed_frees_the_lock_at_once() {
    let holder = Holder::new();
    let mut waits = Vec::new();
    for _ in 0..10 {
        let (mut running, _) = holder.start();
        let start = Instant::now();
        running.kill();
        while !holder.is_free() {}
        waits.push(start.elapsed());
    }
    // The kernel frees it with the process; a busy machine may be late to run us, but not each time.
    assert!(waits.iter().any(|wait| *wait < Duration::from_millis(100)), "{waits:?}");
    holder.env.ok(&["set", "queue", "x", "1"]);
    clean(&holder.env);
}

#[test]
fn storm_holder_stopped_is_waited_for_and_never_robbed() {
    let holder = Holder::new();
    let log = || holder.env.json(&["get", "queue"])["x_log"].as_array().map_or(0, Vec::len);
    let (mut running, pid) = loop {
        let (mut running, pid) = holder.start();
        kill_process(pid, Signal::STOP).unwrap();
        if !holder.is_free() {
            break (running, pid);
        }
        // It was done before we stopped it: the next one, then.
        running.kill();
    };
    let (before, logged) = (holder.env.bytes(), log());
    for patience in ["0", "0.3", "1"] {
        let start = Instant::now();
        let ran = holder.env.run(&["set", "queue", "x", "1", "--lock-timeout", patience]);
        let (waited, limit) = (start.elapsed(), Duration::from_secs_f64(patience.parse().unwrap()));
        assert_eq!(ran.code, 5, "{}", ran.shown());
        // Far less than the usual patience.
        assert!(waited >= limit && waited < limit + Duration::from_secs(6), "{patience}: {waited:?}");
    }
    assert!(holder.env.bytes() == before, "somebody wrote past a held lock");
    holder.env.ok(&["get", "queue", "--field", "x"]);
    kill_process(pid, Signal::CONT).unwrap();
    assert_eq!(running.wait(), 0);
    holder.env.ok(&["set", "queue", "x", "2"]);
    assert_eq!(log(), logged + 1);
    clean(&holder.env);
}
