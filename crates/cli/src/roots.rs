//! Finding the two roots: home (`~/.claude`) and project.
//!
//! A project that is only found, not named, must be ours: whoever may write to a directory above, such as `/tmp`, could make it
//! the project of all who work below.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use anthill_core::store::file::owners;
use anthill_live::foreign;

use crate::env;

/// What marks a directory as a project.
const MARKS: [&str; 4] = [".coordination", "coordination/pm_state.json", ".claude", ".git"];

/// Where state is kept, as absolute paths. The project is looked for when it is first needed.
#[derive(Debug, Clone)]
pub struct Roots(Arc<RootsFound>);

#[derive(Debug)]
struct RootsFound {
    home: Option<PathBuf>,
    root: Option<PathBuf>,
    project: OnceLock<PathBuf>,
}

impl Roots {
    /// Takes the roots that were named; the others are looked for.
    pub fn new(home: Option<PathBuf>, root: Option<PathBuf>) -> Roots {
        Roots(Arc::new(RootsFound { home, root, project: OnceLock::new() }))
    }

    pub fn home(&self) -> io::Result<PathBuf> {
        absolute(home(self.0.home.as_deref())).map_err(|error| explained("the home root", error))
    }

    pub fn project(&self) -> io::Result<PathBuf> {
        if let Some(project) = self.0.project.get() {
            return Ok(project.clone());
        }
        let find = || absolute(project(self.0.root.as_deref(), &self.home()?)?);
        let project = find().map_err(|error| explained("the project root", error))?;
        Ok(self.0.project.get_or_init(|| project).clone())
    }
}

/// Returns the home root.
fn home(given: Option<&Path>) -> PathBuf {
    let told = given
        .map(Path::to_owned)
        .or_else(|| env::path(env::ANTHILL_HOME))
        .or_else(|| env::of_clients(|variables| variables.home).map(Into::into));
    told.unwrap_or_else(|| env::path(env::HOME).unwrap_or_else(|| "/".into()).join(".claude"))
}

/// Returns the project root. What the user names is taken as it is; what is found is resolved to the main
/// checkout, so that all worktrees of a repository share one state.
///
/// A place that cannot be looked at is an error: guessing would put state where nobody finds it.
fn project(given: Option<&Path>, home: &Path) -> io::Result<PathBuf> {
    if let Some(root) = given.map(Path::to_owned).or_else(|| env::path(env::ANTHILL_ROOT)) {
        return Ok(root);
    }
    match env::of_clients(|variables| variables.project) {
        Some(client) => main_checkout(Path::new(&client)),
        None => main_checkout(&nearest(&std::env::current_dir()?, home)?),
    }
}

/// Whether a directory belongs to the project of this root, as far as can be told.
pub fn is_within(dir: &Path, root: &Path, home: &Path) -> bool {
    let (Ok(dir), Ok(root)) = (dir.canonicalize(), root.canonicalize()) else { return false };
    let own = || main_checkout(&nearest(&dir, home)?)?.canonicalize();
    dir.starts_with(&root) || own().is_ok_and(|own| own == root)
}

fn nearest(cwd: &Path, home: &Path) -> io::Result<PathBuf> {
    for dir in cwd.ancestors() {
        for mark in MARKS {
            let mark = dir.join(mark);
            let Some(about) = found(mark.symlink_metadata())? else { continue };
            let target = if about.is_symlink() { found(mark.metadata())? } else { None };
            // A broken link marks nothing.
            if about.is_symlink() && target.is_none() || is_same(&mark, about.is_symlink(), home)? {
                continue;
            }
            check_owner(dir, &mark, &[about.uid(), target.map_or(about.uid(), |target| target.uid())])?;
            return Ok(dir.to_owned());
        }
    }
    Ok(cwd.to_owned())
}

/// Refuses a project that somebody else has made, unless its directory is shared on purpose.
fn check_owner(dir: &Path, mark: &Path, owners: &[u32]) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    // Root may read and write everything, and what it writes keeps its owner.
    if own == 0 {
        return Ok(());
    }
    let about = dir.metadata()?;
    let strange = owners.iter().chain([&about.uid()]).find(|owner| **owner != own && **owner != 0).copied();
    match strange {
        Some(strange) if !is_shared(&about) => {
            let (root, mark, owner) = (dir.to_owned(), mark.to_owned(), user_name(strange));
            Err(io::Error::new(io::ErrorKind::PermissionDenied, Stranger { root, mark, owner }))
        }
        _ => Ok(()),
    }
}

/// Whether a directory is shared with a group of ours.
fn is_shared(about: &Metadata) -> bool {
    let is_member = || {
        let groups = rustix::process::getgroups().unwrap_or_default();
        rustix::process::getegid().as_raw() == about.gid()
            || groups.iter().any(|group| group.as_raw() == about.gid())
    };
    owners::is_shared(about.mode()) && is_member()
}

/// A project root that belongs to somebody else.
#[derive(Debug)]
pub struct Stranger {
    pub root: PathBuf,
    mark: PathBuf,
    owner: String,
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stranger { root, mark, owner } = self;
        let (root, mark) = (root.display(), mark.display());
        write!(f, "`{mark}` makes `{root}` the project here, but it belongs to {owner} and not to you")
    }
}

impl std::error::Error for Stranger {}

/// Returns the project of somebody else that caused this error.
pub fn stranger(error: &io::Error) -> Option<&Stranger> {
    error.get_ref()?.downcast_ref()
}

/// Returns the name of the current user.
pub fn own_name() -> String {
    let uid = rustix::process::getuid().as_raw();
    name_of(uid).unwrap_or_else(|| format!("uid-{uid}"))
}

/// Names a user in a sentence.
pub fn user_name(uid: u32) -> String {
    name_of(uid).map_or_else(|| format!("user {uid}"), |name| format!("`{name}`"))
}

/// Looks only into the password file: a static program cannot ask anything else.
fn name_of(uid: u32) -> Option<String> {
    let users = foreign::read_text(Path::new("/etc/passwd"), foreign::CONFIG).unwrap_or_default();
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

/// Whether both names lead to one directory. Only what has the same name is worth a closer look.
fn is_same(mark: &Path, is_link: bool, home: &Path) -> io::Result<bool> {
    if mark.file_name() != home.file_name() && !is_link && !home.is_symlink() {
        return Ok(false);
    }
    let place =
        |path: &Path| Ok::<_, io::Error>(found(path.canonicalize())?.unwrap_or_else(|| path.to_owned()));
    Ok(place(mark)? == place(home)?)
}

/// Follows a worktree's `.git` file to the checkout that it belongs to.
fn main_checkout(dir: &Path) -> io::Result<PathBuf> {
    let stays = Ok(dir.to_owned());
    let git = dir.join(".git");
    // Mostly it is a directory, and one look is enough.
    if found(git.metadata())?.is_none_or(|git| !git.is_file()) {
        return stays;
    }
    let Some(pointer) = found(foreign::read_text(&git, foreign::POINTER))? else { return stays };
    let Some(gitdir) = pointer.strip_prefix("gitdir:") else { return stays };
    let gitdir = dir.join(gitdir.trim());
    // Only a worktree has a `commondir`; a submodule is a project of its own.
    let Some(common) = found(foreign::read_text(&gitdir.join("commondir"), foreign::POINTER))? else {
        return stays;
    };
    let Some(common) = found(gitdir.join(common.trim()).canonicalize())? else { return stays };
    match (common.file_name(), common.parent()) {
        (Some(name), Some(main)) if name == ".git" => {
            check_owner(main, &common, &[common.metadata()?.uid()])?;
            Ok(main.to_owned())
        }
        _ => stays,
    }
}

fn explained(what: &str, error: io::Error) -> io::Error {
    if stranger(&error).is_some() {
        return error;
    }
    io::Error::new(error.kind(), format!("cannot find {what}: {error}"))
}

fn absolute(path: PathBuf) -> io::Result<PathBuf> {
    if path.is_absolute() { Ok(path) } else { Ok(std::env::current_dir()?.join(path)) }
}

/// Separates "it is not there, or not for us" from a failing disk.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    use io::ErrorKind::{
        FileTooLarge, InvalidData, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied,
    };
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => match error.kind() {
            FileTooLarge | InvalidData | InvalidInput | IsADirectory | NotADirectory | NotFound
            | PermissionDenied => Ok(None),
            _ => Err(error),
        },
    }
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

        assert_eq!(nearest(&user.join("repo/src"), &home).unwrap(), user.join("repo"));
        assert_eq!(
            nearest(&user.join("plain/deep"), &home).unwrap(),
            user.join("plain/deep"),
            "~/.claude marks no project"
        );
        assert_eq!(main_checkout(&nearest(&user.join("w/src"), &home).unwrap()).unwrap(), user.join("repo"));
        create_dir_all(user.join("plain/.coordination")).unwrap();
        assert_eq!(nearest(&user.join("plain/deep"), &home).unwrap(), user.join("plain"));
        std::fs::remove_dir_all(temp).unwrap();
    }
}
