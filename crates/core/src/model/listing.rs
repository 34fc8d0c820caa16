//! What the store has to know of a kind whose items are picked, counted and changed one by one.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::quick_hash::QuickSet;
use super::raw::Raw;

/// How the items of a kind are told apart without parsing them.
#[derive(Debug)]
pub struct Listing {
    /// The words of the items' state field.
    pub states: &'static [State],
    /// The field that names the items which must be done first.
    pub needs: &'static str,
    pub facet: fn(&Raw) -> Option<Facet<'_>>,
    /// What is to be known of an active item besides.
    pub hold: fn(&Raw) -> Hold,
    /// Whether an item that is ready may have to wait for a certain time all the same.
    pub timed: fn(&Raw) -> bool,
    /// When an item was done, in microseconds; for kinds of which somebody wants to know what was done last.
    pub ended: Option<fn(&Raw) -> i64>,
    /// What keeps somebody from many items at once; for kinds that have such.
    pub marking: Option<Marking>,
}

/// How items are marked by what they have in common. Whoever cannot take an item because of a mark cannot take any
/// item that has it.
#[derive(Debug)]
pub struct Marking {
    /// Returns the mark of all items with the same marks; 0 if they have none.
    pub kin: fn(&Raw) -> u64,
    /// Returns all marks, at most [`super::marks::MOST`], that of its kin first.
    pub all: fn(&Raw) -> Vec<u64>,
}

/// Marks of items that are to be passed over.
pub type Marks = QuickSet<u64>;

/// What an active item keeps from others, and for how long.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hold {
    /// When somebody has to look after it; `None` for never.
    pub due: Option<Due>,
    /// Keys of what it occupies; `None` if they cannot tell all of it.
    pub keys: Option<Vec<u64>>,
}

/// A time in milliseconds, by the clock that it was told from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Names the boot from whose begin it counts; 0 for the calendar.
    pub clock: u64,
    pub at: i64,
}

/// One state that an item may be in.
#[derive(Debug)]
pub struct State {
    pub word: &'static str,
    pub stage: Stage,
}

/// What a state means for picking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It needs other items to be done first.
    Waiting,
    /// It may be picked.
    Ready,
    /// Somebody has it.
    Active,
    Done,
    /// It ended badly, and somebody has to look at it.
    Failed,
    /// Out of the work.
    Out,
}

/// How one item stands among the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Facet<'r> {
    pub id: Cow<'r, str>,
    /// Position in [`Listing::states`].
    pub state: usize,
    /// The order of picking: by class, then by age, lower first; then by position.
    pub class: i64,
    pub age: i64,
    /// Ids of the items that must be done first.
    pub needs: Vec<Cow<'r, str>>,
}

/// Which items are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among<'a> {
    Active,
    /// Waiting, although everything they need is done.
    Loose,
    /// Waiting or ready, and in need of this one.
    InNeedOf(&'a str),
}

/// How many an overview has of what there may be very many of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// Of those that are ready, and of those that wait: the first ones.
    pub ready: usize,
    pub waiting: usize,
    /// Of those that are done: the last ones.
    pub done: usize,
}

/// A list seen from above.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// The word of each of the kind's states, and how many items are in it.
    pub counts: Vec<(&'static str, usize)>,
    /// In the order of their positions: all that are active or failed; all that are ready, but need something that is
    /// not done or may have to wait for a time; all that wait, but need nothing; of the others as many as were asked
    /// for, or all there are.
    pub items: Vec<Value>,
    /// The state's word of everything that those among them need which wait, are ready or active, unless it is not there.
    pub needed: HashMap<String, &'static str>,
}

impl Listing {
    pub fn stage(&self, state: usize) -> Stage {
        self.states[state].stage
    }

    /// Returns what an item holds that is at hand as a value.
    pub fn hold_of(&self, item: &Value) -> Hold {
        raw_of(item).map(|raw| (self.hold)(&raw)).unwrap_or_default()
    }

    /// Returns the facet of an item that is at hand as a value.
    pub fn with_facet<T>(&self, item: &Value, look: impl FnOnce(&Facet<'_>) -> T) -> Option<T> {
        let raw = raw_of(item)?;
        (self.facet)(&raw).map(|facet| look(&facet))
    }

    /// Returns the marks of an item that is at hand as a value.
    pub fn marks_of(&self, item: &Value) -> Vec<u64> {
        let all = self.marking.as_ref().map(|marking| marking.all);
        all.zip(raw_of(item)).map(|(all, raw)| all(&raw)).unwrap_or_default()
    }
}

fn raw_of(item: &Value) -> Option<Raw> {
    let text = serde_json::to_vec(item).expect("a JSON value can always be written");
    let mut raw = Raw::default();
    raw.read(&text, 0)?;
    Some(raw)
}
