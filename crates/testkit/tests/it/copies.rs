//! A copied directory is another life of the room: like after a reboot, its journal knows more than its files.
#![expect(clippy::disallowed_methods, reason = "these tests act as another program")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anthill_core::error::Code;
use anthill_core::model::hint::Plain;
use anthill_core::model::kind::{Doc, Kind};
use anthill_core::model::room::Room;
use anthill_core::ops::edit::{self, Target};
use anthill_core::ops::{Actor, read};
use anthill_core::store::Upkeep;
use anthill_core::store::file::FileEngine;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::stores::{NORMAL, options, real, temp_dir};

const CONFIG: &str = "home/orchestration/config.json";

fn config() -> Doc {
    Doc::shared(Kind::find("config").unwrap(), Room::Shared)
}

fn set(engine: &FileEngine, number: u64) {
    let actor = Actor {
        clock: Arc::new(Timestamp::UNIX_EPOCH),
        session: None,
        acting: None,
        user: "test".into(),
        door: &Plain,
    };
    let target =
        Target { doc: &config(), path: &"global.max_parallel_agents".parse().unwrap(), expect: None };
    edit::set(engine, &target, json!(number), &actor).unwrap();
}

fn number(engine: &FileEngine) -> Result<Value, Code> {
    let path = "global.max_parallel_agents".parse().unwrap();
    read::get(engine, &config(), &path).map_err(|error| error.code())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), &target).unwrap()),
        }
    }
}

/// Every way in which a file may be behind its journal when only the journal was synced.
#[test]
fn a_copy_with_lost_writes_is_healed_from_its_journal() {
    let dir = temp_dir();
    let original = dir.path().join("original");
    let engine = real(&original, options(NORMAL));
    set(&engine, 1);
    let first = fs::read(original.join(CONFIG)).unwrap();
    set(&engine, 2);
    let newest = fs::read(original.join(CONFIG)).unwrap();
    let lost: [(&str, &[u8]); 4] =
        [("older", &first), ("empty", b""), ("zeros", &[0; 80]), ("torn", &newest[..newest.len() / 2])];
    for (name, bytes) in lost {
        let root = dir.path().join(name);
        copy(&original, &root);
        fs::write(root.join(CONFIG), bytes).unwrap();
        let engine = real(&root, options(NORMAL));
        assert_eq!(number(&engine), Ok(json!(2)), "{name}: what was acknowledged is there");
        assert_eq!(fs::read(root.join(CONFIG)).unwrap(), bytes, "{name}: reading changes nothing");
        assert_eq!(engine.check(&Room::Shared, false).unwrap(), [], "{name}");
        assert_eq!(fs::read(root.join(CONFIG)).unwrap(), newest, "{name}: healed");
        set(&engine, 3);
        assert_eq!(number(&engine), Ok(json!(3)), "{name}");
        let kept = root.join("home/orchestration/.anthill/quarantine/config.json.1");
        assert_eq!(kept.exists(), name == "torn", "{name}: bytes that nobody knows are kept");
    }
}

/// The same bytes in the place where they were written are what somebody did on purpose, or damage.
#[test]
fn in_place_an_older_file_is_an_edit_and_half_a_file_is_damage() {
    let dir = temp_dir();
    let engine = real(dir.path(), options(NORMAL));
    set(&engine, 1);
    let first = fs::read(dir.path().join(CONFIG)).unwrap();
    set(&engine, 2);
    fs::write(dir.path().join(CONFIG), &first).unwrap();
    assert_eq!(number(&engine), Ok(json!(1)), "an older copy put back wins");
    fs::write(dir.path().join(CONFIG), &first[..first.len() / 2]).unwrap();
    assert_eq!(number(&engine), Err(Code::Damaged));
}

/// An edit in a copy is still an edit.
#[test]
fn edits_in_a_copy_are_kept() {
    let dir = temp_dir();
    let (original, root) = (dir.path().join("original"), dir.path().join("copy"));
    set(&real(&original, options(NORMAL)), 1);
    copy(&original, &root);
    let text = fs::read_to_string(root.join(CONFIG)).unwrap();
    fs::write(root.join(CONFIG), text.replace("\"max_parallel_agents\": 1", "\"max_parallel_agents\": 9"))
        .unwrap();
    let engine = real(&root, options(NORMAL));
    assert_eq!(number(&engine), Ok(json!(9)));
    assert_eq!(engine.check(&Room::Shared, false).unwrap(), []);
    assert_eq!(number(&engine), Ok(json!(9)));
}
