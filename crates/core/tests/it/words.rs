//! What to do next is a step (`model/next.rs`), and only a door has words for it: commands and flags in texts are found here.

use std::path::PathBuf;

use crate::fields::{places, sources};

/// Where command lines of others are read, and why.
const OTHERS: &[(&str, &str)] = &[
    ("api/documents.rs", "what picks a document, as the list of kinds tells it"),
    ("model/clients/claude.rs", "how the client is called"),
    ("model/clients/codex.rs", "how the client is called"),
    ("model/clients/gemini.rs", "how the client is called"),
    ("model/clients/opencode.rs", "how the client is called"),
    ("model/redact/rules.rs", "command lines that hold secrets"),
];

/// What may follow our name in a sentence.
const SENTENCES: [&str; 2] = ["and ", "writes "];

#[test]
fn only_doors_name_commands_and_flags() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut spared) = (Vec::new(), Vec::new());
    for path in sources(&root) {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        let places = places(&path, &name, |line| has_command(line) || has_flag(line));
        match OTHERS.iter().find(|(spared, _)| name == *spared) {
            Some((place, _)) if !places.is_empty() => spared.push(*place),
            _ => found.extend(places),
        }
    }
    assert!(found.is_empty(), "use a step of model/next.rs:\n{}", found.join("\n"));
    assert_eq!(
        spared,
        OTHERS.iter().map(|(place, _)| *place).collect::<Vec<_>>(),
        "others need not be spared any more"
    );
}

/// Whether a line names one of our commands: `anthill leader status`.
fn has_command(line: &str) -> bool {
    let mut named = line.match_indices("anthill ").map(|(at, name)| &line[at + name.len()..]);
    named.any(|after| {
        let is_word = after.starts_with(|sign: char| sign.is_ascii_lowercase() || sign == '-');
        is_word && !SENTENCES.iter().any(|words| after.starts_with(words))
    })
}

/// Whether a line names a flag: `--force`.
fn has_flag(line: &str) -> bool {
    line.match_indices("--").any(|(at, dashes)| {
        let before = line[..at].chars().next_back();
        let after = line[at + dashes.len()..].chars().next();
        before.is_none_or(|sign| !sign.is_alphanumeric() && sign != '-')
            && after.is_some_and(|sign| sign.is_ascii_lowercase())
    })
}

#[test]
fn commands_and_flags_are_seen() {
    assert!(has_command("\"see it: anthill leader status\""));
    assert!(has_command("`anthill --root x`"));
    assert!(!has_command("[anthill {mark}] kept by anthill and others"));
    assert!(has_flag("\"repeat it with --force\"") && has_flag("(--max-cost)"));
    assert!(!has_flag("a -- b, x--y, ---"));
}
