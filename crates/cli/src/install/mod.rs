//! Putting anthill into the files that clients read, and taking it out again.
//!
//! [`targets`] says which file should hold what, [`plan`] what that changes, [`record`] remembers what was there, [`fs`] is the
//! only part that writes. The record comes first and the files after it, so that whoever runs the command again after
//! a crash finishes it.

pub mod fs;
mod places;
mod plan;
pub mod program;
mod record;
mod scope;
mod targets;
mod texts;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::model::ids::ProjectId;
use serde_json::{Value, json};

use self::fs::Guard;
pub use self::places::Places;
pub use self::plan::Plan;
use self::plan::{Change, shown};
use self::record::{Installed, Record};
pub use self::scope::Scope;
pub use self::targets::Wish;
use crate::context::Context;
use crate::error::{CliError, Result, io_error};
use crate::output::Format;

/// An installation at work on one scope.
#[derive(Debug)]
pub struct Install<'p> {
    places: &'p Places,
    scope: Scope,
    record: Record,
    _guard: Option<Guard>,
}

impl<'p> Install<'p> {
    /// Opens a scope; without patience nothing will be written, and no lock is needed.
    pub fn open(places: &'p Places, scope: Scope, patience: Option<Duration>) -> Result<Install<'p>> {
        let base = places.base(scope);
        let guard = patience.map(|patience| {
            let locked = fs::lock(base, patience)
                .map_err(|error| io_error(&format!("lock `{}`", base.display()), &error));
            locked?.ok_or_else(|| {
                CliError::new(
                    Code::Busy,
                    format!("another process changes the settings in `{}`", base.display()),
                )
                .hinted("wait longer with --lock-timeout SECONDS")
            })
        });
        let guard = guard.transpose()?;
        Ok(Install { places, scope, record: Record::load(&places.record(scope))?, _guard: guard })
    }

    fn installed(&self) -> Installed {
        self.record.scope(self.scope)
    }

    /// Whether something is recorded for this scope.
    pub fn is_recorded(&self) -> bool {
        self.record.has(self.scope)
    }

    pub fn known_commands(&self) -> Vec<String> {
        self.installed().commands
    }

    /// Returns a name for a project without one: `default`, else that of its directory, and unlike any other.
    pub fn new_project(&self, default: Option<&str>) -> Option<ProjectId> {
        let taken = record::other_projects(&self.places.record(self.scope));
        let name = self.places.project.file_name().unwrap_or_default().to_string_lossy();
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() || "._".contains(letter) { letter } else { '-' };
        let name: String = name.chars().take(64).map(plain).collect();
        let name = match name.trim_matches(['-', '.']) {
            "" => "project",
            name => name,
        };
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let names = default.into_iter().chain([name]).map(str::to_owned);
        let mut names = names.chain(numbered);
        names.find(|name| !taken.contains(name))?.parse().ok()
    }

    /// Returns what the project was called when it was set up.
    pub fn recorded_project(&self) -> Option<ProjectId> {
        self.record.project.as_ref()?.parse().ok()
    }

    pub fn plan(&self, wish: &Wish) -> Result<Plan> {
        let (targets, base) = (wish.targets(self.places), self.places.base(self.scope));
        Plan::within(self.border(wish)).install(&targets, base, &self.installed())
    }

    pub fn plan_removal(&self, wish: &Wish) -> Result<Plan> {
        // Only the record knows where a plugin was put.
        let targets = if self.scope == Scope::Plugin { Vec::new() } else { wish.suspects(self.places) };
        Plan::within(self.border(wish)).uninstall(&targets, self.places.base(self.scope), &self.installed())
    }

    /// Returns the directory outside which nothing is written: a project may come from anybody, while links in a home are its
    /// owner's.
    fn border(&self, wish: &Wish) -> Option<&Path> {
        match self.scope {
            Scope::Project | Scope::Local if !wish.follow_links => Some(&self.places.project),
            _ => None,
        }
    }

    /// Writes what is planned.
    pub fn apply(mut self, plan: &Plan, wish: &Wish) -> Result<()> {
        self.sweep(plan);
        if plan.real_changes().next().is_none() {
            return Ok(());
        }
        let command = wish.command();
        if let Some(project) = &wish.project {
            self.record.project = Some(project.to_string());
        }
        let mut installed = self.installed();
        let record = self.places.record(self.scope);
        let new =
            plan.real_changes().filter(|change| change.before.is_none()).map(|change| change.real.as_path());
        for made in new.chain([record.as_path()]).flat_map(fs::missing_dirs) {
            let made = self.relative(&made);
            if !self.record.dirs.contains(&made) {
                self.record.dirs.push(made);
            }
        }
        if !installed.commands.contains(&command) {
            installed.commands.push(command);
        }
        for change in plan.real_changes() {
            // A file that is to be removed stays in the record: the removal may fail.
            if let Some(after) = &change.after {
                installed.note(&self.relative(&change.path), change.original.clone(), after);
            }
        }
        self.record.set(self.scope, installed);
        self.save()?;
        write(plan, &self.places.project)?;
        let gone = plan.real_changes().filter(|change| change.after.is_none());
        gone.filter_map(|change| change.real.parent()).for_each(fs::remove_dir);
        Ok(())
    }

    /// Writes what is planned, and forgets that there was anything.
    pub fn apply_removal(mut self, plan: &Plan) -> Result<()> {
        self.sweep(plan);
        write(plan, &self.places.project)?;
        let mut dirs = self.record.dirs.clone();
        dirs.sort_by_key(|dir| std::cmp::Reverse(dir.components().count()));
        let dirs: Vec<_> = dirs.iter().map(|dir| self.places.base(self.scope).join(dir)).collect();
        dirs.iter().for_each(|dir| fs::remove_dir(dir));
        if self.record.has(self.scope) {
            self.record.forget(self.scope);
            self.save()?;
        }
        // Now without the record.
        dirs.iter().for_each(|dir| fs::remove_dir(dir));
        Ok(())
    }

    /// Sweeps what an interrupted installation may have left.
    fn sweep(&self, plan: &Plan) {
        let record = self.places.record(self.scope);
        plan.files().chain([record.as_path()]).for_each(fs::sweep);
        record.parent().into_iter().for_each(fs::remove_dir);
    }

    fn save(&self) -> Result<()> {
        let path = self.places.record(self.scope);
        self.record.save(&path).map_err(|error| {
            io_error(&format!("write `{}`", path.display()), &error).hinted("free the cause and repeat")
        })
    }

    fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.places.base(self.scope)).unwrap_or(path).to_owned()
    }
}

/// Writes the files one after the other, each as a whole.
fn write(plan: &Plan, root: &Path) -> Result<()> {
    let changes: Vec<_> = plan.real_changes().collect();
    for (done, change) in changes.iter().enumerate() {
        let same = |bytes: Option<Vec<u8>>| bytes.as_deref() == change.before.as_deref().map(str::as_bytes);
        if fs::read(&change.real).is_ok_and(|bytes| !same(bytes)) {
            let message = format!("somebody else has just changed `{}`", shown(&change.path, root));
            let error = CliError::new(Code::Conflict, message).hinted("look at it and repeat");
            return Err(CliError { indeterminate: done > 0, ..error });
        }
        let written = match &change.after {
            Some(text) => fs::write(&change.real, text.as_bytes(), 0o666),
            None => fs::remove(&change.real),
        };
        written.map_err(|error| {
            let hint = format!(
                "{done} of {} files are done; free the cause and repeat: the rest will follow",
                changes.len()
            );
            let base = io_error(&format!("write `{}`", shown(&change.path, root)), &error).hinted(hint);
            CliError { indeterminate: done > 0, ..base }
        })?;
    }
    Ok(())
}

/// How much is shown of what changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// A line per file.
    Names,
    Diffs,
}

impl Detail {
    /// A dry run shows everything.
    pub fn of(dry_run: bool) -> Detail {
        if dry_run { Detail::Diffs } else { Detail::Names }
    }
}

/// Shows what will change, before it does.
pub fn show(context: &Context<'_>, plans: &[Plan], root: &Path, detail: Detail) {
    for plan in plans {
        for change in plan.real_changes() {
            match detail {
                Detail::Names => context.output.status(&change.line(root)),
                Detail::Diffs => context.output.status(change.diff(root).trim_end()),
            }
        }
        plan.notes.iter().for_each(|note| context.output.warning(note));
    }
}

/// Tells what was changed, or would be.
pub fn tell(context: &Context<'_>, plans: &[Plan], root: &Path, told: &InstallReport<'_>) -> Result<()> {
    let changes = || plans.iter().flat_map(|plan| &plan.changes);
    if context.output.json {
        let changes: Vec<Value> = changes().map(|change| change.json(root)).collect();
        let left = plans.iter().flat_map(|plan| plan.notes.iter());
        let notes: Vec<_> = left.map(String::as_str).chain(told.notes.iter().map(String::as_str)).collect();
        let value = json!({"changes": changes, "applied": told.applied, "notes": notes});
        return context.output.changed(&value, Format::Json);
    }
    let count = changes().filter(|change: &&Change| change.is_change()).count();
    let files = if count == 1 { "1 file".into() } else { format!("{count} files") };
    let line = match (count, told.applied) {
        (0, _) => told.nothing.to_owned(),
        (_, true) => format!("{} {files}", told.did),
        (_, false) => format!("Would change {files}; nothing was written"),
    };
    context.output.print(&line)?;
    told.notes.iter().for_each(|note| context.output.status(note));
    Ok(())
}

/// What to say at the end.
#[derive(Debug)]
pub struct InstallReport<'t> {
    pub applied: bool,
    /// What was done, with the number of files behind it.
    pub did: &'t str,
    /// What to say when there was nothing to do.
    pub nothing: &'t str,
    pub notes: Vec<String>,
}
