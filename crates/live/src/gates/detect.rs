//! What the files of a project tell about its tools. Only what is named in the project is run.

use std::path::Path;

use serde_json::Value;

use super::{Gate, Run, python_tests};
use crate::foreign;

/// The name of a gate and its line for the shell.
type Line = (&'static str, String);

/// Returns the gates that were detected. In a project of several languages, gates of all but the first have the language in their
/// name.
pub fn gates(root: &Path) -> Vec<Gate> {
    let mut languages =
        vec![("rust", rust(root)), ("node", node(root)), ("python", python(root)), ("go", go(root))];
    // If there is no other sign, files that are named like tests are one.
    if languages.iter().all(|(_, lines)| lines.is_empty()) {
        languages.push(("python", python_tests::line(root).map(|line| ("test", line)).into_iter().collect()));
    }
    let mut gates: Vec<Gate> = Vec::new();
    for (language, lines) in languages {
        let first = gates.is_empty();
        gates.extend(lines.into_iter().map(|(name, line)| {
            let name = if first { name.to_owned() } else { format!("{name}-{language}") };
            let gate = Gate::new(name.parse().expect("words make a name"), Run::Line(line));
            Gate { detected: true, ..gate }
        }));
    }
    gates
}

fn rust(root: &Path) -> Vec<Line> {
    if !root.join("Cargo.toml").is_file() {
        return Vec::new();
    }
    let mut lines = vec![
        ("lint", "cargo fmt --all --check && cargo clippy --all-targets -- -D warnings".into()),
        ("type", "cargo check --all-targets".into()),
        ("test", "cargo test".into()),
    ];
    if root.join("deny.toml").is_file() {
        lines.push(("security", "cargo deny check".into()));
    }
    lines
}

fn node(root: &Path) -> Vec<Line> {
    let Some(package) = read(root, "package.json") else { return Vec::new() };
    let package: Value = serde_json::from_str(&package).unwrap_or_default();
    let managers =
        [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];
    let manager = managers.iter().find(|(file, _)| root.join(file).is_file()).map_or("npm", |(_, name)| name);
    let script = |names: &[&'static str]| {
        let written = |name: &&&str| {
            let script = package.get("scripts").and_then(|scripts| scripts.get(name)).and_then(Value::as_str);
            // The placeholder of `npm init` is not a test.
            script.is_some_and(|script| !script.contains("no test specified"))
        };
        names.iter().find(written).map(|name| format!("{manager} run {name}"))
    };
    let wanted: [(&'static str, &[&'static str]); 4] = [
        ("lint", &["lint"]),
        ("type", &["typecheck", "type-check", "types", "tsc"]),
        ("test", &["test"]),
        ("security", &["security", "audit"]),
    ];
    wanted.into_iter().filter_map(|(gate, names)| Some((gate, script(names)?))).collect()
}

fn python(root: &Path) -> Vec<Line> {
    let Some(project) = read(root, "pyproject.toml") else { return Vec::new() };
    let tools = [
        ("lint", "ruff", "ruff check ."),
        ("type", "mypy", "mypy ."),
        ("test", "pytest", "pytest -q"),
        ("security", "bandit", "bandit -q -r ."),
    ];
    let named = tools.into_iter().filter(|(_, tool, _)| project.contains(tool));
    let mut lines: Vec<Line> = named.map(|(gate, _, line)| (gate, line.to_owned())).collect();
    if !lines.iter().any(|(gate, _)| *gate == "test") {
        lines.extend(python_tests::line(root).map(|line| ("test", line)));
    }
    lines
}

fn go(root: &Path) -> Vec<Line> {
    let Some(module) = read(root, "go.mod") else { return Vec::new() };
    let mut lines = vec![
        ("lint", "go vet ./...".to_owned()),
        ("type", "go build ./...".to_owned()),
        ("test", "go test ./...".to_owned()),
    ];
    if module.contains("govulncheck") {
        lines.push(("security", "govulncheck ./...".to_owned()));
    }
    lines
}

fn read(root: &Path, file: &str) -> Option<String> {
    foreign::read_text(&root.join(file), foreign::MANIFEST).ok()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "files of a project, not of a store")]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let line = |gate: Gate| match gate.run {
            Run::Line(line) => format!("{}: {line}", gate.name),
            Run::Command(_) => unreachable!("BUG: what is found is a line"),
        };
        assert_eq!(gates(root.path()).into_iter().map(line).collect::<Vec<_>>(), expected, "{files:?}");
    }

    #[test]
    fn tools_are_told_by_the_files_of_a_project() {
        check(&[], &[]);
        check(&[("README.md", "cargo test")], &[]);
        let lint = "lint: cargo fmt --all --check && cargo clippy --all-targets -- -D warnings";
        let rust =
            [lint, "type: cargo check --all-targets", "test: cargo test", "security: cargo deny check"];
        check(&[("Cargo.toml", "")], &rust[..3]);
        check(&[("Cargo.toml", ""), ("deny.toml", "")], &rust);
        let scripts =
            r#"{"scripts": {"lint": "eslint .", "type-check": "tsc", "test": "vitest", "x": "rm -rf /"}}"#;
        check(
            &[("package.json", scripts)],
            &["lint: npm run lint", "type: npm run type-check", "test: npm run test"],
        );
        check(
            &[("package.json", r#"{"scripts": {"lint": "x"}}"#), ("pnpm-lock.yaml", "")],
            &["lint: pnpm run lint"],
        );
        check(
            &[("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#)],
            &[],
        );
        check(&[("package.json", "{oops")], &[]);
        check(
            &[("pyproject.toml", "[tool.ruff]\n[tool.pytest.ini_options]")],
            &["lint: ruff check .", "test: pytest -q"],
        );
        check(
            &[("go.mod", "module x"), ("pyproject.toml", "mypy")],
            &["type: mypy .", "lint-go: go vet ./...", "type-go: go build ./...", "test-go: go test ./..."],
        );
    }
    #[test]
    fn tests_of_python_are_told_by_their_files() {
        let unittest = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n";
        let function = "def test_a():\n    assert True\n";
        check(&[("test_a.py", unittest)], &["test: python3 -m unittest"]);
        check(&[("tests/test_a.py", unittest)], &["test: python3 -m unittest discover -s tests"]);
        check(
            &[("tests/__init__.py", ""), ("tests/test_a.py", unittest)],
            &["test: python3 -m unittest discover -s tests -t ."],
        );
        check(
            &[("test_a.py", unittest), ("test/test_b.py", unittest)],
            &["test: python3 -m unittest && python3 -m unittest discover -s test"],
        );
        let pytest = ["test: python3 -m pytest -q"];
        check(&[("test_a.py", function)], &pytest);
        check(&[("tests/unit/a_test.py", "import pytest\n")], &pytest);
        check(&[("tests/test_a.py", unittest), ("tests/conftest.py", "")], &pytest);
        check(&[("test_a.py", unittest), ("requirements-dev.txt", "pytest==8\n")], &pytest);
        check(&[("a.py", unittest), ("docs/test_x.txt", "")], &[]);
        check(&[("pyproject.toml", "[project]"), ("tests/test_a.py", function)], &pytest);
        check(
            &[("go.mod", "module x"), ("tests/test_a.py", function)],
            &["lint: go vet ./...", "type: go build ./...", "test: go test ./..."],
        );
    }
}
