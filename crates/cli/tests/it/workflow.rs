//! Workflows from the outside: every verb, repeated, refused, hostile, and two sessions at once.

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::env;
use crate::exit_codes::fails;

const WORKFLOW: &str = "project/.claude/state/workflow.json";
const GRAPH: &str = "project/.claude/state/active_task_graph.json";
const VIEW: &str = "project/.claude/workflow_state_system.md";
const ARCHIVE: &str = "project/.claude/state/workflow_archive";

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[track_caller]
fn ok(env: &TestEnv, line: &str) -> Ran {
    env.ok(&words(&format!("workflow {line}")))
}

#[track_caller]
fn json_of(env: &TestEnv, line: &str) -> Value {
    env.json(&words(&format!("workflow {line}")))
}

/// Insists on a refusal that changes nothing and says these texts.
#[track_caller]
fn refused(env: &TestEnv, line: &str, code: i32, texts: &[&str]) -> Value {
    let word = ["", "refused", "invalid", "conflict", "not_found"][code as usize];
    let error = fails(env, &words(&format!("workflow {line}")), b"", code, word);
    let said =
        format!("{}\n{}", error["message"].as_str().unwrap(), error["hint"].as_str().unwrap_or_default());
    texts.iter().for_each(|text| assert!(said.contains(text), "`{text}` is not in:\n{said}"));
    error
}

fn file(env: &TestEnv, path: &str) -> Value {
    serde_json::from_str(&env.read_text(path)).unwrap()
}

/// Returns the statuses of the workflow and its phases, and the current phase.
#[track_caller]
fn statuses(env: &TestEnv) -> String {
    let workflow = json_of(env, "show");
    assert_eq!(workflow, file(env, WORKFLOW), "it is shown as it is stored");
    let phases = workflow["phases"].as_array().unwrap().iter();
    let phases: Vec<_> = phases.map(|phase| phase["status"].as_str().unwrap()).collect();
    let current = workflow["current_phase"].as_str().unwrap_or("-");
    format!("{} {current}: {}", workflow["status"].as_str().unwrap(), phases.join(" "))
}

/// Returns an environment with a workflow of three phases, one after the other.
fn three() -> TestEnv {
    let env = env();
    ok(&env, "create Calculator --phase Create=general --phase Test=verifier --phase Ship=ops");
    env
}

/// Returns an environment with the seed's example.
fn seeded() -> TestEnv {
    let env = env();
    env.write(WORKFLOW, include_str!("../../../core/tests/fixtures/seeds/workflow.json"));
    env
}

#[test]
fn a_workflow_is_created_as_in_the_seed() {
    let env = env();
    let made = env.json(&[
        "workflow",
        "create",
        "Say a=b",
        "--phase",
        " x=1 and y=2 = general ",
        "--phase",
        "Test=v",
    ]);
    let phase = |id: &str, title: &str, agent: &str| json!({"id": id, "title": title, "agent": agent, "status": "pending", "deliverables": [], "context_for_next": ""});
    let expected = json!({"id": "wf_20260101_000001", "task": "Say a=b", "status": "pending", "current_phase": null,
        "phases": [phase("phase_0", "x=1 and y=2", "general"), phase("phase_1", "Test", "v")], "revision": 1});
    assert_eq!(made, expected);
    assert_eq!(file(&env, WORKFLOW), made);
    let graph = file(&env, GRAPH);
    assert_eq!(json_of(&env, "graph"), graph);
    assert_eq!((&graph["workflow_id"], &graph["execution_plan"]["total_waves"]), (&made["id"], &json!(2)));
    assert_eq!(graph["execution_plan"]["waves"][1]["phases"][0]["depends_on"], json!(["phase_0"]));
    let view = "# Workflow Status: Say a=b\n\nStatus: pending | Current Phase: none\n\n## Phases\n\n\
        - [ ] Phase 0: x=1 and y=2\n- [ ] Phase 1: Test\n";
    assert_eq!(env.read_text(VIEW), view);
    env.ok(&["validate", "workflow"]);
    env.ok(&["validate", "task_graph"]);
}

#[test]
fn phases_follow_each_other_and_hand_their_context_on() {
    let env = three();
    assert_eq!(statuses(&env), "pending -: pending pending pending");
    let started = ok(&env, "start");
    assert_eq!(started.stdout, "Started: wf_20260101_000001\n");
    assert!(started.stderr.contains("running: phase_0 by general: Create"), "{}", started.stderr);
    assert_eq!(statuses(&env), "active phase_0: active pending pending");
    let line = [
        "workflow",
        "phase",
        "phase_0",
        "--status",
        "completed",
        "--deliverable",
        "calc.py",
        "4 functions",
        "--context",
        "see calc.py",
    ];
    let done = env.json(&line);
    assert_eq!(done["phases"][0]["deliverables"], json!(["calc.py", "4 functions"]));
    assert_eq!(done["phases"][0]["context_for_next"], "see calc.py");
    assert_eq!(done["phases"][1]["context_from_previous"], "see calc.py");
    assert_eq!(statuses(&env), "active phase_1: completed active pending");
    let view = env.read_text(VIEW);
    assert!(view.contains("Status: active | Current Phase: Test\n"), "{view}");
    assert!(view.contains("- [x] Phase 0: Create → calc.py, 4 functions\n- [ ] Phase 1: Test\n"), "{view}");
    ok(&env, "phase phase_1 --status active --deliverable report.md");
    ok(&env, "phase phase_1 --status completed --deliverable report.md --deliverable more.md");
    assert_eq!(file(&env, WORKFLOW)["phases"][1]["deliverables"], json!(["report.md", "more.md"]));
    let last = ok(&env, "phase phase_2 --status completed");
    assert_eq!(
        (last.stdout.as_str(), last.stderr.as_str()),
        ("Completed: phase_2\n", "the workflow is completed\n")
    );
    assert_eq!(statuses(&env), "completed -: completed completed completed");
    let graph = file(&env, GRAPH);
    assert_eq!((&graph["status"], &graph["current_wave"]), (&json!("completed"), &json!(2)));
    assert!(graph["phase_status"]["phase_2"]["completed_at"].is_string());
    let ops: Vec<_> =
        env.json(&["history", "workflow"]).as_array().unwrap().iter().map(|r| r["op"].clone()).collect();
    assert!(ops.contains(&json!("workflow create")) && ops.contains(&json!("workflow phase")), "{ops:?}");
}

#[test]
fn repeats_change_nothing() {
    let env = env();
    for line in [
        "create Task --id wf_mine --phase A=a --phase B=b --files phase_0=x phase_1=y",
        "start",
        "phase phase_0 --status completed --deliverable a b --context done",
        "phase phase_1 --status failed --context red",
        "phase phase_1 --status pending",
        "start",
        "phase phase_1 --status completed",
        "create Task --id wf_mine --phase A=a --phase B=b --files phase_0=x phase_1=y",
    ] {
        let first = json_of(&env, line);
        let bytes = env.bytes();
        assert_eq!(json_of(&env, line), first, "{line}");
        assert!(ok(&env, line).stdout.starts_with("Unchanged: "), "{line}");
        assert!(env.bytes() == bytes, "{line} changed something when it was repeated");
    }
    for line in [
        "create Other --id wf_mine --phase A=a --phase B=b",
        "create Task --id wf_mine --phase A=a --phase B=b --parallel",
    ] {
        refused(&env, line, 3, &["another workflow `wf_mine`"]);
    }
}

#[test]
fn a_failed_phase_fails_the_workflow_until_it_is_retried() {
    let env = three();
    ok(&env, "start");
    let failed = ok(&env, "phase phase_0 --status failed --context red");
    assert!(
        failed.stderr.contains("to retry: anthill workflow phase phase_0 --status active"),
        "{}",
        failed.stderr
    );
    assert_eq!(statuses(&env), "failed phase_0: failed pending pending");
    assert!(env.read_text(VIEW).contains("- [ ] Phase 0: Create (failed)\n"));
    refused(&env, "start", 1, &["`phase_0` has failed", "--status active"]);
    refused(&env, "phase phase_1 --status active", 1, &["waits for phase_0"]);
    refused(
        &env,
        "phase phase_0 --status completed",
        1,
        &["is failed and cannot become completed", "--status active"],
    );
    refused(&env, "create Next --phase A=a", 1, &["is failed", "--replace"]);
    ok(&env, "phase phase_0 --status pending");
    assert_eq!(statuses(&env), "pending -: pending pending pending");
    ok(&env, "start");
    ok(&env, "phase phase_0 --status failed");
    ok(&env, "phase phase_0 --status active");
    ok(&env, "phase phase_0 --status completed");
    assert_eq!(statuses(&env), "active phase_1: completed active pending");
}

#[test]
fn a_failed_phase_tells_its_reason_and_hands_nothing_on() {
    let env = three();
    ok(&env, "start");
    ok(&env, "phase phase_0 --status failed --context red");
    let view = env.read_text(VIEW);
    assert!(view.contains("- [ ] Phase 0: Create (failed)\n  - why: red\n- [ ] Phase 1"), "{view}");
    assert!(ok(&env, "show").stdout.contains("why: red"), "{}", ok(&env, "show").stdout);
    ok(&env, "phase phase_0 --status active");
    assert!(!env.read_text(VIEW).contains("why"));
    let done = json_of(&env, "phase phase_0 --status completed");
    assert_eq!(done["phases"][1].get("context_from_previous"), None, "{done}");
    assert_eq!(done["phases"][0].get("reason"), None);
    // What an older version has left in the place of the context is a reason, too.
    ok(&env, "phase phase_1 --status failed");
    env.ok(&["set", "workflow", "phases[1].context_for_next", "\"no disk\""]);
    ok(&env, "phase phase_1 --status active");
    let done = json_of(&env, "phase phase_1 --status completed --context all.green");
    assert_eq!(done["phases"][2]["context_from_previous"], "all.green");
}

#[test]
fn a_phase_is_put_back_and_begins_again_while_others_run() {
    let env = env();
    ok(&env, "create Shop --parallel --phase A=a B=b C=c --depends phase_2=phase_0");
    ok(&env, "start");
    let back = ok(&env, "phase phase_0 --status pending --context hangs");
    assert_eq!(back.stdout, "Put back: phase_0\n");
    assert_eq!(statuses(&env), "active phase_1: pending active pending");
    assert_eq!(file(&env, WORKFLOW)["phases"][0]["reason"], "hangs");
    ok(&env, "start");
    assert_eq!(statuses(&env), "active phase_0: active active pending");
    // What was put back does not begin because another one is completed.
    ok(&env, "phase phase_0 --status completed");
    ok(&env, "phase phase_2 --status pending");
    ok(&env, "phase phase_1 --status completed");
    assert_eq!(statuses(&env), "active -: completed completed pending");
    ok(&env, "start");
    assert_eq!(statuses(&env), "active phase_2: completed completed active");
}

#[test]
fn a_workflow_belongs_to_a_session_and_can_be_taken_over() {
    let env = env();
    for session in ["s1", "s2"] {
        env.ok(&["session", "start", session]);
    }
    let made = json_of(&env, "create Shop --phase A=a B=b --session-id s1");
    assert_eq!(made["session_id"], "s1");
    assert!(ok(&env, "show").stdout.ends_with("belongs to session s1\n"));
    assert_eq!(json_of(&env, "start --session-id s2")["session_id"], "s1", "starting it is no taking over");
    let adopted = ok(&env, "adopt --session-id s2");
    assert_eq!(adopted.stdout, "Adopted from session s1: wf_20260101_000003\n");
    assert_eq!(file(&env, WORKFLOW)["session_id"], "s2");
    assert!(ok(&env, "adopt --session-id s2").stdout.starts_with("Unchanged: "));
    refused(&env, "adopt", 2, &["--session-id"]);
    refused(&env, "adopt --session-id s9", 1, &["`s9` is not at work", "anthill session start s9"]);
    env.ok(&["session", "end", "s2"]);
    assert!(ok(&env, "show").stdout.contains("belongs to nobody: session s2 is over"));
    assert_eq!(json_of(&env, "start --session-id s1")["session_id"], "s1", "what is nobody's is taken");
    // A session that nobody knows owns nothing, and keeps nobody from it.
    env.ok(&["set", "workflow", "session_id", "\"../x\""]);
    assert_eq!(json_of(&env, "start --session-id s1")["session_id"], "s1");
    env.ok(&["validate", "workflow"]);
}

#[test]
fn what_is_not_allowed_is_refused_with_the_next_step() {
    let nothing = env();
    for line in ["show", "todos", "todos --tasks", "graph", "start", "phase phase_0 --status active"] {
        refused(&nothing, line, 4, &["there is no workflow yet", "anthill workflow create"]);
    }
    let env = three();
    refused(&env, "phase phase_0 --status completed", 1, &["is pending", "--status active"]);
    refused(&env, "phase phase_0 --status failed", 1, &["is pending"]);
    refused(&env, "phase phase_1 --status active", 1, &["waits for phase_0", "anthill workflow graph"]);
    ok(&env, "start");
    ok(&env, "phase phase_0 --status completed");
    for status in ["pending", "active", "failed"] {
        refused(&env, &format!("phase phase_0 --status {status}"), 1, &["is completed"]);
    }
    refused(&env, "phase phase_9 --status active", 4, &["`phase_9`", "phase_0, phase_1, phase_2"]);
    for line in [
        "phase phase_0 --status done",
        "phase phase_0",
        "phase --status active",
        "create Task",
        "create",
        "create Task --phase NoAgent",
        "create Task --phase =agent",
        "create Task --phase Title=",
        "create Task --phase A=a --depends phase_0=phase_0 --replace",
        "create Task --phase A=a B=b --depends phase_0=phase_1 --replace",
        "create Task --phase A=a --depends phase_0=phase_7 --replace",
        "create Task --phase A=a --depends phase_7=phase_0 --replace",
        "create Task --phase A=a --files src --replace",
        "create Task --phase A=a --id ../x --replace",
        "start now",
    ] {
        refused(&env, line, 2, &[]);
    }
    for blank in [
        &["create", " ", "--phase", "A=a", "--replace"][..],
        &["phase", "phase_1", "--status", "active", "--deliverable", " "],
    ] {
        fails(&env, &[&["workflow"], blank].concat(), b"", 2, "invalid");
    }
}

#[test]
fn a_workflow_makes_room_for_the_next_one_and_is_kept() {
    let env = three();
    let first = json_of(&env, "show");
    refused(&env, "create Next --phase A=a", 1, &["`wf_20260101_000001` is pending", "--replace"]);
    let replaced = ok(&env, "create Next --id next --phase A=a --replace");
    assert!(
        replaced.stderr.contains(".claude/state/workflow_archive/wf_20260101_000001.json"),
        "{}",
        replaced.stderr
    );
    assert_eq!(file(&env, &format!("{ARCHIVE}/wf_20260101_000001.json")), first);
    ok(&env, "start");
    let completed = json_of(&env, "phase phase_0 --status completed");
    refused(&env, "start", 1, &["is completed", "anthill workflow create"]);
    ok(&env, "create Third --phase A=a");
    assert_eq!(file(&env, &format!("{ARCHIVE}/next.json")), completed);
    assert_eq!(file(&env, GRAPH)["workflow_id"], file(&env, WORKFLOW)["id"]);
    // The same id once more does not replace what is kept of the first one.
    ok(&env, "create Fourth --id next --phase A=a --replace");
    ok(&env, "create Fifth --phase A=a --replace");
    assert_eq!(file(&env, &format!("{ARCHIVE}/next.json")), completed);
    assert_eq!(file(&env, &format!("{ARCHIVE}/next_2.json"))["task"], "Fourth");
    // An id that somebody wrote by hand is no path.
    env.ok(&["set", "workflow", "id", "\"../../evil\""]);
    ok(&env, "create Sixth --phase A=a --replace");
    assert_eq!(file(&env, &format!("{ARCHIVE}/workflow.json"))["id"], "../../evil");
    assert!(ok(&env, "show").stdout.contains("Sixth"));
    assert_eq!(env.ok(&["doctor"]).code, 0);
}

#[test]
fn two_in_one_second_have_two_ids() {
    let env = env();
    let made = |line: &str| {
        let mut command = env.command(&words(&format!("workflow {line} --json")));
        env.finish(command.env("ANTHILL_NOW", "2026-01-05T14:30:22Z"), b"").json()["id"].take()
    };
    assert_eq!(made("create A --phase A=a"), "wf_20260105_143022");
    assert_eq!(made("create A --phase A=a --replace"), "wf_20260105_143022_2");
    assert_eq!(made("create A --phase A=a --replace"), "wf_20260105_143022_3");
}

#[test]
fn phases_side_by_side_run_in_waves_and_never_on_the_same_files() {
    let env = env();
    ok(
        &env,
        "create Review --parallel --phase Security=s Speed=p Report=w --depends phase_2=phase_0,phase_1",
    );
    assert_eq!(json_of(&env, "graph")["execution_plan"]["waves"][0]["parallel"], true);
    ok(&env, "start");
    assert_eq!(statuses(&env), "active phase_0: active active pending");
    assert!(env.read_text(VIEW).contains("Current Phase: Security, Speed\n"));
    ok(&env, "phase phase_1 --status completed --context fast");
    assert_eq!(statuses(&env), "active phase_0: active completed pending");
    refused(&env, "phase phase_2 --status active", 1, &["waits for phase_0"]);
    let done = json_of(&env, "phase phase_0 --status completed --context safe");
    assert_eq!(done["phases"][2]["context_from_previous"], "safe\n\nfast");
    let expected = "wave 0 (side by side)\n  [x] phase_0  Security (s)\n  [x] phase_1  Speed (p)\nwave 1\n  [>] phase_2  Report (w)  after phase_0, phase_1\n";
    assert_eq!(ok(&env, "graph").stdout, expected);
    ok(
        &env,
        "create Files --replace --parallel --phase A=a B=b C=c --files phase_0=src/a.rs phase_1=src phase_2=docs,x.md",
    );
    let waves: Vec<Vec<Value>> = json_of(&env, "graph")["execution_plan"]["waves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|wave| {
            wave["phases"].as_array().unwrap().iter().map(|phase| phase["phase_id"].clone()).collect()
        })
        .collect();
    assert_eq!(waves, [vec![json!("phase_0"), json!("phase_2")], vec![json!("phase_1")]]);
    ok(&env, "start");
    assert_eq!(statuses(&env), "active phase_0: active pending active");
    ok(&env, "phase phase_0 --status completed");
    assert_eq!(statuses(&env), "active phase_1: completed active active");
}

#[test]
fn todos_are_printed_as_the_tools_take_them() {
    let env = three();
    ok(&env, "start");
    ok(&env, "phase phase_0 --status completed --context seen");
    let todo = |content: &str, status: &str| json!({"content": content, "status": status, "activeForm": format!("Working on {content}")});
    let expected =
        json!({"todos": [todo("Create", "completed"), todo("Test", "in_progress"), todo("Ship", "pending")]});
    assert_eq!(ok(&env, "todos").json(), expected);
    assert_eq!(json_of(&env, "todos"), expected);
    let tasks = json_of(&env, "todos --tasks");
    let metadata = json!({"workflow_id": "wf_20260101_000001", "phase_id": "phase_1"});
    let create = json!({"subject": "Test", "description": "Test\n\nAgent: verifier\n\nContext: seen",
        "activeForm": "Working on Test", "metadata": metadata});
    assert_eq!(tasks["TaskCreate"][1], create);
    assert_eq!(
        tasks["TaskUpdate"][1],
        json!({"taskId": "2", "status": "in_progress", "addBlockedBy": ["1"]})
    );
}

#[test]
fn texts_steer_no_terminal_and_stay_on_their_lines() {
    let env = env();
    let evil = "x\n# Heading\x1b[2J\u{202e}y";
    env.ok(&["workflow", "create", evil, "--phase", &format!("{evil}={evil}"), "--phase", "B=b"]);
    env.ok(&["workflow", "start"]);
    let ran = env.ok(&[
        "workflow",
        "phase",
        "phase_0",
        "--status",
        "completed",
        "--deliverable",
        evil,
        "--context",
        evil,
    ]);
    assert_eq!(
        file(&env, WORKFLOW)["phases"][1]["context_from_previous"],
        evil,
        "what is stored is what was said"
    );
    let shown = ["show", "graph", "todos", "todos --tasks"].map(|line| ok(&env, line).stdout).concat();
    for text in [shown, ran.stdout, ran.stderr, env.read_text(VIEW)] {
        assert!(!text.contains(['\x1b', '\u{202e}']), "{text}");
        assert!(!text.contains("\n# Heading"), "{text}");
    }
    assert_eq!(env.read_text(VIEW).lines().count(), 8);
    // A phase that does not exist is told without its escapes.
    fails(&env, &["workflow", "phase", evil, "--status", "active"], b"", 4, "not_found");
}

#[test]
fn the_seeds_example_is_accepted_by_every_verb() {
    let env = seeded();
    let before = env.bytes();
    assert_eq!(json_of(&env, "show"), file(&env, WORKFLOW));
    assert_eq!(json_of(&env, "todos")["todos"][0]["status"], "in_progress");
    assert_eq!(json_of(&env, "graph")["execution_plan"]["total_waves"], 2);
    assert!(ok(&env, "graph").stdout.contains("after phase_0"));
    assert!(env.bytes() == before, "looking changes nothing");
    ok(&env, "start");
    assert!(
        env.read_text(VIEW)
            .starts_with("# Workflow Status: Create calculator.py with tests and verify they pass\n")
    );
    env.ok(&["set", "workflow", "phases[1].mine", "1.50"]);
    ok(&env, "phase phase_0 --status completed --context four");
    ok(&env, "phase phase_1 --status completed");
    assert_eq!(statuses(&env), "completed -: completed completed");
    assert!(env.read_text(WORKFLOW).contains("\"mine\": 1.50"), "what we do not know stays as it is spelled");
    ok(&env, "create Next --phase A=a");
    assert_eq!(file(&env, &format!("{ARCHIVE}/wf_20250105_143022.json"))["status"], "completed");
    // Without the optional fields, and with a graph of something else.
    let env = seeded();
    env.write(WORKFLOW, r#"{"id": "w", "task": "t", "status": "pending", "phases": [{"id": "p", "title": "T", "status": "pending"}]}"#);
    env.write(GRAPH, include_str!("../../../core/tests/fixtures/seeds/task_graph.json"));
    ok(&env, "start");
    ok(&env, "phase p --status completed --deliverable d");
    assert_eq!(statuses(&env), "completed -: completed");
    assert_eq!(file(&env, GRAPH)["workflow_id"], "w");
}

#[test]
fn a_workflow_without_phases_cannot_start() {
    let env = env();
    env.ok(&["set", "workflow", "task", "\"by hand\""]);
    refused(&env, "start", 1, &["no phase that could start"]);
    ok(&env, "show");
    ok(&env, "graph");
    assert_eq!(json_of(&env, "todos"), json!({"todos": []}));
}

#[expect(clippy::disallowed_methods, reason = "somebody removes the view")]
fn remove_view(env: &TestEnv) {
    std::fs::remove_file(env.root().join(VIEW)).unwrap();
}

#[test]
fn a_view_that_somebody_changed_or_removed_is_written_again() {
    let env = three();
    let view = env.read_text(VIEW);
    env.write(VIEW, "mine");
    ok(&env, "start");
    assert_eq!(
        env.read_text(VIEW),
        view.replace("pending | Current Phase: none", "active | Current Phase: Create")
    );
    remove_view(&env);
    assert_eq!(ok(&env, "start").stdout, "Unchanged: wf_20260101_000001\n");
    assert!(env.read_text(VIEW).contains("Status: active"));
    // What is no text is named, not replaced.
    remove_view(&env);
    std::fs::create_dir(env.root().join(VIEW)).unwrap();
    let error = env.error(&["workflow", "phase", "phase_0", "--status", "completed"]);
    assert!(error["message"].as_str().unwrap().contains("workflow_state_system.md"), "{error}");
    assert_eq!(statuses(&env), "active phase_0: active pending pending");
    assert_ne!(env.run(&["doctor"]).code, 0);
}

#[test]
fn every_change_can_expect_a_revision() {
    let env = env();
    for (revision, line) in [
        "create T --phase A=a B=b",
        "start",
        "phase phase_0 --status completed",
        "create U --phase A=a --replace",
    ]
    .iter()
    .enumerate()
    {
        let error = refused(&env, &format!("{line} --expect-revision 77"), 3, &["--expect-revision"]);
        assert_eq!(error["revision"], revision, "{line}");
        let made = json_of(&env, &format!("{line} --expect-revision {revision}"));
        assert_eq!(made["revision"], revision + 1, "{line}");
    }
}

#[test]
fn of_two_reports_with_the_same_expectation_one_wins() {
    let env = three();
    ok(&env, "start");
    for (revision, status) in [(2, "failed"), (3, "active"), (4, "completed")] {
        let line = |session: &str| {
            format!(
                "workflow phase phase_0 --status {status} --context {session} --expect-revision {revision} --session-id {session} --json"
            )
        };
        let ran = at_once(&env, &["session-a", "session-b"].map(line));
        let mut codes: Vec<_> = ran.iter().map(|ran| ran.code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 3], "{ran:?}");
        let loser = ran.iter().find(|ran| ran.code == 3).unwrap().json()["error"].take();
        assert_eq!((&loser["code"], &loser["revision"]), (&json!("conflict"), &json!(revision + 1)));
    }
    assert_eq!(statuses(&env), "active phase_1: completed active pending");
}

#[test]
fn many_at_once_lose_nothing() {
    let env = env();
    let phases: Vec<String> = (0..8).map(|number| format!("P{number}=a")).collect();
    ok(&env, &format!("create Many --parallel --phase {}", phases.join(" ")));
    ok(&env, "start");
    let lines: Vec<_> = (0..8)
        .map(|number| format!("workflow phase phase_{number} --status completed --deliverable d{number}"))
        .collect();
    assert!(at_once(&env, &lines).iter().all(|ran| ran.code == 0));
    let workflow = json_of(&env, "show");
    assert_eq!((&workflow["status"], &workflow["revision"]), (&json!("completed"), &json!(10)));
    let view = env.read_text(VIEW);
    for number in 0..8 {
        assert!(view.contains(&format!("- [x] Phase {number}: P{number} → d{number}\n")), "{view}");
    }
    let first = at_once(&env, &["a", "b"].map(|task| format!("workflow create {task} --phase A=a")));
    let mut codes: Vec<_> = first.iter().map(|ran| ran.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 1], "one of two gets the place");
}

fn at_once(env: &TestEnv, lines: &[String]) -> Vec<Ran> {
    std::thread::scope(|scope| {
        let runs: Vec<_> = lines.iter().map(|line| scope.spawn(|| env.run(&words(line)))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

#[test]
fn hints_of_wrong_usage_are_hints_in_json_too() {
    let env = three();
    let error = fails(&env, &["workflow", "phase", "phase_0", "--statsu", "active"], b"", 2, "invalid");
    assert_eq!(error["message"], "unexpected argument '--statsu' found", "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("'--status'") && hint.contains("Usage: anthill workflow phase"), "{hint}");
}
