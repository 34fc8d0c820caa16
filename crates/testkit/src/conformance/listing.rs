//! Listing what is there, and finding nothing wrong with it.

use anthill_core::model::ids::Key;
use anthill_core::model::kind::Doc;
use anthill_core::model::room::Room;
use anthill_core::model::text_file::TextFile;
use anthill_core::store::Kept;

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
        expected.sort_by_key(|doc| engine.called(Kept::Document(doc)).name);
        assert_eq!(engine.documents(room).unwrap(), expected, "{room}");
    }
    delete(&*engine, &docs[1]);
    assert!(!engine.documents(&docs[1].room).unwrap().contains(&docs[1]));
    assert_eq!(engine.documents(&Room::Queue).unwrap(), []);
    docs.iter().for_each(|doc| assert!(!engine.place(doc).is_empty()));
}

pub fn what_is_kept_is_called_by_names_of_its_own(make: Make<'_>) {
    let engine = make(SOON);
    let key = |text: &str| text.parse::<Key>().unwrap();
    let docs = ["a", "b"].map(|id| Doc::of_key(kind("agent_result"), &key(id)));
    let text_files = ["a", "b"].map(|id| TextFile::GateLog(key(id)));
    let kept = docs.iter().map(Kept::Document).chain(text_files.iter().map(Kept::TextFile));
    let called: Vec<_> = kept.map(|kept| engine.called(kept)).collect();
    for (number, one) in called.iter().enumerate() {
        assert!(!one.name.is_empty() && one.path.contains(&one.name), "{one:?}");
        assert!(called[..number].iter().all(|other| one.name != other.name), "{one:?}");
    }
    let elsewhere = engine.called(Kept::Document(&doc("config"))).path;
    assert!(called.iter().all(|one| one.path != elsewhere));
}

pub fn history_tells_the_members_of_a_family_apart(make: Make<'_>) {
    let engine = make(SOON);
    let docs = ["a", "b"].map(|id| Doc::of_key(kind("agent_result"), &id.parse().unwrap()));
    docs.iter().for_each(|doc| drop(mark(&*engine, doc, 1)));
    mark(&*engine, &docs[0], 2);
    let log = engine.log(&docs[0].room).unwrap();
    let of = |doc: &Doc| {
        log.iter().filter(|record| record.is_of(doc)).map(|record| record.revision).collect::<Vec<_>>()
    };
    assert_eq!(docs.each_ref().map(of), [vec![1, 2], vec![1]]);
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
