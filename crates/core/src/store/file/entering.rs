//! Into a room: with its lock, after what a crash left is finished; or only to look.

use super::addresses::RoomFiles;
use super::fs::{Lock, LockMode};
use super::place::{Head, Place};
use super::recover::{self, View};
use super::roots::{BROWSE, FileEngine};
use crate::model::room::Room;
use crate::store::error::{Result, forbids_writing};

/// A room that somebody looks into, while nobody changes it.
pub type Peeped<'e> = (Place<'e>, Head, Box<dyn Lock>);

impl FileEngine {
    /// Takes the lock and finishes what a crash left.
    pub(super) fn enter(&self, place: &Place<'_>) -> Result<(Box<dyn Lock>, Head)> {
        let lock = place.lock()?;
        let head = match recover::look(place)? {
            View::Fresh => Head { life: place.life()?, ..Head::default() },
            View::Clean(head) => head,
            View::Unfinished(plan) => recover::finish(place, &plan)?,
        };
        self.settled().insert(place.room.clone());
        Ok((lock, head))
    }

    /// Takes the lock for a look, if that is free within a moment and nothing is left to do. Who only looks leaves it
    /// to others to make directories and locks, and to finish what a crash left.
    pub(super) fn peep(&self, room: &Room) -> Result<Option<Peeped<'_>>> {
        let place = Place { patience: BROWSE, ..self.open(room)? };
        if !place.fs.may_exist(&room.lock()) {
            return Ok(None);
        }
        let lock = |mode| place.fs.lock(&room.lock(), mode, BROWSE);
        let locked = match lock(LockMode::Exclusive) {
            // Where we cannot write, keeping writers out is enough.
            Err(error) if forbids_writing(&error) => lock(LockMode::Shared),
            other => other,
        };
        let Ok(lock) = locked else { return Ok(None) };
        match recover::look(&place)? {
            View::Clean(head) => Ok(Some((place, head, lock))),
            View::Fresh | View::Unfinished(_) => Ok(None),
        }
    }
}
