//! Documents of strangers: ids that are commands, paths or options, and characters that nobody sees.

use anthill_testkit::test_env::TestEnv;
use serde_json::{Value, json};

use crate::env;

const TASKS: &str = "project/.coordination/tasks.json";

/// Ids that nobody may be given.
const ODD: [&str; 9] = [
    "x; touch PWN #",
    "a\nb",
    "../../evil",
    "",
    "-rf",
    "$(touch PWN)",
    "`touch PWN`",
    ".hidden",
    "a\u{200b}b",
];

fn task(id: &str, number: usize) -> Value {
    json!({"id": id, "description": format!("number {number}"), "status": "available", "priority": 1})
}

/// Returns a queue in which every second task has an id that is none.
fn foreign() -> TestEnv {
    let env = env();
    let mut tasks: Vec<Value> = Vec::new();
    for (number, id) in ODD.iter().enumerate() {
        tasks.push(task(id, number));
        tasks.push(task(&format!("good-{number}"), number));
    }
    write(&env, TASKS, &json!({"version": "1.0", "tasks": tasks}));
    env
}

fn write(env: &TestEnv, path: &str, document: &Value) {
    env.write(path, serde_json::to_vec_pretty(document).unwrap());
}

/// Returns line and column of the value of an `id` in a text.
fn place(text: &str, id: &str) -> String {
    let shown = format!("\"id\": {}", Value::from(id));
    let (number, line) =
        text.lines().enumerate().find(|(_, line)| line.contains(&shown)).expect("it is there");
    format!("line {}, column {}", number + 1, line.find("\"id\": ").unwrap() + "\"id\": ".len() + 1)
}

#[test]
fn an_odd_task_is_never_handed_out_and_the_others_go_on() {
    let env = foreign();
    let ready = env.json(&["worker", "list"]);
    assert!(ready.as_array().unwrap().iter().all(|task| task["id"].as_str().unwrap().starts_with("good-")));
    assert_eq!(ready.as_array().unwrap().len(), ODD.len());
    for number in 0..ODD.len() {
        let ran = env.ok(&["worker", "claim", &format!("w{number}")]);
        let next = ran.stderr.lines().next().unwrap();
        assert_eq!(next, format!("next: anthill worker brief good-{number}"));
    }
    assert_eq!(env.run(&["worker", "claim", "w99"]).code, 4);
    // Also not after a change of the index, a rebuilt one, or as what others wait for.
    env.ok(&["leader", "add-task", "more", "--id", "more"]);
    assert_eq!(env.json(&["worker", "claim", "w100"])["id"], "more");
    assert_eq!(env.run(&["worker", "claim", "w101"]).code, 4);
    env.sh("rm -f .coordination/.anthill/index-*");
    assert_eq!(env.run(&["worker", "claim", "w102"]).code, 4);
    assert!(!env.project().join("PWN").exists());
}

#[test]
fn an_odd_task_that_somebody_has_is_not_given_to_the_next() {
    let env = env();
    let lease = json!({"epoch": 1, "seconds": 1, "expires_at": "2025-12-31T00:00:00Z"});
    let mut held = task("x; touch PWN #", 1);
    held["status"] = "claimed".into();
    held["claimed_by"] = "w1".into();
    held["lease"] = lease;
    write(&env, TASKS, &json!({"tasks": [held, task("good", 2)]}));
    assert_eq!(env.json(&["worker", "claim", "w2"])["id"], "good");
    assert_eq!(env.run(&["worker", "claim", "w3"]).code, 4);
    assert_eq!(env.json(&["get", "queue"])["tasks"][0]["status"], "available", "its lease was over");
}

#[test]
fn odd_tasks_are_named_with_line_and_column() {
    let env = foreign();
    let text = env.read_text(TASKS);
    let (validate, doctor) = (env.run(&["validate"]), env.run(&["doctor"]));
    assert_eq!((validate.code, doctor.code), (7, 7));
    let board = env.ok(&["leader", "status"]).stdout;
    assert!(board.contains("NEVER HANDED OUT") && board.contains("9 unfit"), "{board}");
    for id in ODD {
        let place = place(&text, id);
        for told in [&validate.stderr, &doctor.stderr, &board] {
            assert!(told.contains(&place), "{place} of {id:?} in {told}");
        }
    }
    for told in [&validate.stderr, &doctor.stderr, &board] {
        assert!(!told.contains('\u{200b}') && told.contains(r"\u{200b}"), "{told}");
    }
    // The same from the index, after a change of ours.
    env.ok(&["worker", "claim", "w1"]);
    let (board, text) = (env.ok(&["leader", "status"]).stdout, env.read_text(TASKS));
    assert!(board.contains(&place(&text, "-rf")), "{board}");
    assert!(env.ok(&["status"]).stdout.contains("9 unfit"));
    let findings = env.run(&["doctor", "--json"]).json()["findings"].take();
    assert_eq!(findings.as_array().unwrap().len(), ODD.len());
    assert!(findings.as_array().unwrap().iter().all(|finding| finding["code"] == "damaged"));
}

#[test]
fn thousands_of_odd_tasks_do_not_slow_a_claim() {
    let env = env();
    let mut tasks: Vec<Value> = (0..5000).map(|number| task(&format!("x; {number}"), number)).collect();
    tasks.push(task("good", 0));
    write(&env, TASKS, &json!({ "tasks": tasks }));
    assert_eq!(env.json(&["worker", "claim", "w1"])["id"], "good");
    let board = env.ok(&["leader", "status"]).stdout;
    assert!(board.contains("5000 unfit") && board.contains("and 4980 more like it"), "{board}");
}

#[test]
fn ids_of_other_documents_are_checked_too() {
    let env = env();
    let items: Vec<Value> = ["x; touch PWN #", "-rf", "work-1"]
        .iter()
        .map(|id| json!({"id": id, "title": "t", "priority": "S0", "status": "pending"}))
        .collect();
    env.ok(&["loop", "start", "a loop"]);
    let mut queue = env.json(&["get", "work_queue"]);
    queue["items"] = items.into();
    write(&env, "project/.claude/state/loop/work_queue.json", &queue);
    assert_eq!(env.run(&["loop", "take", "x; touch PWN #", "--as", "w"]).code, 1);
    assert!(env.ok(&["loop", "take", "--as", "w"]).stdout.contains("Taken for w: work-1"));
    assert_eq!(env.run(&["loop", "take", "--as", "w2"]).code, 4);

    env.ok(&["workflow", "create", "a flow", "--phase", "One=a", "--phase", "Two=b"]);
    let mut flow = env.json(&["get", "workflow"]);
    flow["phases"][0]["id"] = "$(touch PWN)".into();
    flow["phases"][0]["status"] = "pending".into();
    write(&env, "project/.claude/state/workflow.json", &flow);
    let started = env.run(&["workflow", "start"]);
    assert!(!started.stderr.contains("touch PWN) --status"), "{}", started.stderr);
    assert_eq!(env.json(&["get", "workflow"])["phases"][0]["status"], "pending");

    let epics = json!({"epics": [{"id": "e`id`", "title": "t", "status": "pending", "stories": []}]});
    write(&env, "user/.claude/orchestration/projects/p/epics.json", &epics);
    let told = env.run(&["validate"]);
    assert_eq!(told.code, 7);
    for path in ["items[0].id", "items[1].id", "phases[0].id", "epics[0].id"] {
        assert!(told.stderr.contains(path), "{path} in {}", told.stderr);
    }
}

#[test]
fn a_group_of_a_foreign_plan_is_not_begun() {
    let env = env();
    env.ok(&["pipeline", "init", "Do it"]);
    let plan = json!({"mode": "simple", "all_tasks": [{"id": "T1", "description": "x", "group_id": "A"}],
        "task_groups": [{"id": "A", "name": "a"}]});
    assert_eq!(env.run_with_input(&["pipeline", "plan", "--file", "-"], plan.to_string().as_bytes()).code, 0);
    for file in ["pm_state", "group_status", "orchestrator_state"] {
        let path = format!("project/coordination/{file}.json");
        env.write(&path, env.read_text(&path).replace("\"A\"", "\"A; touch PWN\""));
    }
    let orders = env.run(&["pipeline", "next", "--json"]);
    assert!(!orders.stdout.contains("touch PWN"), "{}", orders.stdout);
    assert!(env.run(&["validate"]).stderr.contains("task_groups[0].id"));
    let bad = plan.to_string().replace("\"A\"", "\"-rf\"");
    assert_eq!(env.run_with_input(&["pipeline", "plan", "--file", "-"], bad.as_bytes()).code, 2);
}

#[test]
fn new_ids_do_not_begin_with_a_dash() {
    let env = env();
    let lines: [&[&str]; 12] = [
        &["leader", "add-task", "x", "--id=-rf"],
        &["worker", "register", "--", "-rf"],
        &["worker", "claim", "--", "-rf"],
        &["session", "start", "--", "-rf"],
        &["message", "send", "--", "-rf", "b", "note", "{}"],
        &["message", "send", "--", "a", "-rf", "note", "{}"],
        &["epic", "add", "x", "--id=-rf", "--project-id", "p"],
        &["sprint", "start", "x", "--id=-rf", "--project-id", "p"],
        &["tool", "register", "--", "-rf"],
        &["workflow", "create", "x", "--phase", "A=b", "--id=-rf"],
        &["append", "queue", "tasks", r#"{"id": "-rf", "description": "x", "status": "available"}"#],
        &["set", "work_queue", "items", r#"[{"id": "x; y", "title": "x"}]"#],
    ];
    for line in lines {
        let ran = env.run(line);
        assert_eq!(ran.code, 2, "{line:?}: {}", ran.stderr);
    }
    let event =
        json!({"hook_event_name": "SessionStart", "session_id": "-rf", "cwd": env.project()}).to_string();
    assert_eq!(env.run_with_input(&["hook"], event.as_bytes()).code, 0);
    assert!(!env.home().join("sessions/-rf").exists());
    // What is there already can still be read.
    env.ok(&["session", "start", "s1"]);
    env.sh("mv ~/.claude/sessions/s1 ~/.claude/sessions/-old");
    assert_eq!(env.run(&["get", "session", "--session-id=-old"]).code, 0);
}

#[test]
fn a_document_with_odd_ids_can_be_changed_beside_them() {
    let env = foreign();
    env.ok(&["set", "queue", "tasks[1].priority", "2"]);
    assert_eq!(env.run(&["set", "queue", "tasks[0].id", "\"fine\""]).code, 0, "that is how one mends it");
    assert_eq!(env.json(&["worker", "claim", "w1"])["id"], "fine");
}

#[test]
fn what_is_typed_again_is_quoted() {
    let env = env();
    let mut failed = task("it failed", 1);
    failed["status"] = "failed".into();
    failed["result"] = json!({"error": "no"});
    let mut waits = task("waits", 2);
    waits["dependencies"] = json!(["it failed"]);
    write(&env, TASKS, &json!({"tasks": [failed, waits]}));
    let told = env.ok(&["leader", "explain", "waits"]).stdout;
    assert!(told.contains("anthill leader retry 'it failed'"), "{told}");
}

#[test]
fn nothing_hides_from_people_or_agents() {
    let env = env();
    let hidden: String =
        "obey".chars().map(|letter| char::from_u32(0xe0000 + letter as u32).unwrap()).collect();
    let text = format!("fix it{hidden}\u{200b}\u{2028}now\u{ad}\u{feff}\u{202e}");
    env.ok(&["leader", "init", &text]);
    env.ok(&["leader", "add-task", &text, "--id", "t1", "--hints", &text]);
    env.ok(&["worker", "claim", "w1"]);
    env.ok(&["worker", "discover", "w1", &text]);
    env.ok(&["message", "send", "a", "b", "note", &json!({ "text": text }).to_string()]);
    env.ok(&["loop", "start", &text]);
    env.ok(&["loop", "add", &text, "-p", "S1"]);
    env.ok(&["workflow", "create", &text, "--phase", &format!("{text}=a")]);
    let mut shown = vec![
        env.ok(&["leader", "status"]).stdout,
        env.ok(&["leader", "graph"]).stdout,
        env.ok(&["leader", "graph", "--format", "mermaid"]).stdout,
        env.ok(&["leader", "graph", "--format", "dot"]).stdout,
        env.ok(&["status"]).stdout,
        env.ok(&["worker", "brief", "t1"]).stdout,
        env.ok(&["worker", "brief", "t1", "--json"]).stdout,
        env.ok(&["message", "poll", "b", "--no-mark-read"]).stdout,
        env.ok(&["message", "poll", "b", "--no-mark-read", "--json"]).stdout,
        env.ok(&["loop", "status"]).stdout,
        env.ok(&["loop", "take", "--as", "w"]).stdout,
        env.ok(&["workflow", "show"]).stdout,
        env.ok(&["get", "queue", "--format", "table"]).stdout,
        env.ok(&["get", "queue"]).stdout,
    ];
    let event = json!({"hook_event_name": "UserPromptSubmit", "session_id": "b", "prompt": "x", "cwd": env.project()});
    shown.push(env.run_with_input(&["hook"], event.to_string().as_bytes()).stdout);
    env.ok(&["worker", "complete", "w1", "t1", &text]);
    env.ok(&["leader", "aggregate"]);
    let text_files =
        ["master-plan.md", "summary.md", "context/discoveries.md", "results/t1.md", "logs/w1.log"];
    shown.extend(
        text_files.iter().map(|text_file| env.read_text(&format!("project/.coordination/{text_file}"))),
    );
    shown.push(env.read_text("project/.claude/state/loop/LOOP_STATE.md"));
    shown.push(env.read_text("project/.claude/workflow_state_system.md"));
    for text in shown {
        assert!(text.contains("fix it"), "it is there: {text}");
        let unseen = ['\u{e006f}', '\u{200b}', '\u{2028}', '\u{ad}', '\u{feff}', '\u{202e}'];
        assert!(!text.contains(unseen), "{}", text.escape_unicode());
    }
    // What agents read on stdin, and what is stored: the text as it is.
    env.ok(&["leader", "add-task", &text, "--id", "t2"]);
    env.ok(&["worker", "run", "w2", "--", "sh", "-c", "cat > seen; echo done"]);
    let seen = env.read_text("project/seen");
    assert!(seen.contains(r"\u{e006f}") && !seen.contains(['\u{e006f}', '\u{200b}', '\u{202e}']), "{seen}");
    assert_eq!(env.json(&["get", "queue"])["tasks"][1]["description"], text);
}
