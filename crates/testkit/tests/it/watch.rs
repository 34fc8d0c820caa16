//! Watching files on a real disk while other programs write them, each in its own way.
#![expect(clippy::disallowed_methods, reason = "these tests play the other program that edits a file")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anthill_core::model::kind::Doc;
use anthill_core::model::room::Root;
use anthill_core::ops::edit::{self, Target};
use anthill_core::store::file::addresses::DocFiles;
use anthill_core::store::file::{FileEngine, Options};
use anthill_core::store::{Engine, Event, Upkeep, Watch};
use anthill_testkit::conformance::{actor, doc};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stores::{NORMAL, TINY, hasty, options, real, temp_dir};

const SOON: Duration = Duration::from_secs(20);
/// How long a file must be gone to count as deleted.
const GRACE: Duration = Duration::from_millis(100);
/// Longer than that.
const QUIET: Duration = Duration::from_millis(150);

struct Store {
    dir: TempDir,
    engine: FileEngine,
}

impl Store {
    fn new(options: Options) -> Store {
        let dir = temp_dir();
        let engine = real(dir.path(), options);
        Store { dir, engine }
    }

    fn normal() -> Store {
        Store::new(hasty(NORMAL))
    }

    fn path(&self, doc: &Doc) -> PathBuf {
        let root = if doc.room.root() == Root::Home { "home" } else { "project" };
        self.dir.path().join(root).join(doc.path())
    }

    fn set(&self, doc: &Doc, number: u64) -> u64 {
        set(&self.engine, doc, number)
    }
}

fn set(engine: &dyn Engine, doc: &Doc, number: u64) -> u64 {
    let path = "mark".parse().unwrap();
    let target = Target { doc, path: &path, expect: None };
    edit::set(engine, &target, number.into(), &actor()).unwrap().revision
}

fn next(watch: &mut dyn Watch) -> Event {
    watch.next(Some(SOON)).unwrap().expect("reliable: something happened")
}

#[track_caller]
fn assert_quiet(watch: &mut dyn Watch) {
    assert_eq!(watch.next(Some(QUIET)).unwrap(), None, "unique: nothing more happened");
}

/// Returns what a test compares of an event.
fn told(event: &Event) -> (u64, &str, Value) {
    (event.revision, &event.op, event.value()["mark"].take())
}

fn content(number: u64) -> Vec<u8> {
    serde_json::to_vec_pretty(&json!({"version": "2.0.0", "mark": number})).unwrap()
}

type Save = fn(&Path, &[u8]);

/// The ways in which programs save a file.
const STYLES: [(&str, Save); 5] = [
    ("in place", |path, bytes| fs::write(path, bytes).unwrap()),
    ("in place, in pieces", |path, bytes| {
        let mut file = fs::File::create(path).unwrap();
        bytes.chunks(7).for_each(|chunk| file.write_all(chunk).unwrap());
    }),
    ("rename over", |path, bytes| {
        let temp = path.with_extension("tmp");
        fs::write(&temp, bytes).unwrap();
        fs::rename(temp, path).unwrap();
    }),
    ("delete, create", |path, bytes| {
        fs::remove_file(path).unwrap();
        fs::write(path, bytes).unwrap();
    }),
    ("append, then fix", |path, bytes| {
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"}} oops").unwrap();
        fs::write(path, bytes).unwrap();
    }),
];

#[test]
fn each_save_style_is_reported_once_with_its_content() {
    for (style, save) in STYLES {
        let (store, config) = (Store::normal(), doc("config"));
        store.set(&config, 1);
        let mut watch = store.engine.watch(&config, Some(1)).unwrap();
        save(&store.path(&config), &content(2));
        let event = next(&mut *watch);
        assert_eq!(told(&event), (2, "edit", json!(2)), "{style}");
        assert_eq!(
            (event.by.as_str(), event.at.as_deref(), &event.value()["revision"]),
            ("hand", None, &json!(2))
        );
        assert_quiet(&mut *watch);
        assert_eq!(store.engine.read(&config).unwrap().unwrap().value, event.value(), "{style}");

        assert_eq!(store.set(&config, 3), 3, "{style}: the edit counts as a revision");
        assert_eq!(told(&next(&mut *watch)), (3, "set", json!(3)), "{style}");
        assert_quiet(&mut *watch);
    }
}

/// The watcher sleeps meanwhile, so it may look at any moment of the saving; it never tells of a half, unless a save takes so
/// long that the file counts as deleted.
#[test]
fn intermediate_states_are_not_reported() {
    for (style, save) in STYLES {
        let (store, config) = (Store::normal(), doc("config"));
        store.set(&config, 1);
        let mut watch = store.engine.watch(&config, Some(1)).unwrap();
        let path = store.path(&config);
        thread::scope(|scope| {
            let took = |number| {
                let begin = Instant::now();
                save(&path, &content(number));
                begin.elapsed()
            };
            let saver = scope.spawn(move || (2..30).map(took).max().unwrap());
            let (mut last, mut halves) = (1, Vec::new());
            while last < 29 {
                let event = next(&mut *watch);
                assert_eq!(event.op, "edit");
                let Some(mark) = event.value()["mark"].as_u64() else {
                    halves.push(event);
                    continue;
                };
                assert!(mark > last, "{style}: {mark} after {last}");
                last = mark;
            }
            let slowest = saver.join().unwrap();
            let deleted = |half: &Event| half.value().is_null() && slowest >= GRACE;
            assert!(halves.iter().all(deleted), "{style}: half of a save: {halves:?}");
        });
        assert_quiet(&mut *watch);
    }
}

/// Most edits change a part of a file that was reported before, and only that part is read.
#[test]
fn edits_of_parts_are_reported_like_the_whole() {
    let (store, queue) = (Store::normal(), doc("queue"));
    store.set(&queue, 1);
    let path = PathBuf::from(store.engine.place(&queue));
    let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let task = |id| json!({"id": id, "description": "first", "status": "available", "priority": 1});
    file["tasks"] = json!([task("a"), task("b")]);
    fs::write(&path, serde_json::to_vec_pretty(&file).unwrap()).unwrap();
    let mut watch = store.engine.watch(&queue, None).unwrap();
    assert_eq!(told(&next(&mut *watch)), (2, "snapshot", json!(1)));
    let mut edit = |revision: u64, from: &str, to: &str| {
        assert_quiet(&mut *watch);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}: {text}");
        let temp = path.with_extension("tmp");
        fs::write(&temp, text.replacen(from, to, 1)).unwrap();
        fs::rename(temp, &path).unwrap();
        let event = next(&mut *watch);
        let mut expected: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        expected["revision"] = revision.into();
        assert_eq!((event.op.as_str(), event.revision, event.value()), ("edit", revision, expected), "{to}");
        assert_eq!(store.engine.read(&queue).unwrap().unwrap().value["tasks"], event.value()["tasks"]);
    };
    edit(2, "first", "another");
    edit(2, "\"mark\": 1", "\"mark\": 12345");
    edit(2, "\"priority\": 1", "\"priority\": 2, \"x\": \"\\u00e4\"");
    edit(2, "first", "the second");
    edit(2, "\"id\": \"b\"", "\"id\": \"c\"");
    edit(2, "another", "first");
    store.set(&queue, 5);
    assert_eq!(told(&next(&mut *watch)), (3, "set", json!(5)));
    let mut edit = |revision: u64, from: &str, to: &str| {
        assert_quiet(&mut *watch);
        fs::write(&path, fs::read_to_string(&path).unwrap().replacen(from, to, 1)).unwrap();
        let event = next(&mut *watch);
        assert_eq!((event.op.as_str(), event.revision), ("edit", revision), "{to}");
        assert_eq!(event.value()["revision"], revision, "{to}");
    };
    edit(4, "first", "another");
    edit(4, "another", "first");
    edit(4, "first", "a third");
    store.set(&queue, 6);
    assert_eq!(told(&next(&mut *watch)), (5, "set", json!(6)), "the edit was reported already");
    assert_quiet(&mut *watch);
}

#[test]
fn damage_is_not_reported_until_it_is_mended() {
    let (store, config) = (Store::normal(), doc("config"));
    store.set(&config, 1);
    let mut watch = store.engine.watch(&config, Some(1)).unwrap();
    for damage in ["", "{", "null", "{\"global\": 5}", "{\"a\": 1, \"a\": 2}"] {
        fs::write(store.path(&config), damage).unwrap();
        assert_quiet(&mut *watch);
    }
    fs::write(store.path(&config), content(2)).unwrap();
    assert_eq!(told(&next(&mut *watch)), (2, "edit", json!(2)));
    assert_quiet(&mut *watch);
}

#[test]
fn a_deletion_by_hand_is_reported_and_absorbed() {
    let (store, errors) = (Store::normal(), doc("errors"));
    store.set(&errors, 1);
    let mut watch = store.engine.watch(&errors, Some(1)).unwrap();
    fs::remove_file(store.path(&errors)).unwrap();
    let event = next(&mut *watch);
    assert_eq!((event.revision, event.op.as_str(), event.value()), (2, "edit", Value::Null));
    assert_quiet(&mut *watch);
    assert_eq!(store.set(&errors, 3), 3);
    assert_eq!(told(&next(&mut *watch)), (3, "set", json!(3)));
    assert_quiet(&mut *watch);
}

#[test]
fn a_document_that_appears_later_is_reported() {
    for options in [hasty(NORMAL), hasty(TINY)] {
        let (store, config) = (Store::new(options), doc("config"));
        let mut watch = store.engine.watch(&config, None).unwrap();
        assert_quiet(&mut *watch);
        thread::scope(|scope| {
            scope.spawn(|| {
                fs::create_dir_all(store.path(&config).parent().unwrap()).unwrap();
                fs::write(store.path(&config), content(7)).unwrap();
            });
            assert_eq!(told(&next(&mut *watch)), (0, "edit", json!(7)), "made by hand, in a new directory");
        });
        assert_quiet(&mut *watch);
        (1..=20).for_each(|number| assert!(store.set(&config, number) > 0));
        for revision in 1..=20 {
            assert_eq!(told(&next(&mut *watch)), (revision, "set", json!(revision)));
        }
        assert_quiet(&mut *watch);
    }
}

#[test]
fn edits_while_no_one_waits_are_reported_by_their_last_content() {
    let (store, config) = (Store::normal(), doc("config"));
    store.set(&config, 1);
    let mut watch = store.engine.watch(&config, None).unwrap();
    assert_eq!(told(&next(&mut *watch)), (1, "snapshot", json!(1)));
    for (number, (_, save)) in (2..).zip(STYLES) {
        save(&store.path(&config), &content(number));
    }
    assert_eq!(told(&next(&mut *watch)), (2, "edit", json!(6)));
    assert_quiet(&mut *watch);
    fs::write(store.path(&config), content(7)).unwrap();
    store.set(&config, 8);
    let events = [next(&mut *watch), next(&mut *watch)];
    assert_eq!(told(&events[0]), (2, "edit", json!(7)), "absorbed before anybody looked");
    assert_eq!(told(&events[1]), (3, "set", json!(8)));
    assert_quiet(&mut *watch);
}

#[test]
fn commits_of_another_instance_are_reported() {
    for options in [hasty(NORMAL), hasty(TINY)] {
        let (store, config) = (Store::new(options.clone()), doc("config"));
        let other = real(store.dir.path(), options);
        let mut watch = store.engine.watch(&config, None).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| (1..=30).for_each(|number| assert!(set(&other, &config, number) > 0)));
            for revision in 1..=30 {
                assert_eq!(told(&next(&mut *watch)), (revision, "set", json!(revision)));
            }
        });
        assert_quiet(&mut *watch);
    }
}

#[test]
fn resuming_is_exact_across_rotation_and_edits() {
    for segment_bytes in [NORMAL, TINY] {
        let (store, config) = (Store::new(options(segment_bytes)), doc("config"));
        let mut expected = Vec::new();
        let mut number = 0;
        while expected.len() < 40 {
            number += 1;
            if number % 5 == 0 {
                fs::write(store.path(&config), content(1000 + number)).unwrap();
                expected.push((expected.len() as u64 + 1, "edit".to_owned(), json!(1000 + number)));
            }
            let revision = store.set(&config, number);
            expected.push((revision, "set".to_owned(), json!(number)));
        }
        for from in 0..=expected.len() {
            let mut watch = store.engine.watch(&config, Some(from as u64)).unwrap();
            for expected in &expected[from..] {
                let event = next(&mut *watch);
                assert_eq!(
                    (event.revision, event.op.clone(), event.value()["mark"].take()),
                    *expected,
                    "from {from}"
                );
            }
            assert_eq!(watch.next(Some(Duration::ZERO)).unwrap(), None, "from {from}");
        }
    }
}

#[test]
fn resuming_after_an_unabsorbed_edit_does_not_repeat_it() {
    let (store, config) = (Store::normal(), doc("config"));
    store.set(&config, 1);
    fs::write(store.path(&config), content(2)).unwrap();
    let mut watch = store.engine.watch(&config, Some(1)).unwrap();
    assert_eq!(told(&next(&mut *watch)), (2, "edit", json!(2)));
    let mut watch = store.engine.watch(&config, Some(2)).unwrap();
    assert_quiet(&mut *watch);
    store.set(&config, 3);
    assert_eq!(told(&next(&mut *watch)), (3, "set", json!(3)));
    let errors = doc("errors");
    store.set(&errors, 1);
    fs::remove_file(store.path(&errors)).unwrap();
    let mut watch = store.engine.watch(&errors, Some(2)).unwrap();
    assert_quiet(&mut *watch);
}

#[test]
fn history_that_is_no_longer_kept_shows_as_a_snapshot() {
    let store = Store::new(Options { kept_segments: 1, ..hasty(TINY) });
    let (config, tools) = (doc("config"), doc("tools"));
    (1..=10).for_each(|number| assert!(store.set(&config, number) > 0));
    (1..=40).for_each(|number| assert!(store.set(&tools, number) > 0));
    for (doc, last) in [(&config, 10), (&tools, 40)] {
        let mut watch = store.engine.watch(doc, Some(1)).unwrap();
        assert_eq!(told(&next(&mut *watch)), (last, "snapshot", json!(last)));
        assert_quiet(&mut *watch);
    }
    let mut watch = store.engine.watch(&config, Some(10)).unwrap();
    assert_quiet(&mut *watch);
}

#[test]
fn a_lost_cache_and_a_lost_journal_do_not_silence_a_watch() {
    let (store, config) = (Store::normal(), doc("config"));
    store.set(&config, 1);
    let mut watch = store.engine.watch(&config, Some(1)).unwrap();
    let hidden = store.path(&config).with_file_name(".anthill");
    fs::remove_file(hidden.join("head.json")).unwrap();
    assert_quiet(&mut *watch);
    fs::write(store.path(&config), content(2)).unwrap();
    assert_eq!(told(&next(&mut *watch)), (2, "edit", json!(2)));
    assert_eq!(store.set(&config, 3), 3);
    assert_eq!(told(&next(&mut *watch)), (3, "set", json!(3)));
    fs::remove_dir_all(hidden).unwrap();
    assert_eq!(store.set(&config, 4), 4, "the document states its own revision");
    assert_eq!(told(&next(&mut *watch)), (4, "set", json!(4)));
    assert_quiet(&mut *watch);
}
