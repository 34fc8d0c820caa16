//! The documents of the five systems, typed with the seeds' own field names.
//!
//! One module per system. Each type is the single source of its validator and its published schema
//! (see [`shape`](super::shape)). The types say what a document may look like; which changes are allowed,
//! and where a document lives, is told elsewhere.

pub mod agent_loop;
pub mod answers;
pub mod common;
pub mod dispatch;
pub mod pipeline;
pub mod pipeline_words;
pub mod queue;
pub mod state;
pub mod workflow;

pub use agent_loop::{ActiveAgents, AgentResult, Backup, CurrentSession, Errors, Metrics, WorkQueue};
pub use pipeline::{DevToQa, GroupStatus, OrchestratorState, PmState, QaToTechlead, TechleadToDev};
pub use queue::{Agents, Queue};
pub use state::{
    Config, Epics, Events, Hooks, Message, Messages, Session, Sprints, Tasks, Team, Tools, Triggers, Trusted,
};
pub use workflow::{TaskGraph, Workflow};
