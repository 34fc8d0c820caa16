//! The course of all commits of all rooms, and tokens that tell whether one happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anthill_core::error::Code;
use anthill_core::model::room::Room;
use anthill_core::model::text_file::TextFile;
use anthill_core::store::{Commit, Cursor, Engine, Entry};
use serde_json::json;

use super::{Make, SOON, add_tasks, delete, doc, entry, mark, session_doc, task};

/// Returns all commits after a cursor, a page at a time, and the cursor behind them.
fn follow(engine: &dyn Engine, mut cursor: Cursor, most: usize) -> (Vec<Commit>, Cursor) {
    let mut all = Vec::new();
    loop {
        let page = engine.commits_since(&cursor, most).unwrap();
        assert!(!page.gap, "everything is kept");
        assert!(page.commits.len() <= most);
        assert!(page.commits.len() == most || !page.more, "a page is full, or the last");
        all.extend(page.commits);
        assert!(all.len() < 1000, "there is an end");
        cursor = page.cursor;
        if !page.more {
            return (all, cursor);
        }
    }
}

/// Returns the documents that commits changed, with their revisions.
fn told(commits: &[Commit]) -> Vec<Vec<(String, u64)>> {
    let one = |commit: &Commit| {
        let revisions = commit.revisions.iter();
        revisions.map(|(room, revision)| (format!("{room} {}", revision.kind), revision.revision)).collect()
    };
    commits.iter().map(one).collect()
}

pub fn course_tells_every_commit_once_in_its_order(make: Make<'_>) {
    let engine = make(SOON);
    let (config, queue, session) = (doc("config"), doc("queue"), session_doc("session", "s1"));
    assert_eq!(follow(&*engine, Cursor::default(), 10).0, []);
    let begin = engine.cursor().unwrap();
    for number in 1..=3 {
        for doc in [&config, &session] {
            mark(&*engine, doc, number);
        }
    }
    add_tasks(&*engine, vec![task("t1", 5, 0)]);
    delete(&*engine, &config);
    let of = |name: &str, revision: u64| vec![(name.to_owned(), revision)];
    for most in [1, 2, 100] {
        for start in [Cursor::default(), begin.clone()] {
            let (commits, _) = follow(&*engine, start, most);
            let mut expected: Vec<_> =
                (1..=3).flat_map(|n| [of("shared config", n), of("session/s1 session", n)]).collect();
            expected.push(of("queue queue", 1));
            expected.push(of("shared config", 4));
            // Commits of different rooms in the same millisecond have no order.
            let mut found = told(&commits);
            for room in ["shared", "session/s1", "queue"] {
                let only = |all: &[Vec<(String, u64)>]| -> Vec<_> {
                    all.iter().filter(|one| one[0].0.starts_with(room)).cloned().collect()
                };
                assert_eq!(only(&found), only(&expected), "{room}, by {most}");
            }
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "by {most}");
        }
    }
    let (_, end) = follow(&*engine, Cursor::default(), 3);
    let again = Cursor::new(end.to_string());
    assert_eq!(follow(&*engine, again, 3).0, [], "what was told is not told again");
    assert_eq!(follow(&*engine, engine.cursor().unwrap(), 3).0, []);
    mark(&*engine, &queue, 7);
    let (commits, _) = follow(&*engine, end, 3);
    assert_eq!(told(&commits), [of("queue queue", 2)]);
    let commit = &commits[0];
    assert_eq!((&*commit.by, &*commit.op, &commit.token), ("tester", "test", &None));
    assert_eq!(commit.at, commit.revisions[0].1.at);
}

pub fn course_names_the_items_of_a_commit(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    add_tasks(&*engine, vec![task("t1", 5, 0), task("t2", 5, 0)]);
    let cursor = engine.cursor().unwrap();
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    let mut changed = task("t2", 5, 0);
    changed["status"] = "claimed".into();
    transaction.put_item(&queue, "t2", changed).unwrap();
    transaction.commit(&entry("claim")).unwrap();
    let (commits, _) = follow(&*engine, cursor, 10);
    let names: Vec<_> = commits[0].revisions[0].1.names.values().collect();
    assert_eq!(names, ["t2"]);
}

pub fn course_tells_a_commit_in_several_rooms_as_one(make: Make<'_>) {
    let engine = make(SOON);
    let docs = [doc("config"), session_doc("session", "s1"), doc("queue")];
    for number in 1..=3 {
        mark(&*engine, &docs[1], number);
        let mut transaction = engine.begin(&docs.iter().map(|doc| &doc.room).collect::<Vec<_>>()).unwrap();
        for doc in &docs {
            let mut value =
                transaction.get(doc).unwrap().cloned().unwrap_or_else(|| doc.default(super::now()));
            value["mark"] = number.into();
            transaction.put(doc, value).unwrap();
        }
        transaction.commit(&entry("all")).unwrap();
        mark(&*engine, &docs[2], number);
    }
    for most in [1, 2, 4, 100] {
        let (commits, _) = follow(&*engine, Cursor::default(), most);
        let sizes: Vec<_> = commits.iter().map(|commit| commit.revisions.len()).collect();
        assert_eq!((sizes.len(), sizes.iter().sum::<usize>()), (9, 15), "by {most}: {sizes:?}");
        let ids: BTreeSet<_> = commits.iter().map(|commit| &commit.id).collect();
        assert_eq!(ids.len(), 9, "each has a name of its own");
    }
}

/// Somebody follows while others commit, in one room and in several: each commit is told once, whole, and those of a room in
/// their order.
pub fn course_under_load_is_gapless(make: Make<'_>) {
    let engine = make(SOON);
    const COMMITS: u64 = 20;
    let rooms = [session_doc("session", "s1"), session_doc("session", "s2"), doc("queue")];
    let done = AtomicBool::new(false);
    let commits = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut all, mut cursor) = (Vec::new(), Cursor::default());
            loop {
                let last = done.load(Ordering::Acquire);
                let (commits, end) = follow(&*engine, cursor, 3);
                all.extend(commits);
                cursor = end;
                if last {
                    return all;
                }
            }
        });
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let (engine, docs) = (&*engine, [&rooms[writer], &rooms[(writer + 1) % 3]]);
                scope.spawn(move || {
                    for number in 1..=COMMITS {
                        let several = number % 2 == 0;
                        let docs = if several { &docs[..] } else { &docs[..1] };
                        let mut transaction =
                            engine.begin(&docs.iter().map(|doc| &doc.room).collect::<Vec<_>>()).unwrap();
                        for doc in docs {
                            let known = transaction.get(doc).unwrap().cloned();
                            let mut value = known.unwrap_or_else(|| doc.default(super::now()));
                            value["mark"] = json!([writer, number]);
                            transaction.put(doc, value).unwrap();
                        }
                        transaction.commit(&entry("test")).unwrap();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Release);
        reader.join().unwrap()
    });
    assert_eq!(commits.len() as u64, 3 * COMMITS, "each commit once");
    let mut revisions: BTreeMap<&Room, Vec<u64>> = BTreeMap::new();
    for (room, revision) in commits.iter().flat_map(|commit| &commit.revisions) {
        revisions.entry(room).or_default().push(revision.revision);
    }
    for (room, told) in revisions {
        let all: Vec<u64> = (1..=COMMITS + COMMITS / 2).collect();
        assert_eq!(told, all, "{room}: each revision once, in order");
    }
}

pub fn course_knows_its_own_cursors_only(make: Make<'_>) {
    let engine = make(SOON);
    mark(&*engine, &doc("config"), 1);
    for cursor in ["nonsense", "{\"shared\":\"x\"}", "-1"] {
        let error = engine.commits_since(&Cursor::new(cursor), 1).unwrap_err();
        assert_eq!(error.code(), Code::Invalid, "{cursor}");
    }
}

pub fn tokens_tell_whether_a_commit_has_happened(make: Make<'_>) {
    let (engine, config, queue) = (make(SOON), doc("config"), doc("queue"));
    let token = |number: u64| format!("token-{number}").parse().unwrap();
    let with = |number| Entry { token: Some(token(number)), ..entry("test") };
    let begin = |number| {
        let mut transaction = engine.begin(&[&config.room]).unwrap();
        transaction.put(&config, json!({ "mark": number })).unwrap();
        transaction
    };
    assert!(!engine.has_committed(&config.room, &token(1)).unwrap());
    begin(1).commit(&with(1)).unwrap();
    drop(begin(2));
    begin(3).commit(&entry("test")).unwrap();
    begin(4).commit(&with(4)).unwrap();
    let known = |room, number| engine.has_committed(room, &token(number)).unwrap();
    assert!(known(&config.room, 1) && known(&config.room, 4));
    assert!(!known(&config.room, 2), "a dropped transaction never happened");
    assert!(!known(&config.room, 3) && !known(&queue.room, 1));
    let (commits, _) = follow(&*engine, Cursor::default(), 10);
    let tokens: Vec<_> = commits.iter().map(|commit| commit.token.as_deref()).collect();
    assert_eq!(tokens, [Some("token-1"), None, Some("token-4")]);
}

pub fn tokens_cover_commits_of_texts(make: Make<'_>) {
    let (engine, room) = (make(SOON), doc("queue").room);
    let token = "t-1".parse().unwrap();
    let mut transaction = engine.begin(&[&room]).unwrap();
    transaction.append_text_file(&TextFile::Log("w1".parse().unwrap()), "one\n").unwrap();
    transaction.commit(&Entry { token: Some("t-1".parse().unwrap()), ..entry("log") }).unwrap();
    assert!(engine.has_committed(&room, &token).unwrap());
    let (commits, _) = follow(&*engine, Cursor::default(), 10);
    assert_eq!(commits.len(), 1);
    assert_eq!((&*commits[0].op, commits[0].revisions.len()), ("log", 0));
}
