//! Signs of life: a file beside a list, with a line for each item that somebody has.
//!
//! Lines stand in slots of one length and are written in place, under the room's lock, without a journal and without a sync.
//! Each has its checksum: a slot that is torn, or was never ours, has no sign. Who has none yet takes a slot whose lease is over,
//! or a new one at the end. Losing the file loses renewals, no more: see `docs/design/signs-of-life.md`.

use std::io;

use super::addresses::DocFiles;
use super::fs::Access;
use super::journal;
use super::place::Place;
use crate::model::kind::Doc;
use crate::model::lease::{Sign, Signs};
use crate::model::time::Moment;
use crate::store::error::Result;

/// How long a slot is. The longest ids of a task and a worker fit in.
const SLOT: usize = 512;

/// How many there are at most. Whoever finds none free has their leases renewed in the document.
const MOST: usize = 4096;

/// What will stand where.
#[derive(Debug)]
pub struct Slot {
    path: String,
    number: usize,
    line: Vec<u8>,
}

/// Returns the last sign of life of each item.
pub fn read(place: &Place<'_>, doc: &Doc) -> Result<Signs> {
    Ok(all(place, doc)?.into_iter().collect())
}

/// Returns all signs of life that stand in the file.
pub fn all(place: &Place<'_>, doc: &Doc) -> Result<Vec<Sign>> {
    let path = place.signs(&doc.file());
    match load(place, &path) {
        Ok(bytes) => Ok(bytes.chunks(SLOT).filter_map(sign_in).collect()),
        // What is no file has no signs; `doctor` tells of it.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(Vec::new()),
        Err(error) => Err(place.failed("read", &path, error)),
    }
}

/// Finds the slot for a sign beside those that this commit gives already; `None` if there is none, or no telling.
pub fn slot_for<'s>(
    place: &Place<'_>,
    doc: &Doc,
    sign: &Sign,
    given: impl Iterator<Item = &'s Slot> + Clone,
    now: &Moment,
) -> Option<Slot> {
    let (path, line) = (place.signs(&doc.file()), line_of(sign)?);
    let bytes = load(place, &path).ok()?;
    let slots: Vec<_> = bytes.chunks_exact(SLOT).collect();
    let given = given.filter(|slot| slot.path == path);
    let own = given.clone().find(|slot| is_of_same(&slot.line, &line)).map(|slot| slot.number);
    let own = own.or_else(|| slots.iter().position(|slot| is_of_same(slot, &line)));
    let is_free = |number: &usize| {
        !given.clone().any(|slot| slot.number == *number)
            && slots.get(*number).is_none_or(|slot| sign_in(slot).is_none_or(|sign| sign.is_over(now)))
    };
    let number = own.or_else(|| (0..MOST).find(is_free))?;
    Some(Slot { path, number, line })
}

/// Puts a sign in its slot.
pub fn give(place: &Place<'_>, slot: &Slot) -> Result<()> {
    let written = place.fs.write_at(&slot.path, (slot.number * SLOT) as u64, &slot.line);
    written.map_err(|error| place.failed("write", &slot.path, error))
}

fn load(place: &Place<'_>, path: &str) -> io::Result<Vec<u8>> {
    let Some(file) = place.fs.open(path, Access::Read)? else { return Ok(Vec::new()) };
    let size = usize::try_from(file.opened().size).unwrap_or(usize::MAX);
    file.read_at(0, size.min(MOST * SLOT))
}

fn sign_in(slot: &[u8]) -> Option<Sign> {
    journal::decode(slot.trim_ascii_end())
}

fn line_of(sign: &Sign) -> Option<Vec<u8>> {
    let mut line = journal::encode(sign);
    let room = SLOT.checked_sub(line.len())?;
    line.pop();
    line.resize(line.len() + room, b' ');
    line.push(b'\n');
    Some(line)
}

/// Whether two slots are of the same item. They begin with its id.
fn is_of_same(one: &[u8], other: &[u8]) -> bool {
    let end = other.windows(BEHIND.len()).position(|piece| piece == BEHIND).map(|at| at + BEHIND.len());
    end.is_some_and(|end| one.get(..end) == other.get(..end))
}

/// What stands behind the id. No id has it inside, where a quotation mark is written with a backslash.
const BEHIND: &[u8] = b"\",\"by\":";
