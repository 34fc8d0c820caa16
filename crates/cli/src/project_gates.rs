//! The gates of the project that we are in.

use std::path::PathBuf;

use anthill_core::error::Code;
use anthill_core::model::ids::Key;
use anthill_live::gates::config::{self, NewGate};
use anthill_live::gates::{Gates, NoGate};

use crate::context::Context;
use crate::error::{CliError, Result, io_error};

/// Finds the project and its gates.
pub fn find(context: &Context<'_>) -> Result<(PathBuf, Gates)> {
    let root = context.roots.project().map_err(|error| io_error("find the gates", &error))?;
    let gates = Gates::of(&root)?;
    Ok((root, gates))
}

impl From<config::Error> for CliError {
    fn from(error: config::Error) -> CliError {
        match error {
            config::Error::Read { path, source } => io_error(&format!("read `{}`", path.display()), &source),
            wrong @ config::Error::Wrong { .. } => CliError::new(Code::Invalid, wrong.to_string())
                .hinted("correct the file; see what it may say: anthill loop --help"),
        }
    }
}

impl From<NoGate> for CliError {
    fn from(error: NoGate) -> CliError {
        let message = error.to_string();
        match error {
            NoGate::NoneAtAll => CliError::new(Code::Refused, message).hinted(how_to_add("test")),
            NoGate::Unknown { name, known } => {
                let known: Vec<&str> = known.iter().map(Key::as_str).collect();
                let known = (!known.is_empty()).then(|| format!("known are: {}", known.join(", ")));
                known
                    .into_iter()
                    .fold(CliError::new(Code::NotFound, message), CliError::hinted)
                    .hinted(how_to_add(name.as_str()))
                    .hinted(format!("or run a command for it: anthill loop gate {name} -- CMD"))
            }
        }
    }
}

/// Says how a project gets a gate: by a command, and what that writes.
fn how_to_add(name: &str) -> String {
    let lines = config::lines_of(&NewGate { name, line: "COMMAND", ..NewGate::default() });
    format!(
        "add one: anthill loop add-gate {name} -- COMMAND\nor write into {}:\n{}",
        config::FILE,
        lines.trim_end()
    )
}
