//! Agents of a session: whichever of their events comes first counts them, and each once.

use serde_json::{Value, json};

use super::{Client, doctor_is_content, names, state};
use crate::env;

/// Returns how many have started, how many are done, and which run.
fn totals(client: &Client<'_>) -> (u64, u64, Vec<String>) {
    let active = state(client.env, "agents/active.json");
    let number = |field: &str| active[field].as_u64().unwrap_or(0);
    let running = active["agents"].as_array().into_iter().flatten();
    let running = running.map(|agent| agent["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(client.record()["agents_spawned"], number("total_spawned"), "{active}");
    (number("total_spawned"), number("total_completed"), running)
}

fn result(client: &Client<'_>, id: &str) -> Value {
    state(client.env, &format!("agents/results/{id}.json"))
}

#[test]
fn an_agent_in_the_foreground_is_counted_once() {
    let env = env();
    let client = Client::start(&env, "s1");
    client.agent_starts("a1", "tester");
    assert_eq!(totals(&client), (1, 0, vec!["a1".into()]));
    let running = state(&env, "agents/active.json")["agents"][0].take();
    assert_eq!(
        (&running["type"], &running["status"], &running["session_id"]),
        (&json!("tester"), &json!("running"), &json!("s1"))
    );
    client.agent_stops("a1", "tester", "- [S1] Missing limit\n- [S9] no");
    assert_eq!(totals(&client), (1, 1, vec![]));
    client.agent_returns("a1", "tester", "Look at it", Ok("- [S1] Missing limit"));
    assert_eq!(totals(&client), (1, 1, vec![]));
    let result = result(&client, "a1");
    let names: Vec<_> = result.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names[..11],
        [
            "agent_id",
            "type",
            "task",
            "started",
            "completed",
            "duration_seconds",
            "status",
            "findings",
            "recommendations",
            "files_analyzed",
            "metrics",
        ]
    );
    assert_eq!((&result["status"], &result["duration_seconds"]), (&json!("success"), &json!(1)));
    assert_eq!(
        (&result["findings"], &result["task"]),
        (&json!([{"severity": "S1", "title": "Missing limit"}]), &json!("the task of a1"))
    );
    doctor_is_content(&env);
}

#[test]
fn an_agent_in_the_background_is_counted_once_whatever_comes_first() {
    let env = env();
    let client = Client::start(&env, "s1");
    // The launch, the start, the end.
    client.agent_returns("a1", "tester", "Look", Err("async_launched"));
    client.agent_starts("a1", "tester");
    assert_eq!(totals(&client), (1, 0, vec!["a1".into()]));
    client.agent_stops("a1", "tester", "done");
    // The start, the launch, the end.
    client.agent_starts("a2", "tester");
    client.agent_returns("a2", "tester", "Look", Err("async_launched"));
    client.agent_stops("a2", "tester", "done");
    // An agent that is faster than the event of its launch.
    client.agent_starts("a3", "tester");
    client.agent_stops("a3", "tester", "done");
    client.agent_returns("a3", "tester", "Look", Err("async_launched"));
    assert_eq!(totals(&client), (3, 3, vec![]), "it does not run again");
    for id in ["a1", "a2", "a3"] {
        assert_eq!(result(&client, id)["task"], format!("the task of {id}"));
    }
}

#[test]
fn a_resumed_agent_is_the_same_agent() {
    let env = env();
    let client = Client::start(&env, "s1");
    client.agent_starts("a1", "tester");
    client.agent_stops("a1", "tester", "- [S3] first");
    client.agent_starts("a1", "tester");
    assert_eq!(totals(&client), (1, 1, vec!["a1".into()]), "it runs again");
    client.agent_starts("a1", "tester");
    client.agent_stops("a1", "tester", "- [S2] second");
    assert_eq!(totals(&client), (1, 1, vec![]));
    assert_eq!(result(&client, "a1")["findings"][0]["title"], "second", "the last word counts");
    assert_eq!(names(&env, "agents/results"), ["a1.json"]);
}

#[test]
fn the_fork_that_summarises_is_no_agent() {
    let env = env();
    let client = Client::start(&env, "s1");
    client.send("PreCompact", json!({"trigger": "manual"}));
    client.agent_stops("af0", "", "<summary>all of it</summary>");
    client.told("SessionStart", json!({"source": "compact"}));
    assert_eq!(state(&env, "agents/active.json"), Value::Null);
    assert_eq!(names(&env, "agents/results"), [""; 0]);
}

#[test]
fn reports_are_taken_apart() {
    let env = env();
    let client = Client::start(&env, "s1");
    let report = json!({
        "status": "failed", "recommendations": ["Add one"], "files_analyzed": ["src/a.rs"],
        "findings": [{"severity": "S0", "category": "security", "title": "Open door", "details": "d", "recommendation": "r"}],
    });
    client.agent_stops("a1", "tester", &format!("I am done.\n```json\n{report}\n```\nBye."));
    let found = result(&client, "a1");
    assert_eq!((&found["status"], &found["findings"]), (&json!("failed"), &report["findings"]));
    assert_eq!(
        (&found["recommendations"], &found["files_analyzed"]),
        (&json!(["Add one"]), &json!(["src/a.rs"]))
    );
    // Without a word, and with far too many.
    client.agent_stops("a2", "tester", "");
    client.agent_stops("a3", "tester", &"- [S1] again\n".repeat(10_000));
    assert_eq!(result(&client, "a2")["findings"], json!([]));
    assert!(result(&client, "a3")["findings"].as_array().unwrap().len() <= 50);
    doctor_is_content(&env);
}

#[test]
fn ids_that_are_none_lead_nowhere() {
    let env = env();
    let client = Client::start(&env, "s1");
    for id in ["../../x", "", "a/b", ".."] {
        client.agent_starts(id, "tester");
        client.agent_stops(id, "tester", "x");
        client.agent_returns(id, "tester", "x", Ok("x"));
    }
    assert_eq!(names(&env, "agents/results"), [""; 0]);
    assert!(!env.project().join("x.json").exists());
}

#[test]
fn a_session_says_which_agents_it_has_at_work() {
    let env = env();
    let client = Client::start(&env, "s1");
    let agents = || env.json(&["get", "session", "--field", "agents", "--session-id", "s1"]);
    assert_eq!(agents(), json!([]));
    client.agent_starts("a1", "tester");
    let agent = agents()[0].take();
    assert_eq!(
        (&agent["id"], &agent["type"], &agent["status"]),
        (&json!("a1"), &json!("tester"), &json!("running"))
    );
    client.agent_stops("a1", "tester", "done");
    client.agent_returns("a1", "tester", "Look at it", Ok("done"));
    let agent = agents()[0].take();
    assert_eq!((&agent["status"], agents().as_array().unwrap().len()), (&json!("ended"), 1));
    assert!(agent["ended_at"].is_string(), "{agent}");
}
