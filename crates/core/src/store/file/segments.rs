//! The kept segments of a room's journal, one after the other.

use super::addresses::RoomFiles;
use super::journal::{Lead, Line, SNAPSHOT, Segment};
use super::place::{Head, Place};
use crate::model::kind::Doc;
use crate::store::error::Result;

/// Calls `visit` with every line of every kept segment, oldest first, each once; with what they say of `only` this document,
/// if one is named.
///
/// No lock is held. The current segment is read first, so that one that is put aside meanwhile shows up
/// twice instead of not at all; the numbers of the lines then tell what was there already.
pub fn each_line(place: &Place<'_>, only: Option<&Doc>, visit: &mut dyn FnMut(&Line)) -> Result<()> {
    let read = |bytes: &[u8]| match only {
        Some(doc) => place.segment_of(bytes, doc),
        None => place.segment(bytes),
    };
    let mut current = read(&current_segment(place)?);
    if in_doubt(&current, place.read_head()?.as_ref()).is_some() {
        current.drop_last();
    }
    let mut seen = 0;
    let mut visit_new = |segment: Segment| {
        for line in segment.lines {
            if line.seq > seen || (line.seq == seen && line.op == SNAPSHOT) {
                seen = line.seq;
                visit(&line);
            }
        }
    };
    for path in old_segments(place)? {
        visit_new(read(&place.read(&path)?.unwrap_or_default()));
    }
    visit_new(current);
    Ok(())
}

/// Returns the bytes of the current segment, which has no name for a moment while it is put aside.
pub fn current_segment(place: &Place<'_>) -> Result<Vec<u8>> {
    for path in [place.journal(), place.next_journal(), place.journal()] {
        if let Some(bytes) = place.read(&path)? {
            return Ok(bytes);
        }
    }
    Ok(Vec::new())
}

/// Returns the names of the older segments, oldest first.
pub fn old_segments(place: &Place<'_>) -> Result<Vec<String>> {
    let hidden = place.room.hidden();
    let names = place.fs.entries(&hidden).map_err(|error| place.failed("list", &hidden, error))?;
    let old = names.into_iter().filter(|name| name.starts_with("journal-") && name.ends_with(".jsonl"));
    Ok(old.map(|name| format!("{hidden}/{name}")).collect())
}

/// Returns what the last line depends on, unless a head of any life says that it counts.
pub fn in_doubt<'s>(segment: &'s Segment, head: Option<&Head>) -> Option<&'s Lead> {
    let last = segment.lines.last().filter(|last| head.is_none_or(|head| head.seq < last.seq))?;
    last.lead.as_ref()
}
