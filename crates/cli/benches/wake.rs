//! How long a waiting worker sleeps on after its task has been added: real processes on real files.
//!
//! `cargo bench -p anthill --bench wake [-- ROUNDS]`. Each round starts `worker claim w --wait`, waits until
//! it says that it waits, then runs `leader add-task` and takes the time until the waiter's answer is here.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anthill_testkit::test_env::TestEnv;

const ROUNDS: usize = 200;

#[expect(clippy::disallowed_methods, reason = "not the program: it has the `main` of the standard library")]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` runs benchmarks too, without this word.
    if !args.iter().any(|arg| arg == "--bench") {
        return;
    }
    let rounds = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(ROUNDS).max(1);
    let env = TestEnv::new(env!("CARGO_BIN_EXE_anthill"));
    run(&env, &["leader", "init", "wake up"], 0);
    let mut times = Times::default();
    for round in 0..rounds {
        one_round(&env, &format!("t{round}"), &mut times);
    }
    println!("{rounds} rounds, in ms      median      p90      p99      max");
    row("add started -> woken", &mut times.from_start);
    row("add ended -> woken", &mut times.from_end);
    row("the add", &mut times.add);
    row("a claim of nothing", &mut times.claim);
    row("the whole start of a waiter", &mut times.waiter);
    println!("{} of {rounds} were awake before the add had ended", times.early);
}

#[derive(Default)]
struct Times {
    from_start: Vec<Duration>,
    from_end: Vec<Duration>,
    add: Vec<Duration>,
    claim: Vec<Duration>,
    waiter: Vec<Duration>,
    /// How often the waiter answered before the add had ended.
    early: usize,
}

fn one_round(env: &TestEnv, id: &str, times: &mut Times) {
    times.claim.push(run(env, &["worker", "claim", "w"], 4));

    let begin = Instant::now();
    let mut waiter = command(env, &["worker", "claim", "w", "--wait", "60"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be run");
    let mut said = String::new();
    let mut stderr = BufReader::new(waiter.stderr.take().expect("it is piped"));
    stderr.read_line(&mut said).expect("a line");
    assert!(said.contains("nothing is ready yet: waiting"), "{said}");
    times.waiter.push(begin.elapsed());
    // It has said so just before it sleeps.
    std::thread::sleep(Duration::from_millis(5));

    let mut stdout = BufReader::new(waiter.stdout.take().expect("it is piped"));
    let listener = std::thread::spawn(move || {
        let mut answer = String::new();
        stdout.read_line(&mut answer).expect("a line");
        (Instant::now(), answer)
    });
    let start = Instant::now();
    times.add.push(run(env, &["leader", "add-task", "work", "--id", id], 0));
    let added = Instant::now();
    let (woken, answer) = listener.join().expect("the listener does not panic");
    assert!(answer.contains("Claimed for w") && answer.contains(id), "{answer}");
    assert!(waiter.wait().expect("a child of ours").success());
    times.early += usize::from(woken < added);
    times.from_start.push(woken.saturating_duration_since(start));
    times.from_end.push(woken.saturating_duration_since(added));
    run(env, &["worker", "complete", "w", id, "done"], 0);
}

/// Prepares a command that lives by the real clock.
fn command(env: &TestEnv, args: &[&str]) -> Command {
    let mut command = env.command(args);
    command.env_remove("ANTHILL_NOW");
    command
}

/// Runs a command to its end and returns how long that took.
fn run(env: &TestEnv, args: &[&str], code: i32) -> Duration {
    let mut command = command(env, args);
    let begin = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("the binary can be run");
    let took = begin.elapsed();
    assert_eq!(status.code(), Some(code), "{args:?}");
    took
}

fn row(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize].as_secs_f64() * 1e3;
    println!("{name:28}{:8.2} {:8.2} {:8.2} {:8.2}", at(0.5), at(0.9), at(0.99), at(1.0));
}
