//! A store after a year of work beside a new one, in the same rounds: the limit of each row is the new one. Then the old one is
//! cleaned, and all of it is measured again.
//!
//! The old one has seen sessions that are over, failures, agents, prompts and messages; it has a loop with very many items and a
//! mailbox that nobody reads; nine tenths of its tasks are done. The new one has a hundredth of the tasks.

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::contest::Bench;
use super::super::measured::{Measured, milliseconds};
use super::super::row::{Found, Row, Wanted};
use super::super::stats::median;
use super::super::{spawn, stage, tasks};
use super::hook::{Client, tool};
use super::queue::{LEASE, claimed};

/// How many items the loop of the old store has, and how many messages there nobody has read.
const ITEMS: usize = 1_000;
/// How many messages were done with for each session that is over.
const MESSAGES: usize = 5;
/// The most rounds of what takes a task.
const ROUNDS: usize = 60;
/// The fewest tasks that are open: enough for the shortest of measurements.
const OPEN: usize = 20;

const CLAIM: [&str; 5] = ["worker", "claim", "w", "--lease", LEASE];
const SEND: [&str; 6] = ["message", "send", "lead", "worker", "note", "1"];

/// What an act costs at most in the old store, in times of the new one: hooks and what workers do, and the rest.
const OFTEN: f64 = 1.5;
const REST: f64 = 3.0;

/// Something that agents or people do all day: its row, its name before and after `clean`, its target. The function does
/// what has to come before, untimed, and then the thing itself.
type Act = (&'static str, [&'static str; 2], f64, fn(&Store<'_>, usize) -> Measured<Duration>);

const ACTS: [Act; 26] = [
    ("B44", ["old claim", "cleaned claim"], OFTEN, |store, _| store.time(&CLAIM)),
    ("B45", ["old complete", "cleaned complete"], OFTEN, |store, _| {
        let id = claimed(&spawn::heard(store.anthill(&CLAIM))?.1)?;
        store.time(&["worker", "complete", "w", &id, "Moved it, with tests"])
    }),
    ("B46", ["old board", "cleaned board"], OFTEN, |store, _| store.time(&["leader", "status"])),
    ("B47", ["old explain", "cleaned explain"], REST, |store, _| {
        store.time(&["leader", "explain", &store.last])
    }),
    ("B48", ["old undo", "cleaned undo"], REST, |store, _| {
        spawn::timed(store.anthill(&["leader", "add-task", "one too many", "--files", "src/one.rs"]))?;
        store.time(&["undo", "queue"])
    }),
    ("B49", ["old history", "cleaned history"], REST, |store, _| {
        store.time(&["history", "queue", "--limit", "10"])
    }),
    ("B50", ["old first start", "cleaned first start"], OFTEN, |store, round| {
        store.hook("SessionStart", &json!({"source": "startup", "session_id": format!("round-{round}")}))
    }),
    ("B51", ["old status", "cleaned status"], REST, |store, _| store.time(&["status"])),
    ("B52", ["old line", "cleaned line"], REST, |store, _| store.time(&["status", "--line"])),
    ("B53", ["old list", "cleaned list"], REST, |store, _| store.time(&["session", "list", "--active"])),
    ("B54", ["old send", "cleaned send"], REST, |store, _| store.time(&SEND)),
    ("B55", ["old poll", "cleaned poll"], REST, |store, _| {
        spawn::timed(store.anthill(&SEND))?;
        store.time(&["message", "poll", "worker"])
    }),
    ("B60", ["old call", "cleaned call"], OFTEN, |store, _| store.hook("PostToolUse", &tool("Bash", ""))),
    ("B61", ["old prompt", "cleaned prompt"], OFTEN, |store, round| {
        store.hook("UserPromptSubmit", &prompt(round))
    }),
    ("B62", ["old agent start", "cleaned agent start"], OFTEN, |store, round| {
        store.hook("SubagentStart", &agent(round))
    }),
    ("B63", ["old agent stop", "cleaned agent stop"], OFTEN, |store, round| {
        store.hook("SubagentStart", &agent(round))?;
        store.hook("SubagentStop", &agent(round))
    }),
    ("B64", ["old failure", "cleaned failure"], OFTEN, |store, round| {
        store.hook("PostToolUseFailure", &failure(round))
    }),
    ("B65", ["old stop", "cleaned stop"], OFTEN, |store, _| {
        store.hook("Stop", &json!({"stop_hook_active": false}))
    }),
    ("B66", ["old compact", "cleaned compact"], OFTEN, |store, _| {
        store.hook("PreCompact", &json!({"trigger": "auto"}))
    }),
    ("B67", ["old start", "cleaned start"], OFTEN, |store, _| {
        store.hook("SessionStart", &json!({"source": "compact"}))
    }),
    ("B68", ["old end", "cleaned end"], OFTEN, |store, _| {
        store.hook("SessionStart", &json!({"source": "startup", "session_id": "measured"}))?;
        store.hook("SessionEnd", &json!({"reason": "other", "session_id": "measured"}))
    }),
    ("B69", ["old guard", "cleaned guard"], OFTEN, |store, _| {
        store.hook("PreToolUse", &tool("Edit", "src/free.rs"))
    }),
    ("B70", ["old recovery", "cleaned recovery"], OFTEN, |store, round| {
        store.hook("PostToolUseFailure", &failure(round))?;
        store.hook("PostToolUse", &tool("Bash", ""))
    }),
    ("B71", ["old turn failed", "cleaned turn failed"], OFTEN, |store, round| {
        store.hook("StopFailure", &json!({"error": "rate_limit", "error_details": format!("429, {round}")}))
    }),
    ("B72", ["old task made", "cleaned task made"], OFTEN, |store, _| {
        store.hook("TaskCreated", &json!({"task_id": "1", "task_subject": "Look at it"}))
    }),
    ("B73", ["old task done", "cleaned task done"], OFTEN, |store, _| {
        store.hook("TaskCompleted", &json!({"task_id": "1", "task_subject": "Look at it"}))
    }),
];

pub fn rows(bench: &Bench, size: usize) -> Vec<Row> {
    let stores = lay_out(bench, size);
    let mut rows = pass(bench, &stores, size, 0);
    // What a person would do about it.
    let cleaned = stores.and_then(|stores| {
        spawn::timed(stores[0].anthill(&["clean", "--older-than", "0s"]))?;
        spawn::timed(stores[0].anthill(&["clean"]))?;
        Ok(stores)
    });
    rows.extend(pass(bench, &cleaned, size, 1));
    rows
}

/// Measures everything once, before or after `clean`.
fn pass(bench: &Bench, stores: &Measured<[Store<'_>; 2]>, size: usize, at: usize) -> Vec<Row> {
    let row = |(id, names, most, run): Act| {
        let found =
            stores.as_ref().map_err(Clone::clone).and_then(|stores| side_by_side(bench, stores, size, run));
        let what = ["in an old store; the limit is a new one", "the same after `clean`"][at];
        Row::new(id, names[at], what).tasks(size).wanted(Wanted::MostLimits(most)).found(found)
    };
    ACTS.map(row).into()
}

/// Measures an act in both stores, in turns.
fn side_by_side(
    bench: &Bench,
    [old, new]: &[Store<'_>; 2],
    size: usize,
    run: fn(&Store<'_>, usize) -> Measured<Duration>,
) -> Measured<Found> {
    let limits = RefCell::new(Vec::new());
    let limit = |round| {
        limits.borrow_mut().push(milliseconds(run(new, round)?));
        Ok::<_, String>(())
    };
    let ours = |round: usize| {
        if round.is_multiple_of(2) {
            limit(round)?;
            return run(old, round);
        }
        let took = run(old, round)?;
        limit(round).map(|()| took)
    };
    // Claims and completions, before and after, leave half of the new queue's tasks.
    let most = ROUNDS.min(open_tasks(size, 100) / 8);
    let found = bench.race_at_most(most, Box::new(ours), Vec::new())?;
    Ok(Found { limit: median(&limits.borrow()), ..found })
}

/// Returns how many tasks are open where one of so many is.
fn open_tasks(size: usize, of: usize) -> usize {
    (size / of).max(OPEN)
}

/// A home, a project, and a session at work there.
struct Store<'b> {
    bench: &'b Bench,
    client: Client<'b>,
    /// The last task of its queue.
    last: String,
}

impl<'b> Store<'b> {
    fn make(bench: &'b Bench, name: &str, tasks: usize) -> Measured<Store<'b>> {
        let client = Client::start_in(bench, name, bench.stage.dir.join(format!("{name}-home")))?;
        let store = Store { bench, client, last: tasks::id(tasks - 1) };
        let file = bench.stage.tasks(tasks)?.display().to_string();
        let work: [&[&str]; 5] = [
            &["leader", "init", "measure"],
            &["leader", "import", &file],
            &["session", "start", "worker"],
            &["set", "config", "features.enable_edit_guard", "true"],
            &["loop", "start", "measure"],
        ];
        work.into_iter().try_for_each(|args| spawn::timed(store.anthill(args)).map(drop))?;
        Ok(store)
    }

    fn anthill(&self, args: &[&str]) -> Command {
        self.client.anthill(args)
    }

    fn time(&self, args: &[&str]) -> Measured<Duration> {
        self.bench.time(self.anthill(args))
    }

    fn hook(&self, name: &str, fields: &Value) -> Measured<Duration> {
        self.bench.time_fed(self.client.hook(), &self.client.event(name, fields)?)
    }

    /// The same for an event of the past, which nobody times.
    fn seen(&self, name: &str, fields: &Value) -> Measured<()> {
        spawn::fed(self.client.hook(), &self.client.event(name, fields)?).map(drop)
    }
}

/// Returns an old store and a new one.
fn lay_out(bench: &Bench, size: usize) -> Measured<[Store<'_>; 2]> {
    let old = Store::make(bench, "old", size)?;
    let new = Store::make(bench, "new", open_tasks(size, 100))?;
    for number in 0..bench.past {
        old.seen("PostToolUseFailure", &failure(number))?;
        old.seen("SubagentStop", &agent(number))?;
        old.seen("UserPromptSubmit", &prompt(number))?;
        let session = format!("over-{number}");
        old.seen("SessionStart", &json!({"source": "startup", "session_id": session}))?;
        old.seen("SessionEnd", &json!({"reason": "other", "session_id": session}))?;
    }
    fill_queue(bench, &old, size)?;
    fill_loop(&old)?;
    fill_mailboxes(bench, &old)?;
    // Everybody has taken in what was written.
    for store in [&old, &new] {
        spawn::timed(store.anthill(&CLAIM))?;
        spawn::timed(store.anthill(&["loop", "add", "more"]))?;
        spawn::timed(store.anthill(&SEND))?;
    }
    Ok([old, new])
}

/// Most tasks are done, and tell of it.
fn fill_queue(bench: &Bench, store: &Store<'_>, size: usize) -> Measured<()> {
    let file = stage::queue_file(&store.client.root);
    let text = String::from_utf8_lossy(&stage::read(&file)?).into_owned();
    // The first ones are those that others wait for.
    let done = size.saturating_sub(open_tasks(size, 10));
    stage::write(&file, text.replacen("\"available\"", "\"done\"", done).as_bytes())?;
    let results = store.client.root.join(".coordination/results");
    stage::make_dirs(&results)?;
    (0..done.min(bench.past)).try_for_each(|number| {
        stage::write(&results.join(format!("{}.md", tasks::id(number))), b"Moved it, with tests\n")
    })
}

/// The loop has very many open items.
fn fill_loop(store: &Store<'_>) -> Measured<()> {
    let file = store.client.root.join(".claude/state/loop/work_queue.json");
    let mut queue: Value = serde_json::from_slice(&stage::read(&file)?).map_err(|error| error.to_string())?;
    let item = |number: usize| {
        json!({"id": format!("work-{number:04}"), "priority": "S2", "title": format!("Look at part {number}"),
               "description": "", "status": "pending", "added_iteration": 0})
    };
    queue["items"] = (0..ITEMS).map(item).collect();
    stage::write(&file, queue.to_string().as_bytes())
}

/// A reader is done with very many messages; another one has never read any.
#[expect(clippy::disallowed_methods, reason = "the measured commands go by the real clock")]
fn fill_mailboxes(bench: &Bench, store: &Store<'_>) -> Measured<()> {
    let yesterday = (Timestamp::now() - SignedDuration::from_hours(24)).to_string();
    let processed: PathBuf = store.client.home.join("orchestration/messages/worker/processed");
    stage::make_dirs(&processed)?;
    for number in 0..bench.past * MESSAGES {
        let id = format!("msg-{number}");
        let message = json!({
            "id": id, "from": "lead", "to": "worker", "type": "note", "payload": 1, "timestamp": yesterday,
            "read": true, "processed": true, "status": "processed", "processed_at": yesterday,
        });
        stage::write(&processed.join(format!("{id}.json")), message.to_string().as_bytes())?;
    }
    for number in 0..ITEMS.min(bench.past) {
        let text = format!("\"part {number}\"");
        spawn::timed(store.anthill(&["message", "send", "lead", "away", "note", &text]))?;
    }
    spawn::timed(store.anthill(&["session", "start", "away"])).map(drop)
}

fn prompt(number: usize) -> Value {
    json!({"prompt": format!("/fix part {number}")})
}

fn agent(number: usize) -> Value {
    json!({
        "agent_id": format!("a{number:016x}"), "agent_type": "general-purpose", "stop_hook_active": false,
        "last_assistant_message": "Looked at all of it.\nStatus: completed",
    })
}

fn failure(number: usize) -> Value {
    json!({
        "tool_name": "Bash", "tool_input": {"command": format!("cargo test part_{number}")},
        "error": format!("Exit code 101\nerror: cannot find `part_{number}` in this scope"),
    })
}
