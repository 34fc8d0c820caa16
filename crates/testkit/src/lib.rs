pub mod conformance;
pub mod sim_fs;
pub mod test_env;
