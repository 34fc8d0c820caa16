//! Signs of life, and what becomes of them when the process dies, a call fails or the power is lost. A sign may be lost: then the
//! lease is as long as the document says, or as the sign before it. It is never longer than what somebody gave, never
//! somebody else's, and no document changes by it.

use std::sync::Arc;

use anthill_core::model::ids::Key;
use anthill_core::model::kind::Doc;
use anthill_core::model::lease::{self, LEASE};
use anthill_core::model::room::Room;
use anthill_core::model::task::Task;
use anthill_core::model::time::{self, Boot, Moment};
use anthill_core::ops::queue::work::{self, Claim, ClaimRequest};
use anthill_core::ops::{Actor, read};
use anthill_core::store::{Engine, Finding, Reading, Upkeep};
use anthill_testkit::sim_fs::{Plan, SimFs, errno};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::kill::kills;
use crate::probe::contents;
use crate::scenarios::{Failure, Store, actor, add, now};

const SIGNS: &str = ".coordination/.anthill/signs-tasks.json";

/// The signs that `w1` has given before, and the one that it gives when it goes wrong.
const BEFORE: i64 = 60;
const AFTER: i64 = 200;

fn store(fs: &SimFs) -> Store {
    Store::new(fs, 1 << 20)
}

fn at(seconds: i64) -> Actor {
    Actor { clock: Arc::new(now() + SignedDuration::from_secs(seconds)), ..actor() }
}

fn worker(name: &str) -> Key {
    name.parse().unwrap()
}

/// Gives both workers a task.
fn claimed() -> SimFs {
    let fs = SimFs::new();
    for (task, name) in [("t1", "w1"), ("t2", "w2")] {
        add(&store(&fs), task, &[]).unwrap();
        let request = ClaimRequest { worker: &worker(name), task: None, lease: None };
        assert!(matches!(work::claim(&store(&fs).engine, &request, &at(0)).unwrap(), Claim::Claimed { .. }));
    }
    fs
}

/// Lets both give a sign besides.
fn signed() -> SimFs {
    let fs = claimed();
    for name in ["w1", "w2"] {
        beat(&store(&fs), name, BEFORE).unwrap();
    }
    fs
}

fn beat(store: &Store, name: &str, seconds: i64) -> Result<(), Failure> {
    let only = worker(&name.replace('w', "t"));
    Ok(work::heartbeat(&store.engine, &worker(name), Some(&only), Some(1), &at(seconds)).map(drop)?)
}

/// Returns until when each task is leased, as it counts, in seconds since the claim.
fn leases(fs: &SimFs) -> [i64; 2] {
    let queue = read::document(&store(fs).engine, &Doc::queue()).unwrap().value;
    ["t1", "t2"].map(|id| {
        let tasks = queue["tasks"].as_array().unwrap();
        let task = tasks.iter().find(|task| task["id"] == id).unwrap();
        ends(task).duration_since(now()).as_secs()
    })
}

fn ends(task: &Value) -> Timestamp {
    work::lease_end(&Task::of(task.clone())).unwrap()
}

fn stored(fs: &SimFs) -> Vec<Option<(u64, Value)>> {
    let docs = [Doc::queue(), Doc::workers()];
    let read = |doc: &Doc| store(fs).engine.read(doc).unwrap().map(|found| (found.revision, found.value));
    docs.iter().map(read).collect()
}

fn check(fs: &SimFs, repair: bool) -> Vec<Finding> {
    store(fs).engine.check(&Room::Queue, repair).unwrap()
}

const LENGTH: i64 = LEASE as i64;

/// Returns what the lease of `w1` may be, whose sign was lost or not.
fn ends_after(given: &[i64]) -> Vec<i64> {
    given.iter().map(|given| given + LENGTH).collect()
}

/// Checks a disk whose process is dead: what counts, that no document changed, and that everything goes on.
fn check_disk(fs: &SimFs, before: &SimFs, first: &[i64], second: &[i64], point: &str) {
    let files = contents(fs);
    let [one, other] = leases(fs);
    assert!(ends_after(first).contains(&one), "{point}: w1 has its task until {one}, not {first:?}");
    assert!(ends_after(second).contains(&other), "{point}: w2 has its task until {other}, not {second:?}");
    assert_eq!(contents(fs), files, "{point}: reading changes something");
    assert_eq!(stored(fs), stored(before), "{point}: a document changed");
    assert_eq!(check(fs, false), [], "{point}");
    beat(&store(fs), "w1", AFTER + 10)
        .unwrap_or_else(|failure| panic!("{point}: the next sign: {failure:?}"));
    let again = leases(fs);
    assert_eq!(again, [AFTER + 10 + LENGTH, other], "{point}: after the next sign");
    assert_eq!(stored(fs), stored(before), "{point}: the next sign changed a document");
}

/// The disks that a sign is given on, and which signs of the two were given before.
fn disks() -> [(SimFs, i64); 2] {
    [(claimed(), 0), (signed(), BEFORE)]
}

fn run(disk: &SimFs, plan: Plan) -> (SimFs, Result<(), Failure>) {
    run_at(AFTER, disk, plan)
}

fn run_at(seconds: i64, disk: &SimFs, plan: Plan) -> (SimFs, Result<(), Failure>) {
    let fs = disk.after_kill();
    fs.set_plan(plan);
    let result = beat(&store(&fs), "w1", seconds);
    (fs, result)
}

fn rehearse(disk: &SimFs) -> SimFs {
    let (fs, result) = run(disk, Plan::None);
    result.unwrap();
    fs
}

#[test]
fn a_sign_changes_one_slot_and_nothing_is_synced() {
    let disk = signed();
    let fs = rehearse(&disk);
    let (before, after) = (contents(&disk), contents(&fs));
    let changed: Vec<_> = after.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes)).collect();
    assert_eq!(changed.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), [SIGNS]);
    assert_eq!(changed[0].1.len(), before[SIGNS].len(), "in its place");
    assert!(!fs.trace().iter().any(|call| call.starts_with("sync")), "{:?}", fs.trace());
    assert_eq!(leases(&fs), [AFTER + LENGTH, BEFORE + LENGTH]);
}

#[test]
fn killed_anywhere_a_sign_is_given_or_not() {
    for (disk, given) in disks() {
        for call in 1..=rehearse(&disk).calls() {
            for plan in kills(call) {
                let (fs, result) = run(&disk, plan);
                let point = format!("{plan:?} ({:?}) -> {result:?}", fs.trace().last());
                assert!(fs.killed(), "{point}: survived");
                let allowed: &[i64] = if result.is_ok() { &[AFTER] } else { &[0, given, AFTER] };
                check_disk(&fs.after_kill(), &disk, allowed, &[given], &point);
            }
        }
    }
}

/// After half of the lease the sign is a commit, as any other.
#[test]
fn killed_anywhere_a_sign_is_written_down_or_not() {
    const LATE: i64 = LENGTH / 2;
    let disk = signed();
    let (fs, result) = run_at(LATE, &disk, Plan::None);
    result.unwrap();
    assert_eq!(
        ends(&stored(&fs)[0].clone().unwrap().1["tasks"][0]),
        at(LATE + LENGTH).now(),
        "in the document"
    );
    assert_eq!(fs.get(SIGNS), disk.get(SIGNS), "and not beside it");
    for plan in (1..=fs.calls()).flat_map(kills) {
        let (fs, result) = run_at(LATE, &disk, plan);
        let (fs, point) = (fs.after_kill(), format!("{plan:?} -> {result:?}"));
        let allowed: &[i64] = if result.is_ok() { &[LATE] } else { &[BEFORE, LATE] };
        let [one, other] = leases(&fs);
        assert!(ends_after(allowed).contains(&one) && other == BEFORE + LENGTH, "{point}: {one}, {other}");
        assert_eq!(check(&fs, false), [], "{point}");
    }
}

/// A call that fails leaves the lease as it was, or renewed; and whoever is told that it is renewed has it renewed, beside the
/// document or in it.
#[test]
fn failing_anywhere_a_sign_is_given_or_written_down_or_refused() {
    let numbers = [errno::ENOSPC, errno::EIO, errno::EACCES, errno::EROFS, errno::EINTR, errno::EMFILE];
    for (disk, given) in disks() {
        for call in 1..=rehearse(&disk).calls() {
            for (errno, persistent) in numbers.iter().flat_map(|number| [(*number, false), (*number, true)]) {
                for plan in
                    [Plan::FailAt { call, errno, persistent }, Plan::FailMid { call, errno, persistent }]
                {
                    let (fs, result) = run(&disk, plan);
                    let (fs, point) = (fs.after_kill(), format!("{plan:?} -> {result:?}"));
                    let allowed: &[i64] = if result.is_ok() { &[AFTER] } else { &[0, given, AFTER] };
                    let [one, other] = leases(&fs);
                    assert!(ends_after(allowed).contains(&one), "{point}: w1 has its task until {one}");
                    assert_eq!(other, given + LENGTH, "{point}: w2");
                    assert_eq!(check(&fs, false), [], "{point}");
                    beat(&store(&fs), "w1", AFTER + 10).unwrap();
                    assert_eq!(leases(&fs), [AFTER + 10 + LENGTH, other], "{point}: after the next sign");
                }
            }
        }
    }
}

/// The power may take a sign, or bring back the one before it. Those of others that were not on the disk may go as well.
#[test]
fn power_loss_gives_a_sign_that_was_given_or_none() {
    for (disk, given) in disks() {
        let mut images = 0;
        for call in 1..=rehearse(&disk).calls() + 1 {
            let (fs, _) = run(&disk, Plan::KillAt(call));
            for (number, image) in fs.after_kill().crash_images(40).iter().enumerate() {
                let point = format!("killed at {call}, image {number}");
                check_disk(image, &disk, &[0, given, AFTER], &[0, given], &point);
                images += 1;
            }
        }
        assert!(images > 50, "{images} images");
    }
}

/// Each way to spoil the file costs signs, and nothing else.
#[test]
fn spoiled_signs_are_none() {
    type Spoil = (&'static str, fn(Vec<u8>) -> Vec<u8>);
    let spoils: &[Spoil] = &[
        ("empty", |_| vec![]),
        ("zeros", |bytes| vec![0; bytes.len()]),
        ("cut", |bytes| bytes[..bytes.len() - 100].to_vec()),
        ("foreign", |_| {
            b"{\"id\":\"t1\",\"lease\":{\"epoch\":1,\"expires_at\":\"2099-01-01T00:00:00Z\"}}\n".to_vec()
        }),
        ("moved by a byte", |bytes| [b" ".to_vec(), bytes].concat()),
        ("very long", |bytes| [bytes, vec![b'x'; 3 << 20]].concat()),
    ];
    for (name, spoil) in spoils {
        let disk = signed();
        let fs = disk.after_kill();
        fs.put(SIGNS, &spoil(fs.get(SIGNS).unwrap()));
        check_disk(&fs, &disk, &[0, BEFORE], &[0, BEFORE], name);
    }
    // Every byte of a slot.
    for byte in 0..512 {
        let disk = signed();
        let fs = disk.after_kill();
        let mut bytes = fs.get(SIGNS).unwrap();
        bytes[byte] ^= 1;
        fs.put(SIGNS, &bytes);
        check_disk(&fs, &disk, &[0, BEFORE], &[BEFORE], &format!("byte {byte}"));
    }
}

#[test]
fn signs_that_were_removed_are_none() {
    use anthill_core::store::file::fs::Fs;
    let disk = signed();
    let fs = disk.after_kill();
    fs.remove(SIGNS).unwrap();
    check_disk(&fs, &disk, &[0], &[0], "removed");
}

/// What is no file costs no sign: the document is renewed instead, and `doctor` moves it away.
#[test]
fn something_else_in_the_place_of_signs_is_told_and_moved_away() {
    let fs = claimed();
    fs.plant_special(SIGNS);
    assert_eq!(leases(&fs), [LENGTH, LENGTH]);
    let before = stored(&fs)[0].clone().unwrap().0;
    beat(&store(&fs), "w1", AFTER).unwrap();
    assert_eq!(leases(&fs), [AFTER + LENGTH, LENGTH]);
    assert_eq!(stored(&fs)[0].clone().unwrap().0, before + 1, "written down");
    let findings = check(&fs, false);
    assert!(findings.len() == 1 && findings[0].subject.ends_with(SIGNS), "{findings:?}");
    assert!(check(&fs, true).iter().all(|finding| finding.repaired));
    assert_eq!(check(&fs, false), []);
    beat(&store(&fs), "w1", AFTER + 10).unwrap();
    assert_eq!((leases(&fs)[0], stored(&fs)[0].clone().unwrap().0), (AFTER + 10 + LENGTH, before + 1));
}

/// A copy of the room, or one that was put back, has signs of leases that are not there any more.
#[test]
fn signs_of_another_lease_do_not_count() {
    let fs = signed();
    let old = fs.get(SIGNS).unwrap();
    work::release(&store(&fs).engine, on("w1", "t1"), &at(100)).unwrap();
    let request = ClaimRequest { worker: &worker("w3"), task: None, lease: None };
    work::claim(&store(&fs).engine, &request, &at(100)).unwrap();
    let late = work::heartbeat(&store(&fs).engine, &worker("w1"), Some(&worker("t1")), Some(1), &at(AFTER));
    assert_eq!(late.unwrap_err().code(), anthill_core::error::Code::Conflict);
    assert_eq!(fs.get(SIGNS).unwrap(), old, "not a byte changes");
    assert_eq!(leases(&fs)[0], 100 + LENGTH);
    let signs = store(&fs).engine.signs(&Doc::queue()).unwrap();
    assert_eq!(signs.of("t1").unwrap().lease["epoch"], 1, "it is there, and does not count");
}

fn on<'a>(name: &str, task: &str) -> work::On<'a> {
    let key = |name: &str| -> &'a Key { Box::leak(Box::new(worker(name))) };
    work::On { worker: key(name), task: key(task), epoch: None }
}

/// The clock of the boot counts as long as that lasts, whatever the calendar is set to; the calendar's after it.
#[test]
fn another_boot_goes_by_the_calendar() {
    let moment = |seconds: i64, set: i64, boot: &str| {
        let set = SignedDuration::from_secs(set);
        let boot = Boot { id: boot.into(), began: now() - SignedDuration::from_hours(1) + set };
        Moment { at: now() + SignedDuration::from_secs(seconds) + set, boot: Some(boot) }
    };
    let mut held = serde_json::json!({"id": "t1", "lease": lease::new(1, LEASE, &moment(0, 0, "a"))});
    let sign = lease::Sign {
        id: "t1".into(),
        by: "w1".into(),
        lease: lease::new(1, LEASE, &moment(AFTER, 3600, "a")),
    };
    let signs: lease::Signs = [sign].into_iter().collect();
    let left = |now: &Moment| signs.left(&held, now).unwrap().as_secs();
    assert_eq!(left(&moment(AFTER, 3600, "a")), LENGTH);
    assert_eq!(left(&moment(AFTER, -3600, "a")), LENGTH, "set back by two hours");
    assert_eq!(left(&moment(AFTER, 3600, "b")), LENGTH, "by the calendar");
    signs.renew(&mut held);
    assert_eq!(
        held["lease"]["expires_at"],
        time::stamp(now() + SignedDuration::from_secs(AFTER + 3600 + LENGTH))
    );
}
