//! Finding the two roots: home (`~/.claude`) and project.

use std::path::{Path, PathBuf};

use crate::env;

/// What marks a directory as a project.
const MARKS: [&str; 4] = [".coordination", "coordination/pm_state.json", ".claude", ".git"];

/// Returns the home root.
pub fn home(given: Option<&Path>) -> PathBuf {
    let told = given
        .map(Path::to_owned)
        .or_else(|| env::path(env::ANTHILL_HOME))
        .or_else(|| env::path(env::CLAUDE_CONFIG_DIR));
    told.unwrap_or_else(|| env::path(env::HOME).unwrap_or_else(|| "/".into()).join(".claude"))
}

/// Returns the project root. What the user names is taken as it is; what is found is resolved to the main
/// checkout, so that all worktrees of a repository share one state.
pub fn project(given: Option<&Path>, home: &Path, cwd: &Path) -> PathBuf {
    if let Some(root) = given.map(Path::to_owned).or_else(|| env::path(env::ANTHILL_ROOT)) {
        return root;
    }
    let client = env::path(env::CLAUDE_PROJECT_DIR);
    main_checkout(&client.unwrap_or_else(|| nearest(cwd, home)))
}

fn nearest(cwd: &Path, home: &Path) -> PathBuf {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let is_home = |path: &Path| path.canonicalize().is_ok_and(|path| path == home);
    let marked =
        |dir: &&Path| MARKS.iter().map(|mark| dir.join(mark)).any(|mark| mark.exists() && !is_home(&mark));
    cwd.ancestors().find(marked).unwrap_or(cwd).to_owned()
}

/// Follows a worktree's `.git` file to the checkout that it belongs to.
fn main_checkout(dir: &Path) -> PathBuf {
    let followed = || {
        let pointer = std::fs::read_to_string(dir.join(".git")).ok()?;
        let gitdir = dir.join(pointer.strip_prefix("gitdir:")?.trim());
        // Only a worktree has a `commondir`; a submodule stands for itself.
        let common = std::fs::read_to_string(gitdir.join("commondir")).ok()?;
        let common = gitdir.join(common.trim()).canonicalize().ok()?;
        (common.file_name()? == ".git").then(|| common.parent().map(Path::to_owned))?
    };
    followed().unwrap_or_else(|| dir.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out directories")]
    fn the_nearest_mark_wins_home_is_no_mark_and_worktrees_share() {
        let temp = std::env::temp_dir().join(format!("anthill-roots-{}", std::process::id()));
        let temp = {
            create_dir_all(&temp).unwrap();
            temp.canonicalize().unwrap()
        };
        let (user, home) = (temp.join("user"), temp.join("user/.claude"));
        create_dir_all(&home).unwrap();
        create_dir_all(user.join("plain/deep")).unwrap();
        create_dir_all(user.join("repo/.git/worktrees/w")).unwrap();
        create_dir_all(user.join("repo/src")).unwrap();
        create_dir_all(user.join("w/src")).unwrap();
        write(user.join("repo/.git/worktrees/w/commondir"), "../..\n").unwrap();
        write(user.join("w/.git"), format!("gitdir: {}\n", user.join("repo/.git/worktrees/w").display()))
            .unwrap();

        assert_eq!(nearest(&user.join("repo/src"), &home), user.join("repo"));
        assert_eq!(
            nearest(&user.join("plain/deep"), &home),
            user.join("plain/deep"),
            "~/.claude marks no project"
        );
        assert_eq!(main_checkout(&nearest(&user.join("w/src"), &home)), user.join("repo"));
        create_dir_all(user.join("plain/.coordination")).unwrap();
        assert_eq!(nearest(&user.join("plain/deep"), &home), user.join("plain"));
        std::fs::remove_dir_all(temp).unwrap();
    }
}
