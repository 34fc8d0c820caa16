//! Atomicity and validity: all of a commit, or nothing of it.

use anthill_core::error::Code;
use serde_json::{Value, json};

use super::{Make, SOON, change_with, doc, entry, lazy, mark, read, replayed, room_of};

pub fn atomicity_nothing_shows_before_the_commit(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    let before = mark(&*engine, &config, 1);
    let mut transaction = engine.begin(&[&config.room]).unwrap();
    let mut value = transaction.get(&config).unwrap().cloned().unwrap();
    value["mark"] = 2.into();
    transaction.put(&config, value).unwrap();
    assert_eq!(read(&*engine, &config), Some(before));
    transaction.commit(&entry("test")).unwrap();
    let after = read(&*engine, &config).unwrap();
    assert_eq!((after.revision, &after.value["mark"]), (2, &json!(2)));
}

pub fn dropped_transaction_changes_nothing(make: Make<'_>) {
    let (engine, config, tools) = (make(SOON), doc("config"), doc("tools"));
    let before = mark(&*engine, &config, 1);
    let mut transaction = engine.begin(&[&config.room]).unwrap();
    transaction.delete(&config).unwrap();
    transaction.put(&tools, json!({"tools": {}})).unwrap();
    drop(transaction);
    assert_eq!(read(&*engine, &config), Some(before.clone()));
    assert_eq!(read(&*engine, &tools), None);
    assert_eq!(engine.log(&config.room).unwrap().len(), 1);
    assert_eq!(mark(&*engine, &config, 2).revision, before.revision + 1);
}

pub fn invalid_documents_are_never_committed(make: Make<'_>) {
    let (engine, config, queue) = (make(SOON), doc("config"), doc("queue"));
    let before = mark(&*engine, &config, 1);
    let broken = [
        (&config, json!({"global": 5})),
        (&config, json!([])),
        (&config, json!(null)),
        (&queue, json!({"tasks": [{"id": "a", "description": "a", "status": "sleeping"}]})),
        (&queue, json!({})),
    ];
    for (doc, value) in broken {
        let mut transaction = engine.begin(&[&doc.room]).unwrap();
        let refused = transaction.put(doc, value.clone()).and_then(|()| transaction.commit(&entry("test")));
        assert_eq!(refused.unwrap_err().code(), Code::Invalid, "{value}");
    }
    assert_eq!(read(&*engine, &config), Some(before));
    assert_eq!(read(&*engine, &queue), None);
    assert_eq!(engine.log(&queue.room).unwrap(), []);
    assert_eq!(mark(&*engine, &config, 2).revision, 2, "a refused commit uses up no revision");
}

pub fn a_newer_format_than_our_own_is_never_written(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    let before = mark(&*engine, &config, 1);
    let mut newer = before.value.clone();
    newer["version"] = "99.1.0".into();
    let mut transaction = engine.begin(&[&config.room]).unwrap();
    let refused = transaction.put(&config, newer).and_then(|()| transaction.commit(&entry("test")));
    assert_eq!(refused.unwrap_err().code(), Code::Unsupported);
    assert_eq!(read(&*engine, &config), Some(before));
    assert_eq!(replayed(&*engine, &config).len(), 1);
}

/// Two documents of one room in one commit; the second one is at fault, so the first does not happen either.
pub fn multi_document_commit_is_all_or_nothing(make: Make<'_>) {
    let (engine, config, tools) = (make(SOON), doc("config"), doc("tools"));
    let both = |tools_value| {
        let mut transaction = engine.begin(&[&config.room]).unwrap();
        transaction.put(&config, config.default(super::now())).unwrap();
        transaction.put(&tools, tools_value).unwrap();
        transaction.commit(&entry("both"))
    };
    assert_eq!(both(json!({"tools": 5})).unwrap_err().code(), Code::Invalid);
    assert_eq!((read(&*engine, &config), read(&*engine, &tools)), (None, None));
    assert_eq!(engine.log(&config.room).unwrap(), []);

    let committed = both(json!({"tools": {"hammer": {"name": "Hammer"}}})).unwrap();
    let changed: Vec<_> = committed.documents.iter().map(|(doc, _)| doc.kind.name).collect();
    assert_eq!(changed, ["config", "tools"], "in the order of the writes");
    for (doc, document) in committed.documents {
        assert_eq!((read(&*engine, &doc), document.revision), (Some(document.clone()), 1));
    }

    assert_eq!(both(json!({"tools": []})).unwrap_err().code(), Code::Invalid);
    let mut transaction = engine.begin(&[&config.room]).unwrap();
    transaction.delete(&config).unwrap();
    transaction.put(&tools, json!({"tools": null})).unwrap();
    assert_eq!(transaction.commit(&entry("both")).unwrap_err().code(), Code::Invalid);
    let revision = |doc| read(&*engine, doc).unwrap().revision;
    assert_eq!((revision(&config), revision(&tools)), (1, 1));
    let log = engine.log(&config.room).unwrap();
    assert_eq!(log.iter().map(|record| record.kind.as_str()).collect::<Vec<_>>(), ["config", "tools"]);
}

pub fn lazy_commits_are_visible(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    for number in 1..=5 {
        let written = change_with(&*engine, &queue, &lazy("beat"), |value| value["mark"] = number.into());
        assert_eq!(read(&*engine, &queue), Some(written));
        let mut transaction = engine.begin(&[&queue.room]).unwrap();
        assert_eq!(transaction.get(&queue).unwrap().unwrap()["mark"], number);
    }
    assert_eq!(replayed(&*engine, &queue).len(), 5);
}

pub fn empty_commit_changes_nothing(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    let nothing = || {
        let mut transaction = engine.begin(&[&room_of("config")]).unwrap();
        transaction.get(&config).unwrap();
        transaction.commit(&entry("nothing")).unwrap()
    };
    assert!(nothing().documents.is_empty());
    let before = mark(&*engine, &config, 1);
    assert!(nothing().documents.is_empty());
    let mut transaction = engine.begin(&[&config.room]).unwrap();
    transaction.delete(&doc("tools")).unwrap();
    assert!(transaction.commit(&entry("nothing")).unwrap().documents.is_empty(), "it was not there");
    assert_eq!(read(&*engine, &config), Some(before));
    assert_eq!(engine.log(&config.room).unwrap().len(), 1);
}

pub fn a_commit_in_several_rooms_is_all_or_nothing(make: Make<'_>) {
    let engine = make(SOON);
    // In no particular order, and one named twice.
    let docs = [doc("workflow"), doc("config"), doc("queue"), doc("tools")];
    let rooms: Vec<_> = docs.iter().map(|doc| &doc.room).collect();
    let mark_all = |mark: i64, last: Value| {
        let mut transaction = engine.begin(&rooms).unwrap();
        for doc in &docs {
            let found = transaction.get(doc).unwrap().cloned();
            let mut value = found.unwrap_or_else(|| doc.default(entry("test").at));
            value["mark"] = mark.into();
            transaction.put(doc, value).unwrap();
        }
        let tools = &docs[3];
        let mut value = transaction.get(tools).unwrap().cloned().unwrap();
        value["tools"] = last;
        transaction.put(tools, value).and_then(|()| transaction.commit(&entry("test")))
    };
    let committed = mark_all(1, json!({})).unwrap();
    assert_eq!(committed.documents.len(), docs.len());
    let before: Vec<_> = docs.iter().map(|doc| read(&*engine, doc).unwrap()).collect();
    assert!(before.iter().all(|document| document.revision == 1 && document.value["mark"] == 1));
    assert_eq!(mark_all(2, json!(5)).unwrap_err().code(), Code::Invalid);
    let after: Vec<_> = docs.iter().map(|doc| read(&*engine, doc).unwrap()).collect();
    assert_eq!(after, before);
    mark_all(3, json!({})).unwrap();
    for doc in &docs {
        assert_eq!(mark(&*engine, doc, 4).revision, 3, "{doc}");
        assert_eq!(replayed(&*engine, doc).len(), 3, "{doc}");
    }
}
