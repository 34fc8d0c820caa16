//! What hooks keep, from the outside: errors and their retries, backups, results of agents, figures, cleaning up.

use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use crate::env;
use crate::exit_codes::fails;
use crate::lines::{json_of, ok, refused, words};

const STATE: &str = "project/.claude/state";
const LOOP_STATE: &str = "project/.claude/state/loop/LOOP_STATE.md";
const WORKFLOW_VIEW: &str = "project/.claude/workflow_state_system.md";

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
    assert_eq!((&error["escalated_to"], error.get("work_item")), (&json!("user"), None), "no loop, no item");
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
fn what_a_message_says_about_waiting_counts() {
    let env = env();
    for (message, class, next) in [
        ("429 Too Many Requests\nRetry-After: 7", "rate_limit", "2026-01-01T10:00:07.000Z"),
        ("503 Service Unavailable (retry-after: 90)", "external", "2026-01-01T10:01:30.000Z"),
        ("Rate limit reached. Please try again in 20s.", "rate_limit", "2026-01-01T10:00:20.000Z"),
        ("You've hit your limit · resets 3pm", "rate_limit", "2026-01-01T15:00:00.000Z"),
        ("Claude AI usage limit reached|1767265200", "rate_limit", "2026-01-01T11:00:00.000Z"),
        ("429 Too Many Requests", "rate_limit", "2026-01-01T10:01:00.000Z"),
    ] {
        let error = at(&env, "10:00:00", &["error", "record", "--message", message]);
        assert_eq!(
            (&error["classification"], &error["next_retry"]),
            (&json!(class), &json!(next)),
            "{message}"
        );
    }
    let said = ["error", "record", "--message", "Retry-After: 7 (429)", "--retry-after", "3"];
    assert_eq!(
        at(&env, "10:00:00", &said)["next_retry"],
        "2026-01-01T10:00:03.000Z",
        "who says it knows better"
    );
    for message in ["Invalid API key · Please run /login", "Credit balance is too low"] {
        let error = env.json(&["error", "record", "--message", message]);
        assert_eq!(
            (&error["classification"], &error["escalated_to"]),
            (&json!("permission"), &json!("user"))
        );
    }
}

#[test]
fn without_a_loop_nothing_is_handed_to_its_queue() {
    let env = env();
    let told = env.ok(&["error", "record", "--message", "SyntaxError: Unexpected token }"]);
    assert!(told.stdout.starts_with("Escalated to the user (syntax): "), "{}", told.shown());
    let error = json_of(&env, "error list")[0].take();
    assert_eq!((&error["escalated_to"], error.get("work_item")), (&json!("user"), None));
    // Nor to one that is damaged; the error is recorded all the same.
    env.write(&format!("{STATE}/loop/work_queue.json"), "{oops");
    let error = env.json(&["error", "record", "--message", "ValidationError: no name"]);
    assert_eq!((&error["classification"], &error["escalated_to"]), (&json!("validation"), &json!("user")));
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
    let row = "| S0 | Fix syntax error: SyntaxError: Unexpected token } | PENDING |\n";
    assert!(env.read_text(LOOP_STATE).contains(row), "{}", env.read_text(LOOP_STATE));
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

// ---- compaction

const WORK_QUEUE: &str = r#"{"version": 1, "task": "auth", "iteration": 3, "consecutive_passes": 1,
    "items": [{"id": "work-001", "status": "done"}, {"id": "work-002", "status": "pending"}],
    "gate_results": {"lint": {"status": "pass"}}, "mine": 1e2}"#;

/// Returns an environment with a loop, an agent, a session and a workflow.
fn busy() -> TestEnv {
    let env = env();
    env.ok(&["set", "work_queue", ".", WORK_QUEUE]);
    env.ok(&[
        "append",
        "active_agents",
        "agents",
        r#"{"id": "agent-1", "type": "security-analyst", "status": "running", "task": "Audit"}"#,
    ]);
    env.ok(&["set", "current_session", "session_id", "\"s1\""]);
    env.ok(&["set", "workflow", "task", "\"build it\""]);
    env
}

fn backups(env: &TestEnv) -> Vec<String> {
    let found = env.sh(&format!("cd .. && ls {STATE}/compaction"));
    found.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_backup_has_the_sources_fields_and_the_claims_of_the_session() {
    let env = busy();
    ok(&env, "leader add-task first --id t1");
    ok(&env, "leader add-task second --id t2");
    let claimed = json_of(&env, "worker claim w1 --session-id s1");
    ok(&env, "worker claim w2 --session-id s2");
    let line = "compact backup --reason context_limit_approaching --context-tokens 180000 --files a b --session-id s1";
    let backup = json_of(&env, line);
    let file = backups(&env).remove(0);
    assert_eq!(backup, document(&env, &format!("compaction/{file}")), "--json prints what is stored");
    assert_eq!(file, "backup_20260101_000009.json");
    assert_eq!(
        (&backup["timestamp"], &backup["reason"]),
        (&json!("2026-01-01T00:00:09.000Z"), &json!("context_limit_approaching"))
    );
    assert_eq!(
        (&backup["context_tokens_before"], &backup["files_in_context"]),
        (&json!(180_000), &json!(["a", "b"]))
    );
    let kept = &backup["preserved"];
    assert_eq!(kept["work_queue"], document(&env, "loop/work_queue.json"));
    assert_eq!(kept["active_agents"], document(&env, "agents/active.json"));
    assert_eq!(kept["session"], document(&env, "session/current.json"));
    assert_eq!(kept["workflow"], document(&env, "workflow.json"));
    assert_eq!(kept["claims"], json!([claimed]), "its own, not those of others");
    assert_eq!(kept["loop_state"]["markdown"], env.read_text(LOOP_STATE));
    assert_eq!(kept["loop_state"]["task"], kept["work_queue"]["task"]);
    assert!(env.read_text(&format!("{STATE}/compaction/{file}")).contains("1e2"), "numbers stay as they are");
    ok(&env, "validate");
}

#[test]
fn the_last_three_backups_are_kept() {
    let env = busy();
    let made: Vec<_> = (0..5).map(|_| json_of(&env, "compact backup")["timestamp"].clone()).collect();
    assert_eq!(backups(&env).len(), 3);
    let list = json_of(&env, "compact list");
    let listed: Vec<_> = list.as_array().unwrap().iter().map(|backup| backup["timestamp"].clone()).collect();
    assert_eq!(listed, [made[4].clone(), made[3].clone(), made[2].clone()], "the newest first");
    let log = env.json(&["log"]);
    let last = log.as_array().unwrap().iter().rev().take(2);
    assert!(
        last.map(|line| &line["op"]).all(|op| op == "compact backup"),
        "deleted in the same commit: {log}"
    );
    // Several in one second have names of their own, in order.
    for _ in 0..3 {
        at(&env, "12:00:00", &["compact", "backup"]);
    }
    let names =
        ["backup_20260101_120000.json", "backup_20260101_120000_002.json", "backup_20260101_120000_003.json"];
    assert_eq!(backups(&env), names);
    let told = ok(&env, "compact backup").shown();
    assert!(
        told.contains("Removed an old one: .claude/state/compaction/backup_20260101_120000.json"),
        "{told}"
    );
    let table = ok(&env, "compact list").stdout;
    assert!(table.contains("manual") && table.contains("loop_state, work_queue, active_agents"), "{table}");
    // What went can be got back.
    ok(&env, "undo backup --timestamp 20260101_120000");
    assert_eq!(backups(&env).len(), 4);
}

#[test]
fn backups_are_kept_per_session_and_no_name_is_used_twice() {
    let env = busy();
    let backup =
        |clock: &str, session: &str| at(&env, clock, &["compact", "backup", "--session-id", session]);
    backup("10:00:00", "a");
    for _ in 0..6 {
        backup("11:00:00", "b");
    }
    let names = backups(&env);
    let expected = ["100000", "110000_004", "110000_005", "110000_006"];
    assert_eq!(names, expected.map(|name| format!("backup_20260101_{name}.json")));
    // Each session is given its own back; one that has none, the newest.
    let restored = |session: &str| {
        at(&env, "12:00:00", &["compact", "restore", "--session-id", session])["backup"].take()
    };
    assert_eq!((restored("a"), restored("c")), (json!("20260101_100000"), json!("20260101_110000_006")));
    assert!(ok(&env, "compact list").stdout.contains("session"));
    ok(&env, "clean");
    assert_eq!(backups(&env).len(), 4, "cleaning up leaves each session its last ones");
    // There is an end to it.
    for session in 0..70 {
        backup("13:00:00", &format!("s{session}"));
    }
    assert_eq!(backups(&env).len(), 60);
    ok(&env, "validate");
}

#[test]
fn a_restore_tells_first_and_then_writes_in_one_commit() {
    let env = busy();
    let before = document(&env, "loop/work_queue.json");
    let view = env.read_text(LOOP_STATE).replace("auth", "auth, by hand");
    env.write(LOOP_STATE, &view);
    ok(&env, "compact backup");
    ok(&env, "delete work_queue .");
    assert!(!env.root().join(LOOP_STATE).exists(), "a view of nothing goes too");
    env.ok(&["set", "workflow", "task", "\"other\""]);
    let bytes = env.bytes();
    let told = ok(&env, "compact restore").shown();
    let expected = "work_queue: is missing, would be written back\nactive_agents: the same\ncurrent_session: the same\nworkflow: differs, would be written back\n--- stderr\nnothing was changed; next: anthill compact restore 20260101_000005 --apply\n[exit 0]\n";
    assert_eq!(told, expected, "\n{told}");
    let json = json_of(&env, "compact restore 2026-01-01T00:00:05Z");
    assert_eq!(
        (&json["applied"], &json["documents"][0]),
        (&json!(false), &json!({"kind": "work_queue", "found": "missing", "restored": false}))
    );
    assert!(env.bytes() == bytes, "nothing was changed");
    let json = json_of(&env, "compact restore 20260101_000005 --apply");
    assert_eq!(json["documents"][3], json!({"kind": "workflow", "found": "differs", "restored": true}));
    let mut after = document(&env, "loop/work_queue.json");
    assert_eq!(after["revision"], 3, "a revision never goes back");
    after["revision"] = before["revision"].clone();
    assert_eq!(after, before);
    assert_eq!(document(&env, "workflow.json")["task"], "build it");
    assert!(env.read_text(WORKFLOW_VIEW).contains("# Workflow Status: build it\n"));
    assert_eq!(env.read_text(LOOP_STATE), view);
    let bytes = env.bytes();
    let again = ok(&env, "compact restore --apply").shown();
    assert!(again.contains("all is as in: 20260101_000005") && env.bytes() == bytes, "{again}");
    ok(&env, "undo work_queue");
    assert!(json_of(&env, "compact restore")["documents"][0]["found"] == "missing");
}

#[test]
fn what_compact_refuses() {
    let env = env();
    assert_eq!(json_of(&env, "compact list"), json!([]));
    let error = refused(&env, "compact backup", 4);
    assert!(error["hint"].as_str().unwrap().contains("anthill loop start"), "{error}");
    let error = refused(&env, "compact restore", 4);
    assert!(error["hint"].as_str().unwrap().contains("anthill compact backup"), "{error}");
    env.ok(&["set", "workflow", "task", "\"x\""]);
    ok(&env, "compact backup");
    for line in [
        "compact restore 20990101_000000",
        "compact restore ../../x",
        "compact restore 2099-01-01T00:00:00Z --apply",
    ] {
        refused(&env, line, 4);
    }
    for line in ["compact", "compact backup x", "compact backup --context-tokens many", "compact restore a b"]
    {
        assert_eq!(env.run(&words(line)).code, 2, "{line}");
    }
}

#[test]
fn a_damaged_document_does_not_stop_a_backup() {
    let env = busy();
    env.write(&format!("{STATE}/loop/work_queue.json"), "{oops");
    let ran = ok(&env, "compact backup");
    assert!(ran.stderr.contains("warning: work_queue is left out"), "{}", ran.shown());
    assert!(json_of(&env, "compact list")[0]["preserved"].get("work_queue").is_none());
    assert_eq!(env.read_text(&format!("{STATE}/loop/work_queue.json")), "{oops", "the bytes are kept");
    // Nor does it stop what others can be given back, nor a damaged backup the list.
    env.write(&format!("{STATE}/loop/work_queue.json"), WORK_QUEUE);
    ok(&env, "compact backup");
    env.write(&format!("{STATE}/loop/work_queue.json"), "{oops");
    env.ok(&["set", "workflow", "task", "\"other\""]);
    let restored = ok(&env, "compact restore --apply");
    assert!(restored.stdout.contains("work_queue: is damaged, stays as it is"), "{}", restored.shown());
    assert!(restored.stdout.contains("workflow: differed, written back"), "{}", restored.shown());
    let oldest = backups(&env).remove(0);
    env.write(&format!("{STATE}/compaction/{oldest}"), "{oops");
    let listed = ok(&env, "compact list");
    assert!(listed.stderr.contains("warning: ") && listed.stdout.lines().count() == 2, "{}", listed.shown());
}

// ---- agents

fn finding(severity: &str, title: &str, details: &str) -> Value {
    json!({"severity": severity, "category": "security", "title": title, "details": details, "recommendation": "fix"})
}

fn agent_result(env: &TestEnv, agent: &str, findings: &[Value]) {
    let result = json!({"agent_id": agent, "type": "analyst", "task": "Audit\u{1b}[2J", "status": "success",
        "findings": findings, "recommendations": ["do\nthis"]});
    env.ok(&["set", "agent_result", ".", &result.to_string(), "--agent-id", agent]);
}

#[test]
fn agents_are_listed_and_their_results_shown() {
    let env = busy();
    let agents = json_of(&env, "agents list");
    assert_eq!(agents, document(&env, "agents/active.json")["agents"], "as they are stored");
    assert_eq!(json_of(&env, "agents list --filter-status done"), json!([]));
    let table = ok(&env, "agents list").stdout;
    assert!(table.contains("agent-1  security-analyst  running"), "{table}");
    assert_eq!(json_of(&crate::env(), "agents list"), json!([]));
    agent_result(&env, "a1", &[finding("S1", "No rate limit", "login\u{202e}")]);
    assert_eq!(json_of(&env, "agents result a1"), document(&env, "agents/results/a1.json"));
    let shown = ok(&env, "agents result a1").stdout;
    harmless(&shown);
    assert!(
        shown.contains("a1 (analyst, success)")
            && shown.contains("recommends: do this")
            && shown.contains("No rate limit"),
        "{shown}"
    );
    refused(&env, "agents result a9", 4);
    refused(&env, "agents result ../a1", 2);
    refused(&env, "agents result", 2);
}

#[test]
fn findings_are_merged_the_worst_first_and_once() {
    let env = env();
    assert_eq!(json_of(&env, "agents merge"), json!([]));
    agent_result(
        &env,
        "a1",
        &[finding("S2", "slow", "x"), finding("S1", "leak", "x"), json!({"title": "no severity"})],
    );
    agent_result(
        &env,
        "a2",
        &[finding("S0", "leak", "x"), finding("S1", "leak", "elsewhere"), finding("S2", "slow", "x")],
    );
    agent_result(&env, "a3", &[]);
    let merged = json_of(&env, "agents merge");
    let found: Vec<_> = merged
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            (
                finding["severity"].as_str().unwrap_or("-"),
                finding["title"].as_str().unwrap(),
                finding["agent_ids"].to_string(),
            )
        })
        .collect();
    let expected = [
        ("S0", "leak", r#"["a1","a2"]"#),
        ("S1", "leak", r#"["a2"]"#),
        ("S2", "slow", r#"["a1","a2"]"#),
        ("-", "no severity", r#"["a1"]"#),
    ];
    assert_eq!(found, expected.map(|(severity, title, agents)| (severity, title, agents.to_owned())));
    let table = ok(&env, "agents merge").stdout;
    assert!(table.lines().nth(1).unwrap().trim_start().starts_with("S0"), "{table}");
    env.write(&format!("{STATE}/agents/results/a2.json"), "{oops");
    let ran = ok(&env, "agents merge --json");
    assert_eq!(ran.json().as_array().unwrap().len(), 3, "the others are told all the same");
    assert!(ran.stderr.contains("warning: "), "{}", ran.shown());
}

// ---- metrics

#[test]
fn metrics_are_a_table_and_curves() {
    let env = env();
    let hint = refused(&env, "metrics", 4)["hint"].take();
    assert!(hint.as_str().unwrap().contains("anthill init"), "{hint}");
    for (number, minutes) in [(1, 10), (2, 40), (3, 80)] {
        let session = json!({"session_id": format!("s{number}"), "date": "2026-01-29", "duration_minutes": minutes,
            "commands": {"loop": 1, "fix": 3}, "agents": {"spawned": 2, "completed": 1, "failed": 0},
            "quality": {"issues_found": 5, "issues_fixed": 4, "coverage_delta": "+8%"},
            "errors": {"total": number, "recovered": 1, "escalated": 0}});
        env.ok(&["append", "metrics", "sessions", &session.to_string()]);
    }
    assert_eq!(json_of(&env, "metrics"), document(&env, "session/metrics.json"));
    let shown = ok(&env, "metrics --last 2").stdout;
    let expected = "
 SESSION_ID  DATE        MINUTES  COMMANDS  AGENTS  ISSUES_FIXED  COVERAGE  ERRORS_RECOVERED
 s2          2026-01-29  40       4         1/2     4/5           +8%       1/2
 s3          2026-01-29  80       4         1/2     4/5           +8%       1/3

minutes  ▂▅█  10 to 80
agents   ███  2 to 2
issues   ███  5 to 5
errors   ▃▆█  1 to 3
";
    assert_eq!(shown, expected.trim_start_matches('\n'), "\n{shown}");
    refused(&env, "metrics --last 0", 2);
}

// ---- cleaning up

/// Returns an environment with something of everything.
fn littered() -> TestEnv {
    let env = busy();
    agent_result(&env, "a1", &[]);
    ok(&env, "error record --message x");
    ok(&env, "compact backup");
    env.ok(&["append", "metrics", "sessions", r#"{"session_id": "s0"}"#]);
    env.write(&format!("{STATE}/agents/results/notes.txt"), "mine");
    env
}

fn removed(env: &TestEnv, line: &str) -> Vec<String> {
    let removed = json_of(env, line)["removed"].take();
    let files = removed.as_array().unwrap().iter().map(|file| file.as_str().unwrap());
    files.map(|file| file.strip_prefix(".claude/state/").unwrap_or(file).to_owned()).collect()
}

#[test]
fn cleaning_follows_the_sources_procedures() {
    let cases: [(&str, &[&str]); 5] = [
        ("clean", &["agents/results/a1.json", "errors/classified.json"]),
        ("clean --loop", &["loop/work_queue.json", "loop/LOOP_STATE.md"]),
        ("clean --agents", &["agents/active.json", "agents/results/a1.json"]),
        (
            "clean --loop --agents",
            &["agents/active.json", "agents/results/a1.json", "loop/work_queue.json", "loop/LOOP_STATE.md"],
        ),
        (
            "clean --all",
            &[
                "agents/active.json",
                "agents/results/a1.json",
                "compaction/backup_20260101_000007.json",
                "errors/classified.json",
                "loop/work_queue.json",
                "session/current.json",
                "session/metrics.json",
                "workflow.json",
                "loop/LOOP_STATE.md",
                ".claude/workflow_state_system.md",
            ],
        ),
    ];
    for (line, expected) in cases {
        let env = littered();
        let before = env.bytes();
        assert_eq!(removed(&env, &format!("{line} --dry-run")), expected, "{line}");
        assert!(env.bytes() == before, "{line} --dry-run changes nothing");
        assert_eq!(removed(&env, line), expected, "{line}");
        for file in expected {
            assert!(!env.project().join(".claude/state").join(file).exists(), "{line}: {file}");
        }
        let shown = !expected.contains(&"loop/LOOP_STATE.md");
        assert_eq!(env.root().join(LOOP_STATE).exists(), shown, "{line}");
        assert_eq!(env.read_text(&format!("{STATE}/agents/results/notes.txt")), "mine", "{line}");
        let log = env.json(&["log"]);
        let ops = log.as_array().unwrap().iter().filter(|line| line["op"] == "clean").count();
        let documents = expected.iter().filter(|file| file.ends_with(".json")).count();
        assert_eq!(ops, documents, "one line per document: {line}");
        let before = env.bytes();
        assert_eq!(removed(&env, line), [""; 0], "{line} again");
        assert!(env.bytes() == before, "{line} again changes nothing");
        ok(&env, "validate");
    }
}

#[test]
fn views_follow_every_change_whoever_makes_it() {
    let env = busy();
    let text = env.read_text(LOOP_STATE);
    let expected = "\
# Loop State

## Meta
- Started: unknown
- Current Iteration: 3
- Status: IN_PROGRESS
- Task: \"auth\"

## Quality Gates
| Gate | Status | Last Check | Issues |
|------|--------|------------|--------|
| Lint | PASS | - | 0 |

## Work Queue
| Priority | Item | Status |
|----------|------|--------|
|  | work-001 | DONE |
|  | work-002 | PENDING |

## History
";
    assert_eq!(text, expected, "\n{text}");
    env.ok(&["append", "work_queue", "items", r#"{"id": "w3", "priority": "S0", "title": "a|b\nc"}"#]);
    assert!(env.read_text(LOOP_STATE).contains("| S0 | a\\|b c | PENDING |\n"));
    ok(&env, "undo work_queue");
    assert_eq!(env.read_text(LOOP_STATE), text);
    ok(&env, "delete work_queue items[0]");
    assert!(!env.read_text(LOOP_STATE).contains("work-001"));
    ok(&env, "restore work_queue --revision 1");
    assert_eq!(env.read_text(LOOP_STATE), text);
    env.ok(&["set", "workflow", "phases", r#"[{"id": "p", "title": "Plan", "status": "active"}]"#]);
    assert!(env.read_text(WORKFLOW_VIEW).contains("- [ ] Phase 0: Plan\n"));
    ok(&env, "delete workflow .");
    assert!(!env.root().join(WORKFLOW_VIEW).exists());
    ok(&env, "clean --loop");
    ok(&env, "undo work_queue");
    assert_eq!(env.read_text(LOOP_STATE), text);
}

#[test]
fn what_was_cleaned_can_be_taken_back() {
    let env = littered();
    let errors = document(&env, "errors/classified.json")["errors"].take();
    let told = ok(&env, "clean").shown();
    let expected = "\
Removed: .claude/state/agents/results/a1.json
Removed: .claude/state/errors/classified.json
--- stderr
take it back: anthill undo KIND   (agent_result --agent-id ID, errors)
[exit 0]
";
    assert_eq!(told, expected, "\n{told}");
    ok(&env, "undo errors");
    ok(&env, "undo agent_result --agent-id a1");
    assert_eq!(json_of(&env, "error list"), errors);
    ok(&env, "agents result a1");
    let clean = crate::env();
    let before = clean.bytes();
    assert_eq!(ok(&clean, "clean --all").shown(), "--- stderr\nthere is nothing to remove\n[exit 0]\n");
    assert!(clean.bytes() == before, "a project without state does not get any");
    assert_eq!(clean.run(&["clean", "everything"]).code, 2);
}

#[test]
fn cleaning_keeps_what_is_damaged_and_the_last_backups() {
    let env = littered();
    env.write(&format!("{STATE}/errors/classified.json"), "{oops");
    for day in ["01", "02", "03", "04"] {
        let backup = format!("{STATE}/compaction/backup_202501{day}_000000.json");
        env.write(&backup, r#"{"timestamp": "2025-01-01T00:00:00Z", "preserved": {}}"#);
    }
    let ran = ok(&env, "clean --json");
    let expected = json!([
        ".claude/state/agents/results/a1.json",
        ".claude/state/compaction/backup_20250101_000000.json",
        ".claude/state/compaction/backup_20250102_000000.json",
    ]);
    assert_eq!(ran.json()["removed"], expected);
    assert!(ran.stderr.contains("warning: it stays as it is"), "{}", ran.shown());
    assert_eq!(env.read_text(&format!("{STATE}/errors/classified.json")), "{oops");
    assert_eq!(backups(&env).len(), 3);
}
