//! Judges what happened to a queue: [`events`] reads it out of `anthill history queue --json`, [`check`] says
//! which promises were broken.
//!
//! Written from the words of the design and not from the code that it judges: it knows documents, not types.

use std::collections::{BTreeMap, HashMap, HashSet};

use anthill_core::model::path::{Path, Segment};
use serde_json::Value;

/// Something that happened to one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub revision: u64,
    pub task: String,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Added { dependencies: Vec<String>, files: Vec<String> },
    Claimed { by: String, epoch: u64 },
    Completed { by: String, epoch: u64, output: String },
    Failed { by: String, epoch: u64 },
    GivenBack { epoch: u64, reason: String },
}

/// A completion that a worker was told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    pub task: String,
    pub by: String,
    pub epoch: u64,
    pub output: String,
}

/// A promise of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// Nobody gets a task that somebody else has, or that has ended.
    OneOwner,
    /// An epoch belongs to one claim.
    EpochIsUnique,
    /// The first epoch is 1, and each claim has the next one.
    EpochGrowsByOne,
    /// A claim is ended by whoever has it, with the epoch it has.
    OnlyTheOwnerEnds,
    /// What was never claimed does not end.
    ClaimedBeforeEnded,
    /// Done is done.
    DoneStays,
    DependenciesFirst,
    /// Tasks that touch the same files are not worked on at the same time.
    FilesApart,
    /// What a worker was told is there in the end.
    AcknowledgedStays,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub promise: Promise,
    /// 0 where no revision shows it.
    pub revision: u64,
    pub task: String,
    pub told: String,
}

/// Returns every broken promise.
pub fn check(events: &[Event], acknowledged: &[Acknowledged]) -> Vec<Violation> {
    let mut judge = Judge::default();
    events.iter().for_each(|event| judge.see(event));
    acknowledged.iter().for_each(|told| judge.compare(told));
    judge.violations
}

#[derive(Default)]
struct Judge {
    tasks: HashMap<String, Life>,
    /// Whoever works now on something that has files.
    working: BTreeMap<String, Vec<String>>,
    violations: Vec<Violation>,
}

/// What is known of one task so far.
#[derive(Default)]
struct Life {
    dependencies: Vec<String>,
    files: Vec<String>,
    /// The claims so far.
    claims: Vec<(String, u64)>,
    owned: bool,
    done: Option<(String, u64, String)>,
    failed: bool,
}

impl Judge {
    fn see(&mut self, event: &Event) {
        let mut life = self.tasks.remove(&event.task).unwrap_or_default();
        match &event.what {
            What::Added { dependencies, files } => {
                (life.dependencies, life.files) = (dependencies.clone(), files.clone());
            }
            What::Claimed { by, epoch } => self.claim(event, &mut life, by, *epoch),
            What::Completed { by, epoch, output } => {
                self.end(event, &mut life, by, *epoch);
                life.done = Some((by.clone(), *epoch, output.clone()));
            }
            What::Failed { by, epoch } => {
                self.end(event, &mut life, by, *epoch);
                life.failed = true;
            }
            What::GivenBack { epoch, reason } => {
                let current = life.claims.last().is_some_and(|(_, current)| current == epoch);
                if let Some((by, ..)) = life.done.take() {
                    self.broken(event, Promise::DoneStays, format!("was done by {by}, then {reason}"));
                } else if !current || !(life.owned || life.failed) {
                    self.broken(event, Promise::OnlyTheOwnerEnds, format!("{reason}, of claim {epoch}"));
                }
                (life.owned, life.failed) = (false, false);
                self.working.remove(&event.task);
            }
        }
        self.tasks.insert(event.task.clone(), life);
    }

    fn claim(&mut self, event: &Event, life: &mut Life, by: &str, epoch: u64) {
        if life.owned || life.failed || life.done.is_some() {
            self.broken(event, Promise::OneOwner, format!("claimed by {by} after {:?}", life.claims.last()));
        }
        if let Some((other, _)) = life.claims.iter().find(|(_, old)| *old == epoch) {
            self.broken(event, Promise::EpochIsUnique, format!("{epoch} of {by} was that of {other}"));
        }
        let expected = life.claims.last().map_or(1, |(_, last)| last + 1);
        if epoch != expected {
            self.broken(event, Promise::EpochGrowsByOne, format!("{epoch} instead of {expected}"));
        }
        let done = |id: &String| self.tasks.get(id).is_some_and(|task| task.done.is_some());
        if let Some(open) = life.dependencies.iter().find(|id| !done(id)) {
            self.broken(event, Promise::DependenciesFirst, format!("{open} is not done"));
        }
        let meets = |(_, files): &(&String, &Vec<String>)| {
            files.iter().any(|one| life.files.iter().any(|other| overlap(one, other)))
        };
        if let Some((other, files)) = self.working.iter().find(meets) {
            let told = format!("{:?} while {other} has {files:?}", life.files);
            self.broken(event, Promise::FilesApart, told);
        }
        life.claims.push((by.to_owned(), epoch));
        life.owned = true;
        self.working.insert(event.task.clone(), life.files.clone());
    }

    fn end(&mut self, event: &Event, life: &mut Life, by: &str, epoch: u64) {
        match life.claims.last() {
            None => self.broken(event, Promise::ClaimedBeforeEnded, format!("ended by {by}")),
            Some((owner, current)) if !life.owned || owner != by || *current != epoch => {
                let told = format!("ended by {by} with {epoch}; {owner} had {current}");
                self.broken(event, Promise::OnlyTheOwnerEnds, told);
            }
            Some(_) => {}
        }
        life.owned = false;
        self.working.remove(&event.task);
    }

    fn compare(&mut self, told: &Acknowledged) {
        let done = self.tasks.get(&told.task).and_then(|life| life.done.clone());
        if done != Some((told.by.clone(), told.epoch, told.output.clone())) {
            let (promise, task) = (Promise::AcknowledgedStays, told.task.clone());
            let told = format!("told {told:?}, found {done:?}");
            self.violations.push(Violation { promise, revision: 0, task, told });
        }
    }

    fn broken(&mut self, event: &Event, promise: Promise, told: String) {
        let (revision, task) = (event.revision, event.task.clone());
        self.violations.push(Violation { promise, revision, task, told });
    }
}

/// Whether two plain paths are the same or one is above the other.
fn overlap(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim_end_matches('/'), other.trim_end_matches('/'));
    let above = |dir: &str, path: &str| path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
    one == other || above(one, other) || above(other, one)
}

/// Reads the events out of all revisions of a queue, as `history` prints them. Panics where the revisions do
/// not follow each other or cannot be put together.
pub fn events(history: &[Value]) -> Vec<Event> {
    let (mut queue, mut events, mut last) = (Value::Null, Vec::new(), 0);
    for record in history {
        let revision = record["revision"].as_u64().expect("a revision");
        assert_eq!(revision, last + 1, "a revision is missing");
        last = revision;
        let changes = record["changes"].as_array().expect("changes");
        let by = record["by"].as_str().expect("an actor");
        let touched = touched(changes, &queue);
        let before: Vec<_> = touched.iter().map(|place| task_at(&queue, *place).cloned()).collect();
        changes.iter().for_each(|change| apply(&mut queue, "tasks", change));
        let mut found = Vec::new();
        let places = if changes.iter().any(is_whole) { 0..count(&queue) } else { 0..0 };
        let places: HashSet<usize> = places.chain(touched.iter().copied()).collect();
        let mut places: Vec<_> = places.into_iter().collect();
        places.sort_unstable();
        for place in places {
            let old = touched.iter().position(|other| *other == place).and_then(|at| before[at].as_ref());
            let Some(new) = task_at(&queue, place) else { continue };
            let task = new["id"].as_str().expect("a task has an id").to_owned();
            let event = |what| Event { revision, task: task.clone(), what };
            found.extend(steps(old, new, by).into_iter().map(event));
        }
        // One commit takes back what has expired and then gives something out.
        found.sort_by_key(|event| matches!(event.what, What::Claimed { .. }));
        events.append(&mut found);
    }
    events
}

fn count(queue: &Value) -> usize {
    queue["tasks"].as_array().map_or(0, Vec::len)
}

fn task_at(queue: &Value, place: usize) -> Option<&Value> {
    queue.get("tasks")?.get(place)
}

fn is_whole(change: &Value) -> bool {
    matches!(change["path"].as_str(), Some("" | "tasks"))
}

/// Returns the places of the tasks that these changes touch.
fn touched(changes: &[Value], queue: &Value) -> Vec<usize> {
    if changes.iter().any(is_whole) {
        return (0..count(queue)).collect();
    }
    let place = |change: &Value| match path_of(change).segments() {
        [Segment::Key(list), Segment::Index(index), ..] if list == "tasks" => usize::try_from(*index).ok(),
        _ => None,
    };
    let mut places: Vec<_> = changes.iter().filter_map(place).collect();
    places.dedup();
    places
}

fn path_of(change: &Value) -> Path {
    let path = change.get("place").unwrap_or(&change["path"]);
    Path::from_record(path.as_str().expect("a path")).expect("a path of ours")
}

/// Puts a change in. What was removed from an item of `list` is null from then on, which means the same.
pub(crate) fn apply(document: &mut Value, list: &str, change: &Value) {
    let (path, after) = (path_of(change), change["after"].clone());
    let place = match path.segments() {
        [] => return *document = after,
        [Segment::Key(key), Segment::Index(index)] if key == list => Some(*index as usize),
        _ => None,
    };
    match (place, document.get_mut(list).and_then(Value::as_array_mut)) {
        (Some(place), Some(items)) if place >= items.len() => items.push(after),
        _ => match longer(document, &path) {
            Some(list) => list.push(after),
            None => drop(path.set(document, after).expect("the path of a change leads somewhere")),
        },
    }
}

/// Returns the list of an item that a change makes longer, such as the attempts at a task.
fn longer<'d>(document: &'d mut Value, path: &Path) -> Option<&'d mut Vec<Value>> {
    let [Segment::Key(list), Segment::Index(item), Segment::Key(field), Segment::Index(place)] =
        path.segments()
    else {
        return None;
    };
    let inner =
        document.get_mut(list)?.get_mut(usize::try_from(*item).ok()?)?.get_mut(field)?.as_array_mut()?;
    (usize::try_from(*place).ok()? == inner.len()).then_some(inner)
}

/// Says what one commit did to one task.
fn steps(old: Option<&Value>, new: &Value, by: &str) -> Vec<What> {
    let Some(old) = old else {
        let list = |value: &Value| {
            let items = value.as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let (dependencies, files) = (list(&new["dependencies"]), list(&new["context"]["files"]));
        return vec![What::Added { dependencies, files }];
    };
    let epoch = |task: &Value| task["lease"]["epoch"].as_u64();
    let became = |status: &str| new["status"] == status && old["status"] != status;
    let mut steps = Vec::new();
    let given_back = new["last_claim"] != old["last_claim"];
    if given_back {
        let reason = new["last_claim"]["reason"].as_str().unwrap_or_default().to_owned();
        let epoch = new["last_claim"]["epoch"].as_u64().unwrap_or(0);
        steps.push(What::GivenBack { epoch, reason });
    } else if old["status"] == "done" && new["status"] != "done" {
        steps.push(What::GivenBack { epoch: epoch(old).unwrap_or(0), reason: "for no reason".into() });
    }
    let other = epoch(old) != epoch(new) || old["claimed_by"] != new["claimed_by"] || given_back;
    if let Some(epoch) = epoch(new).filter(|_| other) {
        let by = new["claimed_by"].as_str().unwrap_or_default().to_owned();
        steps.push(What::Claimed { by, epoch });
    }
    let now = epoch(new).unwrap_or(0);
    if became("done") {
        let output = new["result"]["output"].as_str().unwrap_or_default().to_owned();
        steps.push(What::Completed { by: by.into(), epoch: now, output });
    }
    if became("failed") {
        steps.push(What::Failed { by: by.into(), epoch: now });
    }
    steps
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn added(task: &str, dependencies: &[&str], files: &[&str]) -> (String, What) {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        (task.into(), What::Added { dependencies: texts(dependencies), files: texts(files) })
    }

    fn claimed(task: &str, by: &str, epoch: u64) -> (String, What) {
        (task.into(), What::Claimed { by: by.into(), epoch })
    }

    fn completed(task: &str, by: &str, epoch: u64) -> (String, What) {
        (task.into(), What::Completed { by: by.into(), epoch, output: format!("{by} did {task}") })
    }

    fn failed(task: &str, by: &str, epoch: u64) -> (String, What) {
        (task.into(), What::Failed { by: by.into(), epoch })
    }

    fn back(task: &str, epoch: u64, reason: &str) -> (String, What) {
        (task.into(), What::GivenBack { epoch, reason: reason.into() })
    }

    fn told(task: &str, by: &str, epoch: u64) -> Acknowledged {
        Acknowledged { task: task.into(), by: by.into(), epoch, output: format!("{by} did {task}") }
    }

    #[track_caller]
    fn judged(history: &[(String, What)], acknowledged: &[Acknowledged], expected: &[Promise]) {
        let event = |(revision, (task, what)): (u64, &(String, What))| Event {
            revision,
            task: task.clone(),
            what: what.clone(),
        };
        let events: Vec<_> = (1..).zip(history).map(event).collect();
        let found: Vec<_> = check(&events, acknowledged).into_iter().map(|broken| broken.promise).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn good_histories_pass() {
        judged(&[], &[], &[]);
        judged(
            &[
                added("a", &[], &["src"]),
                added("b", &["a"], &[]),
                added("c", &[], &["src/x.rs"]),
                claimed("a", "w1", 1),
                back("a", 1, "expired"),
                claimed("c", "w2", 1),
                failed("c", "w2", 1),
                claimed("a", "w1", 2),
                completed("a", "w1", 2),
                claimed("b", "w2", 1),
                back("c", 1, "retried"),
                claimed("c", "w1", 2),
                completed("c", "w1", 2),
                completed("b", "w2", 1),
            ],
            &[told("a", "w1", 2), told("b", "w2", 1)],
            &[],
        );
    }

    #[test]
    fn double_claim() {
        let a = added("a", &[], &[]);
        judged(&[a.clone(), claimed("a", "w1", 1), claimed("a", "w2", 2)], &[], &[Promise::OneOwner]);
        judged(
            &[a.clone(), claimed("a", "w1", 1), completed("a", "w1", 1), claimed("a", "w2", 2)],
            &[],
            &[Promise::OneOwner],
        );
        judged(
            &[a, claimed("a", "w1", 1), failed("a", "w1", 1), claimed("a", "w2", 2)],
            &[],
            &[Promise::OneOwner],
        );
    }

    #[test]
    fn two_owners_of_one_epoch() {
        let both = [Promise::EpochIsUnique, Promise::EpochGrowsByOne];
        let start = [added("a", &[], &[]), claimed("a", "w1", 1), back("a", 1, "expired")];
        judged(&[&start[..], &[claimed("a", "w2", 1)]].concat(), &[], &both);
        judged(&[&start[..], &[claimed("a", "w1", 1)]].concat(), &[], &both);
    }

    #[test]
    fn epoch_not_growing_by_one() {
        let a = added("a", &[], &[]);
        judged(&[a.clone(), claimed("a", "w1", 2)], &[], &[Promise::EpochGrowsByOne]);
        judged(
            &[a, claimed("a", "w1", 1), back("a", 1, "released"), claimed("a", "w1", 3)],
            &[],
            &[Promise::EpochGrowsByOne],
        );
    }

    #[test]
    fn completion_by_an_old_epoch() {
        let start =
            [added("a", &[], &[]), claimed("a", "w1", 1), back("a", 1, "expired"), claimed("a", "w2", 2)];
        let judged = |end, promise: &[Promise]| judged(&[&start[..], &[end]].concat(), &[], promise);
        judged(completed("a", "w1", 1), &[Promise::OnlyTheOwnerEnds]);
        judged(completed("a", "w2", 1), &[Promise::OnlyTheOwnerEnds]);
        judged(completed("a", "w1", 2), &[Promise::OnlyTheOwnerEnds]);
        judged(failed("a", "w1", 1), &[Promise::OnlyTheOwnerEnds]);
        judged(back("a", 1, "released"), &[Promise::OnlyTheOwnerEnds]);
        judged(completed("a", "w2", 2), &[]);
    }

    #[test]
    fn completion_of_what_was_taken_back() {
        judged(
            &[added("a", &[], &[]), claimed("a", "w1", 1), back("a", 1, "expired"), completed("a", "w1", 1)],
            &[],
            &[Promise::OnlyTheOwnerEnds],
        );
    }

    #[test]
    fn completion_twice() {
        judged(
            &[added("a", &[], &[]), claimed("a", "w1", 1), completed("a", "w1", 1), completed("a", "w1", 1)],
            &[],
            &[Promise::OnlyTheOwnerEnds],
        );
    }

    #[test]
    fn completion_without_a_claim() {
        judged(&[added("a", &[], &[]), completed("a", "w1", 1)], &[], &[Promise::ClaimedBeforeEnded]);
    }

    #[test]
    fn done_and_open_again() {
        judged(
            &[added("a", &[], &[]), claimed("a", "w1", 1), completed("a", "w1", 1), back("a", 1, "expired")],
            &[],
            &[Promise::DoneStays],
        );
    }

    #[test]
    fn dependency_not_done() {
        let start = [added("a", &[], &[]), added("b", &["a"], &[]), claimed("a", "w1", 1)];
        judged(&[&start[..], &[claimed("b", "w2", 1)]].concat(), &[], &[Promise::DependenciesFirst]);
        judged(
            &[&start[..], &[failed("a", "w1", 1), claimed("b", "w2", 1)]].concat(),
            &[],
            &[Promise::DependenciesFirst],
        );
        judged(&[added("b", &["never"], &[]), claimed("b", "w2", 1)], &[], &[Promise::DependenciesFirst]);
    }

    #[test]
    fn overlapping_files() {
        for (one, other, expected) in [
            ("src", "src/a.rs", &[Promise::FilesApart][..]),
            ("src/a.rs", "src/", &[Promise::FilesApart]),
            ("src/a.rs", "src/a.rs", &[Promise::FilesApart]),
            ("src/a.rs", "src/a.r", &[]),
            ("src", "srcs/a", &[]),
        ] {
            let history = [
                added("a", &[], &["x", one]),
                added("b", &[], &[other]),
                claimed("a", "w1", 1),
                claimed("b", "w2", 1),
            ];
            judged(&history, &[], expected);
        }
    }

    #[test]
    fn lost_completion() {
        let lost = &[Promise::AcknowledgedStays];
        let claim = [added("a", &[], &[]), claimed("a", "w1", 1)];
        judged(&claim, &[told("a", "w1", 1)], lost);
        let again = [&claim[..], &[back("a", 1, "expired"), claimed("a", "w2", 2)]].concat();
        judged(&again, &[told("a", "w1", 1)], lost);
        let by_other = [&again[..], &[completed("a", "w2", 2)]].concat();
        judged(&by_other, &[told("a", "w1", 1)], lost);
        judged(&by_other, &[told("a", "w2", 1)], lost);
        judged(&by_other, &[Acknowledged { output: "other".into(), ..told("a", "w2", 2) }], lost);
        judged(&by_other, &[told("a", "w2", 2)], &[]);
        judged(&[], &[told("never", "w1", 1)], lost);
    }

    fn record(revision: u64, by: &str, changes: &[Value]) -> Value {
        json!({"revision": revision, "by": by, "changes": changes})
    }

    fn change(path: &str, after: impl Into<Value>) -> Value {
        json!({"path": path, "before": null, "after": after.into()})
    }

    #[test]
    fn events_are_read_from_a_history() {
        let task = json!({
            "id": "a", "status": "available", "claimed_by": null, "dependencies": ["x"],
            "context": {"files": ["f"]}, "result": null,
        });
        let claim = |by: &str, epoch: u64| {
            vec![
                change("tasks[0].status", "claimed"),
                change("tasks[0].claimed_by", by),
                change("tasks[0].lease", json!({"epoch": epoch})),
            ]
        };
        let over = json!({"by": "w1", "epoch": 1, "reason": "expired"});
        let history = [
            record(1, "leader", &[change("", json!({"tasks": []}))]),
            record(2, "leader", &[change("revision", 2), change("tasks[0]", task)]),
            record(3, "w1", &claim("w1", 1)),
            // Expired and given to the next in one commit.
            record(4, "w2", &[claim("w2", 2), vec![change("tasks[0].last_claim", over)]].concat()),
            record(5, "w2", &[change("tasks[0].lease.expires_at", "later")]),
            record(
                6,
                "w2",
                &[change("tasks[0].result", json!({"output": "did it"})), change("tasks[0].status", "done")],
            ),
        ];
        let found: Vec<_> = events(&history).into_iter().map(|event| (event.revision, event.what)).collect();
        let expected = [
            (2, added("a", &["x"], &["f"]).1),
            (3, claimed("a", "w1", 1).1),
            (4, back("a", 1, "expired").1),
            (4, claimed("a", "w2", 2).1),
            (6, What::Completed { by: "w2".into(), epoch: 2, output: "did it".into() }),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    #[should_panic(expected = "a revision is missing")]
    fn a_gap_in_the_history_is_told() {
        events(&[record(1, "leader", &[change("", json!({"tasks": []}))]), record(3, "w1", &[])]);
    }
}
