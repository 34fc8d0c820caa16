pub mod conformance;
pub mod effort;
pub mod message_history;
pub mod queue_history;
pub mod sim_fs;
pub mod test_env;
pub mod wrong;
