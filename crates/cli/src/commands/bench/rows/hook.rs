//! The hook of coding agents' clients: a process per tool call.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::super::contest::Bench;
use super::super::measured::Measured;
use super::super::peers::{NOT_INSTALLED, PYTHON_AGENT, PYTHON_HOOK, Peer};
use super::super::rounds::Run;
use super::super::row::{Found, Row, Wanted};
use super::super::{spawn, stage};
use crate::env;

/// How many tasks are in hand, each with a file, when an edit is looked at.
const HELD: usize = 1_000;

pub fn rows(bench: &Bench) -> Vec<Row> {
    vec![
        Row::new("B02", "hook", "a tool call without news")
            .wanted(Wanted::MostFloors(1.7))
            .found(quiet(bench)),
        Row::new("B31", "beat", "a tool call that is a sign of life").found(beat(bench)),
        Row::new("B03", "guard", "an edit, against the files of tasks in hand")
            .tasks(HELD)
            .found(guard(bench)),
        Row::new("B04", "agent", "an agent starts or stops")
            .wanted(Wanted::MostFloors(2.0))
            .found(agent(bench)),
    ]
}

/// A project with a session in it, and its events.
pub struct Client<'b> {
    bench: &'b Bench,
    pub home: PathBuf,
    pub root: PathBuf,
}

impl<'b> Client<'b> {
    pub fn start(bench: &'b Bench, name: &str) -> Measured<Client<'b>> {
        Client::start_in(bench, name, bench.stage.dir.join("home"))
    }

    /// The same in a home of its own.
    pub fn start_in(bench: &'b Bench, name: &str, home: PathBuf) -> Measured<Client<'b>> {
        let client = Client { bench, home, root: bench.stage.dir.join(name) };
        stage::make_dir(&client.root)?;
        let start = client.event("SessionStart", &json!({"source": "startup"}))?;
        spawn::fed(client.hook(), &start)?;
        Ok(client)
    }

    /// Writes an event, with the fields that all have.
    pub fn event(&self, name: &str, fields: &Value) -> Measured<PathBuf> {
        let mut event = json!({
            "session_id": "0d1c2f6a-5a4e-4a8e-9d5b-3c1f7f2f9a10",
            "transcript_path": "/home/user/.claude/projects/-home-user-project/0d1c2f6a-5a4e-4a8e-9d5b-3c1f7f2f9a10.jsonl",
            "cwd": self.root.display().to_string(), "permission_mode": "default", "hook_event_name": name,
        });
        for (field, value) in fields.as_object().into_iter().flatten() {
            event[field] = value.clone();
        }
        let file = self.root.join(format!("{name}.json"));
        stage::write(&file, event.to_string().as_bytes())?;
        Ok(file)
    }

    pub fn hook(&self) -> Command {
        self.anthill(&["hook"])
    }

    pub fn anthill(&self, args: &[&str]) -> Command {
        let mut command = self.bench.stage.anthill(&self.root, args);
        command.env(env::ANTHILL_HOME, &self.home);
        command
    }

    /// Prepares the rounds of a script that does the same.
    fn python<'a>(&'a self, script: &'static str, event: &'a Path) -> (Peer, Run<'a>) {
        let state = self.root.join("state-of-python.json").display().to_string();
        let run = move |_| {
            let mut command = self.bench.stage.peer(Peer::Python3).ok_or(NOT_INSTALLED)?;
            command.args(["-c", script, &state]);
            self.bench.time_fed(command, event)
        };
        (Peer::Python3, Box::new(run))
    }
}

/// Returns the fields of a tool call.
pub fn tool(name: &str, file: &str) -> Value {
    json!({
        "tool_name": name, "tool_use_id": "toolu_01", "tool_input": {"command": "cargo test", "file_path": file},
        "tool_response": {"stdout": "x".repeat(400), "stderr": "", "interrupted": false}, "duration_ms": 15,
    })
}

fn quiet(bench: &Bench) -> Measured<Found> {
    let client = Client::start(bench, "quiet")?;
    let event = client.event("PostToolUse", &tool("Bash", ""))?;
    let python = client.python(PYTHON_HOOK, &event);
    bench.race(Box::new(|_| bench.time_fed(client.hook(), &event)), vec![python])
}

fn beat(bench: &Bench) -> Measured<Found> {
    let client = Client::start(bench, "beat")?;
    let event = client.event("PostToolUse", &tool("Bash", ""))?;
    let ours = |round: usize| {
        let mut hook = client.hook();
        // Each call comes some seconds after the one before it.
        hook.env(env::ANTHILL_NOW, format!("2030-01-01T{:02}:{:02}:00Z", round / 60 % 24, round % 60));
        bench.time_fed(hook, &event)
    };
    let python = client.python(PYTHON_HOOK, &event);
    bench.race(Box::new(ours), vec![python])
}

fn guard(bench: &Bench) -> Measured<Found> {
    let client = Client::start(bench, "guard")?;
    let task = |number: usize| {
        json!({
            "id": format!("held-{number}"), "description": "held", "status": "in_progress", "priority": 5,
            "created_at": "2030-01-01T00:00:00Z", "claimed_by": format!("w{number}"),
            "claimed_at": "2030-01-01T00:00:00Z", "context": {"files": [format!("src/part-{number}.rs")]},
            "lease": {"epoch": 1, "seconds": 600, "expires_at": "2099-01-01T00:00:00Z"},
        })
    };
    spawn::timed(bench.stage.anthill(&client.root, &["leader", "init", "measure"]))?;
    let file = stage::queue_file(&client.root);
    let mut queue: Value = serde_json::from_slice(&stage::read(&file)?).map_err(|error| error.to_string())?;
    queue["tasks"] = (0..HELD).map(task).collect();
    stage::write(&file, queue.to_string().as_bytes())?;
    // Somebody takes the edit in.
    spawn::timed(bench.stage.anthill(&client.root, &["leader", "add-task", "more"]))?;
    spawn::timed(
        bench.stage.anthill(&client.root, &["set", "config", "features.enable_edit_guard", "true"]),
    )?;
    let free = client.root.join("src/free.rs").display().to_string();
    let event = client.event("PreToolUse", &tool("Edit", &free))?;
    let found = bench.race(Box::new(|_| bench.time_fed(client.hook(), &event)), Vec::new());
    spawn::timed(
        bench.stage.anthill(&client.root, &["set", "config", "features.enable_edit_guard", "false"]),
    )?;
    found
}

fn agent(bench: &Bench) -> Measured<Found> {
    let client = Client::start(bench, "agent")?;
    let fields = json!({"agent_id": "a1", "agent_type": "general-purpose"});
    let start = client.event("SubagentStart", &fields)?;
    let stop = client.event("SubagentStop", &fields)?;
    let ours =
        |round: usize| bench.time_fed(client.hook(), if round.is_multiple_of(2) { &start } else { &stop });
    let python = client.python(PYTHON_AGENT, &start);
    bench.race(Box::new(ours), vec![python])
}
