//! What must be true after any misfortune.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use anthill_core::error::Code;
use anthill_core::model::kind::Doc;
use anthill_core::store::file::addresses::DocFiles;
use anthill_core::store::file::fs::Fs;
use anthill_core::store::{Durability, Engine, Upkeep};
use anthill_testkit::effort::sample;
use anthill_testkit::sim_fs::{Plan, SimFs};
use serde_json::Value;

use crate::scenarios::{Scenario, Store};

/// A short run of the tests goes through one in so many calls of each scenario.
pub const PART: usize = 5;

/// What a read of each document gives: revision and content, nothing, or the code of an error.
pub type Seen = Vec<Result<Option<(u64, Value)>, Code>>;

/// A scenario with its disk, its two outcomes, and how many calls it takes.
pub struct Case {
    pub scenario: &'static Scenario,
    pub disk: SimFs,
    pub old: Seen,
    pub new: Seen,
    /// Both in another life: what a person deleted and no command saw is back.
    pub reborn: [Seen; 2],
    /// The texts that belong to each outcome.
    pub text_files: [TextFiles; 2],
    /// The call that each number is.
    pub trace: Vec<String>,
    /// Whether lazy commits may be missing from the history.
    pub lazy: bool,
    /// Disks that were checked already, with what was allowed on them.
    pub checked: RefCell<HashSet<u64>>,
    /// What each revision was, as far as anyone could know before.
    pub facts: Facts,
}

/// Goes through one scenario with one kind of misfortune, which returns its points.
pub fn sweep(misfortune: fn(&Case) -> usize, scenario: &'static Scenario) {
    report(misfortune(&Case::of(scenario)), "points");
}

#[expect(clippy::print_stderr, reason = "figures of a sweep, seen with --nocapture")]
pub fn report(count: usize, what: &str) {
    eprintln!("{count} {what}");
}

pub type Facts = BTreeMap<(String, u64), Option<Value>>;

impl Case {
    pub fn of(scenario: &'static Scenario) -> Case {
        let disk = scenario.disk();
        let (done, result) = scenario.run(&disk, Plan::None);
        result.unwrap_or_else(|failure| panic!("{}: {failure:?}", scenario.name));
        let trace = done.trace();
        let mut case = Case {
            scenario,
            disk,
            old: vec![],
            new: vec![],
            reborn: [vec![], vec![]],
            text_files: [TextFiles::new(), TextFiles::new()],
            trace,
            lazy: false,
            checked: RefCell::default(),
            facts: Facts::new(),
        };
        case.old = case.see(&case.disk);
        case.new = case.see(&done);
        case.reborn = [&case.disk, &done].map(|disk| {
            let disk = disk.after_kill();
            disk.flush();
            case.see(&disk.crash_images(1)[0])
        });
        let recovered = crate::kill::recover(&case, &case.disk, Plan::None);
        case.text_files = [text_files(&recovered), text_files(&done)];
        assert_ne!(case.old, case.new, "{}: nothing happens", scenario.name);
        let mut facts = Facts::new();
        case.learn(&case.disk, &mut facts, &case.old, "at the start");
        case.facts = facts;
        case
    }

    /// Returns the calls at which something happens, in this run of the tests.
    pub fn calls(&self) -> impl Iterator<Item = usize> {
        sample(self.scenario.name, PART, 1..=self.trace.len()).into_iter()
    }

    /// Returns those of them before which the disk is not as it was before an earlier one.
    pub fn telling_calls(&self) -> impl Iterator<Item = usize> {
        let looks = |call: &str| {
            ["read", "size", "entries", "folders", "folder_stamp", "mounted"]
                .iter()
                .any(|method| call.starts_with(method))
        };
        let tells = |call: &usize| *call == 1 || !looks(&self.trace[call - 2]);
        sample(self.scenario.name, PART, (1..=self.trace.len()).filter(tells)).into_iter()
    }

    /// Returns the step in which a sweep within a sweep goes through the calls: all of them, unless there are very many.
    /// (Every call of every operation is one to die at, and to fail, in the plain sweeps.)
    pub fn stride(&self) -> usize {
        self.trace.len().div_ceil(60)
    }

    /// Names a point of a sweep, for messages.
    pub fn at(&self, call: usize, what: &str) -> String {
        let line = self.trace.get(call.wrapping_sub(1)).map_or("the end", |line| line.as_str());
        format!("{}: call {call} of {} ({line}): {what}", self.scenario.name, self.trace.len())
    }

    pub fn see(&self, fs: &SimFs) -> Seen {
        let store = self.scenario.store(fs);
        let read = |doc: &Doc| match store.engine.read(doc) {
            Ok(document) => Ok(document.map(|document| (document.revision, document.value))),
            Err(error) => Err(error.code()),
        };
        self.scenario.docs().iter().map(read).collect()
    }

    /// Returns whether such a disk was not checked yet: thousands of points lead to a few hundred disks, and
    /// what the next command does depends on nothing else.
    pub fn is_news(&self, fs: &SimFs, allowed: &[&Seen]) -> bool {
        let mut hasher = DefaultHasher::new();
        (contents(fs), fs.boot_id().unwrap(), format!("{allowed:?}")).hash(&mut hasher);
        self.checked.borrow_mut().insert(hasher.finish())
    }

    /// Checks everything on a disk whose process is dead.
    pub fn check(&self, fs: &SimFs, allowed: &[&Seen], point: &str) {
        let seen = self.check_seen(fs, allowed, point);
        self.check_doctor_first(&fs.after_kill(), &seen, point);
        self.check_write_first(&fs.after_kill(), &seen, point);
    }

    fn check_seen(&self, fs: &SimFs, allowed: &[&Seen], point: &str) -> Seen {
        let before = contents(fs);
        let seen = self.see(fs);
        assert_eq!(contents(fs), before, "{point}: reading changes something");
        let is_reborn = |of: &Seen, reborn: &Seen| *reborn == seen && allowed.contains(&of);
        let reborn = is_reborn(&self.old, &self.reborn[0]) || is_reborn(&self.new, &self.reborn[1]);
        if !allowed.contains(&&seen) && !reborn {
            let shown = |seen: &Seen| format!("{seen:?}");
            let allowed: Vec<_> = allowed.iter().map(|seen| shown(seen)).collect();
            panic!(
                "{point}\nsaw     {}\nallowed {}\nfiles {:?}",
                shown(&seen),
                allowed.join("\n     or "),
                fs.files()
            );
        }
        seen
    }

    /// A look by `doctor` changes nothing that can be read, sweeps, and is needed once at most.
    fn check_doctor_first(&self, fs: &SimFs, seen: &Seen, point: &str) {
        self.check_clean(fs, seen, point);
        assert_eq!(&self.see(fs), seen, "{point}: after doctor");
        self.check_text_files(fs, seen, point);
        self.learn(fs, &mut self.facts.clone(), seen, point);
    }

    /// The next write works at once, on top of what was read.
    fn check_write_first(&self, fs: &SimFs, seen: &Seen, point: &str) {
        let store = self.scenario.store(fs);
        let damaged = seen.iter().any(Result::is_err);
        let written = store.mark(self.scenario.kinds, "next", Durability::Synced);
        if damaged {
            assert_eq!(written.unwrap_err().code, Code::Damaged, "{point}: write over a damaged file");
            return;
        }
        written.unwrap_or_else(|failure| panic!("{point}: the next write fails: {failure:?}"));
        self.check_text_files(fs, seen, point);
        let after = self.see(fs);
        for (before, after) in seen.iter().zip(&after) {
            let before = before.as_ref().unwrap().as_ref();
            let (revision, value) = after.as_ref().unwrap().as_ref().unwrap();
            assert!(*revision > before.map_or(0, |(revision, _)| *revision), "{point}: revision of {value}");
            let marked = |value: &Value| value.to_string().contains("\"marker\":\"next\"");
            assert!(marked(value), "{point}: the next write is not seen: {value}");
        }
        let mut facts = self.facts.clone();
        for (doc, seen) in self.scenario.docs().iter().zip(seen) {
            if let Ok(Some((revision, value))) = seen {
                note(&mut facts, doc, *revision, Some(value), point);
            }
        }
        let told = self.learn(fs, &mut facts, &after, point);
        let newest = after.iter().map(|after| after.as_ref().unwrap().as_ref().unwrap().0);
        assert_eq!(told, newest.collect::<Vec<_>>(), "{point}: the newest revisions in the history");
        self.check_clean(fs, &after, point);
    }

    /// Whoever has entered the room finds the texts of the state that it found.
    fn check_text_files(&self, fs: &SimFs, seen: &Seen, point: &str) {
        let [old, new] = &self.text_files;
        for (outcome, expected) in [(&self.old, old), (&self.new, new)] {
            if seen == outcome {
                assert_eq!(shown(&text_files(fs)), shown(expected), "{point}: texts");
            }
        }
    }

    /// `doctor` finds nothing (but damage that was there before), leaves nothing over and is idempotent.
    fn check_clean(&self, fs: &SimFs, seen: &Seen, point: &str) {
        let store = self.scenario.store(fs);
        let check = || {
            let findings = self.scenario.rooms().into_iter().map(|room| store.engine.check(&room, false));
            let findings = findings.collect::<Result<Vec<_>, _>>();
            let findings =
                findings.unwrap_or_else(|error| panic!("{point}: doctor fails: {error:?}")).concat();
            let expected = seen.iter().filter(|seen| seen.is_err()).count();
            assert_eq!(findings.len(), expected, "{point}: doctor finds {findings:?}");
            contents(fs)
        };
        let first = check();
        let left = first.keys().find(|path| path.contains("/next-") || path.ends_with(".next"));
        assert_eq!(left, None, "{point}: left over");
        assert_eq!(first, check(), "{point}: the second doctor changes something");
    }

    /// Adds what is now known of each revision, which must not contradict what was known. Returns the newest
    /// revision that the history tells of each document.
    fn learn(&self, fs: &SimFs, facts: &mut Facts, seen: &Seen, point: &str) -> Vec<u64> {
        let Store { engine, .. } = self.scenario.store(fs);
        let mut newest = vec![];
        for (doc, seen) in self.scenario.docs().iter().zip(seen) {
            let (mut last, mut told) = (0, None);
            let told_by_history = engine.replay(doc, &mut |revision, value| {
                let number = revision.revision;
                let follows = if self.lazy { number > last } else { number == last + 1 };
                assert!(last == 0 || follows, "{point}: `{}` jumps from {last} to {number}", doc.file());
                (last, told) = (number, value.cloned());
                note(facts, doc, number, value, point);
            });
            told_by_history.unwrap_or_else(|error| panic!("{point}: no history: {error:?}"));
            if let Ok(Some((revision, value))) = seen {
                note(facts, doc, *revision, Some(value), point);
                let known = last == 0 || last != *revision || told.is_some();
                assert!(known, "{point}: history says that `{}` was deleted", doc.file());
            }
            newest.push(last);
        }
        newest
    }
}

pub type TextFiles = BTreeMap<String, Vec<u8>>;

/// Returns every text.
fn text_files(fs: &SimFs) -> TextFiles {
    let mut files = contents(fs);
    files.retain(|path, _| {
        let message = ["/inbox/", "/outbox/", "/processed/"].iter().any(|tray| path.contains(tray));
        let beside = path.starts_with(".coordination/") && !path.ends_with(".json");
        let of_state = path.starts_with(".claude/") && (path.ends_with(".md") || path.contains("archive/"));
        (message || beside || of_state) && !path.contains("/.anthill/")
    });
    files
}

fn shown(text_files: &TextFiles) -> BTreeMap<&str, String> {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    text_files.iter().map(|(path, bytes)| (path.as_str(), text(bytes))).collect()
}

fn note(facts: &mut Facts, doc: &Doc, revision: u64, value: Option<&Value>, point: &str) {
    // An edit by hand is read with the revision it counts as, and recorded as it stands in the file.
    let plain = |value: &Value| {
        let mut value = value.clone();
        value.as_object_mut().map(|object| object.remove("revision"));
        value
    };
    let value = value.map(plain);
    let known = facts.entry((doc.path(), revision)).or_insert_with(|| value.clone());
    assert_eq!(*known, value, "{point}: revision {revision} of `{}` is two things", doc.file());
}

pub fn contents(fs: &SimFs) -> BTreeMap<String, Vec<u8>> {
    fs.files().into_iter().map(|path| (path.clone(), fs.get(&path).unwrap())).collect()
}
