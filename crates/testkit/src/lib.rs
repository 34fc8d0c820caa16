pub mod conformance;
pub mod sim_fs;
