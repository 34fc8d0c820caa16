//! What the store has to know of a kind whose items are picked, counted and changed one by one.

use std::borrow::Cow;

use serde_json::Value;

use super::raw::Raw;

/// How the items of a kind are told apart without parsing them.
#[derive(Debug)]
pub struct Listing {
    /// The words of the items' state field.
    pub states: &'static [State],
    pub facet: fn(&Raw) -> Option<Facet<'_>>,
}

/// One state that an item may be in.
#[derive(Debug)]
pub struct State {
    pub word: &'static str,
    pub standing: Standing,
}

/// What a state means for picking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It needs other items to be done first.
    Waiting,
    /// It may be picked.
    Ready,
    /// Somebody has it.
    Active,
    Done,
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

impl Listing {
    pub fn standing(&self, state: usize) -> Standing {
        self.states[state].standing
    }

    /// Returns the facet of an item that is at hand as a value.
    pub fn with_facet<T>(&self, item: &Value, look: impl FnOnce(&Facet<'_>) -> T) -> Option<T> {
        let text = serde_json::to_vec(item).expect("a JSON value can always be written");
        let mut raw = Raw::default();
        raw.read(&text, 0)?;
        (self.facet)(&raw).map(|facet| look(&facet))
    }
}
