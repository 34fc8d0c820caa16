//! Listing what is there, and finding nothing wrong with it.

use anthill_core::model::kind::Doc;
use anthill_core::model::room::Room;

use super::{Make, SOON, delete, doc, kind, mark, session_doc};

pub fn documents_and_rooms_are_listed(make: Make<'_>) {
    let engine = make(SOON);
    assert_eq!(engine.rooms().unwrap(), []);
    let keyed = |name, key: &str| Doc::of_key(kind(name), &key.parse().unwrap());
    let docs = [
        session_doc("session", "s2"),
        session_doc("messages", "s2"),
        session_doc("events", "s2"),
        session_doc("tasks", "s1"),
        doc("workflow"),
        keyed("agent_result", "b"),
        keyed("agent_result", "a"),
        keyed("backup", "20260101"),
        doc("active_agents"),
        Doc::of_project(kind("epics"), "p1".parse().unwrap()),
    ];
    docs.iter().for_each(|doc| drop(mark(&*engine, doc, 1)));
    let session = |id: &str| Room::Session(id.parse().unwrap());
    let rooms = [Room::Project("p1".parse().unwrap()), session("s1"), session("s2"), Room::State];
    assert_eq!(engine.rooms().unwrap(), rooms, "the shared room holds nothing");
    for room in &rooms {
        let mut expected: Vec<_> = docs.iter().filter(|doc| doc.room == *room).cloned().collect();
        expected.sort_by(|one, other| one.file.cmp(&other.file));
        assert_eq!(engine.documents(room).unwrap(), expected, "{room}");
    }
    delete(&*engine, &docs[1]);
    assert!(!engine.documents(&docs[1].room).unwrap().contains(&docs[1]));
    assert_eq!(engine.documents(&Room::Queue).unwrap(), []);
    docs.iter().for_each(|doc| assert!(!engine.place(doc).is_empty()));
}

pub fn a_dropped_transaction_leaves_no_room_behind(make: Make<'_>) {
    let engine = make(SOON);
    for doc in [doc("queue"), doc("config"), session_doc("session", "s1")] {
        let mut transaction = engine.begin(&[&doc.room]).unwrap();
        transaction.put(&doc, doc.default(super::now())).unwrap();
    }
    assert_eq!(engine.rooms().unwrap(), []);
}

pub fn check_finds_nothing_wrong(make: Make<'_>) {
    let engine = make(SOON);
    for number in 1..=10 {
        for doc in [doc("queue"), doc("config"), doc("tools"), session_doc("session", "s1")] {
            mark(&*engine, &doc, number);
            for repair in [false, true] {
                assert_eq!(engine.check(&doc.room, repair).unwrap(), []);
            }
        }
    }
    delete(&*engine, &doc("config"));
    assert_eq!(engine.check(&Room::Shared, false).unwrap(), []);
    assert_eq!(engine.check(&Room::Pipeline, false).unwrap(), [], "nothing was ever there");
}
