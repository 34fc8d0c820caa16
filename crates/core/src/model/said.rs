//! What an agent says at its end, as far as it is structured.
//!
//! An agent that knows of it ends with a JSON object (alone, or in a fenced block):
//! `{"status": "failed", "findings": [{"severity": "S1", "title": "…"}], "deliverables": ["…"], "context_for_next": "…"}`.
//! Others mark findings by a line that begins with a severity (`- [S1] title`), deliverables by a list below a heading.
//! Whatever is not structured is context for others: the last words of the agent.

use serde_json::{Value, json};

/// The longest text that is kept of what an agent says.
const CONTEXT: usize = 2000;
const TEXT: usize = 400;
const MOST: usize = 50;

/// What became of an agent's work.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Said {
    pub failed: bool,
    /// With `severity`, `title` and whatever else they say.
    pub findings: Vec<Value>,
    pub recommendations: Vec<String>,
    pub deliverables: Vec<String>,
    pub files_analyzed: Vec<String>,
    pub context: String,
    /// The phase that the agent names.
    pub phase: Option<String>,
}

impl Said {
    pub fn of(message: &str) -> Said {
        let mut said = Said { phase: phase(message), ..Said::default() };
        if let Some(report) = report(message) {
            said.take(&report);
        }
        if said.findings.is_empty() {
            said.findings = message.lines().filter_map(finding).take(MOST).collect();
        }
        if said.deliverables.is_empty() {
            said.deliverables = below_heading(message, "deliverables");
        }
        if said.context.is_empty() {
            said.context = cut(message.trim(), CONTEXT);
        }
        said.failed |= message.lines().any(|line| {
            let line = line.trim().trim_start_matches(['*', '#', ' ']).to_ascii_lowercase();
            line.strip_prefix("status:").is_some_and(|status| is_failure(status.trim_matches(['*', ' '])))
        });
        said
    }

    fn take(&mut self, report: &Value) {
        self.failed = report["status"].as_str().is_some_and(is_failure);
        let findings = report["findings"].as_array().into_iter().flatten();
        self.findings = findings.filter_map(told_finding).take(MOST).collect();
        self.recommendations = texts(&report["recommendations"]);
        self.deliverables = texts(&report["deliverables"]);
        self.files_analyzed = texts(&report["files_analyzed"]);
        let context = ["context_for_next", "summary"].iter().find_map(|field| report[*field].as_str());
        self.context = cut(context.unwrap_or_default().trim(), CONTEXT);
        if let Some(phase) = report["phase_id"].as_str() {
            self.phase = Some(cut(phase, TEXT));
        }
    }
}

/// Returns the phase that a text names: `Phase ID: phase_1`.
pub fn phase(text: &str) -> Option<String> {
    let rest = ["Phase ID:", "phase_id:", "Phase-ID:"].iter().find_map(|mark| text.split_once(mark))?.1;
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let id: String = rest.trim_start_matches([' ', '*', '`']).chars().take_while(fits).take(128).collect();
    let id = id.trim_end_matches('.');
    (!id.is_empty()).then(|| id.to_owned())
}

/// Returns the object that a message is, or has in a fenced block; the last one counts.
fn report(message: &str) -> Option<Value> {
    let object = |text: &str| serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_object);
    let fenced =
        message.split("```").skip(1).step_by(2).map(|block| block.strip_prefix("json").unwrap_or(block));
    let last_line = message.trim_end().lines().next_back().unwrap_or_default();
    object(message).or_else(|| fenced.filter_map(object).last()).or_else(|| object(last_line))
}

fn is_failure(status: &str) -> bool {
    let status = status.trim().to_ascii_lowercase();
    ["fail", "error", "blocked"].iter().any(|word| status.starts_with(word))
}

/// Returns a line such as `- [S1] Missing rate limit` or `**S2**: …` as a finding.
fn finding(line: &str) -> Option<Value> {
    let line = line.trim_start_matches([' ', '\t', '-', '*', '#', '[', '(', '|']);
    let severity = ["S0", "S1", "S2", "S3"].into_iter().find(|severity| line.starts_with(severity))?;
    let rest = &line[severity.len()..];
    let title = rest.trim_start_matches([']', ')', '*', ':', '-', '–', '—', '|', ' ', '.']);
    // `S1` alone, or as the beginning of a word, says nothing.
    (rest.len() > title.len() && !title.is_empty())
        .then(|| json!({"severity": severity, "title": cut(title.trim_end_matches(['|', ' ']), TEXT)}))
}

/// Returns the known fields of a finding, shortened.
fn told_finding(finding: &Value) -> Option<Value> {
    let mut told = json!({});
    for field in ["severity", "category", "title", "details", "recommendation"] {
        let Some(text) = finding.get(field).and_then(Value::as_str) else { continue };
        if field != "severity" || ["S0", "S1", "S2", "S3"].contains(&text) {
            told[field] = cut(text, CONTEXT).into();
        }
    }
    told.as_object().is_some_and(|told| !told.is_empty()).then_some(told)
}

/// Returns the list below a heading such as `Deliverables:` or `## Deliverables`.
fn below_heading(message: &str, heading: &str) -> Vec<String> {
    let is_heading = |line: &&str| {
        let line = line.trim().trim_matches(['#', '*', ' ', ':']);
        line.eq_ignore_ascii_case(heading)
    };
    let below = message.lines().skip_while(|line| !is_heading(line)).skip(1);
    let items = below.skip_while(|line| line.trim().is_empty()).map_while(|line| {
        let line = line.trim_start();
        line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))
    });
    items.map(|item| cut(item.trim(), TEXT)).filter(|item| !item.is_empty()).take(MOST).collect()
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(|text| cut(text.trim(), TEXT)).filter(|text| !text.is_empty()).take(MOST).collect()
}

/// Shortens a text to so many characters.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_taken_as_it_is() {
        let report = json!({
            "status": "failed", "findings": [{"severity": "S1", "title": "No limit", "x": 1}, {"severity": "bad"}, 7],
            "recommendations": ["Add one"], "deliverables": ["src/a.rs"], "context_for_next": "Go on",
            "phase_id": "phase_2",
        });
        for message in [
            report.to_string(),
            format!("Done.\n```json\n{report}\n```\nBye"),
            format!("Done.\n```\n{report}\n```"),
            format!("Done.\n{report}\n"),
        ] {
            let said = Said::of(&message);
            assert_eq!(said.findings, [json!({"severity": "S1", "title": "No limit"})], "{message}");
            assert!(said.failed);
            assert_eq!((&said.deliverables[0][..], &said.context[..]), ("src/a.rs", "Go on"));
            assert_eq!(said.phase.as_deref(), Some("phase_2"));
        }
    }

    #[test]
    fn prose_is_context_and_marked_lines_are_findings() {
        let message = "Checked the login.\n- [S1] Missing rate limit\n* **S2**: Old hash\nS3 nit\nS1\nS10 x\n\
                       \n## Deliverables\n\n- src/login.rs\n- 4 tests\n\nPhase ID: phase_1.";
        let said = Said::of(message);
        let titles: Vec<_> = said.findings.iter().map(|finding| finding["title"].as_str().unwrap()).collect();
        assert_eq!(titles, ["Missing rate limit", "Old hash", "nit"]);
        assert_eq!(said.deliverables, ["src/login.rs", "4 tests"]);
        assert_eq!(said.context, message);
        assert!(!said.failed);
        assert_eq!(said.phase.as_deref(), Some("phase_1"));
        assert!(Said::of("**Status:** FAILED\nno disk").failed);
        assert!(!Said::of("The status: failed tests are fixed").failed);
        assert_eq!(Said::of(""), Said::default());
    }

    #[test]
    fn everything_is_bounded() {
        let long = "ü".repeat(10_000);
        let said = Said::of(&json!({"context_for_next": long, "deliverables": vec![&long; 99]}).to_string());
        assert_eq!(said.context.chars().count(), CONTEXT + 1);
        assert_eq!((said.deliverables.len(), said.deliverables[0].chars().count()), (MOST, TEXT + 1));
    }
}
