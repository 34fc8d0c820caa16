//! Long histories of a long list: items that come, grow and change, files that others reformat, edit and spoil.
//! Whatever the index and the twin are worth, answers and file are those of the reference.

use std::collections::HashMap;

use anthill_core::model::hint::Plain;
use anthill_core::model::kind::Doc;
use anthill_core::model::listing::{Among, Listing, Marks, Most, Overview, Stage};
use anthill_core::model::time::{self, Moment};
use anthill_core::model::{json, marks};
use anthill_core::store::file::FileEngine;
use anthill_core::store::file::addresses::{DocFiles, RoomFiles};
use anthill_core::store::file::fs::{Access, Fs, Handle};
use anthill_core::store::memory::MemoryEngine;
use anthill_core::store::{Engine, Rank, Reading, Transaction, Upkeep, engine};
use anthill_core::view::board;
use anthill_testkit::conformance::entry;
use anthill_testkit::sim_fs::SimFs;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::sample::Index as Pick;
use serde_json::{Value, json};

use crate::stores::{NORMAL, TINY, hasty, real, sim_fs, simulated, temp_dir};

const FILES: [&str; 4] = ["src/a.rs", "src/b.rs", "src", "docs/*.md"];
const CAPABILITIES: [&str; 2] = ["gpu", "net"];
const STATUSES: [&str; 7] = ["created", "available", "claimed", "in_progress", "done", "failed", "cancelled"];

/// Something that happens to the queue or to its files.
#[derive(Debug, Clone)]
enum Step {
    /// Puts in one transaction, which is committed or dropped.
    Put(Vec<Put>, bool),
    /// Some items go, mostly the last one, and others are put in the same transaction.
    Take(Vec<Option<Pick>>, Vec<Put>, bool),
    /// The whole document in another order, with some items gone, and with another field before or behind the list.
    Whole {
        turn: Pick,
        gone: u8,
        field: Option<bool>,
    },
    /// The same content with other white space.
    Reformat(Format, Save),
    Edit(Pick, Put, Save),
    Index(Spoil),
    Twin(Spoil),
    /// A reader keeps the file open, or lets it go.
    Hold(bool),
    Reopen,
    LoseHead,
}

#[derive(Debug, Clone)]
struct Put {
    /// Which item; else a new one.
    item: Option<Pick>,
    state: usize,
    text: usize,
    /// For a new item: how it ranks, and what it needs.
    class: Option<i64>,
    age: i64,
    needs: Vec<Pick>,
    files: u8,
    lease: Option<(bool, i64)>,
    /// When it ended, and when it is to be tried again.
    ended: Option<i64>,
    retry: Option<i64>,
    /// Rarely: another rank, other needs, a need of what is not there.
    odd: u8,
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Compact,
    Tabs,
    Wide,
    /// Some of the white space is other white space: one of so many pieces.
    Stirred {
        seed: u64,
        one_of: u64,
    },
}

#[derive(Debug, Clone, Copy)]
enum Save {
    InPlace,
    RenameOver,
}

#[derive(Debug, Clone)]
enum Spoil {
    Gone,
    Cut(Pick),
    Flip(Pick),
    Zeroed(Pick),
    /// An older copy of itself, if there is one.
    Old,
}

fn texts() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..60_usize, 4 => 300..700_usize, 1 => 1_500..4_000_usize]
}

fn put() -> impl Strategy<Value = Put> {
    let lease = prop::option::of((any::<bool>(), -5..5_i64));
    let needs = prop::collection::vec(any::<Pick>(), 0..3);
    let item = prop::option::weighted(0.7, any::<Pick>());
    let rank = (prop::option::weighted(0.8, 1..4_i64), 0..3_i64);
    let times = (prop::option::of(0..9_i64), prop::option::weighted(0.2, -3..3_i64));
    (item, 0..STATUSES.len(), texts(), rank, needs, any::<[u8; 2]>(), lease, times, any::<u8>()).prop_map(
        |(item, state, text, (class, age), needs, files, lease, (ended, retry), odd)| {
            let files = files[0] & files[1] & 15;
            Put { item, state, text, class, age, needs, files, lease, ended, retry, odd }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let save = || prop_oneof![Just(Save::InPlace), Just(Save::RenameOver)];
    let format = prop_oneof![
        1 => Just(Format::Compact),
        1 => Just(Format::Tabs),
        1 => Just(Format::Wide),
        5 => (any::<u64>(), prop_oneof![Just(1), Just(4), Just(40)])
            .prop_map(|(seed, one_of)| Format::Stirred { seed, one_of }),
    ];
    let spoil = || {
        prop_oneof![
            Just(Spoil::Gone),
            any::<Pick>().prop_map(Spoil::Cut),
            any::<Pick>().prop_map(Spoil::Flip),
            any::<Pick>().prop_map(Spoil::Zeroed),
            Just(Spoil::Old),
        ]
    };
    prop_oneof![
        24 => (prop::collection::vec(put(), 1..5), prop::bool::weighted(0.85))
            .prop_map(|(puts, commit)| Step::Put(puts, commit)),
        8 => (
            prop::collection::vec(prop::option::weighted(0.3, any::<Pick>()), 1..4),
            prop::collection::vec(put(), 0..3),
            prop::bool::weighted(0.85),
        )
            .prop_map(|(taken, puts, commit)| Step::Take(taken, puts, commit)),
        1 => (any::<Pick>(), any::<[u8; 2]>(), prop::option::of(any::<bool>()))
            .prop_map(|(turn, gone, field)| Step::Whole { turn, gone: gone[0] & gone[1], field }),
        4 => (format, save()).prop_map(|(format, save)| Step::Reformat(format, save)),
        1 => (any::<Pick>(), put(), save()).prop_map(|(pick, put, save)| Step::Edit(pick, put, save)),
        2 => spoil().prop_map(Step::Index),
        2 => spoil().prop_map(Step::Twin),
        2 => any::<bool>().prop_map(Step::Hold),
        1 => Just(Step::Reopen),
        1 => Just(Step::LoseHead),
    ]
}

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn moment() -> Moment {
    Moment { at: now(), boot: None }
}

/// The file engine, its disk, and the reference.
struct World {
    fs: SimFs,
    engine: FileEngine,
    segment_bytes: u64,
    memory: MemoryEngine,
    made: usize,
    /// Whether somebody edited the file since the last commit.
    edited: bool,
    held: Option<Box<dyn Handle>>,
    olds: [Option<Vec<u8>>; 2],
}

impl World {
    fn new(exchange: bool, leases: bool, segment_bytes: u64) -> World {
        let fs = sim_fs(exchange);
        fs.set_leases_supported(leases);
        let engine = simulated(&fs, &fs, hasty(segment_bytes));
        let memory = MemoryEngine::default();
        let (held, olds) = (None, [None, None]);
        let world = World { fs, engine, segment_bytes, memory, made: 0, edited: false, held, olds };
        world.commit_on_both(|transaction| {
            transaction.put(&Doc::queue(), Doc::queue().default(now())).unwrap();
        });
        world
    }

    fn commit_on_both(&self, act: impl Fn(&mut dyn Transaction)) {
        let engines: [&dyn Engine; 2] = [&self.engine, &self.memory];
        for engine in engines {
            let mut transaction = engine.begin(&[&Doc::queue().room]).unwrap();
            act(&mut *transaction);
            assert_eq!(transaction.commit(&entry("test")).unwrap().warnings, []);
        }
    }

    fn value(&self) -> Value {
        self.memory.read(&Doc::queue()).unwrap().unwrap().value
    }

    fn hidden(name: &str) -> String {
        format!("{}/{name}-tasks.json", Doc::queue().room.hidden())
    }

    fn act(&mut self, step: &Step) {
        match step {
            Step::Put(puts, commit) => self.put(puts, *commit),
            Step::Take(taken, puts, commit) => self.take_and_put(taken, puts, *commit),
            Step::Whole { turn, gone, field } => {
                let value = self.turned(*turn, *gone, *field);
                self.commit_on_both(|transaction| transaction.put(&Doc::queue(), value.clone()).unwrap());
                self.edited = false;
            }
            Step::Reformat(format, save) => {
                let bytes = self.fs.get(&Doc::queue().path()).unwrap();
                let other = reformat(&bytes, *format);
                assert!(json::identical(&json::parse(&other).unwrap(), &json::parse(&bytes).unwrap()));
                self.save(*save, &other);
            }
            Step::Edit(pick, put, save) => self.edit(*pick, put, *save),
            Step::Index(how) => self.spoil(0, how),
            Step::Twin(how) => self.spoil(1, how),
            Step::Hold(hold) => {
                let open = || self.fs.open(&Doc::queue().path(), Access::Read).unwrap();
                self.held = if *hold { open() } else { None };
            }
            Step::Reopen => self.engine = simulated(&self.fs, &self.fs, hasty(self.segment_bytes)),
            // Without it an edit cannot always be told from what a crash leaves.
            Step::LoseHead if self.edited => {}
            Step::LoseHead => {
                self.fs.remove(&format!("{}/head.json", Doc::queue().room.hidden())).unwrap();
            }
        }
    }

    fn put(&mut self, puts: &[Put], commit: bool) {
        self.take_and_put(&[], puts, commit);
    }

    fn take_and_put(&mut self, taken: &[Option<Pick>], puts: &[Put], commit: bool) {
        let queue = Doc::queue();
        let is_empty = engine::items(queue.kind, &self.value()).is_empty();
        if puts.is_empty() && (taken.is_empty() || is_empty) {
            return;
        }
        let mut file = self.engine.begin(&[&queue.room]).unwrap();
        let mut memory = self.memory.begin(&[&queue.room]).unwrap();
        let mut made = self.made;
        let mut value = memory.get(&queue).unwrap().unwrap().clone();
        let mut gone = Vec::new();
        for pick in taken {
            let items = value["tasks"].as_array_mut().unwrap();
            let Some(last) = items.len().checked_sub(1) else { break };
            let item = items.remove(pick.map_or(last, |pick| pick.index(last + 1)));
            gone.push(item["id"].as_str().unwrap().to_owned());
        }
        // All at once, or one after the other.
        for some in gone.chunks(if puts.len().is_multiple_of(2) { 1 } else { 9 }) {
            let ids: Vec<_> = some.iter().map(String::as_str).collect();
            file.remove_items(&queue, &ids).unwrap();
        }
        for put in puts {
            let item = item_of(put, &value, &mut made);
            let id = item["id"].as_str().unwrap().to_owned();
            file.put_item(&queue, &id, item.clone()).unwrap();
            put_into(&mut value, item);
            // A look in between must not change what comes after.
            if put.odd & 7 == 0 {
                memory.put(&queue, value.clone()).unwrap();
                compare(&mut *file, &mut *memory);
            }
        }
        memory.put(&queue, value).unwrap();
        compare(&mut *file, &mut *memory);
        if commit {
            assert_eq!(file.commit(&entry("test")).unwrap().warnings, []);
            memory.commit(&entry("test")).unwrap();
            (self.made, self.edited) = (made, false);
        }
    }

    fn turned(&self, turn: Pick, gone: u8, field: Option<bool>) -> Value {
        let mut value = self.value();
        let items = value["tasks"].as_array_mut().unwrap();
        if !items.is_empty() {
            let middle = turn.index(items.len());
            items.rotate_left(middle);
        }
        let mut number = 0;
        items.retain(|_| {
            number += 1;
            gone & (1 << (number % 8)) == 0
        });
        match field {
            Some(true) => value["behind"] = json!({"list": [1, 2, {}], "text": "x".repeat(turn.index(99))}),
            Some(false) => {
                let fields = value.as_object().unwrap().iter();
                let fields = fields.map(|(key, value)| (key.clone(), value.clone()));
                let first = [("before".to_owned(), json!([turn.index(99), {"a": null}]))];
                value = first.into_iter().chain(fields.filter(|(key, _)| key != "before")).collect();
            }
            None => {}
        }
        value
    }

    /// Changes one item, or the frame, as a person does: for the reference that is a commit.
    fn edit(&mut self, pick: Pick, put: &Put, save: Save) {
        let mut value = self.value();
        let put = Put { item: put.item.map(|_| pick), ..put.clone() };
        let item = item_of(&put, &value, &mut self.made);
        put_into(&mut value, item);
        let mut memory = self.memory.begin(&[&Doc::queue().room]).unwrap();
        memory.put(&Doc::queue(), value).unwrap();
        memory.commit(&entry("edit")).unwrap();
        self.save(save, &json::render(&self.value()));
        self.edited = true;
    }

    fn save(&self, save: Save, bytes: &[u8]) {
        let path = Doc::queue().path();
        match save {
            Save::InPlace => self.fs.put(&path, bytes),
            Save::RenameOver => {
                self.fs.write_new(&format!("{path}.swp"), bytes).unwrap();
                self.fs.rename(&format!("{path}.swp"), &path).unwrap();
            }
        }
    }

    fn spoil(&mut self, which: usize, how: &Spoil) {
        let path = World::hidden(["index", "twin"][which]);
        let Some(mut bytes) = self.fs.get(&path).filter(|bytes| !bytes.is_empty()) else { return };
        let old = self.olds[which].replace(bytes.clone());
        match how {
            Spoil::Gone => {
                self.fs.remove(&path).unwrap();
                return;
            }
            Spoil::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Spoil::Flip(at) => {
                let at = at.index(bytes.len() * 8);
                bytes[at / 8] ^= 1 << (at % 8);
            }
            Spoil::Zeroed(at) => {
                let start = at.index(bytes.len()) / 1024 * 1024;
                let end = bytes.len().min(start + 1024);
                bytes[start..end].fill(0);
            }
            Spoil::Old => bytes = old.unwrap_or_default(),
        }
        self.fs.put(&path, &bytes);
    }

    /// Compares everything with the reference.
    fn check(&self) {
        let queue = Doc::queue();
        let (found, expected) = (self.engine.read(&queue).unwrap(), self.memory.read(&queue).unwrap());
        assert!(found == expected, "read {}\nnot  {}", short(&found), short(&expected));
        let bytes = self.fs.get(&queue.path()).unwrap();
        assert!(json::parse(&bytes).unwrap() == self.value(), "the file differs");
        let mut memory = self.memory.begin(&[&queue.room]).unwrap();
        if let Some(mut file) = self.engine.browse(&queue.room).unwrap() {
            compare(&mut *file, &mut *memory);
        }
        let (document, most) = (self.value(), |ready, waiting, done| Most { ready, waiting, done });
        // One after the other: together they would take longer than all the rest.
        match document["revision"].as_u64().unwrap() % 4 {
            0 => compare_texts(&self.engine, &document),
            1 => compare_overviews(&self.engine, &document, most(2, 1, 3)),
            2 => compare_overviews(&self.engine, &document, most(1000, 0, 8)),
            _ => compare_overviews(&self.engine, &document, board::MOST),
        }
        let mut file = self.engine.begin(&[&queue.room]).unwrap();
        compare(&mut *file, &mut *memory);
    }
}

fn put_into(document: &mut Value, item: Value) {
    let items = document["tasks"].as_array_mut().unwrap();
    match items.iter_mut().find(|old| old["id"] == item["id"]) {
        Some(old) => *old = item,
        None => items.push(item),
    }
}

fn short(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").chars().take(2_000).collect()
}

fn listing() -> &'static Listing {
    Doc::queue().kind.listing.unwrap()
}

/// Returns the item that is to be put into a document.
fn item_of(put: &Put, document: &Value, made: &mut usize) -> Value {
    let items = document["tasks"].as_array().unwrap();
    let known = put.item.filter(|_| !items.is_empty()).map(|pick| pick.get(items).clone());
    let known_item = known.is_some();
    let mut item = known.unwrap_or_else(|| {
        *made += 1;
        let created = now() - SignedDuration::from_mins(put.age);
        let mut item =
            json!({"id": format!("t{made}"), "description": "", "created_at": time::stamp(created)});
        if let Some(class) = put.class {
            item["priority"] = class.into();
        }
        if !items.is_empty() {
            let needs: Vec<_> = put.needs.iter().map(|need| need.get(items)["id"].clone()).collect();
            item["dependencies"] = needs.into();
        }
        item
    });
    item["status"] = STATUSES[put.state].into();
    item["description"] = format!("é\"\n{}", "x".repeat(put.text)).into();
    if !known_item || put.odd.is_multiple_of(3) {
        let files = FILES.iter().enumerate().filter(|(bit, _)| put.files & (1 << bit) != 0);
        item["context"] = json!({"files": files.map(|(_, file)| *file).collect::<Vec<_>>()});
        item["required_capabilities"] = json!(CAPABILITIES[..put.text % 3]);
    }
    if let Some((boot, minutes)) = put.lease {
        let until = |minutes| time::stamp(now() + SignedDuration::from_mins(minutes));
        item["lease"] = json!({"epoch": 1, "expires_at": until(minutes)});
        if boot {
            item["lease"]["clock"] = json!({"boot": "b1", "began": until(-60)});
        }
    }
    let minutes = |minutes| Value::from(time::stamp(now() + SignedDuration::from_mins(minutes)));
    item["completed_at"] = put.ended.map_or(Value::Null, minutes);
    item["next_retry_at"] = put.retry.map_or(Value::Null, minutes);
    match put.odd {
        200..=251 if known_item => item["priority"] = (put.odd % 5).into(),
        252 if known_item => item["dependencies"] = json!([]),
        253 => item["dependencies"] = json!(["nobody"]),
        254 => item["dependencies"] = json!([item["id"]]),
        _ => {}
    }
    item
}

/// Compares all answers of a transaction with those of the reference.
fn compare(file: &mut dyn Transaction, memory: &mut dyn Transaction) {
    let queue = Doc::queue();
    assert_eq!(file.revision(&queue).unwrap(), memory.revision(&queue).unwrap());
    let document = memory.get(&queue).unwrap().unwrap().clone();
    let items = document["tasks"].as_array().unwrap();
    compare_holds(file, items);
    assert_eq!(file.counts(&queue).unwrap(), memory.counts(&queue).unwrap());
    let ready = ready(items);
    // All of them only where they are few: the order of many is asked for here and there.
    let few = if ready.len() <= 40 { ready.len() + 1 } else { 12 };
    for from in [0, ready.len() / 3, ready.len() / 2].into_iter().take(if ready.len() > 40 { 3 } else { 1 }) {
        let mut after = from.checked_sub(1).map(|before| ready[before].0);
        for number in from..from + few {
            let best = file.best(&queue, after, &Marks::default()).unwrap();
            let expected = ready.get(number).map(|(rank, item)| (*rank, (*item).clone()));
            assert!(best == expected, "best {}\nnot  {}", short(&best), short(&expected));
            after = best.map(|(rank, _)| rank);
            if after.is_none() {
                break;
            }
        }
    }
    let marked: Vec<_> = ready.iter().map(|(rank, item)| (*rank, listing().marks_of(item))).collect();
    for (number, shut) in shut().into_iter().enumerate() {
        let fits = |(_, marks): &&(Rank, Vec<u64>)| !marks.iter().any(|mark| shut.contains(mark));
        let expected: Vec<_> = marked.iter().filter(fits).map(|(rank, _)| *rank).collect();
        let from = expected.len().min(number) / 2;
        let (mut after, mut found) = (from.checked_sub(1).map(|before| expected[before]), Vec::new());
        while found.len() < few
            && let Some((rank, item)) = file.best(&queue, after, &shut).unwrap()
        {
            assert_eq!(item, items[rank.position]);
            found.push(rank);
            after = Some(rank);
        }
        assert_eq!(found[..], expected[from..][..few.min(expected.len() - from)], "without {number}");
    }
    let some = || items.iter().rev().step_by(items.len() / 3 + 1).map(|item| item["id"].as_str().unwrap());
    for id in some().chain(["nobody", "none", ""]) {
        let (found, expected) = (file.item(&queue, id).unwrap(), memory.item(&queue, id).unwrap());
        assert!(found == expected, "{id}: {}\nnot {}", short(&found), short(&expected));
    }
    let needs = some().chain(["nobody", "none"]).map(Among::InNeedOf);
    for among in [Among::Active, Among::Loose].into_iter().chain(needs) {
        let (found, expected) = (file.find(&queue, among).unwrap(), memory.find(&queue, among).unwrap());
        assert!(found == expected, "{among:?}: {}\nnot {}", short(&found), short(&expected));
    }
    compare_holds(file, items);
}

/// What may not be had: what somebody works on, and what somebody cannot do.
fn shut() -> Vec<Marks> {
    let files = FILES.iter().map(|file| marks::shut_by(&[*file]).into_iter().collect());
    let kin =
        [Marks::from_iter([marks::kin(&["gpu"], &["src"]), marks::kin(&[], &["src/a.rs", "src/b.rs"])])];
    let needs = CAPABILITIES.iter().map(|capability| [marks::need(capability)].into_iter().collect());
    files.chain(kin).chain(needs).collect()
}

/// An engine may say "maybe" too often, but never "no" too often.
fn compare_holds(file: &mut dyn Transaction, items: &[Value]) {
    let queue = Doc::queue();
    let state = |item: &Value| listing().with_facet(item, |facet| facet.state).unwrap();
    let active: Vec<_> = items.iter().filter(|item| listing().stage(state(item)) == Stage::Active).collect();
    let holds: Vec<_> = active.iter().map(|item| listing().hold_of(item)).collect();
    let due = |due: anthill_core::model::listing::Due| moment().by(due.clock).is_none_or(|now| due.at <= now);
    let is_due = holds.iter().filter_map(|hold| hold.due).any(due);
    assert!(file.may_be_due(&queue, &moment()).unwrap() || !is_due, "something is due");
    let found = file.due(&queue, &moment()).unwrap();
    assert!(found.iter().all(|item| active.contains(&item)), "only what is active is due");
    for (item, hold) in active.iter().zip(&holds).filter(|(_, hold)| hold.due.is_some_and(due)) {
        assert!(found.contains(item), "{} is due by {hold:?}", item["id"]);
    }
    assert!(file.may_be_due(&queue, &moment()).unwrap() || !is_due, "it is still due");
    for keys in FILES.iter().filter_map(|file| anthill_core::model::files::asked_for(&[*file])) {
        let held = |hold: &anthill_core::model::listing::Hold| match &hold.keys {
            None => true,
            Some(held) => held.iter().any(|key| keys.contains(key)),
        };
        let occupied = holds.iter().any(held);
        assert!(file.may_be_occupied(&queue, &keys).unwrap() || !occupied, "something is occupied");
    }
}

/// The queue from above is that of the reference, and so is the board that is drawn of it.
fn compare_overviews(engine: &dyn Engine, document: &Value, most: Most) {
    let Some(found) = engine.overview(&Doc::queue(), most).unwrap() else { return };
    let expected = overview(document["tasks"].as_array().unwrap(), most);
    assert!(found == expected, "{most:?}: {}\nnot {}", short(&found), short(&expected));
    for minutes in [-2, 0, 2].into_iter().filter(|_| most == board::MOST) {
        let (now, left) = (now() + SignedDuration::from_mins(minutes), |_: &Value| None);
        if let Some(lines) = board::board_of_overview(&found, now, &left, 80, &Plain) {
            assert_eq!(lines, board::board(document, now, &left, 80, &Plain));
        }
    }
}

/// All items as texts are those of the reference, and so is the JSON that is written of them.
fn compare_texts(engine: &dyn Engine, document: &Value) {
    let (mut items, mut sheet) = (Vec::new(), board::Sheet::default());
    let visited = engine.each_item(&Doc::queue(), &mut |raw| {
        items.push(json::parse(raw.text()).unwrap());
        sheet.add(raw);
    });
    if visited.unwrap() {
        assert!(document["tasks"] == Value::from(items), "the items differ");
        let expected = serde_json::to_string_pretty(&board::json(document)).unwrap();
        assert!(sheet.text().as_ref() == Some(&expected), "the texts differ");
    }
}

/// What makes looking quick: it is not left to the whole document, unless somebody edited it.
#[test]
fn a_list_is_seen_from_above() {
    let mut world = with_two();
    let seen = |world: &World| {
        let overview = world.engine.overview(&Doc::queue(), board::MOST).unwrap();
        let texts = world.engine.each_item(&Doc::queue(), &mut |_| {}).unwrap();
        (overview.map(|overview| overview.items.len()), texts)
    };
    assert_eq!(seen(&world), (Some(2), true));
    world.act(&Step::Index(Spoil::Gone));
    assert_eq!(seen(&world), (Some(2), true), "the index is made anew");
    world.respace(|text| text.replace("\n", "\n "));
    assert_eq!(seen(&world), (Some(2), true), "white space is no edit");
    let bytes = world.fs.get(&Doc::queue().path()).unwrap();
    let edited = String::from_utf8(bytes).unwrap().replacen("available", "failed", 1);
    world.save(Save::InPlace, edited.as_bytes());
    assert_eq!(seen(&world), (None, false));
}

/// What makes a claim cheap that finds nothing: what is kept back by the same directory is not looked at one by one.
#[test]
fn what_is_kept_back_is_passed_over_at_once() {
    let world = with_two();
    let task = |number: usize| {
        let files = [format!("docs/{number}.md"), format!("src/m{}/{number}.rs", number % 7)];
        json!({"id": format!("s{number}"), "description": "", "status": "available", "context": {"files": files}})
    };
    let mut document = world.value();
    document["tasks"] = (0..1500).map(task).collect();
    let mut transaction = world.engine.begin(&[&Doc::queue().room]).unwrap();
    transaction.put(&Doc::queue(), document).unwrap();
    transaction.commit(&entry("test")).unwrap();
    let reads = |shut: Vec<u64>, expected: Option<&str>| {
        let mut look = world.engine.browse(&Doc::queue().room).unwrap().unwrap();
        world.fs.set_plan(anthill_testkit::sim_fs::Plan::None);
        let best = look.best(&Doc::queue(), None, &shut.into_iter().collect()).unwrap();
        assert_eq!(best.as_ref().map(|(_, item)| item["id"].as_str().unwrap()), expected);
        world.fs.trace().len()
    };
    for (shut, expected) in [("src", None), ("docs", None), ("src/m0", Some("s1")), ("src/*.rs", Some("s0"))]
    {
        let reads = reads(marks::shut_by(&[shut]), expected);
        assert!(reads < 40, "{reads} reads while `{shut}` is at work");
    }
}

/// Tasks are done, and taken up again: first the newest, then more than are remembered.
#[test]
fn what_was_done_last_is_known_again() {
    let mut world = World::new(true, true, NORMAL);
    let put = |world: &mut World, number: i64, status: &str| {
        let ended = time::stamp(now() + SignedDuration::from_mins(number * 7 % 20));
        let id = format!("t{number}");
        let item = json!({"id": id, "description": "", "status": status, "completed_at": ended});
        world.commit_on_both(|transaction| transaction.put_item(&Doc::queue(), &id, item.clone()).unwrap());
        world.check();
        let (all, found) = (world.value(), world.engine.overview(&Doc::queue(), board::MOST).unwrap());
        found.map(|found| assert_eq!(found, overview(all["tasks"].as_array().unwrap(), board::MOST)))
    };
    (0..20).for_each(|number| put(&mut world, number, "done").unwrap());
    let newest = |number: i64| (19 - number) * 3 % 20;
    let known: Vec<_> =
        (0..20).map(|number| put(&mut world, newest(number), "cancelled").is_some()).collect();
    assert!(known.iter().all(|known| *known), "an index that knows too little is made anew: {known:?}");
    (0..20).for_each(|number| put(&mut world, number, "done").unwrap());
}

/// Returns what an index must say, by a look at every item.
fn overview(items: &[Value], most: Most) -> Overview {
    let stage = |item: &Value| {
        let state = listing().states.iter().find(|state| item["status"] == state.word);
        state.unwrap().stage
    };
    let needs = |item: &Value| {
        let needs = item["dependencies"].as_array().into_iter().flatten();
        needs.map(|need| need.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let by_id: HashMap<_, _> = items.iter().map(|item| (item["id"].as_str().unwrap(), item)).collect();
    let is_done = |id: &String| by_id.get(&**id).is_some_and(|item| item["status"] == "done");
    let is_loose = |item: &Value| needs(item).iter().all(is_done);
    let is_barred = |item: &Value| item["next_retry_at"].is_string() || !is_loose(item);
    let mut chosen: Vec<usize> = (0..items.len())
        .filter(|position| match stage(&items[*position]) {
            Stage::Active | Stage::Failed => true,
            Stage::Ready => is_barred(&items[*position]),
            Stage::Waiting => is_loose(&items[*position]),
            _ => false,
        })
        .collect();
    let plain = ranked(items, Stage::Ready).into_iter().filter(|(_, item)| !is_barred(item));
    let waiting = ranked(items, Stage::Waiting).into_iter().filter(|(_, item)| !is_loose(item));
    chosen.extend(plain.take(most.ready).chain(waiting.take(most.waiting)).map(|(rank, _)| rank.position));
    let done = (0..items.len()).filter(|position| items[*position]["status"] == "done");
    let ended = |position: usize| items[position]["completed_at"].as_str().map(|at| time::read(at).unwrap());
    let mut done: Vec<_> = done.map(|position| (ended(position), position)).collect();
    done.sort_unstable();
    chosen.extend(done.iter().rev().take(most.done).map(|(_, position)| *position));
    chosen.sort_unstable();
    let shown: Vec<_> = chosen.into_iter().map(|position| items[position].clone()).collect();
    let over = |item: &&Value| matches!(stage(item), Stage::Done | Stage::Failed | Stage::Out);
    let open = shown.iter().filter(|item| !over(item));
    let word = |item: &Value| STATUSES.into_iter().find(|word| item["status"] == *word).unwrap();
    let needed = open.flat_map(needs).filter_map(|id| Some((id.clone(), word(by_id.get(&*id)?)))).collect();
    let count = |word| (word, items.iter().filter(|item| item["status"] == word).count());
    let counts = listing().states.iter().map(|state| count(state.word)).collect();
    Overview { counts, items: shown, needed }
}

/// Returns the items that are ready, best first.
fn ready(items: &[Value]) -> Vec<(Rank, &Value)> {
    ranked(items, Stage::Ready)
}

/// Returns the items that stand like this, in the order of picking.
fn ranked(items: &[Value], stage: Stage) -> Vec<(Rank, &Value)> {
    let rank = |(position, item)| {
        let facet = |facet: &anthill_core::model::listing::Facet<'_>| {
            let rank = Rank { class: facet.class, age: facet.age, position };
            (listing().stage(facet.state) == stage).then_some((rank, item))
        };
        listing().with_facet(item, facet)?
    };
    let mut ready: Vec<_> = items.iter().enumerate().filter_map(rank).collect();
    ready.sort_by_key(|(rank, _)| *rank);
    ready
}

fn reformat(bytes: &[u8], format: Format) -> Vec<u8> {
    let printed = |indent: &str| {
        let text = serde_json::to_string_pretty(&json::parse(bytes).unwrap()).unwrap();
        let line = |line: &str| {
            let depth = (line.len() - line.trim_start_matches(' ').len()) / 2;
            format!("{}{}\n", indent.repeat(depth), &line[depth * 2..])
        };
        text.lines().map(line).collect::<String>().into_bytes()
    };
    match format {
        Format::Compact => serde_json::to_vec(&json::parse(bytes).unwrap()).unwrap(),
        Format::Tabs => printed("\t"),
        Format::Wide => printed("    "),
        Format::Stirred { seed, one_of } => stirred(bytes, seed, one_of),
    }
}

/// Replaces one of so many pieces of white space.
fn stirred(bytes: &[u8], mut seed: u64, one_of: u64) -> Vec<u8> {
    let mut next = |end: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % end
    };
    let (mut stirred, mut at, mut quoted) = (Vec::new(), 0, false);
    while let Some(byte) = bytes.get(at) {
        let blanks = match quoted {
            false => bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count(),
            true => 0,
        };
        if blanks > 0 {
            let old = &bytes[at..at + blanks];
            match if next(one_of) == 0 { next(5) } else { 9 } {
                0 => {}
                1 => stirred.extend(vec![b' '; next(700) as usize]),
                2 => stirred.extend(b"\n    "),
                3 => stirred.extend([old, b"\t"].concat()),
                4 => stirred.extend([b"\n", old].concat()),
                _ => stirred.extend(old),
            }
            at += blanks;
            continue;
        }
        let escape = quoted && *byte == b'\\';
        quoted ^= *byte == b'"';
        stirred.extend(&bytes[at..=at + usize::from(escape)]);
        at += 1 + usize::from(escape);
    }
    stirred
}

fn play(mut world: World, steps: &[Step]) {
    for step in steps {
        world.act(step);
        world.check();
    }
    assert_eq!(world.engine.check(&Doc::queue().room, false).unwrap(), []);
    world.check();
}

/// How the disk is: whether it can exchange names, and tell who has a file open.
fn disks() -> impl Strategy<Value = (bool, bool)> {
    prop_oneof![4 => Just((true, true)), 1 => Just((false, true)), 1 => Just((true, false))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn lists_agree_with_the_reference(
        steps in prop::collection::vec(step(), 0..40),
        (exchange, leases) in disks(),
        segment_bytes in prop_oneof![Just(TINY), Just(NORMAL)],
    ) {
        play(World::new(exchange, leases, segment_bytes), &steps);
    }
}

/// Returns a queue of two tasks, which were added one by one.
fn with_two() -> World {
    let mut world = World::new(true, true, NORMAL);
    world.put_ids(&[("a", 0)]);
    world.put_ids(&[("b", 0)]);
    world
}

impl World {
    /// Puts tasks with texts of some length.
    fn put_ids(&mut self, tasks: &[(&str, usize)]) {
        self.commit_on_both(|transaction| {
            for (id, text) in tasks {
                let item = json!({"id": id, "description": "x".repeat(*text), "status": "available"});
                transaction.put_item(&Doc::queue(), id, item).unwrap();
            }
        });
        self.check();
    }

    /// Replaces white space in the file, which leaves the content as it is.
    fn respace(&self, change: impl Fn(&str) -> String) {
        let bytes = self.fs.get(&Doc::queue().path()).unwrap();
        let text = std::str::from_utf8(&bytes).unwrap();
        let other = change(text);
        assert_ne!(other, text, "nothing was changed");
        self.save(Save::InPlace, other.as_bytes());
        self.check();
    }
}

/// Some printers begin the first item on the line of the bracket, and the next one on the line of the last one's end.
#[test]
fn items_that_do_not_begin_a_line_may_grow() {
    for id in ["a", "b"] {
        let mut world = with_two();
        world.respace(|text| {
            let (frame, items) = text.split_once("[").unwrap();
            format!("{frame}[{}", items.trim_start())
        });
        world.put_ids(&[(id, 3_000)]);
        world.put_ids(&[("c", 0)]);
        let mut world = with_two();
        world.respace(|text| {
            let (first, second) = text.split_once("},").unwrap();
            format!("{first}}},{}", second.trim_start())
        });
        world.put_ids(&[(id, 3_000)]);
        world.put_ids(&[("c", 0)]);
    }
}

/// An item that makes room for another is written anew, and may get longer or shorter by that.
#[test]
fn items_of_another_form_may_make_room() {
    for (old, new) in [("\n      ", "\n"), ("\n      ", "\n         ")] {
        let mut world = with_two();
        world.respace(|text| {
            let (first, second) = text.split_once("},").unwrap();
            format!("{first}}},{}", second.replace(old, new))
        });
        world.put_ids(&[("a", 700)]);
        world.put_ids(&[("c", 0)]);
        world.put_ids(&[("b", 10), ("d", 0)]);
    }
}

/// Whoever saves between our look and our commit finds that edit again, however the editor and the disk work.
#[test]
fn edits_during_a_commit_are_kept() {
    for (exchange, save) in [true, false]
        .into_iter()
        .flat_map(|exchange| [Save::InPlace, Save::RenameOver].into_iter().map(move |save| (exchange, save)))
    {
        let mut world = World::new(exchange, true, NORMAL);
        world.put_ids(&[("a", 0), ("b", 0)]);
        world.put_ids(&[("b", 1)]);
        let queue = Doc::queue();
        let mut transaction = world.engine.begin(&[&queue.room]).unwrap();
        let ours = json!({"id": "a", "description": "ours", "status": "claimed"});
        transaction.put_item(&queue, "a", ours.clone()).unwrap();
        let edit = String::from_utf8(world.fs.get(&queue.path()).unwrap()).unwrap();
        let edit = edit.replace("available", "cancelled");
        world.save(save, edit.as_bytes());
        let warnings = transaction.commit(&entry("test")).unwrap().warnings;
        let told = format!("{save:?}, exchange: {exchange}");
        assert_eq!(warnings, [], "{told}");
        let joined = json!({"id": "a", "description": "ours", "status": "cancelled"});
        for number in 0..3 {
            let found = world.engine.read(&queue).unwrap().unwrap().value;
            assert_eq!(found["tasks"][0], joined, "{told}, {number}");
            let mut transaction = world.engine.begin(&[&queue.room]).unwrap();
            assert_eq!(transaction.item(&queue, "a").unwrap(), Some(joined.clone()), "{told}");
            let was = if number == 0 { "cancelled" } else { "available" };
            assert_eq!(transaction.item(&queue, "b").unwrap().unwrap()["status"], was, "{told}");
            let other = json!({"id": "b", "description": number.to_string(), "status": "available"});
            transaction.put_item(&queue, "b", other.clone()).unwrap();
            assert_eq!(transaction.commit(&entry("test")).unwrap().warnings, [], "{told}");
            let found = world.engine.read(&queue).unwrap().unwrap().value;
            assert_eq!(found["tasks"], json!([joined, other]), "{told}");
        }
        let edits =
            |record: &&anthill_core::store::Revision| record.op == "edit" && record.made_from.is_some();
        assert_eq!(world.engine.log(&queue.room).unwrap().iter().filter(edits).count(), 1, "{told}");
        assert!(!world.fs.files().iter().any(|path| path.contains("/aside/")), "{told}");
    }
}

/// Backups are often made of hard links: what was the file then stays as it is.
#[test]
fn hard_links_keep_what_they_were_made_of() {
    let (dir, queue) = (temp_dir(), Doc::queue());
    let engine = real(dir.path(), hasty(NORMAL));
    let put = |id: &str, text: &str| {
        let mut transaction = engine.begin(&[&queue.room]).unwrap();
        if !transaction.exists(&queue).unwrap() {
            transaction.put(&queue, queue.default(now())).unwrap();
        }
        let item = json!({"id": id, "description": text, "status": "available"});
        transaction.put_item(&queue, id, item).unwrap();
        transaction.commit(&entry("test")).unwrap();
    };
    ["a", "b", "c"].iter().for_each(|id| put(id, "old"));
    let (path, backup) = (dir.path().join("project").join(queue.path()), dir.path().join("backup"));
    std::fs::hard_link(&path, &backup).unwrap();
    let before = std::fs::read(&backup).unwrap();
    ["a", "b", "c", "a"].iter().for_each(|id| put(id, "new"));
    assert!(std::fs::read(&backup).unwrap() == before, "the backup was changed");
    assert_ne!(std::fs::read(&path).unwrap(), before);
}

/// What makes it quick: items are written where they stand, as long as nobody looks at the other buffer.
#[test]
fn items_are_changed_in_place() {
    let mut world = with_two();
    let copies = |world: &mut World, text: usize| {
        world.fs.set_plan(anthill_testkit::sim_fs::Plan::None);
        let item = json!({"id": "a", "description": "x".repeat(text), "status": "claimed"});
        world.commit_on_both(|transaction| transaction.put_item(&Doc::queue(), "a", item.clone()).unwrap());
        let trace = world.fs.trace();
        world.check();
        assert!(!trace.iter().any(|call| call.contains("next-tasks")), "{trace:?}");
        trace.iter().filter(|call| call.starts_with("write_new")).count()
    };
    assert_eq!(copies(&mut world, 1), 0);
    let held = world.fs.open(&Doc::queue().path(), Access::Read).unwrap();
    assert_eq!(copies(&mut world, 3_000), 0, "the other one is still free");
    assert_eq!(copies(&mut world, 2), 1, "somebody has it open");
    drop(held);
    assert_eq!(copies(&mut world, 3), 0);
    world.fs.set_leases_supported(false);
    assert_eq!(copies(&mut world, 4), 1, "nobody knows who has it open");
}

/// The last item goes without the others, also one that came in the same commit as what goes.
#[test]
fn the_last_item_goes_in_place() {
    let mut world = with_two();
    world.put_ids(&[("c", 0)]);
    for (gone, new) in [(&["c"][..], None), (&["b"], Some("d")), (&["d", "a"], Some("e")), (&["e"], None)] {
        world.fs.set_plan(anthill_testkit::sim_fs::Plan::None);
        world.commit_on_both(|transaction| {
            transaction.remove_items(&Doc::queue(), gone).unwrap();
            if let Some(id) = new {
                let item = json!({"id": id, "description": "", "status": "available"});
                transaction.put_item(&Doc::queue(), id, item).unwrap();
            }
        });
        let trace = world.fs.trace();
        assert!(!trace.iter().any(|call| call.contains("next-tasks")), "{gone:?}: {trace:?}");
        world.check();
    }
}

/// What leaves from the middle, or finds no room among very many others, does not make values of those.
#[test]
fn the_others_are_written_from_their_texts() {
    let mut world = World::new(true, true, NORMAL);
    let ids: Vec<_> = (0..600).map(|number| format!("t{number}")).collect();
    world.put_ids(&ids.iter().map(|id| (&id[..], 10)).collect::<Vec<_>>());
    let queue = Doc::queue();
    let act = |world: &mut World, act: &dyn Fn(&mut dyn Transaction)| {
        world.fs.set_plan(anthill_testkit::sim_fs::Plan::None);
        world.commit_on_both(|transaction| act(transaction));
        let trace = world.fs.trace();
        assert!(!trace.iter().any(|call| call.contains("next-tasks")), "{trace:?}");
        world.check();
    };
    let item = |id: &str, text: usize, needs: &[&str]| json!({"id": id, "description": "x".repeat(text), "status": "available", "dependencies": needs});
    // 600 times 448 blanks are left at first, and more than that is put.
    for id in ["t0", "t1"] {
        act(&mut world, &|transaction| transaction.put_item(&queue, id, item(id, 200_000, &[])).unwrap());
    }
    act(&mut world, &|transaction| {
        transaction.remove_items(&queue, &["t5", "t300", "t599", "none"]).unwrap();
    });
    act(&mut world, &|transaction| {
        transaction.put_item(&queue, "t6", item("t6", 3, &["t7"])).unwrap();
        transaction.remove_items(&queue, &["t8"]).unwrap();
        transaction.put_item(&queue, "t8", item("t8", 4, &["t6"])).unwrap();
        transaction.remove_items(&queue, &["t400", "t9"]).unwrap();
        transaction.put_item(&queue, "t1", item("t1", 300_000, &[])).unwrap();
    });
    act(&mut world, &|transaction| transaction.put_item(&queue, "t10", item("t10", 5, &[])).unwrap());
}

/// So many that their line names the content, instead of telling each: killed anywhere, all of them are there or none.
#[test]
fn very_many_items_go_or_stay() {
    let mut world = World::new(true, true, NORMAL);
    let ids: Vec<_> = (0..300).map(|number| format!("t{number}")).collect();
    world.put_ids(&ids.iter().map(|id| (&id[..], 10)).collect::<Vec<_>>());
    let queue = Doc::queue();
    let leaving: Vec<_> = ids[10..280].iter().map(String::as_str).collect();
    let (mut call, mut killed) = (1, true);
    while killed {
        let fs = world.fs.after_kill();
        fs.set_plan(anthill_testkit::sim_fs::Plan::KillAt(call));
        let engine = simulated(&fs, &fs, hasty(NORMAL));
        if let Ok(mut transaction) = engine.begin(&[&queue.room])
            && transaction.remove_items(&queue, &leaving).is_ok()
        {
            let _ = transaction.commit(&entry("test"));
        }
        killed = fs.killed();
        let fs = fs.after_kill();
        let engine = simulated(&fs, &fs, hasty(NORMAL));
        drop(engine.begin(&[&queue.room]).unwrap());
        let left = engine.read(&queue).unwrap().unwrap().value["tasks"].as_array().unwrap().len();
        assert!(left == 300 || left == 30, "{call}: {left}");
        assert_eq!(engine.check(&queue.room, false).unwrap(), [], "{call}");
        assert!(killed || fs.files().iter().any(|path| path.contains("/content-")), "{:?}", fs.files());
        call += 1;
    }
    assert!(call > 10, "{call}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, max_shrink_iters: 20, ..ProptestConfig::default() })]

    /// More items come than the index can keep apart from the others.
    #[test]
    fn long_lists_agree_with_the_reference(
        first in prop::collection::vec(put(), 20),
        late in prop::collection::vec(put(), 560),
        steps in prop::collection::vec(step(), 8),
        (exchange, leases) in disks(),
    ) {
        let mut world = World::new(exchange, leases, NORMAL);
        let plain = |put: &Put, new: bool| Put {
            item: put.item.filter(|_| !new), text: put.text % 50, odd: 1, ..put.clone()
        };
        world.put(&first.iter().map(|put| plain(put, true)).collect::<Vec<_>>(), true);
        world.act(&Step::Index(Spoil::Gone));
        for puts in late.chunks(40) {
            world.put(&puts.iter().map(|put| plain(put, put.odd < 240)).collect::<Vec<_>>(), true);
        }
        play(world, &steps);
    }
}
