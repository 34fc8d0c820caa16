//! Plain types and what is allowed; knows no files, clocks or users.

pub mod diff;
pub mod json;
pub mod path;
pub mod shape;
