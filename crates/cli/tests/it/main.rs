//! The binary from the outside: real processes on real files.

mod actors;
mod agent_loop;
mod attacks_consent;
mod attacks_ids;
mod attacks_secrets;
mod bench;
mod board;
mod brief;
mod changes;
mod client;
mod commands;
mod corpus;
mod damage;
mod diagnosis;
mod doctor;
mod exit_codes;
mod going_back;
mod gone;
mod hand_edits;
mod hooks;
mod install;
mod limits;
mod lines;
mod loop_owners;
mod message_storm;
mod messages;
mod orchestrate;
mod outcomes;
mod owners;
mod pipeline;
mod planning;
mod queue;
mod queue_edit;
mod queue_parts;
mod queue_storm;
mod queue_verbs;
mod readers;
mod records;
mod retention;
mod roots;
mod run;
mod seeds;
mod sessions;
mod short;
mod status;
mod storm;
mod texts;
mod watch;
mod workflow;
mod writes;

use std::fmt::Display;
use std::str::FromStr;

use anthill_testkit::test_env::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_anthill"))
}

/// Returns what the tester wants instead of the default, from the variable `ANTHILL_` and this name.
#[expect(clippy::disallowed_methods, reason = "the tester's environment, not that of the binary")]
fn told<T: FromStr<Err: Display>>(name: &str, default: T) -> T {
    match std::env::var(format!("ANTHILL_{name}")) {
        Ok(text) => text.parse().unwrap_or_else(|error| panic!("ANTHILL_{name}={text}: {error}")),
        Err(_) => default,
    }
}
