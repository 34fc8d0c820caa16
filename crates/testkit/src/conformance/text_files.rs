//! Texts that come with a commit.

use anthill_core::model::room::Room;
use anthill_core::model::text_file::{TextFile, TextFiles, Tray};
use anthill_core::store::Transaction;

use super::{Make, SOON, doc, entry};

fn result(id: &str) -> TextFile {
    TextFile::Result(id.parse().unwrap())
}

fn log() -> TextFile {
    TextFile::Log("w1".parse().unwrap())
}

fn write(transaction: &mut dyn Transaction, word: &str) {
    transaction.write_text_file(&result("t1"), format!("# {word}\n")).unwrap();
    transaction.append_text_file(&log(), &format!("{word} 1\n")).unwrap();
    transaction.append_text_file(&log(), &format!("{word} 2\n")).unwrap();
}

pub fn text_files_come_with_the_commit(make: Make<'_>) {
    let (engine, room) = (make(SOON), doc("queue").room);
    let read = |text_file: &TextFile| engine.begin(&[&room]).unwrap().text_file(text_file).unwrap();
    assert_eq!((read(&result("t1")), read(&log())), (None, None));
    for (word, logged) in [("one", "one 1\none 2\n"), ("two", "one 1\none 2\ntwo 1\ntwo 2\n")] {
        let mut transaction = engine.begin(&[&room]).unwrap();
        write(&mut *transaction, word);
        transaction.commit(&entry("test")).unwrap();
        assert_eq!(read(&result("t1")), Some(format!("# {word}\n")));
        assert_eq!(read(&log()).as_deref(), Some(logged));
    }
}

pub fn a_paper_may_stand_beside_its_room(make: Make<'_>) {
    let (engine, workflow) = (make(SOON), doc("workflow"));
    let read = || engine.begin(&[&workflow.room]).unwrap().text_file(&TextFile::WorkflowView).unwrap();
    assert_eq!(read(), None);
    for word in ["one", "two"] {
        let mut transaction = engine.begin(&[&workflow.room]).unwrap();
        transaction.write_text_file(&TextFile::WorkflowView, word.into()).unwrap();
        transaction.commit(&entry("test")).unwrap();
        assert_eq!(read().as_deref(), Some(word));
    }
    assert_eq!(engine.documents(&workflow.room).unwrap(), []);
    assert_eq!(engine.check(&workflow.room, false).unwrap(), []);
}

pub fn text_files_of_a_dropped_transaction_are_not_written(make: Make<'_>) {
    let (engine, room) = (make(SOON), doc("queue").room);
    write(&mut *engine.begin(&[&room]).unwrap(), "one");
    let mut transaction = engine.begin(&[&room]).unwrap();
    assert_eq!(transaction.text_file(&result("t1")).unwrap(), None);
    assert_eq!(transaction.text_file(&log()).unwrap(), None);
    assert_eq!(transaction.text_files(&room, TextFiles::Results).unwrap(), []);
}

pub fn text_files_are_listed_by_sort(make: Make<'_>) {
    let (engine, room) = (make(SOON), doc("queue").room);
    let mut transaction = engine.begin(&[&room]).unwrap();
    for id in ["b", "a"] {
        transaction.write_text_file(&result(id), String::new()).unwrap();
    }
    transaction.append_text_file(&log(), "x").unwrap();
    transaction.commit(&entry("test")).unwrap();
    let mut look = engine.begin(&[&room]).unwrap();
    assert_eq!(look.text_files(&room, TextFiles::Results).unwrap(), [result("a"), result("b")]);
    assert_eq!(look.text_files(&room, TextFiles::Logs).unwrap(), [log()]);
    assert_eq!(look.text_files(&room, TextFiles::Archived).unwrap(), []);
}

/// Who has asked for the texts of a sort, and is told that none came, knows them still.
pub fn text_files_that_nobody_else_left_change_nothing(make: Make<'_>) {
    let engine = make(SOON);
    let (room, sort) = (Room::Mailbox("s1".parse().unwrap()), TextFiles::Messages(Tray::Inbox));
    let mut transaction = engine.begin(&[&room]).unwrap();
    assert_eq!(transaction.text_files(&room, sort).unwrap(), []);
    transaction.commit(&entry("test")).unwrap();
    let mut transaction = engine.begin(&[&room]).unwrap();
    if !transaction.text_files_changed(&room, sort).unwrap() {
        assert_eq!(transaction.text_files(&room, sort).unwrap(), []);
    }
}
