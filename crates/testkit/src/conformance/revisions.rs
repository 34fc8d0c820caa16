//! Revisions: they rise by one, and never come again.

use anthill_core::store::Entry;
use serde_json::{Value, json};

use super::{Make, SOON, change, change_with, delete, doc, entry, mark, now, read, session_doc};

pub fn revisions_rise_by_one(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    for expected in 1..=20 {
        let document = mark(&*engine, &config, expected);
        assert_eq!((document.revision, &document.value["revision"]), (expected, &json!(expected)));
        assert_eq!(read(&*engine, &config), Some(document));
        let mut transaction = engine.begin(&[&config.room]).unwrap();
        assert_eq!(transaction.revision(&config).unwrap(), expected);
    }
}

pub fn revisions_never_go_back_even_after_delete(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    assert_eq!(mark(&*engine, &config, 1).revision, 1);
    delete(&*engine, &config);
    assert_eq!(read(&*engine, &config), None);
    assert_eq!(engine.begin(&[&config.room]).unwrap().revision(&config).unwrap(), 2);
    let again = mark(&*engine, &config, 1);
    assert_eq!((again.revision, &again.value["revision"]), (3, &json!(3)));
}

/// Long enough for an engine that rewrites or drops its history now and then to forget something.
pub fn revisions_survive_many_deletes(make: Make<'_>) {
    let (engine, config, tools) = (make(SOON), doc("config"), doc("tools"));
    mark(&*engine, &tools, 0);
    delete(&*engine, &tools);
    for round in 0..30 {
        assert_eq!(mark(&*engine, &config, round).revision, 2 * round + 1);
        delete(&*engine, &config);
    }
    assert_eq!(mark(&*engine, &tools, 1).revision, 3, "it was deleted long ago");
    let log = engine.log(&config.room).unwrap();
    let of_config = log.iter().filter(|record| record.kind == "config").map(|record| record.revision);
    assert!(of_config.eq(1..=60));
}

pub fn revisions_are_per_document(make: Make<'_>) {
    let engine = make(SOON);
    let docs = [doc("config"), doc("tools"), session_doc("session", "a"), session_doc("session", "b")];
    for (count, doc) in (1..).zip(&docs) {
        (0..count).for_each(|number| drop(mark(&*engine, doc, number)));
    }
    let revisions = docs.each_ref().map(|doc| read(&*engine, doc).unwrap().revision);
    assert_eq!(revisions, [1, 2, 3, 4]);
}

pub fn group_status_entries_have_their_own_revision(make: Make<'_>) {
    let (engine, status) = (make(SOON), doc("group_status"));
    let set = |key: &str, stage: &str| {
        change(&*engine, &status, |value| value[key] = json!({"status": stage, "revision": 70}))
    };
    let revisions = |value: &Value| {
        let of = |key: &str| value.get(key).map(|entry| entry["revision"].as_u64().unwrap());
        (of("A"), of("B"))
    };
    assert_eq!(revisions(&set("A", "pending").value), (Some(1), None));
    assert_eq!(revisions(&set("B", "pending").value), (Some(1), Some(1)));
    assert_eq!(revisions(&set("B", "dev_working").value), (Some(1), Some(2)));
    let last = set("B", "complete");
    assert_eq!(revisions(&last.value), (Some(1), Some(3)));
    assert_eq!((last.revision, last.value.get("revision")), (4, None), "only entries carry one");
    assert_eq!(read(&*engine, &status), Some(last));
}

pub fn stamps_are_the_engines_to_set(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    let author = Entry { author: Some("s1".into()), ..entry("set") };
    let document = change_with(&*engine, &config, &author, |value| {
        value["revision"] = 1000.into();
        value["updated_at"] = "1999-01-01T00:00:00Z".into();
        value["unknown"] = json!({"kept": [1.50, "as it is"]});
    });
    assert_eq!(document.value["revision"], 1);
    assert_eq!(document.value["updated_at"], anthill_core::model::time::stamp(now()));
    assert_eq!(document.value["updated_by"], "s1");
    assert_eq!(document.value["unknown"], json!({"kept": [1.50, "as it is"]}));
    assert_eq!(read(&*engine, &config), Some(document));
}
