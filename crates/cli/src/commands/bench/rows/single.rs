//! Commands that have nothing to do with the queue: start, get, set.

use super::super::contest::{Bench, words};
use super::super::measured::Measured;
use super::super::peers::{PYTHON_GET, PYTHON_SET, Peer};
use super::super::row::{Found, Row, Wanted};
use super::super::{spawn, stage};

pub fn rows(bench: &Bench) -> Vec<Row> {
    vec![
        Row::new("B01", "start", "--version").wanted(Wanted::MostFloors(1.3)).found(start(bench)),
        Row::new("B05", "get", "one field of a config").wanted(Wanted::MostFloors(1.4)).found(get(bench)),
        Row::new("B06", "set", "one field, durable").wanted(Wanted::MostFloors(4.0)).found(set(bench)),
    ]
}

fn start(bench: &Bench) -> Measured<Found> {
    let stage = &bench.stage;
    let peers = vec![
        bench.peer(Peer::Python3, |_| words(&["-c", "0"])),
        bench.peer(Peer::Sqlite3, |_| words(&["--version"])),
        bench.peer(Peer::Jq, |_| words(&["-n", "0"])),
    ];
    bench.race(Box::new(|_| bench.time(stage.anthill(&stage.dir, &["--version"]))), peers)
}

fn get(bench: &Bench) -> Measured<Found> {
    let (stage, file) = (&bench.stage, config(bench)?);
    let ours = || stage.anthill(&stage.dir, &["get", "config", "--field", "global.default_project"]);
    let peers = vec![
        bench.peer(Peer::Python3, |_| words(&["-c", PYTHON_GET, &file])),
        bench.peer(Peer::Jq, |_| words(&[".global.default_project", &file])),
    ];
    bench.race(Box::new(move |_| bench.time(ours())), peers)
}

fn set(bench: &Bench) -> Measured<Found> {
    let (stage, file) = (&bench.stage, config(bench)?);
    let copy = stage.dir.join("config-of-python.json");
    stage::write(&copy, &stage::read(file.as_ref())?)?;
    let copy = copy.display().to_string();
    let value = |round: usize| (2 + round % 8).to_string();
    let ours = move |round| {
        stage.anthill(&stage.dir, &["set", "config", "global.max_parallel_agents", &value(round)])
    };
    let python = bench.peer(Peer::Python3, move |round| words(&["-c", PYTHON_SET, &copy, &value(round)]));
    bench.race(Box::new(move |round| bench.time(ours(round))), vec![python])
}

/// Sees that there is a configuration and returns its file.
fn config(bench: &Bench) -> Measured<String> {
    let stage = &bench.stage;
    spawn::timed(stage.anthill(&stage.dir, &["set", "config", "global.default_project", "\"myapp\""]))?;
    Ok(stage.dir.join("home/orchestration/config.json").display().to_string())
}
