//! Processes that die, are refused, or get in each other's way.

use std::io::ErrorKind;
use std::time::Duration;

use anthill_core::store::file::fs::{Fs, LockMode};

use super::{check_error, outcomes};
use crate::sim_fs::errno::ENOSPC;
use crate::sim_fs::{Plan, SimFs};

#[test]
fn kill_keeps_what_was_written_and_frees_locks() {
    let fs = SimFs::new();
    let _lock = fs.lock("lock", LockMode::Exclusive, Duration::ZERO).unwrap();
    fs.write_new("doc", b"ab").unwrap();
    let next = fs.after_kill();
    assert_eq!(next.get("doc"), Some(b"ab".to_vec()));
    assert_eq!(next.boot_id().unwrap(), "boot-0");
    next.lock("lock", LockMode::Exclusive, Duration::ZERO).unwrap();
    assert!(outcomes(&next, "doc").contains(&None), "a kill syncs nothing");
    next.remove("doc").unwrap();
    assert!(fs.get("doc").is_some(), "the machines share nothing");
}

#[test]
fn killed_process_does_nothing_more() {
    let killed = |plan| {
        let fs = SimFs::new();
        fs.set_plan(plan);
        fs.write_new("one", b"abcd").unwrap();
        let error = fs.write_new("two", b"abcd").unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Other, "killed"));
        assert!(fs.killed());
        check_error(fs.write_new("three", b""), ErrorKind::Other);
        assert_eq!(fs.trace(), ["write_new one", "write_new two"]);
        assert_eq!(fs.get("three"), None);
        fs.get("two")
    };
    assert_eq!(killed(Plan::KillAt(2)), None);
    assert_eq!(killed(Plan::KillMid(2)), Some(b"ab".to_vec()));
    assert_eq!(killed(Plan::KillAfter(2)), Some(b"abcd".to_vec()));
}

#[test]
fn killed_process_learns_of_no_other_error() {
    let fs = SimFs::new();
    fs.set_plan(Plan::KillAfter(1));
    assert_eq!(fs.rename("none", "doc").unwrap_err().to_string(), "killed");
}

#[test]
fn failing_call_has_no_effect_or_half() {
    let failed = |plan| {
        let fs = SimFs::new();
        fs.set_plan(plan);
        assert_eq!(fs.write_at("doc", 0, b"abcd").unwrap_err().raw_os_error(), Some(ENOSPC));
        let persists = fs.write_at("other", 0, b"abcd").is_err();
        fs.create_dir("dir").unwrap();
        assert!(!fs.killed());
        (fs.get("doc"), persists)
    };
    let errno = ENOSPC;
    assert_eq!(failed(Plan::FailAt { call: 1, errno, persistent: false }), (None, false));
    assert_eq!(failed(Plan::FailAt { call: 1, errno, persistent: true }), (None, true));
    let half = Some(b"ab".to_vec());
    assert_eq!(failed(Plan::FailMid { call: 1, errno, persistent: false }), (half.clone(), false));
    assert_eq!(failed(Plan::FailMid { call: 1, errno, persistent: true }), (half, true));
}

#[test]
fn locks_exclude_and_are_freed_on_drop() {
    let fs = SimFs::new();
    let lock = |mode| fs.clone().lock("lock", mode, Duration::MAX);
    check_error(lock(LockMode::Shared), ErrorKind::NotFound);
    let exclusive = lock(LockMode::Exclusive).unwrap();
    check_error(lock(LockMode::Exclusive), ErrorKind::TimedOut);
    check_error(lock(LockMode::Shared), ErrorKind::TimedOut);
    drop(exclusive);
    let (_one, _other) = (lock(LockMode::Shared).unwrap(), lock(LockMode::Shared).unwrap());
    check_error(lock(LockMode::Exclusive), ErrorKind::TimedOut);
}

#[test]
fn events_wake_once_per_change() {
    let fs = SimFs::new();
    fs.put("doc", b"");
    let mut events = fs.events(&[]).unwrap();
    assert!(!events.wait(None).unwrap());
    fs.read("doc", 9).unwrap();
    assert!(!events.wait(None).unwrap());
    fs.write_at("doc", 0, b"x").unwrap();
    assert!(events.wait(None).unwrap());
    assert!(!events.wait(None).unwrap());
}
