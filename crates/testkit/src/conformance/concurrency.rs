//! Isolation: one writer per room, readers who never wait and never see half of anything.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anthill_core::error::Code;
use anthill_core::model::kind::Doc;
use anthill_core::model::path::Path;
use anthill_core::model::room::Room;
use anthill_core::ops::edit::{self, Target};
use anthill_core::ops::history::{Terms, undo};
use anthill_core::store::{Document, Engine};
use serde_json::{Value, json};

use super::{Make, SOON, actor, change, doc, entry, mark, read, replayed, session_doc, task};

const THREADS: u64 = 8;
const APPENDS: u64 = 25;

pub fn isolation_a_transaction_sees_its_own_writes(make: Make<'_>) {
    let (engine, config, tools) = (make(SOON), doc("config"), doc("tools"));
    mark(&*engine, &config, 1);
    let mut transaction = engine.begin(&[&config.room]).unwrap();
    transaction.put(&config, json!({"mark": 2})).unwrap();
    assert_eq!(transaction.get(&config).unwrap(), Some(&json!({"mark": 2})));
    assert_eq!(transaction.revision(&config).unwrap(), 1, "the revision before this transaction");
    transaction.delete(&config).unwrap();
    assert_eq!(transaction.get(&config).unwrap(), None);
    transaction.put(&config, json!({"mark": 3})).unwrap();
    assert_eq!(transaction.get(&tools).unwrap(), None);
    assert_eq!(transaction.revision(&tools).unwrap(), 0);
    let committed = transaction.commit(&entry("test")).unwrap();
    assert_eq!((committed.documents.len(), committed.documents[0].1.revision), (1, 2));
    assert_eq!(read(&*engine, &config).unwrap().value["mark"], 3);
}

pub fn isolation_no_append_of_many_threads_is_lost_or_doubled(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    let path: Path = "tasks".parse().unwrap();
    let append = |engine: &dyn Engine, id: String| {
        let target = Target { doc: &queue, path: &path, expect: None };
        edit::append(engine, &target, task(&id, 5, 0), &actor()).unwrap().revision
    };
    let revisions: Vec<u64> = thread::scope(|scope| {
        let work = |thread| {
            let (engine, append) = (&*engine, &append);
            scope.spawn(move || {
                let ids = (0..APPENDS).map(|number| format!("t{thread}-{number}"));
                ids.map(|id| append(engine, id)).collect::<Vec<u64>>()
            })
        };
        let workers: Vec<_> = (0..THREADS).map(work).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let all: BTreeSet<u64> = (1..=THREADS * APPENDS).collect();
    assert_eq!(revisions.iter().copied().collect::<BTreeSet<_>>(), all, "every commit had its own revision");

    let document = read(&*engine, &queue).unwrap();
    assert_eq!(document.revision, THREADS * APPENDS);
    let ids: BTreeSet<_> = tasks(&document.value).iter().map(|task| task["id"].as_str().unwrap()).collect();
    assert_eq!((tasks(&document.value).len(), ids.len()), (all.len(), all.len()), "none lost, none doubled");

    let log = engine.log(&queue.room).unwrap();
    let logged: Vec<u64> = log.iter().map(|record| record.revision).collect();
    assert_eq!(logged, all.into_iter().collect::<Vec<_>>(), "each revision once, in order");
}

pub fn isolation_rooms_do_not_wait_for_each_other(make: Make<'_>) {
    let engine = make(SOON);
    let one = engine.begin(&[&doc("config").room]).unwrap();
    let other = engine.begin(&[&doc("queue").room]).unwrap();
    mark(&*engine, &session_doc("session", "s1"), 1);
    mark(&*engine, &session_doc("session", "s2"), 1);
    drop((one, other));
}

/// Whatever a reader gets is exactly the content of the revision it says, and it never goes back in time.
pub fn isolation_readers_see_whole_committed_revisions(make: Make<'_>) {
    let engine = make(SOON);
    for doc in [doc("queue"), doc("group_status")] {
        let done = AtomicBool::new(false);
        let seen = thread::scope(|scope| {
            let reader = || {
                let mut seen: Vec<Document> = Vec::new();
                while !done.load(Ordering::Relaxed) {
                    let found = read(&*engine, &doc);
                    seen.extend(found.filter(|found| seen.last() != Some(found)));
                }
                seen
            };
            let done = SetOnDrop(&done);
            let readers = [scope.spawn(reader), scope.spawn(reader)];
            for number in 1..=60 {
                change(&*engine, &doc, |value| value["mark"] = json!({"status": "pending", "n": number}));
            }
            drop(done);
            readers.map(|reader| reader.join().unwrap())
        });
        let history = replayed(&*engine, &doc);
        for seen in &seen {
            let order: Vec<_> = seen.iter().map(|document| document.revision).collect();
            assert!(order.is_sorted(), "time does not run backwards: {} {order:?}", doc.kind.name);
            for document in seen {
                let (_, content) = &history[document.revision as usize - 1];
                assert_eq!(Some(&document.value), content.as_ref(), "revision {}", document.revision);
            }
        }
    }
}

/// While others append, every undo takes back exactly one change and no append is run over.
pub fn isolation_undo_takes_back_no_change_of_others(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    let path: Path = "tasks".parse().unwrap();
    let target = Target { doc: &queue, path: &path, expect: None };
    thread::scope(|scope| {
        for thread in 0..4 {
            let (engine, target) = (&*engine, &target);
            scope.spawn(move || {
                for number in 0..10 {
                    let item = task(&format!("t{thread}-{number}"), 5, 0);
                    edit::append(engine, target, item, &actor()).unwrap();
                    if number % 2 == 1 {
                        undo(engine, &Target::whole(target.doc, None), Terms::default(), &actor()).unwrap();
                    }
                }
            });
        }
    });
    let mut before = json!([]);
    for (record, value) in replayed(&*engine, &queue) {
        let after = value.map_or(json!([]), |value| value["tasks"].clone());
        let grown = after.as_array().unwrap().len() as i64 - before.as_array().unwrap().len() as i64;
        assert_eq!(grown, if record.undoes.is_some() { -1 } else { 1 }, "revision {}", record.revision);
        before = after;
    }
    assert_eq!(before.as_array().unwrap().len(), 4 * (10 - 5));
}

pub fn second_transaction_waits_then_busy(make: Make<'_>) {
    let patience = Duration::from_millis(500);
    let (engine, config) = (make(patience), doc("config"));
    let open = engine.begin(&[&config.room]).unwrap();
    let began = Instant::now();
    let Err(error) = engine.begin(&[&config.room]) else { panic!("two transactions of one room are open") };
    assert_eq!(error.code(), Code::Busy);
    assert!(began.elapsed() >= patience, "it had patience");
    drop(open);
    mark(&*engine, &config, 1);
}

pub fn second_transaction_gets_in_when_the_first_ends(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    thread::scope(|scope| {
        let open = engine.begin(&[&config.room]).unwrap();
        let (began, begins) = mpsc::channel();
        let second = scope.spawn({
            let (engine, config) = (&*engine, &config);
            move || {
                began.send(()).unwrap();
                mark(engine, config, 1).revision
            }
        });
        begins.recv_timeout(SOON).unwrap();
        drop(open);
        assert_eq!(second.join().unwrap(), 1);
    });
}

pub fn reader_never_waits(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    let before = mark(&*engine, &config, 1);
    let mut transaction = engine.begin(&[&config.room]).unwrap();
    transaction.put(&config, json!({"mark": 2})).unwrap();
    let began = Instant::now();
    assert_eq!(read(&*engine, &config), Some(before));
    assert_eq!(replayed(&*engine, &config).len(), 1);
    assert_eq!(engine.log(&config.room).unwrap().len(), 1);
    assert_eq!(engine.documents(&config.room).unwrap(), std::slice::from_ref(&config));
    engine.rooms().unwrap();
    engine.watch(&config, None).unwrap().next(Some(SOON)).unwrap().unwrap();
    // Who waits for the transaction that we hold waits for all of its patience.
    assert!(began.elapsed() < SOON, "a reader waited {:?}", began.elapsed());
}

fn tasks(queue: &Value) -> &[Value] {
    queue["tasks"].as_array().unwrap()
}

/// Ends the other threads, also when a test panics before it said so.
struct SetOnDrop<'f>(&'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Threads that name two rooms in different orders, and one that takes only one of them.
pub fn isolation_who_takes_several_rooms_never_waits_for_ever(make: Make<'_>) {
    let (engine, config, queue) = (make(SOON), doc("config"), doc("queue"));
    mark(&*engine, &config, 0);
    mark(&*engine, &queue, 0);
    let count = |rooms: &[&Room], docs: &[&Doc]| {
        for _ in 0..20 {
            let mut transaction = engine.begin(rooms).unwrap();
            for doc in docs {
                let mut value = transaction.get(doc).unwrap().cloned().unwrap();
                value["mark"] = (value["mark"].as_i64().unwrap() + 1).into();
                transaction.put(doc, value).unwrap();
            }
            transaction.commit(&entry("count")).unwrap();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| count(&[&config.room, &queue.room], &[&config, &queue]));
        scope.spawn(|| count(&[&queue.room, &config.room], &[&queue, &config]));
        scope.spawn(|| count(&[&queue.room], &[&queue]));
    });
    assert_eq!(read(&*engine, &config).unwrap().value["mark"], 40);
    assert_eq!(read(&*engine, &queue).unwrap().value["mark"], 60);
}
