//! Following a document: file events say "look now", the journal and the file say what happened.
//!
//! The events are armed before the first look, so nothing falls between snapshot and watch. Commits come
//! from the journal, every one of them; edits by other programs from comparing the file with the head.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::fs::Events;
use super::journal::{EDIT, HAND, Line, Replay, SNAPSHOT, Segment, Sum};
use super::place::{Head, Place, parent};
use super::recover::{self, View};
use super::{FileEngine, each_line, look_as_reader, read_document};
use crate::model::kind::Doc;
use crate::store::engine::{Document, Event, Watch};
use crate::store::error::Result;
use crate::store::state;

/// Looks again after this long even without an event, for places whose events get lost.
const SAFETY: Duration = Duration::from_secs(5);

pub struct FileWatch {
    engine: FileEngine,
    doc: Doc,
    events: Box<dyn Events>,
    replay: Replay,
    /// How far the current segment is read.
    offset: u64,
    /// The newest revision that was reported or is known from before.
    revision: u64,
    /// The content that was reported last; `None` while the document does not exist.
    sum: Option<Sum>,
    queue: VecDeque<Event>,
}

impl FileWatch {
    pub fn start(engine: FileEngine, doc: Doc, from: Option<u64>) -> Result<FileWatch> {
        let place = engine.open(&doc.room)?;
        let dirs = [parent(&doc.path()).to_owned(), doc.room.hidden()];
        let events = place.fs.events(&dirs).map_err(|error| place.failed("watch", &dirs[0], error))?;
        drop(place);
        let (replay, queue) = (Replay::default(), VecDeque::new());
        let mut watch = FileWatch { engine, doc, events, replay, offset: 0, revision: 0, sum: None, queue };
        match from {
            Some(revision) => watch.resume(revision)?,
            None => watch.snapshot()?,
        }
        Ok(watch)
    }

    /// Reports the state of now, and everything after it later.
    fn snapshot(&mut self) -> Result<()> {
        let engine = self.engine.clone();
        let place = engine.open(&self.doc.room)?;
        let view = look_as_reader(&place)?;
        let found = read_document(&place, &self.doc, &view)?;
        self.sum = found.as_ref().map(|(_, sum)| *sum);
        self.revision =
            found.as_ref().map_or(view.revision(&self.doc.file), |(document, _)| document.revision);
        if let Some((Document { value, revision }, _)) = found {
            let (by, op) = ("anthill".into(), SNAPSHOT.into());
            self.queue.push_back(Event { revision, at: None, by, op, value });
        }
        // The journal is read after the document, so that a commit in between is reported and not swallowed.
        self.read_all(&place, self.revision)
    }

    /// Reports everything after `revision` that is still kept; a gap shows as a snapshot.
    fn resume(&mut self, revision: u64) -> Result<()> {
        self.revision = revision;
        let engine = self.engine.clone();
        let place = engine.open(&self.doc.room)?;
        self.read_all(&place, revision)?;
        let gap = self.queue.front().is_some_and(|event| event.revision > revision + 1);
        if gap {
            self.queue.clear();
            return self.snapshot();
        }
        if self.queue.is_empty() {
            // What the journal knows is not news; only a file that differs from it is.
            let known = self.replay.docs.get(&self.doc.file);
            self.sum = known.and_then(|known| known.sum);
        }
        Ok(())
    }

    /// Reads every kept segment and queues the commits after `revision`.
    fn read_all(&mut self, place: &Place<'_>, revision: u64) -> Result<()> {
        self.replay = Replay::default();
        self.offset = 0;
        let mut lines = Vec::new();
        each_line(place, &mut |line| lines.push(line.clone()))?;
        for line in &lines {
            self.take_line(line, revision);
        }
        let current = place.read(&place.journal())?.unwrap_or_default();
        let segment = Segment::parse(&current);
        let seen = self.replay.seq;
        let unseen = segment.lines.iter().position(|line| line.seq > seen);
        self.offset = match unseen {
            Some(_) => 0,
            None => segment.good,
        };
        Ok(())
    }

    fn take_line(&mut self, line: &Line, after: u64) {
        self.replay.apply(line);
        let Some(entry) = line.docs.iter().find(|entry| entry.file == self.doc.file) else { return };
        if line.op == SNAPSHOT || entry.revision <= after {
            return;
        }
        // An edit that was reported when it was seen is not news when a commit absorbs it.
        let reported = line.op == EDIT && entry.sum == self.sum && entry.revision <= self.revision;
        self.revision = self.revision.max(entry.revision);
        self.sum = entry.sum;
        if reported {
            return;
        }
        let known = self.replay.docs.get(&self.doc.file).filter(|known| known.sum.is_some());
        let value = known.map(|known| known.content.clone()).unwrap_or_default();
        let (at, by, op) = (Some(line.at.clone()), line.by.clone(), line.op.clone());
        self.queue.push_back(Event { revision: entry.revision, at, by, op, value });
    }

    /// Queues what happened since the last look.
    fn refresh(&mut self) -> Result<()> {
        let engine = self.engine.clone();
        let place = engine.open(&self.doc.room)?;
        let before = recover::look(&place)?;
        self.read_new(&place)?;
        let bytes = place.read_doc(&self.doc.file, self.doc.kind.limit).unwrap_or_default();
        let after = recover::look(&place)?;
        // Only between two looks without a commit does a differing file mean an edit by somebody else.
        match (before, after) {
            (View::Fresh, View::Fresh) => self.judge(&Head::default(), bytes.as_deref(), &place),
            (View::Clean(before), View::Clean(after))
                if before.end == after.end && self.offset == after.end =>
            {
                self.judge(&after, bytes.as_deref(), &place);
            }
            _ => {}
        }
        Ok(())
    }

    fn read_new(&mut self, place: &Place<'_>) -> Result<()> {
        let size = place.size(&place.journal())?.unwrap_or(0);
        if size == self.offset {
            return Ok(());
        }
        let read = |offset| {
            place
                .fs
                .read_from(&place.journal(), offset)
                .map_err(|error| place.failed("read", &place.journal(), error))
        };
        let fresh = if size > self.offset { read(self.offset)?.unwrap_or_default() } else { Vec::new() };
        let segment = Segment::parse(&fresh);
        // A snapshot may stand for a commit in the segment before it that was not reported yet.
        let next = self.replay.seq + 1;
        let follows = segment.lines.first().is_some_and(|line| line.op != SNAPSHOT && line.seq == next);
        if follows {
            self.offset += segment.good;
            let after = self.known_revision();
            segment.lines.iter().for_each(|line| self.take_line(line, after));
            return Ok(());
        }
        // A line that is still being written has no end yet.
        if segment.lines.is_empty() && size > self.offset && !fresh.contains(&b'\n') {
            return Ok(());
        }
        // Another segment, or one that was cut: read everything and report what is new.
        let after = self.known_revision();
        self.read_all(place, after)
    }

    /// Returns the newest revision that came from the journal.
    fn known_revision(&self) -> u64 {
        self.replay.docs.get(&self.doc.file).map_or(0, |known| known.revision)
    }

    /// Queues an edit if the file is neither what we committed nor what was reported.
    fn judge(&mut self, head: &Head, bytes: Option<&[u8]>, place: &Place<'_>) {
        let sum = bytes.map(Sum::of);
        if sum == self.sum {
            return;
        }
        let value = match bytes.map(|bytes| state::open(&self.doc, &place.show(&self.doc), bytes)) {
            None => Value::Null,
            Some(Ok(value)) => value,
            // An editor in mid-save, or damage: either way there is nothing new to report yet.
            Some(Err(_)) => return,
        };
        let known = head.docs.get(&self.doc.file);
        let revision = super::effective_revision(known, sum, Some(&value)).max(self.revision);
        let mut value = value;
        super::show_revision(&self.doc, &mut value, revision);
        (self.sum, self.revision) = (sum, revision);
        self.queue.push_back(Event { revision, at: None, by: HAND.into(), op: EDIT.into(), value });
    }
}

impl Watch for FileWatch {
    fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Event>> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(Some(event));
            }
            self.refresh()?;
            if !self.queue.is_empty() {
                continue;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            let pause = left.unwrap_or(SAFETY).min(SAFETY);
            let place = self.engine.fs(self.doc.room.root()).display(&self.doc.path());
            let waited = self.events.wait(Some(pause));
            waited.map_err(|source| super::Error::Io {
                action: "watch",
                path: place,
                indeterminate: false,
                source,
            })?;
        }
    }
}
