//! A queue after a year of work beside a new one, in turns: nine tenths of its tasks are done, and as many as the new one has
//! a hundred times. What the new one takes is the limit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::rounds::{Measured, milliseconds};
use super::super::row::{Found, Row, Wanted};
use super::super::stats::median;
use super::super::{spawn, stage};
use super::Bench;
use super::queue::{LEASE, claimed};

/// The most rounds: each takes a task of both.
const ROUNDS: usize = 60;

pub fn rows(bench: &Bench, size: usize) -> Vec<Row> {
    let queues = prepare(bench, size);
    let row = |id, name, what, act: fn(&Bench, &Path) -> Measured<Duration>| {
        let found = queues.as_ref().map_err(Clone::clone).and_then(|queues| side_by_side(bench, queues, act));
        Row::new(id, name, what).tasks(size).wanted(Wanted::MostLimits(1.5)).found(found)
    };
    vec![
        row("B44", "old claim", "beside one in a new queue", |bench, root| bench.time(claim(bench, root))),
        row("B45", "old done", "complete, beside one in a new queue", complete),
        row("B46", "old status", "beside one of a new queue", |bench, root| {
            bench.time(bench.stage.anthill(root, &["leader", "status"]))
        }),
    ]
}

/// Returns the old queue and the new one.
fn prepare(bench: &Bench, size: usize) -> Measured<[PathBuf; 2]> {
    let stage = &bench.stage;
    let (old, new) = (stage.project("old-queue", size)?, stage.project("new-queue", (size / 100).max(10))?);
    let file = stage::queue_file(&old);
    let text = String::from_utf8_lossy(&stage::read(&file)?).into_owned();
    // The first ones are those that others wait for.
    let done = text.replacen("\"available\"", "\"done\"", size / 10 * 9);
    stage::write(&file, done.as_bytes())?;
    // Both have taken a task before, so that the old one has taken in what was written.
    for root in [&old, &new] {
        spawn::timed(claim(bench, root))?;
    }
    Ok([old, new])
}

fn claim(bench: &Bench, root: &Path) -> std::process::Command {
    bench.stage.anthill(root, &["worker", "claim", "w", "--lease", LEASE])
}

/// Claims a task, untimed, and completes it.
fn complete(bench: &Bench, root: &Path) -> Measured<Duration> {
    let id = claimed(&spawn::heard(claim(bench, root))?.1)?;
    bench.time(bench.stage.anthill(root, &["worker", "complete", "w", &id, "Moved it, with tests"]))
}

fn side_by_side(
    bench: &Bench,
    [old, new]: &[PathBuf; 2],
    act: fn(&Bench, &Path) -> Measured<Duration>,
) -> Measured<Found> {
    let (mut fresh, most) = (Vec::new(), ROUNDS.min(stage_rounds(bench)));
    let ours = |_| {
        fresh.push(milliseconds(act(bench, new)?));
        act(bench, old)
    };
    let found = bench.race_at_most(most, Box::new(ours), Vec::new())?;
    Ok(Found { limit: median(&fresh), ..found })
}

/// Claims and completions take at most half of the new queue's tasks together.
fn stage_rounds(bench: &Bench) -> usize {
    let largest = bench.sizes.last().copied().unwrap_or(1);
    ((largest / 100).max(10) / 5).max(1)
}
