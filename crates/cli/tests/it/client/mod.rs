//! `anthill hook`, from the outside: a client's events in, its answers and the state out.

mod agent_loop;
mod agents;
mod archive;
mod canary;
mod events;
mod garbage;
mod life;
mod mail;
mod seeds;
mod storm;
mod switches;
mod workflow;

use std::fmt::Write as _;

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::lines::json_of;

const STATE: &str = "project/.claude/state";

/// One session of a client: it sends events and looks at what comes of them.
struct Client<'e> {
    env: &'e TestEnv,
    session: &'e str,
}

impl<'e> Client<'e> {
    /// A session that has just started.
    fn start(env: &'e TestEnv, session: &'e str) -> Client<'e> {
        let client = Client { env, session };
        client.send("SessionStart", json!({"source": "startup"}));
        client
    }

    /// Returns an event of this session with these fields.
    fn event(&self, name: &str, fields: Value) -> Value {
        let mut event = json!({
            "session_id": self.session, "transcript_path": "/none.jsonl", "cwd": self.env.project(),
            "hook_event_name": name,
        });
        let Value::Object(fields) = fields else { panic!("no fields: {fields}") };
        event.as_object_mut().unwrap().extend(fields);
        event
    }

    /// Sends an event and returns the answer; `null` if there is none.
    #[track_caller]
    fn send(&self, name: &str, fields: Value) -> Value {
        answer(&hook(self.env, self.event(name, fields).to_string().as_bytes()), name)
    }

    /// Sends an event and returns what the agent is told.
    #[track_caller]
    fn told(&self, name: &str, fields: Value) -> String {
        let answer = self.send(name, fields);
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    /// A tool call that went well.
    #[track_caller]
    fn used(&self, tool: &str, input: Value) -> String {
        let mut fields = json!({"tool_name": tool, "tool_response": {}, "tool_use_id": "toolu_1"});
        fields["tool_input"] = input;
        self.told("PostToolUse", fields)
    }

    fn agent_starts(&self, id: &str, kind: &str) -> String {
        self.told("SubagentStart", json!({"agent_id": id, "agent_type": kind}))
    }

    fn agent_stops(&self, id: &str, kind: &str, words: &str) {
        let fields = json!({"agent_id": id, "agent_type": kind, "stop_hook_active": false,
            "last_assistant_message": words, "background_tasks": []});
        self.send("SubagentStop", fields);
    }

    /// The end of a tool call that started an agent: at its launch, or with what came out.
    fn agent_returns(&self, id: &str, kind: &str, prompt: &str, outcome: Result<&str, &str>) -> String {
        let response = match outcome {
            Ok(words) => json!({"status": "completed", "agentId": id, "agentType": kind,
                "content": [{"type": "text", "text": words}]}),
            Err(launched) => json!({"status": launched, "agentId": id, "isAsync": true}),
        };
        let input =
            json!({"description": format!("the task of {id}"), "prompt": prompt, "subagent_type": kind});
        let fields = json!({"tool_name": "Agent", "tool_input": input, "tool_response": response});
        self.told("PostToolUse", fields)
    }

    /// Returns the session's own record of `current.json`.
    fn record(&self) -> Value {
        let current = state(self.env, "session/current.json");
        let others = current["others"].as_array().cloned().unwrap_or_default();
        let found = [current].into_iter().chain(others).find(|record| record["session_id"] == self.session);
        found.unwrap_or_default()
    }
}

/// Runs the hook with these bytes on stdin.
fn hook(env: &TestEnv, input: &[u8]) -> Ran {
    env.run_with_input(&["hook", "--lock-timeout", "60"], input)
}

/// Returns the answer of a hook that went well and said nothing else; `null` if there is none.
#[track_caller]
fn answer(ran: &Ran, event: &str) -> Value {
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{event}\n{}", ran.shown());
    if ran.stdout.is_empty() {
        return Value::Null;
    }
    let answer = ran.json();
    if let Some(specific) = answer.get("hookSpecificOutput") {
        assert_eq!(specific["hookEventName"], event, "{answer}");
    }
    answer
}

/// Returns a document of the project's state; `null` if there is none.
fn state(env: &TestEnv, file: &str) -> Value {
    let path = env.root().join(STATE).join(file);
    if path.exists() {
        serde_json::from_slice(&env.read(&format!("{STATE}/{file}"))).unwrap()
    } else {
        Value::Null
    }
}

/// Returns a document of a session.
fn session_file(env: &TestEnv, session: &str, file: &str) -> Value {
    serde_json::from_slice(&env.read(&format!("user/.claude/sessions/{session}/{file}"))).unwrap()
}

/// Returns the names of the files in a directory of the project's state.
fn names(env: &TestEnv, directory: &str) -> Vec<String> {
    let prefix = format!("{STATE}/{directory}/");
    env.bytes().into_keys().filter_map(|path| path.strip_prefix(&prefix).map(str::to_owned)).collect()
}

/// Sends a message to a session and returns its id.
#[track_caller]
fn send(env: &TestEnv, to: &str, text: &str, priority: &str) -> String {
    let payload = json!({"text": text}).to_string();
    let sent = env.json(&["message", "send", "lead", to, "note", &payload, "--priority", priority]);
    sent["id"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned()
}

/// Returns how many messages a session has not read.
fn unread(env: &TestEnv, session: &str) -> usize {
    let polled = json_of(env, &format!("message poll {session} --no-mark-read"));
    polled.as_array().unwrap_or_else(|| panic!("{polled}")).len()
}

#[track_caller]
fn doctor_is_content(env: &TestEnv) {
    let report = env.json(&["doctor"]);
    assert_eq!(report["findings"], json!([]), "{report}");
}

/// Returns the length that clients count.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Returns a text that differs from every other, so that it can be told where it went.
fn filler(number: usize, length: usize) -> String {
    let mut text = String::new();
    while text.len() < length {
        write!(text, "m{number} ").unwrap();
    }
    text
}
