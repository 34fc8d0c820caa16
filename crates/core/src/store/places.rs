//! What a store of files is told about where it lies.

use std::path::PathBuf;

/// Where parts of a home are, if they are not in it.
#[derive(Debug, Default)]
pub struct Places {
    pub sessions: Option<PathBuf>,
    /// Projects and mailboxes.
    pub shared: Option<PathBuf>,
}
