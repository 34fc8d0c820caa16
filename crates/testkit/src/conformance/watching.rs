//! Watching: ordered, unique, reliable, resumable; and waking.

use std::thread;

use serde_json::{Value, json};

use super::{
    Make, QUIET, SOON, assert_quiet, change, delete, doc, events_until, mark, read, replayed, session_doc,
};

pub fn watch_begins_with_a_snapshot(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    (1..=3).for_each(|number| drop(mark(&*engine, &config, number)));
    let mut watch = engine.watch(&config, None).unwrap();
    let event = watch.next(Some(SOON)).unwrap().unwrap();
    assert_eq!((event.op.as_str(), event.revision, &event.at), ("snapshot", 3, &None));
    assert_eq!(Some(event.value()), read(&*engine, &config).map(|document| document.value));
    assert_quiet(&mut *watch);
    let written = mark(&*engine, &config, 4);
    let event = watch.next(Some(SOON)).unwrap().unwrap();
    assert_eq!((event.op.as_str(), event.by.as_str(), event.revision), ("test", "tester", 4));
    assert_eq!((event.at.as_deref(), event.value()), (Some("2026-01-02T03:04:05.000Z"), written.value));
    assert_quiet(&mut *watch);
}

pub fn watch_of_a_missing_document_reports_its_creation(make: Make<'_>) {
    let (engine, session) = (make(SOON), session_doc("session", "new"));
    let mut watch = engine.watch(&session, None).unwrap();
    assert_quiet(&mut *watch);
    (1..=12).for_each(|number| drop(mark(&*engine, &session, number)));
    let revisions: Vec<_> = events_until(&mut *watch, 12).iter().map(|(revision, _)| *revision).collect();
    assert_eq!(revisions, (1..=12).collect::<Vec<_>>(), "reliable: nobody looked in between");
}

pub fn watch_of_a_deleted_document_does_not_tell_the_past(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    mark(&*engine, &config, 1);
    delete(&*engine, &config);
    let mut watch = engine.watch(&config, None).unwrap();
    assert_quiet(&mut *watch);
    let written = mark(&*engine, &config, 3);
    assert_eq!(events_until(&mut *watch, 3), [(3, written.value)]);
}

/// The four guarantees, with writers at work: a watch from the start and watches that stop and resume all
/// get every revision once, in order, with its content.
pub fn watch_ordered_unique_reliable_resumable(make: Make<'_>) {
    const COMMITS: u64 = 60;
    let (engine, queue) = (make(SOON), doc("queue"));
    let (steady, resumed) = thread::scope(|scope| {
        let steady = scope.spawn(|| {
            let mut watch = engine.watch(&queue, Some(0)).unwrap();
            events_until(&mut *watch, COMMITS)
        });
        let resumed = scope.spawn(|| {
            let mut events: Vec<(u64, Value)> = Vec::new();
            while events.last().is_none_or(|(last, _)| *last < COMMITS) {
                let from = events.last().map_or(0, |(last, _)| *last);
                let mut watch = engine.watch(&queue, Some(from)).unwrap();
                for _ in 0..(from % 3 + 1) {
                    let Some(event) = watch.next(Some(super::QUIET)).unwrap() else { break };
                    events.push((event.revision, event.value()));
                }
            }
            events
        });
        for writer in 0..3 {
            let (engine, queue) = (&*engine, &queue);
            scope.spawn(move || {
                (0..COMMITS / 3).for_each(|number| drop(mark(engine, queue, 1000 * writer + number)));
            });
        }
        (steady.join().unwrap(), resumed.join().unwrap())
    });
    let history = replayed(&*engine, &queue);
    let expected: Vec<_> =
        history.into_iter().map(|(record, value)| (record.revision, value.unwrap_or_default())).collect();
    let numbers = |events: &[(u64, Value)]| events.iter().map(|(revision, _)| *revision).collect::<Vec<_>>();
    assert_eq!(numbers(&steady), numbers(&expected), "ordered, unique, reliable");
    assert_eq!(numbers(&resumed), numbers(&expected), "resumable: no gap, no repeat");
    assert!(steady == expected && resumed == expected, "every event has the content of its revision");
    for from in [0, 1, COMMITS / 2, COMMITS - 1] {
        let mut watch = engine.watch(&queue, Some(from)).unwrap();
        assert_eq!(events_until(&mut *watch, COMMITS), expected[from as usize..], "from {from}");
    }
}

pub fn watch_resumes_at_the_present_without_a_repeat(make: Make<'_>) {
    let (engine, config, status) = (make(SOON), doc("config"), doc("group_status"));
    for doc in [config, status] {
        let entry = json!({"status": "pending"});
        (1..=3).for_each(|_| drop(change(&*engine, &doc, |value| value["a"] = entry.clone())));
        let mut watch = engine.watch(&doc, Some(3)).unwrap();
        assert_quiet(&mut *watch);
        let written = change(&*engine, &doc, |value| value["b"] = entry.clone());
        assert_eq!(events_until(&mut *watch, 4), [(4, written.value)]);
    }
}

pub fn watch_reports_deletes(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    let mut watch = engine.watch(&config, Some(0)).unwrap();
    let first = mark(&*engine, &config, 1).value;
    delete(&*engine, &config);
    let third = mark(&*engine, &config, 3).value;
    delete(&*engine, &config);
    let expected = [(1, first), (2, Value::Null), (3, third), (4, Value::Null)];
    assert_eq!(events_until(&mut *watch, 4), expected);
}

pub fn waking_a_sleeping_watch(make: Make<'_>) {
    let (engine, session) = (make(SOON), session_doc("session", "s1"));
    for number in 1..=5 {
        thread::scope(|scope| {
            let mut watch = engine.watch(&session, Some(number - 1)).unwrap();
            let sleeper = scope.spawn(move || watch.next(Some(SOON)).unwrap().map(|event| event.revision));
            mark(&*engine, &session, number);
            assert_eq!(sleeper.join().unwrap(), Some(number));
        });
    }
}

/// Who hears of a revision and then reads gets that one or a newer one.
pub fn waking_what_was_reported_can_be_read(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    thread::scope(|scope| {
        let mut watch = engine.watch(&queue, Some(0)).unwrap();
        scope.spawn(|| (1..=40).for_each(|number| drop(mark(&*engine, &queue, number))));
        for _ in 1..=40 {
            let event = watch.next(Some(SOON)).unwrap().expect("reliable");
            let found = read(&*engine, &queue).map_or(0, |document| document.revision);
            assert!(found >= event.revision, "heard of {}, read {found}", event.revision);
        }
    });
}

pub fn watch_hears_only_its_own_document(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    let mut watch = engine.watch(&config, None).unwrap();
    mark(&*engine, &doc("tools"), 1);
    mark(&*engine, &session_doc("session", "s1"), 1);
    assert_quiet(&mut *watch);
    mark(&*engine, &config, 1);
    assert_eq!(watch.next(Some(SOON)).unwrap().map(|event| event.revision), Some(1));
}

pub fn waking_a_listener_once_per_change(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    let mut listener = engine.listen(&[doc("workers"), queue.clone()]).unwrap();
    for number in 1..=3 {
        assert!(!listener.wait(Some(QUIET)).unwrap(), "nothing has happened");
        mark(&*engine, &doc("config"), number);
        assert!(!listener.wait(Some(QUIET)).unwrap(), "something else has happened");
        mark(&*engine, &queue, number);
        assert!(listener.wait(Some(SOON)).unwrap(), "it happened before the wait");
    }
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| listener.wait(Some(SOON)).unwrap());
        mark(&*engine, &queue, 4);
        assert!(sleeper.join().unwrap(), "it happened meanwhile");
    });
}
