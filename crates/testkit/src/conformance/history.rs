//! Order and history: what the log tells, and going back by it.

use anthill_core::error::Code;
use anthill_core::model::diff;
use anthill_core::ops::edit::Target;
use anthill_core::ops::history::{restore, undo};
use anthill_core::store::{Engine, Revision};
use serde_json::{Value, json};

use super::{Make, SOON, actor, change, delete, doc, mark, read, replayed, session_doc};

/// Does a bit of everything to a document and returns its content after each revision.
fn eventful(engine: &dyn Engine) -> Vec<Option<Value>> {
    let config = doc("config");
    let mut contents = Vec::new();
    for number in 1..=40 {
        let edit = |value: &mut Value| match number % 4 {
            0 => value["list"] = json!([number, {"deep": [1, number]}, "x"]),
            1 => value["mark"] = number.into(),
            2 => drop(value.as_object_mut().unwrap().shift_remove("mark")),
            _ => value["features"]["enable_orchestration"] = (number % 8 == 3).into(),
        };
        contents.push(Some(change(engine, &config, edit).value));
        if number % 10 == 0 {
            delete(engine, &config);
            contents.push(None);
        }
        mark(engine, &doc("tools"), number);
    }
    contents
}

pub fn order_of_the_log_is_the_order_of_commits(make: Make<'_>) {
    let (engine, config, tools) = (make(SOON), doc("config"), doc("tools"));
    let mut expected = Vec::new();
    for number in 1..=15 {
        for doc in [&config, &tools] {
            let revision = mark(&*engine, doc, number).revision;
            expected.push((doc.kind.name.to_owned(), doc.file.clone(), revision));
        }
    }
    mark(&*engine, &session_doc("session", "elsewhere"), 1);
    let log = engine.log(&config.room).unwrap();
    let logged: Vec<_> =
        log.iter().map(|record| (record.kind.clone(), record.file.clone(), record.revision)).collect();
    assert_eq!(logged, expected);
    assert!(log.iter().all(|record| record.by == "tester" && record.op == "test" && record.undoes.is_none()));
    assert!(log.iter().all(|record| record.at == "2026-01-02T03:04:05.000Z"));
    let of_config: Vec<_> = log.into_iter().filter(|record| record.kind == "config").collect();
    let history: Vec<Revision> = replayed(&*engine, &config).into_iter().map(|(record, _)| record).collect();
    assert_eq!(history, of_config, "replay and log tell the same");
}

pub fn replay_gives_every_revision_with_its_content(make: Make<'_>) {
    let engine = make(SOON);
    let contents = eventful(&*engine);
    let history = replayed(&*engine, &doc("config"));
    let revisions: Vec<u64> = history.iter().map(|(record, _)| record.revision).collect();
    assert_eq!(revisions, (1..=contents.len() as u64).collect::<Vec<_>>());
    for ((record, content), expected) in history.iter().zip(&contents) {
        assert_eq!(content, expected, "revision {}", record.revision);
    }
}

/// The changes of a revision are exact: they lead from the content before it to the content after it.
pub fn changes_lead_from_one_revision_to_the_next(make: Make<'_>) {
    let engine = make(SOON);
    eventful(&*engine);
    let mut content = None;
    for (record, expected) in replayed(&*engine, &doc("config")) {
        content = match (&record.changes[..], content) {
            ([only], before) if only.path.is_empty() => {
                assert_eq!(only.before, before, "revision {}", record.revision);
                only.after.clone()
            }
            (changes, Some(mut value)) => {
                diff::apply(&mut value, changes).unwrap();
                Some(value)
            }
            (changes, None) => panic!("revision {}: {changes:?} of nothing", record.revision),
        };
        assert_eq!(content, expected, "revision {}", record.revision);
    }
}

pub fn undo_and_restore(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    let marked = || read(&*engine, &config).map(|document| document.value["mark"].as_u64().unwrap());
    (1..=4).for_each(|number| drop(mark(&*engine, &config, number)));

    assert_eq!(undo(&*engine, &Target::whole(&config, None), &actor()).unwrap().revision, 5);
    assert_eq!(marked(), Some(3));
    assert_eq!(undo(&*engine, &Target::whole(&config, None), &actor()).unwrap().revision, 6);
    assert_eq!(marked(), Some(2), "a second undo goes one further back");
    let undoes: Vec<_> = replayed(&*engine, &config).iter().map(|(record, _)| record.undoes).collect();
    assert_eq!(undoes, [None, None, None, None, Some(4), Some(3)]);

    assert_eq!(restore(&*engine, &Target::whole(&config, None), 4, &actor()).unwrap().revision, 7);
    assert_eq!(marked(), Some(4));
    undo(&*engine, &Target::whole(&config, None), &actor()).unwrap();
    assert_eq!(marked(), Some(2), "a restore can be taken back");
    let unknown = restore(&*engine, &Target::whole(&config, None), 99, &actor()).unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);

    undo(&*engine, &Target::whole(&config, None), &actor()).unwrap();
    assert_eq!(marked(), Some(1));
    undo(&*engine, &Target::whole(&config, None), &actor()).unwrap();
    assert_eq!(marked(), None, "before the first revision there was nothing");
    let nothing = undo(&*engine, &Target::whole(&config, None), &actor()).unwrap_err();
    assert_eq!(nothing.code(), Code::Refused);
}

pub fn undo_of_a_delete_brings_it_back(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    let before = mark(&*engine, &config, 1);
    delete(&*engine, &config);
    let undone = undo(&*engine, &Target::whole(&config, None), &actor()).unwrap();
    assert_eq!((undone.revision, &undone.value["mark"]), (3, &json!(1)));
    let after = read(&*engine, &config).unwrap();
    assert_eq!(after.revision, 3);
    assert_eq!(after.value["global"], before.value["global"]);
}

pub fn restore_to_nothing_deletes(make: Make<'_>) {
    let (engine, config) = (make(SOON), doc("config"));
    mark(&*engine, &config, 1);
    delete(&*engine, &config);
    mark(&*engine, &config, 3);
    let restored = restore(&*engine, &Target::whole(&config, None), 2, &actor()).unwrap();
    assert_eq!((restored.revision, restored.value), (4, Value::Null));
    assert_eq!(read(&*engine, &config), None);
    let again = restore(&*engine, &Target::whole(&config, None), 2, &actor()).unwrap();
    assert_eq!(again.revision, 4, "nothing to do, no new revision");
    assert_eq!(replayed(&*engine, &config).len(), 4);
}
