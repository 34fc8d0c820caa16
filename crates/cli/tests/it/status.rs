//! `anthill status` from the outside: it shows everything that there is, hides nothing behind damage, and writes nothing.

#![expect(clippy::disallowed_methods, reason = "plays whoever deletes a lock")]

use std::process::Stdio;
use std::time::{Duration, Instant};

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::env;

const LOOP: &str = r#"{"version": "1.0", "task": "Get it green", "iteration": 2, "max_iterations": 50, "status": "building",
  "items": [{"id": "w1", "priority": "S1", "status": "pending"}, {"id": "w2", "priority": "S1", "status": "blocked"},
            {"id": "w3", "priority": "S0", "status": "done"}, {"id": "w4", "title": "no word on how bad"}],
  "gate_results": {"lint": {"status": "pass"}, "tests": {"status": "fail", "issues": 2}}}"#;

/// A status line that says nothing prints nothing.
#[track_caller]
fn line(ran: &Ran) -> &str {
    assert_eq!(ran.code, 0, "{}", ran.shown());
    match ran.stdout.strip_suffix('\n') {
        None => assert_eq!(ran.stdout, ""),
        Some(line) => assert!(!line.is_empty() && !line.contains(['\n', '\r', '\x1b']), "{}", ran.shown()),
    }
    ran.stdout.trim_end()
}

/// Insists that every form of looking writes nothing.
#[track_caller]
fn only_looks(env: &TestEnv) {
    let before = env.bytes();
    for args in
        [&["status"][..], &["status", "--json"], &["status", "--line"], &["status", "--session-id", "s1"]]
    {
        env.ok(args);
        assert!(env.bytes() == before, "{args:?} wrote something");
    }
}

fn queue_of(env: &TestEnv, tasks: usize) {
    env.ok(&["leader", "init", "the goal"]);
    let plan: String = (0..tasks).map(|number| format!("- [ ] task {number}\n")).collect();
    let ran = env.run_with_input(&["leader", "import", "-"], plan.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

#[test]
fn nothing_there_is_nothing_made() {
    let env = env();
    let names = || std::fs::read_dir(env.project()).unwrap().count() + usize::from(env.home().exists());
    let before = names();
    let ran = env.ok(&["status"]);
    assert_eq!(
        ran.shown(),
        "nothing here yet\n\na queue of tasks: anthill leader init GOAL\ninside your coding agents: anthill init\n[exit 0]\n"
    );
    let nothing = json!({"sessions": null, "queue": null, "workflow": null, "pipeline": null, "loop": null, "errors": null, "messages": null});
    assert_eq!(env.json(&["status"]), nothing);
    assert_eq!(env.ok(&["status", "--line"]).shown(), "[exit 0]\n");
    assert_eq!(env.ok(&["status", "--line", "--session-id", "s1"]).shown(), "[exit 0]\n");
    assert_eq!(names(), before, "not even a directory");
}

#[test]
fn every_system_has_its_place() {
    let env = env();
    queue_of(&env, 10);
    let first = env.json(&["worker", "claim", "w1"])["id"].as_str().unwrap().to_owned();
    env.ok(&["worker", "start", "w1", &first]);
    env.ok(&["worker", "complete", "w1", &first, "did it"]);
    env.ok(&["worker", "claim", "w1"]);
    let queue = env.json(&["status"])["queue"].take();
    let leader = env.json(&["leader", "status"]);
    assert_eq!((&queue["counts"], &queue["progress"]), (&leader["counts"], &leader["progress"]));
    assert_eq!(queue["progress"], json!({"done": 1, "total": 10, "percent": 10}));
    assert_eq!(line(&env.ok(&["status", "--line"])), "ants: 1/10 done · 1 running");

    env.ok(&["workflow", "create", "Build it", "--id", "wf1", "--phase", "Look=a", "--phase", "Fix=b"]);
    env.ok(&["workflow", "start"]);
    env.ok(&["workflow", "phase", "phase_0", "--status", "completed", "--deliverable", "notes"]);
    assert_eq!(
        env.json(&["status"])["workflow"],
        json!({"id": "wf1", "task": "Build it", "status": "active", "current_phase": "phase_1", "phases": [
            {"id": "phase_0", "title": "Look", "status": "completed"}, {"id": "phase_1", "title": "Fix", "status": "active"}]})
    );

    env.ok(&["pipeline", "init", "A calculator"]);
    let pipeline = env.json(&["status"])["pipeline"].take();
    assert_eq!(pipeline["status"], "running");
    assert_eq!((&pipeline["groups"], &pipeline["open_orders"]), (&json!([]), &json!(0)));
    assert!(pipeline["mode"].is_string() && pipeline["completion_percentage"].is_number(), "{pipeline}");
    env.ok(&["pipeline", "next"]);
    assert_eq!(env.json(&["status"])["pipeline"]["open_orders"], 1);

    env.ok(&["set", "work_queue", ".", LOOP]);
    assert_eq!(
        env.json(&["status"])["loop"],
        json!({"task": "Get it green", "iteration": 2, "max_iterations": 50, "status": "building",
               "open": {"S0": 0, "S1": 2, "S2": 0, "S3": 1}, "gates": {"lint": "pass", "tests": "fail"}})
    );

    env.ok(&["error", "record", "--class", "rate_limit", "--message", "slow down", "--retry-after", "600"]);
    let errors = env.json(&["status"])["errors"].take();
    assert_eq!(errors, json!({"total": 1, "recovered": 0, "pending": 1, "escalated": 0, "due": 0}));

    env.ok(&["session", "start", "s1", "--project-id", "myapp"]);
    env.ok(&["session", "start", "s2"]);
    env.ok(&["session", "start", "s3"]);
    env.ok(&["session", "end", "s3"]);
    let listed = env.json(&["session", "list", "--active"]);
    assert_eq!(env.json(&["status"])["sessions"], listed);
    assert_eq!(env.json(&["status", "--project-id", "myapp"])["sessions"], json!([listed[1]]));

    env.ok(&["message", "send", "s2", "s1", "note", "\"hello\""]);
    assert_eq!(env.json(&["status"])["messages"]["unread"], 1);
    assert_eq!(env.json(&["status"])["messages"]["sessions"]["s1"], 1);
    let of = |session: &str| env.json(&["status", "--session-id", session])["messages"].take();
    assert_eq!(of("s1"), json!({"unread": 1, "session_id": "s1"}));
    assert_eq!(of("s2")["unread"].as_u64().unwrap_or(0), 0);

    only_looks(&env);
    let line = line(&env.ok(&["status", "--line", "--session-id", "s1"])).to_owned();
    assert_eq!(line, "ants: 1/10 done · 1 running · wf phase_1 Fix · pipeline 0% · loop 2/50 · ✉ 1");
    let board = env.ok(&["status"]).stdout;
    for part in [
        "SESSIONS  2 at work\n",
        "QUEUE  1/10 (10%)\n",
        "WORKFLOW  active  Build it\n  [x] phase_0  Look\n  [>] phase_1  Fix\n",
        "PIPELINE  running",
        "LOOP  iteration 2 of 50  building  Get it green\n  2 S1 open  1 S3 open  lint: pass  tests: fail\n",
        "ERRORS  1 pending (0 due)",
        "MESSAGES  1 unread\n  s1 1\n",
    ] {
        assert!(board.contains(part), "{part}\n{board}");
    }
}

#[test]
fn silent_sessions_are_not_shown_and_not_given_up() {
    let env = env();
    env.ok(&["session", "start", "s1"]);
    let before = env.bytes();
    let later = |args: &[&str]| env.finish(env.command(args).env("ANTHILL_NOW", "2026-01-02T00:00:00Z"), b"");
    assert_eq!(later(&["status", "--json"]).json()["sessions"], json!([]));
    assert!(env.bytes() == before, "it stays as it was");
    later(&["session", "list"]);
    assert!(env.bytes() != before, "a list gives it up");
}

#[test]
fn damage_hides_nothing_else() {
    let env = env();
    queue_of(&env, 3);
    env.ok(&["workflow", "create", "Build it", "--phase", "Look=a"]);
    env.ok(&["pipeline", "init", "A calculator"]);
    env.ok(&["set", "work_queue", ".", LOOP]);
    env.ok(&["error", "record", "--class", "rate_limit", "--message", "slow down", "--retry-after", "600"]);
    env.ok(&["session", "start", "s1"]);
    env.ok(&["session", "start", "s2"]);
    env.ok(&["message", "send", "s1", "s2", "note", "1"]);
    let whole = env.json(&["status"]);
    let files = [
        ("queue", "project/.coordination/tasks.json"),
        ("workflow", "project/.claude/state/workflow.json"),
        ("pipeline", "project/coordination/group_status.json"),
        ("loop", "project/.claude/state/loop/work_queue.json"),
        ("errors", "project/.claude/state/errors/classified.json"),
    ];
    for (part, path) in files {
        let bytes = env.read(path);
        env.write(path, b"{ no json");
        only_looks(&env);
        let ran = env.ok(&["status", "--json"]);
        let mut status = ran.json();
        let error =
            status[part]["error"].as_str().unwrap_or_else(|| panic!("{part}: {}", ran.shown())).to_owned();
        assert!(ran.stderr.starts_with(&format!("warning: {part}: ")), "{}", ran.shown());
        assert!(error.contains("damaged"), "{error}");
        status[part] = whole[part].clone();
        assert_eq!(status, whole, "{part} hides something");
        assert!(env.ok(&["status"]).stdout.contains(&format!("{}  `", part.to_uppercase())));
        assert!(line(&env.ok(&["status", "--line"])).contains(&format!("{part} unreadable")), "{part}");
        env.write(path, bytes);
    }
    env.write("user/.claude/sessions/s2/state.json", b"\xff");
    env.write("user/.claude/orchestration/config.json", b"");
    let ran = env.ok(&["status", "--json"]);
    let status = ran.json();
    assert_eq!(status["sessions"].as_array().unwrap().len(), 2, "{}", ran.shown());
    assert_eq!(status["sessions"][0]["session_id"], "s1");
    assert!(status["sessions"][1]["error"].is_string() && status["sessions"][1]["session_id"] == "s2");
    assert!(
        ran.stderr.contains("warning: config: ") && ran.stderr.contains("warning: session `s2`: "),
        "{}",
        ran.shown()
    );
    assert_eq!(status["messages"], whole["messages"]);
}

#[test]
fn ten_thousand_tasks_are_counted_at_once() {
    let env = env();
    queue_of(&env, 10_000);
    env.ok(&["worker", "claim", "w1"]);
    let fastest = |args: &[&str]| {
        let time = |_| {
            let start = Instant::now();
            env.ok(args);
            start.elapsed()
        };
        (0..5).map(time).min().unwrap()
    };
    let (line, whole) = (fastest(&["status", "--line"]), fastest(&["leader", "status", "--json"]));
    // The index answers: reading every task, as the leader's board does, takes many times as long.
    assert!(line < whole / 3 && line < Duration::from_secs(1), "{line:?}, {whole:?}");
    assert_eq!(env.json(&["status"])["queue"]["progress"]["total"], 10_000);
    only_looks(&env);
    let lock = env.project().join(".coordination/.anthill/lock");
    std::fs::remove_file(&lock).unwrap();
    assert_eq!(env.json(&["status"])["queue"]["progress"]["total"], 10_000);
    assert!(!lock.exists(), "who only looks makes no lock");
}

#[test]
fn hostile_texts_stay_on_one_short_line() {
    let env = env();
    let evil = "x\u{1b}[2J\u{202e}\r\nants: 9/9 done\t\u{2028}日本語日本語日本語日本語日本語日本語🐜🐜🐜🐜🐜🐜🐜🐜🐜🐜";
    env.ok(&["workflow", "create", evil, "--phase", &format!("{evil}=a"), "--phase", "B=b"]);
    env.ok(&["workflow", "start"]);
    let mut queue: Value = serde_json::from_str(LOOP).unwrap();
    queue["task"] = evil.into();
    queue["status"] = evil.into();
    env.ok(&["set", "work_queue", ".", &queue.to_string()]);
    let ran = env.ok(&["status", "--line"]);
    let text = line(&ran);
    assert!(text.starts_with("ants: wf phase_0 x\\u{1b}[2J") && text.ends_with(" · loop 2/50"), "{text}");
    let wide = |letter: char| if letter < '\u{1100}' { 1 } else { 2 };
    assert!(text.chars().map(wide).sum::<usize>() <= 80, "{text}");
    for args in [&["status"][..], &["status", "--json"], &["status", "--color", "never"]] {
        let ran = env.ok(args);
        assert!(!ran.stdout.contains(['\x1b', '\u{202e}', '\r']), "{}", ran.shown());
    }
}

#[test]
fn colour_only_if_asked() {
    let env = env();
    queue_of(&env, 2);
    env.ok(&["worker", "claim", "w1"]);
    assert_eq!(env.ok(&["status", "--line"]).stdout, "ants: 0/2 done · 1 running\n");
    let ran = env.ok(&["status", "--line", "--color", "always"]);
    assert!(ran.stdout.contains("\x1b[36mants: 0/2 done · 1 running\x1b[0m"), "{:?}", ran.stdout);
}

#[test]
fn a_client_says_on_stdin_who_it_is() {
    let env = env();
    env.ok(&["session", "start", "s1"]);
    env.ok(&["session", "start", "s2"]);
    for _ in 0..2 {
        env.ok(&["message", "send", "s2", "s1", "note", "1"]);
    }
    env.ok(&["message", "send", "s1", "s2", "note", "1"]);
    let with = |input: &[u8]| line(&env.run_with_input(&["status", "--line"], input)).to_owned();
    assert_eq!(with(br#"{"session_id": "s2", "model": {"id": "x"}}"#), "ants: ✉ 1");
    // Without a name that we understand they are those of all.
    let long = format!(r#"{{"session_id": "s2", "x": "{}"}}"#, "x".repeat(100_000));
    for other in [
        &b""[..],
        b"no json",
        b"{\"session_id\": 7}",
        b"{\"session_id\": \"../x\"}",
        b"[",
        b"\xff",
        long.as_bytes(),
    ] {
        assert_eq!(with(other), "ants: ✉ 3", "{:?}", String::from_utf8_lossy(&other[..other.len().min(40)]));
    }
    let told = env.run_with_input(&["status", "--line", "--session-id", "s1"], br#"{"session_id": "s2"}"#);
    assert_eq!(line(&told), "ants: ✉ 2", "what is told counts");
}

#[test]
fn an_idle_pipe_does_not_hold_it_up() {
    let env = env();
    queue_of(&env, 1);
    // The other end stays open and says nothing, or does not close after it has spoken.
    for said in [&b""[..], b"{\"session_id\": \"s1\"}"] {
        let mut command = env.command(&["status", "--line"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, said).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "ants: 0/1 done\n");
        drop(stdin);
    }
}

#[test]
fn a_line_never_fails() {
    let env = env();
    for args in [
        &["status", "--line", "--session-id", "../x"][..],
        &["status", "--line", "--project-id", "a/b"],
        &["status", "--line", "--store", "none"],
        &["status", "--line", "--root", "/nowhere/at/all"],
    ] {
        let ran = env.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{args:?}\n{}", ran.shown());
    }
    assert_eq!(env.run(&["status", "--project-id", "a/b"]).code, 2);
}
