//! Looking back: the lines of a room from the newest to the oldest, and no further than somebody asks.
//!
//! Files are read from their ends, a piece at a time, so what is asked for costs the same whatever came before it. Nothing
//! is replayed. No lock is held: the current segment is opened first, and then one that is put aside meanwhile is met
//! twice; the numbers of the lines tell.

use std::collections::VecDeque;

use serde_json::Value;

use super::addresses::{DocFiles, RoomFiles};
use super::fs::{Access, Handle};
use super::journal::{self, DocEntry, Line, SNAPSHOT};
use super::place::{Head, Place};
use super::segments::old_segments;
use crate::model::kind::Doc;
use crate::store::engine::{Revision, Visit};
use crate::store::error::Result;

/// How much is read at once, unless a line is longer.
const PIECE: u64 = 32 << 10;

/// Calls `visit` with revisions, newest first, until it returns false.
pub fn look_back(place: &Place<'_>, only: Option<&Doc>, visit: Visit<'_>) -> Result<()> {
    let wanted = |entry: &&DocEntry| only.is_none_or(|doc| entry.file == doc.file());
    let mut tell = |line: &Line, segment: &str| {
        for entry in line.docs.iter().rev().filter(wanted) {
            if !visit(revision(place, line, entry, segment)?) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    Walk::new(place, only.map(Doc::file).as_deref(), &mut tell).go().map(drop)
}

/// Whether a commit with this token is kept.
pub fn has_token(place: &Place<'_>, token: &str) -> Result<bool> {
    let mut found = false;
    let mut tell = |line: &Line, _: &str| {
        found |= line.token.as_deref() == Some(token);
        Ok(!found)
    };
    Walk::new(place, Some(token), &mut tell).go()?;
    Ok(found)
}

/// Returns the newest line of a room, and whether it is in doubt.
pub fn newest(place: &Place<'_>) -> Result<Option<(Line, bool)>> {
    let mut newest = None;
    let mut tell = |line: &Line, _: &str| {
        newest = Some(line.clone());
        Ok(false)
    };
    let doubtful = Walk::new(place, None, &mut tell).go()?;
    Ok(doubtful.map(|line| (line, true)).or(newest.map(|line| (line, false))))
}

/// What a room did after a line.
#[derive(Debug, Default)]
pub struct Since {
    /// The first lines with what they changed, in their order.
    pub told: VecDeque<(Line, Vec<Revision>)>,
    /// The number of the newest line, told or not.
    pub newest: u64,
    /// Whether lines in between are not kept, or the room began anew.
    pub gap: bool,
    /// A line behind all others of which only its lead can tell whether it counts.
    pub doubtful: Option<(Line, Vec<Revision>)>,
}

/// Returns the first lines after one, no more than `most`, as far as they are kept.
pub fn since(place: &Place<'_>, after: u64, most: usize) -> Result<Since> {
    let mut since = Since::default();
    let mut next = None;
    let mut tell = |line: &Line, segment: &str| {
        since.newest = since.newest.max(line.seq);
        if line.seq <= after {
            return Ok(false);
        }
        next = Some(line.seq);
        let revisions = line.docs.iter().map(|entry| revision(place, line, entry, segment));
        since.told.push_front((line.clone(), revisions.collect::<Result<_>>()?));
        since.told.truncate(most);
        Ok(true)
    };
    let doubtful = Walk::new(place, None, &mut tell).go()?;
    if doubtful.as_ref().is_some_and(|line| line.seq <= after) {
        // It was told before, with its lead.
        since.newest = since.newest.max(after);
    } else if let Some(line) = doubtful {
        let revisions = line.docs.iter().map(|entry| revision(place, &line, entry, &place.journal()));
        let revisions = revisions.collect::<Result<_>>()?;
        since.doubtful = Some((line, revisions));
    }
    if since.newest < after {
        // Another room of this name: all of it is new.
        since = Since { gap: true, ..self::since(place, 0, most)? };
    }
    since.gap |= next.is_some_and(|next| next > after + 1);
    Ok(since)
}

type Tell<'w> = &'w mut dyn FnMut(&Line, &str) -> Result<bool>;

struct Walk<'w, 'e> {
    place: &'w Place<'e>,
    /// A text that every line has which is asked for.
    about: Option<&'w str>,
    /// Is told each line and its segment, until it returns false.
    tell: Tell<'w>,
    /// The number of the last line that was told: only those before it are new.
    before: u64,
    /// The newest line, if only its lead can tell whether it counts.
    doubtful: Option<Line>,
}

impl<'w, 'e> Walk<'w, 'e> {
    fn new(place: &'w Place<'e>, about: Option<&'w str>, tell: Tell<'w>) -> Walk<'w, 'e> {
        Walk { place, about, tell, before: u64::MAX, doubtful: None }
    }

    /// Goes back through all that is kept. Returns the newest line, if it is in doubt.
    fn go(mut self) -> Result<Option<Line>> {
        let place = self.place;
        let head = place.read_head()?;
        for path in [place.journal(), place.next_journal(), place.journal()] {
            if let Some(segment) = Backwards::open(place, &path)? {
                if !self.current(segment, head.as_ref())? {
                    return Ok(self.doubtful);
                }
                break;
            }
        }
        for path in old_segments(place)?.iter().rev() {
            if let Some(segment) = Backwards::open(place, path)?
                && !self.segment(segment)?
            {
                break;
            }
        }
        Ok(self.doubtful)
    }

    /// Tells the current segment. What no head has passed yet counts only up to the first bad line, and not while its
    /// lead is in doubt. Returns whether to go on.
    fn current(&mut self, mut segment: Backwards, head: Option<&Head>) -> Result<bool> {
        let passed = head.map_or(0, |head| head.seq);
        let mut fresh: Vec<Line> = Vec::new();
        let mut older = None;
        while let Some(bytes) = segment.next(self.place)? {
            match Line::parse(&bytes) {
                None => fresh.clear(),
                Some(line) if line.seq > passed => fresh.push(line),
                Some(line) => {
                    older = Some(line);
                    break;
                }
            }
        }
        if fresh.first().is_some_and(|line| line.lead.is_some()) {
            self.doubtful = Some(fresh.remove(0));
        }
        for line in fresh.into_iter().chain(older) {
            if !self.tell(&line, &segment.path)? {
                return Ok(false);
            }
        }
        self.segment(segment)
    }

    /// Tells a segment, without lines that cannot be read.
    fn segment(&mut self, mut segment: Backwards) -> Result<bool> {
        while let Some(bytes) = segment.next(self.place)? {
            if self.may_be_asked_for(&bytes)
                && let Some(line) = Line::parse(&bytes)
                && !self.tell(&line, &segment.path)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a line may be one that is asked for: most are told apart without reading them.
    fn may_be_asked_for(&self, line: &[u8]) -> bool {
        let Some(about) = self.about.map(str::as_bytes) else { return true };
        line.len() > LONG || line.windows(about.len()).any(|part| part == about)
    }

    fn tell(&mut self, line: &Line, segment: &str) -> Result<bool> {
        if line.op == SNAPSHOT || line.seq >= self.before {
            return Ok(true);
        }
        self.before = line.seq;
        (self.tell)(line, segment)
    }
}

fn revision(place: &Place<'_>, line: &Line, entry: &DocEntry, segment: &str) -> Result<Revision> {
    // Only the lines before it know what a removal took away.
    let before = if entry.deletes() { content_before(place, line.seq, &entry.file, segment)? } else { None };
    let mut revision = line.revision(entry, before.as_ref());
    revision.stored = revision.stored.map(|name| kept_at(place, &name));
    Ok(revision)
}

/// Says where a content is that was too long for the journal.
fn kept_at(place: &Place<'_>, name: &str) -> String {
    place.fs.display(&format!("{}/{name}", place.room.hidden()))
}

fn content_before(place: &Place<'_>, seq: u64, file: &str, segment: &str) -> Result<Option<Value>> {
    let segment = place.segment(&place.read(segment)?.unwrap_or_default());
    let mut replay = journal::Replay::default();
    segment
        .lines
        .iter()
        .take_while(|line| line.seq < seq || line.op == SNAPSHOT)
        .for_each(|line| replay.apply(line));
    Ok(replay.content(file).cloned())
}

/// A line that is longer than this is read rather than searched.
const LONG: usize = 64 << 10;

/// A file of lines, read from its end.
struct Backwards {
    path: String,
    file: Box<dyn Handle>,
    /// How much in front is not read yet.
    unread: u64,
    /// What was read and not given yet.
    bytes: Vec<u8>,
}

impl Backwards {
    fn open(place: &Place<'_>, path: &str) -> Result<Option<Backwards>> {
        let opened = place.fs.open(path, Access::Read).map_err(|error| place.failed("open", path, error))?;
        Ok(opened.map(|file| {
            let (path, unread, bytes) = (path.to_owned(), file.opened().size, Vec::new());
            Backwards { path, file, unread, bytes }
        }))
    }

    /// Returns the line before the last one that was given; empty ones do not count.
    fn next(&mut self, place: &Place<'_>) -> Result<Option<Vec<u8>>> {
        loop {
            let end = self.bytes.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1);
            self.bytes.truncate(end);
            match self.bytes.iter().rposition(|byte| *byte == b'\n') {
                Some(before) => return Ok(Some(self.bytes.split_off(before + 1))),
                None if self.unread == 0 && self.bytes.is_empty() => return Ok(None),
                None if self.unread == 0 => return Ok(Some(std::mem::take(&mut self.bytes))),
                None => self.read(place)?,
            }
        }
    }

    fn read(&mut self, place: &Place<'_>) -> Result<()> {
        let length = PIECE.max(2 * self.bytes.len() as u64).min(self.unread);
        let start = self.unread - length;
        let read = self.file.read_at(start, length as usize);
        let mut bytes = read.map_err(|error| place.failed("read", &self.path, error))?;
        bytes.append(&mut self.bytes);
        (self.bytes, self.unread) = (bytes, start);
        Ok(())
    }
}
