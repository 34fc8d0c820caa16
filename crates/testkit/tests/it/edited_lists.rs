//! A list that somebody edited is opened item by item where few items differ. The whole document, which decides where there is
//! no index, must have decided the same.

use std::sync::Arc;
use std::time::Duration;

use anthill_core::model::diff;
use anthill_core::model::json;
use anthill_core::model::kind::Doc;
use anthill_core::model::listing::{Among, Marks};
use anthill_core::store::edits::{Edits, touched};
use anthill_core::store::file::addresses::DocFiles;
use anthill_core::store::file::{FileEngine, Options};
use anthill_core::store::{Engine, Revision, Transaction};
use anthill_testkit::conformance::entry;
use anthill_testkit::sim_fs::SimFs;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stores::{NORMAL, TINY, options};

const INDEX: &str = ".coordination/.anthill/index-tasks.json";
const TWIN: &str = ".coordination/.anthill/twin-tasks.json";

/// What somebody does to the queue; `at` says to which task.
#[derive(Debug, Clone)]
enum What {
    Describe(&'static str),
    Status(&'static str),
    Priority(u8),
    Needs(usize),
    Number(&'static str),
    Sort,
    Add,
    Remove,
    Move(usize),
    Double,
    Field(bool),
    Forget,
    Odd,
}

#[derive(Debug, Clone)]
enum Form {
    Ours,
    Pretty,
    Dense,
    /// Cut off, or with one byte that is wrong.
    Cut(prop::sample::Index),
    Spoiled(prop::sample::Index),
    /// Strings spelled as nobody would.
    Escaped,
}

#[derive(Debug, Clone)]
enum Step {
    Commit(usize, What),
    /// An edit of what the file was so many commits ago; then a commit, or another edit.
    Edit {
        age: usize,
        whats: Vec<(usize, What)>,
        form: Form,
        commit: bool,
    },
    LoseTwin,
}

fn whats() -> impl Strategy<Value = What> {
    prop_oneof![
        6 => prop::sample::select(vec!["", "other words", "é \u{1f600} \"quoted\"\n", "a description that is so long that it takes quite some room of its own in the file, and then some more"]).prop_map(What::Describe),
        4 => prop::sample::select(vec!["available", "created", "claimed", "done", "failed"]).prop_map(What::Status),
        2 => (0..9u8).prop_map(What::Priority),
        1 => (0..12usize).prop_map(What::Needs),
        1 => prop::sample::select(vec!["1e2", "100.0", "-0.0", "12345678901234567890123"]).prop_map(What::Number),
        1 => Just(What::Sort),
        2 => Just(What::Add),
        2 => Just(What::Remove),
        1 => (0..12usize).prop_map(What::Move),
        1 => Just(What::Double),
        1 => any::<bool>().prop_map(What::Field),
        1 => Just(What::Forget),
        1 => Just(What::Odd),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let form = prop_oneof![
        4 => Just(Form::Ours),
        2 => Just(Form::Pretty),
        1 => Just(Form::Dense),
        1 => any::<prop::sample::Index>().prop_map(Form::Cut),
        1 => any::<prop::sample::Index>().prop_map(Form::Spoiled),
        1 => Just(Form::Escaped),
    ];
    let age = prop_oneof![3 => Just(0), 2 => 0..5usize];
    let edit = (age, vec((0..12usize, whats()), 0..4), form, prop::bool::weighted(0.8));
    let step = prop_oneof![
        2 => (0..12usize, whats()).prop_map(|(at, what)| Step::Commit(at, what)),
        4 => edit.prop_map(|(age, whats, form, commit)| Step::Edit { age, whats, form, commit }),
        1 => Just(Step::LoseTwin),
    ];
    vec(step, 1..12)
}

fn task(id: &str) -> Value {
    json!({"id": id, "description": format!("do {id}"), "status": "available", "dependencies": [], "context": {"files": [format!("src/{id}")]}})
}

fn change(queue: &mut Value, at: usize, what: &What, new: &str) {
    let tasks = queue["tasks"].as_array_mut().unwrap();
    let at = at % tasks.len().max(1);
    match (what, at < tasks.len()) {
        (What::Field(before), _) => {
            let fields = queue.as_object_mut().unwrap();
            fields.shift_remove("note");
            let place = if *before { 0 } else { fields.len() };
            fields.shift_insert(place, "note".into(), new.into());
        }
        (What::Forget, _) => drop(queue.as_object_mut().unwrap().shift_remove("revision")),
        (What::Add, _) => tasks.insert(at, task(new)),
        (_, false) => {}
        (What::Describe(text), _) => tasks[at]["description"] = (*text).into(),
        (What::Status(word), _) => tasks[at]["status"] = (*word).into(),
        (What::Priority(number), _) => tasks[at]["priority"] = (*number).into(),
        (What::Needs(other), _) => {
            let id = tasks[*other % tasks.len()]["id"].clone();
            tasks[at]["dependencies"] = json!([id]);
        }
        (What::Number(text), _) => tasks[at]["mine"] = json::parse(text.as_bytes()).unwrap(),
        (What::Sort, _) => tasks[at].as_object_mut().unwrap().sort_keys(),
        (What::Remove, _) => drop(tasks.remove(at)),
        (What::Move(to), _) => {
            let item = tasks.remove(at);
            tasks.insert(*to % (tasks.len() + 1), item);
        }
        (What::Double, _) => tasks.push(tasks[at].clone()),
        (What::Odd, _) => tasks[at]["id"] = json!("odd id; $(x)"),
    }
}

/// A store, and whether its lists are read as a whole.
struct Store {
    fs: SimFs,
    engine: FileEngine,
    whole: bool,
}

impl Store {
    fn new(segment_bytes: u64, whole: bool) -> Store {
        let fs = SimFs::new();
        let options = Options { patience: Duration::ZERO, ..options(segment_bytes) };
        let engine = FileEngine::new(Arc::new(fs.clone()), Arc::new(fs.clone()), options);
        Store { fs, engine, whole }
    }

    fn begin(&self) -> Box<dyn Transaction + '_> {
        if self.whole {
            let _ = anthill_core::store::file::fs::Fs::remove(&self.fs, INDEX);
        }
        self.engine.begin(&[&Doc::queue().room]).unwrap()
    }

    fn file(&self) -> Vec<u8> {
        self.fs.get(&Doc::queue().path()).unwrap()
    }

    /// What a commit finds and answers, and what it leaves. `at` is the task that it changes.
    fn commit(&self, at: usize, what: &What, new: &str) -> Result<Told, String> {
        let queue = Doc::queue();
        let mut transaction = self.begin();
        let edits = transaction.edits(&queue).map_err(|error| error.to_string())?;
        let revision = transaction.revision(&queue).unwrap();
        let best = transaction.best(&queue, None, &Marks::default()).unwrap();
        let active = transaction.find(&queue, Among::Active).unwrap();
        let counts = transaction.counts(&queue).unwrap();
        let id = if matches!(what, What::Add) { new.to_owned() } else { format!("t{at}") };
        let item = transaction.item(&queue, &id).unwrap();
        let parts = edits.touched.clone();
        let mut item = match item {
            Some(item) => item,
            None => task(&id),
        };
        match what {
            What::Status(word) => item["status"] = (*word).into(),
            _ => item["description"] = new.into(),
        }
        transaction.put_item(&queue, &id, item).map_err(|error| error.to_string())?;
        let warned = transaction.commit(&entry("test")).map_err(|error| error.to_string())?.warnings.len();
        let found = self.engine.read(&queue).unwrap().unwrap();
        let answers = json!({"best": best.map(|(_, item)| item), "active": active, "counts": counts, "now": found.value});
        let answers = format!("{} {revision} {} {warned}", json::dense(&answers), found.revision);
        Ok(Told { edits: Edits { touched: None, ..edits }, parts, answers })
    }

    /// What the log says, and what the journal makes of it.
    fn log(&self) -> Vec<Revision> {
        let mut log = self.engine.log(&Doc::queue().room).unwrap();
        // How a commit of ours is written down differs; an edit is the same.
        log.iter_mut().filter(|line| line.op == "test").for_each(|line| line.changes.clear());
        log
    }
}

#[derive(Debug)]
struct Told {
    edits: Edits,
    parts: Option<Vec<anthill_core::store::edits::Touched>>,
    answers: String,
}

fn written(value: &Value, form: &Form) -> Vec<u8> {
    let ours = || {
        let text = String::from_utf8(json::render(value)).unwrap();
        text.into_bytes()
    };
    match form {
        Form::Ours | Form::Pretty => ours(),
        Form::Dense => json::dense(value).into_bytes(),
        Form::Cut(at) => {
            let mut bytes = ours();
            bytes.truncate(at.index(bytes.len()));
            bytes
        }
        Form::Spoiled(at) => {
            let mut bytes = ours();
            let at = at.index(bytes.len());
            bytes[at] ^= 2;
            bytes
        }
        Form::Escaped => json::dense(value).replace("do t", "do \\u0074").into_bytes(),
    }
}

/// Puts an edited text of an item into the file as it was, as an editor does; else the whole is written anew.
fn edited(file: &[u8], value: &Value, form: &Form) -> Vec<u8> {
    let before = json::parse(file).unwrap();
    let (Form::Ours, Some(old), Some(new)) = (form, before["tasks"].as_array(), value["tasks"].as_array())
    else {
        return written(value, form);
    };
    let mut text = String::from_utf8(file.to_vec()).unwrap();
    for (old, new) in old.iter().zip(new) {
        let words = |item: &Value| format!("\"description\": {}", item["description"]);
        if old["id"] == new["id"] && old["description"] != new["description"] {
            text = text.replacen(&words(old), &words(new), 1);
        }
    }
    match json::parse(text.as_bytes()) {
        Ok(found) if found == *value => text.into_bytes(),
        _ => written(value, form),
    }
}

/// Runs the steps in both ways. Returns how many edits were taken in item by item.
fn agree(steps: &[Step], segment_bytes: u64) -> usize {
    let stores = [Store::new(segment_bytes, false), Store::new(segment_bytes, true)];
    for store in &stores {
        let mut transaction = store.begin();
        let tasks: Vec<_> = (0..10).map(|number| task(&format!("t{number}"))).collect();
        transaction.put(&Doc::queue(), json!({"version": "1.0", "tasks": tasks})).unwrap();
        transaction.commit(&entry("test")).unwrap();
    }
    let (mut past, mut parts) = (vec![stores[0].file()], 0);
    for (number, step) in steps.iter().enumerate() {
        let (new, commit) = (format!("new-{number}"), (number % 10, What::Describe("")));
        let (at, what) = match step {
            Step::LoseTwin => {
                let _ = anthill_core::store::file::fs::Fs::remove(&stores[0].fs, TWIN);
                continue;
            }
            Step::Commit(at, what) => (*at, what),
            Step::Edit { age, whats, form, commit: commits } => {
                let file = &past[past.len().saturating_sub(age + 1)];
                let mut value = json::parse(file).unwrap();
                for (turn, (at, what)) in whats.iter().enumerate() {
                    change(&mut value, *at, what, &format!("hand-{number}-{turn}"));
                }
                let bytes = edited(file, &value, form);
                stores.iter().for_each(|store| store.fs.put(&Doc::queue().path(), &bytes));
                if !commits {
                    continue;
                }
                (commit.0, &commit.1)
            }
        };
        let [fast, whole] = [0, 1].map(|which| stores[which].commit(at, what, &new));
        match (fast, whole) {
            (Ok(fast), Ok(whole)) => {
                assert_eq!(fast.edits, whole.edits, "{step:?}");
                assert_eq!(fast.answers, whole.answers, "{step:?}");
                if let Some(found) = fast.parts {
                    parts += 1;
                    assert_eq!(found, touched_by(&past, &whole.edits), "{step:?}");
                }
            }
            (fast, whole) => {
                assert_eq!(fast.map(|_| ()), whole.map(|_| ()), "{step:?}");
                // Somebody puts the file back.
                stores.iter().for_each(|store| store.fs.put(&Doc::queue().path(), past.last().unwrap()));
                continue;
            }
        }
        let [fast, whole] = [0, 1].map(|which| json::parse(&stores[which].file()).unwrap());
        assert!(json::identical(&fast, &whole), "{step:?}");
        assert_eq!(stores[0].log(), stores[1].log(), "{step:?}");
        past.push(stores[0].file());
    }
    assert_eq!(replayed(&stores[0]), replayed(&stores[1]));
    parts
}

fn touched_by(past: &[Vec<u8>], edits: &Edits) -> Vec<anthill_core::store::edits::Touched> {
    let before = json::parse(past.last().unwrap()).unwrap();
    let mut after = before.clone();
    diff::apply(&mut after, &edits.changes).unwrap();
    touched(Doc::queue().kind, &before, &after)
}

/// What the journal says that the document was.
fn replayed(store: &Store) -> Vec<String> {
    let mut states = Vec::new();
    store.engine.replay(&Doc::queue(), &mut |_, value| states.extend(value.map(json::dense))).unwrap();
    states
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_edit_is_the_same_item_by_item_and_as_a_whole(steps in steps()) {
        agree(&steps, NORMAL);
    }

    #[test]
    fn and_while_segments_change(steps in steps()) {
        agree(&steps, TINY);
    }
}

/// Otherwise the two tests above would compare one way with itself.
#[test]
fn few_items_are_taken_in_without_the_others() {
    let edit = |age: usize, whats: &[(usize, What)], form| Step::Edit {
        age,
        whats: whats.to_vec(),
        form,
        commit: true,
    };
    let words = What::Describe("other words");
    let steps = [
        edit(0, &[(3, words.clone())], Form::Ours),
        edit(0, &[(3, What::Describe("")), (7, words)], Form::Pretty),
        edit(0, &[(4, What::Add)], Form::Dense),
        edit(0, &[(2, What::Remove)], Form::Pretty),
        edit(0, &[(2, What::Status("done"))], Form::Escaped),
        Step::Commit(5, What::Status("claimed")),
        Step::Commit(6, What::Describe("")),
        edit(2, &[(8, What::Describe("stale"))], Form::Ours),
        edit(1, &[], Form::Pretty),
    ];
    assert_eq!(agree(&steps, NORMAL), 7);
}

/// Fields in another order are a change of the whole document, which has all items.
#[test]
fn what_changes_the_whole_document_has_every_item() {
    let edit = |age: usize, whats: &[(usize, What)]| Step::Edit {
        age,
        whats: whats.to_vec(),
        form: Form::Ours,
        commit: true,
    };
    let steps = [
        edit(0, &[(0, What::Field(false))]),
        Step::Commit(0, What::Describe("")),
        Step::Commit(0, What::Describe("")),
        edit(0, &[(0, What::Forget)]),
        edit(1, &[]),
    ];
    agree(&steps, TINY);
}
