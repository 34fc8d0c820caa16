//! The shapes, the schemas printed from them and the schemas of seed 001 give every document the same verdict.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use anthill_core::model::documents::*;
use anthill_core::model::shape::{Shape, Shaped, schema_document};
use jsonschema::{Draft, Validator};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::Union;
use proptest::test_runner::RngSeed;
use serde::Serialize;
use serde_json::{Map, Value, json};

struct Kind {
    word: &'static str,
    shape: &'static Shape,
    printed: Judge,
    seed: Option<Judge>,
    rewritten: fn(&Value) -> serde_json::Result<Value>,
}

/// A schema and its compiled form; compiling is slow, so each is compiled once.
struct Judge {
    schema: Value,
    validator: Validator,
}

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    vec![
        kind::<Config>("config"),
        kind::<Tools>("tools"),
        kind::<Triggers>("triggers"),
        kind::<Trusted>("trusted"),
        kind::<Epics>("epics"),
        kind::<Sprints>("sprints"),
        kind::<Team>("team"),
        kind::<Session>("session"),
        kind::<Messages>("messages"),
        kind::<Events>("events"),
        kind::<Hooks>("hooks"),
        kind::<Tasks>("tasks"),
        kind::<Message>("message"),
        seed_kind::<PmState>("pm_state"),
        seed_kind::<GroupStatus>("group_status"),
        seed_kind::<OrchestratorState>("orchestrator_state"),
        seed_kind::<DevToQa>("dev_to_qa"),
        seed_kind::<QaToTechlead>("qa_to_techlead"),
        seed_kind::<TechleadToDev>("techlead_to_dev"),
        kind::<ActiveAgents>("active_agents"),
        kind::<AgentResult>("agent_result"),
        kind::<WorkQueue>("work_queue"),
        kind::<CurrentSession>("current_session"),
        kind::<Metrics>("metrics"),
        kind::<Errors>("errors"),
        kind::<Backup>("backup"),
        kind::<Workflow>("workflow"),
        kind::<TaskGraph>("task_graph"),
        kind::<Queue>("queue"),
        kind::<Agents>("workers"),
    ]
});

fn kind<T: Shaped + Serialize>(word: &'static str) -> Kind {
    assert!(!T::ABOUT.is_empty(), "{word} says what it is");
    let printed = Judge::new(schema_document(word, T::ABOUT, T::SHAPE));
    let rewritten = |value: &Value| serde_json::to_value(serde_json::from_value::<T>(value.clone())?);
    Kind { word, shape: T::SHAPE, printed, seed: None, rewritten }
}

fn seed_kind<T: Shaped + Serialize>(word: &'static str) -> Kind {
    let schema = read(&format!("crates/core/tests/fixtures/v4/{word}.schema.json"));
    Kind { seed: Some(Judge::new(schema)), ..kind::<T>(word) }
}

fn kind_named(word: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.word == word).unwrap()
}

impl Judge {
    fn new(schema: Value) -> Judge {
        let options = jsonschema::options().with_draft(Draft::Draft7).should_validate_formats(false);
        let validator = options.build(&schema).unwrap();
        Judge { schema, validator }
    }

    fn is_valid(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }
}

fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn read(path: &str) -> Value {
    let text = fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

impl Kind {
    fn example(&self) -> Value {
        read(&format!("crates/core/tests/fixtures/seeds/{}.json", self.word))
    }

    fn schemas(&self) -> Vec<Value> {
        [Some(&self.printed), self.seed.as_ref()]
            .into_iter()
            .flatten()
            .map(|judge| judge.schema.clone())
            .collect()
    }

    /// Asserts that all judges agree on `value`, and returns what they say.
    fn fits(&self, value: &Value) -> bool {
        let value = &with_own_ids(self.word, value);
        let verdict = self.shape.check(value);
        assert_eq!(self.printed.is_valid(value), verdict.is_ok(), "{}: {verdict:?}: {value}", self.word);
        if let Some(seed) = &self.seed {
            let theirs = without_additions(value, &self.printed.schema, &seed.schema);
            let (ended, open) = without_open_end(self.word, &theirs);
            let fits = self.shape.check(&theirs);
            assert_eq!(seed.is_valid(&ended), fits.is_ok(), "{}: {fits:?}: {theirs}", self.word);
            assert!(fits.is_ok() || verdict.is_err(), "{}: {fits:?}: {value}", self.word);
            assert!(!open || !seed.is_valid(value), "{}: {value}", self.word);
        }
        if verdict.is_ok() {
            self.survives_rewriting(value);
        }
        verdict.is_ok()
    }

    fn survives_rewriting(&self, value: &Value) {
        let rewritten =
            (self.rewritten)(value).unwrap_or_else(|error| panic!("{}: {error}: {value}", self.word));
        assert_eq!(self.shape.check(&rewritten), Ok(()), "{}: {rewritten}", self.word);
    }
}

/// Gives every task and worker an id of its own, which we demand and a schema cannot.
fn with_own_ids(word: &str, value: &Value) -> Value {
    let mut value = value.clone();
    let list = match word {
        "queue" => value.get_mut("tasks"),
        "workers" => value.get_mut("agents"),
        _ => None,
    };
    for (number, item) in list.and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
        if let Some(Value::String(id)) = item.get_mut("id") {
            id.push_str(&format!("-{number}"));
        }
    }
    value
}

/// Removes the fields that our schema knows and the seed's does not: what is in them is ours to say.
fn without_additions(value: &Value, ours: &Value, seed: &Value) -> Value {
    match value {
        Value::Object(fields) if ours["properties"].is_object() && seed["properties"].is_object() => {
            let (ours, seed) = (&ours["properties"], &seed["properties"]);
            let theirs =
                fields.iter().filter(|(name, _)| ours.get(name).is_none() || seed.get(name).is_some());
            let inner = |(name, value): (&String, &Value)| {
                (name.clone(), without_additions(value, &ours[name], &seed[name]))
            };
            theirs.map(inner).collect()
        }
        Value::Object(fields) => {
            let (ours, seed) = (&ours["additionalProperties"], &seed["additionalProperties"]);
            fields.iter().map(|(name, value)| (name.clone(), without_additions(value, ours, seed))).collect()
        }
        Value::Array(items) => {
            items.iter().map(|item| without_additions(item, &ours["items"], &seed["items"])).collect()
        }
        other => other.clone(),
    }
}

/// Removes each `"end_time": null`, which we allow and the seed's schemas do not.
fn without_open_end(word: &str, value: &Value) -> (Value, bool) {
    fn close(object: &mut Map<String, Value>) -> bool {
        let open = object.get("end_time").is_some_and(Value::is_null);
        open && object.shift_remove("end_time").is_some()
    }
    let mut ended = value.clone();
    let open = match (word, &mut ended) {
        ("orchestrator_state", Value::Object(run)) => close(run),
        ("group_status", Value::Object(groups)) => {
            let entries = groups.values_mut().filter_map(Value::as_object_mut);
            entries.map(close).filter(|open| *open).count() > 0
        }
        _ => false,
    };
    (ended, open)
}

#[test]
fn examples_fit() {
    for kind in KINDS.iter() {
        assert!(kind.fits(&kind.example()), "{}", kind.word);
    }
}

#[test]
fn every_fixture_belongs_to_a_kind() {
    for entry in fs::read_dir(repository("crates/core/tests/fixtures/seeds")).unwrap() {
        let path = entry.unwrap().path();
        let word = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(KINDS.iter().any(|kind| kind.word == word), "{word}");
    }
}

#[test]
fn partial_items_of_the_seeds_command_lines_fit() {
    let check = |word: &str, value: Value| assert!(kind_named(word).fits(&value), "{word}: {value}");
    let story = json!({"id": "story-003", "title": "Add password reset", "status": "pending", "points": 3});
    check("epics", json!({"epics": [{"id": "epic-001", "stories": [story]}]}));
    let task = json!({"id": "task-story-003", "type": "implement_story", "story_id": "story-003",
        "title": "Add password reset", "status": "pending"});
    check("tasks", json!({"tasks": [task]}));
    let message = json!({"id": "msg-1737453600.25", "from": "session-abc123", "to": "session-xyz789",
        "type": "handoff_request", "payload": {"task_id": "task-001"}, "timestamp": "2025-01-21T10:00:00",
        "read": false});
    check("message", message);
    check("dev_to_qa", json!({"messages": []}));
    check("group_status", json!({}));
    check("queue", json!({"version": "1.0", "tasks": []}));
}

#[test]
fn an_open_end_time_is_our_only_difference_from_the_seed() {
    let run = kind_named("orchestrator_state");
    let groups = kind_named("group_status");
    let group = json!({"A": {"end_time": null}});
    for (kind, value) in [(run, run.example()), (groups, group)] {
        assert!(kind.fits(&value));
        assert!(!kind.seed.as_ref().unwrap().is_valid(&value));
    }
    assert!(!run.fits(&json!({"end_time": null})));
}

#[test]
fn judges_agree_on_every_small_change_of_the_examples() {
    for kind in KINDS.iter() {
        let example = kind.example();
        let verdicts: Vec<_> = edits(&example).iter().map(|edit| kind.fits(&edit.apply(&example))).collect();
        assert!(verdicts.contains(&true) && verdicts.contains(&false), "{}", kind.word);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn judges_agree_on_random_documents(cases in one_of_each_kind()) {
        for (kind, (document, spoils)) in KINDS.iter().zip(cases) {
            prop_assert!(kind.fits(&document), "{}: {}", kind.word, document);
            kind.fits(&spoils.iter().fold(document, |document, choice| spoil(&document, choice)));
        }
    }
}

fn one_of_each_kind() -> Vec<impl Strategy<Value = (Value, Vec<Index>)>> {
    KINDS
        .iter()
        .map(|kind| (Union::new(kind.schemas().iter().map(documents)), vec(any::<Index>(), 1..3)))
        .collect()
}

fn spoil(document: &Value, choice: &Index) -> Value {
    choice.get(&edits(document)).apply(document)
}

/// Generates values that are valid by `schema`, with the few keywords that the seed and we use.
fn documents(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(word) = schema.get("const") {
        return Just(word.clone()).boxed();
    }
    if let Some(words) = schema["enum"].as_array() {
        return select(words.clone()).boxed();
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return Union::new(choices.iter().map(documents)).boxed();
    }
    match schema["type"].as_str() {
        None => select(junk().to_vec()).boxed(),
        Some("null") => Just(Value::Null).boxed(),
        Some("string") => select(vec!["", "a", "...", "2026-01-31T09:30:00Z"]).prop_map_into().boxed(),
        Some("integer") => prop_oneof![any::<i64>().prop_map_into(), Just(json!(2.0))].boxed(),
        Some("number") => prop_oneof![any::<i64>().prop_map_into(), (-1e9..1e9).prop_map_into()].boxed(),
        Some("boolean") => any::<bool>().prop_map_into().boxed(),
        Some("array") => vec(documents(&schema["items"]), 0..3).prop_map_into().boxed(),
        Some("object") => objects(schema),
        Some(other) => panic!("no documents of type {other}"),
    }
}

fn objects(schema: &Value) -> BoxedStrategy<Value> {
    let Some(fields) = schema["properties"].as_object() else {
        let keys = select(vec!["", "A", "a.b"]).prop_map(str::to_owned);
        let entries = vec((keys, documents(&schema["additionalProperties"])), 0..3);
        return entries.prop_map(|entries| entries.into_iter().collect()).boxed();
    };
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let field = |(name, schema): (&String, &Value)| {
        let present = required.iter().any(|required| required == name);
        entries(name.clone(), documents(schema), present)
    };
    let fields: Vec<_> = fields.iter().map(field).collect();
    fields.prop_map(|entries| entries.into_iter().flatten().collect()).boxed()
}

fn entries(
    name: String,
    values: BoxedStrategy<Value>,
    present: bool,
) -> BoxedStrategy<Option<(String, Value)>> {
    let entry = values.prop_map(move |value| (name.clone(), value));
    if present { entry.prop_map(Some).boxed() } else { proptest::option::weighted(0.7, entry).boxed() }
}

/// One change at one place of a document.
struct Edit {
    pointer: String,
    change: Change,
}

enum Change {
    Replace(Value),
    Remove(String),
    Add,
}

impl Edit {
    fn apply(&self, document: &Value) -> Value {
        let mut changed = document.clone();
        let place = changed.pointer_mut(&self.pointer).unwrap();
        match &self.change {
            Change::Replace(value) => *place = value.clone(),
            Change::Remove(key) => drop(place.as_object_mut().unwrap().shift_remove(key)),
            Change::Add => place["unheard_of"] = json!([null]),
        }
        changed
    }
}

fn edits(document: &Value) -> Vec<Edit> {
    let mut edits = Vec::new();
    collect_edits(document, "", &mut edits);
    edits
}

fn collect_edits(value: &Value, pointer: &str, edits: &mut Vec<Edit>) {
    let mut edit = |change| edits.push(Edit { pointer: pointer.to_owned(), change });
    junk().into_iter().map(Change::Replace).for_each(&mut edit);
    let children: Vec<_> = match value {
        Value::Object(map) => {
            map.keys().cloned().map(Change::Remove).chain([Change::Add]).for_each(&mut edit);
            map.iter().map(|(key, child)| (key.replace('~', "~0").replace('/', "~1"), child)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, child)| (index.to_string(), child)).collect()
        }
        _ => Vec::new(),
    };
    for (step, child) in children {
        collect_edits(child, &format!("{pointer}/{step}"), edits);
    }
}

fn junk() -> [Value; 10] {
    [
        json!(null),
        json!(""),
        json!(1),
        json!(1.5),
        json!(1.0),
        json!(true),
        json!([]),
        json!({}),
        json!("complete"),
        json!([1]),
    ]
}

#[test]
#[expect(clippy::disallowed_methods, reason = "blessing rewrites the committed schemas")]
fn committed_schemas_are_current() {
    for kind in KINDS.iter() {
        let current = serde_json::to_string_pretty(&kind.printed.schema).unwrap() + "\n";
        let path = repository(&format!("schemas/{}.schema.json", kind.word));
        if std::env::var_os("ANTHILL_BLESS").is_some_and(|value| value == "1") {
            fs::write(&path, &current).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == current,
            "{} is stale; run the test with ANTHILL_BLESS=1 to rewrite it",
            path.display()
        );
    }
}
