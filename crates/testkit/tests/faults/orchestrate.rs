//! An orchestrated run, from its beginning to its report, with a misfortune at every call of every turn.
//!
//! A turn is one commit, and is there or is not. Then somebody goes on: the same orchestrator, which repeats its call (the store
//! failed), or another one that knows only what is stored (the first was killed). Both end as a run without trouble does. There
//! is one difference: a try whose end nobody wrote down is made once more, and both count.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anthill_core::error::Code;
use anthill_core::model::documents::pipeline::RunStatus;
use anthill_core::model::pipeline::table::Purpose;
use anthill_core::model::pipeline::{Caps, KINDS, Order};
use anthill_core::model::pipeline::{Failure, failures};
use anthill_core::model::room::Room;
use anthill_core::model::usage::Usage;
use anthill_core::ops::orchestrate::{self, Answer, Begun, Budget, Ended};
use anthill_core::ops::pipeline::{self, NewRun, Report};
use anthill_core::ops::{Result, history};
use anthill_core::store::file::fs::Fs;
use anthill_core::store::{Engine, Upkeep};
use anthill_core::view::pipeline as view;
use anthill_testkit::effort::sample;
use anthill_testkit::sim_fs::{Plan, SimFs, errno};
use serde_json::{Value, json};

use crate::kill::kills;
use crate::probe::{PART, contents, report};
use crate::scenarios::{Store, actor, doc};

/// How many disks are made of one on which the power failed.
const IMAGES: usize = 3;

/// What an orchestrator does next, as far as it does not read it from the store.
#[derive(Debug, Clone)]
enum Turn {
    Begin,
    Ask,
    Start(Order),
    /// The agent of this try has ended, in vain or with an answer.
    End(Order, u64, bool),
    Report,
    Over,
}

/// Takes one turn as a process of its own does. Returns the next one.
fn take(fs: &SimFs, turn: &Turn) -> Result<Turn> {
    let (store, actor) = (store(fs), actor());
    let engine = &store.engine;
    Ok(match turn {
        Turn::Begin => {
            let new = NewRun { requirements: "a shop".into(), mode: None, replace: false };
            orchestrate::begin(engine, &new, &actor)?;
            Turn::Ask
        }
        Turn::Ask if pipeline::show(engine)?.status() == RunStatus::Completed => Turn::Report,
        Turn::Ask => {
            let (mut orders, _) = pipeline::next_within(engine, Caps::of(None), &actor)?;
            Turn::Start(orders.remove(0))
        }
        Turn::Start(order) => match orchestrate::begin_try(engine, &order.id, Budget::default(), &actor)? {
            Begun::Try(number, run) => {
                let in_vain = order.purpose == Purpose::Work && failures(&run, &order.id).is_empty();
                Turn::End(order.clone(), number, in_vain)
            }
            Begun::Settled => Turn::Ask,
            Begun::UsedUp(reason) => panic!("there is no budget: {reason}"),
        },
        Turn::End(order, number, in_vain) => {
            let usage = Usage { cost_usd: 0.1, input_tokens: 10, output_tokens: 2, cached_tokens: 5 };
            let failure = in_vain.then(|| Failure { class: "timeout".into(), reason: "too slow".into() });
            let most_alike = Some(3);
            let log = format!("of {}", order.id);
            let ended = Ended { usage, failure, most_alike, log, ..Ended::default() };
            let answer = (!in_vain).then(|| answer(order));
            let settled =
                orchestrate::end_try(engine, (&order.id, *number), &ended, answer.as_ref(), &actor)?;
            if settled.is_open { Turn::Start(order.clone()) } else { Turn::Ask }
        }
        Turn::Report => {
            orchestrate::report(engine, &actor)?;
            Turn::Over
        }
        Turn::Over => Turn::Over,
    })
}

fn answer(order: &Order) -> Answer {
    let (status, content) = match order.purpose {
        Purpose::Plan => return Answer::Plan(json!({"task_groups": [{"id": "A"}]})),
        Purpose::Work => ("READY_FOR_REVIEW", json!({"files_modified": ["a.rs"]})),
        Purpose::Review => ("APPROVED", json!({"feedback": "good"})),
        Purpose::FinalCheck => {
            ("BAZINGA", json!({"evidence": [{"requirement": "all", "met": true, "evidence": "seen"}]}))
        }
        other => panic!("nobody is needed for {other:?}"),
    };
    Answer::Report(Report {
        role: order.role,
        group: order.group.clone(),
        status: status.into(),
        content: content.as_object().cloned().unwrap(),
        order: Some(order.id.clone()),
    })
}

/// What was done on which disks already. What follows depends on nothing else, and many points lead to few disks.
#[derive(Default)]
struct Known(Mutex<HashSet<u64>>);

impl Known {
    fn is_news(&self, fs: &SimFs, then: impl Debug) -> bool {
        let mut hasher = DefaultHasher::new();
        (contents(fs), fs.boot_id().unwrap(), format!("{then:?}")).hash(&mut hasher);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(hasher.finish())
    }
}

fn store(fs: &SimFs) -> Store {
    Store::new(fs, 1 << 20)
}

/// What is stored: the documents with their revisions, and the texts.
#[derive(Debug, Clone, PartialEq)]
struct State {
    documents: Vec<Option<(u64, Value)>>,
    texts: BTreeMap<String, String>,
}

impl State {
    /// Reads as others do, then enters the room as the next writer does: texts are promised from then on.
    fn of(fs: &SimFs, point: &str) -> State {
        let store = store(fs);
        let read = |kind: &&str| {
            let found = store.engine.read(&doc(kind)).unwrap_or_else(|error| panic!("{point}: {error:?}"));
            found.map(|found| (found.revision, found.value))
        };
        let documents: Vec<_> = KINDS.iter().map(read).collect();
        let findings = store.engine.check(&Room::Pipeline, false).unwrap();
        assert!(findings.is_empty(), "{point}: doctor finds {findings:?}");
        assert_eq!(documents, KINDS.iter().map(read).collect::<Vec<_>>(), "{point}: after doctor");
        let is_text = |path: &String| path.ends_with(".md") || path.ends_with(".log");
        let texts = contents(fs).into_iter().filter(|(path, _)| is_text(path));
        let texts = texts.map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap())).collect();
        State { documents, texts }
    }

    fn document(&self, kind: &str) -> &Value {
        let place = KINDS.iter().position(|known| *known == kind).unwrap();
        self.documents[place].as_ref().map_or(&Value::Null, |(_, value)| value)
    }

    /// Counts the tries of open orders whose end is not known.
    fn tries_without_end(&self) -> u64 {
        let orders = self.document("orchestrator_state")["orders"].as_array();
        let number = |order: &Value, field: &str| order[field].as_u64().unwrap_or(0);
        let lost = |order: &Value| number(order, "tries") - number(order, "tries_counted");
        orders.into_iter().flatten().map(lost).sum()
    }
}

/// How a run ended: what does not depend on the number of tries, and what does.
#[derive(Debug, PartialEq)]
struct Outcome {
    documents: Vec<Value>,
    logs: BTreeMap<String, String>,
    /// How many commits of each kind there were.
    commits: BTreeMap<String, u64>,
    /// Agents started: in all, by roles, by groups, by orders.
    spawns: [u64; 4],
}

impl Outcome {
    fn of(fs: &SimFs, point: &str) -> Outcome {
        let state = State::of(fs, point);
        let engine = &store(fs).engine;
        let texts = || state.texts.clone().into_iter();
        let written = texts().find(|(path, _)| path.ends_with("/report.md")).unwrap().1;
        assert_eq!(written, view::report(&pipeline::show(engine).unwrap()), "{point}: the report");
        let mut commits = BTreeMap::new();
        for commit in history::history(engine, &doc("orchestrator_state"), history::Told::All).unwrap() {
            *commits.entry(commit.op).or_insert(0) += 1;
        }
        let (orchestrator, field) = (state.document("orchestrator_state"), "spawns");
        let costs = &orchestrator["costs"];
        let sum = |of: &str, field: &str| values(&costs[of]).map(|sum| sum[field].as_u64().unwrap()).sum();
        let tries = values(&orchestrator["past_orders"]).map(|order| order["tries"].as_u64().unwrap()).sum();
        let spawns = [costs[field].as_u64().unwrap(), sum("by_role", field), sum("by_group", field), tries];
        let documents = state.documents.iter().flatten().map(|(_, value)| without_tries(value)).collect();
        let logs = texts().filter(|(path, _)| path.ends_with(".log"));
        let logs = logs.map(|(path, text)| (path, without_numbers(&text))).collect();
        Outcome { documents, logs, commits, spawns }
    }

    /// The same, with so many tries more.
    fn with_tries(&self, more: u64) -> Outcome {
        let mut commits = self.commits.clone();
        *commits.get_mut("orchestrate start").unwrap() += more;
        let (documents, logs) = (self.documents.clone(), self.logs.clone());
        Outcome { documents, logs, commits, spawns: self.spawns.map(|spawns| spawns + more) }
    }
}

fn values(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Object(fields) => Box::new(fields.values()),
        other => Box::new(other.as_array().into_iter().flatten()),
    }
}

/// Leaves out what one more try changes.
fn without_tries(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let counts = ["revision", "tries", "tries_counted", "try", "spawns", "total_spawns"];
            let stays = fields.iter().filter(|(name, _)| !counts.contains(&name.as_str()));
            stays.map(|(name, value)| (name.clone(), without_tries(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_tries).collect(),
        other => other.clone(),
    }
}

fn without_numbers(log: &str) -> String {
    let line = |line: &str| match line.strip_prefix("--- try ").and_then(|rest| rest.split_once(':')) {
        Some((_, result)) => format!("--- try:{result}\n"),
        None => format!("{line}\n"),
    };
    log.lines().map(line).collect()
}

/// A turn that everything happens to.
struct Case<'c> {
    turn: &'c Turn,
    disk: &'c SimFs,
    old: State,
    new: State,
    /// How the run ends without trouble.
    end: &'c Outcome,
    known: &'c Known,
}

impl Case<'_> {
    /// Returns how many points there were.
    fn sweep(&self) -> usize {
        let rehearsal = self.disk.after_kill();
        rehearsal.set_plan(Plan::None);
        take(&rehearsal, self.turn).unwrap();
        let (calls, mut points) = (rehearsal.calls(), 0);
        let tried = sample(&format!("{:?}", self.turn), PART, 1..=calls);
        for plan in tried.into_iter().flat_map(plans).chain([Plan::None]) {
            let fs = self.disk.after_kill();
            fs.set_plan(plan);
            let result = take(&fs, self.turn);
            let point = format!("{:?}, {plan:?} of {calls} -> {result:?}", self.turn);
            let allowed = match &result {
                Ok(_) => vec![&self.new],
                Err(error) => {
                    assert_eq!(error.code(), Code::Io, "{point}");
                    let either = fs.killed() || error.indeterminate();
                    if either { vec![&self.old, &self.new] } else { vec![&self.old] }
                }
            };
            let images = match plan {
                Plan::KillAt(call) if call % 4 == 0 => fs.crash_images(IMAGES),
                Plan::None => fs.crash_images(4 * IMAGES),
                _ => Vec::new(),
            };
            points += 1 + images.len();
            for fs in std::iter::once(fs.after_kill()).chain(images) {
                if self.known.is_news(&fs, (self.turn, &allowed)) {
                    self.check(&fs, &allowed, &point);
                }
            }
        }
        points
    }

    fn check(&self, fs: &SimFs, allowed: &[&State], point: &str) {
        let found = State::of(&fs.after_kill(), point);
        assert!(allowed.contains(&&found), "{point}: neither old nor new: {found:?}");
        let without_end = found.tries_without_end();
        // Whoever has begun a try without knowing it begins another one; whoever knows it ends it.
        let begun_unknown = if matches!(self.turn, Turn::Start(_)) { without_end } else { 0 };
        for (turn, lost) in [(self.turn, begun_unknown), (&Turn::Begin, without_end)] {
            self.go_on(&fs.after_kill(), turn.clone(), lost, point);
        }
    }

    /// Takes this turn and all that follow.
    fn go_on(&self, fs: &SimFs, mut turn: Turn, lost: u64, point: &str) {
        while !matches!(turn, Turn::Over) {
            if !self.known.is_news(fs, (&turn, lost)) {
                return;
            }
            turn = take(fs, &turn).unwrap_or_else(|error| panic!("{point}\nthen {turn:?}: {error:?}"));
        }
        assert_eq!(Outcome::of(fs, point), self.end.with_tries(lost), "{point}");
    }
}

/// What can happen at a call.
fn plans(call: usize) -> [Plan; 5] {
    let fail = |errno, persistent| Plan::FailAt { call, errno, persistent };
    let [at, mid, after] = kills(call);
    [at, mid, after, fail(errno::EIO, false), fail(errno::ENOSPC, true)]
}

#[test]
fn a_run_ends_well_whatever_happens_to_one_of_its_commits() {
    let (mut turns, mut disks) = (vec![Turn::Begin], vec![SimFs::new()]);
    while !matches!(turns.last().unwrap(), Turn::Over) {
        let fs = disks.last().unwrap().after_kill();
        turns.push(take(&fs, turns.last().unwrap()).unwrap());
        disks.push(fs.after_kill());
    }
    let end = Outcome::of(disks.last().unwrap(), "without trouble");
    assert_eq!(end.spawns, [5; 4], "plan, work twice, review, final check");
    assert_eq!(end.commits["orchestrate end"], 5);
    assert!(end.documents.iter().any(|document| document["costs"]["cost_usd"] == json!(0.5)), "{end:?}");

    let known = Known::default();
    let sweep = |place: usize| {
        let state = |place: usize| State::of(&disks[place].after_kill(), "without trouble");
        let (old, new) = (state(place), state(place + 1));
        Case { turn: &turns[place], disk: &disks[place], old, new, end: &end, known: &known }.sweep()
    };
    let points: usize = thread::scope(|scope| {
        let parts: Vec<_> = (0..turns.len() - 1).map(|place| scope.spawn(move || sweep(place))).collect();
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    });
    report(points, "points in an orchestrated run");
}
