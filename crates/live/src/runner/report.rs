//! What the end of a command means for its task. Pure: text in, verdict out.

use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use anthill_core::model::task::Report;
use serde_json::{Map, Value};

use super::child::Ended;
use super::transcript::Transcript;

/// How long the summary of a task may be.
const SUMMARY: usize = 16 << 10;

/// How much of the output goes with the reason of a failure.
const DETAILS: usize = 4 << 10;

/// What to do with the task.
#[derive(Debug)]
pub enum Verdict {
    Done(Report),
    Failed(String),
    Released,
}

/// A verdict, and what everybody should know.
#[derive(Debug)]
pub struct Answer {
    pub verdict: Verdict,
    pub discoveries: Vec<String>,
}

/// Reads what a command that ended by itself, or was stopped after `timeout`, has answered.
pub fn read(ended: &Ended, timeout: Option<Duration>) -> Answer {
    let heard = Transcript::of(&ended.stdout);
    let fields = last_object(heard.words()).unwrap_or_default();
    let verdict = match (trouble(ended.status, timeout), &heard.error) {
        (Some(trouble), _) => Verdict::Failed(reason(&trouble, &fields, ended)),
        (None, Some(error)) => Verdict::Failed(tail(error, DETAILS).into()),
        (None, None) => verdict(&fields, heard.words()),
    };
    Answer { verdict, discoveries: texts(&fields, "discoveries") }
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

/// Says what went wrong with the process itself.
pub(crate) fn trouble(status: ExitStatus, timeout: Option<Duration>) -> Option<String> {
    match (timeout, status.code(), status.signal()) {
        (Some(timeout), ..) => Some(format!("timed out after {} s", timeout.as_secs_f64())),
        (_, Some(0), _) => None,
        (_, Some(code), _) => Some(format!("exit code {code}")),
        (_, None, signal) => Some(format!("killed by signal {}", signal.unwrap_or_default())),
    }
}

/// Adds to the trouble what the command had to say about it.
fn reason(trouble: &str, fields: &Map<String, Value>, ended: &Ended) -> String {
    let told = fields.get("summary").and_then(Value::as_str).unwrap_or_default();
    let told = [told, &ended.stderr, &ended.stdout].into_iter().find(|text| !text.trim().is_empty());
    let mut reason = trouble.to_owned();
    if let Some(told) = told {
        let _ = write!(reason, "\n{}", tail(told, DETAILS));
    }
    reason
}

fn summary(fields: &Map<String, Value>, words: &str) -> String {
    match fields.get("summary").and_then(Value::as_str) {
        Some(summary) if !summary.trim().is_empty() => head(summary.trim(), SUMMARY).into(),
        _ if words.trim().is_empty() => "(no output)".into(),
        _ => tail(words, SUMMARY).into(),
    }
}

/// Returns the JSON object that the last line is.
fn last_object(stdout: &str) -> Option<Map<String, Value>> {
    let line = stdout.lines().rfind(|line| !line.trim().is_empty())?;
    match serde_json::from_str(line) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    }
}

/// Returns the texts of a list; what is no text, or blank, is left out.
pub(crate) fn texts(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    let list = fields.get(name).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned).collect()
}

fn head(text: &str, limit: usize) -> &str {
    let border = (0..=limit.min(text.len())).rfind(|at| text.is_char_boundary(*at));
    &text[..border.unwrap_or(0)]
}

/// Returns the end of the text, from the beginning of a line if one is near enough.
pub(crate) fn tail(text: &str, limit: usize) -> &str {
    let text = text.trim();
    if text.len() <= limit {
        return text;
    }
    let border = (text.len() - limit..text.len()).find(|at| text.is_char_boundary(*at));
    let end = &text[border.unwrap_or(text.len())..];
    end.split_once('\n').map_or(end, |(_, lines)| lines).trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(raw: i32, stdout: &str, stderr: &str) -> Ended {
        Ended { status: ExitStatus::from_raw(raw), stdout: stdout.into(), stderr: stderr.into() }
    }

    #[track_caller]
    fn check(ended: &Ended, expected: &str) {
        let shown = match read(ended, None).verdict {
            Verdict::Done(Report { output, modified, created }) => {
                format!("done: {output} {modified:?} {created:?}")
            }
            Verdict::Failed(reason) => format!("failed: {reason}"),
            Verdict::Released => "released".into(),
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
        assert_eq!(read(&ended_well, None).discoveries, ["d"]);
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
        check(&ended(0, &result(true, "API Error: 500"), ""), "failed: API Error: 500");
    }

    #[test]
    fn a_bad_end_is_a_failure_with_the_last_words() {
        check(&ended(3 << 8, "out", ""), "failed: exit code 3\nout");
        check(&ended(3 << 8, "out", "err\n"), "failed: exit code 3\nerr");
        check(&ended(1 << 8, r#"{"summary":"why"}"#, "err\n"), "failed: exit code 1\nwhy");
        check(&ended(9, "", ""), "failed: killed by signal 9");
        let late = read(&ended(15, "", "so far"), Some(Duration::from_millis(1500)));
        assert!(matches!(late.verdict, Verdict::Failed(why) if why == "timed out after 1.5 s\nso far"));
    }

    #[test]
    fn long_texts_lose_their_beginning_at_a_line_or_at_least_a_character() {
        let lines: String = (0..5000).map(|number| format!("line {number}\n")).collect();
        let end = tail(&lines, SUMMARY);
        assert!(end.len() <= SUMMARY && end.starts_with("line ") && end.ends_with("line 4999"));
        let one = "é".repeat(SUMMARY);
        assert_eq!(tail(&one, 101), "é".repeat(50));
        assert_eq!(head(&one, 101), "é".repeat(50));
        assert_eq!(tail("short", 10), "short");
    }
}
