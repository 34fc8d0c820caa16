//! What is put comes back as it was: fields in their order, numbers as they are spelled, every character.

use anthill_core::model::json;
use anthill_core::model::text_file::TextFile;
use serde_json::Value;

use super::{Make, SOON, add_tasks, change, doc, entry, read, replayed};

/// What others respell: sorted fields, shortened numbers, characters that end a text elsewhere.
const ODD: &str = r#"{"z":1e2,"a":-0,"m":1.0,"long":12345678901234567890123,"small":1E-7,"nul":"a\u0000b","pair":"\ud83d\ude00","":null}"#;

fn odd() -> Value {
    json::parse(ODD.as_bytes()).unwrap()
}

fn assert_same(found: &Value, what: &str) {
    assert_eq!(json::dense(found), json::dense(&odd()), "{what}");
}

pub fn documents_come_back_as_they_were_put(make: Make<'_>) {
    let (engine, config, queue) = (make(SOON), doc("config"), doc("queue"));
    let committed = change(&*engine, &config, |config| config["odd"] = odd());
    assert_same(&committed.value["odd"], "what the commit returns");
    assert_same(&read(&*engine, &config).unwrap().value["odd"], "what is read");
    let mut transaction = engine.begin(&[&config.room]).unwrap();
    assert_same(&transaction.get(&config).unwrap().unwrap()["odd"], "what a transaction sees");
    drop(transaction);
    let history = replayed(&*engine, &config);
    assert_same(&history[0].1.as_ref().unwrap()["odd"], "what the history knows");

    let mut task = super::task("t1", 5, 0);
    task["odd"] = odd();
    add_tasks(&*engine, vec![task.clone()]);
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    let mut found = transaction.item(&queue, "t1").unwrap().unwrap();
    assert_eq!(json::dense(&found), json::dense(&task), "an item of a list");
    found["priority"] = 1.into();
    transaction.put_item(&queue, "t1", found).unwrap();
    transaction.commit(&entry("test")).unwrap();
    task["priority"] = 1.into();
    let tasks = &read(&*engine, &queue).unwrap().value["tasks"];
    assert_eq!(json::dense(&tasks[0]), json::dense(&task), "an item that was changed");
}

pub fn text_files_come_back_as_they_were_written(make: Make<'_>) {
    let (engine, room) = (make(SOON), doc("queue").room);
    let text_file = TextFile::Result("t1".parse().unwrap());
    for text in ["a\0b\n", "", "\u{feff}x\r\n\u{2028}", "no end of line"] {
        let mut transaction = engine.begin(&[&room]).unwrap();
        transaction.write_text_file(&text_file, text.into()).unwrap();
        transaction.commit(&entry("test")).unwrap();
        let found = engine.begin(&[&room]).unwrap().text_file(&text_file).unwrap();
        assert_eq!(found.as_deref(), Some(text));
    }
    let mut transaction = engine.begin(&[&room]).unwrap();
    transaction.remove_text_file(&text_file).unwrap();
    transaction.commit(&entry("test")).unwrap();
    assert_eq!(engine.begin(&[&room]).unwrap().text_file(&text_file).unwrap(), None);
}
