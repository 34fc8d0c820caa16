//! Every event that a client is known to send: what is answered, and which files change.

use std::collections::BTreeSet;
use std::thread;

use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use super::{Client, STATE, answer, doctor_is_content, hook, session_file, state};
use crate::env;

/// The session of all samples.
const SESSION: &str = "5d0f6c3e-8a14-4b7b-9d02-6e1f3a7c2b90";

/// What a project has when its first session has started.
const NEW: &[&str] = &["current.json", "events.json", "state.json"];

/// A sign of life, and nothing else.
const ALIVE: &[&str] = &["state.json"];

/// Each sample: its name, the files that change, and whether the agent or its user is told something.
const EVENTS: &[(&str, &[&str], &str)] = &[
    // Events that say nothing to us.
    ("ConfigChange", &[], ""),
    ("CwdChanged", &[], ""),
    ("DirectoryAdded", &[], ""),
    ("Elicitation", &[], ""),
    ("ElicitationResult", &[], ""),
    ("FileChanged", &[], ""),
    ("InstructionsLoaded.nested_traversal", &[], ""),
    ("InstructionsLoaded.session_start", &[], ""),
    ("MessageDisplay", &[], ""),
    ("Notification", &[], ""),
    ("PermissionDenied", &[], ""),
    ("PermissionRequest.Bash", &[], ""),
    ("PostCompact.auto", &[], ""),
    ("PostCompact.manual", &[], ""),
    ("PostModelSwitch", &[], ""),
    ("PostToolBatch", &[], ""),
    ("PreModelSwitch", &[], ""),
    ("Setup.init", &[], ""),
    ("TeammateIdle", &[], ""),
    ("UserPromptExpansion", &[], ""),
    ("WorktreeCreate", &[], ""),
    ("WorktreeRemove", &[], ""),
    ("statusLine", &[], ""),
    ("codex.Interrupt", &[], ""),
    ("codex.PermissionRequest", &[], ""),
    ("codex.PostCompact", &[], ""),
    ("gemini.AfterModel", &[], ""),
    ("gemini.BeforeModel", &[], ""),
    ("gemini.BeforeToolSelection", &[], ""),
    ("gemini.Notification", &[], ""),
    // Before a tool call there is only the guard, which is off.
    ("PreToolUse.Agent", &[], ""),
    ("PreToolUse.Bash", &[], ""),
    ("PreToolUse.Bash.in_subagent", &[], ""),
    ("PreToolUse.Edit", &[], ""),
    ("PreToolUse.Read", &[], ""),
    ("PreToolUse.SendMessage", &[], ""),
    ("PreToolUse.SendMessage.in_subagent", &[], ""),
    ("PreToolUse.Skill", &[], ""),
    ("PreToolUse.TaskCreate", &[], ""),
    ("PreToolUse.TaskGet", &[], ""),
    ("PreToolUse.TaskList", &[], ""),
    ("PreToolUse.TaskUpdate", &[], ""),
    ("PreToolUse.TaskUpdate.in_subagent", &[], ""),
    ("PreToolUse.TodoWrite", &[], ""),
    ("PreToolUse.ToolSearch.in_subagent", &[], ""),
    ("PreToolUse.Write", &[], ""),
    ("PreToolUse.mcp__till__open", &[], ""),
    ("codex.PreToolUse.apply_patch", &[], ""),
    ("gemini.BeforeTool", &[], ""),
    // Tool calls that say no more than that the session is alive.
    ("PostToolUse.Bash", ALIVE, ""),
    ("PostToolUse.Bash.in_subagent", ALIVE, ""),
    ("PostToolUse.Read", ALIVE, ""),
    ("PostToolUse.SendMessage", ALIVE, ""),
    ("PostToolUse.SendMessage.in_subagent", ALIVE, ""),
    ("PostToolUse.TaskGet", ALIVE, ""),
    ("PostToolUse.TaskList", ALIVE, ""),
    ("PostToolUse.ToolSearch.in_subagent", ALIVE, ""),
    ("PostToolUse.mcp__plugin_shop_till__open", ALIVE, ""),
    ("PostToolUse.mcp__till__open", ALIVE, ""),
    ("codex.PostToolUse.Bash", ALIVE, ""),
    ("PostToolUseFailure.interrupted", ALIVE, ""),
    ("UserPromptSubmit", ALIVE, ""),
    ("UserPromptSubmit.task_notification", ALIVE, ""),
    ("codex.UserPromptSubmit", ALIVE, ""),
    ("Stop", ALIVE, ""),
    ("Stop.active", ALIVE, ""),
    ("Stop.with_background", ALIVE, ""),
    ("codex.Stop", ALIVE, ""),
    ("gemini.AfterAgent", ALIVE, ""),
    ("SubagentStop.compaction_fork", ALIVE, ""),
    // Files and commands are counted.
    ("PostToolUse.Edit", &["current.json", "state.json"], ""),
    ("PostToolUse.MultiEdit", &["current.json", "state.json"], ""),
    ("PostToolUse.NotebookEdit", &["current.json", "state.json"], ""),
    ("PostToolUse.Skill", &["current.json", "state.json"], ""),
    ("PostToolUse.Write", &["current.json", "state.json"], ""),
    ("UserPromptSubmit.command", &["current.json", "state.json"], ""),
    ("codex.PostToolUse.apply_patch", &["current.json", "state.json"], ""),
    ("gemini.AfterTool.replace", &["current.json", "state.json"], ""),
    ("gemini.AfterTool.write_file", &["current.json", "state.json"], ""),
    ("gemini.BeforeAgent", &["current.json", "state.json"], ""),
    // Lists are mirrored.
    ("PostToolUse.TaskCreate", &["state.json", "tasks.json"], ""),
    ("PostToolUse.TaskUpdate", &["state.json", "tasks.json"], ""),
    ("PostToolUse.TaskUpdate.in_subagent", &["state.json", "tasks.json"], ""),
    ("PostToolUse.TodoWrite", &["state.json", "tasks.json"], ""),
    ("gemini.AfterTool.write_todos", &["state.json", "tasks.json"], ""),
    ("TaskCreated", &["tasks.json"], ""),
    ("TaskCompleted", &["tasks.json"], ""),
    ("TaskCompleted.teammate", &["tasks.json"], ""),
    // Agents.
    ("PostToolUse.Agent.async_launched", &["active.json", "current.json", "state.json"], ""),
    ("PostToolUse.Agent.teammate_spawned", &["active.json", "current.json", "state.json"], ""),
    (
        "PostToolUse.Agent.completed",
        &["a7c31f08d2b94e6aa.json", "active.json", "current.json", "state.json"],
        "",
    ),
    ("SubagentStart", &["active.json", "current.json", "state.json"], ""),
    ("SubagentStop", &["a7c31f08d2b94e6aa.json", "active.json", "current.json", "state.json"], ""),
    ("codex.SubagentStart", &["active.json", "current.json", "state.json"], ""),
    ("codex.SubagentStop", &["01-review.json", "active.json", "current.json", "state.json"], ""),
    // Failures.
    ("PostToolUseFailure.Bash", &["classified.json", "current.json", "state.json"], "hookSpecificOutput"),
    ("PostToolUseFailure.Read", &["classified.json", "current.json", "state.json"], ""),
    (
        "PostToolUseFailure.permission",
        &["classified.json", "current.json", "state.json"],
        "hookSpecificOutput systemMessage",
    ),
    ("gemini.AfterTool.failed", &["classified.json", "current.json", "state.json"], "hookSpecificOutput"),
    ("StopFailure", &["classified.json", "current.json"], ""),
    // Before the context is shortened.
    ("PreCompact.auto", &["backup"], ""),
    ("PreCompact.manual", &["backup"], ""),
    ("codex.PreCompact", &["backup"], ""),
    ("gemini.PreCompress", &["backup"], ""),
    // Ends.
    ("SessionEnd.logout", &["current.json", "events.json", "metrics.json", "state.json"], ""),
    ("SessionEnd.other", &["current.json", "events.json", "metrics.json", "state.json"], ""),
    ("SessionEnd.prompt_input_exit", &["current.json", "events.json", "metrics.json", "state.json"], ""),
    ("codex.SessionEnd", &["current.json", "events.json", "metrics.json", "state.json"], ""),
    ("gemini.SessionEnd", &["current.json", "events.json", "metrics.json", "state.json"], ""),
    // The record waits for the session that follows.
    ("SessionEnd.clear", &["current.json", "events.json", "state.json"], ""),
    ("SessionEnd.resume", &["current.json", "events.json", "state.json"], ""),
    // Starts, in a project that nobody has been in.
    ("SessionStart.startup", NEW, ""),
    ("SessionStart.resume", NEW, ""),
    ("SessionStart.clear", NEW, ""),
    ("SessionStart.compact", NEW, ""),
    ("SessionStart.fork", NEW, ""),
    ("codex.SessionStart", NEW, ""),
    ("gemini.SessionStart", NEW, ""),
];

/// Returns a sample with the paths of this environment.
fn sample(env: &TestEnv, name: &str) -> Vec<u8> {
    let path = format!("{}/tests/it/client/payloads/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let path = |path: std::path::PathBuf| path.display().to_string();
    text.replace("$PROJECT", &path(env.project())).replace("$HOME", &path(env.user())).into_bytes()
}

/// Sends a sample and returns the answer.
#[track_caller]
fn send(env: &TestEnv, name: &str) -> Value {
    let bytes = sample(env, name);
    let event: Value = serde_json::from_slice(&bytes).unwrap();
    answer(&hook(env, &bytes), event["hook_event_name"].as_str().unwrap_or_default())
}

/// Runs something and returns the names of the files that have changed, came or went.
fn changed(env: &TestEnv, act: impl FnOnce()) -> BTreeSet<String> {
    let before = env.bytes();
    act();
    let after = env.bytes();
    let paths: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let news = paths
        .into_iter()
        .filter(|path| !path.contains("/.anthill/") && before.get(*path) != after.get(*path));
    let name = |path: &String| {
        let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
        if name.starts_with("backup_") { "backup".to_owned() } else { name.to_owned() }
    };
    news.map(name).collect()
}

#[test]
fn every_known_event_does_what_the_table_says() {
    let check = |(name, files, tells): &(&str, &[&str], &str)| {
        let env = env();
        if !name.contains("SessionStart") {
            send(&env, "SessionStart.startup");
        }
        let mut said = Value::Null;
        let found = changed(&env, || said = send(&env, name));
        let keys: Vec<_> = said.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let expected: BTreeSet<_> = files.iter().map(|file| (*file).to_owned()).collect();
        let fits = found == expected && keys.join(" ") == *tells;
        (!fits).then(|| format!("{name}: {found:?} instead of {expected:?}, said {said}"))
    };
    // Most of the time a disk is waited for.
    let wrong: Vec<_> = thread::scope(|scope| {
        let parts = EVENTS
            .chunks(10)
            .map(|part| scope.spawn(move || part.iter().filter_map(check).collect::<Vec<_>>()));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_sample() {
    let known: BTreeSet<_> = EVENTS.iter().map(|(name, ..)| format!("{name}.json")).collect();
    let directory = format!("{}/tests/it/client/payloads", env!("CARGO_MANIFEST_DIR"));
    let files =
        std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(known, files.collect());
    assert_eq!(known.len(), EVENTS.len(), "each once");
}

#[test]
fn events_that_are_not_for_us_leave_an_untouched_project_untouched() {
    let env = env();
    for (name, files, _) in EVENTS {
        if files.is_empty() {
            assert_eq!(changed(&env, || drop(send(&env, name))), BTreeSet::new(), "{name}");
        }
    }
    assert!(!env.root().join(STATE).exists() && !env.home().exists(), "{:?}", env.bytes().keys());
}

#[test]
fn a_day_of_a_session_adds_up() {
    let env = env();
    let days = [
        "SessionStart.startup",
        "UserPromptSubmit.command",
        "PreToolUse.Write",
        "PostToolUse.Write",
        "PostToolUse.Edit",
        "codex.PostToolUse.apply_patch",
        "PostToolUse.Skill",
        "TaskCreated",
        "PostToolUse.TaskCreate",
        "PostToolUse.TaskUpdate",
        "PostToolUse.TodoWrite",
        "SubagentStart",
        "PostToolUse.Bash.in_subagent",
        "SubagentStop",
        "PostToolUse.Agent.completed",
        "PostToolUse.Bash",
        "TaskCompleted",
        "Stop",
    ];
    for name in days {
        assert_eq!(send(&env, name), Value::Null, "{name}");
    }
    let failed = send(&env, "PostToolUseFailure.Bash");
    assert!(failed.to_string().contains("Try the same again now"), "{failed}");
    Client { env: &env, session: SESSION }.used("Bash", json!({"command": "curl shop.test"}));
    send(&env, "Stop");
    let record = Client { env: &env, session: SESSION }.record();
    assert_eq!(record["commands_executed"], json!(["price-list", "shop:price-list"]));
    assert_eq!(
        record["files_modified"],
        json!(["api/cart.rs", "api/tax.rs"]),
        "each once, as the project sees them"
    );
    assert_eq!((&record["agents_spawned"], &record["hooks_version"]), (&json!(1), &json!("3.0")));
    assert_eq!((&record["errors_encountered"], &record["errors_recovered"]), (&json!(1), &json!(1)));
    let active = state(&env, "agents/active.json");
    assert_eq!(
        (&active["agents"], &active["total_spawned"], &active["total_completed"]),
        (&json!([]), &json!(1), &json!(1))
    );
    let result = state(&env, "agents/results/a7c31f08d2b94e6aa.json");
    assert_eq!(result["findings"], json!([{"severity": "S2", "title": "The sum is not rounded"}]));
    assert_eq!(result["task"], "Review the cart");
    assert_eq!(state(&env, "errors/classified.json")["summary"]["recovered"], 1);
    let tasks = session_file(&env, SESSION, "tasks.json")["tasks"].take();
    let short: Vec<_> = tasks
        .as_array()
        .unwrap()
        .iter()
        .map(|task| {
            let text = |field: &str| task[field].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {}", text("id"), text("type"), text("status"), text("title"))
        })
        .collect();
    assert_eq!(
        short,
        [
            "4 client_task completed Add up the cart",
            "todo-1 todo completed Add up prices",
            "todo-2 todo in_progress Add tax",
        ]
    );
    assert_eq!(session_file(&env, SESSION, "state.json")["status"], "idle");
    send(&env, "SessionEnd.other");
    let metrics = state(&env, "session/metrics.json")["sessions"][0].take();
    assert_eq!(metrics["commands"], json!({"price-list": 1, "shop:price-list": 1}));
    assert_eq!(metrics["agents"], json!({"spawned": 1, "completed": 1, "failed": 0}));
    assert_eq!(metrics["errors"], json!({"total": 1, "recovered": 1, "escalated": 0}));
    assert_eq!(metrics["quality"]["issues_found"], 1);
    doctor_is_content(&env);
}

#[test]
fn the_same_events_again_count_once() {
    let env = env();
    send(&env, "SessionStart.startup");
    let repeatable = [
        "SessionStart.startup",
        "PostToolUse.Write",
        "SubagentStart",
        "SubagentStop",
        "PostToolUse.Agent.completed",
        "PostToolUse.TodoWrite",
        "TaskCreated",
    ];
    let look = || {
        let tasks = session_file(&env, SESSION, "tasks.json")["tasks"].as_array().unwrap().len();
        let totals = state(&env, "agents/active.json");
        (
            Client { env: &env, session: SESSION }.record(),
            totals["total_spawned"].clone(),
            totals["total_completed"].clone(),
            tasks,
        )
    };
    repeatable.iter().for_each(|name| drop(send(&env, name)));
    let once = look();
    repeatable.iter().for_each(|name| drop(send(&env, name)));
    assert_eq!(look(), once);
}

#[test]
fn a_worktree_and_a_subdirectory_are_the_project() {
    let env = env();
    let api = env.project().join("api");
    std::fs::create_dir_all(&api).unwrap();
    let client = Client::start(&env, "s1");
    let input = json!({"tool_name": "Edit", "tool_input": {"file_path": "cart.rs"}, "cwd": api});
    let event = client.event("PostToolUse", input);
    let mut command = env.command(&["hook"]);
    let ran = env.finish(command.current_dir(&api), event.to_string().as_bytes());
    answer(&ran, "PostToolUse");
    client.used("Write", json!({"file_path": env.project().join(".claude/worktrees/agent-a1/api/tax.rs")}));
    client.used("Write", json!({"file_path": "/elsewhere/x.rs"}));
    assert_eq!(client.record()["files_modified"], json!(["api/cart.rs", "api/tax.rs", "/elsewhere/x.rs"]));
}

#[test]
fn shell_commands_learn_the_session_by_the_clients_file() {
    let env = env();
    let file = env.root().join("env.sh");
    let event =
        Client { env: &env, session: "s1" }.event("SessionStart", json!({"source": "startup"})).to_string();
    for _ in 0..2 {
        let ran = env.finish(env.command(&["hook"]).env("CLAUDE_ENV_FILE", &file), event.as_bytes());
        answer(&ran, "SessionStart");
    }
    assert_eq!(env.read_text("env.sh"), "export ANTHILL_SESSION_ID=s1\n", "once");
}
