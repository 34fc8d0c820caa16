//! What hooks keep, from the outside: errors and their retries, backups, results of agents, figures, cleaning up.

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::env;
use crate::exit_codes::fails;

const STATE: &str = "project/.claude/state";

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[track_caller]
fn ok(env: &TestEnv, line: &str) -> Ran {
    env.ok(&words(line))
}

#[track_caller]
fn json_of(env: &TestEnv, line: &str) -> Value {
    env.json(&words(line))
}

#[track_caller]
fn refused(env: &TestEnv, line: &str, code: i32) -> Value {
    let word = ["", "refused", "invalid", "conflict", "not_found", "", "", "damaged"][code as usize];
    fails(env, &words(line), b"", code, word)
}

/// Runs a command with `--json` at a time of the first day and insists on success.
#[track_caller]
fn at(env: &TestEnv, clock: &str, args: &[&str]) -> Value {
    let mut command = env.command(&[args, &["--json"]].concat());
    let ran = env.finish(command.env("ANTHILL_NOW", format!("2026-01-01T{clock}Z")), b"");
    assert_eq!(ran.code, 0, "{args:?}\n{}", ran.shown());
    ran.json()
}

fn document(env: &TestEnv, file: &str) -> Value {
    serde_json::from_str(&env.read_text(&format!("{STATE}/{file}"))).unwrap()
}

fn summary(env: &TestEnv) -> Value {
    document(env, "errors/classified.json")["summary"].take()
}

/// Insists that nothing in a text can steer a terminal.
#[track_caller]
fn harmless(text: &str) {
    let steers = |next: char| next.is_control() && next != '\n' || next == '\u{202e}';
    assert!(!text.contains(steers), "{text:?}");
}

// ---- errors

#[test]
fn an_error_is_stored_with_the_sources_fields() {
    let env = env();
    let error = env.json(&[
        "error",
        "record",
        "--message",
        "Connection timeout",
        "--tool",
        "WebFetch",
        "--file",
        "src/a.ts",
        "--agent-id",
        "agent-1",
        "--context",
        r#"{"url": "https://api.example.com"}"#,
    ]);
    let id = error["id"].as_str().unwrap();
    assert!(id.starts_with("error-20260101000001-"), "{id}");
    let expected = json!({
        "id": id, "timestamp": "2026-01-01T00:00:01.000Z", "classification": "network", "tool": "WebFetch",
        "message": "Connection timeout", "retry_count": 0, "max_retries": 3, "status": "pending_retry",
        "next_retry": "2026-01-01T00:00:01.000Z",
        "context": {"url": "https://api.example.com", "file": "src/a.ts", "agent_id": "agent-1"},
    });
    assert_eq!(error, expected);
    let names: Vec<_> = error.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names[..4], ["id", "timestamp", "classification", "tool"]);
    let stored = document(&env, "errors/classified.json");
    assert_eq!(stored["errors"], json!([error]), "--json prints what is stored");
    assert_eq!(stored["summary"], json!({"total": 1, "recovered": 0, "pending": 1, "escalated": 0}));
    ok(&env, "validate errors");
}

#[test]
fn an_error_recorded_again_uses_up_its_retries() {
    let env = env();
    let record = |clock: &str| at(&env, clock, &["error", "record", "--message", "socket hang up"]);
    let steps = [
        ("10:00:00", 0, "pending_retry", json!("2026-01-01T10:00:00.000Z")),
        ("10:01:00", 1, "pending_retry", json!("2026-01-01T10:01:02.000Z")),
        ("10:02:00", 2, "pending_retry", json!("2026-01-01T10:02:04.000Z")),
        ("10:03:00", 3, "escalated", Value::Null),
        ("10:04:00", 3, "escalated", Value::Null),
    ];
    for (clock, retries, status, next) in steps {
        let error = record(clock);
        let found = (&error["retry_count"], &error["status"], &error["next_retry"]);
        assert_eq!(found, (&json!(retries), &json!(status), &next), "{clock}");
        assert_eq!(error["timestamp"], "2026-01-01T10:00:00.000Z");
        assert_eq!(summary(&env)["total"], 1, "it is one error");
    }
    let error = record("10:05:00");
    assert_eq!(
        (&error["escalated_to"], error.get("work_item")),
        (&json!("work_queue"), None),
        "no loop, no item"
    );
    assert_eq!(summary(&env), json!({"total": 1, "recovered": 0, "pending": 0, "escalated": 1}));
    let other = at(&env, "10:06:00", &["error", "record", "--message", "socket hang up", "--tool", "Bash"]);
    assert_eq!(other["retry_count"], 0, "another tool, another error");
}

#[test]
fn classes_decide_how_often_and_when() {
    let env = env();
    let table = [
        ("network", 3, "pending_retry", "10:00:00"),
        ("rate_limit", 3, "pending_retry", "10:01:00"),
        ("timeout", 2, "pending_retry", "10:00:00"),
        ("syntax", 0, "escalated", ""),
        ("permission", 0, "escalated", ""),
        ("resource", 2, "pending_retry", "10:00:30"),
        ("validation", 0, "escalated", ""),
        ("external", 2, "pending_retry", "10:00:00"),
        ("unknown", 1, "pending_retry", "10:00:00"),
    ];
    for (class, retries, status, next) in table {
        let error = at(&env, "10:00:00", &["error", "record", "--class", class, "--message", "x"]);
        let next = if next.is_empty() { Value::Null } else { format!("2026-01-01T{next}.000Z").into() };
        let found = (&error["max_retries"], &error["status"], &error["next_retry"]);
        assert_eq!(found, (&json!(retries), &json!(status), &next), "{class}");
    }
    assert_eq!(summary(&env), json!({"total": 9, "recovered": 0, "pending": 6, "escalated": 3}));
    let told = ["error", "record", "--class", "rate_limit", "--message", "y", "--retry-after", "7.5"];
    assert_eq!(at(&env, "10:00:00", &told)["next_retry"], "2026-01-01T10:00:07.500Z");
    let due = |clock: &str| {
        let due = at(&env, clock, &["error", "due"]);
        let classes = due.as_array().unwrap().iter().map(|error| error["classification"].clone());
        classes.collect::<Vec<_>>()
    };
    assert_eq!(due("09:59:59"), [""; 0]);
    assert_eq!(due("10:00:00"), ["network", "timeout", "external", "unknown"]);
    assert_eq!(due("10:00:30"), ["network", "timeout", "external", "unknown", "rate_limit", "resource"]);
    assert_eq!(due("10:01:00").len(), 7);
}

#[test]
fn resolving_is_repeatable_and_the_same_error_later_is_a_new_one() {
    let env = env();
    let record = ["error", "record", "--message", "timed out"];
    let first = env.json(&record);
    let id = first["id"].as_str().unwrap().to_owned();
    let resolved = json_of(&env, &format!("error resolve {id}"));
    assert_eq!((&resolved["status"], &resolved["next_retry"]), (&json!("recovered"), &Value::Null));
    assert_eq!(summary(&env), json!({"total": 1, "recovered": 1, "pending": 0, "escalated": 0}));
    let before = env.bytes();
    assert_eq!(json_of(&env, &format!("error resolve {id}")), resolved);
    assert_eq!(ok(&env, &format!("error resolve {id}")).stdout, format!("Resolved already: {id}\n"));
    assert!(env.bytes() == before, "nothing was written");
    assert_ne!(env.json(&record)["id"], id);
    assert_eq!(summary(&env), json!({"total": 2, "recovered": 1, "pending": 1, "escalated": 0}));
    let list = |status: &str| {
        json_of(&env, &format!("error list --filter-status {status}")).as_array().unwrap().len()
    };
    assert_eq!((list("recovered"), list("pending_retry"), list("pending"), list("escalated")), (1, 1, 1, 0));
    let error = refused(&env, "error resolve error-nope", 4);
    assert!(error["hint"].as_str().unwrap().contains("anthill error list"), "{error}");
    refused(&env, &format!("error resolve {id} --expect-revision 9"), 3);
}

#[test]
fn a_syntax_error_becomes_work_of_the_loop() {
    let env = env();
    env.ok(&[
        "set",
        "work_queue",
        ".",
        r#"{"version": 1, "task": "auth", "iteration": 3, "items": [{"id": "work-001"}]}"#,
    ]);
    let record = ["error", "record", "--message", "SyntaxError: Unexpected token }\nat a.ts"];
    let error = env.json(&record);
    assert_eq!((&error["status"], &error["work_item"]), (&json!("escalated"), &json!("work-002")));
    let again = env.json(&record);
    assert_eq!(again["work_item"], "work-002");
    let items = document(&env, "loop/work_queue.json")["items"].take();
    assert_eq!(items.as_array().unwrap().len(), 2, "once");
    let expected = json!({
        "id": "work-002", "priority": "S0", "title": "Fix syntax error: SyntaxError: Unexpected token }",
        "description": "SyntaxError: Unexpected token }\nat a.ts", "status": "pending", "added_iteration": 3,
        "completed_iteration": null, "error_id": error["id"],
    });
    assert_eq!(items[1], expected);
    ok(&env, "validate");
}

#[test]
fn errors_come_from_stdin_too() {
    let env = env();
    let input =
        br#"{"tool": "Bash", "message": "No space left on device", "context": {"n": 1e2}, "file": "a"}"#;
    let ran = env.run_with_input(&["error", "record", "-", "--json"], input);
    assert_eq!((ran.code, &ran.json()["classification"]), (0, &json!("resource")), "{}", ran.shown());
    assert_eq!(ran.json()["context"]["file"], "a");
    assert!(ran.stdout.contains("1e2"), "numbers stay as they are: {}", ran.stdout);
    let wrong: [&[u8]; 8] = [
        b"{}",
        b"[]",
        b"nonsense",
        br#"{"message": 1}"#,
        br#"{"message": "x", "classification": "odd"}"#,
        br#"{"message": "x", "context": []}"#,
        br#"{"message": "x", "retry_after": "soon"}"#,
        br#"{"message": "x", "colour": "red"}"#,
    ];
    for input in wrong {
        fails(&env, &["error", "record", "-"], input, 2, "invalid");
    }
}

#[test]
fn wrong_errors_are_refused() {
    let env = env();
    ok(&env, "error record --message x");
    for line in [
        "error record",
        "error record x",
        "error record - --message x",
        "error record --message x --class odd",
        "error record --message x --context []",
        "error record --message x --retry-after -1",
        "error list --filter-status done",
        "error resolve",
    ] {
        refused(&env, line, 2);
    }
    fails(&env, &["error", "record", "--message", "  "], b"", 2, "invalid");
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(5000));
    fails(&env, &["error", "record", "--message", "x", "--context", &long], b"", 2, "invalid");
    refused(&env, "error record --message x --expect-revision 7", 3);
}

#[test]
fn errors_are_shown_to_people() {
    let env = env();
    assert_eq!(json_of(&env, "error list"), json!([]));
    assert_eq!(json_of(&env, "error due"), json!([]));
    assert_eq!(
        ok(&env, "error due").shown(),
        "--- stderr\nnothing is due; see all: anthill error list\n[exit 0]\n"
    );
    let told =
        env.ok(&["error", "record", "--message", "\u{1b}[2J\u{202e}429\ntwo", "--class", "rate_limit"]);
    let id = told.stdout.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(told.stdout, format!("Recorded (rate_limit, 3 retries): {id}\n"));
    assert_eq!(
        told.stderr,
        format!("next: try again at 2026-01-01T00:01:04.000Z; if that works: anthill error resolve {id}\n")
    );
    let table = ok(&env, "error list").stdout;
    harmless(&table);
    assert!(table.contains("0/3") && table.contains(&id) && table.lines().count() == 2, "{table}");
    harmless(&ok(&env, "error list --json").stdout);
    let denied = env.ok(&["error", "record", "--message", "permission denied"]);
    assert!(denied.stdout.starts_with("Escalated to the user (permission): error-"), "{}", denied.shown());
}

#[test]
fn a_sources_own_error_counts_on() {
    let env = env();
    env.write(
        &format!("{STATE}/errors/classified.json"),
        r#"{"errors": [{"id": "error-uuid-001", "timestamp": "2026-01-29T10:30:00Z", "classification": "network",
            "tool": "WebFetch", "message": "Connection timeout", "retry_count": 1, "max_retries": 3,
            "status": "pending_retry", "next_retry": "2026-01-29T10:30:30Z", "context": {"url": "u"}, "mine": 1}],
            "summary": {"total": 5, "recovered": 3, "pending": 1, "escalated": 1}}"#,
    );
    assert_eq!(json_of(&env, "error due"), json!([]), "its time has not come");
    let error = env.json(&[
        "error",
        "record",
        "--message",
        "Connection timeout",
        "--tool",
        "WebFetch",
        "--context",
        r#"{"url": "u"}"#,
    ]);
    assert_eq!(
        (&error["id"], &error["retry_count"], &error["mine"]),
        (&json!("error-uuid-001"), &json!(2), &json!(1))
    );
    assert_eq!(summary(&env)["total"], 1, "the summary is of what is listed");
    ok(&env, "error resolve error-uuid-001");
}
