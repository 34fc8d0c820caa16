//! Planning from the outside: epics, stories, sprints, tools, the team, and the tasks of sessions.

use anthill_testkit::test_env::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::env;
use crate::exit_codes::fails;

const PROJECT: &str = "user/.claude/orchestration/projects/myapp";

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Runs commands of plain words, one per line, and insists on success.
#[track_caller]
fn given(env: &TestEnv, lines: &str) {
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(|line| drop(env.ok(&words(line))));
}

#[track_caller]
fn json_of(env: &TestEnv, line: &str) -> Value {
    env.json(&words(line))
}

#[track_caller]
fn refused(env: &TestEnv, line: &str, code: i32) -> Value {
    let word = ["", "refused", "invalid", "conflict", "not_found"][code as usize];
    fails(env, &words(line), b"", code, word)
}

fn message(error: &Value) -> &str {
    error["message"].as_str().unwrap()
}

/// Insists on the texts in an error's message or hint.
#[track_caller]
fn says(error: &Value, texts: &[&str]) {
    let said = format!("{}\n{}", message(error), error["hint"].as_str().unwrap_or_default());
    texts.iter().for_each(|text| assert!(said.contains(text), "`{text}` is not in:\n{said}"));
}

fn document(env: &TestEnv, file: &str) -> Value {
    serde_json::from_str(&env.read_text(&format!("{PROJECT}/{file}"))).unwrap()
}

#[track_caller]
fn story(env: &TestEnv, id: &str) -> Value {
    let stories = json_of(env, "list stories");
    stories
        .as_array()
        .unwrap()
        .iter()
        .find(|story| story["id"] == id)
        .unwrap_or_else(|| panic!("no {id}"))
        .clone()
}

fn epic_status(env: &TestEnv, id: &str) -> Value {
    json_of(env, &format!("epic show {id}"))["status"].take()
}

/// Runs a command on a day of January 2026.
fn on(env: &TestEnv, day: u32, line: &str) -> Ran {
    env.finish(env.command(&words(line)).env("ANTHILL_NOW", format!("2026-01-{day:02}T12:00:00Z")), b"")
}

/// Returns an environment with a default project, an epic and three stories of 5, 8 and 3 points.
fn project() -> TestEnv {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"myapp\""]);
    given(
        &env,
        "epic add Authentication --priority high
         story add epic-001 JWT --points 5
         story add epic-001 OAuth --points 8
         story add epic-001 Reset --points 3",
    );
    env
}

// ---- epics

#[test]
fn epics_are_added_listed_and_shown() {
    let env = env();
    let epic = env.json(&[
        "epic",
        "add",
        "User Authentication System",
        "--priority",
        "high",
        "--project-id",
        "myapp",
    ]);
    let expected = json!({"id": "epic-001", "title": "User Authentication System", "status": "pending",
        "priority": "high", "created_at": "2026-01-01T00:00:01.000Z", "stories": []});
    assert_eq!(epic, expected);
    assert_eq!(document(&env, "epics.json")["epics"], json!([epic]), "it is stored as it is told");
    refused(&env, "epic list", 2);
    env.ok(&["set", "config", "global.default_project", "\"myapp\""]);
    assert_eq!(json_of(&env, "epic show epic-001"), epic);
    given(&env, "epic add Billing\nepic add Ten --id epic-010");
    assert_eq!(json_of(&env, "epic add Next")["id"], "epic-011");
    assert_eq!(json_of(&env, "epic list").as_array().unwrap().len(), 4);
    assert_eq!(json_of(&env, "epic list --filter-status completed"), json!([]));
    let table = env.ok(&["epic", "list"]).stdout;
    assert!(table.contains("epic-001") && table.contains("0/0"), "{table}");
    let next = env.ok(&words("epic add Elsewhere --project-id other")).stderr;
    assert_eq!(next, "next: anthill story add epic-001 TITLE --points N --project-id other\n");
    refused(&env, "epic show epic-999", 4);
    refused(&env, "epic list --filter-status finished", 2);
    assert_eq!(json_of(&env, "epic list --project-id third"), json!([]));
}

#[test]
fn the_same_id_is_the_same_thing_or_a_conflict() {
    let env = project();
    for line in [
        "epic add Billing --id billing --priority low",
        "story add billing Invoice --id invoice --points 2 --needs pdf,mail",
        "story add billing Thirds --id thirds --points 0.33333333",
        "sprint start One --id one --stories invoice --start-date 2026-01-01 --end-date 2026-01-08",
        "tool register eng --capabilities rust --max-instances 2",
        "team add eng --role dev --skills a b --capacity 2.5 --model m",
        "story assign invoice bob --to-session s1",
        "update-task task-invoice --session-id s1 --assigned-to cleo",
        "story status invoice in_progress",
        "sprint close one",
    ] {
        let first = json_of(&env, line);
        let bytes = env.bytes();
        assert_eq!(json_of(&env, line), first, "{line}");
        assert!(env.bytes() == bytes, "{line} changed something when it was repeated");
        assert!(env.ok(&words(line)).stdout.starts_with("Unchanged: "), "{line}");
    }
    for line in [
        "epic add Other --id billing --priority low",
        "epic add Billing --id billing",
        "story add billing Invoice --id invoice --points 3 --needs pdf,mail",
        "story add billing Invoice --id invoice --points 2",
        "story add epic-001 Invoice --id invoice --points 2 --needs pdf,mail",
        "sprint start Two --id one",
        "sprint start One --id one --end-date 2026-01-09",
        "sprint start One --id one --stories story-001",
    ] {
        says(&refused(&env, line, 3), &["already"]);
    }
}

// ---- stories

#[test]
fn stories_are_numbered_over_all_epics_and_filtered() {
    let env = project();
    env.ok(&["epic", "add", "Second"]);
    let added =
        env.json(&["story", "add", "epic-002", "Invoice", "--points", "0.5", "--needs", "pdf", "mail"]);
    let expected = json!({"id": "story-004", "title": "Invoice", "status": "pending", "assigned_to": null,
        "points": 0.5, "required_capabilities": ["pdf", "mail"], "created_at": added["created_at"]});
    assert_eq!(added, expected);
    given(&env, "story assign story-001 ann\nstory status story-002 in_progress");
    let ids = |line: &str| {
        let stories = json_of(&env, line);
        stories
            .as_array()
            .unwrap()
            .iter()
            .map(|story| story["id"].as_str().unwrap()[6..].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids("story list"), ["001", "002", "003", "004"]);
    assert_eq!(ids("story list --epic epic-002"), ["004"]);
    assert_eq!(ids("story list --unassigned"), ["002", "003", "004"]);
    assert_eq!(ids("story list --unassigned --filter-status pending"), ["003", "004"]);
    assert_eq!(ids("list stories --unassigned --filter-status pending"), ["003", "004"]);
    assert_eq!(ids("list stories"), ["001", "002", "003", "004"]);
    refused(&env, "list epics --unassigned", 2);
    refused(&env, "list queue --unassigned", 2);
    refused(&env, "story list --epic epic-009", 4);
    refused(&env, "story add epic-009 Lost", 4);
    for points in ["-1", "many", "inf", "1e999"] {
        refused(&env, &format!("story add epic-001 Wrong --points {points}"), 2);
    }
}

#[test]
fn a_story_takes_its_epic_along() {
    let env = project();
    let status = |id: &str, status: &str, epic: &str| {
        let told = json_of(&env, &format!("story status {id} {status}"));
        assert_eq!((told["status"].as_str(), &told), (Some(status), &story(&env, id)));
        assert_eq!(epic_status(&env, "epic-001"), epic, "after {id} {status}");
    };
    status("story-001", "blocked", "blocked");
    status("story-001", "in_progress", "in_progress");
    status("story-001", "completed", "in_progress");
    status("story-002", "cancelled", "in_progress");
    status("story-003", "completed", "completed");
    assert!(story(&env, "story-003")["completed_at"].is_string());
    status("story-003", "pending", "in_progress");
    assert_eq!(story(&env, "story-003")["completed_at"], Value::Null);
    status("story-003", "completed", "completed");
    env.ok(&["story", "add", "epic-001", "One more"]);
    assert_eq!(epic_status(&env, "epic-001"), "in_progress");
    // What is set is set, until the next story changes.
    env.ok(&["set", "epics", "epics[0].status", "\"cancelled\""]);
    status("story-004", "in_progress", "cancelled");
    refused(&env, "story status story-001 finished", 2);
    refused(&env, "story status story-999 completed", 4);
    refused(&env, "story status", 2);
}

// ---- revisions

#[test]
fn of_two_updates_with_the_same_expectation_one_wins() {
    let env = project();
    let revision = json_of(&env, "get epics")["revision"].as_u64().unwrap();
    for round in revision..revision + 3 {
        let line = |session: &str| {
            let status = if round.is_multiple_of(2) { "in_progress" } else { "pending" };
            format!("story status story-001 {status} --expect-revision {round} --session-id {session} --json")
        };
        let lines = ["session-a", "session-b"].map(line);
        let ran = at_once(&env, &lines);
        let mut codes: Vec<_> = ran.iter().map(|ran| ran.code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 3], "{ran:?}");
        let loser = ran.iter().find(|ran| ran.code == 3).unwrap().json()["error"].take();
        assert_eq!((&loser["code"], &loser["revision"]), (&json!("conflict"), &json!(round + 1)));
        assert_eq!(loser["expected"], round);
        says(&loser, &[&format!("revision {}", round + 1), &format!("--expect-revision {}", round + 1)]);
        assert_eq!(json_of(&env, "get epics")["revision"], round + 1);
    }
}

#[test]
fn every_change_can_expect_a_revision() {
    let env = project();
    given(
        &env,
        "sprint start One --stories story-001
         tool register eng
         team add eng
         story assign story-001 eng --to-session s1",
    );
    for (line, kind) in [
        ("epic add More", "epics"),
        ("story add epic-001 More", "epics"),
        ("story assign story-002 bob", "epics"),
        ("story status story-002 blocked", "epics"),
        ("update-task task-story-001 --status in_progress --session-id s1", "tasks --session-id s1"),
        ("tool register eng --priority high", "tools"),
        ("team add eng --role dev", "team"),
        ("sprint close", "sprints"),
        ("sprint start Two", "sprints"),
    ] {
        let revision = json_of(&env, &format!("get {kind}"))["revision"].as_u64().unwrap();
        let error = refused(&env, &format!("{line} --expect-revision 77"), 3);
        assert_eq!(error["revision"], revision, "{line}");
        given(&env, &format!("{line} --expect-revision {revision}"));
        assert_eq!(json_of(&env, &format!("get {kind}"))["revision"], revision + 1, "{line}");
    }
}

/// Runs lines at once, each as a process of its own, and returns how they ended.
fn at_once(env: &TestEnv, lines: &[String]) -> Vec<Ran> {
    std::thread::scope(|scope| {
        let runs: Vec<_> = lines.iter().map(|line| scope.spawn(|| env.run(&words(line)))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

#[test]
fn many_at_once_keep_ids_and_limits() {
    let env = project();
    env.ok(&["tool", "register", "eng", "--max-instances", "2"]);
    let lines: Vec<_> = (0..8).map(|number| format!("story add epic-001 Story{number} --json")).collect();
    let added = at_once(&env, &lines);
    let mut ids: Vec<_> = added.iter().map(|ran| ran.json()["id"].as_str().unwrap().to_owned()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (4..12).map(|number| format!("story-{number:03}")).collect::<Vec<_>>());
    // Half of them bring a task for one session: the locks of two rooms, taken by all in one order.
    let assign = |(number, id): (usize, &String)| {
        let session = if number % 2 == 0 { " --to-session s1" } else { "" };
        format!("story assign {id} eng{session}")
    };
    let lines: Vec<_> = ids.iter().enumerate().map(assign).collect();
    let mut codes: Vec<_> = at_once(&env, &lines).iter().map(|ran| ran.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 0, 1, 1, 1, 1, 1, 1]);
    let stories = json_of(&env, "story list");
    let held = stories.as_array().unwrap().iter().filter(|story| story["assigned_to"] == "eng").count();
    assert_eq!(held, 2);
}

#[test]
fn tasks_completed_at_once_complete_everything() {
    let env = project();
    given(&env, "sprint start One --stories story-001 story-002 story-003");
    let session = |number: usize| format!("s{}", number % 2);
    for number in 1..=3 {
        given(&env, &format!("story assign story-00{number} ann --to-session {}", session(number)));
    }
    let line = |number| {
        format!("update-task task-story-00{number} --status completed --session-id {}", session(number))
    };
    let ran = at_once(&env, &(1..=3).map(line).collect::<Vec<_>>());
    assert!(ran.iter().all(|ran| ran.code == 0), "{ran:?}");
    assert_eq!(epic_status(&env, "epic-001"), "completed");
    assert_eq!(document(&env, "sprints.json")["sprints"][0]["completed_points"], 16);
}

#[test]
fn the_hook_of_the_source_works() {
    let env = project();
    given(&env, "story assign story-001 ann");
    let line = r#"anthill list stories --filter-status pending --unassigned --format json | jq -c '.[]' |
        while read -r story; do
            id=$(echo "$story" | jq -r .id)
            anthill append tasks tasks "{\"id\": \"task-$id\", \"type\": \"implement_story\", \"story_id\": \"$id\", \"status\": \"pending\"}" --session-id s1
        done"#;
    let ran = env.sh(line);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    given(&env, "update-task task-story-002 --status completed --session-id s1");
    assert_eq!(story(&env, "story-002")["status"], "completed");
    assert_eq!(json_of(&env, "list tasks --session-id s1").as_array().unwrap().len(), 2);
}

// ---- sprints

#[test]
fn a_sprint_from_start_to_close() {
    let env = project();
    assert_eq!(on(&env, 1, "sprint status").code, 4);
    let ran = on(
        &env,
        1,
        "sprint start First --stories story-001 story-002 story-001 --end-date 2026-01-05 --json",
    );
    let expected = json!({"id": "sprint-001", "name": "First", "status": "active", "start_date": "2026-01-01",
        "end_date": "2026-01-05", "velocity": null, "stories": ["story-001", "story-002"],
        "completed_points": 0, "total_points": 13});
    assert_eq!(ran.json(), expected);
    assert_eq!(document(&env, "sprints.json")["current_sprint"], "sprint-001");
    says(&refused(&env, "sprint start Second", 1), &["sprint-001", "anthill sprint close sprint-001"]);

    assert_eq!(on(&env, 2, "story status story-001 completed").code, 0);
    let sprint = document(&env, "sprints.json")["sprints"][0].take();
    assert_eq!((&sprint["completed_points"], &sprint["total_points"]), (&json!(5), &json!(13)));
    let status = on(&env, 3, "sprint status --json").json();
    assert_eq!((&status["sprint"], &status["days_left"]), (&sprint, &json!(2)));
    assert_eq!(status["stories"], json!([story(&env, "story-001"), story(&env, "story-002")]));
    let day = |date: &str, remaining: Value, ideal: f64| {
        let ideal = if ideal.fract() == 0.0 { json!(ideal as i64) } else { json!(ideal) };
        json!({"date": format!("2026-01-{date}"), "remaining": remaining, "ideal": ideal})
    };
    let expected = json!([
        day("01", json!(13), 13.0),
        day("02", json!(8), 9.75),
        day("03", json!(8), 6.5),
        day("04", Value::Null, 3.25),
        day("05", Value::Null, 0.0)
    ]);
    assert_eq!(status["burndown"], expected);

    let drawn = on(&env, 3, "sprint status").stdout;
    for text in ["First (sprint-001, active)", "5 of 13 points done (38%)", "2 days left", "● points left: 8"]
    {
        assert!(drawn.contains(text), "{text}:\n{drawn}");
    }
    assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
    assert!(on(&env, 9, "sprint status").stdout.contains("overdue by 4 days"));

    let closed = on(&env, 5, "sprint close --json").json();
    assert_eq!((&closed["status"], &closed["velocity"]), (&json!("completed"), &json!(5)));
    assert_eq!(document(&env, "sprints.json")["current_sprint"], Value::Null);
    refused(&env, "sprint close", 4);
    refused(&env, "sprint status", 4);
    assert_eq!(json_of(&env, "sprint close sprint-001"), closed);
    // A closed sprint keeps its numbers.
    given(&env, "story status story-002 completed");
    assert_eq!(json_of(&env, "sprint status sprint-001")["completed_points"], 5);
    assert_eq!(document(&env, "sprints.json")["sprints"][0], closed);

    let next = on(&env, 6, "sprint start Second --stories story-003 --json").json();
    assert_eq!((&next["id"], &next["end_date"]), (&json!("sprint-002"), &json!("2026-01-20")));
    assert_eq!(on(&env, 6, "sprint status --json").json()["mean_velocity"], 5);
    assert!(on(&env, 6, "sprint status").stdout.contains("velocity 5 (mean of 1 closed sprint)"));
}

#[test]
fn a_planned_sprint_is_started_by_its_id() {
    let env = project();
    let planned = r#"{"id": "sprint-007", "name": "Later", "status": "planned", "stories": ["story-003"], "goal": "x"}"#;
    env.ok(&["append", "sprints", "sprints", planned]);
    refused(&env, "sprint close sprint-007", 1);
    refused(&env, "sprint start Other --id sprint-007", 3);
    let sprint = json_of(&env, "sprint start Later --id sprint-007");
    assert_eq!((&sprint["status"], &sprint["stories"]), (&json!("active"), &json!(["story-003"])));
    assert_eq!((&sprint["total_points"], &sprint["goal"]), (&json!(3), &json!("x")));
    env.ok(&["append", "sprints", "sprints[0].stories", "\"story-999\""]);
    let ran = env.ok(&["sprint", "status", "--json"]);
    assert!(
        ran.stderr.starts_with("warning: the story `story-999` of this sprint is in no epic"),
        "{}",
        ran.shown()
    );
    assert_eq!(ran.json()["total_points"], 3);
    assert_eq!(json_of(&env, "list sprints").as_array().unwrap().len(), 1);
}

#[test]
fn sprints_are_started_with_sense() {
    let env = project();
    refused(&env, "sprint start One --stories story-999", 4);
    refused(&env, "sprint start One --start-date 2026-02-30", 2);
    refused(&env, "sprint start One --start-date 2026-01-05T10:00:00", 2);
    refused(&env, "sprint start One --start-date 2026-01-05 --end-date 2026-01-04", 2);
    fails(&env, &["sprint", "start", " "], b"", 2, "invalid");
    refused(&env, "sprint status nothing", 4);
    refused(&env, "sprint close nothing", 4);
}

// ---- tools and team

#[test]
fn tools_are_registered_and_changed() {
    let env = env();
    let tool = env.json(&[
        "tool",
        "register",
        "qa-e2e",
        "--name",
        "E2E Test Engineer",
        "--capabilities",
        "testing,automation",
    ]);
    let expected = json!({"id": "qa-e2e", "name": "E2E Test Engineer", "capabilities": ["testing", "automation"],
        "max_instances": 1, "priority": "normal"});
    assert_eq!(tool, expected);
    let tool = json_of(&env, "tool register qa-e2e --max-instances 3 --project-id any");
    assert_eq!((&tool["max_instances"], &tool["name"]), (&json!(3), &json!("E2E Test Engineer")));
    given(&env, "tool register plain");
    assert_eq!(json_of(&env, "tool list")[0], tool);
    assert_eq!(env.json(&["get", "tools", "--field", "tools.plain.name"]), "plain");
    assert!(env.ok(&["tool", "list"]).stdout.contains("testing, automation"));
    refused(&env, "tool register x --max-instances -1", 2);
    refused(&env, "tool register", 2);
}

#[test]
fn a_team_has_members_with_work() {
    let env = project();
    refused(&env, "team show", 4);
    let member = env.json(&[
        "team",
        "add",
        "ann",
        "--role",
        "tech lead",
        "--capacity",
        "13",
        "--skills",
        "a,b",
        "--model",
        "m",
    ]);
    assert_eq!(
        member,
        json!({"agent": "ann", "role": "tech lead", "capacity": 13, "skills": ["a", "b"], "model": "m"})
    );
    given(&env, "team add bob\nstory assign story-001 ann");
    assert_eq!(json_of(&env, "team add ann --capacity 8")["role"], "tech lead");
    let team = json_of(&env, "team show");
    assert_eq!(team, document(&env, "team.json"));
    assert_eq!(team["members"].as_array().unwrap().len(), 2);
    let shown = env.ok(&["team", "show"]).stdout;
    let ann = shown.lines().find(|line| line.contains("ann")).unwrap();
    assert_eq!(words(ann), ["ann", "tech", "lead", "1", "8", "a,", "b", "m"]);
    refused(&env, "team add ann --capacity -3", 2);
}

// ---- assigning

#[test]
fn a_tool_needs_the_capabilities() {
    let env = project();
    given(
        &env,
        "story add epic-001 Deploy --needs linux,cloud --id deploy
         tool register web --capabilities frontend,cloud
         tool register ops --capabilities cloud,linux,bash
         team add ann",
    );
    let error = refused(&env, "story assign deploy web", 1);
    says(&error, &["`web` lacks `linux`", "ops", "anthill story assign deploy ops"]);
    assert!(!message(&error).contains("cloud"), "{error}");
    let ran = env.ok(&["story", "assign", "deploy", "ops"]);
    assert_eq!(ran.stderr, "next: anthill story status deploy in_progress\n", "no warning");
    assert_eq!(story(&env, "deploy")["assigned_to"], "ops");
    // A member that is no tool is trusted; so is a stranger, with a word.
    assert!(!env.ok(&["story", "assign", "deploy", "ann"]).stderr.contains("warning"));
    assert!(
        env.ok(&["story", "assign", "deploy", "stranger"])
            .stderr
            .starts_with("warning: `stranger` is neither")
    );
    env.ok(&["story", "add", "epic-001", "Fly", "--needs", "wings", "--id", "fly"]);
    says(&refused(&env, "story assign fly web", 1), &["`wings`", "no registered tool fits"]);
    refused(&env, "story assign nothing web", 4);
}

#[test]
fn a_tool_has_as_many_stories_as_it_may() {
    let env = project();
    given(
        &env,
        "tool register eng --max-instances 2\nstory assign story-001 eng\nstory assign story-002 eng",
    );
    says(&refused(&env, "story assign story-003 eng", 1), &["max_instances 2", "story-001, story-002"]);
    given(&env, "story assign story-001 eng");
    given(&env, "story status story-001 completed\nstory assign story-003 eng");
    assert_eq!(story(&env, "story-003")["assigned_to"], "eng");
    says(
        &refused(&env, "story assign story-001 bob", 1),
        &["is completed", "story status story-001 pending"],
    );
    given(&env, "tool register none --max-instances 0\nstory status story-001 pending");
    says(&refused(&env, "story assign story-001 none", 1), &["max_instances 0"]);
}

#[test]
fn so_many_agents_work_at_once() {
    let env = project();
    given(&env, "team add ann\nset team settings.max_parallel_agents 2");
    given(&env, "story assign story-001 ann\nstory assign story-002 bob");
    says(&refused(&env, "story assign story-003 cleo", 1), &["agent 3", "ann, bob", "team settings"]);
    // A story that changes hands makes room.
    given(&env, "story assign story-002 cleo\nstory assign story-003 ann");
    given(&env, "set config global.max_parallel_agents 1");
    says(&refused(&env, "story assign story-003 dan", 1), &["allow 1", "config global.max_parallel_agents"]);
    given(&env, "story status story-001 completed\nstory status story-002 completed");
    given(&env, "story assign story-003 dan");
}

#[test]
fn an_assigned_story_is_a_task_of_a_session() {
    let env = project();
    let assigned = json_of(&env, "story assign story-001 ann --to-session s1");
    assert_eq!(assigned, story(&env, "story-001"));
    let tasks = json_of(&env, "list tasks --session-id s1");
    let expected = json!([{"id": "task-story-001", "type": "implement_story", "story_id": "story-001", "title": "JWT",
        "status": "pending", "assigned_to": "ann", "created_at": tasks[0]["created_at"], "project_id": "myapp"}]);
    assert_eq!(tasks, expected);
    let at = |kind: &str| {
        json_of(&env, &format!("history {kind}")).as_array().unwrap().last().unwrap()["at"].clone()
    };
    assert_eq!(at("epics"), at("tasks --session-id s1"), "one commit");
    // The session at work gets it if it is registered, and only then.
    given(&env, "story assign story-002 ann --session-id s2");
    refused(&env, "get tasks --session-id s2", 4);
    env.ok(&["set", "session", "status", "\"active\"", "--session-id", "s2"]);
    let ran = env.ok(&words("story assign story-002 ann --session-id s2"));
    assert!(ran.stderr.contains("anthill update-task task-story-002 --session-id s2"), "{}", ran.stderr);
    assert_eq!(json_of(&env, "list tasks --session-id s2")[0]["id"], "task-story-002");
    // Handed on, the task goes along.
    given(&env, "story assign story-002 bob --to-session s2");
    let task = json_of(&env, "list tasks --session-id s2")[0].take();
    assert_eq!((&task["assigned_to"], &task["status"]), (&json!("bob"), &json!("pending")));
    // Somebody else's task of that name is not ours.
    env.ok(&[
        "append",
        "tasks",
        "tasks",
        r#"{"id": "task-story-003", "title": "mine"}"#,
        "--session-id",
        "s2",
    ]);
    refused(&env, "story assign story-003 ann --to-session s2", 3);
    assert_eq!(story(&env, "story-003")["assigned_to"], Value::Null);
}

// ---- update-task

#[test]
fn a_task_takes_its_story_along() {
    let env = project();
    given(&env, "sprint start One --stories story-001\nstory assign story-001 ann --to-session s1");
    let task =
        json_of(&env, "update-task task-story-001 --session-id s1 --status in_progress --assigned-to bob");
    assert_eq!((&task["status"], &task["assigned_to"]), (&json!("in_progress"), &json!("bob")));
    assert!(task["updated_at"].is_string());
    assert_eq!(
        (story(&env, "story-001")["status"].take(), epic_status(&env, "epic-001")),
        ("in_progress".into(), "in_progress".into())
    );
    let done = json_of(&env, "update-task task-story-001 --session-id s1 --status completed");
    assert_eq!(story(&env, "story-001")["status"], "completed");
    assert_eq!(document(&env, "sprints.json")["sprints"][0]["completed_points"], 5);
    let bytes = env.bytes();
    assert_eq!(json_of(&env, "update-task task-story-001 --session-id s1 --status completed"), done);
    assert!(env.bytes() == bytes, "a repeated update changes nothing");
    // Late news does not reopen a story.
    let ran = env.ok(&words("update-task task-story-001 --session-id s1 --status in_progress"));
    assert!(ran.stderr.contains("stays completed"), "{}", ran.shown());
    assert_eq!(story(&env, "story-001")["status"], "completed");
}

#[test]
fn a_task_finds_the_project_of_its_story() {
    let env = project();
    given(
        &env,
        "epic add Elsewhere --project-id other\nstory add epic-001 There --id there --project-id other",
    );
    env.ok(&["append", "tasks", "tasks", r#"{"id": "t1", "story_id": "there"}"#, "--session-id", "s1"]);
    env.ok(&["append", "tasks", "tasks", r#"{"id": "t2", "story_id": "story-001"}"#, "--session-id", "s1"]);
    env.ok(&[
        "append",
        "tasks",
        "tasks",
        r#"{"id": "t3", "story_id": "x", "project_id": "../../x"}"#,
        "--session-id",
        "s1",
    ]);
    // The default project, in which the first one's story is not.
    given(&env, "update-task t2 --session-id s1 --status completed");
    assert_eq!(story(&env, "story-001")["status"], "completed");
    let ran = env.ok(&words("update-task t1 --session-id s1 --status in_progress"));
    assert!(ran.stderr.contains("warning: the story `there` is not in project `myapp`"), "{}", ran.shown());
    env.ok(&["set", "session", "project_id", "\"other\"", "--session-id", "s1"]);
    given(&env, "update-task t1 --session-id s1 --status completed");
    assert_eq!(json_of(&env, "story list --project-id other")[0]["status"], "completed");
    let ran = env.ok(&words("update-task t3 --session-id s1 --status completed"));
    assert!(ran.stderr.contains("warning: no project is known for the story `x`"), "{}", ran.shown());
    let warned = env.run(&words("update-task t3 --session-id s1 --status failed --json"));
    assert_eq!(warned.json()["status"], "failed", "warnings do not disturb what is read");
}

#[test]
fn update_task_says_what_is_wrong() {
    let env = project();
    refused(&env, "update-task task-001 --session-id s1 --status completed", 4);
    env.ok(&[
        "append",
        "tasks",
        "tasks",
        r#"{"id": "task-001", "status": "pending", "payload": {"n": 1}}"#,
        "--session-id",
        "s1",
    ]);
    let task = json_of(&env, "update-task task-001 --status completed --session-id s1");
    assert_eq!((&task["status"], &task["payload"]), (&json!("completed"), &json!({"n": 1})));
    assert_eq!(json_of(&env, "list tasks --session-id s1"), json!([task]));
    refused(&env, "update-task task-002 --session-id s1 --status completed", 4);
    refused(&env, "update-task task-001 --session-id s1 --status done", 2);
    refused(&env, "update-task task-001 --session-id s1", 2);
    refused(&env, "update-task task-001 --status completed", 2);
}

// ---- hostile input

#[test]
fn hostile_ids_reach_nothing() {
    let env = project();
    for line in [
        "epic add T --id ../../x",
        "epic show ../../x",
        "epic add T --project-id ../../x",
        "story add ../../x T",
        "story add epic-001 T --id ../../x",
        "story list --epic ../../x",
        "story assign ../../x ann",
        "story assign story-001 ../../x",
        "story assign story-001 ann --to-session ../../x",
        "story status ../../x completed",
        "sprint start T --id ../../x",
        "sprint start T --stories ../../x",
        "sprint status ../../x",
        "sprint close ../../x",
        "tool register ../../x",
        "team add ../../x",
        "team show --project-id ../../x",
        "update-task ../../x --session-id s1 --status completed",
        "update-task x --session-id ../../x --status completed",
        "story status .hidden completed",
    ] {
        refused(&env, line, 2);
    }
    for noun in ["epic", "story", "sprint"] {
        let verb = if noun == "sprint" { "start" } else { "add" };
        let mut line = vec![noun, verb];
        line.extend((noun == "story").then_some("epic-001"));
        fails(&env, &[&line[..], &["\t "]].concat(), b"", 2, "invalid");
        let long = "x".repeat(70_000);
        fails(&env, &[&line[..], &[&long]].concat(), b"", 2, "invalid");
    }
}

#[test]
fn titles_cannot_steer_a_terminal() {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"myapp\""]);
    let title = "a\u{1b}[2Jb\u{202e}\nc";
    let epic = env.json(&["epic", "add", title, "--priority", title]);
    assert_eq!(epic["title"], title, "what is told is kept");
    env.ok(&["story", "add", "epic-001", title, "--needs", title, "--points", "1"]);
    env.ok(&["sprint", "start", title, "--stories", "story-001"]);
    env.ok(&["tool", "register", "t", "--name", title, "--capabilities", title]);
    env.ok(&["team", "add", "t", "--role", title, "--skills", title, "--model", title]);
    env.ok(&["tool", "register", "u"]);
    for line in [
        "epic list",
        "epic show epic-001",
        "story list",
        "sprint status",
        "tool list",
        "team show",
        "story assign story-001 u",
        "story assign story-001 t",
        "epic list --json",
        "sprint status --json",
    ] {
        let ran = env.run(&words(line));
        let steers = |text: char| text.is_control() && text != '\n' || text == '\u{202e}';
        assert!(!ran.stdout.contains(steers) && !ran.stderr.contains(steers), "{line}: {ran:?}");
        assert!(ran.stdout.lines().all(|line| line != "c"), "{line}: a title is one line: {ran:?}");
    }
}

#[test]
fn a_session_says_which_story_it_is_at() {
    let env = env();
    env.ok(&["set", "config", "global.default_project", "\"p\""]);
    env.ok(&["epic", "add", "E", "--id", "e"]);
    for id in ["s1", "s2"] {
        env.ok(&["story", "add", "e", "S", "--id", id]);
    }
    env.ok(&["session", "start", "me"]);
    let at = |env: &TestEnv| {
        let context = env.json(&["get", "session", "--field", "context", "--session-id", "me"]);
        [context["active_epic"].clone(), context["active_story"].clone()]
    };
    env.ok(&["story", "assign", "s1", "dev", "--to-session", "me"]);
    assert_eq!(at(&env), [json!("e"), json!("s1")]);
    env.ok(&["update-task", "task-s1", "--session-id", "me", "--status", "completed"]);
    assert_eq!(at(&env), [Value::Null, Value::Null]);
    env.ok(&["story", "assign", "s2", "dev", "--to-session", "me"]);
    // Another story that ends is not its own.
    env.ok(&["story", "status", "s1", "completed", "--session-id", "me"]);
    assert_eq!(at(&env), [json!("e"), json!("s2")]);
    env.ok(&["story", "status", "s2", "cancelled", "--session-id", "me"]);
    assert_eq!(at(&env), [Value::Null, Value::Null]);
}

#[test]
fn a_plan_is_made_and_done_where_one_stands() {
    let env = env();
    env.write("project/.claude/anthill.toml", "project = \"here\"\n");
    let line = |line: &str| env.ok(&line.split_whitespace().collect::<Vec<_>>());
    let json = |line: &str| env.json(&line.split_whitespace().collect::<Vec<_>>());
    line("epic add One");
    line("epic add Two");
    line("story add epic-001 Form --points 3");
    assert_eq!(env.json(&["story", "list", "--project-id", "here"])[0]["id"], "story-001");
    let edited = json("story edit story-001 --title Sheet --points 5 --epic epic-002");
    assert_eq!((&edited["title"], &edited["points"]), (&json!("Sheet"), &json!(5)));
    assert_eq!(json("epic show epic-002")["stories"][0]["id"], "story-001");
    assert_eq!(json("epic show epic-001")["stories"], json!([]));
    assert_eq!(env.run(&["story", "edit", "story-001"]).code, 2);
    assert_eq!(json("sprint add First --stories story-001")["status"], "planned");
    assert_eq!(json("sprint list --filter-status planned")[0]["total_points"], 5);
    let tasks = json("story to-task story-001");
    assert_eq!((&tasks[0]["description"], &tasks[0]["story"]), (&json!("Sheet"), &json!("here/story-001")));
    line("story to-task story-001");
    assert_eq!(json("list queue").as_array().unwrap().len(), 1, "a story gets one task");
    line("worker claim w");
    assert_eq!(json("story list")[0]["status"], "pending");
    line("worker complete w story-001 done");
    assert_eq!(json("story list --filter-status done")[0]["id"], "story-001");
    assert_eq!(json("epic show epic-002")["status"], "completed");
    assert_eq!(json("sprint list")[0]["completed_points"], 5);
    line("story status story-001 in_progress");
    assert_eq!(json("story status story-001 done")["status"], "completed");
}
