//! A person saves a file right before every call of a commit; and the process dies at every call after that.

use anthill_core::model::kind::Doc;
use anthill_core::ops;
use anthill_core::store::Engine;
use anthill_core::store::file::addresses::DocFiles;
use anthill_testkit::effort::sample;
use anthill_testkit::sim_fs::{Plan, Save, SimFs};
use serde_json::{Value, json};

use crate::scenarios::{Failure, Store, claim, doc, remove};

/// One document, a commit of it, and an edit of the state before that.
struct Edited {
    name: &'static str,
    kind: &'static str,
    prepare: fn(&Store),
    act: fn(&Store) -> Result<(), Failure>,
    edit: fn(&mut Value),
    /// Whether the commit, and the edit, are in a document.
    has_commit: fn(&Value) -> bool,
    has_edit: fn(&Value) -> bool,
}

const CASES: &[Edited] = &[
    Edited {
        name: "a document",
        kind: "config",
        prepare: |store| store.set("config", "marker", json!("old")).unwrap(),
        act: |store| store.set("config", "marker", json!("new")),
        edit: |value| value["by_hand"] = json!("a text that makes it longer than it was before"),
        has_commit: |value| value["marker"] == "new",
        has_edit: |value| value["by_hand"].is_string(),
    },
    Edited {
        name: "an item of a list",
        kind: "queue",
        prepare: |store| (0..4).for_each(|id| put(store, &format!("t{id}"), "old").unwrap()),
        act: |store| put(store, "t1", "new"),
        edit: |value| {
            value["tasks"][2]["description"] = json!("a text that makes it longer than it was before");
        },
        has_commit: |value| value["tasks"][1]["description"] == "new",
        has_edit: |value| value["tasks"][2]["description"] != "old",
    },
    Edited {
        name: "the last item of a list, which goes",
        kind: "queue",
        prepare: |store| (0..5).for_each(|id| put(store, &format!("t{id}"), "old").unwrap()),
        act: |store| remove(store, "t4"),
        edit: |value| value["tasks"][1]["description"] = json!("other"),
        has_commit: |value| value["tasks"].as_array().is_some_and(|tasks| tasks.len() == 4),
        has_edit: |value| value["tasks"][1]["description"] == "other",
    },
    Edited {
        name: "a long list, written anew",
        kind: "queue",
        prepare: |store| (0..4).for_each(|id| put(store, &format!("t{id}"), "old").unwrap()),
        act: |store| put(store, "t0", &"new ".repeat(900)),
        edit: |value| value["tasks"][2]["description"] = json!("other"),
        has_commit: |value| {
            value["tasks"][0]["description"].as_str().is_some_and(|text| text.starts_with("new"))
        },
        has_edit: |value| value["tasks"][2]["description"] == "other",
    },
];

fn put(store: &Store, id: &str, text: &str) -> Result<(), Failure> {
    let queue = doc("queue");
    let mut transaction = store.engine.begin(&[&queue.room])?;
    if !transaction.exists(&queue)? {
        transaction.put(&queue, queue.default(crate::scenarios::now()))?;
    }
    transaction.put_item(&queue, id, json!({"id": id, "description": text, "status": "available"}))?;
    Ok(transaction.commit(&crate::scenarios::entry(anthill_core::store::Durability::Synced)).map(drop)?)
}

/// Returns what a new process makes of the disk: the document, after a commit that takes the edit in.
fn settle(case: &Edited, disk: &SimFs, point: &str) -> Value {
    let (store, doc) = (Store::new(&disk.after_kill(), 1 << 20), doc(case.kind));
    let before =
        store.engine.read(&doc).unwrap_or_else(|error| panic!("{point}: {error}")).expect(point).value;
    let touch = match case.kind {
        "queue" => put(&store, "t3", "later"),
        kind => store.set(kind, "later", json!(1)),
    };
    touch.unwrap_or_else(|error| panic!("{point}: {error:?}"));
    let after = store.engine.read(&doc).unwrap().expect(point).value;
    assert_eq!((case.has_commit)(&before), (case.has_commit)(&after), "{point}: a reader saw something else");
    let findings = ops::doctor::doctor(&store.engine, false).unwrap();
    assert!(findings.is_empty(), "{point}: {findings:?}");
    after
}

fn is_kept_aside(disk: &SimFs) -> bool {
    disk.files().iter().any(|path| path.contains("/aside/") || path.contains("/quarantine/"))
}

fn check(case: &Edited, disk: &SimFs, result: &Result<(), Failure>, point: &str) {
    let found = settle(case, disk, point);
    if result.is_ok() {
        assert!((case.has_commit)(&found), "{point}: the commit is undone: {found}");
    }
    assert!((case.has_edit)(&found) || is_kept_aside(disk), "{point}: the edit is lost: {found}");
}

#[test]
fn an_edit_at_any_moment_of_a_commit_is_joined_with_it() {
    let mut points = 0;
    for (case, in_place) in CASES.iter().flat_map(|case| [(case, true), (case, false)]) {
        let disk = SimFs::new();
        (case.prepare)(&Store::new(&disk, 1 << 20));
        let doc: Doc = doc(case.kind);
        let mut edit = Store::new(&disk, 1 << 20).engine.read(&doc).unwrap().unwrap().value;
        (case.edit)(&mut edit);
        let save = Save { path: doc.path(), bytes: anthill_core::model::json::render(&edit), in_place };
        let run = |call: usize, plan: Plan| {
            let fs = disk.after_kill();
            let store = Store::new(&fs, 1 << 20);
            fs.set_plan(plan);
            fs.set_save(call, save.clone());
            let result = (case.act)(&store);
            (fs, result)
        };
        let calls = run(usize::MAX, Plan::None).0.calls();
        for call in 1..=calls {
            let (fs, result) = run(call, Plan::None);
            let told = format!("{}, in place: {in_place}, saved before call {call}", case.name);
            let last = fs.calls();
            check(case, &fs, &result, &format!("{told} {:?} -> {result:?}", fs.trace().get(call - 1)));
            for death in sample(&told, 6, call..=last) {
                for plan in [Plan::KillAt(death), Plan::KillMid(death), Plan::KillAfter(death)] {
                    let (fs, result) = run(call, plan);
                    let point = format!("{told}, {plan:?} at {:?} -> {result:?}", fs.trace().last());
                    check(case, &fs, &result, &point);
                    points += 1;
                }
            }
        }
    }
    assert!(points > 500, "{points} points");
}

/// Whoever writes in place goes on in the file that they opened: it has to be the document again after every commit.
#[test]
fn a_file_that_is_half_saved_stays_where_it_is_being_saved() {
    for case in CASES {
        let disk = SimFs::new();
        (case.prepare)(&Store::new(&disk, 1 << 20));
        let doc: Doc = doc(case.kind);
        let mut edit = Store::new(&disk, 1 << 20).engine.read(&doc).unwrap().unwrap().value;
        (case.edit)(&mut edit);
        let bytes = anthill_core::model::json::render(&edit);
        let half = bytes[..bytes.len() / 2].to_vec();
        let run = |call: usize| {
            let fs = disk.after_kill();
            fs.set_save(call, Save { path: doc.path(), bytes: half.clone(), in_place: true });
            let result = (case.act)(&Store::new(&fs, 1 << 20));
            (fs, result)
        };
        let calls = run(usize::MAX).0.calls();
        for call in 1..=calls {
            let (fs, result) = run(call);
            let point = format!("{}, half saved before call {call} of {calls} -> {result:?}", case.name);
            assert_eq!(fs.get(&doc.path()).as_deref(), Some(&half[..]), "{point}");
            assert!(!is_kept_aside(&fs), "{point}");
            fs.put(&doc.path(), &bytes);
            check(case, &fs, &result, &point);
            assert!(!is_kept_aside(&fs), "{point}");
        }
    }
}

/// Whatever command takes an edit in, it does so by the rules of the queue, and tells of it once.
#[test]
fn a_task_that_is_set_free_at_any_moment_of_a_claim_is_free() {
    for in_place in [true, false] {
        let disk = SimFs::new();
        let store = Store::new(&disk, 1 << 20);
        (0..6).for_each(|id| put(&store, &format!("t{id}"), "old").unwrap());
        claim(&store, "w1").unwrap();
        let queue = doc("queue");
        let mut edit = store.engine.read(&queue).unwrap().unwrap().value;
        (edit["tasks"][0]["status"], edit["tasks"][0]["claimed_by"]) = (json!("available"), Value::Null);
        let save = Save { path: queue.path(), bytes: anthill_core::model::json::render(&edit), in_place };
        let run = |call: usize| {
            let fs = disk.after_kill();
            fs.set_save(call, save.clone());
            let result = claim(&Store::new(&fs, 1 << 20), "w2");
            (fs, result)
        };
        for call in 1..=run(usize::MAX).0.calls() {
            let (fs, result) = run(call);
            let point = format!(
                "in place: {in_place}, saved before call {call} {:?} -> {result:?}",
                fs.trace().get(call - 1)
            );
            let fs = fs.after_kill();
            let store = Store::new(&fs, 1 << 20);
            ["w3", "w4"].iter().for_each(|worker| claim(&store, worker).unwrap());
            let log = fs.get(".coordination/logs/leader.log").unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            assert_eq!(log.matches("t0 set from claimed to available by hand").count(), 1, "{point}: {log}");
            let found = store.engine.read(&queue).unwrap().unwrap().value;
            assert_eq!(found["tasks"][0]["last_claim"]["by"], "w1", "{point}: {found}");
            assert_ne!(found["tasks"][0]["lease"]["epoch"], 1, "{point}: {found}");
        }
    }
}
