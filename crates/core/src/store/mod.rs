//! Keeping documents: the engine contract, what must stay consistent, and the engines.
//!
//! - [`engine`]: the contract, with its promises in words.
//! - [`edits`]: what an edit by hand means, the same for every engine.
//! - [`state`]: stamps, validation and exact changes, the same for every engine.
//! - [`mod@file`]: the engine of human-readable files; [`memory`]: the reference.
//! - [`observed`]: any engine, and somebody who hears of its commits.
//!
//! This is the only part that touches the state directories. It does not know what a task means.

pub mod edits;
pub mod engine;
pub mod error;
pub mod file;
pub mod memory;
pub mod observed;
pub mod places;
pub mod state;
pub mod texts;

pub use edits::{Edits, How};
pub use engine::{
    Aside, Called, Commit, Commits, Committed, Cursor, Document, Durability, Engine, Entry, Event, Expected,
    Finding, Kept, Listener, Long, Picking, Rank, Reading, Revision, Seat, Stream, Transaction, Upkeep,
    Watch,
};
pub use error::{Error, Result};
