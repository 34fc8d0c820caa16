//! Every exit code, each reached by a real situation, and nothing changed after any failure.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::Value;

use crate::env;

const CONFIG: &str = "user/.claude/orchestration/config.json";
const SHARED_LOCK: &str = "user/.claude/orchestration/locks/shared.lock";

/// Returns an environment with a configuration and one epic.
fn filled() -> TestEnv {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"myapp\""]);
    let epic = r#"{"id": "epic-001", "title": "Sign-in", "status": "pending", "stories": []}"#;
    env.ok(&["append", "epics", "epics", epic]);
    env
}

/// Insists on the exit code, on a whole error object with `--json`, and on nothing having changed.
#[track_caller]
pub fn fails(env: &TestEnv, args: &[&str], input: &[u8], code: i32, word: &str) -> Value {
    let before = env.bytes();
    let plain = env.run_with_input(args, input);
    refused(&plain, args, code);
    let ran = env.run_with_input(&[args, &["--json"]].concat(), input);
    assert_eq!(ran.code, code, "{args:?} with --json\n{}", ran.shown());
    assert!(env.bytes() == before, "{args:?} changed something");
    let error = ran.json()["error"].take();
    assert_eq!(error["code"], word, "{args:?}");
    assert_eq!(error["indeterminate"], false, "{args:?}");
    assert!(error["retryable"].is_boolean(), "{args:?}");
    assert!(error["hint"].is_null() || error["hint"].is_string(), "{args:?}");
    error
}

#[track_caller]
fn refused(ran: &Ran, args: &[&str], code: i32) {
    let shown: Vec<_> = args.iter().map(|arg| arg.chars().take(80).collect::<String>()).collect();
    assert_eq!(ran.code, code, "{shown:?}\n{}", ran.shown());
    assert!(ran.stderr.starts_with("error: "), "{shown:?}\n{}", ran.shown());
    assert!(ran.stderr.len() < 4096, "{shown:?}: {} bytes of error", ran.stderr.len());
    let control = |text: char| text.is_control() && text != '\n';
    assert!(!ran.stderr.contains(control), "{shown:?}\n{}", ran.shown());
    assert_eq!(ran.stdout, "", "{shown:?}: a failure prints no data");
}

#[test]
fn code_1_refused_by_a_rule() {
    let env = filled();
    env.ok(&["undo", "epics"]);
    fails(&env, &["undo", "epics"], b"", 1, "refused");
    fails(&env, &["undo", "tools"], b"", 1, "refused");
}

#[test]
fn code_2_invalid_input() {
    let env = filled();
    let (long, deep) = (format!("\"{}\"", "x".repeat(64 * 1024 + 1)), "[".repeat(65) + &"]".repeat(65));
    let path = "a.".repeat(5000) + "b";
    let cases: &[&[&str]] = &[
        &["set", "config", "x", "{not json"],
        &["set", "config", "x", ""],
        &["set", "config", "x", "1 2"],
        &["set", "config", "x", "NaN"],
        &["set", "config", "x", "myapp"],
        &["set", "config", "x", r#"{"a": 1, "a": 2}"#],
        &["set", "config", "x", &long],
        &["set", "config", "x", &deep],
        &["set", "config", "a..b", "1"],
        &["set", "config", "a[", "1"],
        &["set", "config", "", "1"],
        &["set", "config", "a[99999999999999999999]", "1"],
        &["set", "config", &path, "1"],
        &["set", "config", "revision", "1"],
        &["set", "config", ".", "[]"],
        &["set", "config", "global", "7"],
        &["set", "epics", "epics[7].status", "\"pending\""],
        &["set", "epics", "epics[0].status", "\"nearly\""],
        &["append", "epics", "epics[0].title", "1"],
        &["append", "epics", "epics", r#"{"title": "no id"}"#],
        &["delete", "epics", "epics"],
        &["get", "config", "--field", "a b["],
        &["get", "epics", "--project-id", "../../x"],
        &["set", "epics", "x", "1", "--project-id", "../../x"],
        &["set", "session", "x", "1", "--session-id", "../../x"],
        &["set", "session", "x", "1", "--session-id", ".hidden"],
        &["set", "session", "x", "1"],
        &["set", "agent_result", "x", "1"],
        &["set", "agent_result", "x", "1", "--agent-id", "a/b"],
        &["list", "config"],
        &["log", "--since", "whenever"],
    ];
    for args in cases {
        fails(&env, args, b"", 2, "invalid");
    }
}

#[test]
fn code_2_a_value_of_ten_megabytes() {
    let env = filled();
    let long = format!("\"{}\"", "x".repeat(10 << 20));
    let error = fails(&env, &["set", "config", "x", "-"], long.as_bytes(), 2, "invalid");
    assert!(error["message"].as_str().unwrap().contains("65536"), "{error}");
    // Small texts, but more of them than a document may hold.
    let many = format!("[{}\"\"]", "\"0123456789abcdef\",".repeat(17 << 16));
    fails(&env, &["set", "config", "x", "-"], many.as_bytes(), 2, "invalid");
}

#[test]
fn code_2_wrong_usage() {
    let env = filled();
    for args in [
        &["get"][..],
        &["get", "confg"],
        &["gte", "config"],
        &["get", "config", "--format", "yaml"],
        &["get", "config", "extra"],
        &["set", "config", "x", "1", "--expect-revision", "-1"],
        &["set", "config", "x", "1", "--lock-timeout", "-1"],
        &["watch", "config", "--interval", "soon"],
        &["validate", "--file", "x"],
    ] {
        fails(&env, args, b"", 2, "invalid");
    }
}

#[test]
fn code_3_conflict() {
    let env = filled();
    env.ok(&["set", "config", "global.session_timeout", "60"]);
    let error = fails(&env, &["set", "config", "x", "1", "--expect-revision", "1"], b"", 3, "conflict");
    assert_eq!((&error["expected"], &error["revision"]), (&1.into(), &2.into()));
    assert_eq!(error["retryable"], true);
    fails(&env, &["append", "config", "x", "1", "--expect-revision", "1"], b"", 3, "conflict");
    fails(&env, &["delete", "config", ".", "--expect-revision", "3"], b"", 3, "conflict");
    env.ok(&["set", "config", "x", "1", "--expect-revision", "2"]);
}

#[test]
fn code_4_nothing_there() {
    let env = filled();
    for args in [
        &["get", "sprints"][..],
        &["get", "config", "--field", "global.nothing"],
        &["get", "epics", "--field", "epics[id=epic-009]"],
        &["get", "epics", "--field", "epics[3]"],
        &["delete", "epics", "epics[id=epic-009]"],
        &["delete", "sprints", "x"],
        &["delete", "sprints", "."],
        &["set", "epics", "epics[id=epic-009].status", "\"pending\""],
        &["history", "sprints"],
        &["restore", "epics", "--revision", "9"],
        &["validate", "sprints"],
        &["validate", "--file", "nothing.json", "--as", "config"],
    ] {
        fails(&env, args, b"", 4, "not_found");
    }
}

#[test]
fn code_5_busy() {
    let env = filled();
    let lock = File::open(env.root().join(SHARED_LOCK)).unwrap();
    lock.lock().unwrap();
    let error = fails(&env, &["set", "config", "x", "1", "--lock-timeout", "0.2"], b"", 5, "busy");
    assert_eq!(error["retryable"], true);
    fails(&env, &["set", "config", "x", "1", "--lock-timeout", "0"], b"", 5, "busy");
    env.ok(&["get", "config"]);
    // Another room is another lock.
    env.ok(&["set", "epics", "x_note", "1", "--lock-timeout", "0.2"]);
    drop(lock);
    env.ok(&["set", "config", "x", "1", "--lock-timeout", "0.2"]);
}

#[test]
fn code_6_a_file_where_a_directory_should_be() {
    let env = filled();
    env.write("project/.coordination", "a file");
    for args in [&["set", "queue", "x", "1"][..], &["get", "queue"]] {
        let error = fails(&env, args, b"", 6, "io");
        assert!(error["message"].as_str().unwrap().contains(".coordination"), "{error}");
    }
}

#[test]
fn code_6_a_full_disk() {
    let env = filled();
    // A limit on the size of files is a full disk that needs no mounting.
    let limited = |args: &str| env.sh(&format!("trap '' XFSZ; ulimit -f 1; anthill {args}"));
    let value = format!("'\"{}\"'", "x".repeat(4000));
    let before = env.bytes();
    for args in [format!("set config x {value}"), format!("set epics x {value}")] {
        let ran = limited(&args);
        refused(&ran, &[&args], 6);
        let error = limited(&format!("{args} --json")).json()["error"].take();
        assert_eq!((&error["code"], &error["indeterminate"]), (&"io".into(), &false.into()));
        assert!(error["path"].as_str().unwrap().contains("/.claude/"), "{error}");
    }
    assert!(env.bytes() == before, "a failed write changed something");
    env.ok(&["set", "config", "x", "1"]);
    env.ok(&["doctor"]);
}

#[test]
fn code_6_nowhere_to_print() {
    let env = filled();
    let ran = env.sh("anthill get config > /dev/full");
    assert_eq!(ran.code, 6, "{}", ran.shown());
    assert!(ran.stderr.contains("stdout"), "{}", ran.shown());
    // A change that cannot be told has still happened, and the error must say so somewhere.
    let ran = env.sh("anthill set config x 1 --json > /dev/full");
    assert_eq!(ran.code, 6, "{}", ran.shown());
    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["error"]["indeterminate"], true, "{error}");
    env.ok(&["get", "config", "--field", "x"]);
    // Whoever closes the pipe has seen enough.
    assert_eq!(env.sh("anthill schema | true").code, 0);
}

#[test]
fn code_7_damaged() {
    let env = filled();
    let whole = env.read(CONFIG);
    env.write(CONFIG, &whole[..whole.len() / 2]);
    for args in [
        &["get", "config"][..],
        &["set", "config", "x", "1"],
        &["append", "config", "x", "1"],
        &["delete", "config", "global"],
        &["delete", "config", "."],
        &["undo", "config"],
        &["restore", "config", "--revision", "1"],
        &["watch", "config"],
        &["get", "epics"],
    ] {
        let error = fails(&env, args, b"", 7, "damaged");
        assert!(error["path"].as_str().unwrap().ends_with("config.json"), "{args:?} {error}");
        assert!(error["line"].is_u64() && error["column"].is_u64(), "{args:?} {error}");
    }
    let before = env.bytes();
    assert_eq!(env.run(&["validate"]).code, 7);
    assert_eq!(env.run(&["doctor"]).code, 7);
    assert!(env.bytes() == before, "looking changed something");
}

#[test]
fn code_8_newer_format() {
    let env = filled();
    let newer = env.read_text(CONFIG).replace("\"2.0.0\"", "\"3.0.0\"");
    env.write(CONFIG, newer);
    env.ok(&["get", "config"]);
    for args in [&["set", "config", "x", "1"][..], &["delete", "config", "."], &["undo", "config"]] {
        fails(&env, args, b"", 8, "unsupported");
    }
    assert_eq!(env.run(&["doctor"]).code, 8);
}

#[test]
fn code_8_no_document_is_made_newer_than_ourselves() {
    let env = filled();
    fails(&env, &["set", "config", "version", "\"9.0.0\""], b"", 8, "unsupported");
    env.ok(&["set", "config", "version", "\"2.1.0\""]);
}

#[test]
fn code_8_unsupported_place() {
    let env = filled();
    fails(&env, &["get", "config", "--store", "postgres://localhost/x"], b"", 8, "unsupported");
    let elsewhere = env.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, env.project().join(".coordination")).unwrap();
    fails(&env, &["set", "queue", "x", "1"], b"", 8, "unsupported");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "the link was followed");
    symlink(&elsewhere, env.home().join("sessions")).unwrap();
    fails(&env, &["set", "session", "x", "1", "--session-id", "s1"], b"", 8, "unsupported");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "the link was followed");
}
