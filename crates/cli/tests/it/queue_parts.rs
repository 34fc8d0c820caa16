//! Tasks that are made of others: `leader split`, `add-task --parent`, and what follows for the parent.

use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use crate::env;
use crate::exit_codes::fails;

#[track_caller]
fn run(env: &TestEnv, line: &str) -> Value {
    env.json(&line.split_whitespace().collect::<Vec<_>>())
}

#[track_caller]
fn add(env: &TestEnv, line: &str) -> Value {
    env.json(
        &[&["leader", "add-task", "do it", "--id"][..], &line.split_whitespace().collect::<Vec<_>>()]
            .concat(),
    )
}

#[track_caller]
fn refused(env: &TestEnv, line: &str, code: i32, part: &str) {
    let word = ["", "refused", "invalid", "conflict", "not_found"][code as usize];
    let error = fails(env, &line.split_whitespace().collect::<Vec<_>>(), b"", code, word);
    assert!(error.to_string().contains(part), "{line}: {error}");
}

#[track_caller]
fn task(env: &TestEnv, id: &str) -> Value {
    run(env, &format!("get queue --field tasks[id={id}]"))
}

#[track_caller]
fn status(env: &TestEnv, id: &str) -> String {
    task(env, id)["status"].as_str().unwrap().to_owned()
}

#[track_caller]
fn finish(env: &TestEnv, id: &str) {
    run(env, &format!("worker claim w1 {id}"));
    run(env, &format!("worker complete w1 {id} ok"));
}

/// `before` <- `all` (made of `all-1`, `all-2`, `all-3`) <- `after`.
fn split() -> TestEnv {
    let env = env();
    add(&env, "before");
    add(&env, "all --depends before -p 2 --files src/ --hints mind --label ui --needs rust");
    add(&env, "after --depends all");
    run(&env, "worker register w1 --capabilities rust");
    let done = env.json(&["leader", "split", "all", "first part", "second part", "third part"]);
    assert_eq!(done[0]["parts"], json!(["all-1", "all-2", "all-3"]));
    assert_eq!(done[0]["dependencies"], json!(["before", "all-1", "all-2", "all-3"]));
    env
}

#[test]
fn parts_inherit_and_the_whole_is_done_with_the_last_of_them() {
    let env = split();
    let part = task(&env, "all-2");
    let inherited = json!({
        "id": "all-2", "description": "second part", "status": "created", "priority": 2, "dependencies": ["before"],
        "context": {"files": ["src/"], "hints": "mind"}, "required_capabilities": ["rust"], "labels": ["ui"], "parent": "all",
    });
    for (name, value) in inherited.as_object().unwrap() {
        assert_eq!(&part[name], value, "{name}");
    }
    finish(&env, "before");
    assert_eq!((status(&env, "all-1").as_str(), status(&env, "all").as_str()), ("available", "created"));
    refused(&env, "worker claim w1 all", 1, "its parts");
    finish(&env, "all-1");
    finish(&env, "all-3");
    let board = env.ok(&["leader", "status"]).stdout;
    assert!(board.contains("[2] all  do it  2/3 done"), "{board}");
    assert!(env.ok(&["leader", "graph"]).stdout.contains("(2/3 done) do it"));
    assert!(env.ok(&["leader", "list", "--sort", "id"]).stdout.contains("waiting  2/3 done"));
    let shown = env.ok(&["leader", "show", "all"]).stdout;
    assert!(shown.contains("parts: all-1 (done), all-2 (available), all-3 (done)"), "{shown}");
    assert!(shown.contains("waits for: before (done)"), "{shown}");
    assert_eq!(status(&env, "after"), "created");
    finish(&env, "all-2");
    let whole = task(&env, "all");
    assert_eq!((&whole["status"], &whole["claimed_by"]), (&json!("done"), &Value::Null));
    assert_eq!(whole["result"]["output"], "All parts are done: all-1, all-2, all-3");
    assert_eq!(status(&env, "after"), "available");
    assert!(env.ok(&["leader", "aggregate"]).stderr.is_empty());
    assert_eq!(env.json(&["doctor"])["findings"], json!([]));
}

#[test]
fn a_part_may_come_later_and_have_parts_itself() {
    let env = env();
    add(&env, "base");
    add(&env, "all --depends base");
    let part = add(&env, "one --parent all");
    assert_eq!((&part["parent"], &part["dependencies"]), (&json!("all"), &json!(["base"])));
    assert_eq!(add(&env, "one --parent all"), part, "it may be repeated");
    assert_eq!(status(&env, "all"), "created");
    env.ok(&["leader", "split", "one", "a", "b"]);
    finish(&env, "base");
    finish(&env, "one-1");
    finish(&env, "one-2");
    assert_eq!((status(&env, "one").as_str(), status(&env, "all").as_str()), ("done", "done"));
    refused(&env, "leader add-task x --parent all", 1, "it is done");
    refused(&env, "leader add-task x --parent nothing", 4, "nothing");
}

#[test]
fn parts_make_no_circles_and_none_for_who_is_at_work() {
    let env = env();
    add(&env, "all");
    add(&env, "after --depends all");
    refused(&env, "leader add-task x --parent all --depends after", 2, "circle");
    refused(&env, "leader add-task x --parent all --depends all", 2, "circle");
    run(&env, "worker claim w1 all");
    refused(&env, "leader split all a b", 1, "`w1` is at work");
    refused(&env, "leader add-task x --parent all", 1, "`w1` is at work");
    run(&env, "worker fail w1 all no");
    run(&env, "leader split all a b");
    assert_eq!((status(&env, "all").as_str(), &task(&env, "all")["result"]), ("created", &Value::Null));
}

#[test]
fn a_part_that_is_cancelled_does_not_count() {
    let env = env();
    add(&env, "all");
    run(&env, "leader split all a b c");
    finish(&env, "all-1");
    run(&env, "leader cancel all-2");
    assert_eq!(task(&env, "all")["parts"], json!(["all-1", "all-3"]));
    run(&env, "leader cancel all-3");
    assert_eq!(status(&env, "all"), "done", "what is left of it is done");
    run(&env, "leader reset all-3");
    assert_eq!(status(&env, "all"), "created", "it waits again");
    assert_eq!(task(&env, "all")["parts"], json!(["all-1", "all-3"]));
    run(&env, "leader reset all-1 --force");
    run(&env, "leader cancel all-1 all-3");
    assert_eq!(status(&env, "all"), "available", "without parts it is a task as any other");
    finish(&env, "all");
}

#[test]
fn who_cancels_the_whole_cancels_its_open_parts() {
    let env = env();
    add(&env, "all");
    run(&env, "leader split all a b c");
    finish(&env, "all-1");
    run(&env, "worker claim w1 all-2");
    run(&env, "leader cancel all");
    let found = ["all", "all-1", "all-2", "all-3"].map(|id| status(&env, id));
    assert_eq!(found, ["cancelled", "done", "cancelled", "cancelled"]);
    refused(&env, "worker complete w1 all-2 ok", 1, "cancelled");
}

#[test]
fn a_part_that_fails_keeps_the_whole_waiting() {
    let env = env();
    add(&env, "all");
    run(&env, "leader split all a b");
    run(&env, "worker claim w1 all-1");
    let failed = env.ok(&["worker", "fail", "w1", "all-1", "no"]);
    assert!(failed.stderr.contains("`all` waits for `all-1`"), "{}", failed.stderr);
    finish(&env, "all-2");
    let board = env.ok(&["leader", "status"]).stdout;
    assert!(board.contains("1/2 done  waits for all-1 (failed)"), "{board}");
    run(&env, "leader retry all-1");
    finish(&env, "all-1");
    assert_eq!(status(&env, "all"), "done");
}

#[test]
fn parts_are_removed_with_the_whole_or_leave_it() {
    let env = env();
    add(&env, "all");
    run(&env, "leader split all a b");
    refused(&env, "leader remove all", 1, "has parts");
    run(&env, "leader remove all-1");
    assert_eq!(task(&env, "all")["dependencies"], json!(["all-2"]));
    run(&env, "leader remove all all-2");
    assert_eq!(run(&env, "get queue --field tasks"), json!([]));
}
