use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::model::kind::Doc;

fn queue(revision: u64, tasks: Value) -> Value {
    let time = format!("t{revision}");
    let mut queue = json!({"version": "1.0", "last_updated": time, "tasks": [], "revision": revision});
    queue["tasks"] = tasks;
    queue
}

fn task(id: &str, status: &str) -> Value {
    json!({"id": id, "description": format!("do {id}"), "status": status, "priority": 5, "claimed_by": null})
}

fn with(mut task: Value, field: &str, value: impl Into<Value>) -> Value {
    task[field] = value.into();
    task
}

fn held(task: Value, by: &str, epoch: u64) -> Value {
    let lease = json!({"epoch": epoch, "expires_at": "2026-11-18T00:00:00Z"});
    with(with(with(task, "status", "claimed"), "claimed_by", by), "lease", lease)
}

fn join(base: &Value, theirs: &Value, ours: &Value) -> (Value, Vec<String>) {
    let Merged { value, clashes } = merge(Doc::queue().kind, base, theirs, ours, Base::Known);
    (value, clashes.into_iter().map(|clash| clash.path).collect())
}

#[test]
fn a_stale_save_undoes_nothing() {
    let open = |id| task(id, "available");
    let base = queue(7, json!([open("t1"), open("t2"), open("t3"), open("t4")]));
    let done = |id| with(task(id, "done"), "result", json!({"output": "made"}));
    let ours = queue(16, json!([done("t1"), done("t2"), done("t3"), open("t4")]));
    let theirs =
        queue(7, json!([open("t1"), open("t2"), open("t3"), with(open("t4"), "description", "better")]));
    let expected =
        queue(16, json!([done("t1"), done("t2"), done("t3"), with(open("t4"), "description", "better")]));
    assert_eq!(join(&base, &theirs, &ours), (expected, vec![]));
}

#[test]
fn words_are_the_persons_and_the_rest_of_the_item_stays() {
    let base = queue(1, json!([task("a", "available")]));
    let ours = queue(2, json!([held(with(task("a", "available"), "priority", 1), "w1", 1)]));
    let edit = with(
        with(task("a", "available"), "priority", 9),
        "context",
        json!({"files": ["x"], "hints": "look"}),
    );
    let (value, clashes) = join(&base, &queue(1, json!([edit])), &ours);
    let item = &value["tasks"][0];
    assert_eq!(
        (&item["priority"], &item["claimed_by"], &item["context"]["hints"]),
        (&json!(9), &json!("w1"), &json!("look"))
    );
    assert!(clashes.is_empty());
}

#[test]
fn a_status_that_was_set_on_purpose_counts_unless_the_work_has_ended() {
    let base = queue(1, json!([task("a", "available")]));
    let edit = queue(1, json!([task("a", "cancelled")]));
    let (value, clashes) = join(&base, &edit, &queue(2, json!([held(task("a", "available"), "w1", 1)])));
    assert_eq!(
        (&value["tasks"][0]["status"], clashes.len()),
        (&json!("cancelled"), 0),
        "the claim did not know of it"
    );
    let (value, clashes) = join(&base, &edit, &queue(3, json!([task("a", "done")])));
    assert_eq!(
        (&value["tasks"][0]["status"], clashes),
        (&json!("done"), vec!["tasks[id=a].status".to_owned()])
    );
    let back = queue(3, json!([task("a", "available")]));
    let base = queue(3, json!([task("a", "done")]));
    let (value, clashes) = join(&base, &back, &with(base.clone(), "extra", 1));
    assert_eq!(
        (&value["tasks"][0]["status"], clashes.len()),
        (&json!("available"), 0),
        "they knew that it was done"
    );
}

#[test]
fn items_come_go_and_move() {
    let base = queue(1, json!([task("a", "available"), task("b", "available"), task("c", "available")]));
    let ours = queue(
        2,
        json!([task("a", "available"), task("b", "done"), task("c", "available"), task("d", "available")]),
    );
    let ids = |value: &Value| -> String {
        value["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect()
    };
    let theirs = |ids: &str| {
        queue(1, ids.chars().map(|id| task(&id.to_string(), "available")).collect::<Vec<_>>().into())
    };
    let check = |edit: &str, expected: &str, clashes: &[&str]| {
        let (value, found) = join(&base, &theirs(edit), &ours);
        assert_eq!(
            (ids(&value).as_str(), found),
            (expected, clashes.iter().map(|path| path.to_string()).collect()),
            "{edit}"
        );
    };
    check("abc", "abcd", &[]);
    check("ab", "abd", &[]);
    check("ac", "abcd", &["tasks[id=b]"]);
    check("anbc", "anbcd", &[]);
    check("nabcm", "nabcmd", &[]);
    check("cab", "cabd", &[]);
    check("abcd", "abcd", &[]);
    let other = queue(
        1,
        json!([task("a", "available"), task("b", "available"), task("c", "available"), task("d", "failed")]),
    );
    assert_eq!(join(&base, &other, &ours).1, ["tasks[id=d]"], "two who made the same id");
}

#[test]
fn lists_of_words_are_joined_by_what_was_put_in_and_taken_out() {
    let list =
        |values: &[&str]| queue(1, json!([with(task("a", "available"), "dependencies", json!(values))]));
    let check = |base: &[&str], theirs: &[&str], ours: &[&str], expected: &[&str]| {
        let (value, clashes) = join(&list(base), &list(theirs), &list(ours));
        assert_eq!((&value["tasks"][0]["dependencies"], clashes.len()), (&json!(expected), 0));
    };
    check(&["x"], &["x", "y"], &["x", "z"], &["x", "y", "z"]);
    check(&["x", "y"], &["y"], &["x", "y", "z"], &["y", "z"]);
    check(&["x"], &["x", "z"], &["x", "z"], &["x", "z"]);
    check(&[], &["a", "b"], &["c"], &["c", "a", "b"]);
    check(&["a", "b"], &["b", "a"], &["a", "b"], &["b", "a"]);
}

#[test]
fn entries_with_revisions_of_their_own_are_joined_one_by_one() {
    let kind = Doc::named(&crate::model::room::Room::Pipeline, "group_status").unwrap().kind;
    let entry = |status: &str, revision: u64, note: &str| json!({"status": status, "revision": revision, "last_update": format!("t{revision}"), "note": note});
    let base = json!({"A": entry("pending", 1, ""), "B": entry("pending", 1, "")});
    let ours = json!({"A": entry("complete", 4, ""), "B": entry("pending", 1, "")});
    let theirs = json!({"A": entry("pending", 1, "mine"), "B": entry("pending", 1, "mine")});
    assert!(made_from(kind, &theirs, &base) && !made_from(kind, &theirs, &ours));
    let Merged { value, clashes } = merge(kind, &base, &theirs, &ours, Base::Known);
    assert_eq!(value, json!({"A": entry("complete", 4, "mine"), "B": entry("pending", 1, "mine")}));
    assert!(clashes.is_empty());
}

#[test]
fn with_an_older_base_nothing_is_guessed() {
    let kind = Doc::queue().kind;
    let at = |task: Value, time: &str| with(task, "created_at", time);
    let stamped = |time: &str, tasks: Value| json!({"version": "1.0", "last_updated": time, "tasks": tasks, "revision": 3});
    let oldest = stamped(
        "2026-01-02T00:00:00Z",
        json!([
            task("a", "done"),
            task("b", "available"),
            at(task("n", "available"), "2026-01-01T12:00:00Z")
        ]),
    );
    let theirs = stamped(
        "2026-01-01T00:00:00Z",
        json!([task("a", "available"), with(task("b", "available"), "description", "new")]),
    );
    let Merged { value, clashes } = merge(kind, &oldest, &theirs, &oldest, Base::Older);
    let paths: Vec<_> = clashes.iter().map(|clash| clash.path.as_str()).collect();
    assert_eq!(paths, ["tasks[id=a].status"]);
    assert_eq!(
        (&value["tasks"][0]["status"], &value["tasks"][1]["description"]),
        (&json!("done"), &json!("new"))
    );
    assert_eq!(value["tasks"][2]["id"], "n", "it came after what the edit was made from");
}

#[test]
fn what_an_edit_was_made_from_is_told_by_its_stamps() {
    let kind = Doc::queue().kind;
    let base = queue(7, json!([task("a", "available"), task("b", "available"), task("c", "available")]));
    let edit = queue(
        7,
        json!([task("a", "available"), with(task("b", "available"), "priority", 1), task("c", "available")]),
    );
    assert!(made_from(kind, &edit, &base));
    assert!(!made_from(kind, &edit, &queue(8, base["tasks"].clone())));
    let touched = with(edit.clone(), "last_updated", "now");
    assert!(!made_from(kind, &touched, &base) && resembles(kind, &touched, &base));
    let other = with(
        queue(7, json!([task("x", "available"), task("y", "done"), task("a", "available")])),
        "last_updated",
        "u",
    );
    assert!(!made_from(kind, &other, &base) && !resembles(kind, &other, &base));
    let mut bare = edit;
    bare.as_object_mut().unwrap().remove("revision");
    assert!(made_from(kind, &bare, &base), "by its time");
    assert!(is_at_work(kind, &queue(1, json!([held(task("a", ""), "w", 1)]))) && !is_at_work(kind, &base));
}

#[test]
fn an_older_state_takes_no_number_of_a_claim_back() {
    let kind = Doc::queue().kind;
    let now = queue(
        9,
        json!([
            with(held(task("a", ""), "w2", 3), "status", "done"),
            task("b", "available"),
            held(task("c", ""), "w1", 1)
        ]),
    );
    let mut then =
        queue(4, json!([held(task("a", ""), "w1", 1), task("b", "available"), held(task("c", ""), "w1", 1)]));
    keep_epochs(kind, &now, &mut then);
    let a = &then["tasks"][0];
    assert_eq!(
        (&a["status"], &a["claimed_by"], &a["lease"]),
        (&json!("available"), &Value::Null, &Value::Null)
    );
    assert_eq!((crate::model::lease::epoch(a), &a["last_claim"]["reason"]), (3, &json!("restored")));
    assert_eq!(then["tasks"][1], task("b", "available"));
    assert_eq!(then["tasks"][2], held(task("c", ""), "w1", 1), "the same claim goes on");
    assert!(kind.shape.check(&then).is_ok(), "{:?}", kind.shape.check(&then));
}

/// One thing that a commit or a person does to a task.
#[derive(Debug, Clone)]
enum Act {
    Describe(u8, u8),
    Status(u8, u8),
    Add(u8),
    Remove(u8),
}

const STATUSES: [&str; 4] = ["available", "claimed", "done", "failed"];

fn acts(by: u8, statuses: std::ops::Range<u8>) -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        (0..8u8, 0..4u8).prop_map(|(item, word)| Act::Describe(item, word)),
        (0..8u8, statuses).prop_map(|(item, word)| Act::Status(item, word)),
        (0..4u8).prop_map(move |name| Act::Add(name + by)),
        (0..8u8).prop_map(Act::Remove),
    ];
    vec(act, 0..6)
}

fn act(value: &mut Value, act: &Act, by: &str) {
    let tasks = value["tasks"].as_array_mut().unwrap();
    let count = tasks.len().max(1);
    match act {
        Act::Describe(item, word) => {
            if let Some(task) = tasks.get_mut(usize::from(*item) % count) {
                task["description"] = format!("{by} {word}").into();
            }
        }
        Act::Status(item, word) => {
            if let Some(task) = tasks.get_mut(usize::from(*item) % count) {
                task["status"] = STATUSES[usize::from(*word)].into();
            }
        }
        Act::Add(name) => {
            let id = format!("{by}-{name}");
            if tasks.iter().all(|task| task["id"] != id) {
                tasks.push(task(&id, "available"));
            }
        }
        Act::Remove(item) if !tasks.is_empty() => drop(tasks.remove(usize::from(*item) % count)),
        Act::Remove(_) => {}
    }
}

fn after(base: &Value, acts: &[Act], by: &str) -> Value {
    let mut value = base.clone();
    acts.iter().for_each(|one| act(&mut value, one, by));
    value
}

fn find<'v>(value: &'v Value, id: &str) -> Option<&'v Value> {
    value["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id)
}

/// Moves one task of a row to another place.
fn moved(row: &[usize], from: usize, to: usize) -> Vec<usize> {
    let mut row = row.to_vec();
    let task = row.remove(from);
    row.insert(to, task);
    row
}

proptest! {
    /// A person moves one task and others move another one: both moves count.
    #[test]
    fn a_move_undoes_no_move_of_others(theirs in (0..8_usize, 0..8_usize), ours in (0..8_usize, 0..8_usize)) {
        let base: Vec<usize> = (0..8).collect();
        let (edit, known) = (moved(&base, theirs.0, theirs.1), moved(&base, ours.0, ours.1));
        let of = |revision, row: &[usize]| {
            queue(revision, row.iter().map(|id| task(&id.to_string(), "available")).collect::<Vec<_>>().into())
        };
        let (value, clashes) = join(&of(1, &base), &of(1, &edit), &of(2, &known));
        prop_assert!(clashes.is_empty());
        let tasks = value["tasks"].as_array().unwrap();
        let joined: Vec<usize> = tasks.iter().map(|task| task["id"].as_str().unwrap().parse().unwrap()).collect();
        let mut sorted = joined.clone();
        sorted.sort_unstable();
        prop_assert_eq!(&sorted, &base, "each is there once");
        if edit == base {
            prop_assert_eq!(&joined, &known);
        } else if known == base {
            prop_assert_eq!(&joined, &edit);
        }
        // Next to each other either of the two may be the one that was moved.
        let is_clear = |(from, to): (usize, usize)| from.abs_diff(to) > 1;
        if is_clear(theirs) && is_clear(ours) && theirs.0 != ours.0 {
            let without = |row: &[usize]| -> Vec<usize> {
                row.iter().copied().filter(|task| ![theirs.0, ours.0].contains(task)).collect()
            };
            prop_assert_eq!(without(&joined), without(&base), "nothing else moves");
            let rest = |row: &[usize], but: usize| -> Vec<usize> {
                row.iter().copied().filter(|task| *task != but).collect()
            };
            prop_assert_eq!(rest(&joined, theirs.0), rest(&known, theirs.0), "theirs is all that moves");
        }
    }

    #[test]
    fn nothing_is_undone_that_the_edit_did_not_touch_and_nothing_of_it_is_lost_untold(
        commits in acts(0, 0..4), edits in acts(4, 0..4)
    ) {
        let kind = Doc::queue().kind;
        let base = queue(7, (0..5).map(|id| task(&format!("t{id}"), "available")).collect::<Vec<_>>().into());
        let mut ours = after(&base, &commits, "ours");
        ours["revision"] = json!(9);
        let theirs = after(&base, &edits, "theirs");
        let Merged { value, clashes } = merge(kind, &base, &theirs, &ours, Base::Known);
        prop_assert!(kind.shape.check(&value).is_ok());
        prop_assert_eq!(&value["revision"], &json!(9));
        let told = |id: &str| clashes.iter().any(|clash| clash.path.starts_with(&format!("tasks[id={id}]")));
        let ids = [&base, &theirs, &ours].into_iter().flat_map(|value| value["tasks"].as_array().unwrap());
        for id in ids.map(|task| task["id"].as_str().unwrap()) {
            let (was, edit, known, is) = (find(&base, id), find(&theirs, id), find(&ours, id), find(&value, id));
            if edit == was {
                prop_assert_eq!(is, known, "{} was not touched", id);
            } else if known == was {
                prop_assert_eq!(is, edit, "{} was touched by the person alone", id);
            }
            for field in ["description", "status"] {
                let of = |task: Option<&Value>| task.map(|task| task[field].clone());
                if of(edit) != of(was) && of(is) != of(edit) {
                    prop_assert!(told(id), "{} of {} is lost untold", field, id);
                }
                if of(known) != of(was) && of(edit) == of(was) {
                    prop_assert_eq!(of(is), of(known), "{} of {} is undone", field, id);
                }
            }
        }
    }

    #[test]
    fn to_merge_twice_changes_nothing(commits in acts(0, 0..4), edits in acts(4, 0..4)) {
        let kind = Doc::queue().kind;
        let base = queue(7, (0..5).map(|id| task(&format!("t{id}"), "available")).collect::<Vec<_>>().into());
        let (ours, theirs) = (after(&base, &commits, "ours"), after(&base, &edits, "theirs"));
        let once = merge(kind, &base, &theirs, &ours, Base::Known);
        let twice = merge(kind, &base, &theirs, &once.value, Base::Known);
        prop_assert_eq!(twice.value, once.value);
    }
}
