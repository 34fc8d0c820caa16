//! Rules name the fields of documents by constants: a text where a key could stand is found here.

use std::fs;
use std::path::{Path, PathBuf};

/// Where names are not those of our documents, and why.
const TEXTS: &[(&str, &str)] = &[
    ("model/client_event.rs", "events of clients"),
    ("model/clients/", "what clients print, and their settings"),
    ("model/transcript.rs", "records of clients"),
    ("model/outcome.rs", "what agents say"),
    ("model/redact.rs", "whatever may hold a secret"),
    ("model/agent_report.rs", "what agents say"),
    ("ops/client/agents.rs", "answers of clients"),
    ("ops/client/failures.rs", "answers of clients"),
    ("ops/client/todos.rs", "lists of clients"),
    ("model/diff.rs", "lines of the journal"),
    ("store/file/journal.rs", "lines of the journal"),
    ("model/shape.rs", "words of JSON Schema"),
    ("view/records.rs", "columns of a table"),
    ("view/workflow.rs", "calls of a client's tools"),
];

/// What takes the name of a field.
const ACCESSES: [&str; 9] = [
    ".get(\"",
    ".get_mut(\"",
    ".contains_key(\"",
    ".shift_remove(\"",
    ".swap_remove(\"",
    ".remove(\"",
    ".insert(\"",
    ".string(\"",
    ".pointer(\"/",
];

#[test]
fn fields_are_named_by_keys() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut spared: Vec<&str> = Vec::new();
    for path in sources(&root) {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        let places = places(&path, &name, has_text);
        match TEXTS.iter().find(|(spared, _)| name.starts_with(spared)) {
            Some((place, _)) if !places.is_empty() => spared.push(place),
            _ => found.extend(places),
        }
    }
    assert!(found.is_empty(), "use a key of the document (model/key.rs):\n{}", found.join("\n"));
    let needless: Vec<_> = TEXTS.iter().filter(|(place, _)| !spared.contains(place)).collect();
    assert!(needless.is_empty(), "these need not be spared any more: {needless:?}");
}

/// Returns the lines of code for which this holds; neither comments nor tests count.
pub fn places(path: &Path, name: &str, is_found: impl Fn(&str) -> bool) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap().lines().enumerate();
    let found = code.filter(|(_, line)| !line.trim_start().starts_with("//") && is_found(line));
    found.map(|(number, line)| format!("{name}:{}: {}", number + 1, line.trim())).collect()
}

/// Whether a line names a field by a text: `.get("status")`, `task["status"]`.
fn has_text(line: &str) -> bool {
    let indexed = line.match_indices("[\"").any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let end = line[at + 2..].find('"').map(|length| at + 2 + length);
        before.is_some_and(|sign| sign.is_alphanumeric() || "_)]?".contains(sign))
            && end.is_some_and(|end| line[end + 1..].starts_with(']'))
    });
    indexed || ACCESSES.iter().any(|access| line.contains(access))
}

pub fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") => {
                found.push(path);
            }
            false => {}
        }
    }
    found.sort();
    found
}
