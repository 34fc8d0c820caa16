//! Long histories of random calls.

use anthill_core::store::file::fs::Fs;
use proptest::prelude::*;

use crate::sim_fs::SimFs;

#[derive(Debug, Clone)]
enum Action {
    CreateDir(String),
    Write(String, u64, Vec<u8>),
    Truncate(String, u64),
    SyncFile(String),
    SyncDir(String),
    Rename(String, String),
    Exchange(String, String),
    Remove(String),
}

fn action() -> impl Strategy<Value = Action> {
    let path = || "([ab]/){0,2}[abc]";
    prop_oneof![
        2 => path().prop_map(Action::CreateDir),
        4 => (path(), 0..4_u64, prop::collection::vec(1..9_u8, 0..4))
            .prop_map(|(path, offset, bytes)| Action::Write(path, offset, bytes)),
        1 => (path(), 0..4_u64).prop_map(|(path, length)| Action::Truncate(path, length)),
        1 => path().prop_map(Action::SyncFile),
        1 => "(|[ab]|[ab]/[ab])".prop_map(Action::SyncDir),
        3 => (path(), path()).prop_map(|(from, to)| Action::Rename(from, to)),
        2 => (path(), path()).prop_map(|(one, other)| Action::Exchange(one, other)),
        1 => path().prop_map(Action::Remove),
    ]
}

/// Does what can be done; most random actions meet a name that is missing or of the wrong kind.
fn act(fs: &SimFs, action: &Action) {
    let _ = match action {
        Action::CreateDir(dir) => fs.create_dir(dir).map(|_| ()),
        Action::Write(path, offset, bytes) => fs.write_at(path, *offset, bytes),
        Action::Truncate(path, length) => fs.truncate(path, *length),
        Action::SyncFile(path) => fs.sync_file(path),
        Action::SyncDir(dir) => fs.sync_dir(dir),
        Action::Rename(from, to) => fs.rename(from, to),
        Action::Exchange(one, other) => fs.exchange(one, other),
        Action::Remove(path) => fs.remove(path).map(|_| ()),
    };
}

fn contents(fs: &SimFs) -> Vec<(String, Option<Vec<u8>>)> {
    fs.files().into_iter().map(|path| (path.clone(), fs.get(&path))).collect()
}

fn sync_all(fs: &SimFs) {
    fs.files().iter().for_each(|path| fs.sync_file(path).unwrap());
    let mut dirs = vec![String::new()];
    while let Some(dir) = dirs.pop() {
        if fs.sync_dir(&dir).is_ok() {
            let join = |name: &String| if dir.is_empty() { name.clone() } else { format!("{dir}/{name}") };
            dirs.extend(fs.entries(&dir).unwrap().iter().map(join));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Partial syncs in any order neither lose nor invent: with luck all of it survives a power loss, and
    /// once everything is synced nothing else can.
    #[test]
    fn syncing_never_reorders(actions in prop::collection::vec(action(), 0..40)) {
        let fs = SimFs::new();
        actions.iter().for_each(|action| act(&fs, action));
        let none_and_all = fs.crash_images(2);
        prop_assert!(none_and_all.iter().any(|image| contents(image) == contents(&fs)));
        sync_all(&fs);
        let images = fs.crash_images(9);
        prop_assert!(images.iter().all(|image| contents(image) == contents(&fs)));
    }
}
