//! What a leader changes about tasks that are there: `leader edit`, `note`, `remove`.

use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use crate::env;
use crate::exit_codes::fails;

#[track_caller]
fn queue(tasks: &[&[&str]]) -> TestEnv {
    let env = env();
    for task in tasks {
        env.ok(&[&["leader", "add-task", "do it", "--id"], *task].concat());
    }
    env
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[track_caller]
fn task(env: &TestEnv, id: &str) -> Value {
    env.json(&["get", "queue", "--field", &format!("tasks[id={id}]")])
}

/// Insists on the exit code, on nothing having changed, and returns what is said.
#[track_caller]
fn failed(env: &TestEnv, args: &[&str], code: i32) -> Value {
    let word = ["", "refused", "invalid", "conflict", "not_found"][code as usize];
    fails(env, args, b"", code, word)
}

#[track_caller]
fn refused(env: &TestEnv, line: &str, code: i32, part: &str) {
    let error = failed(env, &words(line), code);
    assert!(error.to_string().contains(part), "{line}: {error}");
}

#[test]
fn words_priority_and_labels_change_at_any_time_before_the_end() {
    let env = queue(&[&["a"], &["b"]]);
    let edited = env.json(&[
        "leader",
        "edit",
        "b",
        "-p",
        "1",
        "--description",
        "new words",
        "--hints",
        "mind the gap",
    ]);
    assert_eq!((&edited["description"], &edited["priority"]), (&json!("new words"), &json!(1)));
    assert_eq!(edited["context"]["hints"], "mind the gap");
    assert_eq!(env.json(&["worker", "claim", "w1"])["id"], "b", "the order of claims follows");
    let ran = env.ok(&["leader", "edit", "b", "--label", "nightly,slow"]);
    assert!(ran.stderr.contains("`w1` is at work on it"), "{}", ran.stderr);
    env.ok(&["leader", "edit", "b", "--no-label", "slow"]);
    assert_eq!(task(&env, "b")["labels"], json!(["nightly"]));
    env.ok(&["worker", "complete", "w1", "b", "done"]);
    refused(&env, "leader edit b -p 2", 1, "done");
    env.ok(&["leader", "edit", "b", "--no-label"]);
    assert!(task(&env, "b").get("labels").is_none());
}

#[test]
fn dependencies_follow_the_rules_of_new_tasks() {
    let env = queue(&[&["a"], &["b", "--depends", "a"], &["c"]]);
    assert_eq!(env.json(&["leader", "edit", "c", "--depends", "b"])["status"], "created");
    refused(&env, "leader edit a --depends c", 2, "circle");
    refused(&env, "leader edit a --depends a", 2, "itself");
    refused(&env, "leader edit a --depends nope", 2, "nope");
    assert_eq!(env.json(&["leader", "edit", "c", "--no-depends", "b"])["status"], "available");
    assert_eq!(env.json(&["leader", "edit", "b", "--no-depends"])["status"], "available");
    // A circle through a task that has failed would come up when it is tried again.
    env.ok(&["leader", "edit", "b", "--depends", "a"]);
    env.ok(&["worker", "claim", "w1"]);
    env.ok(&["worker", "complete", "w1", "a", "ok"]);
    assert_eq!(env.json(&["worker", "claim", "w1"])["id"], "b");
    env.ok(&["worker", "fail", "w1", "b", "no"]);
    env.ok(&["leader", "reset", "a", "--force"]);
    refused(&env, "leader edit a --depends b", 2, "circle");
}

#[test]
fn what_a_claim_went_by_stays_while_somebody_is_at_work() {
    let env = queue(&[&["a", "--files", "src/"], &["b"]]);
    env.ok(&["worker", "claim", "w1"]);
    let before = task(&env, "a");
    for line in ["edit a --files docs/", "edit a --depends b", "edit a --needs rust", "remove a"] {
        refused(&env, &format!("leader {line}"), 1, "anthill leader reset a");
    }
    assert_eq!(task(&env, "a"), before);
    env.ok(&["leader", "reset", "a"]);
    let edited = env.json(&["leader", "edit", "a", "--files", "docs/", "x.md", "--capability", "rust,sql"]);
    assert_eq!(edited["context"]["files"], json!(["docs/", "x.md"]));
    assert_eq!(edited["required_capabilities"], json!(["rust", "sql"]));
    let edited = env.json(&["leader", "edit", "a", "--files", "", "--needs", ""]);
    assert_eq!((&edited["context"]["files"], edited.get("required_capabilities")), (&json!([]), None));
}

#[test]
fn an_edit_says_something_about_a_task_that_is_there() {
    let env = queue(&[&["a"]]);
    refused(&env, "leader edit a", 2, "nothing to change");
    refused(&env, "leader edit nope -p 1", 4, "nope");
    refused(&env, "leader edit a -p 0", 2, "1 (first) to 10");
    refused(&env, "leader edit a/b -p 1", 2, "a/b");
    let revision = env.json(&["get", "queue", "--field", "revision"]);
    env.ok(&["leader", "edit", "a", "-p", "5"]);
    assert_eq!(env.json(&["get", "queue", "--field", "revision"]), revision, "it was so already");
}

#[test]
fn notes_stay_with_the_task() {
    let env = queue(&[&["a"]]);
    env.ok(&["leader", "note", "a", "first"]);
    let noted = env.json(&["leader", "note", "a", "- a list", "--session-id", "s1"]);
    assert_eq!(noted["notes"][0]["text"], "first");
    assert_eq!((&noted["notes"][1]["text"], &noted["notes"][1]["by"]), (&json!("- a list"), &json!("s1")));
    let error = failed(&env, &["leader", "note", "a", " "], 2);
    assert!(error.to_string().contains("blank"), "{error}");
    refused(&env, "leader note nope text", 4, "nope");
}

#[test]
fn what_is_removed_is_gone_with_its_result() {
    let env = queue(&[&["a"], &["b", "--depends", "a"], &["c"]]);
    refused(&env, "leader remove a", 1, "anthill leader edit b --no-depends a");
    refused(&env, "leader remove a nope", 4, "nope");
    refused(&env, "leader remove", 2, "ID");
    let shown = env.ok(&["leader", "remove", "a", "b", "--dry-run"]);
    assert!(shown.stdout.contains("Would remove (available): a"), "{}", shown.stdout);
    assert_eq!(task(&env, "a")["status"], "available");
    env.ok(&["worker", "claim", "w1"]);
    env.ok(&["worker", "complete", "w1", "a", "ok"]);
    assert!(env.project().join(".coordination/results/a.md").exists());
    let removed = env.json(&["leader", "remove", "a", "b"]);
    assert_eq!((&removed[0]["id"], &removed[1]["id"]), (&json!("a"), &json!("b")));
    assert!(!env.project().join(".coordination/results/a.md").exists());
    assert_eq!(env.json(&["get", "queue", "--field", "tasks"]).as_array().map(Vec::len), Some(1));
    assert_eq!(env.json(&["worker", "claim", "w1"])["id"], "c");
}

#[test]
fn a_list_has_what_is_asked_for_in_the_order_of_the_board() {
    let env = queue(&[&["a"], &["b", "--depends", "a"], &["c", "-p", "1"], &["d"]]);
    env.ok(&["worker", "claim", "w1"]);
    env.ok(&["leader", "cancel", "d"]);
    env.ok(&["leader", "edit", "b", "--label", "x", "y"]);
    let ids = |line: &str| -> Vec<String> {
        let tasks = env.json(&words(line));
        tasks.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("leader list"), ["c", "a", "b"]);
    assert_eq!(ids("leader list --all"), ["c", "a", "b", "d"]);
    assert_eq!(ids("leader list --status waiting cancelled"), ["b", "d"]);
    assert_eq!(ids("leader list --status created,claimed"), ["c", "b"]);
    assert_eq!(ids("leader list --worker w1"), ["c"]);
    assert_eq!(ids("leader list --label x,y"), ["b"]);
    assert!(ids("leader list --label x z").is_empty());
    let shown = env.ok(&["leader", "list", "--status", "cancelled", "waiting"]).stdout;
    assert_eq!(shown, "WAITING (1)\n  [5] b  do it  waits for a  #x #y\n\nCANCELLED (1)\n  [5] d  do it\n");
    refused(&env, "leader list --status foo", 2, "waiting");
}

#[test]
fn a_task_is_shown_with_what_is_before_and_behind_it() {
    let env = queue(&[&["a"], &["b", "--depends", "a", "--hints", "mind the gap"], &["c", "--depends", "b"]]);
    env.ok(&["worker", "claim", "w1"]);
    env.ok(&["leader", "note", "b", "ask Ann"]);
    let shown = env.json(&["leader", "show", "b"]);
    assert_eq!(shown["waits_for"], json!([{"id": "a", "status": "claimed", "claimed_by": "w1"}]));
    assert_eq!(shown["needed_by"], json!([{"id": "c", "status": "created", "claimed_by": null}]));
    assert_eq!((&shown["ready"], &shown["reasons"][0]["task"]), (&json!(false), &json!("a")));
    let text = env.ok(&["leader", "show", "b"]).stdout;
    for part in [
        "b\ndo it\n",
        "status: created",
        "waits for: a (claimed)",
        "needed by: c",
        "mind the gap",
        ": ask Ann",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The same after an edit by hand, which no index knows.
    env.sh(
        "jq '.tasks[2].dependencies = [\"a\"]' .coordination/tasks.json >t && mv t .coordination/tasks.json",
    );
    assert_eq!(env.json(&["leader", "show", "b"])["needed_by"], json!([]));
    refused(&env, "leader show nope", 4, "nope");
}
