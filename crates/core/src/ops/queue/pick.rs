//! Going over the tasks that are ready, best first, for one that can be claimed.

use crate::model::kind::Doc;
use crate::model::listing::{Among, Marks};
use crate::model::marks;
use crate::model::task::Task;
use crate::model::time::Moment;
use crate::ops::Result;
use crate::store::{Rank, Transaction};

use super::obstacle::{Obstacle, may_overlap, obstacle};

/// What is learned on the way about the work of others, no more than it has to be. Of the tasks that are kept back by the
/// same files or capabilities, one is judged and the others are passed over.
#[derive(Debug, Default)]
pub(super) struct Pick {
    after: Option<Rank>,
    /// The marks of what cannot be had.
    shut: Marks,
    /// The tasks that are being worked on, once they were needed.
    working: Option<Vec<Task>>,
}

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Able<'a> {
    /// A worker with these capabilities.
    To(&'a [String]),
    /// Somebody who can do anything.
    Anything,
}

impl Pick {
    pub fn working(&mut self, transaction: &mut dyn Transaction) -> Result<&[Task]> {
        if self.working.is_none() {
            let active = transaction.find(&Doc::queue(), Among::Active)?;
            self.working = Some(active.into_iter().map(Task::of).collect());
        }
        Ok(self.working.as_deref().unwrap_or_default())
    }

    /// Goes back to the start: tasks have become ready.
    pub fn again(&mut self) {
        self.after = None;
    }

    /// Returns the next task, and what keeps it from being claimed.
    pub fn next(
        &mut self,
        transaction: &mut dyn Transaction,
        able: Able<'_>,
        now: &Moment,
    ) -> Result<Option<(Task, Option<Obstacle>)>> {
        let queue = Doc::queue();
        let Some((rank, value)) = transaction.best(&queue, self.after, &self.shut)? else {
            return Ok(None);
        };
        self.after = Some(rank);
        let task = Task::of(value);
        let working = if may_overlap(transaction, &task)? { self.working(transaction)? } else { &[] };
        let own: Vec<_>;
        let capabilities = match able {
            Able::To(capabilities) => capabilities,
            Able::Anything => {
                own = task.needs().into_iter().map(str::to_owned).collect();
                &own
            }
        };
        let found = obstacle(&task, capabilities, working, now, &mut |id| {
            Ok(transaction.item(&queue, id)?.map(Task::of))
        })?;
        if let Some(found) = &found {
            self.shut_out(&task, found);
        }
        Ok(Some((task, found)))
    }

    /// Notes what else cannot be had for the same reason.
    fn shut_out(&mut self, task: &Task, obstacle: &Obstacle) {
        match obstacle {
            Obstacle::Capabilities { missing } => {
                self.shut.extend(missing.iter().map(|missing| marks::need(missing)));
            }
            Obstacle::Overlap { .. } => {
                self.shut.insert(marks::kin(&task.needs(), &task.files()));
                let working = self.working.iter().flatten();
                self.shut.extend(working.flat_map(|other| marks::shut_by(&other.files())));
            }
            Obstacle::Id | Obstacle::Dependency { .. } | Obstacle::Later { .. } => {}
        }
    }
}
