//! What people see, computed and never stored as truth.

pub mod agent_loop;
pub mod board;
pub mod brief;
pub mod briefing;
pub mod burndown;
pub mod diagnosis;
pub mod events;
pub mod graph;
pub mod pipeline;
pub mod plan;
pub mod prompt;
pub mod queue_texts;
pub mod records;
pub mod shell;
pub mod status;
pub mod table;
pub mod task;
pub mod text;
pub mod unified;
pub mod workflow;
