//! What a power loss may leave, by the last thing that was done.

use std::collections::BTreeSet;

use anthill_core::store::file::fs::Fs;

use super::{BUDGET, check_outcomes, outcomes};
use crate::sim_fs::errno::EIO;
use crate::sim_fs::{Plan, SimFs};

#[test]
fn unsynced_write_is_kept_lost_torn_or_zero_filled() {
    let fs = SimFs::new();
    fs.write_new("doc", b"abcd").unwrap();
    let damaged = [Some(""), Some("ab"), Some("00cd"), Some("0000")];
    check_outcomes(&fs, "doc", &[&[None, Some("abcd")], &damaged[..]].concat());
}

#[test]
fn unsynced_append_leaves_the_synced_bytes_alone() {
    let fs = SimFs::new();
    fs.put("log", b"old\n");
    fs.write_at("log", 4, b"new\n").unwrap();
    let expected = ["old\n", "old\nnew\n", "old\nne", "old\n00w\n", "old\n0000"];
    check_outcomes(&fs, "log", &expected.map(Some));
}

#[test]
fn writes_to_one_file_survive_in_any_order() {
    let fs = SimFs::new();
    fs.put("log", b"");
    fs.write_at("log", 0, b"a").unwrap();
    fs.write_at("log", 1, b"b").unwrap();
    check_outcomes(&fs, "log", &["", "0", "a", "0b", "ab", "00", "a0"].map(Some));
}

#[test]
fn unsynced_truncate_is_kept_or_lost() {
    let fs = SimFs::new();
    fs.put("log", b"abcd");
    fs.truncate("log", 1).unwrap();
    check_outcomes(&fs, "log", &[Some("a"), Some("abcd")]);
}

#[test]
fn synced_file_can_lose_its_name() {
    let fs = SimFs::new();
    fs.write_new("doc", b"abcd").unwrap();
    fs.sync_file("doc").unwrap();
    check_outcomes(&fs, "doc", &[None, Some("abcd")]);
    fs.sync_dir("").unwrap();
    check_outcomes(&fs, "doc", &[Some("abcd")]);
}

#[test]
fn name_of_an_unsynced_file_can_be_dropped() {
    let fs = SimFs::new();
    fs.put("doc", b"ab");
    fs.write_new("next", b"cd").unwrap();
    fs.sync_dir("").unwrap();
    fs.exchange("next", "doc").unwrap();
    check_outcomes(&fs, "doc", &[None, Some("ab"), Some(""), Some("cd"), Some("c"), Some("0d"), Some("00")]);
    fs.sync_file("doc").unwrap();
    check_outcomes(&fs, "doc", &[Some("ab"), Some("cd")]);
}

#[test]
fn synced_name_can_lose_its_bytes() {
    let fs = SimFs::new();
    fs.write_new("doc", b"ab").unwrap();
    fs.sync_dir("").unwrap();
    check_outcomes(&fs, "doc", &["", "ab", "a", "0b", "00"].map(Some));
}

#[test]
fn synced_directory_can_lose_its_own_name() {
    let fs = SimFs::new();
    fs.create_dir("tasks").unwrap();
    fs.write_new("tasks/doc", b"ab").unwrap();
    fs.sync_file("tasks/doc").unwrap();
    fs.sync_dir("tasks").unwrap();
    check_outcomes(&fs, "tasks/doc", &[None, Some("ab")]);
    fs.sync_dir("").unwrap();
    check_outcomes(&fs, "tasks/doc", &[Some("ab")]);
}

#[test]
fn unsynced_rename_over_gives_old_or_new_but_never_neither() {
    let fs = SimFs::new();
    fs.put("doc", b"old");
    fs.write_new("tmp", b"new").unwrap();
    fs.sync_file("tmp").unwrap();
    fs.rename("tmp", "doc").unwrap();
    check_outcomes(&fs, "doc", &[Some("old"), Some("new")]);
    fs.sync_dir("").unwrap();
    check_outcomes(&fs, "doc", &[Some("new")]);
    check_outcomes(&fs, "tmp", &[None]);
}

#[test]
fn rename_before_sync_of_the_bytes_can_destroy_both() {
    let fs = SimFs::new();
    fs.put("doc", b"old");
    fs.write_new("tmp", b"new").unwrap();
    fs.rename("tmp", "doc").unwrap();
    fs.sync_dir("").unwrap();
    check_outcomes(&fs, "doc", &["", "n", "new", "0ew", "000"].map(Some));
}

#[test]
fn rename_across_directories_waits_for_the_destination() {
    let fs = SimFs::new();
    fs.put("from/doc", b"x");
    fs.put("to/other", b"");
    fs.rename("from/doc", "to/doc").unwrap();
    fs.sync_dir("from").unwrap();
    check_outcomes(&fs, "to/doc", &[None, Some("x")]);
    for image in fs.crash_images(BUDGET) {
        assert_ne!(image.get("from/doc"), image.get("to/doc"), "the file is at exactly one place");
    }
    fs.sync_dir("to").unwrap();
    check_outcomes(&fs, "to/doc", &[Some("x")]);
    check_outcomes(&fs, "from/doc", &[None]);
}

#[test]
fn rename_into_a_lost_directory_did_not_happen() {
    let fs = SimFs::new();
    fs.put("doc", b"x");
    fs.create_dir("dir").unwrap();
    fs.rename("doc", "dir/doc").unwrap();
    for image in fs.crash_images(BUDGET) {
        assert_ne!(image.get("doc"), image.get("dir/doc"), "the file is at exactly one place");
    }
}

#[test]
fn name_reused_after_a_rename_is_durable_once_synced() {
    let fs = SimFs::new();
    fs.put("from/doc", b"x");
    fs.put("to/other", b"");
    fs.rename("from/doc", "to/doc").unwrap();
    fs.write_new("from/doc", b"y").unwrap();
    fs.sync_file("from/doc").unwrap();
    fs.sync_dir("from").unwrap();
    check_outcomes(&fs, "from/doc", &[Some("y")]);
    check_outcomes(&fs, "to/doc", &[Some("x")]);
}

#[test]
fn lost_removal_cannot_let_a_rename_move_the_stale_file() {
    let fs = SimFs::new();
    fs.put("doc", b"old");
    fs.put("tmp", b"stale");
    fs.remove("tmp").unwrap();
    fs.write_new("tmp", b"new").unwrap();
    fs.sync_file("tmp").unwrap();
    fs.rename("tmp", "doc").unwrap();
    check_outcomes(&fs, "doc", &[Some("old"), Some("new")]);
}

#[test]
fn exchange_is_atomic_in_every_image() {
    let fs = SimFs::new();
    fs.put("one", b"1");
    fs.put("other", b"2");
    fs.exchange("one", "other").unwrap();
    let images = fs.crash_images(BUDGET);
    let pairs: Vec<_> = images.iter().map(|image| (image.get("one"), image.get("other"))).collect();
    let pair = |one: &[u8], other: &[u8]| (Some(one.to_vec()), Some(other.to_vec()));
    assert_eq!(pairs, [pair(b"1", b"2"), pair(b"2", b"1")]);
}

#[test]
fn removal_is_lost_until_its_directory_is_synced() {
    let fs = SimFs::new();
    fs.put("doc", b"x");
    assert!(fs.remove("doc").unwrap());
    check_outcomes(&fs, "doc", &[None, Some("x")]);
    fs.sync_dir("").unwrap();
    check_outcomes(&fs, "doc", &[None]);
}

#[test]
fn repeating_a_failed_sync_does_not_save_the_bytes() {
    let fs = SimFs::new();
    fs.put("log", b"");
    fs.set_plan(Plan::FailAt { call: 2, errno: EIO, persistent: false });
    fs.write_at("log", 0, b"ab").unwrap();
    assert_eq!(fs.sync_file("log").unwrap_err().raw_os_error(), Some(EIO));
    assert!(outcomes(&fs, "log").contains(&Some(b"ab".to_vec())));
    fs.sync_file("log").unwrap();
    check_outcomes(&fs, "log", &[Some("")]);
    fs.write_at("log", 0, b"ab").unwrap();
    fs.sync_file("log").unwrap();
    check_outcomes(&fs, "log", &[Some("ab")]);
}

#[test]
fn crash_image_is_durable_and_of_another_boot_or_at_least_mounted_anew() {
    let fs = SimFs::new();
    fs.write_new("doc", b"ab").unwrap();
    let mut boots = BTreeSet::new();
    for image in fs.crash_images(BUDGET) {
        boots.insert(image.boot_id().unwrap());
        assert_eq!(image.mounted("doc").unwrap(), Some(1));
        let again = image.crash_images(BUDGET);
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].get("doc"), image.get("doc"));
        assert_eq!(again[0].mounted("doc").unwrap(), Some(2));
    }
    assert_eq!(boots, BTreeSet::from(["boot-0".into(), "boot-1".into()]));
}

#[test]
fn few_effects_give_every_subset() {
    let fs = SimFs::new();
    for number in 0..12 {
        fs.write_new(&format!("doc-{number}"), b"").unwrap();
    }
    assert_eq!(fs.crash_images(BUDGET).len(), 1 << 12);
}

#[test]
fn many_effects_stay_within_the_budget_and_repeat() {
    let fs = SimFs::new();
    for number in 0..40 {
        fs.write_new(&format!("doc-{number}"), b"abcd").unwrap();
    }
    let images = fs.crash_images(500);
    assert_eq!(images.len(), 500);
    assert!(images.iter().any(|image| image.files().is_empty()));
    assert!(images.iter().any(|image| image.files().len() == 40));
    let files = |images: &[SimFs]| images.iter().map(SimFs::files).collect::<Vec<_>>();
    assert_eq!(files(&images), files(&fs.crash_images(500)));
}
