//! Taking the last item out again: everything that [`Index::append`] notes, the other way round.

use serde_json::Value;

use super::{Index, Record, at};
use crate::model::listing::Stage;

impl Index {
    /// Removes the item at a position. `None` also if it is not the last one, or somebody needs it, or some need names what is
    /// not there.
    pub fn remove_last(&mut self, position: usize, item: &Value) -> Option<()> {
        if position + 1 != self.count()? || self.dangling()? > 0 {
            return None;
        }
        self.remove_needs(position, item)?;
        let old = self.record(position)?;
        if old.needed_by != 0 {
            return None;
        }
        self.search = None;
        self.enter(position as u64, &old, -1)?;
        if self.listing.stage(old.state) == Stage::Done {
            self.forget_done(position as u32)?;
        }
        self.leave_order(position, &old)?;
        self.remove_id(&old, position as u32)?;
        let sum = self.items_sum()?.wrapping_sub(old.sum);
        self.pages.set_u64(at::ITEMS_SUM, sum)?;
        self.pages.set_u64(at::COUNT, position as u64)
    }

    /// Takes back what the last item needs: these are the newest entries, and each stands first in the list of what is needed.
    fn remove_needs(&mut self, position: usize, item: &Value) -> Option<()> {
        let owned =
            |needs: &[std::borrow::Cow<'_, str>]| needs.iter().map(ToString::to_string).collect::<Vec<_>>();
        let needs = self.listing.with_facet(item, |facet| owned(&facet.needs))?;
        for need in needs.iter().rev() {
            let edge = self.pages.u64(at::EDGES)?.checked_sub(1)?;
            let place = self.regions.needs() + edge * 8;
            let needed = self.position(need)??;
            let record = self.record(needed)?;
            let is_first =
                self.pages.u32(place)? as usize == position && u64::from(record.needed_by) == edge + 1;
            is_first.then_some(())?;
            let needed_by = self.pages.u32(place + 4)?;
            self.set_record(needed as u64, &Record { needed_by, ..record })?;
            self.pages.set_u64(at::EDGES, edge)?;
        }
        Some(())
    }

    /// Takes an item out of the table of ids. What stands behind it there moves up, unless it stands where it belongs.
    fn remove_id(&mut self, item: &Record, position: u32) -> Option<()> {
        let (ids, start) = (self.regions.ids, self.regions.id_table());
        let mut hole = item.id % ids;
        while self.pages.u32(start + hole * 4)? != position + 1 {
            hole = (hole + 1) % ids;
        }
        let mut bucket = hole;
        loop {
            self.pages.set_u32(start + hole * 4, 0)?;
            bucket = (bucket + 1) % ids;
            let Some(other) = self.pages.u32(start + bucket * 4)?.checked_sub(1) else { return Some(()) };
            let home = self.record(other as usize)?.id % ids;
            let behind = |from: u64| (bucket + ids - from) % ids;
            if behind(home) >= behind(hole) {
                self.pages.set_u32(start + hole * 4, other + 1)?;
                hole = bucket;
            }
        }
    }
}
