//! What a client's own record of a session tells. The formats are the clients', and promised by nobody: what is not
//! understood says nothing.

use serde_json::Value;

use super::clients::{self, CLIENTS, Tool};

/// Returns how many tokens were in the context at the last answer of the main agent, by the end of a record in JSON lines.
pub fn context_tokens(tail: &str) -> Option<u64> {
    tail.lines().rev().filter(|line| line.contains("token")).find_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let count = CLIENTS.into_iter().find_map(|client| (client.speech.context_tokens)(&line));
        count.filter(|tokens| *tokens > 0)
    })
}

/// Returns what an agent of this kind was started for, if the record has just one call that starts such an agent and has not
/// returned yet.
pub fn agent_task(tail: &str, kind: &str) -> Option<String> {
    let mut returned: Vec<String> = Vec::new();
    let mut tasks: Vec<String> = Vec::new();
    let lines = tail.lines().rev().filter(|line| line.contains("tool_"));
    for line in lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            if block["type"] == "tool_result" {
                returned.push(text(&block["tool_use_id"]));
            }
            let tool = block["name"].as_str().and_then(clients::tool);
            let starts = block["type"] == "tool_use" && tool == Some(Tool::Agent);
            let asked = block["input"]["subagent_type"].as_str().unwrap_or("general-purpose");
            if starts && asked == kind && !returned.contains(&text(&block["id"])) {
                tasks.push(text(&block["input"]["description"]));
            }
        }
    }
    tasks.pop().filter(|task| tasks.is_empty() && !task.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_task_is_that_of_the_one_call_that_is_open() {
        let call = |id: &str, kind: &str, task: &str| {
            let input = serde_json::json!({"description": task, "prompt": "p", "subagent_type": kind});
            let block = serde_json::json!({"type": "tool_use", "id": id, "name": "Agent", "input": input});
            serde_json::json!({"type": "assistant", "message": {"content": [block]}}).to_string()
        };
        let back = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}"#;
        let record =
            [&call("t1", "tester", "Old"), back, &call("t2", "tester", "New"), &call("t3", "dev", "x")]
                .join("\n");
        assert_eq!(agent_task(&record, "tester").as_deref(), Some("New"));
        assert_eq!(agent_task(&record, "other"), None);
        let two = format!("{record}\n{}", call("t4", "tester", "Newer"));
        assert_eq!(agent_task(&two, "tester"), None, "it could be either");
    }

    #[test]
    fn the_last_answer_of_the_main_agent_counts() {
        let answer = |tokens: u64, more: &str| {
            format!(
                r#"{{"type":"assistant"{more},"message":{{"usage":{{"input_tokens":3,"cache_read_input_tokens":{tokens},"cache_creation_input_tokens":20,"output_tokens":7,"service_tier":"standard"}}}}}}"#
            )
        };
        let side = r#","isSidechain":true"#;
        let zero = r#"{"type":"assistant","message":{"model":"<synthetic>","usage":{"input_tokens":0}}}"#;
        let user = r#"{"type":"user","message":{"content":"tokens"}}"#;
        let lines = [
            "ut off\"}}",
            &answer(1000, ""),
            &answer(5000, ""),
            &answer(9, side),
            zero,
            user,
            "{broken token",
        ];
        assert_eq!(context_tokens(&lines.join("\n")), Some(5030));
        let codex = r#"{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":99},"last_token_usage":{"input_tokens":40,"total_tokens":42}}}}"#;
        assert_eq!(context_tokens(codex), Some(42));
        for nothing in ["", "{}", user, zero, "[1, 2]", "token"] {
            assert_eq!(context_tokens(nothing), None, "{nothing}");
        }
    }
}
