//! Hand-overs: what one role tells the next, as messages in the seed's form and as facts of the group.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::plan::is_branch;
use super::proof::{Counts, counts, said};
use super::table::{Outcome, Role};
use super::values::{clip, object, push, remove, unite};
use super::{Content, Pipeline, list, text, time, word};
use crate::model::documents::dispatch::{HandedOver, Handoff};
use crate::model::documents::pipeline::{
    Blocker, Decision, DevContext, DevMessage, DevToQa, DeveloperContext, Feedback, Group, Iterations,
    QaMessage, QaTestResults, QualityMetrics, ReviewIssue, ReviewMessage, TaskGroup, TestCounts, TestResults,
};
use crate::model::key::{Fields, FieldsMut, Key};
use crate::model::plan::number;
use crate::model::shape::{Maybe, Shape, Shaped};

/// Why somebody says `PASS` and has no results of tests to show.
pub const WITHOUT_RESULTS: Key<Maybe<String>> = Group::without_results;

/// How many messages a file keeps; the store's history has the rest.
const MESSAGES: usize = 100;
/// How many files, commits, feedbacks and blockers an entry keeps.
const FACTS: usize = 200;
/// How much of a text an entry keeps; the message has all of it.
const TEXT: usize = 2000;

/// The fields of a message that nobody says but we.
const OURS: [Key<Value>; 6] = [
    DevMessage::id.any(),
    DevMessage::group_id.any(),
    DevMessage::from.any(),
    DevMessage::to.any(),
    DevMessage::timestamp.any(),
    DevMessage::read.any(),
];

/// The tests that the documents have a place for.
const KINDS_OF_TESTS: [Key<Maybe<TestCounts>>; 4] = [
    TestResults::unit_tests,
    TestResults::integration_tests,
    TestResults::contract_tests,
    TestResults::e2e_tests,
];

/// Refuses what would not fit the documents.
pub(super) fn check(role: Role, content: &Content) -> Result<(), String> {
    let is = |key: Key<Value>, shape: &Shape| match content.at(key) {
        Some(value) => shape.check(value).map_err(|misfit| format!("`{}`: {misfit}", key.name())),
        None => Ok(()),
    };
    match role {
        Role::Developer => {
            DevContext::SHAPE.check(&content.clone().into()).map_err(|misfit| misfit.to_string())?;
            match content.text(HandedOver::branch_name) {
                Some(branch) if !is_branch(branch) => Err("`branch_name` is no name for a branch".into()),
                _ => Ok(()),
            }
        }
        Role::QaExpert => is(HandedOver::developer_context.any(), DeveloperContext::SHAPE)
            .and_then(|()| is(HandedOver::closed.any(), &Shape::List(&Shape::Text)))
            .and_then(|()| is(HandedOver::subject.any(), &Shape::Text))
            .and_then(|()| is(HandedOver::test_results.any(), &Shape::Map(&Shape::Any)))
            .and_then(|()| is(WITHOUT_RESULTS.any(), &Shape::Text)),
        Role::TechLead => is(HandedOver::feedback.any(), &Shape::Text)
            .and_then(|()| is(HandedOver::closed.any(), &Shape::List(&Shape::Text)))
            .and_then(|()| is(HandedOver::subject.any(), &Shape::Text))
            .and_then(|()| is(HandedOver::issues.any(), &Shape::List(ReviewIssue::SHAPE)))
            .and_then(|()| is(HandedOver::actionable_items.any(), &Shape::List(&Shape::Text)))
            .and_then(|()| is(HandedOver::quality_metrics.any(), QualityMetrics::SHAPE)),
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
            DevMessage::id: free_id(file, now), DevMessage::group_id: group, DevMessage::from: from,
            DevMessage::to: to, DevMessage::timestamp: time::stamp(now),
        });
        for (field, value) in message {
            if !OURS.iter().any(|ours| ours.name() == field) {
                sent[field] = value;
            }
        }
        sent.set(ReviewMessage::read, false);
        push(file, DevToQa::messages, sent, MESSAGES);
    }

    fn subject(&self, group: &str, outcome: Outcome) -> Value {
        let name = self.task_group(group).map_or(group, |known| text(known, TaskGroup::name));
        format!("{}: {}", clip(if name.is_empty() { group } else { name }, 200), word(outcome)).into()
    }

    fn of_developer(&self, group: &str, outcome: Outcome, content: &Content) -> Content {
        let mut context = content.clone();
        if !context.has(HandedOver::branch_name) {
            let branch = self.task_group(group).map_or("", |known| text(known, TaskGroup::branch_name));
            context.set(HandedOver::branch_name, branch);
        }
        fields([
            (DevMessage::subject.any(), self.subject(group, outcome)),
            (DevMessage::status.any(), json!(outcome)),
            (DevMessage::context.any(), context.into()),
        ])
    }

    fn of_tester(&self, group: &str, outcome: Outcome, content: &Content) -> Content {
        let mut message = fields([
            (QaMessage::subject.any(), self.subject(group, outcome)),
            (DevMessage::status.any(), json!(outcome)),
        ]);
        match outcome {
            Outcome::Pass | Outcome::Fail => message.insert(QaMessage::result.into(), json!(outcome)),
            _ => None,
        };
        message.extend(content.iter().filter(|(field, _)| *field != QaMessage::result.name()).map(owned));
        let results = content.read(HandedOver::test_results).cloned().unwrap_or_default();
        let shape = QaTestResults::SHAPE;
        let word = |(kind, value): (String, Value)| {
            let fits = shape.check(&Map::from_iter([(kind.clone(), value.clone())]).into()).is_ok();
            (kind, if fits { value } else { said(&value).into() })
        };
        message.set(QaMessage::test_results, Value::Object(results.into_iter().map(word).collect()));
        if !content.has(HandedOver::developer_context) {
            message.set(QaMessage::developer_context, self.developer_context(group));
        }
        message
    }

    /// Returns what the developer of a group said last.
    fn developer_context(&self, group: &str) -> Value {
        let files = self.entry(group).map_or(&[][..], |entry| list(entry, Group::files_modified));
        let last = list(&self.dev_to_qa, DevToQa::messages)
            .iter()
            .rfind(|message| text(message, QaMessage::group_id) == group);
        let notes = last.at(DevMessage::context).map_or("", |context| text(context, DevContext::notes));
        json!({
            DeveloperContext::files_modified: files,
            DeveloperContext::implementation_summary: clip(notes, TEXT),
        })
    }

    fn of_tech_lead(&self, group: &str, outcome: Outcome, content: &Content) -> Content {
        let mut message = fields([
            (ReviewMessage::subject.any(), self.subject(group, outcome)),
            (ReviewMessage::decision.any(), json!(decision(outcome))),
        ]);
        message.set(ReviewMessage::feedback, "");
        message.set(ReviewMessage::issues, json!([]));
        message.set(ReviewMessage::actionable_items, json!([]));
        message
            .extend(content.iter().filter(|(field, _)| *field != ReviewMessage::decision.name()).map(owned));
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
        entry[Group::handoff] = json!({
            Handoff::from: role, Handoff::status: outcome, Handoff::at: time::stamp(now),
            Handoff::content: content,
        });
        let of = |key: Key<Maybe<String>>| content.text(key).unwrap_or_default();
        match role {
            Role::Developer => {
                unite(entry, Group::files_modified, content.list(HandedOver::files_modified), FACTS);
                unite(entry, Group::commits, content.list(HandedOver::commits), FACTS);
                if !of(HandedOver::branch_name).is_empty() {
                    entry.set(Group::branch_name, of(HandedOver::branch_name));
                }
                if let Some(status) = content.at(HandedOver::unit_tests_status) {
                    take_counts(entry, TestResults::unit_tests, status);
                }
            }
            Role::QaExpert => {
                let results = content.at(HandedOver::test_results);
                for kind in KINDS_OF_TESTS {
                    if let Some(value) = results.at(kind) {
                        take_counts(entry, kind, value);
                    }
                }
                match outcome == Outcome::Pass && !of(WITHOUT_RESULTS).is_empty() {
                    true => entry.set(WITHOUT_RESULTS, clip(of(WITHOUT_RESULTS), TEXT)),
                    false => remove(entry, WITHOUT_RESULTS),
                }
            }
            Role::TechLead => take_review(entry, outcome, content, now),
            Role::Pm => {}
        }
        match outcome {
            Outcome::Blocked => {
                let told = [of(HandedOver::blocker), of(HandedOver::notes), of(HandedOver::reason)];
                let what =
                    told.into_iter().find(|text| !text.is_empty()).unwrap_or("blocked, without a reason");
                let blocker = json!({Blocker::description: clip(what, TEXT), Blocker::resolved: false});
                push(entry, Group::blockers, blocker, FACTS);
            }
            Outcome::Unblocked => resolve(entry, of(HandedOver::feedback)),
            _ => {}
        }
    }

    /// Says in the messages about a group that whoever they are for has them.
    pub(super) fn mark_read(&mut self, group: &str) {
        for file in [&mut self.dev_to_qa, &mut self.qa_to_techlead, &mut self.techlead_to_dev] {
            let messages = file.list_mut(DevToQa::messages).into_iter().flatten();
            for message in messages.filter(|message| text(message, QaMessage::group_id) == group) {
                if message[QaMessage::read] == Value::Bool(false) {
                    message.set(QaMessage::read, true);
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
    let feedback = content.text(HandedOver::feedback).unwrap_or_default();
    let iteration = entry.at(Group::iterations).map_or(1, |of| super::number(of, Iterations::tech_lead));
    let said = json!({
        Feedback::iteration: iteration, Feedback::decision: decision(outcome),
        Feedback::feedback: clip(feedback, TEXT),
        Feedback::timestamp: time::stamp(now),
    });
    push(entry, Group::tech_lead_feedback, said, FACTS);
    if let Some(metrics) = content.read(HandedOver::quality_metrics) {
        let kept = object(entry, Group::quality_metrics);
        metrics.iter().for_each(|(name, value)| kept[name] = value.clone());
    }
    if outcome == Outcome::Approved {
        let rejected = |said: &Value| text(said, ReviewMessage::decision) == "changes_requested";
        let first = !list(entry, Group::tech_lead_feedback).iter().any(rejected);
        object(entry, Group::quality_metrics)[QualityMetrics::first_pass_approval] = first.into();
    }
}

fn take_counts(entry: &mut Value, kind: Key<Maybe<TestCounts>>, value: &Value) {
    let Some(Counts { total, passed, failed }) = counts(value) else { return };
    let numbers = json!({TestCounts::total: total, TestCounts::passed: passed, TestCounts::failed: failed});
    if TestCounts::SHAPE.check(&numbers).is_ok() {
        object(entry, Group::test_results)[kind] = numbers;
    }
}

pub(super) fn resolve(entry: &mut Value, resolution: &str) {
    let blockers = entry.list_mut(Group::blockers).into_iter().flatten();
    for blocker in blockers.filter(|blocker| blocker.at(Blocker::resolved) == Some(&Value::Bool(false))) {
        blocker.set(Blocker::resolved, true);
        blocker.set(Blocker::resolution, clip(resolution, TEXT));
    }
}

/// Returns an id that no message of a file has.
fn free_id(file: &Value, now: Timestamp) -> String {
    let first = format!("msg_{}", time::compact(now));
    let taken =
        |id: &str| list(file, DevToQa::messages).iter().any(|message| text(message, QaMessage::id) == id);
    let mut id = first.clone();
    let mut place = 1;
    while taken(&id) {
        place += 1;
        id = format!("{first}_{place}");
    }
    id
}

fn fields<const N: usize>(fields: [(Key<Value>, Value); N]) -> Content {
    fields.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

fn owned((field, value): (&String, &Value)) -> (String, Value) {
    (field.clone(), value.clone())
}

/// Returns the minutes between two times, to one digit.
pub(super) fn minutes(from: &str, to: Timestamp) -> Option<Value> {
    let seconds = to.as_second() - time::read(from)?.as_second();
    Some(number((seconds as f64 / 6.0).round() / 10.0))
}
