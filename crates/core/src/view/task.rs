//! One task, with everything that is known of it.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::board::{Line, Page, Tone, short, since};
use super::graph::{at, field, labels_of, list};
use super::queue_texts;
use crate::model::documents::queue::{Attempt, Note, QueueTask, TaskContext, TaskResult};
use crate::model::key::{Fields, Held, Key, Text};
use crate::model::shape::Time;
use crate::model::task::{Task, word};
use crate::model::time;

/// How much of a result is shown; all of it is in its file.
const RESULT: usize = 20;

/// The tasks before and behind one.
#[derive(Debug)]
pub struct Around {
    /// What it waits for or waited for; without a task where there is none.
    pub waits_for: Vec<(String, Option<Task>)>,
    /// The open tasks that wait for it.
    pub needed_by: Vec<Task>,
    /// What happened to it last, the newest first.
    pub past: Vec<Event>,
}

/// A commit that changed a task.
#[derive(Debug)]
pub struct Event {
    pub revision: u64,
    pub at: String,
    pub by: String,
    pub op: String,
}

/// Returns the sheet of a task: `why` it is not at work, `left` of its lease.
pub fn sheet(
    task: &Task,
    around: &Around,
    why: &[String],
    now: Timestamp,
    left: Option<SignedDuration>,
    width: usize,
) -> Vec<Line> {
    let value = task.value();
    let mut page = Page::new(width);
    page.line(Tone::Title, task.id());
    page.text(Tone::Plain, "", field(value, QueueTask::description));
    page.line(Tone::Plain, "");
    page.fact("status", &status(task, now, left));
    page.fact("priority", &task.rank().0.to_string());
    page.fact("labels", &labels_of(value).join(", "));
    page.fact("files", &task.files().join(", "));
    page.fact("needs", &task.needs().join(", "));
    page.fact("hints", field(&value[QueueTask::context], TaskContext::hints));
    page.fact("part of", task.parent().unwrap_or_default());
    page.fact("parts", &before(around, |id| task.parts().contains(&id)));
    page.fact("waits for", &before(around, |id| !task.parts().contains(&id)));
    page.fact("needed by", &around.needed_by.iter().map(Task::id).collect::<Vec<_>>().join(", "));
    page.fact(
        "used",
        &value
            .at(QueueTask::usage)
            .filter(|usage| usage.is_object())
            .map(queue_texts::used)
            .unwrap_or_default(),
    );
    page.items(
        "attempts",
        task.attempts()
            .iter()
            .map(|attempt| said(attempt, (Attempt::by, Attempt::ended_at, Attempt::reason), now)),
    );
    let notes = value[QueueTask::notes].as_array().into_iter().flatten();
    page.items("notes", notes.map(|note| said(note, (Note::by, Note::at, Note::text), now)));
    page.result(&value[QueueTask::result]);
    let open = task.is_open() || task.is_active();
    page.items("why", why.iter().filter(|_| open).cloned());
    page.items("history", around.past.iter().map(|event| happened(event, now)));
    page.lines
}

fn status(task: &Task, now: Timestamp, left: Option<SignedDuration>) -> String {
    let value = task.value();
    let owner = task.owner().map(|owner| format!(" by {owner}")).unwrap_or_default();
    let began = at(value, QueueTask::completed_at)
        .or_else(|| at(value, QueueTask::started_at))
        .or_else(|| at(value, QueueTask::claimed_at));
    let ago = began
        .or_else(|| at(value, QueueTask::created_at))
        .map(|then| format!(", {} ago", short(since(then, now))));
    let lease = left.filter(|_| task.is_active()).map(|left| match left.is_negative() {
        true => format!(", lease ran out {} ago", short(left.unsigned_abs())),
        false => format!(", lease {} left", short(left.unsigned_abs())),
    });
    let parts = [Some(owner), ago, lease].into_iter().flatten();
    std::iter::once(word(task.status()).to_owned()).chain(parts).collect()
}

/// Names the tasks before one that are wanted, and how they stand.
fn before(around: &Around, wanted: impl Fn(&str) -> bool) -> String {
    let told = |(id, task): &(String, Option<Task>)| match task {
        Some(task) => format!("{id} ({})", word(task.status())),
        None => format!("{id} (missing)"),
    };
    let wanted = around.waits_for.iter().filter(|(id, _)| wanted(id));
    wanted.map(told).collect::<Vec<_>>().join(", ")
}

fn happened(event: &Event, now: Timestamp) -> String {
    let ago = time::read(&event.at).map(|at| format!("{} ago: ", short(since(at, now)))).unwrap_or_default();
    format!("{ago}{} by {}", event.op, event.by)
}

/// Somebody's words, and when they were said.
fn said<Words, When>(
    entry: &Value,
    (by, time, words): (Key<Words>, Key<When>, Key<Words>),
    now: Timestamp,
) -> String
where
    Words: Held<Kind: Text>,
    When: Held<Kind = Time>,
{
    let ago = at(entry, time).map(|then| format!(", {} ago", short(since(then, now)))).unwrap_or_default();
    format!("{}{ago}: {}", field(entry, by), field(entry, words))
}

impl Page {
    /// Writes a name and what there is to say under it; nothing if that is nothing.
    fn fact(&mut self, name: &str, text: &str) {
        if !text.trim().is_empty() {
            self.text(Tone::Plain, &format!("{name}: "), text);
        }
    }

    fn items(&mut self, name: &str, texts: impl Iterator<Item = String>) {
        for (number, text) in texts.enumerate() {
            if number == 0 {
                self.line(Tone::Plain, &format!("{name}:"));
            }
            self.text(Tone::Plain, "  - ", &text);
        }
    }

    fn result(&mut self, result: &Value) {
        self.fact("failed", field(result, TaskResult::error));
        let output = field(result, TaskResult::output);
        let rest = output.lines().count().saturating_sub(RESULT);
        let shown: Vec<_> = output.lines().take(RESULT).collect();
        self.fact("result", &shown.join("\n"));
        if rest > 0 {
            self.line(Tone::Dim, &format!("  … and {rest} more lines"));
        }
        self.fact("modified", &list(result, TaskResult::files_modified).join(", "));
        self.fact("created", &list(result, TaskResult::files_created).join(", "));
    }

    /// Writes a text with its line breaks, folded at the width; lines after the first are indented as far as the name goes.
    pub(super) fn text(&mut self, tone: Tone, name: &str, text: &str) {
        let indent = " ".repeat(name.chars().count().min(4));
        let mut line = name.to_owned();
        for (number, part) in text.lines().enumerate() {
            if number > 0 {
                self.line(tone, &std::mem::replace(&mut line, indent.clone()));
            }
            for word in part.split(' ').filter(|word| !word.is_empty()) {
                let begins = line.trim().is_empty() || line == name;
                if !begins && line.chars().count() + 1 + word.chars().count() > self.width {
                    self.line(tone, &std::mem::replace(&mut line, indent.clone()));
                    line.push_str(word);
                } else {
                    line.push_str(if begins { "" } else { " " });
                    line.push_str(word);
                }
            }
        }
        self.line(tone, &line);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-01-01T12:00:00Z";

    fn drawn(task: Value, width: usize) -> String {
        let past = vec![Event {
            revision: 7,
            at: "2026-01-01T11:59:00Z".into(),
            by: "w1".into(),
            op: "fail".into(),
        }];
        let around = Around { waits_for: vec![("gone".into(), None)], needed_by: Vec::new(), past };
        let lines = sheet(&Task::of(task), &around, &["it waits".into()], NOW.parse().unwrap(), None, width);
        lines.iter().map(|line| line.text.trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn everything_is_there_and_nothing_is_wider_than_the_place() {
        let task = json!({
            "id": "a", "description": "Write what the old one did, word for word, and nothing else\nthen rest",
            "status": "available", "created_at": "2026-01-01T11:00:00Z", "labels": ["x"],
            "attempts": [{"by": "w1", "ended_at": "2026-01-01T11:58:00Z", "reason": "no disk"}],
            "notes": [{"at": "2026-01-01T11:59:30Z", "by": "ann", "text": "ask Bob before you begin with it"}],
        });
        let expected = "\
a
Write what the old one did, word for
word, and nothing else
then rest

status: available, 1h00m ago
priority: 5
labels: x
waits for: gone (missing)
attempts:
  - w1, 2m00s ago: no disk
notes:
  - ann, 30s ago: ask Bob before you
    begin with it
why:
  - it waits
history:
  - 1m00s ago: fail by w1
";
        assert_eq!(drawn(task, 40), expected);
    }

    #[test]
    fn a_long_result_is_cut() {
        let output: Vec<_> = (0..30).map(|number| format!("line {number}")).collect();
        let task = json!({"id": "a", "description": "d", "status": "done", "claimed_by": "w1",
            "completed_at": "2026-01-01T11:00:00Z", "result": {"output": output.join("\n"), "files_created": ["x"]}});
        let text = drawn(task, 80);
        assert!(text.contains("result: line 0\n    line 1\n"), "{text}");
        assert!(text.contains("    line 19\n  … and 10 more lines\ncreated: x\n"), "{text}");
        assert!(!text.contains("why"), "{text}");
    }
}
