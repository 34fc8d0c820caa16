//! The documents and the command lines of the seeds, to the letter.

use std::path::Path;

use anthill_testkit::test_env::TestEnv;
use serde_json::{Map, Value};

use crate::env;

const STATE: &str = "project/.claude/state";
const PIPELINE: &str = "project/coordination";
const SHARED: &str = "user/.claude/orchestration";
const PROJECT: &str = "user/.claude/orchestration/projects/myapp";
const SESSION: &str = "user/.claude/sessions/session-abc123";

const OF_PROJECT: &[&str] = &["--project-id", "myapp"];
const OF_SESSION: &[&str] = &["--session-id", "session-abc123"];

/// A kind, where the seeds put its document, and the options that pick it.
struct Seed {
    kind: &'static str,
    dir: &'static str,
    file: &'static str,
    options: &'static [&'static str],
}

#[rustfmt::skip]
const SEEDS: &[Seed] = &[
    seed("config", SHARED, "config.json", &[]),
    seed("tools", SHARED, "tools.json", &[]),
    seed("epics", PROJECT, "epics.json", OF_PROJECT),
    seed("sprints", PROJECT, "sprints.json", OF_PROJECT),
    seed("team", PROJECT, "team.json", OF_PROJECT),
    seed("session", SESSION, "state.json", OF_SESSION),
    seed("messages", SESSION, "messages.json", OF_SESSION),
    seed("events", SESSION, "events.json", OF_SESSION),
    seed("hooks", SESSION, "hooks.json", OF_SESSION),
    seed("tasks", SESSION, "tasks.json", OF_SESSION),
    seed("pm_state", PIPELINE, "pm_state.json", &[]),
    seed("group_status", PIPELINE, "group_status.json", &[]),
    seed("orchestrator_state", PIPELINE, "orchestrator_state.json", &[]),
    seed("dev_to_qa", PIPELINE, "messages/dev_to_qa.json", &[]),
    seed("qa_to_techlead", PIPELINE, "messages/qa_to_techlead.json", &[]),
    seed("techlead_to_dev", PIPELINE, "messages/techlead_to_dev.json", &[]),
    seed("active_agents", STATE, "agents/active.json", &[]),
    seed("agent_result", STATE, "agents/results/agent-1.json", &["--agent-id", "agent-1"]),
    seed("work_queue", STATE, "loop/work_queue.json", &[]),
    seed("current_session", STATE, "session/current.json", &[]),
    seed("metrics", STATE, "session/metrics.json", &[]),
    seed("errors", STATE, "errors/classified.json", &[]),
    seed("backup", STATE, "compaction/backup_20250115_103000.json", &[]),
    seed("workflow", STATE, "workflow.json", &[]),
    seed("task_graph", STATE, "active_task_graph.json", &[]),
    seed("queue", "project/.coordination", "tasks.json", &[]),
];

const fn seed(
    kind: &'static str,
    dir: &'static str,
    file: &'static str,
    options: &'static [&'static str],
) -> Seed {
    Seed { kind, dir, file, options }
}

impl Seed {
    fn path(&self) -> String {
        format!("{}/{}", self.dir, self.file)
    }

    fn fixture(&self) -> String {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/fixtures/seeds");
        let path = dir.join(format!("{}.json", self.kind));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn args<'a>(&self, verb: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
        [&[verb, self.kind], rest, self.options].concat()
    }

    /// An object of the document that takes a new field: the document, or its first entry.
    fn note(&self, document: &Value) -> String {
        match self.kind {
            "group_status" => format!("{}.x_note", document.as_object().unwrap().keys().next().unwrap()),
            _ => "x_note".into(),
        }
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the document as text, in its own order, without what a write may touch.
fn untouched(value: &Value) -> String {
    let mut value = value.clone();
    let objects = value.as_object_mut().unwrap();
    strip(objects);
    objects.values_mut().filter_map(Value::as_object_mut).for_each(strip);
    value.to_string()
}

fn strip(object: &mut Map<String, Value>) {
    for field in ["x_note", "revision", "updated_at", "updated_by", "last_update", "last_updated"] {
        object.shift_remove(field);
    }
}

/// Writes through the CLI beside everything else, and compares everything else.
#[track_caller]
fn survives(env: &TestEnv, seed: &Seed, text: &str) {
    let before = parse(text);
    env.write(&seed.path(), text);
    env.ok(&seed.args("set", &[&seed.note(&before), "\"hello\""]));
    let after = parse(&env.read_text(&seed.path()));
    assert_eq!(untouched(&after), untouched(&before), "{}", seed.kind);
    let shown = parse(&env.ok(&seed.args("get", &["--field", &seed.note(&before)])).stdout);
    assert_eq!(shown, "hello", "{}", seed.kind);
    let entries = seed.kind == "group_status";
    let holder = if entries { after.as_object().unwrap().values().next().unwrap() } else { &after };
    // A document without a revision has revision 0.
    let revision = before.get("revision").and_then(Value::as_u64).unwrap_or(0);
    assert_eq!(holder["revision"], revision + 1, "{}", seed.kind);
    env.ok(&seed.args("validate", &[]));
}

#[test]
fn every_seed_document_is_read_and_survives_a_write() {
    let env = env();
    for seed in SEEDS {
        let text = seed.fixture();
        env.write(&seed.path(), &text);
        let shown = parse(&env.ok(&seed.args("get", &[])).stdout);
        assert_eq!(shown.to_string(), parse(&text).to_string(), "{}", seed.kind);
        env.ok(&seed.args("validate", &[]));
        assert_eq!(env.read_text(&seed.path()), text, "{}: reading wrote", seed.kind);
        survives(&env, seed, &text);
    }
    // The session has a hook, so there are triggers too.
    let said = env.ok(&["validate"]).stderr;
    assert_eq!(said.lines().filter(|line| line.starts_with("valid ")).count(), SEEDS.len() + 1, "{said}");
    assert_eq!(env.json(&["doctor"])["ok"], true);
}

/// Gives the document, and every object in a list of it, fields that nobody knows.
fn with_unknown_fields(value: &mut Value, in_list: bool) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| with_unknown_fields(item, true)),
        Value::Object(map) => {
            map.values_mut().for_each(|value| with_unknown_fields(value, false));
            if in_list {
                map.insert("x_unknown".into(), parse(r#"{"z": [{"y": null}, 1.10], "a": "b"}"#));
                map.insert("A first in the alphabet".into(), false.into());
            }
        }
        _ => {}
    }
}

#[test]
fn unknown_fields_survive_at_every_depth() {
    for seed in SEEDS {
        let mut document = parse(&seed.fixture());
        with_unknown_fields(&mut document, seed.kind != "group_status");
        survives(&env(), seed, &serde_json::to_string_pretty(&document).unwrap());
    }
}

#[test]
fn numbers_keep_their_spelling() {
    let env = env();
    let numbers = ["1.10", "1e400", "123456789012345678901234567890", "-0", "-0.0", "1E+5", "0.1e-7", "5.0"];
    let lines: Vec<_> = numbers.iter().map(|number| format!("      {number}")).collect();
    let list = format!("\"x_numbers\": [\n{}\n    ]", lines.join(",\n"));
    let config = SEEDS[0].fixture().replacen("\"global\": {", &format!("\"global\": {{\n    {list},"), 1);
    env.write(&SEEDS[0].path(), &config);
    let kept = |when: &str| {
        let text = env.read_text(&SEEDS[0].path());
        assert!(text.contains(&list), "{when}:\n{text}");
        let shown = env.ok(&["get", "config", "--field", "global.x_numbers", "--format", "value"]).stdout;
        assert_eq!(shown, format!("[{}]\n", numbers.join(",")), "{when}");
    };
    kept("as written by hand");
    env.ok(&["set", "config", "global.session_timeout", "60"]);
    kept("after a set");
    env.ok(&["delete", "config", "global.x_numbers"]);
    env.ok(&["undo", "config"]);
    kept("after delete and undo");
    env.ok(&["delete", "config", "."]);
    env.ok(&["restore", "config", "--revision", "1"]);
    kept("after a restore from the journal");
    for number in numbers {
        let set = env.ok(&["set", "config", "x_number", number, "--json"]).stdout;
        assert!(set.contains(&format!("\"value\": {number}\n")), "{set}");
        assert!(env.read_text(&SEEDS[0].path()).contains(&format!("\"x_number\": {number}")));
        let record = env.ok(&["history", "config", "--limit", "1", "--json"]).stdout;
        assert!(record.contains(&format!("\"after\": {number}\n")), "{record}");
        let event = env.ok(&["watch", "config", "--count", "1"]).stdout;
        assert!(event.contains(&format!("\"x_number\":{number}}}")), "{event}");
    }
}

/// Returns an environment with the documents that seed 000 shows.
fn seed_000() -> TestEnv {
    let env = env();
    SEEDS[..4].iter().for_each(|seed| env.write(&seed.path(), seed.fixture()));
    env
}

#[track_caller]
fn prints(env: &TestEnv, line: &str) -> Value {
    let ran = env.sh(line);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}");
    parse(&ran.stdout)
}

#[test]
fn seed_000_reading_shared_state() {
    let env = seed_000();
    let fixture = |kind: &str| parse(&SEEDS.iter().find(|seed| seed.kind == kind).unwrap().fixture());
    assert_eq!(prints(&env, "anthill get config"), fixture("config"));
    assert_eq!(prints(&env, r#"anthill get config --field "features.enable_orchestration""#), true);
    assert_eq!(prints(&env, "anthill get tools"), fixture("tools"));
    assert_eq!(prints(&env, "anthill get epics --project-id myapp"), fixture("epics"));
    let sprints = prints(&env, "anthill list sprints --project-id myapp --filter-status active");
    assert_eq!(sprints, fixture("sprints")["sprints"]);
    assert_eq!(prints(&env, "anthill list sprints --project-id myapp --filter-status planned"), parse("[]"));
    // The seed's own `config` names the default project, so the option may be left out.
    assert_eq!(prints(&env, "anthill get epics"), fixture("epics"));

    let watch = env.spawn(&["watch", "epics", "--project-id", "myapp", "--interval", "5"]);
    let event = watch.json();
    assert_eq!((&event["op"], &event["value"]), (&"snapshot".into(), &fixture("epics")));
    env.ok(&["set", "epics", "epics[0].status", "\"completed\"", "--project-id", "myapp"]);
    assert_eq!(watch.json()["value"]["epics"][0]["status"], "completed");
}

#[test]
fn seed_000_updating_shared_state() {
    let env = seed_000();
    let epic = |field: &str| prints(&env, &format!("anthill get epics --field 'epics[0].{field}'"));
    let line = r#"anthill set epics "epics[0].status" '"completed"' --project-id myapp"#;
    let said = env.sh(line);
    assert_eq!((said.code, said.stdout.as_str()), (0, ""), "{}", said.shown());
    assert_eq!(epic("status"), "completed");
    assert_eq!(epic("stories[0].id"), "story-001");

    let line = r#"anthill append epics "epics[0].stories" \
  '{"id": "story-003", "title": "Add password reset", "status": "pending", "points": 3}' \
  --project-id myapp"#;
    assert_eq!(env.sh(line).code, 0);
    let story =
        parse(r#"{"id": "story-003", "title": "Add password reset", "status": "pending", "points": 3}"#);
    assert_eq!(epic("stories[2]"), story);

    let line = r#"anthill set sprints "sprints[0].velocity" "25" --project-id myapp"#;
    assert_eq!(env.sh(line).code, 0);
    assert_eq!(prints(&env, "anthill get sprints --field 'sprints[0].velocity'"), 25);

    let epics = prints(&env, "anthill get epics");
    assert_eq!(epics["updated_at"], "2026-01-01T00:00:04.000Z", "every write renews the time");
    assert_eq!(epics["revision"], 2);
}
