//! A git worktree for every group, below `.claude/worktrees`, on the group's branch. What is complete is merged into the
//! branch that is checked out in the project root; what does not merge goes back to its developer.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{MutexGuard, PoisonError};
use std::time::SystemTime;

use anthill_core::hint;
use anthill_core::model::documents::pipeline::TaskGroup;
use anthill_core::model::ids::Key;
use anthill_core::model::next::With;
use anthill_core::model::pipeline::table::{Outcome, Purpose, Role};
use anthill_core::model::pipeline::{Content, NO_GROUP, Order, Pipeline, is_branch, text};
use anthill_core::ops;
use anthill_core::ops::orchestrate::Answer;
use anthill_core::ops::pipeline::Report;
use anthill_core::store::Seat;
use anthill_core::store::file::owners::{self, Rule};
use rustix::fs::Mode;
use serde_json::json;

use super::{Error, Event, Job, PipelineRun, Result};
use crate::{foreign, git};

const DIR: &str = ".claude/worktrees";

/// How many files in conflict are named: a report has a largest size.
const MOST: usize = 50;

/// Why git did not do something.
type GitResult<T> = std::result::Result<T, String>;

/// The worktrees of a run. The caller holds [`PipelineRun::turn`].
pub struct Worktrees<'s> {
    root: PathBuf,
    /// What git holds while it runs, even if we are killed meanwhile.
    seat: &'s dyn Seat,
    /// Where git writes its output: a pipe to us would kill it when we are killed.
    scratch: PathBuf,
    begun: SystemTime,
}

impl<'s> Worktrees<'s> {
    /// Refuses a project root without a branch, or whose worktrees would lie outside it.
    pub fn new(job: &Job, seat: &'s dyn Seat, scratch: &Path) -> Result<Worktrees<'s>> {
        let (root, scratch) = (job.site.root.clone(), scratch.to_owned());
        if !job.follow_links
            && let Some(elsewhere) = foreign::leads_out(&root, DIR)
        {
            let message =
                format!("`{DIR}` is a link that leads out of the project, to `{}`", elsewhere.display());
            let hint =
                hint!["if that is meant, add ", With::FollowLinks, "; or leave ", With::Worktrees, " out"];
            return Err(ops::Error::refused(message, hint).into());
        }
        // By the clock that files are dated by.
        let made = scratch.metadata().and_then(|scratch| scratch.modified());
        let begun = made.map_err(|source| Error::Io { action: "look at a directory of ours", source })?;
        let worktrees = Worktrees { root, seat, scratch, begun };
        let refused = |what: String| {
            let first = "make a first commit on a branch: git init && git add -A && git commit\nor leave ";
            let hint = hint![first, With::Worktrees, " out"];
            ops::Error::refused(format!("no worktrees can be made here: {what}"), hint)
        };
        worktrees
            .branch()
            .and_then(|_| worktrees.git(&["rev-parse", "--verify", "HEAD"]))
            .map_err(refused)?;
        Ok(worktrees)
    }

    /// Returns the branch that is checked out in the project root.
    fn branch(&self) -> GitResult<String> {
        self.git(&["symbolic-ref", "--short", "HEAD"])
    }

    /// Returns where a group works, which is made if it is not there.
    fn place(&self, run: &Pipeline, group: &str) -> GitResult<PathBuf> {
        let (place, branch) = (self.path(run, group)?, branch_of(run, group)?);
        if self.is_half_made(&place)? {
            self.discard(&place)?;
        }
        if place.join(".git").exists() {
            self.unlock(&place, branch)?;
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

    /// Whether git was killed while it made this worktree: it locks one until it is made.
    fn is_half_made(&self, place: &Path) -> GitResult<bool> {
        let known = self.git(&["worktree", "list", "--porcelain"])?;
        let name = format!("worktree {}", place.display());
        let mut ours = known.split("\n\n").filter(|about| about.lines().next() == Some(&name));
        Ok(ours.any(|about| about.lines().any(|line| line == "locked initializing")))
    }

    /// Removes a worktree that nobody has worked in.
    fn discard(&self, place: &Path) -> GitResult<()> {
        match fs::remove_dir_all(place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(format!("cannot remove `{}`: {error}", place.display()));
            }
            Ok(()) | Err(_) => {}
        }
        self.git(&["worktree", "unlock", &place.to_string_lossy()]).map(drop)
    }

    /// Removes the locks that a killed git left: all agents of an earlier run are gone.
    fn unlock(&self, place: &Path, branch: &str) -> GitResult<()> {
        let branch = format!("refs/heads/{branch}.lock");
        let locks = ["index.lock", "HEAD.lock", &branch].map(|lock| ["--git-path", lock]);
        let locks = self.git_in(place, &[&["rev-parse"], locks.as_flattened()].concat())?;
        for lock in locks.lines().map(|lock| place.join(lock)) {
            let made = lock.metadata().and_then(|lock| lock.modified());
            if made.is_ok_and(|made| made < self.begun) {
                #[expect(clippy::disallowed_methods, reason = "it is no state file")]
                fs::remove_file(&lock)
                    .map_err(|error| format!("cannot remove `{}`: {error}", lock.display()))?;
            }
        }
        Ok(())
    }

    fn path(&self, run: &Pipeline, group: &str) -> GitResult<PathBuf> {
        let id = |id: &str| id.parse::<Key>().map_err(|error| error.to_string());
        Ok(self.root.join(DIR).join(format!("{}-{}", id(run.session())?, id(group)?)))
    }

    /// Makes the directory, which tells git that nothing in it belongs to the project.
    fn hide(&self) -> io::Result<()> {
        let dir = self.root.join(DIR);
        owners::make_dirs(&dir, Mode::from_raw_mode(0o777), |_| Ok(()))?;
        let mut file = match OpenOptions::new().write(true).create_new(true).open(dir.join(".gitignore")) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            file => file?,
        };
        Rule::of(File::open(&dir)?.as_fd())?.hand_over(file.as_fd())?;
        file.write_all(b"*\n")
    }

    fn exists(&self, branch: &str) -> bool {
        self.git(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]).is_ok()
    }

    /// Returns the files that both sides have changed in different ways.
    fn conflicts(&self, branch: &str) -> GitResult<Vec<String>> {
        if !self.exists(branch) {
            return Ok(Vec::new());
        }
        let merged = self.output(
            &self.root,
            &["merge-tree", "--write-tree", "--name-only", "--no-messages", "HEAD", branch],
        )?;
        match merged.status.code() {
            Some(0) => Ok(Vec::new()),
            Some(1) => {
                let names = String::from_utf8_lossy(&merged.stdout).into_owned();
                Ok(names.lines().skip(1).filter(|name| !name.is_empty()).take(MOST).map(Into::into).collect())
            }
            _ => Err(String::from_utf8_lossy(&merged.stderr).trim().to_owned()),
        }
    }

    /// Returns the files that somebody forgot to commit: those that git knows, or any if the branch has nothing new.
    fn forgotten(&self, place: &Path, branch: &str) -> GitResult<Vec<String>> {
        if !place.join(".git").exists() {
            return Ok(Vec::new());
        }
        let nothing_new = self.is_merged(branch);
        let status = self.git_in(place, &["status", "--porcelain"])?;
        let files = status.lines().filter(|line| nothing_new || !line.starts_with("??"));
        Ok(files
            .filter_map(|line| line.trim_start().split_once(' '))
            .map(|(_, name)| name.trim().to_owned())
            .take(MOST)
            .collect())
    }

    /// Whether all of a branch is in the branch of the project root.
    fn is_merged(&self, branch: &str) -> bool {
        self.git(&["merge-base", "--is-ancestor", branch, "HEAD"]).is_ok()
    }

    /// Merges a group's branch. Returns whether there was something to merge.
    fn merge(&self, run: &Pipeline, group: &str) -> GitResult<bool> {
        let branch = branch_of(run, group)?;
        let is_new = self.exists(branch) && !self.is_merged(branch);
        if is_new && self.git(&["rev-parse", "--verify", "--quiet", "MERGE_HEAD"]).is_ok() {
            return Err("another merge has begun in the project root and is not committed".into());
        }
        if is_new {
            let message = format!("Merge group {group} ({branch})");
            if let Err(error) = self.git(&["merge", "--no-ff", "-m", &message, branch]) {
                // Perhaps no merge has begun.
                let _ = self.git(&["merge", "--abort"]);
                return Err(error);
            }
        }
        Ok(is_new)
    }

    /// Removes a group's worktree. Uncommitted changes stay, and are an error.
    fn remove(&self, run: &Pipeline, group: &str) -> GitResult<()> {
        let place = self.path(run, group)?;
        if place.join(".git").exists() {
            self.git(&["worktree", "remove", "--", &place.to_string_lossy()])?;
        }
        Ok(())
    }

    /// Returns what git said in the project root, or why it failed.
    fn git(&self, args: &[&str]) -> GitResult<String> {
        self.git_in(&self.root, args)
    }

    fn git_in(&self, place: &Path, args: &[&str]) -> GitResult<String> {
        let output = self.output(place, args)?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(said(&output.stdout)),
            false => {
                let told = [said(&output.stderr), said(&output.stdout), format!("git {} failed", args[0])];
                Err(told.into_iter().find(|text| !text.is_empty()).unwrap_or_default())
            }
        }
    }

    fn output(&self, place: &Path, args: &[&str]) -> GitResult<Output> {
        let mut command = git::command(place);
        // It reads nothing, so its stdin can be what it holds.
        command.args(args).stdin(self.seat.for_child());
        let (out, err) = (self.scratch.join("git.out"), self.scratch.join("git.err"));
        let mut ran = || {
            let status = command.stdout(emptied(&out)?).stderr(emptied(&err)?).status()?;
            Ok(Output { status, stdout: fs::read(&out)?, stderr: fs::read(&err)? })
        };
        ran().map_err(|error: io::Error| format!("cannot run git: {error}"))
    }
}

fn emptied(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).open(path)
}

fn branch_of<'p>(run: &'p Pipeline, group: &str) -> GitResult<&'p str> {
    let branch = run.task_group(group).map_or("", |group| text(group, TaskGroup::branch_name));
    let found = Some(branch).filter(|branch| is_branch(branch));
    found.ok_or_else(|| format!("`{branch}` is no name for a branch"))
}

impl PipelineRun<'_> {
    /// Lets one at a time look at branches and change them.
    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns where the agent of an order works.
    pub(super) fn workplace(&self, run: &Pipeline, order: &Order) -> GitResult<PathBuf> {
        match &self.worktrees {
            Some(worktrees) if order.group != NO_GROUP && order.role != Role::Pm => {
                worktrees.place(run, &order.group)
            }
            _ => Ok(self.job.site.root.clone()),
        }
    }

    /// Returns the report to the developer that replaces a review, if the group's branch does not merge, or not completely.
    pub(super) fn unmergeable(&self, run: &Pipeline, order: &Order) -> GitResult<Option<Report>> {
        let Some(worktrees) = self.worktrees.as_ref().filter(|_| order.purpose == Purpose::Review) else {
            return Ok(None);
        };
        let (base, branch) = (worktrees.branch()?, branch_of(run, &order.group)?);
        let sent_back = |feedback: String, field: &str, files: Vec<String>| {
            let content = [("feedback".to_owned(), feedback.into()), (field.to_owned(), json!(files))];
            super::answer::made(order, Outcome::ChangesRequested, Content::from_iter(content))
        };
        let files = worktrees.forgotten(&worktrees.path(run, &order.group)?, branch)?;
        if !files.is_empty() {
            let feedback =
                format!("not committed on {branch}: {}. Commit what belongs to the work.", files.join(", "));
            return Ok(Some(sent_back(feedback, "uncommitted", files)));
        }
        let files = worktrees.conflicts(branch)?;
        Ok((!files.is_empty()).then(|| {
            let feedback = format!(
                "{branch} does not merge into {base}: conflicts in {}. Merge {base} into {branch}, resolve them, test, and commit.",
                files.join(", ")
            );
            sent_back(feedback, "conflicts", files)
        }))
    }

    /// Merges what is complete. An error says which group cannot be merged, and why.
    pub(super) fn merge_complete(&self, run: &Pipeline) -> GitResult<()> {
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

    /// Whether nothing is left to merge of what is complete.
    pub(super) fn is_merged(&self, run: &Pipeline) -> bool {
        let known = self.known();
        self.worktrees.is_none()
            || run.group_ids().filter(|id| run.is_complete(id)).all(|id| known.merged.contains(id))
    }

    /// Whether an answer would complete a group.
    pub(super) fn approves(answer: &Answer) -> bool {
        matches!(answer, Answer::Report(report) if report.role == Role::TechLead && report.status == "APPROVED")
    }
}
