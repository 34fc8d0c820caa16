//! What the past costs, and where it goes: sessions that are over are not looked at, and make room in time.

use std::fs;
use std::thread;

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::env;
use crate::lines::{json_of, ok, words};

const HOME: &str = "user/.claude";

/// Runs a command at a day of 2026, such as `03-01`, and insists on success.
#[track_caller]
fn on(env: &TestEnv, day: &str, line: &str) -> Ran {
    let mut command = env.command(&words(line));
    let ran = env.finish(command.env("ANTHILL_NOW", format!("2026-{day}T12:00:00Z")), b"");
    assert_eq!(ran.code, 0, "{line}\n{}", ran.shown());
    ran
}

fn active(env: &TestEnv) -> Vec<String> {
    let list = json_of(env, "session list --active");
    let mut ids: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["session_id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

/// Returns the files of home whose paths have this in them.
fn files(env: &TestEnv, part: &str) -> Vec<String> {
    env.bytes().into_keys().filter(|path| path.starts_with(HOME) && path.contains(part)).collect()
}

fn lines(env: &TestEnv, path: &str) -> Vec<Value> {
    env.read_text(path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

// ---- what it costs

#[test]
fn a_session_and_a_mailbox_that_did_little_are_small() {
    let env = env();
    let event = json!({"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup", "cwd": env.project()});
    env.run_with_input(&["hook"], event.to_string().as_bytes());
    let own: Vec<_> = files(&env, "/sessions/s1/");
    let names: Vec<_> = own.iter().map(|path| path.rsplit_once("s1/").unwrap().1).collect();
    assert_eq!(names, [".anthill/head.json", ".anthill/journal.jsonl", "events.json", "state.json"]);
    ok(&env, "message send lead s1 note 1");
    ok(&env, "session start s2");
    ok(&env, "session end s2");
    assert_eq!(files(&env, "/sessions/s2/").len(), 4, "nobody has put anything into the other lists");
    for journal in
        files(&env, "journal.jsonl").iter().filter(|path| path.contains("s1") || path.contains("s2"))
    {
        assert_eq!(env.read(journal).len(), 4096, "{journal}");
    }
    assert_eq!(files(&env, "index-mailbox"), [""; 0], "a short list needs no index");
}

#[test]
fn a_list_that_nobody_has_put_anything_into_is_empty() {
    let env = env();
    ok(&env, "session start s1");
    ok(&env, "session end s1");
    assert_eq!(json_of(&env, "get tasks --session-id s1"), json!({"tasks": []}));
    assert_eq!(env.run(&["get", "tasks", "--session-id", "nobody"]).code, 4);
    env.ok(&["append", "tasks", "tasks", r#"{"id":"t1"}"#, "--session-id", "s1"]);
    assert_eq!(json_of(&env, "get tasks --session-id s1 --field tasks[0].id"), "t1");
}

#[test]
fn a_mailbox_works_on_when_its_list_grows_long_and_short_again() {
    let env = env();
    for number in 0..90 {
        ok(&env, &format!("message send lead s1 note {number} --id m{number:02}"));
    }
    assert_eq!(files(&env, "index-mailbox").len(), 1);
    let polled = json_of(&env, "message poll s1 --limit 1000");
    let order: Vec<_> =
        polled.as_array().unwrap().iter().map(|message| message["payload"].as_u64().unwrap()).collect();
    assert_eq!(order, (0..90).collect::<Vec<_>>());
    assert_eq!(json_of(&env, "status")["messages"]["unread"], 0);
}

// ---- who is seen

#[test]
#[expect(clippy::disallowed_methods, reason = "somebody loses the cache")]
fn whoever_is_at_work_is_seen_whatever_brought_it_there() {
    let env = env();
    for id in ["s1", "s2", "s3"] {
        ok(&env, &format!("session start {id}"));
    }
    ok(&env, "session end s1");
    assert_eq!(active(&env), ["s2", "s3"]);
    ok(&env, "session start s1");
    assert_eq!(active(&env), ["s1", "s2", "s3"], "started again");
    ok(&env, "session end s1");
    env.ok(&["set", "session", "status", "\"active\"", "--session-id", "s1"]);
    assert_eq!(active(&env), ["s1", "s2", "s3"], "brought back by a change of its document");
    ok(&env, "session end s2");
    env.ok(&["undo", "session", "--session-id", "s2"]);
    assert_eq!(active(&env), ["s1", "s2", "s3"], "brought back by undoing its end");

    // Another program puts a session there: a copy of one, and one that it has made.
    let state = env.read_text(&format!("{HOME}/sessions/s3/state.json"));
    env.write(&format!("{HOME}/sessions/made/state.json"), &state);
    assert_eq!(active(&env), ["made", "s1", "s2", "s3"]);
    ok(&env, "session end s3");
    assert_eq!(active(&env), ["made", "s1", "s2"], "also after a change of ours");
    fs::remove_dir_all(env.root().join(HOME).join("sessions/made")).unwrap();
    assert_eq!(active(&env), ["s1", "s2"]);

    // The roster is a cache: spoiled or lost, all is as before.
    let roster = format!("{HOME}/orchestration/locks/roster.json");
    for bytes in [
        "",
        "{",
        "{\"looks\":[null,null],\"any\":false,\"aged\":0,\"ids\":[],\"check\":\"0000000000000000\"}",
    ] {
        env.write(&roster, bytes);
        assert_eq!(active(&env), ["s1", "s2"], "{bytes}");
    }
    fs::remove_file(env.root().join(&roster)).unwrap();
    assert_eq!(active(&env), ["s1", "s2"]);
    ok(&env, "session start s4");
    assert_eq!(active(&env), ["s1", "s2", "s4"]);
    assert_eq!(json_of(&env, "status")["sessions"].as_array().unwrap().len(), 3);
    ok(&env, "doctor");
}

#[test]
fn mailboxes_of_sessions_that_are_over_are_not_counted() {
    let env = env();
    ok(&env, "session start s1");
    ok(&env, "message send lead s1 note 1");
    ok(&env, "message send lead plain note 1");
    assert_eq!(json_of(&env, "status")["messages"], json!({"unread": 2, "sessions": {"plain": 1, "s1": 1}}));
    ok(&env, "session end s1");
    assert_eq!(json_of(&env, "status")["messages"], json!({"unread": 1, "sessions": {"plain": 1}}));
}

// ---- making room

#[test]
fn what_is_over_goes_to_the_archive_and_is_still_found() {
    let env = env();
    on(&env, "01-05", "session start s1 --project-id shop");
    on(&env, "01-05", "session start s2");
    on(&env, "01-05", "message send s1 s2 note 1 --id m1");
    on(&env, "01-05", "message send s2 s1 note 2 --id m2");
    on(&env, "01-05", "message done s2 m1");
    on(&env, "01-06", "session end s1");
    on(&env, "03-01", "session heartbeat s2");
    let before = env.bytes();
    let told = on(&env, "03-01", "clean --older-than 30d --dry-run --json").json();
    assert_eq!(told, json!({"sessions": ["s1"], "messages": 4, "tasks": [], "dry_run": true}));
    let same = |path: &&String| !path.contains("/locks/");
    assert!(env.bytes().keys().filter(same).eq(before.keys().filter(same)), "a dry run changes nothing");

    let told = on(&env, "03-01", "clean --older-than 30d --json").json();
    assert_eq!(told, json!({"sessions": ["s1"], "messages": 4, "tasks": [], "dry_run": false}));
    assert_eq!(files(&env, "s1"), [""; 0], "no directory, no journal, no lock");
    let records = lines(&env, &format!("{HOME}/orchestration/archive/sessions-2026-01.jsonl"));
    assert_eq!(records.len(), 1);
    assert_eq!(
        (&records[0]["session_id"], &records[0]["session"]["status"]),
        (&json!("s1"), &json!("ended"))
    );
    assert_eq!(records[0]["events"]["events"].as_array().unwrap().len(), 2);
    let messages = lines(&env, &format!("{HOME}/orchestration/archive/messages-2026-01.jsonl"));
    let mut kept: Vec<_> = messages
        .iter()
        .map(|line| {
            format!("{}/{}/{}", line["mailbox"], line["tray"], line["message"]["id"]).replace('"', "")
        })
        .collect();
    kept.sort();
    assert_eq!(kept, ["s1/inbox/m2", "s1/outbox/m1", "s2/outbox/m2", "s2/processed/m1"]);

    assert_eq!(on(&env, "03-01", "session show s1 --json").json()["project_id"], "shop");
    let list = on(&env, "03-01", "session list --archived --json").json();
    assert_eq!((list.as_array().unwrap().len(), &list[0]["session_id"]), (1, &json!("s1")));
    let again = on(&env, "03-01", "clean --older-than").shown();
    assert!(again.contains("0 sessions, 0 messages, 0 tasks"), "{again}");
    assert_eq!(on(&env, "03-01", "session list --json").json().as_array().unwrap().len(), 1);
    on(&env, "03-01", "doctor");
    on(&env, "03-02", "session start s1");
    assert_eq!(
        on(&env, "03-02", "session show s1 --json").json()["status"],
        "active",
        "the same id begins anew"
    );
}

#[test]
fn files_of_others_stay_where_they_are() {
    let env = env();
    on(&env, "01-05", "session start s1");
    env.write(&format!("{HOME}/sessions/s1/notes.txt"), "mine");
    on(&env, "01-06", "session end s1");
    on(&env, "03-01", "clean --older-than 30d");
    assert_eq!(env.read_text(&format!("{HOME}/sessions/s1/notes.txt")), "mine");
    assert_eq!(lines(&env, &format!("{HOME}/orchestration/archive/sessions-2026-01.jsonl")).len(), 1);
    on(&env, "03-01", "clean --older-than 30d");
    assert_eq!(lines(&env, &format!("{HOME}/orchestration/archive/sessions-2026-01.jsonl")).len(), 1, "once");
}

#[test]
fn sessions_make_room_when_others_end() {
    let env = env();
    for id in ["s1", "s2", "s3"] {
        on(&env, "01-05", &format!("session start {id}"));
    }
    on(&env, "01-05", "message send s2 s1 note 1");
    on(&env, "01-05", "session end s1");
    on(&env, "01-20", "session end s2");
    let there = |id: &str| !files(&env, &format!("/sessions/{id}/")).is_empty();
    assert!(there("s1") && there("s2"));
    on(&env, "02-10", "session end s3");
    assert!(!there("s1") && there("s2") && there("s3"), "only what is over for a month");
    env.ok(&["set", "config", "retention.sessions_days", "0"]);
    on(&env, "12-01", "session start s4");
    on(&env, "12-01", "session end s4");
    assert!(there("s2"), "0 keeps them");
    env.ok(&["set", "config", "retention.sessions_days", "5"]);
    on(&env, "12-02", "session start s4");
    on(&env, "12-02", "session end s4");
    assert!(!there("s2") && !there("s3") && there("s4"));
    on(&env, "12-02", "session show s1");
}

#[test]
fn tasks_that_are_done_go_unless_an_open_one_needs_them() {
    let env = env();
    for id in ["old", "needed", "young"] {
        on(&env, "01-05", &format!("leader add-task do_{id} --id {id}"));
    }
    on(&env, "01-05", "leader add-task later --id open --depends needed young");
    for (id, day) in [("old", "01-06"), ("needed", "01-06"), ("young", "02-25")] {
        assert_eq!(on(&env, day, "worker claim w1 --json").json()["id"], id);
        on(&env, day, &format!("worker start w1 {id}"));
        on(&env, day, &format!("worker complete w1 {id} fine"));
    }
    let told = on(&env, "03-01", "clean --older-than 30d --json").json();
    assert_eq!(told["tasks"], json!(["old"]));
    let left = json_of(&env, "get queue --field tasks");
    let ids: Vec<_> = left.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["needed", "young", "open"]);
    let archived = lines(&env, "project/.coordination/archive/tasks-2026-01.jsonl");
    assert_eq!(
        (archived.len(), &archived[0]["id"], &archived[0]["status"]),
        (1, &json!("old"), &json!("done"))
    );
    assert_eq!(on(&env, "03-01", "worker claim w1 --json").json()["id"], "open");
    on(&env, "03-01", "doctor");
}

#[test]
fn logs_go_with_the_tasks_that_they_tell_of() {
    let env = env();
    let project = "project/.coordination";
    for (id, day) in [("old", "01-05"), ("young", "02-25")] {
        on(&env, day, &format!("leader add-task do_{id} --id {id}"));
        on(&env, day, "worker run w1 --until-empty -- echo said_it");
    }
    assert!(env.read_text(&format!("{project}/logs/tasks/old.log")).contains("said_it"));
    on(&env, "03-01", "clean --older-than 30d --dry-run");
    assert!(env.bytes().contains_key(&format!("{project}/logs/tasks/old.log")));
    on(&env, "03-01", "clean --older-than 30d");

    let tasks = lines(&env, &format!("{project}/archive/tasks-2026-01.jsonl"));
    assert_eq!(tasks.len(), 1);
    assert!(tasks[0]["log"].as_str().unwrap().contains("said_it"), "{tasks:?}");
    let mut logs = lines(&env, &format!("{project}/archive/logs-2026-01.jsonl"));
    logs.sort_by_key(|log| log["id"].to_string());
    assert_eq!((&logs[0]["id"], &logs[1]["id"], logs.len()), (&json!("leader"), &json!("w1"), 2));
    assert!(logs[1]["text"].as_str().unwrap().contains("COMPLETED: old"), "{logs:?}");
    let left = env.read_text(&format!("{project}/logs/w1.log"));
    assert!(left.contains("young") && !left.contains("old"), "{left}");
    let files = env.bytes();
    assert!(!files.contains_key(&format!("{project}/logs/tasks/old.log")));
    assert!(files.contains_key(&format!("{project}/logs/tasks/young.log")));

    on(&env, "03-01", "clean --older-than 0s");
    let gone = |name: &str| !env.bytes().contains_key(&format!("{project}/logs/{name}"));
    assert!(gone("w1.log") && gone("leader.log") && gone("tasks/young.log"));
    assert_eq!(lines(&env, &format!("{project}/archive/logs-2026-01.jsonl")).len(), 2, "nothing twice");
    let found = on(&env, "03-01", "history queue --archived --item young --json").json();
    assert!(found[0]["log"].as_str().unwrap().contains("said_it"), "{found}");
    on(&env, "03-01", "doctor");
}

/// A queue of so many tasks, all but the last done on a day in January.
fn queue_of_the_past(env: &TestEnv, count: usize) {
    let plan: String = (0..count)
        .map(|number| format!("{}\n", json!({"id": format!("p-{number}"), "description": "Do it"})))
        .collect();
    env.write("project/plan.jsonl", &plan);
    on(env, "01-05", &format!("leader import {}", env.root().join("project/plan.jsonl").display()));
    let file = "project/.coordination/tasks.json";
    let mut queue: Value = serde_json::from_str(&env.read_text(file)).unwrap();
    for task in queue["tasks"].as_array_mut().unwrap().iter_mut().take(count - 1) {
        (task["status"], task["completed_at"]) = (json!("done"), json!("2026-01-06T12:00:00Z"));
    }
    env.write(file, queue.to_string());
}

fn task_ids(env: &TestEnv) -> Vec<String> {
    let tasks = json_of(env, "get queue --field tasks");
    tasks.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tasks_that_were_done_long_ago_leave_a_long_queue_when_others_come() {
    let env = env();
    queue_of_the_past(&env, 1151);
    on(&env, "01-10", "leader add-task more --id p-more --depends p-7");
    let archive = "project/.coordination/archive/tasks-2026-01.jsonl";
    assert!(!env.bytes().contains_key(archive), "they are done, but not for long");
    on(&env, "06-01", "leader add-task new --id p-new --depends p-9");
    assert_eq!(lines(&env, archive).len(), 100, "nobody waits for more in passing");
    assert_eq!(task_ids(&env).len(), 1153 - 100);
    assert_eq!(task_ids(&env)[..3], ["p-7", "p-9", "p-102"], "what is needed stays");
    on(&env, "06-01", "undo queue");
    assert_eq!(task_ids(&env).len(), 1152 - 100, "the archive is no change that somebody made");
    let refused = env.run(&["undo", "queue"]);
    assert_eq!(refused.code, 1, "nor is it taken back by accident");
    assert!(refused.stderr.contains("retention"), "{}", refused.shown());

    let found = on(&env, "06-01", "history queue --archived --item p-5 --json").json();
    assert_eq!((found.as_array().unwrap().len(), &found[0]["status"]), (1, &json!("done")));
    let last = on(&env, "06-01", "history queue --archived --limit 2 --json").json();
    assert_eq!((&last[0]["id"], &last[1]["id"]), (&json!("p-100"), &json!("p-101")));
    assert!(on(&env, "06-01", "history queue --archived").stdout.contains("p-101  done  Do it"));
    assert!(on(&env, "06-01", "history queue --limit 1").stderr.contains("history queue --archived"));
    let shown = on(&env, "06-01", "leader show p-5 --json").json();
    assert_eq!((&shown["status"], &shown["reasons"][0]["kind"]), (&json!("done"), &json!("archived")));
    assert_eq!(env.run(&["leader", "show", "p-none"]).code, 4);
    assert_eq!(env.run(&["history", "config", "--archived"]).code, 2);
    on(&env, "06-01", "doctor");
}

#[test]
fn a_queue_that_takes_long_to_write_anew_is_left_to_who_asks_or_brings_as_much() {
    let env = env();
    queue_of_the_past(&env, 6399);
    on(&env, "01-10", "leader add-task more --id p-more");
    let archive = "project/.coordination/archive/tasks-2026-01.jsonl";
    on(&env, "06-01", "leader add-task new --id p-new");
    assert!(!env.bytes().contains_key(archive), "one task is added, not 6,400 written");
    let told = on(&env, "06-01", "doctor").stderr;
    assert!(
        told.contains("6398 tasks have been over for long") && told.contains("clean --older-than"),
        "{told}"
    );
    let plan: String = (0..6500).map(|number| format!("- [ ] Part {number}\n")).collect();
    env.write("project/plan.md", &plan);
    on(&env, "06-01", &format!("leader import {}", env.root().join("project/plan.md").display()));
    assert_eq!(lines(&env, archive).len(), 6398);
    let asked = crate::env();
    queue_of_the_past(&asked, 6399);
    on(&asked, "06-01", "clean --older-than");
    assert_eq!(lines(&asked, archive).len(), 6398);
}

#[test]
fn tasks_stay_in_a_short_queue_and_where_nothing_is_to_leave() {
    let env = env();
    queue_of_the_past(&env, 959);
    on(&env, "01-10", "leader add-task more --id p-more");
    on(&env, "06-01", "leader add-task new --id p-new");
    assert_eq!(task_ids(&env).len(), 961);
    let other = crate::env();
    queue_of_the_past(&other, 1151);
    other.ok(&["set", "config", "retention.tasks_days", "0"]);
    on(&other, "01-10", "leader add-task more --id p-more");
    on(&other, "06-01", "leader add-task new --id p-new");
    assert_eq!(task_ids(&other).len(), 1153);
}

#[test]
fn messages_make_room_when_others_are_sent_or_done_with() {
    let env = env();
    for number in 0..63 {
        on(&env, "01-05", &format!("message send s1 s2 note {number} --id m{number:02}"));
        on(&env, "01-05", &format!("message done s2 m{number:02}"));
    }
    on(&env, "01-20", "message send s3 s2 note 1 --id m98");
    assert_eq!((files(&env, "/outbox/").len(), files(&env, "/processed/").len()), (64, 63));
    on(&env, "03-01", "message send s1 s2 note 1 --id m99");
    assert_eq!(files(&env, "messages/s1/outbox/").len(), 1, "the copies of January are archived");
    on(&env, "03-01", "message done s2 m99");
    assert_eq!(files(&env, "/processed/").len(), 1);
    let records = lines(&env, &format!("{HOME}/orchestration/archive/messages-2026-01.jsonl"));
    assert_eq!(records.len(), 2 * 63);
    let ran = env.run(&["history", "mailbox", "--session-id", "s2", "--archived", "--item", "m05", "--json"]);
    assert_eq!(ran.json().as_array().unwrap().len(), 1);
    assert!(files(&env, "m98").len() == 2, "one that nobody has read stays, and so does its young copy");
    on(&env, "03-01", "doctor");
}

#[test]
fn the_history_of_a_session_that_is_gone_is_what_the_archive_has() {
    let env = env();
    on(&env, "01-05", "session start s1 --project-id shop");
    on(&env, "01-06", "session end s1");
    on(&env, "03-01", "clean --older-than");
    let ran = on(&env, "03-01", "history session --session-id s1 --json");
    assert_eq!(ran.json()[0]["session"]["project_id"], "shop");
    assert_eq!(env.run(&["history", "session", "--session-id", "s9"]).code, 4);
}

#[test]
fn an_age_that_is_none_is_refused() {
    let env = env();
    for age in ["x", "3y", "-1d", "", "d", "99999999999999999999d"] {
        let ran = env.run(&["clean", &format!("--older-than={age}")]);
        assert_eq!(ran.code, 2, "{age}: {}", ran.shown());
    }
}

#[test]
fn storm_of_starts_ends_and_cleaning() {
    let env = env();
    let (rounds, ids) = (12, 6);
    thread::scope(|scope| {
        for id in 0..ids {
            let env = &env;
            scope.spawn(move || {
                for round in 0..rounds {
                    // The same ids again and again: a room is removed while the next start waits for its lock.
                    ok(env, &format!("session start s{id}"));
                    ok(env, &format!("message send s{id} s{} note {round}", (id + 1) % ids));
                    let seen = active(env);
                    assert!(seen.contains(&format!("s{id}")), "s{id} is not seen: {seen:?}");
                    ok(env, &format!("session end s{id}"));
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..rounds {
                let ran = env.run(&["clean", "--older-than", "0", "--json"]);
                assert_eq!(ran.code, 0, "{}", ran.shown());
            }
        });
    });
    ok(&env, "clean --older-than 0");
    // Time stands still for some: whoever ended in this very second is still there.
    let archive = format!("{HOME}/orchestration/archive");
    let archived = files(&env, "archive/sessions-").iter().map(|path| lines(&env, path).len()).sum::<usize>();
    let there = json_of(&env, "session list").as_array().unwrap().len();
    assert!(archived >= 1 && archived + there >= ids, "{archived} in {archive}, {there} in place");
    let sent: usize = files(&env, "archive/messages-").iter().map(|path| lines(&env, path).len()).sum();
    let lying =
        files(&env, "/outbox/").len() + files(&env, "/inbox/").len() + files(&env, "/processed/").len();
    assert_eq!(sent + lying, 2 * rounds * ids, "each message and its copy, archived or in place");
    assert_eq!(active(&env), [""; 0]);
    ok(&env, "doctor");
}
