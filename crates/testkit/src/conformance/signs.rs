//! Signs of life: kept beside the documents, and no revisions of them.

use std::thread;

use anthill_core::model::kind::Doc;
use anthill_core::model::lease::{self, Sign};
use anthill_core::model::time::Moment;
use anthill_core::store::Engine;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Make, QUIET, SOON, add_tasks, assert_quiet, doc, entry, lazy, now, read, task};

fn moment(seconds: i64) -> Moment {
    Moment { at: now() + SignedDuration::from_secs(seconds), boot: None }
}

/// Returns a task that somebody has since a second, for a minute and a half.
fn claimed(id: &str, epoch: u64) -> Value {
    let mut task = task(id, 5, 0);
    (task["status"], task["claimed_by"]) = ("claimed".into(), "w1".into());
    task["lease"] = lease::new(epoch, 90.0, &moment(0));
    task
}

fn sign(id: &str, epoch: u64, seconds: i64) -> Sign {
    Sign { id: id.into(), by: "w1".into(), lease: lease::new(epoch, 90.0, &moment(seconds)) }
}

/// Gives signs in one commit.
fn give(engine: &dyn Engine, queue: &Doc, signs: &[Sign]) {
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    for sign in signs {
        assert!(transaction.sign(queue, sign.clone(), &moment(1)).unwrap());
    }
    transaction.commit(&lazy("heartbeat")).unwrap();
}

pub fn signs_of_life_come_with_the_commit(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    assert!(engine.signs(&queue).unwrap().is_empty(), "there is no queue yet");
    add_tasks(&*engine, vec![claimed("a", 1), claimed("b", 1)]);
    let given = sign("a", 1, 30);
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    assert!(transaction.sign(&queue, given.clone(), &moment(30)).unwrap());
    assert_eq!(transaction.signs(&queue).unwrap().of("a"), Some(&given), "it sees its own");
    assert!(engine.signs(&queue).unwrap().is_empty(), "nobody else does");
    drop(transaction);
    assert!(engine.signs(&queue).unwrap().is_empty(), "what was dropped is not there");
    give(&*engine, &queue, std::slice::from_ref(&given));
    assert_eq!(engine.signs(&queue).unwrap().of("a"), Some(&given));
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    let signs = transaction.signs(&queue).unwrap();
    assert_eq!((signs.of("a"), signs.of("b")), (Some(&given), None));
    let held = transaction.item(&queue, "a").unwrap().unwrap();
    assert_eq!(held, claimed("a", 1), "the document knows nothing of it");
    let left = |signs: &lease::Signs| signs.left(&held, &moment(30)).unwrap().as_secs();
    assert_eq!((left(&signs), left(&lease::Signs::default())), (90, 60));
}

pub fn signs_of_life_make_no_revision(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    let before = add_tasks(&*engine, vec![claimed("a", 1)]);
    let (log, cursor) = (engine.log(&queue.room).unwrap(), engine.cursor().unwrap());
    let mut watch = engine.watch(&queue, Some(before.revision)).unwrap();
    let mut listener = engine.listen(std::slice::from_ref(&queue)).unwrap();
    for seconds in 1..20 {
        give(&*engine, &queue, &[sign("a", 1, seconds)]);
    }
    assert_eq!(read(&*engine, &queue).unwrap(), before);
    assert_eq!(engine.log(&queue.room).unwrap(), log);
    assert!(engine.commits_since(&cursor, 10).unwrap().commits.is_empty());
    assert_quiet(&mut *watch);
    assert!(!listener.wait(Some(QUIET)).unwrap(), "nobody is woken");
    assert_eq!(engine.signs(&queue).unwrap().of("a"), Some(&sign("a", 1, 19)));
}

pub fn the_last_sign_of_an_item_counts(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    add_tasks(&*engine, vec![claimed("a", 2)]);
    give(&*engine, &queue, &[sign("a", 1, 30)]);
    let held = claimed("a", 2);
    let left = |seconds| engine.signs(&queue).unwrap().left(&held, &moment(seconds)).unwrap().as_secs();
    assert_eq!(left(30), 60, "a sign for an earlier lease does not count");
    give(&*engine, &queue, &[sign("a", 2, 20), sign("a", 2, 40)]);
    assert_eq!(engine.signs(&queue).unwrap().of("a"), Some(&sign("a", 2, 40)));
    assert_eq!(left(40), 90);
    // One that is over may be forgotten, and nobody is the wiser.
    give(&*engine, &queue, &[sign("b", 1, 500)]);
    assert!(left(500) < 0);
}

pub fn a_sign_is_of_one_item(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    let odd = ["a", "A", "aa", "a\",\"by\":", "\u{e9}\n"];
    add_tasks(&*engine, odd.iter().map(|id| claimed(id, 1)).collect());
    for (id, seconds) in odd.iter().zip(10..) {
        give(&*engine, &queue, &[sign(id, 1, seconds)]);
    }
    give(&*engine, &queue, &[sign("a", 1, 50)]);
    let signs = engine.signs(&queue).unwrap();
    assert_eq!(signs.of("a"), Some(&sign("a", 1, 50)));
    for (id, seconds) in odd.iter().zip(10..).skip(1) {
        assert_eq!(signs.of(id), Some(&sign(id, 1, seconds)), "{id}");
    }
    assert_eq!(signs.of("nobody"), None);
}

/// Each worker gives its own, and nobody takes the place of another.
pub fn signs_of_many_at_once(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    let ids: Vec<_> = (0..8).map(|number| format!("t{number}")).collect();
    add_tasks(&*engine, ids.iter().map(|id| claimed(id, 1)).collect());
    thread::scope(|scope| {
        for id in &ids {
            let (engine, queue) = (&engine, &queue);
            scope.spawn(move || (1..=10).for_each(|seconds| give(&**engine, queue, &[sign(id, 1, seconds)])));
        }
    });
    let signs = engine.signs(&queue).unwrap();
    assert!(ids.iter().all(|id| signs.of(id) == Some(&sign(id, 1, 10))));
}

pub fn signs_come_with_a_change_of_the_same_commit(make: Make<'_>) {
    let (engine, queue) = (make(SOON), doc("queue"));
    let before = add_tasks(&*engine, vec![claimed("a", 1), claimed("b", 1)]);
    let mut transaction = engine.begin(&[&queue.room]).unwrap();
    assert!(transaction.sign(&queue, sign("a", 1, 30), &moment(30)).unwrap());
    let mut other = claimed("b", 1);
    other["lease"] = lease::new(1, 90.0, &moment(30));
    transaction.put_item(&queue, "b", other.clone()).unwrap();
    transaction.commit(&entry("heartbeat")).unwrap();
    let after = read(&*engine, &queue).unwrap();
    assert_eq!(after.revision, before.revision + 1);
    assert_eq!(after.value["tasks"], json!([claimed("a", 1), other]));
    assert_eq!(engine.signs(&queue).unwrap().of("a"), Some(&sign("a", 1, 30)));
}
