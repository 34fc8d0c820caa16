//! Times as documents write them: RFC 3339, UTC, milliseconds.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Returns `now` as every document and journal line writes it.
pub fn stamp(now: Timestamp) -> String {
    format!("{now:.3}")
}

/// Reads a time that a person, a seed or another tool wrote; without a zone it is UTC.
pub fn read(text: &str) -> Option<Timestamp> {
    let zoneless =
        || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    text.parse::<Timestamp>().ok().or_else(zoneless)
}

/// Returns `now` as `YYYYMMDD_HHMMSS`, the form inside generated ids.
pub fn compact(now: Timestamp) -> String {
    now.to_zoned(TimeZone::UTC).strftime("%Y%m%d_%H%M%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_with_milliseconds() {
        let now = read("2026-11-15T10:00:00+01:00").unwrap();
        assert_eq!(stamp(now), "2026-11-15T09:00:00.000Z");
        assert_eq!(read("2026-11-15T09:00:00"), Some(now));
        assert_eq!(read("..."), None);
        assert_eq!(compact(now), "20261115_090000");
    }
}
