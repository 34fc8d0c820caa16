//! Picking and items: the best first, one by its id.

use std::thread;

use anthill_core::model::documents::queue::QueueTask;
use anthill_core::model::files;
use anthill_core::model::listing::{Among, Marks, Most};
use anthill_core::model::marks;
use anthill_core::model::time::Moment;
use anthill_core::store::texts::Texts;
use anthill_core::store::{Engine, Rank, Transaction};
use serde_json::{Value, json};

use super::{Make, SOON, add_tasks, change, doc, entry, read, task};

fn id(item: &Value) -> &str {
    item["id"].as_str().unwrap()
}

/// Returns the ids in the order in which they are offered.
fn offered(transaction: &mut dyn Transaction) -> Vec<String> {
    let (mut ids, mut after): (_, Option<Rank>) = (Vec::new(), None);
    while let Some((rank, item)) = transaction.best(&doc("queue"), after, &Marks::default()).unwrap() {
        assert!(after.is_none_or(|after| rank > after), "the order only goes forward");
        ids.push(id(&item).to_owned());
        after = Some(rank);
    }
    ids
}

fn offered_by(engine: &dyn Engine) -> Vec<String> {
    offered(&mut *engine.begin(&[&doc("queue").room]).unwrap())
}

pub fn picking_best_first_by_priority_age_position(make: Make<'_>) {
    let engine = make(SOON);
    assert_eq!(offered_by(&*engine), [""; 0], "there is no queue yet");
    let mut tasks = vec![
        task("young", 2, 1),
        task("late", 9, 100),
        task("old", 2, 10),
        task("first-of-two", 5, 3),
        task("urgent", 1, 0),
        task("second-of-two", 5, 3),
    ];
    for (status, number) in
        ["created", "claimed", "in_progress", "done", "failed", "cancelled"].iter().zip(0..)
    {
        let mut busy = task(&format!("busy-{number}"), 1, 1000);
        busy["status"] = (*status).into();
        tasks.insert(number, busy);
    }
    tasks.push(json!({"id": "plain", "description": "no priority, no age", "status": "available"}));
    add_tasks(&*engine, tasks);
    let expected = ["urgent", "old", "young", "plain", "first-of-two", "second-of-two", "late"];
    assert_eq!(offered_by(&*engine), expected);
}

pub fn picking_walks_the_whole_order_without_repeating(make: Make<'_>) {
    let engine = make(SOON);
    let number = |index: u64| index * 7919 % 97;
    add_tasks(
        &*engine,
        (0..97)
            .map(|index| {
                task(&format!("t{}", number(index)), number(index) % 10 + 1, (number(index) % 4) as i64)
            })
            .collect(),
    );
    let walked = offered_by(&*engine);
    let mut sorted: Vec<(u64, i64, u64)> =
        (0..97).map(|index| (number(index) % 10 + 1, -((number(index) % 4) as i64), index)).collect();
    sorted.sort_unstable();
    let expected: Vec<_> = sorted.iter().map(|(_, _, index)| format!("t{}", number(*index))).collect();
    assert_eq!(walked, expected);
}

pub fn picking_sees_own_writes(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    add_tasks(&*engine, vec![task("a", 1, 5), task("b", 2, 5)]);
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    let mut claimed = task("a", 1, 5);
    claimed["status"] = "claimed".into();
    transaction.put_item(&queue, "a", claimed).unwrap();
    assert_eq!(offered(&mut *transaction), ["b"]);
    transaction.put_item(&queue, "c", task("c", 1, 1)).unwrap();
    assert_eq!(offered(&mut *transaction), ["c", "b"]);
    drop(transaction);
    assert_eq!(offered_by(&*engine), ["a", "b"]);
}

pub fn picking_passes_over_what_is_marked(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    let with = |id: &str, priority, files: &[&str], needs: &[&str]| {
        let mut task = task(id, priority, 0);
        (task["context"], task["required_capabilities"]) = (json!({"files": files}), json!(needs));
        task
    };
    let mut tasks: Vec<_> = (0..100)
        .map(|number| with(&format!("src-{number}"), 2, &[&format!("src/{number}.rs")], &[]))
        .collect();
    tasks.extend((0..100).map(|number| with(&format!("gpu-{number}"), 3, &["src/a.rs", "docs"], &["gpu"])));
    tasks.extend([with("docs", 5, &["docs/a.md"], &[]), with("wild", 6, &["src/*.rs"], &["gpu"])]);
    tasks.push(with("free", 9, &[], &[]));
    add_tasks(&*engine, tasks);
    let left = |transaction: &mut dyn Transaction, marks: &[u64]| {
        let (mut ids, mut after, marks) = (Vec::new(), None, marks.iter().copied().collect());
        while let Some((rank, item)) = transaction.best(&queue, after, &marks).unwrap() {
            ids.push(id(&item).to_owned());
            after = Some(rank);
        }
        ids
    };
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    let src = marks::shut_by(&["src"]);
    assert_eq!(left(&mut *transaction, &src), ["docs", "free"]);
    assert_eq!(left(&mut *transaction, &[src, marks::shut_by(&["docs/a.md"])].concat()), ["free"]);
    assert_eq!(left(&mut *transaction, &[marks::need("gpu")]).len(), 102);
    assert_eq!(left(&mut *transaction, &[marks::kin(&["gpu"], &["src/a.rs", "docs"])]).len(), 103);
    assert_eq!(left(&mut *transaction, &marks::shut_by(&["**"])), ["free"], "the whole project");
    // It sees its own writes: other files, another priority, and what is new.
    transaction.put_item(&queue, "src-7", with("src-7", 8, &["lib/7.rs"], &[])).unwrap();
    transaction.put_item(&queue, "docs", with("docs", 8, &["docs/a.md"], &["gpu"])).unwrap();
    transaction.put_item(&queue, "new", with("new", 1, &["src/new.rs"], &[])).unwrap();
    transaction.put_item(&queue, "other", with("other", 1, &["lib"], &[])).unwrap();
    let src = marks::shut_by(&["src"]);
    assert_eq!(left(&mut *transaction, &src), ["other", "src-7", "docs", "free"]);
    assert_eq!(
        left(&mut *transaction, &[src, vec![marks::need("gpu")]].concat()),
        ["other", "src-7", "free"]
    );
}

pub fn picking_by_many_threads_gives_each_task_once(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    add_tasks(&*engine, (0..40).map(|number| task(&format!("t{number}"), number % 10 + 1, 0)).collect());
    let claim = |worker: &str| {
        let mut transaction = engine.begin(&[&queue.room]).unwrap();
        let (_, mut task) = transaction.best(&queue, None, &Marks::default()).unwrap()?;
        task["status"] = "claimed".into();
        task["claimed_by"] = worker.into();
        let id = id(&task).to_owned();
        transaction.put_item(&queue, &id, task).unwrap();
        transaction.commit(&entry("claim")).unwrap();
        Some(id)
    };
    let mut claimed: Vec<String> = thread::scope(|scope| {
        let worker = |number| {
            let claim = &claim;
            scope.spawn(move || std::iter::from_fn(|| claim(&format!("w{number}"))).collect::<Vec<_>>())
        };
        let workers: Vec<_> = (0..8).map(worker).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    claimed.sort_unstable();
    let mut expected: Vec<_> = (0..40).map(|number| format!("t{number}")).collect();
    expected.sort_unstable();
    assert_eq!(claimed, expected);
    assert_eq!(read(&*engine, &queue).unwrap().revision, 41);
}

pub fn items_by_id(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    add_tasks(&*engine, vec![task("a", 1, 0), task("b", 2, 0)]);
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    assert_eq!(transaction.item(&queue, "b").unwrap(), Some(task("b", 2, 0)));
    assert_eq!(transaction.item(&queue, "c").unwrap(), None);
    transaction.put_item(&queue, "a", task("a", 9, 0)).unwrap();
    transaction.put_item(&queue, "c", task("c", 3, 0)).unwrap();
    assert_eq!(transaction.item(&queue, "a").unwrap(), Some(task("a", 9, 0)), "it sees its own writes");
    transaction.commit(&entry("test")).unwrap();
    let tasks = read(&*engine, &queue).unwrap().value["tasks"].clone();
    assert_eq!(tasks, json!([task("a", 9, 0), task("b", 2, 0), task("c", 3, 0)]), "each in its place");
    let mut transaction = engine.begin(&[&doc("tools").room]).unwrap();
    assert_eq!(transaction.item(&doc("tools"), "a").unwrap(), None, "there is no such document");
}

pub fn items_by_key_where_the_list_is_a_map(make: Make<'_>) {
    let engine = make(SOON);
    for (doc, field) in [(doc("tools"), Some("tools")), (doc("group_status"), None)] {
        change(&*engine, &doc, |_| {});
        let mut transaction = engine.begin(&[&doc.room]).unwrap();
        assert_eq!(transaction.item(&doc, "a").unwrap(), None);
        transaction.put_item(&doc, "a", json!({"x": 1})).unwrap();
        transaction.put_item(&doc, "b", json!({"x": 2})).unwrap();
        transaction.put_item(&doc, "a", json!({"x": 3})).unwrap();
        assert_eq!(transaction.item(&doc, "a").unwrap(), Some(json!({"x": 3})));
        transaction.commit(&entry("test")).unwrap();
        let value = read(&*engine, &doc).unwrap().value;
        let map = field.map_or(&value, |field| &value[field]);
        assert_eq!((&map["a"]["x"], &map["b"]["x"]), (&json!(3), &json!(2)));
    }
}

pub fn items_by_standing(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    let mut waiting = task("c", 1, 0);
    waiting["status"] = "created".into();
    waiting["dependencies"] = json!(["a", "b"]);
    add_tasks(&*engine, vec![task("a", 1, 0), task("b", 2, 0), waiting]);
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    let found = |transaction: &mut dyn Transaction, among| -> Vec<String> {
        let items = transaction.find(&queue, among).unwrap();
        items.iter().map(|item| id(item).to_owned()).collect()
    };
    assert_eq!(found(&mut *transaction, Among::InNeedOf("a")), ["c"]);
    assert_eq!(found(&mut *transaction, Among::InNeedOf("b")), ["c"]);
    assert_eq!(found(&mut *transaction, Among::Active), [""; 0]);
    assert_eq!(transaction.counts(&queue).unwrap(), [1, 2, 0, 0, 0, 0, 0, 0]);
    for (name, status) in [("b", "claimed"), ("a", "done"), ("b", "done")] {
        assert_eq!(found(&mut *transaction, Among::Loose), [""; 0]);
        let mut changed = transaction.item(&queue, name).unwrap().unwrap();
        changed["status"] = status.into();
        transaction.put_item(&queue, name, changed).unwrap();
        let active = if status == "claimed" || name == "a" { vec!["b"] } else { vec![] };
        assert_eq!(found(&mut *transaction, Among::Active), active, "it sees its own writes");
    }
    assert_eq!(found(&mut *transaction, Among::Loose), ["c"]);
    assert_eq!(transaction.counts(&queue).unwrap(), [1, 0, 0, 0, 2, 0, 0, 0]);
    transaction.commit(&entry("work")).unwrap();
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    assert_eq!(found(&mut *transaction, Among::Loose), ["c"]);
    assert_eq!(transaction.counts(&queue).unwrap(), [1, 0, 0, 0, 2, 0, 0, 0]);
}

/// An engine need not answer; but what it answers is true.
pub fn items_seen_from_above(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    let most = Most { ready: 1, waiting: 1, done: 1 };
    assert_eq!(engine.overview(&queue, most).unwrap(), None, "there is no queue yet");
    assert!(!engine.each_item(&queue, &mut |_| {}).unwrap());
    let with = |id: &str, priority, status: &str, field: &str, value: Value| {
        let mut task = task(id, priority, 0);
        task["status"] = status.into();
        task[field] = value;
        task
    };
    let tasks = vec![
        with("second", 2, "available", "dependencies", json!(["early"])),
        with("first", 1, "available", "dependencies", json!(["late", "late"])),
        with("timed", 9, "available", "next_retry_at", "2026-01-01T00:00:00Z".into()),
        with("barred", 9, "available", "dependencies", json!(["busy"])),
        with("loose", 9, "created", "dependencies", json!(["early"])),
        with("waits", 3, "created", "dependencies", json!(["failed", "nobody"])),
        with("waits-too", 3, "created", "dependencies", json!(["off"])),
        with("early", 1, "done", "completed_at", "2026-01-01T00:00:00Z".into()),
        with("late", 1, "done", "completed_at", "2026-01-01T01:00:00+00:30".into()),
        with("dateless", 1, "done", "completed_at", Value::Null),
        with("busy", 1, "claimed", "claimed_by", "w".into()),
        with("failed", 1, "failed", "claimed_by", "w".into()),
        with("off", 1, "cancelled", "claimed_by", "w".into()),
    ];
    add_tasks(&*engine, tasks.clone());
    if let Some(overview) = engine.overview(&queue, most).unwrap() {
        let ids: Vec<_> = overview.items.iter().map(id).collect();
        assert_eq!(ids, ["first", "timed", "barred", "loose", "waits", "late", "busy", "failed"]);
        assert!(overview.items.iter().all(|item| tasks.contains(item)));
        let counts: Vec<_> = overview.counts.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [3, 4, 1, 0, 3, 1, 1, 0]);
        let mut needed: Vec<_> = overview.needed.into_iter().collect();
        needed.sort_unstable();
        let needed: Vec<_> = needed.iter().map(|(id, word)| (&**id, *word)).collect();
        assert_eq!(needed, [("busy", "claimed"), ("early", "done"), ("failed", "failed"), ("late", "done")]);
    }
    let mut texts: Vec<Value> = Vec::new();
    if engine.each_item(&queue, &mut |raw| texts.push(serde_json::from_slice(raw.text()).unwrap())).unwrap() {
        assert_eq!(tasks, texts);
    }
}

/// What an engine does not know it must not deny: a lease that has run out is found, and so is what somebody has in hand.
pub fn picking_tells_what_is_due_and_occupied(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    let active = |id: &str, ends: &str, file: &str| {
        let mut task = task(id, 5, 0);
        task["status"] = "claimed".into();
        task["claimed_by"] = "w1".into();
        task["lease"] = json!({"epoch": 1, "expires_at": ends});
        task["context"] = json!({ "files": [file] });
        task
    };
    let tasks = vec![
        active("over", "2026-01-02T03:04:00Z", "src/a.rs"),
        active("held", "2026-01-02T04:00:00Z", "src/b.rs"),
        task("open", 5, 0),
    ];
    add_tasks(&*engine, tasks);
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    let now = Moment { at: super::now(), boot: None };
    assert!(transaction.may_be_due(&queue, &now).unwrap());
    let due = transaction.due(&queue, &now).unwrap();
    assert!(due.iter().any(|task| id(task) == "over"));
    assert!(due.iter().all(|task| id(task) != "open"), "nobody has it");
    for file in ["src/a.rs", "src/b.rs"] {
        let keys = files::asked_for(&[file]).expect("a plain path");
        assert!(transaction.may_be_occupied(&queue, &keys).unwrap(), "{file}");
    }
}

pub fn items_are_appended_and_removed(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    add_tasks(&*engine, vec![task("a", 1, 0), task("b", 2, 0)]);
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    let mut more = Texts::default();
    more.push(|item| {
        item.text(QueueTask::id, "c");
        item.text(QueueTask::description, "c");
        item.text(QueueTask::status, "available");
    });
    if let Some(taken) = transaction.taken(&queue, &["a", "c"]).unwrap() {
        assert_eq!(taken, [true, false]);
    }
    transaction.extend(&queue, more).unwrap();
    assert_eq!(id(&transaction.item_at(&queue, 2).unwrap().unwrap()), "c");
    assert_eq!(transaction.item_at(&queue, 3).unwrap(), None);
    transaction.remove_items(&queue, &["a", "nobody"]).unwrap();
    assert!(transaction.exists(&queue).unwrap());
    let frame = transaction.frame(&queue).unwrap().unwrap();
    assert_eq!(frame["tasks"], json!([]), "a frame has no items");
    transaction.commit(&entry("test")).unwrap();
    let tasks = read(&*engine, &queue).unwrap().value["tasks"].clone();
    let ids: Vec<_> = tasks.as_array().unwrap().iter().map(id).collect();
    assert_eq!(ids, ["b", "c"]);
}
