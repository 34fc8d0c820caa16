//! What a pipeline is given: requirements, plans and reports.

use anthill_core::model::json;
use serde_json::Value;

use crate::error::{CliError, Result};
use crate::typed::read_file;

/// The largest file that is read.
const LIMIT: u64 = 1 << 20;

/// Returns requirements as typed, or stdin for `-`.
pub fn requirements(typed: &str) -> Result<String> {
    match typed {
        "-" => String::from_utf8(read_file("-", LIMIT)?)
            .map_err(|_| CliError::invalid("stdin is not UTF-8 text")),
        typed => Ok(typed.to_owned()),
    }
}

/// Reads a file of JSON, or stdin for `-`.
pub fn read_json(file: &str) -> Result<Value> {
    json::parse(&read_file(file, LIMIT)?).map_err(|error| {
        CliError::invalid(format!("`{file}` is not JSON: {error}")).hinted("nothing was changed")
    })
}
