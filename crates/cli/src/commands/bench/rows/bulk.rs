//! Work on all tasks at once, held against what it cannot do without: a process, one look at every byte, one write.

use std::hint::black_box;
use std::time::Instant;

use super::super::contest::{Bench, words};
use super::super::measured::{Measured, milliseconds};
use super::super::peers::{self, Peer};
use super::super::row::{Found, Row, Wanted};
use super::super::stage;
use super::super::stats::median;

/// Lists the best tasks of a file that another program has replaced: whatever was remembered of it is void.
pub fn cold(bench: &Bench, size: usize) -> Row {
    Row::new("B14", "ready, cold", "list after the file was replaced")
        .tasks(size)
        .wanted(Wanted::MostLimits(1.6))
        .found(measure_cold(bench, size))
}

fn measure_cold(bench: &Bench, size: usize) -> Measured<Found> {
    let (stage, mut limits) = (&bench.stage, Vec::new());
    let root = stage.project("cold", size)?;
    let (file, copy) = (stage::queue_file(&root), root.join("tasks.copy"));
    let (bytes, shown) = (stage::read(&file)?, file.display().to_string());
    let ours = |_| {
        stage::write_through(&copy, &bytes)?;
        stage::rename(&copy, &file)?;
        let begin = Instant::now();
        scan(&stage::read(&file)?);
        limits.push(milliseconds(begin.elapsed()));
        bench.time(stage.anthill(&root, &["worker", "list", "--limit", "10"]))
    };
    let peers = vec![
        bench.peer(Peer::Python3, |_| words(&["-c", peers::PYTHON_READY, &shown])),
        bench.peer(Peer::Jq, |_| words(&["-r", peers::JQ_READY, &shown])),
    ];
    let found = bench.race(Box::new(ours), peers)?;
    Ok(limited(found, &limits))
}

/// Imports all tasks into an empty queue.
pub fn import(bench: &Bench, size: usize) -> Row {
    Row::new("B16", "import", "all tasks from a file, durable")
        .tasks(size)
        .wanted(Wanted::MostLimits(1.5))
        .found(measure_import(bench, size))
}

fn measure_import(bench: &Bench, size: usize) -> Measured<Found> {
    let (stage, mut limits) = (&bench.stage, Vec::new());
    let (tasks, written) = (stage.tasks(size)?, stage.dir.join("written"));
    let shown = tasks.display().to_string();
    let ours = |round| {
        let begin = Instant::now();
        let bytes = stage::read(&tasks)?;
        scan(&bytes);
        stage::write_through(&written, &bytes)?;
        limits.push(milliseconds(begin.elapsed()));
        let root = stage.empty_project(&format!("import-{size}-{round}"))?;
        let took = bench.time(stage.anthill(&root, &["leader", "import", &shown]))?;
        stage::remove(&root)?;
        Ok(took)
    };
    let found = bench.race(Box::new(ours), Vec::new())?;
    Ok(limited(found, &limits))
}

/// Adds the limit: the work that was timed in this process, and a process.
fn limited(found: Found, limits: &[f64]) -> Found {
    let limit = median(limits).zip(found.floor).map(|(work, process)| work + process);
    Found { limit, ..found }
}

/// Looks at every byte once, as the simplest reader of JSON must: where do texts begin and end, what is nested.
fn scan(bytes: &[u8]) {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in bytes {
        match (in_text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth = depth.wrapping_sub(1),
            _ => {}
        }
    }
    black_box(depth);
}
