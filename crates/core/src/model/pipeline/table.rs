//! Who may report what, and what follows: the one table of the pipeline.
//!
//! A row says what becomes of a group, and for what purpose somebody is needed next. What a limit makes of that is in
//! `report.rs`.

pub use crate::model::documents::pipeline_words::{GroupStage, Outcome, Purpose, Role};
use crate::model::plan::word;
use crate::model::shape::{Shape, Shaped};

/// What a report does to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub outcome: Outcome,
    /// What the reporter was needed for.
    pub of: &'static [Purpose],
    /// The group's new status; `None` where a report is about no group.
    pub status: Option<GroupStage>,
    /// What somebody is needed for next; `None` at an end.
    pub next: Option<Purpose>,
}

const HELPING: &[Purpose] = &[Purpose::Unblock, Purpose::Guide, Purpose::Help];
const MEDIATING: &[Purpose] = &[Purpose::Simplify, Purpose::Mediate];

use GroupStage as To;

#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    row(Outcome::ReadyForQa,       &[Purpose::Work],       Some(To::WaitingQa),        Some(Purpose::Test)),
    row(Outcome::ReadyForReview,   &[Purpose::Work],       Some(To::WaitingReview),    Some(Purpose::Review)),
    row(Outcome::Blocked,          &[Purpose::Work],       Some(To::DevBlocked),       Some(Purpose::Unblock)),
    row(Outcome::Incomplete,       &[Purpose::Work],       Some(To::DevWorking),       Some(Purpose::Guide)),
    row(Outcome::Pass,             &[Purpose::Test],       Some(To::WaitingReview),    Some(Purpose::Review)),
    row(Outcome::Fail,             &[Purpose::Test],       Some(To::QaFailed),         Some(Purpose::Work)),
    row(Outcome::Blocked,          &[Purpose::Test],       Some(To::DevBlocked),       Some(Purpose::Unblock)),
    row(Outcome::Flaky,            &[Purpose::Test],       Some(To::QaFailed),         Some(Purpose::Guide)),
    row(Outcome::Approved,         &[Purpose::Review],     Some(To::Complete),         None),
    row(Outcome::ChangesRequested, &[Purpose::Review],     Some(To::ChangesRequested), Some(Purpose::Work)),
    row(Outcome::Unblocked,        HELPING,                Some(To::DevWorking),       Some(Purpose::Work)),
    row(Outcome::Continue,         MEDIATING,              Some(To::DevWorking),       Some(Purpose::Work)),
    row(Outcome::Continue,         &[Purpose::FinalCheck], None,                       Some(Purpose::Plan)),
    row(Outcome::Complete,         &[Purpose::FinalCheck], None,                       None),
    row(Outcome::Bazinga,          &[Purpose::FinalCheck], None,                       None),
];

const fn row(
    outcome: Outcome,
    of: &'static [Purpose],
    status: Option<GroupStage>,
    next: Option<Purpose>,
) -> Row {
    Row { outcome, of, status, next }
}

/// Returns what follows when this comes out of what somebody was needed for.
pub fn find(purpose: Purpose, outcome: Outcome) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.outcome == outcome && row.of.contains(&purpose))
}

/// Returns what may come out of this. A plan ends with `pipeline plan` and no report.
pub fn allowed(purpose: Purpose) -> Vec<Outcome> {
    TABLE.iter().filter(|row| row.of.contains(&purpose)).map(|row| row.outcome).collect()
}

/// Returns what a role may ever report.
pub fn words_of(role: Role) -> Vec<String> {
    let rows = TABLE.iter().filter(|row| row.of.iter().any(|purpose| purpose.role() == role));
    let mut words: Vec<String> = Vec::new();
    for word in rows.map(|row| word(row.outcome)) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Reads what a role reports; an error lists what it may.
pub fn outcome(role: Role, text: &str) -> Result<Outcome, Vec<String>> {
    let known = TABLE.iter().filter(|row| row.of.iter().any(|purpose| purpose.role() == role));
    known.map(|row| row.outcome).find(|outcome| word(outcome) == text).ok_or_else(|| words_of(role))
}

/// All statuses of a group, in the order of their words.
const STAGES: [GroupStage; 10] = [
    GroupStage::Pending,
    GroupStage::DevWorking,
    GroupStage::DevBlocked,
    GroupStage::WaitingQa,
    GroupStage::QaTesting,
    GroupStage::QaFailed,
    GroupStage::WaitingReview,
    GroupStage::TechReview,
    GroupStage::ChangesRequested,
    GroupStage::Complete,
];

/// Reads the status of a group. It is asked for very often.
pub fn stage(text: &str) -> Option<GroupStage> {
    let Shape::Words(words) = GroupStage::SHAPE else { return None };
    STAGES.into_iter().zip(*words).find(|(_, word)| **word == text).map(|(stage, _)| stage)
}

/// Returns what a group needs next that stands like this, where nobody has written it down.
pub fn usual(status: GroupStage) -> Option<Purpose> {
    match status {
        GroupStage::Pending | GroupStage::DevWorking | GroupStage::QaFailed => Some(Purpose::Work),
        GroupStage::ChangesRequested => Some(Purpose::Work),
        GroupStage::DevBlocked => Some(Purpose::Unblock),
        GroupStage::WaitingQa | GroupStage::QaTesting => Some(Purpose::Test),
        GroupStage::WaitingReview | GroupStage::TechReview => Some(Purpose::Review),
        GroupStage::Complete => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<T: Shaped>() -> Vec<T> {
        let Shape::Words(words) = T::SHAPE else { panic!("words") };
        words.iter().map(|word| serde_json::from_value((*word).into()).unwrap()).collect()
    }

    /// One line for each purpose and outcome: what follows, or nothing for a refusal.
    #[test]
    fn every_purpose_and_outcome_has_a_row_or_is_refused() {
        let mut lines = Vec::new();
        for purpose in all::<Purpose>() {
            for outcome in all::<Outcome>() {
                let Some(row) = find(purpose, outcome) else { continue };
                let to = row.status.map_or("-".into(), word);
                let next =
                    row.next.map_or("-".into(), |next| format!("{} {}", word(next.role()), word(next)));
                lines.push(format!(
                    "{} {} {} -> {to} -> {next}",
                    word(purpose.role()),
                    word(purpose),
                    word(outcome)
                ));
            }
        }
        let expected = [
            "developer work READY_FOR_QA -> waiting_qa -> qa_expert test",
            "developer work READY_FOR_REVIEW -> waiting_review -> tech_lead review",
            "developer work BLOCKED -> dev_blocked -> tech_lead unblock",
            "developer work INCOMPLETE -> dev_working -> tech_lead guide",
            "qa_expert test BLOCKED -> dev_blocked -> tech_lead unblock",
            "qa_expert test PASS -> waiting_review -> tech_lead review",
            "qa_expert test FAIL -> qa_failed -> developer work",
            "qa_expert test FLAKY -> qa_failed -> tech_lead guide",
            "tech_lead review APPROVED -> complete -> -",
            "tech_lead review CHANGES_REQUESTED -> changes_requested -> developer work",
            "tech_lead unblock UNBLOCKED -> dev_working -> developer work",
            "tech_lead guide UNBLOCKED -> dev_working -> developer work",
            "tech_lead help UNBLOCKED -> dev_working -> developer work",
            "pm simplify CONTINUE -> dev_working -> developer work",
            "pm mediate CONTINUE -> dev_working -> developer work",
            "pm final_check CONTINUE -> - -> pm plan",
            "pm final_check COMPLETE -> - -> -",
            "pm final_check BAZINGA -> - -> -",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn the_page_for_users_has_this_table() {
        let page = include_str!("../../../../../docs/pipeline.md");
        let line = |row: &Row| {
            let of: Vec<String> = row.of.iter().map(word).collect();
            let to = row.status.map_or("-".into(), word);
            let next = row.next.map_or("-".into(), |next| format!("{} to {}", word(next.role()), word(next)));
            let (role, of) = (word(row.of[0].role()), of.join(", "));
            format!("| {role} | {of} | {} | {to} | {next} |", word(row.outcome))
        };
        TABLE
            .iter()
            .map(line)
            .for_each(|line| assert!(page.contains(&line), "docs/pipeline.md lacks {line}"));
    }

    #[test]
    fn a_word_is_known_to_its_roles_only() {
        let of = |role| words_of(role).join(" ");
        assert_eq!(of(Role::Pm), "CONTINUE COMPLETE BAZINGA");
        assert_eq!(of(Role::Developer), "READY_FOR_QA READY_FOR_REVIEW BLOCKED INCOMPLETE");
        assert_eq!(of(Role::QaExpert), "PASS FAIL BLOCKED FLAKY");
        assert_eq!(of(Role::TechLead), "APPROVED CHANGES_REQUESTED UNBLOCKED");
        for role in all::<Role>() {
            for one in all::<Outcome>() {
                assert_eq!(outcome(role, &word(one)).is_ok(), words_of(role).contains(&word(one)));
            }
            for wrong in ["", "pass", "DONE", "PASS "] {
                assert_eq!(outcome(role, wrong), Err(words_of(role)));
            }
        }
    }

    #[test]
    fn every_status_has_a_way_on_and_every_purpose_a_way_out() {
        for status in all::<GroupStage>() {
            assert_eq!(usual(status).is_none(), status == GroupStage::Complete, "{status:?}");
        }
        for purpose in Purpose::ALL {
            assert_eq!(allowed(purpose).is_empty(), purpose == Purpose::Plan, "{purpose:?}");
        }
        assert_eq!((all::<Purpose>(), all::<GroupStage>()), (Purpose::ALL.to_vec(), STAGES.to_vec()));
        Purpose::ALL.iter().for_each(|purpose| assert_eq!(Purpose::read(&word(purpose)), Some(*purpose)));
        STAGES.iter().for_each(|status| assert_eq!(stage(&word(status)), Some(*status)));
        let reached: Vec<_> = TABLE.iter().filter_map(|row| row.next).collect();
        // The others come from limits, and from all groups being complete.
        for purpose in [Purpose::Work, Purpose::Test, Purpose::Review, Purpose::Unblock, Purpose::Guide] {
            assert!(reached.contains(&purpose), "{purpose:?}");
        }
    }
}
