//! Times as people type them: how long ago, a day, a weekday, a time of day, or a full date and time.
//!
//! They look back: `monday` is the last one, `10:30` was today or yesterday. What names no zone is told in the zone of whoever types it.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, Zoned};

use super::time;

/// What is understood, for those who typed something else.
pub const UNDERSTOOD: &str = "write 90m, 2h, 3d, today, yesterday, monday, 10:30, 2026-01-31, 2026-01-31T09:30:00Z or a number of seconds";

/// A moment of the past, as typed.
#[derive(Debug, Clone, PartialEq)]
pub struct When {
    text: String,
    meaning: Meaning,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Meaning {
    Moment(Timestamp),
    Ago(SignedDuration),
    Day(Date),
    /// A day that began so many midnights ago, this one included.
    Midnights(i64),
    Weekday(Weekday),
    Local(DateTime),
    Clock(Time),
}

impl When {
    /// Returns the moment that it means now, in a zone; `None` if there never was one.
    pub fn moment(&self, now: Timestamp, zone: TimeZone) -> Option<Timestamp> {
        let here = now.to_zoned(zone);
        let of = |at: DateTime| at.to_zoned(here.time_zone().clone()).ok();
        let days_ago = |days: i64| here.date().checked_sub(Span::new().try_days(days).ok()?).ok();
        let found: Option<Zoned> = match self.meaning {
            Meaning::Moment(moment) => return Some(moment),
            Meaning::Ago(ago) => return now.checked_sub(ago).ok(),
            Meaning::Day(day) => of(day.into()),
            Meaning::Midnights(days) => of(days_ago(days)?.into()),
            Meaning::Weekday(day) => of(days_ago(here.date().weekday().since(day).into())?.into()),
            Meaning::Local(at) => of(at),
            Meaning::Clock(at) if at <= here.time() => of(here.date().to_datetime(at)),
            Meaning::Clock(at) => of(days_ago(1)?.to_datetime(at)),
        };
        found.map(|at| at.timestamp())
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<When, String> {
        let meaning = read(text.trim()).ok_or_else(|| format!("`{text}` is no time that is understood"))?;
        Ok(When { text: text.to_owned(), meaning })
    }
}

impl fmt::Display for When {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn read(text: &str) -> Option<Meaning> {
    let word = text.to_ascii_lowercase();
    let ago = || duration(word.strip_suffix(" ago").unwrap_or(&word)).map(Meaning::Ago);
    ago().or_else(|| named(&word)).or_else(|| calendar(text))
}

fn named(word: &str) -> Option<Meaning> {
    match word {
        "now" => Some(Meaning::Ago(SignedDuration::ZERO)),
        "today" => Some(Meaning::Midnights(0)),
        "yesterday" => Some(Meaning::Midnights(1)),
        _ => weekday(word).map(Meaning::Weekday),
    }
}

/// Reads a weekday by its name, or the first three letters of it.
fn weekday(word: &str) -> Option<Weekday> {
    const NAMES: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let at = NAMES.iter().position(|name| *name == word || name[..3] == *word)?;
    Weekday::from_monday_zero_offset(at as i8).ok()
}

fn calendar(text: &str) -> Option<Meaning> {
    let is_day = text.len() == "2026-01-31".len();
    let day = || text.parse().ok().filter(|_| is_day).map(Meaning::Day);
    let clock =
        || text.parse().ok().filter(|_| text.contains(':') && !text.contains('-')).map(Meaning::Clock);
    let moment = || text.parse().ok().map(Meaning::Moment);
    let local = || text.parse().ok().map(Meaning::Local);
    let far = || time::read(text).map(Meaning::Moment);
    day().or_else(clock).or_else(moment).or_else(local).or_else(far)
}

/// Reads a duration: `2h`, `1h30m`, `3 days`, or a number of seconds.
pub fn duration(text: &str) -> Option<SignedDuration> {
    if let Ok(seconds) = text.parse::<f64>() {
        return SignedDuration::try_from_secs_f64(seconds).ok();
    }
    let (mut rest, mut sum) = (text.trim(), SignedDuration::ZERO);
    while !rest.is_empty() {
        let (number, after) = split(rest, |sign| sign.is_ascii_digit() || sign == '.');
        let (unit, after) = split(after.trim_start(), |sign| sign.is_ascii_alphabetic());
        let part = SignedDuration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds_of(unit)?);
        sum = sum.checked_add(part.ok()?)?;
        rest = after.trim_start();
    }
    (!text.is_empty()).then_some(sum)
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|sign| !belongs(sign)).unwrap_or(text.len()))
}

fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "s" | "sec" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "minute" | "minutes" => Some(60.0),
        "h" | "hour" | "hours" => Some(3_600.0),
        "d" | "day" | "days" => Some(86_400.0),
        "w" | "week" | "weeks" => Some(604_800.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Wednesday, two hours east of Greenwich.
    fn check(typed: &str, expected: &str) {
        let now = time::read("2026-11-18T09:00:00Z").unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let when: When = typed.parse().unwrap();
        assert_eq!(when.moment(now, zone).map(|at| at.to_string()).as_deref(), Some(expected), "{typed}");
        assert_eq!(when.to_string(), typed);
    }

    #[test]
    fn what_people_type() {
        check("2h", "2026-11-18T07:00:00Z");
        check("90m", "2026-11-18T07:30:00Z");
        check("1h30m", "2026-11-18T07:30:00Z");
        check("2 hours ago", "2026-11-18T07:00:00Z");
        check("1.5d", "2026-11-16T21:00:00Z");
        check("3600", "2026-11-18T08:00:00Z");
        check("0s", "2026-11-18T09:00:00Z");
        check("now", "2026-11-18T09:00:00Z");
        check("today", "2026-11-17T22:00:00Z");
        check("Yesterday", "2026-11-16T22:00:00Z");
        check("monday", "2026-11-15T22:00:00Z");
        check("thu", "2026-11-11T22:00:00Z");
        check("wednesday", "2026-11-17T22:00:00Z");
        check("10:30", "2026-11-18T08:30:00Z");
        check("11:00", "2026-11-18T09:00:00Z");
        check("11:30", "2026-11-17T09:30:00Z");
        check("2026-11-01", "2026-10-31T22:00:00Z");
        check("2026-11-01T10:00", "2026-11-01T08:00:00Z");
        check("2026-11-01 10:00:30", "2026-11-01T08:00:30Z");
        check("2026-11-01T10:00:00Z", "2026-11-01T10:00:00Z");
        check("2026-11-01T10:00:00+01:00", "2026-11-01T09:00:00Z");
    }

    #[test]
    fn what_is_no_time() {
        for text in
            ["", "whenever", "soon", "2x", "h", "25:00", "2026-13-01", "monda", "3 days hence", "nan", "inf"]
        {
            assert!(text.parse::<When>().is_err(), "{text}");
        }
        let long: When = "999999999d".parse().unwrap();
        assert_eq!(long.moment(Timestamp::UNIX_EPOCH, TimeZone::UTC), None);
    }
}
