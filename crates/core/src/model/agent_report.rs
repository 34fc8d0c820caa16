//! What an agent says at its end, as far as it is structured.
//!
//! An agent that knows of it ends with a JSON object (alone, in a fenced block, with words around it):
//! `{"status": "failed", "findings": [{"severity": "S1", "title": "…"}], "deliverables": ["…"], "context_for_next": "…"}`.
//! Others mark findings by a line that begins with a severity (`- [S1] title`), deliverables and recommendations by a list
//! below a heading. Whatever is not structured is context for others: the last words of the agent.

use serde_json::{Map, Value, json};

use super::documents::agent_loop::Finding;
use super::key::{Fields, FieldsMut};
use super::outcome::{Answer, Outcome, admits_failure, ends_with_status, last_object};

/// The longest text that is kept of what an agent says.
const CONTEXT: usize = 2000;
const TEXT: usize = 400;
const MOST: usize = 50;

/// How much of its last words tells whether it failed, in bytes.
const JUDGED: usize = 64 << 10;

/// How an agent's work ended, for those who follow it from beside: somebody watches, and can look.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It says so.
    Done,
    /// It does not say, but nothing in its words speaks against it.
    Assumed,
    Failed,
    /// It has given the work back.
    PutBack,
    /// It says nothing at all, has a status that is none, or tells of a failure without a status.
    #[default]
    Unclear,
}

impl Ending {
    fn of(answer: &Answer, words: &str) -> Ending {
        match answer.outcome {
            Outcome::Done => Ending::Done,
            Outcome::Failed | Outcome::Blocked => Ending::Failed,
            Outcome::Released => Ending::PutBack,
            // It reports, but not that it is done: `in_progress`.
            Outcome::Unclear if ends_with_status(words) => Ending::Unclear,
            // What it has found to be wrong is no failure of its own.
            Outcome::Unclear => {
                let last = tail(words, JUDGED);
                let own: Vec<&str> = last.lines().filter(|line| finding(line).is_none()).collect();
                let found = own.len() < last.lines().count();
                match own.join("\n").trim() {
                    "" if found => Ending::Assumed,
                    own if admits_failure(own) => Ending::Unclear,
                    _ => Ending::Assumed,
                }
            }
        }
    }

    /// Returns the word for the status of an agent's result.
    pub fn word(self) -> &'static str {
        match self {
            Ending::Done | Ending::Assumed => "success",
            Ending::Failed => "failed",
            Ending::PutBack => "released",
            Ending::Unclear => "unclear",
        }
    }

    /// Whether the agent has said how it ended.
    pub fn is_told(self) -> bool {
        matches!(self, Ending::Done | Ending::Failed | Ending::PutBack)
    }
}

/// What became of an agent's work.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct AgentReport {
    pub ending: Ending,
    /// With `severity`, `title` and whatever else they say.
    pub findings: Vec<Value>,
    pub recommendations: Vec<String>,
    pub deliverables: Vec<String>,
    pub files_analyzed: Vec<String>,
    /// Its own figures, with the number of its findings.
    pub metrics: Map<String, Value>,
    /// What others should know; of a failure, why.
    pub context: String,
    /// The phase that the agent names.
    pub phase: Option<String>,
}

impl AgentReport {
    pub fn of(message: &str) -> AgentReport {
        let answer = Answer::of(message);
        let mut said = AgentReport {
            ending: Ending::of(&answer, message),
            phase: phase(message),
            ..AgentReport::default()
        };
        let mut found = said.take(&report(message, answer));
        if found == 0 {
            let findings = || message.lines().filter_map(finding);
            found = findings().count();
            said.findings = findings().take(MOST).collect();
        }
        said.metrics.entry("issues_found").or_insert_with(|| found.into());
        if said.deliverables.is_empty() {
            said.deliverables = below_heading(message, "deliverables");
        }
        if said.recommendations.is_empty() {
            said.recommendations = below_heading(message, "recommendations");
        }
        if said.context.is_empty() {
            said.context = cut(message.trim(), CONTEXT);
        }
        said
    }

    /// Takes what an object says; returns how many findings it has, which may be more than are kept.
    fn take(&mut self, report: &Map<String, Value>) -> usize {
        let list = |name: &str| report.get(name).and_then(Value::as_array).into_iter().flatten();
        let findings = || list("findings").filter_map(told_finding);
        self.findings = findings().take(MOST).collect();
        self.recommendations = texts(list("recommendations"));
        self.deliverables = texts(list("deliverables"));
        self.files_analyzed = texts(list("files_analyzed"));
        self.metrics = report.get("metrics").map(figures).unwrap_or_default();
        let failed = ["reason", "error", "context_for_next", "summary", "message"];
        let is_done = matches!(self.ending, Ending::Done | Ending::Assumed);
        let fields = if is_done { &failed[2..4] } else { &failed[..] };
        let context = fields.iter().find_map(|field| report.get(*field)?.as_str());
        self.context = cut(context.unwrap_or_default().trim(), CONTEXT);
        if let Some(phase) = report.get("phase_id").and_then(Value::as_str) {
            self.phase = Some(cut(phase, TEXT));
        }
        findings().count()
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

/// Returns the object with the status; without one, the last that has a field of a report.
fn report(message: &str, answer: Answer) -> Map<String, Value> {
    const FIELDS: [&str; 6] =
        ["findings", "recommendations", "deliverables", "files_analyzed", "context_for_next", "phase_id"];
    if !answer.fields.is_empty() {
        return answer.fields;
    }
    last_object(message, |object| FIELDS.iter().any(|field| object.contains_key(*field))).unwrap_or_default()
}

/// Returns a line such as `- [S1] Missing rate limit`, `2. **S2**: …` or `[S0-3] …` as a finding.
fn finding(line: &str) -> Option<Value> {
    const MARKS: [char; 9] = [' ', '\t', '-', '*', '#', '[', '(', '|', '`'];
    let line = without_number(line.trim_start_matches(MARKS)).trim_start_matches(MARKS);
    let severity = SEVERITIES.into_iter().find(|severity| line.starts_with(severity))?;
    let rest = &line[severity.len()..];
    let counted =
        rest.strip_prefix(['-', '.', '#']).map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let rest_of =
        counted.filter(|counted| counted.starts_with([']', ')', ':', '*', ' ', '|'])).unwrap_or(rest);
    let title = rest_of.trim_start_matches([']', ')', '*', '`', ':', '-', '–', '—', '|', ' ', '.']);
    // `S1` alone, or as the beginning of a word, says nothing.
    (rest.len() > title.len() && !title.is_empty()).then(|| {
        json!({
            Finding::severity: severity, Finding::title: cut(title.trim_end_matches(['|', ' ']), TEXT),
        })
    })
}

const SEVERITIES: [&str; 4] = ["S0", "S1", "S2", "S3"];

/// Takes a number such as `2.` or `3)` off the front of a line.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = line.len() - rest.len();
    let item =
        rest.strip_prefix(['.', ')']).filter(|item| item.starts_with(' ') && (1..=4).contains(&number));
    item.map_or(line, str::trim_start)
}

/// Returns the known fields of a finding, shortened; one that is only a text is its title.
fn told_finding(finding: &Value) -> Option<Value> {
    let mut told = json!({});
    if let Some(severity) = finding.read(Finding::severity) {
        told.set(Finding::severity, severity);
    }
    for field in [Finding::category, Finding::title, Finding::details, Finding::recommendation] {
        if let Some(text) = finding.text(field) {
            told.set(field, cut(text, CONTEXT));
        }
    }
    if !told.has(Finding::title)
        && let Some(title) = plain(finding, &["name", "message", "summary", "description"])
    {
        told.set(Finding::title, cut(title, TEXT));
    }
    told.as_object().is_some_and(|told| !told.is_empty()).then_some(told)
}

/// Returns a value that is a text, or the first of its fields that is.
fn plain<'v>(value: &'v Value, fields: &[&str]) -> Option<&'v str> {
    let field = || fields.iter().find_map(|field| value.get(*field)?.as_str());
    value.as_str().or_else(field).map(str::trim).filter(|text| !text.is_empty())
}

/// Returns the list below a heading such as `Deliverables:`, `## Deliverables` or `3. Deliverables`.
fn below_heading(message: &str, heading: &str) -> Vec<String> {
    let is_heading = |line: &&str| {
        let line = line.trim().trim_start_matches(['#', '*', ' ']);
        without_number(line).trim_matches(['#', '*', ' ', ':']).eq_ignore_ascii_case(heading)
    };
    let mut items: Vec<String> = Vec::new();
    let below = message.lines().skip_while(|line| !is_heading(line)).skip(1);
    for line in below.filter(|line| !line.trim().is_empty()) {
        let is_inside = line.starts_with([' ', '\t']);
        match (item(line), items.last_mut()) {
            (Some(item), _) => items.push(item.to_owned()),
            (None, Some(last)) if is_inside => *last = format!("{last} {}", line.trim()),
            _ => break,
        }
    }
    items.iter().map(|item| cut(item.trim(), TEXT)).filter(|item| !item.is_empty()).take(MOST).collect()
}

/// Returns what an item of a list says.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let marked = ["- ", "* ", "+ ", "• "].iter().find_map(|mark| line.strip_prefix(mark));
    marked.or_else(|| Some(without_number(line)).filter(|item| item.len() < line.len()))
}

fn texts<'v>(list: impl Iterator<Item = &'v Value>) -> Vec<String> {
    let text = |value: &'v Value| {
        plain(value, &["title", "recommendation", "path", "text", "description", "summary"])
    };
    list.filter_map(text).map(|text| cut(text, TEXT)).take(MOST).collect()
}

/// Returns the figures of an agent: numbers, words and whether something is so.
fn figures(metrics: &Value) -> Map<String, Value> {
    let plain = |value: &Value| match value {
        Value::Number(_) | Value::Bool(_) => Some(value.clone()),
        Value::String(text) => Some(cut(text, TEXT).into()),
        _ => None,
    };
    let figures = metrics.as_object().into_iter().flatten();
    figures.filter_map(|(name, value)| Some((cut(name, 128), plain(value)?))).take(MOST).collect()
}

/// Returns the end of a text, of so many bytes at most.
fn tail(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    let border = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[border..]
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
            let said = AgentReport::of(&message);
            assert_eq!(said.findings, [json!({"severity": "S1", "title": "No limit"})], "{message}");
            assert_eq!(said.ending, Ending::Failed);
            assert_eq!((&said.deliverables[0][..], &said.context[..]), ("src/a.rs", "Go on"));
            assert_eq!(said.phase.as_deref(), Some("phase_2"));
        }
    }

    #[test]
    fn prose_is_context_and_marked_lines_are_findings() {
        let message = "Checked the login.\n- [S1] Missing rate limit\n* **S2**: Old hash\nS3 nit\nS1\nS10 x\n\
                       \n## Deliverables\n\n- src/login.rs\n- 4 tests\n\nPhase ID: phase_1.";
        let said = AgentReport::of(message);
        let titles: Vec<_> = said.findings.iter().map(|finding| finding["title"].as_str().unwrap()).collect();
        assert_eq!(titles, ["Missing rate limit", "Old hash", "nit"]);
        assert_eq!(said.deliverables, ["src/login.rs", "4 tests"]);
        assert_eq!(said.context, message);
        assert_eq!(said.ending, Ending::Assumed);
        assert_eq!(said.phase.as_deref(), Some("phase_1"));
    }

    #[test]
    fn everything_is_bounded() {
        let long = "ü".repeat(10_000);
        let items = vec!["ü".repeat(500); 99];
        let said =
            AgentReport::of(&json!({"context_for_next": &long[..6000], "deliverables": items}).to_string());
        assert_eq!(said.context.chars().count(), CONTEXT + 1);
        assert_eq!((said.deliverables.len(), said.deliverables[0].chars().count()), (MOST, TEXT + 1));
    }

    #[test]
    fn words_without_a_status_are_assumed_or_unclear() {
        for (ending, words) in [
            (Ending::Done, "{\"status\": \"completed\"}"),
            (Ending::Failed, "**Status:** FAILED\nno disk"),
            (Ending::Failed, "```json\n{\n \"status\": \"blocked\"\n}\n```"),
            (Ending::PutBack, "{\"status\": \"released\"}"),
            (Ending::Assumed, "The login works."),
            (Ending::Assumed, "The status: failed tests are fixed"),
            (Ending::Assumed, "{\"deliverables\": [\"a.rs\"]}"),
            (Ending::Assumed, "- [S1] tests fail on Windows"),
            (Ending::Unclear, ""),
            (Ending::Unclear, "I could not do it: 3 tests fail"),
            (Ending::Unclear, "FAILED: no such table"),
            (Ending::Unclear, "- [S1] No limit\nI was unable to look at the rest."),
        ] {
            assert_eq!(AgentReport::of(words).ending, ending, "{words}");
        }
        assert_eq!(
            AgentReport::of(r#"{"status": "failed", "reason": "no disk", "summary": "s"}"#).context,
            "no disk"
        );
    }

    #[test]
    fn what_is_numbered_or_below_a_heading_is_taken() {
        let message = "1. [S1] No limit\n2) **S2** Old hash\n- [S0-3] Open door\n12. S3: nit\n1.5 S1 is too long\n\n\
                       ## 2. Recommendations\n\n1. Add a limit,\n   a small one\n\n2. Drop the hash\nThat is all.\n- no item";
        let said = AgentReport::of(message);
        let titles: Vec<_> = said.findings.iter().map(|finding| finding["title"].as_str().unwrap()).collect();
        assert_eq!(titles, ["No limit", "Old hash", "Open door", "nit"]);
        assert_eq!(said.recommendations, ["Add a limit, a small one", "Drop the hash"]);
        let report = json!({
            "findings": ["No limit", {"severity": "high", "message": "Old hash"}, {"line": 7}],
            "recommendations": [{"title": "Add one"}, "Drop it"], "metrics": {"lines": 9, "note": "n", "deep": {}},
        });
        let said = AgentReport::of(&report.to_string());
        assert_eq!(said.findings, [json!({"title": "No limit"}), json!({"title": "Old hash"})]);
        assert_eq!(said.recommendations, ["Add one", "Drop it"]);
        assert_eq!(Value::from(said.metrics), json!({"lines": 9, "note": "n", "issues_found": 2}));
        assert_eq!(
            AgentReport::of(&"- [S1] again\n".repeat(70)).metrics["issues_found"],
            70,
            "all of them count"
        );
    }
}
