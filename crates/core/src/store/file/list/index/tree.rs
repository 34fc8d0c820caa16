//! The best item that has none of some marks, without a look at each that has one.
//!
//! The leaves of the *tree* are the items that were sorted, by their families, so that those stand together which have
//! marks in common: each is the item's place in the order, if it is ready. [`FAN`] numbers make a block, and its least
//! is a number of the level above, up to one. *common* has, for each number above the leaves, the marks that all items
//! beneath it share. A search goes down from the least number, and passes over what shares a mark: tasks that touch
//! `src/` are judged at once, however many there are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::families::{FAMILY, Family, has_any, keep_common};
use super::{Bits, Index, Record, Regions, at};
use crate::model::listing::{Marks, Stage};
use crate::model::quick_hash::QuickMap;
use crate::store::engine::Rank;

/// How many numbers make a block; no block is on two pages.
const FAN: u64 = 30;
/// Nothing beneath is ready.
const NONE: u32 = u32::MAX;

/// A search that can be gone on with.
#[derive(Debug)]
pub struct Search {
    /// The last item that was found.
    after: Option<Rank>,
    without: Marks,
    /// What is still to be looked into, the least number first: the number, its level, and its place there.
    open: BinaryHeap<Reverse<(u32, u32, u64)>>,
}

impl Regions {
    /// Returns where a level begins among the numbers of the tree, and how long it is. The leaves are level 0.
    fn level(self, level: u32) -> (u64, u64) {
        let (mut start, mut count) = (0, self.marked());
        for _ in 0..level {
            start += count.next_multiple_of(FAN);
            count = count.div_ceil(FAN);
        }
        (start, count)
    }

    /// Returns the level that has only one number.
    fn top(self) -> u32 {
        (0..).find(|level| self.level(*level).1 <= 1).unwrap_or_default()
    }

    /// Returns how many numbers the tree has.
    pub(super) fn numbers(self) -> u64 {
        let (start, count) = self.level(self.top());
        start + count.next_multiple_of(FAN)
    }

    /// Returns how many of them are above the leaves.
    pub(super) fn inner_numbers(self) -> u64 {
        self.numbers() - self.level(0).1.next_multiple_of(FAN)
    }

    fn number(self, level: u32, index: u64) -> u64 {
        self.tree() + (self.level(level).0 + index) * 4
    }

    /// Returns where the marks are that everything beneath a number shares.
    fn common_of(self, level: u32, index: u64) -> u64 {
        let above_leaves = self.level(level).0 - self.level(1).0 + index;
        self.common() + above_leaves * FAMILY
    }
}

impl Index {
    /// Says that an item is ready, by its place in the order, or that it is not.
    pub(super) fn offer(&mut self, position: u64, place: Option<u32>) -> Option<()> {
        self.search = None;
        let Some(leaf) = self.leaf_at(position)? else { return Some(()) };
        let mut index = u64::from(leaf);
        self.pages.set_u32(self.regions.number(0, index), place.unwrap_or(NONE))?;
        for level in 1..=self.regions.top() {
            let least = self.block(level - 1, index / FAN)?.into_iter().min().unwrap_or(NONE);
            index /= FAN;
            let above = self.regions.number(level, index);
            if self.pages.u32(above)? == least {
                break;
            }
            self.pages.set_u32(above, least)?;
        }
        Some(())
    }

    /// Returns the numbers of a block.
    fn block(&mut self, level: u32, number: u64) -> Option<[u32; FAN as usize]> {
        let count = self.regions.level(level).1;
        let bytes = self.pages.rest(self.regions.number(level, number * FAN))?;
        let mut block = [NONE; FAN as usize];
        let there = (count - number * FAN).min(FAN) as usize;
        for (number, bytes) in block[..there].iter_mut().zip(bytes.chunks_exact(4)) {
            *number = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        }
        Some(block)
    }

    /// Returns the best item that is ready and has none of these marks, after this one in the order.
    pub fn best_without(&mut self, after: Option<Rank>, without: &Marks) -> Option<Option<Rank>> {
        if self.regions.families == 0 || without.is_empty() || self.pages.u64(at::READY)? == 0 {
            return self.best(after);
        }
        let mut search = match self.search.take() {
            Some(search) if search.after == after && search.without.is_subset(without) => search,
            _ => self.begin_search(after)?,
        };
        search.without.clone_from(without);
        let sorted = self.go_on(&mut search)?;
        let late = self.first_late(Bits::Ready, after, Some(without))?;
        let found = match (sorted, late) {
            (Some((rank, place)), Some(late)) if late < rank => {
                // It is found again next time.
                search.open.push(Reverse((place, 0, self.leaf_of(rank)?)));
                Some(late)
            }
            (Some((rank, _)), _) => Some(rank),
            (None, late) => late,
        };
        search.after = found;
        // One that has come to its end would be taken for one that begins.
        self.search = found.map(|_| search);
        Some(found)
    }

    fn leaf_of(&mut self, rank: Rank) -> Option<u64> {
        self.leaf_at(rank.position as u64)?.map(u64::from)
    }

    fn begin_search(&mut self, after: Option<Rank>) -> Option<Search> {
        let (top, mut open) = (self.regions.top(), BinaryHeap::new());
        let least = self.pages.u32(self.regions.number(top, 0))?;
        open.push(Reverse((least, top, 0)));
        Some(Search { after, without: Marks::default(), open })
    }

    /// Returns the next item that is sorted and has none of the marks, and its place.
    fn go_on(&mut self, search: &mut Search) -> Option<Option<(Rank, u32)>> {
        let sorted = self.pages.u64(at::SORTED)?;
        let from = search.after.map_or(Some(0), |after| self.sorted_after(after, sorted))?;
        while let Some(Reverse((least, level, index))) = search.open.pop() {
            if least == NONE {
                break;
            }
            if level > 0 {
                if !has_any(&self.marks_at(self.regions.common_of(level, index))?, &search.without) {
                    let children = (index * FAN..).zip(self.block(level - 1, index)?);
                    let children = children.filter(|(_, least)| *least != NONE);
                    search.open.extend(children.map(|(child, least)| Reverse((least, level - 1, child))));
                }
            } else if u64::from(least) >= from {
                let rank = self.rank_at(u64::from(least))?;
                if !self.is_marked(rank.position as u64, &search.without)? {
                    return Some(Some((rank, least)));
                }
            }
        }
        Some(None)
    }

    /// Makes the tree of all items, which are sorted.
    pub(super) fn plant(&mut self, items: &[Record]) -> Option<()> {
        self.search = None;
        if self.regions.families == 0 {
            return Some(());
        }
        let families = self.sorted_families(items.len() as u64)?;
        let mut leaves: Vec<(u32, u32, u32)> = Vec::with_capacity(items.len());
        for (rank, (_, _, positions)) in (0..).zip(&families) {
            leaves
                .extend(positions.iter().map(|position| (rank, items[*position as usize].place, *position)));
        }
        leaves.sort_unstable();
        let mut level = Vec::with_capacity(leaves.len());
        for (leaf, (rank, place, position)) in (0..).zip(&leaves) {
            self.set_kin(u64::from(*position), families[*rank as usize].1, Some(leaf))?;
            let is_ready = self.listing.stage(items[*position as usize].state) == Stage::Ready;
            level.push(if is_ready { *place } else { NONE });
        }
        self.write_level(0, &level, &[])?;
        let marks =
            |block: &[(u32, u32, u32)]| in_common(block.iter().map(|leaf| &families[leaf.0 as usize].0));
        let mut common: Vec<Family> = leaves.chunks(FAN as usize).map(marks).collect();
        for number in 1..=self.regions.top() {
            level = level.chunks(FAN as usize).map(|block| *block.iter().min().unwrap_or(&NONE)).collect();
            self.write_level(number, &level, &common)?;
            common = common.chunks(FAN as usize).map(|block| in_common(block.iter())).collect();
        }
        Some(())
    }

    /// Returns the marks, the number and the members of each family. Those that share their first marks are neighbours.
    fn sorted_families(&mut self, count: u64) -> Option<Vec<(Family, u32, Vec<u32>)>> {
        let mut members: QuickMap<u64, Vec<u32>> = QuickMap::default();
        for position in 0..count {
            let number = self.family_at(position)?;
            members.entry(number.into()).or_default().push(position as u32);
        }
        let mut families = Vec::with_capacity(members.len());
        for (number, positions) in members {
            families.push((self.family(number as u32)?, number as u32, positions));
        }
        families
            .sort_unstable_by(|(one, ..), (other, ..)| one[1..].cmp(&other[1..]).then(one[0].cmp(&other[0])));
        Some(families)
    }

    /// Writes the numbers of a level, and above the leaves what those beneath them share.
    fn write_level(&mut self, level: u32, numbers: &[u32], common: &[Family]) -> Option<()> {
        for index in 0..self.regions.level(level).1 {
            let least = numbers.get(index as usize).copied().unwrap_or(NONE);
            self.pages.set_u32(self.regions.number(level, index), least)?;
        }
        for (index, family) in (0..).zip(common).filter(|_| level > 0) {
            self.set_marks(self.regions.common_of(level, index), family)?;
        }
        Some(())
    }
}

fn in_common<'f>(mut families: impl Iterator<Item = &'f Family>) -> Family {
    let mut common = families.next().copied().unwrap_or_default();
    families.for_each(|other| keep_common(&mut common, other));
    common
}
