//! What is no event, or a broken one: exit 0, nothing said, nothing changed.

use std::process::Stdio;

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use super::{Client, STATE, hook};
use crate::env;

/// Insists that the hook took no notice, and that there is not even a file for a lock.
#[track_caller]
fn ignored(env: &TestEnv, ran: &Ran, what: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{what}: {}", ran.shown());
    assert!(
        !env.home().exists() && !env.project().join(".claude").exists(),
        "{what}: {:?}",
        env.bytes().keys()
    );
}

fn event(fields: Value) -> Vec<u8> {
    let mut event =
        json!({"session_id": "s1", "cwd": "/", "hook_event_name": "SessionStart", "source": "startup"});
    let Value::Object(fields) = fields else { panic!("no fields: {fields}") };
    event.as_object_mut().unwrap().extend(fields);
    event.to_string().into_bytes()
}

#[test]
fn what_is_no_event_is_ignored() {
    let env = env();
    let good = event(json!({}));
    let inputs: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("blanks", b" \n\t \r\n".to_vec()),
        ("null", b"null".to_vec()),
        ("a list", b"[]".to_vec()),
        ("a list of events", [b"[", &good[..], b"]"].concat()),
        ("a text", b"\"SessionStart\"".to_vec()),
        ("a number", b"-1e400".to_vec()),
        ("an empty object", b"{}".to_vec()),
        ("half of it", good[..good.len() / 2].to_vec()),
        ("all but the end", good[..good.len() - 1].to_vec()),
        ("two of them", [&good[..], &good[..]].concat()),
        ("something after it", [&good[..], b" x"].concat()),
        ("no text", [&good[..good.len() - 1], b",\"x\":\"\xff\xfe\"}"].concat()),
        ("NUL", [&good[..good.len() - 1], b",\"x\":\"\0\"}"].concat()),
        ("only NUL", vec![0; 4096]),
        ("UTF-16", "{\"hook_event_name\"".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("brackets", vec![b'['; 100_000]),
        ("deep", format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).into_bytes()),
        ("deep and open", "{\"hook_event_name\":".repeat(100_000).into_bytes()),
        ("too long", event(json!({"prompt": "x".repeat(20 << 20)}))),
        ("another name", event(json!({"hook_event_name": "BeforeTheFlood"}))),
        ("a name in small letters", event(json!({"hook_event_name": "sessionstart"}))),
        ("an empty name", event(json!({"hook_event_name": ""}))),
    ];
    for (what, input) in inputs {
        ignored(&env, &hook(&env, &input), what);
    }
}

#[test]
fn sessions_without_an_id_are_ignored() {
    let env = env();
    let long = "x".repeat(300);
    for id in ["", ".", "..", "../x", "a/b", "/etc", "a b", "a\nb", "$(id)", ".hidden", "ü", "a\0b", &long] {
        ignored(&env, &hook(&env, &event(json!({"session_id": id}))), id);
    }
    for id in [json!(null), json!(7), json!(true), json!([]), json!({"id": "s1"})] {
        ignored(&env, &hook(&env, &event(json!({"session_id": id}))), &id.to_string());
        ignored(&env, &hook(&env, &event(json!({"hook_event_name": id}))), &id.to_string());
    }
}

#[test]
fn a_field_without_bottom_is_no_value() {
    let env = env();
    Client::start(&env, "s1");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for tool in ["Write", "apply_patch", "TodoWrite", "Agent", "TaskUpdate", "Bash"] {
        let fields = json!({"session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": 0, "tool_response": 1});
        let text = fields.to_string().replace("\"tool_input\":0", &format!("\"tool_input\":{deep}"));
        let ran =
            hook(&env, text.replace("\"tool_response\":1", &format!("\"tool_response\":{deep}")).as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{tool}: {}", ran.shown());
    }
    super::doctor_is_content(&env);
}

/// Fields that an event may have, of any type but the right one, do no harm: the hook goes on without them.
#[test]
fn fields_of_another_type_are_as_good_as_none() {
    let env = env();
    Client::start(&env, "s1");
    let fields = [
        "transcript_path",
        "cwd",
        "prompt_id",
        "permission_mode",
        "agent_id",
        "agent_type",
        "source",
        "reason",
        "prompt",
        "tool_name",
        "tool_input",
        "tool_response",
        "tool_use_id",
        "error",
        "is_interrupt",
        "error_details",
        "last_assistant_message",
        "stop_hook_active",
        "background_tasks",
        "trigger",
        "custom_instructions",
        "task_id",
        "task_subject",
        "teammate_name",
        "context_tokens",
        "turn_id",
    ];
    let events = [
        ("SessionStart", json!({"source": "compact"})),
        ("UserPromptSubmit", json!({"prompt": "/x"})),
        ("PreToolUse", json!({"tool_name": "Write"})),
        ("PostToolUse", json!({"tool_name": "Write", "tool_input": {"file_path": ["a"]}})),
        (
            "PostToolUse",
            json!({"tool_name": "Agent", "tool_input": {"prompt": 1}, "tool_response": {"agentId": 2}}),
        ),
        (
            "PostToolUse",
            json!({"tool_name": "TodoWrite", "tool_input": {"todos": [1, null, {"content": 2}]}}),
        ),
        ("PostToolUse", json!({"tool_name": "TaskUpdate", "tool_input": {"taskId": 7}})),
        ("PostToolUse", json!({"tool_name": "apply_patch", "tool_input": [[]]})),
        ("PostToolUseFailure", json!({"tool_name": "Bash"})),
        ("StopFailure", json!({})),
        ("SubagentStart", json!({"agent_id": "a1"})),
        ("SubagentStop", json!({"agent_id": "a1"})),
        ("PreCompact", json!({})),
        ("Stop", json!({})),
        ("TaskCreated", json!({})),
        ("TaskCompleted", json!({})),
    ];
    let client = Client { env: &env, session: "s1" };
    for odd in [json!(null), json!(-1.5), json!(true), json!("\u{202e}"), json!([{}]), json!({"a": [null]})] {
        for (name, fields_of_event) in &events {
            let mut event = client.event(name, fields_of_event.clone());
            for field in fields {
                if fields_of_event.get(field).is_none() {
                    event[field] = odd.clone();
                }
            }
            let ran = hook(&env, event.to_string().as_bytes());
            assert_eq!(ran.code, 0, "{event}\n{}", ran.shown());
            assert!(ran.stdout.is_empty() || ran.json().is_object(), "{event}\n{}", ran.shown());
        }
    }
    super::doctor_is_content(&env);
}

#[test]
fn a_closed_or_missing_stdin_is_no_event() {
    let env = env();
    for line in ["anthill hook <&-", "anthill hook </dev/null", "anthill hook <&- >&-", "anthill hook <."] {
        ignored(&env, &env.sh(line), line);
    }
}

/// Exit 2 would block the agent: a line that is not understood ends in another way.
#[test]
fn wrong_arguments_never_block() {
    let env = env();
    let good = event(json!({}));
    let lines: [&[&str]; 11] = [
        &["hook", "--bogus"],
        &["--bogus", "hook"],
        &["hook", "more"],
        &["hook", "--lock-timeout"],
        &["hook", "--lock-timeout", "soon"],
        &["hook", "--color", "mauve"],
        &["hook", "--store", "sqlite"],
        &["hook", "--session-id", "../x"],
        &["--root", ".", "--bogus", "hook"],
        &["hook", ""],
        &["hook", "--", "x"],
    ];
    for args in lines {
        let ran = env.run_with_input(args, &good);
        assert!(ran.code != 2 && ran.stdout.is_empty(), "{args:?}: {}", ran.shown());
        assert!(!ran.stderr.is_empty(), "{args:?} is told to the client's log");
        assert!(!env.root().join(STATE).exists(), "{args:?}");
    }
    let mut command = env.command(&["hook"]);
    let no_text: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(b"\xff".to_vec());
    let ran = env.finish(command.arg(no_text), &good);
    assert!(ran.code != 2 && ran.stdout.is_empty(), "{}", ran.shown());
}

#[test]
fn global_options_are_taken_in_every_spelling() {
    let env = env();
    for (session, args) in [
        ("s1", &["hook", "--lock-timeout=9"][..]),
        ("s2", &["--root=.", "hook"]),
        ("s3", &["--root", ".", "hook"]),
    ] {
        let ran = env.run_with_input(args, &event(json!({"session_id": session})));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}: {}", ran.shown());
        assert_eq!(super::state(&env, "session/current.json")["session_id"], session, "{args:?}");
    }
}

/// Whatever stands in the way of the state: the agent is not kept from its work.
#[test]
fn a_home_that_cannot_be_used_is_told_to_the_log_and_the_user_once() {
    let env = env();
    env.write("file", "");
    let mut shown = 0;
    for variable in ["HOME", "ANTHILL_HOME", "HOME"] {
        let mut command = env.command(&["hook"]);
        let ran = env.finish(command.env(variable, env.root().join("file")), &event(json!({})));
        assert_eq!(ran.code, 0, "{}", ran.shown());
        assert!(ran.stderr.contains("anthill hook: "), "{}", ran.shown());
        if !ran.stdout.is_empty() {
            assert!(
                ran.json()["systemMessage"].as_str().unwrap().contains("anthill doctor"),
                "{}",
                ran.shown()
            );
            shown += 1;
        }
    }
    assert_eq!(shown, 1);
    let ran = env.finish(env.command(&["hook"]).env("ANTHILL_NOW", "soon"), &event(json!({})));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.shown());
}

/// A client that goes away before it has read the answer, or written its event, is no trouble either.
#[test]
fn a_client_that_goes_away_is_no_trouble() {
    let env = env();
    let mut child = env.command(&["hook"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop((child.stdout.take(), child.stdin.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
