//! Classes of errors: what a message tells about its cause, how often to try again, and when.
//!
//! The table is the seed's. Messages are matched by plain texts, in the order of the rules below: the first that
//! fits decides. A number such as 429 counts only where it stands as a status, not in `line 429`.

use std::time::Duration;

pub use super::documents::agent_loop::{ErrorClass, Severity};

/// What becomes of an error that is not (or no longer) tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escalation {
    /// It is work for the loop.
    WorkQueue(Severity),
    /// A person has to look at it.
    User,
    /// It waits for something outside.
    Blocked,
}

impl Escalation {
    /// Returns the word that documents use.
    pub fn word(self) -> &'static str {
        match self {
            Escalation::WorkQueue(_) => "work_queue",
            Escalation::User => "user",
            Escalation::Blocked => "blocked",
        }
    }
}

/// Returns how often an error of this class is tried again.
pub fn max_retries(class: ErrorClass) -> u64 {
    match class {
        ErrorClass::Network | ErrorClass::RateLimit => 3,
        ErrorClass::Timeout | ErrorClass::Resource | ErrorClass::External => 2,
        ErrorClass::Unknown => 1,
        ErrorClass::Syntax | ErrorClass::Permission | ErrorClass::Validation => 0,
    }
}

/// Returns how long to wait after so many failed retries. What the other side says counts.
pub fn delay(class: ErrorClass, retries: u64, told: Option<Duration>) -> Duration {
    let doubled = |first: u64, steps: u64, most: u64| {
        let factor = 1_u64.checked_shl(u32::try_from(steps).unwrap_or(u32::MAX)).unwrap_or(u64::MAX);
        Duration::from_secs(first.saturating_mul(factor).min(most))
    };
    match (class, told) {
        (_, Some(told)) => told,
        (ErrorClass::RateLimit, None) => doubled(60, retries, 300),
        (ErrorClass::Network | ErrorClass::External, _) if retries > 0 => doubled(2, retries - 1, 60),
        (ErrorClass::Resource, _) => doubled(30, retries, 300),
        _ => Duration::ZERO,
    }
}

/// Returns who has to deal with an error whose retries are used up.
pub fn escalation(class: ErrorClass) -> Escalation {
    match class {
        ErrorClass::Syntax => Escalation::WorkQueue(Severity::S0),
        ErrorClass::Network | ErrorClass::Validation => Escalation::WorkQueue(Severity::S1),
        ErrorClass::External => Escalation::Blocked,
        ErrorClass::RateLimit
        | ErrorClass::Timeout
        | ErrorClass::Permission
        | ErrorClass::Resource
        | ErrorClass::Unknown => Escalation::User,
    }
}

/// What to look for in a message of small letters.
enum Sign {
    /// Anywhere.
    Text(&'static str),
    /// As a word of its own.
    Word(&'static str),
    /// As the number of a status, such as `HTTP 429`.
    Status(&'static str),
}

use Sign::{Status, Text, Word};

/// First those that the later, wider ones would take away.
const RULES: [(ErrorClass, &[Sign]); 10] = [
    (ErrorClass::External, &[Text("gateway timeout"), Text("gateway time-out"), Status("504")]),
    (ErrorClass::Resource, &[Text("disk quota")]),
    (
        ErrorClass::Network,
        &[
            Word("econnrefused"),
            Word("econnreset"),
            Word("econnaborted"),
            Word("enotfound"),
            Word("etimedout"),
            Word("ehostunreach"),
            Word("enetunreach"),
            Word("eai_again"),
            Text("socket hang up"),
            Text("connection refused"),
            Text("connection reset"),
            Text("connection closed"),
            Text("connection was closed"),
            Text("connection timeout"),
            Text("connection timed out"),
            Text("network error"),
            Text("network is unreachable"),
            Text("no route to host"),
            Text("could not resolve host"),
            Text("name resolution"),
            Text("connection error"),
            Text("fetch failed"),
            Text("stream disconnected"),
            Text("error sending request"),
            Text("unable to connect"),
        ],
    ),
    (
        ErrorClass::RateLimit,
        &[
            Text("rate limit"),
            Text("rate-limit"),
            Text("rate_limit"),
            Text("ratelimit"),
            Text("too many requests"),
            Text("throttl"),
            Word("quota"),
            Word("resource_exhausted"),
            Text("usage limit"),
            Text("hit your limit"),
            Text("limit reached"),
            Status("429"),
        ],
    ),
    (ErrorClass::Timeout, &[Text("timed out"), Text("timeout"), Text("time-out"), Text("deadline exceeded")]),
    (
        ErrorClass::Syntax,
        &[
            Text("syntaxerror"),
            Text("syntax error"),
            Text("parseerror"),
            Text("parse error"),
            Text("unexpected token"),
            Text("unexpected end of"),
            Text("indentationerror"),
        ],
    ),
    (
        ErrorClass::Permission,
        &[
            Word("eacces"),
            Word("eperm"),
            Text("permission denied"),
            Text("access denied"),
            Text("operation not permitted"),
            Word("unauthorized"),
            Word("forbidden"),
            Status("401"),
            Status("403"),
        ],
    ),
    (
        ErrorClass::Resource,
        &[
            Word("enomem"),
            Word("enospc"),
            Word("emfile"),
            Text("no space left"),
            Text("out of memory"),
            Text("cannot allocate memory"),
            Text("too many open files"),
            Text("disk full"),
        ],
    ),
    (
        ErrorClass::Validation,
        &[
            Text("validationerror"),
            Text("validation error"),
            Text("validation failed"),
            Text("schema mismatch"),
            Text("invalid argument"),
            Text("invalid input"),
            Status("422"),
        ],
    ),
    (
        ErrorClass::External,
        &[
            Text("bad gateway"),
            Text("service unavailable"),
            Text("internal server error"),
            Word("overloaded"),
            Word("overloaded_error"),
            Text("model is at capacity"),
            Status("500"),
            Status("502"),
            Status("503"),
            Status("529"),
        ],
    ),
];

/// Returns what a message tells about the cause of an error.
pub fn classify(message: &str) -> ErrorClass {
    let message = message.to_lowercase();
    let fits = |(_, signs): &&(ErrorClass, &[Sign])| signs.iter().any(|sign| sign.is_in(&message));
    RULES.iter().find(fits).map_or(ErrorClass::Unknown, |(class, _)| *class)
}

impl Sign {
    fn is_in(&self, message: &str) -> bool {
        match self {
            Text(text) => message.contains(text),
            Word(word) => alone(message, word).next().is_some(),
            Status(number) => alone(message, number).any(|(before, after)| is_status(before, after)),
        }
    }
}

/// Returns what is before and after each place where `word` stands by itself.
fn alone<'m>(message: &'m str, word: &str) -> impl Iterator<Item = (&'m str, &'m str)> {
    let apart = |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric() && next != '_');
    let around =
        message.match_indices(word).map(|(at, found)| (&message[..at], &message[at + found.len()..]));
    around.filter(move |(before, after)| apart(before.chars().next_back()) && apart(after.chars().next()))
}

/// Whether a number between these is the status of an answer: at the begin, or behind a word that says so.
fn is_status(before: &str, after: &str) -> bool {
    // `1.429` and `429.1` are other numbers, `429:12` is a place in a file.
    let other = |next: Option<char>, last: Option<char>| {
        matches!(next, Some('.' | ':')) && last.is_some_and(|last| last.is_ascii_digit())
    };
    let (mut follows, mut leads) = (after.chars(), before.chars().rev());
    if other(follows.next(), follows.next()) || other(leads.next(), leads.next()) {
        return false;
    }
    let words = before.trim_end_matches(|next: char| !next.is_alphanumeric());
    let word = words.rsplit(|next: char| next.is_whitespace() || matches!(next, '(' | '[' | '"')).next();
    let word = word.unwrap_or_default();
    words.is_empty() || word.starts_with("http") || ["status", "code", "error", "response"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_tell_their_class() {
        let cases = [
            (ErrorClass::Network, "Connection timeout"),
            (ErrorClass::Network, "connect ECONNREFUSED 127.0.0.1:5432"),
            (ErrorClass::Network, "Error: socket hang up"),
            (ErrorClass::RateLimit, "429 Too Many Requests"),
            (ErrorClass::RateLimit, "API returned HTTP/1.1 429"),
            (ErrorClass::RateLimit, "request was throttled"),
            (ErrorClass::RateLimit, "Claude AI usage limit reached|1763391600"),
            (ErrorClass::RateLimit, "You've hit your limit · resets 3pm"),
            (ErrorClass::RateLimit, "got status: RESOURCE_EXHAUSTED"),
            (ErrorClass::External, "API Error: 529 Overloaded"),
            (ErrorClass::Network, "API Error: Connection error."),
            (ErrorClass::Network, "TypeError: fetch failed"),
            (ErrorClass::Timeout, "command timed out after 120s"),
            (ErrorClass::Timeout, "context deadline exceeded"),
            (ErrorClass::Syntax, "SyntaxError: Unexpected token } in JSON"),
            (ErrorClass::Permission, "EACCES: permission denied, open '/etc/shadow'"),
            (ErrorClass::Permission, "request failed with status code 403"),
            (ErrorClass::Resource, "write: no space left on device"),
            (ErrorClass::Resource, "Disk quota exceeded"),
            (ErrorClass::Validation, "ValidationError: `name` is required"),
            (ErrorClass::External, "503 Service Unavailable"),
            (ErrorClass::External, "504 Gateway Timeout"),
            (ErrorClass::External, "upstream answered (status 502)"),
            (ErrorClass::Unknown, "something went wrong"),
            (ErrorClass::Unknown, ""),
        ];
        for (class, message) in cases {
            assert_eq!(classify(message), class, "{message}");
        }
    }

    #[test]
    fn numbers_and_parts_of_words_are_no_signs() {
        for message in [
            "assertion failed at line 429",
            "src/a.rs:403:12: mismatched types",
            "expected 503 items",
            "port 14290",
            "took 1.502 s",
            "bad fileperms",
            "error 5000",
        ] {
            assert_eq!(classify(message), ErrorClass::Unknown, "{message}");
        }
    }

    #[test]
    fn retries_wait_longer_each_time() {
        let seconds = |class, told: Option<u64>| {
            let told = told.map(Duration::from_secs);
            (0..4).map(|retries| delay(class, retries, told).as_secs()).collect::<Vec<_>>()
        };
        assert_eq!(seconds(ErrorClass::Network, None), [0, 2, 4, 8]);
        assert_eq!(seconds(ErrorClass::External, None), [0, 2, 4, 8]);
        assert_eq!(seconds(ErrorClass::External, Some(9)), [9; 4], "as a server says");
        assert_eq!(seconds(ErrorClass::RateLimit, None), [60, 120, 240, 300]);
        assert_eq!(seconds(ErrorClass::RateLimit, Some(7)), [7; 4]);
        assert_eq!(seconds(ErrorClass::Timeout, None), [0; 4]);
        assert_eq!(seconds(ErrorClass::Resource, None), [30, 60, 120, 240]);
        assert_eq!(delay(ErrorClass::Network, 1000, None).as_secs(), 60, "at most a minute");
    }
}
