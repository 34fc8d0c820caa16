//! Looking back: the lines of a room from the newest to the oldest, and no further than somebody asks.
//!
//! Files are read from their ends, a piece at a time, so what is asked for costs the same whatever came before it. Nothing
//! is replayed. No lock is held: the current segment is opened first, and then one that is put aside meanwhile is met
//! twice; the numbers of the lines tell.

use super::fs::{Access, Handle};
use super::journal::{self, DocEntry, Line, SNAPSHOT};
use super::place::{Head, Place};
use super::rotate;
use crate::model::kind::Doc;
use crate::store::engine::{Revision, Visit};
use crate::store::error::Result;

/// How much is read at once, unless a line is longer.
const PIECE: u64 = 32 << 10;

/// Calls `visit` with revisions, newest first, until it returns false.
pub fn look_back(place: &Place<'_>, only: Option<&Doc>, visit: Visit<'_>) -> Result<()> {
    let mut walk = Walk { place, only, visit, before: u64::MAX };
    let head = place.read_head()?;
    for path in [place.journal(), place.next_journal(), place.journal()] {
        if let Some(segment) = Backwards::open(place, &path)? {
            if !walk.current(segment, head.as_ref())? {
                return Ok(());
            }
            break;
        }
    }
    for path in rotate::old_segments(place)?.iter().rev() {
        if let Some(segment) = Backwards::open(place, path)?
            && !walk.segment(segment)?
        {
            break;
        }
    }
    Ok(())
}

struct Walk<'w, 'e> {
    place: &'w Place<'e>,
    only: Option<&'w Doc>,
    visit: Visit<'w>,
    /// The number of the last line that was told: only those before it are new.
    before: u64,
}

impl Walk<'_, '_> {
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
            fresh.remove(0);
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
            if self.may_speak_of_it(&bytes)
                && let Some(line) = Line::parse(&bytes)
                && !self.tell(&line, &segment.path)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a line may be about the document that is asked for: most are told apart without reading them.
    fn may_speak_of_it(&self, line: &[u8]) -> bool {
        let Some(doc) = self.only else { return true };
        let file = doc.file.as_bytes();
        line.len() > LONG || line.windows(file.len()).any(|part| part == file)
    }

    fn tell(&mut self, line: &Line, segment: &str) -> Result<bool> {
        if line.op == SNAPSHOT || line.seq >= self.before {
            return Ok(true);
        }
        self.before = line.seq;
        let wanted = |entry: &&DocEntry| self.only.is_none_or(|doc| entry.file == doc.file);
        for entry in line.docs.iter().rev().filter(wanted) {
            let revision = self.revision(line, entry, segment)?;
            if !(self.visit)(revision) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn revision(&self, line: &Line, entry: &DocEntry, segment: &str) -> Result<Revision> {
        // Only the lines before it know what a removal took away.
        let before =
            if entry.deletes() { self.content_before(line.seq, &entry.file, segment)? } else { None };
        let mut revision = line.revision(entry, before.as_ref());
        if let Some(name) = &mut revision.stored {
            *name = self.place.fs.display(&format!("{}/{name}", self.place.room.hidden()));
        }
        Ok(revision)
    }

    fn content_before(&self, seq: u64, file: &str, segment: &str) -> Result<Option<serde_json::Value>> {
        let segment = self.place.segment(&self.place.read(segment)?.unwrap_or_default());
        let mut replay = journal::Replay::default();
        segment
            .lines
            .iter()
            .take_while(|line| line.seq < seq || line.op == SNAPSHOT)
            .for_each(|line| replay.apply(line));
        Ok(replay.content(file).cloned())
    }
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
