//! Edits by hand mean the same in every engine, whatever was committed since they were made.

use std::sync::Arc;

use anthill_core::model::json;
use anthill_core::model::kind::Doc;
use anthill_core::store::file::FileEngine;
use anthill_core::store::file::addresses::DocFiles;
use anthill_core::store::file::fs::Fs;
use anthill_core::store::memory::MemoryEngine;
use anthill_core::store::{Engine, Revision};
use anthill_testkit::conformance::entry;
use anthill_testkit::sim_fs::SimFs;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stores::{NORMAL, TINY, hasty};

/// What a commit, or somebody with a copy of so many revisions ago, does to a task.
#[derive(Debug, Clone)]
struct Action {
    /// `None` for a commit.
    age: Option<usize>,
    item: usize,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Describe(u8),
    Status(&'static str),
    Add(u8),
    Remove,
    Nothing,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let status = prop::sample::select(vec!["available", "claimed", "done", "failed", "cancelled"]);
    let what = prop_oneof![
        3 => any::<u8>().prop_map(What::Describe),
        3 => status.prop_map(What::Status),
        1 => (0..20u8).prop_map(What::Add),
        1 => Just(What::Remove),
        1 => Just(What::Nothing),
    ];
    let action = (prop::option::of(0..6usize), 0..6usize, what);
    vec(action.prop_map(|(age, item, what)| Action { age, item, what }), 1..24)
}

fn act(queue: &mut Value, Action { item, what, age }: &Action) {
    let tasks = queue["tasks"].as_array_mut().unwrap();
    let (count, by) = (tasks.len().max(1), if age.is_some() { "hand" } else { "commit" });
    match what {
        What::Add(id) => {
            let id = format!("{by}-{id}");
            if tasks.iter().all(|task| task["id"] != id) {
                tasks.push(json!({"id": id, "description": by, "status": "available"}));
            }
        }
        What::Remove if !tasks.is_empty() => drop(tasks.remove(item % count)),
        What::Describe(text) => {
            if let Some(task) = tasks.get_mut(item % count) {
                task["description"] = format!("{by} {text}").into();
            }
        }
        What::Status(word) => {
            if let Some(task) = tasks.get_mut(item % count) {
                task["status"] = (*word).into();
            }
        }
        What::Remove | What::Nothing => {}
    }
}

/// Commits something, which takes in what was edited. Returns what is there then.
fn commit(engine: &dyn Engine, action: Option<&Action>) -> Value {
    let queue = Doc::queue();
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    let mut value =
        transaction.get(&queue).unwrap().cloned().unwrap_or_else(|| json!({"version": "1.0", "tasks": []}));
    if let Some(action) = action {
        act(&mut value, action);
    }
    transaction.put(&queue, value).unwrap();
    transaction.commit(&entry("test")).unwrap();
    engine.read(&queue).unwrap().unwrap().value
}

/// What the log says of each revision, but for who edited.
fn told(engine: &dyn Engine) -> Vec<(u64, String, Option<u64>)> {
    let said = |record: Revision| (record.revision, record.op, record.made_from);
    engine.log(&Doc::queue().room).unwrap().into_iter().map(said).collect()
}

fn agree(actions: &[Action], segment_bytes: u64) {
    let (memory, fs) = (MemoryEngine::default(), Arc::new(SimFs::new()));
    let file = FileEngine::new(fs.clone(), fs.clone(), hasty(segment_bytes));
    let queue = Doc::queue();
    let mut past = Vec::new();
    for name in ["a", "b", "c"] {
        let add = Action { age: None, item: 0, what: What::Add(name.as_bytes()[0] % 20) };
        past.push(commit(&memory, Some(&add)));
        assert_eq!(commit(&file, Some(&add)), *past.last().unwrap());
    }
    for action in actions {
        if let Some(age) = action.age {
            let mut copy = past[past.len().saturating_sub(age + 1)].clone();
            act(&mut copy, action);
            memory.edit(&queue, copy.clone());
            fs.write_at(&queue.path(), 0, &json::render(&copy)).unwrap();
            fs.truncate(&queue.path(), json::render(&copy).len() as u64).unwrap();
            let seen = |engine: &dyn Engine| {
                let found = engine.read(&queue).unwrap().unwrap();
                (found.value["tasks"].clone(), found.revision)
            };
            assert_eq!(seen(&memory), seen(&file), "as it is read: {action:?}");
        }
        let commits = action.age.is_none().then_some(action);
        past.push(commit(&memory, commits));
        assert_eq!(commit(&file, commits), *past.last().unwrap(), "{action:?}");
    }
    if segment_bytes == NORMAL {
        assert_eq!(told(&file), told(&memory));
        let has_asides = |engine: &dyn Engine| !engine.asides(&queue.room).unwrap().is_empty();
        assert_eq!(has_asides(&file), has_asides(&memory));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn engines_agree_on_edits(actions in actions()) {
        agree(&actions, NORMAL);
    }

    #[test]
    fn engines_agree_on_edits_while_segments_change(actions in actions()) {
        agree(&actions, TINY);
    }
}
