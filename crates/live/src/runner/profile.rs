//! Which command line an agent is. The names of coding agents stand for lines that run them without a person, with the
//! prompt on stdin and what they do as lines of JSON; everything else is a line of its own.

use anthill_core::model::service::Ailment;

/// The environment variable that names the conversation to go on with.
pub(crate) const CONVERSATION: &str = "ANTHILL_CONVERSATION";

/// A coding agent that we know how to call.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    pub name: &'static str,
    /// A line for the shell.
    pub line: &'static str,
    /// The line that goes on with the conversation `$ANTHILL_CONVERSATION`.
    pub resume: &'static str,
    pub wants: Wants,
    /// What a person does to log in.
    pub login: &'static str,
    /// What a person does about a directory in which it does not work.
    pub place: &'static str,
    /// What its exit codes say, whatever its words.
    pub codes: &'static [(i32, Ailment)],
}

/// What a client wants of the place in which it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    Nothing,
    /// A git repository.
    Repository,
    /// A folder that a person has trusted.
    Trust,
}

/// Codex lets its commands write below the working directory only, without `.git`. Its agents also commit, in worktrees
/// too, and report to anthill, whose state is in the project's root and in the home root.
macro_rules! codex {
    ($rest:literal) => {
        concat!(
            "codex exec --json --sandbox workspace-write --add-dir \"$ANTHILL_ROOT\"",
            " --add-dir \"$ANTHILL_HOME/orchestration\" --add-dir \"$ANTHILL_HOME/sessions\"",
            " --add-dir \"$(git rev-parse --absolute-git-dir)\" --add-dir \"$(git rev-parse --git-common-dir)\" ",
            $rest
        )
    };
}

pub const PROFILES: [Profile; 4] = [
    Profile {
        name: "claude",
        line: "claude -p --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools 'Bash Edit Write'",
        resume: "claude -p --resume \"$ANTHILL_CONVERSATION\" --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools 'Bash Edit Write'",
        wants: Wants::Nothing,
        login: "run `claude` and type /login",
        place: "run `claude` here once and trust the folder",
        codes: &[],
    },
    Profile {
        name: "codex",
        line: codex!("-"),
        resume: codex!("resume \"$ANTHILL_CONVERSATION\" -"),
        wants: Wants::Repository,
        login: "run `codex login`",
        place: "run `git init`, or work inside a repository",
        codes: &[],
    },
    Profile {
        name: "gemini",
        line: "gemini -o stream-json --approval-mode yolo -p 'Do what the text before this says.'",
        resume: "gemini --resume \"$ANTHILL_CONVERSATION\" -o stream-json --approval-mode yolo -p 'Do what the text before this says.'",
        wants: Wants::Trust,
        login: "run `gemini` and choose how to log in, or set GEMINI_API_KEY",
        place: "run `gemini` here once and trust the folder, or set GEMINI_CLI_TRUST_WORKSPACE=true",
        codes: &[(41, Ailment::Login), (55, Ailment::Place)],
    },
    Profile {
        name: "opencode",
        line: "opencode run --format json",
        resume: "opencode run --session \"$ANTHILL_CONVERSATION\" --format json",
        wants: Wants::Nothing,
        login: "run `opencode auth login`",
        place: "run `opencode` here once",
        codes: &[],
    },
];

/// Returns the agent of this name.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name.trim())
}

/// An agent, as somebody named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// A line for the shell.
    pub line: String,
    /// What we know about it, if it is one of ours.
    pub profile: Option<&'static Profile>,
}

impl Agent {
    pub fn named(name: &str) -> Agent {
        let profile = find(name);
        Agent { line: profile.map_or(name, |profile| profile.line).to_owned(), profile }
    }

    /// Returns what an exit code of its client says about the service.
    pub fn ailment(&self, code: Option<i32>) -> Option<Ailment> {
        let codes = self.profile.map_or(&[][..], |profile| profile.codes);
        codes.iter().find(|(known, _)| Some(*known) == code).map(|(_, ailment)| *ailment)
    }

    /// Returns what a person can do about something that does not pass by itself.
    pub fn cure(&self, ailment: Ailment) -> String {
        let own = match (self.profile, ailment) {
            (Some(profile), Ailment::Login) => profile.login,
            (Some(profile), Ailment::Place) => profile.place,
            (None, Ailment::Login) => "log the agent's client in",
            (None, Ailment::Place) => "let the agent's client work in this directory",
            (_, Ailment::Credit) => "add credit to the account that the agent uses, or name another agent",
            (_, Ailment::Limit | Ailment::Overload | Ailment::Network) => "wait",
        };
        format!("{own}; then run this again")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_for_users_has_these_lines() {
        let page = include_str!("../../../../docs/orchestrate.md");
        for Profile { name, line, resume, .. } in &PROFILES {
            assert!(page.contains(&format!("| `{name}`")), "{name}");
            assert!(page.contains(&format!("| `{line}` |")), "docs/orchestrate.md lacks {line}");
            assert!(resume.contains(&format!("\"${CONVERSATION}\"")), "{resume}");
            assert_eq!(find(name).map(|found| found.line), Some(*line));
        }
        assert_eq!(find("claude -p"), None);
    }
}
