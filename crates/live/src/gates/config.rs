//! `.claude/anthill.toml`: what a project says about its gates.
//!
//! ```toml
//! [gates.lint]
//! run = "cargo clippy -- -D warnings"   # a line for the shell
//! timeout = 600                         # seconds
//! parallel = false
//! blocking = true
//! severity = "S1"
//! count = "{} failed"                   # where its output says how many issues there are
//! ```
//!
//! Other tables belong to others.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anthill_core::model::agent_loop::Severity;
use toml::{Table, Value};

use super::{Gate, Run};
use crate::foreign;

/// The file, below the project root.
pub const FILE: &str = ".claude/anthill.toml";

/// A longer time-out must be a mistake.
const LONGEST: f64 = 86_400.0;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}`: {message}", path.display())]
    Wrong { path: PathBuf, message: String },
}

/// Returns the configured gates in the order of the file; none if there is no file.
pub fn read(root: &Path) -> Result<Vec<Gate>, Error> {
    let path = root.join(FILE);
    match foreign::read_text(&path, foreign::CONFIG) {
        Ok(text) => parse(&text).map_err(|message| Error::Wrong { path, message }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(Error::Read { path, source }),
    }
}

/// A gate that somebody adds.
#[derive(Debug, Default)]
pub struct NewGate<'a> {
    pub name: &'a str,
    /// A line for the shell.
    pub line: &'a str,
    pub timeout: Option<f64>,
    pub count: Option<&'a str>,
}

/// Returns the text of the file with one more gate; the rest stays as it is, byte for byte.
pub fn with_gate(text: &str, new: &NewGate<'_>) -> Result<String, String> {
    let known = parse(text)?;
    let mut with = text.to_owned();
    with += match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    with += &lines_of(new);
    // An inline table cannot be extended.
    match parse(&with) {
        Ok(gates) if gates.starts_with(&known) && gates.len() == known.len() + 1 => Ok(with),
        Ok(_) => Err("the gate would not be read as it is meant".into()),
        Err(message) => Err(format!("the gate cannot be added below what is there: {message}")),
    }
}

/// Returns a gate as the file has it.
pub fn lines_of(gate: &NewGate<'_>) -> String {
    let is_bare = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    // TOML reads the escapes of JSON, and needs one more.
    let quoted = |text: &str| serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f");
    let name = if is_bare(gate.name) { gate.name.to_owned() } else { quoted(gate.name) };
    let mut lines = format!("[gates.{name}]\nrun = {}\n", quoted(gate.line));
    if let Some(seconds) = gate.timeout {
        lines += &format!("timeout = {seconds}\n");
    }
    if let Some(count) = gate.count {
        lines += &format!("count = {}\n", quoted(count));
    }
    lines
}

fn parse(text: &str) -> Result<Vec<Gate>, String> {
    let file: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(0, |span| text[..span.start].lines().count().max(1));
        format!("line {line}: {}", error.message())
    })?;
    let gates = match file.get("gates") {
        None => return Ok(Vec::new()),
        Some(Value::Table(gates)) => gates,
        Some(_) => return Err("`gates` is not a table: write [gates.NAME]".into()),
    };
    gates.iter().map(|(name, settings)| gate(name, settings)).collect()
}

fn gate(name: &str, settings: &Value) -> Result<Gate, String> {
    let wrong = |message: &str| format!("[gates.{name}]: {message}");
    let key = name.parse().map_err(|error| wrong(&format!("{error}")))?;
    let settings = settings.as_table().ok_or_else(|| wrong("it is not a table"))?;
    let line = settings.get("run").ok_or_else(|| wrong("`run` is missing: the command, as a text"))?;
    let line = line.as_str().filter(|line| !line.trim().is_empty());
    let line = line.ok_or_else(|| wrong("`run` is not a command, as a text"))?;
    let mut gate = Gate::new(key, Run::Line(line.to_owned()));
    let yes_or_no = |value: &Value, name: &str| {
        value.as_bool().ok_or_else(|| wrong(&format!("`{name}` is not true or false")))
    };
    for (setting, value) in settings {
        match setting.as_str() {
            "run" => {}
            "timeout" => {
                let told = seconds(value);
                gate.timeout = told.ok_or_else(|| wrong("`timeout` is not a number of seconds"))?;
            }
            "parallel" => gate.parallel = yes_or_no(value, setting)?,
            "blocking" => gate.blocking = yes_or_no(value, setting)?,
            "severity" => {
                let told = severity(value);
                gate.severity = told.ok_or_else(|| wrong("`severity` is not S0, S1, S2 or S3"))?;
            }
            "count" => {
                let told = value.as_str().unwrap_or_default().parse();
                gate.count = Some(told.map_err(|error| wrong(&format!("`count`: {error}")))?);
            }
            other => {
                let known = "known are run, timeout, parallel, blocking, severity, count";
                return Err(wrong(&format!("`{other}` is no setting of a gate; {known}")));
            }
        }
    }
    Ok(gate)
}

fn seconds(value: &Value) -> Option<Duration> {
    let seconds = value.as_float().or_else(|| value.as_integer().map(|seconds| seconds as f64))?;
    (seconds > 0.0 && seconds <= LONGEST).then(|| Duration::from_secs_f64(seconds))
}

fn severity(value: &Value) -> Option<Severity> {
    Some(match value.as_str()? {
        "S0" => Severity::S0,
        "S1" => Severity::S1,
        "S2" => Severity::S2,
        "S3" => Severity::S3,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_come_in_the_order_of_the_file() {
        let gates = parse(
            "[other]\nx = 1\n[gates.test]\nrun = \"a && b\"\ntimeout = 1.5\nparallel = true\n\
             [gates.lint]\nrun = 'x'\nblocking = false\nseverity = \"S0\"\ncount = \"{} bad\"\n",
        )
        .unwrap();
        let names: Vec<&str> = gates.iter().map(|gate| gate.name.as_str()).collect();
        assert_eq!(names, ["test", "lint"]);
        assert_eq!(gates[0].run, Run::Line("a && b".into()));
        assert_eq!((gates[0].timeout, gates[0].parallel), (Duration::from_millis(1500), true));
        assert_eq!((gates[0].blocking, gates[0].severity), (true, Severity::S1));
        assert_eq!((gates[1].timeout, gates[1].parallel), (super::super::TIMEOUT, false));
        assert_eq!((gates[1].blocking, gates[1].severity), (false, Severity::S0));
        assert_eq!((&gates[0].count, &gates[1].count), (&None, &Some("{} bad".parse().unwrap())));
        assert_eq!(parse(""), Ok(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("a = 1\n[gates.x\n", "line 2: "),
            ("gates = 1", "`gates` is not a table"),
            ("gates.x = 1", "[gates.x]: it is not a table"),
            ("[gates.x]\n", "[gates.x]: `run` is missing"),
            ("[gates.x]\nrun = 7", "[gates.x]: `run` is not a command"),
            ("[gates.x]\nrun = ' '", "[gates.x]: `run` is not a command"),
            ("[gates.x]\nrun = 'a'\ntimeout = '5'", "`timeout` is not a number of seconds"),
            ("[gates.x]\nrun = 'a'\ntimeout = 0", "`timeout` is not a number of seconds"),
            ("[gates.x]\nrun = 'a'\nparallel = 1", "`parallel` is not true or false"),
            ("[gates.x]\nrun = 'a'\nseverity = 'bad'", "`severity` is not S0"),
            ("[gates.x]\nrun = 'a'\ncount = 3", "[gates.x]: `count`: it is not a text with one {}"),
            ("[gates.x]\nrun = 'a'\ncount = 'failed'", "[gates.x]: `count`: it is not a text with one {}"),
            ("[gates.x]\nrun = 'a'\ncommand = 'b'", "`command` is no setting of a gate"),
            ("[gates.\"../x\"]\nrun = 'a'", "[gates.../x]: "),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(expected), "{text:?}: {message}");
        }
    }

    #[test]
    fn a_gate_is_added_below_what_is_there() {
        let new = NewGate {
            name: "unit.fast",
            line: "echo \"a\tb\" 'c\\' é\u{7f}",
            timeout: Some(1.5),
            count: Some("{} bad"),
        };
        for text in
            ["", "# mine\n", "[other]\nx = 1", "[gates.lint]\nrun = 'x'  # why\r\n", "gates.lint.run = 'x'\n"]
        {
            let with = with_gate(text, &new).unwrap();
            assert!(with.starts_with(text), "{with}");
            let gates = parse(&with).unwrap();
            let gate = gates.last().unwrap();
            assert_eq!((gate.name.as_str(), &gate.run), ("unit.fast", &Run::Line(new.line.into())), "{with}");
            assert_eq!(
                (gate.timeout, &gate.count),
                (Duration::from_millis(1500), &Some("{} bad".parse().unwrap()))
            );
            assert!(with_gate(&with, &new).is_err(), "once");
        }
        let plain = NewGate { name: "lint", line: "cargo clippy", ..NewGate::default() };
        assert_eq!(with_gate("", &plain).unwrap(), "[gates.lint]\nrun = \"cargo clippy\"\n");
        assert!(
            with_gate("gates = {x = {run = 'a'}}\n", &plain).unwrap_err().contains("cannot be added below")
        );
        assert!(with_gate("[oops", &plain).unwrap_err().contains("line 1"));
        for (name, line) in [("../x", "a"), ("x", " ")] {
            assert!(with_gate("", &NewGate { name, line, ..NewGate::default() }).is_err());
        }
    }
}
