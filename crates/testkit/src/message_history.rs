//! Judges what happened to messages: what their senders were told, what their readers got, and what the journals of
//! the mailboxes say. [`steps`] reads those out of `anthill history mailbox --json`, [`check`] says which promises
//! were broken.
//!
//! Written from the words of the design and not from the code that it judges: it knows documents, not types.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::queue_history::apply;

/// What identifies a message, and what its order depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    pub id: String,
    pub from: String,
    pub to: String,
    pub seq: u64,
    pub priority: String,
}

impl Letter {
    /// Reads it out of a message as `send` and `poll` print it.
    pub fn of(message: &Value) -> Letter {
        let text = |field: &str| message[field].as_str().expect("a text").to_owned();
        let seq = message["seq"].as_u64().expect("a number");
        Letter { id: text("id"), from: text("from"), to: text("to"), seq, priority: text("priority") }
    }
}

/// What one process printed that ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poll {
    pub mailbox: String,
    /// Several may read one mailbox.
    pub consumer: String,
    /// Whether it asked for what was read before.
    pub again: bool,
    pub letters: Vec<Letter>,
}

/// A message has another status from this revision of a mailbox on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub mailbox: String,
    pub revision: u64,
    pub id: String,
    pub status: String,
}

#[derive(Debug, Default)]
pub struct History {
    /// What senders were told to have sent.
    pub sent: Vec<Letter>,
    /// Of each consumer in its order, up to the very end, when everything was asked for that is left.
    pub polls: Vec<Poll>,
    /// Of each mailbox in its order.
    pub steps: Vec<Step>,
}

/// A promise of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// What a sender was told to be sent can be read, if need be again.
    Arrives,
    /// Whoever reads gets what was sent, to them.
    AsSent,
    /// No two polls return the same, unless it is asked for again.
    ReadOnce,
    /// A reader gets what one sender sent with one priority in the order in which it was sent.
    InOrder,
    /// A message is unread, then read, then done with, and never goes back.
    Onward,
    /// What was sent is unread in the journal, and what came out of a mailbox is read.
    Recorded,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub promise: Promise,
    pub id: String,
    pub told: String,
}

/// Returns every broken promise.
pub fn check(history: &History) -> Vec<Violation> {
    let mut judge = Judge { history, violations: Vec::new() };
    judge.compare_letters();
    judge.count_readings();
    judge.follow_order();
    judge.follow_steps();
    judge.violations
}

struct Judge<'h> {
    history: &'h History,
    violations: Vec<Violation>,
}

impl<'h> Judge<'h> {
    fn broken(&mut self, promise: Promise, id: &str, told: String) {
        self.violations.push(Violation { promise, id: id.into(), told });
    }

    fn polls(&self) -> impl Iterator<Item = (&'h Poll, &'h Letter)> + use<'h> {
        self.history.polls.iter().flat_map(|poll| poll.letters.iter().map(move |letter| (poll, letter)))
    }

    fn compare_letters(&mut self) {
        let sent: HashMap<_, _> = self.history.sent.iter().map(|letter| (&letter.id, letter)).collect();
        let mut arrived = HashSet::new();
        for (poll, letter) in self.polls() {
            arrived.insert(&letter.id);
            if letter.to != poll.mailbox || sent.get(&letter.id) != Some(&letter) {
                self.broken(Promise::AsSent, &letter.id, format!("{} got {letter:?}", poll.consumer));
            }
        }
        for letter in self.history.sent.iter().filter(|letter| !arrived.contains(&letter.id)) {
            self.broken(Promise::Arrives, &letter.id, format!("nobody can read {letter:?}"));
        }
    }

    fn count_readings(&mut self) {
        let mut readers = HashMap::new();
        for (poll, letter) in self.polls().filter(|(poll, _)| !poll.again) {
            if let Some(first) = readers.insert(&letter.id, &poll.consumer) {
                self.broken(Promise::ReadOnce, &letter.id, format!("{first} got it, then {}", poll.consumer));
            }
        }
    }

    fn follow_order(&mut self) {
        let mut last: HashMap<_, u64> = HashMap::new();
        for (poll, letter) in self.polls().filter(|(poll, _)| !poll.again) {
            let row = (&poll.consumer, &poll.mailbox, &letter.from, &letter.priority);
            if let Some(before) = last.insert(row, letter.seq).filter(|before| *before >= letter.seq) {
                let told = format!("{} got {before} of {} before it", poll.consumer, letter.from);
                self.broken(Promise::InOrder, &letter.id, told);
            }
        }
    }

    fn follow_steps(&mut self) {
        const ORDER: [&str; 3] = ["unread", "read", "processed"];
        let mut reached: HashMap<(&str, &str), usize> = HashMap::new();
        for Step { mailbox, revision, id, status } in &self.history.steps {
            let key = (mailbox.as_str(), id.as_str());
            let place = ORDER.iter().position(|known| known == status);
            let next = reached.get(&key).map_or(0, |place| place + 1);
            if place != Some(next) {
                self.broken(Promise::Onward, id, format!("{status} at {revision} of {mailbox}"));
            }
            reached.insert(key, place.unwrap_or(next));
        }
        let is = |mailbox: &str, id: &str| reached.get(&(mailbox, id)).copied();
        for letter in self.history.sent.iter().filter(|letter| is(&letter.to, &letter.id).is_none()) {
            self.broken(Promise::Recorded, &letter.id, format!("no journal knows {letter:?}"));
        }
        for (poll, letter) in self.polls().filter(|(poll, letter)| is(&poll.mailbox, &letter.id) == Some(0)) {
            self.broken(Promise::Recorded, &letter.id, format!("unread, though {} got it", poll.consumer));
        }
    }
}

/// Reads the steps out of all revisions of a mailbox, as `history` prints them. Panics where the revisions do not
/// follow each other or cannot be put together.
pub fn steps(mailbox: &str, history: &[Value]) -> Vec<Step> {
    let (mut document, mut known, mut steps) = (Value::Null, HashMap::new(), Vec::new());
    for (expected, record) in (1..).zip(history) {
        let revision = record["revision"].as_u64().expect("a revision");
        assert_eq!(revision, expected, "a revision is missing");
        let changes = record["changes"].as_array().expect("changes");
        changes.iter().for_each(|change| apply(&mut document, "messages", change));
        for note in document["messages"].as_array().expect("a list") {
            let text = |field: &str| note[field].as_str().expect("a text").to_owned();
            let (id, status) = (text("id"), text("status"));
            if known.insert(id.clone(), status.clone()).as_ref() != Some(&status) {
                steps.push(Step { mailbox: mailbox.into(), revision, id, status });
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `a1` is the first message of `a`, to `r`.
    fn letter(id: &str) -> Letter {
        let (from, seq) = id.split_at(1);
        let seq = seq.parse().unwrap();
        Letter { id: id.into(), from: from.into(), to: "r".into(), seq, priority: "normal".into() }
    }

    fn letters(ids: &str) -> Vec<Letter> {
        ids.split_whitespace().map(letter).collect()
    }

    fn poll(consumer: &str, ids: &str) -> Poll {
        Poll { mailbox: "r".into(), consumer: consumer.into(), again: false, letters: letters(ids) }
    }

    fn again(consumer: &str, ids: &str) -> Poll {
        Poll { again: true, ..poll(consumer, ids) }
    }

    fn step(id: &str, status: &str) -> Step {
        Step { mailbox: "r".into(), revision: 1, id: id.into(), status: status.into() }
    }

    /// Judges a history whose journal knows that all of `sent` was read.
    #[track_caller]
    fn judged(sent: &str, polls: &[Poll], expected: &[Promise]) {
        let sent = letters(sent);
        let both = |letter: &Letter| [step(&letter.id, "unread"), step(&letter.id, "read")];
        let steps = sent.iter().flat_map(both).collect();
        broken(&History { sent, polls: polls.to_vec(), steps }, expected);
    }

    #[track_caller]
    fn broken(history: &History, expected: &[Promise]) {
        let found = check(history);
        let promises: Vec<_> = found.iter().map(|broken| broken.promise).collect();
        assert_eq!(promises, expected, "{found:?}");
    }

    #[test]
    fn good_histories_pass() {
        judged("", &[], &[]);
        judged("a1 a2 b1", &[poll("x", "a1 b1"), poll("y", "a2")], &[]);
        // What a reader that was killed had taken is there again, for everybody.
        judged("a1 a2", &[poll("x", "a2"), again("y", "a1 a2"), again("x", "a1")], &[]);
        let urgent = Letter { priority: "critical".into(), ..letter("a3") };
        let sent = [letters("a1 a2"), vec![urgent.clone()]].concat();
        let both = |letter: &Letter| [step(&letter.id, "unread"), step(&letter.id, "read")];
        let steps = sent.iter().flat_map(both).collect();
        let polls = vec![Poll { letters: vec![urgent], ..poll("x", "") }, poll("x", "a1 a2")];
        broken(&History { sent, polls, steps }, &[]);
    }

    #[test]
    fn lost() {
        judged("a1 a2", &[poll("x", "a2")], &[Promise::Arrives]);
        judged("a1", &[], &[Promise::Arrives]);
    }

    #[test]
    fn doubled() {
        judged("a1", &[poll("x", "a1"), poll("y", "a1")], &[Promise::ReadOnce]);
        judged("a1", &[poll("x", "a1"), poll("x", "a1")], &[Promise::ReadOnce, Promise::InOrder]);
        judged("a1", &[poll("x", "a1 a1")], &[Promise::ReadOnce, Promise::InOrder]);
    }

    #[test]
    fn out_of_order() {
        judged("a1 a2", &[poll("x", "a2 a1")], &[Promise::InOrder]);
        judged("a1 a2", &[poll("x", "a2"), poll("x", "a1")], &[Promise::InOrder]);
        judged("a1 b2", &[poll("x", "b2 a1")], &[]);
    }

    #[test]
    fn not_as_it_was_sent() {
        judged("a1", &[poll("x", "a1 a2")], &[Promise::AsSent]);
        let astray = Poll { mailbox: "q".into(), ..again("x", "a1") };
        judged("a1", &[poll("x", "a1"), astray], &[Promise::AsSent]);
        let other = Poll { letters: vec![Letter { seq: 7, ..letter("a1") }], ..poll("x", "") };
        judged("a1", &[other], &[Promise::AsSent]);
    }

    #[test]
    fn a_journal_that_says_something_else() {
        let journal = |statuses: &[&str], expected: &[Promise]| {
            let steps = statuses.iter().map(|status| step("a1", status)).collect();
            broken(&History { sent: letters("a1"), polls: vec![poll("x", "a1")], steps }, expected);
        };
        journal(&["unread", "read", "processed"], &[]);
        journal(&[], &[Promise::Recorded]);
        journal(&["unread"], &[Promise::Recorded]);
        journal(&["read"], &[Promise::Onward]);
        journal(&["unread", "read", "unread"], &[Promise::Onward, Promise::Recorded]);
        journal(&["unread", "read", "processed", "read"], &[Promise::Onward]);
        journal(&["unread", "lost"], &[Promise::Onward]);
    }

    #[test]
    fn steps_are_read_out_of_a_history() {
        let change = |path: &str, after: Value| json!({"path": path, "after": after});
        let note = |id: &str, status: &str| json!({"id": id, "status": status});
        let history = [
            json!({"revision": 1, "changes": [change("", json!({"messages": [note("a1", "unread")]}))]}),
            json!({"revision": 2, "changes": [change("messages[1]", note("a2", "unread")), change("revision", 2.into())]}),
            json!({"revision": 3, "changes": [change("messages[0].status", "read".into())]}),
        ];
        let at = |revision, id, status| Step { revision, ..step(id, status) };
        let expected = [at(1, "a1", "unread"), at(2, "a2", "unread"), at(3, "a1", "read")];
        assert_eq!(steps("r", &history), expected);
    }
}
