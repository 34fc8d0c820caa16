//! What the sources promise: the tests that their design names, and the ways out of trouble that they describe.

use serde_json::{Value, json};

use super::{Client, STATE, doctor_is_content, names, state};
use crate::env;
use crate::lines::{ok, refused};

const VIEW: &str = "project/.claude/workflow_state_system.md";

/// A simple task: the workflow is made, its phase is completed, the view says so.
#[test]
fn seed_003_test_1_single_phase() {
    let env = env();
    env.ok(&["workflow", "create", "Create one file", "--phase", "Create it=general-purpose"]);
    let client = Client::start(&env, "s1");
    client.agent_starts("a1", "general-purpose");
    assert_eq!(state(&env, "workflow.json")["phases"][0]["status"], "active");
    client.agent_stops("a1", "general-purpose", r#"{"deliverables": ["one.txt"]}"#);
    let workflow = state(&env, "workflow.json");
    assert_eq!((&workflow["status"], &workflow["current_phase"]), (&json!("completed"), &Value::Null));
    let view = env.read_text(VIEW);
    assert!(
        view.contains("Status: completed") && view.contains("- [x] Phase 0: Create it → one.txt"),
        "{view}"
    );
}

/// Two phases one after the other, with deliverables and context from the first to the second.
#[test]
fn seed_003_test_2_multi_phase_sequential() {
    let env = env();
    let phases = ["Create calculator module=general-purpose", "Write and run tests=task-completion-verifier"];
    env.ok(&["workflow", "create", "Calculator with tests", "--phase", phases[0], phases[1]]);
    let client = Client::start(&env, "s1");
    client.agent_starts("a1", "general-purpose");
    let report =
        json!({"deliverables": ["calculator.py"], "context_for_next": "four functions in calculator.py"});
    client.agent_stops("a1", "general-purpose", &report.to_string());
    let workflow = state(&env, "workflow.json");
    let (first, second) = (&workflow["phases"][0], &workflow["phases"][1]);
    assert_eq!((&first["status"], &first["deliverables"]), (&json!("completed"), &json!(["calculator.py"])));
    assert_eq!((&second["status"], &workflow["current_phase"]), (&json!("active"), &json!("phase_1")));
    let told = client.agent_starts("a2", "task-completion-verifier");
    assert!(told.contains("four functions in calculator.py"), "context is passed: {told}");
    client.agent_stops("a2", "task-completion-verifier", "All tests pass.");
    let workflow = state(&env, "workflow.json");
    assert_eq!(
        (&workflow["status"], &workflow["phases"][1]["status"]),
        (&json!("completed"), &json!("completed"))
    );
}

/// The agent's todo list can follow: with every step it is told the phases, and how to get the list.
#[test]
fn seed_003_test_3_todo_sync() {
    let env = env();
    env.ok(&["workflow", "create", "Two steps", "--phase", "One=dev", "Two=dev"]);
    let client = Client::start(&env, "s1");
    let todos = || {
        let todos = env.json(&["workflow", "todos"])["todos"].take();
        let status = |todo: &Value| todo["status"].as_str().unwrap().to_owned();
        todos.as_array().unwrap().iter().map(status).collect::<Vec<_>>()
    };
    assert_eq!(todos(), ["pending", "pending"]);
    client.agent_starts("a1", "dev");
    assert_eq!(todos(), ["in_progress", "pending"]);
    client.agent_stops("a1", "dev", "done");
    let told = client.agent_returns("a1", "dev", "One", Ok("done"));
    assert!(told.contains("[x] phase_0: One") && told.contains("[>] phase_1: Two"), "{told}");
    assert!(told.contains("anthill workflow todos"), "{told}");
    assert_eq!(todos(), ["completed", "in_progress"]);
    // The agent writes that list, and it is mirrored.
    client.used("TodoWrite", env.json(&["workflow", "todos"]));
    let tasks = super::session_file(&env, "s1", "tasks.json")["tasks"].take();
    assert_eq!((&tasks[0]["title"], &tasks[0]["status"]), (&json!("One (assumed)"), &json!("completed")));
    assert_eq!((&tasks[1]["title"], &tasks[1]["status"]), (&json!("Two"), &json!("in_progress")));
}

/// The tool call alone, by the old name of the tool and by the new one, moves the workflow on.
#[test]
fn seed_003_test_4_hook_trigger() {
    for tool in ["Task", "Agent"] {
        let env = env();
        env.ok(&["workflow", "create", "Two steps", "--phase", "One=dev", "Two=dev"]);
        let client = Client::start(&env, "s1");
        let input =
            json!({"description": "one", "prompt": "Do it.\nPhase ID: phase_0", "subagent_type": "dev"});
        // Older clients answer with a text.
        for (id, response) in
            [("toolu_1", json!("done")), ("toolu_2", json!({"content": [{"type": "text", "text": "done"}]}))]
        {
            let fields =
                json!({"tool_name": tool, "tool_input": input, "tool_response": response, "tool_use_id": id});
            let told = client.told("PostToolUse", fields);
            assert!(told.contains("[x] phase_0: One"), "{tool}: {told}");
        }
        let workflow = state(&env, "workflow.json");
        assert_eq!(
            (&workflow["phases"][0]["status"], &workflow["phases"][0]["context_for_next"]),
            (&json!("completed"), &json!("done"))
        );
        assert_eq!(workflow["phases"][1]["status"], "active");
    }
}

/// Runs every event of a session once, and insists that none complains.
fn live(client: &Client<'_>) {
    client.told("SessionStart", json!({"source": "resume"}));
    client.send("UserPromptSubmit", json!({"prompt": "/fix it"}));
    client.used("Write", json!({"file_path": "a.rs"}));
    client.agent_starts("a1", "dev");
    client.agent_stops("a1", "dev", "- [S1] x");
    client.send("PostToolUseFailure", json!({"tool_name": "Bash", "error": "request timed out"}));
    client.send("PreCompact", json!({"trigger": "auto"}));
    client.send("Stop", json!({"stop_hook_active": false}));
}

const QUEUE: &str = r#"{"version": 1, "task": "x", "iteration": 1, "items": [
    {"id": "work-001", "priority": "S1", "title": "Old work", "status": "pending"}]}"#;

/// A damaged file is said to be so, with what to do; hooks go on without it; deleting it is a way out.
#[test]
fn seed_002_trouble_corrupted_work_queue() {
    let env = env();
    let client = Client::start(&env, "s1");
    env.ok(&["set", "work_queue", ".", QUEUE]);
    let file = format!("{STATE}/loop/work_queue.json");
    env.write(&file, "{\"version\": 1, \"items\": [");
    let error = refused(&env, "get work_queue", 7);
    assert!(error["hint"].as_str().unwrap().contains("anthill doctor"), "{error}");
    for (name, fields) in [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "x"})),
        ("SubagentStart", json!({"agent_id": "a1", "agent_type": "dev"})),
        ("SubagentStop", json!({"agent_id": "a1", "agent_type": "dev", "last_assistant_message": "x"})),
        ("PreCompact", json!({"trigger": "auto"})),
        ("Stop", json!({"stop_hook_active": false})),
    ] {
        let ran = super::hook(&env, client.event(name, fields).to_string().as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{name}: {}", ran.shown());
    }
    assert_eq!(env.read_text(&file), "{\"version\": 1, \"items\": [", "nobody overwrites it");
    remove(&env, "loop/work_queue.json");
    refused(&env, "get work_queue", 4);
    live(&client);
    env.ok(&["set", "work_queue", ".", QUEUE]);
    doctor_is_content(&env);
}

#[test]
fn seed_002_trouble_stale_loop_state() {
    let env = env();
    let client = Client::start(&env, "s1");
    env.ok(&["set", "work_queue", ".", QUEUE]);
    assert!(client.told("SessionStart", json!({"source": "compact"})).contains("Old work"));
    remove(&env, "loop");
    assert!(!client.told("SessionStart", json!({"source": "compact"})).contains("Old work"));
    live(&client);
    env.ok(&["set", "work_queue", ".", &QUEUE.replace("Old", "New")]);
    assert!(client.told("SessionStart", json!({"source": "startup"})).contains("New work"));
    doctor_is_content(&env);
}

#[test]
fn seed_002_trouble_missing_state_directory() {
    let env = env();
    assert!(!env.root().join(STATE).exists());
    // Any event may be the first.
    let client = Client { env: &env, session: "s1" };
    client.agent_starts("a1", "dev");
    client.used("Write", json!({"file_path": "a.rs"}));
    assert_eq!(
        (&client.record()["files_modified"], &client.record()["agents_spawned"]),
        (&json!(["a.rs"]), &json!(1))
    );
    live(&client);
    ok(&env, "validate");
    doctor_is_content(&env);
}

#[test]
fn seed_002_full_reset_while_hooks_go_on() {
    let env = env();
    let client = Client::start(&env, "s1");
    live(&client);
    env.ok(&["set", "work_queue", ".", QUEUE]);
    for part in ["agents", "loop", "session", "errors", "compaction", "."] {
        remove(&env, part);
        live(&client);
        assert_eq!(client.record()["session_id"], "s1", "after rm -rf {part}");
        assert_eq!(names(&env, "agents/results"), ["a1.json"], "after rm -rf {part}");
    }
    assert_eq!(client.record()["commands_executed"], json!(["fix"]), "from the beginning");
    client.send("SessionEnd", json!({"reason": "other"}));
    remove(&env, ".");
    client.send("SessionEnd", json!({"reason": "other"}));
    assert!(!env.root().join(STATE).join("session").exists(), "nothing to write, nothing written");
    live(&client);
    doctor_is_content(&env);
}

/// Removes a file or a directory of the state, as a person does.
fn remove(env: &anthill_testkit::test_env::TestEnv, path: &str) {
    let ran = env.sh(&format!(
        "rm -rf {}",
        if path == "." { ".claude/state/".into() } else { format!(".claude/state/{path}") }
    ));
    assert_eq!(ran.code, 0, "{}", ran.shown());
}
