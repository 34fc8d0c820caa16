//! The tasks that are worked on: plain ones, and gates that others wait for.

use serde_json::json;

/// How many tasks wait for each gate.
pub const DEPENDANTS: usize = 5;
/// The length of a task as it is imported.
pub const BYTES: usize = 540;
/// Stands in every description, to be changed by hand.
pub const MARK: &str = "version-a";

/// Returns how many gates there are among so many tasks: enough for the rounds, and few among many.
pub fn gates(count: usize) -> usize {
    (count / 16).min(60)
}

/// Writes so many tasks, one line of JSON each. Gates come first and have the best priority.
pub fn lines(count: usize) -> String {
    let gates = gates(count);
    let mut text = String::with_capacity(count * BYTES);
    for number in 0..count {
        let gate = number.checked_sub(gates).map(|rest| rest / DEPENDANTS).filter(|gate| *gate < gates);
        text.push_str(&line(number, if number < gates { 1 } else { 2 + number * 7 % 8 }, gate));
        text.push('\n');
    }
    text
}

/// Returns the id of a task.
pub fn id(number: usize) -> String {
    format!("task-{number:06}")
}

fn line(number: usize, priority: usize, gate: Option<usize>) -> String {
    let mut task = json!({
        "id": id(number),
        "description": "",
        "priority": priority,
        "context": {
            "files": [format!("src/part_{number:06}/mod.rs"), format!("tests/part_{number:06}.rs")],
            "hints": "Follow the style of the neighbouring parts and keep the tests quick",
        },
    });
    if let Some(gate) = gate {
        task["dependencies"] = json!([id(gate)]);
    }
    let rest = BYTES - 1 - task.to_string().len();
    task["description"] = description(number, rest).into();
    task.to_string()
}

/// Writes a description of just so many bytes.
pub fn description(number: usize, bytes: usize) -> String {
    const FILLER: &str = "Move the parsing of requests into a module of its own, cover the errors that callers see, \
        and say in the notes what changes for them. ";
    let text = format!("Part {number} ({MARK}): ");
    text.chars().chain(FILLER.chars().cycle()).take(bytes).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::Value;

    use super::*;

    #[test]
    fn lines_have_their_length_and_gates_their_dependants() {
        let text = lines(1000);
        assert!(text.lines().all(|line| line.len() == BYTES - 1), "{}", text.lines().next().unwrap());
        let tasks: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut waiting: HashMap<String, usize> = HashMap::new();
        for task in &tasks {
            if let Some(gate) = task["dependencies"][0].as_str() {
                *waiting.entry(gate.to_owned()).or_default() += 1;
            }
        }
        assert_eq!(waiting.len(), gates(1000));
        assert!(waiting.values().all(|count| *count == DEPENDANTS), "{waiting:?}");
    }

    #[test]
    fn few_tasks_leave_plain_ones() {
        for count in [1, 10, 16, 100, 1000, 10_000] {
            assert!(gates(count) * (1 + DEPENDANTS) < count, "{count}");
        }
    }
}
