//! Following a long list: told by its changes, which come from the journal alone.
//!
//! A document of any length takes the same memory: no state of it is kept, and what its readers have not fetched stays in the journal.
//! Whoever is left behind by more than [`MOST`] bytes of it is told so once, and gets the whole again, piece by piece from the file. An edit
//! by hand is told when a command takes it in.

use std::collections::VecDeque;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::model::diff::Change;
use crate::model::kind::Doc;
use crate::model::names;
use crate::store::engine::{Event, Long, Stream};
use crate::store::error::Result;
use crate::store::file::addresses::DocFiles;
use crate::store::file::fs::{Access, Handle};
use crate::store::file::journal::{Line, SNAPSHOT, Segment};
use crate::store::file::list::layout;
use crate::store::file::place::{Head, Place};
use crate::store::file::recover::{self, Glance, View};
use crate::store::file::segments::old_segments;

/// A list whose file is at least this long is told by its changes.
const LONG: u64 = 512 << 10;
/// So much of the journal is read at once.
pub const MOST: u64 = 1 << 20;
/// How long to wait for a writer to be done before its commit counts as cut off.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether a document is told by its changes.
pub fn is_long(place: &Place<'_>, doc: &Doc) -> bool {
    layout::field_of(doc).is_some()
        && matches!(place.fs.size(&place.doc(&doc.file())), Ok(Some(size)) if size >= LONG)
}

/// How far a list was told.
pub struct LongWatch {
    seq: u64,
    /// Where the journal ended then.
    offset: u64,
    revision: u64,
    pub queue: VecDeque<Event>,
}

impl LongWatch {
    /// Begins with what is there, or goes on after a revision.
    pub fn start(place: &Place<'_>, doc: &Doc, after: Option<u64>) -> Result<LongWatch> {
        let mut watch = LongWatch { seq: 0, offset: 0, revision: after.unwrap_or(0), queue: VecDeque::new() };
        match after {
            Some(after) if watch.rewind(place, doc, after)? => watch.refresh(place, doc)?,
            Some(_) => watch.left_behind(place, doc)?,
            None => watch.show_all(place, doc)?,
        }
        Ok(watch)
    }

    /// Goes back in the current segment to where the document was at this revision. Returns whether that is to be found.
    fn rewind(&mut self, place: &Place<'_>, doc: &Doc, revision: u64) -> Result<bool> {
        let head = head(place)?;
        let Some(bytes) = read(place, &place.journal(), head.end.saturating_sub(MOST), head.end)? else {
            return Ok(false);
        };
        let (mut seq, mut end) = (head.seq, head.end);
        for line in bytes.split_inclusive(|byte| *byte == b'\n').rev() {
            let length = line.len() as u64;
            let Some(line) = line.strip_suffix(b"\n").and_then(Line::parse) else { break };
            let entry = line.docs.iter().find(|entry| entry.file == doc.file());
            if entry.is_some_and(|entry| entry.revision <= revision) {
                (self.seq, self.offset) = (seq, end);
                return Ok(true);
            }
            if line.op == SNAPSHOT {
                break;
            }
            (seq, end) = (line.seq - 1, end - length);
        }
        Ok(false)
    }

    /// Tells what happened since the last look.
    pub fn refresh(&mut self, place: &Place<'_>, doc: &Doc) -> Result<()> {
        let Some(head) = clean_head(place)? else { return Ok(()) };
        if (head.seq, head.end) == (self.seq, self.offset) {
            return Ok(());
        }
        let Some(lines) = self.lines(place, &head)? else { return self.left_behind(place, doc) };
        for line in &lines {
            let Some(entry) = line.docs.iter().find(|entry| entry.file == doc.file()) else { continue };
            if line.op == SNAPSHOT || entry.revision <= self.revision {
                continue;
            }
            if entry.content.is_some() || entry.stored.is_some() {
                // It has no parts that changed.
                return self.show_all(place, doc);
            }
            self.revision = entry.revision;
            let named =
                |change: &Change| Change { path: names::named(change, &entry.names), ..change.clone() };
            let changes: Vec<_> = entry.changes.iter().map(named).collect();
            let long = entry.sum.map(|_| {
                Long::Changes(serde_json::to_string(&changes).expect("changes can always be written"))
            });
            let event =
                Event::new(entry.revision, Some(line.at.clone()), &line.by, &line.op, "null".to_owned());
            self.queue.push_back(Event { long, ..event });
        }
        (self.seq, self.offset) = (head.seq, head.end);
        Ok(())
    }

    /// Returns the lines from where we stand to `head`; `None` if there are too many, or some are gone.
    fn lines(&self, place: &Place<'_>, head: &Head) -> Result<Option<Vec<Line>>> {
        let journal = place.journal();
        let follow = |lines: &[Line]| {
            lines.first().is_some_and(|line| line.seq == self.seq + 1)
                && lines.last().is_some_and(|line| line.seq == head.seq)
        };
        if head.end >= self.offset
            && let Some(bytes) = read(place, &journal, self.offset, head.end)?
        {
            let lines = Segment::parse(&bytes).lines;
            if follow(&lines) {
                return Ok(Some(lines));
            }
        }
        // A new segment has begun: the rest of the old one, and all of that.
        let old = old_segments(place)?.pop();
        let old = match &old {
            Some(path) => read(place, path, self.offset, u64::MAX)?,
            None => None,
        };
        let Some(new) = read(place, &journal, 0, head.end)? else { return Ok(None) };
        let mut lines = Segment::parse(&old.unwrap_or_default()).lines;
        lines.extend(Segment::parse(&new).lines);
        lines.retain(|line| line.seq > self.seq && line.op != SNAPSHOT);
        lines.dedup_by_key(|line| line.seq);
        let is_done = lines.is_empty() && head.seq == self.seq;
        Ok((is_done || follow(&lines)).then_some(lines))
    }

    /// Says that some revisions were passed over, and what there is now.
    fn left_behind(&mut self, place: &Place<'_>, doc: &Doc) -> Result<()> {
        let told = self.revision;
        self.show_all(place, doc)?;
        if let Some(event) = self.queue.back_mut() {
            event.missed = event.revision.saturating_sub(told);
        }
        Ok(())
    }

    /// Tells all of the document as it is now.
    fn show_all(&mut self, place: &Place<'_>, doc: &Doc) -> Result<()> {
        loop {
            let head = head(place)?;
            let path = place.doc(&doc.file());
            let file =
                place.fs.open(&path, Access::Read).map_err(|error| place.no_file("open", &path, error))?;
            // Between two looks without a commit it is what the head tells of.
            if clean_head(place)?.is_none_or(|again| again.seq != head.seq) {
                continue;
            }
            (self.seq, self.offset) = (head.seq, head.end);
            self.revision = head.docs.get(&*doc.file()).map_or(self.revision, |known| known.revision);
            let long = file.map(|file| Long::Whole(Stream::new(Pieces { file, at: 0 })));
            let event = Event::new(self.revision, None, "anthill", SNAPSHOT, "null".to_owned());
            self.queue.clear();
            self.queue.push_back(Event { long, ..event });
            return Ok(());
        }
    }
}

/// Reads a file from its start to its end.
struct Pieces {
    file: Box<dyn Handle>,
    at: u64,
}

impl io::Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read_at(self.at, buffer.len())?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }
}

/// Returns the head, if nobody is at work.
fn clean_head(place: &Place<'_>) -> Result<Option<Head>> {
    Ok(match recover::glance(place)? {
        Glance::Fresh => Some(Head::default()),
        Glance::Clean(head) => Some(head),
        Glance::Dirty(..) => None,
    })
}

/// Returns the head, as soon as nobody is at work; what a dead writer left counts after a while.
fn head(place: &Place<'_>) -> Result<Head> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(head) = clean_head(place)? {
            return Ok(head);
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(match recover::look_as_reader(place)? {
        View::Fresh => Head::default(),
        View::Clean(head) => head,
        View::Unfinished(plan) => plan.head(),
    })
}

/// Returns a part of a journal; `None` if it is not there, or too long.
fn read(place: &Place<'_>, path: &str, from: u64, to: u64) -> Result<Option<Vec<u8>>> {
    let failed = |error| place.failed("read", path, error);
    let Some(file) = place.fs.open(path, Access::Read).map_err(failed)? else { return Ok(None) };
    let length = to.min(file.opened().size).saturating_sub(from);
    if length > MOST {
        return Ok(None);
    }
    file.read_at(from, length as usize).map(Some).map_err(failed)
}
