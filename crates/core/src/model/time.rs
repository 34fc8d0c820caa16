//! Times as documents write them (RFC 3339, UTC, milliseconds), and moments as machines know them.

use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use xxhash_rust::xxh3::xxh3_64;

/// A moment, with what the machine knows of its clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    pub at: Timestamp,
    /// The machine's current boot, where it can be told.
    pub boot: Option<Boot>,
}

/// One boot of a machine. When it began, by the clock of a moment, moves only when that clock is set: the
/// difference between two moments of one boot is how far the clock has jumped between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Boot {
    pub id: String,
    pub began: Timestamp,
}

/// Returns a number for the clock that counts from the begin of a boot.
pub fn clock_of(boot: &str) -> u64 {
    xxh3_64(boot.as_bytes()).max(1)
}

impl Moment {
    /// Returns this moment in milliseconds by a clock: of the current boot, or the calendar.
    pub fn by(&self, clock: u64) -> Option<i64> {
        match &self.boot {
            _ if clock == 0 => Some(self.at.as_millisecond()),
            Some(boot) if clock_of(&boot.id) == clock => {
                Some(self.at.as_millisecond() - boot.began.as_millisecond())
            }
            _ => None,
        }
    }
}

/// Tells the time. The library asks it once per change, when it is that change's turn.
pub trait Clock: Send + Sync + std::fmt::Debug {
    fn now(&self) -> Timestamp;

    /// The same, with what is known of the boot.
    fn moment(&self) -> Moment {
        Moment { at: self.now(), boot: None }
    }
}

/// A clock that stands still.
impl Clock for Timestamp {
    fn now(&self) -> Timestamp {
        *self
    }
}

/// Returns `now` as every document and journal line writes it.
pub fn stamp(now: Timestamp) -> String {
    format!("{now:.3}")
}

/// Returns what a machine's clock shows. One that is set beyond all calendars shows the last moment of ours, or the first.
pub fn of_system(time: SystemTime) -> Timestamp {
    let bound = if time < SystemTime::UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::try_from(time).unwrap_or(bound)
}

/// Reads a time that a person, a seed or another tool wrote; without a zone it is UTC.
pub fn read(text: &str) -> Option<Timestamp> {
    let zoneless =
        || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    text.parse::<Timestamp>().ok().or_else(zoneless).or_else(|| at_the_end(text))
}

/// Reads a time of the last days of the year 9999. Many write it for "never"; it is later than the last that we can tell.
fn at_the_end(text: &str) -> Option<Timestamp> {
    let date = Pieces::parse(text).ok()?.date();
    (date >= jiff::civil::date(9999, 12, 30)).then_some(Timestamp::MAX)
}

/// Returns `now` as `YYYYMMDD_HHMMSS`, the form inside generated ids.
pub fn compact(now: Timestamp) -> String {
    now.to_zoned(TimeZone::UTC).strftime("%Y%m%d_%H%M%S").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_utc_with_milliseconds() {
        let now = read("2026-11-15T10:00:00+01:00").unwrap();
        assert_eq!(stamp(now), "2026-11-15T09:00:00.000Z");
        assert_eq!(read("2026-11-15T09:00:00"), Some(now));
        assert_eq!(read("..."), None);
        assert_eq!(read("9999-12-31T23:59:59Z"), Some(Timestamp::MAX));
        assert_eq!(read("9999-12-31T23:59:59"), Some(Timestamp::MAX));
        assert_eq!(read("9999-13-31T23:59:59Z"), None);
        assert_eq!(compact(now), "20261115_090000");
    }

    #[test]
    fn a_clock_beyond_the_calendar_shows_its_last_moment() {
        let second = |seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap();
        assert_eq!(of_system(second(1)), Timestamp::from_second(1).unwrap());
        assert_eq!(of_system(second(300_000_000_000)), Timestamp::MAX);
    }
}
