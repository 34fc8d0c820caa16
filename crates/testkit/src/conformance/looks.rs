//! Quick looks agree with reading; seats, time, and what a transaction is told beforehand.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anthill_core::model::kind::Doc;
use anthill_core::model::room::Room;
use anthill_core::model::time::Clock;
use anthill_core::store::Expected;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    Make, QUIET, SOON, add_tasks, change, delete, doc, entry, kind, mark, now, read, session_doc, task,
};

pub fn quick_looks_agree_with_reading(make: Make<'_>) {
    let engine = make(SOON);
    for doc in [doc("config"), doc("queue"), doc("work_queue"), session_doc("session", "s1")] {
        let name = doc.kind.name;
        assert_eq!(engine.written_at(&doc), None, "{name}");
        assert!(engine.read_some(&doc, &mut |_| true).unwrap().is_none(), "{name}");
        assert_eq!(engine.glimpse(&doc).unwrap(), None, "{name}");
        assert_eq!(engine.text(&doc).unwrap(), None, "{name}");
        change(&*engine, &doc, |value| value["word"] = "needle".into());
        assert!(!engine.is_absent(&doc), "{name} is there");
        assert!(!engine.lacks(&doc, "needle"), "{name} has it");
        assert!(engine.written_at(&doc).is_some(), "{name} was written");
        let document = read(&*engine, &doc).unwrap();
        assert_eq!(engine.read_some(&doc, &mut |_| true).unwrap(), Some(document.clone()), "{name}");
        let text: Value = serde_json::from_slice(&engine.text(&doc).unwrap().unwrap()).unwrap();
        assert_eq!(text, document.value, "{name}");
        if let Some(glimpse) = engine.glimpse(&doc).unwrap() {
            let fields = glimpse.value.as_object().unwrap();
            assert!(fields.iter().all(|(field, value)| document.value[field] == *value), "{name}");
            assert_eq!(glimpse.revision, 1);
        }
        delete(&*engine, &doc);
        assert_eq!(read(&*engine, &doc), None);
        assert_eq!(engine.written_at(&doc), None, "{name} is gone");
        assert_eq!(engine.text(&doc).unwrap(), None, "{name}");
    }
}

pub fn reading_some_items_leaves_the_others_out(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    add_tasks(&*engine, (0..5).map(|number| task(&format!("t{number}"), 5, 0)).collect());
    let mut asked = 0;
    let mut odd = |_: &_| {
        asked += 1;
        asked % 2 == 0
    };
    let some = engine.read_some(&queue, &mut odd).unwrap().unwrap();
    assert_eq!(asked, 5, "each is asked for once");
    let mut all = read(&*engine, &queue).unwrap();
    let tasks = all.value["tasks"].as_array_mut().unwrap();
    let kept: Vec<_> = [1, 3].map(|place| tasks[place].clone()).into();
    all.value["tasks"] = kept.into();
    assert_eq!(some, all);
}

/// An engine need not let anybody browse; but what is seen so is what is there, and nothing can be changed by it.
pub fn browsing_sees_what_is_there(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    add_tasks(&*engine, vec![task("t1", 5, 0), task("t2", 1, 0)]);
    if let Some(mut look) = engine.browse(&queue.room).unwrap() {
        assert_eq!(look.item(&queue, "t2").unwrap(), Some(task("t2", 1, 0)));
        assert_eq!(look.revision(&queue).unwrap(), 1);
        drop(look);
    }
    mark(&*engine, &queue, 1);
    assert_eq!(read(&*engine, &queue).unwrap().revision, 2);
}

pub fn sessions_that_may_be_at_work_are_listed(make: Make<'_>) {
    let engine = make(SOON);
    assert!(!engine.live().unwrap().any);
    for id in ["s1", "s2"] {
        let doc = session_doc("session", id);
        change(&*engine, &doc, |session| session["status"] = "active".into());
    }
    let live = engine.live().unwrap();
    assert!(live.any);
    for id in ["s1", "s2"] {
        assert!(live.ids.contains(&id.parse().unwrap()), "{id} is at work");
    }
    // What is over may be told; what is not over may not.
    let aged = engine.take_aged(now(), 10).unwrap();
    assert_eq!(aged, []);
}

pub fn upkeep_of_a_sound_store_has_nothing_to_do(make: Make<'_>) {
    let (engine, config, session) = (make(SOON), doc("config"), session_doc("session", "s1"));
    for doc in [&config, &session] {
        mark(&*engine, doc, 1);
        assert_eq!(engine.lost(&doc.room).unwrap(), []);
        assert_eq!(engine.asides(&doc.room).unwrap(), []);
        assert_eq!(engine.notes(&doc.room).unwrap(), [""; 0]);
        assert!(!engine.remove_room(&doc.room).unwrap(), "there is something in it");
        engine.remove_remains().unwrap();
        assert!(read(&*engine, doc).is_some());
    }
}

/// An edit that nobody made can be asked for all the same.
pub fn asides_that_are_gone_are_no_failure(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    mark(&*engine, &config, 1);
    let (name, path) = ("config.json.1".to_owned(), "nowhere".to_owned());
    let aside =
        anthill_core::store::Aside { called: config.to_string(), doc: config, name, path, noted: false };
    assert_eq!(engine.read_aside(&aside).unwrap(), None);
    engine.note_aside(&aside).unwrap();
    engine.drop_aside(&aside).unwrap();
}

pub fn a_seat_has_one_holder(make: Make<'_>) {
    let engine = make(SOON);
    let take = |room: &Room, name: &str, patience| engine.seat(room, name, patience).unwrap();
    mark(&*engine, &doc("queue"), 1);
    let seat = take(&Room::Queue, "run", Duration::ZERO).expect("it is free");
    assert!(take(&Room::Queue, "run", QUIET).is_none(), "it is taken");
    let other = take(&Room::Queue, "other", Duration::ZERO).expect("another name is another seat");
    let elsewhere = take(&Room::State, "run", Duration::ZERO).expect("another room has its own");
    mark(&*engine, &doc("queue"), 2);
    let waiting = thread::scope(|scope| {
        let waiting = scope.spawn(|| take(&Room::Queue, "run", SOON).is_some());
        drop(seat);
        waiting.join().unwrap()
    });
    assert!(waiting, "whoever waits gets it when it is free");
    assert!(take(&Room::Queue, "run", Duration::ZERO).is_some(), "and leaves it again");
    drop((other, elsewhere));
}

/// A clock that goes on with every look at it.
#[derive(Debug, Default)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        now() + SignedDuration::from_secs(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// Who waited for the lock is told a time after that of whoever had it.
pub fn time_is_told_under_the_lock(make: Make<'_>) {
    let (engine, queue, clock) = (make(SOON), doc("queue"), Ticking::default());
    let (told, times) = mpsc::channel();
    thread::scope(|scope| {
        let mut first = engine.begin(&[&queue.room]).unwrap();
        let (engine, clock, room) = (&*engine, &clock, &queue.room);
        let other = told.clone();
        scope.spawn(move || {
            let mut second = engine.begin(&[room]).unwrap();
            other.send(("second", second.now(clock).unwrap().at)).unwrap();
        });
        thread::sleep(QUIET);
        told.send(("first", first.now(clock).unwrap().at)).unwrap();
        drop(first);
    });
    drop(told);
    let mut times: Vec<_> = times.iter().collect();
    times.sort_by_key(|(_, at)| *at);
    assert_eq!(times.iter().map(|(who, _)| *who).collect::<Vec<_>>(), ["first", "second"]);
    assert!(times[0].1 < times[1].1, "it goes on");
}

pub fn documents_are_listed_as_a_transaction_sees_them(make: Make<'_>) {
    let engine = make(SOON);
    let result = |key: &str| Doc::of_key(kind("agent_result"), &key.parse().unwrap());
    let [a, b, c] = ["a", "b", "c"].map(result);
    [&a, &b].iter().for_each(|doc| drop(mark(&*engine, doc, 1)));
    let mut transaction = engine.begin(&[&a.room]).unwrap();
    assert_eq!(transaction.documents(&a.room).unwrap(), [a.clone(), b.clone()]);
    transaction.delete(&a).unwrap();
    transaction.put(&c, c.default(now())).unwrap();
    assert_eq!(transaction.documents(&a.room).unwrap(), [b.clone(), c.clone()], "with its own writes");
    assert_eq!(engine.documents(&a.room).unwrap(), [a.clone(), b.clone()], "others do not see them");
    transaction.commit(&entry("test")).unwrap();
    assert_eq!(engine.documents(&b.room).unwrap(), [b, c]);
}

/// Whatever somebody says that they will ask, the answers are those of somebody who says nothing.
pub fn expectations_change_no_answer(make: Make<'_>) {
    let (engine, queue, config) = (make(SOON), doc("queue"), doc("config"));
    add_tasks(&*engine, vec![task("t1", 5, 0), task("t2", 1, 0)]);
    let ask = |expected: &[Expected<'_>]| {
        let rooms = [&queue.room, &config.room];
        let mut transaction = engine.begin_expecting(&rooms, expected).unwrap();
        let best = transaction.best(&queue, None, &Default::default()).unwrap();
        let items: Vec<_> = ["t1", "t2", "t3"].map(|id| transaction.item(&queue, id).unwrap()).into();
        let active = transaction.find(&queue, anthill_core::model::listing::Among::Active).unwrap();
        let config = transaction.get(&config).unwrap().cloned();
        (best, items, active, config, transaction.counts(&queue).unwrap())
    };
    let text_file = anthill_core::model::text_file::TextFile::Discoveries;
    let plain = ask(&[]);
    for expected in [
        &[Expected::Item(&queue, "t1")][..],
        &[Expected::Item(&queue, "t3"), Expected::Best(&queue, 1)],
        &[Expected::Active(&queue), Expected::Document(&config), Expected::TextFile(&text_file)],
        &[Expected::Document(&queue)],
    ] {
        assert_eq!(ask(expected), plain, "{expected:?}");
    }
    // What was written meanwhile counts, not what was expected.
    let expected = [Expected::Item(&queue, "t1"), Expected::Best(&queue, 2)];
    let mut transaction = engine.begin_expecting(&[&queue.room], &expected).unwrap();
    let mut changed = task("t1", 5, 0);
    changed["priority"] = json!(1);
    changed["created_at"] = "2020-01-01T00:00:00Z".into();
    transaction.put_item(&queue, "t1", changed.clone()).unwrap();
    assert_eq!(transaction.item(&queue, "t1").unwrap().as_ref(), Some(&changed));
    assert_eq!(transaction.best(&queue, None, &Default::default()).unwrap().unwrap().1, changed);
}
