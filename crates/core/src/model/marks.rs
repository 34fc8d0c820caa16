//! What tasks have in common that may keep somebody from all of them at once: each file that they touch, each directory
//! above it, each capability that they need, and all of that together.

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use super::files;

/// At most so many marks has an item; what is general comes first.
pub const MOST: usize = 10;

const NEED: u64 = 4;

/// Returns the mark of all tasks with the same needs and files; 0 if there are neither.
pub fn kin<T: AsRef<str>>(needs: &[T], files: &[T]) -> u64 {
    if needs.is_empty() && files.is_empty() {
        return 0;
    }
    let mut hasher = Xxh3::new();
    for (what, texts) in [(b"n", needs), (b"f", files)] {
        for text in texts {
            hasher.update(what);
            hasher.update(&text.as_ref().len().to_le_bytes());
            hasher.update(text.as_ref().as_bytes());
        }
    }
    hasher.digest().max(1)
}

/// Returns the mark of all tasks that need this.
pub fn need(capability: &str) -> u64 {
    xxh3_64_with_seed(capability.as_bytes(), NEED).max(1)
}

/// Returns all marks of a task, that of its kin first.
pub fn all(needs: &[&str], files: &[&str]) -> Vec<u64> {
    let kin = kin(needs, files);
    if kin == 0 {
        return Vec::new();
    }
    let needs = needs.iter().map(|capability| need(capability));
    let mut marks = vec![kin];
    for mark in needs.chain(files::surely_asked_for(files)) {
        if marks.len() < MOST && !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    marks
}

/// Returns the marks of the tasks that must wait as long as somebody works on these files.
pub fn shut_by(files: &[&str]) -> Vec<u64> {
    files::surely_occupied(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_share_what_keeps_somebody_from_both() {
        let shared = |one: &[u64], other: &[u64]| one.iter().filter(|mark| other.contains(mark)).count();
        let one = all(&["gpu"], &["src/a.rs"]);
        assert_eq!(one[0], kin(&["gpu"], &["src/a.rs"]));
        assert_eq!(shared(&one, &all(&["gpu"], &["docs/b.md"])), 2, "the need and the whole project");
        assert_eq!(shared(&one, &all(&[], &["src/b.rs"])), 2, "`src` and the whole project");
        assert_eq!(shared(&one, &shut_by(&["src"])), 1);
        assert_eq!(shared(&one, &shut_by(&["docs", "src/b.rs"])), 0);
        assert_eq!(all(&[], &[]), [0; 0]);
        assert_ne!(kin(&["a", "b"], &[]), kin(&["ab"], &[]));
        assert_ne!(kin(&["a"], &[]), kin(&[], &["a"]));
    }

    #[test]
    fn what_is_general_comes_first() {
        let deep: Vec<_> = (0..9).map(|number| format!("src/m{number}/a/b/c/d")).collect();
        let marks = all(&[], &deep.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(marks.len(), MOST);
        assert!(marks[..3].contains(&shut_by(&["src"])[0]) || marks[..3].contains(&shut_by(&["src"])[1]));
    }
}
