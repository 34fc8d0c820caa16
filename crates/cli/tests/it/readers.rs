//! Other programs read the queue while workers change it: whatever they get is one whole state.
//!
//! Each claim is a real process. `ANTHILL_READERS_TASKS`, `_CLAIMS` and `_WORKERS` make it larger; only each
//! `_FILED`th task names a file.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anthill_core::model::kind::Doc;
use anthill_core::store::Engine;
use anthill_core::store::file::real_fs::RealFs;
use anthill_core::store::file::{FileEngine, Options};
use anthill_testkit::effort::rounds;
use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use crate::{env, told};

/// Longer than the test takes, so that no claim comes to an end.
const LEASE: &str = "86400";

/// Bytes that a slow reader takes at a time.
const STEP: usize = 4096;

/// How long a slow reader pauses between them; the kernel makes more of it.
const PAUSE: Duration = Duration::from_micros(10);

const COUNT: &str = "[.tasks[]|.status]|group_by(.)|map({(.[0]):length})|add";

#[test]
fn slow_readers_see_whole_states() {
    let rush = Rush::new();
    let copies = rush.with(&READERS, |reader| rush.copies(reader), Rush::claim_and_release);
    rush.are_committed(&copies);
}

#[test]
fn slow_readers_see_every_claim() {
    let rush = Rush::new();
    let copies = rush.with(&READERS, |reader| rush.copies(reader), Rush::claim);
    copies.iter().for_each(|copies| rush.are_exact(copies.iter().map(|copy| &copy.counted)));
    rush.are_committed(&copies);
}

#[test]
fn counts_are_exact_at_all_times() {
    let rush = Rush::new();
    let looks = rush.with(&LOOKS, |look| rush.looks(look), Rush::claim);
    looks.iter().for_each(|looks| rush.are_exact(looks));
    rush.env.ok(&["doctor"]);
}

/// Workers that claim all at once.
struct Rush {
    env: TestEnv,
    tasks: usize,
    /// Claims of all workers together.
    claims: usize,
    workers: usize,
    begun: AtomicUsize,
    granted: AtomicUsize,
    over: AtomicBool,
}

/// What a reader counted, and what the workers knew meanwhile.
#[derive(Debug)]
struct Counted {
    how: &'static str,
    tasks: usize,
    claimed: usize,
    /// Claims that were granted when the reader began.
    granted: usize,
    /// Claims that had begun when the reader ended.
    begun: usize,
}

/// What is kept of a copy; a hundred copies of a long queue would not fit into memory.
struct Copy {
    counted: Counted,
    revision: u64,
    /// Of the text without white space.
    sum: u64,
}

/// A way to read the file; `None` where there is no such program.
type Reader = (&'static str, fn(&TestEnv) -> Option<Vec<u8>>);

const READERS: [Reader; 4] = [("in pieces", in_pieces), ("cp", with_cp), ("jq", with_jq), ("mmap", mapped)];

/// A way to count tasks by status; `None` where there is no such program.
type Look = (&'static str, fn(&TestEnv) -> Option<Value>);

const LOOKS: [Look; 2] = [("jq", counted_by_jq), ("status", counted_by_status)];

impl Rush {
    fn new() -> Rush {
        let rush = Rush {
            env: env(),
            tasks: told("READERS_TASKS", rounds(300, 3)),
            claims: told("READERS_CLAIMS", rounds(240, 3)),
            workers: told("READERS_WORKERS", 4),
            begun: AtomicUsize::new(0),
            granted: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        };
        assert!(rush.claims <= rush.tasks, "a claim must find a task");
        rush.fill();
        rush
    }

    /// Tasks of different length, 540 bytes on average.
    fn fill(&self) {
        let filed = told("READERS_FILED", 1);
        let line = |number: usize| {
            let (id, description) = (format!("t{number}"), "d".repeat(number % 300 + 1));
            let files: Vec<_> =
                number.is_multiple_of(filed).then(|| format!("src/m{number}/a.rs")).into_iter().collect();
            let context = json!({"files": files, "hints": "h".repeat(64)});
            json!({"id": id, "description": description, "priority": number % 9 + 1, "context": context})
        };
        let lines: String = (0..self.tasks).map(|number| format!("{}\n", line(number))).collect();
        let added = self.env.run_with_input(&["leader", "import", "-"], lines.as_bytes());
        assert_eq!(added.code, 0, "{}", added.shown());
    }

    /// Lets all workers work, and these others read beside them. Returns what each of those got.
    fn with<T: Sync, R: Send>(
        &self,
        readers: &[T],
        read: impl Fn(&T) -> Vec<R> + Sync,
        work: fn(&Rush, &str) -> Vec<String>,
    ) -> Vec<Vec<R>> {
        let begin = Instant::now();
        let (claimed, got) = thread::scope(|scope| {
            let read = &read;
            let readers: Vec<_> = readers.iter().map(|reader| scope.spawn(move || read(reader))).collect();
            let workers: Vec<_> = (0..self.workers)
                .map(|worker| scope.spawn(move || work(self, &format!("w{worker}"))))
                .collect();
            let worked: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            self.over.store(true, Ordering::Relaxed);
            let claimed: Vec<_> = worked.into_iter().flat_map(Result::unwrap).collect();
            let got: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
            (claimed, got)
        });
        assert_eq!(claimed.len(), self.claims);
        self.say(begin.elapsed(), &got);
        got
    }

    #[expect(clippy::print_stderr, reason = "figures, for the eye")]
    fn say<R>(&self, took: Duration, got: &[Vec<R>]) {
        let reads: Vec<_> = got.iter().map(Vec::len).collect();
        let Rush { tasks, claims, workers, .. } = self;
        eprintln!(
            "{claims} claims of {workers} workers from {tasks} tasks in {:.1} s; whole reads by each reader: {reads:?}",
            took.as_secs_f64()
        );
    }

    /// Claims until enough was claimed. Returns the ids.
    fn claim(&self, worker: &str) -> Vec<String> {
        let args = ["worker", "claim", worker, "--lease", LEASE, "--json"];
        let mut ids = Vec::new();
        while self.begun.fetch_add(1, Ordering::SeqCst) < self.claims {
            let ran = self.env.finish(self.env.command(&args).env_remove("ANTHILL_NOW"), b"");
            assert_eq!(ran.code, 0, "{}", ran.shown());
            self.granted.fetch_add(1, Ordering::SeqCst);
            ids.push(ran.json()["id"].as_str().unwrap().to_owned());
        }
        ids
    }

    /// Claims and releases, until enough was claimed. Returns the ids.
    fn claim_and_release(&self, worker: &str) -> Vec<String> {
        let mut ids = Vec::new();
        while self.begun.fetch_add(1, Ordering::SeqCst) < self.claims {
            let claimed = self.env.json(&["worker", "claim", worker]);
            let id = claimed["id"].as_str().unwrap_or_else(|| panic!("{claimed}")).to_owned();
            self.env.ok(&["worker", "release", worker, &id]);
            ids.push(id);
        }
        ids
    }

    /// Reads again and again until the workers are done, and once more.
    fn copies(&self, (how, read): &Reader) -> Vec<Copy> {
        let mut copies = Vec::new();
        self.until_over(|granted| {
            let bytes = read(&self.env)?;
            let begun = self.begun.load(Ordering::SeqCst);
            let (text, length) = (compact(&bytes), bytes.len());
            let revision = revision(&text).unwrap_or_else(|| panic!("{how}: torn after {length} bytes"));
            let (tasks, claimed) = (count(&text, "\"status\":"), count(&text, "\"status\":\"claimed\""));
            let counted = Counted { how, tasks, claimed, granted, begun };
            copies.push(Copy { counted, revision, sum: sum(&text) });
            Some(())
        });
        copies
    }

    fn looks(&self, (how, look): &Look) -> Vec<Counted> {
        let mut looks = Vec::new();
        self.until_over(|granted| {
            let counts: BTreeMap<String, usize> = serde_json::from_value(look(&self.env)?).unwrap();
            let begun = self.begun.load(Ordering::SeqCst);
            let (tasks, claimed) = (counts.values().sum(), counts.get("claimed").copied().unwrap_or(0));
            looks.push(Counted { how, tasks, claimed, granted, begun });
            Some(())
        });
        looks
    }

    /// Rests as long as each turn takes: whoever takes a whole processor would only measure itself.
    fn until_over(&self, mut turn: impl FnMut(usize) -> Option<()>) {
        loop {
            let (begin, over) = (Instant::now(), self.over.load(Ordering::SeqCst));
            if turn(self.granted.load(Ordering::SeqCst)).is_none() || over {
                return;
            }
            thread::sleep(begin.elapsed());
        }
    }

    /// What one reader counted is never behind what was granted, never ahead of what was asked for, and never
    /// goes back.
    fn are_exact<'c>(&self, counted: impl IntoIterator<Item = &'c Counted>) {
        let (mut last, mut seen) = (0, 0);
        for counted in counted {
            let possible = counted.granted..=counted.begun.min(self.claims);
            assert_eq!(counted.tasks, self.tasks, "{counted:?}");
            assert!(possible.contains(&counted.claimed), "{counted:?}");
            assert!(counted.claimed >= last, "{counted:?} after {last}");
            (last, seen) = (counted.claimed, seen + 1);
        }
        assert!(seen == 0 || last == self.claims, "the last look sees all: {last}");
    }

    /// Every copy is what the journal says of its revision.
    fn are_committed(&self, copies: &[Vec<Copy>]) {
        let fs = |root| Arc::new(RealFs::new(root));
        let engine = FileEngine::new(fs(self.env.home()), fs(self.env.project()), Options::default());
        let mut by_revision: BTreeMap<u64, Vec<&Copy>> = BTreeMap::new();
        for copy in copies.iter().flatten() {
            by_revision.entry(copy.revision).or_default().push(copy);
        }
        let mut compared = BTreeSet::new();
        let replayed = engine.replay(&Doc::queue(), &mut |record, value| {
            let Some(copies) = by_revision.get(&record.revision) else { return };
            let committed = sum(&serde_json::to_vec(value.unwrap()).unwrap());
            for copy in copies {
                assert_eq!(copy.sum, committed, "{}: revision {} is torn", copy.counted.how, record.revision);
            }
            compared.insert(record.revision);
        });
        replayed.unwrap();
        assert!(by_revision.keys().eq(&compared), "some revisions were never committed");
        assert!(by_revision.len() > 10, "only {} revisions", by_revision.len());
        self.env.ok(&["doctor"]);
    }
}

fn path(env: &TestEnv) -> std::path::PathBuf {
    env.project().join(".coordination/tasks.json")
}

/// Reads a few bytes at a time, and pauses in between.
fn in_pieces(env: &TestEnv) -> Option<Vec<u8>> {
    let (mut file, mut bytes) = (std::fs::File::open(path(env)).unwrap(), Vec::new());
    let mut piece = [0; STEP];
    loop {
        match file.read(&mut piece).unwrap() {
            0 => return Some(bytes),
            length => bytes.extend_from_slice(&piece[..length]),
        }
        thread::sleep(PAUSE);
    }
}

fn with_cp(env: &TestEnv) -> Option<Vec<u8>> {
    let copy = env.root().join("copy.json");
    loop {
        let output = Command::new("cp").arg(path(env)).arg(&copy).output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        // It looks at the name twice, and gives up if that is another file by then.
        match output.status.success() {
            true => return Some(std::fs::read(copy).unwrap()),
            false => assert!(text.contains("replaced while being copied"), "cp: {text}"),
        }
    }
}

fn with_jq(env: &TestEnv) -> Option<Vec<u8>> {
    output(Command::new("jq").arg(".").arg(path(env)))
}

/// Maps the file, lets the file itself go and reads on.
fn mapped(env: &TestEnv) -> Option<Vec<u8>> {
    const PROGRAM: &str = "import mmap, sys, time\n\
        with open(sys.argv[1], 'rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as bytes:\n\
        \x20   file.close()\n\
        \x20   for at in range(0, len(bytes), 4096):\n\
        \x20       sys.stdout.buffer.write(bytes[at:at + 4096])\n\
        \x20       time.sleep(0.00001)\n";
    output(Command::new("python3").arg("-c").arg(PROGRAM).arg(path(env)))
}

fn counted_by_jq(env: &TestEnv) -> Option<Value> {
    let counted = output(Command::new("jq").arg(COUNT).arg(path(env)))?;
    Some(serde_json::from_slice(&counted).unwrap())
}

fn counted_by_status(env: &TestEnv) -> Option<Value> {
    Some(env.json(&["leader", "status"])["counts"].take())
}

/// Returns what a program prints; `None` where there is no such program.
fn output(command: &mut Command) -> Option<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

/// Leaves out the white space between tokens. Two texts that are equal after that are the same document, and as one
/// of the two will be the journal's, the other one is JSON.
fn compact(bytes: &[u8]) -> Vec<u8> {
    let (mut text, mut quoted, mut escaped) = (Vec::with_capacity(bytes.len()), false, false);
    for &byte in bytes {
        if quoted || !byte.is_ascii_whitespace() {
            text.push(byte);
        }
        quoted ^= byte == b'"' && !escaped;
        escaped = quoted && byte == b'\\' && !escaped;
    }
    text
}

/// Reads the document's own revision, which stands after its tasks.
fn revision(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (_, after) = text.rsplit_once("],\"")?;
    let (_, number) = after.split_once("revision\":")?;
    number.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
}

fn count(text: &[u8], wanted: &str) -> usize {
    std::str::from_utf8(text).unwrap().matches(wanted).count()
}

fn sum(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
