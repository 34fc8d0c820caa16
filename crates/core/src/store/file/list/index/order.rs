//! In which order items are picked: by class, then by age, then by position; and those that came late.

use super::{Bits, Index, LATE, Record, at};
use crate::model::listing::{Marks, Stage};
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
        match self.stage(Stage::Waiting)? {
            0 => Some(None),
            _ => self.first(Bits::Waiting, after),
        }
    }

    fn first(&mut self, bits: Bits, after: Option<Rank>) -> Option<Option<Rank>> {
        let sorted = self.pages.u64(at::SORTED)?;
        let from = match after {
            None => 0,
            Some(after) => self.sorted_after(after, sorted)?,
        };
        let mut best = match self.next_bit(bits, from, sorted)? {
            Some(place) => Some(self.rank_at(place)?),
            None => None,
        };
        if let Some(late) = self.first_late(bits, after, None)? {
            best = Some(best.map_or(late, |best| best.min(late)));
        }
        Some(best)
    }

    /// Returns the first of those that came late, and have none of these marks.
    pub(super) fn first_late(
        &mut self,
        bits: Bits,
        after: Option<Rank>,
        without: Option<&Marks>,
    ) -> Option<Option<Rank>> {
        let late = self.pages.u64(at::LATES)?;
        let from = match after {
            None => 0,
            Some(after) => self.first_after(after, late, Index::late_rank)?,
        };
        for number in from..late {
            let (position, place) = self.late(number)?;
            let there = self.next_bit(bits, place, place + 1)?.is_some();
            if there && !without.map_or(Some(false), |marks| self.is_marked(position, marks))? {
                return self.rank_of(position as usize).map(Some);
            }
        }
        Some(None)
    }

    /// Returns the position of one that came late, and its place in the order.
    fn late(&mut self, number: u64) -> Option<(u64, u64)> {
        let word = self.pages.u64(self.regions.late() + number * 8)?;
        Some((word & u64::from(u32::MAX), word >> 32))
    }

    fn late_rank(&mut self, number: u64) -> Option<Rank> {
        let (position, _) = self.late(number)?;
        self.rank_of(position as usize)
    }

    pub(super) fn rank_at(&mut self, place: u64) -> Option<Rank> {
        let position = self.pages.u32(self.regions.order() + place * 4)? as usize;
        self.rank_of(position)
    }

    fn rank_of(&mut self, position: usize) -> Option<Rank> {
        let record = self.record(position)?;
        Some(Rank { class: record.class, age: record.age, position })
    }

    /// Returns a place in the order for one that comes late.
    pub(super) fn next_place(&mut self) -> Option<u32> {
        let next = self.pages.u64(at::NEXT)?;
        self.pages.set_u64(at::NEXT, next + 1)?;
        u32::try_from(next).ok()
    }

    /// Puts an item that has its [place](Index::next_place) among those that came late.
    pub(super) fn insert_late(&mut self, position: usize) -> Option<()> {
        if self.pages.u64(at::NEXT)? - self.pages.u64(at::SORTED)? >= LATE {
            return self.sort_again();
        }
        let (late, rank) = (self.pages.u64(at::LATES)?, self.rank_of(position)?);
        let at = self.first_after(rank, late, Index::late_rank)?;
        let mut moved = position as u64 | u64::from(self.record(position)?.place) << 32;
        for number in at..=late {
            let place = self.regions.late() + number * 8;
            let next = self.pages.u64(place)?;
            self.pages.set_u64(place, moved)?;
            moved = next;
        }
        self.pages.set_u64(at::LATES, late + 1)
    }

    /// Gives up an item's place in the order. No bit is set there any more.
    pub(super) fn leave_order(&mut self, position: usize, old: &Record) -> Option<()> {
        let (place, sorted) = (u64::from(old.place), self.pages.u64(at::SORTED)?);
        match place < sorted {
            true => self.leave_sorted(position as u32, place, sorted),
            false => self.leave_late(position),
        }
    }

    /// Lets a neighbour stand for the item, so that ranks still rise from place to place.
    fn leave_sorted(&mut self, position: u32, place: u64, sorted: u64) -> Option<()> {
        let order = self.regions.order();
        let (mut first, mut end) = (place, place + 1);
        while first > 0 && self.pages.u32(order + (first - 1) * 4)? == position {
            first -= 1;
        }
        while end < sorted && self.pages.u32(order + end * 4)? == position {
            end += 1;
        }
        let neighbour = match (first, end) {
            (0, end) if end == sorted => return Some(()),
            (0, end) => end,
            (first, _) => first - 1,
        };
        let neighbour = self.pages.u32(order + neighbour * 4)?;
        (first..end).try_for_each(|place| self.pages.set_u32(order + place * 4, neighbour))
    }

    fn leave_late(&mut self, position: usize) -> Option<()> {
        let late = self.pages.u64(at::LATES)?;
        let rank = self.rank_of(position)?;
        let at = self.first_after(rank, late, Index::late_rank)?.checked_sub(1)?;
        (self.late(at)?.0 == position as u64).then_some(())?;
        for number in at + 1..late {
            let next = self.pages.u64(self.regions.late() + number * 8)?;
            self.pages.set_u64(self.regions.late() + (number - 1) * 8, next)?;
        }
        self.pages.set_u64(at::LATES, late - 1)
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
    pub(super) fn sorted_after(&mut self, after: Rank, sorted: u64) -> Option<u64> {
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
        self.pages.set_u64(at::LATES, 0)?;
        self.pages.set_u64(at::NEXT, order.len() as u64)?;
        self.pages.set_u64(at::SORTED, order.len() as u64)
    }

    /// Sorts those that came late among the others.
    pub(super) fn sort_again(&mut self) -> Option<()> {
        let count = self.count()?;
        let mut items = (0..count).map(|position| self.record(position)).collect::<Option<Vec<_>>>()?;
        for bits in [Bits::Ready, Bits::Waiting] {
            let places = self.pages.u64(at::NEXT)?;
            for place in self.each_bit(bits, 0, places)? {
                self.set_bit(bits, place, false)?;
            }
        }
        self.sort(&mut items)?;
        for item in &items {
            let bits = match self.listing.stage(item.state) {
                Stage::Ready => Bits::Ready,
                Stage::Waiting => Bits::Waiting,
                _ => continue,
            };
            self.set_bit(bits, u64::from(item.place), true)?;
        }
        self.plant(&items)
    }
}
