//! Following a document: file events say "look now", the journal and the file say what happened.
//!
//! The events are armed before the first look, so nothing falls between snapshot and watch. Commits come
//! from the journal, every one of them; edits by other programs from comparing the file with the head.

pub mod long;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use self::long::LongWatch;
use super::addresses::{DocFiles, PaperFiles, RoomFiles};
use super::fs::{Access, Events, Handle};
use super::journal::{EDIT, HAND, Line, RESTORE, Replay, SNAPSHOT, Sum};
use super::place::{self, Head, Place, parent};
use super::recover::{self, Glance, View};
use super::room_transaction::effective_revision;
use super::roots::FileEngine;
use super::seeing::{Seen, see, show_revision};
use super::segments::each_line;
use super::{edits, list};
use crate::model::json;
use crate::model::kind::Doc;
use crate::model::room::Root;
use crate::model::text_file::TextFile;
use crate::store::engine::{Event, Listener, Watch};
use crate::store::error::{Error, Result};
use crate::store::state;

/// Looks again after this long even without an event, for places whose events get lost.
const SAFETY: Duration = Duration::from_secs(5);

/// Some editors save by deleting and creating: a file must be gone for this long to count as deleted.
const GRACE: Duration = Duration::from_millis(100);

pub struct FileWatch {
    engine: FileEngine,
    doc: Doc,
    events: Box<dyn Events>,
    replay: Replay,
    /// How far the current segment is read.
    offset: u64,
    /// The head of the last look that found everything published.
    clean: Option<Arc<Head>>,
    /// The first that the kept lines say about the document: revision and operation.
    oldest: Option<(u64, String)>,
    /// The revision of the snapshot, or the one to resume after.
    began: u64,
    /// The newest revision that was reported or is known from before.
    revision: u64,
    /// The content that was reported last; `None` while the document does not exist.
    sum: Option<Sum>,
    /// Since when the file is missing without a commit that says so.
    missing: Option<Instant>,
    queue: VecDeque<Event>,
    /// How much text is in the queue.
    queued: usize,
    /// Follows the document instead, from when it is long.
    long: Option<LongWatch>,
}

/// So much text may wait for a reader. Whoever is further behind gets the document as it is then.
const MOST_QUEUED: usize = 8 << 20;

impl FileWatch {
    pub fn start(engine: FileEngine, doc: Doc, from: Option<u64>) -> Result<FileWatch> {
        let dirs = [parent(&doc.path()).to_owned(), doc.room.hidden()];
        let events = arm(&engine, &doc, &dirs)?;
        let mut watch = FileWatch {
            engine,
            doc,
            events,
            replay: Replay::default(),
            offset: 0,
            clean: None,
            oldest: None,
            began: 0,
            revision: 0,
            sum: None,
            missing: None,
            queue: VecDeque::new(),
            queued: 0,
            long: None,
        };
        match from {
            _ if watch.follow_long(from)? => {}
            Some(revision) => watch.resume(revision)?,
            None => watch.snapshot()?,
        }
        Ok(watch)
    }

    /// Reports the state of now, and everything after it later.
    fn snapshot(&mut self) -> Result<()> {
        let engine = self.engine.clone();
        let place = engine.open(&self.doc.room)?;
        let Seen { value, revision, sum, .. } = see(&place, &self.doc)?;
        (self.began, self.revision, self.sum) = (revision, revision, sum);
        if let Some(value) = value {
            self.tell(Event::new(revision, None, "anthill", SNAPSHOT, json::dense(&value)));
        }
        let (head, _) = self.look(&place)?;
        self.read_all(&place, &head, revision)
    }

    /// Reports everything after `from` that is still kept; a gap shows as a snapshot.
    fn resume(&mut self, from: u64) -> Result<()> {
        let engine = self.engine.clone();
        let place = engine.open(&self.doc.room)?;
        let (head, _) = self.look(&place)?;
        (self.began, self.revision) = (from, from);
        self.read_all(&place, &head, from)?;
        if self.catch_up()? {
            return Ok(());
        }
        let kept =
            |(revision, op): &(u64, String)| *revision <= from || (*revision == from + 1 && op != SNAPSHOT);
        if !self.oldest.as_ref().is_none_or(kept) {
            self.queue.clear();
            return self.snapshot();
        }
        self.sum = self.replay.docs.get(&*self.doc.file()).and_then(|known| known.sum);
        // An edit that no commit has absorbed yet may be what `from` means.
        if let Some(seen) = see(&place, &self.doc).ok().filter(|seen| seen.revision <= from) {
            self.sum = seen.sum;
        }
        Ok(())
    }

    /// Returns the newest head, and whether nobody is at work on the document.
    ///
    /// Lines beyond it are not reported yet: their commit may still fail, and its files cannot be read.
    fn look(&mut self, place: &Place<'_>) -> Result<(Arc<Head>, bool)> {
        if let Some(head) = self.clean.take().filter(|head| is_newest(place, head)) {
            self.clean = Some(Arc::clone(&head));
            return Ok((head, true));
        }
        let calm = |view| match view {
            View::Fresh => (Head::default(), true),
            View::Clean(head) => (head, true),
            View::Unfinished(plan) => (plan.head(), plan.pending(&self.doc.file()).is_none()),
        };
        let (head, calm) = match recover::glance(place)? {
            Glance::Fresh => (Head::default(), true),
            Glance::Clean(head) => return Ok((Arc::clone(self.clean.insert(head.into())), true)),
            Glance::Dirty(head, _) => match place.lock_shared() {
                Some(_lock) => calm(recover::look(place)?),
                None => (head.unwrap_or_default(), false),
            },
        };
        Ok((head.into(), calm))
    }

    /// Reads every kept segment up to `head` and queues the commits after `revision`.
    fn read_all(&mut self, place: &Place<'_>, head: &Head, revision: u64) -> Result<()> {
        (self.replay, self.oldest) = (Replay::default(), None);
        let mut lines = Vec::new();
        each_line(place, Some(&self.doc), &mut |line| lines.push(line.clone()))?;
        for line in lines.iter().filter(|line| line.seq <= head.seq) {
            self.take_line(line, revision);
        }
        self.offset = head.end;
        Ok(())
    }

    fn take_line(&mut self, line: &Line, after: u64) {
        self.replay.apply(line);
        let Some(entry) = line.docs.iter().find(|entry| entry.file == self.doc.file()) else { return };
        self.oldest.get_or_insert_with(|| (entry.revision, line.op.clone()));
        if line.op == SNAPSHOT || entry.revision <= after {
            return;
        }
        // What was seen in the file and reported is not news when its line comes: an edit that a commit
        // absorbs, or a commit that was published just before the head was written.
        let joined = line.op != SNAPSHOT && is_edit(line) && entry.base == self.sum;
        let reported = (entry.sum == self.sum || joined) && entry.revision <= self.revision;
        self.revision = self.revision.max(entry.revision);
        self.sum = entry.sum;
        if reported {
            return;
        }
        // Who is left behind is not told each state.
        let text = match self.queued > MOST_QUEUED {
            true => String::new(),
            false => json::dense(self.replay.content(&self.doc.file()).unwrap_or(&Value::Null)),
        };
        self.tell(Event::new(entry.revision, Some(line.at.clone()), &line.by, &line.op, text));
    }

    fn tell(&mut self, event: Event) {
        self.queued += event.text.len();
        self.queue.push_back(event);
    }

    /// Puts the state of now in the place of more events than a reader can be expected to fetch. Returns whether it had to.
    fn catch_up(&mut self) -> Result<bool> {
        let queued = std::mem::take(&mut self.queued);
        if queued <= MOST_QUEUED {
            return Ok(false);
        }
        let missed = self.queue.len() as u64;
        self.queue.clear();
        self.snapshot()?;
        self.queue.iter_mut().for_each(|event| event.missed = missed.saturating_sub(1));
        self.queued = 0;
        Ok(true)
    }

    /// Follows the document by its changes from now on, if it is long. Returns whether it does.
    fn follow_long(&mut self, after: Option<u64>) -> Result<bool> {
        let engine = self.engine.clone();
        let place = engine.open(&self.doc.room)?;
        if self.long.is_none() && long::is_long(&place, &self.doc) {
            self.long = Some(LongWatch::start(&place, &self.doc, after)?);
            (self.replay, self.clean) = (Replay::default(), None);
        }
        let Some(watch) = &mut self.long else { return Ok(false) };
        if watch.queue.is_empty() {
            watch.refresh(&place, &self.doc)?;
        }
        self.queue.append(&mut watch.queue);
        Ok(true)
    }

    /// Queues what happened since the last look.
    fn refresh(&mut self) -> Result<()> {
        let engine = self.engine.clone();
        let place = engine.open(&self.doc.room)?;
        if self.follow_long(Some(self.revision))? {
            return Ok(());
        }
        let (head, calm) = self.look(&place)?;
        self.read_new(&place, &head, calm)?;
        self.catch_up()?;
        // Commits do not wait for a look at the file.
        if !self.queue.is_empty() || !calm || self.replay.seq != head.seq {
            return Ok(());
        }
        // Asked before the read: whoever is held up after it must not take an old look for a late one.
        let looked = Instant::now();
        let Ok(bytes) = place.read_doc(&self.doc.file(), self.doc.kind.limit) else { return Ok(()) };
        let gone = bytes.is_none() && self.sum.is_some();
        self.missing = gone.then(|| self.missing.unwrap_or_else(Instant::now));
        if self.missing.is_some_and(|since| looked.saturating_duration_since(since) < GRACE) {
            return Ok(());
        }
        self.compare(&place, &head, bytes.as_deref())
    }

    /// Queues an edit, if the file is another one than was reported.
    fn compare(&mut self, place: &Place<'_>, head: &Arc<Head>, bytes: Option<&[u8]>) -> Result<()> {
        let sum = bytes.map(|bytes| place::sum(&self.doc, bytes));
        if sum != self.sum && self.is_still(place, head)? {
            self.judge(head, bytes, sum, place);
        }
        Ok(())
    }

    /// Looks again: only between two looks without a commit does a differing file mean an edit by somebody else.
    fn is_still(&mut self, place: &Place<'_>, head: &Arc<Head>) -> Result<bool> {
        Ok(self.look(place)? == (Arc::clone(head), true))
    }

    fn read_new(&mut self, place: &Place<'_>, head: &Head, calm: bool) -> Result<()> {
        if head.seq == self.replay.seq && head.end == self.offset {
            return Ok(());
        }
        if head.seq < self.replay.seq {
            // Somebody removed the journal, or we caught the head while it is being written.
            return if calm { self.read_all(place, head, self.revision) } else { Ok(()) };
        }
        let after = self.known_revision();
        if let Some(lines) = self.lines_since(place, head)? {
            lines.iter().for_each(|line| self.take_line(line, after));
            self.offset = head.end;
            return Ok(());
        }
        self.read_all(place, head, after)
    }

    /// Returns the lines from where we stand to `head`; `None` if a new segment has begun.
    fn lines_since(&self, place: &Place<'_>, head: &Head) -> Result<Option<Vec<Line>>> {
        let Some(length) = head.end.checked_sub(self.offset) else { return Ok(None) };
        let journal = place.journal();
        let failed = |error| place.failed("read", &journal, error);
        let file = place.fs.open(&journal, Access::Read).map_err(failed)?;
        let read = |file: Box<dyn Handle>| {
            let length = length.min(file.opened().size.saturating_sub(self.offset));
            file.read_at(self.offset, usize::try_from(length).unwrap_or(usize::MAX))
        };
        let bytes = file.map(read).transpose();
        let bytes = bytes.map_err(failed)?.unwrap_or_default();
        let lines = place.segment_of(&bytes, &self.doc).lines;
        let follows = lines.first().is_some_and(|line| line.seq == self.replay.seq + 1)
            && lines.last().is_some_and(|line| line.seq == head.seq);
        Ok(follows.then_some(lines))
    }

    /// Returns the newest revision that came from the journal, or else what the watch began with.
    fn known_revision(&self) -> u64 {
        self.replay.docs.get(&*self.doc.file()).map_or(self.began, |known| known.revision)
    }

    /// Queues an edit, if the file is one that can be read.
    fn judge(&mut self, head: &Head, bytes: Option<&[u8]>, sum: Option<Sum>, place: &Place<'_>) {
        let mut value = match bytes.map(|bytes| state::open(&self.doc, &place.show(&self.doc), bytes)) {
            None => Value::Null,
            Some(Ok(value)) => value,
            // An editor in mid-save, or damage: either way there is nothing new to report yet.
            Some(Err(_)) => return,
        };
        let known = head.docs.get(&*self.doc.file());
        let mut counted = effective_revision(known, sum, Some(&value));
        if let Some(known) = known.filter(|known| bytes.is_some() && known.sum != sum) {
            let ours = || edits::committed(place, &self.doc, head.seq);
            match edits::shown(place, &self.doc, value, known, ours) {
                Ok(shown) => (value, counted) = shown,
                // Somebody is at it: the next look will tell.
                Err(_) => return,
            }
        }
        let revision = counted.max(self.revision);
        if known.is_some() {
            show_revision(&self.doc, &mut value, revision);
        }
        (self.sum, self.revision) = (sum, revision);
        self.tell(edit_event(revision, json::dense(&value).into()));
    }
}

/// Whether a line records what somebody did to a file.
fn is_edit(line: &Line) -> bool {
    line.op == EDIT || (line.op == RESTORE && line.made_from.is_some())
}

fn edit_event(revision: u64, text: Arc<String>) -> Event {
    Event::new(revision, None, HAND, EDIT, text)
}

/// Whether nothing was committed since this head: no line follows, in the same journal. That is half of what a whole look
/// reads.
fn is_newest(place: &Place<'_>, head: &Head) -> bool {
    let Ok(Some(journal)) = place.open_journal() else { return false };
    let Ok(life) = place.life_with(Some(journal.opened()), Some(&head.life)) else { return false };
    life.journal.is_some()
        && life.continues(&head.life)
        && place.ends_at(&*journal, head.end).unwrap_or(false)
}

/// Starts to listen to the system, before the first look.
fn arm(engine: &FileEngine, doc: &Doc, dirs: &[String]) -> Result<Box<dyn Events>> {
    let place = engine.open(&doc.room)?;
    place.fs.events(dirs).map_err(|error| place.failed("watch", &dirs[0], error))
}

/// Waits for the system to say that something happened.
fn wait_for(engine: &FileEngine, doc: &Doc, events: &mut dyn Events, pause: Duration) -> Result<bool> {
    let failed = |source| {
        let path = engine.fs(doc.room.root()).display(&doc.path());
        Error::Io { action: "watch", path, indeterminate: false, source }
    };
    events.wait(Some(pause)).map_err(failed)
}

/// Wakes when the file of a document changes. It does not read it: of many that wake, most find nothing to do.
pub struct FileListener {
    engine: FileEngine,
    docs: Vec<Doc>,
    /// The folders of their rooms that others may leave text files in.
    folders: Vec<(Root, String)>,
    events: Box<dyn Events>,
    /// What files and folders looked like.
    stamps: Vec<Option<u64>>,
}

impl FileListener {
    pub fn start(engine: FileEngine, docs: Vec<Doc>) -> Result<FileListener> {
        let open = |doc: &Doc| {
            let (root, dir) = (doc.room.root(), doc.room.dir());
            TextFile::open_folders(&doc.room).iter().map(move |folder| (root, format!("{dir}/{folder}")))
        };
        let folders: Vec<_> = docs.iter().flat_map(open).collect();
        let mut dirs: Vec<_> = docs.iter().map(|doc| parent(&doc.path()).to_owned()).collect();
        dirs.extend(folders.iter().map(|(_, folder)| folder.clone()));
        dirs.dedup();
        let events = arm(&engine, &docs[0], &dirs)?;
        let mut listener = FileListener { engine, docs, folders, events, stamps: Vec::new() };
        listener.stamps = listener.look();
        Ok(listener)
    }

    /// Whoever wants to work with a file will say what is wrong with it.
    fn look(&self) -> Vec<Option<u64>> {
        let stat = |doc: &Doc| self.engine.fs(doc.room.root()).stat(&doc.path()).ok().flatten();
        let docs = self.docs.iter().map(|doc| stat(doc).map(|stat| list::stamp_of(&stat)));
        let folders = self.folders.iter();
        let folders = folders.map(|(root, dir)| self.engine.fs(*root).folder_stamp(dir).ok().flatten());
        docs.chain(folders).collect()
    }
}

impl Listener for FileListener {
    fn wait(&mut self, timeout: Option<Duration>) -> Result<bool> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let stamps = self.look();
            if stamps != self.stamps {
                self.stamps = stamps;
                return Ok(true);
            }
            let left = deadline.map_or(SAFETY, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(false);
            }
            let told = wait_for(&self.engine, &self.docs[0], &mut *self.events, left.min(SAFETY))?;
            // A folder does not show that somebody went on writing into one of its files.
            if told && !self.folders.is_empty() {
                self.stamps = self.look();
                return Ok(true);
            }
        }
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
            let patience = if self.missing.is_some() { GRACE } else { SAFETY };
            let pause = left.map_or(patience, |left| left.min(patience));
            wait_for(&self.engine, &self.doc, &mut *self.events, pause)?;
        }
    }
}
