//! Which command line an agent is. The names of coding agents stand for lines that run them without a person, with the
//! prompt on stdin and what they do as lines of JSON; everything else is a line of its own.

/// A coding agent that we know how to call.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    pub name: &'static str,
    /// A line for the shell.
    pub line: &'static str,
}

pub const PROFILES: [Profile; 4] = [
    Profile {
        name: "claude",
        line: "claude -p --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools 'Bash Edit Write'",
    },
    Profile { name: "codex", line: "codex exec --json --sandbox workspace-write -" },
    Profile {
        name: "gemini",
        line: "gemini -o stream-json --approval-mode yolo -p 'Do what the text before this says.'",
    },
    Profile { name: "opencode", line: "opencode run --format json" },
];

/// Returns the agent of this name.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_for_users_has_these_lines() {
        let page = include_str!("../../../../docs/orchestrate.md");
        for Profile { name, line } in &PROFILES {
            assert!(page.contains(&format!("| `{name}`")), "{name}");
            assert!(page.contains(&format!("| `{line}` |")), "docs/orchestrate.md lacks {line}");
            assert_eq!(find(name).map(|found| found.line), Some(*line));
        }
        assert_eq!(find("claude -p"), None);
    }
}
