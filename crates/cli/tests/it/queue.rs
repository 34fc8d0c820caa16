//! The queue's contract, from the outside: a leader adds tasks, workers claim them exactly once.

use std::process::Command;
use std::time::{Duration, Instant};

use anthill_testkit::test_env::{Ran, Running, TestEnv};
use serde_json::{Value, json};

use crate::env;
use crate::exit_codes::fails;
use crate::watch::wait_until_it_listens;

const ROOM: &str = "project/.coordination";
const TASKS: &str = "project/.coordination/tasks.json";

/// Returns an environment with tasks, each `ID [OPTION…]` of `leader add-task`, described as `do_ID`.
#[track_caller]
fn queue(tasks: &[&str]) -> TestEnv {
    let env = env();
    tasks.iter().for_each(|task| add(&env, task));
    env
}

#[track_caller]
fn add(env: &TestEnv, task: &str) {
    let (id, options) = task.split_once(' ').unwrap_or((task, ""));
    let options: Vec<_> = options.split_whitespace().collect();
    env.ok(&[&["leader", "add-task", &format!("do_{id}"), "--id", id], &options[..]].concat());
}

/// Runs a command at a time of the first day, such as `01:30`.
fn at(env: &TestEnv, clock: &str, line: &str) -> Ran {
    env.finish(env.command(&words(line)).env("ANTHILL_NOW", format!("2026-01-01T{clock}:00Z")), b"")
}

/// Runs a command by the real clock.
fn now(env: &TestEnv, line: &str) -> Ran {
    env.finish(env.command(&words(line)).env_remove("ANTHILL_NOW"), b"")
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Runs a command of plain words with `--json`.
#[track_caller]
fn json_of(env: &TestEnv, line: &str) -> Value {
    env.json(&words(line))
}

#[track_caller]
fn claims(env: &TestEnv, worker: &str, id: &str) -> Value {
    let task = json_of(env, &format!("worker claim {worker}"));
    assert_eq!(task["id"], id, "{task}");
    assert_eq!(task["claimed_by"], worker, "{task}");
    task
}

/// Insists that nothing is ready, by the step clock.
#[track_caller]
fn claims_nothing(env: &TestEnv, worker: &str) {
    fails(env, &["worker", "claim", worker], b"", 4, "not_found");
}

#[track_caller]
fn refused(env: &TestEnv, line: &str, code: i32) -> Value {
    let word = ["", "refused", "invalid", "conflict", "not_found"][code as usize];
    fails(env, &words(line), b"", code, word)
}

fn document(env: &TestEnv) -> Value {
    serde_json::from_str(&env.read_text(TASKS)).unwrap()
}

#[track_caller]
fn task(env: &TestEnv, id: &str) -> Value {
    let document = document(env);
    let tasks = document["tasks"].as_array().unwrap();
    tasks.iter().find(|task| task["id"] == id).unwrap_or_else(|| panic!("no task {id}")).clone()
}

fn status(env: &TestEnv, id: &str) -> String {
    task(env, id)["status"].as_str().unwrap().to_owned()
}

/// Returns every task as `id status`, in the order of the file.
fn statuses(env: &TestEnv) -> Vec<String> {
    let document = document(env);
    let tasks = document["tasks"].as_array().unwrap().iter();
    let word = |task: &Value, field: &str| task[field].as_str().unwrap().to_owned();
    tasks.map(|task| format!("{} {}", word(task, "id"), word(task, "status"))).collect()
}

/// Edits the queue as a person would, with any program.
#[track_caller]
fn edit(env: &TestEnv, filter: &str) {
    let line = format!("jq '{filter}' .coordination/tasks.json > new && cat new > .coordination/tasks.json");
    let ran = env.sh(&line);
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

fn log(env: &TestEnv, agent: &str) -> String {
    env.read_text(&format!("{ROOM}/logs/{agent}.log"))
}

#[track_caller]
fn logged(env: &TestEnv, agent: &str, line: &str) {
    let log = log(env, agent);
    assert!(log.lines().any(|logged| logged.ends_with(line)), "`{line}` is not in {agent}.log:\n{log}");
}

/// Returns the headings of a text file.
fn headings(text_file: &str) -> Vec<&str> {
    text_file.lines().filter(|line| line.starts_with('#')).collect()
}

// ---- the layout

#[test]
fn init_lays_out_the_room() {
    let env = env();
    let made = env.json(&["leader", "init", "Build a REST API", "--approach", "Small steps"]);
    assert_eq!(made["created"], json!(["tasks.json", "master-plan.md", "context/discoveries.md"]));
    for dir in ["context", "logs", "results"] {
        assert!(env.project().join(".coordination").join(dir).is_dir(), "{dir}");
    }
    assert_eq!(
        document(&env),
        json!({"version": "1.0", "created_at": "2026-01-01T00:00:01.000Z",
               "last_updated": "2026-01-01T00:00:01.000Z", "tasks": [], "revision": 1})
    );
    let plan = env.read_text(&format!("{ROOM}/master-plan.md"));
    let sections = ["Objective", "Approach", "Success Criteria", "Task Breakdown", "Status", "Notes"];
    let expected: Vec<_> = sections.iter().map(|section| format!("## {section}")).collect();
    assert_eq!(headings(&plan)[1..], expected);
    assert!(plan.contains("Build a REST API") && plan.contains("Small steps"), "{plan}");
    assert!(env.read_text(&format!("{ROOM}/context/discoveries.md")).starts_with("# Discoveries"));
    assert_eq!(log(&env, "leader"), "[2026-01-01T00:00:01.000Z] INIT: Build a REST API\n");
    refused(&env, "leader init", 2);
    fails(&env, &["leader", "init", " "], b"", 2, "invalid");
}

#[test]
fn init_again_keeps_what_is_there() {
    let env = queue(&["a"]);
    env.ok(&["leader", "init", "First"]);
    let plan = env.read_text(&format!("{ROOM}/master-plan.md")).replace("First", "First, by hand");
    env.write(&format!("{ROOM}/master-plan.md"), &plan);
    let again = env.json(&["leader", "init", "First"]);
    assert_eq!((&again["created"], again["kept"].as_array().unwrap().len()), (&json!([]), 3));
    assert_eq!(env.read_text(&format!("{ROOM}/master-plan.md")), plan);
    assert_eq!(statuses(&env), ["a available"]);
    // What was taken away comes back.
    std::fs::remove_dir_all(env.project().join(".coordination/context")).unwrap();
    let again = env.json(&["leader", "init", "First"]);
    assert_eq!(again["created"], json!(["context/discoveries.md"]));
}

// ---- adding

#[test]
fn a_new_task_looks_as_in_the_seed() {
    let env = env();
    let answer = env.json(&[
        "leader",
        "add-task",
        "Implement user validation function",
        "-p",
        "1",
        "--files",
        "src/models/user.ts",
        "src/utils/validation.ts",
        "--hints",
        "Use zod for schema validation",
    ]);
    let id = answer["id"].as_str().unwrap();
    let tail = id.strip_prefix("task-20260101000001-").unwrap();
    assert!(tail.len() == 4 && tail.chars().all(|char| char.is_ascii_hexdigit()), "{id}");
    let expected = format!(
        r#"{{"id":"{id}","description":"Implement user validation function","status":"available","priority":1,"claimed_by":null,"dependencies":[],"context":{{"files":["src/models/user.ts","src/utils/validation.ts"],"hints":"Use zod for schema validation"}},"result":null,"created_at":"2026-01-01T00:00:01.000Z","claimed_at":null,"completed_at":null}}"#
    );
    assert_eq!(answer.to_string(), expected);
    assert_eq!(task(&env, id).to_string(), expected, "the answer is the task as stored");
    logged(&env, "leader", &format!("ADD_TASK: {id}: Implement user validation function"));
    let ran = env.ok(&["leader", "add-task", "Next"]);
    let said = ran.stdout.trim_end();
    assert_eq!(said.rsplit(": ").next(), document(&env)["tasks"][1]["id"].as_str(), "the id is last: {said}");
    assert_eq!(document(&env)["tasks"][1]["priority"], 5);
    assert_eq!(document(&env)["revision"], 2);
}

#[test]
fn ids_of_one_second_differ() {
    let env = env();
    let mut ids: Vec<_> = (0..5).map(|_| at(&env, "10:00", "leader add-task same --json").json()).collect();
    ids.sort_by_key(|task| task["id"].to_string());
    ids.dedup_by_key(|task| task["id"].to_string());
    assert_eq!(ids.len(), 5);
}

#[test]
fn priorities_are_1_to_10() {
    let env = queue(&["a -p 1", "b -p 10"]);
    for wrong in ["0", "11", "-1", "1.5", "high", "", "99999999999999999999"] {
        let message =
            fails(&env, &["leader", "add-task", "x", "-p", wrong], b"", 2, "invalid")["message"].take();
        assert!(message.as_str().unwrap().contains("10"), "{wrong}: {message}");
    }
    for bad in ["../x", ".x", "a b", "ä", ""] {
        fails(&env, &["leader", "add-task", "x", "--id", bad], b"", 2, "invalid");
        fails(&env, &["leader", "add-task", "x", "--depends", bad], b"", 2, "invalid");
    }
    fails(&env, &["leader", "add-task", " \n"], b"", 2, "invalid");
    fails(&env, &["leader", "add-task", &"x".repeat(65_537)], b"", 2, "invalid");
    refused(&env, "leader add-task", 2);
}

#[test]
fn the_same_id_is_the_same_task_or_a_conflict() {
    let env = queue(&["a -p 2 --files src/ --needs rust"]);
    let before = env.bytes();
    let again = json_of(&env, "leader add-task do_a -p 2 --files src/ --needs rust --id a");
    assert_eq!(again["id"], "a");
    assert!(env.bytes() == before, "a repetition changes nothing");
    for other in ["do_b", "do_a -p 3", "do_a -p 2 --files lib/", "do_a -p 2 --files src/ --hints x"] {
        refused(&env, &format!("leader add-task {other} --id a"), 3);
    }
    // Also when it is long done.
    json_of(&env, "worker register w --capabilities rust");
    claims(&env, "w", "a");
    json_of(&env, "worker complete w a done");
    assert_eq!(json_of(&env, "leader add-task do_a -p 2 --files src/ --needs rust --id a")["status"], "done");
    assert_eq!(statuses(&env), ["a done"]);
}

#[test]
fn dependencies_must_exist() {
    let env = queue(&["a", "b --depends a"]);
    refused(&env, "leader add-task x --depends nope", 2);
    refused(&env, "leader add-task x --depends a nope", 2);
    refused(&env, "leader add-task x --id x --depends x", 2);
    add(&env, "c --depends a b");
    add(&env, "d --depends a --depends b -p 3");
    assert_eq!(task(&env, "c")["dependencies"], json!(["a", "b"]));
    assert_eq!(task(&env, "d")["dependencies"], json!(["a", "b"]));
    // A task that waits for nothing by a slip of the hand must not become a circle.
    edit(&env, ".tasks[0].dependencies = [\"later\"]");
    let error = refused(&env, "leader add-task x --id later --depends c", 2);
    assert!(error["message"].as_str().unwrap().contains("circle"), "{error}");
    let list = br#"[{"id": "later", "description": "x", "dependencies": ["other"]},
                    {"id": "other", "description": "x", "dependencies": ["b"]}]"#;
    let error = fails(&env, &["leader", "import", "-"], list, 2, "invalid");
    assert!(error["message"].as_str().unwrap().contains("circle"), "{error}");
    add(&env, "later");
}

// ---- the order of work

#[test]
fn created_until_the_dependencies_are_done() {
    let env = queue(&["a", "b", "c --depends a b", "d --depends c"]);
    assert_eq!(statuses(&env), ["a available", "b available", "c created", "d created"]);
    for (worker, id) in [("w1", "a"), ("w2", "b")] {
        claims(&env, worker, id);
        assert_eq!(status(&env, "c"), "created");
        json_of(&env, &format!("worker complete {worker} {id} ok"));
    }
    assert_eq!(statuses(&env), ["a done", "b done", "c available", "d created"]);
    let history = json_of(&env, "history queue");
    let last = history.as_array().unwrap().iter().max_by_key(|entry| entry["revision"].as_u64()).unwrap();
    assert_eq!((&last["op"], &last["by"]), (&"complete".into(), &"w2".into()));
    let after = |path: &str| {
        let changes = last["changes"].as_array().unwrap();
        changes.iter().find(|change| change["path"] == path).map(|change| change["after"].clone())
    };
    assert_eq!(after("tasks[id=b].status"), Some("done".into()));
    assert_eq!(after("tasks[id=c].status"), Some("available".into()), "in the same commit");
    claims(&env, "w1", "c");
    json_of(&env, "worker fail w1 c broken");
    assert_eq!(status(&env, "d"), "created", "a failure sets nothing free");
    // A dependency that was done before counts as well.
    add(&env, "e --depends a");
    assert_eq!(status(&env, "e"), "available");
}

#[test]
fn claimed_by_priority_then_age_then_position() {
    let env = env();
    for (clock, id, priority) in
        [("10:00", "old", 5), ("09:00", "older", 5), ("11:00", "urgent", 1), ("12:00", "idle", 10)]
    {
        at(&env, clock, &format!("leader add-task x --id {id} -p {priority}"));
    }
    for id in ["twin-2", "twin-1"] {
        at(&env, "08:00", &format!("leader add-task x --id {id} -p 7"));
    }
    let listed: Vec<_> =
        json_of(&env, "worker list").as_array().unwrap().iter().map(|task| task["id"].clone()).collect();
    let expected = ["urgent", "older", "old", "twin-2", "twin-1", "idle"];
    assert_eq!(listed, expected);
    for id in expected {
        claims(&env, "w", id);
    }
    claims_nothing(&env, "w");
    // Numbers that a person or another tool wrote.
    edit(
        &env,
        ".tasks = [{id: \"x\", description: \"x\", status: \"available\"}, {id: \"y\", description: \"y\", status: \"available\", priority: 2.0}]",
    );
    env.sh("sed -i 's/\"priority\": 2,\\?/\"priority\": 2.0/' .coordination/tasks.json");
    claims(&env, "w", "y");
    claims(&env, "w", "x");
}

#[test]
fn capabilities_are_a_subset() {
    let env = queue(&["both --needs rust sql -p 1", "one --needs rust -p 2", "none -p 3"]);
    json_of(&env, "worker register rusty --capabilities rust");
    json_of(&env, "worker register able --capabilities go,rust sql");
    let registered: Value = serde_json::from_str(&env.read_text(&format!("{ROOM}/agents.json"))).unwrap();
    assert_eq!(registered["agents"][1]["capabilities"], json!(["go", "rust", "sql"]));
    assert_eq!(task(&env, "both")["required_capabilities"], json!(["rust", "sql"]));
    assert_eq!(json_of(&env, "worker list").as_array().unwrap().len(), 3, "some worker can have each");
    claims(&env, "stranger", "none");
    claims(&env, "rusty", "one");
    claims_nothing(&env, "rusty");
    claims(&env, "able", "both");
    // Spaces after commas are no part of a name, and registering again replaces.
    env.ok(&["leader", "add-task", "x", "--id", "spaced", "--needs", "rust, sql"]);
    claims_nothing(&env, "rusty");
    env.ok(&["worker", "register", "rusty", "--capabilities", "rust, sql ,"]);
    claims(&env, "rusty", "spaced");
    let agents: Value = serde_json::from_str(&env.read_text(&format!("{ROOM}/agents.json"))).unwrap();
    assert_eq!(agents["agents"].as_array().unwrap().len(), 3, "a claim registers, too");
    assert_eq!(agents["agents"][0]["registered_at"], registered["agents"][0]["registered_at"]);
    logged(&env, "rusty", "REGISTERED: rusty (rust, sql)");
    for bad in ["a/b", "..", "a b", "", "ä"] {
        fails(&env, &["worker", "register", "--", bad], b"", 2, "invalid");
    }
}

/// Returns what the register says of a worker.
#[track_caller]
fn registered(env: &TestEnv, worker: &str) -> Value {
    let workers = json_of(env, "get workers")["agents"].take();
    workers.as_array().unwrap().iter().find(|entry| entry["id"] == worker).cloned().unwrap_or_default()
}

#[test]
fn a_claim_registers_its_worker_and_every_verb_is_a_sign_of_life() {
    let env = queue(&["t1", "t2", "t3"]);
    at(&env, "01:00", "session start s1");
    assert_eq!(at(&env, "01:00", "worker claim w1 --session-id s1").code, 0);
    let entry = json!({
        "id": "w1", "capabilities": [], "registered_at": "2026-01-01T01:00:00.000Z",
        "last_seen": "2026-01-01T01:00:00.000Z", "session_id": "s1",
    });
    assert_eq!(registered(&env, "w1"), entry);
    let verbs = [
        "worker start w1 t1",
        "worker heartbeat w1",
        "worker heartbeat w1 t1",
        "worker discover w1 news",
        "worker complete w1 t1 ok",
        "worker claim w1",
        "worker fail w1 t2 no",
        "worker claim w1",
        "worker release w1 t3",
        "worker register w1",
    ];
    for (number, line) in verbs.into_iter().enumerate() {
        let clock = format!("01:{:02}", 2 * number + 2);
        let ran = at(&env, &clock, &format!("{line} --session-id s1"));
        assert_eq!(ran.code, 0, "{line}: {}", ran.shown());
        assert_eq!(registered(&env, "w1")["last_seen"], format!("2026-01-01T{clock}:00.000Z"), "{line}");
        let heard = json_of(&env, "session show s1")["last_heartbeat"].take();
        assert_eq!(heard, format!("2026-01-01T{clock}:00.000Z"), "{line}");
    }
    // Who was seen just now is not written again for it.
    let before = env.read(&format!("{ROOM}/agents.json"));
    assert_eq!(at(&env, "01:20", "worker claim w1").code, 0);
    assert_eq!(env.read(&format!("{ROOM}/agents.json")), before);
    env.ok(&["validate"]);
}

#[test]
fn a_second_session_under_the_same_name_is_warned() {
    let env = queue(&["t1", "t2", "t3", "t4"]);
    for session in ["s1", "s2", "s3"] {
        env.ok(&["session", "start", session]);
    }
    let claim = |session: &str| env.ok(&words(&format!("worker claim w1 --session-id {session}"))).stderr;
    assert!(!claim("s1").contains("warning"), "the first one");
    let warned = claim("s2");
    assert!(warned.contains("warning: session `s1` works as `w1`, too"), "{warned}");
    env.ok(&["session", "end", "s2"]);
    assert!(!claim("s3").contains("warning"), "the other one is gone");
    assert!(!claim("s3").contains("warning"), "it is its own name");
}

#[test]
fn a_claim_without_a_name_has_one_of_its_own() {
    let env = queue(&["t1", "t2", "t3", "t4"]);
    let first = json_of(&env, "worker claim")["claimed_by"].as_str().unwrap().to_owned();
    let second = json_of(&env, "worker claim")["claimed_by"].as_str().unwrap().to_owned();
    assert!(first.starts_with("worker-20260101") && first != second, "{first} {second}");
    let said = env.ok(&["worker", "claim", "--session-id", "s1"]).stdout;
    assert!(said.starts_with("Claimed for s1 until "), "a session has the same name again: {said}");
    assert_eq!(json_of(&env, "worker claim --session-id s1")["claimed_by"], "s1");
    assert_eq!(registered(&env, &first)["id"], first);
    let ran = env.run(&["worker", "claim", "--lease", "5"]);
    assert!(ran.code == 4 && ran.stderr.contains("anthill worker claim worker-2026"), "{}", ran.shown());
}

#[test]
fn work_on_the_same_files_waits() {
    // Each pair cannot be worked on at once; `free` always can.
    for (first, second) in [
        ("src/models/", "src/models/user.ts"),
        ("src/models/user.ts", "src/models"),
        ("src/**/*.rs", "src/a/b/c.rs"),
        ("*.md", "docs/guide.md"),
        ("src/?.rs", "src/a.rs"),
        ("./src/a.rs", "src/a.rs"),
        (".", "anything"),
    ] {
        let env = queue(&[&format!("a --files {first}"), &format!("b --files other {second}"), "free"]);
        claims(&env, "w1", "a");
        claims(&env, "w2", "free");
        claims_nothing(&env, "w2");
        json_of(&env, "worker start w1 a");
        claims_nothing(&env, "w2");
        let reasons = json_of(&env, "leader explain b");
        assert!(reasons.to_string().contains("overlap"), "{reasons}");
        json_of(&env, "worker complete w1 a ok");
        claims(&env, "w2", "b");
    }
    let env = queue(&["a --files src/a.rs", "b --files src/b.rs", "c --files src"]);
    let root = env.project();
    env.ok(&[
        "leader",
        "add-task",
        "x",
        "--id",
        "d",
        "--files",
        &root.join("src/a.rs").display().to_string(),
    ]);
    assert_eq!(task(&env, "d")["context"]["files"], json!(["src/a.rs"]), "seen from the root");
    claims(&env, "w1", "a");
    claims(&env, "w2", "b");
    claims_nothing(&env, "w3");
    // Whatever ends the work sets the files free.
    json_of(&env, "worker fail w2 b broken");
    json_of(&env, "leader cancel a");
    claims(&env, "w3", "c");
}

#[test]
fn a_retry_is_not_given_out_before_its_time() {
    let env = queue(&["a"]);
    claims(&env, "w", "a");
    json_of(&env, "worker fail w a broken");
    let retried = at(&env, "01:00", "leader retry a --after 1800 --json").json();
    assert_eq!((&retried["status"], &retried["retries"]), (&"available".into(), &1.into()));
    assert_eq!(retried["next_retry_at"], "2026-01-01T01:30:00.000Z");
    assert_eq!(at(&env, "01:29", "worker claim w").code, 4);
    assert_eq!(at(&env, "01:29", "worker list --json").json(), json!([]));
    let claimed = at(&env, "01:30", "worker claim w --json").json();
    assert_eq!((&claimed["id"], &claimed["lease"]["epoch"]), (&"a".into(), &2.into()));
    assert!(claimed.get("next_retry_at").is_none(), "{claimed}");
    // A reset does not wait.
    at(&env, "02:00", "worker fail w a again");
    at(&env, "02:00", "leader retry a --after 3600");
    let reset = at(&env, "02:01", "leader reset a --json").json();
    assert!(reset.get("next_retry_at").is_none(), "{reset}");
    assert_eq!(at(&env, "02:02", "worker claim w").code, 0);
}

// ---- leases

#[test]
fn leases_count_and_are_renewed() {
    let env = queue(&["a"]);
    let claimed = at(&env, "01:00", "worker claim w1 --json --session-id s-1").json();
    assert_eq!((&claimed["status"], &claimed["claimed_by"]), (&"claimed".into(), &"w1".into()));
    assert_eq!(claimed["claimed_at"], "2026-01-01T01:00:00.000Z");
    assert_eq!(
        claimed["lease"],
        json!({"epoch": 1, "seconds": 600, "expires_at": "2026-01-01T01:10:00.000Z"})
    );
    assert_eq!(claimed["session_id"], "s-1");
    assert_eq!(claimed, task(&env, "a"));
    let started = at(&env, "01:05", "worker start w1 a --json").json();
    assert_eq!(
        (&started["status"], &started["lease"]["expires_at"]),
        (&"in_progress".into(), &"2026-01-01T01:15:00.000Z".into())
    );
    let renewed = at(&env, "01:12", "worker heartbeat w1 --json").json();
    assert_eq!(
        renewed[0]["lease"],
        json!({"epoch": 1, "seconds": 600, "expires_at": "2026-01-01T01:22:00.000Z"})
    );
    assert_eq!(renewed, json!([task(&env, "a")]));
    assert_eq!(at(&env, "01:21", "worker claim w2").code, 4, "the heartbeat keeps it");
    let released = at(&env, "01:21", "worker release w1 a --json").json();
    assert_eq!(
        (&released["status"], &released["claimed_by"], &released["lease"]),
        (&"available".into(), &Value::Null, &Value::Null)
    );
    let claimed = at(&env, "02:00", "worker claim w2 --lease 1.5 --json").json();
    assert_eq!(
        claimed["lease"],
        json!({"epoch": 2, "seconds": 1.5, "expires_at": "2026-01-01T02:00:01.500Z"})
    );
    assert!(claimed.get("session_id").is_none(), "{claimed}");
    for (number, action) in ["CLAIMED: a (lease 1)", "STARTED: a", "RELEASED: a"].iter().enumerate() {
        assert!(log(&env, "w1").lines().nth(number).unwrap().ends_with(action), "{}", log(&env, "w1"));
    }
}

#[test]
fn an_expired_lease_returns_the_task_at_the_next_claim() {
    let env = queue(&["a"]);
    at(&env, "01:00", "worker claim w1");
    at(&env, "01:01", "worker start w1 a");
    assert_eq!(at(&env, "01:10", "worker claim w2").code, 4, "started at 01:01 for 10 minutes");
    let taken = at(&env, "01:11", "worker claim w2 --json").json();
    assert_eq!(
        (&taken["status"], &taken["claimed_by"], &taken["lease"]["epoch"]),
        (&"claimed".into(), &"w2".into(), &2.into())
    );
    logged(&env, "w1", "EXPIRED: a (lease 1 ran out without a sign of life)");
    logged(&env, "w2", "CLAIMED: a (lease 2)");
    old_owner_is_refused(&env, "w1", "a");
    let current = [
        "start w2 a --epoch 1",
        "heartbeat w2 --epoch 1",
        "heartbeat w2 a --epoch 1",
        "fail w2 a x --epoch 1",
        "release w2 a --epoch 3",
        "complete w2 a x --epoch 1",
    ];
    for line in current {
        refused(&env, &format!("worker {line}"), 3);
    }
    json_of(&env, "worker heartbeat w2 a --epoch 2");
    json_of(&env, "worker start w2 a --epoch 2");
    json_of(&env, "worker complete w2 a done --epoch 2");
    old_owner_is_refused(&env, "w1", "a");
}

/// Insists on exit 3 for all that a worker may try whose task went on without it.
#[track_caller]
fn old_owner_is_refused(env: &TestEnv, worker: &str, id: &str) {
    for line in [
        "start W T",
        "heartbeat W T",
        "complete W T mine",
        "fail W T mine",
        "release W T",
        "heartbeat W T --epoch 1",
        "heartbeat W --epoch 1",
        "complete W T mine --epoch 1",
    ] {
        let line = line.replace('W', worker).replace('T', id);
        let error = refused(env, &format!("worker {line}"), 3);
        assert!(error["hint"].is_string(), "{line}: {error}");
    }
}

/// A sign of life stands beside the queue. Who asks anthill sees the lease that counts; who reads the file sees one that is not over.
#[test]
fn a_sign_of_life_is_no_revision_and_counts_everywhere() {
    let env = queue(&["a", "b"]);
    assert_eq!(at(&env, "01:00", "worker claim w1").code, 0);
    let (file, journal) = (env.read(TASKS), env.read(&format!("{ROOM}/.anthill/journal.jsonl")));
    let renewed = at(&env, "01:04", "worker heartbeat w1 --json").json();
    let ends = "2026-01-01T01:14:00.000Z";
    assert_eq!(renewed[0]["lease"]["expires_at"], ends);
    assert!(env.read(TASKS) == file, "the document is as it was");
    assert!(env.read(&format!("{ROOM}/.anthill/journal.jsonl")) == journal, "and so is its history");
    for (line, place) in [
        ("get queue", "/tasks/0/lease/expires_at"),
        ("get queue --field tasks[id=a]", "/lease/expires_at"),
        ("get queue --field tasks[0].lease", "/expires_at"),
        ("list queue", "/0/lease/expires_at"),
        ("leader show a", "/lease/expires_at"),
        ("leader explain a", "/task/lease/expires_at"),
        ("leader list", "/0/lease/expires_at"),
        ("leader status", "/tasks/0/lease/expires_at"),
        ("worker brief a", "/task/lease/expires_at"),
        ("worker mine w1", "/0/lease/expires_at"),
        ("show a", "/lease/expires_at"),
        ("list", "/0/lease/expires_at"),
        ("claim a --worker w1", "/lease/expires_at"),
    ] {
        let told = at(&env, "01:12", &format!("{line} --json")).json();
        assert_eq!(told.pointer(place), Some(&ends.into()), "{line}: {told}");
    }
    let told = at(&env, "01:12", "leader explain a").stdout;
    assert!(told.contains("its lease lasts 120 more s"), "{told}");
    let board = at(&env, "01:12", "leader status").stdout;
    assert!(!board.contains("ran out"), "{board}");
    assert_eq!(at(&env, "01:12", "worker claim w2 --json").json()["id"], "b", "nobody takes it");
    assert_eq!(at(&env, "01:13", "worker claim w3").code, 4);
    assert_eq!(at(&env, "01:14", "worker claim w3 --json").json()["id"], "a", "until it is over");
    assert_eq!(at(&env, "01:14", "worker heartbeat w1 a --epoch 1").code, 3);
    let shown = at(&env, "01:14", "get queue --field tasks[id=a].lease --json").json();
    assert_eq!((&shown["epoch"], &shown["expires_at"]), (&2.into(), &"2026-01-01T01:24:00.000Z".into()));
    assert_eq!(at(&env, "01:14", "doctor").code, 0);
}

/// Those who read the file alone see a lease that is half as long at least, while somebody gives signs of life.
#[test]
fn signs_of_life_are_written_into_the_queue_when_half_of_the_lease_has_passed() {
    let env = queue(&["a", "b"]);
    assert_eq!(at(&env, "01:00", "worker claim w1").code, 0);
    let stored = |id: &str| task(&env, id)["lease"]["expires_at"].as_str().unwrap()[11..16].to_owned();
    let mut written = Vec::new();
    for minute in 1..=20 {
        assert_eq!(at(&env, &format!("01:{minute:02}"), "worker heartbeat w1").code, 0);
        written.push(stored("a"));
    }
    let expected: Vec<_> = (1..=20).map(|minute| format!("01:{:02}", 10 + minute / 5 * 5)).collect();
    assert_eq!(written, expected);
    // A lease that is short is written each time, and a start always.
    assert_eq!(at(&env, "01:20", "worker claim w2 --lease 59").code, 0);
    assert_eq!(at(&env, "01:21", "worker heartbeat w2").code, 0);
    assert_eq!(task(&env, "b")["lease"]["expires_at"], "2026-01-01T01:21:59.000Z");
    assert_eq!(at(&env, "01:21", "worker start w1 a").code, 0);
    assert_eq!(stored("a"), "01:31");
}

#[test]
fn a_worker_that_lost_its_task_hears_it_from_its_heartbeat() {
    let env = queue(&["a"]);
    json_of(&env, "worker register w1");
    at(&env, "01:00", "worker claim w1");
    at(&env, "02:00", "worker claim w2");
    let error = refused(&env, "worker heartbeat w1", 3);
    assert_eq!((&error["task"], &error["owner"]), (&"a".into(), &"w2".into()));
    json_of(&env, "worker complete w2 a ok");
    assert_eq!(json_of(&env, "worker heartbeat w1"), json!([]), "then it is only idle");
    // Whoever gave a task back knows it.
    add(&env, "b");
    claims(&env, "w1", "b");
    json_of(&env, "worker release w1 b");
    claims(&env, "w2", "b");
    assert_eq!(json_of(&env, "worker heartbeat w1"), json!([]));
    refused(&env, "worker heartbeat nobody", 4);
}

#[test]
fn an_expired_lease_is_worth_something_until_somebody_asks() {
    let env = queue(&["a", "b"]);
    at(&env, "01:00", "worker claim w1");
    assert_eq!(
        at(&env, "03:00", "worker list --json").json().as_array().unwrap().len(),
        2,
        "what a claim could give"
    );
    let done = at(&env, "03:00", "worker complete w1 a late --json").json();
    assert_eq!(done["status"], "done");
    // Taken back, and nobody took it: the old owner is told so.
    at(&env, "04:00", "worker claim w1");
    add(&env, "urgent -p 1");
    assert_eq!(at(&env, "05:00", "worker claim w2 --json").json()["id"], "urgent");
    assert_eq!(statuses(&env)[1], "b available");
    old_owner_is_refused(&env, "w1", "b");
}

#[test]
fn what_the_state_does_not_allow_is_refused() {
    let env = queue(&["a", "b --depends a", "c -p 9"]);
    for verb in [
        "start w1 a",
        "complete w1 a x",
        "fail w1 a x",
        "release w1 a",
        "heartbeat w1 a",
        "start w1 b",
        "complete w1 b x",
    ] {
        refused(&env, &format!("worker {verb}"), 1);
    }
    claims(&env, "w1", "a");
    json_of(&env, "worker complete w1 a ok");
    for verb in ["start w1 a", "fail w1 a x", "release w1 a", "heartbeat w1 a"] {
        let error = refused(&env, &format!("worker {verb}"), 1);
        let said = verb.split(' ').next().unwrap().replace("heartbeat", "renew");
        assert!(error["message"].as_str().unwrap().contains(&said), "{verb}: {error}");
    }
    for verb in ["reset a", "retry a", "cancel a", "retry b", "retry c"] {
        refused(&env, &format!("leader {verb}"), 1);
    }
    claims(&env, "w1", "b");
    json_of(&env, "worker fail w1 b x");
    for verb in ["start w1 b", "complete w1 b x", "release w1 b"] {
        refused(&env, &format!("worker {verb}"), 1);
    }
    claims(&env, "w1", "c");
    json_of(&env, "leader cancel c");
    for verb in ["start w1 c", "complete w1 c x", "heartbeat w1 c"] {
        let error = refused(&env, &format!("worker {verb}"), 1);
        assert_eq!(error["status"], "cancelled");
    }
}

#[test]
fn what_is_repeated_answers_the_same() {
    let env = queue(&["a", "b"]);
    claims(&env, "w1", "a");
    let done = json_of(&env, "worker complete w1 a first --modified x --created y z");
    assert_eq!(
        done["result"],
        json!({"output": "first", "files_modified": ["x"], "files_created": ["y", "z"]})
    );
    assert_eq!(done["lease"]["epoch"], 1);
    let before = env.bytes();
    for line in ["worker complete w1 a first --modified x", "worker complete w1 a second --epoch 1"] {
        assert_eq!(json_of(&env, line).to_string(), done.to_string(), "{line}");
    }
    assert!(env.bytes() == before, "a repetition changes nothing");
    claims(&env, "w1", "b");
    let failed = json_of(&env, "worker fail w1 b why");
    assert_eq!(failed["result"], json!({"error": "why"}));
    assert_eq!(json_of(&env, "worker fail w1 b why"), failed);
    let open = json_of(&env, "leader retry b");
    assert_eq!(json_of(&env, "leader retry b"), open);
    claims(&env, "w1", "b");
    let open = json_of(&env, "worker release w1 b");
    assert_eq!(json_of(&env, "worker release w1 b"), open);
    let cancelled = json_of(&env, "leader cancel b");
    assert_eq!(json_of(&env, "leader cancel b"), cancelled);
    let open = json_of(&env, "leader reset b");
    assert_eq!(json_of(&env, "leader reset b"), open);
    assert_eq!(open["status"], "available");
}

#[test]
fn the_leader_resets_retries_and_cancels() {
    let env = queue(&["a", "b --depends a"]);
    claims(&env, "w1", "a");
    let reset = json_of(&env, "leader reset a");
    assert_eq!(
        (&reset["status"], &reset["claimed_by"], &reset["claimed_at"]),
        (&"available".into(), &Value::Null, &Value::Null)
    );
    old_owner_is_refused(&env, "w1", "a");
    logged(&env, "leader", "RESET: a");
    assert_eq!(claims(&env, "w1", "a")["lease"]["epoch"], 2);
    json_of(&env, "worker complete w1 a ok");
    assert_eq!(status(&env, "b"), "available");
    let reset = json_of(&env, "leader reset a --force");
    assert_eq!(
        (&reset["status"], &reset["result"], &reset["completed_at"]),
        (&"available".into(), &Value::Null, &Value::Null)
    );
    assert_eq!(status(&env, "b"), "created", "what waits for it waits again");
    json_of(&env, "leader cancel a");
    claims_nothing(&env, "w1");
    let why = json_of(&env, "leader explain b");
    assert!(why.to_string().contains("cancelled"), "{why}");
    assert_eq!(json_of(&env, "leader reset a")["status"], "available");
    for verb in ["reset", "retry", "cancel", "explain"] {
        refused(&env, &format!("leader {verb} nope"), 4);
        if verb != "explain" {
            refused(&env, &format!("leader {verb}"), 2);
        }
        refused(&env, &format!("leader {verb} a/b"), 2);
    }
}

// ---- hands

#[test]
fn a_status_set_back_by_hand_gives_the_task_back() {
    let edits = [
        ".tasks[0].status = \"available\"",
        ".tasks[0] |= (.status = \"available\" | .claimed_by = null)",
        ".tasks[0] |= (.status = \"available\" | .claimed_by = null | .claimed_at = null | del(.lease))",
        ".tasks[0] = {id: \"a\", description: \"do_a\", status: \"available\"}",
    ];
    for filter in edits {
        for ended in ["", "worker fail w1 a broken", "worker complete w1 a done"] {
            let env = queue(&["a", "b --depends a"]);
            claims(&env, "w1", "a");
            if !ended.is_empty() {
                json_of(&env, ended);
            }
            let was = status(&env, "a");
            edit(&env, filter);
            // With or without another command in between, the old owner has lost it.
            refused(&env, "worker complete w1 a mine", 3);
            let taken = claims(&env, "w2", "a");
            assert_eq!(
                (&taken["lease"]["epoch"], &taken["result"]),
                (&2.into(), &Value::Null),
                "{filter}, {ended}"
            );
            old_owner_is_refused(&env, "w1", "a");
            logged(&env, "leader", &format!("EDITED: a set from {was} to available by hand"));
            logged(&env, "w1", "EDITED: a (status was set back by hand)");
            let logged = json_of(&env, "log");
            let by_hand = |entry: &Value| entry["op"] == "edit" && entry["by"] == owner(&env).as_str();
            assert!(logged.as_array().unwrap().iter().any(by_hand), "{logged}");
            let history = json_of(&env, "history queue");
            assert!(history.as_array().unwrap().iter().any(by_hand), "{history}");
        }
    }
}

#[test]
fn a_dependency_set_to_done_by_hand_counts() {
    let env = queue(&["a", "b --depends a", "c --depends b"]);
    edit(&env, ".tasks[0].status = \"done\"");
    assert_eq!(json_of(&env, "worker list")[0]["id"], "b", "what a claim could give");
    claims(&env, "w1", "b");
    assert_eq!(statuses(&env), ["a done", "b claimed", "c created"]);
    logged(&env, "leader", "EDITED: a set from available to done by hand");
    edit(&env, ".tasks[1].status = \"done\"");
    add(&env, "d");
    assert_eq!(statuses(&env), ["a done", "b done", "c available", "d available"], "at the next command");
}

#[test]
fn tasks_are_added_and_removed_by_hand() {
    let env = queue(&["a"]);
    edit(
        &env,
        r#".tasks += [{id: "by-hand", description: "x", status: "available", priority: 1, x_owner: "me"}]"#,
    );
    claims(&env, "w1", "by-hand");
    logged(&env, "leader", "EDITED: by-hand added by hand");
    edit(&env, "del(.tasks[0])");
    json_of(&env, "worker complete w1 by-hand done");
    logged(&env, "leader", "EDITED: a removed by hand");
    assert_eq!(statuses(&env), ["by-hand done"]);
    assert_eq!(task(&env, "by-hand")["x_owner"], "me");
    refused(&env, "worker start w1 a", 4);
}

#[test]
fn a_damaged_queue_is_kept_and_refused() {
    let env = queue(&["a", "b"]);
    let whole = env.read_text(TASKS);
    let twice = whole.replace("\"id\": \"b\"", "\"id\": \"a\"");
    for damaged in [&whole[..100], &whole.replace("\"available\"", "\"ready\""), &twice, "", "[]"] {
        env.write(TASKS, damaged);
        for line in
            ["worker claim w", "worker list", "leader status", "leader add-task x", "worker heartbeat w"]
        {
            let error = fails(&env, &words(line), b"", 7, "damaged");
            assert!(error["line"].is_u64(), "{line}: {error}");
        }
    }
    env.write(TASKS, &twice);
    let error = env.error(&["worker", "claim", "w"]);
    assert!(error["message"].as_str().unwrap().contains("`tasks[1].id`"), "{error}");
    env.write(TASKS, &whole);
    fails(
        &env,
        &["append", "queue", "tasks", r#"{"id": "a", "description": "x", "status": "available"}"#],
        b"",
        2,
        "invalid",
    );
    claims(&env, "w", "a");
}

#[test]
fn unknown_fields_survive_everything() {
    let env = queue(&["a", "b --depends a"]);
    edit(
        &env,
        r#".x_top = 1 | .tasks[0] |= (.x_note = {deep: [1]} | .context.x_more = true) | .tasks[1].x_b = "b""#,
    );
    let survives = |line: &str| {
        json_of(&env, line);
        let a = task(&env, "a");
        assert_eq!((&a["x_note"], &a["context"]["x_more"]), (&json!({"deep": [1]}), &true.into()), "{line}");
        assert_eq!((&task(&env, "b")["x_b"], &document(&env)["x_top"]), (&"b".into(), &1.into()), "{line}");
    };
    edit(&env, ".tasks[0].x_lease_to_come = 1");
    for line in [
        "worker claim w1",
        "worker start w1 a",
        "worker heartbeat w1",
        "worker release w1 a",
        "worker claim w1",
        "worker fail w1 a broken",
        "leader retry a",
        "worker claim w1",
        "leader reset a",
        "worker claim w1",
        "worker complete w1 a ok",
        "leader reset a --force",
        "leader cancel a",
        "leader add-task more",
        "worker register w1",
    ] {
        survives(line);
    }
}

#[test]
fn a_queue_of_the_seed_works_as_it_is() {
    let env = env();
    let seed = include_str!("../../../core/tests/fixtures/seeds/queue.json");
    env.write(TASKS, seed);
    let (first, second) = ("task-20250119200000-a1b2", "task-20250119200001-c3d4");
    let listed = json_of(&env, "worker list");
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["id"]), (1, &first.into()));
    assert_eq!(env.read_text(TASKS), seed, "looking changes nothing");
    let claimed = claims(&env, "terminal-2", first);
    assert_eq!(claimed["lease"]["epoch"], 1);
    claims_nothing(&env, "terminal-3");
    assert_eq!(status(&env, second), "available", "as the seed has it");
    json_of(&env, &format!("worker start terminal-2 {first}"));
    json_of(&env, &format!("worker complete terminal-2 {first} ok"));
    claims(&env, "terminal-3", second);
    assert_eq!(document(&env)["created_at"], "2025-01-19T20:00:00Z");
    // Claimed by a tool that knows no leases: it stays with its owner until the leader says otherwise.
    edit(
        &env,
        &format!(
            r#".tasks += [{{id: "x", description: "x", status: "in_progress", claimed_by: "t9"}}] | .tasks[0].id = "{first}""#
        ),
    );
    assert_eq!(at(&env, "23:00", "worker heartbeat t9 --json").json()[0]["lease"]["epoch"], 1);
    json_of(&env, "worker complete t9 x ok");
}

#[test]
fn the_jq_lines_of_the_seed() {
    let env = queue(&["a", "b", "c --depends a"]);
    claims(&env, "w", "a");
    json_of(&env, "worker complete w a ok");
    let count = "jq -c '.tasks | group_by(.status) | map({status: .[0].status, count: length})' .coordination/tasks.json";
    assert_eq!(
        env.sh(count).stdout,
        "[{\"status\":\"available\",\"count\":2},{\"status\":\"done\",\"count\":1}]\n"
    );
    let counts = json_of(&env, "leader status");
    assert_eq!((&counts["counts"]["available"], &counts["counts"]["done"]), (&2.into(), &1.into()));
    assert_eq!(counts["progress"], json!({"done": 1, "total": 3, "percent": 33}));
    assert_eq!(counts["tasks"], document(&env)["tasks"]);
    let ran = env.sh("cat .coordination/results/a.md .coordination/logs/*.log .coordination/master-plan.md");
    assert!(ran.stdout.contains("## Status\n\nSUCCESS"), "{}", ran.shown());
}

// ---- text files

#[test]
fn results_and_the_summary() {
    let env = queue(&["a", "b", "c"]);
    env.ok(&["leader", "init", "The goal"]);
    refused(&env, "leader aggregate", 4);
    claims(&env, "w1", "a");
    env.ok(&["worker", "complete", "w1", "a", "Did it.", "--modified", "m 1", "m2", "--created", "c1"]);
    let done = env.read_text(&format!("{ROOM}/results/a.md"));
    let sections = [
        "Description",
        "Completed By",
        "Completed At",
        "Output",
        "Files Modified",
        "Files Created",
        "Status",
    ];
    assert_eq!(headings(&done), with_sections("# Task: a", "##", &sections));
    for piece in
        ["do_a", "w1", "2026-01-01T00:00:", "Did it.", "- m 1\n- m2\n", "- c1", "## Status\n\nSUCCESS\n"]
    {
        assert!(done.contains(piece), "{piece} is not in\n{done}");
    }
    claims(&env, "w2", "b");
    json_of(&env, "worker fail w2 b broken");
    let failed = env.read_text(&format!("{ROOM}/results/b.md"));
    let sections = ["Description", "Attempted By", "Failed At", "Failure Reason", "Status"];
    assert_eq!(headings(&failed), with_sections("# Task: b", "##", &sections));
    assert!(failed.contains("## Status\n\nFAILED\n") && failed.contains("broken"), "{failed}");
    let answer = json_of(&env, "leader aggregate");
    assert_eq!(answer, json!({"path": ".coordination/summary.md", "results": 2}));
    let summary = env.read_text(&format!("{ROOM}/summary.md"));
    let titles: Vec<_> = headings(&summary).into_iter().filter(|title| !title.starts_with("###")).collect();
    assert_eq!(titles, ["# Summary", "## Objective", "## Tasks", "## Task: a", "## Task: b"]);
    for piece in ["The goal", "Generated: 2026-01-01T", "1/3 (33%)", "Did it.", "broken", "| c | available |"]
    {
        assert!(summary.contains(piece), "{piece} is not in\n{summary}");
    }
    json_of(&env, "leader aggregate");
    let logs = log(&env, "leader") + &log(&env, "w1") + &log(&env, "w2");
    for line in logs.lines() {
        let (time, rest) =
            line.strip_prefix('[').and_then(|line| line.split_once("] ")).unwrap_or_else(|| panic!("{line}"));
        assert!(time.len() == 24 && time.ends_with('Z'), "{line}");
        let (action, _) = rest.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        assert!(action.chars().all(|char| char.is_ascii_uppercase() || char == '_'), "{line}");
    }
    logged(&env, "w1", "COMPLETED: a: Did it.");
    logged(&env, "w2", "FAILED: b: broken");
}

fn with_sections(title: &str, marks: &str, sections: &[&str]) -> Vec<String> {
    let sections = sections.iter().map(|section| format!("{marks} {section}"));
    std::iter::once(title.to_owned()).chain(sections).collect()
}

#[test]
fn discoveries_are_added() {
    let env = env();
    env.ok(&["leader", "init", "x"]);
    env.sh("printf '## Discovery: by hand\n' >> .coordination/context/discoveries.md");
    env.ok(&["worker", "discover", "w1", "The pool\n\nIt allows 10 connections."]);
    let told = env.json(&["worker", "discover", "w2", "Short"]);
    assert_eq!(told["path"], ".coordination/context/discoveries.md");
    let text = env.read_text(&format!("{ROOM}/context/discoveries.md"));
    assert_eq!(
        headings(&text)[1..],
        ["## Discovery: by hand", "## Discovery: The pool", "## Discovery: Short"]
    );
    assert!(text.contains("It allows 10 connections.") && text.contains("_w1, 2026-01-01T"), "{text}");
    logged(&env, "w1", "DISCOVERED: The pool");
    fails(&env, &["worker", "discover", "w1", " "], b"", 2, "invalid");
    refused(&env, "worker discover w1", 2);
}

/// Texts that try to be something else than text.
fn nasty() -> Vec<String> {
    vec![
        "quotes \" ' ` \\ $HOME $(id) %s {} |".into(),
        "two\nlines\r\nthree\n\n[2026-01-01T00:00:00.000Z] DONE: forged".into(),
        "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{0008}\u{7f}".into(),
        "right \u{202e}to\u{2066} left \u{200f}\u{2028}\u{2029}\u{85}\u{b}\u{c}end".into(),
        "ünï ✓ 漢字 🐜 e\u{301} \u{feff}".into(),
        "```\nnever closed\n# Task: other\n## Status\n\nFAILED".into(),
        "# Task: forged\n\n## Status\n\nFAILED\n\n- [x] done\n---\n| a | b |".into(),
        "- a list\n- of things".into(),
        "-- dashes".into(),
        "x".repeat(65_536),
        "ä".repeat(32_768),
    ]
}

#[test]
fn text_stays_text() {
    for text in nasty() {
        let env = env();
        env.ok(&["leader", "init", &text]);
        let hints = format!("--hints={text}");
        env.ok(&["leader", "add-task", &text, &hints, "--id", "a"]);
        env.ok(&["leader", "add-task", "next", "--id", "b"]);
        assert_eq!(
            (&task(&env, "a")["description"], &task(&env, "a")["context"]["hints"]),
            (&text.as_str().into(), &text.as_str().into())
        );
        let shown = [
            env.ok(&["worker", "claim", "w1"]),
            env.ok(&["leader", "status"]),
            env.ok(&["worker", "complete", "w1", "a", &text]),
            env.ok(&["worker", "claim", "w1"]),
            env.ok(&["worker", "fail", "w1", "b", &text]),
            env.ok(&["worker", "discover", "w1", &text]),
            env.ok(&["leader", "explain", "b"]),
            env.ok(&["leader", "graph"]),
            env.ok(&["leader", "aggregate"]),
            env.ok(&["worker", "list"]),
            env.ok(&["leader", "status", "--json"]),
            env.run(&["leader", "add-task", &text, "--depends", "nope"]),
        ];
        for ran in shown {
            cannot_steer(&(ran.stdout + &ran.stderr));
        }
        assert_eq!(task(&env, "a")["result"]["output"], text.as_str());
        assert_eq!(task(&env, "b")["result"]["error"], text.as_str());
        assert_eq!((log(&env, "leader").lines().count(), log(&env, "w1").lines().count()), (4, 5));
        let sections = [
            "Description",
            "Completed By",
            "Completed At",
            "Output",
            "Files Modified",
            "Files Created",
            "Status",
        ];
        for (text_file, expected) in [
            ("results/a.md", with_sections("# Task: a", "##", &sections)),
            (
                "results/b.md",
                with_sections(
                    "# Task: b",
                    "##",
                    &["Description", "Attempted By", "Failed At", "Failure Reason", "Status"],
                ),
            ),
            ("summary.md", with_sections("# Summary", "##", &["Objective", "Tasks", "Task: a", "Task: b"])),
        ] {
            let text_file = env.read_text(&format!("{ROOM}/{text_file}"));
            cannot_steer(&text_file);
            let top: Vec<_> =
                outline(&text_file).into_iter().filter(|title| !title.starts_with("###")).collect();
            assert_eq!(top, expected, "{text_file}");
        }
        let discoveries = env.read_text(&format!("{ROOM}/context/discoveries.md"));
        assert_eq!(
            outline(&discoveries).iter().filter(|title| title.starts_with("## ")).count(),
            1,
            "{discoveries}"
        );
        cannot_steer(&(discoveries + &log(&env, "leader") + &log(&env, "w1")));
    }
}

/// Returns the headings that a Markdown reader sees: none in code blocks.
fn outline(text_file: &str) -> Vec<&str> {
    let mut in_code = false;
    let mut seen = Vec::new();
    for line in text_file.lines() {
        in_code ^= line.starts_with("```");
        if line.starts_with('#') && !in_code {
            seen.push(line);
        }
    }
    assert!(!in_code, "a code block is open at the end:\n{text_file}");
    seen
}

#[track_caller]
fn cannot_steer(text: &str) {
    let steers = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
    let turns = |char: char| matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    let found = text.chars().find(|char| steers(*char) || turns(*char));
    assert_eq!(found, None, "{:?}", text.chars().take(2000).collect::<String>());
}

// ---- import

#[test]
fn imports_are_all_or_nothing() {
    let array = r#"[{"id": "b", "description": "second", "dependencies": ["a"], "required_capabilities": ["rust"]},
        {"id": "a", "description": "first", "priority": 2, "context": {"files": ["src/"], "hints": "h"}}]"#;
    let lines = r#"{"id": "b", "description": "second", "dependencies": ["a"], "required_capabilities": ["rust"]}
        {"id": "a", "description": "first", "priority": 2, "context": {"files": ["src/"], "hints": "h"}}"#;
    let markdown = "# Plan\n\n- [ ] second {id: b, after: a, needs: rust}\n- [ ] first {id: a, p: 2, files: src/, hints: h}\n- [x] old\n";
    let object = format!(r#"{{"tasks": {array}}}"#);
    for text in [array, &object, lines, markdown] {
        let env = env();
        let ran = env.run_with_input(&["leader", "import", "-", "--json"], text.as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.shown());
        assert_eq!(ran.json(), document(&env)["tasks"], "the tasks as stored");
        assert_eq!(statuses(&env), ["b created", "a available"]);
        let expected = json!({"id": "a", "description": "first", "status": "available", "priority": 2, "claimed_by": null,
            "dependencies": [], "context": {"files": ["src/"], "hints": "h"}, "result": null,
            "created_at": "2026-01-01T00:00:01.000Z", "claimed_at": null, "completed_at": null});
        assert_eq!(task(&env, "a").to_string(), expected.to_string());
        assert_eq!(task(&env, "b")["required_capabilities"], json!(["rust"]));
        assert_eq!(document(&env)["revision"], 1, "one commit");
        env.write("project/plan", text);
        let before = env.bytes();
        assert_eq!(env.json(&["leader", "import", "plan"]), ran.json());
        assert!(env.bytes() == before, "a repeated import changes nothing");
    }
}

#[test]
fn a_wrong_import_changes_nothing() {
    let env = queue(&["known -p 3"]);
    let wrong: &[(&str, i32, &str)] = &[
        (r#"[{"description": "ok"}, {"description": "x", "priority": 11}]"#, 2, "priority"),
        (r#"[{"description": "ok"}, {"description": "x", "dependencies": ["nope"]}]"#, 2, "nope"),
        (r#"[{"id": "x", "description": "x", "dependencies": ["x"]}]"#, 2, "itself"),
        (
            r#"[{"id": "x", "description": "x", "dependencies": ["y"]}, {"id": "y", "description": "y", "dependencies": ["x"]}]"#,
            2,
            "x -> y -> x",
        ),
        (r#"[{"id": "x", "description": "x"}, {"id": "x", "description": "x"}]"#, 2, "twice"),
        (r#"[{"id": "new", "description": "x"}, {"id": "known", "description": "other"}]"#, 3, "known"),
        (r#"[{"id": "a/b", "description": "x"}]"#, 2, "a/b"),
        (r#"[{"priority": 1}]"#, 2, "description"),
        ("{\"description\": \"x\"}\n{broken", 2, "line 2"),
        ("- [ ] ok\n- [ ] x {p: 0}\n", 2, "line 2"),
        ("", 2, "no tasks"),
        ("prose", 2, "no tasks"),
        ("[]", 2, "no tasks"),
    ];
    for (text, code, piece) in wrong {
        let word = if *code == 3 { "conflict" } else { "invalid" };
        let input = if text.is_empty() { "\n" } else { text };
        let error = fails(&env, &["leader", "import", "-"], input.as_bytes(), *code, word);
        assert!(error["message"].as_str().unwrap().contains(piece), "{text}: {error}");
    }
    fails(&env, &["leader", "import", "-"], b"- [ ] \xff", 2, "invalid");
    refused(&env, "leader import nowhere.md", 2);
    refused(&env, "leader import", 2);
    let ran = env.run_with_input(&["leader", "import", "-"], b"- [ ] x {after: known}\n- [ ] y");
    assert_eq!((ran.code, statuses(&env).len()), (0, 3), "{}", ran.shown());
}

#[test]
fn very_many_tasks_are_imported_like_few() {
    let lines = |numbers: std::ops::Range<usize>, after: &[(usize, usize)]| {
        let line = |number| {
            let after: Vec<_> =
                after.iter().filter(|(id, _)| *id == number).map(|(_, on)| format!("t{on}")).collect();
            let task = json!({"id": format!("t{number}"), "description": format!("\"ä\" {}", "x".repeat(200)),
                "priority": 1 + (number + 9) % 10, "dependencies": after, "files": [format!("src/{number}")], "hints": "a\nb"});
            format!("{task}\n")
        };
        numbers.map(line).collect::<String>()
    };
    let env = env();
    let import = |text: &str| {
        let there = env.project().join(".coordination/tasks.json").exists();
        let before = if there { statuses(&env).len() } else { 0 };
        let ran = env.run_with_input(&["leader", "import", "-", "--json"], text.as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.shown());
        assert_eq!(ran.json().as_array().unwrap()[..], document(&env)["tasks"].as_array().unwrap()[before..]);
        assert_eq!(env.sh("ls .coordination/.anthill/content-*").code, 0, "it is kept beside the journal");
    };
    import(&lines(0..400, &[(0, 2), (7, 8)]));
    assert_eq!((status(&env, "t0"), status(&env, "t7")), ("created".into(), "created".into()));
    claims(&env, "w1", "t1");
    json_of(&env, "worker complete w1 t1 ok");
    import(&lines(400..800, &[(400, 1), (401, 7), (402, 403), (403, 2)]));
    let expected = ["available", "created", "created", "created"];
    assert_eq!([400, 401, 402, 403].map(|number| status(&env, &format!("t{number}"))), expected);
    let before = env.bytes();
    let again = env.run_with_input(
        &["leader", "import", "-"],
        lines(400..800, &[(400, 1), (401, 7), (402, 403), (403, 2)]).as_bytes(),
    );
    assert_eq!((again.code, env.bytes() == before), (0, true), "{}", again.shown());
    fails(&env, &["leader", "import", "-"], lines(800..1200, &[(900, 5000)]).as_bytes(), 2, "invalid");
    fails(
        &env,
        &["leader", "import", "-"],
        lines(800..1200, &[(900, 901), (901, 900)]).as_bytes(),
        2,
        "invalid",
    );
    assert!(env.bytes() == before, "nothing changed");
    claims(&env, "w1", "t11");
    env.sh("rm .coordination/.anthill/index-tasks.json");
    claims(&env, "w2", "t21");
    json_of(&env, "worker complete w1 t11 ok");
    assert_eq!(json_of(&env, "doctor")["findings"], json!([]));
    let history = json_of(&env, "history queue");
    let imports = history.as_array().unwrap().iter().filter(|entry| entry["op"] == "import");
    assert_eq!(imports.count(), 2);
}

// ---- looking

#[test]
fn nothing_there_is_exit_4() {
    let env = env();
    for line in [
        "worker claim w",
        "worker claim w --wait 1",
        "worker start w a",
        "worker complete w a x",
        "leader status",
        "leader reset a",
        "leader aggregate",
        "leader explain a",
        "leader graph",
        "worker heartbeat w",
    ] {
        let error = refused(&env, line, 4);
        assert!(error["hint"].as_str().unwrap().contains("anthill"), "{line}: {error}");
    }
    assert!(!env.project().join(".coordination/tasks.json").exists());
    env.ok(&["leader", "init", "x"]);
    claims_nothing(&env, "w");
    assert_eq!(json_of(&env, "worker list"), json!([]));
    for verb in ["start w nope", "complete w nope x", "fail w nope x", "release w nope", "heartbeat w nope"] {
        refused(&env, &format!("worker {verb}"), 4);
    }
}

#[test]
fn names_and_arguments_are_checked() {
    let env = queue(&["a"]);
    for bad in ["a/b", "../x", "a b", "", ".x", "ä", "a\nb", &"x".repeat(129)] {
        for verb in [&["claim"][..], &["heartbeat"], &["discover", "text"]] {
            let args = [&["worker", verb[0], bad], &verb[1..]].concat();
            fails(&env, &args, b"", 2, "invalid");
        }
        for verb in [&["start"][..], &["release"], &["complete", "x"], &["fail", "x"]] {
            fails(&env, &[&["worker", verb[0], bad, "a"], &verb[1..]].concat(), b"", 2, "invalid");
            fails(&env, &[&["worker", verb[0], "w", bad], &verb[1..]].concat(), b"", 2, "invalid");
        }
    }
    for line in [
        "worker start w",
        "worker complete w a",
        "worker fail w a",
        "worker release w",
        "worker heartbeat",
        "worker discover w",
        "worker register",
        "worker claim w --lease soon",
        "worker claim w --wait -1",
        "worker claim w a extra",
        "worker start w a --epoch x",
        "worker complete w a --modifed",
        "worker complete w a x --epoch -1",
        "worker nothing",
        "leader nothing",
        "leader retry a --after x",
        "leader status extra",
    ] {
        refused(&env, line, 2);
    }
}

#[test]
fn the_list_is_what_a_claim_would_give() {
    let env = queue(&["a -p 2", "b --depends a", "c -p 1 --files src/", "d -p 3 --files src/x"]);
    let listed = json_of(&env, "worker list");
    assert_eq!(listed, json!([task(&env, "c"), task(&env, "a"), task(&env, "d")]));
    claims(&env, "w", "c");
    assert_eq!(json_of(&env, "worker list"), json!([task(&env, "a")]));
    let shown = env.ok(&["worker", "list"]).stdout;
    assert_eq!(shown, "Available tasks (1):\n  [2] a: do_a\n");
    let env = queue(&["long"]);
    edit(&env, r#".tasks[0].description = ("word " * 40)"#);
    let shown = env.ok(&["worker", "list"]).stdout;
    assert!(shown.lines().all(|line| line.chars().count() < 90), "{shown}");
}

#[test]
fn from_a_directory_below_it_is_the_same_queue() {
    let env = queue(&["a"]);
    let dir = env.project().join("src/deep");
    std::fs::create_dir_all(&dir).unwrap();
    let ran = env.finish(env.command(&["worker", "claim", "w"]).current_dir(&dir), b"");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(status(&env, "a"), "claimed");
    assert!(!dir.join(".coordination").exists());
}

#[test]
fn many_at_once_get_each_task_once() {
    let env = env();
    let list: String = (0..24).map(|number| format!("- [ ] x {{id: t{number}}}\n")).collect();
    assert_eq!(env.run_with_input(&["leader", "import", "-"], list.as_bytes()).code, 0);
    let claim = |worker: usize| {
        let mut ids = Vec::new();
        loop {
            let ran = env.run(&["worker", "claim", &format!("w{worker}"), "--json"]);
            match ran.code {
                0 => ids.push(ran.json()["id"].as_str().unwrap().to_owned()),
                4 => return ids,
                _ => panic!("{}", ran.shown()),
            }
        }
    };
    let mut ids: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|worker| scope.spawn(move || claim(worker))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 24);
    assert!(document(&env)["tasks"].as_array().unwrap().iter().all(|task| task["lease"]["epoch"] == 1));
}

// ---- waiting

/// Starts a claim that waits, by a clock that stands still, and returns when it does.
fn waiting(env: &TestEnv, worker: &str) -> Running {
    let waiting = env.spawn(&["worker", "claim", worker, "--wait", "100"]);
    wait_until_it_listens(&waiting);
    waiting
}

/// The same, by the real clock.
fn waiting_now(env: &TestEnv, worker: &str) -> Running {
    Running::start(env.command(&["worker", "claim", worker, "--wait", "100"]).env_remove("ANTHILL_NOW"))
}

#[track_caller]
fn gets(mut waiting: Running, worker: &str, id: &str) {
    let line = waiting.line();
    assert!(
        line.starts_with(&format!("Claimed for {worker} until ")) && line.ends_with(&format!(": {id}")),
        "{line}"
    );
    assert_eq!(waiting.wait(), 0);
}

#[test]
fn a_waiting_claim_wakes_when_a_task_comes() {
    let env = queue(&["taken", "b --depends taken", "fails -p 6"]);
    claims(&env, "w", "taken");
    claims(&env, "w", "fails");
    let claim = waiting(&env, "w1");
    add(&env, "new");
    gets(claim, "w1", "new");
    let claim = waiting(&env, "w1");
    json_of(&env, "worker release w taken");
    gets(claim, "w1", "taken");
    let claim = waiting(&env, "w2");
    json_of(&env, "worker complete w1 taken ok");
    gets(claim, "w2", "b");
    let claim = waiting(&env, "w2");
    edit(&env, ".tasks[2].status = \"available\"");
    gets(claim, "w2", "fails");
    let claim = waiting(&env, "w3");
    assert_eq!(env.run_with_input(&["leader", "import", "-"], b"- [ ] x {id: imported}").code, 0);
    gets(claim, "w3", "imported");
    let claim = waiting(&env, "w4");
    json_of(&env, "leader reset imported");
    gets(claim, "w4", "imported");
}

#[test]
fn a_waiting_claim_wakes_when_it_is_able_or_the_files_are_free() {
    let env = queue(&["a --files src/", "b --files src/x", "c --needs rust"]);
    claims(&env, "w", "a");
    let claim = waiting(&env, "w1");
    json_of(&env, "worker fail w a broken");
    gets(claim, "w1", "b");
    let claim = waiting(&env, "w1");
    json_of(&env, "worker register w1 --capabilities rust");
    gets(claim, "w1", "c");
}

#[test]
fn a_waiting_claim_wakes_by_the_clock() {
    let env = queue(&["a"]);
    assert_eq!(now(&env, "worker claim w1 --lease 0.3").code, 0);
    let claim = waiting_now(&env, "w2");
    gets(claim, "w2", "a");
    let taken = task(&env, "a");
    assert_eq!((&taken["lease"]["epoch"], &taken["last_claim"]["reason"]), (&2.into(), &"expired".into()));
    assert_eq!(now(&env, "worker fail w2 a broken").code, 0);
    assert_eq!(now(&env, "leader retry a --after 0.3").code, 0);
    let claim = waiting_now(&env, "w3");
    gets(claim, "w3", "a");
}

#[test]
fn a_waiting_claim_bears_a_file_that_is_being_written() {
    let save = |_| {
        let env = queue(&["a"]);
        claims(&env, "w", "a");
        let whole = env.read_text(TASKS);
        let claim = waiting(&env, "w1");
        let begin = Instant::now();
        for end in [0, whole.len() / 2] {
            env.write(TASKS, &whole[..end]);
            assert_eq!(claim.line_within(Duration::from_millis(20)), None, "it waits on");
        }
        env.write(TASKS, whole.replace("\"claimed\"", "\"available\""));
        // A save that takes longer is damage: one in which we were held up proves nothing.
        (begin.elapsed() < Duration::from_millis(100)).then_some((env, claim))
    };
    let (env, claim) = (0..100).find_map(save).expect("one save in time");
    gets(claim, "w1", "a");
    env.write(TASKS, "{");
    assert_eq!(env.run(&words("worker claim w --wait 100")).code, 7, "what stays damaged is told");
}

#[test]
fn a_waiting_claim_gives_up_in_time() {
    let env = queue(&["a"]);
    claims(&env, "w", "a");
    let error = env.error(&words("worker claim w1 --wait 0.05"));
    assert_eq!(error["code"], "not_found");
    assert!(error["hint"].as_str().unwrap().contains("w1"), "the hint can be typed: {error}");
    assert_eq!(env.run(&["worker", "claim", "w1", "--wait", "0"]).code, 4);
}

#[test]
fn many_waiting_claims_get_one_task_each() {
    let env = queue(&["taken"]);
    claims(&env, "w", "taken");
    let claims: Vec<_> = (0..3).map(|number| waiting(&env, &format!("w{number}"))).collect();
    let list = b"- [ ] x {id: a}\n- [ ] x {id: b}\n- [ ] x {id: c}\n";
    assert_eq!(env.run_with_input(&["leader", "import", "-"], list).code, 0);
    let mut got: Vec<String> =
        claims.into_iter().map(|claim| claim.line().rsplit(' ').next().unwrap().to_owned()).collect();
    got.sort();
    assert_eq!(got, ["a", "b", "c"]);
}

#[test]
fn a_waiting_claim_outlasts_a_lock_that_somebody_holds_for_long() {
    let env = queue(&["a"]);
    let lock = std::fs::File::open(env.project().join(".coordination/.anthill/lock")).unwrap();
    lock.lock().unwrap();
    let waiting = env.spawn(&words("worker claim w --wait 100 --lock-timeout 0.05"));
    for _ in 0..3 {
        assert_eq!(
            env.run(&words("worker claim other --lock-timeout 0.05")).code,
            5,
            "who does not wait is told"
        );
    }
    drop(lock);
    gets(waiting, "w", "a");
}

#[test]
fn the_board_follows_the_queue() {
    let env = queue(&["a"]);
    let mut command: Command = env.command(&["leader", "status", "--watch", "--json"]);
    let board = Running::start(command.env_remove("ANTHILL_NOW"));
    assert_eq!(board.json()["counts"]["available"], 1);
    claims(&env, "w", "a");
    let mut counts = board.json()["counts"].take();
    while counts["claimed"] != 1 {
        counts = board.json()["counts"].take();
    }
}

#[test]
fn a_watched_board_has_the_tasks_that_it_shows_and_counts_all() {
    let env = queue(&[]);
    let plan: String = (0..200).map(|number| format!("- [ ] Do part {number}\n")).collect();
    assert_eq!(env.run_with_input(&["leader", "import", "-"], plan.as_bytes()).code, 0);
    let mut command: Command = env.command(&["leader", "status", "--watch", "--json"]);
    let board = Running::start(command.env_remove("ANTHILL_NOW")).json();
    assert_eq!((&board["counts"]["available"], &board["progress"]["total"]), (&200.into(), &200.into()));
    assert_eq!(board["tasks"].as_array().unwrap().len(), 10, "{board}");
    let whole = env.ok(&["leader", "status", "--json"]).json();
    assert_eq!(whole["tasks"].as_array().unwrap().len(), 200);
    assert_eq!((&whole["counts"], &whole["progress"]), (&board["counts"], &board["progress"]));
}

/// Names whom the queue's file belongs to: who edits it by hand.
fn owner(env: &TestEnv) -> String {
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::metadata(env.project().join(".coordination/tasks.json")).unwrap();
    anthill_core::store::file::real_fs::user_name(file.uid())
}
