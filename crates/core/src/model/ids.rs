//! Identifiers. An id becomes part of a path, so it is checked once, here, and is a type from then on.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

use super::time;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid {what}: use 1 to 128 of `A-Z a-z 0-9 . _ -`, not starting with `.`")]
pub struct InvalidId {
    what: &'static str,
    text: String,
}

impl InvalidId {
    pub(crate) fn new(what: &'static str, text: &str) -> InvalidId {
        InvalidId { what, text: text.chars().take(40).collect() }
    }
}

fn check(what: &'static str, text: &str) -> Result<(), InvalidId> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if (1..=128).contains(&text.len()) && !text.starts_with('.') && text.bytes().all(allowed) {
        return Ok(());
    }
    Err(InvalidId::new(what, text))
}

/// Makes an id that is free: `WORD-YYYYMMDDHHMMSS-xxxx`.
pub fn new<E>(
    word: &str,
    now: Timestamp,
    seed: &str,
    free: &mut dyn FnMut(&str) -> Result<bool, E>,
) -> Result<String, E> {
    let second = time::compact(now).replace('_', "");
    let first = xxh3_64(format!("{now} {seed}").as_bytes());
    for step in 0.. {
        let number = first.wrapping_add(step);
        // So many in one second that four digits are used up get more of them.
        let tail = if step < 4096 { format!("{:04x}", number & 0xffff) } else { format!("{number:016x}") };
        let id = format!("{word}-{second}-{tail}");
        if free(&id)? {
            return Ok(id);
        }
    }
    unreachable!("BUG: ran out of numbers")
}

macro_rules! id {
    ($(#[doc = $about:literal])* $name:ident, $what:literal) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                check($what, text).map(|()| $name(text.to_owned()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A project of the planning documents (epics, sprints, team).
    ProjectId, "project id"
);
id!(
    /// One running session of an agent or a person.
    SessionId, "session id"
);
id!(
    /// The part of a document's name that picks one of a family (an agent, a backup).
    Key, "id"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_cannot_leave_their_directory() {
        for good in ["a", "session-abc123", "v4_20250106_100000", "A.b-c_9", &"x".repeat(128)] {
            assert!(good.parse::<SessionId>().is_ok(), "{good}");
        }
        for bad in ["", ".", "..", ".hidden", "../../x", "a/b", "a b", "é", "a\0", "a\n", &"x".repeat(129)] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
        }
    }
}
