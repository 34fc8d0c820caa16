//! Hooks in a project that has seen much, beside a new one in the same rounds: the limit of each row is the new project.

use std::cell::RefCell;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::rounds::{Measured, milliseconds};
use super::super::row::{Found, Row, Wanted};
use super::super::stats::median;
use super::super::{spawn, stage};
use super::Bench;
use super::hook::{Client, tool};

/// How many items the loop of the old project has.
const ITEMS: usize = 1_000;

/// What is measured: the row, its name and what happens.
const EVENTS: [(&str, &str, Event); 9] = [
    ("B60", "old call", Event::Call),
    ("B61", "old prompt", Event::Prompt),
    ("B62", "old agent start", Event::AgentStart),
    ("B63", "old agent stop", Event::AgentStop),
    ("B64", "old failure", Event::Failure),
    ("B65", "old stop", Event::Stop),
    ("B66", "old compact", Event::Compact),
    ("B67", "old session start", Event::SessionStart),
    ("B68", "old session end", Event::SessionEnd),
];

#[derive(Debug, Clone, Copy)]
enum Event {
    Call,
    Prompt,
    AgentStart,
    AgentStop,
    Failure,
    Stop,
    Compact,
    SessionStart,
    SessionEnd,
}

pub fn rows(bench: &Bench) -> Vec<Row> {
    let stores = Stores::lay_out(bench);
    let row = |(id, name, event): (&'static str, &'static str, Event)| {
        let found = stores.as_ref().map_err(Clone::clone).and_then(|stores| stores.measure(event));
        let what = "a hook in an old project; the limit is a new one";
        Row::new(id, name, what).wanted(Wanted::MostLimits(1.5)).found(found)
    };
    EVENTS.map(row).into()
}

/// A project that has seen much and one that has not.
struct Stores<'b> {
    bench: &'b Bench,
    old: Client<'b>,
    new: Client<'b>,
}

impl<'b> Stores<'b> {
    fn lay_out(bench: &'b Bench) -> Measured<Stores<'b>> {
        let (old, new) = (Client::start(bench, "worn")?, Client::start(bench, "fresh")?);
        for number in 0..bench.past {
            for event in [Event::Failure, Event::AgentStop, Event::Prompt] {
                let event = event.write(&old, number)?;
                spawn::fed(old.hook(), &event)?;
            }
        }
        fill_loop(bench, &old)?;
        Ok(Stores { bench, old, new })
    }

    /// Measures an event in both, in turns.
    fn measure(&self, event: Event) -> Measured<Found> {
        let times = RefCell::new(Vec::new());
        let run = |client: &Client<'_>, round: usize| {
            let number = self.bench.past + round;
            if let Some(before) = event.before(client, number)? {
                spawn::fed(client.hook(), &before)?;
            }
            self.bench.time_fed(client.hook(), &event.write(client, number)?)
        };
        let run_new = |round| {
            times.borrow_mut().push(milliseconds(run(&self.new, round)?));
            Ok::<_, String>(())
        };
        let ours = |round: usize| {
            if round.is_multiple_of(2) {
                run_new(round)?;
                return run(&self.old, round);
            }
            let took = run(&self.old, round)?;
            run_new(round).map(|()| took)
        };
        let found = self.bench.race(Box::new(ours), Vec::new())?;
        Ok(Found { limit: median(&times.borrow()), ..found })
    }
}

/// Gives a project a loop with very many open items.
fn fill_loop(bench: &Bench, client: &Client<'_>) -> Measured<()> {
    spawn::timed(bench.stage.anthill(&client.root, &["loop", "start", "measure"]))?;
    let file = client.root.join(".claude/state/loop/work_queue.json");
    let mut queue: Value = serde_json::from_slice(&stage::read(&file)?).map_err(|error| error.to_string())?;
    let item = |number: usize| {
        json!({"id": format!("work-{number:04}"), "priority": "S2", "title": format!("Look at part {number}"),
               "description": "", "status": "pending", "added_iteration": 0})
    };
    queue["items"] = (0..ITEMS).map(item).collect();
    stage::write(&file, queue.to_string().as_bytes())?;
    // Somebody takes the edit in.
    spawn::timed(bench.stage.anthill(&client.root, &["loop", "add", "more"])).map(drop)
}

impl Event {
    /// Writes the event of this number.
    fn write(self, client: &Client<'_>, number: usize) -> Measured<PathBuf> {
        let agent = json!({
            "agent_id": format!("a{number:016x}"), "agent_type": "general-purpose", "stop_hook_active": false,
            "last_assistant_message": "Looked at all of it.\nStatus: completed",
        });
        match self {
            Event::Call => client.event("PostToolUse", &tool("Bash", "")),
            Event::Prompt => {
                client.event("UserPromptSubmit", &json!({"prompt": format!("/fix part {number}")}))
            }
            Event::AgentStart => client.event("SubagentStart", &agent),
            Event::AgentStop => client.event("SubagentStop", &agent),
            Event::Failure => {
                let error = format!("Exit code 101\nerror: cannot find `part_{number}` in this scope");
                let input = json!({"command": format!("cargo test part_{number}")});
                let fields = json!({"tool_name": "Bash", "tool_input": input, "error": error});
                client.event("PostToolUseFailure", &fields)
            }
            Event::Stop => client.event("Stop", &json!({"stop_hook_active": false})),
            Event::Compact => client.event("PreCompact", &json!({"trigger": "auto"})),
            Event::SessionStart => client.event("SessionStart", &json!({"source": "startup"})),
            Event::SessionEnd => {
                client.event("SessionEnd", &json!({"reason": "other", "session_id": "measured"}))
            }
        }
    }

    /// Writes the event that has to come before this one.
    fn before(self, client: &Client<'_>, number: usize) -> Measured<Option<PathBuf>> {
        match self {
            Event::AgentStop => Event::AgentStart.write(client, number).map(Some),
            Event::SessionEnd => {
                let start = json!({"source": "startup", "session_id": "measured"});
                client.event("SessionStart", &start).map(Some)
            }
            _ => Ok(None),
        }
    }
}
