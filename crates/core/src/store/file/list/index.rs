//! The index of a long list: where each item stands, which one is next, who needs whom.
//!
//! It is a cache of what [`layout::scan`] finds. Every question and every change touches a few pages, however
//! long the list is. `None` means that the index cannot be believed (or has no place left): it is made anew.
//!
//! ```text
//! header | records, by position | order | ready, active, … : one bit each | ids | needs | held | late | dues
//!        | kin | families | tree | common
//! ```
//! - *order* lists the positions by class and age; `ready` and `waiting` have a bit for each place in it. Items that
//!   came later, or got another class, have places behind; *late* lists at most [`LATE`] of them by class and age, then
//!   all are sorted anew.
//! - *active*, *loose*, *barred* and *failed* have a bit for each position.
//! - *ids* is a hash table of positions (plus one), by the hash of the item's id.
//! - *needs* are linked lists: from an item to those that need it.
//! - *held* is a hash table of the keys that active items occupy, and how many do.
//! - *dues* has a time for each position: when somebody has to look after the item, as long as it is active.
//! - The header has the few items that were done last.
//! - *families* are the marks that items have in common, *kin* tells the family of each position, and *tree* finds the
//!   best item that has none of some marks: see `tree`. A kind without marks has none of these.

mod build;
mod families;
mod held;
mod order;
mod recent;
mod removal;
mod tree;

use std::io;

use xxhash_rust::xxh3::xxh3_64;

pub use self::build::Build;
use self::families::FAMILY;
use self::tree::Search;
use super::layout::{self, Frame, Slot};
use super::pages::{PAYLOAD, Pages};
use crate::model::listing::{Facet, Listing, Stage};
use crate::model::raw::Raw;
use crate::store::file::fs::Handle;

const MAGIC: u64 = u64::from_le_bytes(*b"anthill4");
const RECORD: u64 = 64;
const HELD: u64 = 16;
/// How many places there are for keys at first.
const FEW_HELD: u64 = 128;
/// How many items may come until all are sorted anew.
const LATE: u64 = 512;
/// How many pieces of the file may differ between the two buffers.
const PENDING: usize = 24;

/// Places in the header.
mod at {
    pub const MAGIC: u64 = 0;
    pub const LIFE: u64 = 8;
    pub const FILE: u64 = 16;
    pub const TWIN: u64 = 24;
    pub const REVISION: u64 = 32;
    pub const SUM: u64 = 40;
    pub const PREFIX: u64 = 48;
    pub const SUFFIX: u64 = 56;
    pub const SIZE: u64 = 64;
    pub const FRAME_SUM: u64 = 72;
    pub const ITEMS_SUM: u64 = 80;
    pub const COUNT: u64 = 88;
    pub const SORTED: u64 = 96;
    pub const EDGES: u64 = 104;
    pub const DANGLING: u64 = 112;
    pub const READY: u64 = 120;
    pub const ACTIVE: u64 = 128;
    pub const LOOSE: u64 = 136;
    pub const ROOM: u64 = 144;
    pub const ROOM_EDGES: u64 = 152;
    pub const ROOM_IDS: u64 = 160;
    pub const PENDING: u64 = 168;
    pub const STATES: u64 = 176;
    /// How much is held, by whom it cannot be told, and whether there was no place for more.
    pub const HELD: u64 = 304;
    pub const UNTOLD: u64 = 312;
    pub const CROWDED: u64 = 320;
    pub const ROOM_HELD: u64 = 328;
    /// How many places for keys are in use; few, as long as few suffice, so that they are on few pages.
    pub const HELD_PLACES: u64 = 360;
    /// The next time that something is due: by the clock of a boot, and by the calendar.
    pub const CLOCK: u64 = 336;
    pub const DUE_BOOT: u64 = 344;
    pub const DUE: u64 = 352;
    /// What was done last: how many are known, the newest first; and whether those are too few.
    pub const RECENT: u64 = 368;
    pub const RECENTS: u64 = 376;
    pub const SCARCE: u64 = 472;
    pub const BARRED: u64 = 480;
    /// The next place in the order that nobody has had, and how many came late.
    pub const NEXT: u64 = 488;
    pub const LATES: u64 = 496;
    pub const FAMILIES: u64 = 504;
    pub const RANGES: u64 = 512;
    pub const ROOM_FAMILIES: u64 = 896;
}

/// What the header says about the file that the index was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The life of the room, the file, and its other buffer (0: there is none).
    pub life: u64,
    pub file: u64,
    pub twin: u64,
    pub revision: u64,
    pub sum: u64,
}

/// One item as the index knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    pub slot: Slot,
    pub sum: u64,
    pub class: i64,
    pub age: i64,
    pub state: usize,
    /// The hash of its id.
    id: u64,
    /// Its place in the order.
    place: u32,
    /// The first of those that need it, plus one.
    needed_by: u32,
    /// How many of its needs are not done.
    open: u32,
    /// Whether it may have to wait for a time, although it is ready.
    timed: bool,
}

#[derive(Debug)]
pub struct Index {
    pages: Pages,
    listing: &'static Listing,
    regions: Regions,
    /// The search for the best item that is still going on.
    search: Option<Search>,
}

/// Where the parts begin, by the room that they were given.
#[derive(Debug, Clone, Copy)]
struct Regions {
    room: u64,
    edges: u64,
    ids: u64,
    held: u64,
    /// How many families there may be; 0 for a kind without marks.
    families: u64,
}

/// Which bits.
#[derive(Debug, Clone, Copy)]
enum Bits {
    Ready,
    Active,
    Loose,
    Waiting,
    /// Ready, but with an open need or a time to wait for.
    Barred,
    Failed,
}

/// The number of those.
const BITS: u64 = 6;

impl Regions {
    fn records(self) -> u64 {
        PAYLOAD as u64
    }

    fn order(self) -> u64 {
        after(self.records(), self.room * RECORD)
    }

    fn bits(self, bits: Bits) -> u64 {
        let first = after(self.order(), self.room * 4);
        first + self.bits_length() * bits as u64
    }

    fn bits_length(self) -> u64 {
        after(0, (self.room + LATE).div_ceil(8))
    }

    fn id_table(self) -> u64 {
        self.bits(Bits::Ready) + self.bits_length() * BITS
    }

    fn needs(self) -> u64 {
        after(self.id_table(), self.ids * 4)
    }

    fn held(self) -> u64 {
        after(self.needs(), self.edges * 8)
    }

    fn late(self) -> u64 {
        after(self.held(), self.held * HELD)
    }

    fn dues(self) -> u64 {
        after(self.late(), LATE * 8)
    }

    fn kin(self) -> u64 {
        after(self.dues(), self.room * 8)
    }

    fn families(self) -> u64 {
        after(self.kin(), self.marked() * 8)
    }

    fn tree(self) -> u64 {
        after(self.families(), self.families * FAMILY)
    }

    fn common(self) -> u64 {
        after(self.tree(), self.numbers() * 4)
    }

    fn pages(self) -> u32 {
        (after(self.common(), self.inner_numbers() * FAMILY) / PAYLOAD as u64) as u32
    }

    /// Returns how many items may have marks.
    fn marked(self) -> u64 {
        if self.families > 0 { self.room } else { 0 }
    }
}

/// Returns where the next part begins: on a page of its own.
fn after(start: u64, length: u64) -> u64 {
    start + length.next_multiple_of(PAYLOAD as u64)
}

impl Index {
    /// Opens an index, if it is one.
    pub fn open(file: Box<dyn Handle>, listing: &'static Listing) -> Option<Index> {
        let mut pages = Pages::open(file)?;
        let regions = Regions {
            room: pages.u64(at::ROOM)?,
            edges: pages.u64(at::ROOM_EDGES)?,
            ids: pages.u64(at::ROOM_IDS)?,
            held: pages.u64(at::ROOM_HELD)?,
            families: pages.u64(at::ROOM_FAMILIES)?,
        };
        (pages.u64(at::MAGIC)? == MAGIC).then_some(Index { pages, listing, regions, search: None })
    }

    /// Makes the index of a file; `None` if that is no list, or has the same id twice.
    pub fn build(bytes: &[u8], field: &str, listing: &'static Listing) -> Option<Index> {
        let mut build = Build::of(listing);
        let frame = layout::scan(bytes, field, &mut |slot, raw| build.add(slot, raw))?;
        build.finish(&frame)
    }

    pub fn stamp(&mut self) -> Option<Stamp> {
        Some(Stamp {
            life: self.pages.u64(at::LIFE)?,
            file: self.pages.u64(at::FILE)?,
            twin: self.pages.u64(at::TWIN)?,
            revision: self.pages.u64(at::REVISION)?,
            sum: self.pages.u64(at::SUM)?,
        })
    }

    pub fn set_stamp(&mut self, stamp: &Stamp) -> Option<()> {
        self.pages.set_u64(at::LIFE, stamp.life)?;
        self.pages.set_u64(at::FILE, stamp.file)?;
        self.pages.set_u64(at::TWIN, stamp.twin)?;
        self.pages.set_u64(at::REVISION, stamp.revision)?;
        self.pages.set_u64(at::SUM, stamp.sum)
    }

    /// Returns where the other buffer differs; `None` also if there is too much of it.
    pub fn pending(&mut self) -> Option<Vec<(u64, u64)>> {
        let count = self.pages.u64(at::PENDING)?;
        let range = |number| {
            let place = at::RANGES + number * 16;
            Some((self.pages.u64(place)?, self.pages.u64(place + 8)?))
        };
        (0..count).map(range).collect()
    }

    /// Says where the other buffer differs from now on. Returns false if that is too much to remember.
    pub fn set_pending(&mut self, ranges: &[(u64, u64)]) -> Option<bool> {
        let kept = if ranges.len() <= PENDING { ranges } else { &[] };
        self.pages.set_u64(at::PENDING, kept.len() as u64)?;
        for (number, (start, length)) in kept.iter().enumerate() {
            let place = at::RANGES + number as u64 * 16;
            self.pages.set_u64(place, *start)?;
            self.pages.set_u64(place + 8, *length)?;
        }
        Some(kept.len() == ranges.len())
    }

    pub fn frame(&mut self) -> Option<Frame> {
        Some(Frame {
            prefix: self.pages.u64(at::PREFIX)?,
            suffix: self.pages.u64(at::SUFFIX)?,
            size: self.pages.u64(at::SIZE)?,
            sum: self.pages.u64(at::FRAME_SUM)?,
        })
    }

    pub fn set_frame(&mut self, frame: &Frame) -> Option<()> {
        self.pages.set_u64(at::PREFIX, frame.prefix)?;
        self.pages.set_u64(at::SUFFIX, frame.suffix)?;
        self.pages.set_u64(at::SIZE, frame.size)?;
        self.pages.set_u64(at::FRAME_SUM, frame.sum)
    }

    /// Returns the sum of all items.
    pub fn items_sum(&mut self) -> Option<u64> {
        self.pages.u64(at::ITEMS_SUM)
    }

    pub fn count(&mut self) -> Option<usize> {
        self.pages.u64(at::COUNT).map(|count| count as usize)
    }

    /// Returns how many items are in each state.
    pub fn counts(&mut self) -> Option<Vec<usize>> {
        let states = 0..self.listing.states.len() as u64;
        states.map(|state| self.pages.u64(at::STATES + state * 8).map(|count| count as usize)).collect()
    }

    pub fn record(&mut self, position: usize) -> Option<Record> {
        let bytes: [u8; RECORD as usize] =
            self.pages.get(self.regions.records() + position as u64 * RECORD)?;
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let state = usize::from(bytes[52]);
        (state < self.listing.states.len()).then_some(Record {
            slot: Slot { start: word(0), length: half(8), room: half(12) },
            sum: word(16),
            class: word(24) as i64,
            age: word(32) as i64,
            place: half(40),
            needed_by: half(44),
            open: half(48),
            state,
            timed: bytes[53] != 0,
            id: word(56),
        })
    }

    fn set_record(&mut self, position: u64, record: &Record) -> Option<()> {
        let mut bytes = [0; RECORD as usize];
        bytes[0..8].copy_from_slice(&record.slot.start.to_le_bytes());
        bytes[8..12].copy_from_slice(&record.slot.length.to_le_bytes());
        bytes[12..16].copy_from_slice(&record.slot.room.to_le_bytes());
        bytes[16..24].copy_from_slice(&record.sum.to_le_bytes());
        bytes[24..32].copy_from_slice(&record.class.to_le_bytes());
        bytes[32..40].copy_from_slice(&record.age.to_le_bytes());
        bytes[40..44].copy_from_slice(&record.place.to_le_bytes());
        bytes[44..48].copy_from_slice(&record.needed_by.to_le_bytes());
        bytes[48..52].copy_from_slice(&record.open.to_le_bytes());
        bytes[52] = record.state as u8;
        bytes[53] = u8::from(record.timed);
        bytes[56..64].copy_from_slice(&record.id.to_le_bytes());
        self.pages.set(self.regions.records() + position * RECORD, &bytes)
    }

    /// Returns the position of the item with this id, `Some(None)` if there is none.
    pub fn position(&mut self, id: &str) -> Option<Option<usize>> {
        let wanted = hash(id);
        let mut bucket = wanted % self.regions.ids;
        for _ in 0..self.regions.ids {
            let Some(position) = self.pages.u32(self.regions.id_table() + bucket * 4)?.checked_sub(1) else {
                return Some(None);
            };
            if self.record(position as usize)?.id == wanted {
                return Some(Some(position as usize));
            }
            bucket = (bucket + 1) % self.regions.ids;
        }
        None
    }

    fn insert_id(&mut self, id: u64, position: u32) -> Option<()> {
        let mut bucket = id % self.regions.ids;
        while self.pages.u32(self.regions.id_table() + bucket * 4)? != 0 {
            bucket = (bucket + 1) % self.regions.ids;
        }
        self.pages.set_u32(self.regions.id_table() + bucket * 4, position + 1)
    }

    fn set_edge(&mut self, number: u64, dependent: u32, next: u32) -> Option<()> {
        let place = self.regions.needs() + number * 8;
        self.pages.set_u32(place, dependent)?;
        self.pages.set_u32(place + 4, next)
    }

    /// Returns the positions of the items that need this one, each once, in their order.
    pub fn dependents(&mut self, position: usize) -> Option<Vec<usize>> {
        let mut found = self.edges_of(position)?;
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    fn edges_of(&mut self, position: usize) -> Option<Vec<usize>> {
        let (mut next, mut found) = (self.record(position)?.needed_by, Vec::new());
        while let Some(edge) = next.checked_sub(1) {
            let place = self.regions.needs() + u64::from(edge) * 8;
            found.push(self.pages.u32(place)? as usize);
            next = self.pages.u32(place + 4)?;
            if found.len() as u64 > self.regions.edges {
                return None;
            }
        }
        Some(found)
    }

    /// Counts an item in (1) or out (-1): its state, and its bits.
    fn enter(&mut self, position: u64, record: &Record, by: i64) -> Option<()> {
        self.add(at::STATES + record.state as u64 * 8, by)?;
        let (place, on) = (u64::from(record.place), by > 0);
        match self.listing.stage(record.state) {
            Stage::Ready => {
                self.add(at::READY, by)?;
                self.set_bit(Bits::Ready, place, on)?;
                self.offer(position, on.then_some(record.place))?;
                if record.open > 0 || record.timed {
                    self.add(at::BARRED, by)?;
                    self.set_bit(Bits::Barred, position, on)?;
                }
            }
            Stage::Waiting => {
                self.set_bit(Bits::Waiting, place, on)?;
                if record.open == 0 {
                    self.add(at::LOOSE, by)?;
                    self.set_bit(Bits::Loose, position, on)?;
                }
            }
            Stage::Active => {
                self.add(at::ACTIVE, by)?;
                self.set_bit(Bits::Active, position, on)?;
            }
            Stage::Failed => self.set_bit(Bits::Failed, position, on)?,
            Stage::Done | Stage::Out => {}
        }
        Some(())
    }

    /// Returns how many items stand like this.
    fn stage(&mut self, stage: Stage) -> Option<u64> {
        let states = (0..).zip(self.listing.states).filter(|(_, state)| state.stage == stage);
        let counts = states.map(|(number, _)| self.pages.u64(at::STATES + number * 8));
        counts.sum()
    }

    fn add(&mut self, at: u64, by: i64) -> Option<()> {
        let value = self.pages.u64(at)?.checked_add_signed(by)?;
        self.pages.set_u64(at, value)
    }

    fn set_bit(&mut self, bits: Bits, number: u64, on: bool) -> Option<()> {
        let place = self.regions.bits(bits) + number / 8;
        let [byte] = self.pages.get(place)?;
        let mask = 1 << (number % 8);
        self.pages.set(place, &[if on { byte | mask } else { byte & !mask }])
    }

    /// Returns the first bit that is set from `from` on and before `end`.
    fn next_bit(&mut self, bits: Bits, from: u64, end: u64) -> Option<Option<u64>> {
        let start = self.regions.bits(bits);
        let mut first = from / 64;
        // Bits before `from` in its word do not count.
        let mut mask = u64::MAX << (from % 64);
        while first * 64 < end {
            let words = self.pages.rest(start + first * 8)?.chunks_exact(8);
            for (number, word) in (first..).zip(words) {
                let word = u64::from_le_bytes(word.try_into().expect("eight bytes")) & mask;
                mask = u64::MAX;
                if word != 0 {
                    let found = number * 64 + u64::from(word.trailing_zeros());
                    return Some((found < end).then_some(found));
                }
                first = number + 1;
            }
        }
        Some(None)
    }

    fn each_bit(&mut self, bits: Bits, from: u64, end: u64) -> Option<Vec<u64>> {
        let (mut found, mut next) = (Vec::new(), from);
        while let Some(number) = self.next_bit(bits, next, end)? {
            found.push(number);
            next = number + 1;
        }
        Some(found)
    }

    pub fn active(&mut self) -> Option<Vec<usize>> {
        let count = self.pages.u64(at::ACTIVE)?;
        self.positions(count, Bits::Active)
    }

    pub fn loose(&mut self) -> Option<Vec<usize>> {
        let count = self.pages.u64(at::LOOSE)?;
        self.positions(count, Bits::Loose)
    }

    pub fn barred(&mut self) -> Option<Vec<usize>> {
        let count = self.pages.u64(at::BARRED)?;
        self.positions(count, Bits::Barred)
    }

    pub fn failed(&mut self) -> Option<Vec<usize>> {
        let count = self.stage(Stage::Failed)?;
        self.positions(count, Bits::Failed)
    }

    fn positions(&mut self, count: u64, bits: Bits) -> Option<Vec<usize>> {
        if count == 0 {
            return Some(Vec::new());
        }
        let end = self.pages.u64(at::COUNT)?;
        Some(self.each_bit(bits, 0, end)?.into_iter().map(|position| position as usize).collect())
    }

    /// Puts an item in the place of another. `None` also if it has another id.
    pub fn replace(&mut self, position: usize, slot: Slot, raw: &Raw) -> Option<()> {
        let facet = (self.listing.facet)(raw)?;
        let old = self.record(position)?;
        if old.id != hash(&facet.id) {
            return None;
        }
        let timed = is_timed(self.listing, facet.state, raw);
        let sum = layout::item_sum(raw.text(), position);
        let (class, age) = (facet.class, facet.age);
        let mut new = Record { slot, sum, state: facet.state, timed, class, age, ..old };
        let family = self.family_of(raw)?;
        let moves = (old.class, old.age) != (class, age) || family != self.family_at(position as u64)?;
        let sum = self.items_sum()?.wrapping_sub(old.sum).wrapping_add(new.sum);
        self.pages.set_u64(at::ITEMS_SUM, sum)?;
        let [was_done, is_done] = [&old, &new].map(|record| self.listing.stage(record.state) == Stage::Done);
        self.enter(position as u64, &old, -1)?;
        if was_done {
            self.forget_done(position as u32)?;
        }
        if moves {
            self.leave_order(position, &old)?;
            self.set_kin(position as u64, family, None)?;
            new.place = self.next_place()?;
        }
        self.set_record(position as u64, &new)?;
        self.enter(position as u64, &new, 1)?;
        if is_done {
            self.note_done(position as u32, raw)?;
        }
        match (was_done, is_done) {
            (false, true) => self.count_open(position, -1)?,
            (true, false) => self.count_open(position, 1)?,
            _ => {}
        }
        if moves { self.insert_late(position) } else { Some(()) }
    }

    /// Says that an item stands elsewhere now.
    pub fn move_to(&mut self, position: usize, slot: Slot) -> Option<()> {
        let record = self.record(position)?;
        self.set_record(position as u64, &Record { slot, ..record })
    }

    /// Returns how many needs name an item that is not there.
    pub fn dangling(&mut self) -> Option<u64> {
        self.pages.u64(at::DANGLING)
    }

    /// Tells those that need an item that it is done (-1), or no longer (1).
    fn count_open(&mut self, position: usize, by: i32) -> Option<()> {
        for dependent in self.edges_of(position)? {
            let old = self.record(dependent)?;
            let new = Record { open: old.open.checked_add_signed(by)?, ..old };
            self.enter(dependent as u64, &old, -1)?;
            self.set_record(dependent as u64, &new)?;
            self.enter(dependent as u64, &new, 1)?;
        }
        Some(())
    }

    /// Whether it was changed so often that it does not know everything any more.
    pub fn is_worn(&mut self) -> Option<bool> {
        Some(self.pages.u64(at::CROWDED)? > 0 || self.pages.u64(at::SCARCE)? > 0)
    }

    /// Whether the index can take more items, those it takes keep the order short enough, there was a place
    /// for all that is held (else every claim would ask every active item), and it knows what was done last.
    pub fn has_room(&mut self) -> Option<bool> {
        let (count, edges) = (self.pages.u64(at::COUNT)?, self.pages.u64(at::EDGES)?);
        let worn = self.is_worn()?;
        let families = self.pages.u64(at::FAMILIES)? + 64 <= self.most_families();
        let families = families || self.regions.families == 0;
        Some(!worn && families && count + 64 <= self.regions.room && edges + 512 <= self.regions.edges)
    }

    /// Adds an item at the end. `None` also if somebody needs it already, or there is no place left.
    pub fn append(&mut self, slot: Slot, raw: &Raw) -> Option<()> {
        let facet = (self.listing.facet)(raw)?;
        let (count, mut edges) = (self.pages.u64(at::COUNT)?, self.pages.u64(at::EDGES)?);
        let room = count < self.regions.room && edges + facet.needs.len() as u64 <= self.regions.edges;
        if !room || self.pages.u64(at::DANGLING)? > 0 {
            return None;
        }
        let mut item = record(slot, raw, count as u32, &facet, self.listing);
        item.place = self.next_place()?;
        for need in &facet.needs {
            let needed = self.position(need)??;
            let mut needed_item = self.record(needed)?;
            item.open += u32::from(self.listing.stage(needed_item.state) != Stage::Done);
            self.set_edge(edges, count as u32, needed_item.needed_by)?;
            edges += 1;
            needed_item.needed_by = edges as u32;
            self.set_record(needed as u64, &needed_item)?;
        }
        self.pages.set_u64(at::EDGES, edges)?;
        self.pages.set_u64(at::COUNT, count + 1)?;
        let sum = self.items_sum()?.wrapping_add(item.sum);
        self.pages.set_u64(at::ITEMS_SUM, sum)?;
        let family = self.family_of(raw)?;
        self.set_kin(count, family, None)?;
        self.set_record(count, &item)?;
        self.insert_id(item.id, count as u32)?;
        self.enter(count, &item, 1)?;
        if self.listing.stage(item.state) == Stage::Done {
            self.note_done(count as u32, raw)?;
        }
        self.insert_late(count as usize)
    }

    /// Writes the index to a new file, and later changes too.
    pub fn write_to(&mut self, file: Box<dyn Handle>) -> io::Result<()> {
        self.pages.attach(file);
        self.pages.flush()
    }

    /// Whether it came from a file, or was written to one.
    pub fn is_stored(&self) -> bool {
        self.pages.is_stored()
    }

    /// Writes what has changed.
    pub fn flush(&mut self) -> io::Result<()> {
        self.pages.flush()
    }
}

fn record(slot: Slot, raw: &Raw, position: u32, facet: &Facet<'_>, listing: &Listing) -> Record {
    Record {
        slot,
        sum: layout::item_sum(raw.text(), position as usize),
        class: facet.class,
        age: facet.age,
        state: facet.state,
        id: hash(&facet.id),
        place: 0,
        needed_by: 0,
        open: 0,
        timed: is_timed(listing, facet.state, raw),
    }
}

fn is_timed(listing: &Listing, state: usize, raw: &Raw) -> bool {
    listing.stage(state) == Stage::Ready && (listing.timed)(raw)
}

fn hash(id: &str) -> u64 {
    xxh3_64(id.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::model::kind::Doc;
    use crate::model::listing::Hold;

    fn index(tasks: &[Value]) -> Index {
        let document = json!({"tasks": tasks});
        let bytes = layout::render(document.as_object().expect("an object"), "tasks", 448).expect("a list");
        let listing = Doc::queue().kind.listing.expect("a list");
        Index::build(&bytes, "tasks", listing).expect("an index")
    }

    proptest! {
        /// Few homes, so that nearly every key stands behind others, also beyond the end of the table.
        #[test]
        fn held_keys_are_those_of_a_map(steps in prop::collection::vec((0..4_u64, 0..12_u64, any::<bool>()), 0..120)) {
            let mut index = index(&[]);
            let size = index.regions.held;
            let mut model: HashMap<u64, u64> = HashMap::new();
            for (home, turn, occupy) in steps {
                let key = (size - 2 + home) % size + (turn + 1) * size;
                let hold = Hold { due: None, keys: Some(vec![key]) };
                let count = model.entry(key).or_default();
                if occupy {
                    *count += 1;
                    index.hold(&hold, 1).expect("an index");
                } else if *count > 0 {
                    *count -= 1;
                    index.hold(&hold, -1).expect("an index");
                }
                model.retain(|_, count| *count > 0);
                prop_assert_eq!(index.pages.u64(at::HELD), Some(model.len() as u64));
                for key in (0..4).flat_map(|home| (1..13).map(move |turn| (size - 2 + home) % size + turn * size)) {
                    prop_assert_eq!(index.may_be_occupied(&[key]), Some(model.contains_key(&key)));
                }
            }
        }
    }

    /// A table that is full says "maybe" from then on, and lets go of what it never took.
    #[test]
    fn crowded_table_never_says_no() {
        let mut index = index(&[]);
        assert_eq!(index.has_room(), Some(true));
        let keys: Vec<u64> = (1..=index.regions.held).collect();
        index.hold(&Hold { due: None, keys: Some(keys.clone()) }, 1).expect("an index");
        assert_eq!(index.pages.u64(at::HELD), Some(index.regions.held / 2));
        assert_eq!(index.may_be_occupied(&[u64::MAX]), Some(true));
        index.hold(&Hold { due: None, keys: Some(keys) }, -1).expect("an index");
        assert_eq!(index.pages.u64(at::HELD), Some(0));
        assert_eq!(index.may_be_occupied(&[1]), Some(true));
        assert_eq!(index.has_room(), Some(false), "it is to be made anew");
    }

    #[test]
    fn index_made_anew_is_not_crowded() {
        let files: Vec<_> = (0..5000).map(|number| format!("src/m{number}/a.rs")).collect();
        let task = json!({
            "id": "a", "description": "", "status": "claimed", "claimed_by": "w", "context": {"files": files},
            "claimed_at": "2026-01-01T00:00:00Z",
        });
        let mut index = index(&[task]);
        assert!(index.pages.u64(at::HELD).expect("a header") >= 5000);
        assert_eq!(index.has_room(), Some(true));
    }

    #[test]
    fn bits_are_found_across_words_and_pages() {
        let page = PAYLOAD as u64 * 8;
        let mut index = index(&[]);
        index.regions.room = page * 3;
        index.pages.make(index.regions.pages());
        let bits = [0, 1, 63, 64, 127, page - 1, page, page + 1, page * 2 - 64, page * 3 - 1];
        for bit in bits {
            index.set_bit(Bits::Active, bit, true).expect("a page");
        }
        assert_eq!(index.each_bit(Bits::Active, 0, page * 3), Some(bits.to_vec()));
        for (number, bit) in bits.iter().enumerate() {
            let next = bits.get(number + 1).copied();
            assert_eq!(index.next_bit(Bits::Active, *bit, page * 3), Some(Some(*bit)));
            assert_eq!(index.next_bit(Bits::Active, bit + 1, page * 3), Some(next));
            assert_eq!(index.next_bit(Bits::Active, *bit, *bit), Some(None), "the end does not count");
            assert_eq!(index.next_bit(Bits::Active, *bit, bit + 1), Some(Some(*bit)));
        }
        assert_eq!(index.each_bit(Bits::Loose, 0, page * 3), Some(Vec::new()), "the next ones are others");
        for bit in bits {
            index.set_bit(Bits::Active, bit, false).expect("a page");
        }
        assert_eq!(index.next_bit(Bits::Active, 0, page * 3), Some(None));
    }

    #[test]
    fn ids_and_needs_that_occur_twice() {
        let task = |id: &str, needs: &[&str]| json!({"id": id, "description": "", "status": "created", "dependencies": needs});
        let document = json!({"tasks": [task("a", &[]), task("a", &[])]});
        let bytes = layout::render(document.as_object().expect("an object"), "tasks", 448).expect("a list");
        assert!(Index::build(&bytes, "tasks", Doc::queue().kind.listing.expect("a list")).is_none());
        let mut index = index(&[task("a", &[]), task("b", &["a", "a", "b", "nobody"])]);
        assert_eq!(index.dependents(0), Some(vec![1]));
        assert_eq!(index.dependents(1), Some(vec![1]));
        assert_eq!(index.dangling(), Some(1));
        assert_eq!(index.loose(), Some(vec![0]));
        assert_eq!(index.position("nobody"), Some(None));
    }
}
