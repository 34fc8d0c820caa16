pub mod conformance;
pub mod queue_history;
pub mod sim_fs;
pub mod test_env;
