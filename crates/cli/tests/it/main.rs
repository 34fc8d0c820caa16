//! The binary from the outside: real processes on real files.

mod bench;
mod commands;
mod damage;
mod exit_codes;
mod hooks;
mod queue;
mod queue_storm;
mod readers;
mod roots;
mod run;
mod seeds;
mod storm;
mod watch;

use anthill_testkit::test_env::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_anthill"))
}
