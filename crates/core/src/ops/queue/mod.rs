//! The task queue: a leader adds tasks, workers claim them exactly once.
//!
//! [`lead`]: init, add, import, reset, retry, cancel, aggregate. [`work`]: register, claim, start, heartbeat,
//! complete, fail, release, discover. [`look`]: what can be claimed, and why a task cannot. Every change
//! happens at the `Desk`, and the task, its papers and the log line are one commit.

mod desk;
pub mod lead;
pub mod look;
pub mod work;

pub(in crate::ops) use desk::Desk;
