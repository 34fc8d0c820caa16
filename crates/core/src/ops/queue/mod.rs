//! The task queue: a leader adds tasks, workers claim them exactly once.
//!
//! [`lead`]: init, add, import, reset, retry, cancel, aggregate. [`revise`]: edit, note, remove. [`parts`]: split, and what follows from parts for
//! their parent. [`work`]: claim, start, heartbeat,
//! complete, fail, release, discover. [`register`]: who the workers are. [`look`]: what can be claimed, and why a task cannot; `pick` finds it. [`diagnose`]: why nothing moves. [`brief`]: what a worker
//! should know before it begins. Every change happens at the `QueueTransaction`, and the task, its text files and the log line are one commit.

pub mod brief;
pub mod diagnose;
pub mod lead;
pub mod look;
pub mod names;
mod obstacle;
pub mod parts;
mod pick;
pub mod register;
pub(in crate::ops) mod results;
pub mod revise;
mod rules;
pub mod show;
mod transaction;
pub mod work;

pub(in crate::ops) use rules::LEADER;
pub(in crate::ops) use transaction::{QueueTransaction, begin, note, replace};
