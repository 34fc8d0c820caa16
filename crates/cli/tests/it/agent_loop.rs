//! The work loop from the outside: items, real gates, iterations to the end, and `LOOP_STATE.md` at each step.

use std::time::{Duration, Instant};

use anthill_testkit::test_env::{Ran, Running, TestEnv};
use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::{Value, json};

use crate::env;
use crate::lines::{json_of, ok, refused, words};
use crate::run::{line_of, signal};

const QUEUE: &str = "project/.claude/state/loop/work_queue.json";
const VIEW: &str = "project/.claude/state/loop/LOOP_STATE.md";
const CONFIG: &str = "project/.claude/anthill.toml";

/// The document of the source.
const SOURCE: &str = r#"{
  "version": 1,
  "task": "implement user authentication",
  "iteration": 3,
  "consecutive_passes": 1,
  "items": [
    {"id": "work-001", "priority": "S1", "title": "Implement auth endpoints",
     "description": "Create /api/auth/login and /api/auth/logout", "status": "done",
     "added_iteration": 1, "completed_iteration": 2},
    {"id": "work-002", "priority": "S2", "title": "Update CHANGELOG", "description": "Add entry for auth feature",
     "status": "pending", "added_iteration": 2, "completed_iteration": null}
  ],
  "gate_results": {
    "lint": {"status": "pass", "timestamp": "..."},
    "type": {"status": "pass", "timestamp": "..."},
    "test": {"status": "pass", "timestamp": "..."}
  }
}"#;

pub fn queue(env: &TestEnv) -> Value {
    serde_json::from_str(&env.read_text(QUEUE)).unwrap()
}

/// Returns an environment with a loop.
pub fn started() -> TestEnv {
    let env = env();
    env.ok(&["loop", "start", "implement auth"]);
    env
}

/// Writes a configuration of gates, each a line of shell.
pub fn configure(env: &TestEnv, gates: &[(&str, &str)]) {
    let gate = |(name, line): &(&str, &str)| format!("[gates.{name}]\nrun = {}\n", json!(line));
    env.configure(gates.iter().map(gate).collect::<String>());
}

/// Runs a line that fails by a gate, or is refused.
#[track_caller]
fn fails_by_a_gate(env: &TestEnv, line: &str) -> Ran {
    let ran = env.run(&words(line));
    assert_eq!(ran.code, 1, "{line}\n{}", ran.shown());
    ran
}

#[track_caller]
fn stands(env: &TestEnv, expected: &str) {
    let queue = queue(env);
    let field = |name: &str| queue[name].as_str().unwrap_or_default().to_owned();
    let found = format!(
        "{} {} {} {}",
        queue["iteration"],
        queue["consecutive_passes"],
        field("phase"),
        field("status")
    );
    assert_eq!(found, expected);
}

/// Insists on what the view says below its first line, without the lines that never change.
#[track_caller]
fn view(env: &TestEnv, expected: &str) {
    let text = env.read_text(VIEW);
    let fixed = ["# Loop State", "| Gate |", "|------", "| Priority |", "|-----", "- Started", "- Task"];
    let told =
        text.lines().filter(|line| !line.is_empty() && !fixed.iter().any(|fixed| line.starts_with(fixed)));
    let told: Vec<&str> = told.map(|line| line.trim_start_matches("## ")).collect();
    assert_eq!(told.join("\n"), expected.trim(), "\n{text}");
}

#[test]
fn a_loop_goes_from_its_start_to_its_end() {
    let env = env();
    let said = env.ok(&["loop", "start", "implement auth"]).shown();
    assert_eq!(
        said,
        "The loop runs, iteration 1 of 50: implement auth\n--- stderr\nnext: anthill loop add TITLE -p S1, then anthill loop take\n[exit 0]\n"
    );
    let expected = "\
# Loop State

## Meta
- Started: 2026-01-01T00:00:01.000Z
- Current Iteration: 1
- Status: IN_PROGRESS
- Task: \"implement auth\"

## Quality Gates
| Gate | Status | Last Check | Issues |
|------|--------|------------|--------|

## Work Queue
| Priority | Item | Status |
|----------|------|--------|

## History
";
    assert_eq!(env.read_text(VIEW), expected);
    configure(&env, &[("lint", "true"), ("test", "echo broken; exit 1")]);
    assert_eq!(env.ok(&["loop", "add", "Add endpoints", "-p", "S1"]).stdout, "Added: work-001\n");
    stands(&env, "1 0 ASSESS assessing");
    let taken = env.ok(&["loop", "take", "--as", "ann"]).shown();
    assert_eq!(
        taken,
        "Taken for ann: work-001\nS1  Add endpoints\n--- stderr\nnext: anthill loop done work-001\n[exit 0]\n"
    );
    view(
        &env,
        "Meta\n- Current Iteration: 1\n- Status: BUILDING\nQuality Gates\nWork Queue\n| S1 | Add endpoints | IN_PROGRESS |\nHistory",
    );
    assert_eq!(ok(&env, "loop done work-001").stdout, "Done: work-001\n");
    // The first iteration fails: the gate becomes an item.
    let ran = fails_by_a_gate(&env, "loop gate --all");
    assert_eq!(
        ran.shown(),
        "lint: pass\ntest: fail (exit 1), see .claude/state/loop/gates/test.log\nFailed; iteration 2 begins\n--- stderr\nnext: anthill loop take\n[exit 1]\n"
    );
    stands(&env, "2 0 RECOVER recovering");
    assert_eq!(env.read_text("project/.claude/state/loop/gates/test.log"), "broken\n");
    view(
        &env,
        "
Meta
- Current Iteration: 2
- Status: RECOVERING
Quality Gates
| Lint | PASS | 00:00:05 | 0 |
| Tests | FAIL | 00:00:05 | 1 (S1) |
Work Queue
| S1 | Add endpoints | DONE |
| S1 | Fix the failed gate: test | PENDING |
History
- Iteration 1: Fixed 1 item, gates failing: test (1 issue)",
    );
    let item = &queue(&env)["items"][1];
    assert_eq!((&item["description"], &item["gate"]), (&json!("exit 1\nbroken"), &json!("test")));
    // Once more with the same failure: no second item.
    fails_by_a_gate(&env, "loop gate --all");
    stands(&env, "3 0 REASSESS reassessing");
    assert_eq!(queue(&env)["items"].as_array().unwrap().len(), 2);
    configure(&env, &[("lint", "true"), ("test", "true")]);
    ok(&env, "loop take");
    ok(&env, "loop done work-002");
    let passed = ok(&env, "loop gate --all").shown();
    assert_eq!(
        passed,
        "lint: pass\ntest: pass\nPassed; iteration 4 begins\n--- stderr\nnext: anthill loop status\n[exit 0]\n"
    );
    stands(&env, "4 1 CONTEXTUALIZE in_progress");
    assert_eq!(
        ok(&env, "loop gate --all").shown(),
        "lint: pass\ntest: pass\nComplete: implement auth\n[exit 0]\n"
    );
    stands(&env, "4 2 DONE complete");
    view(
        &env,
        "
Meta
- Current Iteration: 4
- Status: COMPLETE
Quality Gates
| Lint | PASS | 00:00:10 | 0 |
| Tests | PASS | 00:00:10 | 0 |
Work Queue
| S1 | Add endpoints | DONE |
| S1 | Fix the failed gate: test | DONE |
History
- Iteration 1: Fixed 1 item, gates failing: test (1 issue)
- Iteration 2: Fixed 0 items, gates failing: test (1 issue)
- Iteration 3: Fixed 1 item, gates passing
- Iteration 4: Fixed 0 items, gates passing",
    );
    ok(&env, "validate");
    assert_eq!(
        ok(&env, "loop gate --all").stdout,
        "lint: pass\ntest: pass\nComplete: implement auth\n",
        "it stays"
    );
    stands(&env, "4 2 DONE complete");
    ok(&env, "loop add more");
    stands(&env, "5 0 ASSESS assessing");
}

#[test]
fn the_sources_document_can_be_worked_on() {
    let env = env();
    env.write(QUEUE, SOURCE);
    ok(&env, "validate work_queue");
    let status = ok(&env, "loop status").shown();
    let expected = "\
implement user authentication
IN_PROGRESS, iteration 3 of 50, 1 passed in a row
gates: none configured, none detected
  lint: PASS
  type: PASS
  test: PASS
items
  [x] work-001 S1  Implement auth endpoints
  [ ] work-002 S2  Update CHANGELOG
--- stderr
next: anthill loop take
[exit 0]
";
    assert_eq!(status, expected, "\n{status}");
    assert_eq!(json_of(&env, "loop status"), serde_json::from_str::<Value>(SOURCE).unwrap());
    let taken = json_of(&env, "loop take --session-id s1");
    assert_eq!(taken, queue(&env), "--json prints what is stored");
    assert_eq!(
        (&taken["items"][1]["status"], &taken["items"][1]["assigned_to"]),
        (&json!("in_progress"), &json!("s1"))
    );
    assert_eq!(taken["gate_results"]["lint"], json!({"status": "pass", "timestamp": "..."}));
    ok(&env, "loop done work-002");
    assert_eq!(queue(&env)["items"][1]["completed_iteration"], 3);
    configure(&env, &[("lint", "true")]);
    assert!(ok(&env, "loop gate --all").stdout.ends_with("Complete: implement user authentication\n"));
}

#[test]
fn every_verb_prints_the_work_queue_and_can_be_repeated() {
    let env = env();
    configure(&env, &[("lint", "true")]);
    let lines = [
        "loop start t --max-iterations 7 --pause-on S1",
        "loop add a -p S0 --description d",
        "loop take --as ann",
        "loop take work-001 --as ann",
        "loop done work-001",
        "loop gate security --issues 1 --severity S2",
    ];
    for (place, line) in lines.iter().enumerate() {
        assert_eq!(json_of(&env, line), queue(&env), "{line}");
        let before = env.bytes();
        if place < 5 {
            assert_eq!(json_of(&env, line), queue(&env), "{line}");
            assert!(env.bytes() == before, "{line} again changes nothing");
        }
    }
    assert_eq!(json_of(&env, "loop gate lint"), queue(&env));
    assert_eq!(json_of(&env, "loop status"), queue(&env));
    let queue = queue(&env);
    assert_eq!((&queue["max_iterations"], &queue["pause_on"]), (&json!(7), &json!("S1")));
    let told = json!({
        "status": "warn", "timestamp": "2026-01-01T00:00:11.000Z", "issues": 1, "severity": "S2",
        "fingerprint": "1 told",
    });
    assert_eq!(queue["gate_results"]["security"], told);
    assert!(env.read_text(VIEW).contains("| Security | WARN | 00:00:11 | 1 (S2) |\n"));
    let removed = json_of(&env, "loop reset");
    assert_eq!(removed["task"], "t");
    for file in [QUEUE, VIEW, "project/.claude/state/loop/gates/lint.log"] {
        assert!(!env.root().join(file).exists(), "{file}");
    }
    assert_eq!(json_of(&env, "loop reset"), Value::Null, "again");
    refused(&env, "loop status", 4);
    ok(&env, "undo work_queue");
    assert!(env.read_text(VIEW).contains("| Security | WARN |"));
}

#[test]
fn a_change_can_expect_a_revision() {
    let env = env();
    let lines = [
        "loop start t",
        "loop add a",
        "loop take",
        "loop done work-001",
        "loop gate x --issues 0",
        "loop reset",
    ];
    for (revision, line) in lines.iter().enumerate() {
        refused(
            &env,
            &format!("{line} --expect-revision 9"),
            if *line == "loop start t" || revision > 0 { 3 } else { 4 },
        );
        ok(&env, &format!("{line} --expect-revision {revision}"));
    }
}

#[test]
fn gates_are_told_by_their_exit_code() {
    let env = started();
    env.configure(
        "[gates.good]\nrun = 'echo fine'\n[gates.gone]\nrun = 'no-such-tool-here --x'\n\
         [gates.mild]\nrun = 'exit 2'\nblocking = false\n[gates.bad]\nrun = 'exit 3'\nseverity = 'S2'\n\
         [gates.slow]\nrun = 'echo begun; sleep 600 & echo $! > pid; sleep 600'\ntimeout = 3\n",
    );
    assert_eq!(ok(&env, "loop gate good").stdout, "good: pass\n");
    let missing = fails_by_a_gate(&env, "loop gate gone").stdout;
    assert!(missing.starts_with("gone: fail (it cannot run: there is no such program), see"), "{missing}");
    assert!(ok(&env, "loop gate mild").stdout.starts_with("mild: warn (exit 2)"));
    assert!(fails_by_a_gate(&env, "loop gate bad").stdout.starts_with("bad: fail (exit 3)"));
    let begun = Instant::now();
    let slow = fails_by_a_gate(&env, "loop gate slow");
    assert!(slow.stdout.starts_with("slow: fail (timed out after 3 s)"), "{}", slow.shown());
    assert!(begun.elapsed() < Duration::from_secs(60));
    gone(&env, "pid");
    let results = &queue(&env)["gate_results"];
    assert_eq!((&results["gone"]["status"], &results["gone"]["exit_code"]), (&json!("fail"), &json!(127)));
    assert_eq!((&results["bad"]["severity"], &results["bad"]["issues"]), (&json!("S2"), &json!(1)));
    assert_eq!(results["slow"].get("exit_code"), None);
    assert!(results["good"]["duration_seconds"].as_f64().unwrap() >= 0.0);
    assert_eq!(env.read_text("project/.claude/state/loop/gates/slow.log"), "begun\n");
    ok(&env, "validate");
    // With --json the document is printed all the same.
    let ran = env.run(&words("loop gate bad --json"));
    assert_eq!((ran.code, ran.json()), (1, queue(&env)));
}

/// Waits until the process is gone whose number is in a file of the project.
#[track_caller]
fn gone(env: &TestEnv, file: &str) {
    let id: i32 = env.read_text(&format!("project/{file}")).trim().parse().unwrap();
    until(|| test_kill_process(Pid::from_raw(id).unwrap()).is_err() || is_zombie(id));
}

/// Waits until something is so.
#[track_caller]
pub fn until(check: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !check() {
        assert!(Instant::now() < end, "still not so");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_runs_ends_with_who_runs_it() {
    for (line, name) in [("loop gate slow", "pid"), ("loop run --agent ./work", "agent")] {
        let env = started();
        configure(&env, &[("slow", "echo $$ > pid; sleep 600")]);
        // An item comes before the gates.
        env.ok(&["loop", "add", "x", "-p", "S1"]);
        env.write("project/work", "#!/bin/sh\nsleep 600 &\necho $! > agent\nwait\n");
        env.sh("chmod +x work");
        let mut running = env.spawn(&words(line));
        let written =
            || std::fs::read_to_string(env.project().join(name)).is_ok_and(|text| text.ends_with('\n'));
        until(written);
        running.kill();
        gone(&env, name);
    }
}

/// Whether a process has ended and nobody has asked how.
fn is_zombie(id: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

#[test]
fn commands_come_from_the_project_or_the_line_and_never_from_state() {
    let env = started();
    let evil = json!({"status": "fail", "run": "touch owned", "command": "touch owned"});
    env.ok(&["set", "work_queue", "gate_results.lint", &evil.to_string()]);
    let error = refused(&env, "loop gate lint", 4);
    assert!(error["hint"].as_str().unwrap().contains("[gates.lint]\nrun = \"COMMAND\""), "{error}");
    let error = refused(&env, "loop gate --all", 1);
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("add one: anthill loop add-gate test -- COMMAND\n"), "{error}");
    // What the hint says to write is a configuration.
    let (_, lines) = hint.split_once(".claude/anthill.toml:\n").unwrap();
    env.write(CONFIG, lines);
    assert!(ok(&env, "loop status").stdout.contains("  test: not run yet  COMMAND\n"));
    env.sh("rm .claude/anthill.toml");
    let ran = env.run(&["loop", "gate", "lint", "--", "sh", "-c", "pwd; echo $ANTHILL_GATE; exit 4"]);
    assert_eq!(ran.stdout, "lint: fail (exit 4), see .claude/state/loop/gates/lint.log\n", "{}", ran.shown());
    assert_eq!(
        env.read_text("project/.claude/state/loop/gates/lint.log"),
        format!("{}\nlint\n", env.project().display())
    );
    assert!(!env.project().join("owned").exists());
    assert_eq!(env.run(&["loop", "gate", "lint", "--", "no-such-tool-here"]).code, 1, "it cannot run");
    assert_eq!(queue(&env)["gate_results"]["lint"]["status"], "fail");
    assert_eq!(queue(&env)["gate_results"]["lint"]["run"], "touch owned", "what others keep stays");
}

#[test]
fn logs_and_items_hold_no_secrets() {
    let env = started();
    configure(
        &env,
        &[("test", "echo password=s3cr3t-canary; echo Authorization: Bearer s3cr3t-canary >&2; exit 1")],
    );
    fails_by_a_gate(&env, "loop gate --all");
    let log = env.read_text("project/.claude/state/loop/gates/test.log");
    assert_eq!(log, "password=[redacted]\n--- stderr\nAuthorization: Bearer [redacted]\n");
    let found = env.sh("grep -r canary .claude/state");
    assert_eq!((found.code, &*found.stdout), (1, ""), "not in the journal either");
}

#[test]
fn gates_run_side_by_side_where_they_say_so() {
    let env = started();
    // Each waits for the other.
    env.configure(
        "[gates.pipe]\nrun = 'mkfifo p'\n[gates.one]\nrun = 'echo x > p'\nparallel = true\ntimeout = 60\n\
         [gates.two]\nrun = 'cat p'\nparallel = true\ntimeout = 60\n",
    );
    assert_eq!(
        ok(&env, "loop gate --all").stdout,
        "pipe: pass\none: pass\ntwo: pass\nPassed; iteration 2 begins\n"
    );
    let results = queue(&env)["gate_results"].take();
    assert_eq!(
        results.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["pipe", "one", "two"],
        "in their order"
    );
}

#[test]
fn a_loop_stops_by_itself() {
    let env = started();
    configure(&env, &[("lint", "false")]);
    fails_by_a_gate(&env, "loop gate --all");
    fails_by_a_gate(&env, "loop gate --all");
    let ran = fails_by_a_gate(&env, "loop gate --all");
    assert!(
        ran.stdout.ends_with("Stopped: the same failures came in 3 iterations in a row: lint\n"),
        "{}",
        ran.shown()
    );
    stands(&env, "3 0 EVALUATE stopped");
    assert!(env.read_text(VIEW).contains("- Status: STOPPED\n"));
    configure(&env, &[("lint", "touch ran")]);
    let error = refused(&env, "loop gate --all", 1);
    assert!(error["hint"].as_str().unwrap().contains("anthill loop start"), "{error}");
    assert!(!env.project().join("ran").exists(), "nothing is run for nothing");
    assert!(ok(&env, "loop status").stdout.contains("stopped: the same failures came"));
    ok(&env, "loop start");
    stands(&env, "4 0 CONTEXTUALIZE in_progress");
    ok(&env, "loop gate --all");

    env.ok(&words("loop start other --reset --max-iterations 1"));
    configure(&env, &[("lint", "true")]);
    let ran = fails_by_a_gate(&env, "loop gate --all");
    assert_eq!(ran.stdout, "lint: pass\nStopped: it has had all of its iterations: 1\n");
    let error = refused(&env, "loop start", 1);
    assert_eq!(error["hint"], "give it more: anthill loop start --max-iterations 2");
    ok(&env, "loop start --max-iterations 2");
    stands(&env, "2 1 CONTEXTUALIZE in_progress");
    assert!(ok(&env, "loop gate --all").stdout.ends_with("Complete: other\n"));
}

/// A gate that names its failing tests as unittest does: those whose file is not there.
const TWELVE: &str = r#"for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
    test -f "fixed-$n" || { echo "FAIL: test_$n (m.T.test_$n)"; bad=1; }
done; exit ${bad:-0}"#;

#[test]
fn a_loop_that_mends_one_failure_per_call_completes_without_help() {
    let env = started();
    configure(&env, &[("test", TWELVE)]);
    let agent = r#"n=$(ls fixed-* 2>/dev/null | wc -l); touch fixed-$((n + 1)); echo '{"status": "done"}'"#;
    let ran = env.run(&["loop", "run", "--agent", agent]);
    assert!(ran.code == 0 && ran.stderr.ends_with("Complete: implement auth\n"), "{}", ran.shown());
    assert!(ran.stderr.contains("test: fail (exit 1), 11 issues, see"), "{}", ran.shown());
    assert!(env.project().join("fixed-12").exists());
    let queue = queue(&env);
    let issues: Vec<u64> =
        queue["history"].as_array().unwrap().iter().map(|entry| entry["issues"].as_u64().unwrap()).collect();
    assert_eq!(issues, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0]);
    assert!(env.read_text(VIEW).contains("- Iteration 1: Fixed 1 item, gates failing: test (11 issues)\n"));
    ok(&env, "validate");
}

#[test]
fn the_same_failures_stop_a_loop_whatever_numbers_and_paths_they_print() {
    let env = started();
    let noise = "echo \"x.py::test_a took 0.$$ s in /tmp/$$: error\"; echo FAILED x.py::test_a; exit 1";
    configure(&env, &[("test", noise)]);
    fails_by_a_gate(&env, "loop gate --all");
    fails_by_a_gate(&env, "loop gate --all");
    let ran = fails_by_a_gate(&env, "loop gate --all");
    assert!(ran.stdout.contains("Stopped: the same failures"), "{}", ran.shown());
}

#[test]
fn a_gate_tells_its_number_of_issues() {
    let env = started();
    env.configure(
        "[gates.counted]\nrun = 'echo 7 smells; exit 1'\ncount = '{} smells'\n\
         [gates.quiet]\nrun = 'echo 2 smells'\ncount = '{} smells'\n\
         [gates.clean]\nrun = 'echo 0 smells'\ncount = '{} smells'\n",
    );
    assert!(fails_by_a_gate(&env, "loop gate counted").stdout.contains("(exit 1), 7 issues"));
    assert!(fails_by_a_gate(&env, "loop gate quiet").stdout.starts_with("quiet: fail, 2 issues"));
    assert_eq!(ok(&env, "loop gate clean").stdout, "clean: pass\n");
    assert_eq!(queue(&env)["gate_results"]["counted"]["issues"], 7);
    assert!(fails_by_a_gate(&env, "loop gate counted --issues 9").stdout.contains(", 9 issues"));
}

#[test]
fn a_person_adds_gates_and_an_agent_does_not() {
    let env = env();
    let before = "# our gates\n[other]\nx = 1 # kept";
    env.write(CONFIG, before);
    let said = ok(&env, "loop add-gate unit --timeout 60 --count {}! -- sh -c").shown();
    assert_eq!(said, "Added: unit\n--- stderr\nnext: anthill loop gate unit\n[exit 0]\n");
    let written = format!("{before}\n\n[gates.unit]\nrun = \"sh -c\"\ntimeout = 60\ncount = \"{{}}!\"\n");
    assert_eq!(env.read_text(CONFIG), written);
    assert_eq!(ok(&env, "loop add-gate unit -- sh -c").stdout, "There already: unit\n");
    env.ok(&["loop", "add-gate", "line", "--", "echo \"3 bad\" && exit 1"]);
    env.ok(&["loop", "add-gate", "words", "--", "echo", "it's", "$HOME"]);
    fails_by_a_gate(&env, "loop add-gate unit -- other");
    for line in ["loop add-gate x", "loop add-gate ../x -- y", "loop add-gate x --count n -- y"] {
        assert_eq!(env.run(&words(line)).code, 2, "{line}");
    }
    ok(&env, "loop start t");
    assert_eq!(fails_by_a_gate(&env, "loop gate line").stdout.lines().count(), 1);
    ok(&env, "loop gate words");
    assert_eq!(env.read_text("project/.claude/state/loop/gates/words.log"), "it's $HOME\n");
    let before = env.read_text(CONFIG);
    for name in ["CLAUDECODE", "ANTHILL_WORKER", "ANTHILL_SESSION_ID", "GEMINI_CLI", "OPENCODE"] {
        let mut command = env.command(&words("loop add-gate mine -- true"));
        let ran = env.finish(command.env(name, "1"), b"");
        assert!(ran.code == 1 && ran.stderr.contains("ask your user to type"), "{name}: {}", ran.shown());
    }
    assert_eq!(env.read_text(CONFIG), before);
}

#[test]
fn who_configures_the_first_gate_is_told_what_was_detected() {
    let env = env();
    env.write("project/package.json", r#"{"scripts": {"lint": "eslint .", "test": "vitest"}}"#);
    let ran = ok(&env, "loop add-gate test -- true");
    let expected = "`lint` was detected and is not run any more; to keep it: anthill loop add-gate lint -- 'npm run lint'";
    assert!(ran.stderr.contains(expected), "{}", ran.shown());
    assert!(!ran.stderr.contains("`test` was"), "{}", ran.shown());
    env.write(CONFIG, "gates = {x = {run = 'a'}}\n");
    let ran = fails_by_a_gate(&env, "loop add-gate test -- true");
    assert!(
        ran.stderr.contains("[gates.test]\n") && ran.stderr.contains("run = \"true\"\n"),
        "{}",
        ran.shown()
    );
}

#[test]
fn a_loop_without_a_gate_that_ran_does_not_complete() {
    let env = started();
    configure(&env, &[("test", "./check-that-is-not-there.sh")]);
    let ran = env.run(&["loop", "run", "--agent", r#"echo '{"status": "done"}'"#]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert!(ran.stderr.contains("test: fail (it cannot run: there is no such program)"), "{}", ran.shown());
    stands(&env, "3 0 EVALUATE stopped");
    // What nobody asked for may be missing; then nothing is known.
    let env = started();
    env.write("project/go.mod", "module x");
    env.sh("mkdir bin && ln -s $(command -v sh) bin/sh");
    let bare = |line: &str| {
        let mut command = env.command(&words(line));
        env.finish(command.env("PATH", env.project().join("bin")), b"")
    };
    let ran = bare("loop gate --all");
    assert_eq!(ran.code, 1, "{}", ran.shown());
    let skipped = "lint: skip (its tool is not installed)\ntype: skip";
    let stopped = "Stopped: no gate ran (lint: its tool is not installed, type:";
    assert!(ran.stdout.starts_with(skipped) && ran.stdout.contains(stopped), "{}", ran.shown());
    assert!(ran.stdout.contains("anthill loop add-gate NAME -- CMD"), "{}", ran.shown());
    stands(&env, "1 0 EVALUATE stopped");
    ok(&env, "loop start");
    env.write("project/agent", "#!/bin/sh\necho '{\"status\": \"done\"}'\n");
    env.sh("chmod +x agent");
    assert_eq!(bare("loop run --agent ./agent").code, 1);
    stands(&env, "1 0 EVALUATE stopped");
}

#[test]
fn an_iteration_is_in_the_history_once() {
    let env = started();
    configure(&env, &[("lint", "false")]);
    ok(&env, "loop add a");
    ok(&env, "loop done work-001");
    for _ in 0..3 {
        fails_by_a_gate(&env, "loop gate --all");
    }
    ok(&env, "loop start");
    configure(&env, &[("lint", "true")]);
    ok(&env, "loop gate --all");
    let text = env.read_text(VIEW);
    let told: Vec<&str> = text.lines().filter(|line| line.starts_with("- Iteration ")).collect();
    let expected = [
        "- Iteration 1: Fixed 1 item, gates failing: lint (1 issue)",
        "- Iteration 2: Fixed 0 items, gates failing: lint (1 issue)",
        "- Iteration 3: Fixed 0 items, gates failing: lint (1 issue)",
        "- Iteration 4: Fixed 1 item, gates passing",
    ];
    assert_eq!(told, expected, "{text}");
}

#[test]
fn a_bad_item_holds_the_loop_up() {
    let env = started();
    configure(&env, &[("lint", "true")]);
    for (priority, title) in [("S2", "a"), ("S0", "b"), ("S1", "c")] {
        ok(&env, &format!("loop add {title} -p {priority}"));
    }
    let ran = fails_by_a_gate(&env, "loop gate --all");
    assert_eq!(ran.stdout, "lint: pass\nPaused: `work-002` is open and waits for the user\n");
    stands(&env, "2 1 CONTEXTUALIZE paused");
    assert!(ok(&env, "loop take").stdout.starts_with("Taken for tester: work-002\n"), "the worst first");
    stands(&env, "2 1 BUILD paused");
    ok(&env, "loop done work-002");
    stands(&env, "2 1 BUILD building");
    assert!(queue(&env).get("reason").is_none());
    ok(&env, "loop add d -p S0");
    ok(&env, "loop start --pause-on none");
    ok(&env, "loop gate --all");
    stands(&env, "3 2 CONTEXTUALIZE in_progress");
}

#[test]
fn a_loop_makes_room_only_when_it_is_told_or_done() {
    let env = started();
    ok(&env, "loop add a");
    let error = refused(&env, "loop start other", 1);
    assert!(error["hint"].as_str().unwrap().contains("--reset"), "{error}");
    let before = env.bytes();
    assert_eq!(
        env.ok(&["loop", "start", "implement auth"]).stdout,
        "The loop runs already, iteration 1 of 50: implement auth\n"
    );
    assert!(env.bytes() == before);
    configure(&env, &[("lint", "true")]);
    ok(&env, "loop gate lint");
    assert!(env.root().join("project/.claude/state/loop/gates/lint.log").exists());
    ok(&env, "loop start --reset");
    stands(&env, "1 0 CONTEXTUALIZE in_progress");
    assert_eq!(queue(&env)["task"], "implement auth");
    assert_eq!((&queue(&env)["items"], &queue(&env)["gate_results"]), (&json!([]), &json!({})));
    assert!(!env.root().join("project/.claude/state/loop/gates/lint.log").exists());
    ok(&env, "loop gate --all");
    ok(&env, "loop gate --all");
    for line in ["loop start", "loop start --max-iterations 9"] {
        let error = refused(&env, line, 1);
        assert!(
            error["hint"].as_str().unwrap().starts_with("begin a new one: anthill loop start TASK\n"),
            "{error}"
        );
    }
    ok(&env, "loop start other");
    assert_eq!((&queue(&env)["task"], &queue(&env)["iteration"]), (&json!("other"), &json!(1)));
}

#[test]
fn items_belong_to_one() {
    let env = started();
    ok(&env, "loop add a");
    ok(&env, "loop take --as ann");
    let error = refused(&env, "loop take work-001 --as bob", 3);
    assert!(error["message"].as_str().unwrap().contains("`ann`"), "{error}");
    refused(&env, "loop take --as bob", 4);
    refused(&env, "loop take work-9", 4);
    refused(&env, "loop done work-9", 4);
    ok(&env, "loop done work-001");
    refused(&env, "loop take work-001", 1);
    env.ok(&["set", "work_queue", "items[0].status", "\"cancelled\""]);
    refused(&env, "loop done work-001", 1);
}

#[test]
fn what_is_wrong_is_named_and_changes_nothing() {
    let env = env();
    for line in [
        "loop add x",
        "loop take",
        "loop done work-001",
        "loop gate lint --issues 0",
        "loop gate --all",
        "loop start",
        "loop run",
        "loop status",
    ] {
        let error = refused(&env, line, 4);
        assert!(error["hint"].as_str().unwrap().contains("anthill loop start TASK"), "{line}: {error}");
    }
    let env = started();
    for line in [
        "loop",
        "loop gate",
        "loop gate --all lint",
        "loop gate --all -- true",
        "loop gate lint --severity S1",
        "loop gate lint --issues -1",
        "loop gate ../x --issues 0",
        "loop add x -p S9",
        "loop add",
        "loop start t --max-iterations 0",
        "loop start t --pause-on S3",
        "loop done",
        "loop run x",
    ] {
        assert_eq!(env.run(&words(line)).code, 2, "{line}");
    }
    assert_eq!(env.run(&["loop", "add", " "]).code, 2);
    assert_eq!(env.run(&["loop", "take", "--as", " "]).code, 2);
    for (text, expected) in [
        ("[gates.lint", "line 1: "),
        ("[gates.lint]\nrum = 'x'", "`run` is missing"),
        ("[gates.lint]\nrun = 'touch ran'\nretries = 3", "`retries` is no setting of a gate"),
    ] {
        env.write(CONFIG, text);
        let error = refused(&env, "loop gate lint", 2);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(expected) && message.contains("anthill.toml"), "{error}");
    }
    assert!(!env.project().join("ran").exists());
}

#[test]
fn gates_are_detected_where_none_is_configured() {
    let env = started();
    env.write("project/package.json", r#"{"scripts": {"lint": "eslint .", "test": "vitest"}}"#);
    let status = ok(&env, "loop status").stdout;
    let expected = "gates (detected)\n  lint: not run yet  npm run lint\n  test: not run yet  npm run test\nitems: none\n";
    assert!(status.ends_with(expected), "{status}");
    configure(&env, &[("lint", "true")]);
    assert!(
        ok(&env, "loop status")
            .stdout
            .contains("gates (from .claude/anthill.toml)\n  lint: not run yet  true\n")
    );
}

#[test]
fn hostile_texts_steer_nothing() {
    let env = env();
    let evil = "a|b\n# x\u{1b}[2J\u{202e}";
    env.ok(&["loop", "start", evil]);
    env.ok(&["loop", "add", evil, "--description", evil]);
    configure(&env, &[("lint", "printf 'x\\033[2J\\n'; exit 1")]);
    for line in ["loop take", "loop status", "loop gate lint"] {
        let ran = env.run(&words(line));
        let steers = |next: char| next.is_control() && next != '\n' || next == '\u{202e}';
        assert!(!ran.shown().contains(steers), "{line}: {:?}", ran.shown());
    }
    let text = env.read_text(VIEW);
    assert!(!text.contains(['\u{1b}', '\u{202e}']) && text.contains("a\\|b # x"), "{text}");
}

// ---- by itself

#[test]
fn a_command_does_the_items_until_the_gates_pass() {
    let env = started();
    configure(&env, &[("test", "test -f fixed")]);
    let agent = r#"cat > "prompt-$ANTHILL_TASK_ID"; grep '"title"' "$ANTHILL_TASK_FILE" >> titles; echo "by $ANTHILL_WORKER";
        case $ANTHILL_TASK_ID in
            work-001) printf '```json\n{\n  "status": "done"\n}\n```\n';;
            work-002) touch fixed; anthill loop done work-002 2> said;;
        esac"#;
    let ran = env.ok(&["loop", "run", "--agent", agent, "--as", "ann"]);
    let expected = r#"--- stderr
Taken: work-001  implement auth
| by ann
| ```json
| {
|   "status": "done"
| }
| ```
Done: work-001
test: fail (exit 1), see .claude/state/loop/gates/test.log
Failed; iteration 2 begins
Taken: work-002  Fix the failed gate: test
| by ann
| Done: work-002
Done: work-002
test: pass
Passed; iteration 3 begins
test: pass
Complete: implement auth
[exit 0]
"#;
    assert_eq!(ran.shown(), expected, "\n{}", ran.shown());
    stands(&env, "3 2 DONE complete");
    let titles = env.read_text("project/titles");
    assert!(titles.contains("implement auth") && titles.contains("Fix the failed gate: test"), "{titles}");
    let prompt = env.read_text("project/prompt-work-002");
    assert!(prompt.contains("## Task of the loop\n\n```text\nimplement auth\n```\n"), "{prompt}");
    assert!(prompt.contains("## Description\n\n```text\nexit 1\n```\n"), "{prompt}");
    let again = json_of(&env, "loop run --agent false");
    assert_eq!(again, queue(&env), "what is complete stays so");
}

#[test]
fn an_agent_that_fails_is_tried_again_and_ends_the_run() {
    let env = started();
    configure(&env, &[("test", "true")]);
    ok(&env, "loop add a");
    let agent = ["loop", "run", "--agent", "echo x >> runs; echo no luck >&2; exit 7"];
    let ran = env.run(&agent);
    let expected = "\
--- stderr
Taken: work-001  a
| no luck
Again in 0 s: work-001: exit code 7: no luck
| no luck
Put back: work-001: exit code 7: no luck
The run ends: `work-001` is not done: exit code 7: no luck
next: anthill loop status
[exit 1]
";
    assert_eq!(ran.shown(), expected);
    assert_eq!(env.read_text("project/runs"), "x\nx\n");
    let item = &queue(&env)["items"][0];
    assert_eq!((&item["status"], item.get("assigned_to")), (&json!("pending"), None));
    env.run(&[&agent[..], &["--retries", "0"]].concat());
    assert_eq!(env.read_text("project/runs"), "x\nx\nx\n");
    let hangs = "echo begun; sleep 600 & sleep 600";
    for (limit, reason) in [("--timeout", "timed out after 0.2 s"), ("--stall", "no sign of life for 0.2 s")]
    {
        let late = env.run(&["loop", "run", "--agent", hangs, limit, "0.2", "--retries", "0"]);
        assert!(late.stderr.contains(&format!("Put back: work-001: {reason}")), "{}", late.shown());
    }
    let missing = env.run(&["loop", "run", "--agent", "no-such-agent-here"]);
    assert!(missing.stderr.contains("`work-001` is not done: exit code 127: "), "{}", missing.shown());
    stands(&env, "1 0 BUILD building");
}

/// What a client says at its end.
fn result(is_error: bool, said: &str) -> String {
    let usage = json!({"input_tokens": 5, "output_tokens": 7});
    json!({
        "type": "result", "subtype": "success", "is_error": is_error, "result": said, "total_cost_usd": 0.25,
        "usage": usage,
    })
    .to_string()
}

#[test]
fn agents_leave_a_log_and_their_costs() {
    let env = started();
    configure(&env, &[("test", "true")]);
    ok(&env, "loop add a");
    ok(&env, "loop add b");
    env.write("project/lost", result(true, "ECONNRESET token=hunter2hunter2"));
    env.write("project/done", result(false, "Made it.\n{\"status\": \"done\"}"));
    let agent = "cat >/dev/null; [ -e again ] && cat done || cat lost; touch again";
    let first = env.run(&["loop", "run", "--agent", agent, "--max-cost", "0.3"]);
    let end = "\
Done: work-001
Used: $0.50, 10 tokens in, 14 out
The run ends: the budget of $0.3 is used up
next: anthill loop status
";
    assert!(first.code == 1 && first.stderr.ends_with(end), "{}", first.shown());
    let log = "project/.claude/state/loop/items/work-001.log";
    let text = env.read_text(log);
    assert!(text.starts_with("--- try 1: ECONNRESET") && text.contains("\n--- try 2: answered\n"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    env.ok(&["loop", "run", "--agent", agent]);
    let costs = json!({
        "spawns": 3, "failures": 1, "cost_usd": 0.75, "input_tokens": 15, "output_tokens": 21, "cached_tokens": 0,
    });
    assert_eq!(queue(&env)["costs"], costs);
    stands(&env, "2 2 DONE complete");
    ok(&env, "loop reset");
    assert!(!env.root().join(log).exists());
}

/// Starts a run by the signals that a command has which a person types.
fn run_of(env: &TestEnv, agent: &str) -> Running {
    let mut command = env.clean("env");
    command.arg("--default-signal=INT,TERM,HUP").arg(env.binary()).args(["loop", "run", "--agent", agent]);
    Running::start(&mut command)
}

#[test]
fn a_signal_ends_the_run_and_puts_the_item_back() {
    let env = started();
    configure(&env, &[("slow", "sleep 600 & echo $! >gate; wait")]);
    ok(&env, "loop add a");
    let mut running = run_of(&env, "sleep 600 & echo $! >agent; wait");
    let agent = line_of(&env, "agent");
    signal(&running, Signal::TERM);
    assert_eq!(running.wait(), 143);
    crate::run::gone(&agent);
    let item = queue(&env)["items"][0].clone();
    assert_eq!((&item["status"], item.get("assigned_to")), (&json!("pending"), None));
    ok(&env, "loop done work-001");
    let before = queue(&env);
    let mut running = run_of(&env, "true");
    let gate = line_of(&env, "gate");
    signal(&running, Signal::INT);
    assert_eq!(running.wait(), 130);
    crate::run::gone(&gate);
    assert_eq!(queue(&env), before, "nothing was judged");
}

#[test]
fn a_run_ends_where_somebody_has_to_look() {
    let env = started();
    let error = refused(&env, "loop run --agent true", 1);
    assert!(error["hint"].as_str().unwrap().contains("anthill loop add-gate test"), "{error}");
    configure(&env, &[("test", "true")]);
    ok(&env, "loop add a");
    ok(&env, "loop take --as bob");
    let ran = fails_by_a_gate(&env, "loop run --agent true");
    assert!(
        ran.stderr.contains("The run ends: `work-001` is in the hands of `bob`; if they are gone: anthill loop release work-001 --as bob\n"),
        "{}",
        ran.shown()
    );
    stands(&env, "2 1 CONTEXTUALIZE in_progress");
    ok(&env, "loop start --max-iterations 2");
    ok(&env, "loop done work-001");
    configure(&env, &[("test", "false")]);
    let ran = env.run(&words("loop run --agent true --json"));
    assert_eq!((ran.code, ran.json()), (1, queue(&env)), "{}", ran.shown());
    stands(&env, "2 0 EVALUATE stopped");
    refused(&env, "loop run --agent true", 1);
}

#[test]
fn a_command_does_not_choose_its_own_judge() {
    let env = started();
    configure(&env, &[("test", "false")]);
    let agent = r#"printf '[gates.test]\nrun = "true"\n' > .claude/anthill.toml; echo '{"status": "done"}'"#;
    let ran = env.run(&["loop", "run", "--agent", agent]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    stands(&env, "3 0 EVALUATE stopped");
}

#[test]
fn what_the_agent_does_not_say_is_not_done() {
    let env = started();
    configure(&env, &[("test", "true")]);
    ok(&env, "loop add a");
    let ran = env.run(&["loop", "run", "--agent", "echo asked >> runs; echo All is well."]);
    let expected = "\
--- stderr
Taken: work-001  a
| All is well.
Again in 0 s: work-001: it ended without saying whether the work is done
| All is well.
Put back: work-001: it ended without saying whether the work is done: All is well.
The run ends: `work-001` is not done: it ended without saying whether the work is done: All is well.
next: anthill loop status
[exit 1]
";
    assert_eq!(ran.shown(), expected);
    assert_eq!(env.read_text("project/runs"), "asked\nasked\n", "once more, and no more");
    let agent =
        r#"cat > last; grep -q '^# Item: ' last || said='{"status": "done"}'; echo "${said:-All is well.}""#;
    env.ok(&["loop", "run", "--agent", agent]);
    assert!(env.read_text("project/last").ends_with("```text\nAll is well.\n```\n"));
    stands(&env, "2 2 DONE complete");
}

#[test]
fn an_ill_service_holds_the_loop_up_and_no_item_fails() {
    let env = started();
    configure(&env, &[("test", "true")]);
    ok(&env, "loop add a");
    let agent = r#"echo x >> runs; [ $(wc -l < runs) -gt 3 ] && echo '{"status": "done"}' && exit
        echo 'API Error: 529 Overloaded. Retry-After: 0' >&2; exit 1"#;
    let ran = env.ok(&["loop", "run", "--agent", agent]);
    let paused = "Paused until 00:00:";
    assert_eq!(ran.stderr.matches(paused).count(), 3, "{}", ran.shown());
    assert!(ran.stderr.contains("Put back: work-001: exit code 1: API Error: 529"), "{}", ran.shown());
    stands(&env, "2 2 DONE complete");
    ok(&env, "loop reset");
    ok(&env, "loop start again");
    let ran = env.run(&["loop", "run", "--agent", "echo 'Credit balance is too low' >&2; exit 1"]);
    let error = "\
error: no credit left: exit code 1: Credit balance is too low
hint: add credit to the account that the agent uses, or name another agent; then run this again
[exit 1]
";
    assert!(ran.shown().ends_with(error), "{}", ran.shown());
    assert_eq!(queue(&env)["items"][0]["status"], "pending");
}
