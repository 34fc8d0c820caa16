//! Looking after a store: what is wrong, what was kept aside, what can go.

use jiff::Timestamp;

use crate::error::Code;
use crate::model::hint::Hint;
use crate::model::ids::SessionId;
use crate::model::kind::Doc;
use crate::model::room::Room;
use crate::model::text_file::TextFile;
use crate::store::error::Result;

/// What somebody asks who looks after a store, and those who tell where things are.
pub trait Upkeep {
    /// Looks for what is wrong with a room after finishing what a crash left; with `repair` mends what it can.
    fn check(&self, room: &Room, repair: bool) -> Result<Vec<Finding>>;

    /// Says what a room's place lacks, so that changes are slower there than they could be.
    fn notes(&self, room: &Room) -> Result<Vec<String>>;

    /// Returns the documents that a room's history knows and that were lost, in the order of their names. An engine whose
    /// documents only it can remove has none.
    fn lost(&self, room: &Room) -> Result<Vec<Doc>>;

    /// Returns the edits of a room that could not be joined with what was committed meanwhile, oldest first.
    fn asides(&self, room: &Room) -> Result<Vec<Aside>>;

    /// Returns the bytes of such an edit; `None` if it is gone.
    fn read_aside(&self, aside: &Aside) -> Result<Option<Vec<u8>>>;

    /// Forgets such an edit: somebody has decided about it.
    fn drop_aside(&self, aside: &Aside) -> Result<()>;

    /// Notes that a person has heard of such an edit.
    fn note_aside(&self, aside: &Aside) -> Result<()>;

    /// Returns a few of the sessions that ended before a time, the first first, each once. An engine that would have to
    /// look at all of them says nothing.
    fn take_aged(&self, before: Timestamp, most: usize) -> Result<Vec<SessionId>>;

    /// Removes what is left of a room without documents and texts: its history, its locks. Returns false if there is something in
    /// it, or if the engine does not keep such a thing.
    fn remove_room(&self, room: &Room) -> Result<bool>;

    /// Removes what those who were killed while they removed a room have left of it. What is in use stays.
    fn remove_remains(&self) -> Result<()>;

    /// Returns the text that a document is kept as, to say where something stands in it.
    fn text(&self, doc: &Doc) -> Result<Option<Vec<u8>>>;

    /// Says where a document is kept, for messages.
    fn place(&self, doc: &Doc) -> String;

    /// Says how people call a document or a text.
    fn called(&self, kept: Kept<'_>) -> Called;
}

/// Something that a store keeps.
#[derive(Debug, Clone, Copy)]
pub enum Kept<'a> {
    Document(&'a Doc),
    TextFile(&'a TextFile),
}

/// How people call something that is kept. Different things of a room are called differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// Within its room.
    pub name: String,
    /// Within its team or project.
    pub path: String,
}

/// An edit that could not be joined, and is kept aside as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Aside {
    pub doc: Doc,
    /// How people call the document.
    pub called: String,
    /// Tells it from others of the room.
    pub name: String,
    /// Where it is, for messages and to name it.
    pub path: String,
    /// Whether a person has heard of it.
    pub noted: bool,
}

/// Something that is wrong in a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub code: Code,
    pub subject: String,
    pub message: String,
    /// What to type or do about it.
    pub fix: Hint,
    /// Whether it has just been mended.
    pub repaired: bool,
}
