//! From what is there and what should be there to what changes. Nothing is written here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anthill_core::error::Code;
use anthill_core::model::install::Insert;
use anthill_core::model::json::ParseError;
use anthill_core::view::unified::unified;
use anthill_live::foreign;
use serde_json::{Value, json};

use super::fs;
use super::record::{Installed, Kept};
use super::targets::{Content, Target};
use crate::error::{CliError, Result, io_error};
use crate::words;

const MEND: &str = "nothing was changed; mend the file and repeat";

/// What a file holds before and after, and what it held before we came.
type States = (Option<String>, Option<String>, Option<String>);

/// What becomes of one file.
#[derive(Debug)]
pub struct Change {
    /// Its name, as people know it.
    pub path: PathBuf,
    /// The file behind that name.
    pub real: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
    /// What it was before we came.
    pub original: Option<String>,
}

impl Change {
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }

    pub fn action(&self) -> &'static str {
        match (&self.before, &self.after) {
            (before, after) if before == after => "none",
            (None, _) => "create",
            (_, None) => "delete",
            _ => "update",
        }
    }

    /// Returns what happens to the file, in a few words.
    pub fn line(&self, root: &Path) -> String {
        format!("  {}  {}", self.action(), shown(&self.path, root))
    }

    pub fn diff(&self, root: &Path) -> String {
        unified(&shown(&self.path, root), self.before.as_deref(), self.after.as_deref())
    }

    pub fn json(&self, root: &Path) -> Value {
        json!({"path": shown(&self.path, root), "action": self.action(), "diff": self.diff(root)})
    }
}

/// Returns a path as seen from the project.
pub fn shown(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

#[derive(Debug, Default)]
pub struct Plan {
    pub changes: Vec<Change>,
    /// What was left alone, and why.
    pub notes: Vec<String>,
    /// What files will hold: two names may lead to one.
    planned: HashMap<PathBuf, Option<String>>,
    /// The directory that nothing is written outside of.
    within: Option<PathBuf>,
    /// The directory that most of the files are in.
    base: PathBuf,
}

impl Plan {
    /// Plans to write only below this directory, whatever links say.
    pub fn within(dir: Option<&Path>) -> Plan {
        Plan { within: dir.map(real), ..Plan::default() }
    }

    /// Plans to put everything in.
    pub fn install(self, targets: &[Target], base: &Path, record: &Installed) -> Result<Plan> {
        let mut plan = Plan { base: base.to_owned(), ..self };
        for target in targets {
            plan.put(target, kept(record, base, &target.path))?;
        }
        Ok(plan)
    }

    /// Plans to take everything out: what the record knows, and what there may be without a record.
    pub fn uninstall(self, targets: &[Target], base: &Path, record: &Installed) -> Result<Plan> {
        let mut plan = Plan { base: base.to_owned(), ..self };
        for file in record.files.iter().rev() {
            let path = base.join(&file.path);
            let target = targets.iter().find(|target| target.path == path);
            plan.take(&path, target, Some(file))?;
        }
        for target in targets.iter().rev().filter(|target| kept(record, base, &target.path).is_none()) {
            plan.take(&target.path, Some(target), None)?;
        }
        Ok(plan)
    }

    fn put(&mut self, target: &Target, kept: Option<&Kept>) -> Result<()> {
        let real = resolve(&target.path)?;
        let (before, after, original) = match &target.content {
            Content::Whole(text) => self.put_whole(&real, &target.path, text, kept)?,
            Content::Parts(parts) => self.put_parts(&real, &target.path, parts, kept)?,
            Content::Former => self.put_nothing(&real, &target.path, kept)?,
        };
        self.push(Change { path: target.path.clone(), real, before, after, original })
    }

    /// A file of that name that somebody else wrote, or edited, stays as it is.
    fn put_whole(&mut self, real: &Path, path: &Path, text: &str, kept: Option<&Kept>) -> Result<States> {
        let before = self.bytes(real)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let is_ours = |before: &String| before == text || kept.is_some_and(|kept| kept.wrote(before));
        if before.as_ref().is_some_and(|before| !is_ours(before)) {
            self.notes
                .push(format!("left alone: `{}` is there and is not as init writes it", path.display()));
            return Ok((before.clone(), before, None));
        }
        Ok((before, Some(text.to_owned()), kept.and_then(|kept| kept.original.clone())))
    }

    /// What an earlier version wrote goes, unless somebody edited it.
    fn put_nothing(&mut self, real: &Path, path: &Path, kept: Option<&Kept>) -> Result<States> {
        let before = self.bytes(real)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let Some(text) = &before else { return Ok((None, None, None)) };
        if let Some(kept) = kept.filter(|kept| kept.wrote(text)) {
            let original = kept.original.clone();
            return Ok((before, original.clone(), original));
        }
        if text.contains("anthill") {
            self.notes.push(format!(
                "left alone: `{}` is of an earlier anthill, or edited; delete it if you do not need it",
                path.display()
            ));
        }
        Ok((before.clone(), before, None))
    }

    fn put_parts(
        &mut self,
        real: &Path,
        path: &Path,
        parts: &[Insert],
        kept: Option<&Kept>,
    ) -> Result<States> {
        let before = self.bytes(real)?.map(String::from_utf8).transpose().map_err(|_| {
            let message = format!("`{}` is not text in UTF-8", path.display());
            CliError::new(Code::Damaged, message).hinted(MEND).detail("path", path.display().to_string())
        })?;
        let wrong = |error: ParseError| damaged(path, &error);
        let start = before.clone().unwrap_or_default();
        let refusals = parts.iter().filter_map(|part| part.refusal(&start));
        self.notes.extend(
            refusals.map(|why| format!("left alone in `{}`: {}", path.display(), words::in_words(&why))),
        );
        let after = parts.iter().try_fold(start, |text, part| part.put(&text)).map_err(wrong)?;
        let after = (before.is_some() || !is_nothing(parts, &after)).then_some(after);
        let original = match (kept, &before) {
            (_, None) => None,
            _ if before == after => None,
            (Some(kept), Some(before)) if kept.wrote(before) => kept.original.clone(),
            (_, Some(before)) => bare(parts, before, kept).map_err(wrong)?,
        };
        Ok((before, after, original))
    }

    fn take(&mut self, path: &Path, target: Option<&Target>, kept: Option<&Kept>) -> Result<()> {
        let real = resolve(path)?;
        let Some(bytes) = self.bytes(&real)? else {
            self.planned.insert(real, None);
            return Ok(());
        };
        let Ok(before) = String::from_utf8(bytes) else {
            self.notes.push(format!("left alone: `{}` is not text any more", path.display()));
            return Ok(());
        };
        let after = match (kept, target.map(|target| &target.content)) {
            (Some(kept), _) if kept.wrote(&before) => kept.original.clone(),
            (Some(kept), _) if kept.original.as_ref() == Some(&before) => Some(before.clone()),
            (_, Some(Content::Whole(text))) if *text == before => None,
            (_, Some(Content::Parts(parts))) => match bare(parts, &before, kept) {
                // What cannot be read and does not name us holds nothing of ours.
                Err(_) if !before.contains("anthill") => Some(before.clone()),
                result => result.map_err(|error| damaged(path, &error))?,
            },
            (Some(_), _) => {
                self.notes.push(format!("left alone: `{}` was edited since init wrote it", path.display()));
                Some(before.clone())
            }
            (None, _) => Some(before.clone()),
        };
        self.push(Change { path: path.to_owned(), real, before: Some(before), after, original: None })
    }

    fn push(&mut self, change: Change) -> Result<()> {
        let (shown, real) = (change.path.display(), change.real.display());
        if change.is_change() && self.within.as_ref().is_some_and(|within| !change.real.starts_with(within)) {
            let message = format!("`{shown}` leads out of the project, to `{real}`");
            return Err(CliError::new(Code::Refused, message)
                .hinted("nothing was changed; if that is meant, repeat with --follow-links"));
        }
        if change.is_change() && self.is_linked(&change) {
            // The diff shows the name.
            self.notes.push(format!("`{shown}` is a link to `{real}`"));
        }
        self.planned.insert(change.real.clone(), change.after.clone());
        if change.before.is_some() || change.after.is_some() {
            self.changes.push(change);
        }
        Ok(())
    }

    /// Whether the file, or a directory on the way to it, is a link.
    fn is_linked(&self, change: &Change) -> bool {
        let plain = change.path.strip_prefix(&self.base).map(|below| real(&self.base).join(below));
        plain.map_or_else(|_| change.path.is_symlink(), |plain| plain != change.real)
    }

    /// Returns what a file holds, or will hold by then.
    fn bytes(&self, real: &Path) -> Result<Option<Vec<u8>>> {
        if let Some(planned) = self.planned.get(real) {
            return Ok(planned.clone().map(String::into_bytes));
        }
        fs::read(real).map_err(|error| io_error(&format!("read `{}`", real.display()), &error))
    }

    /// Returns every file that was looked at.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.planned.keys().map(PathBuf::as_path)
    }

    pub fn real_changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.is_change())
    }
}

fn real(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

fn kept<'r>(record: &'r Installed, base: &Path, path: &Path) -> Option<&'r Kept> {
    record.file(path.strip_prefix(base).unwrap_or(path))
}

/// Returns a text without our parts; `None` for a file that was made for them and holds nothing else.
fn bare(
    parts: &[Insert],
    text: &str,
    kept: Option<&Kept>,
) -> std::result::Result<Option<String>, ParseError> {
    let bare = parts.iter().try_fold(text.to_owned(), |text, part| part.take(&text))?;
    let is_ours = kept.is_some_and(|kept| kept.original.is_none());
    Ok((!is_ours || !is_nothing(parts, &bare)).then_some(bare))
}

fn is_nothing(parts: &[Insert], text: &str) -> bool {
    parts.iter().all(|part| part.is_nothing(text))
}

fn resolve(path: &Path) -> Result<PathBuf> {
    foreign::resolve(path).map_err(|error| io_error(&format!("look at `{}`", path.display()), &error))
}

fn damaged(path: &Path, error: &ParseError) -> CliError {
    let place = path.display().to_string();
    let message = format!(
        "`{place}` cannot be read at line {}, column {}: {}",
        error.line, error.column, error.message
    );
    CliError::new(Code::Damaged, message)
        .hinted(MEND)
        .detail("path", place)
        .detail("line", error.line)
        .detail("column", error.column)
}
