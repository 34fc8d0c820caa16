//! Identifiers. An id becomes part of a path, so it is checked once, here, and is a type from then on.
//!
//! Ids also stand in documents that anybody may write. What is handed out or printed to be typed again must be an id that
//! we would have made ourselves ([`is_sound`]); [`odd_ids`](super::odd_ids) finds the others.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

use super::shape::{Shape, Shaped};
use super::time;

/// What an id must look like.
pub const RULE: &str = "use 1 to 128 of `A-Z a-z 0-9 . _ -`, not starting with `.` or `-`";

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid {what}: {RULE}")]
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

/// Whether a text may become an id. One that begins with `-` would be taken for an option; older ones are still found.
pub fn is_sound(text: &str) -> bool {
    !text.starts_with('-') && check("id", text).is_ok()
}

/// A type of ids.
pub trait Id: FromStr<Err = InvalidId> {
    const WHAT: &'static str;

    /// Reads an id that somebody chooses for something new.
    fn chosen(text: &str) -> Result<Self, InvalidId> {
        if text.starts_with('-') { Err(InvalidId::new(Self::WHAT, text)) } else { text.parse() }
    }
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

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }

        impl Shaped for $name {
            const SHAPE: &'static Shape = &Shape::Text;
        }

        impl Id for $name {
            const WHAT: &'static str = $what;
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
            assert!(!is_sound(bad) && SessionId::chosen(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn new_ids_are_no_options() {
        for option in ["-rf", "--root", "-"] {
            assert!(option.parse::<Key>().is_ok(), "what is there can be named");
            assert!(Key::chosen(option).is_err() && !is_sound(option), "{option}");
        }
        assert!(Key::chosen("a-b").is_ok() && is_sound("a-b"));
    }
}
