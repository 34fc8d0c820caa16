//! Who has an item of the loop, and who judges: sessions that end, runs at once, runs that are killed.

use std::collections::BTreeSet;

use anthill_testkit::test_env::{Running, TestEnv};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::agent_loop::{configure, queue, started, until};
use crate::lines::{ok, refused, words};
use crate::run::{line_of, signal};

fn item(env: &TestEnv) -> Value {
    queue(env)["items"][0].take()
}

fn read(env: &TestEnv, file: &str) -> String {
    std::fs::read_to_string(env.project().join(file)).unwrap_or_default()
}

/// Starts a command in the background whose talk goes to a file of the project.
fn start(env: &TestEnv, line: &str, talk: &str) -> Running {
    let line = format!("exec env --default-signal=INT,TERM,HUP anthill {line} 2> {talk}");
    Running::start(env.clean("sh").args(["-c", &line]))
}

#[test]
fn an_item_of_a_session_that_ended_is_free_at_once() {
    let env = started();
    ok(&env, "loop add a");
    ok(&env, "session start s1");
    ok(&env, "loop take --session-id s1");
    refused(&env, "loop take --as bob", 4);
    assert_eq!(ok(&env, "session end s1").stdout, "Ended (back in the queue: work-001): s1\n");
    assert_eq!((&item(&env)["status"], item(&env).get("lease")), (&json!("pending"), None));
    assert!(ok(&env, "loop take --as bob").stdout.starts_with("Taken for bob: work-001\n"));
    assert_eq!(item(&env)["lease"]["epoch"], 2, "no claim has the number of another");
    ok(&env, "validate");
}

#[test]
fn a_session_that_is_given_up_gives_its_item_back() {
    let env = started();
    ok(&env, "loop add a");
    ok(&env, "session start s1");
    ok(&env, "loop take --session-id s1 --lease 86400");
    let mut list = env.command(&["session", "list"]);
    let ran = env.finish(list.env("ANTHILL_NOW", "2026-01-01T12:00:00Z"), b"");
    assert!(ran.stderr.contains("(back in the queue: work-001): s1"), "{}", ran.shown());
    assert_eq!(item(&env)["last_claim"]["reason"], "session expired");
}

#[test]
fn an_item_of_somebody_silent_is_taken_over_and_the_log_tells_it() {
    let env = started();
    ok(&env, "loop add a");
    ok(&env, "loop take --as ann --session-id s1");
    let late = |line: &str| {
        let mut command = env.command(&words(line));
        env.finish(command.env("ANTHILL_NOW", "2026-01-01T00:15:00Z"), b"")
    };
    assert!(late("loop status").stdout.contains("[>] work-001 S2  a (ann, silent for too long)\n"));
    let taken = late("loop take --as bob");
    assert!(taken.stderr.starts_with("Taken back from ann, who is gone: work-001\n"), "{}", taken.shown());
    let claim = json!({"by": "ann", "epoch": 1, "ended_at": "2026-01-01T00:15:00.000Z", "reason": "expired"});
    assert_eq!((&item(&env)["last_claim"], &item(&env)["assigned_to"]), (&claim, &json!("bob")));
    // Without a session, nobody renews: an hour.
    ok(&env, "loop add b -p S3");
    ok(&env, "loop take --as cy");
    assert_eq!(queue(&env)["items"][1]["lease"]["seconds"], 3600);
}

#[test]
fn what_is_in_hand_can_be_given_back() {
    let env = started();
    ok(&env, "loop add a");
    refused(&env, "loop release --as ann", 4);
    assert_eq!(ok(&env, "loop release work-001").stdout, "Nobody has it: work-001\n");
    ok(&env, "loop take --as ann");
    let error = refused(&env, "loop release work-001 --as bob", 3);
    assert!(error["hint"].as_str().unwrap().contains("anthill loop release work-001 --as ann"), "{error}");
    assert_eq!(ok(&env, "loop release --as ann").stdout, "Released: work-001\n");
    ok(&env, "loop take --as ann");
    assert_eq!(ok(&env, "loop release work-001 --as ann").stdout, "Released: work-001\n");
    assert_eq!(item(&env)["last_claim"]["reason"], "released");
    refused(&env, "loop release work-9", 4);
    ok(&env, "loop done work-001");
    refused(&env, "loop release work-001", 1);
}

#[test]
fn two_runs_at_once_do_each_item_once_and_judge_together() {
    let env = started();
    configure(&env, &[("test", "echo x >> gates")]);
    for number in 0..6 {
        ok(&env, &format!("loop add item-{number}"));
    }
    // Each waits until the other is at work, too.
    env.write(
        "project/agent",
        "cat > /dev/null; echo $ANTHILL_TASK_ID $ANTHILL_WORKER >> ids; mkdir -p at-$ANTHILL_WORKER\n\
         until [ -d at-run-1 ] && [ -d at-run-2 ]; do sleep 0.05; done; echo '{\"status\": \"done\"}'\n",
    );
    let mut runs = [0, 1].map(|_| start(&env, "loop run --agent 'sh ./agent'", "/dev/null"));
    let codes = runs.each_mut().map(Running::wait);
    assert_eq!(codes, [0, 0]);
    let ids = read(&env, "ids");
    let done: Vec<&str> = ids.lines().filter_map(|line| line.split_once(' ')).map(|(id, _)| id).collect();
    assert_eq!((done.len(), done.iter().collect::<BTreeSet<_>>().len()), (6, 6), "{ids}");
    assert_eq!(read(&env, "gates"), "x\nx\n", "twice, one after the other");
    assert_eq!(queue(&env)["history"].as_array().unwrap().len(), 2);
    ok(&env, "validate");
}

#[test]
fn gates_that_are_run_at_once_count_once() {
    let env = started();
    configure(&env, &[("test", "echo x >> gates; cat pipe")]);
    env.sh("mkfifo pipe");
    let mut first = start(&env, "loop gate --all", "first");
    until(|| !read(&env, "gates").is_empty());
    let mut second = start(&env, "loop gate --all", "second");
    until(|| read(&env, "second").contains("somebody else runs the gates; waiting"));
    env.sh("echo go > pipe");
    assert_eq!((first.wait(), second.wait()), (0, 0));
    let said: Vec<String> = [first, second].iter_mut().map(|run| run.kill().join("\n")).collect();
    assert_eq!(said[0], "test: pass\nPassed; iteration 2 begins");
    assert_eq!(said[0], said[1]);
    assert_eq!((read(&env, "gates"), &queue(&env)["consecutive_passes"]), ("x\n".into(), &json!(1)));
    // One that was killed has said nothing: the next one runs them.
    let mut killed = start(&env, "loop gate --all", "first");
    until(|| read(&env, "gates") == "x\nx\n");
    killed.kill();
    configure(&env, &[("test", "true")]);
    assert!(ok(&env, "loop gate --all").stdout.ends_with("Complete: implement auth\n"));
}

#[test]
fn what_a_killed_run_had_is_taken_over_by_the_next_at_once() {
    let env = started();
    configure(&env, &[("test", "true")]);
    ok(&env, "loop add a");
    let agent = r#"cat > /dev/null; [ -e again ] || { touch again; sleep 600 & echo $! > pid; wait; }
        echo '{"status": "done"}'"#;
    env.write("project/agent", agent);
    let mut killed = start(&env, "loop run --agent 'sh ./agent' --as ann", "/dev/null");
    let pid = line_of(&env, "pid");
    assert_eq!((&item(&env)["run"], &item(&env)["assigned_to"]), (&json!("run-1"), &json!("ann")));
    killed.kill();
    crate::run::gone(&pid);
    // The watchdog may have the place for a moment longer.
    let ran = env.run(&["loop", "run", "--agent", "sh ./agent"]);
    assert!(ran.stderr.contains("Taken back from ann, who is gone: work-001\n"), "{}", ran.shown());
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(item(&env)["status"], "done");
}

#[test]
fn a_run_stops_working_on_what_is_not_its_own_any_more() {
    let env = started();
    configure(&env, &[("test", "true")]);
    ok(&env, "loop add a");
    env.write("project/agent", "cat > /dev/null; echo $$ >> pids; exec sleep 600\n");
    let mut run = start(&env, "loop run --agent 'sh ./agent'", "talk");
    line_of(&env, "pids");
    ok(&env, "loop release work-001 --as run-1");
    ok(&env, "loop take --as bob");
    signal(&run, Signal::TERM);
    assert_eq!(run.wait(), 143);
    assert_eq!(item(&env)["assigned_to"], "bob", "it does not put back what others have");
}
