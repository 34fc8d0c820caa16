//! Claims that find only tasks which they may not have, and one task of many.

use std::path::PathBuf;

use anthill_core::error::Code;

use super::super::contest::Bench;
use super::super::measured::Measured;
use super::super::row::{Found, Row, Wanted};
use super::super::{spawn, stage, tasks};
use super::queue::LEASE;

pub fn rows(bench: &Bench, size: usize) -> Vec<Row> {
    let row = |id, name, what| Row::new(id, name, what).tasks(size).wanted(Wanted::MostFloors(3.0));
    let one = |id, name, what| Row::new(id, name, what).tasks(size).wanted(Wanted::MostFloors(10.0));
    let (held, unable) = (held(bench, size), unable(bench, size));
    let last = tasks::id(size - 1);
    let field = format!("tasks[id={last}].priority");
    let time = |args: &[&str]| {
        let root = held.as_ref().map_err(Clone::clone)?;
        bench.race(Box::new(|_| bench.time(bench.stage.anthill(root, args))), Vec::new())
    };
    vec![
        row("B40", "nothing", "claim while `src/` is at work").found(nothing(bench, &held)),
        row("B41", "unable", "claim without the capability").found(nothing(bench, &unable)),
        one("B42", "explain", "why one task does not run").found(time(&["leader", "explain", &last])),
        one("B43", "field", "get a field of one task").found(time(&["get", "queue", "--field", &field])),
    ]
}

/// Every task has its own files beneath `src`, and somebody works on all of it.
fn held(bench: &Bench, size: usize) -> Measured<PathBuf> {
    let stage = &bench.stage;
    let root = stage.empty_project(&format!("held-{size}"))?;
    let tasks = stage.tasks(size)?.display().to_string();
    let work: [&[&str]; 3] = [
        &["leader", "add-task", "Move everything", "-p", "1", "--files", "src/"],
        &["worker", "claim", "w", "--lease", LEASE],
        &["leader", "import", &tasks],
    ];
    work.into_iter().try_for_each(|args| spawn::timed(stage.anthill(&root, args)).map(drop))?;
    Ok(root)
}

/// Every task needs something that the worker lacks.
fn unable(bench: &Bench, size: usize) -> Measured<PathBuf> {
    let stage = &bench.stage;
    let (root, file) = (stage.empty_project(&format!("unable-{size}"))?, stage.dir.join("unable.jsonl"));
    let needs =
        tasks::lines(size).replace("\"priority\":", "\"required_capabilities\":[\"gpu\"],\"priority\":");
    stage::write(&file, needs.as_bytes())?;
    spawn::timed(stage.anthill(&root, &["leader", "import", &file.display().to_string()]))?;
    Ok(root)
}

fn nothing(bench: &Bench, root: &Measured<PathBuf>) -> Measured<Found> {
    let (root, code) = (root.as_ref().map_err(Clone::clone)?, i32::from(Code::NotFound.facts().exit));
    let ours = |_| bench.time_refused(bench.stage.anthill(root, &["worker", "claim", "other"]), code);
    bench.race(Box::new(ours), Vec::new())
}
