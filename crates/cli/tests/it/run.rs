//! `worker run`: one command per task, whatever happens to the command, to the task or to the runner.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anthill_testkit::test_env::{Ran, Running, TestEnv};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::env;
use crate::orchestrate::with_program;

/// Longer than anything takes here; what takes longer hangs.
const HANG: Duration = Duration::from_secs(60);

/// Long enough to notice an end that should not come.
const QUIET: Duration = Duration::from_millis(300);

/// Returns an environment with ready tasks of these names.
pub fn with_tasks(ids: &[&str]) -> TestEnv {
    let env = env();
    ids.iter().for_each(|id| add(&env, json!({"id": id, "status": "available"})));
    env
}

fn add(env: &TestEnv, mut task: Value) {
    task["priority"] = 1.into();
    if task.get("description").is_none() {
        task["description"] = "Do it".into();
    }
    let added =
        env.run_with_input(&["append", "queue", "tasks", "-"], &serde_json::to_vec(&task).expect("JSON"));
    assert_eq!(added.code, 0, "{}", added.shown());
}

#[track_caller]
pub fn task(env: &TestEnv, id: &str) -> Value {
    env.json(&["get", "queue", "--field", &format!("tasks[id={id}]")])
}

#[track_caller]
pub fn status(env: &TestEnv, id: &str) -> String {
    task(env, id)["status"].as_str().expect("a status").to_owned()
}

/// Prepares the runner for `w1` with a line of shell as its command, by the real clock and with signals as they
/// are for a command that a person types.
fn runner(env: &TestEnv, options: &[&str], line: &str) -> Command {
    let mut command = env.clean("env");
    command.arg("--default-signal=INT,TERM,HUP").arg(env.binary()).args(["worker", "run", "w1"]);
    command.args(options).args(["--", "sh", "-c", line]).env_remove("ANTHILL_NOW").env("TMPDIR", env.root());
    command
}

fn run(env: &TestEnv, options: &[&str], line: &str) -> Ran {
    env.finish(&mut runner(env, options, line), b"")
}

fn start(env: &TestEnv, options: &[&str], line: &str) -> Running {
    Running::start(&mut runner(env, &[&["--json"], options].concat(), line))
}

pub fn signal(runner: &Running, signal: Signal) {
    let pid = Pid::from_raw(runner.id().try_into().expect("a pid")).expect("a pid");
    kill_process(pid, signal).expect("it runs");
}

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut check: impl FnMut() -> bool) {
    let end = Instant::now() + HANG;
    while !check() {
        assert!(Instant::now() < end, "still not so: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits for a file of the project that has a whole line in it, and returns that.
#[track_caller]
pub fn line_of(env: &TestEnv, file: &str) -> String {
    let read = || std::fs::read_to_string(env.project().join(file)).unwrap_or_default();
    until(file, || read().ends_with('\n'));
    read().trim().to_owned()
}

#[track_caller]
pub fn gone(pid: &str) {
    until(&format!("{pid} is gone"), || {
        let listed = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().expect("ps runs");
        let state = String::from_utf8_lossy(&listed.stdout).trim().to_owned();
        state.is_empty() || state.starts_with('Z')
    });
}

#[test]
fn tasks_are_done_in_their_order() {
    let env = with_tasks(&["t1"]);
    add(&env, json!({"id": "t2", "status": "created", "dependencies": ["t1"]}));
    assert_eq!(
        run(&env, &[], "cat >/dev/null; echo built").shown(),
        "--- stderr\n\
         Claimed for w1: t1  Do it\n\
         [t1] built\n\
         Done: t1\n\
         Claimed for w1: t2  Do it\n\
         [t2] built\n\
         Done: t2\n\
         2 done, 0 failed, 0 released\n\
         [exit 0]\n"
    );
    assert_eq!(task(&env, "t2")["result"]["output"], "built");
    assert_eq!(
        run(&env, &[], "true").shown(),
        "--- stderr\n\
         error: nothing to claim for `w1`\n\
         hint: wait for others with --until-empty, or for new tasks with --forever\n\
         [exit 4]\n"
    );
    assert_eq!(run(&env, &["--until-empty"], "true").code, 0);
}

#[test]
fn a_json_answer_is_taken_apart() {
    let env = with_tasks(&["t1"]);
    let ran = run(
        &env,
        &["--json"],
        r#"echo talk; echo '{"summary": "all done", "files_modified": ["a.rs"], "files_created": ["b.rs"], "discoveries": ["ports matter"]}'"#,
    );
    assert_eq!(ran.json(), json!({"worker": "w1", "done": ["t1"], "failed": [], "released": [], "lost": []}));
    let expected = json!({"output": "all done", "files_modified": ["a.rs"], "files_created": ["b.rs"]});
    assert_eq!(task(&env, "t1")["result"], expected);
    assert!(env.read_text("project/.coordination/context/discoveries.md").contains("ports matter"));
}

#[test]
fn the_command_knows_its_task_and_its_place() {
    let env = with_tasks(&["t1"]);
    let line = r#"
        cat >prompt
        echo "$ANTHILL_TASK_FILE" >path; cp "$ANTHILL_TASK_FILE" task.json; ls -l "$ANTHILL_TASK_FILE" | cut -c1-10 >mode
        cd /
        anthill get queue --field 'tasks[0].status' --format value
        echo "$ANTHILL_TASK_ID $ANTHILL_WORKER $ANTHILL_EPOCH $ANTHILL_ROOT""#;
    let mut command = runner(&env, &["--root", "project"], line);
    let ran = env.finish(command.current_dir(env.root()), b"");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(task(&env, "t1")["result"]["output"], "in_progress\nt1 w1 1 $TEST_ENV/project");
    let file = PathBuf::from(line_of(&env, "path"));
    assert!(file.starts_with(env.root()) && !file.parent().is_some_and(Path::exists), "it is removed");
    let stored: Value = serde_json::from_slice(&env.read("project/task.json")).expect("JSON");
    assert_eq!((&stored["id"], &stored["status"]), (&"t1".into(), &"in_progress".into()));
    assert_eq!(env.read_text("project/mode"), "-rw-------\n");
    assert!(env.read_text("project/prompt").starts_with("# Task: t1\n"));
}

#[test]
fn a_failure_is_told_with_its_last_words() {
    let env = with_tasks(&["t1"]);
    let ran = run(&env, &[], "echo out; echo 'no such luck' >&2; exit 3");
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert!(ran.stderr.contains("Failed: t1: exit code 3\n0 done, 1 failed, 0 released\n"), "{}", ran.stderr);
    let failed = task(&env, "t1");
    assert_eq!(
        (&failed["status"], &failed["result"]["error"]),
        (&"failed".into(), &"exit code 3\nno such luck".into())
    );
}

#[test]
fn a_command_that_cannot_be_started_costs_no_task() {
    let env = with_tasks(&["t1", "t2"]);
    let ran = env.run(&["--json", "worker", "run", "w1", "--", "no-such-command-here"]);
    let error = &ran.json()["error"];
    assert_eq!(ran.code, 2, "{error}");
    assert_eq!(error["code"], "invalid", "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("cannot run `no-such-command-here`")));
    assert_eq!([status(&env, "t1"), status(&env, "t2")], ["available", "available"]);
}

#[test]
fn a_timeout_ends_the_whole_group() {
    let env = with_tasks(&["t1"]);
    let ran = run(&env, &["--timeout", "5"], "sleep 1000 & echo $! >grandchild; echo begun; wait");
    assert_eq!(ran.code, 1, "{}", ran.shown());
    gone(&line_of(&env, "grandchild"));
    assert_eq!(task(&env, "t1")["result"]["error"], "timed out after 5 s\nbegun");
}

#[test]
fn nothing_is_left_running_after_a_task() {
    let env = with_tasks(&["t1"]);
    let ran = run(&env, &[], "sleep 1000 & echo $! >grandchild; echo built");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    gone(&line_of(&env, "grandchild"));
    assert_eq!(task(&env, "t1")["result"]["output"], "built");
}

#[test]
fn who_leaves_the_group_holds_nothing_up() {
    let env = with_tasks(&["t1"]);
    let line = "setsid sh -c 'echo $$ >escaped; exec sleep 1000' & until [ -s escaped ]; do sleep 0.05; done; echo built";
    let ran = run(&env, &[], line);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(task(&env, "t1")["result"]["output"], "built");
    let escaped = line_of(&env, "escaped").parse().ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(escaped, Signal::KILL).expect("it is alive: it left on purpose");
}

#[test]
fn a_signal_releases_what_is_at_work() {
    for (number, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let env = with_tasks(&["t1", "t2"]);
        let mut runner = start(&env, &[], "echo $$ >child; sleep 1000");
        let child = line_of(&env, "child");
        signal(&runner, number);
        assert_eq!(runner.wait(), code);
        gone(&child);
        assert_eq!([status(&env, "t1"), status(&env, "t2")], ["available", "available"]);
        assert_eq!(task(&env, "t1")["last_claim"]["reason"], "released");
    }
}

#[test]
fn a_second_signal_does_not_wait() {
    let env = with_tasks(&["t1"]);
    let mut runner = start(&env, &[], "trap 'echo >asked' TERM; echo $$ >child; while :; do sleep 1; done");
    let child = line_of(&env, "child");
    signal(&runner, Signal::INT);
    line_of(&env, "asked");
    signal(&runner, Signal::INT);
    assert_eq!(runner.wait(), 130);
    gone(&child);
    assert_eq!(status(&env, "t1"), "available");
}

#[test]
fn a_runner_that_waits_ends_at_once() {
    let env = with_tasks(&["t1"]);
    let mut runner = start(&env, &["--forever", "--parallel", "4"], "echo done >built");
    line_of(&env, "built");
    until("t1 is done", || status(&env, "t1") == "done");
    add(&env, json!({"id": "t2", "status": "available"}));
    until("t2 is done", || status(&env, "t2") == "done");
    signal(&runner, Signal::TERM);
    assert_eq!(runner.wait(), 143);
}

#[test]
fn a_killed_runner_takes_its_commands_along() {
    let env = with_tasks(&["t1"]);
    let mut runner = start(&env, &[], "sleep 1000 & echo $! >grandchild; echo $$ >child; wait");
    let (grandchild, child) = (line_of(&env, "grandchild"), line_of(&env, "child"));
    runner.kill();
    gone(&child);
    gone(&grandchild);
}

#[test]
fn what_the_command_reports_itself_stays() {
    let env = with_tasks(&["t1"]);
    let line = r#"anthill set queue 'tasks[id=t1].result' '{"output": "by myself"}' &&
        anthill set queue 'tasks[id=t1].status' '"done"'; echo otherwise; exit 3"#;
    let ran = run(&env, &["--json"], line);
    assert_eq!((ran.code, &ran.json()["done"]), (0, &json!(["t1"])), "{}", ran.shown());
    assert_eq!(task(&env, "t1")["result"]["output"], "by myself");
}

#[test]
fn what_is_given_back_is_not_tried_for_ever() {
    let env = with_tasks(&["t1"]);
    let ran = run(&env, &["--json", "--forever"], r#"echo x >>runs; echo '{"status": "released"}'"#);
    assert_eq!((ran.code, &ran.json()["released"]), (0, &json!(["t1"])), "{}", ran.shown());
    assert_eq!(env.read_text("project/runs"), "x\n");
    assert_eq!(status(&env, "t1"), "available");
}

#[test]
fn three_at_once() {
    let env = with_tasks(&["t1", "t2", "t3", "t4"]);
    let line = r#"
        case $ANTHILL_TASK_ID in t4) exit 0;; esac
        touch here-$ANTHILL_TASK_ID
        until [ -e here-t1 ] && [ -e here-t2 ] && [ -e here-t3 ]; do sleep 0.05; done"#;
    let ran = run(&env, &["--json", "--parallel", "3", "--timeout", "100"], line);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(ran.json()["done"].as_array().map(Vec::len), Some(4), "{}", ran.shown());
}

#[test]
fn a_slot_without_a_task_waits_for_its_siblings() {
    let env = with_tasks(&["t1"]);
    for id in ["t2", "t3"] {
        add(&env, json!({"id": id, "status": "created", "dependencies": ["t1"]}));
    }
    let line = r#"
        [ $ANTHILL_TASK_ID = t1 ] && exit 0
        touch here-$ANTHILL_TASK_ID
        until [ -e here-t2 ] && [ -e here-t3 ]; do sleep 0.05; done"#;
    let ran = run(&env, &["--json", "--parallel", "2", "--timeout", "100"], line);
    assert_eq!((ran.code, ran.json()["done"].as_array().map(Vec::len)), (0, Some(3)), "{}", ran.shown());
}

#[test]
fn until_empty_waits_for_others() {
    let env = env();
    let lease = json!({"epoch": 1, "expires_at": "2099-01-01T00:00:00Z"});
    add(&env, json!({"id": "t1", "status": "in_progress", "claimed_by": "w2", "lease": lease}));
    add(&env, json!({"id": "t2", "status": "created", "dependencies": ["t1"]}));
    add(&env, json!({"id": "t3", "status": "available"}));
    let mut runner = start(&env, &["--until-empty"], "echo done >>built");
    until("t3 is done", || status(&env, "t3") == "done");
    assert_eq!(runner.line_within(QUIET), None, "it waits for t2");
    env.ok(&["set", "queue", "tasks[id=t1].status", "\"done\""]);
    assert_eq!(runner.wait(), 0);
    assert_eq!(status(&env, "t2"), "done");
}

#[test]
fn heartbeats_keep_a_short_lease() {
    let env = with_tasks(&["t1"]);
    let line = "echo $ANTHILL_TASK_ID >>begun; sleep 11";
    let mut runner = start(&env, &["--lease", "5"], line);
    line_of(&env, "begun");
    // This one waits for the task and would take it as soon as the lease is over.
    let rival = run(&env, &["--json", "--until-empty"], line);
    assert_eq!((rival.code, &rival.json()["done"]), (0, &json!([])), "{}", rival.shown());
    assert_eq!(runner.wait(), 0);
    assert_eq!(env.read_text("project/begun"), "t1\n");
    assert_eq!(task(&env, "t1")["lease"]["epoch"], 1);
}

#[test]
fn a_lost_lease_ends_the_command_and_not_the_runner() {
    let env = with_tasks(&["t1", "t2"]);
    let line = "[ $ANTHILL_TASK_ID = t2 ] && exit 0; echo $$ >child; sleep 1000";
    let mut runner = start(&env, &["--lease", "3"], line);
    let child = line_of(&env, "child");
    let lease = json!({"epoch": 2, "expires_at": "2099-01-01T00:00:00Z"});
    let taken =
        json!({"id": "t1", "description": "Do it", "status": "claimed", "claimed_by": "w2", "lease": lease});
    env.ok(&["set", "queue", "tasks[id=t1]", &taken.to_string()]);
    assert_eq!(runner.wait(), 0);
    gone(&child);
    assert_eq!(status(&env, "t2"), "done");
    assert_eq!(task(&env, "t1"), taken);
}

#[test]
fn a_prompt_that_nobody_reads_holds_nothing_up() {
    let env = env();
    // Together more than a pipe holds.
    let (description, context) = ("long ".repeat(12_000), json!({"hints": "more ".repeat(12_000)}));
    add(&env, json!({"id": "t1", "status": "available", "description": description, "context": context}));
    let ran = run(&env, &["--json"], "echo built");
    assert_eq!((ran.code, &ran.json()["done"]), (0, &json!(["t1"])), "{}", ran.shown());
    assert_eq!(task(&env, "t1")["result"]["output"], "built");
}

#[test]
fn endless_output_is_cut() {
    let env = with_tasks(&["t1"]);
    let ran = run(&env, &["--json"], "seq 1 200000; seq 1 200000 >&2");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let output = task(&env, "t1")["result"]["output"].as_str().expect("a summary").to_owned();
    assert!(output.len() <= 16 << 10 && output.ends_with("\n199999\n200000"), "{}", output.len());
}

#[test]
fn no_more_agents_at_once_than_the_configuration_allows() {
    let env = env();
    env.ok(&["leader", "init", "goal"]);
    let run = |parallel: &str| env.run(&["worker", "run", "w1", "--parallel", parallel, "--", "true"]);
    assert_eq!(run("9").code, 4, "there is nothing to do, but nobody forbids it");
    env.ok(&["set", "config", "global.max_parallel_agents", "3"]);
    assert_eq!(run("3").code, 4);
    let refused = run("4");
    assert_eq!(refused.code, 1, "{}", refused.shown());
    assert!(refused.shown().contains("global.max_parallel_agents 4"), "{}", refused.shown());
}

/// A client that prints what the real one does, and loses its connection the first time.
const CLAUDE: &str = r#"#!/bin/sh
[ "$*" = "-p --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools Bash Edit Write" ] || exit 64
[ -z "$CLAUDECODE" ] || exit 65
echo "$ANTHILL_TASK_ID" >>spawns
grep -q '^# Task: ' || exit 66
is_error=false said='{\"status\":\"done\",\"summary\":\"Made it.\"}'
[ "$(wc -l <spawns)" = 1 ] && is_error=true said='API Error: Connection reset (ECONNRESET)'
echo '{"type":"system","subtype":"init","session_id":"s","tools":["Bash"],"model":"m"}'
printf '%s\n' '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I will\ndo it"}]}}'
printf '%s\n' '{"type":"result","subtype":"success","is_error":'$is_error',"result":"'"$said"'","total_cost_usd":0.125,"usage":{"input_tokens":5,"output_tokens":7}}'
"#;

/// Runs the worker with an agent instead of a command, with a client on the PATH.
fn run_agent(env: &TestEnv, options: &[&str]) -> Ran {
    let mut command = env.clean(env.binary());
    command.args(["worker", "run", "w1"]).args(options).env_remove("ANTHILL_NOW").env("CLAUDECODE", "1");
    with_program(env, &mut command, "claude", CLAUDE);
    env.finish(&mut command, b"")
}

#[test]
fn a_coding_agent_is_called_by_its_name() {
    let env = with_tasks(&["t1", "t2"]);
    let ran = run_agent(&env, &["--agent", "claude"]);
    assert_eq!(
        ran.shown(),
        "--- stderr\n\
         Claimed for w1: t1  Do it\n\
         [t1] I will\n\
         [t1] do it\n\
         Again in 0 s: t1: API Error: Connection reset (ECONNRESET)\n\
         [t1] I will\n\
         [t1] do it\n\
         Done: t1\n\
         Claimed for w1: t2  Do it\n\
         [t2] I will\n\
         [t2] do it\n\
         Done: t2\n\
         2 done, 0 failed, 0 released\n\
         Used: $0.38, 15 tokens in, 21 out\n\
         [exit 0]\n"
    );
    assert_eq!(task(&env, "t1")["result"]["output"], "Made it.");
    let used = |tries: u64| json!({"tries": tries, "cost_usd": 0.125 * tries as f64, "input_tokens": 5 * tries, "output_tokens": 7 * tries, "cached_tokens": 0, "epoch": 1});
    assert_eq!((&task(&env, "t1")["usage"], &task(&env, "t2")["usage"]), (&used(2), &used(1)));
    let result = env.read_text("project/.coordination/results/t1.md");
    assert!(result.contains("\n## Used\n\n$0.25, 10 tokens in, 14 out, 2 tries\n"), "{result}");
    let log = env.read_text("project/.coordination/logs/tasks/t1.log");
    assert!(log.starts_with("--- try 1: API Error: Connection reset (ECONNRESET)\n{"), "{log}");
    assert!(log.contains("\n--- try 2: answered\n{"), "{log}");
    assert_eq!(env.read_text("project/spawns"), "t1\nt1\nt2\n");
}

#[test]
fn a_budget_ends_the_claims() {
    let env = with_tasks(&["t1", "t2", "t3"]);
    let ran = run_agent(&env, &["--agent", "claude", "--max-cost", "0.2", "--json"]);
    let used = json!({"cost_usd": 0.25, "input_tokens": 10, "output_tokens": 14, "cached_tokens": 0});
    assert_eq!((ran.code, &ran.json()["used"]), (1, &used), "{}", ran.shown());
    assert_eq!(
        [status(&env, "t1"), status(&env, "t2"), status(&env, "t3")],
        ["done", "available", "available"]
    );
    let honest = run_agent(&env, &["--agent", "claude", "--retries", "0"]);
    assert_eq!(honest.code, 0, "{}", honest.shown());
}

#[test]
fn an_agent_that_cannot_be_started_costs_no_task() {
    let env = with_tasks(&["t1", "t2"]);
    let ran = env.run(&["--json", "worker", "run", "w1", "--agent", "no-such-command-here"]);
    let error = &ran.json()["error"];
    assert_eq!((ran.code, &error["code"]), (2, &json!("invalid")), "{error}");
    assert!(
        error["message"].as_str().is_some_and(
            |text| text.starts_with("cannot run the agent `no-such-command-here`: exit code 127")
        )
    );
    let ran = env.run(&["worker", "run", "w1", "--agent", "gemini"]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert!(ran.stderr.starts_with("error: `gemini` is not in the PATH\n"), "{}", ran.shown());
    for wrong in [&["--agent", " "][..], &["--agent", "true", "--", "true"], &[]] {
        assert_eq!(env.run(&[&["worker", "run", "w1"], wrong].concat()).code, 2, "{wrong:?}");
    }
    assert_eq!([status(&env, "t1"), status(&env, "t2")], ["available", "available"]);
}

#[test]
fn what_falls_silent_is_stopped() {
    let env = with_tasks(&["t1"]);
    let ran = run(&env, &["--stall", "3"], "sleep 1000 & echo $! >grandchild; echo begun; wait");
    assert_eq!(ran.code, 1, "{}", ran.shown());
    gone(&line_of(&env, "grandchild"));
    assert_eq!(task(&env, "t1")["result"]["error"], "no sign of life for 3 s\nbegun");
}

#[test]
fn a_lease_is_kept_between_tries() {
    let env = with_tasks(&["t1"]);
    // The third pause after a lost connection takes four seconds.
    let line = "echo $ANTHILL_EPOCH >>tries; [ $(wc -l <tries) = 4 ] || { echo ECONNRESET >&2; exit 1; }";
    let mut runner = start(&env, &["--lease", "3", "--retries", "3"], line);
    line_of(&env, "tries");
    let rival = run(&env, &["--json", "--until-empty"], "echo rival >>tries");
    assert_eq!((rival.code, &rival.json()["done"]), (0, &json!([])), "{}", rival.shown());
    assert_eq!(runner.wait(), 0);
    assert_eq!(env.read_text("project/tries"), "1\n1\n1\n1\n");
    assert_eq!(status(&env, "t1"), "done");
}
