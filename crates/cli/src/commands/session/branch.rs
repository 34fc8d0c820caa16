//! Which branch a directory is on, by git's own files.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Returns the branch that is checked out there; `None` if there is none, or it cannot be told.
pub fn of(directory: &Path) -> Option<String> {
    let (checkout, git) = directory.ancestors().find_map(|dir| {
        let git = dir.join(".git");
        git.exists().then(|| (dir.to_owned(), git))
    })?;
    let head = small_text(&git_dir(&checkout, &git)?.join("HEAD"))?;
    let branch = head.trim_end().strip_prefix("ref: refs/heads/")?;
    (!branch.is_empty()).then(|| branch.to_owned())
}

/// Follows the `.git` file of a worktree or a submodule.
fn git_dir(checkout: &Path, git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    let pointer = small_text(git)?;
    Some(checkout.join(pointer.strip_prefix("gitdir:")?.trim()))
}

/// Reads a file of a few lines. What is no file is not waited for.
fn small_text(path: &Path) -> Option<String> {
    let mut text = String::new();
    if path.metadata().ok()?.is_file() {
        File::open(path).ok()?.take(4096).read_to_string(&mut text).ok()?;
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out directories")]
    fn a_branch_is_found_from_below_and_through_worktrees() {
        let temp = std::env::temp_dir().join(format!("anthill-branch-{}", std::process::id()));
        create_dir_all(temp.join("repo/.git/worktrees/w")).unwrap();
        create_dir_all(temp.join("repo/src/deep")).unwrap();
        create_dir_all(temp.join("w")).unwrap();
        assert_eq!(of(&temp.join("repo")), None, "no HEAD");
        write(temp.join("repo/.git/HEAD"), "ref: refs/heads/feature/auth\n").unwrap();
        write(temp.join("repo/.git/worktrees/w/HEAD"), "ref: refs/heads/side\n").unwrap();
        write(temp.join("w/.git"), "gitdir: ../repo/.git/worktrees/w\n").unwrap();
        assert_eq!(of(&temp.join("repo/src/deep")).as_deref(), Some("feature/auth"));
        assert_eq!(of(&temp.join("w")).as_deref(), Some("side"));
        write(temp.join("repo/.git/HEAD"), "5b1d2c\n").unwrap();
        assert_eq!(of(&temp.join("repo")), None, "a commit without a branch");
        std::fs::remove_dir_all(temp).unwrap();
    }
}
