//! The texts that `init` writes, and where each belongs.

use anthill_core::model::install::Section;

pub const PROTOCOL: &str = include_str!("texts/protocol.md");
const TEAM_PROTOCOL: &str = include_str!("texts/skills/team-protocol.md");

/// Agents: file name and text.
pub const AGENTS: [(&str, &str); 5] = [
    ("anthill-pm.md", include_str!("texts/agents/pm.md")),
    ("anthill-developer.md", include_str!("texts/agents/developer.md")),
    ("anthill-qa-expert.md", include_str!("texts/agents/qa-expert.md")),
    ("anthill-tech-lead.md", include_str!("texts/agents/tech-lead.md")),
    ("anthill-worker.md", include_str!("texts/agents/worker.md")),
];

/// Skills, which are also commands: name and text.
pub const SKILLS: [(&str, &str); 5] = [
    ("orchestrate", include_str!("texts/skills/orchestrate.md")),
    ("work-loop", include_str!("texts/skills/work-loop.md")),
    ("leader", include_str!("texts/skills/leader.md")),
    ("worker", include_str!("texts/skills/worker.md")),
    ("team-status", include_str!("texts/skills/team-status.md")),
];

/// Skills of earlier versions. A client has a `/loop` of its own, which ours hid.
pub const FORMER_SKILLS: [&str; 1] = ["loop"];

/// What git is told to ignore, and what it is told to keep.
const IGNORED: [&str; 11] = [
    ".claude/state/",
    "!.claude/settings.json",
    "!.claude/anthill.toml",
    "!.claude/CLAUDE.md",
    "!.claude/agents/",
    "!.claude/skills/",
    "!.claude/hooks/",
    ".coordination/logs/",
    "coordination/logs/",
    ".coordination/.anthill/",
    "coordination/.anthill/",
];

/// The protocol for a file of instructions.
pub fn protocol() -> Section {
    Section {
        begin: "<!-- anthill:begin -->",
        end: "<!-- anthill:end -->",
        lines: PROTOCOL.lines().map(str::to_owned).collect(),
        only_missing: false,
    }
}

pub fn ignored() -> Section {
    Section {
        begin: "# anthill:begin",
        end: "# anthill:end",
        lines: IGNORED.iter().map(|line| (*line).to_owned()).collect(),
        only_missing: true,
    }
}

/// The protocol as a skill, for a plugin, which has no file of instructions.
pub fn protocol_skill() -> String {
    format!("{TEAM_PROTOCOL}{PROTOCOL}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_is_short() {
        assert!(PROTOCOL.lines().count() <= 58, "with its marks at most 60 lines");
    }

    #[test]
    fn every_text_has_a_name_and_a_description_that_yaml_can_read() {
        for text in AGENTS.iter().chain(&SKILLS).map(|(_, text)| *text).chain([TEAM_PROTOCOL]) {
            let head = text.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n")).unwrap().0;
            assert!(head.starts_with("name: "), "{head}");
            let about = head.lines().find_map(|line| line.strip_prefix("description: ")).unwrap();
            assert!(about.starts_with('"') || !about.contains(": "), "{about}");
        }
    }
}
