//! What the end of a command means for its piece of work. Pure: text in, verdict out.

use anthill_core::model::outcome::{Answer, Outcome, object_at_end};
use anthill_core::model::task::Report;
use serde_json::{Map, Value};

use super::clip::{head, tail};
use super::supervisor::Finished;
use super::trouble::Trouble;

/// How long the summary of a task may be.
const SUMMARY: usize = 16 << 10;

/// What to do with the piece of work.
#[derive(Debug)]
pub enum Verdict {
    Done(Report),
    Failed(String),
    Released,
}

/// Who has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// Its exit code is its answer; the object that its output ends with may say more.
    Command,
    /// It has to say what came of the work.
    Agent,
}

/// Reads the answer, or why there is none; `None` if the output does not say.
pub fn read(finished: &Finished, speaker: Speaker) -> Result<Option<Verdict>, Trouble> {
    match Trouble::of(finished) {
        Some(trouble) => Err(trouble),
        None => Ok(verdict(&answer(finished, speaker), finished.transcript.words())),
    }
}

/// Returns the discoveries, however it ended.
pub fn discoveries(finished: &Finished, speaker: Speaker) -> Vec<String> {
    texts(&answer(finished, speaker).fields, "discoveries")
}

fn answer(finished: &Finished, speaker: Speaker) -> Answer {
    let words = finished.transcript.words();
    if speaker == Speaker::Agent {
        return Answer::of(words);
    }
    let fields = object_at_end(words).unwrap_or_default();
    let said = fields.get("status").and_then(Value::as_str).map(Outcome::of_status);
    // It ended well, and says nothing else.
    let outcome = said.filter(|said| *said != Outcome::Unclear).unwrap_or(Outcome::Done);
    Answer { outcome, fields }
}

/// Returns that the work is done, with these words as its summary.
pub fn done(words: &str) -> Verdict {
    Verdict::Done(Report { output: summary(&Map::new(), words), ..Report::default() })
}

/// Returns the verdict of an answer; `words` replace a missing summary.
pub fn verdict(Answer { outcome, fields }: &Answer, words: &str) -> Option<Verdict> {
    let summary = summary(fields, words);
    Some(match outcome {
        Outcome::Done => Verdict::Done(Report {
            output: summary,
            modified: texts(fields, "files_modified"),
            created: texts(fields, "files_created"),
        }),
        Outcome::Failed => Verdict::Failed(summary),
        // A person has to look at it, as at a failure.
        Outcome::Blocked => Verdict::Failed(format!("blocked: {summary}")),
        Outcome::Released => Verdict::Released,
        Outcome::Unclear => return None,
    })
}

fn summary(fields: &Map<String, Value>, words: &str) -> String {
    match fields.get("summary").and_then(Value::as_str) {
        Some(summary) if !summary.trim().is_empty() => head(summary.trim(), SUMMARY).into(),
        _ if words.trim().is_empty() => "(no output)".into(),
        _ => tail(words, SUMMARY).into(),
    }
}

/// Returns the texts of a list; what is no text, or blank, is left out.
fn texts(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    let list = fields.get(name).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::runner::supervisor::Cut;

    fn ended(raw: i32, stdout: &str, stderr: &str) -> Finished {
        Finished::made(raw, None, stdout, stderr)
    }

    fn shown(finished: &Finished, speaker: Speaker) -> String {
        match read(finished, speaker) {
            Ok(Some(Verdict::Done(Report { output, modified, created }))) => {
                format!("done: {output} {modified:?} {created:?}")
            }
            Ok(Some(Verdict::Failed(reason))) => format!("failed: {reason}"),
            Ok(Some(Verdict::Released)) => "released".into(),
            Ok(None) => "unclear".into(),
            Err(trouble) => format!("trouble: {}", trouble.reason),
        }
    }

    #[track_caller]
    fn check(finished: &Finished, expected: &str) {
        assert_eq!(shown(finished, Speaker::Command), expected);
    }

    #[track_caller]
    fn check_agent(words: &str, expected: &str) {
        assert_eq!(shown(&ended(0, words, ""), Speaker::Agent), expected, "{words}");
    }

    #[test]
    fn plain_text_is_the_summary() {
        check(&ended(0, "one\ntwo\n\n", "noise"), "done: one\ntwo [] []");
        check(&ended(0, " \n", "noise"), "done: (no output) [] []");
        check(&ended(0, "[1]\n", ""), "done: [1] [] []");
        check(&ended(0, "{broken\n", ""), "done: {broken [] []");
    }

    #[test]
    fn the_object_that_a_command_ends_with_is_its_answer() {
        let answer =
            r#"{"summary":"s","files_modified":["a",1," "],"files_created":["b"],"discoveries":["d"]}"#;
        let ended_well = ended(0, &format!("talk\n{answer}\n\n"), "");
        check(&ended_well, r#"done: s ["a"] ["b"]"#);
        assert_eq!(discoveries(&ended_well, Speaker::Command), ["d"]);
        check(&ended(0, r#"{"status":"success","summary":"s"}"#, ""), "done: s [] []");
        check(&ended(0, r#"{"status":"failed","summary":"no luck"}"#, ""), "failed: no luck");
        check(
            &ended(0, "```json\n{\n \"status\": \"failed\",\n \"summary\": \"no\"\n}\n```", ""),
            "failed: no",
        );
        check(&ended(0, r#"{"status":"blocked","summary":"no key"}"#, ""), "failed: blocked: no key");
        check(&ended(0, r#"{"status":"error"}"#, ""), r#"failed: {"status":"error"}"#);
        check(&ended(0, r#"{"status":"released"}"#, ""), "released");
        check(&ended(0, r#"{"status":"200 OK","summary":"s"}"#, ""), "done: s [] []");
        check(&ended(0, r#"{"result":"r"}"#, ""), r#"done: {"result":"r"} [] []"#);
        check(&ended(0, "{\"status\":\"failed\"}\nlater", ""), "done: {\"status\":\"failed\"}\nlater [] []");
    }

    #[test]
    fn an_agent_has_to_say_what_came_of_it() {
        let failed =
            "I tried.\n\n```json\n{\n  \"status\": \"failed\",\n  \"summary\": \"no disk\"\n}\n```\nSorry.";
        check_agent(failed, "failed: no disk");
        check_agent(
            r#"Well: {"status":"done","summary":"s","files_modified":["a"]} bye"#,
            r#"done: s ["a"] []"#,
        );
        check_agent(r#"{"status":"blocked","summary":"which port?"}"#, "failed: blocked: which port?");
        check_agent(r#"{"status":"released"}"#, "released");
        for words in ["All done.", "", r#"{"summary":"s"}"#, r#"{"status":"done | failed"}"#] {
            check_agent(words, "unclear");
        }
        let result = |is_error: bool, words: &str| {
            serde_json::json!({"type": "result", "subtype": "success", "is_error": is_error, "result": words})
                .to_string()
        };
        check_agent(&result(false, "All done."), "unclear");
        check_agent(&result(false, "Well:\n{\"status\":\"done\",\"summary\":\"s\"}"), "done: s [] []");
        check_agent(&result(true, "API Error: 500"), "trouble: API Error: 500");
    }

    #[test]
    fn a_bad_end_is_a_failure_with_the_last_words() {
        check(&ended(3 << 8, "out", ""), "trouble: exit code 3\nout");
        check(&ended(3 << 8, "out", "err\n"), "trouble: exit code 3\nerr");
        check(&ended(1 << 8, r#"{"summary":"why"}"#, "err\n"), "trouble: exit code 1\nwhy");
        check(&ended(9, "", ""), "trouble: killed by signal 9");
        let late = Finished::made(15, Some(Cut::TimedOut(Duration::from_millis(1500))), "", "so far");
        check(&late, "trouble: timed out after 1.5 s\nso far");
    }
}
