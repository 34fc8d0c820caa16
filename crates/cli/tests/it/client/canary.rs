//! Secrets that pass by in events: nothing that is stored anywhere holds one of them.

use anthill_testkit::test_env::Entry;
use serde_json::{Value, json};

use super::{Client, hook};
use crate::env;

/// Texts with a secret each, and what must not be found anywhere.
const SECRETS: [(&str, &str); 9] = [
    ("key sk-ant-api03-CANARY1canary2canary3canary4", "CANARY1canary2canary3canary4"),
    ("export AWS_ACCESS_KEY_ID=AKIACANARYCANARY1234", "AKIACANARYCANARY1234"),
    ("password=CanarySesame77!", "CanarySesame77"),
    ("Authorization: Bearer CanaryBearerAbc123Def456Ghi789", "CanaryBearerAbc123Def456Ghi789"),
    ("{\"api_key\": \"CanaryJsonKey0123456789abcdef\"}", "CanaryJsonKey0123456789abcdef"),
    ("ghp_CanaryGithubToken0123456789abcdefghij", "CanaryGithubToken0123456789abcdefghij"),
    ("postgres://shop:CanaryDbWord99@db.test/shop", "CanaryDbWord99"),
    (
        "-----BEGIN PRIVATE KEY-----\nMIICanaryPrivateKeyLine0123456789abcdefghijklmnopqrstuv\n-----END PRIVATE KEY-----",
        "MIICanaryPrivateKeyLine0123456789abcdefghijklmnopqrstuv",
    ),
    ("curl -H 'X-Api-Key: CanaryHeader0123456789abcdefABCDEF'", "CanaryHeader0123456789abcdefABCDEF"),
];

/// Every place of an event where a text may stand, each with the secret in it.
fn events(secret: &str) -> Vec<(&'static str, Value)> {
    let text = format!("Look: {secret} (end)");
    let report = json!({
        "status": "failed", "context_for_next": text, "deliverables": [text], "recommendations": [text],
        "files_analyzed": [text], "findings": [{"severity": "S1", "title": text, "details": text, "recommendation": text}],
    });
    let block = format!("Done.\n```json\n{report}\n```");
    let lines = format!("Done.\n- [S1] {text}\n\n## Deliverables\n- {text}\n");
    let task = json!({"description": text, "prompt": text, "subagent_type": "dev"});
    let stop = |id: &str, words: &str| json!({"agent_id": id, "agent_type": "dev", "last_assistant_message": words, "stop_hook_active": false});
    let returned = |id: &str, words: &str| {
        let response = json!({"status": "completed", "agentId": id, "agentType": "dev", "prompt": text,
            "content": [{"type": "text", "text": words}]});
        json!({"tool_name": "Agent", "tool_input": task, "tool_response": response})
    };
    let launched = json!({"status": "async_launched", "agentId": "a9", "description": text, "prompt": text});
    vec![
        ("SessionStart", json!({"source": "startup", "session_title": text})),
        ("UserPromptSubmit", json!({"prompt": text})),
        ("UserPromptSubmit", json!({"prompt": format!("/deploy {secret}")})),
        ("UserPromptSubmit", json!({"prompt": format!("/{secret}")})),
        ("UserPromptSubmit", json!({"prompt": format!("<task-notification>{text}</task-notification>")})),
        ("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": text}})),
        (
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_input": {"command": text}, "tool_response": {"stdout": text}}),
        ),
        ("PostToolUse", json!({"tool_name": "Skill", "tool_input": {"skill": "deploy", "args": text}})),
        (
            "PostToolUse",
            json!({"tool_name": "Write", "tool_input": {"file_path": "a.env", "content": text}, "tool_response": {"content": text}}),
        ),
        (
            "PostToolUse",
            json!({"tool_name": "Edit", "tool_input": {"file_path": "a.env", "old_string": text, "new_string": text}}),
        ),
        (
            "PostToolUse",
            json!({"tool_name": "apply_patch", "tool_input": {"command": format!("*** Add File: b.env\n+{secret}")}}),
        ),
        (
            "PostToolUse",
            json!({"tool_name": "TodoWrite", "tool_input": {"todos": [{"content": text, "status": "pending", "activeForm": text}]}}),
        ),
        (
            "PostToolUse",
            json!({"tool_name": "TaskCreate", "tool_input": {"subject": text}, "tool_response": {"task": {"id": "1", "subject": text}}}),
        ),
        (
            "PostToolUse",
            json!({"tool_name": "TaskUpdate", "tool_input": {"taskId": "1", "subject": text, "owner": text}, "tool_response": {"success": true}}),
        ),
        (
            "TaskCreated",
            json!({"task_id": "2", "task_subject": text, "task_description": text, "teammate_name": text}),
        ),
        ("TaskCompleted", json!({"task_id": "2", "task_subject": text, "task_description": text})),
        ("PostToolUse", json!({"tool_name": "Agent", "tool_input": task, "tool_response": launched})),
        ("SubagentStart", json!({"agent_id": "a1", "agent_type": "dev"})),
        ("SubagentStop", stop("a1", &report.to_string())),
        ("PostToolUse", returned("a1", &report.to_string())),
        ("SubagentStop", stop("a2", &block)),
        ("SubagentStop", stop("a3", &lines)),
        ("PostToolUse", returned("a4", &lines)),
        ("SubagentStop", stop("a9", &text)),
        (
            "PostToolUseFailure",
            json!({"tool_name": "Bash", "tool_input": {"command": text}, "error": format!("Exit code 1\n{text}")}),
        ),
        (
            "PostToolUseFailure",
            json!({"tool_name": "Bash", "error": format!("SyntaxError: Unexpected token {text}")}),
        ),
        (
            "PostToolUseFailure",
            json!({"tool_name": "Bash", "error": format!("EACCES: permission denied {text}")}),
        ),
        (
            "AfterTool",
            json!({"tool_name": "sh", "tool_response": {"llmContent": text, "error": {"message": text}}}),
        ),
        ("StopFailure", json!({"error": "unknown", "error_details": text, "last_assistant_message": text})),
        ("PreCompact", json!({"trigger": "manual", "custom_instructions": text})),
        ("Stop", json!({"stop_hook_active": false, "last_assistant_message": text})),
        ("SessionStart", json!({"source": "compact"})),
    ]
}

#[test]
fn secrets_in_events_are_stored_nowhere() {
    let env = env();
    env.ok(&["set", "work_queue", ".", r#"{"version": 1, "task": "x", "iteration": 1, "items": []}"#]);
    env.ok(&["workflow", "create", "Shop", "--phase", "One=dev", "Two=dev", "Three=dev", "--parallel"]);
    let client = Client { env: &env, session: "s1" };
    let mut leaks = std::collections::BTreeSet::new();
    for (text, secret) in SECRETS {
        for (name, fields) in events(text) {
            let ran = hook(&env, client.event(name, fields).to_string().as_bytes());
            assert_eq!(ran.code, 0, "{name}: {}", ran.shown());
            if ran.stdout.contains(secret) || ran.stderr.contains(secret) {
                leaks.insert(format!("`{secret}` is told by {name}"));
            }
        }
        for (path, entry) in env.bytes() {
            let Entry::File(bytes) = entry else { continue };
            if String::from_utf8_lossy(&bytes).contains(secret) {
                leaks.insert(format!("`{secret}` is in {path}"));
            }
        }
    }
    assert!(leaks.is_empty(), "{}", leaks.into_iter().collect::<Vec<_>>().join("\n"));
    client.send("SessionEnd", json!({"reason": "other"}));
    super::doctor_is_content(&env);
}
