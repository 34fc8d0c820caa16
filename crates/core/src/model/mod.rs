//! Plain types and what is allowed; knows no files, clocks or users.

pub mod agent_loop;
pub(crate) mod both;
pub mod diff;
pub mod documents;
pub mod error_class;
pub mod files;
pub mod fit;
pub mod flow;
pub mod ids;
pub mod json;
pub mod kind;
pub mod listing;
pub mod message;
pub mod new_task;
pub mod paper;
pub mod path;
pub mod plan;
pub mod quick_hash;
pub mod raw;
pub mod redact;
pub mod room;
pub mod session;
pub mod shape;
pub mod task;
pub mod time;
