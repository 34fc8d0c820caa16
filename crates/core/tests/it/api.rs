//! Every use case, through the door that speaks JSON: its example runs, and fits its schemas.

use std::collections::HashSet;
use std::sync::Arc;

use anthill_core::api::registry::{Performed, USE_CASES, UseCase};
use anthill_core::api::{Caller, Effect, Surroundings};
use anthill_core::error::Code;
use anthill_core::model::hint::Plain;
use anthill_core::model::json;
use anthill_core::model::shape::{Shape, schema_document};
use anthill_core::ops::{Actor, Error};
use anthill_core::store::Engine;
use anthill_core::store::file::real_fs::RealFs;
use anthill_core::store::file::{FileEngine, Options};
use anthill_core::store::memory::MemoryEngine;
use jiff::Timestamp;
use jsonschema::Draft;
use serde_json::{Value, json as value};

/// What has to happen before some examples, beside the examples before them.
const BEFORE: &[(&str, &[(&str, &str)])] = &[
    ("task.fail", &[("task.claim", r#"{"worker": "w1"}"#)]),
    ("task.release", &[("task.claim", r#"{"worker": "w1"}"#)]),
    (
        "session.handoff",
        &[
            ("session.start", r#"{"id": "s2"}"#),
            (
                "document.set",
                r#"{"document": {"kind": "tasks", "session_id": "s1"}, "path": "tasks", "value": [{"id": "task-001", "title": "Try it", "status": "pending"}]}"#,
            ),
        ],
    ),
    (
        "agent.result",
        &[(
            "document.set",
            r#"{"document": {"kind": "agent_result", "agent_id": "agent-1"}, "path": ".", "value": {"version": "1.0.0", "agent_id": "agent-1", "type": "reviewer", "status": "completed", "findings": []}}"#,
        )],
    ),
    (
        "metrics.show",
        &[(
            "document.set",
            r#"{"document": {"kind": "metrics"}, "path": ".", "value": {"version": "1.0.0", "sessions": []}}"#,
        )],
    ),
];

/// Examples of what the story has no occasion for.
const WITHOUT_OCCASION: &[(&str, Code)] = &[
    ("document.merge", Code::NotFound),
    ("error.resolve", Code::NotFound),
    ("trust.remove", Code::NotFound),
    ("workflow.adopt", Code::Invalid),
];

struct Nowhere;

impl Surroundings for Nowhere {
    fn mark(&self) -> String {
        "somebody".into()
    }
}

fn perform(engine: &dyn Engine, name: &str, request: Value) -> Result<Performed, Error> {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let actor =
        Actor { clock: Arc::new(now), session: None, acting: None, user: "tester".into(), door: &Plain };
    let case = UseCase::find(name).unwrap_or_else(|| panic!("{name} is a use case"));
    (case.perform)(&Caller { engine, actor: &actor, around: &Nowhere }, request)
}

/// Says how a value does not fit a shape, or the schema that is printed from it.
fn misfit(shape: &Shape, value: &Value) -> Option<String> {
    let misfit = shape.check(value).err().map(|misfit| format!("{misfit}: {value}"));
    let schema = schema_document("it", "", shape);
    let options = jsonschema::options().with_draft(Draft::Draft7).should_validate_formats(false);
    let is_valid = options.build(&schema).unwrap().is_valid(value);
    assert_eq!(is_valid, misfit.is_none(), "shape and schema agree: {value}");
    misfit
}

/// Performs all examples and insists on what is said of them.
fn play(engine: &dyn Engine) {
    let wrong: Vec<_> = USE_CASES
        .iter()
        .filter_map(|case| Some(format!("{}: {}", case.name, fault(engine, case)?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn fault(engine: &dyn Engine, case: &UseCase) -> Option<String> {
    let before = BEFORE.iter().filter(|(name, _)| *name == case.name);
    for (name, request) in before.flat_map(|(_, before)| *before) {
        if let Err(error) = perform(engine, name, serde_json::from_str(request).unwrap()) {
            return Some(format!("before it, {name}: {error}"));
        }
    }
    let request: Value = serde_json::from_str(case.example).unwrap();
    if let Some(misfit) = misfit(case.request, &request) {
        return Some(misfit);
    }
    let refused = WITHOUT_OCCASION.iter().find(|(name, _)| *name == case.name).map(|(_, code)| *code);
    match (perform(engine, case.name, request), refused) {
        (Ok(done), None) => misfit(case.answer, &done.answer),
        (Err(error), Some(code)) if error.code() == code => None,
        (Ok(_), Some(_)) => Some("it can be performed".into()),
        (Err(error), _) => Some(error.to_string()),
    }
}

#[test]
fn the_examples_are_a_story_in_memory() {
    play(&MemoryEngine::default());
}

#[test]
fn the_examples_are_a_story_on_files() {
    let dir = tempfile::tempdir().unwrap();
    let fs = |name: &str| Arc::new(RealFs::new(dir.path().join(name)));
    play(&FileEngine::new(fs("home"), fs("project"), Options::default()));
}

#[test]
fn requests_are_read_strictly() {
    let engine = MemoryEngine::default();
    for case in USE_CASES {
        let mut request: Value = serde_json::from_str(case.example).unwrap();
        request["no_such_field"] = true.into();
        let error = perform(&engine, case.name, request).unwrap_err().to_string();
        assert_eq!(error, "there is no field `no_such_field`", "{}", case.name);
        assert!(perform(&engine, case.name, value!([])).is_err(), "{}", case.name);
        assert_eq!(case.request.json_schema()["additionalProperties"], false);
    }
    let wrong = perform(&engine, "task.show", value!({"id": "../x"})).unwrap_err().to_string();
    assert!(wrong.starts_with("`id`: \"../x\" is not a valid id"), "{wrong}");
    let odd = json::parse(br#"{"document": {"kind": "config"}, "path": "x", "value": 1e400}"#).unwrap();
    let set = perform(&engine, "document.set", odd).unwrap();
    assert_eq!(json::dense(&set.answer["value"]), "1e400", "numbers are spelt as they were");
    let wrong = perform(&engine, "task.claim", value!({"lease": -1})).unwrap_err().to_string();
    assert_eq!(wrong, "`lease`: expected a number of seconds, such as 5 or 0.5");
}

#[test]
fn use_cases_have_names_and_words_of_their_own() {
    let (mut names, mut commands) = (HashSet::new(), HashSet::new());
    for case in USE_CASES {
        assert!(names.insert(case.name), "{} is there twice", case.name);
        assert!(case.command.is_empty() || commands.insert(case.command), "{} is there twice", case.command);
        let words: Vec<_> = case.name.split('.').collect();
        assert!(words.len() == 2 && words.iter().all(|word| word.bytes().all(|b| b.is_ascii_lowercase())));
        assert!(case.about.ends_with('.'), "{} says what it does", case.name);
        let Shape::Closed(fields) = case.request else { panic!("{} is closed", case.name) };
        for field in *fields {
            assert!(!field.about.is_empty(), "{} says what `{}` is", case.name, field.name);
        }
    }
}

/// Whoever only reads must not be able to change anything: doors go by this.
#[test]
fn what_reads_changes_nothing() {
    let engine = MemoryEngine::default();
    play(&engine);
    let commits = || engine.commits_since(&Default::default(), usize::MAX).unwrap().commits.len();
    for case in USE_CASES.iter().filter(|case| case.effect == Effect::Reads) {
        let before = commits();
        // What it is about may be gone by now.
        let _ = perform(&engine, case.name, serde_json::from_str(case.example).unwrap());
        assert_eq!(commits(), before, "{}", case.name);
    }
}
