pub mod sim_fs;
