//! What items have in common. A family are all items with the same marks; *families* is a hash table of them, by the
//! mark of the kin, and a family's number is its place there, plus one. Those without marks are number 0.

use super::{Index, at};
use crate::model::listing::Marks;
use crate::model::marks::MOST;
use crate::model::raw::Raw;

/// The marks of a family, the rest is 0: that of the kin, then from what is general to what is special.
pub type Family = [u64; MOST];

/// The length of a family.
pub const FAMILY: u64 = MOST as u64 * 8;

impl Index {
    /// Returns the number of an item's family, which is added if it is new; `None` also if there is no place.
    pub(super) fn family_of(&mut self, raw: &Raw) -> Option<u32> {
        let Some(marking) = &self.listing.marking else { return Some(0) };
        let kin = (marking.kin)(raw);
        if kin == 0 {
            return Some(0);
        }
        let (bucket, is_new) = self.bucket_of(kin)?;
        if is_new {
            self.add_family(bucket, &family((marking.all)(raw)))?;
        }
        Some(bucket as u32 + 1)
    }

    /// Returns where the family of this kin is or would be, and whether it is not there yet.
    fn bucket_of(&mut self, kin: u64) -> Option<(u64, bool)> {
        let families = self.regions.families;
        for step in 0..families {
            let bucket = (kin % families + step) % families;
            match self.pages.u64(self.regions.families() + bucket * FAMILY)? {
                found if found == kin => return Some((bucket, false)),
                0 => return Some((bucket, true)),
                _ => {}
            }
        }
        None
    }

    fn add_family(&mut self, bucket: u64, family: &Family) -> Option<()> {
        let count = self.pages.u64(at::FAMILIES)? + 1;
        if count > self.most_families() {
            return None;
        }
        self.pages.set_u64(at::FAMILIES, count)?;
        self.set_marks(self.regions.families() + bucket * FAMILY, family)
    }

    pub(super) fn set_marks(&mut self, place: u64, family: &Family) -> Option<()> {
        let mut bytes = [0; FAMILY as usize];
        for (place, mark) in bytes.chunks_exact_mut(8).zip(family) {
            place.copy_from_slice(&mark.to_le_bytes());
        }
        self.pages.set(place, &bytes)
    }

    /// Puts a family in its place, and returns its number.
    pub(super) fn insert_family(&mut self, family: &Family) -> Option<u32> {
        let (bucket, is_new) = self.bucket_of(family[0])?;
        if is_new {
            self.add_family(bucket, family)?;
        }
        Some(bucket as u32 + 1)
    }

    /// Some places stay empty, so that families are found.
    pub(super) fn most_families(&self) -> u64 {
        self.regions.families / 8 * 7
    }

    pub(super) fn family(&mut self, number: u32) -> Option<Family> {
        match number.checked_sub(1) {
            None => Some([0; MOST]),
            Some(bucket) => self.marks_at(self.regions.families() + u64::from(bucket) * FAMILY),
        }
    }

    pub(super) fn marks_at(&mut self, place: u64) -> Option<Family> {
        let bytes: [u8; FAMILY as usize] = self.pages.get(place)?;
        let mut family = [0; MOST];
        for (mark, bytes) in family.iter_mut().zip(bytes.chunks_exact(8)) {
            *mark = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        Some(family)
    }

    /// Says to which family an item belongs, and which leaf of the tree is its.
    pub(super) fn set_kin(&mut self, position: u64, family: u32, leaf: Option<u32>) -> Option<()> {
        if self.regions.families == 0 {
            return Some(());
        }
        let place = self.regions.kin() + position * 8;
        self.pages.set_u32(place, family)?;
        self.pages.set_u32(place + 4, leaf.map_or(0, |leaf| leaf + 1))
    }

    pub(super) fn family_at(&mut self, position: u64) -> Option<u32> {
        match self.regions.families {
            0 => Some(0),
            _ => self.pages.u32(self.regions.kin() + position * 8),
        }
    }

    pub(super) fn leaf_at(&mut self, position: u64) -> Option<Option<u32>> {
        match self.regions.families {
            0 => Some(None),
            _ => Some(self.pages.u32(self.regions.kin() + position * 8 + 4)?.checked_sub(1)),
        }
    }

    /// Whether an item has one of these marks.
    pub(super) fn is_marked(&mut self, position: u64, marks: &Marks) -> Option<bool> {
        let number = self.family_at(position)?;
        Some(has_any(&self.family(number)?, marks))
    }
}

pub fn family(marks: Vec<u64>) -> Family {
    let mut family = [0; MOST];
    family.iter_mut().zip(marks).for_each(|(place, mark)| *place = mark);
    family
}

pub fn has_any(family: &Family, marks: &Marks) -> bool {
    family.iter().any(|mark| *mark != 0 && marks.contains(mark))
}

/// Leaves of the marks only those that another family has too.
pub fn keep_common(common: &mut Family, other: &Family) {
    let (mut both, mut count) = ([0; MOST], 0);
    for mark in common.iter().filter(|mark| **mark != 0 && other.contains(mark)) {
        both[count] = *mark;
        count += 1;
    }
    *common = both;
}
