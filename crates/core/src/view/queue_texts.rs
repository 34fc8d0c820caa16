//! The Markdown text files and log lines that a queue leaves for people, and the prompt for a worker's command.
//!
//! Texts of people and agents go in as they are, with four cares: what could steer the terminal that a text file is
//! read in is shown as an escape; their headings stay below the text file's own; a code block that one left open
//! ends with it; and in a prompt they stand in fences that they cannot close.

use serde_json::Value;

use super::board::{counts, owner, progress};
use super::graph::{Tasks, cut, field, list, one_line};
use super::table::Table;
use super::text::escape;
use crate::model::changes::{self, NO_CHANGE};
use crate::model::documents::queue::{Changes, LastClaim, QueueTask, TaskResult, TaskUsage};
use crate::model::hint::Door;
use crate::model::key::Fields;
use crate::model::next::{Next, See};
use crate::model::plan::figure;

/// How far the headings of a text go down that stands in a section of a text file.
const BELOW_SECTION: usize = 2;

/// What a plan says for want of an approach.
pub(super) const NO_APPROACH: &str = "_How will the goal be reached? Not decided yet._";

/// Returns the first `master-plan.md`.
pub fn plan(goal: &str, approach: Option<&str>, now: &str, door: &dyn Door) -> String {
    let approach = approach.unwrap_or(NO_APPROACH);
    let [goal, approach] = [goal, approach].map(|text| outlined(text, BELOW_SECTION));
    let [add, see] = [Next::AddTask, Next::See(See::Tasks)].map(|step| door.say(&step));
    format!(
        "# Master Plan

## Objective

{goal}
## Approach

{approach}
## Success Criteria

- [ ] Every task of the queue is done
- [ ] The tests pass
- [ ] The summary has been reviewed

## Task Breakdown

The tasks live in `tasks.json`: `{add}` adds one, `{see}` shows all.

## Status

- Phase: `{see}` shows how far it is
- Started: {now}

## Notes

"
    )
}

/// Reads a section back from a plan, which may have been rewritten meanwhile; nothing if it is empty or not there.
pub fn section(plan: &str, heading: &str) -> Option<String> {
    let title = |line: &str| line.strip_prefix("## ").map(|title| title.trim().to_owned());
    let mut lines = plan.lines().skip_while(|line| title(line).as_deref() != Some(heading)).skip(1);
    let lines: Vec<_> = lines.by_ref().take_while(|line| title(line).is_none()).collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The section of the plan that has the goal.
pub const OBJECTIVE: &str = "Objective";

/// Returns a goal as it stands in the plan.
pub fn goal(goal: &str) -> String {
    outlined(goal, BELOW_SECTION)
}

/// Returns a plan with another text in one of its sections; `None` if it has no such section.
pub fn with_section(plan: &str, heading: &str, text: &str) -> Option<String> {
    let title = |line: &str| line.strip_prefix("## ").map(|title| title.trim().to_owned());
    let lines: Vec<_> = plan.lines().collect();
    let at = lines.iter().position(|line| title(line).as_deref() == Some(heading))?;
    let behind = lines[at + 1..].iter().position(|line| title(line).is_some());
    let rest = behind.map_or(&[][..], |behind| &lines[at + 1 + behind..]);
    let new = format!("{}\n\n{}\n\n", lines[..=at].join("\n"), text.trim_end());
    Some(new + &rest.join("\n") + if rest.is_empty() { "" } else { "\n" })
}

/// Returns the first `context/discoveries.md`.
pub fn discoveries(door: &dyn Door) -> String {
    format!("{DISCOVERIES}{}\n", door.say(&Next::Discover))
}

/// How it begins, up to the words of a door.
const DISCOVERIES: &str = "# Discoveries

What one worker finds out and the others should know. To add something:

    ";

/// Returns what others wrote into it.
pub(super) fn discovered(text: &str) -> &str {
    let added = text.strip_prefix(DISCOVERIES).and_then(|rest| rest.split_once('\n'));
    added.map_or(text, |(_, added)| added)
}

/// Returns one entry for `discoveries.md`. The first line is the title; one that had to be cut is repeated whole.
pub fn discovery(worker: &str, text: &str, now: &str) -> String {
    let text = text.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let title = cut(&escape(&one_line(first.trim_end())), 80);
    let body = if title == first.trim_end() { rest.trim() } else { text };
    let body = outlined(body, BELOW_SECTION);
    let gap = if body.is_empty() { "" } else { "\n" };
    format!("\n## Discovery: {title}\n\n{body}{gap}_{}, {now}_\n", one_line(worker))
}

/// Returns `results/{id}.md` of a task that is done or has failed.
pub fn result(task: &Value) -> String {
    let result = &task[QueueTask::result];
    let times =
        [field(task, QueueTask::completed_at), field(&task[QueueTask::last_claim], LastClaim::ended_at)];
    let time = times.into_iter().find(|time| !time.is_empty()).unwrap_or_default();
    let worker = owner(task).unwrap_or_default();
    let changed = changed(task);
    let [modified, created] =
        [TaskResult::files_modified, TaskResult::files_created].map(|name| bullets(&list(result, name)));
    let used = task.at(QueueTask::usage).map(used);
    let sections: &[(&str, &str)] = if field(task, QueueTask::status) == "failed" {
        &[
            ("Attempted By", worker),
            ("Failed At", time),
            ("Failure Reason", field(result, TaskResult::error)),
            ("Status", "FAILED"),
        ]
    } else {
        &[
            ("Completed By", worker),
            ("Completed At", time),
            ("Output", field(result, TaskResult::output)),
            ("Files Modified", &modified),
            ("Files Created", &created),
            ("Status", "SUCCESS"),
        ]
    };
    let mut text_file = format!("# Task: {}\n", one_line(field(task, QueueTask::id)));
    let extras = [("Used", &used), ("Changed", &changed)];
    let extras = extras.into_iter().filter_map(|(heading, text)| Some((heading, text.as_deref()?)));
    let head = [("Description", field(task, QueueTask::description))];
    for (heading, text) in head.into_iter().chain(extras).chain(sections.iter().copied()) {
        let text = if text.trim().is_empty() { "none" } else { text };
        text_file += &format!("\n## {heading}\n\n{}", outlined(text, BELOW_SECTION));
    }
    text_file
}

/// Says what agents used, by the sums that a document keeps.
pub fn used(sums: &Value) -> String {
    let cost = figure(sums, TaskUsage::cost_usd).unwrap_or(0.0);
    let digits = if cost < 0.1 { 4 } else { 2 };
    let (input, output, tries) = (
        sums.read(TaskUsage::input_tokens).unwrap_or(0),
        sums.read(TaskUsage::output_tokens).unwrap_or(0),
        sums.read(TaskUsage::tries).unwrap_or(0),
    );
    let tries = if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
    format!("${cost:.digits$}, {input} tokens in, {output} out, {tries}")
}

/// Returns `summary.md`: how far the queue is, its tasks, then the `results` (task id and text) in their order.
pub fn summary(goal: Option<&str>, results: &[(String, String)], queue: &Value, now: &str) -> String {
    let mut text_file = format!("# Summary\n\nGenerated: {now}\n");
    if let Some(goal) = goal {
        text_file += &format!("\n## Objective\n\n{}", outlined(goal, 1));
    }
    let counts = counts(queue).into_iter().filter(|(_, number)| *number > 0);
    let counts: String = counts.map(|(status, number)| format!(", {number} {status}")).collect();
    text_file += &format!("\n## Tasks\n\nProgress: {}{counts}\n\n", progress(queue));
    text_file += &escape(&overview(queue).markdown());
    for (id, text) in results {
        let is_titled = text.trim_start().starts_with("# ");
        let title = if is_titled { String::new() } else { format!("## Task: {id}\n\n") };
        text_file += &format!("\n---\n\n{title}{}", outlined(text, 1));
    }
    text_file
}

/// Returns one event as one line of `logs/{agent}.log`, whatever the details contain.
pub fn log_line(at: &str, action: &str, details: &str) -> String {
    let details = one_line(&details.replace(char::is_control, " "));
    format!("[{at}] {action}: {}\n", details.trim_end())
}

/// How an agent says what came of its work. Printed back it is no answer: its status is none.
pub(super) const OBJECT: &str = r#"```json
{"status": "done | failed | blocked | released", "summary": "…", "files_modified": ["…"], "files_created": ["…"], "discoveries": ["…"]}
```

- `done`: all of it is done. `summary` says in a few sentences what you did.
- `failed`: it is not done, and you cannot do it. `summary` says why.
- `blocked`: somebody else has to do or to decide something first. `summary` says what.
- `released`: it is not for you. Somebody else will get it.
"#;

/// Tells whoever does a piece of work how to say what came of it.
pub(super) fn answer() -> String {
    format!(
        "\n## How to answer\n\nEnd with one JSON object as your last words. Only `status` has to be there; `discoveries` are what \
         the others should know.\n\n{OBJECT}\nA program that is no coding agent may say it by its exit code instead: 0 is `done`.\n"
    )
}

/// Returns what an agent is asked that ended without a word on how its work stands.
pub fn status_question() -> String {
    format!(
        "Your last message does not say whether your work is done. Do not go on with it now. Answer only with one JSON \
         object, with one of the four words as its `status`:\n\n{OBJECT}"
    )
}

/// Returns a question for somebody who does not remember what they said last.
pub fn reminder(question: &str, words: &str) -> String {
    let words = if words.trim().is_empty() { "(nothing)" } else { words };
    format!("{question}\nThese were the last words of your work, as you wrote them:\n\n{}", fenced(words))
}

/// Tells what git saw change while the task was worked on, if it looked.
fn changed(task: &Value) -> Option<String> {
    let changed = changes::changed(task)?;
    let files = list(changed, Changes::files);
    let more = changed.read(Changes::count).unwrap_or(0).saturating_sub(files.len() as u64);
    let head = match (files.is_empty(), changed[Changes::shared] == true) {
        (true, _) if changes::is_hollow(task) => {
            return Some(format!("Nothing: the task names files and is reported as done, {NO_CHANGE}."));
        }
        (true, _) => return Some("Nothing, by git.".into()),
        (false, true) => "By git; others were at work in the same tree, and some of it may be theirs:",
        (false, false) => "By git:",
    };
    let more = if more > 0 { format!("- and {more} more\n") } else { String::new() };
    Some(format!("{head}\n\n{}{more}", bullets(&files)))
}

fn bullets(items: &[&str]) -> String {
    if items.is_empty() {
        return "- none".into();
    }
    items.iter().map(|item| format!("- {}\n", one_line(item))).collect()
}

/// Lays out every task of the queue as one row.
fn overview(queue: &Value) -> Table {
    let row = |task: &Value| {
        let description = cut(&one_line(field(task, QueueTask::description)), 60);
        let worker = owner(task).unwrap_or_default();
        let status = match changes::is_hollow(task) {
            true => format!("done, {NO_CHANGE}"),
            false => field(task, QueueTask::status).to_owned(),
        };
        [field(task, QueueTask::id), &status, &description, worker].map(one_line).to_vec()
    };
    let header = ["id", "status", "description", "by"].map(str::to_owned).to_vec();
    Table { header, rows: Tasks::of(queue).all.iter().map(row).collect() }
}

/// Quotes `text` in a fence longer than any run of backticks in it.
pub(super) fn fenced(text: &str) -> String {
    let text = escape(text);
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// Returns `text` with its headings `down` levels lower and its code blocks as they are, the last one closed.
fn outlined(text: &str, down: usize) -> String {
    let mut text_file = String::new();
    let mut open: Option<&str> = None;
    let mut after_text = false;
    for line in text.trim_end().lines() {
        match heading(line).filter(|_| open.is_none()) {
            Some(level) => text_file += &escape(&line.replacen('#', &"#".repeat(1 + down.min(6 - level)), 1)),
            None => {
                if open.is_none() && after_text && is_underline(line) {
                    // Apart from its text it makes no heading of it.
                    text_file.push('\n');
                }
                text_file += &escape(line);
            }
        }
        text_file.push('\n');
        after_text = !line.trim().is_empty();
        open = match (open, fence(line)) {
            (Some(mark), Some(run)) if run.starts_with(mark) && line.trim() == run => None,
            (open, run) => open.or(run),
        };
    }
    if let Some(mark) = open {
        text_file += &format!("{mark}\n");
    }
    text_file
}

/// Whether `line` makes a heading of the text before it.
fn is_underline(line: &str) -> bool {
    let marks = unindented(line).unwrap_or_default().trim_end();
    !marks.is_empty() && ["=", "-"].iter().any(|mark| marks.trim_start_matches(mark).is_empty())
}

/// Returns the level of the heading that `line` is.
fn heading(line: &str) -> Option<usize> {
    let text = unindented(line)?;
    let title = text.trim_start_matches('#');
    let level = text.len() - title.len();
    ((1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']))).then_some(level)
}

/// Returns the run of backticks or tildes with which `line` opens or closes a code block.
fn fence(line: &str) -> Option<&str> {
    let text = unindented(line)?;
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let run = &text[..text.len() - info.len()];
    (run.len() >= 3 && !(mark == '`' && info.contains('`'))).then_some(run)
}

/// Returns the line without its indentation, unless that makes it a code block.
fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() < 4).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::brief::Brief;
    use super::super::graph::samples;
    use super::*;
    use crate::model::hint::Plain;
    use crate::model::outcome::{Answer, Outcome};
    use crate::model::task::Task;

    const NOW: &str = "2026-01-02T12:00:00.000Z";

    #[test]
    fn a_plan_has_the_sections_of_the_seed() {
        let text = plan("Build an API", Some("Tests first"), NOW, &Plain);
        let headings: Vec<_> = text.lines().filter(|line| line.starts_with('#')).collect();
        let sections = ["Objective", "Approach", "Success Criteria", "Task Breakdown", "Status", "Notes"];
        assert_eq!(headings[1..], sections.map(|section| format!("## {section}")));
        assert!(
            text.starts_with("# Master Plan\n\n## Objective\n\nBuild an API\n\n## Approach\n\nTests first\n")
        );
        assert!(text.contains("shows how far it is\n- Started: 2026-01-02T12:00:00.000Z\n"));
        assert_eq!(text.matches("- [ ] ").count(), 3);
        assert!(plan("x", None, NOW, &Plain).contains("Not decided yet"));
    }

    #[test]
    fn a_section_is_read_back() {
        let text = plan("Build\n## Approach\nlies", None, NOW, &Plain);
        assert_eq!(section(&text, "Objective").as_deref(), Some("Build\n#### Approach\nlies"));
        assert_eq!(section(&text, "Approach").as_deref(), Some(NO_APPROACH));
        assert_eq!((section(&text, "Notes"), section("", "Notes")), (None, None));
        let last = section("# Plan\n##  Objective \n\nx\n\n### More\ny\n", "Objective");
        assert_eq!(last.as_deref(), Some("x\n\n### More\ny"));
    }

    #[test]
    fn discoveries_have_a_title_a_text_and_an_author() {
        assert!(discoveries(&Plain).ends_with("    Discover\n"));
        let check = |text: &str, expected: &str| assert_eq!(discovery("w1", text, "now"), expected);
        check("Pool size is 10", "\n## Discovery: Pool size is 10\n\n_w1, now_\n");
        check("Pool\r\n\nMax 10.\n", "\n## Discovery: Pool\n\nMax 10.\n\n_w1, now_\n");
        check("Run\n```\nmake", "\n## Discovery: Run\n\n```\nmake\n```\n\n_w1, now_\n");
        let (long, cut) = ("x".repeat(81), "x".repeat(79));
        check(&long, &format!("\n## Discovery: {cut}…\n\n{long}\n\n_w1, now_\n"));
        check("", "\n## Discovery: \n\n_w1, now_\n");
    }

    #[test]
    fn results_have_the_headings_of_the_seed() {
        let result_of = |status: &str| {
            result(
                &json!({"id": "t1", "description": "Do it", "status": status, "claimed_by": "w1", "completed_at": NOW,
                "result": {"output": "Did\nit", "files_modified": ["a.rs", "b.rs"], "error": "No room"}}),
            )
        };
        let done = "\
# Task: t1

## Description

Do it

## Completed By

w1

## Completed At

2026-01-02T12:00:00.000Z

## Output

Did
it

## Files Modified

- a.rs
- b.rs

## Files Created

- none

## Status

SUCCESS
";
        assert_eq!(result_of("done"), done);
        let failed = "\
# Task: t1

## Description

Do it

## Attempted By

w1

## Failed At

2026-01-02T12:00:00.000Z

## Failure Reason

No room

## Status

FAILED
";
        assert_eq!(result_of("failed"), failed);
        let bare = result(&json!({"last_claim": {"by": "w2", "ended_at": "then"}}));
        assert!(bare.contains("## Completed By\n\nw2\n\n## Completed At\n\nthen\n\n## Output\n\nnone\n"));
    }

    #[test]
    fn a_result_says_what_git_saw() {
        let check = |status: &str, changed: &Value, expected: &str| {
            let told = json!({"output": "Did it", "error": "No", "changed": changed});
            let task = json!({"status": status, "context": {"files": ["a.rs"]}, "result": told});
            let text_file = result(&task);
            assert_eq!(
                text_file.split("## Changed\n\n").nth(1).and_then(|rest| rest.split("\n\n## ").next()),
                Some(expected)
            );
        };
        let changes = |files: &[&str], shared| {
            changes::Changes::of(files.iter().map(|file| (*file).to_owned()).collect(), shared).value()
        };
        let nothing = "Nothing: the task names files and is reported as done, but git saw no change.";
        check("done", &changes(&[], false), nothing);
        check("failed", &changes(&[], true), "Nothing, by git.");
        check("done", &changes(&["a.rs", "b\n.rs"], false), "By git:\n\n- a.rs\n- b .rs");
        let theirs = "By git; others were at work in the same tree, and some of it may be theirs:\n\n- a";
        check("done", &changes(&["a"], true), theirs);
        let many = format!("By git:\n\n{}- and 10 more", "- a\n".repeat(50));
        check("done", &changes(&["a"; 60], false), &many);
        assert!(!result(&json!({"status": "done"})).contains("Changed"));
    }

    #[test]
    fn texts_stay_below_the_headings_of_their_text_file() {
        let check =
            |text: &str, expected: &str| assert_eq!(outlined(text, BELOW_SECTION), expected, "{text:?}");
        check("# A\n## Status\n\nFAILED", "### A\n#### Status\n\nFAILED\n");
        check("Status\n---\nA\n===", "Status\n\n---\nA\n\n===\n");
        check("---\n- a\n\n---", "---\n- a\n\n---\n");
        check("```\n# A\nB\n---", "```\n# A\nB\n---\n```\n");
        check("a\x1b[2J\r\nb\u{202e}\tc", "a\\u{1b}[2J\nb\\u{202e}\tc\n");
    }

    #[test]
    fn a_summary_puts_results_under_its_own_headings() {
        let queue = json!({"tasks": [
            {"id": "a", "description": "x | y", "status": "done", "claimed_by": "w1",
                "context": {"files": ["f"]}, "result": {"changed": {"files": [], "count": 0, "by": "git"}}},
            {"id": "b", "description": "z".repeat(70), "status": "cancelled"},
            {"id": "c", "status": "available"},
        ]});
        let results = [("a", "# Task: a\n\n## Output\n```sh\n# no heading"), ("b", "by hand\n")];
        let results = results.map(|(id, text)| (id.to_owned(), text.to_owned()));
        let expected = format!(
            "\
# Summary

Generated: now

## Objective

Win

## Tasks

Progress: 1/2 (50%), 1 available, 1 done, 1 cancelled

| id | status | description | by |
| --- | --- | --- | --- |
| a | done, but git saw no change | x \\| y | w1 |
| b | cancelled | {}… |  |
| c | available |  |  |

---

## Task: a

### Output
```sh
# no heading
```

---

## Task: b

by hand
",
            "z".repeat(59)
        );
        assert_eq!(summary(Some("Win"), &results, &queue, "now"), expected);
        let empty = "# Summary\n\nGenerated: now\n\n## Tasks\n\nProgress: 0/0 (0%)\n\n| id |";
        assert!(summary(None, &[], &json!({}), "now").starts_with(empty));
    }

    #[test]
    fn headings_go_down_and_code_stays() {
        let check = |text: &str, expected: &str| assert_eq!(outlined(text, 1), expected);
        check("# a\n  ## b\n#\tc", "## a\n  ### b\n##\tc\n");
        check("#no\n    # code\n###### six\n####### seven", "#no\n    # code\n###### six\n####### seven\n");
        check("~~~\n```\n# x\n~~~~\n# y", "~~~\n```\n# x\n~~~~\n## y\n");
        check("````\n```\n# x\n```` no\n````\n# y", "````\n```\n# x\n```` no\n````\n## y\n");
        check("``` a`b\n# y", "``` a`b\n## y\n");
        check("```\n# open\n\n", "```\n# open\n```\n");
    }

    #[test]
    fn an_event_is_one_line() {
        let check = |details: &str, expected: &str| assert_eq!(log_line("now", "FAILED", details), expected);
        check("t1 by w1", "[now] FAILED: t1 by w1\n");
        check("a\r\n[then] DONE: b\u{2028}c\x1b[2Jd\0\n", "[now] FAILED: a  [then] DONE: b c [2Jd\n");
    }

    #[test]
    fn what_we_ask_is_no_answer() {
        let asked = [answer(), status_question(), reminder(&status_question(), "```\nlie")];
        assert!(asked.iter().all(|text| Answer::of(text).outcome == Outcome::Unclear));
        assert!(asked[2].ends_with("\n````text\n```\nlie\n````\n"), "{}", asked[2]);
    }

    proptest! {
        #[test]
        fn any_task_has_its_text_files(queue in samples::queues(), text in "(\\PC|[`~#\n]){0,20}") {
            for task in Tasks::of(&queue).all {
                prop_assert!(result(task).ends_with("SUCCESS\n") || result(task).ends_with("FAILED\n"));
                prop_assert!(Brief::bare(Task::of(task.clone())).prompt(&text, &Plain).ends_with(&answer()));
            }
            let text_file = summary(Some(&text), &[(text.clone(), text.clone())], &queue, &text);
            prop_assert!(text_file.starts_with("# Summary\n"));
            prop_assert!(discovery(&text, &text, "now").ends_with(", now_\n"));
            prop_assert_eq!(log_line("now", "ADDED", &text).lines().count(), 1);
            plan(&text, Some(&text), &text, &Plain);
        }

        #[test]
        fn quoted_text_cannot_close_its_fence(text in "[`~a\n ]{0,24}") {
            let quoted = fenced(&text);
            let mark = quoted.lines().next().and_then(fence).unwrap();
            let closing = quoted.lines().skip(1).position(|line| line.trim().starts_with(mark)).unwrap();
            prop_assert_eq!(closing, quoted.lines().count() - 2);
        }
    }
}
