//! What anthill keeps in the home root for all projects.

use std::path::Path;

use anthill_core::view::shell;

/// Returns what is there, as it can be typed to remove it. A client keeps files of its own among our sessions, which are
/// directories.
pub fn in_home(home: &Path) -> Vec<String> {
    let ours = [("orchestration", ""), ("sessions", "/*/")];
    let found = ours.into_iter().map(|(name, ours)| (home.join(name), ours)).filter(|(dir, _)| dir.exists());
    found.map(|(dir, ours)| shell::word(&dir.display().to_string()) + ours).collect()
}
