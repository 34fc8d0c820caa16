//! Which results of agents there are, by session, in the order in which they came: `finished` of `agents/active.json`. Nobody has
//! to look through the results to know what they add up to, or which is the oldest.

use serde_json::{Map, Value, json};

use super::current_session::{self, Legacy};
use super::documents::agent_loop::{ActiveAgents, AgentResult, FinishedAgents, ResultMetrics};
use super::key::{Fields, FieldsMut, Key};
use super::shape::{Entries, Integer};

const FINISHED: Key<Option<Entries<FinishedAgents>>> = ActiveAgents::finished;
const RESULTS: Key<Option<Vec<String>>> = FinishedAgents::results;
const SUMS: [Key<Option<Integer>>; 3] =
    [FinishedAgents::completed, FinishedAgents::failed, FinishedAgents::issues_found];

/// Whether the document knows the results that there are; one of an older version does not.
pub fn is_known(agents: &Value) -> bool {
    agents[FINISHED].is_object() || agents.read(ActiveAgents::total_completed).unwrap_or(0) == 0
}

/// Notes what came out of an agent; `earlier` is what it had said before it went on.
pub fn note(agents: &mut Value, id: &str, earlier: Option<&Value>, result: &Value) {
    let session = result.text(AgentResult::session_id).unwrap_or_default();
    let entry = entry(agents, session);
    let earlier = earlier.map(numbers).unwrap_or_default();
    for ((field, number), earlier) in SUMS.iter().zip(numbers(result)).zip(earlier) {
        let before = entry.read(*field).unwrap_or(0);
        entry.set(*field, (before + number).saturating_sub(earlier));
    }
    list(entry, id);
}

/// Notes that there is a result, whatever it is.
pub fn list_unread(agents: &mut Value, id: &str) {
    list(entry(agents, ""), id);
}

/// Returns how many results there are.
pub fn count(agents: &Value) -> usize {
    let entries = agents.read(FINISHED).into_iter().flatten();
    entries.map(|(_, entry)| entry.list(RESULTS).len()).sum()
}

/// Takes out what the results of a session, or of all, add up to.
pub fn close(agents: &mut Value, session: Option<&str>) -> Legacy {
    let mut legacy = Legacy::default();
    for entry in of(agents, session) {
        let mut take = |field| {
            let taken = entry.unset(field);
            taken.and_then(|number| number.as_u64()).unwrap_or(0)
        };
        let [completed, failed, found] = SUMS.map(&mut take);
        legacy.agents_completed += completed;
        legacy.agents_failed += failed;
        legacy.issues_found += found;
    }
    legacy
}

/// Takes out the first results of a session, or of all; returns their agents.
pub fn take(agents: &mut Value, session: Option<&str>, most: usize) -> Vec<String> {
    let mut taken = Vec::new();
    for entry in of(agents, session) {
        if let Some(results) = entry.list_mut(RESULTS) {
            let number = results.len().min(most - taken.len());
            taken.extend(results.drain(..number).filter_map(|id| id.as_str().map(str::to_owned)));
        }
    }
    let is_over =
        |entry: &Value| entry.list(RESULTS).is_empty() && SUMS.iter().all(|field| entry[*field].is_null());
    if let Some(entries) = agents.at_mut(FINISHED).and_then(Value::as_object_mut) {
        entries.retain(|_, entry| !is_over(entry));
    }
    taken
}

/// Starts to count anew. Results that are still there are known all the same.
pub fn begin_anew(agents: &mut Value) {
    (agents[ActiveAgents::total_spawned], agents[ActiveAgents::total_completed]) = (0.into(), 0.into());
    if agents[FINISHED].as_object().is_some_and(Map::is_empty) {
        agents.unset(FINISHED);
    }
}

fn of<'a>(agents: &'a mut Value, session: Option<&'a str>) -> impl Iterator<Item = &'a mut Value> {
    let entries = agents.at_mut(FINISHED).and_then(Value::as_object_mut).into_iter().flatten();
    let wanted = move |(of, _): &(&String, &mut Value)| session.is_none_or(|session| session == of.as_str());
    entries.filter(wanted).map(|(_, entry)| entry)
}

fn entry<'a>(agents: &'a mut Value, session: &str) -> &'a mut Value {
    if !agents[FINISHED].is_object() {
        agents[FINISHED] = json!({});
    }
    let entries: &mut Map<String, Value> = agents[FINISHED].as_object_mut().expect("it was made above");
    entries.entry(session).or_insert_with(|| json!({}))
}

fn list(entry: &mut Value, id: &str) {
    if !current_session::has(entry, RESULTS, id) {
        match entry.list_mut(RESULTS) {
            Some(results) => results.push(id.into()),
            None => entry[RESULTS] = json!([id]),
        }
    }
}

/// Returns what one result adds to the sums.
fn numbers(result: &Value) -> [u64; 3] {
    let (completed, failed) = match result.text(AgentResult::status) {
        Some("failed") => (0, 1),
        // Nobody knows whether it did what it was started for.
        Some("unclear" | "released") => (0, 0),
        _ => (1, 0),
    };
    let findings = || result.list(AgentResult::findings).len() as u64;
    [
        completed,
        failed,
        result[AgentResult::metrics].read(ResultMetrics::issues_found).unwrap_or_else(findings),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(session: &str, status: &str, findings: usize) -> Value {
        json!({"session_id": session, "status": status, "findings": vec![json!({}); findings]})
    }

    #[test]
    fn results_are_known_in_their_order_and_add_up_by_session() {
        let mut agents = json!({"agents": [], "total_completed": 0});
        assert!(is_known(&agents) && !is_known(&json!({"total_completed": 3})));
        note(&mut agents, "a1", None, &result("s1", "success", 2));
        note(&mut agents, "b1", None, &result("s2", "unclear", 1));
        note(&mut agents, "a2", None, &result("s1", "failed", 0));
        note(&mut agents, "a1", Some(&result("s1", "success", 2)), &result("s1", "failed", 3));
        assert_eq!(
            agents["finished"]["s1"],
            json!({"completed": 0, "failed": 2, "issues_found": 3, "results": ["a1", "a2"]})
        );
        assert_eq!((count(&agents), take(&mut agents, None, 2)), (3, vec!["a1".to_owned(), "a2".to_owned()]));
        let legacy = close(&mut agents, Some("s1"));
        assert_eq!((legacy.agents_completed, legacy.agents_failed, legacy.issues_found), (0, 2, 3));
        assert_eq!(take(&mut agents, Some("s1"), 9), [""; 0]);
        assert_eq!(
            agents["finished"],
            json!({"s2": {"completed": 0, "failed": 0, "issues_found": 1, "results": ["b1"]}})
        );
        assert_eq!(close(&mut agents, None).issues_found, 1);
        assert_eq!((take(&mut agents, None, 9), &agents["finished"]), (vec!["b1".to_owned()], &json!({})));
    }
}
