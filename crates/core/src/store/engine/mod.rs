//! The engine contract: what every place that keeps state promises.
//!
//! Use cases (`ops`) are written against it once; the conformance suite in `testkit` holds every engine to the same
//! words. It has four parts, and an engine has all of them:
//!
//! - documents and their transactions: [`Engine`], [`Transaction`];
//! - picking from long lists, item by item: [`Picking`], a part of every transaction;
//! - looking without a lock, as quickly as an engine can: [`Reading`];
//! - looking after the store: [`Upkeep`].
//!
//! Next to nothing has a body here: an engine that forgets a promise does not compile.
//!
//! - **Isolation.** At most one transaction is open per room; it sees the newest committed state and its
//!   own writes. Readers take no lock, never wait for a writer and never see half a document.
//! - **Atomicity.** A commit changes all its documents or none, also when the process is killed or the
//!   power fails at any moment. A dropped transaction has changed nothing.
//! - **Durability.** When `commit` returns with [`Durability::Synced`], the change survives a power loss.
//!   With [`Durability::Lazy`] it survives the death of the process, and a power loss gives the old or the
//!   new state.
//! - **Fidelity.** A document comes back as it was put: the order of its fields, the spelling of its numbers and every
//!   character of its texts.
//! - **Revisions.** Every commit raises the revision of each document it changes by one; a revision never
//!   goes back and is never used twice, not even after a delete. Where people can edit the documents
//!   themselves, an edit counts as one revision more as soon as it is seen, and for good when the next
//!   commit of that document records it; edits in between share that number.
//! - **Edits.** What counts of an edit is what it changed of the state that it was made from (`store::edits`): it never
//!   undoes what was committed since, and what cannot be joined is kept aside and told.
//! - **Validity.** Nothing that does not fit its kind's shape is ever committed.
//! - **Order.** Changes of a document are reported in the order of their revisions, each once. So are all commits of all
//!   rooms by [`Engine::commits_since`]: those of a room in their order, one in several rooms as one.
//! - **Tokens.** A commit that was given a token can be asked for by it, as long as it is kept: after an error that leaves open
//!   whether it happened, that tells.
//! - **Time.** [`Transaction::now`] is the time of the place that keeps the documents, asked for under the lock: what one
//!   transaction writes down is never later than what the next one of the room is told.
//! - **Signs of life.** The last sign of each item is kept beside the documents. It is given with a commit, and one that has nothing
//!   else makes no revision, is in no history and wakes nobody. A power loss may bring an older one back or none, and one whose lease
//!   is over may be forgotten: a sign is never more than what somebody gave.
//! - **Text files.** Texts are part of the commit: they are there when it is and not when it is not, also after
//!   a crash, as soon as the next transaction of the room begins. A piece is appended once.
//! - **Seats.** A seat has at most one holder; it says nothing about documents.
//! - **Waking.** Whatever is committed after [`Engine::watch`] returned is reported by the watch, and wakes
//!   what [`Engine::listen`] returned before.

mod entry;
mod items;
mod past;
mod picking;
mod reading;
mod upkeep;
mod watching;

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::edits::Edits;
use super::error::Result;
use crate::model::hint::Hint;
use crate::model::ids::Key;
use crate::model::kind::Doc;
use crate::model::lease::{Sign, Signs};
use crate::model::room::Room;
use crate::model::text_file::{TextFile, TextFiles};
use crate::model::time::{Clock, Moment};

pub use entry::{Durability, Entry};
pub use items::{
    best_in, counts_in, extend_in, find_in, frame_of, item_in, items, keep_in, put_in, remove_in,
};
pub use past::{Commit, Commits, Cursor, Revision, Visit};
pub use picking::{Picking, Rank};
pub use reading::{Glimpse, Live, Reading};
pub use upkeep::{Aside, Called, Finding, Kept, Upkeep};
pub use watching::{Event, Listener, Long, Stream, Watch};

/// A place that keeps documents.
pub trait Engine: Reading + Upkeep + Send + Sync {
    /// Returns the newest committed content, or `None` if there is no such document.
    fn read(&self, doc: &Doc) -> Result<Option<Document>>;

    /// Opens the one transaction of each of these rooms, waiting for others at most the engine's patience for each. What is
    /// expected to be asked changes no answer: an engine far away fetches it together with the lock.
    fn begin_expecting(
        &self,
        rooms: &[&Room],
        expected: &[Expected<'_>],
    ) -> Result<Box<dyn Transaction + '_>>;

    /// The same, of a caller who does not know what it will ask.
    fn begin(&self, rooms: &[&Room]) -> Result<Box<dyn Transaction + '_>> {
        self.begin_expecting(rooms, &[])
    }

    /// Calls `visit` with every kept revision of a document, oldest first, and its content after it
    /// (`None` when that revision deleted it).
    fn replay(&self, doc: &Doc, visit: &mut dyn FnMut(&Revision, Option<&Value>)) -> Result<()>;

    /// Returns every kept revision of every document of a room, oldest first.
    fn log(&self, room: &Room) -> Result<Vec<Revision>>;

    /// Calls `visit` with the kept revisions of a room, or of one document of it, newest first, until that returns false.
    /// Nothing else is read: what was too long for the log is told by [`Revision::stored`].
    fn look_back(&self, room: &Room, only: Option<&Doc>, visit: Visit<'_>) -> Result<()>;

    /// Returns the end of the course of all commits.
    fn cursor(&self) -> Result<Cursor>;

    /// Returns the commits of all rooms after a cursor, no more than `most`; after none, as far back as they are kept.
    fn commits_since(&self, cursor: &Cursor, most: usize) -> Result<Commits>;

    /// Whether a commit of a room that was given this token has happened, as far back as commits are kept.
    fn has_committed(&self, room: &Room, token: &Key) -> Result<bool>;

    /// Starts to follow a document: from now (a snapshot first), or everything after revision `from`.
    fn watch(&self, doc: &Doc, from: Option<u64>) -> Result<Box<dyn Watch>>;

    /// Starts to listen for changes of documents, at least one, without telling what they are; and for texts that others
    /// may leave in their rooms.
    fn listen(&self, docs: &[Doc]) -> Result<Box<dyn Listener>>;

    /// Takes the seat of this name beside a room; `None` if it stayed taken for so long. It is free again when the
    /// answer is dropped or its process ends. Transactions are not held up by it.
    fn seat(&self, room: &Room, name: &str, patience: Duration) -> Result<Option<Box<dyn Seat>>>;

    /// Returns the rooms that hold something, in a fixed order.
    fn rooms(&self) -> Result<Vec<Room>>;

    /// Returns the documents that a room holds, in the order of their names.
    fn documents(&self, room: &Room) -> Result<Vec<Doc>>;
}

/// An open transaction on one or more rooms. Dropping it without [`Transaction::commit`] changes nothing.
pub trait Transaction: Picking {
    /// Returns the content as this transaction sees it.
    fn get(&mut self, doc: &Doc) -> Result<Option<&Value>>;

    /// Whether there is such a document, as this transaction sees it.
    fn exists(&mut self, doc: &Doc) -> Result<bool>;

    /// Returns the documents of a room as this transaction sees it, in the order of their names.
    fn documents(&mut self, room: &Room) -> Result<Vec<Doc>>;

    /// Returns the time, as the place that keeps the documents knows it: what leases are given and judged by. Where that place
    /// is this machine, it is the time of its clock `here`.
    fn now(&mut self, here: &dyn Clock) -> Result<Moment>;

    /// Returns the document's revision before this transaction; 0 if it never existed.
    fn revision(&mut self, doc: &Doc) -> Result<u64>;

    /// Replaces the content. Revision, time and author are the engine's to set.
    fn put(&mut self, doc: &Doc, value: Value) -> Result<()>;

    /// Deletes the document.
    fn delete(&mut self, doc: &Doc) -> Result<()>;

    /// Returns what was changed outside the engine since its last commit, as far as it counts: this transaction sees
    /// that too.
    fn edits(&mut self, doc: &Doc) -> Result<Edits>;

    /// Returns a text as it was before this transaction.
    fn text_file(&mut self, text_file: &TextFile) -> Result<Option<String>>;

    /// Returns the texts of one sort that were there before this transaction, and makes sure that there is a place for them
    /// after the commit.
    fn text_files(&mut self, room: &Room, sort: TextFiles) -> Result<Vec<TextFile>>;

    /// Whether texts of a sort that others may leave there have come or gone by other hands since somebody asked for them.
    fn text_files_changed(&mut self, room: &Room, sort: TextFiles) -> Result<bool>;

    /// Replaces a text.
    fn write_text_file(&mut self, text_file: &TextFile, text: String) -> Result<()>;

    /// Adds a piece to the end of a text, whatever else is added to it meanwhile.
    fn append_text_file(&mut self, text_file: &TextFile, piece: &str) -> Result<()>;

    /// Removes a text.
    fn remove_text_file(&mut self, text_file: &TextFile) -> Result<()>;

    /// Gives a sign of life with the commit, in place of the item's last one. Returns false if there is no place for it.
    fn sign(&mut self, doc: &Doc, sign: Sign, now: &Moment) -> Result<bool>;

    /// Returns the last sign of life of each item, as this transaction sees them.
    fn signs(&mut self, doc: &Doc) -> Result<Signs>;

    /// Makes everything happen, or nothing.
    fn commit(self: Box<Self>, entry: &Entry) -> Result<Committed>;
}

/// What a caller is about to ask of a transaction.
#[derive(Debug, Clone, Copy)]
pub enum Expected<'a> {
    Document(&'a Doc),
    /// One item, what it needs, and what needs it.
    Item(&'a Doc, &'a str),
    /// The best items to pick, so many.
    Best(&'a Doc, usize),
    /// The items that somebody has, and their signs of life.
    Active(&'a Doc),
    TextFile(&'a TextFile),
}

/// A seat that is taken, until this is dropped.
pub trait Seat: Send + Sync {
    /// Returns an input or output for a process that has no use for it: the seat stays taken as long as that process lives,
    /// also if its holder ends before it. Nothing, where an engine has no such thing.
    fn for_child(&self) -> Stdio;
}

/// A document as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub value: Value,
    pub revision: u64,
}

/// What a commit did.
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// The new state of each document that was put, in the order of the transaction's writes. Documents of which
    /// only items were put may be left out.
    pub documents: Vec<(Doc, Document)>,
    /// What a person should hear about, such as an edit that collided with this commit.
    pub warnings: Vec<Hint>,
}
