//! The task queue: a leader adds tasks, workers claim them exactly once.
//!
//! [`lead`]: init, add, import, reset, retry, cancel, aggregate. [`revise`]: edit, note, remove. [`parts`]: split, and what follows from parts for
//! their parent. [`work`]: claim, start, heartbeat,
//! complete, fail, release, discover. [`register`]: who the workers are. [`look`]: what can be claimed, and why a task cannot; `pick` finds it. [`brief`]: what a worker
//! should know before it begins. Every change happens at the `Desk`, and the task, its papers and the log line are one commit.

pub mod brief;
mod desk;
pub mod lead;
pub mod look;
pub mod names;
pub mod parts;
mod pick;
pub mod register;
pub(in crate::ops) mod results;
pub mod revise;
mod rules;
pub mod show;
pub mod work;

pub(in crate::ops) use desk::{Desk, begin, note, replace};
pub(in crate::ops) use rules::LEADER;
