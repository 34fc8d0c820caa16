//! How others call this program.

use std::path::{Path, PathBuf};

use crate::env;
use crate::error::{Result, io_error};

const NAME: &str = "anthill";

/// Returns the bare name if a shell finds this very program by it, else the path.
pub fn find() -> Result<String> {
    let own = std::env::current_exe().map_err(|error| io_error("find this program", &error))?;
    let own = own.canonicalize().unwrap_or(own);
    let is_own = |dir: &PathBuf| dir.join(NAME).canonicalize().is_ok_and(|found| found == own);
    let first = env::search_path().into_iter().find(|dir| dir.join(NAME).is_file());
    Ok(if first.as_ref().is_some_and(is_own) { NAME.into() } else { own.display().to_string() })
}

/// Whether it was found by its name.
pub fn is_on_path(program: &str) -> bool {
    !Path::new(program).is_absolute()
}
