//! One room in a transaction: what was read and written there, and its steps of the commit.

mod asked;
mod edited;

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;

use super::addresses::{DocFiles, PaperFiles, RoomFiles};
use super::edits::Edit;
use super::fs::{Access, Lock};
use super::journal::{self, DocEntry, Line, Sum};
use super::list::bulk::{self, Bulk};
use super::list::{Answer, List, Lost, Patch, layout};
use super::place::{self, Head, HeadDoc, Opened, Place, parent};
use super::signs::{self, Slot};
use super::{list, rotate, text_files};
use crate::model::diff::{self, Change};
use crate::model::hint::Hint;
use crate::model::kind::Doc;
use crate::model::lease::Sign;
use crate::model::names::{Names, names_of};
use crate::model::room::Room;
use crate::model::session;
use crate::model::text_file::{TextFile, Writing};
use crate::store::engine::{self, Committed, Document, Durability, Entry};
use crate::store::error::{Error, Result};
use crate::store::state::{self, Sealed};
use crate::store::texts::Texts;

/// One room that a transaction has the lock of.
pub struct RoomTransaction<'e> {
    pub place: Place<'e>,
    head: Head,
    loaded: BTreeMap<String, Loaded>,
    /// Long lists that are changed item by item, until somebody asks for one as a whole.
    lists: BTreeMap<String, List>,
    /// Very many new items of lists, until somebody asks for one of those.
    bulks: BTreeMap<String, Texts>,
    /// Files in the order of their first write.
    order: Vec<String>,
    /// What is done to texts, by file.
    text_files: BTreeMap<String, Writing>,
    /// Folders whose names were asked for, and what they looked like before that.
    folders: BTreeMap<&'static str, Option<u64>>,
    /// Signs of life, and where each of them will stand.
    signs: Vec<(Slot, Sign)>,
    /// What a person should hear about.
    warnings: Vec<Hint>,
    _lock: Box<dyn Lock>,
}

/// A document that this transaction has looked at.
struct Loaded {
    doc: Doc,
    /// What the document is: what the file holds or, after an edit by hand, what counts of it.
    base: Option<Value>,
    /// Of the bytes that the file holds.
    base_sum: Option<Sum>,
    /// The revision before this transaction, counting a hand edit.
    revision: u64,
    /// What somebody did to the file since our last commit.
    edit: Option<Edit>,
    /// The new content; `Some(None)` deletes.
    new: Option<Option<Value>>,
    /// What our last commit left, if the file is gone and that is damage.
    lost: Option<Sum>,
}

/// A commit of a long list with more changes than this keeps its content beside the journal.
const MANY_CHANGES: usize = 256;

/// A commit on its way to the disk.
pub struct Stage {
    docs: Vec<Staged>,
    text_files: Vec<text_files::Staged>,
    pub lines: Vec<Line>,
    /// The open folders that it changes, and whether all that is in them was known before.
    folders: Vec<(&'static str, bool)>,
}

/// What is known of a commit while its documents are sealed one by one.
#[derive(Default)]
struct Draft {
    docs: Vec<Staged>,
    /// What people changed before it, a line for each document.
    edits: Vec<Line>,
    entries: Vec<DocEntry>,
}

/// One document of a commit on its way to the disk.
enum Staged {
    Whole {
        doc: Doc,
        /// `None` deletes.
        sealed: Option<Sealed>,
        base_sum: Option<Sum>,
        /// What the new file looks like, for an index.
        stamp: Option<u64>,
    },
    Items {
        doc: Doc,
        list: Box<List>,
        patch: Box<Patch>,
    },
    Bulk(Box<Bulk>, Texts),
}

impl<'e> RoomTransaction<'e> {
    pub fn new(place: Place<'e>, head: Head, lock: Box<dyn Lock>) -> Self {
        let (loaded, lists, bulks, order, text_files, folders) = Default::default();
        let (signs, warnings) = Default::default();
        RoomTransaction {
            place,
            head,
            loaded,
            lists,
            bulks,
            order,
            text_files,
            folders,
            signs,
            warnings,
            _lock: lock,
        }
    }

    /// Returns a document as a list, unless it is none, or was loaded as a whole.
    fn list(&mut self, doc: &Doc) -> Result<Option<&mut List>> {
        self.unbulk(doc)?;
        if !self.loaded.contains_key(&*doc.file()) && !self.lists.contains_key(&*doc.file()) {
            match List::open(&self.place, doc, &self.head, list::Opened::ToChange)? {
                Some(list) => drop(self.lists.insert(doc.file().into_owned(), list)),
                None => drop(self.load(doc)?),
            }
        }
        Ok(self.lists.get_mut(&*doc.file()))
    }

    /// Makes sure that an item can be appended, if this is a new one and nothing was changed yet.
    fn make_room(&mut self, doc: &Doc, id: &str) -> Result<()> {
        if self.list(doc)?.is_some_and(|list| list.lacks_room_for(id))
            && let Some(list) = List::open(&self.place, doc, &self.head, list::Opened::ToAppend)?
        {
            self.lists.insert(doc.file().into_owned(), list);
        }
        Ok(())
    }

    /// Asks the index, if there is one that can answer.
    fn ask<T>(&mut self, doc: &Doc, question: impl FnOnce(&mut List) -> Answer<T>) -> Result<Option<T>> {
        match self.list(doc)?.map(question) {
            None => Ok(None),
            Some(Ok(answer)) => Ok(Some(answer)),
            Some(Err(Lost)) => self.leave_list(doc).map(|()| None),
        }
    }

    /// Goes on with the whole document.
    fn leave_list(&mut self, doc: &Doc) -> Result<()> {
        self.unbulk(doc)?;
        let Some(list) = self.lists.remove(&*doc.file()) else { return Ok(()) };
        let loaded = self.load_as_seen(&list)?;
        let copy = list.is_changed().then(|| loaded.base.clone().unwrap_or_default());
        self.loaded.insert(doc.file().into_owned(), loaded);
        if let Some(mut value) = copy {
            engine::remove_in(doc, &mut value, &list.gone().collect::<Vec<_>>());
            for (id, item) in list.into_puts() {
                engine::put_in(doc, &mut value, &id, item).map_err(|unfit| unfit.of(doc.file()))?;
            }
            self.write(doc, Some(value))?;
        }
        Ok(())
    }

    /// Loads the whole document as this transaction has seen it item by item. What somebody saved since is left to the next command,
    /// which takes it in as an edit: the commit looks back and finds it.
    fn load_as_seen(&self, list: &List) -> Result<Loaded> {
        let (doc, sum) = (list.doc().clone(), list.sum());
        let found = self.place.read_doc(&doc.file(), doc.kind.limit).ok().flatten();
        let bytes = found.filter(|bytes| place::sum(&doc, bytes) == sum).or_else(|| list.edited_bytes());
        let opened = bytes.map(|bytes| {
            Ok(Opened { value: state::open(&doc, &self.place.show(&doc), &bytes)?, sum, bytes })
        });
        let base = match (opened.transpose()?, list.edit(), self.head.docs.get(&*doc.file())) {
            (Some(opened), Some(_), Some(known)) => return self.load_edited(&doc, known, Some(opened)),
            (Some(opened), ..) => opened.value,
            (None, ..) => self.journaled(&doc)?.ok_or_else(|| self.in_use(&doc))?,
        };
        let (base, base_sum, revision) = (Some(base), Some(sum), list.revision);
        Ok(Loaded { doc, base, base_sum, revision, edit: None, new: None, lost: None })
    }

    /// Says that somebody writes into a file while it is read.
    fn in_use(&self, doc: &Doc) -> Error {
        self.place.failed("read", &self.place.doc(&doc.file()), io::ErrorKind::ResourceBusy.into())
    }

    /// Puts new items into the whole document, if there are some that are kept apart.
    fn unbulk(&mut self, doc: &Doc) -> Result<()> {
        match self.bulks.remove(&*doc.file()) {
            Some(items) => self.extend_whole(doc, &items),
            None => Ok(()),
        }
    }

    /// Begins to change a copy of a whole document, unless that is done already or there is none.
    fn begin_copy(&mut self, doc: &Doc) -> Result<()> {
        if self.get(doc)?.is_some() && self.loaded[&*doc.file()].new.is_none() {
            let copy = self.loaded[&*doc.file()].base.clone();
            self.write(doc, copy)?;
        }
        Ok(())
    }

    fn extend_whole(&mut self, doc: &Doc, items: &Texts) -> Result<()> {
        self.begin_copy(doc)?;
        match self.load(doc)?.new.as_mut() {
            Some(Some(value)) => engine::extend_in(doc, value, items),
            _ => engine::extend_in(doc, &mut Value::Null, items),
        }
        .map_err(|unfit| unfit.of(doc.file()))
    }

    /// Whether items can be put behind a document as it is: a list without changes, or an empty one that is new.
    fn takes_bulk(&mut self, doc: &Doc) -> Result<bool> {
        if let Some(list) = self.list(doc)? {
            return Ok(!list.is_changed() && list.edit().is_none());
        }
        let loaded = self.load(doc)?;
        let is_new = loaded.base.is_none() && layout::field_of(doc).is_some();
        let empty = |new: &Value| new.is_object() && engine::items(doc.kind, new).is_empty();
        Ok(is_new && matches!(&loaded.new, Some(Some(new)) if empty(new)))
    }

    fn stage_bulk(&mut self, file: &str, items: &Texts, entry: &Entry) -> Result<Answer<Bulk>> {
        if let Some(list) = self.lists.get(file) {
            return bulk::behind(list, &self.place, items, entry);
        }
        match self.loaded.get(file) {
            Some(Loaded { doc, revision, new: Some(Some(Value::Object(fields))), .. }) => {
                bulk::fresh(doc, fields.clone(), *revision, items, entry)
            }
            _ => Ok(Err(Lost)),
        }
    }

    fn note_write(&mut self, doc: &Doc) {
        let file = doc.file();
        if !self.order.iter().any(|known| *known == file) {
            self.order.push(file.into_owned());
        }
    }

    fn load(&mut self, doc: &Doc) -> Result<&mut Loaded> {
        if !self.loaded.contains_key(&*doc.file()) {
            let loaded = self.load_file(doc)?;
            self.loaded.insert(doc.file().into_owned(), loaded);
        }
        Ok(self.loaded.get_mut(&*doc.file()).expect("it was inserted above"))
    }

    fn load_file(&self, doc: &Doc) -> Result<Loaded> {
        let known = self.head.docs.get(&*doc.file());
        let mut opened = self.place.open_doc(doc)?;
        if opened.is_none() && self.place.missed(doc, &self.head)? {
            opened = self.place.open_doc(doc)?;
        }
        let sum = opened.as_ref().map(|opened| opened.sum);
        let known = if opened.is_none() { self.head.gone(doc) } else { known };
        match known.filter(|known| known.sum != sum) {
            Some(known) => self.load_edited(doc, known, opened),
            None => {
                let (base, doc) = (opened.map(|opened| opened.value), doc.clone());
                let revision = effective_revision(known, sum, base.as_ref());
                Ok(Loaded { doc, base, base_sum: sum, revision, edit: None, new: None, lost: None })
            }
        }
    }

    fn write(&mut self, doc: &Doc, new: Option<Value>) -> Result<()> {
        let place = self.place.show(doc);
        let loaded = self.load(doc)?;
        if let Some(base) = &loaded.base {
            state::check_writable(doc, base).map_err(|unfit| unfit.of(place))?;
        }
        loaded.new = Some(new);
        self.note_write(doc);
        Ok(())
    }

    /// Seals every written document and composes the journal lines.
    pub fn stage(&mut self, entry: &Entry) -> Result<Stage> {
        let mut draft = Draft::default();
        for file in std::mem::take(&mut self.order) {
            self.stage_file(&file, entry, &mut draft)?;
        }
        let Draft { docs, edits, entries } = draft;
        let text_files = std::mem::take(&mut self.text_files).into_iter();
        let text_files = text_files
            .filter_map(|(file, writing)| text_files::Staged::new(&self.place, file, writing).transpose());
        let text_files = text_files.collect::<Result<Vec<_>>>()?;
        let folders = self.touched(&text_files)?;
        let mut lines = edits;
        if !(entries.is_empty() && text_files.is_empty()) {
            let text_files = text_files.iter().map(|text_file| text_file.entry.clone()).collect();
            let line = Line::new(entry.at, &entry.by, &entry.op, entries);
            let author = entry.author.clone().filter(|author| *author != entry.by);
            let token = entry.token.as_ref().map(ToString::to_string);
            lines.push(Line { undoes: entry.undoes, author, text_files, token, ..line });
        }
        (self.head.seq + 1..).zip(&mut lines).for_each(|(seq, line)| line.seq = seq);
        if let Some(line) = lines.last_mut() {
            docs.iter().for_each(|staged| staged.keep_beside(line, self.place.long));
        }
        Ok(Stage { docs, text_files, lines, folders })
    }

    /// Seals one document: as new items, as changed items, or else as a whole.
    fn stage_file(&mut self, file: &str, entry: &Entry, draft: &mut Draft) -> Result<()> {
        if let Some(items) = self.bulks.remove(file) {
            match self.stage_bulk(file, &items, entry)? {
                Ok(bulk) => {
                    draft.entries.push(bulk.entry());
                    draft.docs.push(Staged::Bulk(Box::new(bulk), items));
                    return Ok(());
                }
                Err(Lost) => {
                    let list = self.lists.get(file).map(List::doc);
                    let doc = list.or_else(|| self.loaded.get(file).map(|loaded| &loaded.doc)).cloned();
                    self.extend_whole(&doc.expect("it was opened to be extended"), &items)?;
                }
            }
        }
        if let Some(mut list) = self.lists.remove(file) {
            let doc = list.doc().clone();
            match list.stage(&self.place, entry)? {
                Ok(mut patch) => {
                    draft.edits.extend(self.absorb_items(&list, entry)?);
                    draft.entries.push(patch.entry(&doc));
                    draft.docs.push(Staged::Items { doc, list: Box::new(list), patch: Box::new(patch) });
                    return Ok(());
                }
                Err(Lost) => {
                    self.lists.insert(file.to_owned(), list);
                    self.leave_list(&doc)?;
                }
            }
        }
        self.stage_whole(file, entry, draft)
    }

    fn stage_whole(&mut self, file: &str, entry: &Entry, draft: &mut Draft) -> Result<()> {
        let mut loaded = self.loaded.remove(file).expect("a written document is loaded");
        let new = loaded.new.take().expect("it is in the order because it was written");
        if new.is_none() && loaded.base.is_none() {
            draft.entries.extend(
                loaded.lost.map(|sum| {
                    entry_of(&loaded.doc, loaded.revision + 1, (Some(sum), None), Vec::new(), None)
                }),
            );
            return Ok(());
        }
        draft.edits.extend(self.absorb(&loaded, entry)?);
        self.tell_reset(&loaded);
        let (doc, base, revision) = (&loaded.doc, loaded.base.as_ref(), loaded.revision);
        let seal = |value| state::seal(doc, base, revision, value, entry, place::render);
        let mut sealed = new.map(seal).transpose().map_err(|unfit| unfit.of(doc.file()))?;
        draft.entries.push(self.doc_entry(&loaded, sealed.as_mut()));
        draft.docs.push(Staged::Whole { doc: loaded.doc, sealed, base_sum: loaded.base_sum, stamp: None });
        Ok(())
    }

    /// Returns the open folders that text files change, and whether all that is in them was known before.
    fn touched(&self, text_files: &[text_files::Staged]) -> Result<Vec<(&'static str, bool)>> {
        let opened = TextFile::open_folders(&self.place.room).iter().copied();
        let touched =
            opened.filter(|dir| text_files.iter().any(|text_file| parent(&text_file.entry.file) == *dir));
        touched.map(|dir| Ok((dir, self.folders.contains_key(dir) || !self.folder_changed(dir)?))).collect()
    }

    /// Describes what the commit does to a document; the changes go over to it.
    fn doc_entry(&self, loaded: &Loaded, sealed: Option<&mut Sealed>) -> DocEntry {
        let known = self.head.docs.contains_key(&*loaded.doc.file());
        let Some(sealed) = sealed else {
            let changes = if known { Vec::new() } else { deleted(loaded.base.clone()) };
            return entry_of(&loaded.doc, loaded.revision + 1, (loaded.base_sum, None), changes, None);
        };
        let sums = (loaded.base_sum, Some(place::sum(&loaded.doc, &sealed.bytes)));
        let content = (loaded.base.is_none() || !known).then(|| sealed.value.clone());
        let changes = std::mem::take(&mut sealed.changes);
        let names = names_of(&changes, &sealed.value);
        DocEntry { names, ..entry_of(&loaded.doc, sealed.revision, sums, changes, content) }
    }

    /// Whether a commit makes the room, or may bring its session back.
    pub fn enlists(&self, stage: &Stage) -> bool {
        self.head.seq == 0 || self.turns(stage) == Some(false)
    }

    /// Whether the session of this room is over by a commit.
    pub fn retires(&self, stage: &Stage) -> bool {
        self.turns(stage) == Some(true)
    }

    /// Says whether a session is over after a commit that may change that.
    fn turns(&self, stage: &Stage) -> Option<bool> {
        let Room::Session(id) = &self.place.room else { return None };
        let state = Doc::session(id);
        let sealed = stage.docs.iter().find_map(|staged| match staged {
            Staged::Whole { doc, sealed, .. } if *doc == state => Some(sealed.as_ref()),
            _ => None,
        });
        let touches = |change: &Change| change.path.is_empty() || change.path == "status";
        let turns = |entry: &DocEntry| entry.content.is_some() || entry.changes.iter().any(touches);
        let entries = stage.lines.iter().flat_map(|line| &line.docs);
        let turns = entries.filter(|entry| entry.file == state.file()).any(turns);
        match sealed? {
            None => Some(true),
            Some(sealed) => turns.then(|| session::is_over(&sealed.value)),
        }
    }

    /// Puts the new contents beside the old ones. Whatever can run out runs out here.
    pub fn prepare(&self, stage: &mut Stage) -> Result<()> {
        if self.head.seq == 0 {
            self.place.make_dirs(&self.place.room.hidden())?;
        }
        for dir in self.folders.keys() {
            self.place.make_dirs(&self.place.doc(dir))?;
        }
        stage.text_files.iter().try_for_each(|text_file| text_file.prepare(&self.place))?;
        for staged in &mut stage.docs {
            match staged {
                Staged::Items { doc, list, patch } => {
                    list.prepare(&self.place, patch)?;
                    let line = stage.lines.last_mut();
                    if list.is_touched() {
                        let entries = line.map_or(&[][..], |line| &line.docs);
                        *staged = self.prepare_anew(doc, patch, entries)?;
                    } else if let Some(line) = line.filter(|_| list.is_anew()) {
                        self.keep_twin(doc, line)?;
                    }
                }
                Staged::Bulk(bulk, items) => {
                    if bulk.base.is_none() {
                        self.place.make_dirs(parent(&self.place.doc(&bulk.doc().file())))?;
                    }
                    bulk.prepare(&self.place, items, stage.lines.last().map_or(0, |line| line.seq))?;
                }
                Staged::Whole { sealed: None, .. } => {}
                Staged::Whole { doc, sealed: Some(sealed), base_sum, stamp } => {
                    if base_sum.is_none() {
                        self.place.make_dirs(parent(&self.place.doc(&doc.file())))?;
                    }
                    let stored = |line: &Line| {
                        line.docs.iter().any(|entry| entry.file == doc.file() && entry.stored.is_some())
                    };
                    if let Some(line) = stage.lines.last().filter(|line| stored(line)) {
                        self.place.store_content(line.seq, &doc.file(), &sealed.bytes)?;
                    }
                    self.place.write_spare(&doc.file(), &sealed.bytes)?;
                    *stamp = list::mark_whole(&self.place, doc);
                }
            }
        }
        Ok(())
    }

    /// Keeps the content of a list that was written anew, if the line would have very many changes to tell.
    fn keep_twin(&self, doc: &Doc, line: &mut Line) -> Result<()> {
        let seq = line.seq;
        let entry = line.docs.iter_mut().find(|entry| entry.file == doc.file());
        let Some(entry) = entry.filter(|entry| entry.changes.len() > MANY_CHANGES) else { return Ok(()) };
        self.place.store_twin(seq, &doc.file())?;
        entry.keep_beside(seq);
        Ok(())
    }

    /// Prepares a list as a whole, from what the journal knows: somebody writes into its file.
    fn prepare_anew(&self, doc: &Doc, patch: &Patch, entries: &[DocEntry]) -> Result<Staged> {
        let in_use = || self.in_use(doc);
        let entry = entries.iter().find(|entry| entry.file == doc.file()).ok_or_else(in_use)?;
        let mut value = self.journaled(doc)?.ok_or_else(in_use)?;
        diff::apply(&mut value, &entry.changes).map_err(|_| in_use())?;
        let bytes = place::render(doc, &value);
        self.place.write_spare(&doc.file(), &bytes)?;
        let stamp = list::mark_whole(&self.place, doc);
        let sealed = Some(Sealed { value, bytes, revision: patch.revision, changes: Vec::new() });
        Ok(Staged::Whole { doc: doc.clone(), sealed, base_sum: Some(patch.base), stamp })
    }

    /// Returns whether a power loss that takes the line can do no worse than the old state.
    pub fn may_be_lazy(&self, stage: &Stage) -> bool {
        // A list is written in place: what is left of that may be neither old nor new.
        let ([Staged::Whole { doc, base_sum, .. }], []) = (&stage.docs[..], &stage.text_files[..]) else {
            return false;
        };
        let is_safe = |sum| self.head.docs.get(&*doc.file()).is_some_and(|known| known.sum == Some(sum));
        base_sum.is_some_and(is_safe)
    }

    /// Appends the lines and, unless lazy, makes them durable. Returns the journal's end.
    pub fn append(&self, lines: &[Line], durability: Durability) -> Result<u64> {
        let bytes = lines.iter().map(journal::encode).collect::<Vec<_>>().concat();
        let after = self.head.end + bytes.len() as u64;
        let (journal, end) = (self.place.journal(), self.head.end);
        let fresh = end == 0 && self.place.size(&journal)?.is_none();
        let hidden = self.place.room.hidden();
        let write = || {
            let known = self.place.open.borrow_mut().journal.take();
            let file = match known {
                Some(file) => file,
                None => self.place.fs.open(&journal, Access::Create)?.ok_or(io::ErrorKind::NotFound)?,
            };
            file.write_at(end, &journal::with_empty_lines(bytes, end, file.opened().size))?;
            match durability {
                Durability::Synced => file.sync(),
                Durability::Lazy => Ok(()),
            }
        };
        let appended = write();
        let appended = match (appended, fresh) {
            (Ok(()), true) => self.place.sync_up(&hidden, ""),
            (other, _) => other,
        };
        appended.map(|()| after).map_err(|source| self.place.failed("write", &journal, source))
    }

    /// Puts documents and texts into place, or fails and leaves them as they were (else it is indeterminate).
    pub fn publish(&self, stage: &mut Stage) -> Result<()> {
        for done in 0..stage.docs.len() {
            let published = match &mut stage.docs[done] {
                Staged::Items { list, patch, .. } => list.publish(&self.place, patch),
                Staged::Whole { doc, sealed: Some(_), base_sum, .. } => {
                    self.place.swap(&doc.file(), base_sum.is_some())
                }
                Staged::Whole { doc, sealed: None, .. } => self.unpublish(doc),
                Staged::Bulk(bulk, _) => bulk.publish(&self.place),
            };
            if let Err(error) = published {
                return Err(self.restored(&stage.docs[..done], &[], error));
            }
        }
        for (done, text_file) in stage.text_files.iter().enumerate() {
            if let Err(error) = text_file.publish(&self.place) {
                return Err(self.restored(&stage.docs, &stage.text_files[..done], error));
            }
        }
        Ok(())
    }

    /// Takes back all that was published. Returns whether that worked.
    pub fn restore(&self, stage: &Stage) -> bool {
        self.restore_these(&stage.docs, &stage.text_files)
    }

    fn restored(&self, docs: &[Staged], text_files: &[text_files::Staged], error: Error) -> Error {
        match self.restore_these(docs, text_files) {
            true => error,
            false => error.into_indeterminate(),
        }
    }

    fn restore_these(&self, docs: &[Staged], text_files: &[text_files::Staged]) -> bool {
        text_files.iter().rev().all(|text_file| text_file.restore(&self.place))
            && docs.iter().rev().all(|staged| self.restore_doc(staged))
    }

    /// Moves a deleted document aside, so that a failed commit can bring it back.
    fn unpublish(&self, doc: &Doc) -> Result<()> {
        let (path, spare) = (self.place.doc(&doc.file()), self.place.spare(&doc.file()));
        self.place.fs.rename(&path, &spare).map_err(|error| self.place.failed("remove", &path, error))
    }

    fn restore_doc(&self, staged: &Staged) -> bool {
        let file = &staged.doc().file();
        let (path, copy) = (self.place.doc(file), self.place.copy(file));
        // Durably: otherwise a power loss could bring the content back that no line knows any more.
        let synced = || self.place.sync_swapped(file).is_ok();
        let swap_back = |spare: &str| {
            let swapped =
                self.place.fs.exchange(spare, &path).or_else(|_| self.place.fs.rename(&copy, &path));
            swapped.and_then(|()| self.place.fs.sync_file(&path))
        };
        let restored = match staged {
            Staged::Items { .. } => swap_back(&self.place.twin(file)),
            Staged::Whole { sealed: Some(_), base_sum: Some(_), .. } => swap_back(&self.place.spare(file)),
            Staged::Whole { sealed: Some(_), base_sum: None, .. } => self.place.fs.remove(&path).map(drop),
            Staged::Whole { sealed: None, .. } => self.place.fs.rename(&self.place.spare(file), &path),
            Staged::Bulk(bulk, _) if bulk.base.is_some() => swap_back(&self.place.spare(file)),
            Staged::Bulk(..) => self.place.fs.remove(&path).map(drop),
        };
        restored.is_ok() && synced()
    }

    /// Takes the appended lines back, durably. Returns whether that worked.
    pub fn take_back(&self) -> bool {
        let (journal, end) = (self.place.journal(), self.head.end);
        let cut = match self.place.fs.size(&journal) {
            Ok(Some(size)) if size > end => {
                self.place.fs.truncate(&journal, end).and_then(|()| self.place.fs.sync_file(&journal))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        cut.is_ok()
    }

    /// Tidies up. From here on nothing can fail any more: the commit has happened.
    pub fn finish(&mut self, mut stage: Stage, end: u64) -> Committed {
        let lines = &stage.lines;
        self.head.seq = lines.last().map_or(self.head.seq, |line| line.seq);
        self.head.end = end;
        if self.head.life.journal.is_none() {
            // The journal may be of this commit. Without a known life the next command looks closely.
            self.head.life = self.place.life().unwrap_or_default();
        }
        for entry in lines.iter().flat_map(|line| &line.docs) {
            let doc = HeadDoc { revision: entry.revision, sum: entry.sum };
            self.head.docs.insert(entry.file.clone(), doc);
        }
        if lines.iter().flat_map(|line| &line.docs).any(|entry| entry.sum.is_none()) {
            self.head.forget_gone(&self.place.room);
        }
        self.see_folders(&stage.folders);
        // Before the head says that all is done: whoever is killed here has left the edit where it is looked for.
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(stage.docs.iter_mut().filter_map(|staged| self.look_back(staged)).map(Hint::from));
        self.place.write_head(&mut self.head);
        stage.text_files.iter().for_each(|text_file| text_file.clear(&self.place));
        let mut documents = Vec::new();
        for staged in stage.docs {
            self.clear(staged, &mut documents);
        }
        if end > self.place.engine.options.segment_bytes.max(self.head.rotate_at) {
            rotate::rotate(&self.place, &mut self.head);
        }
        Committed { documents, warnings }
    }

    /// Notes what the open folders look like to those who know all that is in them.
    fn see_folders(&mut self, touched: &[(&'static str, bool)]) {
        for (dir, known) in touched {
            self.folders.remove(dir);
            let stamp =
                if *known { self.place.fs.folder_stamp(&self.place.doc(dir)).ok().flatten() } else { None };
            match stamp {
                Some(stamp) => drop(self.head.folders.insert((*dir).to_owned(), stamp)),
                None => drop(self.head.folders.remove(*dir)),
            }
        }
        for (dir, stamp) in std::mem::take(&mut self.folders) {
            if let Some(stamp) = stamp.filter(|_| TextFile::open_folders(&self.place.room).contains(&dir)) {
                self.head.folders.insert(dir.to_owned(), stamp);
            }
        }
    }

    /// Does so after a commit that changed nothing, so that nobody has to look again.
    pub fn note_folders(&mut self) {
        let before = self.head.folders.clone();
        self.see_folders(&[]);
        if self.head.seq > 0 && self.head.folders != before {
            self.place.write_head(&mut self.head);
        }
    }

    /// Puts signs of life in their places.
    pub fn give_signs(&self) -> Result<()> {
        self.signs.iter().try_for_each(|(slot, _)| signs::give(&self.place, slot))
    }

    /// Looks at what was swapped out. An edit that slipped in while we were committing goes back into place: the next
    /// command takes it in.
    fn look_back(&self, staged: &mut Staged) -> Option<String> {
        let holder = match staged {
            Staged::Items { list, patch, .. } => list.look_back(&self.place, patch),
            Staged::Whole { doc, base_sum, .. } => self.holder_of_edit(doc, *base_sum),
            Staged::Bulk(bulk, _) => self.holder_of_edit(bulk.doc(), bulk.base),
        }?;
        let doc = staged.doc();
        let ours = self.head.docs.get(&*doc.file()).and_then(|known| known.sum);
        self.place.put_back(doc, &holder, ours)
    }

    /// Returns where an edit is that was swapped out instead of what was read.
    fn holder_of_edit(&self, doc: &Doc, base_sum: Option<Sum>) -> Option<String> {
        let read = |path: &String| self.place.fs.read(path, doc.kind.limit).ok().flatten();
        let (spare, copy) = (self.place.spare(&doc.file()), self.place.copy(&doc.file()));
        let (holder, bytes) = match base_sum.and_then(|_| read(&spare)) {
            Some(bytes) => (spare, bytes),
            None => (copy.clone(), base_sum.and_then(|_| read(&copy))?),
        };
        (Some(place::sum(doc, &bytes)) != base_sum).then_some(holder)
    }

    /// Removes what was swapped out, and tells the index of what is there now.
    fn clear(&self, staged: Staged, documents: &mut Vec<(Doc, Document)>) {
        match staged {
            Staged::Bulk(bulk, _) => {
                self.place.clear_spare(&bulk.doc().file());
                bulk.finish(&self.place, &self.head);
            }
            Staged::Items { list, patch, .. } => list.finish(&self.place, &patch),
            Staged::Whole { doc, sealed, stamp, .. } => {
                self.place.clear_spare(&doc.file());
                if let Some(Sealed { value, bytes, revision, .. }) = sealed {
                    if let Some(stamp) = stamp {
                        list::index_whole(&self.place, &doc, &self.head, stamp, &bytes);
                    }
                    documents.push((doc, Document { value, revision }));
                }
            }
        }
    }
}

impl Staged {
    /// Lets the line name a file instead of telling a long content, or very many changes, itself.
    fn keep_beside(&self, line: &mut Line, long: usize) {
        let (seq, mut entry) = (line.seq, line.docs.iter_mut().find(|entry| entry.file == self.doc().file()));
        if let (Staged::Bulk(..), Some(entry)) = (self, &mut entry) {
            entry.keep_beside(seq);
            return;
        }
        let Staged::Whole { doc, sealed: Some(sealed), .. } = self else { return };
        let Some(entry) = entry.filter(|_| layout::field_of(doc).is_some() && sealed.bytes.len() >= long)
        else {
            return;
        };
        if entry.content.is_some() || entry.changes.len() > MANY_CHANGES {
            entry.keep_beside(seq);
        }
    }

    fn doc(&self) -> &Doc {
        match self {
            Staged::Whole { doc, .. } | Staged::Items { doc, .. } => doc,
            Staged::Bulk(bulk, _) => bulk.doc(),
        }
    }
}

impl DocEntry {
    /// Names the file that has the content, instead of telling it.
    fn keep_beside(&mut self, seq: u64) {
        (self.content, self.changes, self.names) = (None, Vec::new(), Names::new());
        self.stored = Some(place::content_name(seq, &self.file));
    }
}

/// Returns a document's revision, counting an edit by hand as one.
pub fn effective_revision(known: Option<&HeadDoc>, sum: Option<Sum>, value: Option<&Value>) -> u64 {
    let stated = value.map_or(0, state::revision_in);
    match known {
        Some(known) if known.sum == sum => known.revision,
        Some(known) => (known.revision + 1).max(stated),
        None => stated,
    }
}

/// Keeps the content of a file that the journal has never heard of, so that deleting it can be undone.
fn deleted(before: Option<Value>) -> Vec<diff::Change> {
    vec![diff::Change { path: String::new(), before, after: None, at: None }]
}

/// Describes one document of a commit, with the checksums before and after it.
pub fn entry_of(
    doc: &Doc,
    revision: u64,
    (base, sum): (Option<Sum>, Option<Sum>),
    changes: Vec<diff::Change>,
    content: Option<Value>,
) -> DocEntry {
    let (file, kind) = (doc.file().into_owned(), doc.kind.name.into());
    DocEntry { file, kind, revision, sum, base, changes, names: Names::new(), content, stored: None }
}
