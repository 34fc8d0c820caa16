//! What a failed gate's output tells: how many things failed, and which, so that two failures can be told apart.
//!
//! The names of failing tests count as they are. Of other lines that speak of failure, whatever changes from run to
//! run is left out: numbers, durations, paths. Where no line speaks of failure, all of them count, and whole numbers of the
//! last one: `8 bugs left`. A loop that mends one of nine bugs fails by something else than before.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_64;

/// What is known of the failures of a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures {
    /// How many there are, where the output tells.
    pub count: Option<u64>,
    /// The same text for the same failures; empty if the output tells nothing.
    pub fingerprint: String,
}

/// Where a number of issues stands in an output: a plain text with `{}` for the number, such as `{} failed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountPattern {
    before: String,
    after: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoPattern;

impl fmt::Display for NoPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("it is not a text with one {} for the number, such as \"{} failed\"")
    }
}

impl FromStr for CountPattern {
    type Err = NoPattern;

    fn from_str(text: &str) -> Result<CountPattern, NoPattern> {
        let (before, after) = text.split_once("{}").ok_or(NoPattern)?;
        match after.contains("{}") || before.len() + after.len() == 0 {
            true => Err(NoPattern),
            false => Ok(CountPattern { before: before.into(), after: after.into() }),
        }
    }
}

impl CountPattern {
    /// Returns the number in the last place where the pattern fits.
    pub fn find(&self, output: &str) -> Option<u64> {
        last_number(output, &self.before, &self.after)
    }
}

/// How tools sum up: what stands before and after the number.
const SUMMARIES: [(&str, &str); 9] = [
    ("", " failed"),
    ("", " failing"),
    ("", " failures"),
    ("failures=", ""),
    ("errors=", ""),
    ("# fail ", ""),
    ("Found ", " error"),
    ("", " problem"),
    ("due to ", " previous error"),
];

/// By these words a line speaks of failure.
const WORDS: [&str; 8] =
    ["error", "fail", "panic", "assert", "exception", "expected", "undefined", "warning"];

impl Failures {
    /// Reads what a gate printed.
    pub fn of(output: &str) -> Failures {
        let output = plain(output);
        let names = names(&output);
        let summary =
            SUMMARIES.iter().filter_map(|(before, after)| last_number(&output, before, after)).max();
        let count = summary.max(Some(names.len() as u64)).filter(|count| *count > 0);
        let mut lines: Vec<String> =
            output.lines().filter(|line| speaks_of_failure(line)).map(lasting).collect();
        if count.is_none() && lines.is_empty() {
            lines = told(&output);
        }
        lines.sort_unstable();
        let said: Vec<&str> = names.into_iter().chain(lines.iter().map(String::as_str)).collect();
        let fingerprint = match (said.is_empty(), count) {
            (true, None) => String::new(),
            _ => format!("{:016x}", xxh3_64(format!("{count:?}\n{}", said.join("\n")).as_bytes())),
        };
        Failures { count, fingerprint }
    }
}

/// Returns an output without the sequences that colour a terminal.
fn plain(output: &str) -> String {
    let mut pieces = output.split("\x1b[");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text += piece
            .trim_start_matches(|next: char| next.is_ascii_digit() || next == ';')
            .get(1..)
            .unwrap_or_default();
    }
    text
}

/// A thing that failed, as a line names it.
enum Named<'l> {
    Test(&'l str),
    /// A file or a package; where tests are named too, it is only theirs.
    File(&'l str),
}

fn names(output: &str) -> BTreeSet<&str> {
    let (mut tests, mut files) = (BTreeSet::new(), BTreeSet::new());
    for line in output.lines() {
        match named(line.trim()) {
            Some(Named::Test(name)) => tests.insert(name),
            Some(Named::File(name)) => files.insert(name),
            None => continue,
        };
    }
    if tests.is_empty() {
        return files;
    }
    // A test that failed by its parts is none itself.
    let parts: Vec<&str> =
        tests.iter().filter_map(|name| name.rsplit_once('/')).map(|(whole, _)| whole).collect();
    tests.retain(|name| !parts.contains(name));
    tests
}

/// Returns what a line of pytest, unittest, cargo, nextest, go, jest, vitest, node or TAP says has failed.
fn named(line: &str) -> Option<Named<'_>> {
    let until = |text: &'_ str, end: &str| text.find(end).unwrap_or(text.len());
    if let Some(name) = line.strip_prefix("--- FAIL: ") {
        return Some(Named::Test(&name[..until(name, " (")]));
    }
    if let Some(name) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED")) {
        return Some(Named::Test(name));
    }
    if let Some(name) = ["FAIL: ", "ERROR: "].iter().find_map(|word| line.strip_prefix(word)) {
        return name.contains(" (").then_some(Named::Test(name));
    }
    if let Some(name) = ["FAILED ", "ERROR "].iter().find_map(|word| line.strip_prefix(word)) {
        let name = &name[..until(name, " - ")];
        return (name.contains("::") || name.ends_with(".py")).then_some(Named::Test(name));
    }
    if let Some(rest) =
        ["FAIL [", "TIMEOUT [", "SIGABRT [", "SIGSEGV ["].iter().find_map(|word| line.strip_prefix(word))
    {
        let (_, name) = rest.split_once("] ")?;
        let counted = name.strip_prefix('(').and_then(|rest| rest.split_once(") "));
        return Some(Named::Test(counted.map_or(name, |(_, name)| name)));
    }
    if let Some(rest) = line.strip_prefix("not ok ") {
        // The number and the dash may be missing.
        let rest = rest.trim_start_matches(|next: char| next.is_ascii_digit()).trim_start();
        let name = rest.strip_prefix('-').unwrap_or(rest).trim_start();
        let expected = ["# TODO", "# SKIP"].iter().any(|mark| name.contains(mark));
        return (!expected).then_some(Named::Test(name));
    }
    if let Some(name) = ["● ", "✖ ", "× "].iter().find_map(|mark| line.strip_prefix(mark)) {
        let name = &name[..until(name, " (")];
        return (!name.ends_with(':') && !name.starts_with(|first: char| first.is_ascii_digit()))
            .then_some(Named::Test(name));
    }
    let name = line.strip_prefix("FAIL").and_then(|rest| rest.strip_prefix([' ', '\t']))?.trim();
    match name.contains(" > ") {
        true => Some(Named::Test(name)),
        false => name.split_whitespace().next().map(Named::File),
    }
}

fn speaks_of_failure(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    WORDS.iter().any(|word| line.contains(word))
}

/// Returns an output that does not speak of failure, without what changes from run to run; the last line sums up.
fn told(output: &str) -> Vec<String> {
    let mut lines: Vec<String> = output.lines().map(lasting).filter(|line| !line.is_empty()).collect();
    lines.extend(output.lines().rfind(|line| !line.trim().is_empty()).map(sums));
    lines
}

/// Returns the whole numbers of a line, as `8` or `3/9`, without durations.
fn sums(line: &str) -> String {
    let is_sum = |word: &&str| {
        word.starts_with(|first: char| first.is_ascii_digit())
            && word.chars().all(|next| next.is_ascii_digit() || next == '/')
    };
    let words: Vec<&str> =
        line.split(|next: char| next.is_whitespace() || "()[],;:=|".contains(next)).collect();
    let is_time = |at: usize| {
        let unit = words.get(at + 1).copied().unwrap_or_default();
        ["ms", "s", "sec", "min", "seconds", "minutes"].contains(&unit)
    };
    let sums = words.iter().enumerate().filter(|(at, word)| is_sum(word) && !is_time(*at));
    sums.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

/// Returns a line without what changes from run to run.
fn lasting(line: &str) -> String {
    let word = |word: &'_ str| match word {
        _ if word.contains(['/', '\\']) => "~".to_owned(),
        _ if word.contains(|next: char| next.is_ascii_digit()) => "#".to_owned(),
        _ => word.to_owned(),
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// Returns the last whole number that stands between these texts.
fn last_number(text: &str, before: &str, after: &str) -> Option<u64> {
    let (mut found, mut at) = (None, 0);
    while let Some(start) = text[at..].find(|next: char| next.is_ascii_digit()).map(|found| at + found) {
        let rest = &text[start..];
        let end = start + rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
        if text[..start].ends_with(before) && text[end..].starts_with(after) {
            found = text[start..end].parse().ok().or(found);
        }
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: &[&str], count: u64) {
        let output = plain(output);
        assert_eq!(names(&output).into_iter().collect::<Vec<_>>(), expected, "{output}");
        assert_eq!(Failures::of(&output).count, Some(count).filter(|count| *count > 0), "{output}");
    }

    #[test]
    fn failing_tests_are_named_as_their_tools_do() {
        let pytest = "..F.E [100%]\n=== FAILURES ===\nE   assert 1 == 2\n=== short test summary info ===\n\
                      FAILED tests/test_a.py::test_x[1] - assert 1 == 2\nERROR tests/test_b.py\n1 failed, 3 passed, 1 error in 0.03s\n";
        check(pytest, &["tests/test_a.py::test_x[1]", "tests/test_b.py"], 2);
        let unittest = "FAIL: test_a (test_m.T.test_a)\n----\nERROR: test_b (test_m.T.test_b) (i=2)\n----\n\
                        Ran 9 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n";
        check(unittest, &["test_a (test_m.T.test_a)", "test_b (test_m.T.test_b) (i=2)"], 2);
        let cargo = "test tests::a ... FAILED\ntest tests::b ... ok\ntest tests::c ... FAILED\n\
                     test result: FAILED. 1 passed; 2 failed; 0 ignored; finished in 0.00s\n";
        check(cargo, &["tests::a", "tests::c"], 2);
        let nextest = "        FAIL [   0.005s] (1/3) core model::a\n        FAIL [   0.007s] core model::b\n  TIMEOUT [ 60.0s] core c\n\
                       Summary [   0.1s] 9 tests run: 6 passed, 3 failed, 0 skipped\n";
        check(nextest, &["core c", "core model::a", "core model::b"], 3);
        let go = "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/one (0.00s)\n    --- FAIL: TestA/two (0.00s)\n--- FAIL: TestB (0.01s)\nFAIL\nFAIL\tx/y\t0.01s\n";
        check(go, &["TestA/one", "TestA/two", "TestB"], 3);
        check("FAIL\tx/y [build failed]\nFAIL\n", &["x/y"], 1);
        let jest = "FAIL src/a.test.js\n  ● sum › adds\n  ● sum › takes away\n\nTests:       2 failed, 1 passed, 3 total\n";
        check(jest, &["sum › adds", "sum › takes away"], 2);
        check(
            " FAIL  src/a.test.ts > sum > adds\n      Tests  1 failed | 2 passed (3)\n",
            &["src/a.test.ts > sum > adds"],
            1,
        );
        check("✖ adds (0.5ms)\nℹ fail 1\n✖ failing tests:\n✖ adds (0.5ms)\n", &["adds"], 1);
        check("ok 1 - a\nnot ok 2 - b\nnot ok 3 - later # TODO\n# fail 1\n", &["b"], 1);
        check("not ok - a/b\nnot ok c\nok - d\n", &["a/b", "c"], 2);
        check("\x1b[31mtest a ... FAILED\x1b[0m\n", &["a"], 1);
        check("all is well\n", &[], 0);
    }

    #[test]
    fn other_tools_count_in_their_summaries() {
        for (output, count) in [
            ("src/a.js\n  1:2  error  'x' is unused\n✖ 12 problems (10 errors, 2 warnings)\n", 12),
            ("a.py:1: error: no\nFound 3 errors in 1 file (checked 2 source files)\n", 3),
            ("error: could not compile `x` due to 4 previous errors; 1 warning emitted\n", 4),
            ("  3 passing\n  2 failing\n", 2),
            ("5 examples, 2 failures\n", 2),
        ] {
            assert_eq!(Failures::of(output).count, Some(count), "{output}");
        }
        assert_eq!(Failures::of("exit of 3\n").count, None);
        assert_eq!(Failures::of(" \n"), Failures::default());
    }

    #[test]
    fn the_same_failures_are_told_from_others() {
        let of = |text: &str| Failures::of(text).fingerprint;
        let seen = of("FAILED a.py::t - assert 1 == 2\nE  assert 1 == 2 in /tmp/x1\n1 failed in 0.31s\n");
        assert_eq!(
            seen,
            of("FAILED a.py::t - assert 7 == 2\nE  assert 7 == 2 in /tmp/y\n1 failed in 9.02s\n")
        );
        assert_ne!(
            seen,
            of("FAILED a.py::u - assert 1 == 2\nE  assert 1 == 2 in /tmp/x1\n1 failed in 0.31s\n")
        );
        assert_ne!(seen, of("FAILED a.py::t - KeyError: 'k'\nE  KeyError: 'k'\n1 failed in 0.31s\n"));
        assert_ne!(of("error: x\nerror: x\n"), of("error: x\n"), "fewer of the same kind");
        assert_eq!(of("error: b\nerror: a\n"), of("error: a\nerror: b\n"), "in whatever order");
        assert_ne!(of("test t_1 ... FAILED\n"), of("test t_2 ... FAILED\n"), "names may end in numbers");
        assert_eq!(of(""), "");
    }

    #[test]
    fn what_does_not_speak_of_failure_is_told_apart_too() {
        let of = |text: &str| Failures::of(text).fingerprint;
        for (before, after) in [
            ("9 bugs left\n", "8 bugs left\n"),
            ("Tests: 3/9 pass\n", "Tests: 4/9 pass\n"),
            ("b1\nb2\n", "b2\n"),
            ("todo: the door\n", "todo: the roof\n"),
        ] {
            assert_ne!(of(before), of(after), "{before}");
        }
        for (before, after) in [
            ("looked at 12:01:07\n9 bugs left in 0.31s\n", "looked at 12:01:09\n9 bugs left in 0.29s\n"),
            ("9 bugs, took 12 s\n", "9 bugs, took 14 s\n"),
            ("pid 17 looks\nb /tmp/x1\n", "pid 19 looks\nb /tmp/y\n"),
        ] {
            assert_eq!(of(before), of(after), "{before}");
        }
    }

    #[test]
    fn a_pattern_is_a_text_with_one_place_for_the_number() {
        let pattern: CountPattern = "{} issues".parse().unwrap();
        assert_eq!(pattern.find("2 issues so far\n14 issues in all"), Some(14));
        assert_eq!(pattern.find("some issues"), None);
        assert_eq!("issues: {}".parse::<CountPattern>().unwrap().find("issues: 3, 4"), Some(3));
        assert_eq!("é {}é".parse::<CountPattern>().unwrap().find("é 3é"), Some(3));
        for wrong in ["", "{}", "failed", "{} of {}"] {
            assert_eq!(wrong.parse::<CountPattern>(), Err(NoPattern), "{wrong}");
        }
        assert_eq!(pattern.find("99999999999999999999999 issues"), None);
    }
}
