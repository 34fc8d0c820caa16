//! The roster: which sessions may be at work, so that nobody has to look at all those that are over.
//!
//! `orchestration/locks/roster.json` lists every session that is not over and every mailbox without a session that is over, and
//! perhaps more. It is a cache, believed only while the two directories look as they did when it was written: a session that
//! another program puts there, or takes away, is noticed by that, and everybody looks at all of them until the next start or end.
//!
//! | who | holds | does |
//! | --- | --- | --- |
//! | a commit that makes a room, or after which a session is not over | the room's lock, then the roster's for a moment | puts its id on the roster, with the directory; **before** its commit point |
//! | a commit after which a session is over | the same | takes it off, after the commit |
//! | whoever finds the roster in doubt there | the same | looks at all rooms; one whose lock is taken stays on it: its holder may be on the way to its commit |
//! | a reader | nothing | believes the roster, or looks at all rooms |
//!
//! `over.jsonl` beside it lists the sessions in the order of their ends, so that whoever makes room for others finds the oldest
//! without looking at all. What it does not know of, because it was lost or is younger than the session, `anthill clean` finds.
//!
//! So what is on its way to be live is on the roster, and no order of two commits takes it off again. The roster's lock is the last that
//! anybody takes. Killed in between, the roster has one too many, or is in doubt. After a power loss it is as old as its directories, or
//! does not fit them; a session that comes back into its old directory does not change those, so then the roster is synced.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::addresses::RoomFiles;
use super::fs::{Access, Handle, Lock, LockMode};
use super::journal;
use super::place::Place;
use super::roots::{BROWSE, FileEngine};
use crate::model::ids::SessionId;
use crate::model::kind::Doc;
use crate::model::room::Room;
use crate::model::{session, time};
use crate::store::engine::{Engine, Live};
use crate::store::error::Result;

const FILE: &str = "orchestration/locks/roster.json";
const OVER: &str = "orchestration/locks/over.jsonl";
const LOCK: &str = "orchestration/locks/roster.lock";
const DIRS: [&str; 2] = ["sessions", "orchestration/messages"];
/// No roster is longer.
const LIMIT: u64 = 64 << 20;
/// How much of the list of those that are over is read at once, and how much has made room before it is written anew.
const PIECE: usize = 4 << 10;
const DONE: u64 = 64 << 10;

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Roster {
    /// What the directories of sessions and mailboxes looked like.
    looks: [Option<u64>; 2],
    /// Whether there are sessions at all.
    any: bool,
    /// Up to where the list of those that are over is done with.
    aged: u64,
    ids: BTreeSet<String>,
}

/// One end of a session.
#[derive(Debug, Serialize, Deserialize)]
struct Over {
    at: String,
    id: String,
}

/// Returns who may be at work.
pub fn read(place: &Place<'_>) -> Result<Live> {
    let mut roster = believed(place)?;
    if roster.is_none() {
        // Somebody may be about to write it.
        let free = place.fs.lock(LOCK, LockMode::Shared, BROWSE);
        roster = if free.is_ok() { believed(place)? } else { None };
    }
    let Roster { ids, any, .. } = match roster {
        Some(roster) => roster,
        None => all(place.engine, &|_| true)?,
    };
    Ok(Live { ids: ids.iter().filter_map(|id| id.parse().ok()).collect(), any })
}

/// Puts a room's id on the roster and makes its directory; the room's lock is held.
pub fn enlist(place: &Place<'_>) -> Result<()> {
    let Some(id) = place.room.session().map(SessionId::as_str) else { return Ok(()) };
    let (_lock, known) = open(place)?;
    let dir = place.room.dir();
    let is_new = place.fs.folder_stamp(&dir).map_err(|error| place.failed("look at", &dir, error))?.is_none();
    let mut roster = match known {
        Some(known) if known.ids.contains(id) && !is_new => return Ok(()),
        Some(known) => known,
        None => all(place.engine, &|room| is_free(place, room))?,
    };
    place.make_dirs(&dir)?;
    roster.any |= matches!(place.room, Room::Session(_));
    roster.ids.insert(id.to_owned());
    write(place, roster, !is_new)
}

/// Takes the id of a session that is over off the roster; its room's lock is held. One too many does no harm, nor does an end
/// that is not listed.
pub fn retire(place: &Place<'_>, at: &str) {
    let Some(id) = place.room.session().map(SessionId::as_str) else { return };
    let Ok((_lock, known)) = open(place) else { return };
    let over = Over { at: at.to_owned(), id: id.to_owned() };
    let _ = place.fs.append(OVER, &journal::encode(&over));
    if let Some(mut known) = known.filter(|known| known.ids.contains(id)) {
        known.ids.remove(id);
        let _ = write(place, known, false);
    }
}

/// Returns the first sessions on the list of those that are over, if they ended before a time, and takes them off it.
pub fn take_aged(place: &Place<'_>, before: Timestamp, most: usize) -> Result<Vec<SessionId>> {
    if !place.fs.may_exist(OVER) {
        return Ok(Vec::new());
    }
    let (_lock, known) = open(place)?;
    let Some(mut known) = known else { return Ok(Vec::new()) };
    let file = place.fs.open(OVER, Access::Read).map_err(|error| place.failed("open", OVER, error))?;
    let Some(file) = file else { return Ok(Vec::new()) };
    let piece = file.read_at(known.aged, PIECE).map_err(|error| place.failed("read", OVER, error))?;
    let (mut aged, from) = (Vec::new(), known.aged);
    for line in piece.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        let over = journal::decode::<Over>(line.trim_ascii_end());
        if aged.len() == most
            || over.as_ref().and_then(|over| time::read(&over.at)).is_some_and(|at| at >= before)
        {
            break;
        }
        known.aged += line.len() as u64;
        aged.extend(over.and_then(|over| over.id.parse::<SessionId>().ok()));
    }
    if known.aged > DONE && shorten(place, &*file, known.aged).is_ok() {
        known.aged = 0;
    }
    if known.aged != from {
        write(place, known, false)?;
    }
    Ok(aged)
}

/// Writes the list of those that are over without its begin. Killed before the roster says so, it is read from where it was:
/// then some ends are passed over.
fn shorten(place: &Place<'_>, file: &dyn Handle, aged: u64) -> std::io::Result<()> {
    let rest = usize::try_from(file.opened().size.saturating_sub(aged)).unwrap_or_default();
    let (rest, next) = (file.read_at(aged, rest)?, format!("{OVER}~"));
    place.fs.remove(&next)?;
    place.fs.write_new(&next, &rest)?;
    place.fs.rename(&next, OVER)
}

/// Does something that changes the directories, so that the roster goes on to fit.
pub fn along<T>(place: &Place<'_>, change: impl FnOnce() -> Result<T>) -> Result<T> {
    let (_lock, known) = open(place)?;
    let done = change()?;
    if let Some(mut known) = known {
        if let Some(id) = place.room.session()
            && !DIRS.iter().any(|dir| place.fs.may_exist(&format!("{dir}/{id}")))
        {
            known.ids.remove(id.as_str());
        }
        write(place, known, false)?;
    }
    Ok(done)
}

fn open(place: &Place<'_>) -> Result<(Box<dyn Lock>, Option<Roster>)> {
    let lock = place.lock_file(LOCK, place.patience)?.ok_or_else(|| place.busy(LOCK))?;
    Ok((lock, believed(place)?))
}

/// Returns the roster, if it fits the directories.
fn believed(place: &Place<'_>) -> Result<Option<Roster>> {
    let bytes = place.fs.read(FILE, LIMIT).ok().flatten();
    let line = bytes.as_deref().map(<[u8]>::trim_ascii_end);
    let Some(roster) = line.and_then(journal::decode::<Roster>) else { return Ok(None) };
    Ok((looks(place)? == roster.looks).then_some(roster))
}

fn looks(place: &Place<'_>) -> Result<[Option<u64>; 2]> {
    let look = |dir: &str| place.fs.folder_stamp(dir).map_err(|error| place.failed("look at", dir, error));
    Ok([look(DIRS[0])?, look(DIRS[1])?])
}

/// Writes the roster in its place. Half of it is none, so nobody is missed then.
fn write(place: &Place<'_>, roster: Roster, synced: bool) -> Result<()> {
    let mut bytes = journal::encode(&Roster { looks: looks(place)?, ..roster });
    let written = place.fs.open(FILE, Access::Create).and_then(|file| {
        let file = file.ok_or(std::io::ErrorKind::NotFound)?;
        let before = usize::try_from(file.opened().size).unwrap_or_default();
        bytes.resize(before.max(bytes.len()), b' ');
        file.write_at(0, &bytes)?;
        if synced { file.sync() } else { Ok(()) }
    });
    // Without one, everybody looks at all rooms.
    written.or_else(|_| place.fs.remove(FILE).map(drop)).map_err(|error| place.failed("write", FILE, error))
}

/// Looks at all rooms. One that is not `free` counts as live, whatever it says.
fn all(engine: &FileEngine, free: &dyn Fn(&Room) -> bool) -> Result<Roster> {
    let ids = |dir: &str| {
        let place = engine.place_of(&Room::Shared);
        let names = place.fs.folders(dir).map_err(|error| place.failed("list", dir, error))?;
        Ok::<_, crate::store::Error>(names.into_iter().filter_map(|name| name.parse::<SessionId>().ok()))
    };
    let (mut roster, mut over) = (Roster::default(), BTreeSet::new());
    for id in ids(DIRS[0])? {
        let is_free = free(&Room::Session(id.clone()));
        match engine.read(&Doc::session(&id)) {
            Ok(None) if is_free => continue,
            Ok(Some(state)) if is_free && session::is_over(&state.value) => over.insert(id.to_string()),
            // What cannot be read may be live.
            _ => roster.ids.insert(id.to_string()),
        };
        roster.any = true;
    }
    let mailboxes = ids(DIRS[1])?.map(|id| id.to_string());
    roster.ids.extend(mailboxes.filter(|id| !over.contains(id)));
    Ok(roster)
}

/// Whether nobody is at work in a room. Who comes now finds the roster locked.
fn is_free(place: &Place<'_>, room: &Room) -> bool {
    let lock = place.fs.lock(&room.lock(), LockMode::Shared, Duration::ZERO);
    lock.map_or_else(|error| error.kind() == std::io::ErrorKind::NotFound, |_| true)
}
