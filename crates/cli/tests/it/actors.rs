//! Who is written down as the author of a change.

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::env;

fn in_session(env: &TestEnv, session: &str, args: &[&str]) -> Ran {
    let ran = env.finish(env.command(args).env("ANTHILL_SESSION_ID", session), b"");
    assert_eq!(ran.code, 0, "{args:?} failed:\n{}", ran.shown());
    ran
}

#[track_caller]
fn last(env: &TestEnv, args: &[&str]) -> Value {
    let history = env.json(&[&["history"], args].concat());
    history.as_array().unwrap().iter().max_by_key(|line| line["revision"].as_u64()).unwrap().clone()
}

#[test]
fn who_changes_anothers_document_is_its_author() {
    let env = env();
    env.ok(&["session", "start", "victim"]);
    in_session(&env, "s1", &["set", "session", "note", "\"hi\"", "--session-id", "victim"]);
    let line = last(&env, &["session", "--session-id", "victim"]);
    assert_eq!(line["by"], "s1");
    assert_eq!(env.json(&["get", "session", "--session-id", "victim"])["updated_by"], "s1");
    in_session(&env, "s1", &["append", "tasks", "tasks", r#"{"id":"t"}"#, "--session-id", "victim"]);
    assert_eq!(last(&env, &["tasks", "--session-id", "victim"])["by"], "s1");
    in_session(&env, "s1", &["session", "end", "victim"]);
    assert_eq!(last(&env, &["session", "--session-id", "victim"])["by"], "s1");
}

#[test]
fn what_is_done_for_another_is_the_others_all_the_same() {
    let env = env();
    env.ok(&["leader", "add-task", "x", "--id", "t"]);
    in_session(&env, "s1", &["worker", "claim", "w", "--session-id", "s2"]);
    assert_eq!(env.json(&["get", "queue", "--field", "tasks[0].session_id"]), "s2");
    assert_eq!(last(&env, &["queue"])["by"], "s1");
    in_session(&env, "s1", &["worker", "complete", "w", "t", "done"]);
    assert_eq!(last(&env, &["queue"])["by"], "s1");
}

#[test]
fn a_message_says_which_session_sent_it() {
    let env = env();
    let args = ["message", "send", "s2", "s3", "note", "{}", "--session-id", "s2", "--json"];
    let sent = in_session(&env, "s1", &args).json();
    assert_eq!(sent["sender"]["session_id"], "s1", "{sent}");
}

#[test]
fn without_a_session_the_user_is_the_author() {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"p\""]);
    assert_eq!(env.json(&["get", "config", "--field", "updated_by"]), "tester");
    env.ok(&["set", "config", "global.default_project", "\"q\"", "--session-id", "s1"]);
    assert_eq!(env.json(&["get", "config", "--field", "updated_by"]), "s1");
}

#[test]
fn without_a_name_the_uid_tells_the_user() {
    let env = env();
    let set = ["set", "config", "global.default_project", "\"p\""];
    let ran = env.finish(env.command(&set).env_remove("USER"), b"");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let uid = rustix::process::getuid().as_raw();
    let users = env.sh("cat /etc/passwd").stdout;
    let is_ours = |line: &&str| line.split(':').nth(2) == Some(&*uid.to_string());
    let name = users.lines().find(is_ours).and_then(|line| line.split(':').next());
    let name = name.map_or_else(|| format!("uid-{uid}"), ToOwned::to_owned);
    assert_eq!(env.json(&["get", "config", "--field", "updated_by"]), json!(name));
}

#[test]
fn session_start_starts_the_session_that_it_is_told() {
    let env = env();
    assert_eq!(env.json(&["session", "start", "--session-id", "X"])["session_id"], "X");
    assert_eq!(env.json(&["session", "start", "Y", "--session-id", "X"])["session_id"], "Y");
    let other = in_session(&env, "E", &["session", "start", "--session-id", "Z", "--json"]).json();
    assert_eq!((&other["session_id"], &other["updated_by"]), (&json!("Z"), &json!("E")));
}
