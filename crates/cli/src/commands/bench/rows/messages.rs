//! Messages: sent, polled for, and on their way to a reader that waits.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::super::contest::Bench;
use super::super::measured::Measured;
use super::super::rounds::Budget;
use super::super::row::{Found, Row, Wanted};
use super::super::spawn::{self, Running};
use super::super::stage;
use super::super::stats::median;
use super::wake::{ASLEEP, Bare, listen, next};

const SEND: [&str; 6] = ["message", "send", "lead", "worker", "task_handoff", r#"{"task_id": "task-001"}"#];

/// How long a reader may take until it waits.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn rows(bench: &Bench) -> Vec<Row> {
    vec![
        Row::new("B19", "letter", "message send started to a waiting poll's line")
            .wanted(Wanted::MostLimits(1.8))
            .found(letter(bench)),
        Row::new("B21", "poll", "message poll, nothing new")
            .wanted(Wanted::MostFloors(2.0))
            .found(poll(bench)),
        Row::new("B30", "send", "message send, durable").found(send(bench)),
    ]
}

fn letter(bench: &Bench) -> Measured<Found> {
    let (stage, mut events) = (&bench.stage, Vec::new());
    let (bare, file) = (Bare::new(stage.dir.join("bare-letters"))?, stage.dir.join("letter"));
    stage::write(&file, b"")?;
    let ours = |_| {
        events.push(bare.wake(&file)?);
        let poll = ["message", "poll", "worker", "--wait", "60"];
        let (mut waiter, mut lines) = listen(stage.anthill(&stage.dir, &poll).stderr(Stdio::null()))?;
        falls_asleep(&waiter)?;
        bench.settle()?;
        let mut send = stage.anthill(&stage.dir, &SEND);
        send.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let begin = Instant::now();
        let mut sender = Running(send.spawn().map_err(|error| error.to_string())?);
        next(&mut lines)?;
        let took = begin.elapsed();
        let ended = sender.0.wait().and_then(|_| waiter.0.wait());
        ended.map(|_| took).map_err(|error| error.to_string())
    };
    // A tail of one in a hundred needs many rounds, and each of them a rest.
    let budget = Budget { most: bench.letters, time: 4 * bench.budget.time, ..bench.budget };
    let found = bench.race_within(&budget, Box::new(ours), Vec::new())?;
    let limit = median(&events).zip(found.floor).map(|(event, floor)| event + floor);
    Ok(Found { limit, ..found })
}

/// Waits until a process that has nothing else to do sleeps, as far as the system tells.
fn falls_asleep(waiter: &Running) -> Measured<()> {
    let (stat, begin) = (format!("/proc/{}/stat", waiter.0.id()), Instant::now());
    while begin.elapsed() < PATIENCE {
        thread::sleep(ASLEEP);
        if std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") S ")) {
            return Ok(());
        }
    }
    Err("it never waits".into())
}

fn poll(bench: &Bench) -> Measured<Found> {
    let stage = &bench.stage;
    let anthill = |args: &[&str]| stage.anthill(&stage.dir, args);
    spawn::timed(anthill(&["message", "send", "lead", "quiet", "note", "1", "--id", "first"]))?;
    spawn::timed(anthill(&["message", "done", "quiet", "first"]))?;
    bench.race(Box::new(|_| bench.time(anthill(&["message", "poll", "quiet"]))), Vec::new())
}

fn send(bench: &Bench) -> Measured<Found> {
    let stage = &bench.stage;
    bench.race(Box::new(|_| bench.time(stage.anthill(&stage.dir, &SEND))), Vec::new())
}
