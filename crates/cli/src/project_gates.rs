//! The gates of the project that we are in.

use std::path::PathBuf;

use anthill_core::error::Code;
use anthill_live::gates::{Gates, config};

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
