//! Removing a room of which nothing is left: its journal, its directories, its lock.
//!
//! Its documents and texts are gone by a commit of their own, which told where they went. Then, with the room's lock held:
//!
//! | step | on disk afterwards | killed, or power lost, here |
//! | --- | --- | --- |
//! | look: no document, no text, nothing of others, nothing kept aside | a room without documents | the same |
//! | make sure that no other room asks for a line of this journal any more ([`rotate::sync_others`]) | | |
//! | sync the names of the room | its documents are gone for good | the same: none comes back without a journal that knows better |
//! | remove the head, then the rest, the journal last, and the directories | less and less | a room without documents, of which somebody removes the rest |
//! | remove the lock file, let go of it | nothing | a lock file without a room, which [`remove_remains`] finds |
//!
//! A lock file goes while it is held, last of all. Who waits for it gets the lock of a file without a name, sees that, and asks
//! again by the name (`real_fs.rs`, `lock`): it finds a new file, and no room. Readers take no lock; they have the files open that they read, or
//! find a room that nobody has written to.

use std::time::Duration;

use super::addresses::{PaperFiles, RoomFiles};
use super::fs::{Fs, LockMode};
use super::journal::Segment;
use super::place::Place;
use super::{roster, rotate};
use crate::model::room::Room;
use crate::model::text_file::TextFile;
use crate::store::engine::Engine;
use crate::store::error::Result;

/// How many of a session's hooks may wait for their turn, each on a seat of its own (`live/src/hooks`).
const WAITING: usize = 16;

/// Removes a room that is empty. Returns whether it was.
pub fn remove(place: &Place<'_>) -> Result<bool> {
    let room = &place.room;
    if !matches!(room, Room::Session(_) | Room::Mailbox(_)) || !place.fs.may_exist(&room.dir()) {
        return Ok(false);
    }
    let (lock, _) = place.engine.enter(place)?;
    if !place.engine.documents(room)?.is_empty() || !is_bare(place)? {
        return Ok(false);
    }
    let journal = place.read(&place.journal())?.unwrap_or_default();
    rotate::sync_others(place, &Segment::parse(&journal))?;
    for dir in dirs(room) {
        match place.fs.sync_dir(&dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(place.failed("sync", &dir, error));
            }
            _ => {}
        }
    }
    let removed = roster::along(place, || Ok(empty(place)))?;
    if removed {
        remove_locks(place);
    }
    drop(lock);
    Ok(removed)
}

/// Removes the locks of a room that is gone, whose own is held: that one last, as by it the others are found.
fn remove_locks(place: &Place<'_>) {
    let room = &place.room;
    remove_seat(place.fs, &room.seat("hooks"));
    (0..WAITING).for_each(|number| remove_seat(place.fs, &room.seat(&format!("hooks-line-{number}"))));
    let _ = place.fs.remove(&room.lock());
}

/// Removes what is left of a room that somebody who was killed has almost removed: empty directories, locks.
pub fn remove_remains(place: &Place<'_>) -> Result<()> {
    if place.fs.may_exist(&place.room.dir()) {
        return remove(place).map(drop);
    }
    // Whoever has the lock is about to make the room.
    let lock = place.fs.lock(&place.room.lock(), LockMode::Exclusive, Duration::ZERO);
    if lock.is_ok() && !place.fs.may_exist(&place.room.dir()) {
        remove_locks(place);
    }
    Ok(())
}

/// Returns the sessions and mailboxes that have a lock file.
pub fn locked_rooms(home: &dyn Fs) -> Vec<Room> {
    let names = home.entries("orchestration/locks").unwrap_or_default();
    let room = |name: &String| {
        let (kind, id) = name.strip_suffix(".lock")?.split_once('-')?;
        match kind {
            "session" => id.parse().ok().map(Room::Session),
            "mailbox" => id.parse().ok().map(Room::Mailbox),
            _ => None,
        }
    };
    names.iter().filter_map(room).collect()
}

/// The directories of a room that hold names of ours, the deepest first.
fn dirs(room: &Room) -> Vec<String> {
    let folders = TextFile::folders(room).iter().filter(|folder| !folder.is_empty());
    let mut dirs: Vec<_> = folders.map(|folder| room.path(folder)).collect();
    dirs.push(room.dir());
    dirs
}

/// Whether nothing is there but what [`empty`] removes.
fn is_bare(place: &Place<'_>) -> Result<bool> {
    let names = |dir: &str| place.fs.entries(dir).map_err(|error| place.failed("list", dir, error));
    let mut is_bare = names(&place.room.hidden())?.iter().all(|name| is_ours(name));
    let folders = TextFile::folders(&place.room);
    for dir in dirs(&place.room) {
        let is_top = dir == place.room.dir();
        is_bare &= names(&dir)?.iter().all(|name| is_top && (name == HIDDEN || folders.contains(&&**name)));
    }
    Ok(is_bare)
}

const HIDDEN: &str = ".anthill";

/// Whether a file in the hidden directory tells nothing that anybody wants to keep.
fn is_ours(name: &str) -> bool {
    ["head.json", "journal", "index-", "twin-", "content-", "next-"].iter().any(|own| name.starts_with(own))
}

/// Removes what is left, the journal last. What fails is left for the next time.
fn empty(place: &Place<'_>) -> bool {
    let hidden = place.room.hidden();
    let mut names = place.fs.entries(&hidden).unwrap_or_default();
    names.sort_by_key(|name| name.starts_with("journal"));
    let all = names.iter().all(|name| place.fs.remove(&format!("{hidden}/{name}")).is_ok());
    if !all || place.fs.remove_dir(&hidden).is_err() {
        return false;
    }
    let dirs = dirs(&place.room);
    let (top, folders) = dirs.split_last().expect("a room has a directory");
    folders.iter().for_each(|dir| drop(place.fs.remove_dir(dir)));
    place.fs.remove_dir(top).unwrap_or_default()
}

/// Removes the lock file of a seat that nobody has.
fn remove_seat(fs: &dyn Fs, path: &str) {
    if fs.may_exist(path)
        && let Ok(_lock) = fs.lock(path, LockMode::Exclusive, Duration::ZERO)
    {
        let _ = fs.remove(path);
    }
}
