//! What `doctor` says of documents that speak of each other, and of settings.

use anthill_testkit::test_env::TestEnv;
use serde_json::Value;

use crate::env;

/// Returns what `doctor` finds; what it only warns of leaves everything well.
#[track_caller]
fn findings(env: &TestEnv) -> Vec<Value> {
    let told = env.json(&["doctor"]);
    assert_eq!(told["ok"], true, "{told}");
    told["findings"].as_array().unwrap().clone()
}

#[track_caller]
fn finds(env: &TestEnv, message: &str, fix: &str) {
    let found = findings(env);
    let is_it = |finding: &&Value| finding["message"].as_str().unwrap().contains(message);
    let finding = found.iter().find(is_it).unwrap_or_else(|| panic!("{message}: {found:?}"));
    assert_eq!(finding["severity"], "warning");
    assert!(finding["fix"].as_str().unwrap().contains(fix), "{finding}");
}

#[test]
fn the_green_word_names_what_was_looked_at() {
    let env = env();
    assert!(env.ok(&["doctor"]).stderr.contains("no documents yet"));
    env.ok(&["leader", "add-task", "x", "--id", "t"]);
    let said = env.ok(&["doctor"]).stderr;
    for part in ["all is well", "document", "tasks and results", "sessions and claims"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("orders and groups"), "{said}");
}

#[test]
fn claims_of_sessions_that_are_gone() {
    let env = env();
    env.ok(&["session", "start", "s"]);
    env.ok(&["leader", "add-task", "x", "--id", "t"]);
    env.ok(&["worker", "claim", "w", "--session-id", "s"]);
    assert_eq!(findings(&env), [] as [Value; 0]);
    env.ok(&["delete", "session", "--session-id", "s", "."]);
    finds(&env, "`t` is in the hands of session `s`", "anthill leader reset t");
    env.ok(&["leader", "reset", "t"]);
    assert_eq!(findings(&env), [] as [Value; 0]);
}

#[test]
fn results_without_tasks_and_tasks_without_results() {
    let env = env();
    env.ok(&["leader", "add-task", "x", "--id", "t"]);
    env.ok(&["worker", "claim", "w"]);
    env.ok(&["worker", "complete", "w", "t", "done"]);
    assert_eq!(findings(&env), [] as [Value; 0]);
    env.sh("mv .coordination/results/t.md .coordination/results/u.md");
    finds(&env, "`t` is done", "anthill get queue --field");
    finds(&env, "results/u.md` is the result of no task", "rm .coordination/results/u.md");
}

#[test]
fn orders_for_groups_that_are_in_no_plan() {
    let env = env();
    env.ok(&["pipeline", "init", "build it"]);
    env.ok(&["pipeline", "next"]);
    env.write("plan.json", r#"{"mode": "simple", "task_groups": [{"id": "A", "name": "a", "tasks": ["T1"], "files_affected": ["a.rs"], "branch_name": "a"}], "all_tasks": [{"id": "T1", "description": "x"}]}"#);
    env.ok(&["pipeline", "plan", "--file", &env.root().join("plan.json").display().to_string()]);
    env.ok(&["pipeline", "next"]);
    assert_eq!(findings(&env), [] as [Value; 0]);
    env.ok(&["delete", "pm_state", "task_groups[0]"]);
    finds(&env, "which is in no plan", "anthill undo pm_state");
}

#[test]
fn messages_without_their_files() {
    let env = env();
    env.ok(&["message", "send", "a", "b", "note", "{}", "--id", "m"]);
    assert_eq!(findings(&env), [] as [Value; 0]);
    env.sh(&format!("rm {}/orchestration/messages/b/inbox/m.json", env.home().display()));
    finds(&env, "message `m` waits for `b`", "anthill message poll b");
    env.ok(&["message", "poll", "b"]);
    assert_eq!(findings(&env), [] as [Value; 0]);
}

#[test]
fn settings_without_effect_are_named() {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"p\""]);
    assert_eq!(findings(&env), [] as [Value; 0], "the defaults promise nothing");
    for (key, value) in [
        ("global.state_sync_interval", "100"),
        ("features.enable_state_sharing", "false"),
        ("paths.scripts", "\"/x\""),
        ("paths.locks", "\"/x\""),
        ("global.max_paralel_agents", "9"),
    ] {
        env.ok(&["set", "config", key, value]);
        finds(&env, &format!("`{key}` in the configuration has no effect"), "anthill delete config");
        let said = env.ok(&["validate", "config"]).stderr;
        assert!(said.contains(&format!("`{key}` in the configuration has no effect")), "{said}");
    }
    let known = [
        ("features.enable_edit_guard", "false"),
        ("retention.errors", "3"),
        ("journal.kept_segments", "4"),
        ("x", "1"),
        ("features.x_mine", "true"),
    ];
    known.iter().for_each(|(key, value)| drop(env.ok(&["set", "config", key, value])));
    assert_eq!(findings(&env).len(), 5);
    env.ok(&["set", "config", "features.enable_orchestration", "false"]);
    let ran = env.run(&["orchestrate", "x", "--agent", "true"]);
    assert!(ran.code == 1 && ran.stderr.contains("enable_orchestration"), "{}", ran.shown());
}
