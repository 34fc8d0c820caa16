//! Secrets that agents and programs say: none of them gets into a file of ours.

use std::fs;

use anthill_testkit::test_env::TestEnv;
use serde_json::json;

use crate::env;

/// What must not be found anywhere, put together so that no scanner takes it for a secret that somebody has lost.
fn canary() -> String {
    ["glpat", "CanaryCanaryCanaryCan"].join("-")
}

/// Looks through every file of both roots, the journals included.
#[track_caller]
fn nowhere(env: &TestEnv) {
    let mut seen = 0;
    for path in env.bytes().into_keys() {
        let text = fs::read(env.root().join(&path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains("CanaryCanary"), "{path}: {text}");
        seen += usize::from(text.contains("[redacted]"));
    }
    assert!(seen > 0, "something was there to be left out");
}

#[test]
fn what_a_command_of_a_worker_prints_is_stored_without_secrets() {
    let env = env();
    env.ok(&["leader", "add-task", "x", "--id", "t1"]);
    let said = json!({"summary": format!("used {}", canary()), "discoveries": [format!("token {}", canary())],
        "files_created": ["a.rs"], "status": "done"});
    env.write("project/said", said.to_string());
    env.ok(&["worker", "run", "w1", "--", "cat", "said"]);
    env.ok(&["leader", "add-task", "y", "--id", "t2"]);
    env.write("project/said", format!("DB_PASS={} failed\n", canary()));
    env.run(&["worker", "run", "w1", "--", "sh", "-c", "cat said; exit 3"]);
    env.sh("rm said");
    nowhere(&env);
}

#[test]
fn what_agents_say_by_themselves_is_stored_without_secrets() {
    let (env, said) = (env(), format!("done with {}", canary()));
    for id in ["t1", "t2"] {
        env.ok(&["leader", "add-task", id, "--id", id]);
        env.ok(&["worker", "claim", "w1"]);
    }
    env.ok(&["worker", "complete", "w1", "t1", &said, "--created", &canary()]);
    env.ok(&["worker", "complete", "w1", "t1", &said, "--created", &canary()]);
    env.ok(&["worker", "fail", "w1", "t2", &said]);
    env.ok(&["worker", "discover", "w1", &said]);
    env.ok(&["loop", "start", "a loop"]);
    env.ok(&["loop", "add", &said, "-p", "S1"]);
    env.ok(&["workflow", "create", "flow", "--phase", "One=a"]);
    let phase = env.json(&["get", "workflow"])["phases"][0]["id"].as_str().unwrap().to_owned();
    env.run(&["workflow", "phase", &phase, "--status", "active"]);
    env.ok(&[
        "workflow",
        "phase",
        &phase,
        "--status",
        "completed",
        "--deliverable",
        &said,
        "--context",
        &said,
    ]);
    env.ok(&["session", "start", "a"]);
    env.ok(&["session", "start", "b"]);
    env.ok(&["message", "send", "a", "b", "note", &json!({"text": said}).to_string(), "--as", "agent"]);
    nowhere(&env);
}

#[test]
fn gates_and_reports_are_stored_without_secrets() {
    let (env, said) = (env(), format!("src/a.rs:1:1: error: {}", canary()));
    env.ok(&["loop", "start", "a loop"]);
    env.write("project/out", &said);
    env.run(&["loop", "gate", "lint", "--", "sh", "-c", "cat out; exit 1"]);
    env.ok(&["pipeline", "init", "Do it"]);
    let plan = json!({"mode": "simple", "mode_reasoning": said, "all_tasks": [{"id": "T1", "description": said, "group_id": "A"}],
        "task_groups": [{"id": "A", "name": "a"}]});
    assert_eq!(env.run_with_input(&["pipeline", "plan", "--file", "-"], plan.to_string().as_bytes()).code, 0);
    env.ok(&["pipeline", "next"]);
    let report = json!({"summary": said, "changes": [said], "password": canary()}).to_string();
    let ran = env.run_with_input(
        &["pipeline", "report", "developer", "A", "BLOCKED", "--file", "-"],
        report.as_bytes(),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    env.sh("rm out");
    nowhere(&env);
}

#[test]
fn what_an_agent_plans_is_stored_without_secrets() {
    let (env, said) = (env(), format!("deploy with {}", canary()));
    let agent = |args: &[&str], input: &[u8]| {
        let ran = env.finish(env.command(args).env("ANTHILL_SESSION_ID", "planner"), input);
        assert_eq!(ran.code, 0, "{}", ran.shown());
    };
    agent(&["leader", "init", &said, "--approach", &said], b"");
    agent(&["leader", "add-task", &said, "--id", "t1", "--hints", &said], b"");
    agent(&["leader", "add-task", &said, "--id", "t1", "--hints", &said], b"");
    agent(&["leader", "edit", "t1", "--hints", &said, "--description", &said], b"");
    agent(&["leader", "note", "t1", &said], b"");
    agent(&["leader", "import", "-"], format!("- [ ] {said}\n").as_bytes());
    agent(&["loop", "start", &said], b"");
    agent(&["workflow", "create", &said, "--phase", "One=a"], b"");
    agent(&["pipeline", "init", &said], b"");
    agent(&["epic", "add", &said, "--id", "e1", "--project-id", "p"], b"");
    agent(&["story", "add", "e1", &said, "--project-id", "p"], b"");
    nowhere(&env);
}

#[test]
fn a_person_may_write_what_they_like() {
    let env = env();
    env.ok(&["leader", "add-task", &canary(), "--id", "t1"]);
    assert_eq!(env.json(&["get", "queue", "--field", "tasks[id=t1].description"]), canary());
    env.ok(&["message", "send", "a", "b", "note", &json!({"text": canary()}).to_string(), "--as", "person"]);
    assert!(env.ok(&["message", "poll", "b"]).stdout.contains(&canary()));
}

#[test]
fn leader_init_names_what_git_should_leave_out() {
    let env = env();
    let told = env.ok(&["leader", "init", "goal"]).stderr;
    assert!(told.contains("add to .gitignore:\n  .coordination/.anthill/\n  .coordination/logs/"), "{told}");
    env.write("project/.gitignore", ".coordination/logs\n");
    let told = env.ok(&["leader", "init", "goal"]).stderr;
    assert!(told.contains("add to .gitignore:\n  .coordination/.anthill/\nnext:"), "{told}");
    env.write("project/.gitignore", "/.coordination/\n");
    assert!(!env.ok(&["leader", "init", "goal"]).stderr.contains("gitignore"));
    env.sh("rm -r .git .gitignore");
    assert!(!env.ok(&["leader", "init", "goal"]).stderr.contains("gitignore"));
}
