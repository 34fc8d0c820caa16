//! What an agent says came of its work: one rule for all agents, whoever follows them.
//!
//! The last JSON object with a `status` decides, alone, fenced, pretty-printed, with words around it; else a line
//! `Status: …`. Anything else is unclear. Whether unclear words at least admit a failure is told by [`admits_failure`];
//! that is a guess, and never makes a success. Pure: text in, outcome out.

use serde_json::{Deserializer, Map, Value};

/// How much of a text is searched, from its end.
const SEARCHED: usize = 256 << 10;

/// How many places in a text are tried as the begin of an object: the last ones.
const PLACES: usize = 5000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed,
    /// It waits for something that it cannot do itself.
    Blocked,
    /// It did not want the work, or could not take it: somebody else may.
    Released,
    /// It does not say.
    Unclear,
}

/// An agent's last words, as far as they are an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub outcome: Outcome,
    /// The object with the status; without one, the object that the words end with; else empty.
    pub fields: Map<String, Value>,
}

impl Answer {
    pub fn of(words: &str) -> Answer {
        let has_status = |object: &Map<String, Value>| object.get("status").is_some_and(Value::is_string);
        if let Some(fields) = last_object(words, has_status).or_else(|| last_wrapped(words, has_status)) {
            let outcome = Outcome::of_status(fields["status"].as_str().unwrap_or_default());
            return Answer { outcome, fields };
        }
        Answer { outcome: status_line(words), fields: object_at_end(words).unwrap_or_default() }
    }
}

impl Outcome {
    /// Reads the word that an agent gave its status.
    pub fn of_status(status: &str) -> Outcome {
        let spelled = status.trim().trim_matches(['*', '`', '"', '\'', '.', '!', ' ']).to_lowercase();
        let word = spelled.replace([' ', '-'], "_");
        let begins = |stems: &[&str]| stems.iter().any(|stem| word.starts_with(stem));
        let is = |words: &[&str]| words.contains(&word.as_str());
        if is(&[
            "done",
            "ok",
            "okay",
            "pass",
            "passed",
            "finished",
            "fixed",
            "resolved",
            "success",
            "succeeded",
        ]) || is(&["successful", "complete", "completed"])
        {
            Outcome::Done
        } else if begins(&["fail", "error", "partial", "incomplete", "unsuccessful", "abort", "not_done"])
            || is(&["cancelled", "canceled", "timeout", "timed_out", "not_completed", "not_finished"])
        {
            Outcome::Failed
        } else if begins(&["block", "needs_", "waiting", "stuck"]) {
            Outcome::Blocked
        } else if begins(&["release", "given_back", "gave_back", "declined", "returned"]) {
            Outcome::Released
        } else {
            Outcome::Unclear
        }
    }
}

/// Returns the last JSON object in a text that is wanted, without those inside of others.
pub fn last_object(text: &str, wanted: impl Fn(&Map<String, Value>) -> bool) -> Option<Map<String, Value>> {
    objects(end_of(text)).into_iter().rev().map(|(object, _)| object).find(wanted)
}

/// Returns the last wanted object that is all there is in another one: `{"result": {"status": "done"}}`.
fn last_wrapped(text: &str, wanted: impl Fn(&Map<String, Value>) -> bool) -> Option<Map<String, Value>> {
    let inner = |object: Map<String, Value>| match object.into_iter().next() {
        Some((_, Value::Object(inner))) => Some(inner),
        _ => None,
    };
    last_object(text, |object| object.len() == 1 && object.values().filter_map(Value::as_object).any(&wanted))
        .and_then(inner)
}

/// Whether a text ends with a report that has a status, whatever word that is.
pub fn ends_with_status(text: &str) -> bool {
    object_at_end(text).is_some_and(|report| report.get("status").is_some_and(Value::is_string))
}

/// Returns the JSON object that a text ends with, also in a fence.
pub fn object_at_end(text: &str) -> Option<Map<String, Value>> {
    let text = end_of(text).trim_end().trim_end_matches("```").trim_end();
    let (object, end) = objects(text).pop()?;
    (end == text.len()).then_some(object)
}

fn end_of(text: &str) -> &str {
    let from = text.len().saturating_sub(SEARCHED);
    let border = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[border..]
}

/// Returns the objects in a text in their order, each with the place behind it.
fn objects(text: &str) -> Vec<(Map<String, Value>, usize)> {
    let mut at = text.rmatch_indices('{').nth(PLACES - 1).map_or(0, |(at, _)| at);
    let mut found = Vec::new();
    while let Some(next) = text[at..].find('{').map(|next| at + next) {
        let mut reading = Deserializer::from_str(&text[next..]).into_iter::<Value>();
        at = match reading.next() {
            Some(Ok(Value::Object(object))) => {
                let end = next + reading.byte_offset().max(1);
                found.push((object, end));
                end
            }
            _ => next + 1,
        };
    }
    found
}

/// Reads the last line such as `**Status:** FAILED`.
fn status_line(words: &str) -> Outcome {
    let status = |line: &str| {
        let line = line.trim().trim_start_matches(['*', '#', '-', '_', ' ']).to_lowercase();
        line.strip_prefix("status").map(|rest| rest.trim_start_matches(['*', '_', ' ']).to_owned())
    };
    let said = words.lines().rev().find_map(|line| status(line)?.strip_prefix(':').map(str::to_owned));
    // `Status: failed, as the disk is full`: the first word counts.
    let first = said.as_deref().map(|said| said.trim_start_matches(['*', '_', ' ']));
    let first = first.and_then(|said| said.split([',', ';', '(', '.', '—', '–']).next());
    first.map_or(Outcome::Unclear, Outcome::of_status)
}

/// Whether words without a status tell of a failure: of nothing, too.
pub fn admits_failure(words: &str) -> bool {
    words.trim().is_empty() || words.split(['\n', '.', '!', '?', ';']).any(is_admission)
}

/// What a sentence begins with that tells of a failure.
const BEGINS: [&str; 17] = [
    "api error",
    "failed",
    "failure",
    "error",
    "blocked",
    "aborted",
    "incomplete",
    "unsuccessful",
    "not done",
    "not finished",
    "not complete",
    "could not",
    "couldnt",
    "cannot",
    "unable to",
    "gave up",
    "giving up",
];

/// What an agent says of itself, or of its work, that failed.
const ADMITS: [&str; 56] = [
    "i could not",
    "i couldnt",
    "i cannot",
    "i cant",
    "i can not",
    "i was unable",
    "i am unable",
    "im unable",
    "i was not able",
    "i wasnt able",
    "i am not able",
    "im not able",
    "i did not manage",
    "i didnt manage",
    "i failed to",
    "i gave up",
    "i give up",
    "i am blocked",
    "im blocked",
    "i was blocked",
    "im stuck",
    "i am stuck",
    "i ran out of",
    "i have not been able",
    "i havent been able",
    "tests fail",
    "tests still fail",
    "tests are failing",
    "tests are still failing",
    "still failing",
    "still fails",
    "does not compile",
    "doesnt compile",
    "does not build",
    "build fails",
    "build failed",
    "is not done",
    "is not finished",
    "is incomplete",
    "remains incomplete",
    "was unable to",
    "were unable to",
    "been unable to",
    "was not able to",
    "wasnt able to",
    "were not able to",
    "was not possible",
    "not possible without",
    "did not succeed",
    "didnt succeed",
    "tests do not pass",
    "tests dont pass",
    "did not pass",
    "didnt pass",
    "nothing was done",
    "nothing was changed",
];

/// What work consists of: `The build failed`.
const WORK: [&str; 17] = [
    "task",
    "build",
    "test",
    "tests",
    "suite",
    "check",
    "checks",
    "ci",
    "phase",
    "step",
    "run",
    "job",
    "attempt",
    "deployment",
    "migration",
    "compilation",
    "installation",
];

/// What a result stands behind: `Verdict: FAIL`.
const LABELS: [&str; 5] = ["result", "results", "verdict", "outcome", "conclusion"];

/// What stands in a sentence about a failure that is over.
const OVER: [&str; 14] = [
    "fixed",
    "fixes",
    "fix",
    "resolved",
    "no longer",
    "before",
    "previously",
    "mended",
    "repaired",
    "used to",
    "instead of",
    "no tests",
    "none",
    "when",
];

fn is_admission(sentence: &str) -> bool {
    let plain = |letter: char| if letter.is_alphanumeric() { letter } else { ' ' };
    let text = sentence.to_lowercase().replace(['\'', '’'], "");
    let words: Vec<String> =
        text.chars().map(plain).collect::<String>().split_whitespace().map(str::to_owned).collect();
    let sentence = format!(" {} ", words.join(" "));
    let has = |phrase: &&str| sentence.contains(&format!(" {phrase} "));
    if OVER.iter().any(&has) {
        return false;
    }
    BEGINS.iter().any(|phrase| sentence.starts_with(&format!(" {phrase} "))) && !is_a_topic(&words)
        || ADMITS.iter().any(has)
        || is_verdict(&words)
        || failures_counted(&words)
}

/// Whether it begins with what failed, or with the word for a result that is a failure.
fn is_verdict(words: &[String]) -> bool {
    let articles = ["the", "this", "my", "final", "overall", "all"];
    let first = words.iter().position(|word| !articles.contains(&word.as_str())).unwrap_or(0);
    let word = |at: usize| words.get(first + at).map(String::as_str).unwrap_or_default();
    let second = if ["is", "was", "has", "have"].contains(&word(1)) { word(2) } else { word(1) };
    WORK.contains(&word(0)) && ["failed", "fails", "fail"].contains(&second)
        || LABELS.contains(&word(0))
            && ["fail", "failed", "failure", "incomplete", "blocked"].contains(&second)
}

/// `Error handling is done` is no error.
fn is_a_topic(words: &[String]) -> bool {
    let second = words.get(1).map(String::as_str);
    matches!(second, Some("handling" | "messages" | "message" | "paths" | "cases" | "codes" | "types"))
}

/// Whether a number that is not 0 stands before `failed`, `tests fail`, `failing tests` or `errors`.
fn failures_counted(words: &[String]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let is_count = word.parse::<u64>().is_ok_and(|count| count > 0);
        let next: Vec<&str> = words[at + 1..].iter().take(3).map(String::as_str).collect();
        is_count
            && matches!(
                next[..],
                ["failed" | "failing" | "failures" | "failure", ..]
                    | [_, "fail" | "fails" | "failed" | "failing", ..]
                    | [_, "still", "fail" | "fails"]
                    | [_, "are", "failing"]
                    | ["error" | "errors", "remain" | "remains" | "left", ..]
            )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expected: Outcome) {
        assert_eq!(Answer::of(words).outcome, expected, "{words}");
    }

    #[test]
    fn the_last_object_with_a_status_decides() {
        for words in [
            r#"{"status":"failed"}"#,
            "I tried.\n\n```json\n{\n  \"status\": \"failed\",\n  \"summary\": \"no\"\n}\n```\n",
            "```\n{\"status\": \"FAILED\"}\n```\nSorry about that.",
            r#"First {"status":"done"}, then {"status":"failed"} and {"other": 1}."#,
            "{\n\t\"result\": {\"status\": \"done\"},\n\t\"status\": \"error\"\n}",
            "**Status:** FAILED\nno disk",
            "Status: failed, as the disk is full",
        ] {
            check(words, Outcome::Failed);
        }
        check(r#"{"result": {"status": "failed", "summary": "no"}}"#, Outcome::Failed);
        let long = "{ x }\n".repeat(PLACES + 1);
        check(&format!("{long}{{\"status\": \"failed\"}}"), Outcome::Failed);
        check("```json\n{\"status\":\"completed\"}\n```", Outcome::Done);
        check("Here you are: {\"status\": \"Success\"} bye", Outcome::Done);
        check("{\"status\": \"needs-input\"}", Outcome::Blocked);
        check("{\"status\": \"blocked\"}", Outcome::Blocked);
        check("{\"status\": \"released\"}", Outcome::Released);
        check("- Status: done", Outcome::Done);
    }

    #[test]
    fn words_without_a_status_are_unclear() {
        for words in [
            "All done.",
            "",
            "{\"summary\": \"s\"}",
            "{\"status\": 1}",
            "{\"status\": \"done | failed\"}",
            "{\"status\": \"in_progress\"}",
            "{\"tests\": {\"status\": \"passed\"}, \"lint\": {\"status\": \"failed\"}}",
            "{broken",
            "The status: failed tests are fixed",
            "statuses: done",
        ] {
            check(words, Outcome::Unclear);
        }
        check(&"{\"a\":".repeat(100_000), Outcome::Unclear);
        check(&"{{{{{".repeat(100_000), Outcome::Unclear);
        check(&format!("{}{{\"status\":\"done\"}}", "ü".repeat(SEARCHED)), Outcome::Done);
    }

    #[test]
    fn an_object_at_the_end_tells_its_fields() {
        let fields = |words: &str| Value::from(Answer::of(words).fields).to_string();
        assert_eq!(fields("talk\n{\"summary\": \"s\"}\n\n"), r#"{"summary":"s"}"#);
        assert_eq!(fields("```json\n{\"summary\":\n \"s\"}\n```"), r#"{"summary":"s"}"#);
        assert_eq!(fields("{\"summary\": \"s\"}\nlater"), "{}");
        assert_eq!(
            fields("{\"status\":\"done\",\"summary\":\"s\"} later {\"x\": 1}"),
            r#"{"status":"done","summary":"s"}"#
        );
    }

    #[test]
    fn words_of_failure_are_known() {
        for words in [
            "",
            " \n",
            "I could not do it: 3 tests fail",
            "FAILED: no such table",
            "Sorry. I couldn't find the file.",
            "I wasn't able to reach the server",
            "Ran the suite: 2 failed, 7 passed",
            "Tried all day; tests still fail.",
            "The work is not finished",
            "Unable to write to src/a.rs",
            "1 check is red. 4 tests are failing",
            "Error: permission denied",
            "The crate does not compile",
            "API Error: 529 Overloaded",
            "The build failed: no disk",
            "Task failed.",
            "## Final verdict: FAIL",
            "Unfortunately, the tests don't pass yet.",
            "I hit a wall and was not able to finish.",
            "The implementation is incomplete.",
            "There is more to do: 4 errors remain",
            "That is not possible without a key",
            "Nothing was changed.",
        ] {
            assert!(admits_failure(words), "{words:?}");
        }
        for words in [
            "All done.",
            "Added the login; 12 tests pass, 0 failed.",
            "Fixed the bug where login failed to redirect",
            "I fixed 3 tests that failed before.",
            "Error handling is in place",
            "No tests fail.",
            "The form says \"unable to sign in\" when the password is wrong",
            "Users cannot sign in twice now",
            "Login failed for users without a name: the check is in place",
            "Result: all 12 pass",
            "0 errors remain",
            "The test for failed logins is there",
        ] {
            assert!(!admits_failure(words), "{words:?}");
        }
    }
}
