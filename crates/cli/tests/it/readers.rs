//! Other programs read the queue while workers change it: whatever they get is one whole state.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use anthill_core::model::kind::Doc;
use anthill_core::store::Engine;
use anthill_core::store::file::real_fs::RealFs;
use anthill_core::store::file::{FileEngine, Options};
use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use crate::env;

const TASKS: usize = 300;
const WORKERS: usize = 4;
/// Claims of all workers together, each with a release.
const CLAIMS: usize = 240;

/// What a reader got, by its revision.
type Copies = Mutex<BTreeMap<u64, Vec<(&'static str, Value)>>>;

#[test]
fn slow_readers_see_whole_states() {
    let env = env();
    fill(&env);
    let (copies, begun, done) = (Copies::default(), AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for read in [in_pieces, with_cp, with_jq, mapped] {
            let (env, copies, done) = (&env, &copies, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let Some((how, bytes)) = read(env) else { return };
                    let copy: Value = serde_json::from_slice(&bytes)
                        .unwrap_or_else(|error| panic!("{how}: {error} in {} bytes", bytes.len()));
                    let revision = copy["revision"].as_u64().unwrap();
                    copies.lock().unwrap().entry(revision).or_default().push((how, copy));
                }
            });
        }
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (env, begun) = (&env, &begun);
                scope.spawn(move || work(env, &format!("w{worker}"), begun))
            })
            .collect();
        let worked: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        worked.into_iter().for_each(|worked| worked.unwrap());
    });
    compare(&env, &copies.into_inner().unwrap());
}

fn fill(env: &TestEnv) {
    let tasks: Vec<_> = (0..TASKS)
        .map(|number| json!({"id": format!("t{number}"), "description": "d".repeat(number + 1), "priority": number % 9 + 1}))
        .collect();
    let lines: String = tasks.iter().map(|task| format!("{task}\n")).collect();
    let added = env.run_with_input(&["leader", "import", "-"], lines.as_bytes());
    assert_eq!(added.code, 0, "{}", added.shown());
}

/// Claims and releases, until enough was claimed.
fn work(env: &TestEnv, worker: &str, begun: &AtomicUsize) {
    while begun.fetch_add(1, Ordering::Relaxed) < CLAIMS {
        let claimed = env.json(&["worker", "claim", worker]);
        let id = claimed["id"].as_str().unwrap_or_else(|| panic!("{claimed}")).to_owned();
        env.ok(&["worker", "release", worker, &id]);
    }
}

fn path(env: &TestEnv) -> std::path::PathBuf {
    env.project().join(".coordination/tasks.json")
}

/// Reads a few bytes at a time, and gives way in between.
fn in_pieces(env: &TestEnv) -> Option<(&'static str, Vec<u8>)> {
    let (mut file, mut bytes) = (std::fs::File::open(path(env)).unwrap(), Vec::new());
    let mut piece = [0; 512];
    loop {
        match file.read(&mut piece).unwrap() {
            0 => return Some(("in pieces", bytes)),
            length => bytes.extend_from_slice(&piece[..length]),
        }
        thread::yield_now();
    }
}

fn with_cp(env: &TestEnv) -> Option<(&'static str, Vec<u8>)> {
    let copy = env.root().join("copy.json");
    loop {
        let output = Command::new("cp").arg(path(env)).arg(&copy).output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        // It looks at the name twice, and gives up if that is another file by then.
        match output.status.success() {
            true => return Some(("cp", std::fs::read(copy).unwrap())),
            false => assert!(text.contains("replaced while being copied"), "cp: {text}"),
        }
    }
}

fn with_jq(env: &TestEnv) -> Option<(&'static str, Vec<u8>)> {
    output(Command::new("jq").arg(".").arg(path(env))).map(|bytes| ("jq", bytes))
}

/// Maps the file and reads it byte by byte.
fn mapped(env: &TestEnv) -> Option<(&'static str, Vec<u8>)> {
    const PROGRAM: &str = "import mmap, sys\n\
        with open(sys.argv[1], 'rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as bytes:\n\
        \x20   file.close()\n\
        \x20   for at in range(0, len(bytes), 64): sys.stdout.buffer.write(bytes[at:at + 64])\n";
    output(Command::new("python3").arg("-c").arg(PROGRAM).arg(path(env))).map(|bytes| ("mmap", bytes))
}

/// Returns what a program prints; `None` where there is no such program.
fn output(command: &mut Command) -> Option<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

/// Every copy is what the journal says of its revision.
fn compare(env: &TestEnv, copies: &BTreeMap<u64, Vec<(&'static str, Value)>>) {
    let fs = |root| Arc::new(RealFs::new(root));
    let engine = FileEngine::new(fs(env.home()), fs(env.project()), Options::default());
    let mut compared = 0;
    let replayed = engine.replay(&Doc::queue(), &mut |record, value| {
        for (how, copy) in copies.get(&record.revision).into_iter().flatten() {
            assert!(Some(copy) == value, "{how}: revision {} is torn", record.revision);
            compared += 1;
        }
    });
    replayed.unwrap();
    let all: usize = copies.values().map(Vec::len).sum();
    assert_eq!(compared, all, "some revisions were never committed");
    assert!(copies.len() > 10, "only {all} copies of {} revisions", copies.len());
    env.ok(&["doctor"]);
}
