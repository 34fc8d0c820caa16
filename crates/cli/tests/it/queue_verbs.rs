//! What people expect of a queue on the first day: claiming this task, several at once, labels, orders, what is blocked.

use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use crate::env;
use crate::exit_codes::fails;

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[track_caller]
fn run(env: &TestEnv, line: &str) -> Value {
    env.json(&words(line))
}

#[track_caller]
fn refused(env: &TestEnv, line: &str, code: i32, part: &str) {
    let word = ["", "refused", "invalid", "conflict", "not_found"][code as usize];
    let error = fails(env, &words(line), b"", code, word);
    assert!(error.to_string().contains(part), "{line}: {error}");
}

/// A queue with tasks of these ids and options.
#[track_caller]
fn queue(tasks: &[&str]) -> TestEnv {
    let env = env();
    for task in tasks {
        env.ok(&[&["leader", "add-task", "do it", "--id"][..], &words(task)].concat());
    }
    env
}

#[track_caller]
fn ids(found: &Value) -> Vec<&str> {
    found.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect()
}

#[test]
fn a_worker_gets_the_task_that_it_names_or_hears_why_not() {
    let env = queue(&[
        "a",
        "b",
        "waits --depends a",
        "needs --needs rust",
        "files --files src/",
        "x --files src/a",
    ]);
    assert_eq!(run(&env, "worker claim w1 b")["claimed_by"], "w1");
    assert_eq!(run(&env, "worker claim w1 b")["lease"]["epoch"], 1, "it is theirs already");
    refused(&env, "worker claim w2 b", 3, "belongs now to `w1`");
    refused(&env, "worker claim w2 waits", 1, "it waits for `a` (available)");
    refused(&env, "worker claim w2 needs", 1, "it needs rust");
    refused(&env, "worker claim w2 nothing", 4, "there is no task `nothing`");
    refused(&env, "worker claim w2 b --wait 1", 2, "cannot be used with");
    run(&env, "worker claim w2 files");
    refused(&env, "worker claim w3 x", 1, "overlap with `files`");
    run(&env, "worker fail w1 b no");
    refused(&env, "worker claim w2 b", 1, "leader retry b");
    run(&env, "leader cancel a");
    refused(&env, "worker claim w2 a", 1, "leader reset a");
}

#[test]
fn a_worker_sees_what_it_has_in_hand() {
    let env = queue(&["a", "b", "c"]);
    run(&env, "worker claim w1 a");
    run(&env, "worker claim w1 c");
    assert_eq!(ids(&run(&env, "worker mine w1")), ["a", "c"]);
    let told = env.ok(&["worker", "mine", "w1"]).stdout;
    assert!(told.starts_with("a (claimed, lease 1, until 20"), "{told}");
    assert_eq!(run(&env, "worker mine w9"), json!([]));
    assert_eq!(run(&env, "worker mine"), json!([]));
    run(&env, "claim b");
    assert_eq!(ids(&run(&env, "worker mine")), ["b"]);
}

#[test]
fn a_task_is_shown_with_what_happened_to_it() {
    let env = queue(&["a", "b"]);
    run(&env, "worker claim w1 a");
    run(&env, "worker claim w1 b");
    run(&env, "leader note a mind");
    run(&env, "worker complete w1 a ok");
    let shown = run(&env, "leader show a");
    let history: Vec<_> = shown["history"].as_array().unwrap().iter().collect();
    let told: Vec<_> = history.iter().map(|event| event["op"].as_str().unwrap()).collect();
    assert_eq!(told, ["complete", "note", "claim", "add-task"]);
    assert_eq!((&history[0]["by"], &history[3]["by"]), (&json!("w1"), &json!("leader")));
    let told = env.ok(&["leader", "show", "a"]).stdout;
    assert!(told.contains("history:\n  - ") && told.contains(" ago: complete by w1\n"), "{told}");
}

#[test]
fn who_names_a_task_as_the_worker_is_told() {
    let env = queue(&["a"]);
    refused(&env, "worker claim a", 2, "`a` is a task");
    run(&env, "worker register a");
    assert_eq!(run(&env, "worker claim a")["claimed_by"], "a", "a worker may be called so");
}

#[test]
fn several_tasks_change_together_or_not_at_all() {
    let env = queue(&["a", "b", "c", "d"]);
    for id in ["a", "b"] {
        run(&env, &format!("worker claim w1 {id}"));
        run(&env, &format!("worker fail w1 {id} no"));
    }
    refused(&env, "leader retry a b c", 1, "`c`");
    assert_eq!(run(&env, "get queue --field tasks[id=a].status"), "failed");
    assert_eq!(ids(&run(&env, "leader retry a b")), ["a", "b"]);
    assert_eq!(ids(&run(&env, "leader cancel a b")), ["a", "b"]);
    refused(&env, "leader reset a nothing", 4, "nothing");
    assert_eq!(ids(&run(&env, "leader reset a b")), ["a", "b"]);
    let revision = run(&env, "get queue --field revision");
    assert_eq!(run(&env, "leader cancel c d --dry-run")[1]["status"], "cancelled");
    let told = env.ok(&["leader", "cancel", "c", "--dry-run"]).stdout;
    assert_eq!(told, "Would cancel (cancelled): c\n");
    run(&env, "leader reset c --dry-run");
    assert_eq!(run(&env, "get queue --field revision"), revision, "nothing was written");
}

#[test]
fn labels_come_with_the_task() {
    let env = queue(&["a --label slow,nightly --label ui", "b"]);
    assert_eq!(run(&env, "get queue --field tasks[id=a].labels"), json!(["slow", "nightly", "ui"]));
    assert_eq!(ids(&run(&env, "leader list --label slow")), ["a"]);
    fails(&env, &words("leader add-task do --id a"), b"", 3, "conflict");
    let file = b"- [ ] one {id: one, labels: ui}\n- [ ] two {id: two}\n";
    let made = env.run_with_input(&["leader", "import", "-", "--label", "ui", "more", "--json"], file);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!((&made[0]["labels"], &made[1]["labels"]), (&json!(["ui", "more"]), &json!(["ui", "more"])));
    let line = br#"[{"id": "three", "description": "d", "labels": ["x"]}]"#;
    let made = env.run_with_input(&["leader", "import", "-", "--json"], line);
    assert_eq!(serde_json::from_str::<Value>(&made.stdout).unwrap()[0]["labels"], json!(["x"]));
}

#[test]
fn tasks_are_listed_in_the_order_that_is_wanted() {
    let env = queue(&["c -p 3", "a -p 9 --depends c", "b -p 1"]);
    assert_eq!(ids(&run(&env, "leader list")), ["b", "c", "a"]);
    assert_eq!(ids(&run(&env, "leader list --sort id")), ["a", "b", "c"]);
    assert_eq!(ids(&run(&env, "leader list --sort age")), ["c", "a", "b"]);
    run(&env, "worker claim w1 c");
    run(&env, "worker complete w1 c ok");
    assert_eq!(ids(&run(&env, "leader list --sort priority --all")), ["b", "c", "a"]);
    let told = env.ok(&["leader", "list", "--sort", "priority", "--all"]).stdout;
    let expected = "  [1] b  do it  ready\n  [3] c  do it  done  by w1";
    assert!(told.starts_with(expected), "{told}");
    refused(&env, "leader list --sort size", 2, "size");
}

#[test]
fn who_cancels_or_fails_hears_what_waits_for_it() {
    let env = queue(&["a", "b --depends a", "c --depends a", "d"]);
    let told = env.ok(&["leader", "cancel", "a"]).stderr;
    assert!(
        told.contains("`b`, `c` wait for `a`; to go on without it: anthill leader edit b --no-depends a"),
        "{told}"
    );
    assert_eq!(env.ok(&["leader", "cancel", "d"]).stderr, "");
    run(&env, "leader reset a");
    run(&env, "worker claim w1 a");
    let told = env.ok(&["worker", "fail", "w1", "a", "no"]).stderr;
    assert!(told.contains("`b`, `c` wait for `a`; to have it tried again: anthill leader retry a"), "{told}");
    let all: Vec<_> = "a b c".split(' ').collect();
    assert_eq!(env.ok(&[&["leader", "cancel"][..], &all].concat()).stderr, "", "they go together");
}

#[test]
fn another_goal_is_not_dropped_silently() {
    let env = env();
    env.ok(&["leader", "init", "goal one", "--approach", "by hand"]);
    assert_eq!(env.json(&["leader", "init", "goal one"])["created"], json!([]));
    let error = fails(&env, &["leader", "init", "goal two"], b"", 3, "conflict");
    assert!(error.to_string().contains("anthill leader init 'goal two' --json --replace"), "{error}");
    let plan =
        |env: &TestEnv| std::fs::read_to_string(env.project().join(".coordination/master-plan.md")).unwrap();
    assert!(plan(&env).contains("goal one"));
    let before = plan(&env);
    env.ok(&["leader", "init", "goal two", "--replace"]);
    assert_eq!(plan(&env), before.replace("goal one", "goal two"));
}

#[test]
fn what_the_board_leaves_out_it_says_how_to_see() {
    let tasks: Vec<_> = (0..12).map(|number| format!("t{number}")).collect();
    let env = queue(&tasks.iter().map(String::as_str).collect::<Vec<_>>());
    run(&env, "leader cancel t0");
    let board = env.ok(&["leader", "status"]).stdout;
    assert!(board.contains("… and 1 more: anthill leader list --status ready"), "{board}");
    assert!(board.contains("CANCELLED (1)\n  see: anthill leader list --status cancelled"), "{board}");
}
