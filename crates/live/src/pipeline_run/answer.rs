//! What an agent's end means for its order. Pure: words in, an answer or a failure out.

use anthill_core::model::error_class::ErrorClass;
use anthill_core::model::outcome::last_object;
use anthill_core::model::pipeline::table::{self, Outcome, Purpose, Role};
use anthill_core::model::pipeline::{Content, Order};
use anthill_core::model::plan::word;
use anthill_core::ops::orchestrate::Answer;
use anthill_core::ops::pipeline::Report;
use serde_json::{Value, json};

use crate::runner::supervisor::Finished;
use crate::runner::trouble::{Trouble, with_details};

/// Returns what the agent answered, or why it did not.
pub fn read(order: &Order, finished: &Finished) -> Result<Answer, Trouble> {
    if let Some(trouble) = Trouble::of(finished) {
        return Err(trouble);
    }
    found(order, finished).ok_or_else(|| {
        let what = "it ended well, but its last words are no answer, also when it was asked again";
        Trouble::new(ErrorClass::Unknown, with_details(what, finished))
    })
}

/// Whether an agent has ended well and said nothing that answers its order.
pub fn is_unclear(order: &Order, finished: &Finished) -> bool {
    finished.cut.is_none() && Trouble::of(finished).is_none() && found(order, finished).is_none()
}

fn found(order: &Order, finished: &Finished) -> Option<Answer> {
    match order.purpose {
        Purpose::Plan => plan(finished).map(Answer::Plan),
        _ => report(order, finished).map(Answer::Report),
    }
}

fn plan(finished: &Finished) -> Option<Value> {
    let is_plan = |object: &Content| object.contains_key("task_groups") || object.contains_key("all_tasks");
    let inner = |object: &Content| object.get("plan").and_then(Value::as_object).is_some_and(is_plan);
    let mut found = last_object(finished.transcript.words(), |object| is_plan(object) || inner(object))?;
    Some(if is_plan(&found) { found.into() } else { found.shift_remove("plan")? })
}

fn report(order: &Order, finished: &Finished) -> Option<Report> {
    let allowed = table::allowed(order.purpose);
    let outcome = |object: &Content| {
        let said = object.get("status")?.as_str()?.trim().to_uppercase().replace([' ', '-'], "_");
        allowed.iter().copied().find(|outcome| word(outcome) == said)
    };
    let mut content = last_object(finished.transcript.words(), |object| outcome(object).is_some())?;
    let said = outcome(&content)?;
    content.shift_remove("status");
    tidy(order.role, &mut content);
    Some(made(order, said, content))
}

/// Gives fields that every agent knows the names that their role's hand-over has.
fn tidy(role: Role, content: &mut Content) {
    let name = if matches!(role, Role::Developer | Role::QaExpert) { "notes" } else { "feedback" };
    if !content.contains_key(name)
        && let Some(summary) = content.shift_remove("summary")
    {
        content.insert(name.into(), summary);
    }
    if role == Role::Developer
        && let Some(Value::Array(created)) = content.shift_remove("files_created")
    {
        let modified = content.entry("files_modified").or_insert_with(|| json!([]));
        if let Some(modified) = modified.as_array_mut() {
            modified.extend(created);
        }
    }
}

/// Returns the report for an agent that did not answer: the work is not done. There is none for reviews, for help and for the project
/// manager.
pub fn instead(order: &Order, trouble: &Trouble) -> Option<Answer> {
    let reason = format!("the agent did not answer: {}", trouble.reason);
    let said = match order.purpose {
        _ if trouble.cannot_run => return None,
        Purpose::Work if trouble.class == ErrorClass::Timeout => Outcome::Incomplete,
        Purpose::Work | Purpose::Test => Outcome::Blocked,
        _ => return None,
    };
    let content = Content::from_iter([("notes".to_owned(), reason.into())]);
    Some(Answer::Report(made(order, said, content)))
}

/// Returns the answer to a final check whose command failed.
pub fn unchecked(order: &Order, feedback: &str) -> Report {
    made(order, Outcome::Continue, Content::from_iter([("feedback".to_owned(), feedback.into())]))
}

pub(super) fn made(order: &Order, said: Outcome, content: Content) -> Report {
    let (role, group, id) = (order.role, order.group.clone(), order.id.clone());
    Report { role, group, status: word(said), content, order: Some(id) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::runner::supervisor::Cut;

    fn order(purpose: Purpose) -> Order {
        Order { id: "v4_1-1".into(), role: purpose.role(), group: "A".into(), purpose }
    }

    fn finished(raw: i32, stdout: &str, stderr: &str) -> Finished {
        Finished::made(raw, None, stdout, stderr)
    }

    #[track_caller]
    fn check(purpose: Purpose, stdout: &str, expected: &str) {
        let shown = match read(&order(purpose), &finished(0, stdout, "")) {
            Ok(Answer::Plan(plan)) => format!("plan {plan}"),
            Ok(Answer::Report(report)) => format!("{} {}", report.status, Value::Object(report.content)),
            Err(trouble) => format!("{}: {}", word(trouble.class), trouble.reason),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn answers_are_read() {
        check(Purpose::Test, r#"{"status": "PASS", "x": 1}"#, r#"PASS {"x":1}"#);
        check(
            Purpose::Review,
            r#"{"status": "changes requested", "summary": "s"}"#,
            r#"CHANGES_REQUESTED {"feedback":"s"}"#,
        );
        check(
            Purpose::Work,
            r#"{"status": "READY_FOR_QA", "summary": "s", "files_modified": ["a"], "files_created": ["b"]}"#,
            r#"READY_FOR_QA {"files_modified":["a","b"],"notes":"s"}"#,
        );
        check(Purpose::Plan, r#"{"plan": {"task_groups": [1]}}"#, r#"plan {"task_groups":[1]}"#);
        check(Purpose::Plan, r#"{"all_tasks": []}"#, r#"plan {"all_tasks":[]}"#);
        let none = "unknown: it ended well, but its last words are no answer, also when it was asked again";
        check(Purpose::Test, r#"{"status": "APPROVED"}"#, &format!("{none}\n{{\"status\": \"APPROVED\"}}"));
        check(Purpose::Plan, "", none);
    }

    #[test]
    fn failures_have_a_class_and_an_honest_word() {
        let trouble = |finished: &Finished| read(&order(Purpose::Work), finished).unwrap_err();
        let refused = trouble(&finished(1 << 8, "", "connect ECONNREFUSED"));
        assert_eq!(
            (refused.class, &*refused.reason),
            (ErrorClass::Network, "exit code 1\nconnect ECONNREFUSED")
        );
        assert_eq!(refused.again_in(0, None), Some(Duration::ZERO));
        assert_eq!(refused.again_in(1, None), Some(Duration::from_secs(2)));
        assert_eq!((refused.again_in(3, None), refused.again_in(0, Some(0))), (None, None));
        let missing = trouble(&finished(127 << 8, "", "sh: claude: not found"));
        assert_eq!(
            (missing.again_in(0, Some(9)), instead(&order(Purpose::Work), &missing).is_none()),
            (None, true)
        );
        let late = Duration::from_secs(1);
        let hung = trouble(&Finished { cut: Some(Cut::TimedOut(late)), ..finished(15, "", "") });
        assert_eq!((hung.class, &*hung.reason), (ErrorClass::Timeout, "timed out after 1 s"));
        let silent = trouble(&Finished { cut: Some(Cut::Stalled(late)), ..finished(15, "", "") });
        assert_eq!((silent.class, &*silent.reason), (ErrorClass::Timeout, "no sign of life for 1 s"));
        for (purpose, trouble, word) in [
            (Purpose::Work, &hung, Some("INCOMPLETE")),
            (Purpose::Work, &refused, Some("BLOCKED")),
            (Purpose::Test, &hung, Some("BLOCKED")),
            (Purpose::Review, &hung, None),
            (Purpose::FinalCheck, &hung, None),
        ] {
            let said = instead(&order(purpose), trouble).map(|answer| match answer {
                Answer::Report(report) => report.status,
                Answer::Plan(_) => unreachable!("nobody plans for others"),
            });
            assert_eq!(said.as_deref(), word, "{purpose:?}");
        }
    }
}
