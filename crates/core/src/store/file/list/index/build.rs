//! Making an index from the items of a list, in their order.

use super::families::{Family, family};
use super::recent::{End, RECENT};
use super::{FEW_HELD, Index, MAGIC, Record, Regions, at, hash, record};
use crate::model::listing::{Hold, Listing, Stage};
use crate::model::quick_hash::QuickMap;
use crate::model::raw::Raw;
use crate::store::file::list::layout::{Frame, Slot};
use crate::store::file::list::pages::Pages;

/// How many families there may be at least.
const FEW_FAMILIES: u64 = 256;

/// How many items may come to a short list until its index is made anew. Most mailboxes are short, and room takes space.
const MORE: u64 = 256;

/// What an index is made from, item by item.
#[derive(Debug)]
pub struct Build {
    listing: &'static Listing,
    /// How many items there are before these.
    before: usize,
    items: Vec<Record>,
    edges: Vec<(u32, u64)>,
    holds: Vec<(usize, Hold)>,
    /// When which items were done.
    ends: Vec<End>,
    /// The mark of each item's kin, and the families that have one.
    kins: Vec<u64>,
    families: QuickMap<u64, Family>,
    fits: bool,
}

impl Build {
    pub fn of(listing: &'static Listing) -> Build {
        let (before, items, edges, holds, ends) = Default::default();
        let (kins, families) = Default::default();
        Build { listing, before, items, edges, holds, ends, kins, families, fits: true }
    }

    /// Begins one for other items of the same kind.
    pub fn anew(&self) -> Build {
        Build::of(self.listing)
    }

    /// Begins another one for what comes behind so many more items.
    pub fn behind(&self, more: usize) -> Build {
        Build { before: self.count() + more, ..Build::of(self.listing) }
    }

    /// Takes the items of another one that was begun [behind](Build::behind) these.
    pub fn append(&mut self, other: Build) {
        self.fits &= other.fits && other.before == self.count();
        self.items.extend(other.items);
        self.edges.extend(other.edges);
        self.holds.extend(other.holds);
        self.ends.extend(other.ends);
        self.kins.extend(other.kins);
        self.families.extend(other.families);
    }

    pub fn reserve(&mut self, count: usize) {
        self.items.reserve(count);
    }

    /// Takes the next item.
    pub fn add(&mut self, slot: Slot, raw: &Raw) {
        let position = self.count() as u32;
        let Some(facet) = (self.listing.facet)(raw) else {
            self.fits = false;
            return;
        };
        self.edges.extend(facet.needs.iter().map(|need| (position, hash(need))));
        let item = record(slot, raw, position, &facet, self.listing);
        match (self.listing.stage(facet.state), self.listing.ended) {
            (Stage::Active, _) => self.holds.push((position as usize, (self.listing.hold)(raw))),
            (Stage::Done, Some(ended)) => self.ends.push((ended(raw), position)),
            _ => {}
        }
        self.items.push(item);
        if let Some(marking) = &self.listing.marking {
            let kin = (marking.kin)(raw);
            self.kins.push(kin);
            if kin != 0 {
                self.families.entry(kin).or_insert_with(|| family((marking.all)(raw)));
            }
        }
    }

    /// Returns what is known of the items.
    pub fn items(&self) -> &[Record] {
        &self.items
    }

    /// Says that the items stand elsewhere.
    pub fn relocate(&mut self, slots: &[Slot]) {
        self.items.iter_mut().zip(slots).for_each(|(item, slot)| item.slot = *slot);
    }

    /// Whether all items could be read.
    pub fn fits(&self) -> bool {
        self.fits
    }

    pub fn count(&self) -> usize {
        self.before + self.items.len()
    }

    /// Returns the sum of all items.
    pub fn items_sum(&self) -> u64 {
        self.items.iter().fold(0, |sum, item| sum.wrapping_add(item.sum))
    }

    /// Returns where the last item stands.
    pub fn last(&self) -> Option<Slot> {
        self.items.last().map(|item| item.slot)
    }

    /// Returns the index; `None` also if an item has the id of another.
    pub fn finish(mut self, frame: &Frame) -> Option<Index> {
        let mut index = self.fits.then(|| Index::assemble(frame, &mut self)).flatten()?;
        let Build { holds, mut ends, .. } = self;
        for (position, hold) in &holds {
            index.hold(hold, 1)?;
            index.set_due(*position, hold.due)?;
        }
        ends.sort_unstable_by(|one, other| other.cmp(one));
        ends.truncate(RECENT);
        index.set_recents(&ends)?;
        Some(index)
    }
}

impl Index {
    fn assemble(frame: &Frame, build: &mut Build) -> Option<Index> {
        let mut items = std::mem::take(&mut build.items);
        let Build { listing, edges, holds, families, kins, .. } = build;
        let mut by_id: QuickMap<u64, u32> = QuickMap::default();
        by_id.reserve(items.len());
        let mut ids = items.iter().map(|item| item.id).zip(0..);
        if !ids.all(|(id, position)| by_id.insert(id, position).is_none()) {
            return None;
        }
        let count = items.len() as u64;
        let room = count + count / 4 + MORE;
        let keys: usize = holds.iter().flat_map(|(_, hold)| &hold.keys).map(Vec::len).sum();
        let regions = Regions {
            room,
            edges: edges.len() as u64 * 2 + 4 * MORE,
            ids: (room * 2).next_power_of_two(),
            held: (keys as u64 * 4).max(room).next_power_of_two(),
            families: if listing.marking.is_some() {
                (families.len() as u64 * 4 / 3).max(FEW_FAMILIES)
            } else {
                0
            },
        };
        let mut index = Index { pages: Pages::default(), listing, regions, search: None };
        index.pages.make(regions.pages());
        let fields = [
            (at::MAGIC, MAGIC),
            (at::ROOM, regions.room),
            (at::ROOM_EDGES, regions.edges),
            (at::ROOM_IDS, regions.ids),
            (at::ROOM_HELD, regions.held),
            (at::ROOM_FAMILIES, regions.families),
            (at::HELD_PLACES, FEW_HELD),
            (at::DUE_BOOT, i64::MAX as u64),
            (at::DUE, i64::MAX as u64),
            (at::COUNT, count),
        ];
        for (at, value) in fields {
            index.pages.set_u64(at, value)?;
        }
        index.set_frame(frame)?;
        let mut dangling = 0;
        for (number, (dependent, id)) in edges.iter().enumerate() {
            let item = &mut items[*dependent as usize];
            match by_id.get(id) {
                None => {
                    dangling += 1;
                    item.open += 1;
                }
                Some(needed) => {
                    let done = listing.stage(items[*needed as usize].state) == Stage::Done;
                    items[*dependent as usize].open += u32::from(!done);
                    let needed = &mut items[*needed as usize];
                    index.set_edge(number as u64, *dependent, needed.needed_by)?;
                    needed.needed_by = number as u32 + 1;
                }
            }
        }
        index.pages.set_u64(at::EDGES, edges.len() as u64)?;
        index.pages.set_u64(at::DANGLING, dangling)?;
        let mut sum = 0_u64;
        for (position, item) in items.iter().enumerate() {
            sum = sum.wrapping_add(item.sum);
            index.insert_id(item.id, position as u32)?;
        }
        index.pages.set_u64(at::ITEMS_SUM, sum)?;
        index.sort(&mut items)?;
        for (position, item) in items.iter().enumerate() {
            index.enter(position as u64, item, 1)?;
        }
        index.note_families(kins, families)?;
        index.plant(&items)?;
        Some(index)
    }

    fn note_families(&mut self, kins: &[u64], families: &QuickMap<u64, Family>) -> Option<()> {
        for (position, kin) in kins.iter().enumerate() {
            let family = families.get(kin).map_or(Some(0), |family| self.insert_family(family))?;
            self.set_kin(position as u64, family, None)?;
        }
        Some(())
    }
}
