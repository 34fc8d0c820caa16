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

/// Quotes a word for a shell, if it needs that.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,:@%".contains(letter);
    if word.chars().all(is_plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for (word, expected) in
            [("/usr/bin/anthill", "/usr/bin/anthill"), ("/a b/x", "'/a b/x'"), ("/it's", r"'/it'\''s'")]
        {
            assert_eq!(quoted(word), expected);
        }
    }
}
