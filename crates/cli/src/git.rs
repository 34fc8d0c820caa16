//! What is checked out in a directory, read from git's files.

use std::path::{Path, PathBuf};

use anthill_live::foreign;

/// Returns the branch that is checked out there; `None` if there is none, or it cannot be read.
pub fn branch(directory: &Path) -> Option<String> {
    let head = small_text(&git_dir(directory)?.join("HEAD"))?;
    let branch = head.trim_end().strip_prefix("ref: refs/heads/")?;
    (!branch.is_empty()).then(|| branch.to_owned())
}

/// Returns the commit that is checked out there, if it can be read.
pub fn commit(directory: &Path) -> Option<String> {
    let git = git_dir(directory)?;
    let head = small_text(&git.join("HEAD"))?;
    let Some(name) = head.trim_end().strip_prefix("ref: ") else { return hash(&head) };
    // Git has no such names: it would lead out of the directory.
    if !name.starts_with("refs/") || name.contains("..") {
        return None;
    }
    // A worktree has its own HEAD and shares the branches.
    let shared = small_text(&git.join("commondir")).map(|common| git.join(common.trim()));
    let shared = shared.unwrap_or(git);
    small_text(&shared.join(name)).and_then(|text| hash(&text)).or_else(|| packed(&shared, name))
}

/// Finds a branch among those that git has packed into one file.
fn packed(git: &Path, name: &str) -> Option<String> {
    let text = foreign::read_text(&git.join("packed-refs"), foreign::MANIFEST).ok()?;
    let line = text.lines().find_map(|line| line.strip_suffix(name)?.strip_suffix(' '));
    line.and_then(hash)
}

fn hash(text: &str) -> Option<String> {
    let text = text.trim();
    (matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then(|| text.to_owned())
}

/// How much of a file of ignore rules is read.
const RULES: u64 = 1 << 20;

/// Returns which of these directories the `.gitignore` of a checkout does not ignore; none outside a checkout.
pub fn not_ignored<'d>(root: &Path, dirs: &[&'d str]) -> Vec<&'d str> {
    if git_dir(root).is_none() {
        return Vec::new();
    }
    let rules = match foreign::read_text(&root.join(".gitignore"), RULES) {
        Ok(rules) => rules,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(_) => return Vec::new(),
    };
    let rules: Vec<&str> = rules.lines().map(|rule| rule.trim().trim_matches('/')).collect();
    let is_open = |dir: &&&str| {
        !Path::new(dir)
            .ancestors()
            .any(|above| rules.iter().any(|rule| above == Path::new(rule) && !rule.is_empty()))
    };
    dirs.iter().filter(is_open).copied().collect()
}

/// Finds git's directory for this one.
fn git_dir(directory: &Path) -> Option<PathBuf> {
    let (checkout, git) = directory.ancestors().find_map(|dir| {
        let git = dir.join(".git");
        git.exists().then(|| (dir.to_owned(), git))
    })?;
    pointed_at(&checkout, &git)
}

/// Follows the `.git` file of a worktree or a submodule.
fn pointed_at(checkout: &Path, git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    let pointer = small_text(git)?;
    Some(checkout.join(pointer.strip_prefix("gitdir:")?.trim()))
}

/// Reads a file of a few lines. Does not wait for a pipe or a device.
fn small_text(path: &Path) -> Option<String> {
    foreign::read_text(path, foreign::POINTER).ok()
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
        assert_eq!(branch(&temp.join("repo")), None, "no HEAD");
        write(temp.join("repo/.git/HEAD"), "ref: refs/heads/feature/auth\n").unwrap();
        write(temp.join("repo/.git/worktrees/w/HEAD"), "ref: refs/heads/side\n").unwrap();
        write(temp.join("w/.git"), "gitdir: ../repo/.git/worktrees/w\n").unwrap();
        assert_eq!(branch(&temp.join("repo/src/deep")).as_deref(), Some("feature/auth"));
        assert_eq!(branch(&temp.join("w")).as_deref(), Some("side"));
        let (one, two, three) = ("1".repeat(40), "2".repeat(40), "3".repeat(40));
        assert_eq!(commit(&temp.join("repo")), None, "no such branch");
        write(temp.join("repo/.git/packed-refs"), format!("# x\n{one} refs/heads/feature/auth\n")).unwrap();
        assert_eq!(commit(&temp.join("repo/src")), Some(one));
        create_dir_all(temp.join("repo/.git/refs/heads")).unwrap();
        write(temp.join("repo/.git/refs/heads/side"), format!("{two}\n")).unwrap();
        write(temp.join("repo/.git/worktrees/w/commondir"), "../..\n").unwrap();
        assert_eq!(commit(&temp.join("w")), Some(two));
        write(temp.join("repo/.git/HEAD"), &three).unwrap();
        assert_eq!(commit(&temp.join("repo")), Some(three));
        assert_eq!(branch(&temp.join("repo")), None, "a commit without a branch");
        std::fs::remove_dir_all(temp).unwrap();
    }
}
