//! What [`Fs`] promises when nothing goes wrong.

use std::io::ErrorKind;
use std::time::Duration;

use anthill_core::store::file::fs::{Fs, LockMode};

use super::check_error;
use crate::sim_fs::SimFs;

#[test]
fn reading_honours_the_contract() {
    let fs = SimFs::new();
    fs.put("dir/b", b"abcd");
    fs.put("dir/a", b"");
    assert_eq!(fs.read("dir/b", 4).unwrap(), Some(b"abcd".to_vec()));
    check_error(fs.read("dir/b", 3), ErrorKind::FileTooLarge);
    check_error(fs.read("dir", 9), ErrorKind::InvalidInput);
    check_error(fs.read("dir/../x", 9), ErrorKind::InvalidInput);
    assert_eq!(fs.read("none/b", 9).unwrap(), None);
    assert_eq!(fs.read_from("dir/b", 3).unwrap(), Some(b"d".to_vec()));
    assert_eq!(fs.read_from("dir/b", 9).unwrap(), Some(vec![]));
    assert_eq!(fs.size("dir/b").unwrap(), Some(4));
    assert_eq!(fs.entries("dir").unwrap(), ["a", "b"]);
    assert_eq!(fs.entries("").unwrap(), ["dir"]);
    assert!(fs.entries("none").unwrap().is_empty());
    assert_eq!(fs.files(), ["dir/a", "dir/b"]);
}

#[test]
fn writing_honours_the_contract() {
    let fs = SimFs::new();
    fs.put("doc", b"ab");
    check_error(fs.write_new("doc", b""), ErrorKind::AlreadyExists);
    check_error(fs.write_new("none/doc", b""), ErrorKind::NotFound);
    check_error(fs.create_dir("none/dir"), ErrorKind::NotFound);
    assert!(fs.create_dir("dir").unwrap());
    assert!(!fs.create_dir("dir").unwrap());
    fs.write_at("doc", 3, b"d").unwrap();
    assert_eq!(fs.get("doc"), Some(b"ab\0d".to_vec()));
    check_error(fs.truncate("none", 0), ErrorKind::NotFound);
    check_error(fs.sync_file("none"), ErrorKind::NotFound);
    check_error(fs.sync_dir("none"), ErrorKind::NotFound);
    check_error(fs.rename("none", "doc"), ErrorKind::NotFound);
    check_error(fs.exchange("doc", "none"), ErrorKind::NotFound);
    assert!(!fs.remove("none").unwrap());
    fs.set_exchange_supported(false);
    check_error(fs.exchange("doc", "dir"), ErrorKind::Unsupported);
}

#[test]
fn special_file_is_refused() {
    let fs = SimFs::new();
    fs.plant_special("dir/fifo");
    check_error(fs.read("dir/fifo", 9), ErrorKind::InvalidInput);
    check_error(fs.size("dir/fifo"), ErrorKind::InvalidInput);
    check_error(fs.write_at("dir/fifo", 0, b"x"), ErrorKind::InvalidInput);
    check_error(fs.write_new("dir/fifo", b"x"), ErrorKind::AlreadyExists);
    check_error(fs.lock("dir/fifo", LockMode::Exclusive, Duration::ZERO), ErrorKind::InvalidInput);
    assert!(fs.files().is_empty());
}
