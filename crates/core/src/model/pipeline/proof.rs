//! What a claim must show before it is believed: results for a PASS, evidence for the end of a run.

use serde_json::Value;

use super::values::clip;
use super::{Content, Pipeline, list, text};
use crate::model::documents::dispatch::{Evidence, HandedOver};
use crate::model::documents::pipeline::{PmState, PmTask};
use crate::model::key::Fields;

/// What says as much as nothing.
const NOTHING: [&str; 13] = [
    "n/a",
    "na",
    "nil",
    "none",
    "nothing",
    "null",
    "tbd",
    "todo",
    "not applicable",
    "not run",
    "not tested",
    "untested",
    "skipped",
];

/// What the number of failed tests is called.
const FAILURES: [&str; 3] = ["failed", "failures", "errors"];

/// What of a tester's results is no result.
const NO_TESTS: [&str; 1] = ["total_time"];

/// Something that must be true at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criterion {
    /// A short name for it: of its task, or `C1` and so on.
    pub id: String,
    pub text: String,
}

impl Criterion {
    /// Whether an entry of a list of evidence is about this: it has its words, its id, or begins with its id.
    fn is_meant_by(&self, entry: &Value) -> bool {
        let named = text(entry, Evidence::requirement).trim();
        let rest = named.strip_prefix(&self.id);
        named == self.text.trim()
            || rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
    }
}

impl Pipeline {
    /// Returns what must be shown at the end: what the plan says, else what its tasks say.
    pub fn criteria(&self) -> Vec<Criterion> {
        let written: Vec<Criterion> = list(&self.pm, PmState::success_criteria)
            .iter()
            .filter_map(Value::as_str)
            .filter(|text| !text.trim().is_empty())
            .enumerate()
            .map(|(place, text)| Criterion { id: format!("C{}", place + 1), text: text.into() })
            .collect();
        if !written.is_empty() {
            return written;
        }
        let of_task = |task: &Value| {
            let (id, about) = (text(task, PmTask::id), text(task, PmTask::description));
            let about = if about.trim().is_empty() { id } else { about };
            Criterion { id: id.into(), text: about.into() }
        };
        list(&self.pm, PmState::all_tasks).iter().map(of_task).filter(|one| !one.id.is_empty()).collect()
    }

    /// Returns what is missing for the run to be complete.
    pub(super) fn unproven(&self, content: &Content) -> Vec<String> {
        let open: Vec<&str> = self.group_ids().filter(|id| !self.is_complete(id)).collect();
        let mut missing = Vec::new();
        if !open.is_empty() {
            missing.push(format!("open groups: {}", open.join(", ")));
        }
        let evidence = content.list(HandedOver::evidence);
        if evidence.is_empty() {
            missing.push("there is no `evidence: [{requirement, met, evidence}]`".into());
        }
        missing.extend(evidence.iter().filter_map(lacks));
        for wanted in self.criteria() {
            if !evidence.iter().any(|entry| wanted.is_meant_by(entry)) {
                missing.push(format!("`{}` has no entry in `evidence`", clip(&wanted.text, 80)));
            }
        }
        missing
    }
}

/// Returns what an entry of a list of evidence lacks to prove its requirement.
fn lacks(evidence: &Value) -> Option<String> {
    let requirement = text(evidence, Evidence::requirement).trim();
    let name = format!("`{}`", clip(requirement, 80));
    if !is_something(requirement) {
        return Some("an entry of `evidence` names no `requirement`".into());
    }
    if evidence.at(Evidence::met) != Some(&Value::Bool(true)) {
        return Some(format!("{name} is not met"));
    }
    let shown = match evidence.at(Evidence::evidence) {
        Some(Value::String(text)) => is_something(text),
        Some(Value::Array(items)) => items.iter().any(is_anything),
        Some(Value::Object(map)) => map.values().any(is_anything),
        _ => false,
    };
    (!shown).then(|| format!("{name} has no evidence"))
}

/// Whether a text says anything: blanks, dashes and `n/a` do not.
pub(super) fn is_something(text: &str) -> bool {
    let core = text.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
    !core.is_empty() && !NOTHING.contains(&core.as_str())
}

fn is_anything(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => is_something(text),
        Value::Array(items) => items.iter().any(is_anything),
        Value::Object(map) => map.values().any(is_anything),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// Whether a tester says what ran and what came out.
pub(super) fn has_results(content: &Content) -> bool {
    results(content).into_iter().any(|(_, value)| match counts(value) {
        Some(counts) => counts.total > 0,
        None => is_anything(value),
    })
}

/// Returns which tests failed, by what a tester says of them.
pub(super) fn failed_tests(content: &Content) -> Vec<String> {
    let failed = results(content).into_iter().filter(|(_, value)| tells_failure(value));
    failed.map(|(kind, value)| format!("{kind} {}", clip(&said(value), 80))).collect()
}

/// Returns the results of a tester by the kind of test; counts without a kind are one.
fn results(content: &Content) -> Vec<(&str, &Value)> {
    let Some(results) = content.at(HandedOver::test_results) else { return Vec::new() };
    if ["total", "passed", "failed"].iter().any(|field| results.get(field).is_some_and(Value::is_number)) {
        return vec![("tests", results)];
    }
    let kinds = results.as_object().into_iter().flatten();
    kinds.map(|(kind, value)| (kind.as_str(), value)).filter(|(kind, _)| !NO_TESTS.contains(kind)).collect()
}

/// How many tests there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub total: u64,
    pub passed: u64,
    pub failed: u64,
}

/// Reads numbers of tests: counts, or words such as `8/8 passed` or `7 passed, 1 failed`.
pub(super) fn counts(value: &Value) -> Option<Counts> {
    if value.is_object() {
        let of = |field: &str| value.get(field).and_then(Value::as_u64);
        let passed = of("passed").unwrap_or(0);
        let failed = FAILURES.iter().filter_map(|field| number_of(value.get(field)?)).sum();
        let total = of("total").map(|total| total.saturating_sub(of("skipped").unwrap_or(0)));
        return Some(Counts { total: total.unwrap_or(passed.saturating_add(failed)), passed, failed });
    }
    read_counts(value.as_str()?)
}

/// Returns a number, also one in words, or how long a list is.
fn number_of(value: &Value) -> Option<u64> {
    let told = || value.as_str()?.trim().parse().ok();
    value.as_u64().or_else(told).or_else(|| Some(value.as_array()?.len() as u64))
}

fn read_counts(text: &str) -> Option<Counts> {
    let words = words_of(&text.replace(" out of ", "/").replace(" of ", "/"));
    let follows =
        |place: usize, begin: &str| words.get(place + 1).is_some_and(|next| next.starts_with(begin));
    let before = |begin: &str| {
        let number = |place: usize| words[place].parse::<u64>().ok().filter(|_| follows(place, begin));
        (0..words.len()).find_map(number)
    };
    for (place, word) in words.iter().enumerate() {
        let Some((part, total)) = word.split_once('/') else { continue };
        let (Ok(part), Ok(total)) = (part.parse::<u64>(), total.parse::<u64>()) else { continue };
        let passed = if follows(place, "fail") { total.saturating_sub(part) } else { part };
        return Some(Counts { total, passed, failed: total.saturating_sub(passed) });
    }
    let errors = before("error");
    let (passed, failed) =
        (before("pass"), before("fail").or(errors).map(|failed| failed.max(errors.unwrap_or(0))));
    (passed.is_some() || failed.is_some()).then(|| {
        let (passed, failed) = (passed.unwrap_or(0), failed.unwrap_or(0));
        Counts { total: passed.saturating_add(failed), passed, failed }
    })
}

fn words_of(text: &str) -> Vec<String> {
    let parts = text.split(|sign: char| !sign.is_alphanumeric() && sign != '/');
    parts.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Whether results say that something failed, or parts of them do.
fn tells_failure(value: &Value) -> bool {
    let parts = match value {
        Value::Array(items) => items.iter().any(tells_failure),
        Value::Object(map) => {
            let words =
                map.iter().filter(|(field, part)| !FAILURES.contains(&field.as_str()) && !part.is_number());
            words.map(|(_, part)| part).any(tells_failure)
        }
        _ => false,
    };
    if parts {
        return true;
    }
    if let Some(Counts { total, passed, failed }) = counts(value) {
        return failed > 0 || passed < total;
    }
    // `FAILED`, and not `no failures`.
    let words = words_of(value.as_str().unwrap_or_default());
    let denied = |place: usize| {
        place > 0
            && ["0", "no", "none", "not", "never", "without", "zero"].contains(&words[place - 1].as_str())
    };
    (0..words.len()).any(|place| words[place].starts_with("fail") && !denied(place))
}

/// Returns results of tests in words.
pub(super) fn said(value: &Value) -> String {
    match (value, counts(value)) {
        (Value::String(text), _) => text.clone(),
        (_, Some(Counts { total, passed, .. })) => format!("{passed}/{total} passed"),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(value: Value) -> Content {
        let Value::Object(content) = value else { return Content::new() };
        content
    }

    #[test]
    fn results_are_read_as_testers_write_them() {
        let check = |results: Value, there: bool, failed: usize| {
            let content = content(json!({"test_results": results}));
            let found = (has_results(&content), failed_tests(&content).len());
            assert_eq!(found, (there, failed), "{results}");
        };
        for none in
            [json!({}), json!({"total_time": "2m"}), json!({"e2e_tests": "-"}), json!({"e2e_tests": "N/A"})]
        {
            check(none, false, 0);
        }
        check(json!({"e2e_tests": "0/0 passed"}), false, 0);
        check(json!({"unit_tests": {"total": 0, "passed": 0, "failed": 0}, "e2e_tests": null}), false, 0);
        for good in
            ["8/8 passed", "all pass", "12 passed, 0 failed", "no failures", "Tests for failed logins: 3/3"]
        {
            check(json!({"integration_tests": good, "contract_tests": "none"}), true, 0);
        }
        for bad in ["7/8 passed", "1/8 failed", "7 passed, 1 failed", "FAILED", "2 tests failing"] {
            check(json!({"integration_tests": bad, "e2e_tests": "3/3"}), true, 1);
        }
        for bad in ["7 of 8 passed", "3 passed, 1 error", "7 out of 8"] {
            check(json!({"integration_tests": bad}), true, 1);
        }
        for none in ["not run", "skipped", "Not tested."] {
            check(json!({"integration_tests": none}), false, 0);
        }
        check(json!({"integration_tests": ["a: ok", "b: FAIL"]}), true, 1);
        check(json!({"integration_tests": "3/3", "e2e_tests": {"status": "failed"}}), true, 1);
        check(json!({"e2e_tests": {"passed": 3, "failed": ["login"]}}), true, 1);
        check(json!({"e2e_tests": {"total": 3, "passed": 3, "errors": 1}}), true, 1);
        check(json!({"e2e_tests": {"passed": 3, "failed": "0", "suites": {"a": "3/3"}}}), true, 0);
        check(json!({"total": 3, "passed": 3, "failed": 0}), true, 0);
        check(json!({"total": 3, "passed": 2, "failed": 1}), true, 1);
        check(json!({"load_tests": {"total": 4, "passed": 3, "skipped": 1}}), true, 0);
        check(json!({"load_tests": {"total": 4, "passed": 3}}), true, 1);
    }

    #[test]
    fn evidence_names_something() {
        let lacks = |evidence: Value| {
            lacks(&json!({"requirement": "r", "met": true, "evidence": evidence})).is_some()
        };
        for nothing in ["", " ", "-", "—", "n/a", "N/A.", "none", "None!", "TBD", "...", "✓"] {
            assert!(
                lacks(nothing.into()) && lacks(json!([nothing])) && lacks(json!({"a": nothing})),
                "{nothing}"
            );
        }
        for something in ["28 of 28 tests", "seen", "0", "日本語", "none of the 40 links is dead"] {
            assert!(!lacks(something.into()) && !lacks(json!(["-", something])), "{something}");
        }
        assert!(lacks(json!(null)) && lacks(json!(true)) && lacks(json!({})));
    }
}
