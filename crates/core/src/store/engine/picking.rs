//! Picking from long lists. What it means is said in [`super::items`], on a document that is at hand; an engine with an index
//! answers without looking at the other items.

use serde_json::Value;

use crate::model::kind::Doc;
use crate::model::listing::{Among, Marks};
use crate::model::time::Moment;
use crate::store::error::Result;
use crate::store::texts::Texts;

/// The items of a document's list, as a transaction sees them.
pub trait Picking {
    /// Returns one item of a document's list by its `id`; where the list is a map, by its key.
    fn item(&mut self, doc: &Doc, id: &str) -> Result<Option<Value>>;

    /// Returns the item at a position of a document's list; `None` behind the last.
    fn item_at(&mut self, doc: &Doc, position: usize) -> Result<Option<Value>>;

    /// Replaces the item with this `id` or key, or appends it. The document must exist.
    fn put_item(&mut self, doc: &Doc, id: &str, item: Value) -> Result<()>;

    /// Removes the items with these ids or keys, as far as they are there. Many at once cost no more than one.
    fn remove_items(&mut self, doc: &Doc, ids: &[&str]) -> Result<()>;

    /// Appends items with new ids. The document must exist.
    fn extend(&mut self, doc: &Doc, items: Texts) -> Result<()>;

    /// Returns which of these ids there are. `None` if that cannot be told without looking at every item, or if
    /// some item needs one that is not there.
    fn taken(&mut self, doc: &Doc, ids: &[&str]) -> Result<Option<Vec<bool>>>;

    /// Returns the items that are looked for, in the order of their positions.
    fn find(&mut self, doc: &Doc, among: Among<'_>) -> Result<Vec<Value>>;

    /// Returns the best item to pick after `after` (or the very best), by the kind's order and then by position, of
    /// those that have none of these marks. An engine with an index does not look at each that has one.
    fn best(&mut self, doc: &Doc, after: Option<Rank>, without: &Marks) -> Result<Option<(Rank, Value)>>;

    /// Whether some active item may be due by now. An engine that does not know says yes.
    fn may_be_due(&mut self, doc: &Doc, now: &Moment) -> Result<bool>;

    /// Returns the active items that are due by now, and perhaps others.
    fn due(&mut self, doc: &Doc, now: &Moment) -> Result<Vec<Value>>;

    /// Whether some active item may occupy what these keys ask for. An engine that does not know says yes.
    fn may_be_occupied(&mut self, doc: &Doc, keys: &[u64]) -> Result<bool>;

    /// Returns the document with none of its items.
    fn frame(&mut self, doc: &Doc) -> Result<Option<Value>>;

    /// Returns how many items are in each of the kind's states.
    fn counts(&mut self, doc: &Doc) -> Result<Vec<usize>>;
}

/// The place of an item in the order of picking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    pub class: i64,
    pub age: i64,
    pub position: usize,
}
