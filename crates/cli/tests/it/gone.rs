//! Documents that somebody has removed: lost, or reset.

use anthill_testkit::test_env::TestEnv;
use serde_json::Value;

use crate::env;

/// A document of each place where removing it is no reset: how it is made, read and told, and its file.
const LIVE: [(&str, &str, &str); 12] = [
    ("leader add-task x --id t", "queue", "project/.coordination/tasks.json"),
    ("worker register w", "workers", "project/.coordination/agents.json"),
    ("set config global.default_project \"p\"", "config", "user/.claude/orchestration/config.json"),
    ("tool register t", "tools", "user/.claude/orchestration/tools.json"),
    ("trust true", "trusted", "user/.claude/orchestration/trusted.json"),
    ("epic add E --project-id p", "epics --project-id p", "user/.claude/orchestration/projects/p/epics.json"),
    (
        "team add a --role dev --project-id p",
        "team --project-id p",
        "user/.claude/orchestration/projects/p/team.json",
    ),
    ("session start s", "session --session-id s", "user/.claude/sessions/s/state.json"),
    ("session start s", "events --session-id s", "user/.claude/sessions/s/events.json"),
    ("message send a b note {}", "sent --session-id a", "user/.claude/orchestration/messages/a/sent.json"),
    ("workflow create W --phase A=dev", "workflow", "project/.claude/state/workflow.json"),
    ("workflow create W --phase A=dev", "task_graph", "project/.claude/state/active_task_graph.json"),
];

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

#[track_caller]
fn gone(env: &TestEnv, line: &str, typed: &str) {
    let ran = env.run(&words(line));
    assert_eq!(ran.code, 7, "{line}\n{}", ran.shown());
    let begin = format!("anthill delete {typed} .");
    for part in ["is gone", "anthill doctor --repair", &begin] {
        assert!(ran.stderr.contains(part), "{line}: {part}\n{}", ran.shown());
    }
}

fn remove(env: &TestEnv, file: &str) {
    assert_eq!(env.sh(&format!("rm -r {}/{file}", env.root().display())).code, 0);
}

#[test]
fn a_live_document_that_is_gone_is_damage_with_two_ways_out() {
    for (make, typed, file) in LIVE {
        let env = env();
        env.ok(&words(make));
        // Beside it, so that not the whole room is gone.
        env.ok(&["set", "errors", "note", "1"]);
        let get = format!("get {typed}");
        let before = env.json(&words(&get));
        remove(&env, file);
        gone(&env, &get, typed);
        gone(&env, &format!("set {typed} note 1"), typed);
        let found = env.run(&["doctor", "--json"]);
        let findings = found.json()["findings"].clone();
        assert_eq!((found.code, &findings[0]["code"]), (7, &Value::from("damaged")), "{typed}: {findings}");
        let all = env.run(&["validate", "--json"]);
        let listed = all.json().as_array().unwrap().iter().any(|one| {
            let error = one["error"].as_str().unwrap_or_default();
            one["kind"] == typed.split(' ').next().unwrap()
                && one["valid"] == false
                && error.contains("is gone")
        });
        assert!(all.code == 7 && listed, "{typed}: {}", all.shown());
        gone(&env, "validate", typed);
        // One way out.
        env.ok(&["doctor", "--repair"]);
        assert_eq!(env.json(&words(&get)), before, "{typed}");
        // The other.
        remove(&env, file);
        let deleted = env.json(&words(&format!("delete {typed} .")));
        assert_eq!(deleted["value"], Value::Null);
        // A list that a session need not have reads as an empty one.
        let missing = if typed.starts_with("events") { 0 } else { 4 };
        assert_eq!(env.run(&words(&get)).code, missing, "{typed}");
        env.ok(&["doctor"]);
        assert_eq!(env.run(&words(&format!("delete {typed} ."))).code, 4, "{typed}: once is enough");
        if typed != "task_graph" {
            env.ok(&words(make));
            env.ok(&words(&get));
        }
    }
}

#[test]
fn a_queue_that_is_gone_stops_everybody_and_comes_back_whole() {
    let env = env();
    for id in ["a", "b", "c"] {
        env.ok(&["leader", "add-task", id, "--id", id]);
    }
    env.ok(&["worker", "claim", "w1"]);
    let before = env.json(&["get", "queue"]);
    remove(&env, "project/.coordination/tasks.json");
    for line in
        ["leader add-task d", "leader status", "worker claim w2", "worker complete w1 a done", "list queue"]
    {
        gone(&env, line, "queue");
    }
    env.ok(&["doctor", "--repair"]);
    assert_eq!(env.json(&["get", "queue"]), before);
    env.ok(&["worker", "complete", "w1", "a", "done"]);
    assert_eq!(env.json(&["worker", "claim", "w2"])["id"], "b");
    // What was begun anew can still be taken back.
    remove(&env, "project/.coordination/tasks.json");
    env.ok(&["delete", "queue", "."]);
    env.ok(&["undo", "queue"]);
    assert_eq!(env.json(&["get", "queue", "--field", "tasks[0].status"]), "done");
}

#[test]
fn without_its_directory_a_room_begins_anew() {
    let env = env();
    env.ok(&["leader", "add-task", "x", "--id", "t"]);
    remove(&env, "project/.coordination");
    assert_eq!(env.run(&["get", "queue"]).code, 4);
    env.ok(&["leader", "add-task", "y", "--id", "u"]);
    env.ok(&["doctor"]);
    env.ok(&["workflow", "create", "W", "--phase", "A=dev"]);
    env.ok(&["loop", "start", "task"]);
    // The hidden directory stays behind: it is all of it nevertheless.
    assert_eq!(env.sh("rm -r .claude/state/*").code, 0);
    let ran = env.run(&["workflow", "show"]);
    assert!(ran.code == 4 && ran.stderr.contains("anthill undo workflow"), "{}", ran.shown());
    env.ok(&["workflow", "create", "V", "--phase", "A=dev"]);
}

#[test]
fn where_removing_is_the_reset_the_answer_names_undo() {
    let env = env();
    env.ok(&["loop", "start", "old"]);
    for file in ["project/.claude/state/loop/work_queue.json", "project/.claude/state/loop"] {
        remove(&env, file);
        env.ok(&["doctor"]);
        let ran = env.run(&["loop", "status"]);
        assert!(ran.code == 4 && ran.stderr.contains("anthill undo work_queue"), "{}", ran.shown());
        env.ok(&["undo", "work_queue"]);
        assert_eq!(env.json(&["get", "work_queue", "--field", "task"]), "old");
    }
    remove(&env, "project/.claude/state/loop");
    let ran = env.ok(&["loop", "start", "new"]);
    assert!(
        ran.stderr.contains("begins anew") && ran.stderr.contains("anthill undo work_queue"),
        "{}",
        ran.shown()
    );
    for kind in ["errors", "active_agents"] {
        env.ok(&["set", kind, "note", "1"]);
        let place = if kind == "errors" { "errors" } else { "agents" };
        assert_eq!(env.sh(&format!("rm -r .claude/state/{place}")).code, 0);
        let ran = env.run(&["get", kind]);
        assert!(ran.code == 4 && ran.stderr.contains(&format!("anthill undo {kind}")), "{}", ran.shown());
        env.ok(&["set", kind, "note", "2"]);
    }
}

#[test]
fn a_configuration_that_is_gone_is_no_other_place_for_sessions() {
    let env = env();
    let elsewhere = format!("\"{}/elsewhere\"", env.root().display());
    env.ok(&["set", "config", "paths.session_state", &elsewhere]);
    env.ok(&["session", "start", "s"]);
    remove(&env, "user/.claude/orchestration/config.json");
    let ran = env.run(&["session", "start", "s"]);
    assert!(ran.code == 7 && ran.stderr.contains("is gone"), "{}", ran.shown());
    assert!(!env.home().join("sessions").exists());
    env.ok(&["doctor", "--repair"]);
    env.ok(&["session", "start", "s"]);
}
