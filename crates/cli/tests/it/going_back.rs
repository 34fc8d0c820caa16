//! Going back: what undo and restore take back, whose it was, and what they keep together. Looking back: history and log.

use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use crate::agent_loop::started;
use crate::env;
use crate::lines::{ok, refused};

const RESULT: &str = "project/.coordination/results/t1.md";

fn with_tasks() -> TestEnv {
    let env = env();
    for id in ["t1", "t2", "t3"] {
        ok(&env, &format!("leader add-task x --id {id}"));
    }
    env
}

fn task(env: &TestEnv, id: &str) -> Value {
    env.json(&["get", "queue", "--field", &format!("tasks[id={id}]")])
}

#[test]
fn what_others_did_is_taken_back_by_force_and_said() {
    let env = with_tasks();
    ok(&env, "worker claim w1 --session-id s9");
    let before = env.bytes();
    let refused = env.run(&["undo", "queue"]);
    assert_eq!(refused.code, 1, "{}", refused.shown());
    assert!(env.bytes() == before, "nothing was changed");
    for part in ["revision 4 (claim) by w1 for s9", "anthill undo queue --force"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    let error = env.error(&["undo", "queue"]);
    assert_eq!((&error["code"], &error["taken"][0]["revision"]), (&json!("refused"), &json!(4)));

    let dry = ok(&env, "undo queue --dry-run");
    assert!(env.bytes() == before, "a dry run writes nothing");
    for part in [
        "Would take back revision 4: claim by w1 for s9, 2026-01-01T00:00:0",
        "    tasks[id=t1].status: \"claimed\" -> \"available\"",
        "it needs --force, because it is of w1 for s9",
    ] {
        assert!(dry.stderr.contains(part), "{part}: {}", dry.stderr);
    }
    let told = env.json(&["undo", "queue", "--force"]);
    assert_eq!((&told["revision"], &told["taken_back"][0]["by"]), (&json!(5), &json!("w1")));
    assert_eq!(told["taken_back"][0]["author"], "s9");
    let status =
        told["changes"].as_array().unwrap().iter().find(|change| change["path"] == "tasks[id=t1].status");
    assert_eq!(status.unwrap()["after"], "available");
    assert_eq!(env.json(&["worker", "claim", "w1"])["lease"]["epoch"], 2, "no lease is given twice");
    ok(&env, "validate");
}

#[test]
fn ones_own_changes_need_no_force() {
    let env = with_tasks();
    ok(&env, "undo queue");
    assert_eq!(
        env.json(&["leader", "status"])["tasks"].as_array().unwrap().len(),
        2,
        "what the leader added"
    );
    ok(&env, "leader add-task x --id t4 --session-id s1");
    refused(&env, "undo queue", 1);
    refused(&env, "undo queue --session-id s2", 1);
    ok(&env, "undo queue --session-id s1");
    ok(&env, "leader add-task x --id t5 --session-id s1");
    refused(&env, "restore queue --revision 2", 1);
    let told = env.json(&["restore", "queue", "--revision", "2", "--force"]);
    assert_eq!(told["others"], json!(["leader for s1"]));
    let taken: Vec<_> =
        told["taken_back"].as_array().unwrap().iter().map(|taken| taken["revision"].clone()).collect();
    assert_eq!(taken, [json!(7)], "the others were taken back already");
    ok(&env, "validate");
}

#[test]
fn a_result_goes_and_comes_with_its_task() {
    let env = with_tasks();
    ok(&env, "leader add-task y --id t4 --depends t1");
    ok(&env, "worker claim w1");
    ok(&env, "worker complete w1 t1 made-it");
    ok(&env, "undo queue --force");
    assert_eq!(
        (&task(&env, "t1")["status"], &task(&env, "t4")["status"]),
        (&json!("claimed"), &json!("created"))
    );
    assert!(!env.root().join(RESULT).exists(), "the result went with the completion");
    ok(&env, "worker complete w1 t1 made-it");
    let text = env.read_text(RESULT);
    let done = env.json(&["get", "queue", "--field", "revision"]);
    ok(&env, "leader reset t1 --force");
    ok(&env, &format!("restore queue --revision {done}"));
    assert_eq!((&task(&env, "t1")["status"], env.read_text(RESULT)), (&json!("done"), text.clone()));

    env.write(RESULT, format!("{text}\nand a word of mine\n"));
    let before = env.bytes();
    let told = env.run(&["restore", "queue", "--revision", "6", "--force"]);
    assert_eq!((told.code, env.bytes() == before), (1, true), "{}", told.shown());
    for part in ["results/t1.md", "anthill leader reset t1 --force"] {
        assert!(told.stderr.contains(part), "{part}: {}", told.stderr);
    }
    ok(&env, "doctor");
}

#[test]
fn a_task_that_was_claimed_does_not_go_without_a_word() {
    let env = with_tasks();
    ok(&env, "worker claim w1");
    ok(&env, "undo queue --force");
    ok(&env, "undo queue");
    ok(&env, "undo queue");
    let told = env.run(&["undo", "queue"]);
    assert_eq!(told.code, 1, "{}", told.shown());
    assert!(told.stderr.contains("anthill leader cancel t1"), "{}", told.stderr);
    ok(&env, "undo queue --force");
    refused(&env, "get queue", 4);
}

/// Items of the loop have leases too.
#[test]
fn an_item_of_the_loop_is_never_given_with_the_same_number() {
    let env = started();
    ok(&env, "loop add a");
    ok(&env, "loop take --as ann");
    ok(&env, "undo work_queue");
    let item = || env.json(&["get", "work_queue", "--field", "items[0]"]);
    assert_eq!((&item()["status"], &item()["last_claim"]["epoch"]), (&json!("pending"), &json!(1)));
    ok(&env, "loop take --as bob");
    assert_eq!(item()["lease"]["epoch"], 2);
    let taken = env.json(&["get", "work_queue", "--field", "revision"]).to_string();
    ok(&env, "loop release --as bob");
    ok(&env, "loop take --as ann");
    ok(&env, &format!("restore work_queue --revision {taken}"));
    assert_eq!(
        (&item()["status"], item().get("assigned_to")),
        (&json!("pending"), None),
        "bob's claim is over"
    );
    ok(&env, "loop take --as cid");
    assert_eq!(item()["lease"]["epoch"], 4);
    ok(&env, "validate");
}

#[test]
fn changes_name_items_by_their_ids() {
    let env = with_tasks();
    ok(&env, "worker claim w1");
    ok(&env, "delete queue tasks[0]");
    ok(&env, "set queue tasks[id=t3].priority 1");
    let log = ok(&env, "log --kind queue").stdout;
    for part in ["  t1: available → claimed", "  t3: nothing → available", "  t3.priority: "] {
        assert!(log.contains(part), "{part}: {log}");
    }
    let history = env.json(&["history", "queue", "--limit", "1"]);
    let change =
        &history[0]["changes"].as_array().unwrap().iter().find(|change| change["after"] == 1).unwrap();
    assert_eq!(
        (&change["path"], &change["place"]),
        (&json!("tasks[id=t3].priority"), &json!("tasks[1].priority"))
    );
    let whole = env.json(&["history", "queue"]);
    assert_eq!(whole.as_array().unwrap().last(), history.as_array().unwrap().last());
    ok(&env, "epic add e1 --project-id p --id e1");
    ok(&env, "story add e1 s --project-id p --id s1");
    ok(&env, "set epics epics[0].stories[0].title \"new\" --project-id p");
    let log = ok(&env, "log --kind epics --limit 1").stdout;
    assert!(log.contains("  e1.stories[id=s1].title: s → new"), "{log}");
}

#[test]
fn a_limit_shows_the_newest_and_names_what_is_too_long() {
    let env = env();
    let tasks: String = (0..400)
        .map(|id| format!("{{\"id\":\"i{id}\",\"description\":\"{}\"}}\n", "x".repeat(200)))
        .collect();
    env.write("project/tasks.jsonl", &tasks);
    ok(&env, "leader import tasks.jsonl");
    ok(&env, "worker claim w1");
    let told = env.json(&["history", "queue", "--limit", "9"]);
    let import = told.as_array().unwrap().iter().find(|record| record["op"] == "import").unwrap();
    assert_eq!(import["changes"], json!([]));
    let stored = import["stored"].as_str().unwrap();
    assert!(env.read_text(stored.strip_prefix("$TEST_ENV/").expect(stored)).contains("i399"), "{stored}");
    let all = env.json(&["history", "queue"]);
    assert!(all.to_string().contains("i399"), "without a limit all of it is told");
    let log = env.json(&["log", "--limit", "2"]);
    assert_eq!(log.as_array().unwrap().len(), 2);
    assert_eq!(log, env.json(&["log", "--limit", "2", "--since", "2025-01-01T00:00:00Z"]));
    assert_eq!(env.json(&["log", "--limit", "2", "--since", "2027-01-01T00:00:00Z"]), json!([]));
    assert_eq!(env.json(&["log", "--limit", "5", "--actor", "w1"]).as_array().unwrap().len(), 2);
    ok(&env, "undo queue --force");
    ok(&env, "undo queue --force");
    refused(&env, "get queue --field tasks[id=i3]", 4);
}

/// Signs of life are written into the queue now and then. They are nobody's change: they stand in nobody's way, are left out of
/// what is told, and are not taken back.
#[test]
fn renewals_of_leases_are_no_changes() {
    let env = with_tasks();
    let at = |minute: u32, line: &str| {
        let clock = format!("2026-01-01T01:{minute:02}:00Z");
        let words: Vec<_> = line.split(' ').collect();
        let ran = env.finish(env.command(&words).env("ANTHILL_NOW", clock), b"");
        assert_eq!(ran.code, 0, "{line}: {}", ran.shown());
        ran
    };
    at(0, "worker claim w1 --session-id s9");
    let seen = env.json(&["get", "queue", "--field", "revision"]);
    let copy = env.read_text("project/.coordination/tasks.json");
    for minute in [1, 2, 6, 7, 12] {
        at(minute, "worker heartbeat w1");
    }
    assert_eq!(env.json(&["get", "queue", "--field", "revision"]), json!(seen.as_u64().unwrap() + 2));
    let ops = |line: &str| -> Vec<String> {
        let told = env.json(&line.split(' ').collect::<Vec<_>>());
        told.as_array().unwrap().iter().map(|told| told["op"].as_str().unwrap().to_owned()).collect()
    };
    for (line, tells) in [
        ("history queue", false),
        ("history queue --limit 50", false),
        ("history queue --all", true),
        ("log", false),
        ("log --all", true),
        ("log --kind queue --limit 50", false),
    ] {
        assert_eq!(ops(line).contains(&"heartbeat".to_owned()), tells, "{line}");
    }
    assert_eq!(ops("history queue --limit 1"), ["claim"]);
    let shown = env.json(&["show", "t1"]);
    assert_eq!(shown["history"][0]["op"], "claim", "{shown}");

    // An edit that was begun before them is no conflict, whichever way it is made.
    at(12, &format!("set queue tasks[id=t2].priority 1 --expect-revision {seen}"));
    assert_eq!(
        env.run(&["set", "queue", "tasks[id=t2].priority", "2", "--expect-revision", &seen.to_string()]).code,
        3
    );
    env.write("project/.coordination/tasks.json", copy.replace("\"priority\": 5", "\"priority\": 3"));
    at(12, "leader add-task more --id t4");
    assert_eq!((&task(&env, "t3")["priority"], &task(&env, "t4")["id"]), (&json!(3), &json!("t4")));
    assert_eq!(task(&env, "t1")["lease"]["expires_at"], "2026-01-01T01:22:00.000Z");
    ok(&env, "validate");
}

#[test]
fn going_back_leaves_leases_as_long_as_they_are() {
    let env = with_tasks();
    let at = |minute: u32, line: &str| {
        let clock = format!("2026-01-01T01:{minute:02}:00Z");
        let words: Vec<_> = line.split(' ').collect();
        env.finish(env.command(&words).env("ANTHILL_NOW", clock), b"")
    };
    assert_eq!(at(0, "worker claim w1 --session-id s9").code, 0);
    assert_eq!(at(1, "set queue tasks[id=t3].priority 1").code, 0);
    assert_eq!(at(6, "worker heartbeat w1").code, 0);
    let undone = at(6, "undo queue --json");
    assert_eq!(undone.code, 0, "{}", undone.shown());
    assert_eq!(undone.json()["taken_back"][0]["op"], "set");
    assert_eq!((&task(&env, "t3")["priority"], &task(&env, "t1")["claimed_by"]), (&json!(5), &json!("w1")));
    let stored: Value = serde_json::from_str(&env.read_text("project/.coordination/tasks.json")).unwrap();
    assert_eq!(stored["tasks"][0]["lease"]["expires_at"], "2026-01-01T01:16:00.000Z");
    assert_eq!(at(11, "worker claim w2 --json").json()["id"], "t2", "w1 keeps its task");
}
