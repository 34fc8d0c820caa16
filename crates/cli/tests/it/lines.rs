//! Commands as they are typed: one line, words between blanks.

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::Value;

use crate::exit_codes::fails;

pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[track_caller]
pub fn ok(env: &TestEnv, line: &str) -> Ran {
    env.ok(&words(line))
}

#[track_caller]
pub fn json_of(env: &TestEnv, line: &str) -> Value {
    env.json(&words(line))
}

#[track_caller]
pub fn refused(env: &TestEnv, line: &str, code: i32) -> Value {
    let word = ["", "refused", "invalid", "conflict", "not_found", "", "", "damaged"][code as usize];
    fails(env, &words(line), b"", code, word)
}
