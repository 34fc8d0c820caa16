//! How to run the tests of a Python project that does not say so itself.
//!
//! What is written for `unittest` runs wherever Python is. Functions without a class, `import pytest` and the files of
//! pytest mean pytest; if that is not installed, the gate is skipped.

use std::fs;
use std::path::{Path, PathBuf};

use crate::foreign;

/// Where tests stand, below the root.
const PLACES: [&str; 3] = ["", "tests", "test"];

/// These say that pytest is meant: files that only pytest reads, and those that name what is needed.
const SETTINGS: [&str; 3] = ["pytest.ini", "conftest.py", "tests/conftest.py"];
const MENTIONS: [&str; 6] =
    ["setup.cfg", "tox.ini", "setup.py", "requirements.txt", "requirements-dev.txt", "Pipfile"];

/// How many test files are looked into, and how deep.
const MOST: usize = 50;
const DEEP: usize = 3;

/// Returns the line that runs the tests, if there are any.
pub fn line(root: &Path) -> Option<String> {
    let mut found: Vec<(&str, Vec<PathBuf>)> = PLACES
        .iter()
        .map(|place| (*place, tests_in(&root.join(place), if place.is_empty() { 1 } else { DEEP })))
        .collect();
    found.retain(|(_, files)| !files.is_empty());
    let files: Vec<&PathBuf> = found.iter().flat_map(|(_, files)| files).take(MOST).collect();
    if files.is_empty() {
        return None;
    }
    let named = MENTIONS.iter().any(|file| text(&root.join(file)).contains("pytest"));
    if named
        || SETTINGS.iter().any(|file| root.join(file).is_file())
        || files.iter().any(|file| is_pytest(file))
    {
        return Some("python3 -m pytest -q".into());
    }
    let lines = found.iter().map(|(place, _)| match *place {
        "" => "python3 -m unittest".to_owned(),
        place if root.join(place).join("__init__.py").is_file() => {
            format!("python3 -m unittest discover -s {place} -t .")
        }
        place => format!("python3 -m unittest discover -s {place}"),
    });
    Some(lines.collect::<Vec<_>>().join(" && "))
}

/// Returns the files of a directory that are named as tests.
fn tests_in(dir: &Path, deep: usize) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let mut tests = Vec::new();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_test = name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
        if is_test && path.is_file() {
            tests.push(path);
        } else if deep > 1 && !name.starts_with('.') && path.is_dir() && !path.is_symlink() {
            tests.extend(tests_in(&path, deep - 1));
        }
        if tests.len() >= MOST {
            break;
        }
    }
    tests
}

/// Whether `unittest` would not find the tests of a file.
fn is_pytest(file: &Path) -> bool {
    if !file.file_name().unwrap_or_default().to_string_lossy().starts_with("test") {
        return true;
    }
    let text = text(file);
    let imports = |line: &str| line.starts_with("import pytest") || line.starts_with("from pytest");
    let function = |line: &str| line.starts_with("def test") || line.starts_with("async def test");
    text.lines().any(|line| imports(line) || function(line))
}

fn text(file: &Path) -> String {
    foreign::read_text(file, foreign::MANIFEST).unwrap_or_default()
}
