//! Many processes claim from one queue at the same time; each task must go to one of them.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::contest::Bench;
use super::super::measured::{Measured, milliseconds};
use super::super::row::{Found, Row, Unit, Wanted};
use super::super::stats::{median, percentile};
use super::super::{spawn, stage};
use super::queue::{LEASE, claimed};

const AT_ONCE: usize = 32;
/// Claims and empty processes take turns this often.
const BATCHES: usize = 4;
/// No batch begins another process after this long.
const ENOUGH: Duration = Duration::from_secs(6);

pub fn rows(bench: &Bench, size: usize) -> Vec<Row> {
    let storm = rage(bench, size);
    let found = |of: fn(&Storm) -> Found| storm.as_ref().map(of).map_err(Clone::clone);
    vec![
        Row::new("B11", "storm", "claims by 32 processes at once")
            .tasks(size)
            .unit(Unit::PerSecond)
            .wanted(Wanted::LeastFloors(0.4))
            .found(found(Storm::rate)),
        Row::new("B11", "storm, each", "one of those processes").tasks(size).found(found(Storm::each)),
        Row::new("B12", "storm, spread", "p99 of those over their p50")
            .tasks(size)
            .unit(Unit::Times)
            .wanted(Wanted::Most(4.0))
            .found(found(Storm::spread)),
    ]
}

#[derive(Default)]
struct Storm {
    claims: Batch,
    empty: Batch,
}

/// Processes that were run at once.
#[derive(Default)]
struct Batch {
    time: Duration,
    /// How long each process took, in milliseconds.
    times: Vec<f64>,
    said: Vec<Vec<u8>>,
}

impl Storm {
    fn rate(&self) -> Found {
        let floor = Some(self.empty.rate());
        Found { p50: self.claims.rate(), floor, rounds: self.claims.times.len(), ..Found::default() }
    }

    fn each(&self) -> Found {
        let times = &self.claims.times;
        Found {
            p50: median(times).unwrap_or_default(),
            p99: percentile(times, 0.99),
            floor: median(&self.empty.times),
            rounds: times.len(),
            ..Found::default()
        }
    }

    fn spread(&self) -> Found {
        let each = self.each();
        Found { p50: each.p99.unwrap_or_default() / each.p50, rounds: each.rounds, ..Found::default() }
    }
}

impl Batch {
    fn rate(&self) -> f64 {
        self.times.len() as f64 / self.time.as_secs_f64()
    }

    fn add(&mut self, other: Batch) {
        self.time += other.time;
        self.times.extend(other.times);
        self.said.extend(other.said);
    }
}

fn rage(bench: &Bench, size: usize) -> Measured<Storm> {
    let stage = &bench.stage;
    let root = stage.project("storm", size)?;
    let claim = |number: usize| {
        let worker = format!("w{}", number % AT_ONCE);
        stage.anthill(&root, &["worker", "claim", &worker, "--lease", LEASE, "--lock-timeout", "600"])
    };
    let mut storm = Storm::default();
    let count = (bench.storm.min(size / 2) / BATCHES).max(1);
    for _ in 0..BATCHES {
        storm.empty.add(batch(count, &|_| stage.floor())?);
        storm.claims.add(batch(count, &claim)?);
    }
    each_task_once(&storm.claims.said, &stage::queue_file(&root))?;
    Ok(storm)
}

/// Runs so many processes, as many at once as there may be.
fn batch(count: usize, command: &(dyn Fn(usize) -> Command + Sync)) -> Measured<Batch> {
    let (next, ended) = (AtomicUsize::new(0), Mutex::new(Ok(Batch::default())));
    let begin = Instant::now();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count || (number >= AT_ONCE && begin.elapsed() > ENOUGH) {
                return;
            }
            let heard = spawn::heard(command(number));
            let mut ended = ended.lock().expect("nobody panics with it");
            match (heard, ended.as_mut()) {
                (Ok((took, said)), Ok(batch)) => {
                    batch.times.push(milliseconds(took));
                    batch.said.push(said);
                }
                (Err(error), Ok(_)) => *ended = Err(error),
                (_, Err(_)) => return,
            }
        }
    };
    thread::scope(|scope| (0..AT_ONCE.min(count)).for_each(|_| drop(scope.spawn(work))));
    let time = begin.elapsed();
    ended.into_inner().expect("nobody panics with it").map(|batch: Batch| Batch { time, ..batch })
}

/// Holds what the processes were told against each other and against the file.
fn each_task_once(said: &[Vec<u8>], file: &Path) -> Measured<()> {
    let told: HashSet<_> = said.iter().map(|said| claimed(said)).collect::<Measured<_>>()?;
    if told.len() < said.len() {
        return Err(format!("{} tasks were claimed more than once", said.len() - told.len()));
    }
    let queue: Value = serde_json::from_slice(&stage::read(file)?).map_err(|error| error.to_string())?;
    let tasks = queue["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let claimed =
        tasks.iter().filter(|task| task["status"] == "claimed").filter_map(|task| task["id"].as_str());
    match claimed.map(str::to_owned).collect::<HashSet<_>>() == told {
        true => Ok(()),
        false => Err("the file does not have the claims that were told".into()),
    }
}
