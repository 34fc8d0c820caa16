//! The hooks of a client's session, from its start to its end, with a misfortune at every call of every event.
//!
//! An event leads to several commits, so there is no single old and new. Instead: whatever happens in one event, `doctor` finds
//! nothing, the same event again and those that follow work, and the session ends as it does without any trouble.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;

use anthill_core::error::Code;
use anthill_core::model::client_event::Event;
use anthill_core::model::current_session::Arrival;
use anthill_core::model::ids::ProjectId;
use anthill_core::model::kind::{Doc, Kind};
use anthill_core::model::message::{Letter, Sender};
use anthill_core::model::room::Room;
use anthill_core::ops::client::{self, Charge, World};
use anthill_core::ops::surplus::What;
use anthill_core::ops::{Error, messages};
use anthill_core::store::file::fs::Fs;
use anthill_core::store::{Engine, Upkeep};
use anthill_testkit::effort::sample;
use anthill_testkit::sim_fs::{Plan, SimFs, errno};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::probe::{PART, contents, report};
use crate::scenarios::{Store, actor, add, claim};

/// How many disks are made of one on which the power failed.
const IMAGES: usize = 3;

/// A process that knows nothing of its surroundings.
struct Nowhere;

impl World for Nowhere {
    fn arrival(&self) -> Arrival {
        Arrival::default()
    }

    fn client(&self) -> Option<String> {
        None
    }

    fn below_root(&self, path: &str) -> String {
        path.to_owned()
    }

    fn user(&self) -> String {
        "tester".into()
    }

    fn project(&self) -> Option<ProjectId> {
        None
    }

    fn hides_session(&self) -> bool {
        false
    }

    fn charge(&self) -> Option<Charge> {
        None
    }

    fn mark(&self) -> String {
        "mark".into()
    }

    fn tail(&self, _: &str, _: u64) -> Option<String> {
        None
    }

    fn zone(&self) -> TimeZone {
        TimeZone::UTC
    }

    fn is_first_trouble(&self, _: &Event) -> bool {
        true
    }
}

fn events() -> Vec<Event> {
    let agent = |mut fields: Value| {
        fields["agent_id"] = "a1".into();
        fields["agent_type"] = "a".into();
        fields
    };
    let events = [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "/fix it"})),
        ("PostToolUse", json!({"tool_name": "Write", "tool_input": {"file_path": "a.rs"}})),
        ("SubagentStart", agent(json!({}))),
        ("SubagentStop", agent(json!({"last_assistant_message": "- [S1] one"}))),
        ("PostToolUseFailure", json!({"tool_name": "Bash", "error": "request timed out"})),
        ("PreCompact", json!({"trigger": "auto"})),
        ("SessionEnd", json!({"reason": "other"})),
    ];
    let read = |(name, mut fields): (&str, Value)| {
        fields["session_id"] = "s1".into();
        fields["hook_event_name"] = name.into();
        Event::read(fields.to_string().as_bytes()).expect("an event")
    };
    events.into_iter().map(read).collect()
}

/// A task that the session has, a workflow for its agent, and a message for it.
fn prepared() -> SimFs {
    let fs = SimFs::new();
    let store = store(&fs);
    add(&store, "first", &[]).unwrap();
    claim(&store, "w1").unwrap();
    store.plan_work("shop").unwrap();
    let letter = Letter {
        from: "lead".parse().unwrap(),
        to: "s1".parse().unwrap(),
        kind: "note".into(),
        payload: json!("hello"),
        priority: "normal",
        ttl: None,
        id: Some("m1".parse().unwrap()),
        in_reply_to: None,
        sender: Sender::default(),
    };
    messages::send(&store.engine, &letter, &actor()).unwrap();
    fs.flush();
    fs.after_kill()
}

fn store(fs: &SimFs) -> Store {
    Store::new(fs, 1 << 20)
}

/// Runs one event as a process of its own. Returns what went wrong, and what the agent was told.
fn run(fs: &SimFs, event: &Event) -> (Vec<Error>, String) {
    let (store, mut told) = (store(fs), String::new());
    let troubles = client::handle(&store.engine, event, &Nowhere, &actor(), &mut |_, text| {
        told += text.unwrap_or_default();
        true
    });
    (troubles, told)
}

/// What is left of the session after its end, as far as a repeated event does not change it.
fn outcome(fs: &SimFs) -> Value {
    let store = store(fs);
    let read = |kind: &str| {
        let kind = Kind::find(kind).unwrap();
        let found = store.engine.read(&Doc::shared(kind, kind.room().unwrap())).unwrap();
        found.map(|found| found.value).unwrap_or_default()
    };
    let (metrics, active, workflow) = (read("metrics"), read("active_agents"), read("workflow"));
    let of_state = store.engine.documents(&Room::State).unwrap();
    let count = |kind: &str| of_state.iter().filter(|doc| doc.kind.name == kind).count();
    let task = &read("queue")["tasks"][0];
    let sessions: Vec<_> =
        metrics["sessions"].as_array().unwrap().iter().map(|entry| entry["agents"].clone()).collect();
    let phases: Vec<_> =
        workflow["phases"].as_array().unwrap().iter().map(|phase| phase["status"].clone()).collect();
    let status = store.engine.read(&Doc::session(&"s1".parse().unwrap())).unwrap().unwrap();
    json!({
        "agents of each session": sessions, "running": active["agents"], "totals": [active["total_spawned"], active["total_completed"]],
        "phases": phases, "results": count("agent_result"), "errors": count("errors"), "backups": count("backup").min(1),
        "archived": archived(&store),
        "record": read("current_session"), "task": [task["status"], task["claimed_by"]], "session": status.value["status"],
    })
}

/// Returns which agents and errors are in an archive.
fn archived(store: &Store) -> Vec<Value> {
    let [agents, errors] = [What::Agents, What::Errors].map(|what| what.read(&store.engine).unwrap());
    let agents = agents.iter().map(|result| result["agent_id"].clone());
    agents.chain(errors.iter().map(|error| error["message"].clone())).collect()
}

#[track_caller]
fn check_clean(fs: &SimFs, point: &str) {
    let store = store(fs);
    for room in store.engine.rooms().unwrap() {
        let findings = store.engine.check(&room, false).unwrap();
        assert!(findings.is_empty(), "{point}: doctor finds {findings:?}");
    }
}

/// What can happen at a call.
fn plans(call: usize) -> [Plan; 4] {
    let fail = |errno, persistent| Plan::FailAt { call, errno, persistent };
    [Plan::KillAt(call), Plan::KillMid(call), fail(errno::EIO, false), fail(errno::ENOSPC, true)]
}

#[test]
fn a_session_ends_well_whatever_happens_to_one_of_its_hooks() {
    let events = events();
    let mut disks = vec![prepared()];
    let mut heard = Vec::new();
    for event in &events {
        let fs = disks.last().unwrap().after_kill();
        let (troubles, told) = run(&fs, event);
        assert!(troubles.is_empty(), "{}: {troubles:?}", event.name);
        heard.push(told);
        disks.push(fs.after_kill());
    }
    assert!(heard[0].contains("hello") && heard[3].contains("Your phase phase_0"), "{heard:?}");
    let expected = outcome(disks.last().unwrap());
    assert_eq!(expected["agents of each session"], json!([{"spawned": 1, "completed": 1, "failed": 0}]));
    assert_eq!(expected["task"], json!(["available", null]));
    assert_eq!(expected["archived"], json!(["a1", "request timed out"]));

    let sweep = |place: usize| sweep(&events[place..], &disks[place], &expected);
    let points: usize = thread::scope(|scope| {
        let parts: Vec<_> = (0..events.len()).map(|place| scope.spawn(move || sweep(place))).collect();
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    });
    report(points, "points in the hooks of a session");
}

/// Lets everything happen to the first of these events; the others follow. Returns the points.
fn sweep(events: &[Event], disk: &SimFs, expected: &Value) -> usize {
    let (event, rehearsal) = (&events[0], disk.after_kill());
    rehearsal.set_plan(Plan::None);
    run(&rehearsal, event);
    let calls = rehearsal.calls();
    let (mut points, mut seen) = (0, HashSet::new());
    for plan in sample(&event.name, PART, 1..=calls).into_iter().flat_map(plans) {
        let fs = disk.after_kill();
        fs.set_plan(plan);
        let (troubles, told) = run(&fs, event);
        let point = format!("{}, {plan:?} of {calls} -> {troubles:?}", event.name);
        assert!(troubles.iter().all(|trouble| trouble.code() == Code::Io), "{point}");
        points += 1;
        let images = match plan {
            Plan::KillAt(call) if call % 4 == 0 => fs.crash_images(IMAGES),
            _ => Vec::new(),
        };
        for fs in std::iter::once(fs.after_kill()).chain(images) {
            let mut hasher = DefaultHasher::new();
            (contents(&fs), fs.boot_id().unwrap(), told.is_empty()).hash(&mut hasher);
            if seen.insert(hasher.finish()) {
                check_rest(events, &fs, told.clone(), expected, &point);
            }
        }
    }
    points
}

/// The same event again and those that follow lead to the same end.
fn check_rest(events: &[Event], fs: &SimFs, mut told: String, expected: &Value, point: &str) {
    for event in events {
        let (troubles, more) = run(fs, event);
        assert!(troubles.is_empty(), "{point}\nthen {}: {troubles:?}", event.name);
        told += &more;
    }
    assert!(events[0].name != "SessionStart" || told.contains("hello"), "{point}: the message is lost");
    assert_eq!(outcome(fs), *expected, "{point}");
    check_clean(fs, point);
}
