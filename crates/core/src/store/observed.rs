//! An engine whose commits somebody hears of, whoever makes them.
//!
//! This is the one place that all changes of all commands pass. It hands every method on.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::edits::Edits;
use super::engine::{
    Aside, Called, Commits, Committed, Cursor, Document, Engine, Entry, Expected, Finding, Glimpse, Kept,
    Listener, Live, Picking, Rank, Reading, Revision, Seat, Transaction, Upkeep, Visit, Watch,
};
use super::error::Result;
use super::texts::Texts;
use crate::model::hint::Hint;
use crate::model::ids::{Key, SessionId};
use crate::model::kind::Doc;
use crate::model::lease::{Sign, Signs};
use crate::model::listing::{Among, Marks, Most, Overview};
use crate::model::raw::Raw;
use crate::model::room::Room;
use crate::model::text_file::{TextFile, TextFiles};
use crate::model::time::{Clock, Moment};

/// Hears of commits.
pub trait Observer: Send + Sync {
    /// Says whether this process may change a document at all. Asked before anything is written to it, by whatever door.
    fn may_change(&self, _doc: &Doc) -> Result<()> {
        Ok(())
    }

    /// Is told what a commit has changed, after it has happened and with no lock held. Returns what a person should
    /// hear about; nothing that goes wrong here can undo the commit.
    fn committed(&self, engine: &dyn Engine, changes: &[Changed<'_>], entry: &Entry) -> Vec<String>;
}

/// One document that a commit has changed.
#[derive(Debug)]
pub struct Changed<'c> {
    pub doc: &'c Doc,
    pub revision: u64,
    pub now: Now<'c>,
}

/// What a changed document is now.
#[derive(Debug)]
pub enum Now<'c> {
    Known(&'c Value),
    /// Only items were put: nobody has the whole at hand.
    Unread,
    Deleted,
}

/// An engine with an observer.
pub struct Observed {
    engine: Box<dyn Engine>,
    observer: Box<dyn Observer>,
}

impl Observed {
    pub fn new(engine: Box<dyn Engine>, observer: Box<dyn Observer>) -> Observed {
        Observed { engine, observer }
    }
}

impl Engine for Observed {
    fn read(&self, doc: &Doc) -> Result<Option<Document>> {
        self.engine.read(doc)
    }

    fn begin_expecting(
        &self,
        rooms: &[&Room],
        expected: &[Expected<'_>],
    ) -> Result<Box<dyn Transaction + '_>> {
        let transaction = self.engine.begin_expecting(rooms, expected)?;
        Ok(Box::new(ObservedTransaction { transaction, engine: self, touched: Vec::new() }))
    }

    fn replay(&self, doc: &Doc, visit: &mut dyn FnMut(&Revision, Option<&Value>)) -> Result<()> {
        self.engine.replay(doc, visit)
    }

    fn log(&self, room: &Room) -> Result<Vec<Revision>> {
        self.engine.log(room)
    }

    fn look_back(&self, room: &Room, only: Option<&Doc>, visit: Visit<'_>) -> Result<()> {
        self.engine.look_back(room, only, visit)
    }

    fn cursor(&self) -> Result<Cursor> {
        self.engine.cursor()
    }

    fn commits_since(&self, cursor: &Cursor, most: usize) -> Result<Commits> {
        self.engine.commits_since(cursor, most)
    }

    fn has_committed(&self, room: &Room, token: &Key) -> Result<bool> {
        self.engine.has_committed(room, token)
    }

    fn watch(&self, doc: &Doc, from: Option<u64>) -> Result<Box<dyn Watch>> {
        self.engine.watch(doc, from)
    }

    fn listen(&self, docs: &[Doc]) -> Result<Box<dyn Listener>> {
        self.engine.listen(docs)
    }

    fn seat(&self, room: &Room, name: &str, patience: Duration) -> Result<Option<Box<dyn Seat>>> {
        self.engine.seat(room, name, patience)
    }

    fn rooms(&self) -> Result<Vec<Room>> {
        self.engine.rooms()
    }

    fn documents(&self, room: &Room) -> Result<Vec<Doc>> {
        self.engine.documents(room)
    }
}

impl Reading for Observed {
    fn browse(&self, room: &Room) -> Result<Option<Box<dyn Transaction + '_>>> {
        self.engine.browse(room)
    }

    fn overview(&self, doc: &Doc, most: Most) -> Result<Option<Overview>> {
        self.engine.overview(doc, most)
    }

    fn each_item(&self, doc: &Doc, visit: &mut dyn FnMut(&Raw)) -> Result<bool> {
        self.engine.each_item(doc, visit)
    }

    fn read_some(&self, doc: &Doc, wanted: &mut dyn FnMut(&Raw) -> bool) -> Result<Option<Document>> {
        self.engine.read_some(doc, wanted)
    }

    fn glimpse(&self, doc: &Doc) -> Result<Option<Glimpse>> {
        self.engine.glimpse(doc)
    }

    fn is_absent(&self, doc: &Doc) -> bool {
        self.engine.is_absent(doc)
    }

    fn lacks(&self, doc: &Doc, text: &str) -> bool {
        self.engine.lacks(doc, text)
    }

    fn written_at(&self, doc: &Doc) -> Option<Timestamp> {
        self.engine.written_at(doc)
    }

    fn signs(&self, doc: &Doc) -> Result<Signs> {
        self.engine.signs(doc)
    }

    fn live(&self) -> Result<Live> {
        self.engine.live()
    }
}

impl Upkeep for Observed {
    fn check(&self, room: &Room, repair: bool) -> Result<Vec<Finding>> {
        self.engine.check(room, repair)
    }

    fn notes(&self, room: &Room) -> Result<Vec<String>> {
        self.engine.notes(room)
    }

    fn lost(&self, room: &Room) -> Result<Vec<Doc>> {
        self.engine.lost(room)
    }

    fn asides(&self, room: &Room) -> Result<Vec<Aside>> {
        self.engine.asides(room)
    }

    fn read_aside(&self, aside: &Aside) -> Result<Option<Vec<u8>>> {
        self.engine.read_aside(aside)
    }

    fn drop_aside(&self, aside: &Aside) -> Result<()> {
        self.engine.drop_aside(aside)
    }

    fn note_aside(&self, aside: &Aside) -> Result<()> {
        self.engine.note_aside(aside)
    }

    fn take_aged(&self, before: Timestamp, most: usize) -> Result<Vec<SessionId>> {
        self.engine.take_aged(before, most)
    }

    fn remove_room(&self, room: &Room) -> Result<bool> {
        self.engine.remove_room(room)
    }

    fn remove_remains(&self) -> Result<()> {
        self.engine.remove_remains()
    }

    fn text(&self, doc: &Doc) -> Result<Option<Vec<u8>>> {
        self.engine.text(doc)
    }

    fn place(&self, doc: &Doc) -> String {
        self.engine.place(doc)
    }

    fn called(&self, kept: Kept<'_>) -> Called {
        self.engine.called(kept)
    }
}

struct ObservedTransaction<'e> {
    transaction: Box<dyn Transaction + 'e>,
    engine: &'e Observed,
    touched: Vec<Touched>,
}

struct Touched {
    doc: Doc,
    /// The revision before.
    before: u64,
    deleted: bool,
}

impl ObservedTransaction<'_> {
    /// Notes a document before it is written to.
    fn touch(&mut self, doc: &Doc, deleted: bool) -> Result<()> {
        match self.touched.iter_mut().find(|touched| touched.doc == *doc) {
            Some(touched) => touched.deleted = deleted,
            None => {
                self.engine.observer.may_change(doc)?;
                let before = self.transaction.revision(doc)?;
                self.touched.push(Touched { doc: doc.clone(), before, deleted });
            }
        }
        Ok(())
    }
}

impl Transaction for ObservedTransaction<'_> {
    fn get(&mut self, doc: &Doc) -> Result<Option<&Value>> {
        self.transaction.get(doc)
    }

    fn documents(&mut self, room: &Room) -> Result<Vec<Doc>> {
        self.transaction.documents(room)
    }

    fn now(&mut self, here: &dyn Clock) -> Result<Moment> {
        self.transaction.now(here)
    }

    fn revision(&mut self, doc: &Doc) -> Result<u64> {
        self.transaction.revision(doc)
    }

    fn put(&mut self, doc: &Doc, value: Value) -> Result<()> {
        self.touch(doc, false)?;
        self.transaction.put(doc, value)
    }

    fn delete(&mut self, doc: &Doc) -> Result<()> {
        self.engine.observer.may_change(doc)?;
        // What is gone has no revision to look at, until it is deleted.
        self.transaction.delete(doc)?;
        self.touch(doc, true)
    }

    fn edits(&mut self, doc: &Doc) -> Result<Edits> {
        self.transaction.edits(doc)
    }

    fn text_file(&mut self, text_file: &TextFile) -> Result<Option<String>> {
        self.transaction.text_file(text_file)
    }

    fn text_files(&mut self, room: &Room, sort: TextFiles) -> Result<Vec<TextFile>> {
        self.transaction.text_files(room, sort)
    }

    fn write_text_file(&mut self, text_file: &TextFile, text: String) -> Result<()> {
        self.transaction.write_text_file(text_file, text)
    }

    fn append_text_file(&mut self, text_file: &TextFile, piece: &str) -> Result<()> {
        self.transaction.append_text_file(text_file, piece)
    }

    fn remove_text_file(&mut self, text_file: &TextFile) -> Result<()> {
        self.transaction.remove_text_file(text_file)
    }

    fn text_files_changed(&mut self, room: &Room, sort: TextFiles) -> Result<bool> {
        self.transaction.text_files_changed(room, sort)
    }

    /// Nobody hears of it: no document is changed.
    fn sign(&mut self, doc: &Doc, sign: Sign, now: &Moment) -> Result<bool> {
        self.engine.observer.may_change(doc)?;
        self.transaction.sign(doc, sign, now)
    }

    fn signs(&mut self, doc: &Doc) -> Result<Signs> {
        self.transaction.signs(doc)
    }

    fn commit(self: Box<Self>, entry: &Entry) -> Result<Committed> {
        let ObservedTransaction { transaction, engine, touched } = *self;
        let mut committed = transaction.commit(entry)?;
        if !touched.is_empty() {
            let changes: Vec<_> = touched.iter().map(|touched| touched.changed(&committed)).collect();
            let warnings = engine.observer.committed(&*engine.engine, &changes, entry);
            committed.warnings.extend(warnings.into_iter().map(Hint::from));
        }
        Ok(committed)
    }

    fn exists(&mut self, doc: &Doc) -> Result<bool> {
        self.transaction.exists(doc)
    }
}

impl Picking for ObservedTransaction<'_> {
    fn item(&mut self, doc: &Doc, id: &str) -> Result<Option<Value>> {
        self.transaction.item(doc, id)
    }

    fn item_at(&mut self, doc: &Doc, position: usize) -> Result<Option<Value>> {
        self.transaction.item_at(doc, position)
    }

    fn put_item(&mut self, doc: &Doc, id: &str, item: Value) -> Result<()> {
        self.touch(doc, false)?;
        self.transaction.put_item(doc, id, item)
    }

    fn remove_items(&mut self, doc: &Doc, ids: &[&str]) -> Result<()> {
        self.touch(doc, false)?;
        self.transaction.remove_items(doc, ids)
    }

    fn extend(&mut self, doc: &Doc, items: Texts) -> Result<()> {
        self.touch(doc, false)?;
        self.transaction.extend(doc, items)
    }

    fn taken(&mut self, doc: &Doc, ids: &[&str]) -> Result<Option<Vec<bool>>> {
        self.transaction.taken(doc, ids)
    }

    fn find(&mut self, doc: &Doc, among: Among<'_>) -> Result<Vec<Value>> {
        self.transaction.find(doc, among)
    }

    fn best(&mut self, doc: &Doc, after: Option<Rank>, without: &Marks) -> Result<Option<(Rank, Value)>> {
        self.transaction.best(doc, after, without)
    }

    fn may_be_due(&mut self, doc: &Doc, now: &Moment) -> Result<bool> {
        self.transaction.may_be_due(doc, now)
    }

    fn due(&mut self, doc: &Doc, now: &Moment) -> Result<Vec<Value>> {
        self.transaction.due(doc, now)
    }

    fn may_be_occupied(&mut self, doc: &Doc, keys: &[u64]) -> Result<bool> {
        self.transaction.may_be_occupied(doc, keys)
    }

    fn frame(&mut self, doc: &Doc) -> Result<Option<Value>> {
        self.transaction.frame(doc)
    }

    fn counts(&mut self, doc: &Doc) -> Result<Vec<usize>> {
        self.transaction.counts(doc)
    }
}

impl Touched {
    fn changed<'c>(&'c self, committed: &'c Committed) -> Changed<'c> {
        let known = committed.documents.iter().find(|(doc, _)| *doc == self.doc);
        let (revision, now) = match known {
            Some((_, document)) => (document.revision, Now::Known(&document.value)),
            None if self.deleted => (self.before + 1, Now::Deleted),
            None => (self.before + 1, Now::Unread),
        };
        Changed { doc: &self.doc, revision, now }
    }
}
