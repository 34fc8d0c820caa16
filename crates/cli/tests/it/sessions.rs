//! Sessions from the outside: who is at work, who has gone silent, and whose work goes where.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::env;
use crate::exit_codes::fails;
use crate::lines::{json_of, ok, refused, words};

/// Returns an environment with these sessions, started one second after the other.
fn with(sessions: &[&str]) -> TestEnv {
    let env = env();
    sessions.iter().for_each(|id| drop(env.ok(&["session", "start", id])));
    env
}

/// Runs a command at a time of the first day, such as `01:30`, and insists on success.
#[track_caller]
fn at(env: &TestEnv, clock: &str, line: &str) -> Ran {
    let mut command = env.command(&words(line));
    let ran = env.finish(command.env("ANTHILL_NOW", format!("2026-01-01T{clock}:00Z")), b"");
    assert_eq!(ran.code, 0, "{line}\n{}", ran.shown());
    ran
}

/// Returns a document of a session, with paths as commands show them.
fn file(env: &TestEnv, id: &str, name: &str) -> Value {
    let text = env.read_text(&format!("user/.claude/sessions/{id}/{name}.json"));
    serde_json::from_str(&text.replace(&env.root().display().to_string(), "$TEST_ENV")).unwrap()
}

fn state(env: &TestEnv, id: &str) -> Value {
    file(env, id, "state")
}

/// Returns the types of a session's events, after making sure that they count up.
fn events(env: &TestEnv, id: &str) -> Vec<String> {
    let log = file(env, id, "events");
    let events = log["events"].as_array().unwrap();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], number + 1, "{event}");
        assert!(event["at"].is_string() && event["data"].is_object(), "{event}");
    }
    events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

fn task(env: &TestEnv, id: &str) -> Value {
    json_of(env, &format!("get queue --field tasks[id={id}]"))
}

/// Adds a task to the queue and lets a worker of a session claim it.
#[track_caller]
fn claimed(env: &TestEnv, id: &str, worker: &str, session: &str) {
    ok(env, &format!("leader add-task do_{id} --id {id}"));
    let task = json_of(env, &format!("worker claim {worker} --session-id {session}"));
    assert_eq!((&task["id"], &task["session_id"]), (&json!(id), &json!(session)));
}

fn own_task(env: &TestEnv, session: &str, task: &str) {
    env.ok(&["append", "tasks", "tasks", task, "--session-id", session]);
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|session| session["session_id"].as_str().unwrap()).collect()
}

// ---- start

#[test]
fn a_start_writes_the_sources_documents() {
    let env = env();
    env.write("project/.git/HEAD", "ref: refs/heads/feature/auth\n");
    env.ok(&["set", "config", "global.default_project", "\"myapp\""]);
    let printed = json_of(&env, "session start session-abc123");
    let stored = state(&env, "session-abc123");
    assert_eq!(printed, stored, "--json prints what is stored");
    let expected = json!({
        "session_id": "session-abc123", "project_id": "myapp",
        "created_at": "2026-01-01T00:00:02.000Z", "last_heartbeat": "2026-01-01T00:00:02.000Z",
        "status": "active", "user": {"id": "tester", "name": "tester"},
        "context": {"working_directory": "$TEST_ENV/project", "current_branch": "feature/auth"},
        "agents": [],
        "updated_at": "2026-01-01T00:00:02.000Z", "updated_by": "session-abc123", "revision": 1,
    });
    assert_eq!(stored, expected);
    let lists = [("messages", "messages"), ("hooks", "hooks"), ("tasks", "tasks")];
    for (name, field) in lists {
        assert_eq!(file(&env, "session-abc123", name)[field], json!([]), "{name}");
    }
    assert_eq!(events(&env, "session-abc123"), ["start"]);
    let log = env.json(&["log"]);
    let ops = log.as_array().unwrap().iter().filter(|line| line["op"] == "session start").count();
    assert_eq!(ops, 5, "all in one commit, one line per document: {log}");
    ok(&env, "validate");
}

#[test]
fn a_start_says_what_to_type_next() {
    let env = env();
    assert_eq!(
        ok(&env, "session start s1").shown(),
        "Started: s1\n--- stderr\nnext: export ANTHILL_SESSION_ID=s1\nthen: anthill session heartbeat s1   (every few minutes; at the end: anthill session end s1)\n[exit 0]\n",
    );
}

#[test]
fn ids_are_made_and_unique() {
    let env = env();
    let start = || {
        let mut command = env.command(&["session", "start", "--json"]);
        command.env("ANTHILL_NOW", "2026-01-01T10:00:00Z").stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let children: Vec<_> = (0..8).map(|_| start()).collect();
    let mut made: Vec<String> = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            let state: Value = serde_json::from_slice(&output.stdout).unwrap();
            state["session_id"].as_str().unwrap().to_owned()
        })
        .collect();
    made.sort();
    made.dedup();
    assert_eq!(made.len(), 8, "{made:?}");
    assert!(made.iter().all(|id| id.starts_with("session-20260101100000-")), "{made:?}");
}

#[test]
fn a_start_again_is_a_sign_of_life_and_takes_what_is_told() {
    let env = with(&["s1"]);
    let again = json_of(&env, "session start s1");
    assert_eq!(again["created_at"], "2026-01-01T00:00:01.000Z");
    assert_eq!(again["last_heartbeat"], "2026-01-01T00:00:02.000Z");
    assert_eq!(events(&env, "s1"), ["start"], "it was at work already");
    let told = json_of(&env, "session start s1 --project-id other --working-directory sub");
    assert_eq!(told["project_id"], "other");
    assert_eq!(told["context"]["working_directory"], "$TEST_ENV/project/sub");
    assert!(told["context"].get("current_branch").is_none(), "unknown is left out");
    let silent = json_of(&env, "session start s1");
    assert_eq!(silent["context"], told["context"], "what nobody tells stays");
    ok(&env, "session end s1");
    let back = json_of(&env, "session start s1");
    assert_eq!((&back["status"], back.get("ended_at")), (&json!("active"), None));
    assert_eq!(back["context"]["working_directory"], "$TEST_ENV/project", "a new start is where it is typed");
    assert_eq!(events(&env, "s1"), ["start", "end", "start"]);
}

#[test]
fn a_session_that_was_written_by_hand_starts_too() {
    let env = env();
    env.write(
        "user/.claude/sessions/s1/state.json",
        r#"{"session_id": "s1", "status": "idle", "note": {"a": 1}, "last_heartbeat": "2026-01-01T00:00:00"}"#,
    );
    let state = json_of(&env, "session start s1");
    assert_eq!((&state["status"], &state["note"]), (&json!("active"), &json!({"a": 1})));
    assert_eq!(file(&env, "s1", "tasks")["tasks"], json!([]));
}

// ---- heartbeat

#[test]
fn a_heartbeat_changes_the_time_and_nothing_grows() {
    let env = with(&["s1"]);
    let before = (file(&env, "s1", "events"), file(&env, "s1", "messages"));
    let beat = json_of(&env, "session heartbeat s1");
    assert_eq!(beat, state(&env, "s1"));
    assert_eq!(
        (&beat["last_heartbeat"], &beat["status"]),
        (&json!("2026-01-01T00:00:02.000Z"), &json!("active"))
    );
    assert_eq!(json_of(&env, "session heartbeat s1 --status idle")["status"], "idle");
    assert_eq!(json_of(&env, "session heartbeat s1")["status"], "active");
    assert_eq!((file(&env, "s1", "events"), file(&env, "s1", "messages")), before);
    assert_eq!(ok(&env, "session heartbeat s1").stdout, "Heartbeat of: s1\n");
}

#[test]
fn whom_a_heartbeat_does_not_wake() {
    let env = with(&["s1"]);
    let error = refused(&env, "session heartbeat s9", 4);
    assert!(error["hint"].as_str().unwrap().contains("anthill session start s9"), "{error}");
    ok(&env, "session end s1");
    let error = refused(&env, "session heartbeat s1", 1);
    assert!(error["hint"].as_str().unwrap().contains("anthill session start s1"), "{error}");
}

// ---- list and show

#[test]
fn a_list_has_the_sources_fields_first_and_the_newest_on_top() {
    let env = with(&["s1", "s2"]);
    ok(&env, "session start s3 --project-id p");
    ok(&env, "session heartbeat s1");
    let list = json_of(&env, "session list");
    assert_eq!(ids(&list), ["s1", "s3", "s2"]);
    let fields: Vec<_> = list[1].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields[..4], ["session_id", "project_id", "status", "last_heartbeat"]);
    assert_eq!(list[1]["project_id"], "p");
    assert_eq!(ids(&json_of(&env, "session list --project-id p")), ["s3"]);
    let table = ok(&env, "session list").stdout;
    assert!(table.starts_with(" SESSION_ID  PROJECT_ID  STATUS  LAST_HEARTBEAT"), "{table}");
    assert_eq!(json_of(&crate::env(), "session list"), json!([]), "none is no error");
    assert_eq!(ok(&crate::env(), "session list").code, 0);
}

#[test]
fn active_is_who_was_heard_of_in_the_last_minutes() {
    let env = env();
    at(&env, "10:00", "session start old");
    at(&env, "10:06", "session start idle");
    at(&env, "10:07", "session heartbeat idle --status idle");
    at(&env, "10:07", "session start gone");
    at(&env, "10:07", "session end gone");
    let active = |line: &str| {
        let list = at(&env, "10:08", &format!("{line} --json")).json();
        ids(&list).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    for line in ["session list --active", "session list-active", "list-active"] {
        assert_eq!(active(line), ["idle"], "{line}");
        assert_eq!(active(&format!("{line} --timeout-minutes 9")), ["idle", "old"], "{line}");
        assert_eq!(active(&format!("{line} --timeout-minutes 8")), ["idle"], "younger, not as old");
        assert_eq!(active(&format!("{line} --project-id p")), [""; 0], "{line}");
    }
    assert_eq!(active("session list"), ["gone", "idle", "old"]);
    for wrong in ["session list --timeout-minutes soon", "session list --timeout-minutes -1"] {
        assert_eq!(env.run(&words(wrong)).code, 2, "{wrong}");
    }
}

#[test]
fn a_damaged_session_does_not_hide_the_others() {
    let env = with(&["s1", "s2"]);
    env.write("user/.claude/sessions/s1/state.json", "{broken");
    let ran = env.ok(&["session", "list", "--json"]);
    assert_eq!(ids(&ran.json()), ["s2"]);
    assert!(ran.stderr.contains("session `s1` is left out"), "{}", ran.stderr);
    refused(&env, "session show s1", 7);
    refused(&env, "session heartbeat s1", 7);
    assert_eq!(ok(&env, "session start s3").code, 0);
    assert_eq!(env.read_text("user/.claude/sessions/s1/state.json"), "{broken", "the bytes are kept");
}

#[test]
fn a_show_tells_what_a_session_has_in_hand() {
    let env = with(&["s1"]);
    own_task(&env, "s1", r#"{"id": "task-001", "title": "review\u001b[31m\nit", "status": "pending"}"#);
    own_task(&env, "s1", r#"{"id": "task-002", "status": "completed"}"#);
    claimed(&env, "t1", "w1", "s1");
    let ran = ok(&env, "session show s1");
    assert_eq!(
        ran.shown(),
        "s1 (active)\n  user: tester\n  directory: $TEST_ENV/project\n  created: 2026-01-01T00:00:01.000Z\n  \
         last heartbeat: 2026-01-01T00:00:05.000Z\n  open tasks:\n    task-001 (pending) review\\u{1b}[31m it\n  \
         in the queue:\n    t1 (claimed, w1, lease 1) do_t1\n[exit 0]\n"
    );
    assert_eq!(json_of(&env, "session show s1"), state(&env, "s1"));
    refused(&env, "session show s9", 4);
}

#[test]
fn three_hundred_sessions_are_listed_quickly() {
    let env = with(&["s0"]);
    let state = env.read_text("user/.claude/sessions/s0/state.json");
    for number in 1..300 {
        let state = state.replace("\"s0\"", &format!("\"s{number}\""));
        env.write(&format!("user/.claude/sessions/s{number}/state.json"), state);
    }
    let took = |_| {
        let began = Instant::now();
        assert_eq!(json_of(&env, "session list").as_array().unwrap().len(), 300);
        began.elapsed()
    };
    // An unoptimised build on a busy machine; what a user meets is a tenth of that.
    let best = (0..5).map(took).min().unwrap();
    assert!(best < Duration::from_secs(2), "{best:?}");
}

// ---- end

#[test]
fn an_end_gives_back_what_the_session_has() {
    let env = with(&["s1", "s2"]);
    env.ok(&["append", "session", "agents", r#"{"id": "a1", "status": "busy"}"#, "--session-id", "s1"]);
    claimed(&env, "t1", "w1", "s1");
    claimed(&env, "t2", "s1", "s1");
    claimed(&env, "t3", "w3", "s2");
    ok(&env, "worker start w1 t1");
    let ran = ok(&env, "session end s1");
    assert_eq!(ran.shown(), "Ended (back in the queue: t1 t2): s1\n[exit 0]\n");
    let ended = state(&env, "s1");
    assert_eq!((&ended["status"], &ended["ended_at"]), (&json!("ended"), &json!("2026-01-01T00:00:11.000Z")));
    let agent = json!({"id": "a1", "status": "released", "ended_at": "2026-01-01T00:00:11.000Z"});
    assert_eq!(ended["agents"], json!([agent]));
    for id in ["t1", "t2"] {
        let task = task(&env, id);
        assert_eq!(
            (&task["status"], &task["last_claim"]["reason"]),
            (&json!("available"), &json!("session ended"))
        );
    }
    assert_eq!(task(&env, "t3")["status"], "claimed", "another session's");
    let log = env.read_text("project/.coordination/logs/w1.log");
    assert!(log.ends_with("SESSION ENDED: t1 (lease 1 of session s1)\n"), "{log}");
    assert_eq!(events(&env, "s1"), ["start", "end"]);
    // The old worker is fenced off, whatever it tries.
    refused(&env, "worker complete w1 t1 late", 3);
    assert_eq!(ok(&env, "worker heartbeat w1").stdout, "Noted, without a task: w1\n");

    let before = env.bytes();
    assert_eq!(ok(&env, "session end s1").stdout, "Ended, as before: s1\n");
    assert_eq!(json_of(&env, "session end s1"), state(&env, "s1"));
    assert!(env.bytes() == before, "ending again changes nothing");
    refused(&env, "session end s9", 4);
}

#[test]
fn an_end_without_a_queue_makes_none() {
    let env = with(&["s1"]);
    ok(&env, "session end s1");
    assert!(!env.project().join(".coordination").exists());
    let env = with(&["s1", "s2"]);
    own_task(&env, "s1", r#"{"id": "task-001"}"#);
    ok(&env, "session handoff s1 s2");
    assert!(!env.project().join(".coordination").exists());
}

#[test]
fn an_end_and_heartbeats_at_once_leave_it_ended() {
    for _ in 0..5 {
        let env = with(&["s1"]);
        let beats: Vec<_> = (0..6).map(|_| env.spawn(&["session", "heartbeat", "s1"])).collect();
        let mut end = env.spawn(&["session", "end", "s1"]);
        for mut beat in beats {
            assert!([0, 1].contains(&beat.wait()), "done, or refused because it has ended");
        }
        assert_eq!(end.wait(), 0);
        assert_eq!(state(&env, "s1")["status"], "ended");
        ok(&env, "doctor");
    }
}

// ---- silence

#[test]
fn a_silent_session_is_given_up_once() {
    let env = env();
    at(&env, "10:00", "session start s1");
    at(&env, "10:00", "session start s2");
    at(&env, "10:00", "leader add-task work --id t1");
    at(&env, "10:00", "worker claim w1 --lease 86400 --session-id s1");
    at(&env, "10:50", "session heartbeat s2");
    assert_eq!(at(&env, "11:00", "session list --json").json()[1]["status"], "active", "an hour is allowed");
    let ran = at(&env, "11:01", "session list");
    assert_eq!(ran.stderr, "Given up, not heard of for too long (back in the queue: t1): s1\n");
    let gone = state(&env, "s1");
    assert_eq!(
        (&gone["status"], &gone["expired_at"]),
        (&json!("expired"), &json!("2026-01-01T11:01:00.000Z"))
    );
    let log = json_of(&env, "log --actor tester");
    assert!(
        log.as_array().unwrap().iter().any(|line| line["op"] == "session expire"),
        "by whoever looked: {log}"
    );
    assert_eq!(task(&env, "t1")["last_claim"]["reason"], "session expired");
    assert_eq!(events(&env, "s1"), ["start", "expired"]);
    let before = env.bytes();
    let list = at(&env, "11:02", "session list --json").json();
    assert_eq!((ids(&list), &list[1]["status"]), (vec!["s2", "s1"], &json!("expired")));
    at(&env, "11:02", "session show s1");
    assert!(env.bytes() == before, "once is enough");
    at(&env, "11:03", "session heartbeat s1");
    let back = state(&env, "s1");
    assert_eq!((&back["status"], back.get("expired_at")), (&json!("active"), None));
}

#[test]
fn whoever_looks_gives_up_the_silent_ones() {
    for line in ["session start s2", "session show s2", "session list --active", "list-active"] {
        let env = env();
        at(&env, "10:00", "session start s1");
        at(&env, "11:30", "session start s2");
        // The start of s2 was the first look; silence begins anew.
        at(&env, "11:30", "session start s1");
        assert_eq!(events(&env, "s1"), ["start", "expired", "start"], "{line}");
        at(&env, "13:00", "session heartbeat s2");
        at(&env, "13:00", line);
        assert_eq!(state(&env, "s1")["status"], "expired", "{line}");
    }
}

#[test]
fn a_start_of_a_silent_session_keeps_its_claims() {
    let env = env();
    at(&env, "10:00", "session start s1");
    at(&env, "10:00", "leader add-task work --id t1");
    at(&env, "10:00", "worker claim w1 --lease 86400 --session-id s1");
    at(&env, "12:00", "session start s1");
    assert_eq!(events(&env, "s1"), ["start"]);
    assert_eq!(task(&env, "t1")["claimed_by"], "w1");
}

#[test]
fn the_configuration_decides_about_silence() {
    let env = env();
    at(&env, "10:00", "set config global.session_timeout 60");
    at(&env, "10:00", "set config features.enable_auto_recovery false");
    at(&env, "10:00", "session start s1");
    let before = env.bytes();
    let list = at(&env, "10:02", "session list --json").json();
    assert_eq!(list[0]["status"], "expired", "shown");
    assert!(at(&env, "10:02", "session show s1").stdout.starts_with("s1 (expired)\n"));
    assert!(env.bytes() == before, "and not written down");
    at(&env, "10:02", "set config features.enable_auto_recovery true");
    at(&env, "10:02", "session list");
    assert_eq!(state(&env, "s1")["status"], "expired");
}

#[test]
fn looks_at_once_give_a_silent_session_up_once() {
    let env = env();
    at(&env, "10:00", "session start s1");
    let look = || {
        let mut command = env.command(&["session", "list", "--json"]);
        command.env("ANTHILL_NOW", "2026-01-01T12:00:00Z").stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let looks: Vec<_> = (0..6).map(|_| look()).collect();
    for look in looks {
        let list: Value = serde_json::from_slice(&look.wait_with_output().unwrap().stdout).unwrap();
        assert_eq!(list[0]["status"], "expired");
    }
    assert_eq!(events(&env, "s1"), ["start", "expired"]);
}

// ---- handoff

#[test]
fn a_handoff_moves_tasks_claims_and_context_at_once() {
    let env = with(&["s1", "s2"]);
    env.ok(&["set", "session", "context.active_epic", "\"epic-001\"", "--session-id", "s1"]);
    own_task(&env, "s1", r#"{"id": "task-001", "status": "in_progress", "payload": {"pr": 42}}"#);
    own_task(&env, "s1", r#"{"id": "task-002", "status": "completed"}"#);
    claimed(&env, "t1", "w1", "s1");
    ok(&env, "worker start w1 t1 --epoch 1");
    let text = "tests are left\u{1b}[31m";
    let printed = env.json(&["session", "handoff", "s1", "s2", "--context", text]);
    assert_eq!(printed, state(&env, "s2"));
    let context = &printed["context"];
    assert_eq!(context["active_epic"], "epic-001");
    let handoff =
        json!({"from": "s1", "at": "2026-01-01T00:00:09.000Z", "context": text, "tasks": ["task-001", "t1"]});
    assert_eq!(context["handoffs"], json!([handoff]));
    assert_eq!(file(&env, "s1", "tasks")["tasks"], json!([{"id": "task-002", "status": "completed"}]));
    let moved = file(&env, "s2", "tasks")["tasks"][0].clone();
    assert_eq!((&moved["id"], &moved["payload"]), (&json!("task-001"), &json!({"pr": 42})));
    let task = task(&env, "t1");
    assert_eq!((&task["claimed_by"], &task["session_id"]), (&json!("s2"), &json!("s2")));
    assert_eq!((&task["status"], &task["lease"]["epoch"]), (&json!("in_progress"), &json!(2)));
    assert_eq!(task["lease"]["expires_at"], "2026-01-01T00:10:09.000Z");
    assert_eq!(
        (events(&env, "s1"), events(&env, "s2")),
        (vec!["start".into(), "handoff".into()], vec!["start".into(), "handoff".into()])
    );
    // The old owner, asleep until now, finds out.
    refused(&env, "worker complete w1 t1 done --epoch 1", 3);
    refused(&env, "worker complete w1 t1 done", 3);
    refused(&env, "worker heartbeat w1", 3);
    ok(&env, "worker complete s2 t1 done --epoch 2");
    let shown = ok(&env, "session show s2").stdout;
    assert!(shown.contains("from s1: tests are left\\u{1b}[31m"), "{shown}");
}

#[test]
fn one_task_is_handed_over_and_the_others_stay() {
    let env = with(&["s1", "s2"]);
    own_task(&env, "s1", r#"{"id": "task-001"}"#);
    claimed(&env, "t1", "w1", "s1");
    claimed(&env, "t2", "s1", "s1");
    let ran = ok(&env, "session handoff s1 s2 --task t2");
    assert_eq!(
        ran.shown(),
        "Handed over from s1 (t2) to: s2\n--- stderr\nnext: anthill session show s2\n[exit 0]\n"
    );
    assert_eq!(
        (&task(&env, "t1")["claimed_by"], &task(&env, "t2")["claimed_by"]),
        (&json!("w1"), &json!("s2"))
    );
    assert_eq!(file(&env, "s2", "tasks")["tasks"], json!([]));
    assert!(state(&env, "s2")["context"]["handoffs"][0].get("context").is_none());
    // Repeated, it does no harm.
    let error = refused(&env, "session handoff s1 s2 --task t2", 1);
    assert_eq!(error["message"], "`s1` cannot hand over `t2`: `s2` has it");
    ok(&env, "session handoff s1 s2 --task task-001");
    refused(&env, "session handoff s1 s2 --task task-001", 1);
}

#[test]
fn what_cannot_be_handed_over() {
    let env = with(&["s1", "s2", "s3", "s4"]);
    own_task(&env, "s1", r#"{"id": "task-001"}"#);
    own_task(&env, "s4", r#"{"id": "task-001"}"#);
    ok(&env, "session end s3");
    ok(&env, "leader add-task work --id t1");
    refused(&env, "session handoff s9 s2", 4);
    let error = refused(&env, "session handoff s1 s9", 4);
    assert!(error["hint"].as_str().unwrap().contains("anthill session start s9"), "{error}");
    refused(&env, "session handoff s2 s1", 1);
    refused(&env, "session handoff s1 s3", 1);
    refused(&env, "session handoff s1 s1", 2);
    refused(&env, "session handoff s1 ../x", 2);
    refused(&env, "session handoff s1 s2 --task nothing", 4);
    refused(&env, "session handoff s1 s2 --task t1", 1);
    refused(&env, "session handoff s1 s4", 3);
    let long = "x".repeat(64 * 1024 + 1);
    fails(&env, &["session", "handoff", "s1", "s2", "--context", &long], b"", 2, "invalid");
}

#[test]
fn an_expired_session_takes_nothing_over() {
    let env = env();
    at(&env, "10:00", "session start s2");
    at(&env, "12:00", "session start s1");
    own_task(&env, "s1", r#"{"id": "task-001"}"#);
    let error = refused(&env, "session handoff s1 s2", 1);
    assert!(error["hint"].as_str().unwrap().contains("anthill session heartbeat s2"), "{error}");
}

#[test]
fn two_handoffs_of_one_task_at_once_have_one_winner() {
    for _ in 0..4 {
        let env = with(&["s1", "s2", "s3"]);
        claimed(&env, "t1", "w1", "s1");
        let mut both = [
            env.spawn(&["session", "handoff", "s1", "s2", "--task", "t1"]),
            env.spawn(&["session", "handoff", "s1", "s3", "--task", "t1"]),
        ];
        let mut codes = both.each_mut().map(|running| running.wait());
        codes.sort_unstable();
        assert_eq!(codes, [0, 1]);
        let task = task(&env, "t1");
        assert_eq!(task["lease"]["epoch"], 2, "{task}");
        assert_eq!(state(&env, task["claimed_by"].as_str().unwrap())["context"]["handoffs"][0]["from"], "s1");
    }
}

// ---- wrong use

#[test]
fn wrong_use_is_told() {
    let env = with(&["s1"]);
    for line in [
        "session start ../x",
        "session start .hidden",
        "session start s1 --project-id a/b",
        "session heartbeat a/b",
        "session show a/b",
        "session end a/b",
        "session list --project-id a/b",
    ] {
        refused(&env, line, 2);
    }
    let usage = [
        "session",
        "session pause s1",
        "session heartbeat",
        "session heartbeat s1 --status ended",
        "session end",
        "session handoff s1",
        "session show",
    ];
    for line in usage {
        let before = env.bytes();
        assert_eq!(env.run(&words(line)).code, 2, "{line}");
        assert!(env.bytes() == before, "{line}");
    }
    for verb in ["start", "heartbeat", "list", "show", "end", "handoff", "list-active"] {
        let help = ok(&env, &format!("session {verb} --help")).stdout;
        assert!(help.contains("Examples:"), "{help}");
    }
}

#[test]
fn a_handoff_leaves_a_message_in_the_same_commit() {
    let env = env();
    for id in ["s1", "s2"] {
        env.ok(&["session", "start", id]);
    }
    env.ok(&["append", "tasks", "tasks", r#"{"id": "t1", "status": "pending"}"#, "--session-id", "s1"]);
    env.ok(&["session", "handoff", "s1", "s2", "--context", "half done"]);
    assert!(env.ok(&["session", "show", "s2"]).stdout.contains("unread messages: 1"));
    let polled = env.json(&["message", "poll", "s2"]);
    assert_eq!(polled[0]["type"], "task_handoff");
    assert_eq!(polled[0]["from"], "s1");
    assert_eq!(polled[0]["payload"], json!({"task_id": "t1", "from": "s1", "context": "half done"}));
    // With messages off, the work changes hands all the same.
    env.ok(&["set", "config", "features.enable_message_passing", "false"]);
    env.ok(&["session", "handoff", "s2", "s1"]);
    assert_eq!(env.json(&["get", "tasks", "--session-id", "s1"])["tasks"][0]["id"], "t1");
}

/// Claude Code keeps a file and a key for each of its processes beside our sessions.
#[test]
fn what_others_keep_beside_our_sessions_is_not_ours() {
    let env = with(&["s1"]);
    for name in ["sessions", "orchestration/projects", "orchestration/messages"] {
        for file in ["4711.json", "4711.ab12.key", "README", "foreign/notes.txt", "foreign/agents/results"] {
            env.write(&format!("user/.claude/{name}/{file}"), b"{\"pid\": 4711}");
        }
        let dir = env.home().join(name);
        std::fs::create_dir(dir.join("empty")).unwrap();
        std::os::unix::fs::symlink(env.home().join("sessions/s1"), dir.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.join("broken")).unwrap();
        std::os::unix::net::UnixListener::bind(dir.join("4711.sock")).unwrap();
    }
    let before = env.bytes();
    for line in ["doctor", "doctor --repair", "validate", "log", "status", "session list", "message poll s1"]
    {
        let ran = ok(&env, line);
        let shown = ran.shown();
        for foreign in ["warning", "4711", "foreign", "link", "broken", "empty"] {
            assert!(!shown.contains(foreign), "{line}\n{shown}");
        }
    }
    assert_eq!(json_of(&env, "session list").as_array().map(Vec::len), Some(1));
    assert_eq!(env.bytes(), before, "nothing of others is touched");
}
