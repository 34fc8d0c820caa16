//! What generic writes refuse, and what is named of what came by hand.

use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use crate::env;

#[track_caller]
fn refused(env: &TestEnv, args: &[&str], parts: &[&str]) {
    let before = env.bytes();
    let ran = env.run(args);
    assert_eq!(ran.code, 2, "{args:?}\n{}", ran.shown());
    parts.iter().for_each(|part| assert!(ran.stderr.contains(part), "{args:?}: {part}\n{}", ran.shown()));
    assert!(env.bytes() == before, "{args:?} changed something");
}

fn queue(env: &TestEnv, tasks: &Value) {
    let document = json!({"version": "1.0", "tasks": tasks});
    env.write("project/.coordination/tasks.json", document.to_string());
}

#[test]
fn a_list_that_the_kind_does_not_know_is_not_begun() {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"p\""]);
    refused(&env, &["append", "config", "projects", "1"], &["config has no list `projects`", "it has none"]);
    refused(
        &env,
        &["append", "epics", "stories", "{}"],
        &["no list `stories`", "`epics`", "`epics[].stories`"],
    );
    env.ok(&["epic", "add", "E", "--id", "e"]);
    refused(&env, &["append", "epics", "epics[0].tags", "1"], &["no list `epics[0].tags`"]);
    env.ok(&["append", "epics", "epics[0].stories", r#"{"id": "s", "status": "pending"}"#]);
    // One's own list is one's own.
    env.ok(&["set", "config", "mine", "[]"]);
    env.ok(&["append", "config", "mine", "1"]);
    env.ok(&["append", "config", "x_items", "1"]);
    env.ok(&["append", "config", "global.x-notes", "1"]);
    refused(&env, &["append", "config", "xitems", "1"], &["config has no list `xitems`"]);
    env.ok(&["set", "epics", "epics[0].note", "\"unknown fields are fine\""]);
}

#[test]
fn an_id_is_not_given_twice() {
    let env = env();
    env.ok(&["leader", "add-task", "x", "--id", "t"]);
    let task = r#"{"id": "t", "description": "y", "status": "available"}"#;
    refused(&env, &["append", "queue", "tasks", task], &["`t` is there twice"]);
    env.ok(&["append", "tasks", "tasks", r#"{"id": "1"}"#, "--session-id", "s"]);
    refused(
        &env,
        &["append", "tasks", "tasks", r#"{"id": "1"}"#, "--session-id", "s"],
        &["`1` is there twice"],
    );
    env.ok(&["loop", "start", "L"]);
    env.ok(&["append", "work_queue", "items", r#"{"id": "a", "title": "A", "status": "pending"}"#]);
    env.ok(&["append", "work_queue", "items", r#"{"id": "b", "title": "B", "status": "pending"}"#]);
    refused(&env, &["set", "work_queue", "items[1].id", "\"a\""], &["`a` is there twice"]);
}

#[test]
fn what_every_commit_stamps_is_not_set() {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"p\""]);
    env.ok(&["leader", "add-task", "x", "--id", "t"]);
    for (kind, field) in [
        ("config", "revision"),
        ("config", "updated_at"),
        ("config", "updated_by"),
        ("queue", "last_updated"),
        ("queue", "revision"),
    ] {
        refused(&env, &["set", kind, field, "\"x\""], &[field, "kept by anthill"]);
        refused(&env, &["delete", kind, field], &[field, "kept by anthill"]);
    }
    env.ok(&["set", "queue", "updated_by", "\"a field of one's own there\""]);
    env.ok(&["set", "config", "global.updated_at", "\"and here\""]);
}

#[test]
fn numbers_keep_to_their_ranges() {
    let env = env();
    env.ok(&["leader", "add-task", "x", "--id", "t"]);
    for (kind, path, bad, good) in [
        ("config", "global.max_parallel_agents", "-5", "5"),
        ("config", "global.max_parallel_agents", "0", "1"),
        ("config", "global.session_timeout", "-0.5", "0.5"),
        ("config", "journal.kept_segments", "-1", "0"),
        ("queue", "tasks[0].priority", "11", "10"),
        ("queue", "tasks[0].priority", "0", "1"),
        ("work_queue", "max_iterations", "0", "1"),
    ] {
        refused(&env, &["set", kind, path, bad], &["must be"]);
        env.ok(&["set", kind, path, good]);
    }
}

#[test]
fn dependencies_are_checked_by_every_command_that_writes() {
    let env = env();
    for id in ["a", "b", "c"] {
        env.ok(&["leader", "add-task", id, "--id", id]);
    }
    refused(&env, &["set", "queue", "tasks[0].dependencies", r#"["nobody"]"#], &["`a` depends on `nobody`"]);
    let task = r#"{"id": "d", "description": "d", "status": "created", "dependencies": ["x"]}"#;
    refused(&env, &["append", "queue", "tasks", task], &["`d` depends on `x`"]);
    env.ok(&["set", "queue", "tasks[0].dependencies", r#"["b"]"#]);
    env.ok(&["set", "queue", "tasks[1].dependencies", r#"["c"]"#]);
    refused(&env, &["set", "queue", "tasks[2].dependencies", r#"["a"]"#], &["circle: a -> b -> c -> a"]);
    refused(&env, &["delete", "queue", "tasks[1]"], &["`a` depends on `b`"]);
    env.write("circle.json", r#"[{"id": "y", "description": "y", "dependencies": ["z"]}, {"id": "z", "description": "z", "dependencies": ["y"]}]"#);
    let file = env.root().join("circle.json").display().to_string();
    refused(&env, &["leader", "import", &file], &["circle"]);
}

#[test]
fn a_circle_by_hand_is_named_and_stops_nobody() {
    let env = env();
    let task = |id: &str, needs: &[&str], status: &str| json!({"id": id, "description": id, "status": status, "dependencies": needs});
    let tasks = [
        task("a", &["b"], "created"),
        task("b", &["a"], "created"),
        task("c", &["x"], "created"),
        task("d", &[], "available"),
    ];
    queue(&env, &json!(tasks));
    assert_eq!(env.json(&["worker", "claim", "w"])["id"], "d");
    env.ok(&["worker", "complete", "w", "d", "done"]);
    for args in [&["doctor"][..], &["validate", "queue"]] {
        let ran = env.run(args);
        assert_eq!(ran.code, 7, "{}", ran.shown());
        for part in ["circle: a -> b -> a", "`c` depends on `x`, which does not exist", "line "] {
            assert!(ran.stderr.contains(part), "{args:?}: {part}\n{}", ran.shown());
        }
    }
    let board = env.ok(&["leader", "status"]);
    assert!(board.stdout.contains("circle: a -> b -> a"), "{}", board.shown());
    // What was wrong before does not keep others from correcting it.
    env.ok(&["set", "queue", "tasks[2].dependencies", "[]"]);
    env.ok(&["set", "queue", "tasks[0].dependencies", "[]"]);
    env.ok(&["validate", "queue"]);
}
