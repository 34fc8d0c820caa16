//! Many sessions at once, many hooks of each: nothing is lost.

use std::process::{Child, Stdio};

use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use super::{Client, doctor_is_content, names, state};
use crate::env;

const SESSIONS: usize = 20;

/// What one session does at once: two agents that run, two that are done, three files, three commands.
fn events(client: &Client<'_>, number: usize) -> Vec<Value> {
    let mut events = Vec::new();
    for place in 0..2 {
        let id = format!("a{number}-runs{place}");
        events.push(client.event("SubagentStart", json!({"agent_id": id, "agent_type": "tester"})));
        let said = format!("Done.\n- [S1] finding of {number}");
        events.push(client.event(
            "SubagentStop",
            json!({"agent_id": format!("a{number}-done{place}"), "agent_type": "tester",
                "stop_hook_active": false, "last_assistant_message": said}),
        ));
    }
    for place in 0..3 {
        let input = json!({"file_path": format!("src/{number}/{place}.rs")});
        events.push(client.event("PostToolUse", json!({"tool_name": "Write", "tool_input": input})));
        events.push(client.event("UserPromptSubmit", json!({"prompt": format!("/cmd{place} now")})));
    }
    events
}

/// Starts a hook with its event in a file, so that nobody has to write to it while others start.
fn start(env: &TestEnv, event: &Value, number: usize) -> Child {
    let name = format!("event-{number}.json");
    env.write(&name, event.to_string());
    let input = std::fs::File::open(env.root().join(name)).unwrap();
    let mut command = env.command(&["hook", "--lock-timeout", "60"]);
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn two_hundred_hooks_at_once_lose_nothing() {
    let env = env();
    let sessions: Vec<_> = (0..SESSIONS).map(|number| format!("session-{number}")).collect();
    let clients: Vec<_> = sessions.iter().map(|session| Client { env: &env, session }).collect();
    // All of the first event, then all of the second, so that sessions meet.
    let lists: Vec<_> = clients.iter().enumerate().map(|(number, client)| events(client, number)).collect();
    let mixed: Vec<_> = (0..10).flat_map(|place| lists.iter().map(move |list| list[place].clone())).collect();
    assert_eq!(mixed.len(), 200);
    let children: Vec<_> =
        mixed.iter().enumerate().map(|(number, event)| start(&env, event, number)).collect();
    for (child, event) in children.into_iter().zip(&mixed) {
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), told.as_str()), (Some(0), ""), "{event}");
    }

    let active = state(&env, "agents/active.json");
    assert_eq!(active["total_spawned"], 4 * SESSIONS, "two started, two that nobody saw start");
    assert_eq!(active["total_completed"], 2 * SESSIONS);
    assert_eq!(active["agents"].as_array().unwrap().len(), 2 * SESSIONS);
    assert_eq!(names(&env, "agents/results").len(), 2 * SESSIONS);
    let current = state(&env, "session/current.json");
    assert_eq!(current["others"].as_array().unwrap().len(), SESSIONS - 1);
    for (number, client) in clients.iter().enumerate() {
        let record = client.record();
        assert_eq!(record["agents_spawned"], 4, "{record}");
        assert_eq!(
            sorted(&record["files_modified"]),
            (0..3).map(|place| format!("src/{number}/{place}.rs")).collect::<Vec<_>>()
        );
        assert_eq!(sorted(&record["commands_executed"]), ["cmd0", "cmd1", "cmd2"]);
        for place in 0..2 {
            let result = state(&env, &format!("agents/results/a{number}-done{place}.json"));
            assert_eq!(result["findings"][0]["title"], format!("finding of {number}"));
        }
        let status = env.json(&["session", "show", client.session]);
        assert_eq!(status["status"], "active", "{status}");
    }
    doctor_is_content(&env);
}

fn sorted(list: &Value) -> Vec<String> {
    let mut texts: Vec<_> =
        list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
    texts.sort();
    texts
}

/// The ends of many sessions, with hooks of others between them.
#[test]
fn sessions_that_end_at_once_leave_their_numbers_and_nothing_else() {
    let env = env();
    let sessions: Vec<_> = (0..8).map(|number| format!("session-{number}")).collect();
    let mut events = Vec::new();
    for (number, session) in sessions.iter().enumerate() {
        let client = Client::start(&env, session);
        client.agent_stops(&format!("a{number}"), "tester", "- [S3] one");
        events.push(client.event("SessionEnd", json!({"reason": "other"})));
    }
    let stays = Client::start(&env, "stays");
    stays.agent_starts("mine", "tester");
    events.extend((0..8).map(|place| {
        stays.event(
            "PostToolUse",
            json!({"tool_name": "Write", "tool_input": {"file_path": format!("{place}.rs")}}),
        )
    }));
    let children: Vec<_> =
        events.iter().enumerate().map(|(number, event)| start(&env, event, number)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), output.stderr.len()),
            (Some(0), 0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let metrics = state(&env, "session/metrics.json")["sessions"].take();
    assert_eq!(metrics.as_array().unwrap().len(), 8);
    for entry in metrics.as_array().unwrap() {
        assert_eq!(entry["agents"], json!({"spawned": 1, "completed": 1, "failed": 0}));
    }
    assert_eq!(names(&env, "agents/results"), [""; 0]);
    assert_eq!(stays.record()["files_modified"].as_array().unwrap().len(), 8);
    assert_eq!(state(&env, "session/current.json")["others"], Value::Null);
    assert_eq!(state(&env, "agents/active.json")["agents"][0]["id"], "mine");
    doctor_is_content(&env);
}
