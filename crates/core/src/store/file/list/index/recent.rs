//! What was done last: the header has the few items that ended after all others.

use super::{Index, at};
use crate::model::listing::Stage;
use crate::model::raw::Raw;

/// How many are known, and how many must be, if there are so many: some go when they are taken up again.
pub const RECENT: usize = 8;
const FEW: usize = 5;
const LENGTH: u64 = 12;

/// When an item ended, and its position: of two that ended at once the later one comes first.
pub type End = (i64, u32);

impl Index {
    /// Returns the positions of the items that were done last, the last one first; `None` also if those asked for are
    /// not known.
    pub fn recent(&mut self, most: usize) -> Option<Vec<usize>> {
        let (recent, done) = (self.recents()?, self.stage(Stage::Done)? as usize);
        let found: Vec<_> = recent.iter().take(most).map(|(_, position)| *position as usize).collect();
        (found.len() == most.min(done)).then_some(found)
    }

    fn recents(&mut self) -> Option<Vec<End>> {
        let count = self.pages.u64(at::RECENT)?;
        let end = |place: u64| Some((self.pages.u64(place)? as i64, self.pages.u32(place + 8)?));
        (0..count.min(RECENT as u64)).map(|number| at::RECENTS + number * LENGTH).map(end).collect()
    }

    pub fn set_recents(&mut self, recent: &[End]) -> Option<()> {
        self.pages.set_u64(at::RECENT, recent.len() as u64)?;
        for (number, (ended, position)) in (0..).zip(recent) {
            let place = at::RECENTS + number * LENGTH;
            self.pages.set_u64(place, *ended as u64)?;
            self.pages.set_u32(place + 8, *position)?;
        }
        Some(())
    }

    /// Notes an item that is done now, and is counted as such.
    pub fn note_done(&mut self, position: u32, raw: &Raw) -> Option<()> {
        let Some(ended) = self.listing.ended else { return Some(()) };
        let (end, mut recent) = ((ended(raw), position), self.recents()?);
        let all = recent.len() as u64 + 1 == self.stage(Stage::Done)?;
        // Those that are not known ended before those that are.
        if all || recent.last().is_some_and(|last| end > *last) {
            let at = recent.partition_point(|other| *other > end);
            recent.insert(at, end);
            recent.truncate(RECENT);
            self.set_recents(&recent)?;
        }
        Some(())
    }

    /// Forgets an item that was done, and is no longer counted as such.
    pub fn forget_done(&mut self, position: u32) -> Option<()> {
        if self.listing.ended.is_none() {
            return Some(());
        }
        let mut recent = self.recents()?;
        let known = recent.len();
        recent.retain(|(_, other)| *other != position);
        if recent.len() == known {
            return Some(());
        }
        if recent.len() < FEW && (recent.len() as u64) < self.stage(Stage::Done)? {
            self.pages.set_u64(at::SCARCE, 1)?;
        }
        self.set_recents(&recent)
    }
}
