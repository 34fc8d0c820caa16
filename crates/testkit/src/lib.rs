pub mod conformance;
pub mod message_history;
pub mod queue_history;
pub mod sim_fs;
pub mod test_env;
