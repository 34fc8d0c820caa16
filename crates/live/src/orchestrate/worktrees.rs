//! A git worktree for every group, below `.claude/worktrees`, on the group's branch. What is complete is merged into the
//! branch that is checked out in the project root; what would not merge goes back to its developer instead.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{MutexGuard, PoisonError};

use anthill_core::model::ids::Key;
use anthill_core::model::pipeline::table::{Outcome, Purpose, Role};
use anthill_core::model::pipeline::{Content, NO_GROUP, Order, Pipeline, is_branch, text};
use anthill_core::ops;
use anthill_core::ops::orchestrate::Answer;
use anthill_core::ops::pipeline::Report;
use serde_json::json;

use super::{Event, Orchestra, Result};

const DIR: &str = ".claude/worktrees";

/// How many files in conflict are named: a report has a largest size.
const MOST: usize = 50;

/// Why git did not do something.
type Told<T> = std::result::Result<T, String>;

/// The worktrees of a run. Whoever asks has taken its turn, [`Orchestra::turn`].
pub struct Worktrees {
    root: PathBuf,
}

impl Worktrees {
    /// Refuses a project root that is on no branch.
    pub fn new(root: &Path) -> Result<Worktrees> {
        let worktrees = Worktrees { root: root.to_owned() };
        let refused = |what: String| {
            let hint = "make a first commit on a branch: git init && git add -A && git commit\nor leave --worktrees out";
            ops::Error::refused(format!("no worktrees can be made here: {what}"), hint)
        };
        worktrees
            .branch()
            .and_then(|_| worktrees.git(&["rev-parse", "--verify", "HEAD"]))
            .map_err(refused)?;
        Ok(worktrees)
    }

    /// Returns the branch that is checked out in the project root.
    fn branch(&self) -> Told<String> {
        self.git(&["symbolic-ref", "--short", "HEAD"])
    }

    /// Returns where a group works, which is made if it is not there.
    fn place(&self, run: &Pipeline, group: &str) -> Told<PathBuf> {
        let (place, branch) = (self.path(run, group)?, branch_of(run, group)?);
        if place.join(".git").exists() {
            return Ok(place);
        }
        self.hide().map_err(|error| format!("cannot make `{DIR}`: {error}"))?;
        self.git(&["worktree", "prune"])?;
        let path = place.to_string_lossy();
        match self.exists(branch) {
            true => self.git(&["worktree", "add", "--", &path, branch])?,
            false => self.git(&["worktree", "add", "-b", branch, "--", &path, "HEAD"])?,
        };
        Ok(place)
    }

    fn path(&self, run: &Pipeline, group: &str) -> Told<PathBuf> {
        let id = |id: &str| id.parse::<Key>().map_err(|error| error.to_string());
        Ok(self.root.join(DIR).join(format!("{}-{}", id(run.session())?, id(group)?)))
    }

    /// Makes the directory, which tells git that nothing in it belongs to the project.
    fn hide(&self) -> std::io::Result<()> {
        let dir = self.root.join(DIR);
        fs::create_dir_all(&dir)?;
        match OpenOptions::new().write(true).create_new(true).open(dir.join(".gitignore")) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            file => file?.write_all(b"*\n"),
        }
    }

    fn exists(&self, branch: &str) -> bool {
        self.git(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]).is_ok()
    }

    /// Returns the files that both sides have changed in different ways.
    fn conflicts(&self, branch: &str) -> Told<Vec<String>> {
        if !self.exists(branch) {
            return Ok(Vec::new());
        }
        let merged =
            self.output(&["merge-tree", "--write-tree", "--name-only", "--no-messages", "HEAD", branch])?;
        match merged.status.code() {
            Some(0) => Ok(Vec::new()),
            Some(1) => {
                let names = String::from_utf8_lossy(&merged.stdout).into_owned();
                Ok(names.lines().skip(1).filter(|name| !name.is_empty()).take(MOST).map(Into::into).collect())
            }
            _ => Err(String::from_utf8_lossy(&merged.stderr).trim().to_owned()),
        }
    }

    /// Merges a group's branch. Returns whether there was something to merge.
    fn merge(&self, run: &Pipeline, group: &str) -> Told<bool> {
        let branch = branch_of(run, group)?;
        let is_new =
            self.exists(branch) && self.git(&["merge-base", "--is-ancestor", branch, "HEAD"]).is_err();
        if is_new {
            let message = format!("Merge group {group} ({branch})");
            if let Err(error) = self.git(&["merge", "--no-ff", "-m", &message, branch]) {
                // Where no merge has begun, there is none to end.
                let _ = self.git(&["merge", "--abort"]);
                return Err(error);
            }
        }
        Ok(is_new)
    }

    /// Takes a group's worktree away. What somebody left there uncommitted stays, and is an error.
    fn remove(&self, run: &Pipeline, group: &str) -> Told<()> {
        let place = self.path(run, group)?;
        if place.join(".git").exists() {
            self.git(&["worktree", "remove", "--", &place.to_string_lossy()])?;
        }
        Ok(())
    }

    /// Returns what git said, or why it failed.
    fn git(&self, args: &[&str]) -> Told<String> {
        let output = self.output(args)?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(said(&output.stdout)),
            false => {
                let told = [said(&output.stderr), said(&output.stdout), format!("git {} failed", args[0])];
                Err(told.into_iter().find(|text| !text.is_empty()).unwrap_or_default())
            }
        }
    }

    fn output(&self, args: &[&str]) -> Told<std::process::Output> {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.root).args(args);
        // A hook of git may have started us.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        command.output().map_err(|error| format!("cannot run git: {error}"))
    }
}

fn branch_of<'p>(run: &'p Pipeline, group: &str) -> Told<&'p str> {
    let branch = run.task_group(group).map_or("", |group| text(group, "branch_name"));
    let found = Some(branch).filter(|branch| is_branch(branch));
    found.ok_or_else(|| format!("`{branch}` is no name for a branch"))
}

impl Orchestra<'_> {
    /// Lets one at a time look at branches and change them.
    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns where the agent of an order works.
    pub(super) fn workplace(&self, run: &Pipeline, order: &Order) -> Told<PathBuf> {
        match &self.worktrees {
            Some(worktrees) if order.group != NO_GROUP && order.role != Role::Pm => {
                worktrees.place(run, &order.group)
            }
            _ => Ok(self.job.site.root.clone()),
        }
    }

    /// Returns what to say to the developer instead of a review, if the group's branch would not merge.
    pub(super) fn unmergeable(&self, run: &Pipeline, order: &Order) -> Told<Option<Report>> {
        let Some(worktrees) = self.worktrees.as_ref().filter(|_| order.purpose == Purpose::Review) else {
            return Ok(None);
        };
        let (base, branch) = (worktrees.branch()?, branch_of(run, &order.group)?);
        let files = worktrees.conflicts(branch)?;
        Ok((!files.is_empty()).then(|| {
            let feedback = format!(
                "{branch} does not merge into {base}: conflicts in {}. Merge {base} into {branch}, resolve them, test, and commit.",
                files.join(", ")
            );
            let content = Content::from_iter([("feedback".to_owned(), feedback.into()), ("conflicts".to_owned(), json!(files))]);
            super::answer::made(order, Outcome::ChangesRequested, content)
        }))
    }

    /// Merges what is complete. An error says which group cannot be merged, and why.
    pub(super) fn merge_complete(&self, run: &Pipeline) -> Told<()> {
        let Some(worktrees) = &self.worktrees else { return Ok(()) };
        for group in run.group_ids().filter(|id| run.is_complete(id)) {
            if self.known().merged.contains(group) {
                continue;
            }
            let unmerged = |error: String| {
                let branch = branch_of(run, group).unwrap_or_default();
                format!(
                    "group {group} is approved, but {branch} cannot be merged: {}; merge it by hand",
                    error.replace('\n', " ")
                )
            };
            if worktrees.merge(run, group).map_err(unmerged)? {
                let branch = branch_of(run, group).unwrap_or_default().to_owned();
                self.tell(Event::Merged { group: group.to_owned(), branch });
            }
            if let Err(error) = worktrees.remove(run, group) {
                self.tell(Event::Warning(format!("the worktree of group {group} stays: {error}")));
            }
            self.known().merged.insert(group.to_owned());
        }
        Ok(())
    }

    /// Whether an answer would complete a group.
    pub(super) fn approves(answer: &Answer) -> bool {
        matches!(answer, Answer::Report(report) if report.role == Role::TechLead && report.status == "APPROVED")
    }
}
