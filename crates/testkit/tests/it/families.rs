//! Documents of which there may be very many, one after the other: results of agents, backups.

#![expect(clippy::disallowed_methods, reason = "the tests spoil files of the store")]

use std::fs;

use anthill_core::model::kind::{Doc, Kind};
use anthill_core::model::room::Room;
use anthill_core::store::file::FileEngine;
use anthill_core::store::file::addresses::RoomFiles;
use anthill_core::store::{Durability, Engine, Entry, Upkeep};
use jiff::Timestamp;
use serde_json::json;

use crate::stores::{NORMAL, TINY, options, real, temp_dir};

fn entry() -> Entry {
    let at = Timestamp::from_second(1_760_000_000).unwrap();
    let durability = Durability::Synced;
    Entry { at, by: "tester".into(), author: None, op: "test".into(), undoes: None, token: None, durability }
}

fn result(number: usize) -> Doc {
    Doc::of_key(Kind::find("agent_result").unwrap(), &format!("agent-{number:08}").parse().unwrap())
}

/// Writes a result; returns its revision.
fn put(engine: &FileEngine, doc: &Doc, status: &str) -> u64 {
    let mut transaction = engine.begin(&[&Room::State]).unwrap();
    transaction.put(doc, json!({"agent_id": "a", "status": status})).unwrap();
    transaction.commit(&entry()).unwrap().documents[0].1.revision
}

fn delete(engine: &FileEngine, doc: &Doc) {
    let mut transaction = engine.begin(&[&Room::State]).unwrap();
    transaction.delete(doc).unwrap();
    transaction.commit(&entry()).unwrap();
}

#[test]
fn a_room_with_many_documents_believes_its_head_after_each_commit() {
    let dir = temp_dir();
    let engine = real(dir.path(), options(NORMAL));
    let hidden = dir.path().join("project").join(Room::State.hidden());
    for number in 0..60 {
        put(&engine, &result(number), "done");
        // Who does not believe the head replays the journal, which is not there.
        let journal = fs::read(hidden.join("journal.jsonl")).unwrap();
        let mut spoiled = journal.clone();
        spoiled[10] ^= 1;
        fs::write(hidden.join("journal.jsonl"), &spoiled).unwrap();
        assert_eq!(engine.read(&result(number)).unwrap().unwrap().revision, 1, "{number}");
        assert_eq!(fs::read(hidden.join("journal.jsonl")).unwrap(), spoiled);
        fs::write(hidden.join("journal.jsonl"), &journal).unwrap();
    }
}

#[test]
fn those_that_are_gone_cost_nothing_and_their_revisions_never_come_again() {
    for segment_bytes in [NORMAL, TINY] {
        let dir = temp_dir();
        let engine = real(dir.path(), options(segment_bytes));
        let head = dir.path().join("project").join(Room::State.hidden()).join("head.json");
        let mut sizes = Vec::new();
        for number in 0..80 {
            put(&engine, &result(number), "running");
            put(&engine, &result(number), "done");
            delete(&engine, &result(number));
            sizes.push(fs::metadata(&head).unwrap().len());
        }
        assert!(sizes[79] <= 4096, "{sizes:?}");
        for number in [3, 79] {
            assert!(put(&engine, &result(number), "again") > 3, "{number} of {segment_bytes}");
            delete(&engine, &result(number));
            fs::remove_file(&head).unwrap();
            assert!(
                put(&engine, &result(number), "again") > 5,
                "{number} of {segment_bytes}, without a head"
            );
            delete(&engine, &result(number));
        }
        assert!(engine.check(&Room::State, false).unwrap().is_empty());
    }
}
