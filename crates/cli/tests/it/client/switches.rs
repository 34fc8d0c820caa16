//! What is off unless the configuration turns it on: the guard of edits, and the gate at a stop. And errors.

use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use super::{Client, answer, state};
use crate::env;
use crate::lines::ok;

fn switch_on(env: &TestEnv, feature: &str) {
    env.ok(&["set", "config", &format!("features.{feature}"), "true"]);
}

/// Asks whether a file may be edited; returns why not.
#[track_caller]
fn denied(client: &Client<'_>, file: &str) -> String {
    let answer = client.send("PreToolUse", json!({"tool_name": "Edit", "tool_input": {"file_path": file}}));
    let specific = &answer["hookSpecificOutput"];
    let decision = specific["permissionDecision"].as_str();
    assert!(matches!(decision, None | Some("deny")), "{answer}");
    specific["permissionDecisionReason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_guard_keeps_others_off_the_files_of_a_task() {
    let env = env();
    env.ok(&[
        "leader",
        "add-task",
        "Add up \u{1b}[31mthe cart",
        "--id",
        "t1",
        "--files",
        "api/",
        "docs/*.md",
    ]);
    let (owner, other) = (Client::start(&env, "owner"), Client::start(&env, "other"));
    ok(&env, "worker claim w1 --session-id owner");
    let absolute = env.project().join("api/cart.rs").display().to_string();
    assert_eq!(denied(&other, &absolute), "", "it is off");
    switch_on(&env, "enable_edit_guard");
    let own = env.project().join(".claude/worktrees/agent-a1/api/cart.rs").display().to_string();
    for file in [&absolute, "api/cart.rs", "./api/cart.rs", "docs/../api/cart.rs", "docs/a.md", &own] {
        let reason = denied(&other, file);
        assert!(
            reason.contains("t1") && reason.contains("w1") && reason.contains("the cart"),
            "{file}: {reason}"
        );
        assert!(!reason.contains('\u{1b}'), "{reason:?}");
        assert_eq!(denied(&owner, file), "", "{file}");
    }
    for file in ["src/main.rs", "apiary.rs", "/elsewhere/api/cart.rs"] {
        assert_eq!(denied(&other, file), "", "{file}");
    }
    let read = json!({"tool_name": "Read", "tool_input": {"file_path": "api/cart.rs"}});
    assert_eq!(other.send("PreToolUse", read), Value::Null);
    let patch = "*** Begin Patch\n*** Add File: new.rs\n*** Update File: api/cart.rs\n*** End Patch";
    let answer = other.send(
        "PreToolUse",
        json!({"tool_name": "apply_patch", "tool_input": {"command": patch}, "turn_id": "1"}),
    );
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{answer}");
    let answer =
        other.send("BeforeTool", json!({"tool_name": "write_file", "tool_input": {"file_path": "api/x"}}));
    assert_eq!((&answer["decision"], answer.get("hookSpecificOutput")), (&json!("deny"), None), "{answer}");
    ok(&env, "worker complete w1 t1 done --session-id owner");
    assert_eq!(denied(&other, "api/cart.rs"), "");
}

/// Codex's models apply patches by their shell, wherever that goes.
#[test]
fn the_guard_reads_patches_in_a_line_of_shell() {
    let env = env();
    switch_on(&env, "enable_edit_guard");
    env.ok(&["leader", "add-task", "Add up", "--id", "t1", "--files", "api/cart.rs"]);
    let (owner, other) = (Client::start(&env, "owner"), Client::start(&env, "other"));
    ok(&env, "worker claim w1 --session-id owner");
    let decision = |client: &Client<'_>, cwd: &str, line: &str| {
        let fields =
            json!({"tool_name": "Bash", "tool_input": {"command": line}, "cwd": env.project().join(cwd)});
        client.send("PreToolUse", fields)["hookSpecificOutput"]["permissionDecision"].clone()
    };
    let patch = |file: &str| {
        format!("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: {file}\n-a\n+b\n*** End Patch\nEOF")
    };
    let inside = format!("cd api && {}", patch("cart.rs"));
    for (cwd, line) in [("", &patch("api/cart.rs")), ("", &inside), ("api", &patch("cart.rs"))] {
        assert_eq!(decision(&other, cwd, line), "deny", "{cwd} {line}");
        assert_eq!(decision(&owner, cwd, line), Value::Null, "{cwd} {line}");
    }
    for (cwd, line) in
        [("", &patch("cart.rs")), ("api", &patch("api/cart.rs")), ("", &"cat api/cart.rs".to_owned())]
    {
        assert_eq!(decision(&other, cwd, line), Value::Null, "{cwd} {line}");
    }
}

/// The runner has the task, under the name of a worker; the client that it starts has a session of its own.
#[test]
fn the_guard_knows_the_client_of_a_runner() {
    let env = env();
    switch_on(&env, "enable_edit_guard");
    env.ok(&["leader", "add-task", "Add up", "--id", "t1", "--files", "api/"]);
    env.ok(&["leader", "add-task", "Count", "--id", "t2", "--files", "src/"]);
    ok(&env, "worker claim w1");
    ok(&env, "worker claim w2");
    let client = Client::start(&env, "inner");
    let decision = |file: &str, charge: [&str; 3]| {
        let fields = json!({"tool_name": "Write", "tool_input": {"file_path": file}});
        let event = client.event("PreToolUse", fields).to_string();
        let mut command = env.command(&["hook"]);
        command.envs(["ANTHILL_WORKER", "ANTHILL_TASK_ID", "ANTHILL_EPOCH"].into_iter().zip(charge));
        let ran = env.finish(&mut command, event.as_bytes());
        answer(&ran, "PreToolUse")["hookSpecificOutput"]["permissionDecision"].clone()
    };
    assert_eq!(decision("api/cart.rs", ["w1", "t1", "1"]), Value::Null);
    assert_eq!(decision("src/main.rs", ["w1", "t1", "1"]), "deny", "another worker's");
    for other in [["w2", "t1", "1"], ["w1", "t2", "1"], ["w1", "t1", "2"], ["w1", "t1", ""], ["", "t1", "1"]]
    {
        assert_eq!(decision("api/cart.rs", other), "deny", "{other:?}");
    }
    ok(&env, "leader reset t1");
    ok(&env, "worker claim w1");
    assert_eq!(decision("api/cart.rs", ["w1", "t1", "1"]), "deny", "the lease was another one");
    assert_eq!(decision("api/cart.rs", ["w1", "t1", "2"]), Value::Null);
}

#[test]
fn the_guard_stops_who_was_fenced_off() {
    let env = env();
    switch_on(&env, "enable_edit_guard");
    env.ok(&["leader", "add-task", "Add up", "--id", "t1", "--files", "api/"]);
    let gone = Client::start(&env, "gone");
    ok(&env, "worker claim w1 --session-id gone");
    ok(&env, "session end gone");
    let reason = denied(&gone, "api/cart.rs");
    assert!(reason.contains("gone") && reason.contains("anthill session start gone"), "{reason}");
    let next = Client::start(&env, "next");
    ok(&env, "worker claim w2 --session-id next");
    // It comes back, but its task is another's.
    gone.send("UserPromptSubmit", json!({"prompt": "go on"}));
    let reason = denied(&gone, "api/cart.rs");
    assert!(reason.contains("t1") && reason.contains("w2"), "{reason}");
    assert_eq!(denied(&next, "api/cart.rs"), "");
}

/// Wants to stop; returns why not.
#[track_caller]
fn held(client: &Client<'_>, fields: Value) -> String {
    let answer = client.send("Stop", fields);
    assert!(matches!(answer["decision"].as_str(), None | Some("block")), "{answer}");
    assert!(answer.get("hookSpecificOutput").is_none(), "{answer}");
    answer["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_gate_sends_back_to_open_work_three_times() {
    let env = env();
    env.ok(&["leader", "add-task", "Add up", "--id", "t1"]);
    let client = Client::start(&env, "s1");
    ok(&env, "worker claim w1 --session-id s1");
    let stop = || json!({"stop_hook_active": false, "background_tasks": []});
    assert_eq!(held(&client, stop()), "", "it is off");
    switch_on(&env, "enable_stop_gate");
    assert_eq!(held(&client, json!({"stop_hook_active": true})), "", "never twice in a row");
    let running = json!({"stop_hook_active": false, "background_tasks": [{"id": "a", "status": "running"}]});
    assert_eq!(held(&client, running), "", "something runs");
    for _ in 0..3 {
        let reason = held(&client, stop());
        assert!(reason.contains("t1") && reason.contains("anthill worker complete w1 t1"), "{reason}");
    }
    assert_eq!(held(&client, stop()), "", "three times are enough");
    let other = Client::start(&env, "s2");
    assert_eq!(held(&other, stop()), "", "it has no work");
    let answer = client.send("AfterAgent", stop());
    assert_eq!(answer, Value::Null);
}

#[test]
fn the_gate_knows_the_loop() {
    let env = env();
    switch_on(&env, "enable_stop_gate");
    let client = Client::start(&env, "s1");
    let stop = || json!({"stop_hook_active": false});
    let items = r#"[{"id": "work-1", "priority": "S1", "title": "x", "status": "pending"}]"#;
    env.ok(&[
        "set",
        "work_queue",
        ".",
        &format!(r#"{{"version": 1, "task": "x", "iteration": 1, "items": {items}}}"#),
    ]);
    let reason = held(&client, stop());
    assert!(reason.contains("1 items are open") || reason.contains("1 item"), "{reason}");
    env.ok(&["set", "work_queue", "items[0].status", "\"done\""]);
    assert_eq!(held(&client, stop()), "");
}

#[test]
fn failures_are_classified_by_event() {
    let env = env();
    let client = Client::start(&env, "s1");
    env.ok(&["set", "work_queue", ".", r#"{"version": 1, "task": "x", "iteration": 1, "items": []}"#]);
    let failed = |tool: &str, error: &str| {
        let event = client.event("PostToolUseFailure", json!({"tool_name": tool, "error": error}));
        answer(&super::hook(&env, event.to_string().as_bytes()), "PostToolUseFailure")
    };
    for (tool, error) in [
        ("WebFetch", "ECONNREFUSED"),
        ("WebFetch", "429 Too Many Requests"),
        ("Bash", "SyntaxError: Unexpected token }"),
    ] {
        assert_eq!(failed(tool, error).get("systemMessage"), None);
    }
    let shown = failed("Write", "EACCES: permission denied, open '/x\u{1b}[2J'");
    let message = shown["systemMessage"].as_str().unwrap_or_default();
    assert!(message.contains("permission") && message.contains("anthill error resolve error-"), "{shown}");
    assert!(!message.contains('\u{1b}'), "{message:?}");
    let again = failed("Write", "EACCES: permission denied, open '/x\u{1b}[2J'");
    assert_eq!(again.get("systemMessage"), None, "told once");
    for (error, class) in
        [("rate_limit", "rate_limit"), ("server_error", "external"), ("authentication_failed", "permission")]
    {
        client.send("StopFailure", json!({"error": error, "last_assistant_message": "API Error"}));
        let errors = state(&env, "errors/classified.json")["errors"].take();
        assert_eq!(errors.as_array().unwrap().last().unwrap()["classification"], class);
    }
    let errors = state(&env, "errors/classified.json")["errors"].take();
    let classes: Vec<_> =
        errors.as_array().unwrap().iter().map(|error| error["classification"].as_str().unwrap()).collect();
    assert_eq!(classes[..4], ["network", "rate_limit", "syntax", "permission"]);
    assert!(errors[0]["next_retry"].is_string() && errors[2]["next_retry"].is_null(), "{errors}");
    let items = state(&env, "loop/work_queue.json")["items"].take();
    assert_eq!(items.as_array().unwrap().len(), 1, "{items}");
    assert_eq!(client.record()["errors_encountered"], 8);
}

#[test]
fn an_agent_is_told_whether_and_when_to_try_again() {
    let env = env();
    let client = Client::start(&env, "s1");
    let told = |tool: &str, error: &str| {
        client.told(
            "PostToolUseFailure",
            json!({"tool_name": tool, "tool_input": {"command": "x"}, "error": error}),
        )
    };
    let limited = told("WebFetch", "429 Too Many Requests, Retry-After: 7");
    assert!(
        limited.contains("A rate_limit error in WebFetch") && limited.contains("Wait 7 s, until "),
        "{limited}"
    );
    assert!(limited.contains("3 tries are left"), "{limited}");
    let refused = told("Bash", "connect ECONNREFUSED");
    assert!(refused.contains("Try the same again now"), "{refused}");
    let syntax = told("Bash", "SyntaxError: Unexpected token }");
    assert!(syntax.contains("Trying the same again does not help"), "{syntax}");
    let denied = told("Write", "EACCES: permission denied");
    assert!(denied.contains("Do not try it again") && denied.contains("your user"), "{denied}");
    // A command that fails says nothing about trying again, until it fails in the same way again.
    assert_eq!(told("Bash", "Exit code 1\n2 tests failed"), "");
    let again = told("Bash", "Exit code 1\n2 tests failed");
    assert!(again.contains("1 retries have failed in the same way"), "{again}");
}

#[test]
fn an_error_has_recovered_when_the_same_operation_succeeds() {
    let env = env();
    let client = Client::start(&env, "s1");
    let fails = |tool: &str, input: Value, error: &str| {
        client.send("PostToolUseFailure", json!({"tool_name": tool, "tool_input": input, "error": error}));
    };
    let recovered = || state(&env, "errors/classified.json")["summary"]["recovered"].as_u64().unwrap();
    fails("Bash", json!({"command": "cargo  test", "description": "first"}), "timed out");
    client.used("Bash", json!({"command": "ls"}));
    assert_eq!(recovered(), 0, "another command says nothing about it");
    Client::start(&env, "s2").used("Bash", json!({"command": "cargo test"}));
    assert_eq!(recovered(), 0, "nor does another session");
    client.used("Bash", json!({"command": "cargo test", "description": "second"}));
    assert_eq!((recovered(), &client.record()["errors_recovered"]), (1, &json!(1)));
    // What was handed to the user is solved by that, too.
    fails("Write", json!({"file_path": "/etc/x", "content": "a"}), "EACCES: permission denied");
    client.used("Write", json!({"file_path": "/etc/y", "content": "a"}));
    assert_eq!(recovered(), 1);
    client.used("Write", json!({"file_path": "/etc/x", "content": "b"}));
    assert_eq!(recovered(), 2);
    let errors = state(&env, "errors/classified.json").to_string();
    assert!(
        !errors.contains("cargo") && !errors.contains("/etc/x"),
        "inputs of tools are not stored: {errors}"
    );
}
