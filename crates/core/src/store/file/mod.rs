//! The file engine: human-readable JSON files that cannot be lost or torn.
//!
//! The files are the truth that people read and may edit; the room's [`journal`] makes commits atomic and
//! durable. One commit is followed in [`transaction`], what a crash leaves in [`recover`]. Readers take no
//! lock and never write. `docs/design/store.md` has the reasons and what was refused.

pub mod check;
pub mod events;
pub mod fs;
mod journal;
mod place;
pub mod real_fs;
mod recover;
mod rotate;
mod transaction;
mod watch;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;

use self::fs::Fs;
use self::journal::{SNAPSHOT, Segment, Sum};
use self::place::{Head, Place};
use self::recover::View;
use self::transaction::{FileTransaction, effective_revision};
use super::engine::{Document, Engine, Finding, Revision, Transaction, Watch};
use super::error::{Error, Result};
use super::state;
use crate::model::kind::{Doc, Items, KINDS, Kind};
use crate::model::room::{Room, Root};

/// Settings of the file engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long to wait for a lock.
    pub patience: Duration,
    pub allow_network_fs: bool,
    /// A journal longer than this starts a new segment.
    pub segment_bytes: u64,
    /// How many older segments stay for `history`.
    pub kept_segments: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            patience: Duration::from_secs(10),
            allow_network_fs: false,
            segment_bytes: 1 << 20,
            kept_segments: 16,
        }
    }
}

/// Documents in files below two roots.
#[derive(Debug, Clone)]
pub struct FileEngine {
    home: Arc<dyn Fs>,
    project: Arc<dyn Fs>,
    options: Options,
    /// Whether each root was found to be local, by [`Root`].
    local: Arc<[OnceLock<()>; 2]>,
}

impl FileEngine {
    pub fn new(home: Arc<dyn Fs>, project: Arc<dyn Fs>, options: Options) -> FileEngine {
        FileEngine { home, project, options, local: Arc::default() }
    }

    fn fs(&self, root: Root) -> &dyn Fs {
        match root {
            Root::Home => &*self.home,
            Root::Project => &*self.project,
        }
    }

    /// Returns the room's place, after making sure that its locks can be trusted.
    fn open(&self, room: &Room) -> Result<Place<'_>> {
        let root = room.root();
        let place = Place { fs: self.fs(root), room: room.clone() };
        if self.options.allow_network_fs || self.local[root as usize].get().is_some() {
            return Ok(place);
        }
        let found = place.fs.network_fs().map_err(|error| place.failed("look at", "", error))?;
        if let Some(name) = found {
            return Err(Error::NetworkFs { path: place.fs.display(""), name });
        }
        let _ = self.local[root as usize].set(());
        Ok(place)
    }

    /// Takes the lock and finishes what a crash left.
    fn enter(&self, place: &Place<'_>) -> Result<(Box<dyn fs::Lock>, Head)> {
        let lock = place.lock(self.options.patience)?;
        let head = match recover::look(place)? {
            View::Fresh => Head { boot: place.boot()?, ..Head::default() },
            View::Clean(head) => head,
            View::Unfinished(plan) => recover::finish(place, &plan)?,
        };
        Ok((lock, head))
    }
}

/// Looks at the room as a reader: an unfinished commit counts only if its writer is dead.
fn look_as_reader(place: &Place<'_>) -> Result<View> {
    match recover::look(place)? {
        View::Unfinished(plan) => {
            let head = place.read_head()?.unwrap_or_default();
            let Some(_lock) = place.lock_shared() else {
                // A writer is at work. Before its first byte is published the old state is the answer, and
                // after a reboot only the journal knows what was acknowledged.
                let rebooted = head.boot != place.boot()?;
                return Ok(if rebooted { View::Unfinished(plan) } else { View::Clean(head) });
            };
            recover::look(place)
        }
        view => Ok(view),
    }
}

fn read_document(place: &Place<'_>, doc: &Doc, view: &View) -> Result<Option<Document>> {
    let head;
    let known = match view {
        View::Fresh => None,
        View::Clean(head) => head.docs.get(&doc.file),
        View::Unfinished(plan) => {
            if let Some(known) = plan.pending(&doc.file) {
                let document = Document { value: known.content.clone(), revision: known.revision };
                return Ok(known.sum.map(|_| document));
            }
            head = plan.head();
            head.docs.get(&doc.file)
        }
    };
    let Some(bytes) = place.read_doc(&doc.file, doc.kind.limit)? else { return Ok(None) };
    let mut value = state::open(doc, &place.show(doc), &bytes)?;
    let sum = Some(Sum::of(&bytes));
    let revision = effective_revision(known, sum, Some(&value));
    if revision != state::revision_in(&value) {
        show_revision(doc, &mut value, revision);
    }
    Ok(Some(Document { value, revision }))
}

/// Shows the revision that an edited document counts as, so that `--expect-revision` can rely on it.
fn show_revision(doc: &Doc, value: &mut Value, revision: u64) {
    if let (false, Some(document)) = (doc.kind.items == Items::Document, value.as_object_mut()) {
        document.insert("revision".into(), revision.into());
    }
}

/// Calls `visit` with every line of every kept segment, oldest first, each once.
fn each_line(place: &Place<'_>, visit: &mut dyn FnMut(&journal::Line)) -> Result<()> {
    let mut paths = rotate::old_segments(place)?;
    paths.push(place.journal());
    if place.size(&place.journal())?.is_none() {
        paths.push(place.next_journal());
    }
    for path in paths {
        let bytes = place.read(&path)?.unwrap_or_default();
        Segment::parse(&bytes).lines.iter().for_each(&mut *visit);
    }
    Ok(())
}

impl Engine for FileEngine {
    fn read(&self, doc: &Doc) -> Result<Option<Document>> {
        let place = self.open(&doc.room)?;
        let view = look_as_reader(&place)?;
        read_document(&place, doc, &view)
    }

    fn begin(&self, room: &Room) -> Result<Box<dyn Transaction + '_>> {
        let place = self.open(room)?;
        let (lock, head) = self.enter(&place)?;
        Ok(Box::new(FileTransaction::new(place, &self.options, head, lock)))
    }

    fn replay(&self, doc: &Doc, visit: &mut dyn FnMut(&Revision, Option<&Value>)) -> Result<()> {
        let place = self.open(&doc.room)?;
        let mut replay = journal::Replay::default();
        each_line(&place, &mut |line| {
            replay.apply(line);
            for entry in line.docs.iter().filter(|entry| entry.file == doc.file && line.op != SNAPSHOT) {
                let known = replay.docs.get(&doc.file);
                let content = known.filter(|known| known.sum.is_some()).map(|known| &known.content);
                visit(&line.revision(entry), content);
            }
        })
    }

    fn log(&self, room: &Room) -> Result<Vec<Revision>> {
        let place = self.open(room)?;
        let mut revisions = Vec::new();
        each_line(&place, &mut |line| {
            if line.op != SNAPSHOT {
                revisions.extend(line.docs.iter().map(|entry| line.revision(entry)));
            }
        })?;
        Ok(revisions)
    }

    fn watch(&self, doc: &Doc, from: Option<u64>) -> Result<Box<dyn Watch>> {
        Ok(Box::new(watch::FileWatch::start(self.clone(), doc.clone(), from)?))
    }

    fn rooms(&self) -> Result<Vec<Room>> {
        let mut rooms = vec![Room::Shared];
        let ids = |dir: &str| {
            self.home.entries(dir).map_err(|source| Error::Io {
                action: "list",
                path: self.home.display(dir),
                indeterminate: false,
                source,
            })
        };
        rooms.extend(
            ids("orchestration/projects")?.iter().filter_map(|id| id.parse().ok().map(Room::Project)),
        );
        rooms.extend(ids("sessions")?.iter().filter_map(|id| id.parse().ok().map(Room::Session)));
        rooms.extend(
            ids("orchestration/messages")?.iter().filter_map(|id| id.parse().ok().map(Room::Mailbox)),
        );
        rooms.extend(Room::OF_PROJECT);
        rooms.retain(|room| self.fs(room.root()).entries(&room.dir()).is_ok_and(|names| !names.is_empty()));
        Ok(rooms)
    }

    fn documents(&self, room: &Room) -> Result<Vec<Doc>> {
        let place = self.open(room)?;
        let mut documents = Vec::new();
        for kind in KINDS {
            let files = match kind.file.split_once("{key}") {
                Some(_) => {
                    let dir = place.doc(place::parent(kind.file));
                    place.fs.entries(&dir).map_err(|error| place.failed("list", &dir, error))?
                }
                None => vec![kind.file.into()],
            };
            documents.extend(files.iter().filter_map(|name| document_at(&place, kind, name)));
        }
        Ok(documents)
    }

    fn check(&self, room: &Room, repair: bool) -> Result<Vec<Finding>> {
        check::check(self, room, repair)
    }

    fn place(&self, doc: &Doc) -> String {
        self.fs(doc.room.root()).display(&doc.path())
    }
}

/// Returns the document of this kind that a file name is, if it is there.
fn document_at(place: &Place<'_>, kind: &'static Kind, name: &str) -> Option<Doc> {
    let file = match kind.file.rsplit_once('/') {
        Some((dir, _)) if kind.file.contains("{key}") => format!("{dir}/{name}"),
        _ => name.into(),
    };
    let doc = Doc::at(&place.room, &file).filter(|doc| doc.kind == kind)?;
    // A name that is there but cannot be looked at is still a document, for `doctor` to judge.
    let there = place.fs.size(&doc.path()).map_or(true, |size| size.is_some());
    there.then_some(doc)
}
