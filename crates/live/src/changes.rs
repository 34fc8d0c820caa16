//! What really changes while an agent is at work, by git: a look before, a look after, and the difference.
//!
//! A file counts if its content differs afterwards, whether it was edited, added, removed or committed. A file that was dirty before
//! counts only if its content changed again. Files that git ignores are not seen, and those that anthill writes do not count. Without
//! git there is no record, and nothing fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anthill_core::model::changes::Changes;
use anthill_core::store::file::addresses;
use serde_json::{Value, json};

use crate::git;
use crate::hooks::fingerprint;

/// How much a look may cost. If it would cost more, there is no result.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// For each question to git.
    patience: Duration,
    /// How many files may differ from the commit.
    files: usize,
    /// A longer file is compared by its length and time instead of its content.
    long: u64,
}

impl Effort {
    /// For somebody who starts an agent anyway.
    pub const RUN: Effort = Effort { patience: git::PATIENCE, files: usize::MAX, long: 16 << 20 };

    /// For a hook, which a client waits for.
    pub const HOOK: Effort = Effort { patience: Duration::from_millis(300), files: 200, long: 256 << 10 };
}

/// A checkout at one moment.
#[derive(Debug)]
pub struct Before {
    effort: Effort,
    place: Place,
    /// `None` before the first commit.
    head: Option<String>,
    /// What the files were that differed from the commit.
    marks: BTreeMap<String, Mark>,
}

/// Where the project is in its repository.
#[derive(Debug)]
struct Place {
    top: PathBuf,
    /// From the top to the project, with a slash at its end.
    prefix: String,
}

/// What git says of a checkout, by paths from its top.
#[derive(Debug)]
struct State {
    /// `None` before the first commit.
    head: Option<String>,
    dirty: BTreeSet<String>,
}

/// What a file is, in a word: its content's sum, where it leads, or its length and time.
type Mark = String;

/// Looks at the checkout that a directory is in, if it is in one.
pub fn look(root: &Path, effort: Effort) -> Option<Before> {
    let place = Place::of(root, effort)?;
    let State { head, dirty } = State::of(&place, effort)?;
    let mark = |path: String| {
        let mark = mark(&place.top.join(&path), effort);
        (path, mark)
    };
    let marks = dirty.into_iter().map(mark).collect();
    Some(Before { effort, place, head, marks })
}

impl Before {
    /// Returns what has changed since, if git can tell. `shared` says that others were at work there, too.
    pub fn since(&self, shared: bool) -> Option<Changes> {
        let Before { effort, place, head, marks } = self;
        let now = State::of(place, *effort)?;
        let committed = match *head == now.head {
            true => Vec::new(),
            false => committed(place, head.as_deref(), now.head.as_deref(), *effort)?,
        };
        let changed: BTreeSet<&String> = marks.keys().chain(&now.dirty).chain(&committed).collect();
        let changed = changed.into_iter().filter(|path| match marks.get(*path) {
            Some(before) => *before != mark(&place.top.join(path), *effort),
            None => true,
        });
        let named = changed.map(|path| place.seen(path));
        Some(Changes::of(named.filter(|path| !place.is_ours(path)).collect(), shared))
    }

    /// Returns it for another process that looks later.
    pub fn value(&self) -> Value {
        json!({"top": self.place.top.to_str(), "head": self.head, "dirty": self.marks})
    }

    /// Uses the look of another process, if it was at this checkout.
    pub fn of(value: &Value, root: &Path, effort: Effort) -> Option<Before> {
        let place = Place::of(root, effort)?;
        let marks = serde_json::from_value(value["dirty"].clone()).ok()?;
        let head = value["head"].as_str().map(str::to_owned);
        (place.top.to_str() == value["top"].as_str()).then_some(Before { effort, place, head, marks })
    }
}

impl Place {
    fn of(root: &Path, effort: Effort) -> Option<Place> {
        let said = git::ask(root, &["rev-parse", "--show-toplevel", "--show-prefix"], effort.patience)?;
        let said = String::from_utf8(said).ok()?;
        let (top, prefix) = said.split_once('\n')?;
        Some(Place { top: top.into(), prefix: prefix.trim_end_matches('\n').to_owned() })
    }

    /// Returns a path as seen from the project.
    fn seen(&self, path: &str) -> String {
        match path.strip_prefix(&self.prefix) {
            Some(below) => below.to_owned(),
            None => "../".repeat(self.prefix.matches('/').count()) + path,
        }
    }

    /// Whether anthill itself writes there.
    fn is_ours(&self, path: &str) -> bool {
        addresses::is_ours(path, &self.top.join(&self.prefix))
    }
}

impl State {
    fn of(place: &Place, effort: Effort) -> Option<State> {
        let args = ["status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all"];
        let state = State::read(&git::ask(&place.top, &args, effort.patience)?);
        (state.dirty.len() <= effort.files).then_some(state)
    }

    fn read(said: &[u8]) -> State {
        let mut state = State { head: None, dirty: BTreeSet::new() };
        for line in said.split(|byte| *byte == 0) {
            let line = String::from_utf8_lossy(line);
            // How many words stand before the path.
            let words = match line.split(' ').next() {
                Some("#") => {
                    let head = line.strip_prefix("# branch.oid ").filter(|oid| !oid.starts_with('('));
                    state.head = head.map(str::to_owned).or(state.head);
                    continue;
                }
                Some("1") => 8,
                Some("u") => 10,
                Some("?") => 1,
                _ => continue,
            };
            state.dirty.extend(line.splitn(words + 1, ' ').nth(words).map(str::to_owned));
        }
        state
    }
}

/// Returns the files in which two commits differ.
fn committed(place: &Place, from: Option<&str>, to: Option<&str>, effort: Effort) -> Option<Vec<String>> {
    let diff = ["diff", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff"];
    let list = ["ls-tree", "-r", "--name-only", "-z"];
    let args = match (from, to) {
        (Some(from), Some(to)) => [&diff[..], &[from, to, "--"]].concat(),
        (one, other) => [&list[..], &[one.or(other)?]].concat(),
    };
    let said = git::ask(&place.top, &args, effort.patience)?;
    let names = said.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Some(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

fn mark(path: &Path, effort: Effort) -> Mark {
    let Ok(about) = path.symlink_metadata() else { return "gone".into() };
    let told = || {
        let since = |at: SystemTime| at.duration_since(UNIX_EPOCH).ok();
        format!("{} bytes of {:?}", about.len(), about.modified().ok().and_then(since))
    };
    match about.file_type() {
        kind if kind.is_symlink() => {
            fs::read_link(path).map_or_else(|_| told(), |to| format!("link {}", to.display()))
        }
        kind if kind.is_file() && about.len() <= effort.long => {
            fs::read(path).map_or_else(|_| told(), |bytes| fingerprint::sha256(&bytes))
        }
        kind if kind.is_dir() => "directory".into(),
        _ => told(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tempfile::TempDir;

    use super::*;

    struct Repo(TempDir);

    impl Repo {
        fn new() -> Repo {
            let repo = Repo(tempfile::tempdir().unwrap());
            repo.sh("git init -q && echo 1 >a && echo 1 >b && mkdir -p sub && echo 1 >sub/c && git add . && git commit -q -m one");
            repo
        }

        #[track_caller]
        fn sh(&self, line: &str) {
            let mut command = Command::new("sh");
            command.args(["-ec", line]).current_dir(self.0.path()).env("HOME", self.0.path());
            for name in ["AUTHOR", "COMMITTER"] {
                command
                    .env(format!("GIT_{name}_NAME"), "t")
                    .env(format!("GIT_{name}_EMAIL"), "t@example.org");
            }
            assert!(command.status().unwrap().success(), "{line}");
        }

        #[track_caller]
        fn changes(&self, line: &str) -> Vec<String> {
            let before = look(self.0.path(), Effort::RUN).expect("a repository");
            self.sh(line);
            files(&before.since(false).expect("it still is").value())
        }
    }

    fn files(value: &Value) -> Vec<String> {
        serde_json::from_value(value["files"].clone()).unwrap()
    }

    #[test]
    fn every_way_to_change_a_file_counts() {
        let repo = Repo::new();
        let check = |line: &str, expected: &[&str]| assert_eq!(repo.changes(line), expected, "{line}");
        check("true", &[]);
        check("echo 2 >a", &["a"]);
        check("echo 2 >a", &[]);
        check("echo 3 >a", &["a"]);
        check("git commit -q -a -m two", &[]);
        check("echo 4 >b && git commit -q -a -m three", &["b"]);
        check(
            "mkdir -p new/deep && echo 1 >new/deep/x && echo 1 >'new/o d\nd'",
            &["new/deep/x", "new/o d\nd"],
        );
        check("echo 2 >new/deep/x", &["new/deep/x"]);
        check("rm new/deep/x sub/c", &["new/deep/x", "sub/c"]);
        check("git mv b moved", &["b", "moved"]);
        check("git rm -q a && git commit -q -m four", &["a"]);
        check("git checkout -q HEAD~1", &["a", "b", "moved"]);
        check("git checkout -q -f HEAD~1 && git clean -fdq", &["b", "new/o d\nd", "sub/c"]);
        check("ln -s a link", &["link"]);
        check("ln -sf b link", &["link"]);
        check("touch a && git status >/dev/null", &[]);
        check("chmod +x a", &["a"]);
    }

    #[test]
    fn what_is_ignored_or_ours_does_not_count() {
        let repo = Repo::new();
        repo.sh("echo target >.gitignore");
        let line = "mkdir -p target .coordination .claude/state coordination .claude && \
                    touch target/x .coordination/tasks.json .claude/state/x .claude/workflow_state_system.md .claude/mine coordination/x";
        assert_eq!(repo.changes(line), [".claude/mine", "coordination/x"]);
        repo.sh("touch coordination/pm_state.json");
        assert_eq!(repo.changes("echo 1 >coordination/y"), [""; 0], "now it is a pipeline");
    }

    #[test]
    fn a_project_may_be_a_part_of_its_repository() {
        let repo = Repo::new();
        let before = look(&repo.0.path().join("sub"), Effort::RUN).unwrap();
        repo.sh("echo 2 >a && echo 2 >sub/c");
        assert_eq!(files(&before.since(true).unwrap().value()), ["../a", "c"]);
        assert_eq!(before.since(true).unwrap().value()["shared"], true);
    }

    #[test]
    fn a_repository_may_be_new_or_none_at_all() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            look(dir.path(), Effort::RUN).is_none()
                && look(Path::new("/nowhere/at/all"), Effort::RUN).is_none()
        );
        let repo = Repo(dir);
        repo.sh("git init -q && echo 1 >old");
        assert_eq!(repo.changes("echo 1 >new && git add new && git commit -q -m one"), ["new"]);
        let before = look(repo.0.path(), Effort::RUN).unwrap();
        repo.sh("rm -r .git");
        assert_eq!(before.since(false), None);
    }

    #[test]
    fn another_process_may_look_later() {
        let repo = Repo::new();
        repo.sh("echo 2 >a && echo 1 >new");
        let root = repo.0.path();
        let kept = look(root, Effort::HOOK).unwrap().value();
        let later =
            |place: &Path| Some(files(&Before::of(&kept, place, Effort::HOOK)?.since(false)?.value()));
        assert_eq!(later(root).unwrap(), [""; 0]);
        repo.sh("echo 2 >b && git commit -q -m two b && echo 2 >new");
        assert_eq!(later(root).unwrap(), ["b", "new"]);
        // A worktree is another checkout.
        repo.sh("git worktree add -q wt");
        assert_eq!(later(&root.join("wt")), None);
        assert!(Before::of(&json!({"dirty": 1}), root, Effort::HOOK).is_none());
    }

    #[test]
    fn a_hook_does_not_look_at_very_much() {
        let repo = Repo::new();
        repo.sh("mkdir many && for n in $(seq 250); do echo 1 >many/$n; done");
        assert!(look(repo.0.path(), Effort::HOOK).is_none() && look(repo.0.path(), Effort::RUN).is_some());
    }

    #[test]
    fn gits_words_are_read() {
        let said = b"# branch.oid abc\0# branch.head main\x001 .M N... 1 1 1 h h a b\0u UU N... 1 1 1 1 h h h c\0? d e\0! f\0";
        let state = State::read(said);
        assert_eq!(state.head.as_deref(), Some("abc"));
        assert_eq!(json!(state.dirty), json!(["a b", "c", "d e"]));
        assert_eq!(State::read(b"# branch.oid (initial)\0").head, None);
    }
}
