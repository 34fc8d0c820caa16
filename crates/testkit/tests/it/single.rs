//! One task of a long queue: read, changed and explained without the others, and as if all had been read.

use std::sync::Arc;

use anthill_core::model::hint::Plain;
use anthill_core::model::kind::Doc;
use anthill_core::model::path::Path;
use anthill_core::model::time::Clock;
use anthill_core::ops::edit::{self, Target};
use anthill_core::ops::queue::look;
use anthill_core::ops::{Actor, read};
use anthill_core::store::file::addresses::DocFiles;
use anthill_core::store::memory::MemoryEngine;
use anthill_core::store::{Engine, Kept};
use anthill_testkit::conformance::entry;
use anthill_testkit::sim_fs::{Plan, SimFs};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::stores::{NORMAL, hasty, sim_fs, simulated};

#[derive(Debug)]
struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }
}

fn actor() -> Actor {
    Actor { clock: Arc::new(Fixed), session: None, acting: None, user: "tester".into(), door: &Plain }
}

fn fill(engine: &dyn Engine) {
    let task = |number: usize| {
        let mut task = json!({
            "id": format!("t{number}"), "description": "", "priority": 5, "created_at": "2026-01-01T00:00:00Z",
            "status": "available", "dependencies": [], "context": {"files": [format!("src/{number}.rs")]}
        });
        match number {
            3 => (task["status"], task["dependencies"]) = ("created".into(), json!(["t1", "t4", "t5"])),
            4 => (task["status"], task["claimed_by"]) = ("claimed".into(), "w".into()),
            5 => task["status"] = "failed".into(),
            6 => task["context"]["files"] = json!(["src"]),
            7 => task["required_capabilities"] = json!(["gpu"]),
            _ => {}
        }
        task
    };
    let mut queue = Doc::queue().default(Fixed.now());
    queue["tasks"] = (0..300).map(task).collect();
    let mut transaction = engine.begin(&[&Doc::queue().room]).unwrap();
    transaction.put(&Doc::queue(), queue).unwrap();
    transaction.commit(&entry("test")).unwrap();
}

/// Something done with the engine, and what comes of it in words.
type Act = Box<dyn Fn(&dyn Engine) -> String>;

/// What is read, changed and explained, by name.
fn acts() -> Vec<(String, Act)> {
    let mut acts: Vec<(String, Act)> = Vec::new();
    let path = |text: &str| text.parse::<Path>().unwrap();
    for text in
        ["revision", "version", "tasks[id=t7]", "tasks[id=t7].priority", "tasks[id=t250].context.files[0]"]
    {
        let path = path(text);
        acts.push((
            format!("get {text}"),
            Box::new(move |engine| format!("{:?}", read::get(engine, &Doc::queue(), &path))),
        ));
    }
    for id in ["t1", "t3", "t4", "t5", "t6", "t7", "nobody"] {
        let explain = move |engine: &dyn Engine| match look::explain(engine, id, &actor()) {
            Ok(explained) => explained.json().to_string(),
            Err(error) => error.to_string(),
        };
        acts.push((format!("explain {id}"), Box::new(explain)));
    }
    let values = [
        ("tasks[id=t7].priority", json!(2)),
        ("tasks[id=t8].context.files", json!(["docs"])),
        ("tasks[id=t9].status", json!("cancelled")),
        ("tasks[id=t9].status", json!("cancelled")),
        ("tasks[id=t9].priority", json!("high")),
        ("tasks[id=t9].id", json!("../x")),
        ("tasks[id=t9].context.hints", json!("look")),
    ];
    for (text, value) in values {
        let path = path(text);
        let set = move |engine: &dyn Engine| {
            let target = Target { doc: &Doc::queue(), path: &path, expect: None };
            match edit::set(engine, &target, value.clone(), &actor()) {
                Ok(changed) => format!("{} {} {:?}", changed.revision, changed.value, changed.warnings),
                // Each engine has a name of its own for it.
                Err(error) => {
                    error.to_string().replace(&engine.called(Kept::Document(&Doc::queue())).name, "it")
                }
            }
        };
        acts.push((format!("set {text}"), Box::new(set)));
    }
    acts
}

/// What leads nowhere, or is not one item any more, is up to the whole document.
fn needs_all(act: &str) -> bool {
    act == "set tasks[id=t9].id"
}

fn reads_all(fs: &SimFs) -> bool {
    let whole = format!("read {}", Doc::queue().path());
    fs.trace().contains(&whole)
}

fn content(engine: &dyn Engine) -> Value {
    engine.read(&Doc::queue()).unwrap().unwrap().value
}

#[test]
fn one_task_is_read_and_changed_without_the_others() {
    let fs = sim_fs(true);
    let (engine, memory) = (simulated(&fs, &fs, hasty(NORMAL)), MemoryEngine::default());
    fill(&engine);
    fill(&memory);
    for (name, act) in acts() {
        fs.set_plan(Plan::None);
        let found = act(&engine);
        assert!(needs_all(&name) || !reads_all(&fs), "{name}: {:?}", fs.trace());
        assert_eq!(found, act(&memory), "{name}");
        assert_eq!(content(&engine), content(&memory), "{name}");
    }
}

/// Somebody edits the file before each act: then that edit counts too, and all is read.
#[test]
fn one_task_after_an_edit_by_hand() {
    for (name, act) in acts() {
        let fs = sim_fs(true);
        let engine = simulated(&fs, &fs, hasty(NORMAL));
        fill(&engine);
        let other = MemoryEngine::default();
        fill(&other);
        let mut edited = content(&other);
        edited["tasks"][7]["priority"] = 9.into();
        edited["tasks"][1]["status"] = "done".into();
        fs.put(&Doc::queue().path(), &serde_json::to_vec(&edited).unwrap());
        let mut transaction = other.begin(&[&Doc::queue().room]).unwrap();
        transaction.put(&Doc::queue(), edited).unwrap();
        transaction.commit(&entry("edit")).unwrap();
        assert_eq!(act(&engine), act(&other), "{name}");
        assert_eq!(content(&engine)["tasks"], content(&other)["tasks"], "{name}");
    }
}
