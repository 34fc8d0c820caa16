//! What is over leaves the documents that hooks read, and is found again.

use serde_json::{Value, json};

use super::{Client, doctor_is_content, names, state};
use crate::env;

fn fail(client: &Client<'_>, number: usize) {
    let input = json!({"command": format!("make part-{number}")});
    let error = format!("no rule to make part-{number}");
    client.send("PostToolUseFailure", json!({"tool_name": "Bash", "tool_input": input, "error": error}));
}

fn lines(env: &anthill_testkit::test_env::TestEnv, name: &str) -> Vec<Value> {
    let files = names(env, "archive").into_iter().filter(|file| file.starts_with(name));
    let text = |file: String| env.read_text(&format!("{}/archive/{file}", super::STATE));
    files
        .map(text)
        .flat_map(|text| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn errors_leave_a_short_list_and_none_is_lost() {
    let env = env();
    let client = Client::start(&env, "s1");
    env.ok(&["set", "config", "retention.errors", "4"]);
    (0..30).for_each(|number| fail(&client, number));
    let listed = state(&env, "errors/classified.json");
    let (count, summary) = (listed["errors"].as_array().unwrap().len(), &listed["summary"]);
    assert!(count < 8, "{count}");
    assert_eq!((&summary["total"], &summary["archived"]), (&json!(count), &json!(30 - count)));
    assert_eq!(lines(&env, "errors-").len(), 30 - count);
    assert_eq!(env.json(&["error", "list", "--all"]).as_array().unwrap().len(), 30);
    assert_eq!(env.json(&["error", "list"]).as_array().unwrap().len(), count);

    let input = json!({"command": "make part-29"});
    client.send("PostToolUse", json!({"tool_name": "Bash", "tool_input": input, "tool_response": {}}));
    let recovered = env.json(&["error", "list", "--all", "--filter-status", "recovered"]);
    assert_eq!(recovered.as_array().unwrap().len(), 1, "{recovered}");
    client.send("SessionEnd", json!({"reason": "other"}));
    assert_eq!(lines(&env, "errors-").len(), 30);
    doctor_is_content(&env);
}

#[test]
fn results_leave_and_their_numbers_stay_with_the_session() {
    let env = env();
    let client = Client::start(&env, "s1");
    env.ok(&["set", "config", "retention.agents", "4"]);
    for number in 0..20 {
        let words = if number == 3 { r#"{"status": "failed"}"# } else { "- [S1] Missing limit" };
        client.agent_stops(&format!("a{number}"), "tester", words);
    }
    let left = names(&env, "agents/results").len();
    assert!(left < 8, "{left}");
    assert_eq!(lines(&env, "agents-").len(), 20 - left);
    assert_eq!(env.json(&["agents", "result", "a0"])["agent_id"], "a0");
    let merged = env.json(&["agents", "merge"]);
    assert_eq!(merged[0]["agent_ids"].as_array().unwrap().len(), 19, "{merged}");
    let active = state(&env, "agents/active.json");
    assert_eq!((&active["total_spawned"], &active["total_completed"]), (&json!(20), &json!(20)));

    client.send("SessionEnd", json!({"reason": "other"}));
    let metrics = state(&env, "session/metrics.json")["sessions"][0].take();
    assert_eq!(metrics["agents"], json!({"spawned": 20, "completed": 19, "failed": 1}));
    assert_eq!(metrics["quality"]["issues_found"], 19);
    assert_eq!((names(&env, "agents/results"), lines(&env, "agents-").len()), (vec![], 20));
    assert_eq!(env.json(&["agents", "result", "a19"])["agent_id"], "a19");
    doctor_is_content(&env);
}

#[test]
fn results_of_an_older_version_are_known_once_somebody_looks() {
    let env = env();
    let client = Client::start(&env, "s1");
    for (id, session) in [("old", "s1"), ("other", "s2")] {
        let result =
            json!({"agent_id": id, "status": "success", "findings": [{"title": "x"}], "session_id": session});
        env.write(&format!("{}/agents/results/{id}.json", super::STATE), result.to_string());
    }
    let active = json!({"agents": [], "total_spawned": 2, "total_completed": 2, "session_id": "s1"});
    env.write(&format!("{}/agents/active.json", super::STATE), active.to_string());
    let _other = Client::start(&env, "s2");
    client.send("SessionEnd", json!({"reason": "other"}));
    assert_eq!(names(&env, "agents/results"), ["other.json"]);
    let metrics = state(&env, "session/metrics.json")["sessions"][0].take();
    assert_eq!(
        (&metrics["agents"]["completed"], &metrics["quality"]["issues_found"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(state(&env, "agents/active.json")["finished"]["s2"]["results"], json!(["other"]));
}

#[test]
fn metrics_leave_too() {
    let env = env();
    env.ok(&["set", "config", "retention.metrics", "2"]);
    for number in 0..10 {
        let name = format!("s{number}");
        let client = Client::start(&env, &name);
        client.send("SessionEnd", json!({"reason": "other"}));
    }
    let kept = state(&env, "session/metrics.json")["sessions"].as_array().unwrap().len();
    assert!(kept < 8 && kept + lines(&env, "metrics-").len() == 10, "{kept}");
}

#[test]
fn a_long_loop_is_saved_by_its_revision() {
    let env = env();
    let client = Client::start(&env, "s1");
    env.ok(&["loop", "start", "mend it all"]);
    let file = format!("{}/loop/work_queue.json", super::STATE);
    let mut queue = state(&env, "loop/work_queue.json");
    let item = |number: usize| json!({"id": format!("w{number}"), "priority": "S2", "title": "x".repeat(90), "status": "pending"});
    queue["items"] = (0..300).map(item).collect();
    env.write(&file, queue.to_string());
    env.ok(&["loop", "add", "Last", "-p", "S0"]);
    let before = state(&env, "loop/work_queue.json");
    client.send("PreCompact", json!({"trigger": "auto"}));
    let backup = state(&env, &format!("compaction/{}", names(&env, "compaction")[0]));
    assert!(backup.to_string().len() < 4000, "{backup}");
    assert_eq!(backup["preserved"]["loop_state"]["work_queue_revision"], before["revision"]);
    let told = client.told("SessionStart", json!({"source": "compact"}));
    assert!(told.contains("S0 pending") && told.contains("and 281 more: anthill loop status"), "{told}");

    env.ok(&["loop", "done", "w0"]);
    env.ok(&["compact", "restore", "--apply"]);
    assert_eq!(state(&env, "loop/work_queue.json")["items"], before["items"]);
}
