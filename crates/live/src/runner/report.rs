//! What the end of a command means for its piece of work. Pure: text in, verdict out.

use anthill_core::model::task::Report;
use serde_json::{Map, Value};

use super::clip::{head, tail};
use super::minder::Finished;
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

/// Reads what a command has answered, or why it has not.
pub fn read(finished: &Finished) -> Result<Verdict, Trouble> {
    match Trouble::of(finished) {
        Some(trouble) => Err(trouble),
        None => Ok(verdict(&fields(finished), finished.transcript.words())),
    }
}

/// Returns what everybody should know, however the command ended.
pub fn discoveries(finished: &Finished) -> Vec<String> {
    texts(&fields(finished), "discoveries")
}

fn fields(finished: &Finished) -> Map<String, Value> {
    finished.transcript.last_line_object().unwrap_or_default()
}

fn verdict(fields: &Map<String, Value>, words: &str) -> Verdict {
    let summary = summary(fields, words);
    match fields.get("status").and_then(Value::as_str) {
        Some("failed" | "error") => Verdict::Failed(summary),
        Some("released") => Verdict::Released,
        _ => Verdict::Done(Report {
            output: summary,
            modified: texts(fields, "files_modified"),
            created: texts(fields, "files_created"),
        }),
    }
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
    use crate::runner::minder::Cut;

    fn ended(raw: i32, stdout: &str, stderr: &str) -> Finished {
        Finished::made(raw, None, stdout, stderr)
    }

    #[track_caller]
    fn check(finished: &Finished, expected: &str) {
        let shown = match read(finished) {
            Ok(Verdict::Done(Report { output, modified, created })) => {
                format!("done: {output} {modified:?} {created:?}")
            }
            Ok(Verdict::Failed(reason)) => format!("failed: {reason}"),
            Ok(Verdict::Released) => "released".into(),
            Err(trouble) => format!("trouble: {}", trouble.reason),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn plain_text_is_the_summary() {
        check(&ended(0, "one\ntwo\n\n", "noise"), "done: one\ntwo [] []");
        check(&ended(0, " \n", "noise"), "done: (no output) [] []");
        check(&ended(0, "[1]\n", ""), "done: [1] [] []");
        check(&ended(0, "{broken\n", ""), "done: {broken [] []");
    }

    #[test]
    fn a_json_object_on_the_last_line_is_the_answer() {
        let answer =
            r#"{"summary":"s","files_modified":["a",1," "],"files_created":["b"],"discoveries":["d"]}"#;
        let ended_well = ended(0, &format!("talk\n{answer}\n\n"), "");
        check(&ended_well, r#"done: s ["a"] ["b"]"#);
        assert_eq!(discoveries(&ended_well), ["d"]);
        check(&ended(0, r#"{"status":"success","summary":"s"}"#, ""), "done: s [] []");
        check(&ended(0, r#"{"status":"failed","summary":"no luck"}"#, ""), "failed: no luck");
        check(&ended(0, r#"{"status":"error"}"#, ""), r#"failed: {"status":"error"}"#);
        check(&ended(0, r#"{"status":"released"}"#, ""), "released");
        check(&ended(0, r#"{"result":"r"}"#, ""), r#"done: {"result":"r"} [] []"#);
        check(&ended(0, "{\"summary\":\"s\"}\nlater", ""), "done: {\"summary\":\"s\"}\nlater [] []");
    }

    #[test]
    fn of_a_coding_agent_the_last_words_count() {
        let result = |is_error: bool, words: &str| {
            serde_json::json!({"type": "result", "subtype": "success", "is_error": is_error, "result": words})
                .to_string()
        };
        check(&ended(0, &result(false, "All done."), ""), "done: All done. [] []");
        let answer = r#"{"summary":"s","files_modified":["a"]}"#;
        check(&ended(0, &result(false, &format!("Well:\n{answer}")), ""), r#"done: s ["a"] []"#);
        check(&ended(0, &result(true, "API Error: 500"), ""), "trouble: API Error: 500");
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
