//! What keeps a task from being claimed.

use jiff::Timestamp;

use crate::hint;
use crate::model::files;
use crate::model::ids::{self, RULE};
use crate::model::kind::Doc;
use crate::model::next::See;
use crate::model::task::{Status, Task, word};
use crate::model::time::{self, Moment};
use crate::ops::{Error, Result};
use crate::store::Transaction;

/// What keeps an open task from being claimed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Obstacle {
    /// It cannot be named: its id is none.
    Id,
    /// A dependency is not done; `None` if there is no such task.
    Dependency { id: String, status: Option<Status> },
    /// A retry is not due yet.
    Later { until: Timestamp },
    /// The worker lacks what the task needs.
    Capabilities { missing: Vec<String> },
    /// Somebody works on the same files.
    Overlap { with: String, by: String, ours: String, theirs: String },
}

/// Returns the first thing that keeps `task` from being claimed by a worker with these capabilities.
pub(super) fn obstacle(
    task: &Task,
    capabilities: &[String],
    working: &[Task],
    now: &Moment,
    look_up: &mut dyn FnMut(&str) -> Result<Option<Task>>,
) -> Result<Option<Obstacle>> {
    if !ids::is_sound(task.id()) {
        return Ok(Some(Obstacle::Id));
    }
    for id in task.dependencies() {
        let status = look_up(id)?.map(|task| task.status());
        if status != Some(Status::Done) {
            return Ok(Some(Obstacle::Dependency { id: id.into(), status }));
        }
    }
    let missing = missing(task, capabilities);
    if !missing.is_empty() {
        return Ok(Some(Obstacle::Capabilities { missing }));
    }
    Ok(later(task, now).or_else(|| working.iter().find_map(|other| overlap(task, other))))
}

/// Says why a worker cannot have the very task that it has asked for.
pub(super) fn kept_back(task: &Task, obstacle: &Obstacle) -> Error {
    let id = task.id();
    let why = match obstacle {
        Obstacle::Id => format!("its id is not valid: {RULE}"),
        Obstacle::Dependency { id: part, .. } if task.parts().contains(&part.as_str()) => {
            format!("it is done when its parts are, and `{part}` is not")
        }
        Obstacle::Dependency { id, status: None } => format!("it waits for `{id}`, which does not exist"),
        Obstacle::Dependency { id, status: Some(status) } => {
            format!("it waits for `{id}` ({})", word(*status))
        }
        Obstacle::Later { until } => format!("it is to be tried again at {}", time::stamp(*until)),
        Obstacle::Capabilities { missing } => {
            format!("it needs {}, which you have not registered", missing.join(", "))
        }
        Obstacle::Overlap { with, by, ours, theirs } => {
            format!("its files overlap with `{with}`, which `{by}` works on: `{ours}` and `{theirs}`")
        }
    };
    Error::refused(format!("`{id}` cannot be claimed: {why}"), hint!["see all of it: ", See::Task(id.into())])
}

pub(super) fn missing(task: &Task, capabilities: &[String]) -> Vec<String> {
    let has = |need: &&str| capabilities.iter().any(|capability| capability == need);
    task.needs().into_iter().filter(|need| !has(need)).map(str::to_owned).collect()
}

pub(super) fn later(task: &Task, now: &Moment) -> Option<Obstacle> {
    task.retry_at().filter(|until| *until > now.at).map(|until| Obstacle::Later { until })
}

pub(super) fn overlap(task: &Task, other: &Task) -> Option<Obstacle> {
    let (ours, theirs) = files::overlap(&task.files(), &other.files())?;
    let by = other.owner().unwrap_or_default().into();
    Some(Obstacle::Overlap { with: other.id().into(), by, ours: ours.into(), theirs: theirs.into() })
}

/// Whether the files of a task may overlap with those of one that somebody works on.
pub(super) fn may_overlap(transaction: &mut dyn Transaction, task: &Task) -> Result<bool> {
    let files = task.files();
    match files::asked_for(&files) {
        _ if files.is_empty() => Ok(false),
        Some(keys) => Ok(transaction.may_be_occupied(&Doc::queue(), &keys)?),
        None => Ok(true),
    }
}
