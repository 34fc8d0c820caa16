//! Hand-overs: what one role tells the next, as messages in the seed's form and as facts of the group.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::plan::is_branch;
use super::proof::{Counts, counts, said};
use super::table::{Outcome, Role};
use super::{Content, Pipeline, clip, list, object, push, remove, text, time, unite, word};
use crate::model::documents::pipeline::{
    Decision, DevContext, DeveloperContext, QaTestResults, QualityMetrics, ReviewIssue, TestCounts,
};
use crate::model::plan::number;
use crate::model::shape::{Shape, Shaped};

/// Why somebody says `PASS` and has no results of tests to show.
pub const WITHOUT_RESULTS: &str = "without_results";

/// How many messages a file keeps; the store's history has the rest.
const MESSAGES: usize = 100;
/// How many files, commits, feedbacks and blockers an entry keeps.
const FACTS: usize = 200;
/// How much of a text an entry keeps; the message has all of it.
const TEXT: usize = 2000;

/// The tests that the documents have a place for.
const KINDS_OF_TESTS: [&str; 4] = ["unit_tests", "integration_tests", "contract_tests", "e2e_tests"];

/// Refuses what would not fit the documents.
pub(super) fn check(role: Role, content: &Content) -> Result<(), String> {
    let is = |field: &str, shape: &Shape| match content.get(field) {
        Some(value) => shape.check(value).map_err(|misfit| format!("`{field}`: {misfit}")),
        None => Ok(()),
    };
    match role {
        Role::Developer => {
            DevContext::SHAPE.check(&content.clone().into()).map_err(|misfit| misfit.to_string())?;
            match content.get("branch_name").and_then(Value::as_str) {
                Some(branch) if !is_branch(branch) => Err("`branch_name` is no name for a branch".into()),
                _ => Ok(()),
            }
        }
        Role::QaExpert => is("developer_context", DeveloperContext::SHAPE)
            .and_then(|()| is("closed", &Shape::List(&Shape::Text)))
            .and_then(|()| is("subject", &Shape::Text))
            .and_then(|()| is("test_results", &Shape::Map(&Shape::Any)))
            .and_then(|()| is(WITHOUT_RESULTS, &Shape::Text)),
        Role::TechLead => is("feedback", &Shape::Text)
            .and_then(|()| is("closed", &Shape::List(&Shape::Text)))
            .and_then(|()| is("subject", &Shape::Text))
            .and_then(|()| is("issues", &Shape::List(ReviewIssue::SHAPE)))
            .and_then(|()| is("actionable_items", &Shape::List(&Shape::Text)))
            .and_then(|()| is("quality_metrics", QualityMetrics::SHAPE)),
        Role::Pm => Ok(()),
    }
}

impl Pipeline {
    /// Writes down what a role hands over: the message, and what it says about the group.
    pub(super) fn hand_over(
        &mut self,
        (role, group): (Role, &str),
        outcome: Outcome,
        content: &Content,
        now: Timestamp,
    ) {
        self.take_facts((role, group), outcome, content, now);
        self.keep_record((role, group), outcome, content, now);
        let message = match role {
            Role::Developer => self.of_developer(group, outcome, content),
            Role::QaExpert => self.of_tester(group, outcome, content),
            Role::TechLead => self.of_tech_lead(group, outcome, content),
            Role::Pm => Map::new(),
        };
        let from = word(role);
        let to = match role {
            Role::Developer => "qa_expert",
            Role::QaExpert => "tech_lead",
            Role::TechLead => "developer",
            Role::Pm => "",
        };
        let file = match role {
            Role::Developer => &mut self.dev_to_qa,
            Role::QaExpert => &mut self.qa_to_techlead,
            Role::TechLead => &mut self.techlead_to_dev,
            Role::Pm => return,
        };
        let mut sent = json!({
            "id": free_id(file, now), "group_id": group, "from": from, "to": to, "timestamp": time::stamp(now),
        });
        for (field, value) in message {
            if !matches!(field.as_str(), "id" | "group_id" | "from" | "to" | "timestamp" | "read") {
                sent[field] = value;
            }
        }
        sent["read"] = false.into();
        push(file, "messages", sent, MESSAGES);
    }

    fn subject(&self, group: &str, outcome: Outcome) -> Value {
        let name = self.task_group(group).map_or(group, |known| text(known, "name"));
        format!("{}: {}", clip(if name.is_empty() { group } else { name }, 200), word(outcome)).into()
    }

    fn of_developer(&self, group: &str, outcome: Outcome, content: &Content) -> Content {
        let mut context = content.clone();
        if !context.contains_key("branch_name") {
            let branch = self.task_group(group).map_or("", |known| text(known, "branch_name"));
            context.insert("branch_name".into(), branch.into());
        }
        fields([
            ("subject", self.subject(group, outcome)),
            ("status", json!(outcome)),
            ("context", context.into()),
        ])
    }

    fn of_tester(&self, group: &str, outcome: Outcome, content: &Content) -> Content {
        let mut message = fields([("subject", self.subject(group, outcome)), ("status", json!(outcome))]);
        match outcome {
            Outcome::Pass | Outcome::Fail => message.insert("result".into(), json!(outcome)),
            _ => None,
        };
        message.extend(content.iter().filter(|(field, _)| *field != "result").map(owned));
        let results = content.get("test_results").and_then(Value::as_object).cloned().unwrap_or_default();
        let shape = QaTestResults::SHAPE;
        let word = |(kind, value): (String, Value)| {
            let fits = shape.check(&fields([(kind.as_str(), value.clone())]).into()).is_ok();
            (kind, if fits { value } else { said(&value).into() })
        };
        message.insert("test_results".into(), Value::Object(results.into_iter().map(word).collect()));
        if !content.contains_key("developer_context") {
            message.insert("developer_context".into(), self.developer_context(group));
        }
        message
    }

    /// Returns what the developer of a group said last.
    fn developer_context(&self, group: &str) -> Value {
        let files = self.entry(group).map_or(&[][..], |entry| list(entry, "files_modified"));
        let last =
            list(&self.dev_to_qa, "messages").iter().rfind(|message| text(message, "group_id") == group);
        let notes =
            last.and_then(|message| message.get("context")).map_or("", |context| text(context, "notes"));
        json!({"files_modified": files, "implementation_summary": clip(notes, TEXT)})
    }

    fn of_tech_lead(&self, group: &str, outcome: Outcome, content: &Content) -> Content {
        let mut message =
            fields([("subject", self.subject(group, outcome)), ("decision", json!(decision(outcome)))]);
        message.insert("feedback".into(), "".into());
        message.insert("issues".into(), json!([]));
        message.insert("actionable_items".into(), json!([]));
        message.extend(content.iter().filter(|(field, _)| *field != "decision").map(owned));
        message
    }

    /// Takes over what a hand-over says about the group.
    fn take_facts(
        &mut self,
        (role, group): (Role, &str),
        outcome: Outcome,
        content: &Content,
        now: Timestamp,
    ) {
        let entry = self.entry_mut(group);
        entry["handoff"] =
            json!({"from": role, "status": outcome, "at": time::stamp(now), "content": content});
        let of = |field: &str| content.get(field).and_then(Value::as_str).unwrap_or_default();
        match role {
            Role::Developer => {
                for field in ["files_modified", "commits"] {
                    let more = content.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                    unite(entry, field, more, FACTS);
                }
                if !of("branch_name").is_empty() {
                    entry["branch_name"] = of("branch_name").into();
                }
                if let Some(status) = content.get("unit_tests_status") {
                    take_counts(entry, "unit_tests", status);
                }
            }
            Role::QaExpert => {
                let results = content.get("test_results");
                for kind in KINDS_OF_TESTS {
                    if let Some(value) = results.and_then(|results| results.get(kind)) {
                        take_counts(entry, kind, value);
                    }
                }
                match outcome == Outcome::Pass && !of(WITHOUT_RESULTS).is_empty() {
                    true => entry[WITHOUT_RESULTS] = clip(of(WITHOUT_RESULTS), TEXT).into(),
                    false => remove(entry, WITHOUT_RESULTS),
                }
            }
            Role::TechLead => take_review(entry, outcome, content, now),
            Role::Pm => {}
        }
        match outcome {
            Outcome::Blocked => {
                let told = [of("blocker"), of("notes"), of("reason")];
                let what =
                    told.into_iter().find(|text| !text.is_empty()).unwrap_or("blocked, without a reason");
                let blocker = json!({"description": clip(what, TEXT), "resolved": false});
                push(entry, "blockers", blocker, FACTS);
            }
            Outcome::Unblocked => resolve(entry, of("feedback")),
            _ => {}
        }
    }

    /// Says in the messages about a group that whoever they are for has them.
    pub(super) fn mark_read(&mut self, group: &str) {
        for file in [&mut self.dev_to_qa, &mut self.qa_to_techlead, &mut self.techlead_to_dev] {
            let messages = file.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
            for message in messages.filter(|message| text(message, "group_id") == group) {
                if message["read"] == Value::Bool(false) {
                    message["read"] = true.into();
                }
            }
        }
    }
}

fn decision(outcome: Outcome) -> Decision {
    match outcome {
        Outcome::Approved => Decision::Approved,
        Outcome::ChangesRequested => Decision::ChangesRequested,
        _ => Decision::Unblocked,
    }
}

fn take_review(entry: &mut Value, outcome: Outcome, content: &Content, now: Timestamp) {
    let feedback = content.get("feedback").and_then(Value::as_str).unwrap_or_default();
    let iteration = entry.get("iterations").map_or(1, |of| super::number(of, "tech_lead"));
    let said = json!({
        "iteration": iteration, "decision": decision(outcome), "feedback": clip(feedback, TEXT),
        "timestamp": time::stamp(now),
    });
    push(entry, "tech_lead_feedback", said, FACTS);
    if let Some(metrics) = content.get("quality_metrics").and_then(Value::as_object) {
        let kept = object(entry, "quality_metrics");
        metrics.iter().for_each(|(name, value)| kept[name] = value.clone());
    }
    if outcome == Outcome::Approved {
        let rejected = |said: &Value| text(said, "decision") == "changes_requested";
        let first = !list(entry, "tech_lead_feedback").iter().any(rejected);
        object(entry, "quality_metrics")["first_pass_approval"] = first.into();
    }
}

fn take_counts(entry: &mut Value, kind: &str, value: &Value) {
    let Some(Counts { total, passed, failed }) = counts(value) else { return };
    let numbers = json!({"total": total, "passed": passed, "failed": failed});
    if TestCounts::SHAPE.check(&numbers).is_ok() {
        object(entry, "test_results")[kind] = numbers;
    }
}

pub(super) fn resolve(entry: &mut Value, resolution: &str) {
    let blockers = entry.get_mut("blockers").and_then(Value::as_array_mut).into_iter().flatten();
    for blocker in blockers.filter(|blocker| blocker.get("resolved") == Some(&Value::Bool(false))) {
        blocker["resolved"] = true.into();
        blocker["resolution"] = clip(resolution, TEXT).into();
    }
}

/// Returns an id that no message of a file has.
fn free_id(file: &Value, now: Timestamp) -> String {
    let first = format!("msg_{}", time::compact(now));
    let taken = |id: &str| list(file, "messages").iter().any(|message| text(message, "id") == id);
    let mut id = first.clone();
    let mut place = 1;
    while taken(&id) {
        place += 1;
        id = format!("{first}_{place}");
    }
    id
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Content {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn owned((field, value): (&String, &Value)) -> (String, Value) {
    (field.clone(), value.clone())
}

/// Returns the minutes between two times, to one digit.
pub(super) fn minutes(from: &str, to: Timestamp) -> Option<Value> {
    let seconds = to.as_second() - time::read(from)?.as_second();
    Some(number((seconds as f64 / 6.0).round() / 10.0))
}
