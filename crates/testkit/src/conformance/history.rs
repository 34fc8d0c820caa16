//! Order and history: what the log tells, and going back by it.

use anthill_core::error::Code;
use anthill_core::model::diff;
use anthill_core::model::kind::Doc;
use anthill_core::model::names::named;
use anthill_core::ops::Actor;
use anthill_core::ops::edit::Target;
use anthill_core::ops::history::{Terms, restore, undo};
use anthill_core::store::{Engine, Entry, Revision};
use serde_json::{Value, json};

use super::{Make, SOON, actor, change, change_with, delete, doc, entry, mark, read, replayed, session_doc};

/// Does a bit of everything to a document and returns its content after each revision.
fn eventful(engine: &dyn Engine) -> Vec<Option<Value>> {
    let config = doc("config");
    let mut contents = Vec::new();
    for number in 1..=40 {
        let edit = |value: &mut Value| match number % 4 {
            0 => value["list"] = json!([number, {"deep": [1, number]}, "x"]),
            1 => value["mark"] = number.into(),
            2 => drop(value.as_object_mut().unwrap().shift_remove("mark")),
            _ => value["features"]["enable_orchestration"] = (number % 8 == 3).into(),
        };
        contents.push(Some(change(engine, &config, edit).value));
        if number % 10 == 0 {
            delete(engine, &config);
            contents.push(None);
        }
        mark(engine, &doc("tools"), number);
    }
    contents
}

pub fn order_of_the_log_is_the_order_of_commits(make: Make<'_>) {
    let (engine, config, tools) = (make(SOON), doc("config"), doc("tools"));
    let mut expected = Vec::new();
    for number in 1..=15 {
        for doc in [&config, &tools] {
            let revision = mark(&*engine, doc, number).revision;
            expected.push((doc.kind.name.to_owned(), doc.key.clone(), revision));
        }
    }
    mark(&*engine, &session_doc("session", "elsewhere"), 1);
    let log = engine.log(&config.room).unwrap();
    let logged: Vec<_> =
        log.iter().map(|record| (record.kind.clone(), record.key.clone(), record.revision)).collect();
    assert_eq!(logged, expected);
    assert!(log.iter().all(|record| record.by == "tester" && record.op == "test" && record.undoes.is_none()));
    assert!(log.iter().all(|record| record.at == "2026-01-02T03:04:05.000Z"));
    let of_config: Vec<_> = log.into_iter().filter(|record| record.kind == "config").collect();
    let history: Vec<Revision> = replayed(&*engine, &config).into_iter().map(|(record, _)| record).collect();
    assert_eq!(history, of_config, "replay and log tell the same");
}

pub fn replay_gives_every_revision_with_its_content(make: Make<'_>) {
    let engine = make(SOON);
    let contents = eventful(&*engine);
    let history = replayed(&*engine, &doc("config"));
    let revisions: Vec<u64> = history.iter().map(|(record, _)| record.revision).collect();
    assert_eq!(revisions, (1..=contents.len() as u64).collect::<Vec<_>>());
    for ((record, content), expected) in history.iter().zip(&contents) {
        assert_eq!(content, expected, "revision {}", record.revision);
    }
}

/// The changes of a revision are exact: they lead from the content before it to the content after it.
pub fn changes_lead_from_one_revision_to_the_next(make: Make<'_>) {
    let engine = make(SOON);
    eventful(&*engine);
    let mut content = None;
    for (record, expected) in replayed(&*engine, &doc("config")) {
        content = match (&record.changes[..], content) {
            ([only], before) if only.path.is_empty() => {
                assert_eq!(only.before, before, "revision {}", record.revision);
                only.after.clone()
            }
            (changes, Some(mut value)) => {
                diff::apply(&mut value, changes).unwrap();
                Some(value)
            }
            (changes, None) => panic!("revision {}: {changes:?} of nothing", record.revision),
        };
        assert_eq!(content, expected, "revision {}", record.revision);
    }
}

pub fn undo_and_restore(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    let marked = || read(&*engine, &config).map(|document| document.value["mark"].as_u64().unwrap());
    (1..=4).for_each(|number| drop(mark(&*engine, &config, number)));

    assert_eq!(
        undo(&*engine, &Target::whole(&config, None), Terms::default(), &actor()).unwrap().revision,
        5
    );
    assert_eq!(marked(), Some(3));
    assert_eq!(
        undo(&*engine, &Target::whole(&config, None), Terms::default(), &actor()).unwrap().revision,
        6
    );
    assert_eq!(marked(), Some(2), "a second undo goes one further back");
    let undoes: Vec<_> = replayed(&*engine, &config).iter().map(|(record, _)| record.undoes).collect();
    assert_eq!(undoes, [None, None, None, None, Some(4), Some(3)]);

    assert_eq!(
        restore(&*engine, &Target::whole(&config, None), 4, Terms::default(), &actor()).unwrap().revision,
        7
    );
    assert_eq!(marked(), Some(4));
    undo(&*engine, &Target::whole(&config, None), Terms::default(), &actor()).unwrap();
    assert_eq!(marked(), Some(2), "a restore can be taken back");
    let unknown =
        restore(&*engine, &Target::whole(&config, None), 99, Terms::default(), &actor()).unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);

    undo(&*engine, &Target::whole(&config, None), Terms::default(), &actor()).unwrap();
    assert_eq!(marked(), Some(1));
    undo(&*engine, &Target::whole(&config, None), Terms::default(), &actor()).unwrap();
    assert_eq!(marked(), None, "before the first revision there was nothing");
    let nothing = undo(&*engine, &Target::whole(&config, None), Terms::default(), &actor()).unwrap_err();
    assert_eq!(nothing.code(), Code::Refused);
}

pub fn undo_of_a_delete_brings_it_back(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    let before = mark(&*engine, &config, 1);
    delete(&*engine, &config);
    let undone = undo(&*engine, &Target::whole(&config, None), Terms::default(), &actor()).unwrap();
    assert_eq!((undone.revision, &undone.value.unwrap()["mark"]), (3, &json!(1)));
    let after = read(&*engine, &config).unwrap();
    assert_eq!(after.revision, 3);
    assert_eq!(after.value["global"], before.value["global"]);
}

pub fn restore_to_nothing_deletes(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    mark(&*engine, &config, 1);
    delete(&*engine, &config);
    mark(&*engine, &config, 3);
    let restored = restore(&*engine, &Target::whole(&config, None), 2, Terms::default(), &actor()).unwrap();
    assert_eq!((restored.revision, restored.value), (4, None));
    assert_eq!(read(&*engine, &config), None);
    let again = restore(&*engine, &Target::whole(&config, None), 2, Terms::default(), &actor()).unwrap();
    assert_eq!(again.revision, 4, "nothing to do, no new revision");
    assert_eq!(replayed(&*engine, &config).len(), 4);
}

/// Returns what `look_back` tells, up to a number.
fn told(engine: &dyn Engine, doc: &Doc, only: bool, most: usize) -> Vec<Revision> {
    let mut told = Vec::new();
    let mut visit = |record| {
        told.push(record);
        told.len() < most
    };
    engine.look_back(&doc.room, only.then_some(doc), &mut visit).unwrap();
    told
}

pub fn looking_back_tells_the_log_from_its_end(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    assert_eq!(told(&*engine, &config, false, 9), [], "nothing was ever there");
    eventful(&*engine);
    let mut log = engine.log(&config.room).unwrap();
    log.reverse();
    assert_eq!(told(&*engine, &config, false, usize::MAX), log);
    assert_eq!(told(&*engine, &config, false, 7), log[..7], "and no further than asked for");
    log.retain(|record| record.is_of(&config));
    assert_eq!(told(&*engine, &config, true, usize::MAX), log);
    assert_eq!(told(&*engine, &config, true, 1), log[..1]);
}

fn task(id: u64, status: &str) -> Value {
    let created = "2026-01-01T00:00:00Z";
    json!({"id": format!("t{id}"), "description": "x", "status": status, "priority": id % 3 + 1, "created_at": created})
}

/// Numbers without a pattern, the same for every engine.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Does something to a queue of tasks, in one commit.
fn disturb(engine: &dyn Engine, next: &mut impl FnMut(u64) -> u64, number: u64) {
    let queue = doc("queue");
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    let ids: Vec<String> = transaction.get(&queue).unwrap().map_or(Vec::new(), |value| {
        value["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| task["id"].as_str().unwrap().to_owned())
            .collect()
    });
    drop(transaction);
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    let pick = |next: &mut dyn FnMut(u64) -> u64| ids[next(ids.len() as u64) as usize].clone();
    match next(6) {
        _ if ids.len() < 3 => {
            transaction.put_item(&queue, &format!("t{number}"), task(number, "available")).unwrap();
        }
        0 => transaction.put_item(&queue, &format!("t{number}"), task(number, "available")).unwrap(),
        1 => {
            for step in 0..2 {
                let id = format!("t{}", number + 1000 * step);
                transaction.put_item(&queue, &id, task(number + 1000 * step, "created")).unwrap();
            }
        }
        2 => transaction.remove_items(&queue, &[&pick(next)]).unwrap(),
        3 => {
            let mut value = transaction.get(&queue).unwrap().unwrap().clone();
            value["note"] = number.into();
            value["tasks"].as_array_mut().unwrap().swap(0, 2);
            transaction.put(&queue, value).unwrap();
        }
        _ => {
            for _ in 0..2 {
                let id = pick(next);
                let mut item = transaction.item(&queue, &id).unwrap().unwrap();
                item["status"] = ["available", "failed", "created"][next(3) as usize].into();
                item["description"] = "word ".repeat(next(40) as usize).into();
                transaction.put_item(&queue, &id, item).unwrap();
            }
        }
    }
    transaction.commit(&entry("test")).unwrap();
}

/// A queue without what every commit stamps on it.
fn bare(engine: &dyn Engine) -> Value {
    let mut value = read(engine, &doc("queue")).unwrap().value;
    ["revision", "updated_at", "last_updated"]
        .iter()
        .for_each(|stamp| drop(value.as_object_mut().unwrap().shift_remove(*stamp)));
    value
}

/// Whatever a commit did, undo gives exactly the document before it, once and again; and restore any of them.
pub fn undo_of_any_commit_gives_the_document_before(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    mark(&*engine, &queue, 1);
    let mut next = numbers(7);
    let mut states = vec![(1, bare(&*engine))];
    let terms = Terms { force: true, dry_run: false };
    for number in 0..60 {
        disturb(&*engine, &mut next, number);
        let before = states.last().unwrap().1.clone();
        let done = read(&*engine, &queue).unwrap().revision;
        let dry =
            undo(&*engine, &Target::whole(&queue, None), Terms { dry_run: true, ..terms }, &actor()).unwrap();
        assert_eq!(read(&*engine, &queue).unwrap().revision, done, "a dry run changes nothing");
        if next(3) > 0 {
            states.push((done, bare(&*engine)));
            continue;
        }
        let undone = undo(&*engine, &Target::whole(&queue, None), terms, &actor()).unwrap();
        assert_eq!((undone.revision, &undone.changes), (done + 1, &dry.changes));
        assert_eq!(bare(&*engine), before, "{number}: {:?}", undone.taken);
    }
    let (revision, state) = &states[states.len() / 2];
    restore(&*engine, &Target::whole(&queue, None), *revision, terms, &actor()).unwrap();
    assert_eq!(&bare(&*engine), state);
    undo(&*engine, &Target::whole(&queue, None), terms, &actor()).unwrap();
    for (_, state) in states.iter().rev() {
        assert_eq!(&bare(&*engine), state, "again and again");
        undo(&*engine, &Target::whole(&queue, None), terms, &actor()).unwrap();
    }
}

/// The items that a change leads into are known by their ids, whatever becomes of the list.
pub fn changes_know_the_items_that_they_are_about(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    mark(&*engine, &queue, 1);
    let put = |item: Value| {
        let mut transaction = engine.begin(&[&queue.room]).unwrap();
        transaction.put_item(&queue, item["id"].as_str().unwrap(), item.clone()).unwrap();
        transaction.commit(&entry("test")).unwrap();
    };
    (1..=3).for_each(|id| put(task(id, "available")));
    put(task(2, "failed"));
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    transaction.remove_items(&queue, &["t1"]).unwrap();
    transaction.commit(&entry("test")).unwrap();
    put(task(3, "failed"));
    let paths: Vec<_> = told(&*engine, &queue, true, usize::MAX)
        .iter()
        .rev()
        .flat_map(|record| {
            record.changes.iter().map(|change| named(change, &record.names)).collect::<Vec<_>>()
        })
        .filter(|path| path.starts_with("tasks"))
        .collect();
    let added = ["tasks[id=t1]", "tasks[id=t2]", "tasks[id=t3]"];
    assert_eq!(paths[..3], added);
    assert_eq!(paths[3..], ["tasks[id=t2].status", "tasks[id=t1]", "tasks[id=t3].status"]);
}

pub fn others_changes_are_taken_back_by_force_only(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    mark(&*engine, &config, 1);
    let by_session = Entry { by: "w1".into(), author: Some("s1".into()), ..entry("test") };
    change_with(&*engine, &config, &by_session, |value| value["mark"] = 2.into());
    let whole = Target::whole(&config, None);
    for refused in [
        undo(&*engine, &whole, Terms::default(), &actor()),
        restore(&*engine, &whole, 1, Terms::default(), &actor()),
    ] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::Refused);
        assert!(refused.to_string().contains("revision 2 (test) by w1 for s1"), "{refused}");
    }
    let itself = Actor { session: Some("s1".into()), ..actor() };
    assert_eq!(undo(&*engine, &whole, Terms::default(), &itself).unwrap().revision, 3);
    let back = undo(&*engine, &whole, Terms { force: true, dry_run: true }, &itself).unwrap();
    assert_eq!((&back.others[..], back.taken[0].revision), (&["tester".to_owned()][..], 1));
}
