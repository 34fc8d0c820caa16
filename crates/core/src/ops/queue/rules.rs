//! What the leader's use cases have in common.

use std::collections::HashMap;

use super::QueueTransaction;
use crate::model::hint::Hint;
use crate::model::listing::Among;
use crate::model::task::{Status, Task};
use crate::ops::{Error, Result};

/// Who the log names for what a leader does.
pub(in crate::ops) const LEADER: &str = "leader";

/// What became of several tasks, and what a person should hear.
#[derive(Debug, Default)]
pub struct Several {
    pub tasks: Vec<Task>,
    pub warnings: Vec<Hint>,
}

/// Refuses to wait for nothing.
pub(super) fn check_known(tx: &mut QueueTransaction<'_>, id: &str, of: &str) -> Result<()> {
    match tx.transaction.item(&tx.queue, id)? {
        Some(_) => Ok(()),
        None => Err(Error::UnknownDependency { id: id.to_owned(), of: of.to_owned() }),
    }
}

/// Refuses a task that would wait for what waits for it.
pub(super) fn check_circle(
    tx: &mut QueueTransaction<'_>,
    id: &str,
    dependencies: &[impl ToString],
) -> Result<()> {
    let mut dependents: HashMap<String, String> = HashMap::new();
    let mut next: Vec<_> = dependencies.iter().map(|on| (on.to_string(), id.to_owned())).collect();
    while let Some((on, of)) = next.pop() {
        if dependents.contains_key(&on) {
            continue;
        }
        dependents.insert(on.clone(), of);
        if on == id {
            let mut circle = vec![dependents[id].clone()];
            while circle[circle.len() - 1] != id {
                circle.push(dependents[&circle[circle.len() - 1]].clone());
            }
            circle.reverse();
            return Err(Error::Circle { ids: circle });
        }
        let task = tx.transaction.item(&tx.queue, &on)?.map(Task::of);
        let further = task.iter().flat_map(Task::dependencies);
        next.extend(further.map(|further| (further.to_owned(), on.clone())));
    }
    Ok(())
}

/// What waits for a task that is open again has to wait again.
pub(super) fn hold_dependents(tx: &mut QueueTransaction<'_>, id: &str) -> Result<()> {
    for dependent in tx.transaction.find(&tx.queue, Among::InNeedOf(id))? {
        let mut task = Task::of(dependent);
        if task.status() == Status::Available {
            task.set_status(Status::Created);
            tx.put(task)?;
        }
    }
    Ok(())
}

/// Names tasks that wait for something.
pub(super) fn who_waits(ids: &[String]) -> String {
    const MOST: usize = 5;
    let shown: Vec<_> = ids.iter().take(MOST).map(|id| format!("`{id}`")).collect();
    match (ids.len(), ids.len().saturating_sub(MOST)) {
        (1, _) => format!("{} waits", shown[0]),
        (_, 0) => format!("{} wait", shown.join(", ")),
        (_, more) => format!("{} and {more} more wait", shown.join(", ")),
    }
}
