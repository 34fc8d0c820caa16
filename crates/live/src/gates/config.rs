//! `.claude/anthill.toml`: what a project says about its gates.
//!
//! ```toml
//! [gates.lint]
//! run = "cargo clippy -- -D warnings"   # a line for the shell
//! timeout = 600                         # seconds
//! parallel = false
//! blocking = true
//! severity = "S1"
//! ```
//!
//! Other tables are none of ours.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anthill_core::model::agent_loop::Severity;
use toml::{Table, Value};

use super::{Gate, Run};

/// The file, below the project root.
pub const FILE: &str = ".claude/anthill.toml";

/// Longer time-outs are taken for a mistake.
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
    match std::fs::read_to_string(&path) {
        Ok(text) => parse(&text).map_err(|message| Error::Wrong { path, message }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(Error::Read { path, source }),
    }
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
            other => {
                let known = "known are run, timeout, parallel, blocking, severity";
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
             [gates.lint]\nrun = 'x'\nblocking = false\nseverity = \"S0\"\n",
        )
        .unwrap();
        let names: Vec<&str> = gates.iter().map(|gate| gate.name.as_str()).collect();
        assert_eq!(names, ["test", "lint"]);
        assert_eq!(gates[0].run, Run::Line("a && b".into()));
        assert_eq!((gates[0].timeout, gates[0].parallel), (Duration::from_millis(1500), true));
        assert_eq!((gates[0].blocking, gates[0].severity), (true, Severity::S1));
        assert_eq!((gates[1].timeout, gates[1].parallel), (super::super::TIMEOUT, false));
        assert_eq!((gates[1].blocking, gates[1].severity), (false, Severity::S0));
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
            ("[gates.x]\nrun = 'a'\ncommand = 'b'", "`command` is no setting of a gate"),
            ("[gates.\"../x\"]\nrun = 'a'", "[gates.../x]: "),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(expected), "{text:?}: {message}");
        }
    }
}
