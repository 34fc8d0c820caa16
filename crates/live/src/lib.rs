//! Everything of anthill that keeps running. It calls the same use cases as a command does and holds no state
//! that is not in the store.
//!
//! - [`waiting`]: claim a task as soon as there is one.
//! - [`board`]: the board of the queue.
//! - [`gates`]: run the checks of a project, for its loop.
//! - [`hooks`]: run what sessions registered for a change.
//! - [`foreign`]: read files that others wrote.
//! - `changes`: what really changes while an agent is at work; `git`: how it is asked.
//! - [`loop_run`]: let a command do the items of the loop, until its gates pass.
//! - [`worker_run`]: run a command for every task that can be claimed.
//! - [`pipeline_run`]: run an agent for every order of the pipeline, to its end.
//! - [`runner`]: how they all run a command.
//! - [`watching`]: tell every change of a document.
//! - [`obstacles`]: what keeps a project from working as it was told to.

pub mod board;
pub mod changes;
pub mod foreign;
pub mod gates;
mod git;
pub mod hooks;
pub mod loop_run;
pub mod obstacles;
pub mod pipeline_run;
pub mod runner;
pub mod waiting;
pub mod watching;
pub mod worker_run;
