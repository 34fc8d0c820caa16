//! Plain types and what is allowed; knows no files, clocks or users.

pub mod documents;
pub mod shape;
