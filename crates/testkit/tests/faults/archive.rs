//! Sessions start, end, come back and go to the archive, with a misfortune at every call.
//!
//! Whatever happens: a session that is not over is on the roster; a session and a message is either in its place or once in the
//! archive, and so is a task; and when the same is done again, all is as it would have been.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use anthill_core::model::hint::{Door, Plain};
use anthill_core::model::ids::SessionId;
use anthill_core::model::kind::Doc;
use anthill_core::model::message::{Letter, Sender};
use anthill_core::model::room::Room;
use anthill_core::model::session::{Start, is_over};
use anthill_core::model::text_file::{TextFile, TextFiles, Tray};
use anthill_core::ops::archive::shelf::Shelf;
use anthill_core::ops::archive::{self, Request};
use anthill_core::ops::{Actor, Result, messages, sessions};
use anthill_core::store::file::fs::Fs;
use anthill_core::store::{Durability, Engine, Reading, Upkeep};
use anthill_testkit::effort::sample;
use anthill_testkit::sim_fs::{Plan, SimFs, errno};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::probe::{PART, contents, report};
use crate::scenarios::{Store, actor, entry};

/// How many disks are made of one on which the power failed.
const IMAGES: usize = 3;

type Act = fn(&dyn Engine, &Actor) -> Result<()>;

const ARCHIVE: &str = "the archive";

const ACTS: [(&str, Act); 4] = [
    ("a new session", |engine, actor| start(engine, "s3", actor)),
    ("a session comes back", |engine, actor| start(engine, "s1", actor)),
    ("a session ends", |engine, actor| end(engine, "s2", actor)),
    (ARCHIVE, |engine, actor| {
        let before = actor.now() + SignedDuration::from_hours(1);
        archive::all(engine, Request::before(before), actor).and_then(|archived| {
            match archived.warnings.first() {
                Some(warning) => Err(anthill_core::ops::Error::Input(Plain.tell(warning))),
                None => Ok(()),
            }
        })
    }),
];

fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

fn start(engine: &dyn Engine, name: &str, actor: &Actor) -> Result<()> {
    sessions::start(engine, Some(&id(name)), &Start::default(), actor).map(drop)
}

fn end(engine: &dyn Engine, name: &str, actor: &Actor) -> Result<()> {
    sessions::end(engine, &id(name), actor).map(drop)
}

/// One session that is over and has a mailbox with a message, and one that is not.
fn prepared() -> SimFs {
    let fs = SimFs::new();
    let store = store(&fs);
    for name in ["s1", "s2"] {
        start(&store.engine, name, &actor()).unwrap();
    }
    let letter = Letter {
        from: id("s2"),
        to: id("s1"),
        kind: "note".into(),
        payload: json!("hello"),
        priority: "normal",
        ttl: None,
        id: Some("m1".parse().unwrap()),
        in_reply_to: None,
        sender: Sender::default(),
    };
    messages::send(&store.engine, &letter, &actor()).unwrap();
    end(&store.engine, "s1", &actor()).unwrap();
    let task =
        json!({"id": "t1", "description": "Do it", "status": "done", "completed_at": "2020-01-01T00:00:00Z"});
    store.set("queue", "tasks", json!([task])).unwrap();
    let mut logs = store.engine.begin(&[&Room::Queue]).unwrap();
    for (text_file, said) in said() {
        logs.append_text_file(&text_file, said).unwrap();
    }
    logs.commit(&entry(Durability::Synced)).unwrap();
    fs.flush();
    fs.after_kill()
}

/// What was logged of the task, and where.
fn said() -> [(TextFile, &'static str); 2] {
    let (worker, task) = ("w1".parse().unwrap(), "t1".parse().unwrap());
    [
        (TextFile::Log(worker), "[2020-01-01T00:00:00.000Z] COMPLETED: t1\n"),
        (TextFile::TaskLog(task), "what its command printed"),
    ]
}

/// Insists that what was logged is in its place or in the archive, once.
fn check_logs(engine: &dyn Engine, point: &str) {
    let mut look = engine.begin(&[&Room::Queue]).unwrap();
    let mut text = |text_file: &TextFile| look.text_file(text_file).unwrap().unwrap_or_default();
    let archived =
        ["logs-2020-01", "tasks-2020-01"].map(|name| text(&TextFile::OldTasks(name.parse().unwrap())));
    for (text_file, said) in said() {
        let told = [text(&text_file), archived.concat()].map(|text| text.matches(said.trim_end()).count());
        assert_eq!(told.iter().sum::<usize>(), 1, "{point}: {said} is in place and archived {told:?}");
    }
}

/// Returns how often task t1 is in the queue, and in its archive.
fn task(engine: &dyn Engine) -> (usize, usize) {
    let queue = engine.read(&Doc::queue()).unwrap().unwrap();
    let archived = Shelf::tasks().newest(engine, Some("t1"), None).unwrap();
    (queue.value["tasks"].as_array().unwrap().len(), archived.len())
}

fn store(fs: &SimFs) -> Store {
    Store::new(fs, 1 << 20)
}

fn run(fs: &SimFs, act: Act) -> Result<()> {
    act(&store(fs).engine, &actor())
}

/// Returns how many records the archive has of session s1, and of message m1 in the mailbox of s1.
fn archived(engine: &dyn Engine) -> (usize, usize) {
    let mut look = engine.begin(&[&Room::Archive]).unwrap();
    let mut texts = |what: &str, found: &dyn Fn(&Value) -> bool| {
        let mut text_files = look.text_files(&Room::Archive, TextFiles::Archived).unwrap();
        text_files.retain(|text_file| text_file.key().unwrap().as_str().starts_with(what));
        let mut count = 0;
        for text_file in text_files {
            let text = look.text_file(&text_file).unwrap().unwrap();
            count += text.lines().filter(|line| found(&serde_json::from_str(line).unwrap())).count();
        }
        count
    };
    let of_session = texts("sessions-", &|record| record["session_id"] == "s1");
    let of_message =
        texts("messages-", &|record| record["mailbox"] == "s1" && record["message"]["id"] == "m1");
    (of_session, of_message)
}

/// What must hold at any moment.
fn check(fs: &SimFs, point: &str) {
    let engine = &store(fs).engine;
    let live: HashSet<_> = engine.live().unwrap().ids.into_iter().collect();
    for name in ["s1", "s2", "s3"] {
        let state = engine.read(&Doc::session(&id(name))).unwrap();
        if state.as_ref().is_some_and(|state| !is_over(&state.value)) {
            assert!(live.contains(&id(name)), "{point}: {name} is not seen, only {live:?}");
        }
    }
    let (of_session, of_message) = archived(engine);
    let in_place = usize::from(engine.read(&Doc::session(&id("s1"))).unwrap().is_some());
    assert_eq!(
        of_session + in_place,
        1,
        "{point}: the session is there {in_place} times, archived {of_session}"
    );
    let text_file = TextFile::Message { mailbox: id("s1"), tray: Tray::Inbox, id: "m1".parse().unwrap() };
    let there = engine.begin(&[&text_file.room()]).unwrap().text_file(&text_file).unwrap();
    assert_eq!(of_message + usize::from(there.is_some()), 1, "{point}: the message, archived {of_message}");
    check_logs(engine, point);
    let (in_queue, of_task) = task(engine);
    assert_eq!(
        in_queue + of_task,
        1,
        "{point}: the task is in the queue {in_queue} times, archived {of_task}"
    );
    for room in engine.rooms().unwrap() {
        let findings = engine.check(&room, false).unwrap();
        assert!(findings.is_empty(), "{point}: doctor finds {findings:?}");
    }
}

#[test]
fn nobody_is_lost_or_doubled_whatever_happens_to_a_start_an_end_or_the_archive() {
    let (mut disk, mut points) = (prepared(), 0);
    for (name, act) in ACTS {
        points += sweep(name, act, &disk);
        // s1 is over again for what follows.
        disk = disk.after_kill();
        run(&disk, act).unwrap();
        if name == "a session comes back" {
            end(&store(&disk).engine, "s1", &actor()).unwrap();
        }
        disk.flush();
    }
    assert!(!disk.files().iter().any(|file| file.contains("s1")), "{:?}", disk.files());
    report(points, "points in starts, ends and the archive");
}

fn sweep(name: &str, act: Act, disk: &SimFs) -> usize {
    let rehearsal = disk.after_kill();
    rehearsal.set_plan(Plan::None);
    run(&rehearsal, act).unwrap();
    let (calls, mut points, mut seen) = (rehearsal.calls(), 0, HashSet::new());
    let plans = |call| {
        let fail = |errno, persistent| Plan::FailAt { call, errno, persistent };
        [Plan::KillAt(call), Plan::KillMid(call), fail(errno::EIO, false), fail(errno::ENOSPC, true)]
    };
    for plan in sample(name, PART, 1..=calls).into_iter().flat_map(plans) {
        let fs = disk.after_kill();
        fs.set_plan(plan);
        let result = run(&fs, act);
        let point = format!("{name}, {plan:?} of {calls} -> {result:?}");
        points += 1;
        let images = match plan {
            Plan::KillAt(call) if call % 2 == 0 => fs.crash_images(IMAGES),
            _ => Vec::new(),
        };
        for fs in std::iter::once(fs.after_kill()).chain(images) {
            let mut hasher = DefaultHasher::new();
            (contents(&fs), fs.boot_id().unwrap()).hash(&mut hasher);
            if seen.insert(hasher.finish()) {
                check(&fs.after_kill(), &point);
                run(&fs, act).unwrap_or_else(|error| panic!("{point}\nagain: {error}"));
                let files = fs.files();
                let is_left = |file: &&String| file.contains("s1");
                let left: Vec<_> = files.iter().filter(is_left).filter(|_| name == ARCHIVE).collect();
                assert!(left.is_empty(), "{point}\nagain leaves {left:?}");
                let is_told = files.iter().any(|file| file.ends_with("archive/tasks-2020-01.jsonl"));
                assert!(
                    name != ARCHIVE || is_told,
                    "{point}\nagain leaves the task to the journal: {files:?}"
                );
                check(&fs, &format!("{point}\nagain"));
            }
        }
    }
    points
}
