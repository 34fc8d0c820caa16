//! The board of `leader status`, and what is ready: drawn from an index, without one, and from a file that somebody edited.

#![expect(clippy::disallowed_methods, reason = "tests take files away")]

use anthill_testkit::test_env::TestEnv;
use serde_json::json;

use crate::env;

const TASKS: &str = "project/.coordination/tasks.json";
const INDEX: &str = "project/.coordination/.anthill/index-tasks.json";

/// Returns a queue in which tasks stand in every way that there is, more of them than the board shows.
fn mixed() -> TestEnv {
    let env = env();
    let task = |number: usize| {
        let needs = match number {
            30..45 => vec![format!("t{}", number - 15)],
            45..50 => vec![format!("t{}", number - 45), "t29".into()],
            _ => Vec::new(),
        };
        let (id, text) = (format!("t{number}"), format!("do number {number}"));
        json!({"id": id, "description": text, "priority": number * 7 % 5 + 1, "dependencies": needs})
            .to_string()
    };
    let tasks: Vec<_> = (0..50).map(task).collect();
    assert_eq!(env.run_with_input(&["leader", "import", "-"], tasks.join("\n").as_bytes()).code, 0);
    for number in 0..14 {
        let (worker, id) =
            (format!("w{number}"), env.json(&["worker", "claim", &format!("w{number}")])["id"].take());
        let id = id.as_str().unwrap();
        match number {
            0..8 => drop(env.ok(&["worker", "complete", &worker, id, "it works"])),
            8..11 => drop(env.ok(&["worker", "fail", &worker, id, "it broke\nin two"])),
            11 => drop(env.ok(&["worker", "start", &worker, id])),
            _ => {}
        }
        if number == 9 {
            env.ok(&["leader", "retry", id, "--after", "3600"]);
        }
    }
    env.ok(&["leader", "cancel", "t29"]);
    env
}

fn look(env: &TestEnv, line: &str, clock: &str) -> String {
    let words: Vec<_> = line.split_whitespace().collect();
    let mut command = env.command(&words);
    let ran = env.finish(command.env("ANTHILL_NOW", format!("2026-01-01T{clock}:00Z")), b"");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

/// Returns what is shown before leases are over and retries are due, and after that.
fn looks(env: &TestEnv) -> Vec<String> {
    let lines = ["leader status", "leader status --json", "worker list", "worker list --limit 3"];
    ["00:02", "09:00"].iter().flat_map(|clock| lines.map(|line| look(env, line, clock))).collect()
}

#[test]
fn the_board_is_the_same_with_and_without_an_index() {
    let env = mixed();
    let before = env.bytes();
    let expected = looks(&env);
    assert!(expected[0].contains("READY (") && expected[0].contains("retry in"), "{}", expected[0]);
    assert!(expected[0].contains("… and 3 more"), "of eight that are done: {}", expected[0]);
    assert!(expected[4].contains("EXPIRED"), "{}", expected[4]);
    let index = env.read(INDEX);
    for page in (0..index.len()).step_by(8 * 1024) {
        let mut spoiled = index.clone();
        spoiled[page + 100] ^= 8;
        env.write(INDEX, spoiled);
        assert_eq!(look(&env, "leader status", "00:02"), expected[0], "page {}", page / 1024);
    }
    env.write(INDEX, &index);
    assert!(env.bytes() == before, "looking changes nothing");
    std::fs::remove_file(env.root().join(INDEX)).unwrap();
    assert_eq!(looks(&env), expected);
    assert!(!env.root().join(INDEX).exists());
    let text = env.read_text(TASKS);
    env.write(TASKS, text.replacen('{', "{\n  \"note\": \"by hand\",", 1));
    assert_eq!(looks(&env), expected);
    env.write(TASKS, text.replacen("available", "failed", 1));
    assert_ne!(look(&env, "leader status", "00:02"), expected[0]);
}

/// The task to blame is not among the first ones that wait: all of them have to be looked at.
#[test]
fn a_stuck_queue_says_why() {
    let env = env();
    let leaves = (0..20).map(|number| format!("- [ ] leaf {{id: t{number}, after: hub}}\n"));
    let tasks: String =
        leaves.chain(["- [ ] hub {id: hub, after: root}\n- [ ] root {id: root}\n".into()]).collect();
    assert_eq!(env.run_with_input(&["leader", "import", "-"], tasks.as_bytes()).code, 0);
    env.ok(&["worker", "claim", "w"]);
    assert!(!env.ok(&["leader", "status"]).stdout.contains("stuck"));
    env.ok(&["worker", "fail", "w", "root", "no"]);
    let shown = env.ok(&["leader", "status"]).stdout;
    assert!(shown.contains("stuck: hub waits for root (failed): anthill leader explain hub"), "{shown}");
}
