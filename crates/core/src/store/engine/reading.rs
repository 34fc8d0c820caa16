//! Looking without a lock. Every answer agrees with [`Engine::read`](super::Engine::read); what an engine cannot tell
//! quickly it leaves to that.

use jiff::Timestamp;
use serde_json::Value;

use super::{Document, Transaction};
use crate::model::ids::SessionId;
use crate::model::kind::Doc;
use crate::model::lease::Signs;
use crate::model::listing::{Most, Overview};
use crate::model::raw::Raw;
use crate::model::room::Room;
use crate::store::error::Result;

/// Quick looks, for what is asked often.
pub trait Reading {
    /// Opens the room for looking only, if it is free within a moment and has an index to look into. `None` sends
    /// the caller to [`Engine::read`](super::Engine::read).
    fn browse(&self, room: &Room) -> Result<Option<Box<dyn Transaction + '_>>>;

    /// Returns a document's list seen from above, if that can be told without looking at every item. `None` sends the
    /// caller to [`Engine::read`](super::Engine::read).
    fn overview(&self, doc: &Doc, most: Most) -> Result<Option<Overview>>;

    /// Calls `visit` with every item of a document's list, without building values. Returns false if that cannot be done;
    /// what was visited then does not count, and the caller is sent to [`Engine::read`](super::Engine::read).
    fn each_item(&self, doc: &Doc, visit: &mut dyn FnMut(&Raw)) -> Result<bool>;

    /// Returns a document with only those items of its list that are wanted, each asked for once. An engine that can looks at
    /// the others without building values.
    fn read_some(&self, doc: &Doc, wanted: &mut dyn FnMut(&Raw) -> bool) -> Result<Option<Document>>;

    /// Returns what stands in a document before its list, if an engine can tell that without looking at the items.
    fn glimpse(&self, doc: &Doc) -> Result<Option<Glimpse>>;

    /// Whether there is surely no such document: one quick look, for what is asked after every change. An engine that
    /// cannot tell says no.
    fn is_absent(&self, doc: &Doc) -> bool;

    /// Whether a document surely has no such text in it, which JSON writes as it is: one quick look. An engine that cannot
    /// tell says no.
    fn lacks(&self, doc: &Doc, text: &str) -> bool;

    /// Returns when a document was last written, by one quick look; `None` if there is none.
    fn written_at(&self, doc: &Doc) -> Option<Timestamp>;

    /// Returns the last sign of life of each item of a document.
    fn signs(&self, doc: &Doc) -> Result<Signs>;

    /// Returns the sessions that may not be over. An engine that can tells without looking at those that are.
    fn live(&self) -> Result<Live>;
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

/// Who may be at work.
#[derive(Debug, Default)]
pub struct Live {
    /// All sessions that are not over, all mailboxes without a session that is over, and perhaps others.
    pub ids: Vec<SessionId>,
    /// Whether there are sessions at all.
    pub any: bool,
}
