//! How long those who wait sleep on after something happened.

use std::io::{BufRead, BufReader, Lines, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::super::contest::Bench;
use super::super::measured::{Measured, milliseconds};
use super::super::row::{Found, Row, Wanted};
use super::super::spawn::Running;
use super::super::stage;
use super::super::stats::median;
use super::super::tasks::MARK;

/// The tasks that are watched.
const FEW: usize = 10;
/// Whoever has said that it waits, or has told its news, is asleep after this.
pub const ASLEEP: Duration = Duration::from_millis(5);

pub fn rows(bench: &Bench) -> Vec<Row> {
    vec![
        Row::new("B19", "wake", "add-task started to a waiting claim's line").found(wake(bench)),
        Row::new("B20", "watch", "a file replaced to the line of `watch`")
            .tasks(FEW)
            .wanted(Wanted::MostLimits(2.0))
            .found(watch(bench)),
    ]
}

fn wake(bench: &Bench) -> Measured<Found> {
    let stage = &bench.stage;
    let root = stage.project("wake", 0)?;
    let ours = |_| {
        let claim = ["worker", "claim", "w", "--wait", "60"];
        let (mut waiter, mut lines) = listen(stage.anthill(&root, &claim).stderr(Stdio::piped()))?;
        said(&mut waiter, "waiting")?;
        thread::sleep(ASLEEP);
        bench.settle()?;
        let begin = Instant::now();
        let mut adder = stage.anthill(&root, &["leader", "add-task", "work"]);
        let adder = adder.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut adder = Running(adder.map_err(|error| error.to_string())?);
        next(&mut lines)?;
        let took = begin.elapsed();
        let ended = adder.0.wait().and_then(|_| waiter.0.wait());
        ended.map(|_| took).map_err(|error| error.to_string())
    };
    bench.race(Box::new(ours), Vec::new())
}

fn watch(bench: &Bench) -> Measured<Found> {
    let (stage, mut limits) = (&bench.stage, Vec::new());
    let root = stage.project("watch", FEW)?;
    let (file, copy) = (stage::queue_file(&root), root.join("tasks.copy"));
    let (versions, bare) = (versions(&file)?, Bare::new(stage.dir.join("bare"))?);
    let (_watcher, mut lines) = listen(stage.anthill(&root, &["watch", "queue"]).stderr(Stdio::null()))?;
    next(&mut lines)?;
    let told = told(lines);
    let ours = |round: usize| {
        stage::write_through(&copy, &versions[round % 2])?;
        thread::sleep(ASLEEP);
        limits.push(bare.wake(&copy)?);
        thread::sleep(ASLEEP);
        let begin = Instant::now();
        stage::rename(&copy, &file)?;
        let told = told.recv().map_err(|error| error.to_string())?;
        Ok(told.saturating_duration_since(begin))
    };
    let found = bench.race(Box::new(ours), Vec::new())?;
    Ok(Found { limit: median(&limits), ..found })
}

/// Returns two versions of a queue, the second of which is not what the file has.
fn versions(file: &Path) -> Measured<[Vec<u8>; 2]> {
    let text = String::from_utf8(stage::read(file)?).map_err(|error| error.to_string())?;
    let other = text.replacen(MARK, "version-b", 1);
    Ok([other.into_bytes(), text.into_bytes()])
}

/// A thread that waits for files that are moved into a directory: the least that a watcher needs.
pub struct Bare {
    dir: PathBuf,
    woken: Receiver<Instant>,
}

impl Bare {
    /// Takes a directory that does not exist yet.
    pub fn new(dir: PathBuf) -> Measured<Bare> {
        let woken = bare_waiter(&dir)?;
        Ok(Bare { dir, woken })
    }

    /// Returns how many milliseconds it takes to wake it with a file, which stays where it was.
    pub fn wake(&self, file: &Path) -> Measured<f64> {
        let (begin, there) = (Instant::now(), self.dir.join("file"));
        stage::rename(file, &there)?;
        let woken = self.woken.recv().map_err(|error| error.to_string())?;
        stage::rename(&there, file)?;
        Ok(milliseconds(woken.saturating_duration_since(begin)))
    }
}

/// Lets a thread wait in a new directory, and say when it woke up.
#[cfg(target_os = "linux")]
fn bare_waiter(dir: &Path) -> Measured<Receiver<Instant>> {
    use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};

    std::fs::create_dir(dir).map_err(|error| error.to_string())?;
    let failed = |error: rustix::io::Errno| format!("cannot wait for file events: {error}");
    let events = init(CreateFlags::CLOEXEC).map_err(failed)?;
    add_watch(&events, dir, WatchFlags::MOVED_TO).map_err(failed)?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 512];
        let mut reader = Reader::new(events, &mut buffer);
        while reader.next().is_ok() && sender.send(Instant::now()).is_ok() {}
    });
    Ok(receiver)
}

#[cfg(not(target_os = "linux"))]
fn bare_waiter(_: &Path) -> Measured<Receiver<Instant>> {
    Err("the limit is known on Linux only".into())
}

/// Starts a process whose lines are waited for.
pub fn listen(command: &mut Command) -> Measured<(Running, Lines<BufReader<ChildStdout>>)> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("cannot run it: {error}"))?;
    let stdout = child.stdout.take().ok_or("its output is piped")?;
    Ok((Running(child), BufReader::new(stdout).lines()))
}

/// Lets a thread say when each line came. Whoever replaces a file is kept by the system for longer than it takes to
/// tell others: the old one has to be freed.
fn told(lines: Lines<BufReader<ChildStdout>>) -> Receiver<Instant> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = lines.map_while(Result::ok);
        while lines.next().is_some() && sender.send(Instant::now()).is_ok() {}
    });
    receiver
}

/// Waits for the next line.
pub fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> Measured<()> {
    match lines.next() {
        Some(Ok(_)) => Ok(()),
        _ => Err("it ended without a word".into()),
    }
}

/// Waits until a process has said a word on stderr.
fn said(running: &mut Running, word: &str) -> Measured<()> {
    let stderr = running.0.stderr.take().ok_or("its stderr is piped")?;
    let mut heard = String::new();
    for byte in BufReader::new(stderr).bytes() {
        heard.push(char::from(byte.map_err(|error| error.to_string())?));
        if heard.contains(word) {
            return Ok(());
        }
    }
    Err(format!("it never said `{word}`: {heard}"))
}
