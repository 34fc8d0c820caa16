//! The health of the service that an agent depends on: what clients say when the trouble is not the task's.
//!
//! Each says it in its own words, which [`diagnose`] looks for. Limits, overload and a lost connection pass; a login, credit
//! or place needs a person. Pure: text in, diagnosis out.

use std::time::Duration;

use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::rfc2822;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

pub use super::ailment::Ailment;
use super::clients;
use super::error_class::{self, ErrorClass};

/// What a client's words tell about the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    pub ailment: Ailment,
    /// When it is over, if they say so.
    pub until: Option<Timestamp>,
}

/// First those that would also be found by their class: no credit is a quota, too. What single clients say beside this is in
/// their modules.
const SIGNS: [(Ailment, &[&str]); 4] = [
    // "You've hit your usage limit … purchase more credits or try again at 3 PM" is a limit.
    (Ailment::Limit, &["usage limit"]),
    (
        Ailment::Credit,
        &[
            "insufficient_quota",
            "insufficient credits",
            "out of credits",
            "payment required",
            "check your plan and billing",
            "billing hard limit",
        ],
    ),
    (
        Ailment::Login,
        &[
            "invalid api key",
            "incorrect api key",
            "no api key",
            "missing api key",
            "api key is missing",
            "not logged in",
            "please log in",
            "login required",
            "token has expired",
            "token expired",
        ],
    ),
    (Ailment::Place, &[]),
];

/// Returns what a client's error says about its service; `None` if it says nothing.
pub fn diagnose(text: &str, now: &Zoned) -> Option<Diagnosis> {
    let small = text.to_lowercase();
    let named = SIGNS.iter().find(|(ailment, signs)| {
        signs.iter().chain(clients::ailment_words(*ailment)).any(|sign| small.contains(sign))
    });
    let by_class = || match error_class::classify(text) {
        ErrorClass::RateLimit => Some(Ailment::Limit),
        ErrorClass::External => Some(Ailment::Overload),
        ErrorClass::Network => Some(Ailment::Network),
        _ if small.contains("api error: request timed out") => Some(Ailment::Network),
        _ => None,
    };
    let ailment = named.map(|(ailment, _)| *ailment).or_else(by_class)?;
    Some(Diagnosis { ailment, until: until(text, now) })
}

/// Returns when a text says that one may try again: `Retry-After: 7`, `try again in 20s`, `resets 3pm`,
/// `limit reached|1731862800`.
pub fn until(text: &str, now: &Zoned) -> Option<Timestamp> {
    let small = text.to_lowercase();
    let found = epoch(&small)
        .or_else(|| retry_after(&small, now))
        .or_else(|| MARKS.iter().find_map(|mark| behind(&small, mark, now)));
    // What is further away than any limit lasts was misread.
    let most = now.timestamp().checked_add(SignedDuration::from_hours(24 * 32)).unwrap_or(Timestamp::MAX);
    found.filter(|until| *until <= most).map(|until| until.max(now.timestamp()))
}

/// Returns how long a text says to wait.
pub fn wait(text: &str, now: &Zoned) -> Option<Duration> {
    let until = until(text, now)?;
    Some(until.duration_since(now.timestamp()).unsigned_abs())
}

/// What a time or a duration stands behind.
const MARKS: [&str; 18] = [
    "try again in",
    "retry in",
    "retrying in",
    "retry after",
    "retry_after",
    "retryafter",
    "please wait",
    "wait for",
    "reset after",
    "resets after",
    "resets in",
    "reset in",
    "retrydelay",
    "try again at",
    "resets at",
    "reset at",
    "resets",
    "available again at",
];

/// `usage limit reached|1731862800`.
fn epoch(text: &str) -> Option<Timestamp> {
    let rest = text.split_once("limit reached|")?.1;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    since_1970(digits.parse().ok()?)
}

/// Reads seconds or milliseconds since 1970.
fn since_1970(number: i64) -> Option<Timestamp> {
    if number > 99_999_999_999 {
        Timestamp::from_millisecond(number).ok()
    } else {
        Timestamp::from_second(number).ok()
    }
}

/// The header of an answer: seconds, or a date.
fn retry_after(text: &str, now: &Zoned) -> Option<Timestamp> {
    let value = text.split_once("retry-after")?.1.trim_start_matches(['"', '\'', ':', '=', ' ']);
    let date = || {
        let line = value.lines().next()?.trim_end_matches(['"', '\'', ',', '}', ' ']);
        rfc2822::parse(line).ok().map(|at| at.timestamp())
    };
    duration(value).map(|wait| now.timestamp() + wait).or_else(date)
}

fn behind(text: &str, mark: &str, now: &Zoned) -> Option<Timestamp> {
    text.match_indices(mark).find_map(|(at, _)| {
        let rest = &text[at + mark.len()..];
        let rest = rest.trim_start_matches(['"', '\'', ':', '=', ' ', '~', '∙', '·']);
        let rest = ["in ", "at ", "on ", "after ", "about "]
            .iter()
            .find_map(|word| rest.strip_prefix(word))
            .unwrap_or(rest);
        duration(rest).map(|wait| now.timestamp() + wait).or_else(|| moment(rest, now))
    })
}

/// Reads `7`, `20s`, `1m30s`, `5 minutes`, `2 hours 3 min`; a number without a unit is seconds.
fn duration(text: &str) -> Option<SignedDuration> {
    let (mut seconds, mut rest, mut parts) = (0.0, text, 0);
    loop {
        let figure_end = rest.find(|next: char| !next.is_ascii_digit() && next != '.').unwrap_or(rest.len());
        let Ok(figure) = rest[..figure_end].trim_end_matches('.').parse::<f64>() else { break };
        let after = rest[figure_end..].trim_start();
        let unit_end = after.find(|next: char| !next.is_ascii_alphabetic()).unwrap_or(after.len());
        let unit = match &after[..unit_end] {
            // So many seconds are a date.
            "" if figure >= 1e9 => break,
            "" if parts == 0 && !after.starts_with([':', '-', '/']) => 1.0,
            "ms" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        seconds += figure * unit;
        parts += 1;
        rest = after[unit_end..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
        if unit_end == 0 {
            break;
        }
    }
    (parts > 0 && seconds.is_finite()).then(|| SignedDuration::from_secs_f64(seconds.min(1e8)))
}

/// Reads `3pm`, `3:30 PM`, `15:00`, `Nov 20, 3pm`, `Nov 20th, 2026 3:00 PM`, `2026-11-20T15:00:00Z`; in the zone of `now`
/// unless it names another one: `(Europe/Berlin)`, `UTC`.
fn moment(text: &str, now: &Zoned) -> Option<Timestamp> {
    let first =
        text.split([' ', '"', '\'', ')', '|']).next().unwrap_or_default().trim_end_matches(['.', ',']);
    if let Ok(exact) = first.to_uppercase().parse::<Timestamp>() {
        return Some(exact);
    }
    if let Ok(number) = first.parse::<i64>() {
        return since_1970(number);
    }
    let end = text.find('\n').unwrap_or(text.len());
    let said = &text[..end];
    let zone = zone(said).unwrap_or_else(|| now.time_zone().clone());
    let here = now.with_time_zone(zone.clone());
    let words: Vec<&str> = said
        .split([' ', ',', '('])
        .map(|word| word.trim_end_matches(['.', ')']))
        .filter(|word| !word.is_empty())
        .collect();
    let (date, rest) = calendar(&words, here.date());
    let rest = if let ["at", rest @ ..] = rest { rest } else { rest };
    let time = clock(rest)?;
    let at =
        |date: Date| DateTime::from_parts(date, time).to_zoned(zone.clone()).ok().map(|at| at.timestamp());
    match date {
        Some(date) => at(date),
        // A time that is over today is tomorrow's.
        None => {
            let today = at(here.date())?;
            if today >= now.timestamp() { Some(today) } else { at(here.date().checked_add(1.day()).ok()?) }
        }
    }
}

/// Returns the zone that a text names, as far as this machine knows it.
fn zone(said: &str) -> Option<TimeZone> {
    if said.contains("utc") {
        return Some(TimeZone::UTC);
    }
    let name = said.split_once('(')?.1.split_once(')')?.0;
    name.contains('/').then(|| TimeZone::get(name).ok())?
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Takes a date such as `nov 20th 2026` off the front of words.
fn calendar<'w>(words: &'w [&'w str], today: Date) -> (Option<Date>, &'w [&'w str]) {
    let month_of = |word: &str| MONTHS.iter().position(|month| word.starts_with(month));
    let [month, day, rest @ ..] = words else { return (None, words) };
    let Some(month) = month_of(month).and_then(|month| i8::try_from(month + 1).ok()) else {
        return (None, words);
    };
    let Ok(day) = day.trim_end_matches(|next: char| next.is_ascii_alphabetic()).parse::<i8>() else {
        return (None, words);
    };
    let (year, rest) = match rest {
        [year, rest @ ..] if year.len() == 4 && year.parse::<i16>().is_ok() => (year.parse().ok(), rest),
        rest => (None, rest),
    };
    let date = |year| Date::new(year, month, day).ok();
    let this_year = date(year.unwrap_or(today.year()));
    let next = this_year.filter(|date| year.is_some() || *date >= today);
    (next.or_else(|| date(today.year() + 1)), rest)
}

/// Reads the time that words begin with.
fn clock(words: &[&str]) -> Option<Time> {
    let [first, rest @ ..] = words else { return None };
    let figures = first.trim_end_matches(|next: char| next.is_ascii_alphabetic());
    let half = match &first[figures.len()..] {
        "" => rest.first().copied().filter(|word| ["am", "pm"].contains(word)),
        half => Some(half),
    };
    let (hour, minute) = match figures.split_once(':') {
        Some((hour, minute)) => (hour.parse::<i8>().ok()?, minute.get(..2)?.parse::<i8>().ok()?),
        // `3` alone is no time.
        None => (figures.parse::<i8>().ok().filter(|_| half.is_some())?, 0),
    };
    let hour = match half {
        Some("am") if hour == 12 => 0,
        Some("pm") if hour < 12 => hour + 12,
        None | Some("am" | "pm") => hour,
        Some(_) => return None,
    };
    Time::new(hour, minute, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use jiff::tz::Offset;

    use super::*;

    /// Half past two in the afternoon, an hour east of Greenwich.
    fn now() -> Zoned {
        let at: Timestamp = "2026-11-17T13:30:00Z".parse().unwrap();
        at.to_zoned(TimeZone::fixed(Offset::constant(1)))
    }

    #[test]
    fn what_clients_say_is_understood() {
        let cases = [
            (Ailment::Overload, "API Error: 529 Overloaded. https://docs"),
            (
                Ailment::Overload,
                r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ),
            (Ailment::Overload, "API Error: 500 Internal server error"),
            (Ailment::Overload, "Selected model is at capacity. Please try a different model."),
            (Ailment::Limit, "Claude AI usage limit reached|1763391600"),
            (Ailment::Limit, "You've hit your limit · resets 3pm (Europe/Berlin)"),
            (
                Ailment::Limit,
                "You've hit your usage limit. Upgrade to Pro, visit https://x to purchase more credits or try again at 3:05 PM.",
            ),
            (Ailment::Limit, "exceeded retry limit, last status: 429 Too Many Requests"),
            (Ailment::Limit, r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#),
            (Ailment::Limit, "API Error: Rate limit reached. Retry-After: 7"),
            (Ailment::Limit, "You're out of extra usage · resets 10pm"),
            (Ailment::Network, "API Error: The socket connection was closed unexpectedly."),
            (Ailment::Login, "OAuth token revoked · Please run /login"),
            (Ailment::Login, "Your refresh token was already used. Please log out and sign in again."),
            (Ailment::Login, "ProviderAuthError: no credentials"),
            (Ailment::Network, "API Error: Connection error."),
            (Ailment::Network, "TypeError: fetch failed"),
            (Ailment::Network, "read ECONNRESET"),
            (Ailment::Network, "stream disconnected before completion: error sending request"),
            (Ailment::Network, "API Error: Request timed out."),
            (Ailment::Login, "Invalid API key · Please run /login"),
            (Ailment::Login, "API Error: 401 {\"type\":\"authentication_error\"}"),
            (Ailment::Login, "unexpected status 401 Unauthorized: Missing bearer"),
            (Ailment::Login, "Please set an Auth method in your settings.json"),
            (Ailment::Credit, "Credit balance is too low"),
            (
                Ailment::Credit,
                "You exceeded your current quota, please check your plan and billing details. insufficient_quota",
            ),
            (Ailment::Place, "Not inside a trusted directory and --skip-git-repo-check was not specified."),
            (Ailment::Place, "Gemini CLI is not running in a trusted directory."),
        ];
        for (ailment, text) in cases {
            assert_eq!(diagnose(text, &now()).map(|found| found.ailment), Some(ailment), "{text}");
        }
        for text in ["", "2 tests failed", "error: cannot find value `x`", "exit code 1", "no such file"] {
            assert_eq!(diagnose(text, &now()), None, "{text}");
        }
    }

    #[test]
    fn the_end_of_a_limit_is_read() {
        let cases = [
            ("usage limit reached|1763391600", "2026-11-17T13:30:00Z"),
            ("usage limit reached|1794931200", "2026-11-17T16:00:00Z"),
            ("Retry-After: 7", "2026-11-17T13:30:07Z"),
            ("\"retry-after\": \"120\", x", "2026-11-17T13:32:00Z"),
            ("Retry-After: Tue, 17 Nov 2026 15:00:00 GMT", "2026-11-17T15:00:00Z"),
            ("Please try again in 20s.", "2026-11-17T13:30:20Z"),
            ("try again in 1m30s", "2026-11-17T13:31:30Z"),
            ("Please try again in 1.5s.", "2026-11-17T13:30:01.5Z"),
            ("try again in 5 minutes", "2026-11-17T13:35:00Z"),
            ("try again in 2 hours and 3 minutes", "2026-11-17T15:33:00Z"),
            ("Your quota will reset after 12h30m5s.", "2026-11-18T02:00:05Z"),
            ("\"retryDelay\": \"34s\"", "2026-11-17T13:30:34Z"),
            ("{\"retry_after\": 7.5}", "2026-11-17T13:30:07.5Z"),
            ("HTTP 429: please wait 30 seconds", "2026-11-17T13:30:30Z"),
            ("limit · resets at 1794931200", "2026-11-17T16:00:00Z"),
            ("try again in 1794931200000", "2026-11-17T16:00:00Z"),
            ("hit your limit · resets 3pm", "2026-11-17T14:00:00Z"),
            ("resets 3:45 PM", "2026-11-17T14:45:00Z"),
            ("resets at 15:00", "2026-11-17T14:00:00Z"),
            ("resets 2pm (UTC)", "2026-11-17T14:00:00Z"),
            ("resets 3pm (../../../dev/zero)", "2026-11-17T14:00:00Z"),
            ("resets 3pm (Nowhere/At_All)", "2026-11-17T14:00:00Z"),
            ("resets 9am", "2026-11-18T08:00:00Z"),
            ("weekly limit · resets Nov 20, 1pm", "2026-11-20T12:00:00Z"),
            ("try again at Nov 20th, 2026 3:05 PM.", "2026-11-20T14:05:00Z"),
            ("try again at 2026-11-17T15:00:00Z", "2026-11-17T15:00:00Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(until(text, &now()), Some(expected.parse().unwrap()), "{text}");
        }
        for text in
            ["", "try again later", "resets soon", "retry in a while", "resets 99pm", "limit reached|x"]
        {
            assert_eq!(until(text, &now()), None, "{text}");
        }
        assert_eq!(wait("Retry-After: 7", &now()), Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_zone_that_is_named_counts_where_it_is_known() {
        if TimeZone::get("America/New_York").is_err() {
            return; // A machine without zones.
        }
        for (text, expected) in [
            ("hit your limit · resets 11:30am (America/New_York)", "2026-11-17T16:30:00Z"),
            ("resets Nov 20, 1pm (asia/tokyo)", "2026-11-20T04:00:00Z"),
        ] {
            assert_eq!(until(text, &now()), expected.parse().ok(), "{text}");
        }
    }

    #[test]
    fn pauses_grow_to_a_limit() {
        let seconds = |ailment: Ailment| [0, 1, 2, 99].map(|pauses| ailment.pause(pauses).as_secs());
        assert_eq!(seconds(Ailment::Limit), [60, 120, 240, 900]);
        assert_eq!(seconds(Ailment::Overload), [5, 10, 20, 300]);
        assert!(Ailment::Network.passes() && !Ailment::Login.passes());
    }
}
