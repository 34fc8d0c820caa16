//! In which order items are picked: by class, then by age, then by position; and those that came late.

use super::{Bits, Index, Record, at};
use crate::model::listing::Standing;
use crate::store::engine::Rank;

impl Index {
    /// Returns the best item that is ready, after this one in the order.
    pub fn best(&mut self, after: Option<Rank>) -> Option<Option<Rank>> {
        match self.pages.u64(at::READY)? {
            0 => Some(None),
            _ => self.first(Bits::Ready, after),
        }
    }

    /// Returns the first item that waits, after this one in the order.
    pub fn waiting(&mut self, after: Option<Rank>) -> Option<Option<Rank>> {
        match self.standing(Standing::Waiting)? {
            0 => Some(None),
            _ => self.first(Bits::Waiting, after),
        }
    }

    fn first(&mut self, bits: Bits, after: Option<Rank>) -> Option<Option<Rank>> {
        let (sorted, count) = (self.pages.u64(at::SORTED)?, self.pages.u64(at::COUNT)?);
        let from = match after {
            None => 0,
            Some(after) => self.sorted_after(after, sorted)?,
        };
        let mut best = match self.next_bit(bits, from, sorted)? {
            Some(place) => Some(self.rank_at(place)?),
            None => None,
        };
        if let Some(late) = self.first_late(bits, after, count - sorted)? {
            best = Some(best.map_or(late, |best| best.min(late)));
        }
        Some(best)
    }

    /// Returns the first of those that came late; each of them has the place of its position.
    fn first_late(&mut self, bits: Bits, after: Option<Rank>, late: u64) -> Option<Option<Rank>> {
        let from = match after {
            None => 0,
            Some(after) => self.first_after(after, late, Index::late_rank)?,
        };
        for number in from..late {
            let position = u64::from(self.pages.u32(self.regions.late() + number * 4)?);
            if self.next_bit(bits, position, position + 1)?.is_some() {
                return self.rank_of(position as usize).map(Some);
            }
        }
        Some(None)
    }

    fn late_rank(&mut self, number: u64) -> Option<Rank> {
        let position = self.pages.u32(self.regions.late() + number * 4)? as usize;
        self.rank_of(position)
    }

    fn rank_at(&mut self, place: u64) -> Option<Rank> {
        let position = self.pages.u32(self.regions.order() + place * 4)? as usize;
        self.rank_of(position)
    }

    fn rank_of(&mut self, position: usize) -> Option<Rank> {
        let record = self.record(position)?;
        Some(Rank { class: record.class, age: record.age, position })
    }

    /// Puts a new item among those that came late.
    pub(super) fn insert_late(&mut self, rank: Rank, late: u64) -> Option<()> {
        let at = self.first_after(rank, late, Index::late_rank)?;
        let mut moved = rank.position as u32;
        for number in at..=late {
            let place = self.regions.late() + number * 4;
            let next = self.pages.u32(place)?;
            self.pages.set_u32(place, moved)?;
            moved = next;
        }
        Some(())
    }

    /// Returns the first of `count` numbers whose rank comes after another.
    fn first_after(
        &mut self,
        after: Rank,
        count: u64,
        rank: impl Fn(&mut Index, u64) -> Option<Rank>,
    ) -> Option<u64> {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low.midpoint(high);
            if rank(self, middle)? > after { high = middle } else { low = middle + 1 }
        }
        Some(low)
    }

    /// Returns the first of the sorted places that comes after a rank.
    fn sorted_after(&mut self, after: Rank, sorted: u64) -> Option<u64> {
        let place = u64::from(self.record(after.position)?.place);
        if place < sorted {
            return Some(place + 1);
        }
        self.first_after(after, sorted, Index::rank_at)
    }

    /// Puts the order right, in which every item has its place; no bits are set there yet.
    pub(super) fn sort(&mut self, items: &mut [Record]) -> Option<()> {
        let mut order: Vec<u32> = (0..items.len() as u32).collect();
        order.sort_by_key(|position| {
            let item = &items[*position as usize];
            (item.class, item.age, *position)
        });
        for (place, position) in order.iter().enumerate() {
            items[*position as usize].place = place as u32;
            self.pages.set_u32(self.regions.order() + place as u64 * 4, *position)?;
            self.set_record(u64::from(*position), &items[*position as usize])?;
        }
        self.pages.set_u64(at::SORTED, order.len() as u64)
    }

    /// Sorts those that came late among the others.
    pub(super) fn sort_again(&mut self) -> Option<()> {
        let count = self.count()?;
        let mut items = (0..count).map(|position| self.record(position)).collect::<Option<Vec<_>>>()?;
        for bits in [Bits::Ready, Bits::Waiting] {
            for place in self.each_bit(bits, 0, count as u64)? {
                self.set_bit(bits, place, false)?;
            }
        }
        self.sort(&mut items)?;
        for item in items {
            let bits = match self.listing.standing(item.state) {
                Standing::Ready => Bits::Ready,
                Standing::Waiting => Bits::Waiting,
                _ => continue,
            };
            self.set_bit(bits, u64::from(item.place), true)?;
        }
        Some(())
    }
}
