//! Who works in a project now: `current.json`.
//!
//! The document is the record of the session that started last, as the seed has it. Others that are at work beside it have
//! the same record in `others`. A session that ends leaves its numbers behind, as one entry of the metrics.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::documents::agent_loop::{AgentCounts, CurrentSession, ErrorCounts, QualityCounts, SessionMetrics};
use super::key::{Fields, FieldsMut, Held, Key, List};
use super::shape::{Entries, Integer};
use super::{plan, time};

/// The hooks' format, which the source calls 3.0.
const HOOKS_VERSION: &str = "3.0";

/// How many sessions are remembered.
const SESSIONS: usize = 1000;

/// How many files and commands are listed: every hook that counts one reads them all.
const LISTED: usize = 200;

/// The field for the commands of a session, and for those that are not listed any more.
pub const COMMANDS: Key<Option<Vec<String>>> = CurrentSession::commands_executed;
const COMMANDS_BEFORE: Key<Option<Entries<Integer>>> = CurrentSession::commands_before;

/// What is known of a session when it comes.
#[derive(Debug, Clone, Default)]
pub struct Arrival {
    pub branch: Option<String>,
    pub commit: Option<String>,
    pub directory: Option<String>,
}

/// The sessions at work in a project.
#[derive(Debug, Clone)]
pub struct CurrentSessions {
    /// The record of each; the one that started last comes first.
    records: Vec<Value>,
}

impl CurrentSessions {
    /// Takes the stored document, if there is one.
    pub fn of(document: Option<Value>) -> CurrentSessions {
        let Some(Value::Object(mut first)) = document else { return CurrentSessions { records: Vec::new() } };
        first.unset(CurrentSession::revision);
        let others = match first.unset(CurrentSession::others) {
            Some(Value::Array(others)) => others,
            _ => Vec::new(),
        };
        let records = std::iter::once(Value::Object(first)).chain(others);
        CurrentSessions { records: records.filter(Value::is_object).collect() }
    }

    /// Returns the document, or `None` when nobody is there.
    pub fn into_document(self) -> Option<Value> {
        let mut records = self.records.into_iter();
        let mut first = records.next()?;
        let others: Vec<Value> = records.collect();
        if !others.is_empty() {
            first.set(CurrentSession::others, others);
        }
        Some(first)
    }

    pub fn record(&mut self, session: &str) -> Option<&mut Value> {
        self.records.iter_mut().find(|record| record[CurrentSession::session_id] == session)
    }

    /// Returns the ids of the sessions.
    pub fn sessions(&self) -> Vec<String> {
        self.records
            .iter()
            .filter_map(|record| Some(record.text(CurrentSession::session_id)?.to_owned()))
            .collect()
    }

    /// Returns the record of a session that is at work, also if nobody saw it come.
    pub fn at_work(
        &mut self,
        session: &str,
        arrival: impl FnOnce() -> Arrival,
        now: Timestamp,
    ) -> &mut Value {
        match self.records.iter().position(|record| record[CurrentSession::session_id] == session) {
            Some(place) => &mut self.records[place],
            None => self.enter(session, &arrival(), now),
        }
    }

    /// Notes that a session is there; what is known of it already stays.
    pub fn enter(&mut self, session: &str, arrival: &Arrival, now: Timestamp) -> &mut Value {
        let known = self.records.iter().position(|record| record[CurrentSession::session_id] == session);
        let record = match known {
            Some(place) => self.records.remove(place),
            None => json!({
                CurrentSession::session_id: session, CurrentSession::started: time::stamp(now),
                CurrentSession::git_branch: arrival.branch,
                CurrentSession::git_commit_start: arrival.commit,
                CurrentSession::working_directory: arrival.directory,
                CurrentSession::hooks_version: HOOKS_VERSION, CurrentSession::commands_executed: [],
                CurrentSession::agents_spawned: 0,
                CurrentSession::files_modified: [], CurrentSession::errors_encountered: 0,
                CurrentSession::errors_recovered: 0,
            }),
        };
        self.records.insert(0, record);
        self.records.truncate(SESSIONS);
        &mut self.records[0]
    }

    /// Takes a session's record out.
    pub fn leave(&mut self, session: &str) -> Option<Value> {
        let place = self.records.iter().position(|record| record[CurrentSession::session_id] == session)?;
        Some(self.records.remove(place))
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

/// Counts so many more.
pub fn count<T: Held<Kind = Integer>>(record: &mut Value, key: Key<T>, more: u64) {
    count_named(record, key.name(), more);
}

/// Counts so many more of what has this name.
pub fn count_named(counts: &mut Value, name: &str, more: u64) {
    let known = counts.get(name).and_then(Value::as_u64).unwrap_or(0);
    counts[name] = known.saturating_add(more).into();
}

/// Adds to a list of the record; the newest are kept. Returns those that had to go.
pub fn add<T: Held<Kind: List>>(record: &mut Value, key: Key<T>, text: &str) -> Vec<Value> {
    if !record[key].is_array() {
        record[key] = json!([]);
    }
    let Some(list) = record.list_mut(key) else { return Vec::new() };
    list.push(text.into());
    list.drain(..list.len().saturating_sub(LISTED)).collect()
}

/// Adds a command. The last ones are listed, those before them counted.
pub fn add_command(record: &mut Value, command: &str) {
    for earlier in add(record, COMMANDS, command).iter().filter_map(Value::as_str) {
        if !record[COMMANDS_BEFORE].is_object() {
            record[COMMANDS_BEFORE] = json!({});
        }
        count_named(&mut record[COMMANDS_BEFORE], earlier, 1);
    }
}

/// Whether a list of the record has this text.
pub fn has<T: Held<Kind: List>>(record: &Value, key: Key<T>, text: &str) -> bool {
    record.list(key).iter().any(|known| known == text)
}

/// What a session leaves behind beside its record.
#[derive(Debug, Default)]
pub struct Legacy {
    pub agents_completed: u64,
    pub agents_failed: u64,
    pub issues_found: u64,
    pub errors_escalated: u64,
}

/// Returns the entry of the metrics for a session that ends now.
pub fn metrics(record: &Value, legacy: &Legacy, now: Timestamp) -> Value {
    let started = record.text(CurrentSession::started).and_then(time::read).unwrap_or(now);
    let minutes = now.duration_since(started).as_secs_f64().max(0.0) / 60.0;
    let mut commands = BTreeMap::<&str, u64>::new();
    for (command, number) in record[COMMANDS_BEFORE].as_object().into_iter().flatten() {
        commands.insert(command, number.as_u64().unwrap_or(0));
    }
    for command in record.texts(COMMANDS) {
        *commands.entry(command).or_default() += 1;
    }
    let commands: Map<_, _> =
        commands.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    json!({
        SessionMetrics::session_id: record[CurrentSession::session_id],
        SessionMetrics::date: plan::day_of(started).to_string(),
        SessionMetrics::duration_minutes: plan::number((minutes * 100.0).round() / 100.0),
        SessionMetrics::commands: commands,
        SessionMetrics::agents: {
            AgentCounts::spawned: record.read(CurrentSession::agents_spawned).unwrap_or(0),
            AgentCounts::completed: legacy.agents_completed,
            AgentCounts::failed: legacy.agents_failed,
        },
        SessionMetrics::quality: {QualityCounts::issues_found: legacy.issues_found, QualityCounts::issues_fixed: record.read(CurrentSession::issues_fixed).unwrap_or(0)},
        SessionMetrics::errors: {
            ErrorCounts::total: record.read(CurrentSession::errors_encountered).unwrap_or(0),
            ErrorCounts::recovered: record.read(CurrentSession::errors_recovered).unwrap_or(0),
            ErrorCounts::escalated: legacy.errors_escalated,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    #[test]
    fn the_last_to_come_is_the_document_and_others_stand_beside_it() {
        let mut present = CurrentSessions::of(None);
        assert!(present.is_empty() && present.clone().into_document().is_none());
        let arrival = Arrival { branch: Some("main".into()), ..Arrival::default() };
        present.enter("s1", &arrival, at(0));
        count(present.record("s1").unwrap(), CurrentSession::agents_spawned, 1);
        present.enter("s2", &Arrival::default(), at(5));
        let document = present.into_document().unwrap();
        assert_eq!(
            (&document["session_id"], &document["others"][0]["session_id"]),
            (&json!("s2"), &json!("s1"))
        );

        let mut stored = document;
        stored["revision"] = 7.into();
        let mut present = CurrentSessions::of(Some(stored));
        let again = present.enter("s1", &Arrival::default(), at(9));
        assert_eq!((&again["started"], &again["agents_spawned"]), (&json!(time::stamp(at(0))), &json!(1)));
        assert_eq!(present.leave("s1").unwrap()["git_branch"], "main");
        assert!(present.leave("s1").is_none());
        let document = present.into_document().unwrap();
        assert_eq!(document["session_id"], "s2");
        assert!(document.get("others").is_none() && document.get("revision").is_none());
    }

    #[test]
    fn a_session_that_ends_leaves_its_numbers() {
        let mut present = CurrentSessions::of(None);
        let record = present.enter("s1", &Arrival::default(), at(0));
        for command in ["fix", "loop", "fix"] {
            add_command(record, command);
        }
        count(record, CurrentSession::errors_encountered, 1);
        let legacy = Legacy { agents_completed: 2, ..Legacy::default() };
        let entry = metrics(record, &legacy, at(45 * 60));
        assert_eq!(entry["commands"], json!({"fix": 2, "loop": 1}));
        assert_eq!((&entry["duration_minutes"], &entry["date"]), (&json!(45), &json!("2027-01-15")));
        assert_eq!((&entry["agents"]["completed"], &entry["errors"]["total"]), (&json!(2), &json!(1)));
    }

    #[test]
    fn lists_are_bounded_and_odd_records_mended() {
        let mut record = json!({"session_id": "s", "files_modified": 3});
        for number in 0..=LISTED {
            add(&mut record, CurrentSession::files_modified, &number.to_string());
        }
        assert!(
            has(&record, CurrentSession::files_modified, "1")
                && !has(&record, CurrentSession::files_modified, "0")
        );
        for number in 0..LISTED + 5 {
            add_command(&mut record, if number < 3 { "fix" } else { "loop" });
        }
        assert_eq!(record["commands_before"], json!({"fix": 3, "loop": 2}));
        let commands = metrics(&record, &Legacy::default(), at(0))["commands"].take();
        assert_eq!(commands, json!({"fix": 3, "loop": LISTED + 2}));
    }
}
