//! The engine contract: what every place that keeps state promises.
//!
//! Small on purpose. Use cases (`ops`) are written against it once; the conformance suite in `testkit`
//! holds every engine to the same words.
//!
//! - **Isolation.** At most one transaction is open per room; it sees the newest committed state and its
//!   own writes. Readers take no lock, never wait for a writer and never see half a document.
//! - **Atomicity.** A commit changes all its documents or none, also when the process is killed or the
//!   power fails at any moment. A dropped transaction has changed nothing.
//! - **Durability.** When `commit` returns with [`Durability::Synced`], the change survives a power loss.
//!   With [`Durability::Lazy`] it survives the death of the process, and a power loss gives the old or the
//!   new state.
//! - **Revisions.** Every commit raises the revision of each document it changes by one; a revision never
//!   goes back and is never used twice, not even after a delete. Where people can edit the documents
//!   themselves, an edit counts as one revision more as soon as it is seen, and for good when the next
//!   commit of that document records it; edits in between share that number.
//! - **Edits.** What counts of an edit is what it changed of the state that it was made from (`store::edits`): it never
//!   undoes what was committed since, and what cannot be joined is kept aside and told.
//! - **Validity.** Nothing that does not fit its kind's shape is ever committed.
//! - **Order.** Changes of a document are reported in the order of their revisions, each once.
//! - **Papers.** Texts are part of the commit: they are there when it is and not when it is not, also after
//!   a crash, as soon as the next transaction of the room begins. A piece is appended once.
//! - **Seats.** A seat has at most one holder; it says nothing about documents.
//! - **Waking.** Whatever is committed after [`Engine::watch`] returned is reported by the watch, and wakes
//!   what [`Engine::listen`] returned before.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::edits::Edits;
use super::error::{Error, Result};
use super::texts::Texts;
use crate::error::Code;
use crate::model::diff::Change;
use crate::model::ids::SessionId;
use crate::model::json;
use crate::model::kind::{Doc, Items, Kind};
use crate::model::listing::{Among, Excerpt, Facet, Listing, Marks, Most, Standing};
use crate::model::names::Names;
use crate::model::paper::Paper;
use crate::model::raw::Raw;
use crate::model::room::Room;
use crate::model::time::Moment;

/// A place that keeps documents.
///
/// What has a body here is overridden by engines that know better: [`super::observed`] hands every method on.
pub trait Engine: Send + Sync {
    /// Returns the newest committed content, or `None` if there is no such document.
    fn read(&self, doc: &Doc) -> Result<Option<Document>>;

    /// Opens the one transaction of each of these rooms, waiting for others at most the engine's patience for each.
    fn begin(&self, rooms: &[&Room]) -> Result<Box<dyn Transaction + '_>>;

    /// Opens the room for looking only, if it is free within a moment and has an index to look into. `None` sends
    /// the caller to [`Engine::read`].
    fn browse(&self, _: &Room) -> Result<Option<Box<dyn Transaction + '_>>> {
        Ok(None)
    }

    /// Returns a document's list seen from above, if that can be told without looking at every item. `None` sends the
    /// caller to [`Engine::read`].
    fn excerpt(&self, _: &Doc, _: Most) -> Result<Option<Excerpt>> {
        Ok(None)
    }

    /// Calls `visit` with every item of a document's list, without building values. Returns false if that cannot be done;
    /// what was visited then does not count, and the caller is sent to [`Engine::read`].
    fn each_item(&self, _: &Doc, _visit: &mut dyn FnMut(&Raw)) -> Result<bool> {
        Ok(false)
    }

    /// Returns a document with only those items of its list that are wanted, each asked for once. An engine that can looks at
    /// the others without building values.
    fn read_some(&self, doc: &Doc, wanted: &mut dyn FnMut(&Raw) -> bool) -> Result<Option<Document>> {
        let Some(mut document) = self.read(doc)? else { return Ok(None) };
        keep_in(doc.kind, &mut document.value, wanted);
        Ok(Some(document))
    }

    /// Returns what stands in a document before its list, if an engine can tell that without looking at the items.
    fn glimpse(&self, _: &Doc) -> Result<Option<Glimpse>> {
        Ok(None)
    }

    /// Whether a document may have this text in it, which JSON writes as it is: one quick look. An engine that cannot tell says
    /// yes.
    fn may_hold(&self, _: &Doc, _: &str) -> bool {
        true
    }

    /// Calls `visit` with every kept revision of a document, oldest first, and its content after it
    /// (`None` when that revision deleted it).
    fn replay(&self, doc: &Doc, visit: &mut dyn FnMut(&Revision, Option<&Value>)) -> Result<()>;

    /// Returns every kept revision of every document of a room, oldest first.
    fn log(&self, room: &Room) -> Result<Vec<Revision>>;

    /// Calls `visit` with the kept revisions of a room, or of one document of it, newest first, until that returns false.
    /// Nothing else is read: what was too long for the log is told by [`Revision::stored`].
    fn look_back(&self, room: &Room, only: Option<&Doc>, visit: Visit<'_>) -> Result<()>;

    /// Starts to follow a document: from now (a snapshot first), or everything after revision `from`.
    fn watch(&self, doc: &Doc, from: Option<u64>) -> Result<Box<dyn Watch>>;

    /// Starts to listen for changes of documents, at least one and all below one root, without telling what
    /// they are; and for papers that others leave in the open folders of their rooms.
    fn listen(&self, docs: &[Doc]) -> Result<Box<dyn Listener>>;

    /// Whether there may be such a document: one quick look, for what is asked after every change. An engine that
    /// cannot tell says yes.
    fn may_exist(&self, _: &Doc) -> bool {
        true
    }

    /// Returns when a document was last written, by one quick look. An engine that cannot tell says nothing.
    fn written_at(&self, _: &Doc) -> Option<Timestamp> {
        None
    }

    /// Takes the seat of this name beside a room; `None` if it stayed taken for so long. It is free again when the
    /// answer is dropped or its process ends. Transactions are not held up by it. An engine without seats lets
    /// everybody in.
    fn seat(&self, _room: &Room, _name: &str, _patience: Duration) -> Result<Option<Box<dyn Seat>>> {
        Ok(Some(Box::new(())))
    }

    /// Returns the rooms that hold something, in a fixed order.
    fn rooms(&self) -> Result<Vec<Room>>;

    /// Returns the sessions that may not be over. An engine that can tells without looking at those that are.
    fn live(&self) -> Result<Live> {
        let rooms = self.rooms()?;
        let any = rooms.iter().any(|room| matches!(room, Room::Session(_)));
        let ids: BTreeSet<_> = rooms.iter().filter_map(Room::session).cloned().collect();
        Ok(Live { ids: ids.into_iter().collect(), any })
    }

    /// Returns a few of the sessions that ended before a time, the first first, each once. An engine that would have to
    /// look at all of them says nothing.
    fn take_aged(&self, _before: Timestamp, _most: usize) -> Result<Vec<SessionId>> {
        Ok(Vec::new())
    }

    /// Returns the documents that a room holds, in the order of their files.
    fn documents(&self, room: &Room) -> Result<Vec<Doc>>;

    /// Returns the documents that a room's history knows and that were lost, in the order of their files. An engine whose documents
    /// only it can remove has none.
    fn lost(&self, _: &Room) -> Result<Vec<Doc>> {
        Ok(Vec::new())
    }

    /// Removes what is left of a room without documents and texts: its history, its locks. Returns false if there is something in
    /// it, or if the engine does not keep such a thing.
    fn remove_room(&self, _: &Room) -> Result<bool> {
        Ok(false)
    }

    /// Looks for what is wrong with a room after finishing what a crash left; with `repair` mends what it can.
    fn check(&self, room: &Room, repair: bool) -> Result<Vec<Finding>>;

    /// Returns the edits of a room that could not be joined with what was committed meanwhile, oldest first.
    fn asides(&self, _: &Room) -> Result<Vec<Aside>> {
        Ok(Vec::new())
    }

    /// Returns the bytes of such an edit; `None` if it is gone.
    fn read_aside(&self, _: &Aside) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Forgets such an edit: somebody has decided about it.
    fn drop_aside(&self, _: &Aside) -> Result<()> {
        Ok(())
    }

    /// Notes that a person has heard of such an edit.
    fn note_aside(&self, _: &Aside) -> Result<()> {
        Ok(())
    }

    /// Says what a room's place lacks, so that changes are slower there than they could be.
    fn notes(&self, _: &Room) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Returns the text that a document is kept as, to say where something stands in it.
    fn text(&self, doc: &Doc) -> Result<Option<Vec<u8>>> {
        Ok(self.read(doc)?.map(|document| json::render(&document.value)))
    }

    /// Says where a document is kept, for messages.
    fn place(&self, doc: &Doc) -> String;
}

/// Sees one revision after the other, until it returns false.
pub type Visit<'v> = &'v mut dyn FnMut(Revision) -> bool;

/// An edit that could not be joined, and is kept aside as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Aside {
    pub doc: Doc,
    /// Tells it from others of the room.
    pub name: String,
    /// Where it is, for messages and to name it.
    pub path: String,
    /// Whether a person has heard of it.
    pub noted: bool,
}

/// Who may be at work.
#[derive(Debug, Default)]
pub struct Live {
    /// All sessions that are not over, all mailboxes without a session that is over, and perhaps others.
    pub ids: Vec<SessionId>,
    /// Whether there are sessions at all.
    pub any: bool,
}

/// A seat that is taken, until this is dropped.
pub trait Seat: Send {
    /// Returns something that keeps the seat taken as long as any process has it, for one that outlives its holder.
    fn share(&self) -> Option<OwnedFd> {
        None
    }
}

impl Seat for () {}

/// A document as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub value: Value,
    pub revision: u64,
}

/// The beginning of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Glimpse {
    /// The fields before the list.
    pub value: Value,
    pub revision: u64,
    /// The length of its text.
    pub size: usize,
}

/// An open transaction on one or more rooms. Dropping it without [`Transaction::commit`] changes nothing.
pub trait Transaction {
    /// Returns the content as this transaction sees it.
    fn get(&mut self, doc: &Doc) -> Result<Option<&Value>>;

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
    fn paper(&mut self, paper: &Paper) -> Result<Option<String>>;

    /// Returns the names in a folder of texts, and makes sure that the room has that folder after the commit.
    fn folder(&mut self, room: &Room, dir: &'static str) -> Result<Vec<String>>;

    /// Replaces a text.
    fn write_paper(&mut self, paper: &Paper, text: String) -> Result<()>;

    /// Adds a piece to the end of a text, whatever else is added to it meanwhile.
    fn append_paper(&mut self, paper: &Paper, piece: &str) -> Result<()>;

    /// Removes a text.
    fn remove_paper(&mut self, paper: &Paper) -> Result<()>;

    /// Whether papers may have come to an open folder, or gone, by other hands since somebody asked for its names.
    fn folder_changed(&mut self, _: &Room, _: &'static str) -> Result<bool> {
        Ok(false)
    }

    /// Makes everything happen, or nothing.
    fn commit(self: Box<Self>, entry: &Entry) -> Result<Committed>;

    /// Returns one item of a document's list by its `id`; where the list is a map, by its key.
    fn item(&mut self, doc: &Doc, id: &str) -> Result<Option<Value>> {
        Ok(self.get(doc)?.and_then(|value| item_in(doc, value, id)).cloned())
    }

    /// Returns the item at a position of a document's list; `None` behind the last.
    fn item_at(&mut self, doc: &Doc, position: usize) -> Result<Option<Value>> {
        Ok(self.get(doc)?.and_then(|value| items(doc.kind, value).get(position).map(|item| (*item).clone())))
    }

    /// Removes the item with this `id` or key, if it is there.
    fn remove_item(&mut self, doc: &Doc, id: &str) -> Result<()> {
        let Some(mut value) = self.get(doc)?.cloned() else { return Ok(()) };
        remove_in(doc, &mut value, id);
        self.put(doc, value)
    }

    /// Replaces the item with this `id` or key, or appends it. The document must exist.
    fn put_item(&mut self, doc: &Doc, id: &str, item: Value) -> Result<()> {
        let mut value = self.get(doc)?.cloned().unwrap_or_default();
        put_in(doc, &mut value, id, item)?;
        self.put(doc, value)
    }

    /// Appends items with new ids. The document must exist.
    fn extend(&mut self, doc: &Doc, items: Texts) -> Result<()> {
        let mut value = self.get(doc)?.cloned().unwrap_or_default();
        extend_in(doc, &mut value, &items)?;
        self.put(doc, value)
    }

    /// Returns which of these ids there are. `None` if that cannot be told without looking at every item, or if
    /// some item needs one that is not there.
    fn taken(&mut self, _: &Doc, _: &[&str]) -> Result<Option<Vec<bool>>> {
        Ok(None)
    }

    /// Whether there is such a document, as this transaction sees it.
    fn exists(&mut self, doc: &Doc) -> Result<bool> {
        Ok(self.get(doc)?.is_some())
    }

    /// Returns the items that are looked for, in the order of their positions. An engine with an index answers
    /// this and what follows without looking at the other items.
    fn find(&mut self, doc: &Doc, among: Among<'_>) -> Result<Vec<Value>> {
        Ok(self.get(doc)?.map(|value| find_in(doc, value, among)).unwrap_or_default())
    }

    /// Returns the best item to pick after `after` (or the very best), by the kind's order and then by position, of
    /// those that have none of these marks. An engine with an index does not look at each that has one.
    fn best(&mut self, doc: &Doc, after: Option<Rank>, without: &Marks) -> Result<Option<(Rank, Value)>> {
        Ok(self.get(doc)?.and_then(|value| best_in(doc, value, after, without)))
    }

    /// Whether some active item may be due by now. An engine that does not know says yes.
    fn may_be_due(&mut self, _: &Doc, _: &Moment) -> Result<bool> {
        Ok(true)
    }

    /// Returns the active items that are due by now, and perhaps others.
    fn due(&mut self, doc: &Doc, _: &Moment) -> Result<Vec<Value>> {
        self.find(doc, Among::Active)
    }

    /// Whether some active item may occupy what these keys ask for. An engine that does not know says yes.
    fn may_be_occupied(&mut self, _: &Doc, _: &[u64]) -> Result<bool> {
        Ok(true)
    }

    /// Returns the document with none of its items.
    fn frame(&mut self, doc: &Doc) -> Result<Option<Value>> {
        Ok(self.get(doc)?.map(|value| frame_of(doc, value)))
    }

    /// Returns how many items are in each of the kind's states.
    fn counts(&mut self, doc: &Doc) -> Result<Vec<usize>> {
        Ok(counts_in(doc, self.get(doc)?))
    }
}

/// Keeps the items of a document's list that are wanted.
pub fn keep_in(kind: &Kind, value: &mut Value, wanted: &mut dyn FnMut(&Raw) -> bool) {
    let mut raw = Raw::default();
    let mut is_wanted = |item: &Value| {
        let text = serde_json::to_vec(item).expect("a JSON value can always be written");
        raw.read(&text, 0).is_some() && wanted(&raw)
    };
    if let Some(Value::Array(items)) = container_mut(kind, value) {
        items.retain(|item| is_wanted(item));
    }
}

/// Returns one item of a document's list.
pub fn item_in<'v>(doc: &Doc, value: &'v Value, id: &str) -> Option<&'v Value> {
    match container(doc.kind, value)? {
        Value::Array(list) => list.iter().find(|item| has_id(item, id)),
        Value::Object(map) => map.get(id),
        _ => None,
    }
}

/// Returns a document with none of its items.
pub fn frame_of(doc: &Doc, value: &Value) -> Value {
    let (Value::Object(fields), Items::Field(list)) = (value, doc.kind.items) else { return value.clone() };
    let frame = fields.iter().map(|(name, field)| match (name == list, field) {
        (true, Value::Array(_)) => (name.clone(), Value::Array(Vec::new())),
        _ => (name.clone(), field.clone()),
    });
    Value::Object(frame.collect())
}

/// Returns the items of a document that are looked for.
pub fn find_in(doc: &Doc, value: &Value, among: Among<'_>) -> Vec<Value> {
    let Some(listing) = doc.kind.listing else { return Vec::new() };
    listed(listing, &items(doc.kind, value), among).into_iter().cloned().collect()
}

/// Returns the best item of a document after `after` that has none of these marks.
pub fn best_in(doc: &Doc, value: &Value, after: Option<Rank>, without: &Marks) -> Option<(Rank, Value)> {
    let listing = doc.kind.listing?;
    let ranked = items(doc.kind, value).into_iter().enumerate().filter_map(|(position, item)| {
        let rank = |facet: &Facet<'_>| {
            let ready = listing.standing(facet.state) == Standing::Ready;
            ready.then_some(Rank { class: facet.class, age: facet.age, position })
        };
        listing.with_facet(item, rank)?.map(|rank| (rank, item))
    });
    let fits = |item: &Value| {
        without.is_empty() || !listing.marks_of(item).iter().any(|mark| without.contains(mark))
    };
    let later = ranked.filter(|(rank, _)| after.is_none_or(|after| *rank > after));
    let best = later.filter(|(_, item)| fits(item)).min_by_key(|(rank, _)| *rank)?;
    Some((best.0, best.1.clone()))
}

/// Returns how many items of a document are in each of the kind's states.
pub fn counts_in(doc: &Doc, value: Option<&Value>) -> Vec<usize> {
    let Some(listing) = doc.kind.listing else { return Vec::new() };
    let mut counts = vec![0; listing.states.len()];
    for item in value.map(|value| items(doc.kind, value)).unwrap_or_default() {
        if let Some(state) = listing.with_facet(item, |facet| facet.state) {
            counts[state] += 1;
        }
    }
    counts
}

/// Returns the items that are looked for, by looking at each.
fn listed<'v>(listing: &Listing, items: &[&'v Value], among: Among<'_>) -> Vec<&'v Value> {
    let mut done: HashSet<String> = HashSet::new();
    if among == Among::Loose {
        let id = |facet: &Facet<'_>| {
            let done = listing.standing(facet.state) == Standing::Done;
            done.then(|| facet.id.clone().into_owned())
        };
        done.extend(items.iter().filter_map(|item| listing.with_facet(item, id)?));
    }
    let wanted = |facet: &Facet<'_>| match (among, listing.standing(facet.state)) {
        (Among::Active, standing) => standing == Standing::Active,
        (Among::Loose, Standing::Waiting) => facet.needs.iter().all(|id| done.contains(&**id)),
        (Among::InNeedOf(id), Standing::Waiting | Standing::Ready) => {
            facet.needs.iter().any(|need| need == id)
        }
        _ => false,
    };
    items.iter().filter(|item| listing.with_facet(item, wanted) == Some(true)).copied().collect()
}

/// The place of an item in the order of picking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    pub class: i64,
    pub age: i64,
    pub position: usize,
}

/// How sure a commit must be before it is reported as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    Synced,
    Lazy,
}

/// What the log says about a commit.
#[derive(Debug, Clone)]
pub struct Entry {
    pub at: Timestamp,
    /// Who, for the log.
    pub by: String,
    /// Whom to name in `updated_by`, if known.
    pub author: Option<String>,
    pub op: String,
    /// The revision that this commit takes back, for `undo`.
    pub undoes: Option<u64>,
    pub durability: Durability,
}

/// What a commit did.
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// The new state of each document that was put, in the order of the transaction's writes. Documents of which
    /// only items were put may be left out.
    pub documents: Vec<(Doc, Document)>,
    /// What a person should hear about, such as an edit that collided with this commit.
    pub warnings: Vec<String>,
}

/// One revision of one document, as the log tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Revision {
    pub kind: String,
    pub file: String,
    pub revision: u64,
    pub at: String,
    pub by: String,
    pub op: String,
    pub undoes: Option<u64>,
    /// What an edit by hand was made from, if that is not the revision before it.
    pub made_from: Option<u64>,
    /// Who acted, where `by` is the role in which they did.
    pub author: Option<String>,
    pub changes: Vec<Change>,
    /// The items that the changes lead into.
    pub names: Names,
    /// Where the content is that it left, if that is too long for the log and the changes are not told.
    pub stored: Option<String>,
}

impl Revision {
    /// Whether this session or user made it, or somebody in this role.
    pub fn is_by(&self, who: &str) -> bool {
        self.by == who || self.author.as_deref() == Some(who)
    }

    /// Says who made it, for people.
    pub fn whose(&self) -> String {
        match &self.author {
            Some(author) => format!("{} for {author}", self.by),
            None => self.by.clone(),
        }
    }
}

/// Follows one document.
pub trait Watch: Send {
    /// Returns the next event, or `None` when `timeout` passed without one.
    fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Event>>;
}

/// Wakes when one of its documents changes, whoever changes it.
pub trait Listener: Send {
    /// Waits until something may have changed since this was made or last woke; returns false when
    /// `timeout` passed first.
    fn wait(&mut self, timeout: Option<Duration>) -> Result<bool>;
}

/// Something that happened to a watched document.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub revision: u64,
    /// When it was committed; unknown for a change made outside anthill.
    pub at: Option<String>,
    pub by: String,
    /// The operation, `edit` for a change made outside anthill, `snapshot` for the state at the start.
    pub op: String,
    /// The document as JSON without white space; `null` when it was deleted, or is told otherwise.
    pub text: Arc<String>,
    /// How a document is told that is too long to be told as a whole each time.
    pub long: Option<Long>,
    /// How many revisions were passed over before this one, because nobody fetched them in time.
    pub missed: u64,
}

/// Something of a long document.
#[derive(Debug, Clone, PartialEq)]
pub enum Long {
    /// What changed: a JSON array of changes.
    Changes(String),
    /// All of it.
    Whole(Stream),
}

/// A JSON text that is read piece by piece, once.
#[derive(Clone)]
pub struct Stream(Arc<Mutex<dyn io::Read + Send>>);

impl Stream {
    pub fn new(text: impl io::Read + Send + 'static) -> Stream {
        Stream(Arc::new(Mutex::new(text)))
    }

    /// Shows the text without white space, piece by piece.
    pub fn each_piece(&self, show: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        let mut text = self.0.lock().map_err(|_| io::ErrorKind::Other)?;
        let (mut buffer, mut piece, mut dense) = (vec![0; 64 << 10], Vec::new(), Dense::default());
        loop {
            let read = text.read(&mut buffer)?;
            piece.extend(buffer[..read].iter().copied().filter(|byte| dense.keeps(*byte)));
            let whole = match std::str::from_utf8(&piece) {
                Ok(whole) => whole.len(),
                Err(error) => error.valid_up_to(),
            };
            show(std::str::from_utf8(&piece[..whole]).unwrap_or_default())?;
            piece.drain(..whole);
            if read == 0 {
                return Ok(());
            }
        }
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Stream")
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Tells white space between the parts of a JSON text from that within strings.
#[derive(Debug, Default)]
struct Dense {
    in_string: bool,
    escaped: bool,
}

impl Dense {
    fn keeps(&mut self, byte: u8) -> bool {
        match (self.in_string, self.escaped, byte) {
            (true, true, _) => self.escaped = false,
            (true, false, b'\\') => self.escaped = true,
            (_, false, b'"') => self.in_string = !self.in_string,
            (false, ..) => return !byte.is_ascii_whitespace(),
            _ => {}
        }
        true
    }
}

impl Event {
    /// An event that tells the whole document.
    pub fn new(revision: u64, at: Option<String>, by: &str, op: &str, text: impl Into<Arc<String>>) -> Event {
        let (by, op, text) = (by.to_owned(), op.to_owned(), text.into());
        Event { revision, at, by, op, text, long: None, missed: 0 }
    }

    /// Returns the document.
    pub fn value(&self) -> Value {
        json::parse(self.text.as_bytes()).expect("it was written from a value")
    }
}

/// Something that is wrong in a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub code: Code,
    pub subject: String,
    pub message: String,
    /// What to type or do about it.
    pub fix: String,
    /// Whether it has just been mended.
    pub repaired: bool,
}

/// Returns the items of a document's list, whatever container holds them.
pub fn items<'v>(kind: &Kind, value: &'v Value) -> Vec<&'v Value> {
    match container(kind, value) {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(Value::Object(map)) if kind.items == Items::Document => {
            map.values().filter(|item| item.is_object()).collect()
        }
        Some(Value::Object(map)) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn container<'v>(kind: &Kind, value: &'v Value) -> Option<&'v Value> {
    match kind.items {
        Items::None => None,
        Items::Field(field) => value.get(field),
        Items::Nested(outer, field) => value.get(outer)?.get(field),
        Items::Document => Some(value),
    }
}

fn container_mut<'v>(kind: &Kind, value: &'v mut Value) -> Option<&'v mut Value> {
    match kind.items {
        Items::None => None,
        Items::Field(field) => value.get_mut(field),
        Items::Nested(outer, field) => value.get_mut(outer)?.get_mut(field),
        Items::Document => Some(value),
    }
}

/// Replaces or appends one item of a document's list.
pub fn put_in(doc: &Doc, value: &mut Value, id: &str, item: Value) -> Result<()> {
    match container_mut(doc.kind, value) {
        Some(Value::Array(list)) => match list.iter_mut().find(|old| has_id(old, id)) {
            Some(old) => *old = item,
            None => list.push(item),
        },
        Some(Value::Object(map)) => drop(map.insert(id.into(), item)),
        _ => {
            let message = format!("it has no list that could hold `{id}`");
            return Err(Error::Invalid { subject: doc.file.clone(), message });
        }
    }
    Ok(())
}

/// Takes one item out of a document's list.
pub fn remove_in(doc: &Doc, value: &mut Value, id: &str) {
    match container_mut(doc.kind, value) {
        Some(Value::Array(list)) => list.retain(|item| !has_id(item, id)),
        Some(Value::Object(map)) => drop(map.shift_remove(id)),
        _ => {}
    }
}

/// Appends items to a document's list.
pub fn extend_in(doc: &Doc, value: &mut Value, items: &Texts) -> Result<()> {
    match container_mut(doc.kind, value) {
        Some(Value::Array(list)) => {
            list.extend(items.values());
            Ok(())
        }
        _ => {
            let message = format!("it has no list that could hold {} items", items.len());
            Err(Error::Invalid { subject: doc.file.clone(), message })
        }
    }
}

fn has_id(item: &Value, id: &str) -> bool {
    item.get("id").and_then(Value::as_str) == Some(id)
}
