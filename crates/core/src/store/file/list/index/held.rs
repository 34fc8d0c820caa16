//! What active items keep from others, and when somebody has to look after them.

use super::{HELD, Index, at};
use crate::model::listing::{Due, Hold};
use crate::model::time::Moment;

/// The clock of times that more than one clock tells.
const MIXED: u64 = u64::MAX;

/// Returns the word for a time: its last bit says whether the clock of a boot tells it. What is never due is so at the
/// end of time.
fn encode(due: Option<Due>) -> u64 {
    due.map_or(i64::MAX as u64, |due| (due.at as u64) << 1 | u64::from(due.clock != 0))
}

fn decode(word: u64) -> (bool, i64) {
    (word & 1 == 1, word as i64 >> 1)
}

impl Index {
    /// Notes what an active item holds from now on (1), or no longer (-1).
    pub fn hold(&mut self, hold: &Hold, by: i32) -> Option<()> {
        match &hold.keys {
            None => self.add(at::UNTOLD, by.into()),
            Some(keys) if by > 0 => keys.iter().try_for_each(|key| self.occupy(*key)),
            Some(keys) => keys.iter().try_for_each(|key| self.vacate(*key)),
        }
    }

    /// Says when somebody has to look after an active item.
    pub fn set_due(&mut self, position: usize, due: Option<Due>) -> Option<()> {
        self.pages.set_u64(self.regions.dues() + position as u64 * 8, encode(due))?;
        due.map_or(Some(()), |due| self.note_due(due))
    }

    /// Returns the active items that may be due by now, and notes when the first of all is. `None` if their times are
    /// told by clocks that cannot be compared.
    pub fn due(&mut self, now: &Moment) -> Option<Vec<usize>> {
        let clock = self.pages.u64(at::CLOCK)?;
        let (by_calendar, by_boot) = (now.by(0)?, if clock == 0 { Some(0) } else { now.by(clock) }?);
        let (mut due, mut first) = (Vec::new(), [i64::MAX; 2]);
        for position in self.active()? {
            let (of_boot, at) = decode(self.pages.u64(self.regions.dues() + position as u64 * 8)?);
            let known = &mut first[usize::from(of_boot)];
            *known = at.min(*known);
            if at <= if of_boot { by_boot } else { by_calendar } {
                due.push(position);
            }
        }
        self.pages.set_u64(at::DUE, first[0] as u64)?;
        self.pages.set_u64(at::DUE_BOOT, first[1] as u64)?;
        Some(due)
    }

    fn note_due(&mut self, due: Due) -> Option<()> {
        if due.clock == 0 {
            let next = (self.pages.u64(at::DUE)? as i64).min(due.at);
            return self.pages.set_u64(at::DUE, next as u64);
        }
        let clock = match self.pages.u64(at::CLOCK)? {
            known if known == due.clock || known == 0 => due.clock,
            _ => MIXED,
        };
        self.pages.set_u64(at::CLOCK, clock)?;
        let next = (self.pages.u64(at::DUE_BOOT)? as i64).min(due.at);
        self.pages.set_u64(at::DUE_BOOT, next as u64)
    }

    /// Says when the active items are due, which are all known.
    pub fn set_dues(&mut self, dues: impl Iterator<Item = Due>) -> Option<()> {
        self.pages.set_u64(at::CLOCK, 0)?;
        self.pages.set_u64(at::DUE, i64::MAX as u64)?;
        self.pages.set_u64(at::DUE_BOOT, i64::MAX as u64)?;
        for due in dues {
            self.note_due(due)?;
        }
        Some(())
    }

    /// Whether something may be due by now.
    pub fn may_be_due(&mut self, now: &Moment) -> Option<bool> {
        let (clock, by_boot) = (self.pages.u64(at::CLOCK)?, self.pages.u64(at::DUE_BOOT)? as i64);
        let by_calendar = self.pages.u64(at::DUE)? as i64;
        let boot = match clock {
            0 => false,
            // Another clock than that of now: each item has to be asked.
            clock => now.by(clock).is_none_or(|now| by_boot <= now),
        };
        Some(boot || now.by(0).is_none_or(|now| by_calendar <= now))
    }

    /// Whether an active item may occupy what one of the keys asks for.
    pub fn may_be_occupied(&mut self, keys: &[u64]) -> Option<bool> {
        if self.pages.u64(at::UNTOLD)? > 0 || self.pages.u64(at::CROWDED)? > 0 {
            return Some(true);
        }
        if self.pages.u64(at::HELD)? == 0 {
            return Some(false);
        }
        for key in keys {
            let place = self.place_of_key(*key)?;
            if self.pages.u64(place)? == *key {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Returns where a key is, or would be.
    fn place_of_key(&mut self, key: u64) -> Option<u64> {
        let places = self.held_places()?;
        for step in 0..places {
            let place = self.regions.held() + (key.wrapping_add(step) % places) * HELD;
            let found = self.pages.u64(place)?;
            if found == key || found == 0 {
                return Some(place);
            }
        }
        None
    }

    fn held_places(&mut self) -> Option<u64> {
        let places = self.pages.u64(at::HELD_PLACES)?;
        (1..=self.regions.held).contains(&places).then_some(places)
    }

    /// Doubles the places for keys, if there is room. Returns whether there was.
    fn widen_held(&mut self) -> Option<bool> {
        let places = self.held_places()?;
        if places * 2 > self.regions.held {
            return Some(false);
        }
        let mut held = Vec::new();
        for number in 0..places {
            let place = self.regions.held() + number * HELD;
            let (key, count) = (self.pages.u64(place)?, self.pages.u64(place + 8)?);
            held.push((key, count));
            self.set_held(place, 0, 0)?;
        }
        self.pages.set_u64(at::HELD_PLACES, places * 2)?;
        for (key, count) in held.into_iter().filter(|(key, _)| *key != 0) {
            let place = self.place_of_key(key)?;
            self.set_held(place, key, count)?;
        }
        Some(true)
    }

    fn set_held(&mut self, place: u64, key: u64, count: u64) -> Option<()> {
        self.pages.set_u64(place, key)?;
        self.pages.set_u64(place + 8, count)
    }

    fn occupy(&mut self, key: u64) -> Option<()> {
        let mut place = self.place_of_key(key)?;
        if self.pages.u64(place)? == 0 {
            let held = self.pages.u64(at::HELD)?;
            if held * 2 >= self.held_places()? {
                if !self.widen_held()? {
                    return self.pages.set_u64(at::CROWDED, 1);
                }
                place = self.place_of_key(key)?;
            }
            self.pages.set_u64(at::HELD, held + 1)?;
            self.pages.set_u64(place, key)?;
        }
        self.add(place + 8, 1)
    }

    fn vacate(&mut self, key: u64) -> Option<()> {
        let mut hole = self.place_of_key(key)?;
        if self.pages.u64(hole)? != key {
            // There was no place for it.
            return Some(());
        }
        self.add(hole + 8, -1)?;
        if self.pages.u64(hole + 8)? > 0 {
            return Some(());
        }
        self.add(at::HELD, -1)?;
        // What stands behind moves up, unless it stands where it belongs.
        let (start, places) = (self.regions.held(), self.held_places()?);
        let mut bucket = (hole - start) / HELD;
        loop {
            self.set_held(hole, 0, 0)?;
            let empty = (hole - start) / HELD;
            loop {
                bucket = (bucket + 1) % places;
                let place = start + bucket * HELD;
                let key = self.pages.u64(place)?;
                if key == 0 {
                    return Some(());
                }
                let home = key % places;
                let behind = |from: u64, to: u64| (to + places - from) % places;
                if behind(home, bucket) >= behind(empty, bucket) {
                    let count = self.pages.u64(place + 8)?;
                    self.set_held(hole, key, count)?;
                    hole = place;
                    break;
                }
            }
        }
    }
}
