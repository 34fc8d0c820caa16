//! The words of the pipeline: roles, what they are needed for, what they say, and the stages of a group.

use crate::model::shape::{Maybe, Shape, Shaped, document, words};

words!(
    /// Who does a piece of work.
    Role {
        Pm = "pm",
        Developer = "developer",
        QaExpert = "qa_expert",
        TechLead = "tech_lead",
    }
);

words!(
    /// What somebody is needed for.
    Purpose {
        Plan = "plan",
        Work = "work",
        Test = "test",
        Review = "review",
        // The developer or the tester cannot go on.
        Unblock = "unblock",
        // The work is not finished, or tests do not give one answer.
        Guide = "guide",
        // Tests have failed too often.
        Help = "help",
        // A developer has begun too often.
        Simplify = "simplify",
        // Reviews were rejected too often.
        Mediate = "mediate",
        FinalCheck = "final_check",
    }
);

impl Purpose {
    pub const ALL: [Purpose; 10] = [
        Purpose::Plan,
        Purpose::Work,
        Purpose::Test,
        Purpose::Review,
        Purpose::Unblock,
        Purpose::Guide,
        Purpose::Help,
        Purpose::Simplify,
        Purpose::Mediate,
        Purpose::FinalCheck,
    ];

    /// Reads the word.
    pub fn read(text: &str) -> Option<Purpose> {
        let Shape::Words(words) = Purpose::SHAPE else { return None };
        Purpose::ALL.into_iter().zip(*words).find(|(_, word)| **word == text).map(|(purpose, _)| purpose)
    }

    /// Who does this.
    pub fn role(self) -> Role {
        match self {
            Purpose::Plan | Purpose::Simplify | Purpose::Mediate | Purpose::FinalCheck => Role::Pm,
            Purpose::Work => Role::Developer,
            Purpose::Test => Role::QaExpert,
            Purpose::Review | Purpose::Unblock | Purpose::Guide | Purpose::Help => Role::TechLead,
        }
    }
}

words!(
    /// What somebody says at the end.
    Outcome {
        ReadyForQa = "READY_FOR_QA",
        ReadyForReview = "READY_FOR_REVIEW",
        Blocked = "BLOCKED",
        Incomplete = "INCOMPLETE",
        Pass = "PASS",
        Fail = "FAIL",
        Flaky = "FLAKY",
        Approved = "APPROVED",
        ChangesRequested = "CHANGES_REQUESTED",
        Unblocked = "UNBLOCKED",
        Continue = "CONTINUE",
        Complete = "COMPLETE",
        Bazinga = "BAZINGA",
    }
);

words!(
    /// The step a task group is at.
    GroupStage {
        Pending = "pending",
        DevWorking = "dev_working",
        DevBlocked = "dev_blocked",
        WaitingQa = "waiting_qa",
        QaTesting = "qa_testing",
        QaFailed = "qa_failed",
        WaitingReview = "waiting_review",
        TechReview = "tech_review",
        ChangesRequested = "changes_requested",
        Complete = "complete",
    }
);

document!(
    DeveloperContext {
        files_modified: Maybe<Vec<String>>,
        implementation_summary: Maybe<String>,
    }
);
