//! What hooks keep, as rows for tables. Texts are one line each; what else stands in them the caller escapes.

use serde_json::{Value, json};

use super::graph::one_line;
use super::plan::text;
use super::table::cell;
use crate::model::documents::agent_loop::{
    ActiveAgent, ClassifiedError, Finding, MergedFinding, SessionMetrics,
};
use crate::model::key::Fields;
use crate::model::plan;

/// Returns a row for each error.
pub fn errors(errors: &[Value]) -> Value {
    let row = |error: &Value| {
        json!({
            "id": text(error, ClassifiedError::id), "class": text(error, ClassifiedError::classification), "status": text(error, ClassifiedError::status),
            "retries": format!("{}/{}", error.at(ClassifiedError::retry_count).map(Value::to_string).unwrap_or_default(), error.at(ClassifiedError::max_retries).map(Value::to_string).unwrap_or_default()),
            "next_retry": text(error, ClassifiedError::next_retry), "tool": text(error, ClassifiedError::tool), "message": text(error, ClassifiedError::message),
        })
    };
    errors.iter().map(row).collect()
}

/// Returns a row for each agent.
pub fn agents(agents: &[Value]) -> Value {
    let row = |agent: &Value| {
        json!({
            ActiveAgent::id: text(agent, ActiveAgent::id), ActiveAgent::kind: text(agent, ActiveAgent::kind),
            ActiveAgent::status: text(agent, ActiveAgent::status),
            ActiveAgent::started: text(agent, ActiveAgent::started),
            ActiveAgent::task: text(agent, ActiveAgent::task),
        })
    };
    agents.iter().map(row).collect()
}

/// Returns a row for each finding.
pub fn findings(findings: &[Value]) -> Value {
    let row = |finding: &Value| {
        let mut row = json!({
            Finding::severity: text(finding, Finding::severity),
            Finding::category: text(finding, Finding::category),
            Finding::title: text(finding, Finding::title),
            Finding::recommendation: text(finding, Finding::recommendation),
        });
        if let Some(agents) = finding.at(MergedFinding::agent_ids) {
            row["agents"] = agents.clone();
        }
        row
    };
    findings.iter().map(row).collect()
}

/// Returns a row for each session of the metrics.
pub fn sessions(sessions: &[Value]) -> Value {
    let row = |session: &Value| {
        let number = |path: &str| session.pointer(path).map(cell).unwrap_or_default();
        let of = |part: &str, whole: &str| match (number(part), number(whole)) {
            (part, whole) if part.is_empty() && whole.is_empty() => String::new(),
            (part, whole) => format!("{part}/{whole}"),
        };
        let commands = session.read(SessionMetrics::commands);
        let commands =
            commands.map(|map| map.values().filter_map(Value::as_u64).fold(0, u64::saturating_add));
        json!({
            "session_id": text(session, SessionMetrics::session_id), "date": text(session, SessionMetrics::date),
            "minutes": number("/duration_minutes"), "commands": commands,
            "agents": of("/agents/completed", "/agents/spawned"),
            "issues_fixed": of("/quality/issues_fixed", "/quality/issues_found"),
            "coverage": one_line(&number("/quality/coverage_delta")),
            "errors_recovered": of("/errors/recovered", "/errors/total"),
        })
    };
    sessions.iter().map(row).collect()
}

/// What is drawn over the sessions: a label and where its number is.
const CURVES: [(&str, &str); 4] = [
    ("minutes", "/duration_minutes"),
    ("agents", "/agents/spawned"),
    ("issues", "/quality/issues_found"),
    ("errors", "/errors/total"),
];

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws the numbers of the last sessions as lines of little bars, at most so many of them; without a number there is a
/// gap. What no session tells is left out.
pub fn curves(sessions: &[Value], width: usize) -> Vec<String> {
    let last = &sessions[sessions.len().saturating_sub(width)..];
    let curve = |(label, path): &(&str, &str)| {
        let number = |session: &Value| session.pointer(path)?.as_f64().filter(|number| number.is_finite());
        let numbers: Vec<_> = last.iter().map(number).collect();
        let least = numbers.iter().flatten().copied().reduce(f64::min)?;
        let most = numbers.iter().flatten().copied().reduce(f64::max)?;
        // From nothing up, so that a bar of half the height is half as much.
        let floor = least.min(0.0);
        let bar = |number: &Option<f64>| match number {
            None => ' ',
            Some(_) if most <= floor => BARS[0],
            Some(number) => {
                BARS[(((number - floor) / (most - floor)) * 7.0).round().clamp(0.0, 7.0) as usize]
            }
        };
        let bars: String = numbers.iter().map(bar).collect();
        Some(format!("{label:<8} {bars}  {} to {}", plan::number(least), plan::number(most)))
    };
    CURVES.iter().filter_map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_show_how_much_and_where_nothing_is_known() {
        let minutes = |minutes: &[Value]| -> Vec<Value> {
            minutes.iter().map(|number| json!({ "duration_minutes": number })).collect()
        };
        let drawn = |numbers: &[Value], width| curves(&minutes(numbers), width);
        assert_eq!(drawn(&[], 10), [""; 0]);
        assert_eq!(drawn(&[json!(null)], 10), [""; 0]);
        assert_eq!(drawn(&[json!(0), json!(0)], 10), ["minutes  ▁▁  0 to 0"]);
        assert_eq!(drawn(&[json!(0), json!(null), json!(35), json!(70)], 10), ["minutes  ▁ ▅█  0 to 70"]);
        assert_eq!(drawn(&[json!(100), json!(1.5), json!(3)], 2), ["minutes  ▅█  1.5 to 3"], "the last ones");
        assert_eq!(drawn(&[json!(-2), json!(2)], 9), ["minutes  ▁█  -2 to 2"]);
        assert_eq!(curves(&minutes(&[json!(1)]), 0), [""; 0]);
    }
}
