//! Only `model/clients` knows clients by name: whoever adds one writes its module and a line of the table.

use std::fs;
use std::path::{Path, PathBuf};

use anthill_core::model::clients::CLIENTS;

/// Where a client is named all the same, and why.
const NAMED: &[(&str, &str)] = &[
    ("cli/src/commands/demo/", "what a newcomer may type"),
    ("cli/src/install/texts/skills/leader.md", "what a leader may type"),
    ("cli/src/commands/orchestrate/mod.rs", "a message with an example"),
];

#[test]
fn clients_are_named_in_their_modules_only() {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    let mut spared: Vec<&str> = Vec::new();
    for path in ["core/src", "live/src", "cli/src"].iter().flat_map(|part| files(&crates.join(part))) {
        let name = path.strip_prefix(&crates).unwrap().to_str().unwrap().to_owned();
        if name.starts_with("core/src/model/clients/") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let program = text.split("#[cfg(test)]").next().unwrap();
        let lines = program.lines().enumerate().filter(|(_, line)| names_a_client(line));
        let places: Vec<_> =
            lines.map(|(number, line)| format!("{name}:{}: {}", number + 1, line.trim())).collect();
        match NAMED.iter().find(|(spared, _)| name.starts_with(spared)) {
            Some((place, _)) if !places.is_empty() => spared.push(place),
            _ => found.extend(places),
        }
    }
    assert!(found.is_empty(), "this belongs into model/clients:\n{}", found.join("\n"));
    let needless: Vec<_> = NAMED.iter().filter(|(place, _)| !spared.contains(place)).collect();
    assert!(needless.is_empty(), "these need not be spared any more: {needless:?}");
}

/// Whether a line names a client; our own paths and the examples of help do not count.
fn names_a_client(line: &str) -> bool {
    let is_example = line.trim_start().starts_with("///   anthill ");
    let words = line.split(|sign: char| !sign.is_alphanumeric() && !"./_-".contains(sign));
    let others = words.filter(|word| !word.contains(".claude")).map(str::to_lowercase);
    !is_example && others.into_iter().any(|word| CLIENTS.iter().any(|client| word.contains(client.name)))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

#[test]
fn a_name_is_found_wherever_it_may_hide() {
    for line in ["let x = \"codex\";", "const GEMINI_CLI: u8 = 1;", "// Claude Code says so", "///  opencode"]
    {
        assert!(names_a_client(line), "{line}");
    }
    for line in ["`~/.claude/state`", "\"!.claude/CLAUDE.md\",", "///   anthill worker run w1 --agent codex"]
    {
        assert!(!names_a_client(line), "{line}");
    }
}
