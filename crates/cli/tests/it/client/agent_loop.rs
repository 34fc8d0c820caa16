//! Items of the loop that a session has: kept by its hooks, given back at its end, passed on to who follows.

use serde_json::{Value, json};

use super::{Client, answer};
use crate::agent_loop::queue;
use crate::env;
use crate::lines::{ok, refused};

/// Runs a hook at a time of the first day, as a client of this process.
#[track_caller]
fn at(client: &Client<'_>, clock: &str, name: &str, fields: Value) {
    let mut command = client.env.command(&["hook", "--lock-timeout", "60"]);
    command.env("ANTHILL_NOW", format!("2026-01-01T{clock}Z")).env("CLAUDE_PID", "77");
    answer(&client.env.finish(&mut command, client.event(name, fields).to_string().as_bytes()), name);
}

#[test]
fn hooks_renew_the_lease_of_an_item_and_their_silence_frees_it() {
    let env = env();
    ok(&env, "loop start t");
    ok(&env, "loop add a");
    let client = Client::start(&env, "s1");
    ok(&env, "loop take --session-id s1");
    let used = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {}});
    at(&client, "00:09:00", "PostToolUse", used);
    let lease = queue(&env)["items"][0]["lease"].take();
    assert_eq!((&lease["epoch"], &lease["expires_at"]), (&json!(1), &json!("2026-01-01T00:19:00.000Z")));
    let take = |clock: &str| {
        let mut command = env.command(&["loop", "take", "--as", "bob"]);
        env.finish(command.env("ANTHILL_NOW", format!("2026-01-01T{clock}Z")), b"")
    };
    assert_eq!(take("00:18:59").code, 4, "it is not free yet");
    let taken = take("00:19:00");
    assert_eq!(taken.code, 0, "{}", taken.shown());
    assert!(taken.stderr.starts_with("Taken back from s1, who is gone: work-001\n"), "{}", taken.shown());
    // A prompt of the old owner does not bring it back.
    at(&client, "00:20:00", "UserPromptSubmit", json!({"prompt": "go on"}));
    assert_eq!(queue(&env)["items"][0]["assigned_to"], "bob");
}

#[test]
fn a_session_that_ends_gives_its_item_back() {
    for reason in ["exit", "logout"] {
        let env = env();
        ok(&env, "loop start t");
        ok(&env, "loop add a");
        let client = Client::start(&env, "s1");
        ok(&env, "loop take --as agent-2 --session-id s1");
        client.send("SessionEnd", json!({"reason": reason}));
        let item = queue(&env)["items"][0].take();
        assert_eq!((&item["status"], item.get("assigned_to")), (&json!("pending"), None));
        assert_eq!(item["last_claim"]["reason"], "session ended");
        ok(&env, "loop take --as bob");
        ok(&env, "validate");
    }
}

#[test]
fn the_session_that_follows_has_the_item() {
    let env = env();
    ok(&env, "loop start t");
    ok(&env, "loop add a");
    let old = Client::start(&env, "s1");
    ok(&env, "loop take --session-id s1");
    at(&old, "00:01:00", "SessionEnd", json!({"reason": "clear"}));
    assert_eq!(queue(&env)["items"][0]["assigned_to"], "s1", "it waits for who follows");
    let new = Client { env: &env, session: "s2" };
    at(&new, "00:01:01", "SessionStart", json!({"source": "clear"}));
    let item = queue(&env)["items"][0].take();
    assert_eq!((&item["assigned_to"], &item["session_id"]), (&json!("s2"), &json!("s2")));
    assert_eq!((&item["lease"]["epoch"], &item["last_claim"]["reason"]), (&json!(2), &json!("handed over")));
    refused(&env, "loop take work-001 --session-id s1", 3);
}

#[test]
fn what_an_agent_finds_that_cannot_wait_becomes_an_item_once() {
    let env = env();
    let client = Client::start(&env, "s1");
    let findings = json!({"status": "done", "findings": [
        {"severity": "S0", "title": "Keys in the log", "details": "token=hunter2hunter2", "recommendation": "Drop them"},
        {"severity": "S1", "title": "No limit on logins"}, {"severity": "S2", "title": "A long function"},
        {"severity": "S1", "details": "Two words\nand more"}, {"title": "no severity"}]})
    .to_string();
    client.agent_starts("a1", "reviewer");
    client.agent_stops("a1", "reviewer", &findings);
    assert!(!env.root().join("project/.claude/state/loop/work_queue.json").exists(), "no loop, no item");
    ok(&env, "loop start t");
    let told = |client: &Client<'_>, id: &str| {
        client.agent_starts(id, "reviewer");
        client.agent_stops(id, "reviewer", &findings);
        // The tool call returns after that, with the same words.
        client.agent_returns(id, "reviewer", "look", Ok(&findings));
        let items = queue(client.env)["items"].take();
        let title = |item: &Value| format!("{} {}", item["priority"], item["title"]).replace('"', "");
        items.as_array().unwrap().iter().map(title).collect::<Vec<_>>()
    };
    let expected = ["S0 Keys in the log", "S1 No limit on logins", "S1 Two words"];
    assert_eq!(told(&client, "a2"), expected);
    let items = queue(&env)["items"].take();
    assert_eq!(items[0]["description"], "token=[redacted]\nDrop them");
    assert_eq!(told(&client, "a3"), expected, "another one found the same");
    assert!(
        env.read_text("project/.claude/state/loop/LOOP_STATE.md")
            .contains("| S0 | Keys in the log | PENDING |")
    );
    ok(&env, "validate");
    for id in ["work-001", "work-002", "work-003"] {
        ok(&env, &format!("loop done {id}"));
    }
    crate::agent_loop::configure(&env, &[("test", "true")]);
    ok(&env, "loop gate --all");
    ok(&env, "loop gate --all");
    assert_eq!(told(&client, "a4").len(), 3, "what is complete stays so");
}

#[test]
fn a_damaged_loop_does_not_keep_a_session_from_anything() {
    let env = env();
    ok(&env, "loop start t");
    let client = Client::start(&env, "s1");
    env.write("project/.claude/state/loop/work_queue.json", "{oops");
    at(
        &client,
        "00:09:00",
        "PostToolUse",
        json!({"tool_name": "Bash", "tool_input": {}, "tool_response": {}}),
    );
    assert_eq!(ok(&env, "session end s1").stdout, "Ended: s1\n");
}
